"""Bisection, golden-section search, Stirling's series and prime numbers, with the same results on every machine.

Bisection and golden-section search evaluate fixed points, because results and fingerprints depend on where a search
stops. The remainder of Stirling's formula gives ratios of factorials of any size without cancellation. Hash families
and difference sets need primes.
"""

from collections.abc import Callable
from functools import lru_cache
from math import isqrt, lgamma, log, pi, sqrt

import numpy as np

from discreet.arrays import AnyArray, FloatArray

_HALVINGS = 200
_GOLDEN = (sqrt(5) - 1) / 2


def bisected(holds: Callable[[float], bool], low: float, high: float, halvings: int) -> tuple[float, float]:
    """Return a small interval such that a condition holds at its lower end and fails at its upper end.

    Args:
        holds: the condition, which holds up to some number and not beyond. An end is tested only if no float is left
            between the end and the midpoint.
        low: the start of the search interval.
        high: the end of the search interval.
        halvings: the number of halvings; fewer if no float is left in between.
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
    """Return the results of `bisected` for each entry of arrays of one shape, with the same number of halvings."""
    for _ in range(halvings):
        middle = (low + high) / 2
        held = holds(middle)
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    return low, high


def last_whole(holds: Callable[[int], bool], low: int, high: int, *, upper: bool = False) -> int:
    """Return the last integer in low..high - 1 for which a condition holds.

    Args:
        holds: the condition, which holds up to some integer and not beyond.
        low: an integer for which it holds; it is also the result if the condition holds for no larger one.
        high: an integer for which it does not hold.
        upper: whether to test the upper of two midpoints, which matters only where rounding decides.
    """
    while high - low > 1:
        middle = (low + high + upper) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def last_positive(slope: Callable[[float], float]) -> float:
    """Return the zero of a decreasing function in [0, 1]; 0 or 1 if the function does not change its sign.

    The function is not evaluated at 1, and at 0 only if the zero is next to it. So it may be infinite at both ends.
    """
    low, high = bisected(lambda x: x < 1 and slope(x) > 0, 0.0, 1.0, _HALVINGS)
    return low if low > 0 else high if slope(0.0) > 0 else 0.0


def golden_section(function: Callable[[float], float], low: float, high: float, steps: int) -> tuple[float, float]:
    """Return two numbers that enclose the maximum of a concave function.

    If two function values are equal, the lower part of the interval is used.

    Args:
        function: a concave function, or one that rises and then falls.
        low: the start of the search interval.
        high: the end of the search interval.
        steps: the number of steps; each step shrinks the interval to 0.618 of its length.
    """
    for _ in range(steps):
        step = _GOLDEN * (high - low)
        left, right = high - step, low + step
        low, high = (left, high) if function(left) < function(right) else (low, right)
    return low, high


# 1/12, 1/360, ...; with all these terms the error is below 1e-18 for arguments of at least 16.
_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SMALL = 16
_REMAINDERS = np.array([0.0, *(lgamma(n + 1) - (n + 0.5) * log(n) + n - log(2 * pi) / 2 for n in range(1, _SMALL))])


def stirling_remainder(n: FloatArray) -> FloatArray:
    """Return ln n! - ((n + 1/2) ln n - n + ln(2 pi)/2), the remainder of Stirling's formula, for integers n >= 1.

    With the remainder, ln n! has about 16 correct digits.
    """
    inverse = 1 / np.maximum(n, _SMALL)
    series = np.zeros_like(inverse)
    for term in reversed(_TERMS):
        series = term + inverse * inverse * series
    small = _REMAINDERS[np.minimum(n, _SMALL - 1).astype(np.int64)]
    return np.where(n < _SMALL, small, inverse * series)


@lru_cache(maxsize=512)
def next_prime(least: int) -> int:
    """Return the smallest prime that is at least ``least``."""
    candidate = max(least, 2)
    while not is_prime(candidate):
        candidate += 1
    return candidate


def is_prime(number: int) -> bool:
    """Return true if an integer of at least 2 is prime."""
    divisors = np.arange(2, isqrt(number) + 1)
    return bool((number % divisors).all())
