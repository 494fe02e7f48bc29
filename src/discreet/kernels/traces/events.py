"""Rows of events in one array: grouping, ordering and copying.

Row i of an array is ``array[offsets[i]:offsets[i + 1]]``; ``offsets`` has shape ``(rows + 1,)``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import frozen
from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks

_Ints = NDArray[np.int64]
_Integers = NDArray[np.integer[Any]]

_MOST_TASKS = 32
SHORT_ROW = 48
"""Events up to which a row is sorted by insertion, which is faster; most rows are short."""


def group(owners: _Integers, size: int) -> tuple[_Ints, _Integers]:
    """Return the places of each owner, in order.

    Args:
        owners: shape ``(m,)``, in 0..size - 1.
        size: how many owners there are.

    Returns:
        ``(size + 1,)`` offsets and ``(m,)`` places, int32 where that suffices.
    """
    offsets = np.zeros(size + 1, np.int64)
    _count_owners(owners, offsets)
    narrow = owners.size < 1 << 31
    places: _Integers = np.empty(owners.size, np.int32) if narrow else np.empty(owners.size, np.int64)
    _scatter(owners, np.cumsum(offsets, out=offsets)[:-1].copy(), places)
    return offsets, places


def order_rows(offsets: _Ints, places: _Integers, times: NDArray[Any]) -> None:
    """Sort the places of each row by time, in place; places of equal times keep their order.

    Args:
        offsets: shape ``(rows + 1,)``.
        places: shape ``(m,)``.
        times: shape ``(m,)``, by place.
    """
    # Arrays that may be written and arrays that may not would be two kernels.
    whens = frozen(times)

    def order(start: int, stop: int) -> None:
        _order(offsets, places, whens, start, stop)

    rows = offsets.size - 1
    map_blocks(order, rows, block=rows_per_task(rows))


def order_events(offsets: _Ints, events: _Integers, times: NDArray[Any]) -> None:
    """Sort the events of each row by time, and the times with them, in place; those of equal times keep their order.

    Args:
        offsets: shape ``(rows + 1,)``.
        events: shape ``(m,)``.
        times: shape ``(m,)``.
    """

    def order(start: int, stop: int) -> None:
        _order_events(offsets, events, times, start, stop)

    rows = offsets.size - 1
    map_blocks(order, rows, block=rows_per_task(rows))


def copy_rows(array: NDArray[Any], starts: _Ints, offsets: _Ints) -> NDArray[Any]:
    """Return rows, or parts of them, one after the other.

    Args:
        array: shape ``(m,)``.
        starts: shape ``(rows,)``, where each begins in the array.
        offsets: shape ``(rows + 1,)``, where each is to begin.

    Returns:
        The rows, shape ``(offsets[-1],)``.
    """
    rows: NDArray[Any] = np.empty(offsets[-1], array.dtype)
    _copy_rows(array, starts, offsets, rows)
    return rows


def take_places(owners: _Integers, next_place: _Ints, stops: _Ints, places: _Ints) -> bool:
    """Assign the next places of their rows to events.

    Args:
        owners: shape ``(m,)``, the row of each event.
        next_place: shape ``(rows,)``, the first free place of each row; moved on.
        stops: shape ``(rows,)``, where each row ends.
        places: shape ``(m,)``, where the result goes.

    Returns:
        Whether every event had a place.
    """
    return bool(_take_places(owners, next_place, stops, places))


def rises_in_rows(owners: _Integers, times: NDArray[Any], latest: NDArray[Any]) -> bool:
    """Return true if no event is earlier than one before it in its row.

    Args:
        owners: shape ``(m,)``, the row of each event.
        times: shape ``(m,)``.
        latest: shape ``(rows,)``, the latest time of each row before; moved on as far as times rise.
    """
    return bool(_rises_in_rows(owners, times, latest))


def rows_per_task(rows: int) -> int:
    """Return the number of rows per task; it does not depend on the threads."""
    return max(-(-rows // _MOST_TASKS), 1)


@compiled()
def _count_owners(owners: _Integers, offsets: _Ints) -> None:
    for owner in owners:
        offsets[owner + 1] += 1


@compiled()
def _scatter(owners: _Integers, next_place: _Ints, places: _Integers) -> None:
    for i in range(owners.size):
        places[next_place[owners[i]]] = i
        next_place[owners[i]] += 1


@compiled()
def _order(offsets: _Ints, places: _Integers, times: NDArray[Any], start: int, stop: int) -> None:
    for row in range(start, stop):
        part = places[offsets[row] : offsets[row + 1]]
        ordered = True
        for i in range(1, part.size):
            if times[part[i]] < times[part[i - 1]]:
                ordered = False
                break
        if not ordered:
            unsorted, order = part.copy(), np.argsort(times[part], kind="mergesort")
            for i in range(order.size):
                part[i] = unsorted[order[i]]


@compiled()
def _order_events(offsets: _Ints, events: _Integers, times: NDArray[Any], start: int, stop: int) -> None:
    for row in range(start, stop):
        when, what = times[offsets[row] : offsets[row + 1]], events[offsets[row] : offsets[row + 1]]
        if when.size > SHORT_ROW:
            early, before, order = when.copy(), what.copy(), np.argsort(when, kind="mergesort")
            for i in range(order.size):
                when[i], what[i] = early[order[i]], before[order[i]]
            continue
        for i in range(1, when.size):
            time, event, j = when[i], what[i], i
            while j > 0 and when[j - 1] > time:
                when[j], what[j] = when[j - 1], what[j - 1]
                j -= 1
            when[j], what[j] = time, event


@compiled()
def _copy_rows(array: NDArray[Any], starts: _Ints, offsets: _Ints, rows: NDArray[Any]) -> None:
    for row in range(starts.size):
        # In a loop: most rows are short, and a slice costs more than what it copies.
        shift = starts[row] - offsets[row]
        for i in range(offsets[row], offsets[row + 1]):
            rows[i] = array[i + shift]


@compiled()
def _take_places(owners: _Integers, next_place: _Ints, stops: _Ints, places: _Ints) -> bool:
    for i in range(owners.size):
        owner = owners[i]
        if next_place[owner] >= stops[owner]:
            return False
        places[i] = next_place[owner]
        next_place[owner] += 1
    return True


@compiled()
def _rises_in_rows(owners: _Integers, times: NDArray[Any], latest: NDArray[Any]) -> bool:
    for i in range(owners.size):
        if times[i] < latest[owners[i]]:
            return False
        latest[owners[i]] = times[i]
    return True
