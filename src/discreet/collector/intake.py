"""Intake of reports: frames are read, checked in groups, written by one thread, and answered once they are on disk.

The path of reports is plain ASGI. All rows of a collection in a group are checked at once, and flawed rows name their
frames. A refusal has a status, a code and a sentence, and quotes no part of the request.
"""

import asyncio
import json
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import AnyArray
from discreet.collector.keeper import Entry, Keeper
from discreet.collector.logs import Measures, log, place_of
from discreet.collector.storage.inboxes import At
from discreet.collector.storage.store import NO_EPOCH
from discreet.device.protocol.frames import (
    HEAD_BYTES,
    ID_BYTES,
    LARGEST_FRAME,
    MEDIA_TYPE,
    FrameError,
    head,
    refuse_repeated,
)
from discreet.mechanisms.row_checks import FlawedRowsError, checked_reports


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request that is not accepted.

    Attributes:
        status: of HTTP.
        code: one word for programs.
        message: one sentence for people.
        facts: further numbers, by name.
        retry: seconds after which the same request may be sent again; None if that is of no use.
    """

    status: int
    code: str
    message: str
    facts: dict[str, Any] = field(default_factory=dict)
    retry: int | None = None

    @property
    def body(self) -> bytes:
        """The answer's body, JSON."""
        return json.dumps({"error": self.code, "message": self.message, **self.facts}).encode()

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The answer's headers, but those that every answer has."""
        pairs = [(b"content-type", b"application/json"), (b"content-length", str(len(self.body)).encode())]
        return pairs if self.retry is None else [*pairs, (b"retry-after", str(self.retry).encode())]


def no_frame(why: str) -> Refusal:
    """Return the refusal of bytes that are no frame."""
    return Refusal(400, "frame", f"the body must be a frame of reports: {why}")


def too_long(most: int) -> Refusal:
    """Return the refusal of a body beyond the limit."""
    return Refusal(413, "length", f"a frame must have at most {most} bytes; send several.")


UNKNOWN = Refusal(404, "collection", "no such collection is open here.")
NOT_HERE = Refusal(404, "path", "there is nothing under this path.")
BUSY = Refusal(503, "busy", "more reports are waiting than can be held; send this frame again later.", retry=2)
STORE = Refusal(503, "store", "reports cannot be stored at present; send this frame again later.", retry=10)
STOPPING = Refusal(503, "stopping", "the collector is shutting down; send this frame again later.", retry=10)
RATE = Refusal(429, "rate", "too many requests from one address; send this one again later.", retry=5)
DOUBTED = Refusal(503, "clock", "the collector's clock has just jumped; send this frame again later.", retry=60)
EARLY = Refusal(
    503, "early", "this epoch has not begun by the collector's clock; send this frame again later.", retry=60
)
DEFECT = Refusal(500, "defect", "this is a defect of the collector.")
# A device drops a report after any other refusal, and a clock may be wrong.
_LATER = {"clock": DOUBTED, "early": EARLY, "refused": STORE}


def out_of_time(code: str, now: float) -> Refusal:
    """Return the refusal of an epoch that takes no reports now, by what `Catalogue.obstacle` says of it."""
    if code in _LATER:
        return _LATER[code]
    why = {
        "late": "this epoch takes no more reports.",
        "withdrawn": "this collection was withdrawn.",
    }
    return Refusal(409, code, why[code], {"now": int(now)})


def flawed(n: int, rows: int, first: int, reason: str) -> Refusal:
    """Return the refusal of a frame with reports that no device can send."""
    message = f"{rows} of {n} reports {reason} (first at {first}); nothing of this frame was kept."
    return Refusal(422, "reports", message, {"reports": rows, "first": first, "reason": reason})


@dataclass(slots=True, eq=False)
class Submission:
    """A frame on its way to the store.

    Attributes:
        entry: its collection.
        epoch: of its reports.
        n: how many.
        data: the frame as it came.
        start: where its reports begin.
        answer: told why it is refused, or None once it is on disk.
    """

    entry: Entry
    epoch: int
    n: int
    data: bytes
    start: int
    answer: Callable[[Refusal | None], None] = field(default=lambda _: None)

    @property
    def reports(self) -> bytes:
        """Ids and records."""
        return self.data[self.start :]


def judged(entry: Entry, frames: Sequence[Submission]) -> list[Refusal | None]:
    """Return for each frame of one collection why it is refused; None for those that devices can have sent.

    All rows are checked together. Where some are flawed, their frames are taken out and the others checked again, which
    happens at most once per reason.
    """
    rows = [np.frombuffer(frame.data, dtype=np.uint8, offset=frame.start).reshape(frame.n, -1) for frame in frames]
    outcomes: list[Refusal | None] = [_repeated(part) for part in rows]
    left = [place for place, outcome in enumerate(outcomes) if outcome is None]
    while left:
        records = np.concatenate([rows[place][:, ID_BYTES:] for place in left])
        starts = np.cumsum([0, *(len(rows[place]) for place in left)])
        try:
            check_records(entry, records)
            return outcomes
        except FlawedRowsError as error:
            if error.rows is None or not len(error.rows):
                raise
            for at, refusal in _named(error, starts):
                outcomes[left[at]] = refusal
        left = [place for place in left if outcomes[place] is None]
    return outcomes


