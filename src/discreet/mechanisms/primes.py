"""Primes, which hash families and difference sets are made over."""

from functools import lru_cache
from math import isqrt

import numpy as np


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
