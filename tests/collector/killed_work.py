"""Work on a collector's data that is killed again and again: sealing, migrating, backing up, moving the log.

Whenever the kill comes, there is the old state or the new one, each whole, and every invariant holds. How many kills
found which state is returned: kills that all came too late would show nothing.
"""

import os
import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from collectors import added, ids, kept, records, stored
from kills import forked

from discreet.collector.backup import backup, check
from discreet.collector.catalogue import Entry
from discreet.collector.folder import DataFolder
from discreet.collector.migrations import MIGRATIONS
from discreet.collector.sqlite import SqliteStore
from discreet.collector.store import FrameRow
from discreet.collector.working import seal

_SINGLE, _LARGE, _IN_LARGE = 3000, 40, 500
_DIGEST = 16


class _Killer:
    """Kills of one piece of work, at times between its beginning and a little after its end."""

    def __init__(self, work: Callable[..., None], *given: Any, seconds: float = 0.0) -> None:
        self._work, self._given, self._seconds = work, given, seconds
        self._context, self._chance = forked(), random.Random(3)

    def _started(self) -> Any:
        """Return a process that is about to begin its work, however busy the machine is."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_begun, args=(theirs, self._work, *self._given))
        process.start()
        assert ours.recv() == "begun"
        return process

    def whole(self) -> None:
        """Let the work end; kills come within the time that it took."""
        process, began = self._started(), time.monotonic()
        process.join()
        assert process.exitcode == 0
        self._seconds = 1.1 * (time.monotonic() - began)

    def kill(self) -> None:
        """Kill the work at some time."""
        process = self._started()
        process.join(self._chance.uniform(0, self._seconds))
        process.kill()
        process.join()

    def learn(self, *, late: bool) -> None:
        """Kill a little earlier or later from now on: the machine may be busier than it was."""
        self._seconds *= 0.85 if late else 1.1


def _begun(told: Any, work: Callable[..., None], *given: Any) -> None:
    told.send("begun")
    work(*given)


def _filled(folder: Path) -> Entry:
    """Return a collection whose inbox has single reports and large frames, some MB of them."""
    entry = added(folder)
    with stored(folder) as store, store.transaction():
        rows = np.hstack([ids(_SINGLE), records(entry, _SINGLE)])
        store.insert([FrameRow(row[:_DIGEST].tobytes(), entry.key, 1, 1, row.tobytes()) for row in rows])
        large = [np.hstack([ids(_IN_LARGE), records(entry, _IN_LARGE)]).tobytes() for _ in range(_LARGE)]
        store.insert([FrameRow(os.urandom(_DIGEST), entry.key, 1, _IN_LARGE, one) for one in large])
    return entry


def _seal(folder: str, collection: int) -> None:
    seal({"folder": folder, "collection": collection, "epoch": 1, "actor": "test"})


def killed_sealing(folder: Path, kills: int) -> Counter[str]:
    """Kill a sealing so many times; each that came too late is followed by a new epoch of reports."""
    entry, n, found = _filled(folder), _SINGLE + _LARGE * _IN_LARGE, Counter[str]()
    before, data = DataFolder(folder).database.read_bytes(), DataFolder(folder)
    killer = _Killer(_seal, str(folder), entry.key)
    killer.whole()
    for _ in range(kills):
        with stored(folder) as store:
            ended = bool(store.seals())
        if ended:
            shutil.rmtree(data.sealed)
            data.database.write_bytes(before)
        killer.kill()
        with stored(folder) as store:
            waiting, sealed = store.waiting(), store.seals()
        # Either the inbox or the seal, and either whole.
        assert (waiting, [row.n for row in sealed]) in (({(entry.key, 1): n}, []), ({}, [n]))
        assert check(data) == []
        found["sealed" if sealed else "inbox"] += 1
        killer.learn(late=bool(sealed))
    killer.whole()
    assert check(data) == []
    assert kept(folder) == []
    with stored(folder) as store:
        assert [row.n for row in store.seals()] == [n]
    assert [path for path in folder.rglob(".*") if path.suffix != ".lock"] == []
    return found


def _grow(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE tokens ADD COLUMN note TEXT")
    connection.execute("CREATE TABLE grown AS SELECT seq, reports FROM inbox_1_1")
    connection.execute("UPDATE grown SET reports = substr(reports, 1)")


def _migrate(path: str) -> None:
    SqliteStore(Path(path), migrations=(*MIGRATIONS, _grow)).close()


def killed_migrating(folder: Path, kills: int) -> Counter[str]:
    """Kill a migration so many times."""
    _filled(folder)
    path, frames, found = DataFolder(folder).database, kept(folder), Counter[str]()
    copy, before = path.with_name(f"{path.name}.version1"), path.read_bytes()
    killer = _Killer(_migrate, str(path))
    killer.whole()
    for _ in range(kills):
        copy.unlink(missing_ok=True)
        for left in folder.glob(f"{path.name}-*"):
            left.unlink()
        path.write_bytes(before)
        killer.kill()
        version = _whole_database(path, frames)
        if version == 1:
            assert check(DataFolder(folder)) == []
        assert version == 1 or copy.exists()
        if copy.exists():
            assert _whole_database(copy, frames) == 1
        found[f"version {version}, {'a' if copy.exists() else 'no'} copy"] += 1
        killer.learn(late=version == 2)
    killer.whole()
    assert _whole_database(path, frames) == 2
    assert list(folder.glob(".*.part*")) == []
    return found


def _whole_database(path: Path, frames: Any) -> int:
    """Return the version of a database that has all frames and nothing else than its version has."""
    with closing(sqlite3.connect(path)) as opened:
        ((version,),) = opened.execute("PRAGMA user_version")
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = opened.execute("SELECT 1, 1, n, reports FROM inbox_1_1 ORDER BY seq").fetchall()
        assert rows == frames
        tables = {name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = {row[1] for row in opened.execute("PRAGMA table_info(tokens)")}
        assert ("grown" in tables, "note" in columns) == (version == 2, version == 2)
        if version == 2:
            grown = opened.execute("SELECT reports FROM grown ORDER BY seq").fetchall()
            assert [reports for (reports,) in grown] == [row[3] for row in frames]
    return int(version)


def _back_up(folder: str, target: str) -> None:
    backup(DataFolder(Path(folder)), Path(target))


def killed_backing_up(folder: Path, kills: int) -> Counter[str]:
    """Kill a backup so many times."""
    source, target, found = folder / "data", folder / "copy", Counter[str]()
    entry = _filled(source)
    _seal(str(source), entry.key)
    with stored(source) as store, store.transaction():
        store.insert([FrameRow(os.urandom(_DIGEST), entry.key, 2, 1, os.urandom(entry.width)) for _ in range(_SINGLE)])
    frames = kept(source)
    killer = _Killer(_back_up, str(source), str(target))
    killer.whole()
    for _ in range(kills):
        if target.exists():
            shutil.rmtree(target)
        killer.kill()
        if target.exists():
            assert check(DataFolder(target)) == []
            assert kept(target) == frames
        found["a backup" if target.exists() else "none"] += 1
        killer.learn(late=target.exists())
        assert check(DataFolder(source)) == []
    if target.exists():
        shutil.rmtree(target)
    killer.whole()
    assert sorted(path.name for path in folder.iterdir()) == ["copy", "data"]
    return found


def _checkpoint(folder: str, key: int, said: str) -> None:
    """Write frames and move them from the log into the database for ever; say of each group that it was written."""
    store, file = SqliteStore(DataFolder(Path(folder)).database), os.open(said, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    while True:
        rows = [FrameRow(os.urandom(_DIGEST), key, 1, 1, os.urandom(18)) for _ in range(500)]
        with store.transaction():
            store.insert(rows)
        # What is written outlives a kill, if not a failure of power.
        os.write(file, b"".join(row.digest for row in rows))
        store.checkpoint()


def killed_moving_the_log(folder: Path, kills: int) -> Counter[str]:
    """Kill a collector's store so many times that moves its log into the database after every commit."""
    entry, data, said, found = added(folder), DataFolder(folder), folder / "said", Counter[str]()
    killer = _Killer(_checkpoint, str(folder), entry.key, str(said), seconds=0.1)
    for _ in range(kills):
        said.write_bytes(b"")
        killer.kill()
        written = said.read_bytes()
        acknowledged = {written[at : at + _DIGEST] for at in range(0, len(written), _DIGEST)}
        log = data.database.with_name(f"{data.database.name}-wal")
        state = "in the log" if log.exists() and log.stat().st_size else "in the database"
        assert check(data) == []
        with stored(folder) as store:
            rows = store._rows(f"SELECT digest FROM inbox_{entry.key}_1") if store.pending() else []
            assert acknowledged <= {digest for (digest,) in rows}
            # A group whose kill came before its word, and no part of one.
            assert len(rows) - len(acknowledged) in (0, 500)
            with store.transaction():
                store.drop_frames(entry.key, 1)
        found[state if acknowledged else "nothing yet"] += 1
        killer.learn(late=bool(acknowledged))
    return found


WORK = {
    "sealing": killed_sealing,
    "migration": killed_migrating,
    "backup": killed_backing_up,
    "checkpoint": killed_moving_the_log,
}
"""What can be killed, by name; each is called with a folder and the number of kills."""
