"""Subsets as marks in words: changed at random places, and listed; by NumPy, or compiled where that pays.

Marks have shape ``(m, lanes)``: bit p % 64 of word p // 64 of a row is set if place p is in its subset. Both forms give
the same, bit for bit.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.startup import pays

# What NumPy takes longer than a compiled kernel, for each place of the two functions.
_PLACE_SECONDS, _MEMBER_SECONDS = 1e-8, 2e-9
# Bytes of marks that are listed at a time: 64-bit places of them stay in the cache.
_MARKS = 1 << 17


def repair(marks: NDArray[np.uint64], places: NDArray[np.uint32], missing: NDArray[np.int64]) -> NDArray[np.int64]:
    """Set or clear drawn places, one after the other, until every subset has the members that it should have.

    Args:
        marks: shape ``(m, lanes)``; changed in place.
        places: shape ``(m, r)``, r at most 128: a row's are tried in this order, and those that are as they should be
            are skipped.
        missing: shape ``(m,)``: how many to set; how many to clear, if negative.

    Returns:
        What is still missing, shape ``(m,)``.
    """
    if pays(_PLACE_SECONDS * places.size):
        from discreet.kernels.blocks import compiled_bitmaps

        counted = missing.copy()
        compiled_bitmaps.repair(marks, places, counted)
        return counted
    bits, want = np.unpackbits(marks.view(np.uint8), axis=1, bitorder="little"), (missing > 0)[:, None]
    flat = bits.reshape(-1)
    at = places + (np.arange(len(bits)) * bits.shape[1])[:, None]
    numbers = np.broadcast_to(np.arange(at.shape[1], dtype=np.uint8), at.shape)
    first = np.full(len(flat), 255, dtype=np.uint8)
    np.minimum.at(first, at.reshape(-1), numbers.reshape(-1))
    # A place that is drawn again was changed before.
    changes = (flat[at] != want) & (first[at] == numbers)
    changes &= np.cumsum(changes, axis=1, dtype=np.uint8) <= np.abs(missing)[:, None]
    flat[at[changes]] ^= np.uint8(1)
    marks[:] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    left: NDArray[np.int64] = missing - np.where(want, 1, -1)[:, 0] * changes.sum(axis=1)
    return left


def list_members(marks: NDArray[np.uint64], out: NDArray[np.unsignedinteger]) -> None:
    """List the places that are set.

    Args:
        marks: shape ``(m, lanes)``, k set in each row.
        out: shape ``(m, k)``, to be filled: each row ascends.
    """
    if pays(_MEMBER_SECONDS * out.size):
        from discreet.kernels.blocks import compiled_bitmaps

        compiled_bitmaps.list_members(marks, out)
        return
    places = 64 * marks.shape[1]
    step = max(_MARKS // places, 1)
    for start in range(0, len(marks), step):
        rows = slice(start, start + step)
        bits = np.unpackbits(marks[rows].view(np.uint8), axis=1, bitorder="little")
        # Of booleans: of bytes it takes ten times longer.
        listed = np.flatnonzero(bits.view(np.bool_)).reshape(len(bits), out.shape[1])
        listed -= (np.arange(len(bits)) * places)[:, None]
        out[rows] = listed
