"""Limits from moments of contributions, against values of a prototype; covariances from pools of hash functions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.contributions import plausible
from discreet.results.sums import Means, Sums
from discreet.theory.limits import Moments
from packing import each

# Values of a prototype, which shares no code with this


def law_of(mechanism: Any, p: Any, n: int, linear: Any) -> Any:
    """Return the law of n reports at a plausible distribution."""
    tally = mechanism.tally(mechanism.obfuscate_codes(np.arange(n) % len(p), random=dc.SeededRandom(1)))
    law = mechanism.decoder.report_law(tally, np.asarray(linear, float))
    return replace(law, p=np.asarray(p), counts=None)


def sums_of(mechanism: Any, p: Any, n: int, chosen: Any, estimate: float) -> Any:
    """Return the sum over a set, at a plausible distribution, if its plain estimate is this and all sum to 1."""
    linear, others = np.zeros(len(p)), np.setdiff1d(np.arange(len(p)), chosen)
    linear[chosen[0]], linear[others[0]] = estimate, 1 - estimate
    return Sums.of(law_of(mechanism, p, n, linear), np.isin(np.arange(len(p)), chosen)[None] * 1.0)


SIX, EIGHT = dc.Domain(range(6), sensitive=range(4)), dc.Domain.number(0, 1, bins=8)
RR = (dc.RandomizedResponse(SIX, 1.0), [0.4, 0.25, 0.15, 0.1, 0.1, 0], 100, [0, 1, 4])
HADAMARD = (dc.HadamardResponse(dc.Domain(range(5)), 1.0), [0.4, 0.3, 0.2, 0.1, 0], 100, [0, 2])
WINDOWS = (dc.Windows(EIGHT, 1.0, width=5), np.full(8, 1 / 8), 50, [4, 5, 6, 7])


@each(
    "case, estimate, wanted",
    [
        (RR, 0.6, (0.27474506, 0.91954679)),
        (RR, -0.1, (-0.41576525, 0.21876499)),
        (RR, 1.2, (0.88646546, 1.51576525)),
        (HADAMARD, 0.5, (0.00561892, 0.93609879)),
        (WINDOWS, 0.3, (-0.37904237, 0.98066504)),
        (WINDOWS, -0.4, (-1.07904237, 0.30839314)),
    ],
)
def test_the_check_values_of_limits(case: Any, estimate: float, wanted: Any) -> None:
    """Unclipped and without room."""
    sums = sums_of(*case, estimate)
    assert np.ravel(sums.moments.ends(sums.centre, 0.05)) == pytest.approx(wanted, abs=1e-6)


def test_the_check_values_of_a_mean() -> None:
    law = law_of(WINDOWS[0], np.arange(8, 0, -1) / 36, 50, 0.65 * np.eye(8)[0] + 0.35 * np.eye(8)[7])
    mean = Means(law, np.arange(8)[None] / 7)
    assert 50 * mean.moments.shape(np.array([[0.2], [0.35], [0.8]]))[0][:, 0] == pytest.approx(
        [1.18069198, 1.12881548, 1.27619318], abs=1e-7
    )
    assert np.ravel(mean.moments.ends(mean.centre, 0.05)) == pytest.approx([0.03821921, 0.66498217], abs=1e-6)


def test_limits_are_outermost_and_nested() -> None:
    """Random moments of any shape: every limit solves its equation, and a higher level never shortens."""
    rng = np.random.default_rng(1)
    n, size = 20, 300
    # Contributions of 4 outputs under two distributions, of which the means are 0 and 1.
    chances, added = rng.dirichlet(np.ones(4), (2, size)), rng.normal(size=(size, 4))
    means = (chances * added).sum(axis=2)
    added = (added - means[0][:, None]) / (means[1] - means[0])[:, None]
    second, third = (
        np.array([row[0], row.mean(axis=0), row[1]]) for row in ((chances * added**k).sum(2) for k in (2, 3))
    )
    moments = Moments(np.array([[0.0], [0.5], [1.0]]) + np.zeros(size), second, third, n)
    estimate = rng.normal(0.4, 0.7, size)
    before = estimate + np.inf, estimate - np.inf
    for level in (0.5, 0.95, 0.999, 1 - 1e-8):
        low, high = moments.ends(estimate, 1 - level)
        assert (low <= before[0] + 1e-9).all()
        assert (high >= before[1] - 1e-9).all()
        assert moments.tail(estimate, low) == pytest.approx((1 - level) / 2, rel=0.02)
        before = low, high
    grid = np.linspace(-1, 2, 3001)[:, None]
    low, found = moments.ends(estimate, 0.05)[0], grid[(moments.tail(estimate, grid) >= 0.025).argmax(axis=0), 0]
    assert (np.clip(low, -1, 2) <= found + 1e-9).all()


def test_a_plausible_distribution_keeps_shares_in_clear() -> None:
    domain = dc.Domain(range(5), sensitive=[0, 2, 4])
    assert plausible(domain, np.array([0.5, 0.3, -0.2, 0.1, 0.5])) == pytest.approx([0.3, 0.3, 0, 0.1, 0.3])
    assert plausible(domain, np.array([0.5, 0.9, -0.2, 0.6, 0.5])) == pytest.approx([0, 0.6, 0, 0.4, 0])
    assert plausible(domain, np.array([-0.5, 0.3, -0.2, 0.1, -1])) == pytest.approx([0.2, 0.3, 0.2, 0.1, 0.2])
