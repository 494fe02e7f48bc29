"""Clopper-Pearson bounds, against the beta quantiles that they are."""

import pytest
from scipy.stats import beta, binom

from discreet.privacy.binomial import lower_bound, upper_bound

COUNTS = [
    *((k, n) for n in (1, 2, 10, 37) for k in range(n + 1)),
    *((k, 1000) for k in (0, 1, 17, 499, 500, 501, 999, 1000)),
    *((k, 400_000) for k in (0, 1, 3, 1000, 150_000, 200_001, 399_999, 400_000)),
    *((k, 10**9) for k in (0, 5, 10**6, 4 * 10**8, 999_999_990, 10**9)),
]


@pytest.mark.parametrize("error", [0.05, 0.0005, 1e-9])
@pytest.mark.parametrize(("k", "n"), COUNTS)
def test_against_scipy(k: int, n: int, error: float) -> None:
    lower = beta.ppf(error, k, n - k + 1) if k else 0.0
    upper = beta.isf(error, k + 1, n - k) if k < n else 1.0
    assert lower_bound(k, n, error) == pytest.approx(lower, rel=1e-7)
    assert upper_bound(k, n, error) == pytest.approx(upper, rel=1e-7)
    assert 1 - upper_bound(k, n, error) == pytest.approx(1 - upper, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.37, 0.5, 0.93])
def test_coverage_is_never_less_than_stated(p: float) -> None:
    n, error = 60, 0.01
    chances = binom.pmf(range(n + 1), n, p)
    below = sum(chance for k, chance in enumerate(chances) if lower_bound(k, n, error) > p)
    above = sum(chance for k, chance in enumerate(chances) if upper_bound(k, n, error) < p)
    assert below <= error
    assert above <= error
