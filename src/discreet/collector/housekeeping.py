"""The housekeeping of a collector: its clock, counts, epochs to be sealed or sent on, files that have expired.

A gateway gathers and permutes reports and sends them on to another collector, which never sees who sent which. It takes
reports in as every collector does, and keeps them on disk until they were sent on. They leave in the order of their
ids, which devices draw at random: nothing of arrival is left. A crash between sending and unlinking sends some once
more, under the same ids, of which the other collector keeps the first.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.collector.keeper import LATE, Entry, Keeper
from discreet.collector.logs import Measures, log, place_of
from discreet.collector.sealing import due_batches, first_reports, forget_few, forget_reports, seal_batch
from discreet.collector.storage.inboxes import Part, rows_of
from discreet.collector.storage.store import FailedStoreError, SealRow
from discreet.device.protocol.frames import HEAD_BYTES, ID_BYTES, LARGEST_FRAME, MOST_REPORTS, Frame
from discreet.device.sending import post
from discreet.errors import DiscreetError
from discreet.formats.sealing import MEMORY, RowSort

_ARRIVAL = 8
# Share of an epoch's window, the last one: what has come by then is sent on while the other collector still takes it.
_AHEAD = 0.1
_TAKEN = 202
_REFUSALS = range(400, 500)
_BUSY = (408, 425, 429)


class ForwardError(DiscreetError, RuntimeError):
    """Reports that the other collector did not take; they are kept, and sent again later."""


class Gateway:
    """The forwarding of reports that wait here.

    Args:
        keeper: of the data.
        upstream: origin of the collector that they are sent to.
    """

    def __init__(self, keeper: Keeper, upstream: str) -> None:
        self._keeper, self._upstream, self._inboxes = keeper, upstream, keeper.inboxes
        keeper.upstream, keeper.catalogue.ahead = upstream, _AHEAD
        self._few: dict[tuple[int, int], int] = {}

    def due(self) -> list[tuple[Entry, int]]:
        """Return the collections and epochs with ``least`` waiting reports, or that take no more reports here."""
        keeper, entries = self._keeper, {entry.key: entry for entry in self._keeper.catalogue.by_id.values()}
        return [
            (entries[key], epoch)
            for (key, epoch), n in sorted(keeper.pending().items())
            if key in entries
            and (self._is_over(entries[key], epoch) or n >= entries[key].collection.least)
            and self._few.get((key, epoch)) != n
        ]

    def _is_over(self, entry: Entry, epoch: int) -> bool:
        return entry.when(epoch, self._keeper.clock.now(), _AHEAD) == LATE

    def forward(self, entry: Entry, epoch: int) -> int:
        """Send the reports of an epoch that wait, each id once, and unlink them; return their number.

        Nothing is sent of fewer different reports than the collection's ``least`` while more may come.

        Raises:
            ForwardError: if the other collector does not take them now.
            DataError: if what is stored is damaged.
            OSError: if they cannot be unlinked; they are sent again then.
        """
        at, keeper = (entry.key, epoch), self._keeper
        with keeper.upkeep:
            parts = [part for part in self._inboxes.end(at) if not part.flaw]
            over = self._is_over(entry, epoch)
            with self._different(entry, parts) as batches:
                n = sum(map(len, batches))
            if n < entry.collection.least and not over:
                self._few[at] = keeper.pending().get(at, 0)
                return 0
            with self._different(entry, parts) as batches:
                for frame in _frames(entry, epoch, batches):
                    self._send(frame, over=entry.when(epoch, keeper.clock.now()) == LATE)
            self._inboxes.remove(at, [part.path for part in parts])
            self._few.pop(at, None)
        return n

    @contextmanager
    def _different(self, entry: Entry, parts: Sequence[Part]) -> Iterator[Iterator[AnyArray]]:
        """Give the reports of files in order of their ids, each id once, ``(m, 16 + W)`` bytes at a time."""
        rows = (
            np.frombuffer(group, dtype=np.uint8).reshape(-1, entry.width)
            for part in parts
            for group in rows_of(part.path, part.end, entry.width)
        )
        with RowSort(entry.width + _ARRIVAL, memory=MEMORY, folder=self._keeper.folder.path) as arrived:
            yield first_reports(rows, arrived, Counter())

    def _send(self, frame: Frame, *, over: bool) -> None:
        answer = post(self._upstream, frame.pack())
        if answer.status == _TAKEN:
            return
        if over and answer.status in _REFUSALS and answer.status not in _BUSY:
            # It will never take them: the epoch is over, or the collection was withdrawn.
            reason = f"the collector behind this gateway answers {answer.status}"
            log("forward_refused", level="error", n=len(frame.ids), epoch=frame.epoch, reason=reason)
            return
        raise ForwardError("gateway.not-forwarded", reason=answer.reason or f"It answers {answer.status}.")


def _frames(entry: Entry, epoch: int, batches: Iterator[AnyArray]) -> Iterator[Frame]:
    """Yield frames of as many reports as one may hold."""
    most = min(MOST_REPORTS, (LARGEST_FRAME - HEAD_BYTES) // entry.width)
    left = np.empty((0, entry.width), dtype=np.uint8)
    for batch in batches:
        rows = np.concatenate([left, batch])
        whole = len(rows) - len(rows) % most
        for start in range(0, whole, most):
            yield _frame(entry, epoch, rows[start : start + most])
        left = rows[whole:]
    if len(left):
        yield _frame(entry, epoch, left)


def _frame(entry: Entry, epoch: int, rows: AnyArray) -> Frame:
    return Frame(entry.row.id, epoch, rows[:, :ID_BYTES], rows[:, ID_BYTES:])


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
        gateway: by which reports are sent on instead; None to keep them here.
    """

    def __init__(
        self, keeper: Keeper, measures: Measures, *, sealing: bool = True, gateway: Gateway | None = None
    ) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self._keeper, self._measures, self._sealing, self._gateway = keeper, measures, sealing, gateway
        self._ended, self._looking = threading.Event(), threading.Lock()
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
            except FailedStoreError as error:
                if self._measures.store_ok:
                    # Once; the writer finds out when it is there again.
                    log("housekeeping_failed", level="error", reason=str(error))
                self._measures.store_ok = False
            except DiscreetError as error:
                log("housekeeping_failed", level="error", reason=str(error))
            except Exception as error:
                log("defect", level="error", place=place_of(error))

    def look(self) -> None:
        """Do once what is due, unless a verb is at work."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        keeper = self._keeper
        if step := keeper.clock.look():
            log("clock_jumped", level="warning", seconds=round(step))
        self.free_bytes = keeper.folder.free_bytes
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
        due.sort(key=lambda job: job[0])
        self.oldest_unsealed = max(0.0, keeper.clock.now() - due[0][0]) if due else 0.0
        self._alone(keeper.tidy)
        if keeper.clock.doubted:
            return
        # Each by itself: a verb that waits is next.
        if self._gateway is not None:
            for entry, epoch in self._gateway.due():
                self._alone(self._done, "forwarding_failed", entry, (epoch,), partial(self._forward, entry, epoch))
        elif self._sealing:
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
        """Do what is due of a batch; what fails is logged, and tried again a while later."""
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

    def _forward(self, entry: Entry, epoch: int) -> None:
        assert self._gateway is not None
        began, n = time.monotonic(), self._gateway.forward(entry, epoch)
        if n:
            seconds = round(time.monotonic() - began, 3)
            log("forwarded", collection=entry.key, epoch=epoch, seconds=seconds, n=n)

    def _seal(self, entry: Entry, batch: tuple[int, ...]) -> None:
        if batch not in due_batches(self._keeper, entry):
            # A verb has sealed it since it was looked at.
            return
        began = time.monotonic()
        facts: Any = {"collection": entry.key, "epoch": batch[-1]}
        row = seal_batch(self._keeper, entry, batch, "collector")
        if row is None:
            log("too_few_to_seal", **facts)
            return
        self._measures.sealed.inc()
        counts: Any = {"n": row.n, "duplicates": row.duplicates, "conflicts": row.conflicts}
        log("sealed", **facts, seconds=round(time.monotonic() - began, 3), **counts)

    def _forget_batch(self, seal: SealRow) -> None:
        if forget_reports(self._keeper, seal, "collector"):
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
                forget_few(keeper, entry, epoch, "collector")
                log("expired", collection=key, epoch=epoch)
