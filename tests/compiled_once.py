"""Kernels that are compiled once for all workers of the tests, which ask for the same ones at nearly the same time.

A worker that finds a kernel neither in memory nor on disk takes the kernel's lock, and looks on disk again; who held it
before may have compiled it meanwhile. Nobody waits for longer than compiling takes, and without locks all goes on as
for users: each process compiles for itself.
"""

import time
from pathlib import Path
from typing import Any, TextIO

LONGEST = 60.0


def _lock_of(cache: Any) -> Path:
    """Return the lock of a kernel, beside the files that it is kept in."""
    return Path(cache.cache_path) / f"{cache._impl.filename_base}.lock"


def _taken(lock: Path) -> TextIO:
    """Return the file of a lock, which is ours, or has been another's for too long."""
    import fcntl

    file, end = lock.open("w"), time.monotonic() + LONGEST
    while time.monotonic() < end:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.05)
        else:
            break
    return file


def _given_back(file: TextIO) -> None:
    import fcntl

    # A forked process may have the file open too.
    fcntl.flock(file, fcntl.LOCK_UN)
    file.close()


def share_kernels() -> None:
    """Let this process wait for kernels that another one is compiling."""
    from discreet.kernels.caching import KernelCache

    load, save = KernelCache.load_overload, KernelCache.save_overload
    held: dict[Path, TextIO] = {}

    def load_overload(self: Any, sig: Any, context: Any) -> Any:
        found, place = load(self, sig, context), _lock_of(self)
        if found is not None or not self.safe or place in held:
            return found
        try:
            lock = _taken(place)
        except OSError:
            # Where nothing can be written nothing is kept, and there is nothing to wait for.
            return None
        found = load(self, sig, context)
        if found is None:
            held[place] = lock
        else:
            _given_back(lock)
        return found

    def save_overload(self: Any, sig: Any, data: Any) -> None:
        try:
            save(self, sig, data)
        finally:
            lock = held.pop(_lock_of(self), None)
            if lock is not None:
                _given_back(lock)

    KernelCache.load_overload, KernelCache.save_overload = load_overload, save_overload
