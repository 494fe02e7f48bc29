"""Load on a collector that runs as a process of its own: clients on loopback, as many as wanted, bounded in time."""

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.device.protocol.frames import MEDIA_TYPE

HEAD = b"POST /v1/reports HTTP/1.1\r\nHost: h\r\nContent-Type: " + MEDIA_TYPE.encode() + b"\r\nContent-Length: "
_BARE = """
import sys, uvicorn
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    while (await receive()).get("more_body", False):
        pass
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), http="httptools", loop="asyncio", ws="none", access_log=False,
            lifespan="off", log_config=None)
"""


def in_a_thread(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns, in a loop of its own: the browser of other tests keeps one in this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


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


def bare_command(port: int) -> list[str]:
    """Return the command of a bare application on the same server."""
    return [sys.executable, "-c", _BARE, str(port)]


def fresh(sent: bytes) -> bytes:
    """Return a frame with another first id, so that it is a new one."""
    return sent[:44] + os.urandom(16) + sent[60:]


@dataclass
class Tally:
    """What clients saw."""

    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    unanswered: int = 0


class _Client(asyncio.Protocol):
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
    """Clients that send frames for some seconds.

    Args:
        port: of the server.
        frames: templates; each is sent with a fresh id.
        clients: connections at once.
        pause: seconds between an answer and the next request of a client.
    """

    def __init__(
        self,
        port: int,
        frames: list[bytes],
        *,
        clients: int = 32,
        pause: float = 0.0,
    ) -> None:
        self._port, self._frames, self._clients = port, frames, clients
        self._random = random.Random(1)
        self._waiting: list[bytes] = []
        self._open = 0
        self.running = True
        self.pause = pause
        self.seen = Tally()

    def next(self) -> bytes:
        """Return the next frame: one without an answer first, as a device does."""
        if self._waiting:
            return self._waiting.pop()
        return fresh(self._random.choice(self._frames))

    def answered(self, client: _Client, status: int, seconds: float) -> None:
        """Note an answer."""
        self.seen.statuses[status] = self.seen.statuses.get(status, 0) + 1
        self.seen.latencies.append(seconds)
        if status != 202:
            self._waiting.append(client.sent)
        client.sent = b""

    def lost(self, client: _Client) -> None:
        """Note a connection that has ended, perhaps before its answer."""
        self._open -= 1
        if client.sent:
            self.seen.unanswered += 1
            self._waiting.append(client.sent)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        while self.running:
            while self._open < self._clients and self.running:
                try:
                    self._open += 1
                    await loop.create_connection(lambda: _Client(self), "127.0.0.1", self._port)
                except OSError:
                    self._open -= 1
                    break
            await asyncio.sleep(0.02)

    async def run(self, seconds: float) -> Tally:
        """Send for some seconds."""
        began = time.perf_counter()
        connecting = asyncio.create_task(self._connect())
        await asyncio.sleep(seconds)
        self.seen.seconds = time.perf_counter() - began
        self.running = False
        await connecting
        end = time.perf_counter() + 5
        while self._open > 0 and time.perf_counter() < end:
            await asyncio.sleep(0.01)
        return self.seen


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def rss_bytes(pid: int, what: str = "VmRSS") -> int:
    """Return the memory of a process, or what it was at most (``VmHWM``)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024


def quantile(numbers: list[float], share: float) -> float:
    """Return a quantile."""
    ordered = sorted(numbers)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def rate(port: int, sent: list[bytes], seconds: float, clients: int) -> tuple[float, float]:
    """Return requests a second and the 99% quantile of the seconds of one."""
    count, took, tail = answered(port, sent, seconds, clients)
    return count / took, tail


def answered(
    port: int, sent: list[bytes], seconds: float, clients: int, *, pause: float = 0.0, tail: float = 0.99
) -> tuple[int, float, float]:
    """Return requests, seconds and a quantile of the seconds of one, seen from a process of its own; see `Load`."""
    given = {"port": port, "frames": [one.hex() for one in sent], "clients": clients, "pause": pause}
    command = [sys.executable, __file__, str(seconds), str(tail)]
    done = subprocess.run(command, input=json.dumps(given).encode(), capture_output=True, check=True)
    said = json.loads(done.stdout)
    assert set(said["statuses"]) == {"202"}, said["statuses"]
    return said["statuses"]["202"], said["seconds"], said["tail"]


def _main() -> None:
    given, (seconds, tail) = json.load(sys.stdin), map(float, sys.argv[1:])
    seen = in_a_thread(Load(**{**given, "frames": [bytes.fromhex(one) for one in given["frames"]]}).run(seconds))
    said = {"statuses": seen.statuses, "seconds": seen.seconds, "tail": quantile(seen.latencies, tail)}
    print(json.dumps(said))


if __name__ == "__main__":
    _main()
