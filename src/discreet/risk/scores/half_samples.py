"""Intervals by half-samples: unlike a bootstrap they repeat no score, and repeated scores would be ties.

A half drawn without replacement has, for a statistic that is nearly a mean, the variance sigma^2 (1/b - 1/n) around the
whole sample's value; with b = n/2 that is sigma^2 / n, the variance of the whole sample's value itself (delete-d
jackknife [Shao and Wu 1989]; subsampling [Politis, Romano and Wolf 1999]). Only the spread of the halves is used, not
their centre, since the bias of a smaller sample is another one.
"""

from collections.abc import Callable

import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.core.random import RandomSource, fresh_words
from discreet.risk.scores.information import normal_quantile

_FEW = 1 << 12
_FEWEST = 4


def half(count: int, random: RandomSource) -> BoolArray:
    """Return a random half of ``count`` places, rounded up; of very many, each with probability 1/2.

    Returns:
        ``(count,)`` booleans.
    """
    if count > _FEW:
        bits = np.unpackbits(fresh_words(random, -(-count // 64)).view(np.uint8), count=count)
        return bits.view(np.bool_)
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[np.argsort(fresh_words(random, count), kind="stable")[: -(-count // 2)]] = True
    return chosen


def half_sample_spread(
    statistic: Callable[[AnyArray, AnyArray], float],
    genuine: AnyArray,
    impostors: AnyArray,
    *,
    halves: int,
    random: RandomSource,
) -> float | None:
    """Return the standard error of a statistic of two independent samples; None if they are too small to be halved."""
    if min(len(genuine), len(impostors)) < _FEWEST:
        return None

    def of_half() -> float:
        chosen = half(len(genuine), random), half(len(impostors), random)
        return statistic(genuine[chosen[0]], impostors[chosen[1]])

    return _spread([of_half() for _ in range(halves)])


def half_users_spread(
    statistic: Callable[[AnyArray], float], users: int, *, halves: int, random: RandomSource
) -> float | None:
    """Return the standard error of a statistic of users, given by their ``(b,)`` places, who share impostor scores."""
    if users < _FEWEST:
        return None
    return _spread([statistic(np.flatnonzero(half(users, random))) for _ in range(halves)])


def _spread(replicates: list[float]) -> float:
    return float(np.std(replicates, ddof=1))


def around(value: float, error: float | None, level: float) -> tuple[float, float] | None:
    """Return value -+ z standard errors; None without an error."""
    if error is None:
        return None
    reach = normal_quantile(level) * error
    return value - reach, value + reach
