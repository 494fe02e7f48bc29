"""Sealing: the reports of epochs that are over, each once, in canonical order, in a file without ids and times.

Of each id the first report counts, however many there are.

Nothing is published of fewer reports than the collection's ``least``. An epoch that has fewer waits, and is sealed
together with the next one as one batch.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.collector.batch_estimates import ESTIMATES, write_estimates
from discreet.collector.documents.signing import plan_fields
from discreet.collector.intake import LATE, OpenCollection
from discreet.collector.keeper import Keeper, covers
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.folder import DataFolder, synchronize
from discreet.collector.storage.inboxes import Part
from discreet.collector.storage.store import CollectionRow, SealRow
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.device.protocol.frames import ID_BYTES
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.files.writing import replacing
from discreet.formats.sealed_files import put_sealed
from discreet.formats.sealing import MEMORY, CanonicalOrder, RowSort
from discreet.formats.tallies import write_tally

_ARRIVAL = 8


def first_reports(batches: Iterable[AnyArray], rows: RowSort, counts: Counter[str]) -> Iterator[AnyArray]:
    """Yield reports, ``(m, 16 + W)`` at a time: of each id the one that came first, in order of the ids.

    Args:
        batches: ``(n, 16 + W)`` rows, each an id and its record, in order of arrival.
        rows: a sorter of such rows with the number of their arrival, 8 bytes more.
        counts: to which ``duplicates`` are added, reports that came more than once, and ``conflicts``, reports under an
            id that another one had before.
    """
    for batch in batches:
        numbers = (rows.taken + np.arange(len(batch))).astype(">u8").view(np.uint8).reshape(-1, _ARRIVAL)
        rows.add(np.hstack([batch[:, :ID_BYTES], numbers, batch[:, ID_BYTES:]]))
    last: AnyArray | None = None
    for batch in rows.batches():
        joined = batch if last is None else np.concatenate([last, batch])
        first, same = _compared(joined)
        fresh = first.copy()
        fresh[: 0 if last is None else len(last)] = False
        counts["duplicates"] += int(np.count_nonzero(~first & same))
        counts["conflicts"] += int(np.count_nonzero(~first & ~same))
        yield np.delete(joined[fresh], slice(ID_BYTES, ID_BYTES + _ARRIVAL), axis=1)
        # The first report of the last id: more of that id may follow.
        last = joined[np.flatnonzero(first)[-1:]]


def _compared(rows: AnyArray) -> tuple[BoolArray, BoolArray]:
    """Return the masks of ``(n, width)`` sorted rows: the first of its id, and those equal to that first one."""
    halves = np.ascontiguousarray(rows[:, :ID_BYTES]).view(np.uint64)
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (halves[1:] != halves[:-1]).any(axis=1)
    same = np.ones(len(rows), dtype=np.bool_)
    again = np.flatnonzero(~first)
    if len(again):
        leader = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))[again]
        records = rows[:, ID_BYTES + _ARRIVAL :]
        same[again] = (records[again] == records[leader]).all(axis=1)
    return first, same


_FILE, _FOLDER = 0o640, 0o750


def due_batches(keeper: Keeper, entry: Entry, named: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """Return the batches of a collection that can be sealed: epochs that are over or closed, and those named.

    An epoch of too few reports is joined with the next, unless an epoch that is open or sealed lies between them.
    """
    now, least = keeper.clock.now(), entry.collection.least
    waiting, seals = keeper.waiting(entry), keeper.seals(entry)
    batches: list[tuple[int, ...]] = []
    batch: tuple[int, ...] = ()
    for epoch in waiting:
        if not (epoch in named or keeper.catalogue.is_closed(entry, epoch) or entry.when(epoch, now) == LATE):
            batch = ()
            continue
        if batch and any(batch[-1] < seal.epoch < epoch for seal in seals):
            batch = ()
        batch = (*batch, epoch)
        n = sum(waiting[start] for start in batch)
        if n >= least and keeper.few.get((entry.key, batch)) != n:
            batches.append(batch)
            batch = ()
    return batches


def seal_batch(keeper: Keeper, entry: Entry, batch: Sequence[int]) -> SealRow | None:
    """Close epochs, write their file and tally, record the seal and unlink the reports.

    A crash leaves either the reports or the seal: a file without a seal is written anew. If it fails, epochs that were
    not over take reports again.

    Args:
        keeper: of the data.
        entry: the collection.
        batch: the epochs, ascending.

    Returns:
        The seal; None if the batch has too few different reports, and waits for the next epoch.

    Raises:
        DiscreetError: if the disk refuses, or stored reports are damaged.
        ParameterError: if they are sealed.
        OSError: if the reports cannot be unlinked; the seal holds, and they are unlinked later.
    """
    key, epochs = entry.key, range(batch[0], batch[-1] + 1)
    with keeper.upkeep:
        if any(covers(seal, (key, epoch)) for seal in keeper.seals(entry) for epoch in batch):
            raise ParameterError("batch.is-sealed", batch=_title_of(entry, batch))
        now = keeper.clock.now()
        opened = [
            start
            for start in epochs
            if not (keeper.catalogue.is_closed(entry, start) or entry.when(start, now) == LATE)
        ]
        with keeper.inboxes.turn:
            with keeper.store.transaction():
                for epoch in epochs:
                    # Whoever writes looks at this first, in a turn of its own: no report comes behind it.
                    keeper.store.close_epoch(key, epoch)
            keeper.load()
            parts = [part for epoch in batch for part in keeper.inboxes.parts((key, epoch))]
        row: SealRow | None = None
        try:
            if any(part.flaw for part in parts):
                raise DataError("batch.damaged", batch=_title_of(entry, batch))
            row = keeper.work(write_batch, keeper.folder.path, entry.row, batch, parts)
            if row is None:
                # Of those that wait: with more of them, or with the next epoch, it is tried again.
                keeper.few[key, tuple(batch)] = sum(keeper.pending().get((key, epoch), 0) for epoch in batch)
            else:
                with keeper.store.transaction():
                    keeper.store.record_seal(row)
        finally:
            if row is None or not any(covers(seal, (key, batch[0])) for seal in keeper.store.seals()):
                _reopen(keeper, key, opened)
        if row is not None:
            keeper.tidy()
    return row


def _reopen(keeper: Keeper, key: int, epochs: Sequence[int]) -> None:
    if not epochs:
        return
    with keeper.store.transaction():
        for epoch in epochs:
            keeper.store.reopen_epoch(key, epoch)
    keeper.load()


def _title_of(entry: Entry, batch: Sequence[int]) -> str:
    """Return a batch in words, for people and the audit."""
    which = f"epoch {batch[0]}" if batch[0] == batch[-1] else f"epochs {batch[0]} to {batch[-1]}"
    return f"{entry.row.name} version {entry.row.version} {which}"


def write_batch(
    place: Path,
    row: CollectionRow,
    epochs: Sequence[int],
    parts: Sequence[Part],
) -> SealRow | None:
    """Write the sealed file of a batch and its tally, in a process of its own.

    Args:
        place: the folder of all data.
        row: the collection.
        epochs: ascending.
        parts: their reports, in order.

    Returns:
        Its seal; None, and nothing is written, if it has too few different reports.

    Raises:
        DataError: if stored reports are damaged.
    """
    folder, entry = DataFolder(place, make=False), Entry.of_row(row)
    batches = (
        np.frombuffer(rows, dtype=np.uint8).reshape(-1, entry.width)
        for part in parts
        for rows in part.rows(entry.width)
    )
    sealed = sealed_folder(folder, entry)
    file = sealed / f"{batch_name(epochs[0], epochs[-1])}.parquet"

    def prepare() -> None:
        describe(sealed, entry)
        for left in (*sealed.glob(".*"), *sealed.glob("_*/.*")):
            # Of a sealing that was ended half-way; nobody else writes here now.
            left.unlink()

    with folder.sealing():
        batch = write_first_reports(file, entry, batches, epochs, folder=folder.path, prepare=prepare)
        if batch is None:
            return None
        write_tally(tally_of(file), batch.tally, force=True, facts=batch.facts)
        with suppress(DiscreetError):
            # A sealed batch without its page is better than a batch that is not sealed.
            write_estimates(file, entry, batch.tally, (epochs[0], epochs[-1]))
        for path in sealed.rglob(f"{file.stem}.*"):
            path.chmod(_FILE)
    name = str(file.relative_to(folder.sealed))
    numbers = batch.tally.n, batch.duplicates, batch.conflicts
    return SealRow(row.key, epochs[0], epochs[-1], name, sha256_of(file), *numbers, int(time.time()))


@dataclass(frozen=True, slots=True, eq=False)
class WrittenBatch:
    """A sealed file that was written.

    Attributes:
        tally: of its reports.
        duplicates: reports that came more than once.
        conflicts: reports under an id that another one had before.
        facts: the collection and the epochs, as the file states them.
    """

    tally: Tally
    duplicates: int
    conflicts: int
    facts: Mapping[str, Any]


def write_first_reports(
    file: Path,
    entry: OpenCollection,
    batches: Iterable[AnyArray],
    epochs: Sequence[int],
    *,
    folder: Path,
    prepare: Callable[[], None] = lambda: None,
    force: bool = True,
) -> WrittenBatch | None:
    """Write a sealed file of reports, of each id the first one, in canonical order.

    Args:
        file: the sealed file.
        entry: the collection.
        batches: ``(n, 16 + W)`` rows, each an id and its record, in order of arrival.
        epochs: the epochs of the reports, ascending.
        folder: for temporary files.
        prepare: a function that is called before the file is written.
        force: whether a file that exists is replaced.

    Returns:
        The batch; None, and nothing is written, if it has too few different reports.

    Raises:
        DataError: if stored reports are damaged.
        OutputExistsError: if the file exists and `force` is false.
    """
    which = {"epoch": epochs[0]} if len(epochs) == 1 else {"epochs": [epochs[0], epochs[-1]]}
    mechanism, facts = entry.mechanism, {"collection": entry.collection.id.hex(), **which}
    tallies, counts = [mechanism.empty_tally()], Counter[str]()

    def counted(batches: Iterable[Reports]) -> Iterator[Reports]:
        for batch in batches:
            tallies[0] += mechanism.tally(batch)
            yield batch

    with CanonicalOrder(mechanism, simulated=entry.collection.simulated, memory=MEMORY, folder=folder) as order:
        with RowSort(entry.width + _ARRIVAL, memory=MEMORY, folder=folder) as arrived:
            for records in first_reports(batches, arrived, counts):
                order.add_records(records[:, ID_BYTES:])
        if order.n < entry.collection.least:
            return None
        prepare()
        put_sealed(file, mechanism, counted(order.batches()), order.n, force=force, facts=facts)
    return WrittenBatch(tallies[0], counts["duplicates"], counts["conflicts"], facts)


def batch_name(first: int, last: int) -> str:
    """Return the name of a batch's file, without its ending."""
    return f"epoch-{first:06d}" if first == last else f"epoch-{first:06d}-{last:06d}"


