"""Arrays mapped from files: their pages can leave this process's memory after reading."""

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray


def forget(part: NDArray[Any]) -> None:
    """Release the pages of a mapped file from this process's memory, if ``part`` is a piece of one.

    The pages stay in the system's cache, and return when they are read again. Other arrays are left alone.

    Args:
        part: contiguous, of any shape; must not have been written to, unless what is written goes to the file.
    """
    whole: Any = part
    while isinstance(whole, np.ndarray) and whole.base is not None:
        whole = whole.base
    if not isinstance(whole, mmap.mmap) or not hasattr(whole, "madvise") or not part.nbytes:
        return
    start = _address(part) - _address(np.frombuffer(whole, np.uint8, count=1))
    # Whole pages only: the next piece may still be reading the page that both share.
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (start + part.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0:
        whole.madvise(mmap.MADV_DONTNEED, first, length)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
