"""Output files: written completely or not at all, and never replaced without the caller's consent."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from discreet.errors import OutputExistsError, ParameterError

_LONGEST_NAME = 255


def check_free(target: Path, *, force: bool) -> None:
    """Raise an error if an output file cannot be written.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if the folder does not exist or cannot be written to, the path is a folder, or its name is too
            long.
    """
    if len(os.fsencode(target.name)) > _LONGEST_NAME:
        raise ParameterError("output.long-name", most=_LONGEST_NAME)
    if target.is_dir():
        raise ParameterError("output.is-folder", path=target)
    if target.exists() and not force:
        raise OutputExistsError("output.exists", path=target)
    if not target.parent.is_dir():
        raise ParameterError("output.no-folder", path=target)
    _check_writable(target.parent)


def check_folder(folder: Path) -> None:
    """Raise an error if an output folder cannot be made or written to. The folder need not exist.

    Raises:
        ParameterError: if the path is not a folder, or the folder cannot be made or written to.
    """
    if any(len(os.fsencode(name)) > _LONGEST_NAME for name in folder.parts):
        raise ParameterError("folder.long-name", most=_LONGEST_NAME)
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise ParameterError("folder.not-a-folder", path=there)
    _check_writable(there)


def make_folder(folder: Path) -> None:
    """Make a folder and the folders that contain it; errors as for `check_folder`."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)


def check_own_folder(folder: Path, files: Iterable[Path]) -> None:
    """Make a folder for these files. Raise an error if the folder already has other files.

    Raises:
        ParameterError: if the folder cannot be made or written to, or has other content.
    """
    make_folder(folder)
    names = {file.name for file in files}
    others = [place.name for place in folder.iterdir() if place.name not in names and place.name[0] not in "._"]
    if others:
        raise ParameterError("folder.with-other-content", folder=folder, n=len(others), name=min(others))


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError("output-folder.not-writable", folder=folder)


@contextmanager
def replacing(path: str | Path, *, force: bool = False, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path``. After the body it is renamed, so that no partial file appears.

    The file is synchronized to disk before it appears. After an error no temporary file is left. Without ``force`` no
    file is replaced, even if another process made it during the body. Only its owner can read a ``private`` file (mode
    0600).

    Yields:
        the path to write to.

    Raises:
        OutputExistsError: if ``path`` exists and ``force`` is not set.
    """
    target = Path(path)
    check_free(target, force=force)
    # The name is chosen before the file is made, so that an exception at any moment leaves no file.
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}{target.suffix}")
    try:
        _make(beside, target)
        yield beside
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            beside.chmod(0o666 & ~mask)
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        if force:
            beside.replace(target)
        else:
            _put(beside, target)
        _sync_folder(target.parent)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Lock a folder during the body, so that only one process at a time writes in it.

    The function waits for the lock. On Windows, which has no such locks, it does nothing.

    Raises:
        ParameterError: if the folder cannot be opened, or its file system has no locks.
    """
    if os.name == "nt":
        yield
        return
    import fcntl

    try:
        place = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ParameterError("folder.not-opened", folder=folder, reason=error.strerror) from None
    try:
        try:
            fcntl.flock(place, fcntl.LOCK_EX)
        except OSError as error:
            raise ParameterError("folder.no-locks", folder=folder, reason=error.strerror) from None
        yield
    finally:
        os.close(place)


def _make(beside: Path, target: Path) -> None:
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise ParameterError("output.not-writable", path=target, kind=type(error).__name__) from None


def _put(beside: Path, target: Path) -> None:
    """Rename a file, or raise an error if a file with the new name exists."""
    try:
        try:
            os.link(beside, target)
        except FileExistsError:
            raise
        except OSError:
            # On file systems without links an empty file with the name is made first.
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            beside.replace(target)
    except FileExistsError:
        raise OutputExistsError("output.exists", path=target) from None


def _sync_folder(folder: Path) -> None:
    """Synchronize the entries of a folder to disk, on systems where folders can be opened."""
    with suppress(OSError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


@contextmanager
def replacing_all(paths: Iterable[str | Path], *, force: bool = False) -> Iterator[list[Path]]:
    """Yield temporary paths beside several files, and rename them afterwards: all files appear, or none.

    Yields:
        the paths to write to, in order.

    Raises:
        OutputExistsError: if one of the files exists and ``force`` is not set.
    """
    with ExitStack() as files:
        yield [files.enter_context(replacing(path, force=force)) for path in paths]