def check_records(entry: Entry, records: AnyArray) -> None:
    """Refuse ``(n, W)`` records that no device can have sent.

    Raises:
        FlawedRowsError: if there are any; it says which.
    """
    columns = entry.codec.decode(records)
    checked_reports(entry.mechanism, len(records), columns, simulated=entry.collection.simulated)


def _named(error: FlawedRowsError, starts: AnyArray) -> Iterator[tuple[int, Refusal]]:
    """Yield the frames that flawed rows belong to, with their refusals."""
    wrong: Any = error.rows
    frames = np.searchsorted(starts, wrong, side="right") - 1
    for at in np.unique(frames):
        inside = wrong[frames == at] - starts[at]
        n = int(starts[at + 1] - starts[at])
        yield int(at), flawed(n, len(inside), int(inside.min()), error.what)


def _repeated(rows: AnyArray) -> Refusal | None:
    """Return the refusal of a frame in which an id comes twice."""
    if len(rows) == 1:
        return None
    try:
        refuse_repeated(rows[:, :ID_BYTES])
    except FlawedRowsError as error:
        return next(refusal for _, refusal in _named(error, np.array([0, len(rows)])))
    return None


Outcome = Refusal | None
Written = Callable[[Sequence[tuple[Submission, Outcome]]], None]

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
        stored = [frame for frame, outcome in zip(group, outcomes, strict=True) if outcome is None]
        self._measures.frames.inc(len(stored))
        self._measures.reports.inc(sum(frame.n for frame in stored))
        self._measures.groups.observe(time.perf_counter() - began)
        self._answer(list(zip(group, outcomes, strict=True)))

    def _checked(self, group: Sequence[Submission]) -> list[Outcome]:
        by_entry: dict[int, list[int]] = {}
        for place, frame in enumerate(group):
            by_entry.setdefault(frame.entry.key, []).append(place)
        outcomes: list[Outcome] = [None] * len(group)
        for places in by_entry.values():
            try:
                refusals = judged(group[places[0]].entry, [group[place] for place in places])
            except Exception as error:
                # A check that breaks down is a defect: nothing unchecked is kept, and the thread goes on.
                log("defect", level="error", frames=len(places), place=place_of(error))
                refusals = [DEFECT] * len(places)
            for place, outcome in zip(places, refusals, strict=True):
                outcomes[place] = outcome
        return outcomes

    def _write(self, group: Sequence[Submission], outcomes: list[Outcome]) -> None:
        """Write the good frames, one record for each epoch, and note why the others cannot be stored."""
        with self._keeper.inboxes.turn:
            now = self._keeper.clock.now()
            by_epoch: dict[At, list[bytes]] = {}
            for place, frame in enumerate(group):
                refusal = outcomes[place] = outcomes[place] or self._obstacle(frame, now)
                if refusal is None:
                    by_epoch.setdefault((frame.entry.key, frame.epoch), []).append(frame.reports)
                else:
                    key, epoch = (None, NO_EPOCH) if refusal is UNKNOWN else (frame.entry.key, frame.epoch)
                    self._keeper.refuse(key, epoch, str(refusal.facts.get("reason", refusal.code)))
            failed = self._keeper.inboxes.append(by_epoch) if by_epoch else set()
        for place, frame in enumerate(group):
            if outcomes[place] is None and (frame.entry.key, frame.epoch) in failed:
                outcomes[place] = STORE
        if by_epoch:
            self._measures.store_ok = not failed

    def _obstacle(self, frame: Submission, now: float) -> Outcome:
        """Return why a frame cannot be kept any more: an epoch may have been closed while it waited."""
        entry = self._keeper.catalogue.by_id.get(frame.entry.row.id)
        if entry is None or entry.key != frame.entry.key:
            return UNKNOWN
        why = self._keeper.catalogue.obstacle(entry, frame.epoch, now)
        return None if why is None else out_of_time(why, now)


Message: TypeAlias = dict[str, Any]
Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Asgi: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

ANY_ORIGIN = (b"access-control-allow-origin", b"*")
# Scripts of other origins read nothing else of an answer.
_READABLE = (b"access-control-expose-headers", b"retry-after, date")
_BINARY = MEDIA_TYPE.encode()
_STORED = {"type": "http.response.start", "status": 202, "headers": [ANY_ORIGIN, (b"content-length", b"0")]}
_NOTHING = {"type": "http.response.body", "body": b""}
_PREFLIGHT = {
    "type": "http.response.start",
    "status": 204,
    "headers": [
        ANY_ORIGIN,
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", b"content-type"),
        (b"access-control-max-age", b"86400"),
        (b"content-length", b"0"),
    ],
}
_ONCE = {b"content-type", b"content-length", b"content-encoding", b"transfer-encoding", b"host"}


