"""Types of arrays for the whole package, and read-only arrays."""

import sys
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
"""Codes, counts and indices."""

FloatArray: TypeAlias = NDArray[np.float64]
"""Frequencies, errors and weights."""

Floats: TypeAlias = float | FloatArray
"""One number, or an array of numbers."""

BoolArray: TypeAlias = NDArray[np.bool_]

WordArray: TypeAlias = NDArray[np.uint64]
"""Random 64-bit words."""

AnyArray: TypeAlias = NDArray[Any]


def is_masked(array: object) -> "TypeGuard[np.ma.MaskedArray[Any, Any]]":
    """Return true if an array is a masked array of NumPy; the module of masked arrays is not imported."""
    # A lazy "numpy.ma" is in `sys.modules` before its first use; its core is not. Another thread may import it now.
    masked: Any = getattr(sys.modules.get("numpy.ma.core"), "MaskedArray", None)
    return masked is not None and isinstance(array, masked)


def made_read_only(array: AnyArray) -> AnyArray:
    """Return an array after making it read-only, and also the arrays that own its memory."""
    owner: AnyArray | None = array
    while owner is not None:
        owner.flags.writeable = False
        owner = owner.base if isinstance(owner.base, np.ndarray) else None
    return array


def read_only(array: AnyArray) -> AnyArray:
    """Return a read-only view of an array."""
    view = array.view()
    view.setflags(write=False)
    return view
