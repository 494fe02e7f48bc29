"""A thread pool over fixed blocks of rows.

The blocks depend on the data only, and results come back in block order, so a sum over
the results is bitwise the same for any number of threads.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")


def map_blocks(
    function: Callable[[int, int], _Result],
    rows: int,
    *,
    block: int,
    threads: int | None = None,
) -> list[_Result]:
    """Apply a function to consecutive blocks of rows.

    Args:
        function: called with the start and the stop of each block; it should release the
            interpreter lock, as compiled kernels do.
        rows: how many rows there are; at least 0.
        block: rows per block; at least 1. Must not depend on ``threads``.
        threads: at most this many threads; by default the environment variable
            DISCREET_THREADS, or else the number of processors.

    Returns:
        The results in block order; empty without rows.

    Raises:
        ValueError: If ``rows``, ``block`` or the number of threads is too small.
    """
    if rows < 0 or block < 1:
        raise ValueError(f"rows must be >= 0 and block >= 1, got rows={rows}, block={block}.")
    starts = range(0, rows, block)
    stops = [min(start + block, rows) for start in starts]
    workers = min(thread_count(threads), len(starts))
    if workers <= 1:
        return [function(start, stop) for start, stop in zip(starts, stops, strict=True)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, starts, stops))


def thread_count(threads: int | None = None) -> int:
    """Return the number of threads; see `map_blocks`.

    Raises:
        ValueError: If the number is too small, or the environment's is not one.
    """
    if threads is None:
        threads = _threads_from_environment() or os.cpu_count() or 1
    if threads < 1:
        raise ValueError(f"threads must be >= 1, got threads={threads}.")
    return threads


def _threads_from_environment() -> int | None:
    setting = os.environ.get("DISCREET_THREADS", "").strip()
    if not setting:
        return None
    if not setting.isdecimal() or int(setting) < 1:
        raise ValueError(f"DISCREET_THREADS must be a whole number >= 1, got {setting!r}.")
    return int(setting)
