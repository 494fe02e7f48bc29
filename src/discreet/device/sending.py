"""A device's requests. Each request has a new connection, directly or through a proxy, and a time limit.

A report is one POST to an origin of the signed document; no redirect is followed. A connection carries one request and
is closed, so that it links no two reports. TLS certificates are checked.

A device asks an HTTP proxy for a tunnel to the collector (CONNECT), and uses TLS through the tunnel. So the proxy
learns the collector's name, the time and the number of bytes, but no report. Addresses of this machine never go to a
proxy, which would take them for its own.
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
    """Raised if the proxy cannot be used, or does not connect to the collector."""


@dataclass(frozen=True, slots=True, repr=False)
class Proxy:
    """An HTTP proxy.

    Attributes:
        host: the proxy's host name or address.
        port: the proxy's port.
        credentials: the value of the header with user name and password; empty without them.

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
        """Parse the address of a proxy, and return the proxy.

        Raises:
            ParameterError: if this is not the address of an HTTP proxy. The message does not quote it.
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
    """Check the setting of a proxy: an address, an empty text for no proxy, or None for the system's proxy.

    Raises:
        ParameterError: if the setting has another form.
    """
    if proxy is None or proxy == "":
        return None if proxy is None else ""
    if not isinstance(proxy, str):
        raise ParameterError("proxy.wrong-form", argument="proxy")
    Proxy.parse(proxy)
    return proxy


def proxy_for(host: str, port: int, setting: str | None) -> Proxy | None:
    """Return the proxy for a collector; None for a direct connection.

    Args:
        host: the collector's host name.
        port: the collector's port.
        setting: see `checked_proxy`. The system's proxy is in ``HTTPS_PROXY`` (or ``ALL_PROXY``) and ``NO_PROXY``, or
            in its network settings.

    Raises:
        ProxyError: if a device cannot use the system's proxy; nothing is sent without it.
    """
    if host in LOOPBACK:
        return None
    if setting is not None:
        return Proxy.parse(setting) if setting else None
    # This module is slow to import.
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
    """Open a connection that ends after one minute, even if the other side writes slowly.

    Args:
        origin: of the collector.
        proxy: see `discreet.device.sending.checked_proxy`.

    Raises:
        ProxyError: if a proxy opens no tunnel.
        OSError: if the collector cannot be reached, or its certificate is not trusted.
        UnicodeError: if the host is not a valid host name.
    """
    parts = urlsplit(origin)
    host, port = parts.hostname or "", USUAL_PORTS[parts.scheme] if parts.port is None else parts.port
    through = proxy_for(host, port, proxy)
    context = ssl.create_default_context() if parts.scheme == "https" else None
    # The port is always given, because HTTPConnection would read the last part of an IPv6 address as a port.
    connection = HTTPConnection(host, port) if context is None else HTTPSConnection(host, port, context=context)
    with closing(connection), _open_socket(host, port, through) as opened:
        if through is not None:
            _ask_for_tunnel(opened, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", through)
        connection.sock = opened if context is None else context.wrap_socket(opened, server_hostname=host)
        yield connection


@contextmanager
def _open_socket(host: str, port: int, through: Proxy | None) -> Iterator[socket.socket]:
    """Open a socket that is shut down at its time limit, even while TLS waits."""
    try:
        opened = socket.create_connection((through.host, through.port) if through else (host, port), _TIMEOUT)
    except (OSError, UnicodeError) as error:
        if through is None:
            raise
        raise ProxyError("proxy.unreachable", kind=type(error).__name__) from None
    # A request's head and body are two writes; the second does not wait for the acknowledgement of the first.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with closing(opened), opened.dup() as same:
        deadline = threading.Timer(DEADLINE, _shut_down, [same])
        deadline.daemon = True
        deadline.start()
        try:
            yield opened
        finally:
            deadline.cancel()
            deadline.join()


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _ask_for_tunnel(opened: socket.socket, target: str, proxy: Proxy) -> None:
    """Ask a proxy to connect to a collector. The proxy learns only the collector's address and the credentials."""
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    lines += [f"Proxy-Authorization: {proxy.credentials}"] if proxy.credentials else []
    try:
        opened.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        with closing(HTTPResponse(opened, method="CONNECT")) as answer:
            answer.begin()
            status = answer.status
    except (OSError, HTTPException) as error:
        raise ProxyError("proxy.no-answer", kind=type(error).__name__) from None
    if status == 407:
        raise ProxyError("proxy.wrong-password")
    if not 200 <= status < 300:
        raise ProxyError("proxy.no-tunnel", status=status)


# An impossible host name raises UnicodeError.
_FAILURES = (OSError, HTTPException, UnicodeError, ProxyError)


class FetchError(DiscreetError, RuntimeError):
    """Raised if a collection could not be fetched."""


def post(origin: str, frame: bytes, proxy: str | None = None) -> Answer:
    """Send a frame, and return the collector's answer. The status is 0 if there was no answer.

    Args:
        origin: of the collector.
        frame: the bytes to send.
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
    """Fetch an envelope from an address. The bytes are not checked.

    Args:
        address: such as ``https://collect.example.org/v1/collections/habits``.
        proxy: see `discreet.device.sending.checked_proxy`.

    Raises:
        ParameterError: if devices may not use this address.
        FetchError: if there is no answer, or it is too large.
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
    """Return the seconds in a header ``Retry-After``: at most an hour, and 0 if the header is not readable.

    Args:
        retry_after: the header, a number or a date.
        date: the header ``Date``, so that both times come from one clock.
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), LONGEST_PAUSE)
    with suppress(ValueError, TypeError, OverflowError):
        wait = (parsedate_to_datetime(text) - parsedate_to_datetime(date or "")).total_seconds()
        return min(max(wait, 0.0), LONGEST_PAUSE)
    return 0.0
