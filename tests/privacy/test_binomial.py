"""Clopper-Pearson bounds, against the beta quantiles that they are."""

from fractions import Fraction
from math import comb, log

import pytest
from scipy.special import betainc, betaincc, betaincinv
from scipy.stats import beta, binom

from discreet.privacy import binomial
from discreet.privacy.binomial import _upper_tail, lower_bound, upper_bound

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


@pytest.mark.parametrize(
    ("n", "k", "p"), [(10, 3, 0.1), (50, 25, 0.3), (1000, 10, 0.004), (1000, 500, 0.45), (200, 199, 0.9), (40, 40, 0.8)]
)
def test_tails_have_all_their_digits(n: int, k: int, p: float) -> None:
    """Against exact fractions."""
    told, whole = Fraction(p).as_integer_ratio()
    # In whole numbers: fractions would be reduced at every step.
    ways = sum(comb(n, j) * told**j * (whole - told) ** (n - j) for j in range(k, n + 1))
    assert abs(Fraction(_upper_tail(k, n, log(p))[0]) * whole**n / ways - 1) < 2e-14


@pytest.mark.parametrize("error", [1e-3, 1e-9])
@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("n", [1000, 10**6])
def test_bounds_have_all_their_digits(n: int, share: float, error: float) -> None:
    """By differences of lgamma the tail was right to 7e-10 at n = 10^6; SciPy's tail is the reference."""
    k = max(int(n * share), 1)
    low, high = lower_bound(k, n, error), upper_bound(k, n, error)
    assert betainc(k, n - k + 1, low) == pytest.approx(error, rel=1e-11, abs=0)
    # Where it is 1 less a tiny number, a float next to it is far off in the tail.
    assert 1 - high < 1e-4 or betaincc(k + 1, n - k, high) == pytest.approx(error, rel=1e-11, abs=0)
    assert betaincinv(k, n - k + 1, error) == pytest.approx(low, rel=1e-10, abs=0)


@pytest.mark.parametrize("error", [1e-300, 1e-60, 0.05, 0.4999999])
def test_few_tails_are_asked(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may be a sum of a thousand terms; and where the error is tiny, or nearly a half, there is a bound too."""
    fraction, asked = binomial._fraction, []
    monkeypatch.setattr(binomial, "_fraction", lambda a, b, x: asked.append(x) or fraction(a, b, x))
    for n in (1, 2, 9, 1000, 10**6):
        for k in {0, 1, n // 3, n - 1, n}:
            asked.clear()
            low, high = lower_bound(k, n, error), upper_bound(k, n, error)
            assert 0 <= low <= k / n <= high <= 1
            assert len(asked) <= 40
