"""Sealing: the reports of an epoch that is over, each once, in canonical order, into a file that says nothing else."""

import hashlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from discreet.arrays import AnyArray
from discreet.collector.catalogue import Entry
from discreet.collector.first_reports import FirstReports
from discreet.collector.folder import DataFolder, synchronize
from discreet.collector.store import SealRow, Store
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.io.atomic import replacing
from discreet.io.sealed_files import put_sealed
from discreet.io.sealing import MEMORY, CanonicalOrder
from discreet.io.tallies import write_tally

_SLICE_BYTES = 1 << 22


class Sealing:
    """The sealing of one epoch.

    Args:
        store: of the reports.
        folder: of all data.
        entry: the collection.
        epoch: which.
        memory: how many bytes each sorting may hold at once, roughly.
    """

    def __init__(self, store: Store, folder: DataFolder, entry: Entry, epoch: int, *, memory: int = MEMORY) -> None:
        self._store, self._folder, self._entry, self._epoch = store, folder, entry, epoch
        self._memory = memory
        self._duplicates = self._conflicts = 0

    def run(self, actor: str) -> SealRow | None:
        """Close the epoch, write its file and its tally, record the seal and delete the rows; None if it was sealed.

        A crash leaves either the inbox or the seal: a file without a seal is written anew.

        Raises:
            ParameterError: if no reports wait.
            DataError: if what is stored is damaged.
        """
        key, epoch = self._entry.key, self._epoch
        with self._folder.sealing():
            if any((seal.collection, seal.epoch) == (key, epoch) for seal in self._store.seals()):
                return None
            if (key, epoch) not in self._store.pending():
                raise ParameterError(
                    f"epoch {epoch} of {self._entry.row.name} has no reports; there is nothing to seal."
                )
            with self._store.transaction():
                # Whoever writes looks at this first, in a transaction of its own: no report comes behind it.
                self._store.close_epoch(key, epoch)
            row = self._written()
            detail = f"{self._entry.row.name} version {self._entry.row.version} epoch {epoch}: {row.n} reports"
            with self._store.transaction():
                self._store.record_seal(row)
                self._store.drop_frames(key, epoch)
                self._store.note(row.at, actor, "sealed", detail)
        return row

    def _written(self) -> SealRow:
        place = sealed_folder(self._folder, self._entry)
        describe(place, self._entry)
        for left in (*place.glob(".*"), *place.glob("_tallies/.*")):
            # Of a sealing that was ended half-way; nobody else writes here now.
            left.unlink()
        file = place / f"epoch-{self._epoch:06d}.parquet"
        entry = self._entry
        tallies: list[Tally] = []
        with self._temporary() as order:
            self._fill(order)
            facts = {"collection": entry.row.id.hex(), "epoch": self._epoch}
            batches = _tallied(entry, order.batches(), tallies)
            n = put_sealed(file, entry.mechanism, batches, order.n, force=True, facts=facts)
        tally = place / "_tallies" / f"epoch-{self._epoch:06d}.tally.parquet"
        write_tally(tally, sum(tallies, start=entry.mechanism.empty_tally()), force=True, facts=facts)
        name = str(file.relative_to(self._folder.sealed))
        return SealRow(
            entry.key, self._epoch, name, sha256_of(file), n, self._duplicates, self._conflicts, int(time.time())
        )

    def _temporary(self) -> CanonicalOrder:
        simulated = self._entry.collection.simulated
        return CanonicalOrder(self._entry.mechanism, simulated=simulated, memory=self._memory, folder=self._folder.path)

    def _fill(self, order: CanonicalOrder) -> None:
        """Take the first report of each id, and count the others."""
        with FirstReports(order.width, memory=self._memory, folder=self._folder.path) as firsts:
            for rows in self._slices():
                firsts.add(rows)
            for records in firsts.batches():
                order.add_records(records)
            self._duplicates, self._conflicts = firsts.duplicates, firsts.conflicts

    def _slices(self) -> Iterator[AnyArray]:
        """Yield the stored reports, ids and records, ``(n, width)`` at a time, in order of their arrival."""
        entry, after = self._entry, -1
        most = max(_SLICE_BYTES // entry.width, 1)
        while True:
            after, data = self._store.frames(entry.key, self._epoch, after=after, most=most)
            if not data:
                return
            yield np.frombuffer(data, dtype=np.uint8).reshape(-1, entry.width)


def _tallied(entry: Entry, batches: Iterable[Reports], tallies: list[Tally]) -> Iterator[Reports]:
    """Yield batches, and keep the tally of all of them in a list of one."""
    for batch in batches:
        tallies[:] = [sum(tallies, start=entry.mechanism.tally(batch))]
        yield batch


def sealed_folder(folder: DataFolder, entry: Entry) -> Path:
    """Return the folder of the sealed files of a collection."""
    return folder.sealed / entry.row.name / f"v{entry.row.version}"


def describe(place: Path, entry: Entry) -> None:
    """Write the envelope and the plan of a collection beside its sealed files."""
    tallies = place / "_tallies"
    # Parents take no mode of their own: from the top, one by one.
    for made in (place.parents[1], place.parent, place, tallies):
        made.mkdir(mode=0o700, exist_ok=True)
    for name, data in (
        ("_collection.json", entry.row.envelope),
        ("_plan.json", msgspec.json.format(msgspec.json.encode(entry.collection.plan), indent=2)),
    ):
        path = place / name
        if not path.exists() or path.read_bytes() != data:
            with replacing(path, force=True) as beside:
                beside.write_bytes(data)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def forget_reports(store: Store, folder: DataFolder, seal: SealRow, actor: str) -> bool:
    """Delete the sealed reports of an epoch, whose time has come; the tally stays.

    Returns:
        Whether they were there.
    """
    path = folder.sealed / seal.file
    if not path.exists():
        # Once a second for each epoch that ever was.
        return False
    with folder.sealing():
        if not path.exists():
            return False
        # Said first: a crash leaves a file that is deleted the next time, never one that is gone without a word.
        with store.transaction():
            store.note(int(time.time()), actor, "expired", f"{seal.file}: {seal.n} reports")
        path.unlink()
        synchronize(path.parent)
    return True
