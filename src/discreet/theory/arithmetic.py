"""Searches of one number, Stirling's series, and prime numbers: the same on every machine.

Bisection and golden section ask at fixed places, because figures and fingerprints depend on where a search stops. The
remainder of Stirling's formula divides factorials of any size without losing digits. Hash families and difference sets
are made over primes.
"""

from collections.abc import Callable
from functools import lru_cache
from math import isqrt, lgamma, log, pi, sqrt

import numpy as np

from discreet.arrays import AnyArray, FloatArray

_HALVINGS = 200
_GOLDEN = (sqrt(5) - 1) / 2


def bisected(holds: Callable[[float], bool], low: float, high: float, halvings: int) -> tuple[float, float]:
    """Return the ends of an interval in which a condition stops to hold: it holds at the lower one, not at the upper.

    Args:
        holds: the condition, which holds up to some number and not beyond; an end is asked only if nothing is left
            between it and the place.
        low: where the search starts.
        high: where it ends.
        halvings: how many; fewer once another one changes nothing.
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        closer = (middle, high) if holds(middle) else (low, middle)
        if closer == (low, high):
            break
        low, high = closer
    return low, high


def bisected_each(
    holds: Callable[[FloatArray], AnyArray], low: FloatArray, high: FloatArray, halvings: int
) -> tuple[FloatArray, FloatArray]:
    """Return the results of `bisected` for each entry of arrays of one shape, all halved equally often."""
    for _ in range(halvings):
        middle = (low + high) / 2
        held = holds(middle)
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    return low, high


def last_whole(holds: Callable[[int], bool], low: int, high: int, *, upper: bool = False) -> int:
    """Return the last integer in low..high - 1 up to which a condition holds.

    Args:
        holds: the condition, which holds up to some integer and not beyond.
        low: an integer for which it holds, or what is returned if it holds for no larger one.
        high: an integer for which it does not.
        upper: whether the upper one of two middles is asked, which matters only where rounding decides.
    """
    while high - low > 1:
        middle = (low + high + upper) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def last_positive(slope: Callable[[float], float]) -> float:
    """Return the zero of a falling function in 0..1, or the end where it does not cross 0.

    It is not asked at 1, and at 0 only if the crossing is next to it, so that it may be infinite there.
    """
    low, high = bisected(lambda x: x < 1 and slope(x) > 0, 0.0, 1.0, _HALVINGS)
    return low if low > 0 else high if slope(0.0) > 0 else 0.0


def golden_section(function: Callable[[float], float], low: float, high: float, steps: int) -> tuple[float, float]:
    """Return two numbers with the maximum of a concave function between them; of equal values the lower one is kept.

    Args:
        function: concave, or rising and then falling.
        low: where the search starts.
        high: where it ends.
        steps: how often what is left shrinks to 0.618 of itself.
    """
    for _ in range(steps):
        step = _GOLDEN * (high - low)
        left, right = high - step, low + step
        low, high = (left, high) if function(left) < function(right) else (low, right)
    return low, high


# 1/12, 1/360, ...; after the last term the error is below 1e-18 from 16 on.
_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SMALL = 16
_REMAINDERS = np.array([0.0, *(lgamma(n + 1) - (n + 0.5) * log(n) + n - log(2 * pi) / 2 for n in range(1, _SMALL))])


def stirling_remainder(n: FloatArray) -> FloatArray:
    """Return ln n! - ((n + 1/2) ln n - n + ln(2 pi)/2) of whole numbers n >= 1, to about 16 digits of ln n!."""
    inverse = 1 / np.maximum(n, _SMALL)
    series = np.zeros_like(inverse)
    for term in reversed(_TERMS):
        series = term + inverse * inverse * series
    small = _REMAINDERS[np.minimum(n, _SMALL - 1).astype(np.int64)]
    return np.where(n < _SMALL, small, inverse * series)


@lru_cache(maxsize=512)
def next_prime(least: int, *, step: int = 1, rest: int = 0) -> int:
    """Return the least prime from ``least`` on of the form ``step`` m + ``rest``."""
    candidate = max(least, 2)
    while candidate % step != rest or not is_prime(candidate):
        candidate += 1
    return candidate


def is_prime(number: int) -> bool:
    """Return true if a number of at least 2 is a prime."""
    divisors = np.arange(2, isqrt(number) + 1)
    return bool((number % divisors).all())
