"""Counts of symbols and of packed bits by group: by NumPy, or compiled where that pays (`discreet.kernels.startup`)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.blocks.counting import checked_rows, count_columns
from discreet.kernels.startup import pays

# What NumPy takes longer than a compiled kernel: per code, per symbol and per report of bits.
_CODE_SECONDS, _SYMBOL_SECONDS, _REPORT_SECONDS = 7e-9, 2e-8, 2e-7
# Symbols whose places are listed at a time.
_SYMBOLS = 1 << 16
_SHORT = 1 << 16


def chosen(table: NDArray[np.int32], codes: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Return the entries of a table at codes: the groups of reports whose labels are numbered.

    Args:
        table: shape ``(labels,)``.
        codes: shape ``(m,)``, integers in 0..labels-1.
    """
    if pays(_CODE_SECONDS * codes.size):
        from discreet.kernels.blocks import grouped as compiled

        return compiled.chosen(table, codes)
    found: NDArray[np.int32] = table[codes]
    return found


def parted(groups: NDArray[np.int32], told: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the groups of the reports with a mark, and of those without, in order.

    Args:
        groups: shape ``(m,)``.
        told: shape ``(m,)``, the marks.
    """
    if pays(_CODE_SECONDS * groups.size):
        from discreet.kernels.blocks import grouped as compiled

        return compiled.parted(groups, told)
    return groups.compress(told), groups.compress(~told)


def add_symbols(symbols: NDArray[np.integer[Any]], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add the number of occurrences of each symbol in each group to counts.

    Args:
        symbols: integers of any width, shape ``(m,)`` or ``(m, k)``; those outside 0..size-1 are ignored.
        groups: shape ``(m,)``, rows of the counts, all of them there.
        counts: shape ``(groups, size)``, contiguous; changed in place.

    Raises:
        ValueError: If the symbols are not integers.
    """
    if symbols.dtype.kind not in "ui":
        raise ValueError(f"symbols must be integers, got {symbols.dtype}.")
    if not symbols.size:
        # Without any, how many a report has is not known.
        return
    rows = np.ascontiguousarray(symbols).reshape(len(symbols), -1)
    if pays(_SYMBOL_SECONDS * rows.size):
        from discreet.kernels.blocks import grouped as compiled

        if rows.shape[1] == 1:
            compiled.add_symbols(rows[:, 0], groups, counts)
        else:
            compiled.add_lists(rows, groups, counts)
        return
    flat, size = counts.reshape(-1), counts.shape[1]
    step = max(_SYMBOLS // max(rows.shape[1], 1), 1)
    for start in range(0, len(rows), step):
        piece = rows[start : start + step].astype(np.int64)
        places = groups[start : start + step, None].astype(np.int64) * size + piece
        np.add.at(flat, places[(piece >= 0) & (piece < size)], 1)


def add_bits(bits: NDArray[np.uint8], groups: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add the number of ones in every column of packed bits of each group to counts.

    Args:
        bits: packed reports, shape ``(m, ceil(v/8))``; see `discreet.kernels.blocks.bits`.
        groups: shape ``(m,)``, rows of the counts, all of them there.
        counts: shape ``(groups, v)``, contiguous; changed in place.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    rows, size = checked_rows(bits, counts.shape[1]), counts.shape[1]
    if pays(_REPORT_SECONDS * len(rows)):
        from discreet.kernels.blocks import grouped as compiled

        compiled.add_bits(rows, groups, counts)
        return
    order, runs = runs_of(groups)
    rows = rows[order]
    for group, start, stop in runs:
        counts[group] += count_columns(rows[start:stop], size)


def runs_of(groups: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], list[tuple[int, int, int]]]:
    """Return the order that sorts rows by group, and start and stop in it of each group that occurs.

    Args:
        groups: shape ``(m,)``, at least 0.
    """
    # Numbers of 16 bits are sorted by counting.
    order = np.argsort(groups.astype(np.uint16) if groups.max(initial=0) < _SHORT else groups, kind="stable")
    sizes = np.bincount(groups)
    there = np.flatnonzero(sizes)
    stops = np.cumsum(sizes[there])
    return order, list(zip(there.tolist(), (stops - sizes[there]).tolist(), stops.tolist(), strict=True))
