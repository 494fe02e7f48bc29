"""The fast Walsh-Hadamard transform."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", np.int64, np.float64)


def walsh_hadamard(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the product of Sylvester's Hadamard matrix, not normalised, and a vector.

    Entry (i, j) of the matrix is (-1)^popcount(i & j). V log V additions.

    Args:
        values: shape ``(V,)``, V a power of two; int64 or float64.

    Returns:
        A new array, shape ``(V,)``, same type.

    Raises:
        ValueError: If V is not a power of two.
    """
    size = values.size
    if values.ndim != 1 or size == 0 or size & (size - 1):
        raise ValueError(f"the length must be a power of two, got shape {values.shape}.")
    current, following = values.copy(), np.empty_like(values)
    # Each stage combines the lowest index bit and rotates it to the top, so that every
    # write is contiguous; after log V stages the order is the original one.
    for _ in range(size.bit_length() - 1):
        even, odd = current[0::2], current[1::2]
        np.add(even, odd, out=following[: size // 2])
        np.subtract(even, odd, out=following[size // 2 :])
        current, following = following, current
    return current
