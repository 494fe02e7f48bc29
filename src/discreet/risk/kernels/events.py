"""Compiled kernels for events: numbers for names, sorting, counting, and an inverted index.

Names get numbers in the order of first occurrence, one batch at a time. A table has a power of two of slots, and the
names in the order of their numbers; the search for a name starts at the slot of its hash. A kernel stops when a table
is full, and continues after the table has been enlarged.

Rows of events are stored in one array: row i is ``array[offsets[i]:offsets[i + 1]]``, and ``offsets`` has shape
``(rows + 1,)``. An inverted index lists the owners of every feature. Transitions of traces are integer keys.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import read_only
from discreet.errors import DataError
from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.int32]

ABSENT = -1
"""The number of a name that is not in the table, and the entry of an empty slot."""

SMALLEST = 1 << 10
"""The number of slots of a new table."""

_MOST = 1 << 31
_NAMES_PER_TASK = 1 << 20
# 2^64 divided by the golden ratio, which spreads neighbours far from each other.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def room(slots: int) -> int:
    """Return the capacity of a table with a given number of slots: a quarter stays empty, for short searches.

    Raises:
        DataError: if numbers would not fit into 32 bits.
    """
    if slots > _MOST:
        raise DataError("traces.too-many", room=room(_MOST))
    return slots * 3 // 4


FIRST_ROOM = room(SMALLEST)
"""The capacity of a new table."""


def widened(array: NDArray[Any], used: int, size: int) -> NDArray[Any]:
    """Return a larger array that begins with the used part of the given one."""
    wider: NDArray[Any] = np.empty(size, array.dtype)
    wider[:used] = array[:used]
    return wider


@dataclass(slots=True, eq=False)
class KeyTable:
    """A table of integers and their numbers: 8 bytes for each, and 5 to 11 for the search.

    Attributes:
        size: number of different integers.
    """

    size: int = field(default=0, init=False)
    _slots: _Numbers = field(default_factory=lambda: np.full(SMALLEST, ABSENT, np.int32), init=False, repr=False)
    _keys: _Ints = field(default_factory=lambda: np.empty(FIRST_ROOM, np.int64), init=False, repr=False)

    def number(self, keys: _Ints) -> _Numbers:
        """Return the ``(m,)`` numbers of ``(m,)`` keys, after adding new ones."""
        numbers, done = np.empty(keys.size, np.int32), 0
        while True:
            more, self.size = _number(keys[done:], self._slots, self._keys, self.size, numbers[done:])
            done += more
            if done == keys.size:
                return numbers
            self._grow()

    def _grow(self) -> None:
        slots = 2 * self._slots.size
        self._keys = widened(self._keys, self.size, room(slots))
        self._slots = np.full(slots, ABSENT, np.int32)
        _refill(self._slots, self._keys[: self.size])

    def find(self, keys: _Ints, *, threads: int | None = None) -> _Numbers:
        """Return the ``(m,)`` numbers of keys, or `ABSENT` for keys that are not in the table."""
        numbers = np.empty(keys.size, np.int32)

        def find(start: int, stop: int) -> None:
            find_numbers(keys[start:stop], self._slots, self._keys, numbers[start:stop])

        map_blocks(find, keys.size, block=_NAMES_PER_TASK, threads=threads)
        return numbers

    def column(self) -> _Ints:
        """Return the ``(size,)`` keys in the order of their numbers."""
        return self._keys[: self.size]


@compiled()
def _slot(value: int, slots: _Numbers, names: _Ints) -> Any:
    mask = np.uint64(slots.size - 1)
    mixed = np.uint64(value) * _MULTIPLIER
    slot = (mixed ^ (mixed >> np.uint64(32))) & mask
    while slots[slot] != ABSENT and names[slots[slot]] != value:
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled()
def _number(values: _Ints, slots: _Numbers, names: _Ints, size: int, numbers: _Numbers) -> Any:
    for i in range(values.size):
        slot = _slot(values[i], slots, names)
        if slots[slot] == ABSENT:
            if size == names.size:
                return i, size
            slots[slot] = size
            names[size] = values[i]
            size += 1
        numbers[i] = slots[slot]
    return values.size, size


@compiled()
def find_numbers(keys: _Ints, slots: _Numbers, names: _Ints, numbers: _Numbers) -> None:
    """Write the numbers of keys, or `ABSENT` for keys that are not in the table."""
    for i in range(keys.size):
        numbers[i] = slots[_slot(keys[i], slots, names)]


@compiled()
def _refill(slots: _Numbers, names: _Ints) -> None:
    for i in range(names.size):
        slots[_slot(names[i], slots, names)] = i


_Integers = NDArray[np.integer[Any]]

_MOST_TASKS = 32
SHORT_ROW = 48
"""Rows with up to this number of events are sorted by insertion, which is faster; most rows are short."""


def group(owners: _Integers, size: int) -> tuple[_Ints, _Integers]:
    """Return the places of each owner, in order.

    Args:
        owners: shape ``(m,)``, in 0..size - 1.
        size: the number of owners.

    Returns:
        ``(size + 1,)`` offsets and ``(m,)`` places, int32 if that suffices.
    """
    offsets = np.zeros(size + 1, np.int64)
    _count_owners(owners, offsets)
    narrow = owners.size < 1 << 31
    places: _Integers = np.empty(owners.size, np.int32) if narrow else np.empty(owners.size, np.int64)
    _scatter(owners, np.cumsum(offsets, out=offsets)[:-1].copy(), places)
    return offsets, places


def order_rows(offsets: _Ints, places: _Integers, times: NDArray[Any]) -> None:
    """Sort the places of each row by time, in place; places with equal times keep their order.

    Args:
        offsets: shape ``(rows + 1,)``.
        places: shape ``(m,)``.
        times: shape ``(m,)``, by place.
    """
    # Without this, writable and read-only arrays would need two compiled kernels.
    whens = read_only(times)

    def order(start: int, stop: int) -> None:
        _order(offsets, places, whens, start, stop)

    rows = offsets.size - 1
    map_blocks(order, rows, block=rows_per_task(rows))


def copy_rows(array: NDArray[Any], starts: _Ints, offsets: _Ints) -> NDArray[Any]:
    """Return rows, or parts of rows, one after the other.

    Args:
        array: shape ``(m,)``.
        starts: shape ``(rows,)``, the start of each in the array.
        offsets: shape ``(rows + 1,)``, the start of each in the result.

    Returns:
        The rows, shape ``(offsets[-1],)``.
    """
    rows: NDArray[Any] = np.empty(offsets[-1], array.dtype)
    _copy_rows(array, starts, offsets, rows)
    return rows


def rows_per_task(rows: int) -> int:
    """Return the number of rows per task; it does not depend on the number of threads."""
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
def _copy_rows(array: NDArray[Any], starts: _Ints, offsets: _Ints, rows: NDArray[Any]) -> None:
    for row in range(starts.size):
        # In a loop, because most rows are short, and a slice costs more than the copy.
        shift = starts[row] - offsets[row]
        for i in range(offsets[row], offsets[row + 1]):
            rows[i] = array[i + shift]


def invert(
    size: int, entries: list[tuple[_Ints, _Numbers, NDArray[np.integer[Any]]]], dtype: type = np.int32
) -> tuple[_Ints, _Numbers, NDArray[np.integer[Any]]]:
    """Return the owners of every feature, with their weights.

    Args:
        size: the number of features.
        entries: groups of offsets ``(rows + 1,)``, features ``(m,)`` and weights ``(m,)``; row i belongs to owner i.
            `ABSENT` features and weights of 0 are omitted. No feature may be in two groups.
        dtype: the type of the weights.

    Returns:
        ``(size + 1,)`` offsets, owners, ascending for each feature, and weights.
    """
    offsets = np.zeros(size + 1, np.int64)
    for _, features, weights in entries:
        _count_features(features, weights, offsets)
    np.cumsum(offsets, out=offsets)
    owners, amounts, place = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], dtype), offsets[:-1].copy()
    for rows, features, weights in entries:
        _scatter_features(rows, features, weights, place, (owners, amounts))
    return offsets, owners, amounts


@compiled()
def _count_features(features: _Numbers, weights: NDArray[np.integer[Any]], offsets: _Ints) -> None:
    for i in range(features.size):
        if features[i] != ABSENT and weights[i] != 0:
            offsets[features[i] + 1] += 1


@compiled()
def _scatter_features(
    rows: _Ints, features: _Numbers, weights: NDArray[np.integer[Any]], place: _Ints, out: Any
) -> None:
    owners, amounts = out
    for row in range(rows.size - 1):
        for i in range(rows[row], rows[row + 1]):
            feature = features[i]
            if feature != ABSENT and weights[i] != 0:
                owners[place[feature]] = row
                amounts[place[feature]] = weights[i]
                place[feature] += 1


NOTHING = -1
"""A key that is not counted."""


def transitions(offsets: _Ints, events: _Integers, size: int, *, start: bool) -> _Ints:
    """Return keys of the first event of each row, and of every step from one event to the next.

    The first event x has the key x, the step from x to y the key (x + 1) * size + y.

    Args:
        offsets: shape ``(rows + 1,)``.
        events: shape ``(m,)``, in 0..size - 1.
        size: the number of different events; below 2^31.
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
        keys: shape ``(m,)``; sorted within each row, in place. `NOTHING` does not count.

    Returns:
        ``(rows + 1,)`` offsets of the result, its keys, ascending in each row, and their counts.
    """
    counts, distinct = np.empty(keys.size, np.int32), np.zeros(offsets.size, np.int64)

    def count(start: int, stop: int) -> None:
        _count_keys(offsets, keys, counts, distinct, (start, stop))

    rows = offsets.size - 1
    map_blocks(count, rows, block=rows_per_task(rows))
    packed = np.cumsum(distinct)
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
def _count_keys(offsets: _Ints, keys: _Ints, counts: NDArray[np.int32], distinct: _Ints, rows: Any) -> None:
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
        distinct[row + 1] = different


@compiled()
def _pack(offsets: _Ints, packed: _Ints, keys: _Ints, counts: NDArray[np.int32]) -> None:
    # Rows only move to the front, so none is overwritten before it has moved.
    for row in range(offsets.size - 1):
        shift = offsets[row] - packed[row]
        for i in range(packed[row], packed[row + 1]):
            keys[i] = keys[i + shift]
            counts[i] = counts[i + shift]
