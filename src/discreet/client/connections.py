"""Connections: to a collector, or through a proxy's tunnel to it, over checked TLS, and never for long.

A connection carries one request and is closed, so that it ties no two reports together.
"""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from discreet.client.proxies import Proxy, ProxyError, proxy_for
from discreet.io.collection_fields import USUAL_PORTS

_TIMEOUT, _DEADLINE = 10.0, 60.0


@contextmanager
def connected(origin: str, proxy: str | None) -> Iterator[HTTPConnection]:
    """Open a connection that ends by itself after a minute, however slowly the other side writes.

    Args:
        origin: of the collector.
        proxy: see `discreet.client.proxies.checked_proxy`.

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
    made = HTTPConnection(host, port) if context is None else HTTPSConnection(host, port, context=context)
    with closing(made), _dialled(host, port, through) as dialled:
        if through is not None:
            _ask_for_tunnel(dialled, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", through)
        made.sock = dialled if context is None else context.wrap_socket(dialled, server_hostname=host)
        yield made


@contextmanager
def _dialled(host: str, port: int, through: Proxy | None) -> Iterator[socket.socket]:
    """Open a socket, and cut it when its time is over, whatever it is wrapped in by then."""
    try:
        dialled = socket.create_connection((through.host, through.port) if through else (host, port), _TIMEOUT)
    except (OSError, UnicodeError) as error:
        if through is None:
            raise
        raise ProxyError(f"the proxy must be there, and cannot be reached ({type(error).__name__}).") from None
    # Head and body of a request are two writes; the second need not wait for an acknowledgement of the first.
    dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with closing(dialled), dialled.dup() as same:
        deadline = threading.Timer(_DEADLINE, _cut, [same])
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
        raise ProxyError(
            f"the proxy must connect to the collector, and gives no answer of HTTP ({type(error).__name__})."
        ) from None
    if status == 407:
        raise ProxyError(
            "the proxy asks for a name and a password (407), or for others; give them as http://NAME:PASSWORD@HOST:PORT."
        )
    if not 200 <= status < 300:
        raise ProxyError(f"the proxy must connect to the collector, and answers {status}.")
