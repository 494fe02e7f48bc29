"""Confidence limits from counts and from means of contributions: figures, enumeration, solved equations."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammainccinv, gammaincinv
from scipy.stats import binom, norm, pearson3

from discreet.theory import binomial
from discreet.theory.binomial import (
    BinomialCounts,
    ContributionMeans,
    ContributionMoment,
    probability_limits,
    standard_limit,
)

N = 1000


def in_clear(counts: list[int], base: float = 0.0) -> np.ndarray:
    return np.clip(BinomialCounts(np.array(counts), N, base, 0.5).limits(0.05), 0, 1).T


def moment(base: float, slope: float, power: int) -> ContributionMoment:
    """The moments of contributions (1 - b)/d and -b/d, sent with probability b + d p and else."""
    inside, outside = ((end - base) / slope for end in (1.0, 0.0))
    return ContributionMoment(
        base * inside**power + (1 - base) * outside**power, slope * (inside**power - outside**power)
    )


def test_limits_of_binomial_counts() -> None:
    wanted = [(0, 0.00736417), (0.00005692, 0.01088703), (0.00352622, 0.02246766), (0.02520064, 0.06036118)]
    np.testing.assert_allclose(in_clear([0, 1, 5, 20]), wanted, atol=5e-9)
    np.testing.assert_allclose(in_clear([12], base=0.003), [(0.00700055, 0.03468469)], atol=5e-9)


def test_limits_of_means_of_contributions() -> None:
    found = ContributionMeans(np.array([-0.05, 0, 0.1]), N, moment(0.2, 0.3, 2), moment(0.2, 0.3, 3)).limits(0.05)
    wanted = [(0, 0.03322503), (0, 0.08549029), (0.01571091, 0.18949158)]
    np.testing.assert_allclose(np.clip(found, 0, 1).T, wanted, atol=5e-9)


def test_tails_of_type_iii() -> None:
    assert standard_limit(np.array([0.5]), 0.03440009) == pytest.approx(2, abs=1e-6)
    assert standard_limit(np.array([0.5]), 0.84441565) == pytest.approx(-1, abs=1e-6)
    skewness = np.array([-3, -0.5, -2e-3, -1e-5, 0, 1e-5, 2e-3, 0.5, 3])
    for tail in (0.4, 0.025, 1e-6):
        np.testing.assert_allclose(standard_limit(skewness, tail), pearson3.isf(tail, skewness), rtol=2e-3)


@pytest.mark.parametrize("expected", [0, 0.3, 1, 3, 10, 40])
def test_every_binomial_interval_covers_nearly_what_it_says(expected: float) -> None:
    """At every p, whatever other reports add to the count: 93.6%; mid-p's own tails would fall to 91.7%."""
    base, slope = expected / N, 0.5
    counts = np.arange(200)
    low, high = BinomialCounts(counts, N, base, slope).limits(0.05)
    p = np.concatenate([np.linspace(0, 0.12, 1500), low[:60], high[:60]])
    p = np.concatenate([p, np.nextafter(p, 0), np.nextafter(p, 1)])
    p = p[(p >= 0) & (p <= 0.12)]
    inside = (low <= p[:, None]) & (p[:, None] <= high)
    covered = (binom.pmf(counts, N, base + slope * p[:, None]) * inside).sum(axis=1)
    assert covered.min() >= 0.936
    # Clopper and Pearson's would be longer: this is not never more than 95%, nor always.
    assert covered.min() < 0.95 < covered.max()


