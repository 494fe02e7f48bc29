"""Counts of symbols and of packed bits by group, compiled; see `discreet.kernels.blocks.grouping`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled

# Eight counts of 8 bits in a word; a bit for each of them; all bits but the highest of each; the bit of each place.
_MOST = 255
_ONES, _LOW, _PLACES = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8040201008040201)


def add_bits(bits: NDArray[np.uint8], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add packed reports to counts; see `discreet.kernels.blocks.grouping.add_bits`."""
    short = np.zeros((len(counts), bits.shape[1]), np.uint64)
    _add_bits(bits.reshape(-1), groups, short, counts)


@compiled()
def chosen(table: NDArray[np.int32], codes: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Return the entries of a table at codes; see `discreet.kernels.blocks.grouping.chosen`."""
    found = np.empty(codes.size, np.int32)
    for i in range(codes.size):
        found[i] = table[np.uint64(codes[i])]
    return found


@compiled()
def parted(groups: NDArray[np.int32], told: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return groups with a mark and without; see `discreet.kernels.blocks.grouping.parted`."""
    both, ends = np.empty((2, groups.size + 1), np.int32), np.zeros(2, np.int64)
    for i in range(groups.size):
        # Both places are written, and one of them counts: no branch, which noise would mislead.
        both[0, ends[0]] = both[1, ends[1]] = groups[i]
        ends[0] += told[i]
        ends[1] += not told[i]
    return both[0, : ends[0]], both[1, : ends[1]]


@compiled()
def add_symbols(symbols: NDArray[np.integer[Any]], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add one symbol of each report to counts; see `discreet.kernels.blocks.grouping.add_symbols`."""
    flat, size = counts.reshape(-1), np.uint64(counts.shape[1])
    for i in range(symbols.size):
        # A negative symbol becomes a huge one, so one comparison covers both ends.
        symbol = np.uint64(symbols[i])
        if symbol < size:
            flat[np.uint64(groups[i]) * size + symbol] += 1


@compiled()
def add_lists(symbols: NDArray[np.integer[Any]], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add the symbols of each report to counts; see `discreet.kernels.blocks.grouping.add_symbols`."""
    flat, size = counts.reshape(-1), np.uint64(counts.shape[1])
    for i in range(symbols.shape[0]):
        row = np.uint64(groups[i]) * size
        for k in range(symbols.shape[1]):
            symbol = np.uint64(symbols[i, k])
            if symbol < size:
                flat[row + symbol] += 1


@compiled()
def _add_bits(
    bits: NDArray[np.uint8], groups: NDArray[np.int32], short: NDArray[np.uint64], counts: NDArray[np.int64]
) -> None:
    added, flat, width = np.zeros(short.shape[0], np.uint8), short.reshape(-1), np.uint64(short.shape[1])
    for i in range(groups.size):
        group, row = np.uint64(groups[i]), np.uint64(i) * width
        for j in range(short.shape[1]):
            # A byte eight times, of each the bit of its place; what is not 0 carries into the highest bit.
            bit = np.uint64(bits[row + np.uint64(j)]) * _ONES & _PLACES
            flat[group * width + np.uint64(j)] += (((bit & _LOW) + _LOW) | bit) >> np.uint64(7) & _ONES
        added[group] += 1
        if added[group] == _MOST:
            _carry(short[group], counts[group])
            added[group] = 0
    for rest in range(short.shape[0]):
        if added[rest]:
            _carry(short[rest], counts[rest])


@compiled()
def _carry(short: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    # Bits beyond the last value are zero.
    for place in range(counts.size):
        counts[place] += np.int64(short[place >> 3] >> np.uint64(8 * (place & 7)) & np.uint64(_MOST))
    short[:] = 0