class Refused(Exception):  # noqa: N818
    """A request that is not accepted; it carries the answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


async def refuse(send: Send, refusal: Refusal) -> None:
    """Answer a request with a refusal."""
    headers = [*refusal.headers, ANY_ORIGIN, _READABLE]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})


class Intake:
    """``POST /v1/reports``.

    Args:
        keeper: of the data.
        measures: the counts that the collector shows.
        queue: limits of the frames that wait; see `Writer`.
    """

    def __init__(self, keeper: Keeper, measures: Measures, **queue: Any) -> None:
        self._keeper, self._catalogue = keeper, keeper.catalogue
        self._loop: asyncio.AbstractEventLoop | None = None
        self.writer = Writer(keeper, measures, answer=self._answer, **queue)

    def start(self) -> None:
        """Begin, within the loop that requests come in."""
        self._loop = asyncio.get_running_loop()
        self.writer.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "OPTIONS":
            await send(_PREFLIGHT)
            await send(_NOTHING)
            return
        try:
            refusal = await self._frame(scope, receive)
        except Refused as error:
            refusal = error.refusal
        if refusal is not None:
            await refuse(send, refusal)
            return
        await send(_STORED)
        await send(_NOTHING)

    async def _frame(self, scope: Scope, receive: Receive) -> Refusal | None:
        if scope["method"] != "POST":
            raise Refused(Refusal(405, "method", "reports are sent by POST.", {"allow": "POST, OPTIONS"}))
        length = _checked(scope["headers"])
        body = await _body(receive, length)
        frame = self._read(body)
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

    def _read(self, data: bytes) -> Submission:
        """Read the head of a frame; what the collector itself cannot do is a defect, so that a device sends again."""
        try:
            collection, epoch, n = head(data)
            entry = self._entry(collection, epoch)
        except FrameError as error:
            raise Refused(no_frame(error.sentence())) from None
        except Refused:
            raise
        except Exception as error:
            log("defect", level="error", place=place_of(error))
            raise Refused(DEFECT) from None
        start = len(data) - n * entry.width
        if start != HEAD_BYTES:
            wanted = HEAD_BYTES + n * entry.width
            raise Refused(no_frame(f"{n} reports of this collection take {wanted} bytes, got {len(data)}."))
        return Submission(entry, epoch, n, data, start)

    def _entry(self, collection: bytes, epoch: int) -> Entry:
        """Return the collection of an id, if it takes reports of an epoch now."""
        entry = self._catalogue.by_id.get(collection)
        if entry is None and collection in self._catalogue.refused:
            # Until an operator mends it: a device drops a report after a final refusal.
            raise Refused(STORE)
        if entry is None:
            self._keeper.refuse(None, NO_EPOCH, UNKNOWN.code)
            raise Refused(UNKNOWN)
        now = self._keeper.clock.now()
        why = self._catalogue.obstacle(entry, epoch, now)
        if why is not None:
            known = epoch if epoch < entry.collection.epochs.count else NO_EPOCH
            self._keeper.refuse(entry.key, known, why)
            raise Refused(out_of_time(why, now))
        return entry

    def _answer(self, outcomes: Sequence[tuple[Submission, Refusal | None]]) -> None:
        """Hand outcomes over to the loop; called by the writer."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_settle, outcomes)


def _settle(outcomes: Sequence[tuple[Submission, Refusal | None]]) -> None:
    for frame, outcome in outcomes:
        try:
            frame.answer(outcome)
        except Exception as error:
            # The others of the group wait for theirs.
            log("defect", level="error", place=place_of(error))


def _checked(headers: Sequence[tuple[bytes, bytes]]) -> int:
    """Return the length of a frame.

    Raises:
        Refused: if it is not to be read.
    """
    values: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _ONCE:
            if name in values:
                raise Refused(Refusal(400, "headers", f"the header {name.decode()} must come once."))
            values[name] = value
    if b"content-encoding" in values:
        raise Refused(Refusal(415, "encoding", "a frame must be sent as it is, without Content-Encoding."))
    if b"transfer-encoding" in values or b"content-length" not in values:
        raise Refused(Refusal(411, "length", "a frame must be sent with its Content-Length, in one piece."))
    if values.get(b"content-type", b"").strip().lower() != _BINARY:
        raise Refused(Refusal(415, "media-type", f"frames are of the media type {MEDIA_TYPE}."))
    length = values[b"content-length"]
    if not length.isdigit() or len(length) > 12 or int(length) > LARGEST_FRAME:
        raise Refused(too_long(LARGEST_FRAME))
    return int(length)


async def _body(receive: Receive, length: int) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False) and message["type"] == "http.request":
        return body
    parts, size = [body], len(body)
    while message.get("more_body", False):
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_FRAME:
            raise Refused(too_long(LARGEST_FRAME))
    if message["type"] != "http.request" or size != length:
        raise Refused(no_frame("it ended before its length."))
    return b"".join(parts)
