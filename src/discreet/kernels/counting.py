"""Counts of symbols and bits, subsets stored as bits, and the Walsh-Hadamard transform, by NumPy or compiled kernels.

Compiled kernels count symbols four times as fast, add bits ten times as fast, and draw subsets thirty times as fast.
They are used if there is enough work (`compiled_pays`), and give exactly the same results.

Subsets as marks have shape ``(m, lanes)``: bit p % 64 of word p // 64 of a row is set if the subset contains place p.
"""

import sys
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.row_order import checked_rows

COMPILER = "discreet.kernels.caching"
# About the seconds for importing numba and the first kernels, and the seconds lost with NumPy so far.
_START = 0.5
lost_seconds = [0.0]

# Extra seconds of NumPy per symbol, per byte of bits, and per report of bits in groups.
_SYMBOL_SECONDS, _BYTE_SECONDS, _REPORT_SECONDS = 1e-9, 1e-9, 2e-7
# Symbols counted at a time: their 64-bit copies fit into the cache. The number of counts up to which NumPy's
# `bincount` is faster than adding one by one.
_SYMBOLS, _FEW = 1 << 16, 1 << 14
# Bytes of bits added at a time: their sums fit into the cache.
BYTES_AT_ONCE = 1 << 20


def compiled_pays(seconds: float) -> bool:
    """Return true if the compiled kernels are loaded, or if loading them saves time.

    The result is False without numba, which devices never need.

    Args:
        seconds: the extra time that NumPy needs for the work; it counts as lost if the result is False. So no sequence
            of calls takes more than twice the time of the better choice for all of them.
    """
    if COMPILER in sys.modules:
        return True
    if lost_seconds[0] + seconds > _START:
        # Devices draw batches without numba.
        return find_spec("numba") is not None
    # Threads may lose each other's updates; the sum is only an estimate.
    lost_seconds[0] += seconds
    return False


def _compiled_bits() -> Any:
    """Return the module of compiled kernels for bits; its import starts numba."""
    from discreet.kernels import bits

    return bits


