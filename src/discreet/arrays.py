"""Names for the array types that the whole package speaks in."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
"""Codes, counts and indices."""

FloatArray: TypeAlias = NDArray[np.float64]
"""Frequencies, errors and weights."""

BoolArray: TypeAlias = NDArray[np.bool_]

WordArray: TypeAlias = NDArray[np.uint64]
"""Random 64-bit words."""

AnyArray: TypeAlias = NDArray[Any]


def sealed(array: AnyArray) -> AnyArray:
    """Return ``array``, which the caller made and nobody else holds, so that nobody can write to it any more."""
    owner: AnyArray | None = array
    while owner is not None:
        owner.flags.writeable = False
        owner = owner.base if isinstance(owner.base, np.ndarray) else None
    return array


def frozen(array: AnyArray) -> AnyArray:
    """Return a view of ``array`` through which nobody can write."""
    view = array.view()
    view.setflags(write=False)
    return view
