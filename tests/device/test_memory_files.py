"""The files of a memory: who opens them, the lock, what an earlier version left, and that what is erased is gone."""

import os
import secrets
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.collector.documents.signing import withdraw
from discreet.device import Device, Limits, StoreError
from discreet.device import memory as module
from discreet.device.memory import Memory
from discreet.device.sending import Answer
from refusals import refused
from signed import PLAIN, START, TRUST, envelope, key

LIMITS = Limits(2, 400, 400)
LOCKS = pytest.mark.skipif(sys.platform == "win32", reason="another lock is taken there.")


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


# Opening


OPENED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from discreet.device import Device, Limits
from discreet.device.sending import Answer
from signed import START, TRUST, collection
found, folder = collection(answers="fresh"), Path(sys.argv[1])
for _ in range(2):
    with Device(folder, TRUST, Limits(2, 4, 20), clock=lambda: START + 10.0, post=lambda *_: Answer(202)) as device:
        device.agree(device.accept(found.envelope))
        device.answer(found, "daily"), device.send(), device.log(), device.export(), device.forget()
print(sorted({Path(path).name for path in opened if Path(path).parent == folder}))
"""


def test_nothing_but_sqlite_opens_the_database(tmp_path: Path) -> None:
    """Whoever closes another descriptor of it ends all locks that this process has on it."""
    command = [sys.executable, "-c", OPENED, str(tmp_path / "device"), str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "['.lock', '.turn']\n"), done.stderr


def test_a_new_database_is_for_its_owner_whatever_the_mask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Memory(tmp_path / "device").close()
    finally:
        os.umask(before)
    if os.name == "posix":
        assert (tmp_path / "device").stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / "device").iterdir()} == {0o600}


# The lock


def test_a_transaction_waits_for_the_lock(tmp_path: Path) -> None:
    """Another device in this process waits, though SQLite has been asked for nothing."""
    one, other, ends = Memory(tmp_path / "device"), Memory(tmp_path / "device"), []

    def use(memory: Memory) -> None:
        with memory.transaction():
            ends.append("the other")

    with module.folder_lock(tmp_path / "device"):
        thread = threading.Thread(target=use, args=(other,))
        thread.start()
        time.sleep(0.1)
        ends.append("one")
    thread.join()
    assert ends == ["one", "the other"]
    with one.transaction() as database:
        assert database.execute("SELECT count(*) FROM names").fetchone()[0] == 0


def test_opening_waits_for_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Memory(tmp_path / "device").close()
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    with module.folder_lock(tmp_path / "device"):
        assert "memory.in-use" in refused(StoreError, lambda: Memory(tmp_path / "device"))
    Memory(tmp_path / "device").close()


@LOCKS
def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlocked(*_: Any) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(module.fcntl, "flock", unlocked)
    assert "folder.without-locks" in refused(StoreError, lambda: Memory(tmp_path / "device"))


# What is erased


RANGE = {**PLAIN, "domain": {"range": [0, 200_000], "sensitive": [0]}, "tags": ["home"]}
WIDE = {**PLAIN, "domain": {"range": [0, 5000]}, "mechanism": {"name": "subset"}}
ENDS = {
    "declined": lambda device, names: [device.decline(name) for name in names],
    "forgotten": lambda device, _: device.forget(),
    "withdrawn": lambda device, names: [
        device.accept(withdraw(envelope(WIDE, answers="permanent", linkable=True, people=None, name=name), [key()]))
        for name in names
    ],
}


@pytest.mark.parametrize("end", ENDS)
def test_no_key_record_or_place_is_in_any_file_after_erasing(tmp_path: Path, end: str) -> None:
    """So many that pages of the database were split and written anew, and rows lay in several of them."""
    folder, names = tmp_path / "device", [f"n{number:02}-{secrets.token_hex(4)}" for number in range(12)]
    with Device(folder, TRUST, LIMITS, clock=lambda: START + 10.0, post=lambda *_: Answer(503)) as device:
        for name in names:
            found = device.accept(envelope(WIDE, answers="permanent", linkable=True, people=None, name=name))
            device.agree(found)
            assert device.answer(found, 17) == "recorded"
        tagged = device.accept(envelope(RANGE, answers="fresh", name="tagged"))
        device.agree(tagged)
        device.tag(tagged, {"home": list(range(100_000, 100_300))})
        device.send()
        with closing(sqlite3.connect(folder / "device.db")) as database:
            parts = [bytes(one) for row in database.execute("SELECT key, record FROM names") for one in row if one]
            parts += [bytes(one) for row in database.execute("SELECT id, record FROM reports") for one in row]
            parts += [bytes(row[0]) for row in database.execute("SELECT print FROM prints")]
            places = database.execute("SELECT name, code, bot FROM places").fetchall()
        # A row that does not fit into a page is cut somewhere.
        parts = [part[at : at + 12] for part in parts for at in range(0, len(part) - 11, 12)]
        parts += [row[0].encode() + row[1].to_bytes(3, "big") + row[2].to_bytes(3, "big") for row in places]
        before = files(folder)
        assert sum(part in before for part in parts) > 0.98 * len(parts) > 2000
        ENDS[end](device, [*names, "tagged"] if end == "declined" else names)
        if end == "withdrawn":
            device.decline("tagged")
        left = files(folder)
        assert sum(part in left for part in parts) == 0, end
