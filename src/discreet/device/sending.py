"""Sending and fetching: one request on a connection of its own, directly or through a proxy, and never for long.

A report is one POST to an origin of the signed document; no redirect is followed. A connection carries one request and
is closed, so that it ties no two reports together. TLS is checked.

A device asks an HTTP proxy for a tunnel to the collector (CONNECT), and speaks TLS through it: the proxy learns the
collector's name, when, and how many bytes, and no report. An address of this machine is never asked of a proxy, which
would take it for its own.
"""

import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ssl import SSLCertVerificationError
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

from discreet.device.outbox import LONGEST_PAUSE, Answer
from discreet.device.protocol.collection import LOOPBACK, USUAL_PORTS, is_origin
from discreet.device.protocol.envelope import MEDIA_TYPE as COLLECTION_TYPE
from discreet.device.protocol.envelope import MOST_ENVELOPE_BYTES
from discreet.device.protocol.frames import MEDIA_TYPE as REPORTS_TYPE
from discreet.device.protocol.frames import REPORTS
from discreet.errors import DiscreetError, ParameterError

_PORT = 80


class ProxyError(DiscreetError, RuntimeError):
    """A proxy that makes no tunnel to the collector."""


@dataclass(frozen=True, slots=True, repr=False)
class Proxy:
    """An HTTP proxy.

    Attributes:
        host: its name or address.
        port: its port.
        credentials: name and password as it takes them; empty if it asks for none.

    Example:
        >>> proxy = Proxy.parse("http://proxy.example.org:3128")
        >>> proxy.host, proxy.port
        ('proxy.example.org', 3128)
    """

    host: str
    port: int
    credentials: str

    @classmethod
    def parse(cls, address: str) -> "Proxy":
        """Return the proxy at an address.

        Raises:
            ParameterError: if it is none of an HTTP proxy; it is not quoted, as it may hold a password.
        """
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            host, port = parts.hostname, _PORT if parts.port is None else parts.port
        except (ValueError, TypeError):
            raise ParameterError("proxy.wrong-form", argument="proxy") from None
        beside = parts.path not in {"", "/"} or parts.query or parts.fragment
        if parts.scheme != "http" or not host or not address.isascii() or not address.isprintable() or beside:
            raise ParameterError("proxy.wrong-form", argument="proxy")
        return cls(host, port, _credentials(parts))


