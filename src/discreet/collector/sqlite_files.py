"""Files of SQLite: made for their owner, brought to a newer version, copied whole; its errors in one sentence."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from discreet.collector.folder import synchronize
from discreet.collector.store import DamagedStoreError, FailedStoreError
from discreet.errors import ParameterError


def make_database(path: Path) -> None:
    """Make the file for its owner alone; the log beside it takes the same rights."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise FailedStoreError(
            f"the database could not be opened ({error.strerror}); see to the disk and its rights."
        ) from None


@contextmanager
def told(done: str) -> Iterator[None]:
    """Turn SQLite's errors into one sentence, without what was to be written."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if name in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
            raise DamagedStoreError("the database is damaged; restore the last backup.") from None
        raise FailedStoreError(f"the database could not be {done} ({name}); see to the disk and its rights.") from None


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    migrations: Sequence[Callable[[sqlite3.Connection], None]],
    *,
    read_only: bool,
) -> None:
    """Bring a database to the newest version, after a copy of the old one."""
    version = _version_of(connection)
    if version > len(migrations):
        raise ParameterError(
            f"the database has version {version} and this discreet knows {len(migrations)}; use the newer discreet."
        )
    if version == len(migrations):
        return
    if read_only:
        raise FailedStoreError(f"the database has version {version} of {len(migrations)}; start the collector once.")
    with told("brought to a newer version"):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have been faster.
            version = _version_of(connection)
            if 0 < version < len(migrations):
                _copy_before(path, version)
            for step in range(version, len(migrations)):
                migrations[step](connection)
                connection.execute(f"PRAGMA user_version = {step + 1}")
            connection.execute("COMMIT")
        except BaseException:
            # A full disk may have ended the transaction already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _version_of(connection: sqlite3.Connection) -> int:
    with told("read"):
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _copy_before(path: Path, version: int) -> None:
    """Keep a copy of a database beside it, whole or not at all; whoever calls keeps others from writing."""
    target = path.with_name(f"{path.name}.version{version}")
    beside = target.with_name(f".{target.name}.part")
    try:
        for left in beside.parent.glob(f"{beside.name}*"):
            left.unlink()
        make_database(beside)
        with closing(sqlite3.connect(path)) as source:
            copy_database(source, beside)
        synchronize(beside)
        beside.replace(target)
        synchronize(target.parent)
    except OSError as error:
        raise FailedStoreError(f"the database could not be copied ({error.strerror}); see to the disk.") from None


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """Copy a database into one file, as it is now."""
    with told("copied"), closing(sqlite3.connect(target)) as copy:
        # All at once: from a reader's view of the log, which nobody who writes must wait for. A copy in steps begins
        # anew whenever somebody writes meanwhile, and never ends beside a busy collector.
        source.backup(copy)
        # In one file: no log beside it that could be forgotten.
        copy.execute("PRAGMA journal_mode = DELETE")
