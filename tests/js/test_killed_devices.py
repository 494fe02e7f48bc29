"""Devices that are ended at any time: never two reports for one epoch, never a report that was not charged before.

DISCREET_KILLS says how often; a thousand take five minutes.
"""

import base64
import functools
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from discreet.device.protocol.collection import Epochs
from discreet.device.protocol.frames import head
from programs import CHROMIUM, JS, program
from signed import PUBLIC, START, envelope

KILLS = int(os.environ.get("DISCREET_KILLS", "10"))
PLAN = {"epsilon": 1.0, "domain": {"range": [0, 1000]}, "mechanism": {"name": "rr"}}
EPOCHS = Epochs(START, 60, 1_000_000)
PER_FOLDER = 25
"""Kills after which a device begins anew: what it keeps grows with every answer."""


class Collector:
    """What came from a device, and what was said of its memory."""

    def __init__(self) -> None:
        self.frames: dict[int, set[bytes]] = defaultdict(set)
        self.told: list[dict[str, Any]] = []
        self.folder: Path | None = None
        self.uncharged = 0
        self.count = 0

    def wait(self, count: int) -> None:
        """Wait until so many frames have come, or three seconds."""
        deadline = time.monotonic() + 3
        while self.count < count and time.monotonic() < deadline:
            time.sleep(0.001)

    def take(self, body: bytes) -> int:
        """Note a frame; return the status, which is not always that it was taken."""
        _, epoch, _ = head(body)
        if self.folder is not None and not _is_charged(self.folder, epoch, body):
            self.uncharged += 1
        self.frames[epoch].add(body)
        self.count += 1
        return 503 if self.count % 5 == 0 else 202


def _is_charged(folder: Path, epoch: int, body: bytes) -> bool:
    """Return whether the memory on disk holds a report, and its charge, when it comes in."""
    for _ in range(20):
        with suppress(ValueError, FileNotFoundError):
            newest = max(folder.glob("device.*.json"), key=lambda path: int(path.name.split(".")[1]))
            versions = json.loads(newest.read_text())["state"]["versions"]
            found = [one for version in versions for one in version["answers"] if one["epoch"] == epoch]
            return len(found) == 1 and found[0]["charge"] == 1 and found[0]["record"] == body[60:].hex()
    return False


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, collector: Collector, given: dict[str, Any], **more: Any) -> None:
        self.collector, self.given = collector, given
        super().__init__(*arguments, **more)

    def log_message(self, *_: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        with suppress(ConnectionError):
            super().handle_one_request()

    def do_GET(self) -> None:
        if self.path == "/given":
            self._said(200, json.dumps(self.given).encode())
        else:
            super().do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/told":
            self.collector.told.append(json.loads(body))
            self._said(200)
        elif len(body) == int(self.headers["Content-Length"]):
            self._said(self.collector.take(body))

    def _said(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def _collecting() -> Iterator[tuple[Collector, dict[str, Any], str]]:
    collector, given = Collector(), {}
    handler = functools.partial(_Handler, directory=JS, collector=collector, given=given)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        origin = f"http://127.0.0.1:{server.server_port}"
        asked = envelope(PLAN, answers="fresh", epochs=EPOCHS, lifetime=1e6, collectors=(origin,))
        given |= {"envelope": base64.b64encode(asked).decode(), "trust": base64.b64encode(PUBLIC).decode()}
        given |= {"start": START, "most": 10_000}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield collector, given, origin
        server.shutdown()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)


def _check(collector: Collector, state: dict[str, Any]) -> None:
    """Hold what came against what the device kept."""
    assert collector.uncharged == 0
    assert all(len(frames) == 1 for frames in collector.frames.values()), "two reports for one epoch"
    kept = {one["epoch"]: one for one in state["answers"]}
    assert len(kept) == len(state["answers"])
    assert state["spent"] == sum(one["charge"] for one in kept.values()) == len(kept)
    for epoch, frames in collector.frames.items():
        assert [frame[60:].hex() for frame in frames] == [kept[epoch]["record"]]


def test_node_is_ended_at_any_time(tmp_path: Path) -> None:
    chance, ended, reports = random.Random(4), 0, 0
    node = [program("node"), "--no-warnings", str(JS / "tests" / "killed_node.js")]
    while ended < KILLS:
        with _collecting() as (collector, given, _):
            asked, folder = tmp_path / f"{ended}.json", tmp_path / str(ended)
            asked.write_bytes(base64.b64decode(given["envelope"]))
            trust = base64.b64decode(given["trust"]).hex()
            collector.folder = folder

            def started(most: int, *, of: tuple[str, ...] = (str(folder), str(asked), trust)) -> Any:
                command = [*node, *of, str(START), str(most)]
                return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)

            for _ in range(min(PER_FOLDER, KILLS - ended)):
                process = started(10_000)
                # Most are ended while they answer and send, some before.
                if chance.random() < 0.9:
                    process.stdout.readline()
                collector.wait(collector.count + chance.randrange(3))
                time.sleep(chance.uniform(0, 0.05))
                _end(process)
                ended += 1
            last = started(0)
            state = json.loads(last.communicate(timeout=60)[0])
            _check(collector, state)
            reports += len(collector.frames)
    print(f"{ended} kills, {reports} reports")
    assert reports > ended / 4


def test_chromium_is_ended_at_any_time(tmp_path: Path) -> None:
    chance, kills = random.Random(5), max(1, KILLS // 50)
    command = [program("chromium"), *CHROMIUM, "--headless", "--disable-gpu", "--no-first-run"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--disable-background-networking"]
    with _collecting() as (collector, _, origin):
        for ended in range(kills + 1):
            command_line = [*command, f"{origin}/tests/killed.html"]
            output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen(command_line, start_new_session=True, **output)
            deadline = time.monotonic() + 60
            while len(collector.told) <= ended and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.3))
            _end(process)
        assert len(collector.told) == kills + 1
        before = {
            epoch for epoch in collector.frames if epoch <= max(one["epoch"] for one in collector.told[-1]["answers"])
        }
        collector.frames = {epoch: collector.frames[epoch] for epoch in before}
        _check(collector, collector.told[-1])
        print(f"{kills} kills, {len(before)} reports")
        assert before
