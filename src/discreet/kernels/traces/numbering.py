"""Numbers of names in the order of first occurrence, a batch at a time.

A table has a power of two of slots, and the names in the order of their numbers; the search for a name starts at the
slot of its hash. A kernel stops when a table is full, and continues after the table has been enlarged.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import frozen
from discreet.errors import DataError
from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.int32]
_Bytes = NDArray[np.uint8]

ABSENT = -1
"""The number of a name that is not in the table, and what an empty slot holds."""

SMALLEST = 1 << 10
"""Slots of a table at first."""

_MOST = 1 << 31
_NAMES_PER_TASK = 1 << 20
# 2^64 divided by the golden ratio: neighbours end up far from each other.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Start and factor of FNV-1a, a hash of bytes in order.
_HASH_START, _HASH_FACTOR = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
# A slot of text holds 31 bits of the hash above the number, so that other names are rarely looked at.
_TAG, _NUMBER = np.uint64(0x7FFFFFFF), np.int64(0xFFFFFFFF)


def room(slots: int) -> int:
    """Return the number of names that a number of slots has room for: a quarter stays empty, for short searches.

    Raises:
        DataError: if numbers would no longer fit into 32 signed bits.
    """
    if slots > _MOST:
        raise DataError(f"at most {room(_MOST)} different users, events or steps are taken.")
    return slots * 3 // 4


FIRST_ROOM = room(SMALLEST)
"""The room of a new table."""


def widened(array: NDArray[Any], used: int, size: int) -> NDArray[Any]:
    """Return a larger array that begins with the used part of another one."""
    wider: NDArray[Any] = np.empty(size, array.dtype)
    wider[:used] = array[:used]
    return wider


@dataclass(slots=True, eq=False)
class KeyTable:
    """A table of integers and their numbers: 8 bytes each, and 5 to 11 for the search.

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
        """Return the ``(m,)`` numbers of keys, `ABSENT` for those that are not in the table."""
        numbers = np.empty(keys.size, np.int32)

        def find(start: int, stop: int) -> None:
            _find(keys[start:stop], self._slots, self._keys, numbers[start:stop])

        map_blocks(find, keys.size, block=_NAMES_PER_TASK, threads=threads)
        return numbers

    def column(self) -> _Ints:
        """Return the ``(size,)`` keys in the order of their numbers."""
        return self._keys[: self.size]


def number_texts(
    texts: tuple[_Ints, _Bytes], slots: _Ints, names: tuple[_Ints, _Bytes], size: int, numbers: _Numbers
) -> tuple[int, int]:
    """Write the numbers of texts, new ones from ``size`` on.

    Args:
        texts: offsets ``(m + 1,)`` and the bytes of all texts.
        slots: at least 4/3 as many as names have room; -1 where empty, else bits of the hash and the number.
        names: those known: offsets, with room for more, and bytes, with room for more.
        size: how many are known.
        numbers: shape ``(m,)``, where they go.

    Returns:
        How many texts were numbered before the room was full, and how many names are known now.
    """
    # Arrays that may be written and arrays that may not would be several kernels.
    done, known = _number_texts(frozen(texts[0]), frozen(texts[1]), slots, *names, size, numbers)
    return int(done), int(known)


def refill_texts(slots: _Ints, old: _Ints) -> None:
    """Fill empty slots, at most 2^31, with the content of others."""
    _refill_texts(slots, old)


def number_entries(indices: NDArray[np.integer[Any]], size: int) -> tuple[_Numbers, _Numbers]:
    """Return the entries of a dictionary in the order in which rows name them, with the rows' numbers.

    Args:
        indices: shape ``(m,)``, in 0..size - 1.
        size: how many entries there are.

    Returns:
        ``(k,)`` the entries that some row names, as they come, and the ``(m,)`` numbers of the rows.
    """
    ranks, entries = np.full(size, ABSENT, np.int32), np.empty(min(size, indices.size), np.int32)
    numbers = np.empty(indices.size, np.int32)
    return entries[: _number_entries(indices, ranks, entries, numbers)], numbers


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
def _find(keys: _Ints, slots: _Numbers, names: _Ints, numbers: _Numbers) -> None:
    for i in range(keys.size):
        numbers[i] = slots[_slot(keys[i], slots, names)]


@compiled()
def _refill(slots: _Numbers, names: _Ints) -> None:
    for i in range(names.size):
        slots[_slot(names[i], slots, names)] = i


@compiled()
def _tag(text: _Bytes) -> Any:
    mixed = _HASH_START
    for byte in text:
        mixed = (mixed ^ np.uint64(byte)) * _HASH_FACTOR
    mixed *= _MULTIPLIER
    return (mixed >> np.uint64(32)) & _TAG


@compiled()
def _same(text: _Bytes, other: _Bytes) -> bool:
    if text.size != other.size:
        return False
    i = 0
    while i < text.size and text[i] == other[i]:
        i += 1
    return i == text.size


@compiled()
def _number_texts(
    offsets: _Ints, bytes_: _Bytes, slots: _Ints, starts: _Ints, letters: _Bytes, size: int, numbers: _Numbers
) -> Any:
    mask = np.uint64(slots.size - 1)
    for i in range(offsets.size - 1):
        text = bytes_[offsets[i] : offsets[i + 1]]
        tag = _tag(text)
        slot = tag & mask
        while slots[slot] != ABSENT:
            if np.uint64(slots[slot] >> 32) == tag:
                number = slots[slot] & _NUMBER
                if _same(text, letters[starts[number] : starts[number + 1]]):
                    break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == ABSENT:
            stop = starts[size] + text.size
            if size == starts.size - 1 or stop > letters.size:
                return i, size
            for k in range(text.size):
                letters[starts[size] + k] = text[k]
            slots[slot] = np.int64(tag << np.uint64(32)) | size
            size += 1
            starts[size] = stop
        numbers[i] = slots[slot] & _NUMBER
    return offsets.size - 1, size


@compiled()
def _refill_texts(slots: _Ints, old: _Ints) -> None:
    mask = np.uint64(slots.size - 1)
    for entry in old:
        if entry != ABSENT:
            slot = np.uint64(entry >> 32) & mask
            while slots[slot] != ABSENT:
                slot = (slot + np.uint64(1)) & mask
            slots[slot] = entry


@compiled()
def _number_entries(indices: NDArray[np.integer[Any]], ranks: _Numbers, entries: _Numbers, numbers: _Numbers) -> int:
    size = 0
    for i in range(indices.size):
        entry = indices[i]
        if ranks[entry] == ABSENT:
            ranks[entry] = size
            entries[size] = entry
            size += 1
        numbers[i] = ranks[entry]
    return size
