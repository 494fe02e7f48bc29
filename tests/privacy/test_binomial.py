"""Clopper-Pearson bounds, against the beta quantiles that they are."""

from fractions import Fraction
from math import comb

import pytest
from scipy.special import betainc, betaincc
from scipy.stats import beta

from discreet.theory.binomial import lower_bound, upper_bound
from packing import each

COUNTS = [
    *((k, n) for n in (1, 2, 10, 37) for k in range(n + 1)),
    *((k, 1000) for k in (0, 1, 17, 499, 500, 501, 999, 1000)),
    *((k, 400_000) for k in (0, 1, 3, 1000, 150_000, 200_001, 399_999, 400_000)),
    *((k, 10**9) for k in (0, 5, 10**6, 4 * 10**8, 999_999_990, 10**9)),
]


@pytest.mark.parametrize("error", [0.05, 0.0005, 1e-9])
@each("k, n", COUNTS)
def test_against_scipy(k: int, n: int, error: float) -> None:
    lower = beta.ppf(error, k, n - k + 1) if k else 0.0
    upper = beta.isf(error, k + 1, n - k) if k < n else 1.0
    assert lower_bound(k, n, error) == pytest.approx(lower, rel=1e-7)
    assert upper_bound(k, n, error) == pytest.approx(upper, rel=1e-7)
    assert 1 - upper_bound(k, n, error) == pytest.approx(1 - upper, rel=1e-6, abs=1e-12)


@each("error", [1e-3, 1e-9])
@each("share", [1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999])
@each("n", [1000, 10**6])
def test_bounds_lie_next_to_where_the_tail_has_its_probability(n: int, share: float, error: float) -> None:
    """By differences of lgamma the tail was right to 7e-10 at n = 10^6; on the safe side a little is given away."""
    k = max(int(n * share), 1)
    low, high = lower_bound(k, n, error), upper_bound(k, n, error)
    assert 1 - 1e-7 < betainc(k, n - k + 1, low) / error <= 1
    # Where it is 1 less a tiny number, a float next to it is far off in the tail.
    assert (0 if high > 1 - 1e-4 else 1 - 1e-7) < betaincc(k + 1, n - k, high) / error <= 1


@pytest.mark.parametrize("error", [0.4, 0.05, 1e-9])
@pytest.mark.parametrize(("k", "n"), [(1, 3), (2, 7), (20, 41), (1, 400), (390, 400)])
def test_bounds_never_promise_too_much(k: int, n: int, error: float) -> None:
    """Against exact fractions: at the bound the tail has its probability, or less."""
    low, high = Fraction(lower_bound(k, n, error)), Fraction(upper_bound(k, n, error))
    assert _tail(range(k, n + 1), n, low) <= Fraction(error) * (1 + Fraction(1, 10**12))
    assert _tail(range(k + 1), n, high) <= Fraction(error) * (1 + Fraction(1, 10**12))


def _tail(counts: range, n: int, p: Fraction) -> Fraction:
    told, whole = p.as_integer_ratio()
    # In whole numbers: fractions would be reduced at every step.
    return Fraction(sum(comb(n, j) * told**j * (whole - told) ** (n - j) for j in counts), whole**n)


@pytest.mark.parametrize("error", [1e-300, 1e-60, 0.05, 0.4999999])
def test_there_is_always_a_bound(error: float) -> None:
    """Where the error is tiny, or nearly a half, too."""
    for n in (1, 2, 9, 1000, 10**6):
        for k in {0, 1, n // 3, n - 1, n}:
            assert 0 <= lower_bound(k, n, error) <= k / n <= upper_bound(k, n, error) <= 1
