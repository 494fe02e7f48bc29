"""The database: its versions, its settings, and what a full disk or a foreign writer does."""

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from collectors import added, stored

from discreet.collector.folder import DataFolder
from discreet.collector.migrations import MIGRATIONS
from discreet.collector.sqlite import SqliteStore
from discreet.collector.sqlite_files import copy_database
from discreet.collector.store import DamagedStoreError, FailedStoreError, FrameRow
from discreet.errors import ParameterError


def row(n: int = 1) -> FrameRow:
    return FrameRow(os.urandom(16), 1, 0, n, os.urandom(18 * n))


def test_settings_of_the_file(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        wanted = {"journal_mode": "wal", "synchronous": 2, "wal_autocheckpoint": 4_000, "secure_delete": 2}
        assert {name: store._rows(f"PRAGMA {name}")[0][0] for name in wanted} == wanted
        assert store._rows("PRAGMA user_version") == [(len(MIGRATIONS),)]


def _second(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE tokens ADD COLUMN note TEXT")


def _failing(connection: sqlite3.Connection) -> None:
    _second(connection)
    raise RuntimeError("the power is gone")


def test_a_migration_keeps_everything_and_a_copy_of_before(tmp_path: Path) -> None:
    added(tmp_path)
    path = DataFolder(tmp_path).database
    with pytest.raises(RuntimeError):
        SqliteStore(path, migrations=(*MIGRATIONS, _failing))
    # Nothing of it was done.
    with stored(tmp_path) as store:
        assert store._rows("PRAGMA user_version") == [(1,)]
        assert "note" not in [column[1] for column in store._rows("PRAGMA table_info(tokens)")]
    newer = SqliteStore(path, migrations=(*MIGRATIONS, _second))
    assert newer._rows("PRAGMA user_version") == [(2,)]
    assert len(newer.collections()) == 1
    newer.close()
    path_of_copy = tmp_path / "collector.db.version1"
    assert path_of_copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path_of_copy)) as copy:
        assert copy.execute("SELECT count(*) FROM collections").fetchall() == [(1,)]
        assert copy.execute("PRAGMA user_version").fetchall() == [(1,)]
    assert list(tmp_path.glob(".*part*")) == []
    with pytest.raises(ParameterError, match="use the newer discreet"):
        SqliteStore(path)


def test_a_copy_of_before_that_cannot_be_made_stops_a_migration(tmp_path: Path) -> None:
    added(tmp_path)
    (tmp_path / "collector.db.version1").mkdir()
    with pytest.raises(FailedStoreError, match="could not be copied"):
        SqliteStore(DataFolder(tmp_path).database, migrations=(*MIGRATIONS, _second))
    with stored(tmp_path) as store:
        assert store._rows("PRAGMA user_version") == [(1,)]


def test_a_copy_ends_however_busily_others_write(tmp_path: Path) -> None:
    """Of a database that takes a while to copy, beside commits that never pause."""
    added(tmp_path)
    with stored(tmp_path) as store, store.transaction():
        store.insert([FrameRow(os.urandom(16), 1, 0, 1, bytes(1 << 20)) for _ in range(40)])
    ended, committed = threading.Event(), 0

    def write() -> None:
        nonlocal committed
        with stored(tmp_path) as other:
            while not ended.is_set():
                with other.transaction():
                    other.insert([row()])
                committed += 1

    def copy() -> None:
        with stored(tmp_path) as other:
            other.backup(tmp_path / "copy.db")

    writing, copying = threading.Thread(target=write, daemon=True), threading.Thread(target=copy, daemon=True)
    writing.start()
    copying.start()
    try:
        copying.join(20)
        assert not copying.is_alive()
    finally:
        ended.set()
        writing.join()
    assert committed
    with closing(sqlite3.connect(tmp_path / "copy.db")) as found:
        assert found.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert found.execute("SELECT count(*) FROM inbox_1_0").fetchone()[0] >= 40


def test_a_copy_is_made_in_one_step(tmp_path: Path) -> None:
    """In steps it would begin anew after each commit of others; whether that ends is a matter of luck."""
    steps: list[int] = []

    class Source:
        def backup(self, target: sqlite3.Connection, *, pages: int = -1, **_: float) -> None:
            steps.append(pages)

    copy_database(Source(), tmp_path / "copy.db")  # type: ignore[arg-type]
    assert steps == [-1]


def test_reading_alone_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(FailedStoreError, match="no database"):
        SqliteStore(tmp_path / "collector.db", read_only=True)
    added(tmp_path)
    store = SqliteStore(tmp_path / "collector.db", read_only=True)
    with pytest.raises(FailedStoreError), store.transaction():
        store.note(1, "a", "b", "c")
    store.close()


def test_what_is_no_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "collector.db").write_bytes(b"x" * 8192)
    with pytest.raises(DamagedStoreError, match="restore the last backup"):
        SqliteStore(tmp_path / "collector.db")


def test_changes_of_others_are_seen_within_a_transaction(tmp_path: Path) -> None:
    added(tmp_path)
    with stored(tmp_path) as one, stored(tmp_path) as other:
        assert one.changed()
        assert not one.changed()
        with one.transaction():
            one.insert([row()])
        assert not one.changed()
        with other.transaction():
            other.close_epoch(1, 0)
        with one.transaction():
            assert one.changed()
            assert one.closed() == {(1, 0)}
        assert not one.changed()


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    added(tmp_path)
    with stored(tmp_path) as store:

        def fail() -> None:
            with store.transaction():
                store.insert([row()])
                raise FailedStoreError("no")

        with pytest.raises(FailedStoreError):
            fail()
        assert store.waiting() == {}
        with store.transaction():
            assert store.insert([row(3), row(4)]) == 2
        assert store.waiting() == {(1, 0): 7}


def test_pending_epochs(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        assert store.pending() == []
        with store.transaction():
            for key, epoch in ((2, 5), (1, 3), (1, 3), (2, 0), (1, 4_000_000_000)):
                store.insert([FrameRow(os.urandom(16), key, epoch, 1, b"x")])
        assert store.pending() == [(1, 3), (1, 4_000_000_000), (2, 0), (2, 5)]


@pytest.mark.parametrize("most", [1, 2, 7, 100, 10**6])
def test_frames_come_in_order_and_no_more_of_them_than_asked(tmp_path: Path, most: int) -> None:
    """Single reports, then large frames: what is held is bounded by reports, however unevenly they come."""
    sizes = [1] * 40 + [50, 50, 1, 1, 50, 200, 3] + [1] * 5
    with stored(tmp_path) as store:
        with store.transaction():
            rows = [row(n) for n in sizes]
            store.insert(rows)
        after, found = -1, []
        while True:
            after, data = store.frames(1, 0, after=after, most=most)
            if not data:
                break
            found.append(data)
        assert b"".join(found) == b"".join(one.reports for one in rows)
        assert all(len(data) <= 18 * max(most, 200) for data in found)
        assert all(len(data) <= 18 * most or len(data) // 18 in sizes for data in found)
        assert store.frames(1, 1, after=-1, most=most) == (-1, b"")
        assert store.frames(2, 0, after=5, most=most) == (5, b"")


def test_messages_hold_nothing_of_what_was_to_be_written(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        bad: Any = FrameRow(b"too short", 1, 0, 1, b"the secret")

        def fail() -> None:
            with store.transaction():
                store.insert([bad])
                store._write("INSERT INTO tokens (name) VALUES (?)", "the secret")

        with pytest.raises(FailedStoreError) as refused:
            fail()
        assert "secret" not in str(refused.value)
