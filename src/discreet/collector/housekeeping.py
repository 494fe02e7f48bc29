"""The housekeeping of a collector: its clock, epochs to be sealed, and files that have expired."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from discreet.collector.keeper import Keeper
from discreet.collector.logs import Measures, log, place_of
from discreet.collector.sealing import due_batches, forget_few, forget_reports, seal_batch
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.store import FailedStoreError, SealRow
from discreet.errors import DiscreetError

_SECONDS = 1.0
_DAY = 86_400
_AGAIN_SECONDS = 60.0
_SEEN_SECONDS = 60.0


class Housekeeper(threading.Thread):
    """A thread that looks after a collector once a second.

    Args:
        keeper: of the data.
        measures: the counts of the collector.
        sealing: whether epochs are sealed when they are over.
    """

    def __init__(self, keeper: Keeper, measures: Measures, *, sealing: bool = True) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self._keeper, self._measures, self._sealing = keeper, measures, sealing
        self._ended, self._looking = threading.Event(), threading.Lock()
        self._failed: dict[tuple[int, tuple[int, ...]], float] = {}
        self._seen = 0.0
        self.free_bytes = keeper.folder.free_bytes
        self.oldest_unsealed = 0.0

    def end(self) -> None:
        """Begin no more work; work that ends from now on has not failed."""
        self._ended.set()

    def stop(self) -> None:
        """End."""
        self.end()
        self.join()

    def run(self) -> None:
        """Look after the collector until told to stop; what fails is logged, and tried again."""
        if self._keeper.clock.doubted:
            log("clock_jumped", level="warning")
        logged = ""
        while not self._ended.wait(_SECONDS):
            reason = ""
            try:
                self.look()
            except DiscreetError as error:
                reason = str(error)
                if isinstance(error, FailedStoreError):
                    # The writer finds out when it is there again.
                    self._measures.store_ok = False
            except Exception as error:
                log("defect", level="error", place=place_of(error))
            if reason and reason != logged:
                log("housekeeping_failed", level="error", reason=reason)
            logged = reason

    def look(self) -> None:
        """Do all due work once, unless a verb is at work."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        keeper = self._keeper
        if step := keeper.clock.look():
            log("clock_jumped", level="warning", seconds=round(step))
        self.free_bytes = keeper.folder.free_bytes
        if time.monotonic() > self._seen + _SEEN_SECONDS and not keeper.clock.doubted:
            keeper.see_clock()
            self._seen = time.monotonic()
        entries = list(keeper.catalogue.by_id.values())
        due = [
            (entry.collection.window(batch[-1])[2], entry, batch)
            for entry in entries
            for batch in due_batches(keeper, entry)
        ]
        due.sort(key=lambda job: job[0])
        self.oldest_unsealed = max(0.0, keeper.clock.now() - due[0][0]) if due else 0.0
        self._alone(keeper.tidy)
        if keeper.clock.doubted:
            return
        # Each by itself: a verb that waits is next.
        if self._sealing:
            for _, entry, batch in due:
                self._alone(self._done, "sealing_failed", entry, batch, partial(self._seal, entry, batch))
        self._alone(self._forget)

    def _alone(self, what: Callable[..., None], *args: Any) -> None:
        """Do something, unless a verb is at work: it does that, or copies things as they are."""
        if self._keeper.upkeep.acquire(blocking=False):
            try:
                what(*args)
            finally:
                self._keeper.upkeep.release()

    def _done(self, event: str, entry: Entry, batch: tuple[int, ...], what: Callable[[], None]) -> None:
        """Do the due work of a batch; if it fails, log it and try again later."""
        at = entry.key, batch
        if self._ended.is_set() or self._failed.get(at, -_AGAIN_SECONDS) > time.monotonic() - _AGAIN_SECONDS:
            return
        try:
            what()
        except (DiscreetError, OSError) as error:
            self._failed[at] = time.monotonic()
            if not self._ended.is_set():
                reason = str(error) if isinstance(error, DiscreetError) else error.strerror or type(error).__name__
                log(event, level="error", collection=entry.key, epoch=batch[-1], reason=reason)
            return
        self._failed.pop(at, None)

    def _seal(self, entry: Entry, batch: tuple[int, ...]) -> None:
        if batch not in due_batches(self._keeper, entry):
            # A verb has sealed it since it was looked at.
            return
        began = time.monotonic()
        facts: Any = {"collection": entry.key, "epoch": batch[-1]}
        row = seal_batch(self._keeper, entry, batch)
        if row is None:
            log("too_few_to_seal", **facts)
            return
        self._measures.sealed.inc()
        counts: Any = {"n": row.n, "duplicates": row.duplicates, "conflicts": row.conflicts}
        log("sealed", **facts, seconds=round(time.monotonic() - began, 3), **counts)

    def _forget_batch(self, seal: SealRow) -> None:
        if forget_reports(self._keeper, seal):
            log("expired", collection=seal.collection, epoch=seal.epoch, n=seal.n)

    def _forget(self) -> None:
        keeper, now = self._keeper, self._keeper.clock.now()
        entries = {entry.key: entry for entry in keeper.catalogue.by_id.values()}
        for seal in keeper.store.seals():
            entry = entries.get(seal.collection)
            if entry is not None and now >= seal.at + entry.collection.retention * _DAY:
                self._done("forgetting_failed", entry, (seal.epoch,), partial(self._forget_batch, seal))
        for key, epoch in keeper.pending():
            if (entry := entries.get(key)) is None:
                continue
            collection = entry.collection
            # Of collections that are over: nothing comes any more that they could be sealed with.
            if now >= collection.window(collection.epochs.count - 1)[2] + collection.retention * _DAY:
                forget_few(keeper, entry, epoch)
                log("expired", collection=key, epoch=epoch)
