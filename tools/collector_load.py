"""Load for measuring a collector: a bare application beside it, clients in their own process, and their figures."""

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "collector"))

from loads import Client, Load

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
    """Return the result of a coroutine, run in a loop of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def bare_command(port: int) -> list[str]:
    """Return the command of a bare application on the same server."""
    return [sys.executable, "-c", _BARE, str(port)]


def fresh(sent: bytes) -> bytes:
    """Return a frame with another first id, so that it is a new one."""
    return sent[:44] + os.urandom(16) + sent[60:]


@dataclass
class Tally:
    """The statuses and times that clients saw."""

    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)


class Templates(Load):
    """Clients that send frames for some seconds, each template with a fresh id.

    Args:
        port: of the server.
        frames: templates.
        clients: connections at once.
        pause: seconds between an answer and the next request of a client.
    """

    def __init__(self, port: int, frames: list[bytes], **named: Any) -> None:
        super().__init__(port, **named)
        self._frames, self._random, self.seen = frames, random.Random(1), Tally()

    def next(self) -> bytes:
        """Return the next frame: one without an answer first, as a device does."""
        return self._waiting.pop() if self._waiting else fresh(self._random.choice(self._frames))

    def answered(self, client: Client, status: int, seconds: float) -> None:
        """Note an answer."""
        self.seen.statuses[status] = self.seen.statuses.get(status, 0) + 1
        self.seen.latencies.append(seconds)
        if status != 202:
            self._waiting.append(client.sent)
        client.sent = b""

    async def run(self, seconds: float) -> Tally:
        """Send for some seconds."""
        began, sending = time.perf_counter(), asyncio.create_task(self.until_ended())
        await asyncio.sleep(seconds)
        self.seen.seconds = time.perf_counter() - began
        self.running = False
        await sending
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
    seen = in_a_thread(Templates(**{**given, "frames": [bytes.fromhex(one) for one in given["frames"]]}).run(seconds))
    said = {"statuses": seen.statuses, "seconds": seen.seconds, "tail": quantile(seen.latencies, tail)}
    print(json.dumps(said))


if __name__ == "__main__":
    _main()
