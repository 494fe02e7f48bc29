"""Sending: one POST for one report, to an origin of the signed document; nothing is followed."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from math import isfinite
from ssl import SSLCertVerificationError
from typing import TypeAlias
from urllib.parse import urlsplit

from discreet.client.connections import connected
from discreet.client.proxies import ProxyError
from discreet.errors import DiscreetError, ParameterError
from discreet.io.collection_fields import is_origin
from discreet.io.envelope import MEDIA_TYPE as COLLECTION_TYPE
from discreet.io.envelope import MOST_ENVELOPE_BYTES

REPORTS = "/v1/reports"
REPORTS_TYPE = "application/vnd.discreet.reports"
LONGEST_PAUSE = 3600.0
"""Between two tries, in seconds."""

_ACCEPTED = 202
_AGAIN = frozenset({408, 425, 429})
# A host that can be no name is a UnicodeError.
_FAILURES = (OSError, HTTPException, UnicodeError, ProxyError)


@dataclass(frozen=True, slots=True)
class Answer:
    """A collector's answer.

    Attributes:
        status: of HTTP; 0 if there was no answer.
        retry_after: seconds to wait at least; 0 if nothing is said.
        reason: why there was none, a sentence for people that names no address; empty if there was one.

    Raises:
        ParameterError: if a status is no number below 1,000, or a wait is not one of 0 s or more.
    """

    status: int
    retry_after: float = 0.0
    reason: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Refuse what another author's delivery cannot have been told."""
        waits = isinstance(self.retry_after, int | float) and isfinite(self.retry_after) and self.retry_after >= 0
        if type(self.status) is not int or not 0 <= self.status < 1000 or not waits:
            raise ParameterError("an answer must have a status in 0..999 and seconds to wait, at least 0.")

    @property
    def is_taken(self) -> bool:
        """True if the report is safe there."""
        return self.status == _ACCEPTED

    @property
    def is_final(self) -> bool:
        """True if the report was refused for good; whatever is no collector's word is none."""
        return 400 <= self.status < 500 and self.status not in _AGAIN


Post: TypeAlias = Callable[[str, bytes], Answer]
"""A function of an origin and a frame that delivers it."""


class FetchError(DiscreetError, RuntimeError):
    """A collection could not be fetched."""


def post(origin: str, frame: bytes, proxy: str | None = None) -> Answer:
    """Send a frame; whatever fails on the way is an answer with status 0.

    Args:
        origin: of the collector.
        frame: as it is.
        proxy: see `discreet.client.proxies.checked_proxy`.
    """
    try:
        with connected(origin, proxy) as connection:
            connection.request("POST", REPORTS, frame, {"Content-Type": REPORTS_TYPE})
            answer = connection.getresponse()
            return Answer(answer.status, seconds_of(answer.getheader("Retry-After"), answer.getheader("Date")))
    except _FAILURES as error:
        return Answer(0, reason=_reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, ProxyError):
        return str(error)
    if isinstance(error, SSLCertVerificationError):
        return "the collector's certificate must be one that this system trusts, and it is not."
    return f"the collector does not answer ({type(error).__name__})."


def fetch(address: str, proxy: str | None = None) -> bytes:
    """Return the envelope at an address, unchecked.

    Args:
        address: such as ``https://collect.example.org/v1/collections/habits``.
        proxy: see `discreet.client.proxies.checked_proxy`.

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
        with connected(origin, proxy) as connection:
            connection.request("GET", parts.path or "/", headers={"Accept": COLLECTION_TYPE})
            return _body(connection.getresponse())
    except _FAILURES as error:
        raise FetchError(f"the collection cannot be fetched: {_reason(error)}") from None


def _body(answer: HTTPResponse) -> bytes:
    if answer.status != 200:
        raise FetchError(f"the collection cannot be fetched: the collector answers {answer.status}.")
    found = answer.read(MOST_ENVELOPE_BYTES + 1)
    if len(found) > MOST_ENVELOPE_BYTES:
        raise FetchError(f"the collection cannot be fetched: it is larger than {MOST_ENVELOPE_BYTES} bytes.")
    return found


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
