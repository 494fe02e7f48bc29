"""Threads and memory: work on fixed blocks of rows, for arrays in memory or mapped from files.

The blocks depend only on the data, and results are returned in block order. So a sum over the results is bitwise the
same for any number of threads. `release_pages` releases the pages of a mapped array from the memory of this process.
"""

import mmap
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Result = TypeVar("_Result")
_UNKNOWN_MEMORY = 1 << 32
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def map_blocks(
    function: Callable[[int, int], _Result],
    rows: int,
    *,
    block: int,
    threads: int | None = None,
) -> list[_Result]:
    """Apply a function to consecutive blocks of rows, in several threads, and return the results in order.

    Args:
        function: called with the start and the stop of each block; it should release the
            interpreter lock, as compiled kernels do.
        rows: the number of rows; at least 0.
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
    """Return the number of threads, by default from the environment or from the number of processors.

    Raises:
        ValueError: If the number is too small, or the environment variable is not a number.
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


def memory_limit() -> int:
    """Return half of the memory of this machine, or of this process's container, in bytes."""
    memory = _UNKNOWN_MEMORY
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if _CONTAINER_LIMIT.is_file():
        limit = _CONTAINER_LIMIT.read_text(encoding="ascii").strip()
        memory = min(memory, int(limit)) if limit.isdecimal() else memory
    return memory // 2


def release_pages(part: NDArray[Any]) -> None:
    """Release the pages of an array from this process's memory, if the array is a part of a mapped file.

    The pages stay in the system's cache, and are loaded again if they are read. Other arrays are not changed.

    Args:
        part: a contiguous array of any shape; it must not have been written to, unless the file receives the changes.
    """
    whole: Any = part
    while isinstance(whole, np.ndarray) and whole.base is not None:
        whole = whole.base
    if not isinstance(whole, mmap.mmap) or not hasattr(whole, "madvise") or not part.nbytes:
        return
    start = _address(part) - _address(np.frombuffer(whole, np.uint8, count=1))
    # Whole pages only: the next piece may still use the page that both share.
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (start + part.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0:
        whole.madvise(mmap.MADV_DONTNEED, first, length)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
