"""Pages of Parquet: their heads read, and indices of a dictionary counted as they are packed; compiled.

A head is a Thrift struct in its compact form. A page of indices is a length and levels, where rows may be null; a byte
that says how many bits an index has; and runs, each behind a number of 7-bit digits: if it is odd, as many times 8
indices follow as half of it says, the lowest bits first; if it is even, one index that stands so often.

Whatever the bytes are, nothing is read or written beside them; what is not known to the last byte is answered by False.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled

PADDING = 8
"""Bytes after the last one, which words are read from."""
PLACE, BEGIN, KIND, SIZE, PACKED, CHECKSUM, DATA, ENTRIES = 0, 1, 2, 3, 4, 5, 6, 11
"""Columns of a table of pages: where head and body begin, then the head's numbers; of data pages and of dictionaries
four and two more, `ROWS` and so on further."""
ROWS, ENCODING, LEVELS, REPETITIONS = 1, 2, 3, 4
COLUMNS = 14
ABSENT = -(1 << 40)
"""What stands for a number that a head does not have."""

_TRUE, _FALSE, _WHOLE, _LONG, _BINARY, _STRUCT = 1, 2, 5, 6, 8, 12
_DEEPEST = 3
# Bits of an index at most, and of four that fit into one word behind up to seven bits.
_WIDEST, _ABREAST = 32, 14


def find_pages(data: NDArray[np.uint8], pages: NDArray[np.int64]) -> int:
    """Find the pages of a column.

    Args:
        data: the bytes of a column, and `PADDING` more.
        pages: shape ``(most, COLUMNS)``, to be filled, a row for each page; `ABSENT` where a head says nothing.

    Returns:
        The number of pages; -1 if these are not whole pages and nothing else, or too many.
    """
    pages[:] = ABSENT
    return int(_find(data, data.size - PADDING, pages))


def count_indices(
    data: NDArray[np.uint8], page: tuple[int, int, int], lanes: NDArray[np.uint32], *, levels: bool
) -> bool:
    """Add the number of occurrences of each index of a page to histograms.

    Args:
        data: bytes, and `PADDING` more.
        page: where it begins and ends there, and the number of its rows.
        lanes: shape ``(4, 2^bits)``: histograms, whose sum counts. Changed in place, also where the answer is False.
        levels: whether it begins with levels; they must say that no row is null.

    Returns:
        True if these are so many indices of at most so many bits, whole runs and nothing else.
    """
    # The word at every byte: none need begin where words do.
    words = np.ndarray(data.size - PADDING + 1, "<u8", data, strides=(1,))
    begin, end, rows = page
    return 0 <= begin <= end <= data.size - PADDING and bool(_count(data, words, begin, end, rows, lanes, levels))


@compiled()
def _find(data: NDArray[np.uint8], end: int, pages: NDArray[np.int64]) -> int:
    at = found = 0
    while at < end:
        if found == pages.shape[0]:
            return -1
        page = pages[found]
        page[PLACE] = at
        at = _read_head(data, at, end, page)
        if at < 0 or page[SIZE] <= 0 or not 0 < page[PACKED] <= end - at:
            return -1
        page[BEGIN] = at
        at += page[PACKED]
        found += 1
    return found


@compiled()
def _read_head(data: NDArray[np.uint8], at: int, end: int, page: NDArray[np.int64]) -> int:
    """Read a head; return where it ends, -1 for none."""
    numbers, depth = np.zeros(_DEEPEST, np.int64), 0
    while at < end:
        byte: Any = np.int64(data[at])
        at += 1
        if byte == 0:
            if depth == 0:
                return at
            numbers[depth] = 0
            depth -= 1
            continue
        numbers[depth] += byte >> 4
        kind = byte & 15
        # Numbers that ascend by 1 to 15 are one byte; so none can come twice.
        if byte < 16 or not _is_known(numbers, depth, kind):
            return -1
        if kind == _STRUCT:
            depth += 1
            continue
        value, at = _read_value(data, at, end, kind)
        if at < 0:
            return -1
        _keep(page, depth, numbers, kind, value)
    return -1


@compiled()
def _is_known(numbers: NDArray[np.int64], depth: int, kind: int) -> bool:
    """Return true for a field of the format: of a head, data pages, dictionaries or statistics, with the right type."""
    number = numbers[depth]
    if depth == 0:
        return kind == _STRUCT if number in (5, 7) else kind == _WHOLE and number <= 4
    if depth == 1 and numbers[0] == 5:
        return kind == _STRUCT if number == 5 else kind == _WHOLE and number <= 4
    if depth == 1:
        return kind in (_TRUE, _FALSE) if number == 3 else kind == _WHOLE and number <= 2
    # Least and greatest values, counts of nulls and of different ones, and marks of exactness.
    if number in (3, 4):
        return kind == _LONG
    return kind in (_TRUE, _FALSE) if number in (7, 8) else kind == _BINARY and number <= 6


@compiled()
def _keep(page: NDArray[np.int64], depth: int, numbers: NDArray[np.int64], kind: int, value: int) -> None:
    """Keep a number of the head, or of the struct of data pages or dictionaries in it."""
    number, place = numbers[depth], 0
    if depth == 0 and number <= 4:
        place = BEGIN + number
    elif depth == 1 and number <= 4 and numbers[0] == 5:
        place = DATA + number
    elif depth == 1 and number <= 2 and numbers[0] == 7:
        place = ENTRIES + number
    if place and kind == _WHOLE:
        page[place] = value


@compiled()
def _read_value(data: NDArray[np.uint8], at: int, end: int, kind: int) -> tuple[int, int]:
    """Return an integer, or 0 for what is none, and where it ends; -1 if it is too large."""
    value = size = 0
    if kind in (_WHOLE, _LONG, _BINARY):
        value, at = _read_number(data, at, end)
        if kind == _BINARY:
            value, size = 0, value
        value = (value >> 1) ^ -(value & 1)
    whole = kind != _WHOLE or -(1 << 31) <= value < 1 << 31
    return (value, at + size) if at >= 0 and size <= end - at and whole else (0, -1)


@compiled()
def _read_number(data: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Return a number of 7-bit digits, and where it ends; -1 for none."""
    number = 0
    for shift in range(0, 56, 7):
        if at >= end:
            break
        byte: Any = np.int64(data[at])
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    return 0, -1


