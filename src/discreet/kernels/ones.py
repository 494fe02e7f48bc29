"""Ones of sparse bits, listed: products with the matrix of reports' bits and its transpose.

Where few bits are set, the list of their places takes no more memory than the bits do, and an addition for each one
costs less than a masked addition for each bit (`discreet.kernels.bits`), in double precision as in single.

A *piece* holds the ones of 1,024 reports, the last one of fewer, in 16-bit words: its length and form in four; then,
span by span of 2,048 columns, whose values and sums stay in the first-level cache, the number of ones of each report,
and their places in the span. A piece with more than one in sixteen bits set, which hostile reports may fill and others
hardly do, is in tiles instead: no piece is longer than its tiles, but for the numbers of ones.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from discreet.kernels.bits import tiles_dot, tiles_dot_transposed, transpose_tiles
from discreet.kernels.compiling import compiled
from discreet.kernels.counting import checked_rows
from discreet.kernels.parallel import forget, map_blocks

PIECE = 1024
"""Reports in a piece."""

# Bits to a place: with more ones than this, tiles are shorter.
_BITS_PER_PLACE = 16
# Columns of a span.
_SPAN = 2048
_HEAD = 4
_LISTED, _TILED = 0, 1
# Places that are listed at a time, whether or not a lane has so many: what is too much is written over.
_ABREAST = 6
# As for tiles: about a millisecond of work, and at most 64 tasks, because each hands back v sums.
_WORDS_PER_TASK = 1 << 20
_MOST_TASKS = 64


def list_ones(rows: NDArray[np.uint8], size: int, *, threads: int | None = None) -> list[NDArray[np.uint16]]:
    """Return packed reports as pieces.

    Args:
        rows: packed reports, shape ``(m, ceil(v/8))``.
        size: v, the number of columns.
        threads: as in `map_blocks`.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    rows = checked_rows(rows, size)
    count = -(-len(rows) // PIECE)

    # The last lanes of a piece are written before it is known that they were too many. One array, as the system gives
    # large ones large pages, and the heaps of threads grow and shrink in small steps.
    most = _HEAD + -(-size // _SPAN) * PIECE + PIECE * size // _BITS_PER_PLACE
    pieces = list(np.empty((count, most + _SPAN + _HEAD - most % _HEAD), np.uint16))

    def fill(start: int, stop: int) -> None:
        spans = np.zeros((-(-size // _SPAN), min(PIECE, len(rows)), _SPAN // 8), np.uint8)
        for at in range(start, stop):
            length = _fill(rows[PIECE * at : PIECE * (at + 1)], spans, size, pieces[at])
            pieces[at] = pieces[at][:length]

    map_blocks(fill, count, block=_pieces_per_task(count, most), threads=threads)
    return pieces


def split_pieces(laid: NDArray[np.uint16]) -> list[NDArray[np.uint16]]:
    """Return pieces that lie end to end, without a copy."""
    pieces, at = [], 0
    while at < len(laid):
        length = int(laid[at : at + _HEAD].view(np.uint32)[0])
        pieces.append(laid[at : at + length])
        at += length
    return pieces


def ones_dot(
    pieces: list[NDArray[np.uint16]], values: NDArray[np.float64], rows: int, *, threads: int | None = None
) -> NDArray[np.float64]:
    """Return, for every report, the sum of the values of its ones.

    Args:
        pieces: of all reports.
        values: shape ``(v,)``.
        rows: m, the number of reports.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(m,)``.

    Raises:
        ValueError: If the pieces are not those of so many reports.
    """
    _check_rows(pieces, rows)
    sums = np.zeros(rows)

    def dot(start: int, stop: int) -> None:
        for at in range(start, stop):
            some, piece = sums[PIECE * at : PIECE * (at + 1)], pieces[at]
            if _is_listed(piece):
                _dot(piece, values, some)
            else:
                some[:] = tiles_dot(_tiles(piece, values.size), values, some.size, threads=1)
            forget(piece)

    map_blocks(dot, len(pieces), block=_block(pieces), threads=threads)
    return sums


def ones_dot_transposed(
    pieces: list[NDArray[np.uint16]], weights: NDArray[np.float64], size: int, *, threads: int | None = None
) -> NDArray[np.float64]:
    """Return, for every column, the sum of the weights of the reports with a one there.

    Args:
        pieces: of all reports.
        weights: shape ``(m,)``.
        size: v, the number of columns.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(v,)``.

    Raises:
        ValueError: If the pieces are not those of so many reports.
    """
    _check_rows(pieces, weights.size)

    def dot(start: int, stop: int) -> NDArray[np.float64]:
        sums = np.zeros(size)
        for at in range(start, stop):
            some, piece = weights[PIECE * at : PIECE * (at + 1)], pieces[at]
            if _is_listed(piece):
                _dot_transposed(piece, some, sums)
            else:
                sums += tiles_dot_transposed(_tiles(piece, size), some, threads=1)
            forget(piece)
        return sums

    sums = np.zeros(size)
    for part in map_blocks(dot, len(pieces), block=_block(pieces), threads=threads):
        sums += part
    return sums


def _check_rows(pieces: list[NDArray[np.uint16]], rows: int) -> None:
    if -(-rows // PIECE) != len(pieces):
        raise ValueError(f"{len(pieces)} pieces of {PIECE} reports cannot be those of {rows}.")


def _block(pieces: list[NDArray[np.uint16]]) -> int:
    return _pieces_per_task(len(pieces), max((piece.size for piece in pieces), default=1))


def _pieces_per_task(count: int, words: int) -> int:
    return max(_WORDS_PER_TASK // max(words, 1), -(-count // _MOST_TASKS), 1)


def _fill(rows: NDArray[np.uint8], spans: NDArray[np.uint8], size: int, piece: NDArray[np.uint16]) -> int:
    """Write up to 1,024 reports to a piece, and return its length; their bytes are copied to ``spans`` before."""
    for at, span in enumerate(spans):
        some = rows[:, at * span.shape[1] : (at + 1) * span.shape[1]]
        span[: len(rows), : some.shape[1]] = some
    most = _HEAD + len(spans) * len(rows) + len(rows) * size // _BITS_PER_PLACE
    form, used = _LISTED, int(_list(spans.view(np.uint64), len(rows), size, piece, most))
    if used < 0:
        tiles = transpose_tiles(rows, size, threads=1).view(np.uint16).reshape(-1)
        form, used = _TILED, _HEAD + len(tiles)
        piece[_HEAD:used] = tiles
    # Every piece begins where a 64-bit word may: tiles are words, too.
    length = -(-used // _HEAD) * _HEAD
    piece[used:length] = 0
    piece[:_HEAD].view(np.uint32)[:] = length, form
    return length


def _is_listed(piece: NDArray[np.uint16]) -> bool:
    return int(piece[:_HEAD].view(np.uint32)[1]) == _LISTED


def _tiles(piece: NDArray[np.uint16], size: int) -> NDArray[np.uint32]:
    words = piece[_HEAD:].view(np.uint32)
    return words[: len(words) // size * size].reshape(-1, size)


def _counting_bits(name: str) -> Any:
    """Return a function of a 64-bit word that is one instruction."""

    @intrinsic  # type: ignore[untyped-decorator]
    def counted(_: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            if name == "ones":
                return builder.ctpop(arguments[0])
            return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

        return types.uint64(types.uint64), generate

    return counted


# The number of ones, and of zeros below the lowest one (64 if there is none).
_ones, _trailing_zeros = _counting_bits("ones"), _counting_bits("trailing zeros")


@compiled()
def _list(spans: NDArray[np.uint64], rows: int, size: int, piece: NDArray[np.uint16], most: int) -> np.int64:
    """List ones, and return where they end, or -1 if there are too many."""
    one, at, limit = np.uint64(1), np.uint64(_HEAD), np.uint64(most)
    for span in range(spans.shape[0]):
        head = at
        at += np.uint64(rows)
        lanes = min((size - _SPAN * span + 63) // 64, spans.shape[2])
        for i in range(rows):
            start = at
            if at > limit:
                return np.int64(-1)
            for lane in range(lanes):
                word, base = spans[span, i, lane], np.uint64(64 * lane)
                to = at
                at += _ones(word)
                for k in range(_ABREAST):
                    piece[to + np.uint64(k)] = base + _trailing_zeros(word)
                    word &= word - one
                to += np.uint64(_ABREAST)
                while word:
                    piece[to] = base + _trailing_zeros(word)
                    word &= word - one
                    to += one
            piece[head + np.uint64(i)] = at - start
    return np.int64(at) if at <= limit else np.int64(-1)


@compiled()
def _dot(piece: NDArray[np.uint16], values: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    at, one, four = np.uint64(_HEAD), np.uint64(1), np.uint64(4)
    for first in range(0, values.size, _SPAN):
        here, head = values[first : first + _SPAN], at
        at += np.uint64(sums.size)
        for i in range(sums.size):
            stop = at + np.uint64(piece[head + np.uint64(i)])
            s0 = s1 = s2 = s3 = 0.0
            while at + four <= stop:
                s0 += here[piece[at]]
                s1 += here[piece[at + one]]
                s2 += here[piece[at + np.uint64(2)]]
                s3 += here[piece[at + np.uint64(3)]]
                at += four
            while at < stop:
                s0 += here[piece[at]]
                at += one
            sums[i] += (s0 + s1) + (s2 + s3)


@compiled()
def _dot_transposed(piece: NDArray[np.uint16], weights: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    at, one = np.uint64(_HEAD), np.uint64(1)
    for first in range(0, sums.size, _SPAN):
        here, head = sums[first : first + _SPAN], at
        at += np.uint64(weights.size)
        for i in range(weights.size):
            stop, weight = at + np.uint64(piece[head + np.uint64(i)]), weights[i]
            while at < stop:
                here[piece[at]] += weight
                at += one
