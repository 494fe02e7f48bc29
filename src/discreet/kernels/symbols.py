"""Compiled kernels of digests, of bits by group, and of subsets.

Mixings of rows of words, summed up, compiled; `discreet.core.tally` says what they are for.

Counts of packed bits by group; see `discreet.kernels.counting`.

Products with the membership matrix of lists of members, and with its transpose.

``members`` are unsigned integers, shape ``(m, k)``: row i lists the k values in the block of
report i. Members outside 0..size-1 are ignored, and a repeated member counts every time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import REASSOCIATE, compiled
from discreet.kernels.parallel import forget, map_blocks

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@compiled()
def sum_mixed(words: NDArray[np.uint64], keys: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Return the sums over all rows of the three parts of a mixing; the plain form is `discreet.core.tally.mixed`.

    Args:
        words: ``(n, k)``, n below 2^32.
        keys: ``(k + 3,)``, odd.

    Returns:
        The sums of the lowest 32 bits, of the next 32, and of the highest 64 bits, the last one modulo 2^64.
    """
    rows, size = words.shape
    low = middle = high = np.uint64(0)
    for row in range(rows):
        total = keys[size]
        for place in range(size):
            word = words[row, place]
            # Multiplied alone, the highest bits of words would cancel each other.
            total += (word ^ (word >> _HALF)) * keys[place]
        total ^= total >> _HALF
        one = total * keys[size + 1]
        one ^= one >> _HALF
        other = total * keys[size + 2]
        other ^= other >> _HALF
        low += one & _LOW
        middle += one >> _HALF
        high += other
    return low, middle, high  # type: ignore[return-value]


# Eight counts of 8 bits in a word; a bit for each of them; all bits but the highest of each; the bit of each place.
_MOST = 255
_ONES, _LOW_BITS, _PLACES = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8040201008040201)


def add_bits(bits: NDArray[np.uint8], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add packed reports to counts; see `discreet.kernels.counting.add_bits`."""
    short = np.zeros((len(counts), bits.shape[1]), np.uint64)
    _add_bits(bits.reshape(-1), groups, short, counts)


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
            flat[group * width + np.uint64(j)] += (((bit & _LOW_BITS) + _LOW_BITS) | bit) >> np.uint64(7) & _ONES
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


# Members read per task: about a millisecond; at most 64 tasks.
_MEMBERS_PER_TASK = 1 << 21
_MOST_TASKS = 64


def members_dot(
    members: NDArray[np.unsignedinteger[Any]],
    values: NDArray[np.float64],
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return, for every report, the sum of the values of its members.

    Args:
        members: shape ``(m, k)``.
        values: shape ``(size,)``.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(m,)``.

    Raises:
        ValueError: If the members are not unsigned integers in two dimensions.
    """
    members = _checked_members(members)
    values = np.ascontiguousarray(values, np.float64)
    sums = np.empty(len(members))

    def dot(start: int, stop: int) -> None:
        _dot(members[start:stop], values, sums[start:stop])
        forget(members[start:stop])

    map_blocks(dot, len(members), block=_rows_per_task(members), threads=threads)
    return sums


def members_dot_transposed(
    members: NDArray[np.unsignedinteger[Any]],
    weights: NDArray[np.float64],
    size: int,
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return, for every value, the sum of the weights of the reports with it as a member.

    Args:
        members: shape ``(m, k)``.
        weights: shape ``(m,)``.
        size: the number of values.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(size,)``.

    Raises:
        ValueError: If the members are not unsigned integers in two dimensions, or the
            weights are not one per report.
    """
    members = _checked_members(members)
    weights = np.ascontiguousarray(weights, np.float64)
    if weights.shape != (len(members),):
        raise ValueError(f"weights must have shape ({len(members)},), got {weights.shape}.")

    def dot(start: int, stop: int) -> NDArray[np.float64]:
        sums = _dot_transposed(members[start:stop], weights[start:stop], size)
        forget(members[start:stop])
        return sums

    # A task hands back `size` sums, so it should read several times as many members.
    block = max(_rows_per_task(members), 4 * size // max(members.shape[1], 1))
    block = max(block, -(-len(members) // _MOST_TASKS))
    sums = np.zeros(size)
    for part in map_blocks(dot, len(members), block=block, threads=threads):
        sums += part
    return sums


def _checked_members(
    members: NDArray[np.unsignedinteger[Any]],
) -> NDArray[np.unsignedinteger[Any]]:
    if members.dtype.kind != "u" or members.ndim != 2:
        raise ValueError(
            f"members must be unsigned integers with shape (m, k), got {members.dtype} with shape {members.shape}."
        )
    return np.ascontiguousarray(members)


def _rows_per_task(members: NDArray[np.unsignedinteger[Any]]) -> int:
    return max(_MEMBERS_PER_TASK // max(int(members.shape[1]), 1), 1)


@compiled(fastmath=REASSOCIATE)
def _dot(
    members: NDArray[np.unsignedinteger[Any]],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    for i in range(members.shape[0]):
        total = 0.0
        for k in range(members.shape[1]):
            if members[i, k] < values.size:
                total += values[members[i, k]]
        sums[i] = total


@compiled()
def _dot_transposed(
    members: NDArray[np.unsignedinteger[Any]], weights: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    sums = np.zeros(size)
    for i in range(members.shape[0]):
        for k in range(members.shape[1]):
            if members[i, k] < size:
                sums[members[i, k]] += weights[i]
    return sums
