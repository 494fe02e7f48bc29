"""The database of a collector: collections, seals and tokens; no report.

One process opens the file, once, and nothing else ever opens it. Closing any descriptor of the file would drop SQLite's
locks. Another process would then believe that it is the last one, and would delete SQLite's write-ahead log.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from discreet.device.protocol.envelope import KEY_BYTES
from discreet.errors import DataError, DiscreetError, ParameterError

VERSION = 4
"""Of the tables; kept in the database."""

_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = ON",
)
_TABLES = """
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
CREATE TABLE closed (
    collection INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (collection, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE seals (
    collection INTEGER NOT NULL REFERENCES collections (key),
    epoch INTEGER NOT NULL,
    last INTEGER NOT NULL CHECK (last >= epoch),
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    n INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    conflicts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (collection, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE purges (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;
CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'operator')),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    made INTEGER NOT NULL,
    ends INTEGER
) STRICT;
CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL
) STRICT;
CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seen INTEGER NOT NULL
) STRICT;
"""


class FailedStoreError(DiscreetError, RuntimeError):
    """The store could not keep or find something: a full disk, a damaged file, no rights."""


class DamagedStoreError(DataError):
    """The store holds what it must not."""


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection that was added.

    Attributes:
        key: its number in this store.
        id: SHA-256 of its document.
        name: of the collection.
        version: of this name.
        state: ``open`` or ``withdrawn``, as the document says.
        envelope: as it was added.
        trust: the public keys under which it was added.
        added: when, in Unix seconds.
    """

    key: int
    id: bytes
    name: str
    version: int
    state: str
    envelope: bytes
    trust: tuple[bytes, ...]
    added: int


