"""The explicit channel's sampler: its integers, what is impossible, and the guarantee that they realise."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, log, nextafter
from typing import Any

import numpy as np
import pytest

from discreet import Channel, Domain, Reports, SeededRandom
from discreet.errors import DataError, DiscreetError
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


def test_guarantee_is_that_of_the_matrix() -> None:
    for epsilon in (0.5, 2.0):
        e = np.exp(epsilon)
        matrix = (np.ones((3, 3)) + (e - 1) * np.eye(3)) / (e + 2)
        assert Channel(matrix).guarantee.realised == pytest.approx(epsilon, rel=1e-9)
        assert Channel(matrix).guarantee.notion == "LDP"
        assert Channel(matrix).guarantee.promised is None


@pytest.mark.parametrize(
    ("matrix", "sensitive", "epsilon"),
    [
        ([[0.5, 0.5], [1, 0]], [1], log(2)),  # Mangat: the output of nobody but value 0 is free
        ([[0.5, 0.5], [1, 0]], [0], inf),
        ([[0.5, 0.5], [1, 0]], [0, 1], inf),
        ([[1, 0], [0, 1]], [0], inf),
        ([[0.6, 0.4, 0], [0.6, 0.2, 0.2], [1, 0, 0]], [2], inf),  # output 1 comes from two values: not invertible
        ([[0.5, 0, 0.5], [0.25, 0.75, 0], [1, 0, 0]], [2], log(4)),
        ([[1, 0], [1, 0]], None, 0.0),
    ],
)
def test_guarantee_knows_which_outputs_are_protected(matrix: Any, sensitive: Any, epsilon: float) -> None:
    domain = Domain(range(len(matrix)), sensitive=sensitive)
    assert Channel(matrix, domain).guarantee.realised == pytest.approx(epsilon, rel=1e-12)


def test_guarantee_reads_the_integers_of_the_sampler() -> None:
    """A probability that the sampler rounds to 0 protects nobody, whatever the matrix says.

    A channel may also refuse such a matrix.
    """
    tiny = 1e-21
    try:
        channel = Channel([[1 - tiny, tiny], [0.5, 0.5]])
    except DiscreetError:
        return
    realised = [[int(weight) for weight in row] for row in channel.weights]
    if 0 in realised[0]:
        assert channel.guarantee.realised == inf
    else:
        worst = max(Fraction(max(column), min(column)) for column in zip(*realised, strict=True))
        assert channel.guarantee.realised == pytest.approx(log(worst), rel=1e-12)


def test_epsilon_of_rounded_integers_is_not_understated() -> None:
    """Small probabilities lose a visible share when they become integers; the guarantee must say so."""
    small = 1.9 / RANGE
    channel = Channel([[1 - small, small], [0.5, 0.5]])
    weights = channel.weights
    worst = max(Fraction(max(c), min(c)) for c in ([int(w) for w in column] for column in weights.T))
    assert channel.guarantee.realised == pytest.approx(log(worst), rel=1e-12)


@each("seed", range(40))
def test_epsilon_is_never_below_the_exact_one(seed: int) -> None:
    """To the last digit: the exact fraction of the sampler's integers, its logarithm rounded up."""
    channel = Channel(np.random.default_rng(seed).dirichlet(np.full(5, 3.0), 4))
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


@pytest.mark.slow
def test_draws_follow_the_matrix(channel: Channel) -> None:
    from evidence import multinomial

    for code in range(4):
        print(f"seed {code}")
        reports = channel.obfuscate_codes(np.full(200_000, code), random=SeededRandom(code))
        counts = np.bincount(reports.blocks["output"], minlength=5)
        multinomial(f"row {code}", counts, channel.matrix[code], rival=np.roll(channel.matrix[code], 1))


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
    with pytest.raises(DataError, match="1 of 1 codes in clear"):
        channel.tally(mixed)
