"""Folders as version 1 of the collector kept them: with reports in the database, a table for each epoch."""

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from collectors import groups

_TABLES = """
CREATE TABLE collections (key INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, name TEXT NOT NULL,
    version INTEGER NOT NULL, state TEXT NOT NULL, envelope BLOB NOT NULL, trust BLOB NOT NULL, added INTEGER NOT NULL,
    UNIQUE (name, version)) STRICT;
CREATE TABLE inboxes (collection INTEGER NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (collection, epoch))
    STRICT, WITHOUT ROWID;
CREATE TABLE closed (collection INTEGER NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (collection, epoch))
    STRICT, WITHOUT ROWID;
CREATE TABLE seals (collection INTEGER NOT NULL REFERENCES collections (key), epoch INTEGER NOT NULL,
    file TEXT NOT NULL, sha256 TEXT NOT NULL, n INTEGER NOT NULL, duplicates INTEGER NOT NULL,
    conflicts INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (collection, epoch)) STRICT, WITHOUT ROWID;
CREATE TABLE refusals (collection INTEGER, epoch INTEGER NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL) STRICT;
CREATE TABLE tokens (name TEXT PRIMARY KEY, role TEXT NOT NULL, digest BLOB NOT NULL UNIQUE, made INTEGER NOT NULL,
    ends INTEGER) STRICT;
CREATE TABLE audit (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL,
    action TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
PRAGMA user_version = 1;
"""
_SAME = ("collections", "closed", "refusals", "tokens", "audit", "sqlite_sequence")


def as_version1(folder: Path) -> None:
    """Put the reports of a folder that nobody holds back into its database, as version 1 wrote them."""
    path = folder / "collector.db"
    new = path.rename(folder / "new.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.executescript(_TABLES)
        old.execute("ATTACH ? AS new", (str(new),))
        for table in _SAME:
            old.execute(f"INSERT INTO main.{table} SELECT * FROM new.{table}")
        old.execute(
            "INSERT INTO seals SELECT collection, epoch, file, sha256, n, duplicates, conflicts, at FROM new.seals"
        )
        old.execute("DETACH new")
        for log in sorted((folder / "inbox").glob("*.log")):
            key, epoch = map(int, log.stem.split("-"))
            old.execute("INSERT INTO inboxes VALUES (?, ?)", (key, epoch))
            old.execute(
                f"CREATE TABLE inbox_{key}_{epoch} (seq INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, "
                "n INTEGER NOT NULL, reports BLOB NOT NULL) STRICT"
            )
            rows = [(hashlib.sha256(one).digest()[:16], len(one) // 18, one) for one in groups(log)]
            old.executemany(f"INSERT INTO inbox_{key}_{epoch} (digest, n, reports) VALUES (?, ?, ?)", rows)
    new.unlink()
    shutil.rmtree(folder / "inbox")
