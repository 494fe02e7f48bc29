"""From words to coins, exactly: the tests hand out the words themselves."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import nextafter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.guarantee import likelihood_ratio, logarithm
from discreet.core.random import WORD_RANGE, bernoulli, rare_bits, uniform_below
from discreet.errors import ParameterError
from discreet.mechanisms.law import exponential_below, truth_threshold
from discreet.mechanisms.laws.bits import IndependentBits

word = st.integers(0, WORD_RANGE - 1)


class Scripted:
    """Hands out the given words, in order, and counts them."""

    secure = False

    def __init__(self, words: list[int]) -> None:
        self.left = list(words)
        self.taken = 0

    def words(self, n: int) -> Any:
        assert n <= len(self.left), "more words taken than the specification needs"
        given_now, self.left = self.left[:n], self.left[n:]
        self.taken += n
        return np.array(given_now, dtype=np.uint64)


# uniform_below


def by_rounds(bound: int, n: int, words: list[int]) -> tuple[list[int], int]:
    """The specification: cut the range into ``bound`` equal shares; words of the rest are drawn again, in rounds."""
    share = WORD_RANGE // bound
    drawn: list[int | None] = [None] * n
    taken = 0
    while None in drawn:
        for place in [place for place, value in enumerate(drawn) if value is None]:
            value = words[taken] // share
            taken += 1
            drawn[place] = value if value < bound else None
    return [int(value or 0) for value in drawn], taken


@given(bound=st.integers(2, WORD_RANGE - 1), data=st.data())
def test_uniform_below_follows_the_words(bound: int, data: st.DataObject) -> None:
    share = WORD_RANGE // bound
    rejected = st.integers(share * bound, WORD_RANGE - 1) if share * bound < WORD_RANGE else word
    accepted = st.integers(0, share * bound - 1)
    script = data.draw(st.lists(accepted | rejected | word, max_size=12)) + data.draw(
        st.lists(accepted, min_size=6, max_size=6)
    )
    expected, taken = by_rounds(bound, 6, script)
    source = Scripted(script)
    assert uniform_below(bound, 6, source).tolist() == expected
    assert source.taken == taken


@given(bound=st.integers(2, 1 << 40) | st.integers(2, 20), data=st.data())
def test_every_integer_below_gets_the_same_share_of_words(bound: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, bound - 1))
    share = WORD_RANGE // bound
    first, last = value * share, value * share + share - 1
    assert uniform_below(bound, 2, Scripted([first, last])).tolist() == [value, value]
    if value:
        assert uniform_below(bound, 1, Scripted([first - 1])).tolist() == [value - 1]
    beyond = bound * share
    if beyond < WORD_RANGE:
        source = Scripted([beyond, WORD_RANGE - 1, first, last])
        assert uniform_below(bound, 2, source).tolist() == [value, value]
        assert source.taken == 4


def halves(numbers: list[int]) -> list[int]:
    """Pack 32-bit numbers into words, the first one low; a last one that is alone gets a zero beside it."""
    padded = numbers + [0] * (len(numbers) % 2)
    return [low | high << 32 for low, high in zip(padded[::2], padded[1::2], strict=True)]


@given(bound=st.integers(2, (1 << 32) - 1), data=st.data())
def test_short_lanes_take_half_a_word_each(bound: int, data: st.DataObject) -> None:
    """Rounds as for whole words; every round begins a new word."""
    share = (1 << 32) // bound
    fine = st.integers(0, share * bound - 1)
    rejected = st.integers(share * bound, (1 << 32) - 1) if share * bound < 1 << 32 else fine
    first = data.draw(st.lists(fine | rejected, min_size=1, max_size=9))
    again = [place for place, number in enumerate(first) if number >= share * bound]
    second = data.draw(st.lists(fine, min_size=len(again), max_size=len(again)))
    expected = [number // share for number in first]
    for place, number in zip(again, second, strict=True):
        expected[place] = number // share
    source = Scripted(halves(first) + halves(second))
    drawn = uniform_below(bound, len(first), source, lane=np.uint32)
    assert drawn.dtype == np.uint32
    assert drawn.tolist() == expected
    assert not source.left


@given(bound=st.integers(2, (1 << 32) - 1), data=st.data())
def test_every_integer_gets_the_same_share_of_short_lanes(bound: int, data: st.DataObject) -> None:
    value, share = data.draw(st.integers(0, bound - 1)), (1 << 32) // bound
    first, last = value * share, value * share + share - 1
    assert uniform_below(bound, 2, Scripted(halves([first, last])), lane=np.uint32).tolist() == [value, value]
    if bound * share < 1 << 32:
        source = Scripted(halves([bound * share, (1 << 32) - 1]) + halves([first, last]))
        assert uniform_below(bound, 2, source, lane=np.uint32).tolist() == [value, value]


def test_uniform_below_of_nothing_and_of_one() -> None:
    assert uniform_below(1, 3, Scripted([]), lane=np.uint32).tolist() == [0, 0, 0]
    assert uniform_below(5, 0, Scripted([]), lane=np.uint32).tolist() == []
    assert uniform_below(5, 0, Scripted([])).tolist() == []
    assert uniform_below(1, 3, Scripted([])).tolist() == [0, 0, 0]


# toss


@given(threshold=st.integers(1, WORD_RANGE - 1))
def test_a_coin_is_true_for_exactly_threshold_words(threshold: int) -> None:
    words = [0, threshold - 1, threshold, WORD_RANGE - 1]
    assert bernoulli(4, threshold, Scripted(words)).tolist() == [True, True, False, threshold == WORD_RANGE]


def test_coins_at_both_ends_are_certain_and_take_no_word() -> None:
    assert bernoulli(3, WORD_RANGE, Scripted([])).tolist() == [True] * 3
    assert bernoulli(3, 0, Scripted([])).tolist() == [False] * 3
    assert bernoulli(1, WORD_RANGE - 1, Scripted([WORD_RANGE - 1])).tolist() == [False]
    assert bernoulli(1, 1, Scripted([0])).tolist() == [True]


# The threshold of truth

inclusions = st.builds(lambda a, b: Fraction(min(a, b), max(a, b) + 1), st.integers(1, 10**6), st.integers(1, 10**6))
promises = st.floats(1e-9, 40)


def e_to(epsilon: float) -> Decimal:
    with localcontext() as context:
        context.prec = 150
        return Decimal(epsilon).exp()


@given(epsilon=promises, inclusion=inclusions)
def test_threshold_is_the_largest_that_keeps_the_promise(epsilon: float, inclusion: Fraction) -> None:
    exact = Fraction(e_to(epsilon))
    threshold = truth_threshold(epsilon, inclusion)
    assert 1 <= threshold < WORD_RANGE
    assert 1 + Fraction(threshold, WORD_RANGE - threshold) / inclusion <= exact
    if threshold < WORD_RANGE - 1:
        assert 1 + Fraction(threshold + 1, WORD_RANGE - threshold - 1) / inclusion > exact


@given(a=promises, b=promises, inclusion=inclusions, other=inclusions)
def test_threshold_is_monotone(a: float, b: float, inclusion: Fraction, other: Fraction) -> None:
    assert truth_threshold(min(a, b), inclusion) <= truth_threshold(max(a, b), inclusion)
    low, high = sorted([inclusion, other])
    assert truth_threshold(a, low) <= truth_threshold(a, high)


@given(epsilon=st.floats(0, 200, exclude_min=True))
def test_exponential_is_just_below(epsilon: float) -> None:
    below, exact = exponential_below(epsilon), Fraction(e_to(epsilon))
    assert below < exact
    assert below > exact * (1 - Fraction(1, 10**110))


@given(threshold=st.integers(1, WORD_RANGE - 1), inclusion=inclusions)
def test_ratio_and_logarithm_are_exact(threshold: int, inclusion: Fraction) -> None:
    s = Fraction(threshold, WORD_RANGE)
    ratio = likelihood_ratio(threshold, inclusion)
    assert ratio == (s + (1 - s) * inclusion) / ((1 - s) * inclusion)
    with localcontext() as context:
        context.prec = 200
        exact, found = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln(), logarithm(ratio)
        assert Decimal(nextafter(found, 0)) < exact <= Decimal(found), "the logarithm, rounded up"


@pytest.mark.parametrize("epsilon", [1e-25, 1e-20, 5e-324])
def test_an_epsilon_without_truth_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"epsilon.too-small"):
        truth_threshold(epsilon, Fraction(1, 3))


def test_the_largest_epsilon_is_clamped_below_certainty() -> None:
    assert truth_threshold(200.0, Fraction(1, 2)) == WORD_RANGE - 1


# The ladder of bits


@given(data=st.data(), depth=st.integers(1, 60))
def test_ladder_compares_integers_with_the_threshold(data: st.DataObject, depth: int) -> None:
    """In every one of the 64 lanes: complement the bits, first word least significant, and compare."""
    threshold = data.draw(st.integers(0, (1 << depth) // 2 - 1)) * 2 + 1 if depth > 1 else 1
    near = st.integers(max(threshold - 2, 0), min(threshold + 2, (1 << depth) - 1)) | st.integers(0, (1 << depth) - 1)
    lanes = data.draw(st.lists(near, min_size=64, max_size=64))
    words = np.zeros((depth, 2), dtype=np.uint64)
    for digit in range(depth):
        words[digit, 0] = sum((1 - (lanes[lane] >> digit & 1)) << lane for lane in range(64))
        words[digit, 1] = data.draw(word) if digit == 0 else WORD_RANGE - 1 - int(words[digit, 0])
    below = rare_bits(words.copy(), threshold)
    for column in range(2):
        for lane in range(64):
            number = sum((1 - (int(words[digit, column]) >> lane & 1)) << digit for digit in range(depth))
            assert (int(below[column]) >> lane & 1) == (number < threshold)


@given(inclusion=st.floats(1e-30, 1 - 2**-53), size=st.integers(1, 99))
def test_bits_come_near_the_wanted_inclusion_with_an_odd_threshold(inclusion: float, size: int) -> None:
    law = IndependentBits.near(size, inclusion)
    assert law.threshold % 2 == 1
    assert 0 < law.threshold < 1 << law.depth
    assert law.depth <= 60
    assert law.inclusion == law.conditional_inclusion == Fraction(law.threshold, 1 << law.depth)
    assert 0 < law.inclusion < 1
    if 2.0**-48 < inclusion < 1 - 2.0**-16:
        error = abs(law.inclusion - Fraction(inclusion))
        assert error <= min(Fraction(inclusion), 1 - Fraction(inclusion)) / 4096
