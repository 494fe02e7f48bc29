"""Exact confidence bounds on a probability, from counts [Clopper and Pearson 1934].

The lower bound for k successes of n is the p at which k or more successes have probability ``error``: whatever the true
probability is, the bound exceeds it with at most that probability.

Tails are a binomial probability times a continued fraction. The probability is taken from deviances [Loader 2000], not
from differences of lgamma(n), which at n = 10^6 cancel seven of its digits.
"""

from collections.abc import Callable
from functools import partial
from math import copysign, exp, expm1, lgamma, log, log1p, pi, sqrt, ulp
from statistics import NormalDist

# What is missed at a step of Newton's method is squared, nearly, at the next one.
_STEPS, _CLOSE = 100, 1e-9
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
    # In ln p: also where p is tiny the bound is as precise.
    return exp(_meeting(partial(_upper_tail, successes, trials), _score_interval(successes, trials, error)[0], error))


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Return an upper confidence bound on a probability, below it with probability ``error`` at most."""
    if successes == trials:
        return 1.0
    start = _score_interval(successes, trials, error)[1]
    if start > log(0.5):
        # Next to 1 it is what remains that is precise.
        return 1.0 - lower_bound(trials - successes, trials, error)
    return exp(_meeting(partial(_lower_tail, successes, trials), start, error))


def _score_interval(successes: int, trials: int, error: float) -> tuple[float, float]:
    """Return ln of the ends of the score interval [Wilson 1927], near which the exact ones are."""
    z = NormalDist().inv_cdf(error)
    share, spread = successes / trials, z * z / (2 * trials)
    above = share + spread + sqrt(2 * spread * (share * (1 - share) + spread / 2))
    # With any error below 1/2 the ends lie on either side of what they are at 1/2.
    least, most = max(successes - 1 / 3, _TINY) / (trials + 1 / 3), (successes + 2 / 3) / (trials + 1 / 3)
    return log(min(share * share / above, least) or _TINY), log(max(above / (1 + 2 * spread), most))


def _meeting(tail: Callable[[float], tuple[float, float]], log_p: float, error: float) -> float:
    """Return the ln p at which a tail has a probability, or one next to it where the tail is less likely.

    By Newton's method: ln of a tail is concave in ln p, as its density is, so all places but the first are on the
    side where the tail is less likely.

    Args:
        tail: of ln p, its probability and the derivative of its logarithm.
        log_p: where the search starts; below 0.
        error: the probability.
    """
    for _ in range(_STEPS):
        probability, slope = tail(log_p)
        missed = log(error / max(probability, _TINY))
        # p stays below 1.
        log_p = min(log_p + missed / slope, log_p / 2)
        if abs(missed) <= _CLOSE:
            break
    back = ulp(log_p)
    while tail(log_p)[0] > error:
        log_p -= copysign(back, slope)
        back *= 2
    return log_p


def _upper_tail(k: int, n: int, log_p: float) -> tuple[float, float]:
    """Return P(Bin(n, p) >= k) for 1 <= k and p <= k/n, and the derivative of its logarithm by ln p."""
    p, q = exp(log_p), -expm1(log_p)
    ratio = q * _fraction(k, n - k + 1, p)
    return _probability(k, n, p, q) * ratio, k / ratio


def _lower_tail(k: int, n: int, log_p: float) -> tuple[float, float]:
    """Return P(Bin(n, p) <= k) for k < n and p >= k/n, at least n - k failures, and its logarithm's derivative."""
    p, q = exp(log_p), -expm1(log_p)
    fraction = _fraction(n - k, k + 1, q)
    return _probability(k, n, p, q) * p * fraction, -(n - k) / (q * fraction)


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
        return exp(n * (log(q) if q < 0.5 else log1p(-p)))
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
