"""Serving: the application on a socket until it is told to end, with deadlines and limits around the HTTP server.

The HTTP server leaves deadlines and limits of connections and requests to others. They stand around the server: bytes
pass a protocol of asyncio on their way in, requests pass an ASGI application on their way out. Each acts on what the
other learns.
"""

import asyncio
import errno
import signal
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.collector.app import Application
from discreet.collector.intake import Asgi, Message, Receive, Scope, Send, refuse
from discreet.collector.logs import Measures, write_logs
from discreet.collector.refusals import BUSY, Refusal
from discreet.collector.settings import Settings
from discreet.device.protocol.frames import LARGEST_FRAME
from discreet.errors import ParameterError

_LONGEST_HEAD = 1 << 14
_MOST_HEADERS = 64
_PIPELINED = Refusal(400, "pipelined", "a request must wait for the answer to the one before it.")
_LONG = Refusal(431, "headers", f"a request must have at most {_MOST_HEADERS} headers of {_LONGEST_HEAD} bytes in all.")
# Read at once where a request may begin: the server makes an object of each that it finds there. Of a body more.
_PIECE, _LARGEST_PIECE = 1 << 12, 1 << 18
# By it a request knows its connection: the server hands the state of the lifespan to each.
_STATE = "discreet.connection"


class Guarded:
    """An application on connections that have deadlines and limits.

    A connection is ended without an answer where a request is not whole in time, or its answer is not taken in time.

    Args:
        app: answers requests.
        measures: the counts of the collector.
        seconds: within which a request must be whole, and a piece of an answer taken.
        most: connections at once.
        busy: requests at once.
    """

    def __init__(self, app: Asgi, measures: Measures, *, seconds: float, most: int, busy: int) -> None:
        self._app, self.measures = app, measures
        self.seconds, self.most, self._busy = seconds, most, busy
        self.connections = self._requests = 0
        # What is read into it is handed on before anything else is read.
        self.buffer = memoryview(bytearray(_LARGEST_PIECE))

    @property
    def protocol(self) -> Any:
        """The maker of a connection, for the server."""
        return partial(Connection, self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it if it exceeds a limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection: Connection = scope["state"][_STATE]
        refusal = connection.begin(scope["headers"])
        size = len(scope["raw_path"]) + len(scope["query_string"])
        size += sum(len(name) + len(value) for name, value in scope["headers"])
        if refusal is None and (size > _LONGEST_HEAD or len(scope["headers"]) > _MOST_HEADERS):
            refusal = _LONG
        if refusal is None and self._requests >= self._busy:
            refusal = BUSY

        async def heard() -> Message:
            message = await receive()
            if not message.get("more_body", False):
                connection.whole()
            return message

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.measures.requests.labels(message["status"]).inc()
                if refusal is not None or not (connection.is_whole or await _drained(heard)):
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            elif not message.get("more_body", False):
                connection.end()
            await send(message)

        self._requests += 1
        try:
            await (refuse(send_on, refusal) if refusal is not None else self._app(scope, heard, send_on))
        finally:
            self._requests -= 1


async def _drained(receive: Receive) -> bool:
    """Read the rest of a request that is answered already, so that its sender reads this; false if there is much."""
    size = 0
    while size <= 2 * LARGEST_FRAME:
        message = await receive()
        if not message.get("more_body", False):
            return True
        size += len(message.get("body", b""))
    return False


class Connection(asyncio.BufferedProtocol):
    """A connection: bytes on their way to the server's protocol.

    Args:
        guarded: the application, with its limits.
        app_state: of the application's lifespan.
        given: what the server's protocol is made of.
    """

    def __init__(self, guarded: Guarded, *, app_state: dict[str, Any], **given: Any) -> None:
        self._state = {**app_state, _STATE: self}
        self._guarded, self._inner = guarded, HttpToolsProtocol(**given, app_state=self._state)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._due: float | None = None
        self._head = self._room = 0
        self._asked = self._fresh = self._counted = False
        self.is_whole = True

    def connection_made(self, transport: Any) -> None:
        """Begin a connection, unless there are too many."""
        self._transport = transport
        if self._guarded.connections >= self._guarded.most:
            self._guarded.measures.connections_refused.inc()
            transport.abort()
            return
        self._counted = True
        self._guarded.connections += 1
        self._inner.connection_made(transport)
        # Whatever is not taken at once is waited for, and not for ever: of TLS that may be part of its handshake.
        transport.set_write_buffer_limits(high=1, low=0)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        for timer in (self._timer, self._pause):
            if timer is not None:
                timer.cancel()
        self._state.clear()
        if self._counted:
            self._guarded.connections -= 1
            self._inner.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the room that bytes are read to: little where a request may begin."""
        return self._guarded.buffer[: min(max(_PIECE, self._room), _LARGEST_PIECE)]

    def buffer_updated(self, nbytes: int) -> None:
        """Take bytes; from the first one of a request its deadline runs."""
        if self._transport.is_closing():
            return
        self._room -= min(nbytes, self._room)
        if not self._asked:
            self._fresh = True
            if self._due is None:
                self._arm()
            if self._head > _LONGEST_HEAD:
                # Its head would have been seen by now if it were whole.
                self._refuse(_LONG)
                return
            self._head += nbytes
        self._inner.data_received(bytes(self._guarded.buffer[:nbytes]))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer an incomplete request, and end the connection."""
        head = b"".join(name + b": " + value + b"\r\n" for name, value in refusal.headers)
        line = f"HTTP/1.1 {refusal.status} Refused\r\n".encode()
        self._guarded.measures.requests.labels(refusal.status).inc()
        self._transport.write(line + head + b"connection: close\r\n\r\n" + refusal.body)
        self._transport.close()

    def begin(self, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
        """Note that a head is whole; return a refusal if it did not wait for the answer to the request before."""
        waited, self._fresh, self._asked, self._head = self._fresh, False, True, 0
        lengths = [value for name, value in headers if name == b"content-length"]
        self._room = int(lengths[0]) if lengths else 0
        self.is_whole = not self._room and not any(name == b"transfer-encoding" for name, _ in headers)
        if self.is_whole:
            self._due = None
        return None if waited else _PIPELINED

    def whole(self) -> None:
        """Note that a request is whole."""
        self.is_whole, self._due, self._room = True, None, 0

    def end(self) -> None:
        """Note that a request is answered."""
        self._asked = False

    def _arm(self) -> None:
        """Let the deadline run; a timer for each request would be dear."""
        self._due = self._loop.time() + self._guarded.seconds
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        """End a connection whose deadline has passed; look again when the one that runs now will have."""
        self._timer = None
        if self._due is None:
            return
        if self._due <= self._loop.time():
            self._abort()
        else:
            self._timer = self._loop.call_at(self._due, self._look)

    def _abort(self) -> None:
        self._guarded.measures.connections_ended.inc()
        self._transport.abort()

    def eof_received(self) -> None:
        """Note that the other side sends no more."""
        self._inner.eof_received()

    def pause_writing(self) -> None:
        """Wait for whoever does not take the answer, but not for ever."""
        self._inner.pause_writing()
        if self._pause is None:
            self._pause = self._loop.call_later(self._guarded.seconds, self._abort)

    def resume_writing(self) -> None:
        """Go on writing."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._inner.resume_writing()


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
    app = Application(settings, demo=demo)
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
        ParameterError: if the address is not free or belongs to another machine, or the files of ``tls`` are wrong.
    """
    _check_tls(settings)
    host, port = settings.address
    with ExitStack() as stack:
        sockets, lacking = [], None
        try:
            for family, *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE):
                try:
                    sockets.append(stack.enter_context(_listener(family, address)))
                except OSError as error:
                    # A name may have addresses of a kind that this machine has not, as localhost in many containers.
                    if error.errno not in _LACKING:
                        raise
                    lacking = error
            if lacking is not None and not sockets:
                raise lacking
        except OSError as error:
            raise ParameterError(
                "listen.not-free", argument="listen", listen=settings.listen, reason=error.strerror or error
            ) from None
        yield sockets


def _listener(family: int, address: Any) -> socket.socket:
    """Return a socket that has an address."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _check_tls(settings: Settings) -> None:
    if (tls := settings.tls) is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key)
    except OSError as error:
        raise ParameterError(
            "tls.wrong-files", argument="tls", certificate=tls.certificate, key=tls.key, reason=type(error).__name__
        ) from None


class _Server(uvicorn.Server):
    """A server that waits for no sealing when it is to end."""

    def __init__(self, config: uvicorn.Config, app: Application) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._app.end_jobs()
        super().handle_exit(sig, frame)


def server(app: Application, **options: Any) -> uvicorn.Server:
    """Return the server of an application, with its deadlines and limits."""
    settings = app.settings
    host, port = settings.address
    limits = settings.limits
    guarded = Guarded(app, app.measures, seconds=limits.seconds, most=limits.connections, busy=limits.requests)
    tls = {} if settings.tls is None else {"ssl_certfile": settings.tls.certificate, "ssl_keyfile": settings.tls.key}
    config: dict[str, Any] = {
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
    return _Server(uvicorn.Config(guarded, **{**config, **tls, **options}), app)


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
