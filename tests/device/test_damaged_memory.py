"""A memory that was damaged, is full or may only be read: refused by type, or it keeps every promise all the same.

DISCREET_HOSTILE says how many damaged files are tried.
"""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.device import Device, Limits, StoreError
from discreet.device.protocol.frames import head
from discreet.device.sending import Answer
from discreet.errors import DiscreetError
from packing import each
from refusals import refused
from signed import EPOCH, PLAIN, START, TRUST, collection

COUNT = min(int(os.environ.get("DISCREET_HOSTILE", "40")), 100_000)
LIMITS = Limits(2.0, 40.0, 40.0)
TAGS = {**PLAIN, "tags": ["home"]}
FRESH = collection(answers="fresh", lifetime=20.0)
TAGGED = collection(TAGS, answers="permanent", name="tagged", linkable=True, people=None)
UNASKED = collection(answers="fresh", name="unasked")
ANSWERED = 3


class Life:
    """A device with its collector: what it sent, by collection and epoch."""

    def __init__(self, folder: Path) -> None:
        self.now, self.sent = float(START), {}
        self.device = Device(folder, TRUST, LIMITS, clock=lambda: self.now, person_secret=b"s" * 16, post=self.post)

    def post(self, _: str, frame: bytes) -> Answer:
        collection, epoch, _n = head(frame)
        assert self.sent.setdefault((collection, epoch), frame) == frame
        return Answer(202)

    def answer_all(self, epochs: int) -> None:
        """Answer all three in every epoch, though the person agreed to two."""
        for epoch in range(epochs):
            self.now = START + 10.0 + epoch * EPOCH
            for found, value in ((FRESH, "daily"), (TAGGED, "never"), (UNASKED, "daily")):
                self.device.answer(found, value)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Any, bytes], float]:
    """The folder of a device with answers sent and waiting, the frames of both, and what it spent."""
    folder = tmp_path_factory.mktemp("lived")
    life = Life(folder / "device")
    for found in (FRESH, TAGGED, UNASKED):
        life.device.accept(found.envelope)
        if found is not UNASKED:
            life.device.agree(found)
    life.device.tag(TAGGED, {"home": ["never"]})
    life.answer_all(ANSWERED - 1)
    life.device.send()
    life.answer_all(ANSWERED)
    spent = life.device.budget().spent
    life.device.close()
    interrupt(folder / "device", folder / "interrupted")
    shutil.copytree(folder / "device", folder / "later")
    later = Life(folder / "later")
    later.now = life.now
    later.sent = life.sent
    later.device.send()
    later.device.close()
    return folder, later.sent, spent


def interrupt(folder: Path, copy: Path) -> None:
    """Copy a memory while a change of every table is on its way to the disk, as a kill would leave it."""
    with closing(sqlite3.connect(folder / "device.db", isolation_level=None)) as database:
        for setting in ("journal_mode=TRUNCATE", "cache_size=1"):
            database.execute(f"PRAGMA {setting}").fetchall()
        database.execute("BEGIN IMMEDIATE")
        for table in ("reports", "ledger", "prints", "places"):
            database.execute(f"DELETE FROM {table}")
        database.execute("UPDATE versions SET agreed = 1")
        for number in range(60):
            database.execute("INSERT INTO prints VALUES ('habits', ?)", (number.to_bytes(400, "little"),))
        shutil.copytree(folder, copy)
        assert (copy / "device.db-journal").stat().st_size > 1000
        database.execute("ROLLBACK")


def bent(path: Path, chance: random.Random) -> None:
    """Bend one to three places of a file: a bit, a byte, a run of zeros, a run of another place."""
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 2, 3])):
        at = chance.randrange(len(data))
        way = chance.random()
        if way < 0.6:
            data[at] ^= 1 << chance.randrange(8)
        elif way < 0.8:
            data[at] = chance.randrange(256)
        else:
            size, other = chance.choice([2, 8, 512]), chance.randrange(len(data))
            data[at : at + size] = bytes(size) if way < 0.9 else data[other : other + size]
    path.write_bytes(data)


