"""The data folder of a collector: its files, its locks, and a reserve of room for a full disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import ParameterError

_SERVING, _SEALING = ".serving.lock", ".sealing.lock"

RESERVE_BYTES = 1 << 24
"""Room that is set aside, so that a full disk can be emptied: deleting and sealing need room first."""


class HeldError(ParameterError):
    """The folder is held by another process."""


class DataFolder:
    """A folder that holds everything a collector keeps, readable by its user only.

    Args:
        path: made if it is not there, unless it must be.
        make: whether it may be made.

    Attributes:
        database: of all that is no report.
        inbox: the folder of reports that are not sealed yet.
        sealed: the folder of sealed files.
        socket: at which whoever holds the folder is asked.
        reserve: the file that sets room aside.

    Raises:
        ParameterError: if it cannot be made or written to, or is not there.
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.path, self.database, self.socket = path, path / "collector.db", path / "collector.sock"
        self.inbox, self.sealed, self.reserve = path / "inbox", path / "sealed", path / "reserve"
        if not make and not path.is_dir():
            raise ParameterError("folder.not-of-collector", argument="data", path=path)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError("folder.impossible", path=path, reason=error.strerror) from None

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Lock the folder, so that one process at a time owns it.

        Raises:
            HeldError: if another one does.
        """
        with self._locked(_SERVING, wait=False):
            yield

    @contextmanager
    def sealing(self) -> Iterator[None]:
        """Wait until no process of an earlier owner seals here any more, and keep others from it."""
        with self._locked(_SEALING, wait=True):
            yield

    @contextmanager
    def _locked(self, name: str, *, wait: bool) -> Iterator[None]:
        try:
            import fcntl
        except ImportError:
            raise ParameterError("system.without-locks") from None
        try:
            place = os.open(self.path / name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ParameterError("folder.read-only", path=self.path, reason=error.strerror) from None
        try:
            try:
                fcntl.flock(place, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise HeldError("folder.in-use", path=self.path) from None
            except OSError as error:
                raise ParameterError("folder.not-lockable", path=self.path, reason=error.strerror) from None
            try:
                yield
            finally:
                # Closing is not enough while a process is being started that has, for a moment, the file too.
                fcntl.flock(place, fcntl.LOCK_UN)
        finally:
            os.close(place)

    @property
    def is_full(self) -> bool:
        """True if the disk has so little room that work which frees some needs the reserve."""
        return self.free_bytes < 2 * RESERVE_BYTES

    def set_aside(self) -> None:
        """Set the reserve aside, where the disk has room for it."""
        with suppress(OSError):
            place = os.open(self.reserve, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(place, 0, RESERVE_BYTES)
            except OSError:
                self.reserve.unlink()
            finally:
                os.close(place)

    @property
    def free_bytes(self) -> int:
        """The room that the disk has for this user."""
        room = os.statvfs(self.path)
        return room.f_bavail * room.f_frsize


def synchronize(path: Path) -> None:
    """Put a file, or the names in a folder, on disk before anything else is done; never a database that is open."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
