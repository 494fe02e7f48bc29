"""The server: the application on a socket, until it is told to end."""

import errno
import signal
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn

from discreet.collector.app import Application, application
from discreet.collector.logs import write_logs
from discreet.collector.protocol import Guarded
from discreet.collector.settings import Settings
from discreet.errors import ParameterError

_IDLE_SECONDS = 5
_GRACE_SECONDS = 5
_BACKLOG = 2048
_LACKING = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def serve(settings: Settings, sockets: Sequence[socket.socket], *, demo: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; then take nothing more, write what waits, and return.

    Args:
        settings: of the collector.
        sockets: see `bound`.
        demo: see `Application`.

    Raises:
        ParameterError: if the folder is served already.
        FailedStoreError: if its database cannot be opened.
    """
    write_logs(settings.log)
    app = application(settings, demo=demo)
    try:
        with _quiet_signals():
            server(app).run(sockets=list(sockets))
    finally:
        app.close()


@contextmanager
def bound(settings: Settings) -> Iterator[list[socket.socket]]:
    """Take the address of the settings, so that nothing is made where it cannot be had.

    Yields:
        sockets, one for each kind of address that a name has.

    Raises:
        ParameterError: if it is none of this machine's, or not free; or the files of ``tls`` cannot be used.
    """
    _check_tls(settings)
    host, port = settings.address
    with ExitStack() as made:
        sockets, lacking = [], None
        try:
            for family, *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE):
                try:
                    sockets.append(made.enter_context(_listener(family, address)))
                except OSError as error:
                    # A name may have addresses of a kind that this machine has not, as localhost in many containers.
                    if error.errno not in _LACKING:
                        raise
                    lacking = error
            if lacking is not None and not sockets:
                raise lacking
        except OSError as error:
            raise ParameterError(
                f"listen must be an address of this machine and a port that is free, got {settings.listen} "
                f"({error.strerror or type(error).__name__}); end what is there, or choose another with --listen."
            ) from None
        yield sockets


def _listener(family: int, address: Any) -> socket.socket:
    """Return a socket that has an address."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def _check_tls(settings: Settings) -> None:
    if (tls := settings.tls) is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key)
    except OSError as error:
        raise ParameterError(
            f"tls must name a certificate and its key, files of PEM that can be read, got {tls.certificate} and "
            f"{tls.key} ({type(error).__name__})."
        ) from None


def server(app: Application, **options: Any) -> uvicorn.Server:
    """Return the server of an application, with its deadlines and limits."""
    settings = app.settings
    host, port = settings.address
    limits = settings.limits
    guarded = Guarded(app, app.measures, seconds=limits.seconds, most=limits.connections, busy=limits.requests)
    tls = {} if settings.tls is None else {"ssl_certfile": settings.tls.certificate, "ssl_keyfile": settings.tls.key}
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "http": guarded.protocol,
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "proxy_headers": False,
        "server_header": False,
        "backlog": _BACKLOG,
        "timeout_keep_alive": _IDLE_SECONDS,
        "timeout_graceful_shutdown": _GRACE_SECONDS,
    }
    return uvicorn.Server(uvicorn.Config(guarded, **{**given, **tls, **options}))


@contextmanager
def _quiet_signals() -> Iterator[None]:
    """Let signals end the server, and nothing else: it raises them again when it has ended, and this is the end."""
    ends = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(one, lambda *_: None) for one in ends]
    try:
        yield
    finally:
        for one, handler in zip(ends, before, strict=True):
            signal.signal(one, handler)
