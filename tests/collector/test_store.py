"""The database of a collector: its settings, its one owner, and what a full disk or a damaged file does."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from collectors import added, keeping, kept, put, records, stored
from collectors import ids as some_ids

from discreet.collector.keeper import Keeper
from discreet.collector.storage.folder import DataFolder, HeldError
from discreet.collector.storage.inboxes import Inboxes
from discreet.collector.storage.store import DamagedStoreError, FailedStoreError, Store, opened, told
from discreet.errors import ParameterError
from refusals import refused


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    """Of this process, and of others; a connection that failed to open locks nobody out."""
    added(tmp_path)
    script = (
        "import sys; from pathlib import Path; from discreet.collector.keeper import Keeper; "
        "from discreet.collector.storage.folder import DataFolder\n"
        "try: Keeper(DataFolder(Path(sys.argv[1]))).close()\n"
        "except Exception as error: print(type(error).__name__)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with keeping(tmp_path):
        with pytest.raises(HeldError, match=r"folder.in-use"):
            Keeper(DataFolder(tmp_path))
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "HeldError\n"
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""
    (tmp_path / "collector.db").write_bytes(b"x" * 8192)
    held = []
    for _ in range(2):
        with pytest.raises(DamagedStoreError, match=r"database.damaged") as caught:
            Keeper(DataFolder(tmp_path))
        held.append(caught)


@pytest.mark.parametrize(("version", "which"), [(1, "older"), (9, "newer")])
def test_a_database_of_another_version_is_refused(tmp_path: Path, version: int, which: str) -> None:
    added(tmp_path)
    with closing(sqlite3.connect(tmp_path / "collector.db")) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(ParameterError, match=rf"database.{which}-version"):
        Store(tmp_path / "collector.db")


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    added(tmp_path)
    with stored(tmp_path) as store:

        def fail() -> None:
            with store.transaction():
                store.close_epoch(1, 0)
                raise FailedStoreError("no")

        with pytest.raises(FailedStoreError):
            fail()
        assert store.closed() == set()
        with store.transaction():
            store.close_epoch(1, 0)
        assert store.closed() == {(1, 0)}
        with store.transaction():
            store.reopen_epoch(1, 0)
        assert store.closed() == set()


def test_a_copy_is_whole_and_in_one_file(tmp_path: Path) -> None:
    added(tmp_path)
    with stored(tmp_path) as store:
        with store.transaction():
            store.close_epoch(1, 0)
        store.copy(tmp_path / "copy.db")
        with pytest.raises(FailedStoreError, match="could not be copied"):
            store.copy(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(tmp_path / "copy.db")) as found:
        assert found.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert found.execute("SELECT * FROM closed").fetchall() == [(1, 0)]


@pytest.mark.parametrize("step", ["remove", "end_purge"])
def test_a_deletion_that_was_killed_goes_on_with_the_next_start(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the reports are unlinked, or behind it: the collection is gone, and nothing of it stays."""
    entry = added(tmp_path)
    put(tmp_path, entry, [(some_ids(3), records(entry, 3))])
    (tmp_path / "sealed" / "habits").mkdir(parents=True)

    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched, keeping(tmp_path) as keeper:
        patched.setattr(Inboxes if step == "remove" else Store, step, kill)
        with pytest.raises(Killed):
            keeper.purge("habits")
    with keeping(tmp_path) as keeper:
        assert keeper.store.collections() == []
        assert keeper.store.purges() == {}
        assert keeper.store.flaws() == []
    assert kept(tmp_path) == []
    assert not (tmp_path / "sealed" / "habits").exists()


def test_a_database_that_another_program_has_open_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(opened(path)) as first, closing(opened(path)) as second:
        first.execute("CREATE TABLE t (x)")
        first.execute("BEGIN EXCLUSIVE")
        second.execute("PRAGMA busy_timeout = 0")

        def read() -> None:
            with told("read"):
                second.execute("SELECT * FROM t")

        assert "Another program has the database open" in refused(FailedStoreError, read)
