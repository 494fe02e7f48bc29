"""Windows of neighbouring values: places, the mean of one report, and limits of means."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from discreet import Domain, Tally, Windows, estimate
from discreet.errors import ParameterError
from discreet.mechanisms.laws.windows import WindowBlocks, default_width
from refusals import refused


@pytest.mark.parametrize(("ranges", "width"), list(product([(5,), (1, 1, 4), (3, 2), (2, 6, 1)], [1, 2, 3, 4])))
def test_every_place_touches_one_range_and_every_value_has_as_many(ranges: tuple[int, ...], width: int) -> None:
    """By lists: the windows of each range, cut off at its ends, and none besides."""
    starts = tuple(np.cumsum([0, *ranges[:-1]]).tolist())
    law = WindowBlocks(sum(ranges), min(width, sum(ranges) - 1), starts)
    by_hand = sorted(
        [start + at for at in range(first, first + law.width) if 0 <= at < count]
        for start, count in zip(starts, ranges, strict=True)
        for first in range(1 - law.width, count)
    )
    blocks, chances = law.alphabet()
    contained = law.contains(blocks)
    assert sorted(np.flatnonzero(row).tolist() for row in contained) == by_hand
    assert law.alphabet_size == sum(count + law.width - 1 for count in ranges) == len(chances)
    assert contained.sum(axis=0).tolist() == [law.width] * law.size
    assert law.inclusion == Fraction(law.width, law.alphabet_size)
    counts = np.arange(law.alphabet_size)
    np.testing.assert_allclose(
        law.membership_of(counts).dot(np.arange(law.size)), contained @ np.arange(law.size), atol=1e-9
    )
    assert law.support_of(counts).tolist() == (counts @ contained).tolist()


def test_the_default_is_the_piecewise_mechanism_and_its_mean_no_worse() -> None:
    """On [-1, 1] a report's variance there is t^2/(h - 1) + (h + 3)/(3 (h - 1)^2), h = e^(eps/2) [Wang et al.]."""
    for epsilon, width in ((1.0, 155), (3.0, 57)):
        mechanism = Windows(Domain.number(-1, 1, bins=256), epsilon)
        assert (mechanism.law.width, default_width(256, epsilon)) == (width, width)
        decoder, centres = mechanism.decoder, mechanism.domain.space.quantities()  # type: ignore[attr-defined]
        added, half = decoder.inverse @ centres, exp(epsilon / 2)
        for code, t in enumerate(centres):
            mean, square = (float(decoder.matrix[code] @ added**power) for power in (1, 2))
            assert mean == pytest.approx(t, abs=1e-9)
            # 256 bins are not a continuum: k is rounded.
            assert square - mean**2 <= 1.01 * (t * t / (half - 1) + (half + 3) / (3 * (half - 1) ** 2))
    assert default_width(1, 1.0) == default_width(2, 1.0) == default_width(9, 40.0) == 1


def test_intervals_of_the_mean_cover() -> None:
    """A range in clear lies between two that are not. Of 30 reports: tests/results/test_few_informative_reports.py."""
    mechanism = Windows(Domain.number(0, 100, bins=20, sensitive=[[0, 20], [80, 100]]), 1.0)
    decoder, centres = mechanism.decoder, mechanism.domain.space.quantities()  # type: ignore[attr-defined]
    p, random, misses, runs = np.arange(1, 21) / 210, np.random.default_rng(7), 0, 120
    for counts in random.multinomial(2000, p @ decoder.matrix, runs):
        support, clear = np.split(counts, mechanism.tally_sizes[:1])
        low, high = estimate(mechanism, Tally(mechanism.fingerprint, 2000, support, clear)).mean().interval()
        misses += not low <= p @ centres <= high
    assert binom.ppf(1e-3, runs, 0.05) <= misses <= binom.isf(1e-3, runs, 0.05)


def test_values_without_order_and_widths_that_are_none_are_refused() -> None:
    refused(ParameterError, lambda: Windows(Domain.product({"a": [1, 2], "b": [3, 4]}), 1.0))
    for width in (0, 5, 2.5, True, "2"):
        refused(ParameterError, lambda width=width: Windows(Domain(range(5)), 1.0, width=width))
    for starts in ((), (1,), (0, 5), (0, 2, 2), [0, 2]):
        refused(ParameterError, lambda starts=starts: WindowBlocks(5, 2, starts))
