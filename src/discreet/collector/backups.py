"""Backups: everything that a collector keeps, copied while reports come in."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.collector.keeper import Keeper
from discreet.collector.storage.folder import DataFolder, synchronize
from discreet.errors import DataError, OutputExistsError, ParameterError

_PIECE = 1 << 24


def backup(keeper: Keeper, target: Path, *, sealed_only: bool = False) -> int:
    """Copy everything into a new folder, while reports come in; return how many files.

    The folder has its name when all of it is on disk, and not before. Reports that were acknowledged before are in it,
    unless `sealed_only` is true.

    Args:
        keeper: of the data.
        target: the new folder.
        sealed_only: whether reports of epochs that are not sealed are left out, ids and order of arrival with them.

    Raises:
        OutputExistsError: if there is something of that name.
        ParameterError: if it cannot be made, or is in the folder that is copied.
    """
    folder = keeper.folder
    # The identity of the data is in the name, so that what a killed backup has left is known as its own.
    mark = f"{keeper.store.identity()}.part"
    target = target.absolute()
    if target.resolve().is_relative_to(folder.path.resolve()):
        raise ParameterError("backup.within-data", target=target, path=folder.path)
    # Nothing is sealed or deleted meanwhile, so that every seal of the copy has its file.
    with keeper.upkeep:
        _check_free(target)
        for left in target.parent.glob(f".*.{mark}"):
            with suppress(BlockingIOError), _alone(left):
                shutil.rmtree(left)
        copy = DataFolder(target.with_name(f".{target.name}.{mark}"))
        with _alone(copy.path):
            try:
                files = _copied(keeper, copy, sealed_only=sealed_only)
                _check_free(target)
                copy.path.rename(target)
            except BaseException:
                shutil.rmtree(copy.path, ignore_errors=True)
                raise
        synchronize(target.parent)
    return files


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a folder that a backup is written into.

    Raises:
        BlockingIOError: if another backup is written into it.
    """
    import fcntl

    place = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(place)


def _check_free(target: Path) -> None:
    if os.path.lexists(target):
        raise OutputExistsError("folder.exists", path=target)


def _copied(keeper: Keeper, copy: DataFolder, *, sealed_only: bool) -> int:
    """Copy inboxes, database and sealed files, and return how many files are on disk then.

    Raises:
        DataError: if a file is missing in the copy, or has another size.
    """
    inboxes, wanted = keeper.inboxes, dict[Path, int]()
    if not sealed_only:
        with inboxes.turn:
            parts = [part for at in keeper.pending() for part in inboxes.parts(at)]
        copy.inbox.mkdir(mode=0o700)
        for part in parts:
            # As far as it was acknowledged.
            place = copy.inbox / part.path.name
            left = wanted[place] = part.end
            with part.path.open("rb") as source, place.open("xb") as target:
                os.fchmod(target.fileno(), 0o600)
                while left and (data := source.read(min(left, _PIECE))):
                    target.write(data)
                    left -= len(data)
    # Behind the inboxes: it knows the collections of all of them.
    keeper.store.copy(copy.database)
    wanted[copy.database] = copy.database.stat().st_size
    if (sealed := keeper.folder.sealed).is_dir():
        for path in sealed.rglob("[!.]*"):
            if path.is_file():
                wanted[copy.sealed / path.relative_to(sealed)] = path.stat().st_size
        shutil.copytree(sealed, copy.sealed, ignore=shutil.ignore_patterns(".*"))
    files = _synchronize_all(copy.path)
    wrong = sum(not path.is_file() or path.stat().st_size != size for path, size in wanted.items())
    if wrong or files != len(wanted):
        raise DataError("backup.incomplete", n=len(wanted), files=files, wrong=wrong)
    return files


def _synchronize_all(folder: Path) -> int:
    """Put everything below a folder on disk, and return how many files that is."""
    there = list(folder.rglob("*"))
    for path in (*there, folder):
        synchronize(path)
    return sum(path.is_file() for path in there)
