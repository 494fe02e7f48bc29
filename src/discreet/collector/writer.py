"""The collector's own keeping of reports: frames are checked in groups and written by one thread.

All rows of a collection in a group are checked at once, and flawed rows name their frames.
"""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from discreet.collector.intake import Intake, Submission, check_frames
from discreet.collector.keeper import Keeper
from discreet.collector.logs import Measures, log, place_of
from discreet.collector.refusals import BUSY, DEFECT, STOPPING, STORE, UNKNOWN, Refusal, Refused, out_of_time
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.inboxes import At

Frame = Submission[Entry]
Outcome = Refusal | None
Written = Callable[[Sequence[tuple[Frame, Outcome]]], None]

_GROUP_FRAMES, _GROUP_BYTES = 512, 1 << 23
# Without frames: how often it is tried whether the disk is there again.
IDLE_SECONDS = 5.0


class Writer(threading.Thread):
    """A queue of frames and the thread that empties it.

    Args:
        keeper: of the data.
        measures: the counts that the collector shows.
        answer: told each frame's outcome, in this thread; nothing is acknowledged before it is on disk.
        gather: seconds that lie between the beginnings of two groups at least: meanwhile frames join the next one.
        frames: how many may wait.
        size: how many bytes may wait.
    """

    def __init__(
        self,
        keeper: Keeper,
        measures: Measures,
        *,
        answer: Written,
        gather: float = 0.002,
        frames: int = 4096,
        size: int = 1 << 26,
    ) -> None:
        super().__init__(name="writer", daemon=True)
        self._keeper, self._measures, self._answer = keeper, measures, answer
        self._gather, self._most, self._most_bytes = gather, frames, size
        self._queue: deque[Frame] = deque()
        self._bytes = 0
        self._began = -math.inf
        self._wake = threading.Condition()
        self._stopping = False

    @property
    def waiting(self) -> int:
        """The number of frames that wait."""
        return len(self._queue)

    def submit(self, frame: Frame) -> bool:
        """Take a frame, unless too many wait already or the thread is stopping."""
        with self._wake:
            full = len(self._queue) >= self._most or self._bytes + len(frame.data) > self._most_bytes
            if full or self._stopping:
                return False
            self._queue.append(frame)
            self._bytes += len(frame.data)
            if len(self._queue) == 1:
                self._wake.notify()
        return True

    def stop(self) -> None:
        """Take nothing more, write what waits, and end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self.join()

    def run(self) -> None:
        """Write until told to stop."""
        while True:
            stopping = self._wait()
            group = self._take()
            if group:
                self._settle(group)
            elif not self._measures.store_ok:
                self._measures.store_ok = self._keeper.inboxes.probe()
            if stopping and not group:
                break

    def _wait(self) -> bool:
        """Wait for frames, longer if a group has begun just before; return whether the end has come."""
        with self._wake:
            self._wake.wait_for(lambda: self._queue or self._stopping, IDLE_SECONDS)
            early = self._began + self._gather - time.monotonic()
            if len(self._queue) < _GROUP_FRAMES and early > 0:
                self._wake.wait_for(lambda: self._stopping, early)
            self._began = time.monotonic()
            return self._stopping

    def _take(self) -> list[Frame]:
        group: list[Frame] = []
        size = 0
        with self._wake:
            while self._queue and len(group) < _GROUP_FRAMES and size < _GROUP_BYTES:
                group.append(self._queue.popleft())
                size += len(group[-1].data)
            self._bytes -= size
        return group

    def _settle(self, group: list[Frame]) -> None:
        """Check a group, write it, and tell the outcome."""
        began = time.perf_counter()
        outcomes = self._checked(group)
        try:
            self._write(group, outcomes)
        except Exception as error:
            outcomes = [DEFECT] * len(group)
            log("defect", level="error", frames=len(group), place=place_of(error))
        stored = [frame for frame, outcome in zip(group, outcomes, strict=True) if outcome is None]
        self._measures.frames.inc(len(stored))
        self._measures.reports.inc(sum(frame.n for frame in stored))
        self._measures.groups.observe(time.perf_counter() - began)
        self._answer(list(zip(group, outcomes, strict=True)))

    def _checked(self, group: Sequence[Frame]) -> list[Outcome]:
        by_entry: dict[int, list[int]] = {}
        for place, frame in enumerate(group):
            by_entry.setdefault(frame.entry.key, []).append(place)
        outcomes: list[Outcome] = [None] * len(group)
        for places in by_entry.values():
            try:
                refusals = check_frames(group[places[0]].entry, [group[place] for place in places])
            except Exception as error:
                # A check that breaks down is a defect: nothing unchecked is kept, and the thread goes on.
                log("defect", level="error", frames=len(places), place=place_of(error))
                refusals = [DEFECT] * len(places)
            for place, outcome in zip(places, refusals, strict=True):
                outcomes[place] = outcome
        return outcomes

    def _write(self, group: Sequence[Frame], outcomes: list[Outcome]) -> None:
        """Write the good frames, one record for each epoch, and note why the others cannot be stored."""
        with self._keeper.inboxes.turn:
            now = self._keeper.clock.now()
            by_epoch: dict[At, list[bytes]] = {}
            for place, frame in enumerate(group):
                refusal = outcomes[place] = outcomes[place] or self._obstacle(frame, now)
                if refusal is None:
                    by_epoch.setdefault((frame.entry.key, frame.epoch), []).append(frame.reports)
                else:
                    self._measures.refuse(refusal)
            failed = self._keeper.inboxes.append(by_epoch) if by_epoch else set()
        for place, frame in enumerate(group):
            if outcomes[place] is None and (frame.entry.key, frame.epoch) in failed:
                outcomes[place] = STORE
        if by_epoch:
            self._measures.store_ok = not failed

    def _obstacle(self, frame: Frame, now: float) -> Outcome:
        """Return why a frame cannot be kept any more: an epoch may have been closed while it waited."""
        entry = self._keeper.catalogue.by_id.get(frame.entry.row.id)
        if entry is None or entry.key != frame.entry.key:
            return UNKNOWN
        why = self._keeper.catalogue.obstacle(entry, frame.epoch, now)
        return None if why is None else out_of_time(why, now)


class OwnIntake(Intake[Entry]):
    """The intake of a collector, on its own files of reports.

    Args:
        keeper: of the data.
        measures: the counts that the collector shows.
        queue: limits of the frames that wait; see `Writer`.
    """

    def __init__(self, keeper: Keeper, measures: Measures, **queue: Any) -> None:
        super().__init__(self._entry, self._written)
        self._keeper, self._catalogue, self._measures = keeper, keeper.catalogue, measures
        self._loop: asyncio.AbstractEventLoop | None = None
        self.writer = Writer(keeper, measures, answer=self._answer, **queue)

    def start(self) -> None:
        """Begin, within the loop that requests come in."""
        self._loop = asyncio.get_running_loop()
        self.writer.start()

    async def _written(self, frame: Frame) -> Refusal | None:
        """Return the outcome of a frame once its group is written."""
        if self._loop is None:
            raise Refused(STOPPING)
        outcome: asyncio.Future[Refusal | None] = self._loop.create_future()

        def answer(refusal: Refusal | None) -> None:
            # At its end the server may have given up the request.
            if not outcome.done():
                outcome.set_result(refusal)

        frame.answer = answer
        if not self.writer.submit(frame):
            raise Refused(BUSY)
        return await outcome

    def _entry(self, collection: bytes, epoch: int) -> Entry:
        """Return the collection of an id, if it takes reports of an epoch now."""
        entry = self._catalogue.by_id.get(collection)
        if entry is None and collection in self._catalogue.refused:
            # Until an operator mends it: a device drops a report after a final refusal.
            raise Refused(STORE)
        if entry is None:
            raise self._refused(UNKNOWN)
        now = self._keeper.clock.now()
        why = self._catalogue.obstacle(entry, epoch, now)
        if why is not None:
            raise self._refused(out_of_time(why, now))
        return entry

    def _refused(self, refusal: Refusal) -> Refused:
        self._measures.refuse(refusal)
        return Refused(refusal)

    def _answer(self, outcomes: Sequence[tuple[Frame, Refusal | None]]) -> None:
        """Hand outcomes over to the loop; called by the writer."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_settle, outcomes)


def _settle(outcomes: Sequence[tuple[Frame, Refusal | None]]) -> None:
    for frame, outcome in outcomes:
        try:
            frame.answer(outcome)
        except Exception as error:
            # The others of the group wait for theirs.
            log("defect", level="error", place=place_of(error))