@pytest.mark.parametrize("n", [1, 2, 17, 10**4, 10**9])
@pytest.mark.parametrize("alpha", [0.99, 0.05, 1e-6])
def test_both_tails_are_half_of_what_may_be_missed(n: int, alpha: float) -> None:
    counts = np.unique([0, 1, min(2, n), n // 3, n // 2, max(n - 20, 0), n])
    weight = 0.5 + 0.5 * np.exp(-np.minimum(counts, n - counts) / 4)
    low, high = probability_limits(counts, n, alpha)
    above = binom.sf(counts, n, low) + weight * binom.pmf(counts, n, low)
    below = binom.cdf(counts - 1, n, high) + weight * binom.pmf(counts, n, high)
    assert low[0] == 0
    assert high[-1] == 1
    np.testing.assert_allclose(above[1:], alpha / 2, rtol=2e-5)
    np.testing.assert_allclose(below[:-1], alpha / 2, rtol=2e-5)
    assert (low < high).all()


def test_skewed_limits_solve_their_equation() -> None:
    """The tail beyond the estimate, of the density itself, where the truth is the limit."""
    base, slope, n = 0.05, 0.4, 300
    second, third = moment(base, slope, 2), moment(base, slope, 3)
    ends = ContributionMeans(np.array([0.1]), n, second, third).limits(0.05)
    for end, side in zip(ends, (1, -1), strict=True):
        p = float(end[0])
        q = base + slope * p
        # A binomial count's own variance and skewness, divided by d.
        deviation, skewness = np.sqrt(q * (1 - q) / n) / slope, (1 - 2 * q) / np.sqrt(n * q * (1 - q))
        z = (0.1 - p) / deviation
        tail, _ = quad(lambda t, s=skewness: pearson3.pdf(t, s), *((z, np.inf) if side > 0 else (-np.inf, z)))
        assert tail == pytest.approx(0.025, rel=1e-5)


def test_a_variance_that_lasts_widens_and_straightens() -> None:
    moments = moment(0.2, 0.3, 2), moment(0.2, 0.3, 3)
    estimates = np.array([0.0, 0.1])
    lasting = 0.05**2
    low, high = ContributionMeans(estimates, 10**9, *moments, lasting=lasting).limits(0.05)
    # Of so many reports nothing but the lasting error is left, and it is not skewed.
    np.testing.assert_allclose(high - estimates, norm.isf(0.025) * 0.05, rtol=1e-3)
    np.testing.assert_allclose(estimates - low, norm.isf(0.025) * 0.05, rtol=1e-3)


def test_beyond_the_mass_of_all_values_moments_take_another_slope() -> None:
    moment, p = ContributionMoment(2.0, 3.0, 0.5), np.array([0.1, 0.4, 0.7])
    np.testing.assert_allclose(moment.at(p, 0.4), [2.3, 3.2, 4.25])
    constant, slope = moment.line(p, 0.4)
    np.testing.assert_allclose(constant + slope * p, moment.at(p, 0.4))
    assert slope.tolist() == [3, 3, 3.5]


@pytest.mark.parametrize("tail", [0.025, 1e-6])
@pytest.mark.parametrize("upper", [False, True])
def test_limits_of_large_counts_are_those_of_the_binomial_tails(tail: float, upper: bool) -> None:
    """Without SciPy: from 5,000 on, and 5,000 below n, the expansion is as good."""
    for n in (10_000, 100_000, 10_000_000):
        t = np.unique(np.geomspace(5_000, n - 5_000, 40).astype(np.int64)).astype(np.float64)
        exact = binomial.solved_tail_limit(t, n, np.full(len(t), 0.5), tail, upper=upper)
        found = binomial.approximate_tail_limit(t, n, tail, upper=upper)
        assert (np.abs(found - exact) / np.sqrt(t / n * (1 - t / n) / n)).max() < 2e-5


def test_limits_of_a_little_skewness_are_those_of_the_gamma_distribution() -> None:
    skewness = np.array([-0.0199, -0.005, 1e-4, 0.01, 0.0199])
    shape = 4 / skewness**2
    for tail in (0.025, 1e-6):
        ends = np.where(skewness > 0, gammainccinv(shape, tail), gammaincinv(shape, tail))
        exact = (ends - shape) / np.sqrt(shape) * np.sign(skewness)
        np.testing.assert_allclose(standard_limit(skewness, tail), exact, atol=5e-6)