def tally_of(file: Path) -> Path:
    """Return the path of the tally of a sealed file."""
    return file.parent / "_tallies" / f"{file.stem}.tally.parquet"


def sealed_folder(folder: DataFolder, entry: Entry) -> Path:
    """Return the folder of the sealed files of a collection."""
    return folder.sealed / entry.row.name / f"v{entry.row.version}"


def describe(place: Path, entry: Entry) -> None:
    """Write the envelope and the plan of a collection beside its sealed files."""
    # Parents take no mode of their own: from the top, one by one.
    for folder in (place.parents[1], place.parent, place, place / "_tallies", place / ESTIMATES):
        folder.mkdir(exist_ok=True)
        folder.chmod(_FOLDER)
    for name, data in (
        ("_collection.json", entry.row.envelope),
        ("_plan.json", msgspec.json.format(msgspec.json.encode(plan_fields(entry.collection)), indent=2)),
    ):
        path = place / name
        if not path.exists() or path.read_bytes() != data:
            with replacing(path, force=True) as beside:
                beside.write_bytes(data)
            path.chmod(_FILE)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def forget_reports(keeper: Keeper, seal: SealRow) -> bool:
    """Delete the sealed reports of a batch, whose time has come; the tally stays.

    Returns:
        Whether they were there.
    """
    path = keeper.folder.sealed / seal.file
    if not path.exists():
        # Once a second for each batch that ever was.
        return False
    with keeper.upkeep:
        path.unlink(missing_ok=True)
        synchronize(path.parent)
    return True


def forget_few(keeper: Keeper, entry: Entry, epoch: int) -> None:
    """Delete reports that were too few to be sealed with any others, and whose time has come."""
    with keeper.upkeep, keeper.inboxes.turn:
        with keeper.store.transaction():
            keeper.store.close_epoch(entry.key, epoch)
        keeper.load()
        keeper.inboxes.remove((entry.key, epoch))
