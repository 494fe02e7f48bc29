"""De Moivre's mean absolute deviation of a binomial count, to about 15 digits for any n."""

from math import pi
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_n
from discreet.core.columns import reals
from discreet.core.stirling import stirling_remainder
from discreet.errors import ParameterError


def mean_absolute_deviation(n: int, chance: Any) -> FloatArray:
    """Return E|T - n m| for a binomial count T of n trials with probability m, exactly.

    It is 2 k (1 - m) P(T = k) with k = floor(n m) + 1 [De Moivre 1730]. The probability is a product of factors near 1,
    not the exponential of a difference of log-gammas, which for n = 1e9 would keep 6 digits.

    Args:
        n: number of trials, below 2^53.
        chance: ``(...,)`` m, in 0..1.

    Raises:
        ParameterError: if n or a chance is out of range.
    """
    if checked_n(n) >= 1 << 53:
        raise ParameterError(f"n must be below 2^53, got n={n!r}.")
    chance = reals(chance, "chances")
    if not np.all((chance >= 0) & (chance <= 1)):
        raise ParameterError("chances must be between 0 and 1, got others.")
    above = np.floor(n * chance) + 1
    possible = (chance > 0) & (above <= n)
    m, k = np.where(possible, chance, 0.5), np.where(possible, above, n)
    return np.where(possible, 2 * k * (1 - m) * _probability(n, k, m), 0.0)


def _probability(n: int, k: FloatArray, m: FloatArray) -> FloatArray:
    """Return P(T = k) for the k in 1..n next above n m, by Stirling's series about the mode [Loader 2000]."""
    beyond, rest = k - n * m, n - k
    some = np.maximum(rest, 1)
    # As k is within 1 of n m, both differences below are small where their terms are large.
    upper = k * np.log1p(beyond / (n * m)) - beyond
    lower = some * np.log1p(-np.minimum(beyond / (n * (1 - m)), 0.75)) + beyond
    series = stirling_remainder(np.array(float(n))) - stirling_remainder(k) - stirling_remainder(some)
    inner = np.exp(series - upper - lower) * np.sqrt(n / (2 * pi * k * some))
    return np.where(rest > 0, inner, m**n)
