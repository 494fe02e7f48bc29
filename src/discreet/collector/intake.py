"""The path of reports, plain ASGI: a frame is read, its head looked at, and answered once it is on disk."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from discreet.collector import refusals
from discreet.collector.catalogue import Catalogue, Entry
from discreet.collector.frame_checks import Submission
from discreet.collector.logs import log, place_of
from discreet.collector.rates import Rates
from discreet.collector.refusals import Refusal
from discreet.collector.store import NO_EPOCH
from discreet.collector.writer import Writer
from discreet.io.frames import (
    HEAD_BYTES,
    JSON_MEDIA_TYPE,
    LARGEST_FRAME,
    MEDIA_TYPE,
    FrameError,
    frame_of_json,
    head,
    head_of_json,
)
from discreet.io.wire import FlawedRowsError

Message: TypeAlias = dict[str, Any]
Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Asgi: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Answer: TypeAlias = Callable[[Refusal | None], None]

REPORTS = "/v1/reports"
"""The path of reports."""

ANY_ORIGIN = (b"access-control-allow-origin", b"*")
# Scripts of other origins read nothing else of an answer.
_READABLE = (b"access-control-expose-headers", b"retry-after, date")
_BINARY, _JSON = MEDIA_TYPE.encode(), JSON_MEDIA_TYPE.encode()
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
        super().__init__(refusal.code)
        self.refusal = refusal


async def refuse(send: Send, refusal: Refusal) -> None:
    """Answer a request with a refusal."""
    headers = [*refusal.headers, ANY_ORIGIN, _READABLE]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})


class Intake:
    """``POST /v1/reports``.

    Args:
        catalogue: the collections.
        writer: makes the thread that writes, given what is told the outcomes.
        rates: how often an address may send; None for any number of times.
    """

    def __init__(self, catalogue: Catalogue, writer: Callable[..., Writer], rates: Rates | None) -> None:
        self._catalogue, self._rates = catalogue, rates
        self._loop: asyncio.AbstractEventLoop | None = None
        self.writer = writer(answer=self._answer)

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
        as_json, length = _checked(scope["headers"])
        if self._rates is not None and not self._rates.allows(scope["client"][0] if scope.get("client") else ""):
            raise Refused(refusals.RATE)
        body = await _body(receive, length)
        frame = await asyncio.to_thread(_read, self._of_json, body) if as_json else _read(self._of_bytes, body)
        if self._loop is None:
            raise Refused(refusals.STOPPING)
        outcome: asyncio.Future[Refusal | None] = self._loop.create_future()

        def answer(refusal: Refusal | None) -> None:
            # At its end the server may have given up the request.
            if not outcome.done():
                outcome.set_result(refusal)

        frame.answer = answer
        if not self.writer.submit(frame):
            raise Refused(refusals.BUSY)
        return await outcome

    def _of_bytes(self, data: bytes) -> Submission:
        try:
            collection, epoch, n = head(data)
        except FrameError as error:
            raise Refused(refusals.no_frame(str(error))) from None
        entry = self._entry(collection, epoch)
        start = len(data) - n * entry.width
        if start != HEAD_BYTES:
            wanted = HEAD_BYTES + n * entry.width
            raise Refused(refusals.no_frame(f"{n} reports of this collection take {wanted} bytes, got {len(data)}."))
        return Submission(entry, epoch, n, data, start)

    def _of_json(self, data: bytes) -> Submission:
        try:
            collection, epoch, n = head_of_json(data)
            entry = self._entry(collection, epoch)
            frame = frame_of_json(data, entry.mechanism, entry.codec)
        except FrameError as error:
            raise Refused(refusals.no_frame(str(error))) from None
        except FlawedRowsError as error:
            self.writer.refuse(entry.key, epoch, error.what)
            rows: Any = [0] if error.rows is None else error.rows
            raise Refused(refusals.flawed(n, len(rows), int(min(rows)), error.what)) from None
        return Submission(entry, epoch, n, frame.pack(), HEAD_BYTES)

    def _entry(self, collection: bytes, epoch: int) -> Entry:
        """Return the collection of an id, if it takes reports of an epoch now."""
        entry = self._catalogue.by_id.get(collection)
        if entry is None and collection in self._catalogue.refused:
            # Until somebody sees to it: a device would drop what is refused for good.
            raise Refused(refusals.STORE)
        if entry is None:
            self.writer.refuse(None, NO_EPOCH, refusals.UNKNOWN.code)
            raise Refused(refusals.UNKNOWN)
        now = time.time()
        why = self._catalogue.obstacle(entry, epoch, now)
        if why is not None:
            known = epoch if epoch < entry.collection.epochs.count else NO_EPOCH
            self.writer.refuse(entry.key, known, why)
            raise Refused(refusals.out_of_time(why, now))
        return entry

    def _answer(self, outcomes: Sequence[tuple[Submission, Refusal | None]]) -> None:
        """Hand outcomes over to the loop; called by the writer."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_settle, outcomes)


def _read(reading: Callable[[bytes], Submission], data: bytes) -> Submission:
    """Read a frame; what the collector itself cannot do is told as its defect, so that a device sends again."""
    try:
        return reading(data)
    except Refused:
        raise
    except Exception as error:
        log("defect", level="error", place=place_of(error))
        raise Refused(refusals.DEFECT) from None


def _settle(outcomes: Sequence[tuple[Submission, Refusal | None]]) -> None:
    for frame, outcome in outcomes:
        try:
            frame.answer(outcome)
        except Exception as error:
            # The others of the group wait for theirs.
            log("defect", level="error", place=place_of(error))


def _checked(headers: Sequence[tuple[bytes, bytes]]) -> tuple[bool, int]:
    """Return the form of a frame (true for JSON) and its length.

    Raises:
        Refused: if it is not to be read.
    """
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _ONCE:
            if name in found:
                raise Refused(Refusal(400, "headers", f"the header {name.decode()} must come once."))
            found[name] = value
    if b"content-encoding" in found:
        raise Refused(Refusal(415, "encoding", "a frame must be sent as it is, without Content-Encoding."))
    if b"transfer-encoding" in found or b"content-length" not in found:
        raise Refused(Refusal(411, "length", "a frame must be sent with its Content-Length, in one piece."))
    kind = found.get(b"content-type", b"").strip().lower()
    if kind not in {_BINARY, _JSON}:
        message = f"frames are of the media type {MEDIA_TYPE} or {JSON_MEDIA_TYPE}."
        raise Refused(Refusal(415, "media-type", message))
    length = found[b"content-length"]
    if not length.isdigit() or len(length) > 12 or int(length) > LARGEST_FRAME:
        raise Refused(refusals.too_long(LARGEST_FRAME))
    return kind == _JSON, int(length)


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
            raise Refused(refusals.too_long(LARGEST_FRAME))
    if message["type"] != "http.request" or size != length:
        raise Refused(refusals.no_frame("it ended before its length."))
    return b"".join(parts)
