"""Refusals of requests: each has a status, a code and a sentence, and quotes no part of the request."""

import json
from dataclasses import dataclass, field
from typing import Any


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


class Refused(Exception):  # noqa: N818
    """A request that is not accepted; it carries the answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
