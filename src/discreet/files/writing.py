"""Outputs: files that appear whole or not at all, and replace nothing by accident."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from discreet.errors import OutputExistsError, ParameterError

_LONGEST_NAME = 255


def check_free(target: Path, *, force: bool) -> None:
    """Refuse an output that cannot be written.

    Raises:
        OutputExistsError: if it exists and ``force`` is not set.
        ParameterError: if its folder does not exist or cannot be written to, it is a folder itself, or its name is
            too long.
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
    """Refuse an output folder that cannot be made or written to; it need not exist yet.

    Raises:
        ParameterError: if it is no folder, cannot be made, or cannot be written to.
    """
    if any(len(os.fsencode(name)) > _LONGEST_NAME for name in folder.parts):
        raise ParameterError("folder.long-name", most=_LONGEST_NAME)
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise ParameterError("folder.not-a-folder", path=there)
    _check_writable(there)


def make_folder(folder: Path) -> None:
    """Make a folder, and those that it is in; errors as for `check_folder`."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)


def check_own_folder(folder: Path, files: Iterable[Path]) -> None:
    """Make a folder for files of one kind, or refuse one with other files, which would be read with them.

    Raises:
        ParameterError: if it cannot be made or written to, or holds something else.
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
    """Write beside ``path``, then rename: the file appears whole or not at all, already synchronized to disk.

    Whatever is raised meanwhile, nothing is left beside it. Without ``force`` nothing is replaced, also not a
    file that another process put there meanwhile. A ``private`` file is for its owner alone (mode 0600).

    Yields:
        the path to write to.

    Raises:
        OutputExistsError: if ``path`` exists and ``force`` is not set.
    """
    target = Path(path)
    check_free(target, force=force)
    # The name is there before the file, so that there is no moment at which an exception leaves a file behind.
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
    """Wait until no other process of this kind writes in a folder, and keep others from it during the body.

    Where the system has no such locks (Windows), it does not wait.

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
    """Rename a file, unless a file of the new name exists."""
    try:
        try:
            os.link(beside, target)
        except FileExistsError:
            raise
        except OSError:
            # Not every file system has links; there the name is taken first.
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            beside.replace(target)
    except FileExistsError:
        raise OutputExistsError("output.exists", path=target) from None


def _sync_folder(folder: Path) -> None:
    """Synchronize a folder's entries to disk, where folders can be opened."""
    with suppress(OSError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


@contextmanager
def replacing_all(paths: Iterable[str | Path], *, force: bool = False) -> Iterator[list[Path]]:
    """Write beside several files, then rename: all of them appear, or none.

    Yields:
        the paths to write to, in order.

    Raises:
        OutputExistsError: if one of the files exists and ``force`` is not set.
    """
    with ExitStack() as files:
        yield [files.enter_context(replacing(path, force=force)) for path in paths]
