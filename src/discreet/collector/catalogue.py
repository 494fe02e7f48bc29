"""The collections that a collector knows, in memory: their mechanisms, their epochs, and what is closed."""

from dataclasses import dataclass
from typing import Any

from discreet.collector.store import CollectionRow, Store
from discreet.io.collection import Collection, open_envelope, rebuild
from discreet.io.collection_fields import OPEN
from discreet.io.frames import ID_BYTES
from discreet.io.records import RecordCodec
from discreet.mechanisms import BlockMechanism

_EARLY_SECONDS = 300
"""How long before its start an epoch takes reports: clocks differ."""

EARLY, LATE, WITHDRAWN = "early", "late", "withdrawn"


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A collection, ready for its reports.

    Attributes:
        row: as it is kept.
        collection: opened.
        mechanism: rebuilt from its plan.
        codec: of its records.
    """

    row: CollectionRow
    collection: Collection
    mechanism: BlockMechanism
    codec: RecordCodec

    @classmethod
    def of(cls, row: CollectionRow) -> "Entry":
        """Open a collection and rebuild its mechanism; all checks of its signature and its numbers are made again."""
        collection = open_envelope(row.envelope, row.trust)
        return cls(row, collection, rebuild(collection), collection.sampler.codec)

    @property
    def key(self) -> int:
        """The number in the store."""
        return self.row.key

    @property
    def width(self) -> int:
        """Bytes of a report: its id and its record."""
        return ID_BYTES + self.codec.width

    def when(self, epoch: int, now: float) -> str | None:
        """Return ``early`` or ``late`` if an epoch takes no reports at this time."""
        start, _, until = self.collection.window(epoch)
        if now < start - _EARLY_SECONDS:
            return EARLY
        return LATE if epoch >= self.collection.epochs.count or now >= until else None


class Catalogue:
    """The collections of a store, by id and by name. Loaded by one thread, read by all."""

    def __init__(self) -> None:
        self.by_id: dict[bytes, Entry] = {}
        self.newest: dict[str, Entry] = {}
        self._closed: set[tuple[int, int]] = set()

    def load(self, store: Store) -> None:
        """Take over what the store holds now; collections that were known are not opened again."""
        rows = store.collections()
        known: dict[bytes, Any] = {row.id: self.by_id.get(row.id) for row in rows}
        by_id = {
            row.id: known[row.id] if known[row.id] is not None and known[row.id].row == row else Entry.of(row)
            for row in rows
        }
        newest: dict[str, Entry] = {}
        for entry in by_id.values():
            if entry.row.name not in newest or newest[entry.row.name].row.version < entry.row.version:
                newest[entry.row.name] = entry
        # Each is replaced as a whole, so that no reader sees half of it.
        self._closed = store.closed()
        self.newest, self.by_id = newest, by_id

    def by_key(self, key: int) -> Entry | None:
        """Return the collection of a number."""
        return next((entry for entry in self.by_id.values() if entry.key == key), None)

    def obstacle(self, entry: Entry, epoch: int, now: float) -> str | None:
        """Return why a collection takes no reports of an epoch at this time: early, late or withdrawn; or None."""
        if self.newest[entry.row.name].row.state != OPEN:
            return WITHDRAWN
        if (entry.key, epoch) in self._closed:
            return LATE
        return entry.when(epoch, now)