@compiled()
def _count(
    data: NDArray[np.uint8], words: NDArray[np.uint64], at: int, end: int, rows: int, lanes: Any, levels: bool
) -> bool:
    if levels:
        at = _after_levels(data, words, at, end, rows)
    if at < 0 or at >= end:
        return False
    first: Any = np.int64(data[at])
    width, left, at = first, rows, at + 1
    # The width first: 1 << 63 is below every number of lanes, and above that all bits are shifted out or none.
    if not 1 <= width <= _WIDEST or 1 << width > lanes.shape[1]:
        return False
    while left > 0:
        head, at = _read_number(data, at, end)
        runs = head >> 1
        if at < 0 or not 0 < runs <= left:
            return False
        # The last run is filled up with up to seven indices that mean nothing.
        taken, size = (min(8 * runs, left), runs * width) if head & 1 else (runs, (width + 7) >> 3)
        if size > end - at or (head & 1 and 8 * runs - taken >= 8):
            return False
        if head & 1:
            _count_packed(words, at, width, taken, lanes)
        else:
            index = words[at] & np.uint64((1 << 8 * size) - 1)
            if index >= np.uint64(1 << width):
                return False
            lanes[0, index] += np.uint32(runs)
        at += size
        left -= taken
    return at == end


@compiled()
def _after_levels(data: NDArray[np.uint8], words: NDArray[np.uint64], at: int, end: int, rows: int) -> int:
    """Return the end of levels that are one run of ones, so that no row is null; -1 for others."""
    if end - at < 6:
        return -1
    size, begin = np.int64(words[at] & np.uint64(0xFFFFFFFF)), at + 4
    run, place = _read_number(data, begin, end)
    if place < 0 or run != 2 * rows or place >= end or data[place] != 1 or place + 1 - begin != size:
        return -1
    return place + 1


@compiled()
def _count_packed(words: NDArray[np.uint64], at: int, width: int, count: int, lanes: NDArray[np.uint32]) -> None:
    mask, step, seven = np.uint64((1 << width) - 1), np.uint64(width), np.uint64(7)
    begin, bit = np.uint64(at), np.uint64(0)
    whole = count // 4 * 4 if width <= _ABREAST else 0
    for _ in range(0, whole, 4):
        word = words[begin + (bit >> np.uint64(3))] >> (bit & seven)
        # Neighbours go to different histograms: a repeated index need not wait for the store of the one before it.
        lanes[0, word & mask] += np.uint32(1)
        lanes[1, (word >> step) & mask] += np.uint32(1)
        lanes[2, (word >> (step + step)) & mask] += np.uint32(1)
        lanes[3, (word >> (step + step + step)) & mask] += np.uint32(1)
        bit += step << np.uint64(2)
    for _ in range(whole, count):
        lanes[0, (words[begin + (bit >> np.uint64(3))] >> (bit & seven)) & mask] += np.uint32(1)
        bit += step
