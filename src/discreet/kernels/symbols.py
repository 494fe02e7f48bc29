"""Compiled counts of symbols; see `discreet.kernels.counting`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled

_LANES = 4
# In a short table the same symbol often repeats before its count is written, so each lane has its own histogram.
_SHORT = 1 << 6


def add_symbols(symbols: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    """Add the number of occurrences of each symbol to counts, in place; symbols out of range are ignored.

    Args:
        symbols: shape ``(m,)``.
        counts: shape ``(size,)``.
    """
    if counts.size > _SHORT:
        _count(symbols, counts)
        return
    # The extra column collects symbols out of range.
    lanes = np.zeros((_LANES, counts.size + 1), np.int64)
    _count_in_lanes(symbols, lanes)
    counts += lanes[:, : counts.size].sum(axis=0)


@compiled()
def _count(symbols: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    bound = np.uint64(counts.size)
    for symbol in symbols:
        # A negative symbol becomes a huge number, so one comparison covers both ends.
        place = np.uint64(symbol)
        if place < bound:
            counts[place] += 1


@compiled()
def _count_in_lanes(symbols: NDArray[np.integer[Any]], lanes: NDArray[np.int64]) -> None:
    # A repeated symbol need not wait for the previous one.
    outside = np.uint64(lanes.shape[1] - 1)
    whole = symbols.size // _LANES * _LANES
    for i in range(0, whole, _LANES):
        for lane in range(_LANES):
            lanes[lane, min(np.uint64(symbols[i + lane]), outside)] += 1
    for i in range(whole, symbols.size):
        lanes[0, min(np.uint64(symbols[i]), outside)] += 1
