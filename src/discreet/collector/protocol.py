"""HTTP with deadlines and limits: what the server leaves to others, so that nobody is held up by who is slow."""

import asyncio
from contextlib import suppress
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.collector.delivery import Delivery
from discreet.collector.intake import REPORTS, Answering, Intake, Refused, checked_headers
from discreet.collector.measures import Measures
from discreet.collector.refusals import BUSY, RATE, Refusal

_REPORTS = REPORTS.encode()
_LONGEST_HEAD = 1 << 14
_MOST_HEADERS = 64
_PIPELINED = Refusal(400, "pipelined", "a request must wait for the answer to the one before it.")
_LONG = Refusal(431, "headers", f"a request must have at most {_MOST_HEADERS} headers of {_LONGEST_HEAD} bytes in all.")


class DeadlineProtocol(HttpToolsProtocol):
    """The server's protocol with deadlines, and limits of heads, connections and requests.

    A connection is ended without an answer where a request is not whole in time, or its answer is not taken in time.

    Attributes:
        seconds: within which a request must be whole, and a piece of an answer taken.
        most: connections at once.
        busy: requests at once.
        intake: takes frames of reports without the application; None for none.
        deliveries: such frames that are on their way.
        measures: what is counted.
    """

    seconds = 10.0
    most = 2000
    busy = 1000
    intake: Intake | None = None
    deliveries: ClassVar[set[Delivery]] = set()
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
        if isinstance(self.cycle, Delivery):
            self.cycle.lose()
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
            self.app, self._deaf = Answering(_PIPELINED, "dropped"), True
        elif size > _LONGEST_HEAD or len(self.headers) > _MOST_HEADERS:
            self.app, self._deaf = Answering(_LONG, "dropped"), True
        elif len(self.tasks) + len(self.deliveries) >= self.busy:
            self.app = Answering(BUSY, "dropped")
        elif self._delivers():
            return
        try:
            super().on_headers_complete()
        finally:
            self.app = usual

    def _delivers(self) -> bool:
        """Begin the usual request, a frame of reports; leave all else to the application, and what is wrong too."""
        if self.intake is None or self.url != _REPORTS or self.parser.get_method() != b"POST":
            return False
        if self.expect_100_continue or not self.parser.should_keep_alive() or self.parser.should_upgrade():
            return False
        with suppress(Refused):
            as_json, length = checked_headers(self.headers)
            if length and not as_json:
                return self._begin_delivery(self.intake)
        return False

    def _begin_delivery(self, intake: Intake) -> bool:
        if not intake.allows(self.client[0] if self.client else ""):
            self.measures.requests[RATE.status] += 1
            self.app = Answering(RATE, "read")
            return False
        self.scope["method"] = "POST"
        self.cycle = Delivery(
            intake,
            self.deliveries,
            self._start_asgi_task,
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )
        return True

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        if self._deaf:
            return
        if isinstance(self.cycle, Delivery):
            self.cycle.add(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        if self._deaf:
            return
        self._disarm()
        self._in_head, self._head, self._ended = True, 0, True
        if isinstance(self.cycle, Delivery):
            self.cycle.end()
        else:
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


def protocol(
    measures: Measures, intake: Intake | None = None, *, seconds: float, most: int, busy: int
) -> type[DeadlineProtocol]:
    """Return the protocol with its limits, and the intake that takes frames of reports."""
    given: dict[str, Any] = {"measures": measures, "intake": intake, "deliveries": set()}
    given |= {"seconds": seconds, "most": most, "busy": busy}
    return type("LimitedProtocol", (DeadlineProtocol,), given)
