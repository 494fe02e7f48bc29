"""Intake of reports, an ASGI application: frames are read, checked and handed on, and answered when they are kept.

A team mounts `intake` in its own service, in any number of processes. It needs no database: `append` keeps the rows.
The collector is the same application on its own files of reports.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from discreet.arrays import AnyArray
from discreet.collector.documents.publications import facts_on_published
from discreet.collector.logs import log, place_of
from discreet.collector.refusals import (
    DEFECT,
    NOT_HERE,
    STORE,
    UNKNOWN,
    Refusal,
    Refused,
    flawed,
    no_frame,
    out_of_time,
    too_long,
)
from discreet.device.protocol.collection import OPEN, Collection, open_envelope, rebuild
from discreet.device.protocol.envelope import MEDIA_TYPE as COLLECTION_TYPE
from discreet.device.protocol.frames import (
    HEAD_BYTES,
    ID_BYTES,
    LARGEST_FRAME,
    MEDIA_TYPE,
    REPORTS,
    FrameError,
    head,
    refuse_repeated,
)
from discreet.formats.records import RecordCodec
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.row_checks import FlawedRowsError, checked_reports

_EARLY_SECONDS = 300
"""How long before its start an epoch takes reports: clocks differ."""

EARLY, LATE, WITHDRAWN = "early", "late", "withdrawn"


@dataclass(frozen=True, slots=True, eq=False)
class OpenCollection:
    """A collection, ready for its reports.

    Attributes:
        collection: the collection, checked as a device checks it.
        mechanism: rebuilt from the plan.
        codec: the codec of the records.

    Example:
        >>> import time
        >>> import discreet as dc
        >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        >>> from discreet.collector.documents.signing import Terms, sign
        >>> from discreet.device.protocol.collection import Epochs
        >>> from discreet.device.protocol.envelope import public_key
        >>> plan = dc.Plan.of(dc.RandomizedResponse(dc.Domain(["never", "daily"]), epsilon=1.0))
        >>> texts = {"title": "Habits", "purpose": "To know", "contact": "us@example.org"}
        >>> when = {"answers": "once", "epochs": Epochs(int(time.time()), 3600, 24)}
        >>> terms = Terms(name="habits", **texts, **when, collectors=("https://example.org",))
        >>> key = Ed25519PrivateKey.generate()
        >>> habits = OpenCollection.of(sign(plan, terms, [key]), [public_key(key)])
        >>> habits.width, habits.when(0, time.time())
        (18, None)
    """

    collection: Collection
    mechanism: BlockMechanism
    codec: RecordCodec

    @classmethod
    def of(cls, envelope: bytes, trust: Sequence[bytes | str]) -> "OpenCollection":
        """Open a signed collection and rebuild its mechanism.

        Args:
            envelope: the bytes of the file.
            trust: public keys that may have signed it, 32 bytes each or their base64.

        Raises:
            CollectionError: if a device would refuse it.
        """
        collection = open_envelope(envelope, list(trust), is_known=True)
        return cls(collection, rebuild(collection), collection.sampler.codec)

    @property
    def width(self) -> int:
        """The bytes of a report: its id and its record."""
        return ID_BYTES + self.codec.width

    def when(self, epoch: int, now: float) -> str | None:
        """Return ``early`` or ``late`` if an epoch takes no reports at this time."""
        start, _, until = self.collection.window(epoch)
        if epoch >= self.collection.epochs.count or now >= until:
            return LATE
        return EARLY if now < start - _EARLY_SECONDS else None


Opened = TypeVar("Opened", bound=OpenCollection)


@dataclass(slots=True, eq=False)
class Submission(Generic[Opened]):
    """A frame on its way to the store.

    Attributes:
        entry: its collection.
        epoch: of its reports.
        n: how many.
        data: the frame as it came.
        start: where its reports begin.
        answer: told why it is refused, or None once it is on disk.
    """

    entry: Opened
    epoch: int
    n: int
    data: bytes
    start: int
    answer: Callable[[Refusal | None], None] = field(default=lambda _: None)

    @property
    def reports(self) -> bytes:
        """Ids and records."""
        return self.data[self.start :]


def check_frames(entry: OpenCollection, frames: Sequence[Submission[Any]]) -> list[Refusal | None]:
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


def check_records(entry: OpenCollection, records: AnyArray) -> None:
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


async def refuse(send: Send, refusal: Refusal) -> None:
    """Answer a request with a refusal."""
    headers = [*refusal.headers, ANY_ORIGIN, _READABLE]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})


Find: TypeAlias = Callable[[bytes, int], Opened]
Take: TypeAlias = Callable[[Submission[Opened]], Awaitable[Refusal | None]]
Append: TypeAlias = Callable[[bytes, int, bytes], Awaitable[None]]


class Intake(Generic[Opened]):
    """``POST /v1/reports``.

    Args:
        find: a function that returns the collection of an id, if it takes reports of an epoch now; it raises `Refused`.
        take: a function that checks and keeps the reports of a frame; it returns a refusal, or None if they are kept.
    """

    def __init__(self, find: Find[Opened], take: Take[Opened]) -> None:
        self._find, self._take = find, take

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
        return await self._take(self._read(await _body(receive, length)))

    def _read(self, data: bytes) -> Submission[Opened]:
        """Read the head of a frame; what the collector itself cannot do is a defect, so that a device sends again."""
        try:
            collection, epoch, n = head(data)
            entry = self._find(collection, epoch)
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


def intake(collections: Iterable[OpenCollection], append: Append, *, clock: Callable[[], float] = time.time) -> Asgi:
    """Return an ASGI application that takes reports in, to be mounted in a service.

    It answers ``POST /v1/reports``, and ``GET /v1/collections/NAME`` with the signed collection. ``GET
    /collections/NAME`` states what publishing results reveals, which the survey page shows.

    A frame is answered 202 when `append` has returned, and 503 if it raised: the device then sends the frame again. So
    `append` must have the rows on disk when it returns. The same report may come twice; `discreet collector seal
    --from` counts it once.

    Args:
        collections: that reports are taken of.
        append: an asynchronous function of the collection's id (32 bytes), the epoch and the rows. The rows are reports
            of equal length, one after the other, each an id of 16 bytes and a record.
        clock: a function that returns the time in Unix seconds.

    Example:
        >>> kept = []
        >>> async def append(collection: bytes, epoch: int, rows: bytes) -> None:
        ...     kept.append((collection, epoch, rows))
        >>> app = intake([], append)
    """
    known = {each.collection.id: each for each in collections}
    opened = tuple(each.collection for each in known.values())
    pages = dict[str, tuple[str, bytes]]()
    for collection in opened:
        facts = json.dumps({"published": facts_on_published(collection, opened)}).encode()
        pages[f"/v1/collections/{collection.name}"] = COLLECTION_TYPE, collection.envelope
        pages[f"/collections/{collection.name}"] = "application/json", facts

    def find(collection: bytes, epoch: int) -> OpenCollection:
        if (entry := known.get(collection)) is None:
            raise Refused(UNKNOWN)
        now = clock()
        why = WITHDRAWN if entry.collection.state != OPEN else entry.when(epoch, now)
        if why is not None:
            raise Refused(out_of_time(why, now))
        return entry

    async def take(frame: Submission[OpenCollection]) -> Refusal | None:
        (refusal,) = await asyncio.to_thread(check_frames, frame.entry, [frame])
        if refusal is None:
            try:
                await append(frame.entry.collection.id, frame.epoch, frame.reports)
            except Exception as error:
                log("append_failed", level="error", place=place_of(error))
                return STORE
        return refusal

    reports = Intake(find, take)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if path == REPORTS:
            await reports(scope, receive, send)
        elif path in pages and scope["method"] in {"GET", "HEAD"}:
            kind, body = pages[path]
            about = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body)), ANY_ORIGIN]
            await send({"type": "http.response.start", "status": 200, "headers": about})
            await send({"type": "http.response.body", "body": body})
        else:
            await refuse(send, NOT_HERE)

    return app


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
