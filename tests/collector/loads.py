"""Load on a collector that runs as a process of its own: clients on loopback, as many as wanted, bounded in time."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.device.protocol.frames import MEDIA_TYPE

HEAD = b"POST /v1/reports HTTP/1.1\r\nHost: h\r\nContent-Type: " + MEDIA_TYPE.encode() + b"\r\nContent-Length: "


def free_port() -> int:
    """Return a port of loopback that nobody uses now, and that the system hands out to nobody else."""
    found = socket.socket()
    # Bound as long as this process lives, and listened to by nobody: a server may bind it as well.
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind(("127.0.0.1", 0))
    port = int(found.getsockname()[1])
    found.detach()
    return port


@contextmanager
def process(command: list[str], port: int, **given: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the body ends; it answers when the body begins."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, **{"stderr": subprocess.DEVNULL, **given})
    try:
        wait_for(port, running)
        yield running
    finally:
        running.terminate()
        try:
            running.wait(15)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def wait_for(port: int, running: Any, seconds: float = 60.0) -> None:
    """Wait until a server takes connections, whichever library of Python started its process."""
    ended = running.poll if isinstance(running, subprocess.Popen) else lambda: running.exitcode
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert ended() is None, "the server has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server does not answer")


def collector_command(folder: Path, port: int, *more: str) -> list[str]:
    """Return the command of a collector."""
    return [sys.executable, "-m", "discreet", "serve", "--data", str(folder), "--listen", f"127.0.0.1:{port}", *more]


def environment(**settings: Any) -> dict[str, str]:
    """Return an environment with settings of a collector."""
    said = {f"DISCREET_COLLECTOR_{name.upper()}": str(setting) for name, setting in settings.items()}
    return {**os.environ, "DISCREET_COLLECTOR_LIMITS__RATE": "0", **said}


class Client(asyncio.Protocol):
    """A client that sends one request after the other on one connection."""

    def __init__(self, load: "Load") -> None:
        self._load = load
        self._got = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self.sent = self._load.next()
        self._began = time.perf_counter()
        self._transport.write(HEAD + b"%d\r\n\r\n" % len(self.sent) + self.sent)

    def data_received(self, data: bytes) -> None:
        self._got += data
        end = self._got.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._got[:end].lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        if len(self._got) < end + 4 + length:
            return
        status, self._got = int(head[9:12]), b""
        self._load.answered(self, status, time.perf_counter() - self._began)
        asyncio.get_running_loop().call_later(self._load.pause, self._go_on)

    def _go_on(self) -> None:
        if self._transport.is_closing():
            return
        if self._load.running:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._load.lost(self)


class Load:
    """Clients that send frames as long as they may; who derives from it says which frames, and what answers mean.

    Args:
        port: of the server.
        clients: connections at once.
        pause: seconds between an answer and the next request of a client.
    """

    def __init__(self, port: int, *, clients: int = 32, pause: float = 0.0) -> None:
        self._port, self._clients, self.pause = port, clients, pause
        self._waiting: list[bytes] = []
        self._open = 0
        self.running = True

    def next(self) -> bytes:
        """Return the next frame."""
        raise NotImplementedError

    def answered(self, client: Client, status: int, seconds: float) -> None:
        """Note an answer."""
        raise NotImplementedError

    def lost(self, client: Client) -> None:
        """Note a connection that has ended, perhaps before its answer."""
        self._open -= 1
        if client.sent:
            self._waiting.append(client.sent)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        while self.running:
            while self._open < self._clients and self.running:
                try:
                    self._open += 1
                    await loop.create_connection(lambda: Client(self), "127.0.0.1", self._port)
                except OSError:
                    self._open -= 1
                    break
            await asyncio.sleep(0.02)

    async def until_ended(self) -> None:
        """Send until `running` is false, and take the answers that are on their way."""
        connecting = asyncio.create_task(self._connect())
        while self.running:
            await asyncio.sleep(0.02)
        await connecting
        end = time.monotonic() + 10
        while self._open > 0 and time.monotonic() < end:
            await asyncio.sleep(0.01)
