"""Checks of every invariant of a collector's data, which change nothing."""

from collections.abc import Iterator, Sequence, Set

from discreet.collector.keeper import Keeper
from discreet.collector.sealing import batch_name, sealed_folder, sha256_of, tally_of
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.folder import DataFolder
from discreet.collector.storage.inboxes import At
from discreet.collector.storage.store import CollectionRow, SealRow
from discreet.errors import DiscreetError
from discreet.formats.reports import iterate_reports
from discreet.formats.sealing import is_canonical
from discreet.formats.tallies import read_tally

_DAY = 86_400


def check(keeper: Keeper) -> list[str]:
    """Return a sentence for each invariant that does not hold; nothing is changed.

    The database is whole, and the audit has no gap. Every collection passes all checks again. The files of waiting
    reports are whole and known, and hold all acknowledged reports. Every seal has its file with the right bytes, unless
    the file has expired. Sealed files are canonical, and have the right number of reports of the plan. Each tally
    equals the tally of its file. No file is without a seal, except for epochs that wait to be sealed.
    """
    with keeper.upkeep:
        refused = keeper.catalogue.refused
        flaws = [*keeper.store.flaws(), *refused.values(), *keeper.inboxes.check()]
        rows = [row for row in keeper.store.collections() if row.id not in refused]
        args = keeper.folder, rows, keeper.store.seals(), set(keeper.pending()), keeper.clock.now()
        return [*flaws, *keeper.work(flaws_of_files, *args)]


def flaws_of_files(
    folder: DataFolder, rows: Sequence[CollectionRow], seals: Sequence[SealRow], pending: Set[At], now: float
) -> list[str]:
    """Return a sentence for each flaw of collections and sealed files; run in a process of its own."""
    entries = {row.key: Entry.of_row(row) for row in rows}
    flaws: list[str] = []
    for seal in seals:
        if seal.collection in entries:
            try:
                flaws += _flaws_of_seal(folder, entries[seal.collection], seal, now)
            except DiscreetError as error:
                flaws.append(f"{seal.file}: {error.sentence()}")
    return [*flaws, *_strays(folder, entries, {seal.file for seal in seals}, pending)]


def _flaws_of_seal(folder: DataFolder, entry: Entry, seal: SealRow, now: float) -> Iterator[str]:
    path = folder.sealed / seal.file
    tally = read_tally(tally_of(path), entry.mechanism)
    if tally.n != seal.n:
        yield f"{seal.file}: its tally has {tally.n} reports, and its seal says {seal.n}."
    if not path.exists():
        if now < seal.at + entry.collection.retention * _DAY:
            yield f"{seal.file} is missing, and its time is not over."
        return
    if sha256_of(path) != seal.sha256:
        yield f"{seal.file} has other bytes than its seal says."
    counted = entry.mechanism.empty_tally()
    for batch in iterate_reports(path, entry.mechanism):
        counted = counted + entry.mechanism.tally(batch)
    if counted != tally:
        yield f"{seal.file}: its tally differs from the tally of its reports."
    if not is_canonical(entry.mechanism, iterate_reports(path, entry.mechanism)):
        yield f"{seal.file} is not in canonical order."


def _strays(folder: DataFolder, entries: dict[int, Entry], sealed: set[str], pending: Set[At]) -> Iterator[str]:
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
