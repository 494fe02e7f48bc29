"""Collectors for tests: a folder with signed collections, frames, a server on loopback, and plain requests to it."""

import http.client
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.collector.adding import add
from discreet.collector.app import Application
from discreet.collector.catalogue import Entry
from discreet.collector.folder import DataFolder
from discreet.collector.frame_checks import Submission
from discreet.collector.serving import server
from discreet.collector.settings import ServiceLimits, Settings
from discreet.collector.sqlite import SqliteStore
from discreet.collector.store import FrameRow
from discreet.core.random import SeededRandom
from discreet.errors import DataError
from discreet.io.collection_fields import Epochs
from discreet.io.frames import MEDIA_TYPE, Frame, head
from signed import PLAIN, PUBLIC, envelope

EPOCH = 3600
EASY = ServiceLimits(rate=0, burst=1)
PLANS: dict[str, dict[str, Any]] = {
    "rr": PLAIN,
    "unary": {**PLAIN, "mechanism": {"name": "unary"}},
    "unary-clear-bits": {**PLAIN, "mechanism": {"name": "unary", "clear_bits": True}},
    "subset": {"epsilon": 1.0, "domain": {"range": [0, 40]}, "mechanism": {"name": "subset", "k": 7}},
    "hashing": {"epsilon": 1.0, "domain": {"range": [0, 300]}, "mechanism": {"name": "hashing"}},
    "hadamard": {"epsilon": 1.0, "domain": {"range": [0, 30]}, "mechanism": {"name": "hadamard"}},
}


def current(**changes: Any) -> Epochs:
    """Return three epochs of an hour, of which the second runs."""
    start = int(time.time()) - EPOCH - EPOCH // 2
    return Epochs(**{"start": start, "seconds": EPOCH, "count": 3, **changes})


@contextmanager
def stored(folder: Path) -> Iterator[SqliteStore]:
    """Open the store of a folder."""
    store = SqliteStore(DataFolder(folder).database)
    try:
        yield store
    finally:
        store.close()


def added(folder: Path, plan: str | Mapping[str, Any] = "rr", *, version: int = 1, **terms: Any) -> Entry:
    """Add a collection to a folder."""
    said = {"epochs": current(), "late": EPOCH // 4, "least": 50, **terms}
    signed = envelope(PLANS[plan] if isinstance(plan, str) else plan, version=version, **said)
    return added_envelope(folder, signed)


def added_envelope(folder: Path, signed: bytes) -> Entry:
    """Add an envelope to a folder."""
    with stored(folder) as store:
        return Entry.of(add(store, signed, [PUBLIC], actor="test")[0])


def records(entry: Entry, n: int, seed: int = 1) -> np.ndarray:
    """Return n records, drawn from a seed."""
    codes = np.arange(n, dtype=np.int64) % entry.mechanism.domain.size
    return entry.codec.encode(entry.mechanism.obfuscate_codes(codes, random=SeededRandom(seed)))


def ids(n: int) -> np.ndarray:
    """Return n random ids."""
    return np.frombuffer(os.urandom(16 * n), dtype=np.uint8).reshape(n, 16)


def frame(entry: Entry, n: int = 1, *, epoch: int = 1, seed: int = 1) -> bytes:
    """Return a frame of n reports."""
    return Frame(entry.row.id, epoch, ids(n), records(entry, n, seed)).pack()


def filled(folder: Path, entry: Entry, n: int, *, epoch: int = 1) -> None:
    """Put so many single reports into the inbox, without the checks of the way in."""
    templates, chance, done = records(entry, 100_000), np.random.default_rng(1), 0
    with stored(folder) as store:
        while done < n:
            most = min(100_000, n - done)
            names = chance.integers(0, 256, (most, 16), dtype=np.uint8)
            rows = np.hstack([names, templates[chance.integers(0, len(templates), most)]])
            with store.transaction():
                store.insert([FrameRow(row[:16].tobytes(), entry.key, epoch, 1, row.tobytes()) for row in rows])
            done += most


def submission(entry: Entry, data: bytes) -> Submission | None:
    """Return a frame as the intake hands it on; None for what has another length."""
    try:
        _, epoch, n = head(data)
    except DataError:
        return None
    return Submission(entry, epoch, n, data, 44) if len(data) == 44 + n * entry.width else None


@dataclass
class Answer:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Client:
    """A client of a collector, with a connection per request."""

    port: int
    token: str | None = None

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Make a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.token is not None:
                given["Authorization"] = f"Bearer {self.token}"
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): said for name, said in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """Read a path."""
        return self.request("GET", path, **headers)

    def post(self, body: bytes, kind: str = MEDIA_TYPE, **headers: str) -> Answer:
        """Send a frame."""
        return self.request("POST", "/v1/reports", body, Content_Type=kind, **headers)


@dataclass
class Served:
    """A collector that runs in this process."""

    app: Application
    client: Client


@contextmanager
def serving(folder: Path, *, demo: bool = False, **settings: Any) -> Iterator[Served]:
    """Serve a folder on a free port of loopback."""
    given = {"limits": EASY, "listen": "127.0.0.1:0", "sealing": "manual", **settings}
    app = Application(Settings(data=str(folder), **given), demo=demo)
    running = server(app)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: running.started)
        yield Served(app, Client(running.servers[0].sockets[0].getsockname()[1]))
    finally:
        running.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def wait_until(holds: Any, seconds: float = 20.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


def kept(folder: Path) -> Sequence[tuple[int, int, int, bytes]]:
    """Return (collection, epoch, n, reports) of every frame in a folder."""
    with stored(folder) as store:
        epochs = store.pending()
        return [
            (key, epoch, n, reports)
            for key, epoch in epochs
            for n, reports in store._rows(f"SELECT n, reports FROM inbox_{key}_{epoch} ORDER BY seq")
        ]
