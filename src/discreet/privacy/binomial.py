"""Exact confidence bounds on a probability, from counts [Clopper and Pearson 1934].

The lower bound for k successes of n is the p at which k or more successes have probability ``error``: whatever the true
probability is, the bound exceeds it with at most that probability.

Tails are a binomial probability times a continued fraction. The probability is taken from deviances [Loader 2000], not
from differences of lgamma(n), which at n = 10^6 cancel seven of its digits.
"""

from math import exp, expm1, lgamma, log, log1p, pi, sqrt

from discreet.core.searching import bisected

_STEPS = 60
_SMALL, _TINY, _ENOUGH = 16, 1e-300, 5e-16
# Of the Stirling series: 1/12, 1/360, ...; after the last term the error is below 1e-18 from 16 on.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360_360, 1 / 156, -3617 / 122_400)


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Return a lower confidence bound on a probability, above it with probability ``error`` at most.

    Args:
        successes: k, 0..n.
        trials: n, at least 1.
        error: in (0, 1/2).
    """
    if successes == 0:
        return 0.0
    # By bisection on ln p: also where p is tiny the bound is as precise. At p = k/n the tail is about 1/2.
    most = log(successes / trials)
    least = most + log(error) / successes - 1.0
    return exp(bisected(lambda log_p: upper_tail(successes, trials, log_p) <= error, least, most, _STEPS)[0])


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Return an upper confidence bound on a probability, below it with probability ``error`` at most."""
    if successes == trials:
        return 1.0
    if 2 * successes > trials:
        return 1.0 - lower_bound(trials - successes, trials, error)
    least = log(max(successes, 0.5) / trials)
    return exp(bisected(lambda log_p: _lower_tail(successes, trials, log_p) > error, least, 0.0, _STEPS)[1])


def upper_tail(k: int, n: int, log_p: float) -> float:
    """Return P(Bin(n, p) >= k) for 1 <= k and p <= k/n."""
    if log_p >= 0:
        return 1.0
    p, q = exp(log_p), -expm1(log_p)
    return _probability(k, n, p, q) * q * _fraction(k, n - k + 1, p)


def _lower_tail(k: int, n: int, log_p: float) -> float:
    """Return P(Bin(n, p) <= k) for k < n and p >= k/n: at least n - k failures."""
    if log_p >= 0:
        return 0.0
    p, q = exp(log_p), -expm1(log_p)
    return _probability(k, n, p, q) * p * _fraction(n - k, k + 1, q)


def _fraction(a: int, b: int, x: float) -> float:
    """Return the continued fraction of the incomplete beta function I_x(a, b) by Lentz, for x <= a / (a + b)."""
    numerator, denominator = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1) or _TINY)
    found = denominator
    for m in range(1, 10_000_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            denominator = 1.0 / (1.0 + step * denominator or _TINY)
            numerator = 1.0 + step / numerator or _TINY
            found *= numerator * denominator
        if abs(numerator * denominator - 1.0) <= _ENOUGH:
            break
    return found


def _probability(k: int, n: int, p: float, q: float) -> float:
    """Return P(Bin(n, p) = k) for 0 < p < 1."""
    if k == 0:
        return exp(n * log1p(-p))
    if k == n:
        return exp(n * (log(p) if p < 0.5 else log1p(-q)))
    rest = _stirling(n) - _stirling(k) - _stirling(n - k) - _deviance(k, n * p) - _deviance(n - k, n * q)
    return exp(rest) * sqrt(n / (2 * pi * k * (n - k)))


def _stirling(n: int) -> float:
    """Return ln n! minus Stirling's formula."""
    if n < _SMALL:
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - log(2 * pi) / 2
    total = 0.0
    for term in reversed(_STIRLING):
        total = total / (n * n) + term
    return total / n


def _deviance(x: float, mean: float) -> float:
    """Return x ln(x / mean) + mean - x, without cancellation where x is close to the mean."""
    if abs(x - mean) >= 0.1 * (x + mean):
        return x * log(x / mean) + mean - x
    # With v = (x - mean) / (x + mean), ln(x / mean) is 2 (v + v^3 / 3 + v^5 / 5 + ...).
    v = (x - mean) / (x + mean)
    total, power, place = (x - mean) * v, 2 * x * v, 1
    while True:
        power *= v * v
        place += 2
        if total + power / place == total:
            return total
        total += power / place
