"""Serving: the application on a socket until it is told to end.

The HTTP server bounds the number of connections. A proxy in front ends TLS, and refuses slow requests and long heads.
"""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from discreet.collector.app import Application
from discreet.collector.logs import write_logs
from discreet.collector.settings import Settings
from discreet.errors import ParameterError

_IDLE_SECONDS = 5
_GRACE_SECONDS = 5
_BACKLOG = 2048


def serve(settings: Settings, listener: socket.socket, *, demo: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; then take nothing more, write what waits, and return.

    Args:
        settings: of the collector.
        listener: see `bound`.
        demo: see `Application`.

    Raises:
        ParameterError: if the folder is served already.
        FailedStoreError: if its database cannot be opened.
    """
    write_logs(settings.log)
    app = Application(settings, demo=demo)
    try:
        with _quiet_signals():
            server(app).run(sockets=[listener])
    finally:
        app.close()


@contextmanager
def bound(settings: Settings) -> Iterator[socket.socket]:
    """Take the address of the settings, so that nothing is made where it cannot be had.

    Yields:
        the socket.

    Raises:
        ParameterError: if the address is not free or belongs to another machine.
    """
    host, port = settings.address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = error.strerror or error
        raise ParameterError("listen.not-free", argument="listen", listen=settings.listen, reason=reason) from None
    with listener:
        yield listener


class _Server(uvicorn.Server):
    """A server that waits for no sealing when it is to end."""

    def __init__(self, config: uvicorn.Config, app: Application) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._app.end_jobs()
        super().handle_exit(sig, frame)


def server(app: Application) -> uvicorn.Server:
    """Return the server of an application."""
    host, port = app.settings.address
    config: dict[str, Any] = {
        "host": host,
        "port": port,
        # Four times as fast as the other protocol, which would bound the head of a request.
        "http": "httptools",
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "proxy_headers": False,
        "server_header": False,
        "limit_concurrency": app.settings.limits.connections,
        "timeout_keep_alive": _IDLE_SECONDS,
        "timeout_graceful_shutdown": _GRACE_SECONDS,
    }
    return _Server(uvicorn.Config(app, **config), app)


@contextmanager
def _quiet_signals() -> Iterator[None]:
    """Let signals end the server, and nothing else: it raises them again when it has ended, and this is the end."""
    ends = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: None) for number in ends]
    try:
        yield
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)
