"""Packed bits: how reports of bits are packed, and counts of their columns.

A batch of m reports of v bits is packed: ``rows`` is uint8, shape ``(m, ceil(v/8))``, and
bit j of a report is bit ``j % 8`` (bit 0 is the least significant) of byte ``j // 8``; the
bits beyond v are zero. Words are little endian, as on every machine that numba supports.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.blocks.counting import checked_rows
from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks

_Words: TypeAlias = NDArray[np.uint64]

# Bytes per task: about a millisecond of work, and at most 64 tasks, because each hands back v counts.
_BYTES_PER_TASK = 1 << 23
_MOST_TASKS = 64
# Bytes of rows that are counted side by side.
_BYTES_ABREAST = 256


def count_columns(rows: NDArray[np.uint8], size: int, *, threads: int | None = 1) -> NDArray[np.int64]:
    """Return the number of ones in every column.

    Args:
        rows: packed reports, shape ``(m, ceil(v/8))``.
        size: v, the number of columns.
        threads: as in `map_blocks`.

    Returns:
        Counts, shape ``(v,)``.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    rows = checked_rows(rows, size)
    count, width = rows.shape
    if count == 0 or size == 0:
        return np.zeros(size, np.int64)
    # Eight rows side by side are whole 64-bit words; more of them fill vector registers, and loops that are worth it.
    abreast = 8 * -(-_BYTES_ABREAST // width)
    group = 16 * abreast
    block = group * max(_BYTES_PER_TASK // (group * width), -(-count // (group * _MOST_TASKS)), 1)

    def count_block(start: int, stop: int) -> NDArray[np.int64]:
        whole = start + (stop - start) // group * group
        found = _count_groups(rows[start:whole], abreast)
        if whole < stop:
            rest = np.zeros((group, width), np.uint8)
            rest[: stop - whole] = rows[whole:stop]
            found += _count_groups(rest, abreast)
        return found

    parts = map_blocks(count_block, count, block=block, threads=threads)
    counts: NDArray[np.int64] = np.sum(parts, axis=0)
    return counts[:size]


def _count_groups(rows: NDArray[np.uint8], abreast: int) -> NDArray[np.int64]:
    count, width = rows.shape
    words = rows.reshape(-1).view(np.uint64).reshape(count // abreast, abreast * width // 8)
    # Bit b of planes[p] is digit p of the count at position b: no count can overflow.
    planes = np.zeros((len(words).bit_length(), words.shape[1]), np.uint64)
    _add_groups(words, planes)
    # Sums of rows side by side, as numbers of many digits, are cheaper than looking at every bit of every row.
    while abreast % 2 == 0 and planes.shape[1] % 2 == 0:
        planes, abreast = _add_halves(planes), abreast // 2
    return _weigh_planes(planes.view(np.uint8).reshape(len(planes), abreast, width))


@compiled()
def _add_groups(words: _Words, planes: _Words) -> None:
    carry = np.empty(words.shape[1], np.uint64)
    for i in range(0, words.shape[0], 16):
        _add_sixteen(words, i, planes, carry)
        for p in range(4, planes.shape[0]):
            for j in range(carry.size):
                both = planes[p, j] & carry[j]
                planes[p, j] ^= carry[j]
                carry[j] = both


@compiled()
def _add_sixteen(words: _Words, i: int, planes: _Words, carry: _Words) -> None:
    for j in range(words.shape[1]):
        ones_a, twos_a, fours_a = _add_seven(words, i, j)
        ones_b, twos_b, fours_b = _add_seven(words, i + 7, j)
        ones, twos_c = _add_three(ones_a, ones_b, words[i + 14, j])
        twos, fours_c = _add_three(twos_a, twos_b, twos_c)
        fours, eights = _add_three(fours_a, fours_b, fours_c)
        planes[0, j], up = _add_three(planes[0, j], ones, words[i + 15, j])
        planes[1, j], up = _add_three(planes[1, j], twos, up)
        planes[2, j], up = _add_three(planes[2, j], fours, up)
        planes[3, j], carry[j] = _add_three(planes[3, j], eights, up)


@compiled()
def _add_seven(words: _Words, i: int, j: int) -> tuple[Any, Any, Any]:
    ones_a, twos_a = _add_three(words[i, j], words[i + 1, j], words[i + 2, j])
    ones_b, twos_b = _add_three(words[i + 3, j], words[i + 4, j], words[i + 5, j])
    ones, twos_c = _add_three(ones_a, ones_b, words[i + 6, j])
    twos, fours = _add_three(twos_a, twos_b, twos_c)
    return ones, twos, fours


@compiled()
def _add_three(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@compiled()
def _add_halves(planes: _Words) -> _Words:
    half = planes.shape[1] // 2
    sums = np.zeros((planes.shape[0] + 1, half), np.uint64)
    for p in range(planes.shape[0]):
        for j in range(half):
            # What is carried to the next digit waits in its place.
            sums[p, j], sums[p + 1, j] = _add_three(planes[p, j], planes[p, half + j], sums[p, j])
    return sums


@compiled()
def _weigh_planes(planes: NDArray[np.uint8]) -> NDArray[np.int64]:
    counts = np.zeros((planes.shape[2], 8), np.int64)
    for p in range(planes.shape[0]):
        for row in planes[p]:
            for i in range(row.size):
                for bit in range(8):
                    counts[i, bit] += np.int64((row[i] >> bit) & 1) << p
    return counts.reshape(-1)
