"""Arrays that are mapped from files: what was read of them need not stay in this process's memory."""

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray


def forget(part: NDArray[Any]) -> None:
    """Take what was read of a mapped file out of this process's memory, if ``part`` is a piece of one.

    It stays in the system's cache, and comes back when it is read again. Other arrays are left alone.

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