@pytest.mark.parametrize("file", ["device.db", "device.db-journal"])
def test_bent_files(lived: tuple[Path, dict[Any, bytes], float], tmp_path: Path, file: str) -> None:
    """Never another report for an epoch, one without consent, or a budget that grew; only errors of our own."""
    folder, sent, spent = lived
    refusals = 0
    for number in range(COUNT):
        chance = random.Random(f"{file} {number}")
        shutil.copytree(folder / ("device" if file == "device.db" else "interrupted"), tmp_path / "device")
        bent(tmp_path / "device" / file, chance)
        life = None
        try:
            life = Life(tmp_path / "device")
            life.sent = {**sent}
            life.now = START + 10.0 + ANSWERED * EPOCH
            assert life.device.budget().spent >= spent - 1e-9
            life.answer_all(ANSWERED + 1)
            life.device.send()
        except DiscreetError:
            refusals += 1
        finally:
            if life is not None:
                life.device.close()
        assert all(collection != UNASKED.id for collection, _ in life.sent) if life is not None else True
        shutil.rmtree(tmp_path / "device")
    assert 0 < refusals < COUNT


def test_what_was_interrupted_never_was(lived: tuple[Path, dict[Any, bytes], float], tmp_path: Path) -> None:
    shutil.copytree(lived[0] / "interrupted", tmp_path / "device")
    life = Life(tmp_path / "device")
    assert life.device.budget().spent == lived[2]
    life.sent, life.now = {**lived[1]}, START + 10.0 + ANSWERED * EPOCH
    life.answer_all(ANSWERED + 1)
    life.device.send()
    assert len(life.sent) == len(lived[1]) + 2


ALTERED = [
    "UPDATE ledger SET epoch = epoch + 100 WHERE epoch = 2",
    "UPDATE ledger SET charge = 0",
    "UPDATE ledger SET stop = start",
    "DELETE FROM ledger WHERE epoch = 0",
    "UPDATE versions SET agreed = 1",
    "UPDATE versions SET key = key + 10",
    "UPDATE versions SET origins = '[\"https://other.example\"]'",
    "UPDATE versions SET stop = stop + 1",
    "UPDATE names SET version = 0",
    "UPDATE names SET id = zeroblob(32)",
    "UPDATE names SET declined = 1",
    "UPDATE names SET tagged = 'x'",
    "UPDATE names SET key = zeroblob(32)",
    "UPDATE names SET envelope = NULL",
    "UPDATE names SET record = zeroblob(2)",
    "UPDATE reports SET record = zeroblob(2) WHERE status IS NULL",
    "UPDATE reports SET id = zeroblob(16) WHERE status IS NULL",
    "UPDATE reports SET status = NULL, id = zeroblob(16)",
    "UPDATE reports SET status = '202'",
    "DELETE FROM prints",
    "UPDATE places SET code = code + 1",
    "DELETE FROM places",
    "UPDATE clock SET latest = 0",
    "UPDATE clock SET seal = NULL",
    "UPDATE clock SET charges = zeroblob(16)",
    "DELETE FROM clock",
    "INSERT INTO clock SELECT * FROM clock",
    "CREATE TABLE more (x)",
]


@each("altered", ALTERED)
def test_every_number_is_what_was_written(
    lived: tuple[Path, dict[Any, bytes], float], tmp_path: Path, altered: str
) -> None:
    """SQLite finds no fault in these files."""
    shutil.copytree(lived[0] / "device", tmp_path / "device")
    with closing(sqlite3.connect(tmp_path / "device" / "device.db")) as database, database:
        database.execute(altered)
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert "damaged" in refused(StoreError, lambda: Life(tmp_path / "device"))


@each("altered", [one for one in ALTERED if " ledger " not in one])
def test_what_is_bent_meanwhile(lived: tuple[Path, dict[Any, bytes], float], tmp_path: Path, altered: str) -> None:
    """All but the ledger is compared before every use, not only when a memory is opened."""
    shutil.copytree(lived[0] / "device", tmp_path / "device")
    life = Life(tmp_path / "device")
    with closing(sqlite3.connect(tmp_path / "device" / "device.db")) as database, database:
        database.execute(altered)
    for attempt in (life.device.budget, life.device.log, life.device.send, lambda: life.device.answer(FRESH, "daily")):
        assert "damaged" in refused(StoreError, attempt)
    assert life.sent == {}


def test_a_damaged_file_that_quotes_itself(lived: tuple[Path, dict[Any, bytes], float], tmp_path: Path) -> None:
    """SQLite's message about this one is no text."""
    shutil.copytree(lived[0] / "device", tmp_path / "device")
    path = tmp_path / "device" / "device.db"
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE clock", b"CREATE \xffABLE clock", 1))
    refused(StoreError, lambda: Life(tmp_path / "device"))


