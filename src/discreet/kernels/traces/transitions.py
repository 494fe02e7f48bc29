"""Transitions of traces as integer keys, and the counts of keys in each row.

Rows are those of `events`: row i of an array is ``array[offsets[i]:offsets[i + 1]]``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks
from discreet.kernels.traces.events import SHORT_ROW, rows_per_task

_Ints = NDArray[np.int64]
_Integers = NDArray[np.integer[Any]]

NOTHING = -1
"""A key that does not count."""


def transitions(offsets: _Ints, events: _Integers, size: int, *, start: bool) -> _Ints:
    """Return keys of the first event of each row, and of every step from one event to the next.

    The first event x has the key x, the step from x to y the key (x + 1) * size + y.

    Args:
        offsets: shape ``(rows + 1,)``.
        events: shape ``(m,)``, in 0..size - 1.
        size: how many different events there are; below 2^31.
        start: whether the first event counts; otherwise its key is `NOTHING`.

    Returns:
        Keys, shape ``(m,)``.
    """
    keys = np.empty(events.size, np.int64)
    _transitions(offsets, events, size, start, keys)
    return keys


def count_keys(offsets: _Ints, keys: _Ints) -> tuple[_Ints, _Ints, NDArray[np.int32]]:
    """Return the different keys of each row with their counts.

    Args:
        offsets: shape ``(rows + 1,)``.
        keys: shape ``(m,)``; taken over, and sorted within each row. `NOTHING` does not count.

    Returns:
        ``(rows + 1,)`` offsets of the result, its keys, ascending in each row, and how often each came.
    """
    counts, found = np.empty(keys.size, np.int32), np.zeros(offsets.size, np.int64)

    def count(start: int, stop: int) -> None:
        _count_keys(offsets, keys, counts, found, (start, stop))

    rows = offsets.size - 1
    map_blocks(count, rows, block=rows_per_task(rows))
    packed = np.cumsum(found)
    _pack(offsets, packed, keys, counts)
    return packed, keys[: packed[-1]].copy(), counts[: packed[-1]].copy()


@compiled()
def _transitions(offsets: _Ints, events: _Integers, size: int, start: bool, keys: _Ints) -> None:
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if i > offsets[row]:
                keys[i] = (np.int64(events[i - 1]) + 1) * size + events[i]
            else:
                keys[i] = np.int64(events[i]) if start else NOTHING


@compiled()
def _sort(keys: _Ints) -> None:
    if keys.size > SHORT_ROW:
        keys.sort()
        return
    for i in range(1, keys.size):
        key, j = keys[i], i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@compiled()
def _count_keys(offsets: _Ints, keys: _Ints, counts: NDArray[np.int32], found: _Ints, rows: Any) -> None:
    for row in range(rows[0], rows[1]):
        part, many = keys[offsets[row] : offsets[row + 1]], counts[offsets[row] : offsets[row + 1]]
        _sort(part)
        different = 0
        for i in range(part.size):
            if part[i] == NOTHING:
                continue
            if different and part[different - 1] == part[i]:
                many[different - 1] += 1
            else:
                part[different] = part[i]
                many[different] = 1
                different += 1
        found[row + 1] = different


@compiled()
def _pack(offsets: _Ints, packed: _Ints, keys: _Ints, counts: NDArray[np.int32]) -> None:
    # Rows only move towards the front, so none is written over before it has moved.
    for row in range(offsets.size - 1):
        shift = offsets[row] - packed[row]
        for i in range(packed[row], packed[row + 1]):
            keys[i] = keys[i + shift]
            counts[i] = counts[i + shift]
