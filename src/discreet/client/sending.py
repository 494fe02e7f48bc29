"""Sending: one POST for one report, to an origin of the signed document, over checked TLS; nothing is followed.

A connection carries one report and is closed, so that it ties no two together.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TypeAlias
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, ParameterError
from discreet.io.collection import is_origin
from discreet.io.envelope import MEDIA_TYPE as COLLECTION_TYPE
from discreet.io.envelope import MOST_ENVELOPE_BYTES

REPORTS = "/v1/reports"
REPORTS_TYPE = "application/vnd.discreet.reports"
LONGEST_PAUSE = 3600.0
"""Between two tries, in seconds."""

_TIMEOUT, _DEADLINE = 10.0, 60.0
_ACCEPTED = 202
_AGAIN = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Answer:
    """A collector's answer.

    Attributes:
        status: of HTTP; 0 if there was no answer.
        retry_after: seconds to wait at least; 0 if nothing is said.
    """

    status: int
    retry_after: float = 0.0

    @property
    def is_taken(self) -> bool:
        """Whether the report is safe there."""
        return self.status == _ACCEPTED

    @property
    def is_final(self) -> bool:
        """Whether the report was refused for good; whatever is no collector's word is none."""
        return 400 <= self.status < 500 and self.status not in _AGAIN


Post: TypeAlias = Callable[[str, bytes], Answer]
"""A function of an origin and a frame that delivers it."""


class FetchError(DiscreetError, RuntimeError):
    """A collection could not be fetched."""


def post(origin: str, frame: bytes) -> Answer:
    """Send a frame; whatever fails on the way is an answer with status 0."""
    with suppress(OSError, HTTPException, ssl.SSLError), _connection(origin) as connection:
        connection.request("POST", REPORTS, frame, {"Content-Type": REPORTS_TYPE})
        answer = connection.getresponse()
        return Answer(answer.status, seconds_of(answer.getheader("Retry-After"), answer.getheader("Date")))
    return Answer(0)


def fetch(address: str) -> bytes:
    """Return the envelope at an address, unchecked.

    Args:
        address: such as ``https://collect.example.org/v1/collections/habits``.

    Raises:
        ParameterError: if it is no address of an origin that devices may send to.
        FetchError: if nothing comes, or too much.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    origin = f"{parts.scheme}://{parts.netloc}"
    if not is_origin(origin) or parts.query or parts.fragment or not parts.path.isascii() or " " in parts.path:
        raise ParameterError("the address of a collection must be of https, or of this machine, without a query.")
    try:
        with _connection(origin) as connection:
            connection.request("GET", parts.path or "/", headers={"Accept": COLLECTION_TYPE})
            answer = connection.getresponse()
            return _body(answer)
    except (OSError, HTTPException) as error:
        raise FetchError(f"the collection cannot be fetched ({type(error).__name__}).") from None


def _body(answer: HTTPResponse) -> bytes:
    if answer.status != 200:
        raise FetchError(f"the collection cannot be fetched: the collector answers {answer.status}.")
    found = answer.read(MOST_ENVELOPE_BYTES + 1)
    if len(found) > MOST_ENVELOPE_BYTES:
        raise FetchError(f"the collection cannot be fetched: it is larger than {MOST_ENVELOPE_BYTES} bytes.")
    return found


@contextmanager
def _connection(origin: str) -> Iterator[HTTPConnection]:
    """Open a connection that ends by itself after a minute, however slowly the other side writes."""
    parts = urlsplit(origin)
    host = parts.hostname or ""
    made: HTTPConnection
    if parts.scheme == "https":
        made = HTTPSConnection(host, parts.port, timeout=_TIMEOUT, context=ssl.create_default_context())
    else:
        made = HTTPConnection(host, parts.port, timeout=_TIMEOUT)
    deadline = threading.Timer(_DEADLINE, _cut, [made])
    deadline.daemon = True
    try:
        made.connect()
        deadline.start()
        yield made
    finally:
        deadline.cancel()
        made.close()


def _cut(connection: HTTPConnection) -> None:
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def seconds_of(retry_after: str | None, date: str | None = None) -> float:
    """Return the seconds of a ``Retry-After``, given as a number or as a date; 0 for anything else, at most an hour.

    Args:
        retry_after: the header.
        date: the header ``Date``, so that two clocks of one machine are compared.
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), LONGEST_PAUSE)
    with suppress(ValueError, TypeError, OverflowError):
        wait = (parsedate_to_datetime(text) - parsedate_to_datetime(date or "")).total_seconds()
        return min(max(wait, 0.0), LONGEST_PAUSE)
    return 0.0


def pause(tries: int, retry_after: float, share: float) -> float:
    """Return the seconds until the next try: exponential back-off with full jitter, from one second to an hour.

    Args:
        tries: made so far, at least 1.
        retry_after: what the collector asks for, in seconds.
        share: a fresh number in 0..1.
    """
    longest = min(2.0 ** min(tries, 12), LONGEST_PAUSE)
    return max(retry_after, 1 + share * (longest - 1))
