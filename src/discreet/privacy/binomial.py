"""Exact confidence bounds on a probability, from counts [Clopper and Pearson 1934].

The lower bound for k successes of n is the p at which k or more successes have probability ``error``: whatever the true
probability is, the bound exceeds it with at most that probability.
"""

from math import exp, lgamma, log, log1p

_NEGLIGIBLE = 1e-17
_STEPS = 60


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Return a number that the probability is below with a chance of at most ``error``.

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
    for _ in range(_STEPS):
        middle = (least + most) / 2
        if _upper_tail(successes, trials, middle) <= error:
            least = middle
        else:
            most = middle
    return exp(least)


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Return a number that the probability is above with a chance of at most ``error``."""
    if successes == trials:
        return 1.0
    if 2 * successes > trials:
        return 1.0 - lower_bound(trials - successes, trials, error)
    least, most = log(max(successes, 0.5) / trials), 0.0
    for _ in range(_STEPS):
        middle = (least + most) / 2
        if _lower_tail(successes, trials, middle) <= error:
            most = middle
        else:
            least = middle
    return exp(most)


def _upper_tail(k: int, n: int, log_p: float) -> float:
    """Return P(Bin(n, p) >= k) for p <= k/n, where the terms fall from the first one on."""
    odds = exp(log_p - _log_complement(log_p)) if log_p < 0 else float("inf")
    total = term = _probability(k, n, log_p)
    for j in range(k, n):
        term *= (n - j) / (j + 1) * odds
        total += term
        if term <= total * _NEGLIGIBLE:
            break
    return total


def _lower_tail(k: int, n: int, log_p: float) -> float:
    """Return P(Bin(n, p) <= k) for p >= k/n."""
    odds = exp(_log_complement(log_p) - log_p) if log_p < 0 else 0.0
    total = term = _probability(k, n, log_p)
    for j in range(k, 0, -1):
        term *= j / (n - j + 1) * odds
        total += term
        if term <= total * _NEGLIGIBLE:
            break
    return total


def _probability(k: int, n: int, log_p: float) -> float:
    """Return P(Bin(n, p) = k)."""
    if log_p >= 0:
        return 1.0 if k == n else 0.0
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log_p + (n - k) * _log_complement(log_p))


def _log_complement(log_p: float) -> float:
    """Return ln(1 - p)."""
    return log1p(-exp(log_p))
