"""Exact confidence bounds on a probability, from counts [Clopper and Pearson 1934].

The lower bound for k successes of n is the p at which k or more successes have probability ``error``: whatever the true
probability is, the bound exceeds it with at most that probability. Both are quantiles of beta distributions.
"""

from typing import Any

import numpy as np


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Return a lower confidence bound on a probability, above it with probability ``error`` at most.

    Args:
        successes: k, 0..n.
        trials: n, at least 1.
        error: in (0, 1/2).
    """
    if successes == 0:
        return 0.0
    from scipy.special import betainc, betaincinv

    # SciPy's tail is as precise as a float; its inverse may be next to the bound on either side.
    a, b = successes, trials - successes + 1
    return _outwards(betaincinv(a, b, error), 0.0, lambda p: betainc(a, b, p) <= error)


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Return an upper confidence bound on a probability, below it with probability ``error`` at most."""
    if successes == trials:
        return 1.0
    from scipy.special import betaincc, betainccinv

    a, b = successes + 1, trials - successes
    return _outwards(betainccinv(a, b, error), 1.0, lambda p: betaincc(a, b, p) <= error)


def _outwards(p: Any, end: float, holds: Any) -> float:
    """Return the first of p and steps towards an end, each twice the last, at which a condition holds."""
    step = abs(float(np.spacing(p)))
    while not holds(p):
        p = max(p - step, end) if end < p else min(p + step, end)
        step *= 2
    return float(p)
