"""The collections that a collector knows, in memory: their mechanisms, their epochs, and what is closed."""

from dataclasses import dataclass

from discreet.collector.clock import Clock
from discreet.collector.store import CollectionRow, Store
from discreet.errors import DiscreetError
from discreet.io.collection import Collection, open_envelope, rebuild
from discreet.io.collection_fields import OPEN
from discreet.io.frames import ID_BYTES
from discreet.io.records import RecordCodec
from discreet.mechanisms import BlockMechanism

_EARLY_SECONDS = 300
"""How long before its start an epoch takes reports: clocks differ."""

EARLY, LATE, WITHDRAWN = "early", "late", "withdrawn"
REFUSED = "refused"
DOUBTED = "clock"
"""In place of ``late``, while the clock that says so is doubted."""


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
        collection = open_envelope(row.envelope, row.trust, is_known=True)
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
    """The collections of a store, by id and by name. Loaded by one thread at a time, read by all.

    Args:
        clock: by which epochs end.

    Attributes:
        by_id: all that pass every check of a device.
        newest: of each name the newest version, if it passes.
        refused: sentences on those that do not pass, as after an update of discreet; what is theirs is left alone.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.by_id: dict[bytes, Entry] = {}
        self.refused: dict[bytes, str] = {}
        self.newest: dict[str, Entry] = {}
        self._closed: set[tuple[int, int]] = set()

    def load(self, store: Store) -> None:
        """Take over what the store holds now; collections that were known are not opened again."""
        rows = store.collections()
        by_id: dict[bytes, Entry] = {}
        refused: dict[bytes, str] = {}
        for row in rows:
            try:
                known = self.by_id.get(row.id)
                by_id[row.id] = known if known is not None and known.row == row else Entry.of(row)
            except DiscreetError as error:
                refused[row.id] = f"{row.name} version {row.version}: {error}"
        # By rows: where the newest version is refused, an older one does not come back to life.
        highest = {row.name: row.id for row in sorted(rows, key=lambda row: row.version)}
        # Each is replaced as a whole, so that no reader sees half of it.
        self._closed, self.refused = store.closed(), refused
        self.newest = {name: by_id[which] for name, which in highest.items() if which in by_id}
        self.by_id = by_id

    def by_key(self, key: int) -> Entry | None:
        """Return the collection of a number."""
        return next((entry for entry in self.by_id.values() if entry.key == key), None)

    def is_closed(self, entry: Entry, epoch: int) -> bool:
        """Return true if an epoch was closed, before its time or after it."""
        return (entry.key, epoch) in self._closed

    def obstacle(self, entry: Entry, epoch: int, now: float) -> str | None:
        """Return why no reports of an epoch are taken now: early, late, withdrawn, clock, refused; None if they are."""
        newest = self.newest.get(entry.row.name)
        if newest is None:
            return REFUSED
        if newest.row.state != OPEN:
            return WITHDRAWN
        if self.is_closed(entry, epoch):
            return LATE
        why = entry.when(epoch, now)
        return DOUBTED if why == LATE and self.clock.doubted and epoch < entry.collection.epochs.count else why
