"""Mixings of rows of words, summed up, compiled; `discreet.core.digests` says what they are for."""

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@compiled()
def sum_mixed(words: NDArray[np.uint64], keys: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Return the sums over all rows of the three parts of a mixing; the plain form is `discreet.core.digests.mixed`.

    Args:
        words: ``(n, k)``, n below 2^32.
        keys: ``(k + 3,)``, odd.

    Returns:
        The sums of the lowest 32 bits, of the next 32, and of the highest 64 bits, the last one modulo 2^64.
    """
    rows, size = words.shape
    low = middle = high = np.uint64(0)
    for row in range(rows):
        total = keys[size]
        for place in range(size):
            word = words[row, place]
            # Multiplied alone, the highest bits of words would cancel each other.
            total += (word ^ (word >> _HALF)) * keys[place]
        total ^= total >> _HALF
        one = total * keys[size + 1]
        one ^= one >> _HALF
        other = total * keys[size + 2]
        other ^= other >> _HALF
        low += one & _LOW
        middle += one >> _HALF
        high += other
    return low, middle, high  # type: ignore[return-value]
