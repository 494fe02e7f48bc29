"""The folder of a collector's data: the database, sealed files, and a lock against a second collector."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import ParameterError

_DATABASE, _SEALED = "collector.db", "sealed"
_SERVING, _SEALING = ".serving.lock", ".sealing.lock"


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
        """The database."""
        return self.path / _DATABASE

    @property
    def sealed(self) -> Path:
        """The folder of sealed files."""
        return self.path / _SEALED

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Hold the folder: one collector at a time serves it.

        Raises:
            ParameterError: if another one does.
        """
        with self._locked(_SERVING, wait=False):
            yield

    @contextmanager
    def sealing(self) -> Iterator[None]:
        """Wait until nobody else seals or deletes here, and hold that."""
        with self._locked(_SEALING, wait=True):
            yield

    @contextmanager
    def _locked(self, name: str, *, wait: bool) -> Iterator[None]:
        try:
            place = os.open(self.path / name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ParameterError(f"{self.path} cannot be written to ({error.strerror}); mend its rights.") from None
        try:
            try:
                fcntl.flock(place, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise ParameterError(
                    f"another collector serves {self.path} already; end it, or choose another folder."
                ) from None
            yield
        finally:
            os.close(place)

    @property
    def free_bytes(self) -> int:
        """The room that the disk has for this user."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize


def synchronize(path: Path) -> None:
    """Put a file, or the names in a folder, on disk before anything else is done."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
