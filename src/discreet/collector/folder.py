"""The folder of a collector's data: what lies where in it, and the locks that say whose it is at the moment."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import ParameterError

_DATABASE, _SEALED, _INBOX, _SOCKET = "collector.db", "sealed", "inbox", "collector.sock"
_SERVING, _SEALING = ".serving.lock", ".sealing.lock"


class HeldError(ParameterError):
    """The folder is held by another process."""


class DataFolder:
    """A folder that holds everything a collector keeps, readable by its user only.

    Args:
        path: made if it is not there, unless it must be.
        make: whether it may be made.

    Raises:
        ParameterError: if it cannot be made or written to, or is not there.
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.path = path
        if not make and not path.is_dir():
            raise ParameterError(f"{path} is no folder of a collector; name one with --data.")
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError(f"{path} cannot be made ({error.strerror}); choose another folder.") from None

    @property
    def database(self) -> Path:
        """The database of all that is no report."""
        return self.path / _DATABASE

    @property
    def inbox(self) -> Path:
        """The folder of reports that are not sealed yet."""
        return self.path / _INBOX

    @property
    def sealed(self) -> Path:
        """The folder of sealed files."""
        return self.path / _SEALED

    @property
    def socket(self) -> Path:
        """The socket at which whoever holds the folder is asked."""
        return self.path / _SOCKET

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Hold the folder: one process at a time owns what is in it.

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
            raise ParameterError("a collector needs a system with flock; this one has none.") from None
        try:
            place = os.open(self.path / name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ParameterError(f"{self.path} cannot be written to ({error.strerror}); mend its rights.") from None
        try:
            try:
                fcntl.flock(place, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise HeldError(
                    f"another collector serves {self.path} already; end it, or choose another folder."
                ) from None
            except OSError as error:
                raise ParameterError(
                    f"{self.path} must be on a file system with locks ({error.strerror}); choose a local one."
                ) from None
            try:
                yield
            finally:
                # Closing is not enough while a process is being started that has, for a moment, the file too.
                fcntl.flock(place, fcntl.LOCK_UN)
        finally:
            os.close(place)

    @property
    def free_bytes(self) -> int:
        """The room that the disk has for this user."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize


def synchronize(path: Path) -> None:
    """Put a file, or the names in a folder, on disk before anything else is done; never a database that is open."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
