"""Rows of bytes: checks of their width, and their order as byte strings."""

from itertools import pairwise

import numpy as np

from discreet.arrays import AnyArray, IntArray, WordArray

_WORD = 8


def checked_rows(rows: AnyArray, size: int) -> AnyArray:
    """Return packed reports of ``size`` bits as contiguous rows, after a check of their width.

    Raises:
        ValueError: If the rows do not have ceil(v/8) bytes.
    """
    width = -(-size // 8)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(
            f"rows of {size} bits must be uint8 with shape (m, {width}), got {rows.dtype} with shape {rows.shape}."
        )
    return np.ascontiguousarray(rows)


def sorted_rows(rows: AnyArray) -> AnyArray:
    """Return ``(n, width)`` rows of bytes in ascending order."""
    width = rows.shape[1]
    if width > _WORD:
        return rows[row_order(rows)]
    keys = np.zeros((len(rows), _WORD), dtype=np.uint8)
    keys[:, _WORD - width :] = rows
    numbers = np.sort(keys.view(">u8").ravel().astype(np.uint64))
    return np.ascontiguousarray(numbers.astype(">u8").view(np.uint8).reshape(-1, _WORD)[:, _WORD - width :])


def _words(rows: AnyArray) -> WordArray:
    """Return rows as ``(words, n)`` integers that sort in the same order as the bytes."""
    count = -(-rows.shape[1] // _WORD)
    padded = np.zeros((len(rows), count * _WORD), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    return np.ascontiguousarray(padded.view(">u8").T.astype(np.uint64))


def row_order(rows: AnyArray) -> IntArray:
    """Return the ``(n,)`` order that sorts ``(n, width)`` rows of bytes.

    They are sorted by their first 8 bytes; only ties are sorted by the next bytes.
    """
    words = _words(rows)
    order: IntArray = np.argsort(words[0])
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for before, word in pairwise(words):
        ranked = before[order]
        same &= ranked[1:] == ranked[:-1]
        if not same.any():
            break
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        group = np.cumsum(np.append(True, ~same))[tied]
        order[tied] = order[tied][np.lexsort((word[order[tied]], group))]
    return order