def _credentials(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")
    return f"Basic {b64encode(pair).decode()}"


def checked_proxy(proxy: object) -> str | None:
    """Return the proxy of a setting: an address, an empty text for none, or None for the system's.

    Raises:
        ParameterError: if it is none of these.
    """
    if proxy is None or proxy == "":
        return None if proxy is None else ""
    if not isinstance(proxy, str):
        raise ParameterError("proxy.wrong-form", argument="proxy")
    Proxy.parse(proxy)
    return proxy


def proxy_for(host: str, port: int, setting: str | None) -> Proxy | None:
    """Return the proxy on the way to a collector; None if there is none.

    Args:
        host: of the collector.
        port: of the collector.
        setting: see `checked_proxy`; the system says it by ``HTTPS_PROXY`` (or ``ALL_PROXY``) and ``NO_PROXY``, or by
            its settings where it has some.

    Raises:
        ProxyError: if the system names one that a device cannot use; nothing is sent past it.
    """
    if host in LOOPBACK:
        return None
    if setting is not None:
        return Proxy.parse(setting) if setting else None
    # It is dear to import.
    from urllib.request import getproxies, proxy_bypass

    systems = getproxies()
    address = systems.get("https", systems.get("all", ""))
    if not address or proxy_bypass(f"{host}:{port}"):
        return None
    try:
        return Proxy.parse(address)
    except ParameterError:
        raise ProxyError("proxy.wrong-setting") from None


_TIMEOUT, DEADLINE = 10.0, 60.0


@contextmanager
def connected(origin: str, proxy: str | None) -> Iterator[HTTPConnection]:
    """Open a connection that ends by itself after a minute, however slowly the other side writes.

    Args:
        origin: of the collector.
        proxy: see `discreet.device.sending.checked_proxy`.

    Raises:
        ProxyError: if a proxy makes no tunnel.
        OSError: if the collector cannot be reached, or its certificate is not trusted.
        UnicodeError: if the host can be no name.
    """
    parts = urlsplit(origin)
    host, port = parts.hostname or "", USUAL_PORTS[parts.scheme] if parts.port is None else parts.port
    through = proxy_for(host, port, proxy)
    context = ssl.create_default_context() if parts.scheme == "https" else None
    # With a port always: without one, the last part of an address of IPv6 would be taken for it.
    connection = HTTPConnection(host, port) if context is None else HTTPSConnection(host, port, context=context)
    with closing(connection), _dialled(host, port, through) as dialled:
        if through is not None:
            _ask_for_tunnel(dialled, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", through)
        connection.sock = dialled if context is None else context.wrap_socket(dialled, server_hostname=host)
        yield connection


@contextmanager
def _dialled(host: str, port: int, through: Proxy | None) -> Iterator[socket.socket]:
    """Open a socket, and cut it when its time is over, whatever it is wrapped in by then."""
    try:
        dialled = socket.create_connection((through.host, through.port) if through else (host, port), _TIMEOUT)
    except (OSError, UnicodeError) as error:
        if through is None:
            raise
        raise ProxyError("proxy.unreachable", kind=type(error).__name__) from None
    # Head and body of a request are two writes; the second need not wait for an acknowledgement of the first.
    dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with closing(dialled), dialled.dup() as same:
        deadline = threading.Timer(DEADLINE, _cut, [same])
        deadline.daemon = True
        deadline.start()
        try:
            yield dialled
        finally:
            deadline.cancel()
            deadline.join()


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _ask_for_tunnel(dialled: socket.socket, target: str, proxy: Proxy) -> None:
    """Let a proxy connect to a collector; nothing is said but where to, and who asks if the proxy wants it."""
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    lines += [f"Proxy-Authorization: {proxy.credentials}"] if proxy.credentials else []
    try:
        dialled.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        with closing(HTTPResponse(dialled, method="CONNECT")) as answer:
            answer.begin()
            status = answer.status
    except (OSError, HTTPException) as error:
        raise ProxyError("proxy.no-answer", kind=type(error).__name__) from None
    if status == 407:
        raise ProxyError("proxy.wrong-password")
    if not 200 <= status < 300:
        raise ProxyError("proxy.no-tunnel", status=status)


# A host that can be no name is a UnicodeError.
_FAILURES = (OSError, HTTPException, UnicodeError, ProxyError)


class FetchError(DiscreetError, RuntimeError):
    """A collection could not be fetched."""


def post(origin: str, frame: bytes, proxy: str | None = None) -> Answer:
    """Send a frame; whatever fails on the way is an answer with status 0.

    Args:
        origin: of the collector.
        frame: as it is.
        proxy: see `discreet.device.sending.checked_proxy`.
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
        return error.sentence()
    if isinstance(error, SSLCertVerificationError):
        return "This system does not trust the collector's certificate."
    return f"The collector does not answer ({type(error).__name__})."


def fetch(address: str, proxy: str | None = None) -> bytes:
    """Return the envelope, or the proof of a public log, at an address, unchecked.

    Args:
        address: such as ``https://collect.example.org/v1/collections/habits``.
        proxy: see `discreet.device.sending.checked_proxy`.

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
        raise ParameterError("address.wrong-form", argument="address")
    try:
        with connected(origin, proxy) as connection:
            connection.request("GET", parts.path or "/", headers={"Accept": COLLECTION_TYPE})
            return _body(connection.getresponse())
    except _FAILURES as error:
        raise FetchError("address.unreachable", reason=_reason(error)) from None


def _body(answer: HTTPResponse) -> bytes:
    if answer.status != 200:
        raise FetchError("address.wrong-status", status=answer.status)
    envelope = answer.read(MOST_ENVELOPE_BYTES + 1)
    if len(envelope) > MOST_ENVELOPE_BYTES:
        raise FetchError("address.too-much", most=MOST_ENVELOPE_BYTES)
    return envelope


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
