"""Compiled kernels for packed bits: column counts, products with the matrix of bits, and subsets stored as bits.

A batch of m reports of v bits is ``rows``: uint8, shape ``(m, ceil(v/8))``. Bit j of a report is bit ``j % 8`` (bit 0
is the least significant) of byte ``j // 8``, and the bits beyond v are zero. Words are little endian, as on every
machine that numba supports.

Products read *tiles* of 32 reports: ``tiles`` is uint32, shape ``(ceil(m/32), v)``, and bit u of ``tiles[i, j]`` is bit
j of report 32i + u. Missing reports in the last tile are zero. Inner loops then run along columns, where they fill
vector registers for any v.

`discreet.kernels.counting` describes the arguments for counts by group and for subsets as marks.
"""

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.kernels import plain
from discreet.kernels.compiling import REASSOCIATE, compiled
from discreet.kernels.parallel import map_blocks, release_pages
from discreet.kernels.row_order import checked_rows

_Words: TypeAlias = NDArray[np.uint64]

# Bytes per task: some milliseconds of work, and at most 64 tasks, because each task returns v counts.
BYTES_PER_TASK = 1 << 25
MOST_TASKS = 64
# Bytes in an eighth of the rows that are counted side by side, as long runs of memory; and bytes of a page.
_BYTES_SIDE_BY_SIDE, _PAGE = 1 << 9, 1 << 12


def count_columns(rows: NDArray[np.uint8], size: int, *, threads: int | None = 1) -> NDArray[np.int64]:
    """Return the number of ones in each column of packed bits.

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
    lanes = _rows_side_by_side(rows.nbytes, width)
    group = 16 * lanes
    block = group * max(BYTES_PER_TASK // (group * width), -(-count // (group * MOST_TASKS)), 1)

    def count_block(start: int, stop: int) -> NDArray[np.int64]:
        whole = start + (stop - start) // group * group
        totals = _count_groups(rows[start:whole], lanes)
        if whole < stop:
            rest = np.zeros((group, width), np.uint8)
            rest[: stop - whole] = rows[whole:stop]
            totals += _count_groups(rest, lanes)
        return totals

    parts = map_blocks(count_block, count, block=block, threads=threads)
    counts: NDArray[np.int64] = np.sum(parts, axis=0)
    return counts[:size]


def _rows_side_by_side(size: int, width: int) -> int:
    """Return the number of rows to place side by side, so that the rows fill whole 64-bit words."""
    lanes = 8 << (min(_BYTES_SIDE_BY_SIDE, size >> 12) // width).bit_length()
    # Sixteen runs of memory at distances of whole pages would collide in the cache.
    while lanes > 8 and lanes * width % _PAGE == 0:
        lanes //= 2
    return lanes


def _count_groups(rows: NDArray[np.uint8], lanes: int) -> NDArray[np.int64]:
    count, width = rows.shape
    words = rows.reshape(-1).view(np.uint64).reshape(count // lanes, lanes * width // 8)
    # Bit b of planes[p] is digit p of the count at position b, so that no count can overflow.
    planes = np.zeros((len(words).bit_length(), words.shape[1]), np.uint64)
    _add_groups(words, planes)
    # Adding rows side by side, as numbers of many digits, is cheaper than reading every bit of every row.
    while lanes % 2 == 0 and planes.shape[1] % 2 == 0:
        planes, lanes = _add_halves(planes), lanes // 2
    return _weigh_planes(planes.view(np.uint8).reshape(len(planes), lanes, width))


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
            # The carry to the next digit is stored in the next digit's position.
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


# Eight counts of 8 bits in a word; one bit in each of them; all bits but the highest in each; the bit of each position.
_MOST_ADDED = 255
_ONE_EACH, _LOW_BITS = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F)
_PLACES = np.uint64(0x8040201008040201)


def add_bits(bits: NDArray[np.uint8], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add the number of ones in each column of packed bits of each group to existing counts."""
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
            # The byte eight times, each copy masked by its own bit; a nonzero copy carries into its highest bit.
            bit = np.uint64(bits[row + np.uint64(j)]) * _ONE_EACH & _PLACES
            flat[group * width + np.uint64(j)] += (((bit & _LOW_BITS) + _LOW_BITS) | bit) >> np.uint64(7) & _ONE_EACH
        added[group] += 1
        if added[group] == _MOST_ADDED:
            _carry(short[group], counts[group])
            added[group] = 0
    for rest in range(short.shape[0]):
        if added[rest]:
            _carry(short[rest], counts[rest])


