"""The compilation of kernels by numba, and the folder that caches them on disk.

numba's cache consists of pickles, and a pickle runs code with the user's rights when it is read. So a folder is used
only if no one but trusted owners can put a file into it or replace it: this user, root, and the owner of the sources,
whose code runs anyway. The check is repeated before every reading, because another user may have removed and recreated
a folder. Folders are tried in this order:

1. the folder that numba chooses: NUMBA_CACHE_DIR, beside the sources, or the user's own cache;
2. a folder of mode 0700 with a random name among the temporary files. Each process creates its own, shares it with the
   processes that it starts, and removes it at its end. A later process cannot find it by its name;
3. no folder: each process compiles the kernels and keeps them in memory.
"""

import atexit
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

import numba
from numba import config
from numba.core import event
from numba.core.caching import FunctionCache

VARIABLE = "DISCREET_KERNELS"
"""The environment variable with the folder of temporary kernels, for the processes that this process starts."""

_CHOOSING = Lock()
_LOGGER = logging.getLogger("discreet.kernels")


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cache on disk for one compiled kernel; without a safe folder it stores nothing."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel that is stored for these argument types, or None."""
        if not self.safe:
            return None
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # A damaged pickle may raise anything. The entry is dropped, or else it could not be replaced.
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled kernel for these argument types, unless the disk is full."""
        if not self.safe:
            return
        try:
            super().save_overload(sig, data)
        except OSError:
            return

    @property
    def safe(self) -> bool:
        """True if only trusted owners can write to the folder of cached kernels."""
        return only_owners_write(Path(self.cache_path), source=Path(self._py_func.__code__.co_filename))


def cache_of(function: Any) -> KernelCache | None:
    """Return the cache on disk for a kernel; None if there is no safe folder."""
    try:
        cache = KernelCache(function)
    except RuntimeError:
        # numba found no folder with write access.
        cache = None
    if cache is not None and cache.safe:
        return cache
    folder = temporary_folder()
    if folder is None:
        return None
    with _CHOOSING:
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            cache = KernelCache(function)
        except RuntimeError:
            return None
        finally:
            config.CACHE_DIR = before
    return cache if cache.safe else None


def only_owners_write(folder: Path, *, source: Path | None = None) -> bool:
    """Return true if a folder exists and only trusted owners can change its content.

    Args:
        folder: a folder; links are followed.
        source: a file with an owner that is also trusted, beside root and the user of this process.
    """
    try:
        here = folder.resolve(strict=True)
        if not hasattr(os, "geteuid"):
            # On Windows temporary files and caches are in the user's own profile.
            return here.is_dir()
        owners = {0, os.geteuid()} | ({source.stat().st_uid} if source is not None and source.exists() else set())
        status, above = here.stat(), [node.stat() for node in here.parents]
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid in owners
        and not status.st_mode & stat.S_IWOTH
        # In a sticky folder, such as /tmp, only the owner of an entry can replace it.
        and all(
            node.st_uid in owners and (node.st_mode & (stat.S_IWOTH | stat.S_ISVTX)) != stat.S_IWOTH for node in above
        )
    )


@lru_cache(maxsize=1)
def temporary_folder() -> Path | None:
    """Return a private folder for the lifetime of this process; None if it cannot be created."""
    passed_on = os.environ.get(VARIABLE, "")
    if passed_on and only_owners_write(Path(passed_on)):
        return Path(passed_on)
    try:
        folder = Path(tempfile.mkdtemp(prefix="discreet-kernels-"))
    except OSError:
        return None
    atexit.register(_remove, folder, os.getpid())
    if not only_owners_write(folder):
        return None
    os.environ[VARIABLE] = str(folder)
    return folder


def _remove(folder: Path, maker: int) -> None:
    # A process forked from the creator must not remove the creator's folder.
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Compilations(event.Listener):  # type: ignore[misc]
    """A numba event listener that reports compilations, but not kernels read from disk."""

    def on_start(self, _: event.Event) -> None:
        """Log that the compilation of a kernel starts."""
        _LOGGER.info("compiling for this machine (about 10 s); the result is cached if the cache folder is writable.")

    def on_end(self, _: event.Event) -> None:
        """Do nothing when the compilation of a kernel ends."""


event.register("numba:compile", _Compilations())


def compile_kernel(function: _Function, fastmath: frozenset[str]) -> _Function:
    """Return a kernel that is compiled at its first call and then cached, if there is a safe folder."""
    kernel = numba.njit(nogil=True, fastmath=set(fastmath))(function)
    cache = cache_of(function)
    if cache is not None:
        # numba.njit(cache=True) would end the process where nothing can be cached.
        kernel._cache = cache
    return cast("_Function", kernel)
