"""Where compiled kernels are kept: nowhere that a stranger could put one, because reading a kept kernel runs it.

What numba keeps on disk are pickles, and who can write a pickle that we read runs code as us. So a folder is used only
if nobody but its owners (us, root, whoever owns the sources, which we run anyway) can put a file into it or another
folder in its place. That is asked again before every reading: a folder may have been removed since, and made again by
somebody else. In this order:

1. the folder that numba chooses: NUMBA_CACHE_DIR, beside the sources, or the user's own cache;
2. a folder of mode 0700 with a random name among the temporary files, made anew by each process, passed on to the
   processes that it starts, and removed when it ends; never one that a later process could find by its name;
3. none: kernels are compiled anew in each process, and kept in its memory.
"""

import atexit
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from numba import config
from numba.core.caching import FunctionCache

VARIABLE = "DISCREET_KERNELS"
"""The environment variable that tells processes that this one starts where its temporary kernels are."""

_CHOOSING = Lock()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Compiled forms of one kernel on disk; what cannot be read or written safely is compiled, or not kept."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kept form for these types, or None."""
        if not self.safe:
            return None
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Unreadable, or damaged: a broken pickle may raise anything. It is forgotten, or it could not be replaced.
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the form for these types; on a full disk it is not kept."""
        if not self.safe:
            return
        try:
            super().save_overload(sig, data)
        except OSError:
            return

    @property
    def safe(self) -> bool:
        """Whether only those whose code we run anyway can put something where this reads."""
        return only_owners_write(Path(self.cache_path), source=Path(self._py_func.__code__.co_filename))


def cache_of(function: Any) -> KernelCache | None:
    """Return where the compiled forms of a function are kept; None if there is no safe place."""
    try:
        cache = KernelCache(function)
    except RuntimeError:
        # numba found no folder that it can write.
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
    """Return whether a folder is there and nobody but its trusted owners can change what is in it.

    Args:
        folder: a folder; links are followed.
        source: a file whose owner is trusted too, beside root and the user of this process.
    """
    try:
        here = folder.resolve(strict=True)
        if not hasattr(os, "geteuid"):
            # Windows: temporary files and caches are in the user's own profile.
            return here.is_dir()
        owners = {0, os.geteuid()} | ({source.stat().st_uid} if source is not None and source.exists() else set())
        found, above = here.stat(), [parent.stat() for parent in here.parents]
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid in owners
        and not found.st_mode & stat.S_IWOTH
        # In a sticky folder, such as /tmp, only the owner of an entry can put another in its place.
        and all(one.st_uid in owners and (one.st_mode & (stat.S_IWOTH | stat.S_ISVTX)) != stat.S_IWOTH for one in above)
    )


@lru_cache(maxsize=1)
def temporary_folder() -> Path | None:
    """Return a folder that nobody else can read or write, until this process ends; None if there can be none."""
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
    # A process that was forked from the maker must leave it what it made.
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
