"""Versions of the database: each step is a function, forward only."""

import sqlite3
from collections.abc import Callable

_FIRST = """
CREATE TABLE collections (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 32),
    name TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    state TEXT NOT NULL CHECK (state IN ('open', 'withdrawn')),
    envelope BLOB NOT NULL,
    trust BLOB NOT NULL CHECK (length(trust) % 32 = 0),
    added INTEGER NOT NULL,
    UNIQUE (name, version)
) STRICT;
CREATE TABLE inboxes (
    collection INTEGER NOT NULL,
    epoch INTEGER NOT NULL CHECK (epoch >= 0),
    PRIMARY KEY (collection, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE closed (
    collection INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (collection, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE seals (
    collection INTEGER NOT NULL REFERENCES collections (key),
    epoch INTEGER NOT NULL,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    n INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    conflicts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (collection, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE refusals (
    collection INTEGER,
    epoch INTEGER NOT NULL,
    reason TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX refusals_of ON refusals (ifnull(collection, -1), epoch, reason);
CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'operator')),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    made INTEGER NOT NULL,
    ends INTEGER
) STRICT;
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_remains BEFORE DELETE ON audit BEGIN SELECT raise(ABORT, 'the audit is append-only'); END;
"""


def _create(connection: sqlite3.Connection) -> None:
    _run(connection, _FIRST)


def _run(connection: sqlite3.Connection, script: str) -> None:
    # Not executescript, which ends the transaction that it runs in.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create,)
"""What makes version i + 1 of version i."""
