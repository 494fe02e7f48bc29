"""DET curves, rates and ranks: against brute force."""

from itertools import pairwise
from math import isclose
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from discreet.errors import DataError
from discreet.risk.scores import Scores
from discreet.risk.scores.rates import DET, det, rank_curve, rate
from refusals import refused

SCORES = st.lists(st.integers(-5, 5), min_size=2, max_size=30)


def det_of(genuine: Any, impostors: Any) -> DET:
    return det(Scores.of_pairs(genuine, impostors))


def by_force(genuine: list[int], impostors: list[int]) -> list[tuple[float, float]]:
    """FAR and FRR at every threshold at a genuine score, and at one above all."""
    thresholds = [*sorted(set(genuine)), max(genuine + impostors) + 1]
    return [(float(np.mean([s >= t for s in impostors])), float(np.mean([s < t for s in genuine]))) for t in thresholds]


@given(SCORES, SCORES)
def test_every_threshold(genuine: list[int], impostors: list[int]) -> None:
    found, points = det_of(genuine, impostors), by_force(genuine, impostors)
    assert list(zip(found.far, found.frr, strict=True)) == points
    assert found.n == len(genuine)
    assert found.m == len(impostors)


@given(SCORES, SCORES)
def test_equal_error_rate_lies_on_the_curve(genuine: list[int], impostors: list[int]) -> None:
    points, found = by_force(genuine, impostors), det_of(genuine, impostors).equal_error_rate
    candidates = []
    for (far, frr), (less, more) in pairwise(points):
        gap = (far - frr) + (more - less)
        if far >= frr and more >= less and gap > 0:
            share = (far - frr) / gap
            candidates.append(frr + share * (more - frr))
    if points[0][0] == points[0][1]:
        candidates.append(points[0][0])
    assert any(isclose(found, candidate, abs_tol=1e-12) for candidate in candidates)
    assert 0 <= found <= 1


def test_refused_curves() -> None:
    refused(DataError, lambda: det_of([7531.0, np.nan], [1.0]), 7531)
    refused(DataError, lambda: det_of([], []))


# Ranks


@given(st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=20), st.integers(1, 6))
def test_ranks_by_breaking_ties(rows: list[list[int]], k: int) -> None:
    """The right user is the first; it is put at each place among those tied with it in turn."""
    greater = [sum(s > row[0] for s in row) for row in rows]
    ties = [sum(s == row[0] for s in row) for row in rows]
    chances = [np.mean([above + place < k for place in range(same)]) for above, same in zip(greater, ties, strict=True)]
    found = rank_curve(greater, ties, ks=[k])
    assert found.rates[0].value == pytest.approx(np.mean(chances))
    assert found.rates[0].low <= found.rates[0].value <= found.rates[0].high


def test_rank_curves() -> None:
    found = rank_curve([0, 0, 3, 20], [1, 2, 1, 1], users=50)
    assert found.ks == (1, 2, 5, 10, 20, 21)
    assert [one.value for one in found.rates] == [0.375, 0.5, 0.75, 0.75, 0.75, 1.0]
    assert found.error.value == 0.625
    assert found.error.low == 1 - found.rates[0].high
    assert "guessing would do so with 0.02" in str(found)
    # Nobody and everybody: no crash, and no certainty.
    assert rank_curve([5, 5], [1, 1], ks=[1]).rates[0].high < 1
    assert rank_curve([0, 0], [1, 1], ks=[1]).rates[0].low > 0
    assert rank_curve([5, 5], [1, 1], ks=[1]).error.value == 1


def test_rates() -> None:
    found = rate(3, 20, level=0.9)
    assert found.low == pytest.approx(beta.ppf(0.05, 3, 18))
    assert found.high == pytest.approx(beta.isf(0.05, 4, 17))
    between = rate(3.5, 20, level=0.9)
    assert between.low == found.low
    assert between.high == rate(4, 20, level=0.9).high
    assert rate(3 + 1e-13, 20, level=0.9).high == found.high