def count_symbols(symbols: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
    """Return the number of occurrences of each symbol.

    Args:
        symbols: integers of any width and shape; symbols outside 0..size-1 are ignored.
        size: the number of possible symbols.

    Returns:
        Counts, shape ``(size,)``.

    Raises:
        ValueError: If the symbols are not integers.
    """
    counts = np.zeros(size, np.int64)
    add_symbols(symbols, counts)
    return counts


def add_symbols(symbols: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    """Add the number of occurrences of each symbol to existing counts.

    Args:
        symbols: integers of any width and shape; symbols outside 0..size-1 are ignored.
        counts: shape ``(size,)``; changed in place.

    Raises:
        ValueError: If the symbols are not integers.
    """
    if symbols.dtype.kind not in "ui":
        raise ValueError(f"symbols must be integers, got {symbols.dtype}.")
    flat = np.ascontiguousarray(symbols).reshape(-1)
    if compiled_pays(_SYMBOL_SECONDS * flat.size):
        from discreet.kernels import symbols as compiled

        compiled.add_symbols(flat, counts)
        return
    for start in range(0, flat.size, _SYMBOLS):
        piece = flat[start : start + _SYMBOLS]
        if piece.min() < 0 or piece.max() >= counts.size:
            piece = piece[(piece >= 0) & (piece < counts.size)]
        _add(piece, counts)


def _add(places: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    if counts.size <= _FEW:
        counts += np.bincount(places, minlength=counts.size)
    else:
        np.add.at(counts, places.astype(np.int64, copy=False), 1)


def count_columns(rows: NDArray[np.uint8], size: int) -> NDArray[np.int64]:
    """Return the number of ones in every column of packed bits; see `discreet.kernels.bits`.

    Args:
        rows: packed reports, shape ``(m, ceil(v/8))``.
        size: v, the number of columns.

    Returns:
        Counts, shape ``(v,)``.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    if compiled_pays(_BYTE_SECONDS * rows.size):
        sums: NDArray[np.int64] = _compiled_bits().count_columns(rows, size)
        return sums
    rows = checked_rows(rows, size)
    width = rows.shape[1]
    counts = np.zeros(8 * width, np.int64)
    if not rows.size:
        return counts[:size]
    step = 1 << max((BYTES_AT_ONCE // width).bit_length() - 1, 3)
    for start in range(0, len(rows), step):
        counts += _column_sums(rows[start : start + step])
    return counts[:size]


def _column_sums(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the ``(8 width,)`` column sums of packed bits."""
    count, width = rows.shape
    whole = 1 << max((count - 1).bit_length(), 3)
    if whole > count:
        rows = np.concatenate([rows, np.zeros((whole - count, width), np.uint8)])
    # Eight rows side by side fill 64-bit words. They are numbers of one binary digit, added half to half.
    digits = np.ascontiguousarray(rows).reshape(-1).view(np.uint64).reshape(1, whole // 8, width)
    while digits.shape[1] > 1:
        digits = _sums_of_halves(digits)
    bits = np.unpackbits(digits.view(np.uint8).reshape(len(digits), 8, width), axis=2, bitorder="little")
    weights = 1 << np.arange(len(digits))
    sums: NDArray[np.int64] = weights @ bits.sum(axis=1, dtype=np.int64)
    return sums


def _sums_of_halves(digits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Add the first half of the numbers to the second half; each word holds one binary digit of 64 numbers.

    Args:
        digits: ``(digits, numbers, width)`` words: bit u of word [p, i, j] is digit p of the i-th number of its column.
    """
    half = digits.shape[1] // 2
    first, second = digits[:, :half], digits[:, half:]
    sums = np.empty((len(digits) + 1, half, digits.shape[2]), np.uint64)
    np.bitwise_xor(first[0], second[0], out=sums[0])
    carry = first[0] & second[0]
    for place in range(1, len(digits)):
        odd = first[place] ^ second[place]
        np.bitwise_xor(odd, carry, out=sums[place])
        odd &= carry
        np.bitwise_and(first[place], second[place], out=carry)
        carry |= odd
    sums[-1] = carry
    return sums


def add_grouped_symbols(
    symbols: NDArray[np.integer[Any]], groups: NDArray[np.int32], counts: NDArray[np.int64]
) -> None:
    """Add the number of occurrences of each symbol in each group to existing counts.

    Args:
        symbols: integers of any width, shape ``(m,)`` or ``(m, k)``; symbols outside 0..size-1 are ignored.
        groups: shape ``(m,)``, rows of the counts; every row must exist.
        counts: shape ``(groups, size)``, contiguous; changed in place.

    Raises:
        ValueError: If the symbols are not integers.
    """
    if symbols.dtype.kind not in "ui":
        raise ValueError(f"symbols must be integers, got {symbols.dtype}.")
    if not symbols.size:
        # Without symbols, the number of symbols per report is not defined.
        return
    rows = np.ascontiguousarray(symbols).reshape(len(symbols), -1)
    flat, size = counts.reshape(-1), counts.shape[1]
    step = max(_SYMBOLS // max(rows.shape[1], 1), 1)
    for start in range(0, len(rows), step):
        piece = rows[start : start + step].astype(np.int64)
        places = groups[start : start + step, None].astype(np.int64) * size + piece
        _add(places[(piece >= 0) & (piece < size)], flat)


def add_bits(bits: NDArray[np.uint8], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add the number of ones in each column of packed bits of each group to existing counts.

    Args:
        bits: packed reports, shape ``(m, ceil(v/8))``; see `discreet.kernels.bits`.
        groups: shape ``(m,)``, rows of the counts; every row must exist.
        counts: shape ``(groups, v)``, contiguous; changed in place.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    rows, size = checked_rows(bits, counts.shape[1]), counts.shape[1]
    if compiled_pays(_REPORT_SECONDS * len(rows)):
        _compiled_bits().add_bits(rows, groups, counts)
        return
    order, runs = runs_of(groups)
    rows = rows[order]
    for group, start, stop in runs:
        counts[group] += count_columns(rows[start:stop], size)


def runs_of(groups: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], list[tuple[int, int, int]]]:
    """Return the order that sorts rows by group, and the number, start and stop of each group that occurs.

    Args:
        groups: shape ``(m,)``, at least 0.
    """
    # NumPy sorts integers of 16 bits by counting.
    order = np.argsort(groups.astype(np.uint16) if groups.max(initial=0) < 1 << 16 else groups, kind="stable")
    sizes = np.bincount(groups)
    there = np.flatnonzero(sizes)
    stops = np.cumsum(sizes[there])
    return order, list(zip(there.tolist(), (stops - sizes[there]).tolist(), stops.tolist(), strict=True))


# Extra seconds of NumPy compared with a compiled kernel, per place, for the two functions.
_PLACE_SECONDS, _MEMBER_SECONDS = 1e-8, 2e-9
# Bytes of marks listed at a time: their 64-bit places fit into the cache.
_MARKS = 1 << 17


def repair(marks: NDArray[np.uint64], places: NDArray[np.uint32], missing: NDArray[np.int64]) -> NDArray[np.int64]:
    """Set or clear random bits, one after another, until each subset has the right number of members.

    Args:
        marks: shape ``(m, lanes)``; changed in place.
        places: shape ``(m, r)``, r at most 128: a row's places are tried in this order, and a place that needs no
            change is skipped.
        missing: shape ``(m,)``: the number of places to set; to clear, if negative.

    Returns:
        The numbers of places still to set or to clear, shape ``(m,)``.
    """
    if compiled_pays(_PLACE_SECONDS * places.size):
        counted = missing.copy()
        _compiled_bits().repair(marks, places, counted)
        return counted
    bits, want = np.unpackbits(marks.view(np.uint8), axis=1, bitorder="little"), (missing > 0)[:, None]
    flat = bits.reshape(-1)
    at = places + (np.arange(len(bits)) * bits.shape[1])[:, None]
    numbers = np.broadcast_to(np.arange(at.shape[1], dtype=np.uint8), at.shape)
    first = np.full(len(flat), 255, dtype=np.uint8)
    np.minimum.at(first, at.reshape(-1), numbers.reshape(-1))
    # A place that is drawn again was changed before.
    changes = (flat[at] != want) & (first[at] == numbers)
    changes &= np.cumsum(changes, axis=1, dtype=np.uint8) <= np.abs(missing)[:, None]
    flat[at[changes]] ^= np.uint8(1)
    marks[:] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    left: NDArray[np.int64] = missing - np.where(want, 1, -1)[:, 0] * changes.sum(axis=1)
    return left


def list_members(marks: NDArray[np.uint64], out: NDArray[np.unsignedinteger]) -> None:
    """List the members of each subset in ascending order, from the bits of its row.

    Args:
        marks: shape ``(m, lanes)``, k set in each row.
        out: shape ``(m, k)``, the result: each row in ascending order.
    """
    if compiled_pays(_MEMBER_SECONDS * out.size):
        _compiled_bits().list_members(marks, out)
        return
    places = 64 * marks.shape[1]
    step = max(_MARKS // places, 1)
    for start in range(0, len(marks), step):
        rows = slice(start, start + step)
        bits = np.unpackbits(marks[rows].view(np.uint8), axis=1, bitorder="little")
        # For booleans; for bytes it takes ten times longer.
        listed = np.flatnonzero(bits.view(np.bool_)).reshape(len(bits), out.shape[1])
        listed -= (np.arange(len(bits)) * places)[:, None]
        out[rows] = listed


_Number = TypeVar("_Number", np.int64, np.float64)


def walsh_hadamard(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the product of Sylvester's Hadamard matrix (not normalised) with a vector.

    Entry (i, j) of the matrix is (-1)^popcount(i & j). V log V additions.

    Args:
        values: shape ``(V,)``, V a power of two; int64 or float64.

    Returns:
        A new array, shape ``(V,)``, same type.

    Raises:
        ValueError: If V is not a power of two.
    """
    size = values.size
    if values.ndim != 1 or size == 0 or size & (size - 1):
        raise ValueError(f"the length must be a power of two, got shape {values.shape}.")
    current = values.copy()
    # Each stage combines the lowest index bit and rotates it to the top; after log V stages the order is the original.
    for _ in range(size.bit_length() - 1):
        even, odd = current[0::2], current[1::2]
        current = np.concatenate([even + odd, even - odd])
    return current
