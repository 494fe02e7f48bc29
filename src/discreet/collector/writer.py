"""The one thread that writes: it gathers frames, checks them together, and answers once they are on disk."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from discreet.collector.frame_checks import Submission, judged
from discreet.collector.inboxes import At
from discreet.collector.keeper import Keeper
from discreet.collector.logs import log, place_of
from discreet.collector.measures import Measures
from discreet.collector.refusals import DEFECT, STORE, UNKNOWN, Refusal, out_of_time
from discreet.collector.store import NO_EPOCH

Outcome = Refusal | None
Answer = Callable[[Sequence[tuple[Submission, Outcome]]], None]

_GROUP_FRAMES, _GROUP_BYTES = 512, 1 << 23
# Without frames: how often it is tried whether the disk is there again.
_IDLE_SECONDS = 5.0


class Writer(threading.Thread):
    """A queue of frames and the thread that empties it.

    Args:
        keeper: of the data.
        measures: what is counted and shown.
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
        answer: Answer,
        gather: float = 0.002,
        frames: int = 4096,
        size: int = 1 << 26,
    ) -> None:
        super().__init__(name="writer", daemon=True)
        self._keeper, self._measures, self._answer = keeper, measures, answer
        self._gather, self._most, self._most_bytes = gather, frames, size
        self._queue: deque[Submission] = deque()
        self._bytes = 0
        self._began = -math.inf
        self._wake = threading.Condition()
        self._stopping = False

    @property
    def waiting(self) -> int:
        """The number of frames that wait."""
        return len(self._queue)

    def submit(self, frame: Submission) -> bool:
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

    def refuse(self, key: int | None, epoch: int, reason: str) -> None:
        """Count a refusal."""
        self._keeper.refuse(key, epoch, reason)

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
                self._measures.stored(store_ok=self._keeper.inboxes.probe())
            if stopping and not group:
                break

    def _wait(self) -> bool:
        """Wait for frames, longer if a group has begun just before; return whether the end has come."""
        with self._wake:
            self._wake.wait_for(lambda: self._queue or self._stopping, _IDLE_SECONDS)
            early = self._began + self._gather - time.monotonic()
            if len(self._queue) < _GROUP_FRAMES and early > 0:
                self._wake.wait_for(lambda: self._stopping, early)
            self._began = time.monotonic()
            return self._stopping

    def _take(self) -> list[Submission]:
        group: list[Submission] = []
        size = 0
        with self._wake:
            while self._queue and len(group) < _GROUP_FRAMES and size < _GROUP_BYTES:
                group.append(self._queue.popleft())
                size += len(group[-1].data)
            self._bytes -= size
        return group

    def _settle(self, group: list[Submission]) -> None:
        """Check a group, write it, and tell the outcome."""
        began = time.perf_counter()
        outcomes = self._checked(group)
        try:
            self._write(group, outcomes)
        except Exception as error:
            outcomes = [DEFECT] * len(group)
            log("defect", level="error", frames=len(group), place=place_of(error))
        kept = [frame for frame, outcome in zip(group, outcomes, strict=True) if outcome is None]
        self._measures.group(len(kept), sum(frame.n for frame in kept), time.perf_counter() - began)
        self._answer(list(zip(group, outcomes, strict=True)))

    def _checked(self, group: Sequence[Submission]) -> list[Outcome]:
        by_entry: dict[int, list[int]] = {}
        for place, frame in enumerate(group):
            by_entry.setdefault(frame.entry.key, []).append(place)
        outcomes: list[Outcome] = [None] * len(group)
        for places in by_entry.values():
            try:
                found = judged(group[places[0]].entry, [group[place] for place in places])
            except Exception as error:
                # A check that breaks down is a defect: nothing unchecked is kept, and the thread goes on.
                log("defect", level="error", frames=len(places), place=place_of(error))
                found = [DEFECT] * len(places)
            for place, outcome in zip(places, found, strict=True):
                outcomes[place] = outcome
        return outcomes

    def _write(self, group: Sequence[Submission], outcomes: list[Outcome]) -> None:
        """Write what is to be kept, a record for each epoch, and note the outcome of what cannot be."""
        with self._keeper.inboxes.turn:
            now = time.time()
            by_epoch: dict[At, list[bytes]] = {}
            for place, frame in enumerate(group):
                refusal = outcomes[place] = outcomes[place] or self._obstacle(frame, now)
                if refusal is None:
                    by_epoch.setdefault((frame.entry.key, frame.epoch), []).append(frame.reports)
                else:
                    self._keeper.refuse(*_reason(frame, refusal))
            failed = self._keeper.inboxes.append(by_epoch) if by_epoch else set()
        for place, frame in enumerate(group):
            if outcomes[place] is None and (frame.entry.key, frame.epoch) in failed:
                outcomes[place] = STORE
        if by_epoch:
            self._measures.stored(store_ok=not failed)

    def _obstacle(self, frame: Submission, now: float) -> Outcome:
        """Return why a frame cannot be kept any more: an epoch may have been closed while it waited."""
        entry = self._keeper.catalogue.by_id.get(frame.entry.row.id)
        if entry is None or entry.key != frame.entry.key:
            return UNKNOWN
        why = self._keeper.catalogue.obstacle(entry, frame.epoch, now)
        return None if why is None else out_of_time(why, now)


def _reason(frame: Submission, refusal: Refusal) -> tuple[int | None, int, str]:
    if refusal is UNKNOWN:
        return None, NO_EPOCH, refusal.code
    return frame.entry.key, frame.epoch, str(refusal.facts.get("reason", refusal.code))
