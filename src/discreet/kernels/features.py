"""Features that two sides share: numbers for the keys of one side, and who of the other side has each of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.int32]

ABSENT = -1
"""The number of a key that is not in the table."""

_KEYS_PER_TASK = 1 << 20
# A key is never negative.
_EMPTY = -1
# 2^64 divided by the golden ratio: neighbours end up far from each other.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """Different keys, numbered in the order in which they first came.

    Attributes:
        keys: the slots, a power of two; negative where empty.
        numbers: the number of each slot's key.
        size: how many different keys there are.
    """

    keys: _Ints
    numbers: _Numbers
    size: int


def number_keys(keys: _Ints) -> tuple[KeyTable, _Numbers]:
    """Numbers keys.

    Args:
        keys: shape ``(m,)``, at least 0; fewer than 2^31 different ones.

    Returns:
        The table, and the ``(m,)`` numbers of the keys.
    """
    # At least a quarter of the slots stays empty, which keeps the searches short.
    slots = 1 << max((keys.size * 4 // 3).bit_length(), 4)
    table, of_slots = np.full(slots, _EMPTY, np.int64), np.empty(slots, np.int32)
    numbers = np.empty(keys.size, np.int32)
    size = _number(keys, table, of_slots, numbers)
    return KeyTable(table, of_slots, int(size)), numbers


def find_keys(table: KeyTable, keys: _Ints, *, threads: int | None = None) -> _Numbers:
    """Looks keys up: their ``(m,)`` numbers, `ABSENT` for those that are not in the table."""
    numbers = np.empty(keys.size, np.int32)

    def find(start: int, stop: int) -> None:
        _find(keys[start:stop], table.keys, table.numbers, numbers[start:stop])

    map_blocks(find, keys.size, block=_KEYS_PER_TASK, threads=threads)
    return numbers


def invert(
    size: int, entries: list[tuple[_Ints, _Numbers, NDArray[np.integer[Any]]]], dtype: type = np.int32
) -> tuple[_Ints, _Numbers, NDArray[np.integer[Any]]]:
    """Lists, for every feature, who has it and with what weight.

    Args:
        size: how many features there are.
        entries: groups of offsets ``(rows + 1,)``, features ``(m,)`` and weights ``(m,)``; row i belongs to owner
            i. `ABSENT` features and weights of 0 are left out. No feature may be in two of the groups.
        dtype: the type of the weights.

    Returns:
        ``(size + 1,)`` offsets, owners, ascending for each feature, and weights.
    """
    offsets = np.zeros(size + 1, np.int64)
    for _, features, weights in entries:
        _count_features(features, weights, offsets)
    np.cumsum(offsets, out=offsets)
    owners, kept, place = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], dtype), offsets[:-1].copy()
    for rows, features, weights in entries:
        _scatter(rows, features, weights, place, (owners, kept))
    return offsets, owners, kept


@compiled()
def _slot(key: int, table: _Ints) -> Any:
    mask = np.uint64(table.size - 1)
    mixed = np.uint64(key) * _MULTIPLIER
    slot = (mixed ^ (mixed >> np.uint64(32))) & mask
    while table[slot] != key and table[slot] != _EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@compiled()
def _number(keys: _Ints, table: _Ints, of_slots: _Numbers, numbers: _Numbers) -> int:
    size = 0
    for i in range(keys.size):
        slot = _slot(keys[i], table)
        if table[slot] == _EMPTY:
            table[slot] = keys[i]
            of_slots[slot] = size
            size += 1
        numbers[i] = of_slots[slot]
    return size


@compiled()
def _find(keys: _Ints, table: _Ints, of_slots: _Numbers, numbers: _Numbers) -> None:
    for i in range(keys.size):
        slot = _slot(keys[i], table)
        numbers[i] = ABSENT if table[slot] == _EMPTY else of_slots[slot]


@compiled()
def _count_features(features: _Numbers, weights: NDArray[np.integer[Any]], offsets: _Ints) -> None:
    for i in range(features.size):
        if features[i] != ABSENT and weights[i] != 0:
            offsets[features[i] + 1] += 1


@compiled()
def _scatter(rows: _Ints, features: _Numbers, weights: NDArray[np.integer[Any]], place: _Ints, out: Any) -> None:
    owners, kept = out
    for row in range(rows.size - 1):
        for i in range(rows[row], rows[row + 1]):
            feature = features[i]
            if feature != ABSENT and weights[i] != 0:
                owners[place[feature]] = row
                kept[place[feature]] = weights[i]
                place[feature] += 1
