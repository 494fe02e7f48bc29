"""Counts of symbols and of packed bits: by NumPy, or compiled where that pays (`discreet.kernels.startup`)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.startup import pays

# What NumPy takes longer than a compiled kernel, per symbol and per byte of bits; and per symbol where there are more
# counts than fit into the second-level cache, as it waits for each, and keeps other threads from counting meanwhile.
_SYMBOL_SECONDS, _BYTE_SECONDS = 1e-9, 1e-9
_FAR_SECONDS, _NEAR = 8e-9, 1 << 17
# Symbols counted at a time, whose 64-bit copies stay in the cache; and up to how many counts NumPy's `bincount` is
# faster than adding one by one.
_SYMBOLS, _FEW = 1 << 16, 1 << 14
# Bytes of bits added up at a time: their sums stay in the cache.
_BYTES = 1 << 20


def count_symbols(symbols: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
    """Return the number of occurrences of each symbol.

    Args:
        symbols: integers of any width and shape; those outside 0..size-1 are ignored.
        size: the number of different symbols.

    Returns:
        Counts, shape ``(size,)``.

    Raises:
        ValueError: If the symbols are not integers.
    """
    counts = np.zeros(size, np.int64)
    add_symbols(symbols, counts)
    return counts


def add_symbols(symbols: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    """Add the number of occurrences of each symbol to counts, so that batches share one array of counts.

    Args:
        symbols: integers of any width and shape; those outside 0..size-1 are ignored.
        counts: shape ``(size,)``; changed in place.

    Raises:
        ValueError: If the symbols are not integers.
    """
    if symbols.dtype.kind not in "ui":
        raise ValueError(f"symbols must be integers, got {symbols.dtype}.")
    flat = np.ascontiguousarray(symbols).reshape(-1)
    if pays((_SYMBOL_SECONDS if counts.size <= _NEAR else _FAR_SECONDS) * flat.size):
        from discreet.kernels.blocks import symbols as compiled

        compiled.add_symbols(flat, counts)
        return
    for start in range(0, flat.size, _SYMBOLS):
        _add(flat[start : start + _SYMBOLS], counts)


def _add(symbols: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    size = counts.size
    if symbols.min() < 0 or symbols.max() >= size:
        symbols = symbols[(symbols >= 0) & (symbols < size)]
    places = symbols.astype(np.int64, copy=False)
    if size <= _FEW:
        counts += np.bincount(places, minlength=size)
    else:
        np.add.at(counts, places, 1)


def count_columns(rows: NDArray[np.uint8], size: int) -> NDArray[np.int64]:
    """Return the number of ones in every column of packed bits; see `discreet.kernels.blocks.bits`.

    Args:
        rows: packed reports, shape ``(m, ceil(v/8))``.
        size: v, the number of columns.

    Returns:
        Counts, shape ``(v,)``.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    if pays(_BYTE_SECONDS * rows.size):
        from discreet.kernels.blocks import bits as compiled

        return compiled.count_columns(rows, size)
    rows = checked_rows(rows, size)
    width = rows.shape[1]
    counts = np.zeros(8 * width, np.int64)
    if not rows.size:
        return counts[:size]
    step = 1 << max((_BYTES // width).bit_length() - 1, 3)
    for start in range(0, len(rows), step):
        counts += _column_sums(rows[start : start + step])
    return counts[:size]


def checked_rows(rows: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return packed reports of ``size`` bits, rows one after the other.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    width = -(-size // 8)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(
            f"rows of {size} bits must be uint8 with shape (m, {width}), got {rows.dtype} with shape {rows.shape}."
        )
    return np.ascontiguousarray(rows)


def _column_sums(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the ``(8 width,)`` sums of bits."""
    count, width = rows.shape
    whole = 1 << max((count - 1).bit_length(), 3)
    if whole > count:
        rows = np.concatenate([rows, np.zeros((whole - count, width), np.uint8)])
    # Eight rows side by side are whole 64-bit words; they are numbers of one binary digit each, added by halves.
    digits = np.ascontiguousarray(rows).reshape(-1).view(np.uint64).reshape(1, whole // 8, width)
    while digits.shape[1] > 1:
        digits = _sums_of_halves(digits)
    bits = np.unpackbits(digits.view(np.uint8).reshape(len(digits), 8, width), axis=2, bitorder="little")
    weights = 1 << np.arange(len(digits))
    found: NDArray[np.int64] = weights @ bits.sum(axis=1, dtype=np.int64)
    return found


def _sums_of_halves(digits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the sums of the first half of numbers and the second, one digit longer.

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
