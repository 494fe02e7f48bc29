"""Backups while a collector runs, their restoring, and the check of every invariant."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from discreet.collector.catalogue import Entry
from discreet.collector.folder import DataFolder, synchronize
from discreet.collector.sealing import sealed_folder, sha256_of
from discreet.collector.sqlite import SqliteStore
from discreet.collector.store import SealRow, Store
from discreet.errors import DiscreetError, OutputExistsError, ParameterError
from discreet.io.reports import iterate_reports
from discreet.io.sealing import is_canonical
from discreet.io.tallies import read_tally

_DAY = 86_400
_RESTORING = ".restoring"


def backup(folder: DataFolder, target: Path) -> int:
    """Copy a database and its sealed files into a new folder, while the collector runs; return how many files.

    The folder has its name when all of it is on disk, and not before.

    Raises:
        OutputExistsError: if there is something of that name.
        ParameterError: if it cannot be made, or is in the folder that is copied.
    """
    # The source's number is in the name, so that what a killed backup has left is known, and nobody else's is taken.
    mark = f"{folder.path.stat().st_ino}.part"
    target = target.absolute()
    if target.resolve().is_relative_to(folder.path.resolve()):
        raise ParameterError(f"{target} is in {folder.path}, which is copied; choose another place for the backup.")
    # Nothing is sealed or deleted meanwhile, so that every seal of the copy has its file; reports go on coming in.
    with folder.sealing():
        _check_free(target)
        for left in target.parent.glob(f".*.{mark}"):
            shutil.rmtree(left)
        copy = DataFolder(target.with_name(f".{target.name}.{mark}"))
        try:
            files = _copied(folder, copy)
            _check_free(target)
            copy.path.rename(target)
        except BaseException:
            shutil.rmtree(copy.path, ignore_errors=True)
            raise
        synchronize(target.parent)
    return files


def _check_free(target: Path) -> None:
    if os.path.lexists(target):
        raise OutputExistsError(f"{target} exists already; name a new folder.")


def _copied(folder: DataFolder, copy: DataFolder) -> int:
    """Copy database and sealed files, and return how many files are on disk then."""
    store = SqliteStore(folder.database, read_only=True)
    try:
        store.backup(copy.database)
    finally:
        store.close()
    copy.database.chmod(0o600)
    if folder.sealed.is_dir():
        shutil.copytree(folder.sealed, copy.sealed, ignore=shutil.ignore_patterns(".*"))
    return _synchronize_all(copy.path)


def _synchronize_all(folder: Path) -> int:
    """Put everything below a folder on disk, and return how many files that is."""
    there = list(folder.rglob("*"))
    for path in (*there, folder):
        synchronize(path)
    return sum(path.is_file() for path in there)


def backup_in(source: Path) -> DataFolder:
    """Return the folder of a backup.

    Raises:
        ParameterError: if it is none.
    """
    if not source.is_dir() or not (kept := DataFolder(source, make=False)).database.is_file():
        raise ParameterError(f"{source} must be a folder that `discreet collector backup` made, and is none.")
    return kept


def restore(kept: DataFolder, folder: DataFolder) -> list[str]:
    """Copy a backup into a folder without a database, and check it; return a sentence per flaw.

    Raises:
        OutputExistsError: if the folder has a database.
        ParameterError: if a collector serves the folder.
    """
    with folder.serving():
        if folder.database.exists() or folder.sealed.exists():
            raise OutputExistsError(f"{folder.path} holds a collector's data already; name another folder.")
        # Of a restoring that was killed.
        shutil.rmtree(folder.path / _RESTORING, ignore_errors=True)
        copy = DataFolder(folder.path / _RESTORING)
        if kept.sealed.is_dir():
            shutil.copytree(kept.sealed, copy.sealed)
        shutil.copyfile(kept.database, copy.database)
        copy.database.chmod(0o600)
        _synchronize_all(copy.path)
        # The database last: without it the folder is none of a collector's.
        if copy.sealed.is_dir():
            copy.sealed.rename(folder.sealed)
        copy.database.rename(folder.database)
        copy.path.rmdir()
        synchronize(folder.path)
    return check(folder)


def check(folder: DataFolder) -> list[str]:
    """Return a sentence for each invariant of a folder that does not hold; nothing is changed.

    The database is whole and of this version; every collection passes every check again; every frame and seal belongs
    to one; every seal has its file with its bytes, or its time was over; files are canonical, of as many reports, and
    of the plan; tallies are those of their files; there is no file without a seal, but of an epoch that waits to be
    sealed; the audit has no gap.
    """
    store = SqliteStore(folder.database, read_only=True)
    try:
        return [*store.flaws(), *_flaws_of_collections(store, folder)]
    except DiscreetError as error:
        return [str(error)]
    finally:
        store.close()


def _flaws_of_collections(store: Store, folder: DataFolder) -> Iterator[str]:
    entries: dict[int, Entry] = {}
    for row in store.collections():
        try:
            entries[row.key] = Entry.of(row)
        except DiscreetError as error:
            yield f"{row.name} version {row.version}: {error}"
    seals = store.seals()
    for seal in seals:
        if seal.collection in entries:
            try:
                yield from _flaws_of_seal(folder, entries[seal.collection], seal)
            except DiscreetError as error:
                yield f"{seal.file}: {error}"
    yield from _strays(folder, entries, {seal.file for seal in seals}, set(store.pending()))


def _flaws_of_seal(folder: DataFolder, entry: Entry, seal: SealRow) -> Iterator[str]:
    path, place = folder.sealed / seal.file, sealed_folder(folder, entry)
    tally = read_tally(place / "_tallies" / f"epoch-{seal.epoch:06d}.tally.parquet", entry.mechanism)
    if tally.n != seal.n:
        yield f"{seal.file}: its tally has {tally.n} reports, and its seal says {seal.n}."
    if not path.exists():
        if time.time() < seal.at + entry.collection.retention * _DAY:
            yield f"{seal.file} is missing, and its time is not over."
        return
    if sha256_of(path) != seal.sha256:
        yield f"{seal.file} has other bytes than its seal says."
    counted = entry.mechanism.empty_tally()
    for batch in iterate_reports(path, entry.mechanism):
        counted = counted + entry.mechanism.tally(batch)
    if counted != tally:
        yield f"{seal.file}: its tally is another than that of its reports."
    if not is_canonical(entry.mechanism, iterate_reports(path, entry.mechanism)):
        yield f"{seal.file} is not in canonical order."


def _strays(
    folder: DataFolder, entries: dict[int, Entry], sealed: set[str], pending: set[tuple[int, int]]
) -> Iterator[str]:
    """Yield a sentence for each file of reports that no seal speaks of."""
    waiting = {
        str((sealed_folder(folder, entries[key]) / f"epoch-{epoch:06d}.parquet").relative_to(folder.sealed))
        for key, epoch in pending
        if key in entries
    }
    for path in sorted(folder.sealed.rglob("epoch-*.parquet")):
        name = str(path.relative_to(folder.sealed))
        if path.parent.name != "_tallies" and name not in sealed | waiting:
            yield f"{name} belongs to no seal."
