"""Counts of symbols, compiled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled

# Four histograms of this size still fit the second-level cache.
_INTERLEAVED_SIZE = 1 << 14


def add_symbols(symbols: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    """Add the number of occurrences of each symbol to counts, in place; see `discreet.kernels.blocks.counting`."""
    if counts.size > _INTERLEAVED_SIZE:
        _count(symbols, counts)
        return
    # The extra column collects what is out of range.
    lanes = np.zeros((4, counts.size + 1), np.int64)
    _count_interleaved(symbols, lanes)
    counts += lanes[:, : counts.size].sum(axis=0)


@compiled()
def _count(symbols: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    bound = np.uint64(counts.size)
    for symbol in symbols:
        # A negative symbol becomes a huge one, so one comparison covers both ends.
        index = np.uint64(symbol)
        if index < bound:
            counts[index] += 1


@compiled()
def _count_interleaved(symbols: NDArray[np.integer[Any]], lanes: NDArray[np.int64]) -> None:
    # Neighbours go to different histograms: a repeated symbol need not wait for the
    # store of the one before it.
    outside = np.uint64(lanes.shape[1] - 1)
    whole = symbols.size // 4 * 4
    for i in range(0, whole, 4):
        for lane in range(4):
            lanes[lane, min(np.uint64(symbols[i + lane]), outside)] += 1
    for i in range(whole, symbols.size):
        lanes[0, min(np.uint64(symbols[i]), outside)] += 1
