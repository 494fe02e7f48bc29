"""HTTP with deadlines and limits: what the server leaves to others, so that nobody is held up by who is slow."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.collector.intake import Receive, Scope, Send, refuse
from discreet.collector.measures import Measures
from discreet.collector.refusals import BUSY, Refusal

_LONGEST_HEAD = 1 << 14
_MOST_HEADERS = 64
_PIPELINED = Refusal(400, "pipelined", "a request must wait for the answer to the one before it.")
_LONG = Refusal(431, "headers", f"a request must have at most {_MOST_HEADERS} headers of {_LONGEST_HEAD} bytes in all.")


class _Refusing:
    """An application that refuses every request."""

    def __init__(self, refusal: Refusal) -> None:
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await refuse(send, self._refusal, close=True)


class DeadlineProtocol(HttpToolsProtocol):
    """The server's protocol with deadlines, and limits of heads, connections and requests.

    A connection is ended without an answer where a request is not whole in time, or its answer is not taken in time.

    Attributes:
        seconds: within which a request must be whole, and a piece of an answer taken.
        most: connections at once.
        busy: requests at once.
        measures: what is counted.
    """

    seconds = 10.0
    most = 2000
    busy = 1000
    measures = Measures()

    def connection_made(self, transport: Any) -> None:
        """Begin a connection, unless there are too many."""
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._head = 0
        self._in_head, self._deaf, self._ended = True, False, False
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self.measures.connections_refused += 1
            transport.abort()
            return
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        if self._timer is not None:
            self._timer.cancel()
        self._resume()
        super().connection_lost(exc)

    def _arm(self) -> None:
        """Let the deadline run, if it does not yet; a timer for each request would be dear."""
        if self._due is None:
            self._due = self.loop.time() + self.seconds
            if self._timer is None:
                self._timer = self.loop.call_at(self._due, self._look)

    def _disarm(self) -> None:
        self._due = None

    def _look(self) -> None:
        """End a connection whose deadline has passed; look again when the one that runs now will have."""
        self._timer = None
        if self._due is None:
            return
        if self._due <= self.loop.time():
            self._end()
        else:
            self._timer = self.loop.call_at(self._due, self._look)

    def _resume(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def _end(self) -> None:
        self.measures.connections_ended += 1
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes; from the first one of a request its deadline runs."""
        if self._deaf or self.transport.is_closing():
            return
        self._arm()
        self._ended = False
        super().data_received(data)
        if self._in_head and not self._ended:
            # Not whole yet: what the parser holds of it counts, line by line or in one.
            self._head += len(data)
            if self._head > _LONGEST_HEAD and not self.transport.is_closing():
                self._deaf = True
                self._say(_LONG)

    def _say(self, refusal: Refusal) -> None:
        """Answer what is no whole request, and end the connection."""
        head = b"".join(name + b": " + value + b"\r\n" for name, value in refusal.headers)
        line = f"HTTP/1.1 {refusal.status} Refused\r\n".encode()
        self.transport.write(line + head + b"connection: close\r\n\r\n" + refusal.body)
        self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request."""
        if self._deaf:
            return
        self._head, self._in_head = 0, True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the path."""
        if not self._deaf:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, unless there are too many already."""
        if not self._deaf and len(self.headers) <= _MOST_HEADERS:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request to the application, or to one that refuses it."""
        if self._deaf:
            return
        self._in_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        usual: Any = self.app
        if self.cycle is not None and not self.cycle.response_complete:
            # Refused when the one before it is answered; what comes behind it is not looked at.
            self.app, self._deaf = _Refusing(_PIPELINED), True
        elif size > _LONGEST_HEAD or len(self.headers) > _MOST_HEADERS:
            self.app, self._deaf = _Refusing(_LONG), True
        elif len(self.tasks) >= self.busy:
            self.app = _Refusing(BUSY)
        try:
            super().on_headers_complete()
        finally:
            self.app = usual

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        if not self._deaf:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        if self._deaf:
            return
        self._disarm()
        self._in_head, self._head, self._ended = True, 0, True
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            # Answered before it was whole: nothing else would end the connection.
            self._arm()

    def pause_writing(self) -> None:
        """Wait for whoever does not take the answer, but not for ever."""
        super().pause_writing()
        if self._pause is None:
            self._pause = self.loop.call_later(self.seconds, self._end)

    def resume_writing(self) -> None:
        """Go on writing."""
        self._resume()
        super().resume_writing()


def protocol(measures: Measures, *, seconds: float, most: int, busy: int) -> type[DeadlineProtocol]:
    """Return the protocol with its limits."""
    given = {"measures": measures, "seconds": seconds, "most": most, "busy": busy}
    return type("LimitedProtocol", (DeadlineProtocol,), given)
