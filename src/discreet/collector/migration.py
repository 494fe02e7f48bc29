"""Migration of a folder of version 1, whose reports lay in the database, to files of reports beside a new database.

Every step is made again after a crash; the one moment is the new database's name. No copy of the old one stays, as that
would keep every id and report for ever.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from discreet.collector.folder import DataFolder, synchronize
from discreet.collector.inboxes import MOST_BYTES, packed
from discreet.collector.logs import log
from discreet.collector.store import make_tables, opened, told, version_of

_SLICE = MOST_BYTES // 4
_KEPT = {
    "collections": "key, id, name, version, state, envelope, trust, added",
    "closed": "collection, epoch",
    "seals": "collection, epoch, epoch, file, sha256, n, duplicates, conflicts, at",
    "refusals": "collection, epoch, reason, count",
    "tokens": "name, role, digest, made, ends",
    "audit": "seq, at, actor, action, detail",
}
"""Columns of the old tables, in the order of the new ones."""


def migrate(folder: DataFolder) -> None:
    """Bring a folder to this version, by its owner; nothing if it has it, or is new.

    Raises:
        FailedStoreError: if the disk refuses; the folder is then as it was.
        DamagedStoreError: if the old database is damaged.
    """
    if not folder.database.exists():
        return
    with closing(opened(folder.database)) as old:
        if version_of(old) != 1:
            return
        log("migrating")
        folder.inbox.mkdir(mode=0o700, exist_ok=True)
        with told("read"):
            # Nobody else writes, and the log goes into the file that is copied below.
            old.execute("PRAGMA locking_mode = EXCLUSIVE")
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            epochs = old.execute("SELECT collection, epoch FROM inboxes").fetchall()
        for key, epoch in epochs:
            _write_inbox(old, folder.inbox, key, epoch)
        synchronize(folder.inbox)
        with told("read"):
            old.execute("PRAGMA journal_mode = DELETE").fetchall()
    made = folder.database.with_name(f"{folder.database.name}.part")
    for left in folder.path.glob(f"{made.name}*"):
        left.unlink()
    with closing(opened(made)) as new, told("brought to a newer version"):
        new.execute("ATTACH ? AS old", (str(folder.database),))
        new.execute("BEGIN")
        make_tables(new)
        for table, columns in _KEPT.items():
            new.execute(f"INSERT INTO main.{table} SELECT {columns} FROM old.{table}")
        # Numbers of collections that were deleted are never used again.
        new.execute("DELETE FROM main.sqlite_sequence")
        new.execute("INSERT INTO main.sqlite_sequence SELECT * FROM old.sqlite_sequence")
        new.execute("COMMIT")
    synchronize(made)
    made.replace(folder.database)
    synchronize(folder.path)
    log("migrated")


def _write_inbox(old: sqlite3.Connection, inbox: Path, key: int, epoch: int) -> None:
    """Write the reports of an epoch as a file, whole or not at all."""
    made = inbox / f".{key}-{epoch}.part"
    made.touch(mode=0o600)
    with made.open("wb") as file:
        for rows in _slices(old, key, epoch):
            file.write(packed(rows))
    synchronize(made)
    made.replace(inbox / f"{key}-{epoch}.log")


def _slices(old: sqlite3.Connection, key: int, epoch: int) -> Iterator[bytes]:
    """Yield the reports of an epoch in order of their arrival, some megabytes at a time."""
    parts, size = [], 0
    with told("read"):
        for (rows,) in old.execute(f"SELECT reports FROM inbox_{int(key)}_{int(epoch)} ORDER BY seq"):
            parts.append(rows)
            size += len(rows)
            if size >= _SLICE:
                yield b"".join(parts)
                parts, size = [], 0
    if parts:
        yield b"".join(parts)
