"""Backups while a collector runs, their restoring, and the check of every invariant."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from discreet.collector.catalogue import Entry
from discreet.collector.folder import DataFolder, synchronize
from discreet.collector.inboxes import Part
from discreet.collector.keeper import Keeper
from discreet.collector.sealing import batch_name, sealed_folder, sha256_of, tally_of
from discreet.collector.store import CollectionRow, SealRow
from discreet.errors import DiscreetError, OutputExistsError, ParameterError
from discreet.io.reports import iterate_reports
from discreet.io.sealing import is_canonical
from discreet.io.tallies import read_tally

_DAY = 86_400
_RESTORING = ".restoring"
_PIECE = 1 << 24


def backup(keeper: Keeper, target: Path, *, sealed_only: bool = False) -> int:
    """Copy everything into a new folder, while reports come in; return how many files.

    The folder has its name when all of it is on disk, and not before. Reports that were acknowledged before are in it,
    unless only what is sealed is wanted.

    Args:
        keeper: of the data.
        target: the new folder.
        sealed_only: whether reports of epochs that are not sealed are left out, ids and order of arrival with them.

    Raises:
        OutputExistsError: if there is something of that name.
        ParameterError: if it cannot be made, or is in the folder that is copied.
    """
    folder = keeper.folder
    # The source's number is in the name, so that what a killed backup has left is known, and nobody else's is taken.
    mark = f"{folder.path.stat().st_ino}.part"
    target = target.absolute()
    if target.resolve().is_relative_to(folder.path.resolve()):
        raise ParameterError(f"{target} is in {folder.path}, which is copied; choose another place for the backup.")
    # Nothing is sealed or deleted meanwhile, so that every seal of the copy has its file.
    with keeper.upkeep:
        _check_free(target)
        for left in target.parent.glob(f".*.{mark}"):
            shutil.rmtree(left)
        copy = DataFolder(target.with_name(f".{target.name}.{mark}"))
        try:
            files = _copied(keeper, copy, sealed_only=sealed_only)
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


def _copied(keeper: Keeper, copy: DataFolder, *, sealed_only: bool) -> int:
    """Copy inboxes, database and sealed files, and return how many files are on disk then."""
    if not sealed_only:
        with keeper.inboxes.turn:
            parts = [part for at in keeper.pending() for part in keeper.inboxes.parts(at)]
        copy.inbox.mkdir(mode=0o700)
        for part in parts:
            _copy_part(part, copy.inbox / part.path.name)
    # Behind the inboxes: it knows the collections of all of them.
    keeper.store.copy(copy.database)
    if keeper.folder.sealed.is_dir():
        shutil.copytree(keeper.folder.sealed, copy.sealed, ignore=shutil.ignore_patterns(".*"))
    return _synchronize_all(copy.path)


def _copy_part(part: Part, target: Path) -> None:
    """Copy a file of reports as far as it was acknowledged."""
    left = part.end
    with part.path.open("rb") as source, target.open("xb") as copy:
        os.fchmod(copy.fileno(), 0o600)
        while left and (data := source.read(min(left, _PIECE))):
            copy.write(data)
            left -= len(data)


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
        HeldError: if a collector serves the folder.
    """
    with folder.serving():
        if any(path.exists() for path in (folder.database, folder.sealed, folder.inbox)):
            raise OutputExistsError(f"{folder.path} holds a collector's data already; name another folder.")
        # Of a restoring that was killed.
        shutil.rmtree(folder.path / _RESTORING, ignore_errors=True)
        copy = DataFolder(folder.path / _RESTORING)
        moved = [(kept.sealed, copy.sealed, folder.sealed), (kept.inbox, copy.inbox, folder.inbox)]
        for source, made, _ in moved:
            if source.is_dir():
                shutil.copytree(source, made)
        shutil.copyfile(kept.database, copy.database)
        copy.database.chmod(0o600)
        _synchronize_all(copy.path)
        # The database last: without it the folder is none of a collector's.
        for _, made, place in moved:
            if made.is_dir():
                made.rename(place)
        copy.database.rename(folder.database)
        copy.path.rmdir()
        synchronize(folder.path)
    with Keeper(folder) as keeper:
        return check(keeper)


def check(keeper: Keeper) -> list[str]:
    """Return a sentence for each invariant that does not hold; nothing is changed.

    The database is whole; every collection passes every check again; reports that wait are those that were
    acknowledged, in files that are whole and known; every seal has its file with its bytes, or its time was over; files
    are canonical, of as many reports, and of the plan; tallies are those of their files; there is no file without a
    seal, but of epochs that wait to be sealed; the audit has no gap.
    """
    with keeper.upkeep:
        refused = keeper.catalogue.refused
        flaws = [*keeper.store.flaws(), *refused.values(), *keeper.inboxes.check()]
        rows = [row for row in keeper.store.collections() if row.id not in refused]
        given: dict[str, Any] = {
            "folder": str(keeper.folder.path),
            "rows": msgspec.to_builtins(rows),
            "seals": msgspec.to_builtins(keeper.store.seals()),
            "pending": sorted(keeper.pending()),
        }
        return [*flaws, *keeper.work("check", given)["flaws"]]


def flaws_of_files(folder: str, rows: Any, seals: Any, pending: Any) -> list[str]:
    """Return a sentence for each flaw of collections and sealed files; run in a process of its own."""
    return list(
        _flaws_of_files(
            DataFolder(Path(folder), make=False),
            msgspec.convert(rows, list[CollectionRow]),
            msgspec.convert(seals, list[SealRow]),
            {(key, epoch) for key, epoch in pending},
        )
    )


def _flaws_of_files(
    folder: DataFolder, rows: list[CollectionRow], seals: list[SealRow], pending: set[tuple[int, int]]
) -> Iterator[str]:
    entries = {row.key: Entry.of(row) for row in rows}
    for seal in seals:
        if seal.collection in entries:
            try:
                yield from _flaws_of_seal(folder, entries[seal.collection], seal)
            except DiscreetError as error:
                yield f"{seal.file}: {error}"
    yield from _strays(folder, entries, {seal.file for seal in seals}, pending)


def _flaws_of_seal(folder: DataFolder, entry: Entry, seal: SealRow) -> Iterator[str]:
    path = folder.sealed / seal.file
    tally = read_tally(tally_of(path), entry.mechanism)
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
        f"{sealed_folder(folder, entries[key]).relative_to(folder.sealed)}/{batch_name(first, last)}.parquet"
        for key, first in pending
        for other, last in pending
        if key == other and first <= last and key in entries
    }
    for path in sorted(folder.sealed.rglob("epoch-*.parquet")):
        name = str(path.relative_to(folder.sealed))
        if path.parent.name != "_tallies" and name not in sealed | waiting:
            yield f"{name} belongs to no seal."
