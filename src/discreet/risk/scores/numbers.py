"""Arrays of scores as users hand them in: checked, in one type and on one scale."""

from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.columns import unmasked
from discreet.errors import DataError

_LARGEST_INTEGER = 1 << 62
_LARGEST_FLOAT = 2.0**1020


def scaled(*scores: AnyArray) -> list[AnyArray]:
    """Return scores of one scale whose differences are finite, all of them divided by 16 where some are very large.

    By a power of two, which changes nothing else.
    """
    largest = max(float(abs(end)) for array in scores for end in (array.min(), array.max()))
    return [array / 16 if array.dtype == np.float64 and largest > _LARGEST_FLOAT else array for array in scores]


def checked_scores(scores: Any, kind: str, fewest: int) -> AnyArray:
    """Return scores as ``(n,)`` float64 or int64.

    Raises:
        DataError: if there are too few of them, or they are not finite numbers in one dimension.
    """
    array = as_array(scores, f"{kind} scores")
    if array.ndim != 1:
        raise DataError(f"{kind} scores must have one dimension, got {array.ndim}.")
    if len(array) < fewest:
        raise DataError(f"there must be at least {fewest} {kind} scores, got {len(array)}.")
    return checked_numbers(array, kind)


def as_array(values: Any, what: str) -> AnyArray:
    """Return an array of any shape and type.

    Raises:
        DataError: if there are rows of unequal lengths.
    """
    try:
        return unmasked(values, what) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except ValueError:
        raise DataError(f"{what} must be an array of numbers, got rows of unequal lengths.") from None


def checked_numbers(array: AnyArray, kind: str, remedy: str = "leave them out") -> AnyArray:
    """Return an array of any shape as float64 or int64.

    Args:
        array: the numbers.
        kind: what they are, for messages.
        remedy: what to do if some are of no use, for messages.

    Raises:
        DataError: if it holds anything but finite numbers, or integers of more than 62 bits.
    """
    if array.dtype.kind not in "fiu":
        raise DataError(f"{kind} scores must be real numbers, got an array of {array.dtype}.")
    if array.dtype.kind == "f":
        bad = ~np.isfinite(array)
        what = "NaN or infinite"
    else:
        bad = (array >= _LARGEST_INTEGER) | ((array <= -_LARGEST_INTEGER) if array.dtype.kind == "i" else False)
        what = "integers of more than 62 bits"
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise DataError(f"{int(bad.sum())} of {array.size} {kind} scores are {what} (first at {where}); {remedy}.")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def ascending(scores: AnyArray) -> AnyArray:
    """Return ``(n,)`` scores in ascending order: the same array where they already are."""
    return scores if (scores[1:] >= scores[:-1]).all() else np.sort(scores)


def distinct(scores: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the different ones of ``(n,)`` ascending scores, and how often each is there.

    `numpy.unique` does not know that they ascend, and takes ten times as long for integers.
    """
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1])) if len(scores) else np.empty(0, np.intp)
    return scores[starts], np.diff(starts, append=len(scores))
