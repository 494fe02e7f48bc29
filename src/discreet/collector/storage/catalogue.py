"""The collections of a collector, ready for their reports, by id and by name."""

from dataclasses import dataclass

from discreet.collector.intake import LATE, WITHDRAWN, OpenCollection
from discreet.collector.storage.clock import Clock
from discreet.collector.storage.store import CollectionRow, Store
from discreet.device.protocol.collection import OPEN
from discreet.errors import DiscreetError

REFUSED = "refused"
DOUBTED = "clock"
"""In place of ``late``, while the clock that says so is doubted."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry(OpenCollection):
    """A collection of a collector.

    Attributes:
        row: as it is kept.
    """

    row: CollectionRow

    @classmethod
    def of_row(cls, row: CollectionRow) -> "Entry":
        """Open a collection and rebuild its mechanism; all checks of its signature and its numbers are made again."""
        opened = OpenCollection.of(row.envelope, row.trust)
        return cls(opened.collection, opened.mechanism, opened.codec, row)

    @property
    def key(self) -> int:
        """The number in the store."""
        return self.row.key


class Catalogue:
    """The collections of a store, by id and by name. Loaded by one thread at a time, read by all.

    Args:
        clock: by which epochs end.

    Attributes:
        by_id: all that pass every check of a device.
        newest: of each name the newest version, if it passes.
        refused: sentences on collections that fail the checks, as after an update; their reports are left alone.
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
                by_id[row.id] = known if known is not None and known.row == row else Entry.of_row(row)
            except DiscreetError as error:
                refused[row.id] = f"{row.name} version {row.version}: {error.sentence()}"
        # By rows: where the newest version is refused, an older one does not come back to life.
        highest = {row.name: row.id for row in sorted(rows, key=lambda row: row.version)}
        # Each is replaced as a whole, so that no reader sees half of it.
        self._closed, self.refused = store.closed(), refused
        self.newest = {name: by_id[which] for name, which in highest.items() if which in by_id}
        self.by_id = by_id

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
