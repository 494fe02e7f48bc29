"""A request with a frame of reports, without a task of its own: from its bytes to its answer nothing is awaited."""

from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from discreet.collector.intake import STORED_HEADERS, Answering, Intake, Refused
from discreet.collector.refusals import Refusal

_LINE = b"HTTP/1.1 202 Accepted\r\n"
_END = b"".join(name + b": " + value + b"\r\n" for name, value in STORED_HEADERS) + b"\r\n"


class Delivery(RequestResponseCycle):
    """A request that carries a frame, from its head to its answer.

    Args:
        intake: takes the frame.
        others: those under way; this one is among them until it is answered or lost.
        answer_by: has an application answer a request.
        given: see the server's class.
    """

    def __init__(
        self, intake: Intake, others: "set[Delivery]", answer_by: Callable[[Any, Any], None], **given: Any
    ) -> None:
        super().__init__(**given)
        self._intake, self._others, self._answer_by = intake, others, answer_by
        self._parts: list[bytes] = []
        others.add(self)

    def add(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._parts.append(body)

    def end(self) -> None:
        """Hand the frame over: it is whole."""
        self.more_body = False
        parts, self._parts = self._parts, []
        try:
            self._intake.take(parts[0] if len(parts) == 1 else b"".join(parts), self.answer)
        except Refused as error:
            self.answer(error.refusal)

    def lose(self) -> None:
        """End without an answer if the frame is not whole; one that is gets its outcome, which nobody reads."""
        if self.more_body:
            self._others.discard(self)

    def answer(self, refusal: Refusal | None) -> None:
        """Write the answer."""
        self._others.discard(self)
        if self.disconnected:
            return
        self._intake.measures.requests[202 if refusal is None else refusal.status] += 1
        if refusal is None and self.keep_alive:
            date = b"".join(name + b": " + value + b"\r\n" for name, value in self.default_headers)
            self.transport.write(_LINE + date + _END)
            self.response_started = self.response_complete = True
            self.on_response()
        else:
            self._answer_by(self, Answering(refusal))