def test_an_envelope_that_was_bent_is_refused(lived: tuple[Path, dict[Any, bytes], float], tmp_path: Path) -> None:
    shutil.copytree(lived[0] / "device", tmp_path / "device")
    with closing(sqlite3.connect(tmp_path / "device" / "device.db")) as database, database:
        database.execute("UPDATE names SET envelope = (SELECT envelope FROM names WHERE name = 'unasked')")
    life = Life(tmp_path / "device")
    refused(DiscreetError, lambda: life.device.answer("habits", "daily"))
    assert life.device.budget().spent > 0


# A disk that is full, and one that may only be read


FULL = """
import json, resource, sys
from pathlib import Path
from discreet.device import Device, Limits, StoreError
from discreet.device.sending import Answer
from discreet.device.protocol.collection import Epochs
from signed import START, TRUST, collection
found = collection(answers="fresh", lifetime=1e6, epochs=Epochs(START, 60, 100_000), late=10**6)
folder, now, frames = Path(sys.argv[1]), [float(START)], []
def post(_, frame):
    frames.append(frame)
    return Answer(202)
device = Device(folder, TRUST, Limits(2, 1e9, 1e9), clock=lambda: now[0], post=post)
device.accept(found.envelope)
device.agree(found)
refused = recorded = full = 0
for epoch in range(64):
    now[0] = START + 60.0 * epoch
    room = (1 << 30, 12_000, 6_000, 2_000)[epoch // 4 % 4]
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, 1 << 30))
    for attempt in (lambda: device.answer(found, "daily"), device.send):
        try:
            recorded += attempt() == "recorded"
        except StoreError:
            refused += 1
            full += room < 1 << 30
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
now[0] += 3600
last = device.answer(found, "daily")
now[0] += 60
device.send()
by_epoch = {frame[36:40]: set() for frame in frames}
for frame in frames:
    by_epoch[frame[36:40]].add(frame)
print(json.dumps({"refused": refused, "recorded": recorded, "full": full, "last": last,
    "spent": device.budget().spent, "logged": len(device.log()), "epochs": len(by_epoch),
    "two": sum(len(one) > 1 for one in by_epoch.values())}))
"""

FORBIDDEN = """
import json, os, sys, tempfile
from pathlib import Path
import discreet.device.protocol.frames, discreet.device.sending
from discreet.device import Device, Limits, StoreError
from discreet.errors import ParameterError
from signed import START, TRUST, collection
found = collection(answers="fresh")
base = Path(tempfile.mkdtemp(dir=sys.argv[1]))
if os.geteuid() == 0:
    for path in [base, *base.parents]:
        if path.stat().st_uid == 0 and path != Path("/") and path.is_relative_to(sys.argv[1]):
            path.chmod(0o755)
    os.chown(base, 65534, 65534)
    os.setuid(65534)
folder = base / "device"
device = Device(folder, TRUST, Limits(2, 4, 20), clock=lambda: START + 10.0)
device.accept(found.envelope); device.agree(found); device.answer(found, "daily"); device.close()
said = []
for epoch, mode, place in ((1, 0o400, 0o700), (2, 0o000, 0o700), (3, 0o600, 0o500)):
    (folder / "device.db").chmod(mode)
    folder.chmod(place)
    try:
        with Device(folder, TRUST, Limits(2, 4, 20), clock=lambda: START + 3600.0 * epoch) as device:
            said.append(device.answer(found, "daily"))
    except (StoreError, ParameterError) as error:
        said.append(type(error).__name__)
    folder.chmod(0o700)
    (folder / "device.db").chmod(0o600)
with Device(folder, TRUST, Limits(2, 4, 20), clock=lambda: START + 4 * 3600.0) as device:
    said.append(device.answer(found, "daily"))
print(json.dumps(said))
"""


def ran(program: str, folder: Path) -> Any:
    roots = [Path(__file__).parents[1], Path(__file__).parents[2] / "src"]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots))}
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=surroundings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are those of Unix.")
def test_a_disk_that_fills_and_empties(tmp_path: Path) -> None:
    """What was recorded is what was charged, logged and sent, once; it recovers without being opened anew."""
    found = ran(FULL, tmp_path / "device")
    assert found["refused"] == found["full"] > 20, found
    assert found["last"] == "recorded"
    assert found["recorded"] + 1 == found["spent"] == found["logged"] == found["epochs"] > 16
    assert found["two"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files are those of Unix.")
def test_a_memory_that_may_only_be_read(tmp_path: Path) -> None:
    """In a folder to which nothing can be added a device needs nothing new."""
    assert ran(FORBIDDEN, Path("/tmp")) == ["StoreError", "StoreError", "recorded", "recorded"]
