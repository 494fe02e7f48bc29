"""Collectors for tests: a folder with signed collections, frames, a server on loopback, and plain requests to it."""

import http.client
import json
import os
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet import SeededRandom
from discreet.collector.app import Application
from discreet.collector.intake import Submission
from discreet.collector.keeper import Keeper
from discreet.collector.operations import add
from discreet.collector.serving import server
from discreet.collector.settings import ServiceLimits, Settings
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.folder import DataFolder
from discreet.collector.storage.store import Store
from discreet.device.protocol.collection import Epochs
from discreet.device.protocol.frames import MEDIA_TYPE, Frame, head
from discreet.errors import DataError
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


_SERVED: dict[Path, Keeper] = {}


@contextmanager
def keeping(folder: Path) -> Iterator[Keeper]:
    """Hold a folder, or share it with the collector of this process that serves it."""
    if (served := _SERVED.get(folder)) is not None:
        yield served
        return
    with Keeper(DataFolder(folder)) as keeper:
        yield keeper


@contextmanager
def stored(folder: Path) -> Iterator[Store]:
    """Open the database of a folder."""
    with keeping(folder) as keeper:
        yield keeper.store


def added(folder: Path, plan: str | Mapping[str, Any] = "rr", *, version: int = 1, **terms: Any) -> Entry:
    """Add a collection to a folder."""
    said = {"epochs": current(), "late": EPOCH // 4, "least": 50, **terms}
    signed = envelope(PLANS[plan] if isinstance(plan, str) else plan, version=version, **said)
    return added_envelope(folder, signed)


def added_envelope(folder: Path, signed: bytes) -> Entry:
    """Add an envelope to a folder."""
    with keeping(folder) as keeper:
        return Entry.of_row(add(keeper, signed, [PUBLIC])[0])


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


def put(folder: Path, entry: Entry, frames: Sequence[tuple[np.ndarray, np.ndarray]], epoch: int = 1) -> None:
    """Put frames of (ids, records) into the inbox, a group each, without the checks of the way in."""
    with keeping(folder) as keeper:
        put_by(keeper, entry, frames, epoch)


def put_by(keeper: Keeper, entry: Entry, frames: Sequence[tuple[np.ndarray, np.ndarray]], epoch: int = 1) -> None:
    """Put frames of (ids, records) into the inbox of who holds it, as `put` does."""
    for names, one in frames:
        assert not keeper.inboxes.append({(entry.key, epoch): [np.hstack([names, one]).tobytes()]})


def filled(folder: Path, entry: Entry, n: int, *, epoch: int = 1) -> None:
    """Put so many reports into the inbox, in groups of ten thousand."""
    templates, chance = records(entry, 100_000), np.random.default_rng(1)
    with keeping(folder) as keeper:
        for start in range(0, n, 10_000):
            most = min(10_000, n - start)
            names = chance.integers(0, 256, (most, 16), dtype=np.uint8)
            put_by(keeper, entry, [(names, templates[chance.integers(0, len(templates), most)])], epoch)


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
    server: Any


@contextmanager
def serving(folder: Path, *, demo: bool = False, **settings: Any) -> Iterator[Served]:
    """Serve a folder on a free port of loopback."""
    given = {"limits": EASY, "listen": "127.0.0.1:0", "sealing": "manual", **settings}
    app = Application(Settings(data=str(folder), **given), demo=demo)
    running = server(app)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    _SERVED[folder] = app.keeper
    try:
        wait_until(lambda: running.started)
        yield Served(app, Client(running.servers[0].sockets[0].getsockname()[1]), running)
    finally:
        _SERVED.pop(folder)
        running.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def wait_until(holds: Any, seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


def kept(folder: Path, width: int = 18) -> list[tuple[int, int, bytes]]:
    """Return (collection, epoch, id and record) of every report that waits, from the files themselves.

    Args:
        folder: of the data, held by whomever.
        width: bytes of a report; those of plain randomized response are 18.
    """
    found = []
    for path in sorted((folder / "inbox").glob("*.log")):
        key, epoch = path.name.partition(".")[0].split("-")
        for rows in groups(path):
            found += [(int(key), int(epoch), rows[at : at + width]) for at in range(0, len(rows), width)]
    return found


def groups(path: Path) -> list[bytes]:
    """Return the groups in a file of reports, up to the first that is not whole."""
    data, at, found = path.read_bytes(), 0, []
    while len(data) >= at + 8:
        size, known = struct.unpack_from("<II", data, at)
        rows = data[at + 8 : at + 8 + size]
        if not size or len(rows) < size or zlib.crc32(data[at : at + 4] + rows) != known:
            break
        found.append(rows)
        at += 8 + size
    return found


def total(measure: Any, ending: str = "_total") -> float:
    """Return the number that a measure has."""
    return next(one.value for family in measure.collect() for one in family.samples if one.name.endswith(ending))
