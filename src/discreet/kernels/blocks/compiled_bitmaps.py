"""Subsets as marks in words, compiled; see `discreet.kernels.blocks.bitmaps`."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled

# Places are listed four at a time, whether or not so many are left: what is too much is written over.
_ABREAST = 4


@intrinsic  # type: ignore[untyped-decorator]
def _trailing_zeros(_: Any, word: Any) -> Any:
    """Return the number of zeros below the lowest one; 64 for a word without ones."""

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.uint64(types.uint64), generate


@compiled()
def repair(marks: NDArray[np.uint64], places: NDArray[np.uint32], missing: NDArray[np.int64]) -> None:
    """Change drawn places of marks, in place, and count ``missing`` down."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(marks.shape[0]):
        row = marks[i]
        left, sets = abs(missing[i]), np.uint64(missing[i] > 0)
        j = 0
        while left > 0 and j < places.shape[1]:
            place = np.uint64(places[i, j])
            word = row[place >> six]
            # 1 where the place is not yet as it should be: the loop has no branch but its end.
            change = ((word >> (place & low)) & one) ^ sets
            row[place >> six] = word ^ (change << (place & low))
            left -= np.int64(change)
            j += 1
        missing[i] = left if missing[i] > 0 else -left


def list_members(marks: NDArray[np.uint64], out: NDArray[Any]) -> None:
    """List the places that are set, row by row."""
    _list(marks, np.empty(64 * marks.shape[1] + 64, out.dtype), out)


@compiled()
def _list(marks: NDArray[np.uint64], listed: NDArray[Any], out: NDArray[Any]) -> None:
    one = np.uint64(1)
    for i in range(marks.shape[0]):
        count = np.uint64(0)
        for lane in range(marks.shape[1]):
            word, base = marks[i, lane], np.uint64(64 * lane)
            at = count
            count += _ones(word)
            while word:
                for k in range(_ABREAST):
                    listed[at + np.uint64(k)] = base + _trailing_zeros(word)
                    word &= word - one
                at += np.uint64(_ABREAST)
        for k in range(out.shape[1]):
            out[i, k] = listed[k]


@compiled()
def _ones(word: np.uint64) -> np.uint64:
    """Return the number of ones."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
