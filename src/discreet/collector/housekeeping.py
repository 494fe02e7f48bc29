"""The housekeeping of a collector: its clock, counts to be written, epochs to be sealed, files that have expired."""

import threading
import time
from typing import Any

from discreet.collector.catalogue import Entry
from discreet.collector.keeper import Keeper
from discreet.collector.logs import log, place_of
from discreet.collector.measures import Measures
from discreet.collector.sealing import due_batches, forget_few, forget_reports, seal_batch
from discreet.errors import DiscreetError

_SECONDS = 1.0
_DAY = 86_400
_AGAIN_SECONDS = 60.0
_SEEN_SECONDS = 60.0


class Housekeeper(threading.Thread):
    """A thread that looks after a collector once a second.

    Args:
        keeper: of the data.
        measures: what is counted.
        sealing: whether epochs are sealed when they are over.
    """

    def __init__(self, keeper: Keeper, measures: Measures, *, sealing: bool = True) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self._keeper, self._measures, self._sealing = keeper, measures, sealing
        self._ended = threading.Event()
        self._failed: dict[tuple[int, tuple[int, ...]], float] = {}
        self._seen = 0.0
        self.free_bytes = keeper.folder.free_bytes
        self.oldest_unsealed = 0.0

    def end(self) -> None:
        """Begin nothing more; what is ended from now on has not failed."""
        self._ended.set()

    def stop(self) -> None:
        """End."""
        self.end()
        self.join()

    def run(self) -> None:
        """Look after the collector until told to stop; what fails is logged, and tried again."""
        if self._keeper.clock.doubted:
            log("clock_jumped", level="warning")
        while not self._ended.wait(_SECONDS):
            try:
                self.look()
            except DiscreetError as error:
                log("housekeeping_failed", level="error", reason=str(error))
            except Exception as error:
                log("defect", level="error", place=place_of(error))

    def look(self) -> None:
        """Do once what is due."""
        keeper = self._keeper
        if step := keeper.clock.look():
            log("clock_jumped", level="warning", seconds=round(step))
        self.free_bytes = keeper.folder.free_bytes
        keeper.tidy()
        if keeper.refusals_wait or time.monotonic() > self._seen + _SEEN_SECONDS:
            if not keeper.clock.doubted:
                keeper.write_counts(keeper.clock.now())
            self._seen = time.monotonic()
        entries = list(keeper.catalogue.by_id.values())
        due = [
            (entry.collection.window(batch[-1])[2], entry, batch)
            for entry in entries
            for batch in due_batches(keeper, entry)
        ]
        due.sort(key=lambda one: one[0])
        self.oldest_unsealed = max(0.0, keeper.clock.now() - due[0][0]) if due else 0.0
        if keeper.clock.doubted:
            return
        if self._sealing:
            for _, entry, batch in due:
                self._seal(entry, batch)
        self._forget()

    def _seal(self, entry: Entry, batch: tuple[int, ...]) -> None:
        at = entry.key, batch
        if self._ended.is_set() or self._failed.get(at, -_AGAIN_SECONDS) > time.monotonic() - _AGAIN_SECONDS:
            return
        began = time.monotonic()
        facts: Any = {"collection": entry.key, "epoch": batch[-1]}
        try:
            row = seal_batch(self._keeper, entry, batch, "collector")
        except (DiscreetError, OSError) as error:
            self._failed[at] = time.monotonic()
            if not self._ended.is_set():
                reason = str(error) if isinstance(error, DiscreetError) else error.strerror or type(error).__name__
                log("sealing_failed", level="error", **facts, reason=reason)
            return
        self._failed.pop(at, None)
        if row is None:
            log("too_few_to_seal", **facts)
            return
        self._measures.sealed += 1
        counts: Any = {"n": row.n, "duplicates": row.duplicates, "conflicts": row.conflicts}
        log("sealed", **facts, seconds=round(time.monotonic() - began, 3), **counts)

    def _forget(self) -> None:
        keeper, now = self._keeper, self._keeper.clock.now()
        entries = {entry.key: entry for entry in keeper.catalogue.by_id.values()}
        for seal in keeper.store.seals():
            entry = entries.get(seal.collection)
            over = entry is not None and now >= seal.at + entry.collection.retention * _DAY
            if over and forget_reports(keeper, seal, "collector"):
                log("expired", collection=seal.collection, epoch=seal.epoch, n=seal.n)
        for key, epoch in keeper.pending():
            entry = entries.get(key)
            # Of collections that are over: nothing comes any more that they could be sealed with.
            if entry is not None and now >= _end(entry) + entry.collection.retention * _DAY:
                forget_few(keeper, entry, epoch, "collector")
                log("expired", collection=key, epoch=epoch)


def _end(entry: Entry) -> float:
    """Return when the last epoch of a collection takes no more reports."""
    return float(entry.collection.window(entry.collection.epochs.count - 1)[2])