@dataclass(frozen=True, slots=True)
class SealRow:
    """A sealed batch: the reports of one epoch, or of several epochs if the earlier ones had too few.

    Attributes:
        collection: key of the collection.
        epoch: the first one.
        last: the last one; the same as the first, as a rule.
        file: beneath the folder of sealed files.
        sha256: of the file, hexadecimal.
        n: reports in it.
        duplicates: reports that came more than once.
        conflicts: reports under an id that another one had before.
        at: when, in Unix seconds.
    """

    collection: int
    epoch: int
    last: int
    file: str
    sha256: str
    n: int
    duplicates: int
    conflicts: int
    at: int


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token of a program or a person; the token itself is kept nowhere.

    Attributes:
        name: of the holder.
        role: ``analyst`` or ``operator``.
        digest: SHA-256 of the token.
        made: when, in Unix seconds.
        ends: when it ends; None if it does not.
    """

    name: str
    role: str
    digest: bytes
    made: int
    ends: int | None

    def is_good(self, now: float) -> bool:
        """Return true if the token is in use at a time."""
        return self.ends is None or self.ends > now


class Store:
    """The database of a collector in a file, which one process opens; threads of this process use it in turns.

    Args:
        path: the file; made if it is not there.

    Raises:
        FailedStoreError: if it cannot be opened.
        DamagedStoreError: if it is no database.
        ParameterError: if it is of another version of discreet.
    """

    def __init__(self, path: Path) -> None:
        self._lock = RLock()
        self._connection = opened(path)
        try:
            for setting in _SETTINGS:
                self._rows(setting)
            ((version,),) = self._rows("PRAGMA user_version")
            if version == 0:
                with self.transaction():
                    self._make_tables()
            elif version != VERSION:
                code = "database.newer-version" if version > VERSION else "database.older-version"
                raise ParameterError(code, version=version, known=VERSION)
        except BaseException:
            # It would be locked for everybody else, as long as somebody remembers this error.
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _make_tables(self) -> None:
        """Make the tables of this version, within a transaction."""
        # Not executescript, which ends the transaction that it runs in.
        for statement in _TABLES.split(";\n")[:-1]:
            self._write(statement)
        self._write("INSERT INTO identity VALUES (1, ?)", secrets.token_hex(8))
        self._write(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write within the body: all of it, synchronized to disk at the end, or nothing; each is alone."""
        with self._lock:
            with told("written to"):
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                with told("written to"):
                    self._connection.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                raise

    def _rows(self, text: str, *values: Any) -> list[Any]:
        with self._lock, told("read"):
            return self._connection.execute(text, values).fetchall()

    def _write(self, text: str, *values: Any) -> int:
        with told("written to"):
            return self._connection.execute(text, values).rowcount

    def collections(self) -> list[CollectionRow]:
        """Return all collections, in the order in which they were added."""
        rows = self._rows("SELECT key, id, name, version, state, envelope, trust, added FROM collections ORDER BY key")
        size = KEY_BYTES
        return [
            CollectionRow(*(*row, tuple(keys[at : at + size] for at in range(0, len(keys), size)), added))
            for *row, keys, added in rows
        ]

    def add_collection(self, row: CollectionRow) -> None:
        """Keep a collection, within a transaction; its key is chosen here, and never used again."""
        self._write(
            "INSERT INTO collections (id, name, version, state, envelope, trust, added) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(row.id, row.name, row.version, row.state, row.envelope, b"".join(row.trust), row.added),
        )

    def close_epoch(self, collection: int, epoch: int) -> None:
        """Take no more reports of an epoch, within a transaction."""
        self._write("INSERT INTO closed VALUES (?, ?) ON CONFLICT DO NOTHING", collection, epoch)

    def reopen_epoch(self, collection: int, epoch: int) -> None:
        """Take reports of a closed epoch again, within a transaction."""
        self._write("DELETE FROM closed WHERE collection = ? AND epoch = ?", collection, epoch)

    def closed(self) -> set[tuple[int, int]]:
        """Return the closed epochs, by key of the collection and number."""
        return {(key, epoch) for key, epoch in self._rows("SELECT collection, epoch FROM closed")}

    def record_seal(self, row: SealRow) -> None:
        """Keep the seal of a batch, within a transaction."""
        self._write("INSERT INTO seals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *astuple(row))

    def seals(self) -> list[SealRow]:
        """Return all seals, by collection and epoch."""
        return [SealRow(*row) for row in self._rows("SELECT * FROM seals ORDER BY collection, epoch")]

    def remove_collection(self, key: int, name: str) -> None:
        """Delete a collection with all of its rows, within a transaction; its files are then to be deleted."""
        for table in ("closed", "seals"):
            self._write(f"DELETE FROM {table} WHERE collection = ?", key)
        self._write("DELETE FROM collections WHERE key = ?", key)
        self._write("INSERT INTO purges VALUES (?, ?)", key, name)

    def purges(self) -> dict[int, str]:
        """Return the names of collections that are deleted, and whose files may still be there, by key."""
        return dict(self._rows("SELECT key, name FROM purges"))

    def end_purge(self, name: str) -> None:
        """Note that the files of a deleted collection are gone, within a transaction."""
        self._write("DELETE FROM purges WHERE name = ?", name)

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, ended ones among them."""
        return [TokenRow(*row) for row in self._rows("SELECT name, role, digest, made, ends FROM tokens ORDER BY name")]

    def add_token(self, row: TokenRow) -> None:
        """Keep a token, within a transaction; an ended one of the same name gives way."""
        self._write("DELETE FROM tokens WHERE name = ? AND ends <= ?", row.name, row.made)
        self._write("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", *astuple(row))

    def end_token(self, name: str, at: int) -> bool:
        """End a token, within a transaction, and return whether there was one."""
        return self._write("UPDATE tokens SET ends = ? WHERE name = ? AND (ends IS NULL OR ends > ?)", at, name, at) > 0

    def identity(self) -> str:
        """Return the random identity of this database; its backups have the same."""
        return str(self._rows("SELECT id FROM identity")[0][0])

    def see_clock(self, now: int) -> None:
        """Remember the time, within a transaction."""
        self._write("INSERT INTO clock VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET seen = excluded.seen", now)

    def clock_seen(self) -> int | None:
        """Return the last time that was noted, in Unix seconds; None before the first."""
        rows = self._rows("SELECT seen FROM clock")
        return int(rows[0][0]) if rows else None

    def copy(self, target: Path) -> None:
        """Copy everything into a new file, as it is now."""
        with self._lock, told("copied"):
            self._connection.execute("VACUUM INTO ?", (os.fspath(target),))
        target.chmod(0o600)

    def flaws(self) -> list[str]:
        """Return a sentence for each invariant that does not hold."""
        # As a table, pragma_integrity_check(20), newer SQLite takes the number for a table's name.
        sound = [row[0] for row in self._rows("PRAGMA integrity_check(20)")] == ["ok"]
        asked = {
            "seals belong to no collection": "seals WHERE collection NOT IN (SELECT key FROM collections)",
            "sealed epochs are not closed": "seals WHERE (collection, epoch) NOT IN (SELECT * FROM closed)",
            "batches overlap": "seals a JOIN seals b ON a.collection = b.collection AND a.epoch < b.epoch "
            "AND a.last >= b.epoch",
            "deleted collections still have files": "purges",
        }
        counts = {what: self._rows(f"SELECT count(*) FROM {rows}")[0][0] for what, rows in asked.items()}
        damage = [] if sound else ["the database is damaged (integrity_check)"]
        return [*damage, *(f"{count} {what}" for what, count in counts.items() if count)]


@contextmanager
def told(done: str) -> Iterator[None]:
    """Turn SQLite's errors into one sentence, without any data."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if name in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
            raise DamagedStoreError("database.damaged") from None
        if name in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            raise FailedStoreError("database.busy") from None
        raise FailedStoreError("database.failed", what=done, reason=name) from None


def opened(path: Path) -> sqlite3.Connection:
    """Return a connection to a database, which is made for its owner alone if it is not there."""
    with told("opened"):
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            # By name: a descriptor that is closed would drop SQLite's locks. The log takes the same rights.
            path.chmod(0o600)
        except OSError as error:
            connection.close()
            raise FailedStoreError("database.failed", what="opened", reason=error.strerror) from None
        return connection
