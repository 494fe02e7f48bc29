"""The explicit channel's sampler: its integers, what is impossible, and the guarantee that they realise."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import nextafter
from typing import Any

import numpy as np
import pytest

from discreet import Channel, Reports, SeededRandom
from discreet.errors import DataError
from packing import each

RANGE = 1 << 64


class Scripted:
    """Hands out given words."""

    secure = False

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def words(self, n: int) -> Any:
        assert n == len(self._words)
        return self._words


@pytest.fixture
def channel() -> Channel:
    matrix = np.random.default_rng(5).dirichlet(np.ones(5), 4)
    matrix[:, 2] = 0
    matrix[1, 4] = 0
    return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def test_weights_are_the_probabilities_as_integers(channel: Channel) -> None:
    assert (channel.weights.sum(axis=1) == RANGE).all()
    for row, exact in zip(channel.matrix, channel.weights, strict=True):
        for probability, weight in zip(row, exact, strict=True):
            assert abs(Fraction(weight, RANGE) - Fraction(float(probability))) < Fraction(1, 10**15)
            assert (weight == 0) == (probability == 0)


def test_every_output_gets_its_words(channel: Channel) -> None:
    """The first and the last word of each output's share, from the weights' running sums."""
    for code in range(4):
        start = 0
        for output, weight in enumerate(int(weight) for weight in channel.weights[code]):
            if weight:
                reports = channel.obfuscate_codes([code, code], random=Scripted([start, start + weight - 1]))
                assert reports.blocks["output"].tolist() == [output, output]
            start += weight
        assert start == RANGE


@pytest.mark.parametrize("row", [[1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0, 0.0]])
def test_what_is_impossible_stays_impossible(row: list[float]) -> None:
    """Also for the very last word."""
    channel = Channel([row])
    output = channel.obfuscate_codes([0], random=Scripted([RANGE - 1])).blocks["output"][0]
    assert row[output] > 0


SMALL = 1.9 / RANGE
"""A probability that loses a visible share when it becomes an integer."""


@each("matrix", [[[1 - SMALL, SMALL], [0.5, 0.5]], *np.random.default_rng(7).dirichlet(np.full(5, 3.0), (40, 4))])
def test_epsilon_is_never_below_the_exact_one(matrix: Any) -> None:
    """To the last digit: the exact fraction of the sampler's integers, its logarithm rounded up."""
    channel = Channel(matrix)
    worst = max(Fraction(max(c), min(c)) for c in ([int(w) for w in column] for column in channel.weights.T))
    with localcontext() as context:
        context.prec = 60
        exact = (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()
        assert Decimal(nextafter(channel.guarantee.realised, 0)) < exact <= Decimal(channel.guarantee.realised)


def test_the_sampler_takes_the_same_steps_for_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its draws are those of the running sums, and what it reads does not hang on who sends what."""
    matrix = np.random.default_rng(8).dirichlet(np.full(9, 0.4), 6)
    matrix[0] = np.eye(9)[4]
    matrix[1, 3:] = 0
    channel = Channel(matrix / matrix.sum(axis=1, keepdims=True))
    codes, words = np.random.default_rng(9).integers(0, 6, 4000), SeededRandom(9).words(4000)
    drawn = channel.obfuscate_codes(codes, random=SeededRandom(9)).blocks["output"]
    ends = [[int(weight) for weight in np.cumsum(row)] for row in channel.weights]
    for code, word, output in zip(codes, words.tolist(), drawn, strict=True):
        assert output == sum(end <= word for end in ends[code])
    searches: list[int] = []
    monkeypatch.setattr(np, "unique", lambda *_, **__: searches.append(1))
    monkeypatch.setattr(np, "searchsorted", lambda *_, **__: searches.append(1))
    channel.obfuscate_codes(np.zeros(100, dtype=np.int64), random=SeededRandom(1))
    assert not searches


def test_reports_in_clear_are_none_of_its(channel: Channel) -> None:
    reports = channel.obfuscate_codes([0, 1], random=SeededRandom(1))
    mixed = Reports(
        channel.fingerprint,
        3,
        np.array([True, False, False]),
        np.zeros(1, dtype=np.uint8),
        dict(reports.blocks),
        simulated=True,
    )
    with pytest.raises(DataError, match=r"reports.impossible-clear-codes"):
        channel.tally(mixed)
