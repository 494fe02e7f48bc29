"""The server: the application on a socket, until it is told to end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from discreet.collector.app import Application, application
from discreet.collector.logs import write_logs
from discreet.collector.protocol import protocol
from discreet.collector.settings import Settings

_IDLE_SECONDS = 5
_GRACE_SECONDS = 5
_BACKLOG = 2048


def serve(settings: Settings, *, demo: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; then take nothing more, write what waits, and return.

    Raises:
        ParameterError: if the folder is served already.
        StoreError: if its database cannot be opened.
    """
    write_logs(settings.log)
    app = application(settings, demo=demo)
    try:
        with _quiet_signals():
            server(app).run()
    finally:
        app.close()


def server(app: Application, **options: Any) -> uvicorn.Server:
    """Return the server of an application, with its deadlines and limits."""
    settings = app.settings
    host, port = settings.address
    limits = settings.limits
    limited = protocol(app.measures, seconds=limits.seconds, most=limits.connections, busy=limits.requests)
    tls = {} if settings.tls is None else {"ssl_certfile": settings.tls.certificate, "ssl_keyfile": settings.tls.key}
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "http": limited,
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
    return uvicorn.Server(uvicorn.Config(app, **{**given, **tls, **options}))


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