@compiled()
def _carry(short: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    # Bits beyond the last value are zero.
    for place in range(counts.size):
        counts[place] += np.int64(short[place >> 3] >> np.uint64(8 * (place & 7)) & np.uint64(_MOST_ADDED))
    short[:] = 0


_Float = TypeVar("_Float", np.float32, np.float64)

# Columns per pass: the words, values and sums of a pass stay in the first-level cache, and
# no float32 sum gets longer than this.
_SPAN = 4096
# Words per task: about a millisecond of work, and at most 64 tasks, because each task may return v sums.
_WORDS_PER_TASK = 1 << 20
# The number of tiles that share a pass over the values.
_TILES_PER_PASS = 64
# The number of tiles whose weights are summed in their own precision before the float64 sum.
_TILES_PER_SUM = 4


def transpose_tiles(rows: NDArray[np.uint8], size: int, *, threads: int | None = None) -> NDArray[np.uint32]:
    """Return packed reports of bits as tiles of 32 transposed reports each.

    Args:
        rows: packed reports, shape ``(m, ceil(v/8))``.
        size: v, the number of columns.
        threads: as in `map_blocks`.

    Returns:
        Tiles, shape ``(ceil(m/32), v)``.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    rows = checked_rows(rows, size)
    tiles = np.empty((-(-len(rows) // 32), size), np.uint32)

    def transpose(start: int, stop: int) -> None:
        transpose_rows(rows[32 * start : 32 * stop], tiles[start:stop])

    map_blocks(transpose, len(tiles), block=_tiles_per_task(tiles), threads=threads)
    return tiles


def tiles_dot(
    tiles: NDArray[np.uint32], values: NDArray[_Float], rows: int, *, threads: int | None = None
) -> NDArray[_Float]:
    """Return, for every report, the sum of the values whose bits are 1 in the report.

    Args:
        tiles: shape ``(ceil(m/32), v)``.
        values: shape ``(v,)``, float32 or float64.
        rows: m, the number of reports.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(m,)``, in the precision of the values. Float32 values are summed in
        float32 over at most 4096 columns, and in float64 beyond.

    Raises:
        ValueError: If the shapes or types do not fit together.
    """
    tiles, values = _checked_factors(tiles, values, tiles.shape[1])
    if -(-rows // 32) != len(tiles):
        raise ValueError(f"rows must fill {len(tiles)} tiles of 32, got rows={rows}.")
    sums = np.empty((len(tiles), 32), values.dtype)

    def dot(start: int, stop: int) -> None:
        row_sums(tiles[start:stop], values, _SPAN, sums[start:stop])
        release_pages(tiles[start:stop])

    map_blocks(dot, len(tiles), block=_tiles_per_task(tiles), threads=threads)
    return sums.reshape(-1)[:rows]


def tiles_dot_transposed(
    tiles: NDArray[np.uint32], weights: NDArray[_Float], *, threads: int | None = None
) -> NDArray[np.float64]:
    """Return, for every column, the sum of the weights of the reports with a one in that column.

    Args:
        tiles: shape ``(ceil(m/32), v)``.
        weights: shape ``(m,)``, float32 or float64.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(v,)``. Float32 weights are summed in float32 over at most 128
        reports, and in float64 beyond.

    Raises:
        ValueError: If the shapes or types do not fit together.
    """
    missing = -weights.size % 32
    padded = np.concatenate([weights, np.zeros(missing, weights.dtype)]) if missing else weights
    tiles, padded = _checked_factors(tiles, padded, 32 * len(tiles))

    def dot(start: int, stop: int) -> NDArray[np.float64]:
        sums = column_sums(tiles[start:stop], padded[32 * start : 32 * stop], _SPAN)
        release_pages(tiles[start:stop])
        return sums

    parts = map_blocks(dot, len(tiles), block=_tiles_per_task(tiles), threads=threads)
    sums = np.zeros(tiles.shape[1])
    for part in parts:
        sums += part
    return sums


def _checked_factors(
    tiles: NDArray[np.uint32], vector: NDArray[_Float], length: int
) -> tuple[NDArray[np.uint32], NDArray[_Float]]:
    if tiles.dtype != np.uint32 or tiles.ndim != 2:
        raise ValueError(f"tiles must be uint32 in two dimensions, got {tiles.dtype}, {tiles.shape}.")
    if vector.dtype not in (np.float32, np.float64) or vector.shape != (length,):
        raise ValueError(
            f"tiles of shape {tiles.shape} need a float32 or float64 vector of {length}, "
            f"got {vector.dtype} with shape {vector.shape}."
        )
    return np.ascontiguousarray(tiles), np.ascontiguousarray(vector)


def _tiles_per_task(tiles: NDArray[np.uint32]) -> int:
    count, size = len(tiles), int(tiles.shape[1])
    return max(_WORDS_PER_TASK // max(size, 1), -(-count // MOST_TASKS), 1)


@compiled(plain=plain.transpose_rows)
def transpose_rows(rows: NDArray[np.uint8], tiles: NDArray[np.uint32]) -> None:
    """Write packed reports of bits as tiles of 32 transposed reports each."""
    size = tiles.shape[1]
    # Sixteen words are a vector register; without a remainder the loops are twice as fast.
    square = np.empty((32, -(-size // 512) * 16), np.uint32)
    spare = np.empty_like(square)
    for i in range(tiles.shape[0]):
        _fill(rows[32 * i : 32 * i + 32], square.view(np.uint8))
        _swap_halves(square, spare, 16)
        _swap_halves(spare, square, 8)
        _swap_halves(square, spare, 4)
        _swap_halves(spare, square, 2)
        _swap_halves(square, spare, 1)
        # Now spare[u, w] has column 32w + u.
        for w in range(-(-size // 32)):
            for u in range(min(32, size - 32 * w)):
                tiles[i, 32 * w + u] = spare[u, w]


@compiled()
def _fill(rows: NDArray[np.uint8], padded: NDArray[np.uint8]) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            padded[i, j] = rows[i, j]
    # Missing reports are zero; columns beyond the last are never read.
    padded[rows.shape[0] :] = 0


@compiled()
def _swap_halves(source: NDArray[np.uint32], target: NDArray[np.uint32], shift: int) -> None:
    # One stage of the butterfly: in every square of 2 x 2 blocks of `shift` bits, the upper
    # half of the low row and the lower half of the high row are swapped. Casts back to
    # 32 bits are needed, because numba widens mixed expressions; two arrays and two loops, because
    # LLVM does not vectorise the stage in place.
    lower = np.uint32(0xFFFFFFFF // ((1 << shift) + 1))
    upper = np.uint32(~lower)
    for low in range(32):
        high = low | shift
        if low == high:
            continue
        for w in range(source.shape[1]):
            moved = np.uint32(np.uint32(source[high, w] & lower) << shift)
            target[low, w] = np.uint32(np.uint32(source[low, w] & lower) | moved)
        for w in range(source.shape[1]):
            moved = np.uint32(np.uint32(source[low, w] & upper) >> shift)
            target[high, w] = np.uint32(np.uint32(source[high, w] & upper) | moved)


@compiled(fastmath=REASSOCIATE, plain=plain.tiles_dot)
def row_sums(tiles: NDArray[np.uint32], values: NDArray[Any], span: int, sums: NDArray[Any]) -> None:
    """Write, for every report, the sum of the values whose bits are 1 in the report, from tiles."""
    # Float64 sums of a few tiles at a time: a second large array would cause page faults.
    totals = np.empty((_TILES_PER_PASS, 32))
    for start in range(0, tiles.shape[0], _TILES_PER_PASS):
        some = tiles[start : start + _TILES_PER_PASS]
        totals[:] = 0
        for first in range(0, tiles.shape[1], span):
            _dot_span(some, values[first : first + span], first, totals)
        for i in range(some.shape[0]):
            for user in range(32):
                sums[start + i, user] = totals[i, user]


@compiled(fastmath=REASSOCIATE)
def _dot_span(tiles: NDArray[np.uint32], values: NDArray[Any], first: int, totals: NDArray[np.float64]) -> None:
    for i in range(tiles.shape[0]):
        words = tiles[i, first : first + values.size]
        for user in range(0, 32, 8):
            eight = _dot_eight(words, values, _masks(user))
            for k in range(8):
                totals[i, user + k] += eight[k]


@compiled(fastmath=REASSOCIATE)
def _dot_eight(words: NDArray[np.uint32], values: NDArray[Any], masks: Any) -> Any:
    zero = values.dtype.type(0)
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = zero
    for j in range(words.size):
        word, value = words[j], values[j]
        s0 += _if_set(word, masks[0], value)
        s1 += _if_set(word, masks[1], value)
        s2 += _if_set(word, masks[2], value)
        s3 += _if_set(word, masks[3], value)
        s4 += _if_set(word, masks[4], value)
        s5 += _if_set(word, masks[5], value)
        s6 += _if_set(word, masks[6], value)
        s7 += _if_set(word, masks[7], value)
    return s0, s1, s2, s3, s4, s5, s6, s7


@compiled(fastmath=REASSOCIATE, plain=plain.tiles_dot_transposed)
def column_sums(tiles: NDArray[np.uint32], weights: NDArray[Any], span: int) -> NDArray[np.float64]:
    """Return, for each column, the sum of the weights of the reports with a one in this column of tiles."""
    sums = np.zeros(tiles.shape[1])
    for first in range(0, sums.size, span):
        some = sums[first : first + span]
        for start in range(0, tiles.shape[0], _TILES_PER_SUM):
            short = np.zeros(some.size, weights.dtype)
            for i in range(start, min(start + _TILES_PER_SUM, tiles.shape[0])):
                words = tiles[i, first : first + span]
                for user in range(0, 32, 8):
                    eight = weights[32 * i + user : 32 * i + user + 8]
                    _add_eight(words, eight, _masks(user), short)
            some += short
    return sums


@compiled(fastmath=REASSOCIATE)
def _add_eight(words: NDArray[np.uint32], weights: NDArray[Any], masks: Any, sums: NDArray[Any]) -> None:
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    w4, w5, w6, w7 = weights[4], weights[5], weights[6], weights[7]
    for j in range(words.size):
        word = words[j]
        total = _if_set(word, masks[0], w0)
        total += _if_set(word, masks[1], w1)
        total += _if_set(word, masks[2], w2)
        total += _if_set(word, masks[3], w3)
        total += _if_set(word, masks[4], w4)
        total += _if_set(word, masks[5], w5)
        total += _if_set(word, masks[6], w6)
        total += _if_set(word, masks[7], w7)
        sums[j] += total


@compiled(fastmath=REASSOCIATE)
def _if_set(word: Any, mask: Any, value: Any) -> Any:
    # The cast keeps the test in 32 bits, which doubles the lanes of a register.
    return value if np.uint32(word & mask) != 0 else type(value)(0)


@compiled()
def _masks(first: int) -> Any:
    bit = np.uint32(1 << first)
    return (
        bit,
        np.uint32(bit << 1),
        np.uint32(bit << 2),
        np.uint32(bit << 3),
        np.uint32(bit << 4),
        np.uint32(bit << 5),
        np.uint32(bit << 6),
        np.uint32(bit << 7),
    )


# Places are listed four at a time; the excess of the last four is overwritten.
_ABREAST = 4


@compiled()
def repair(marks: NDArray[np.uint64], places: NDArray[np.uint32], missing: NDArray[np.int64]) -> None:
    """Set or clear the bits at drawn places of subsets, in place, and reduce ``missing`` for each change."""
    unit, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(marks.shape[0]):
        row = marks[i]
        left, sets = abs(missing[i]), np.uint64(missing[i] > 0)
        j = 0
        while left > 0 and j < places.shape[1]:
            place = np.uint64(places[i, j])
            word = row[place >> six]
            # 1 where the place needs a change: the loop has no other branch than its end.
            change = ((word >> (place & low)) & unit) ^ sets
            row[place >> six] = word ^ (change << (place & low))
            left -= np.int64(change)
            j += 1
        missing[i] = left if missing[i] > 0 else -left


def list_members(marks: NDArray[np.uint64], out: NDArray[Any]) -> None:
    """List the members of each subset in ascending order, from the bits of its row."""
    _list(marks, np.empty(64 * marks.shape[1] + 64, out.dtype), out)


@compiled()
def _list(marks: NDArray[np.uint64], listed: NDArray[Any], out: NDArray[Any]) -> None:
    unit = np.uint64(1)
    for i in range(marks.shape[0]):
        count = np.uint64(0)
        for lane in range(marks.shape[1]):
            word, base = marks[i, lane], np.uint64(64 * lane)
            at = count
            count += _ones(word)
            while word:
                for k in range(_ABREAST):
                    listed[at + np.uint64(k)] = base + _ones(~word & (word - unit))
                    word &= word - unit
                at += np.uint64(_ABREAST)
        for k in range(out.shape[1]):
            out[i, k] = listed[k]


@compiled()
def _ones(word: np.uint64) -> np.uint64:
    """Return the number of bits of a word that are 1."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
