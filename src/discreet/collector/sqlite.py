"""The store in one file of SQLite, with a log that is written ahead and synchronized at every commit."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from discreet.collector.migrations import MIGRATIONS
from discreet.collector.sqlite_files import copy_database, make_database, migrate, told
from discreet.collector.store import (
    AuditRow,
    CollectionRow,
    FailedStoreError,
    FrameRow,
    SealRow,
    TokenRow,
)

Row = TypeVar("Row")

_KEY_BYTES = 32
_BUSY_SECONDS = 5.0
# 16 MB at once: no request waits for more than that to go into the database.
_PAGES_OF_LOG = 4_000
_CACHE_KB = 64_000
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    f"PRAGMA wal_autocheckpoint = {_PAGES_OF_LOG}",
    "PRAGMA secure_delete = FAST",
    f"PRAGMA cache_size = -{_CACHE_KB}",
    "PRAGMA foreign_keys = ON",
)


class SqliteStore:
    """A store in a file of SQLite; see `discreet.collector.store.Store`.

    Args:
        path: the file; made if it is not there.
        read_only: whether nothing is to be changed; the file must be there, of this version.
        migrations: the steps to the newest version.

    Raises:
        FailedStoreError: if the file cannot be opened.
        ParameterError: if it was written by a newer version of discreet.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        migrations: Sequence[Callable[[sqlite3.Connection], None]] = MIGRATIONS,
    ) -> None:
        self._path, self._data_version = path, -1
        if read_only and not path.is_file():
            raise FailedStoreError(f"there is no database {path.name} in this folder; name the folder of a collector.")
        if not read_only:
            make_database(path)
        with told("opened"):
            mode = "ro" if read_only else "rwc"
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                timeout=_BUSY_SECONDS,
                check_same_thread=False,
            )
        try:
            with told("opened"):
                for setting in _SETTINGS if not read_only else ():
                    self._connection.execute(setting)
            migrate(self._connection, path, migrations, read_only=read_only)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write within the body: all of it, synchronized to disk at the end, or nothing."""
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

    def changed(self) -> bool:
        """Return true if another connection has written since this was last asked; the first time it has."""
        ((version,),) = self._rows("PRAGMA data_version")
        before, self._data_version = self._data_version, version
        return bool(before != version)

    def _rows(self, text: str, *given: Any) -> list[Any]:
        with told("read"):
            return self._connection.execute(text, given).fetchall()

    def _write(self, text: str, *given: Any) -> int:
        with told("written to"):
            return self._connection.execute(text, given).rowcount

    def insert(self, frames: Iterable[FrameRow]) -> int:
        """Keep frames, within a transaction; those that are there already are passed over."""
        by_epoch: dict[tuple[int, int], list[tuple[bytes, int, bytes]]] = {}
        for frame in frames:
            rows = by_epoch.setdefault((frame.collection, frame.epoch), [])
            rows.append((frame.digest, frame.n, frame.reports))
        fresh = 0
        for (key, epoch), rows in by_epoch.items():
            table = self._inbox(key, epoch)
            with told("written to"):
                text = f"INSERT OR IGNORE INTO {table} (digest, n, reports) VALUES (?, ?, ?)"
                fresh += self._connection.executemany(text, rows).rowcount
        return fresh

    def _inbox(self, key: int, epoch: int) -> str:
        """Return the name of an epoch's table, which is there afterwards.

        Each epoch has a table, because it can be deleted at once: row by row that would write the index of random
        digests anew a thousand times.
        """
        table = _table(key, epoch)
        self._write(
            f"CREATE TABLE IF NOT EXISTS {table} (seq INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE "
            "CHECK (length(digest) = 16), n INTEGER NOT NULL CHECK (n >= 1), reports BLOB NOT NULL) STRICT"
        )
        self._write("INSERT OR IGNORE INTO inboxes VALUES (?, ?)", key, epoch)
        return table

    def count_refusals(self, refusals: Mapping[tuple[int | None, int, str], int]) -> None:
        """Add to the counts of refusals, within a transaction."""
        rows = [(*key, count) for key, count in refusals.items()]
        with told("written to"):
            self._connection.executemany(
                "INSERT INTO refusals VALUES (?, ?, ?, ?) "
                "ON CONFLICT (ifnull(collection, -1), epoch, reason) DO UPDATE SET count = count + excluded.count",
                rows,
            )

    def refusals(self) -> dict[tuple[int | None, int, str], int]:
        """Return the counts of refusals by collection, epoch and reason."""
        return {tuple(row[:3]): row[3] for row in self._rows("SELECT * FROM refusals")}

    def collections(self) -> list[CollectionRow]:
        """Return all collections, in the order in which they were added."""
        rows = self._rows("SELECT key, id, name, version, state, envelope, trust, added FROM collections ORDER BY key")
        return [CollectionRow(row[0], row[1], row[2], row[3], row[4], row[5], _keys(row[6]), row[7]) for row in rows]

    def add_collection(self, row: CollectionRow) -> None:
        """Keep a collection, within a transaction; its key is chosen here."""
        self._write(
            "INSERT INTO collections (id, name, version, state, envelope, trust, added) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(row.id, row.name, row.version, row.state, row.envelope, b"".join(row.trust), row.added),
        )

    def close_epoch(self, collection: int, epoch: int) -> None:
        """Take no more reports of an epoch, within a transaction."""
        self._write("INSERT OR IGNORE INTO closed VALUES (?, ?)", collection, epoch)

    def closed(self) -> set[tuple[int, int]]:
        """Return the closed epochs."""
        return {(key, epoch) for key, epoch in self._rows("SELECT collection, epoch FROM closed")}

    def pending(self) -> list[tuple[int, int]]:
        """Return the epochs of which frames are here."""
        return [(key, epoch) for key, epoch in self._rows("SELECT collection, epoch FROM inboxes")]

    def waiting(self) -> dict[tuple[int, int], int]:
        """Return the number of reports that wait to be sealed, by collection and epoch."""
        return {at: self._rows(f"SELECT ifnull(sum(n), 0) FROM {_table(*at)}")[0][0] for at in self.pending()}

    def frames(self, collection: int, epoch: int, *, after: int, most: int) -> tuple[int, bytes]:
        """Return frames behind a place, joined in order, of so many reports at most, and the place of the last one."""
        if (collection, epoch) not in self.pending():
            return after, b""
        table, frames = _table(collection, epoch), most
        while True:
            ((last, reports),) = self._rows(
                f"SELECT max(seq), sum(n) FROM (SELECT seq, n FROM {table} WHERE seq > ? ORDER BY seq LIMIT ?)",
                after,
                frames,
            )
            if last is None:
                return after, b""
            if reports <= most or frames == 1:
                break
            frames = max(min(frames - 1, frames * most // reports), 1)
        # Joined there: ten million frames as objects of Python took twice as long.
        ((data,),) = self._rows(
            "SELECT CAST(group_concat(reports, '') AS BLOB) FROM "
            f"(SELECT reports FROM {table} WHERE seq > ? AND seq <= ? ORDER BY seq)",
            after,
            last,
        )
        return last, data

    def drop_frames(self, collection: int, epoch: int) -> None:
        """Delete the frames of an epoch, within a transaction."""
        self._write(f"DROP TABLE IF EXISTS {_table(collection, epoch)}")
        self._write("DELETE FROM inboxes WHERE collection = ? AND epoch = ?", collection, epoch)

    def record_seal(self, row: SealRow) -> None:
        """Keep the seal of an epoch, within a transaction."""
        given = (row.collection, row.epoch, row.file, row.sha256, row.n, row.duplicates, row.conflicts, row.at)
        self._write("INSERT INTO seals VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *given)

    def seals(self) -> list[SealRow]:
        """Return all seals."""
        return [SealRow(*row) for row in self._rows("SELECT * FROM seals ORDER BY collection, epoch")]

    def remove_collection(self, key: int) -> None:
        """Delete a collection with all of its rows, within a transaction."""
        for owner, epoch in self.pending():
            if owner == key:
                self.drop_frames(owner, epoch)
        for table in ("closed", "seals", "refusals"):
            self._write(f"DELETE FROM {table} WHERE collection = ?", key)
        self._write("DELETE FROM collections WHERE key = ?", key)

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""
        return [TokenRow(*row) for row in self._rows("SELECT name, role, digest, made, ends FROM tokens ORDER BY name")]

    def add_token(self, row: TokenRow) -> None:
        """Keep a token, within a transaction; an ended one of the same name gives way."""
        self._write("DELETE FROM tokens WHERE name = ? AND ends <= ?", row.name, row.made)
        self._write("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", row.name, row.role, row.digest, row.made, row.ends)

    def end_token(self, name: str, at: int) -> bool:
        """End a token, within a transaction."""
        return self._write("UPDATE tokens SET ends = ? WHERE name = ? AND (ends IS NULL OR ends > ?)", at, name, at) > 0

    def note(self, at: int, actor: str, action: str, detail: str) -> None:
        """Write a line of the audit, within a transaction."""
        self._write("INSERT INTO audit (at, actor, action, detail) VALUES (?, ?, ?, ?)", at, actor, action, detail)

    def audit(self, *, most: int = 1000) -> list[AuditRow]:
        """Return the last lines of the audit, in order."""
        rows = self._rows("SELECT seq, at, actor, action, detail FROM audit ORDER BY seq DESC LIMIT ?", most)
        return [AuditRow(*row) for row in reversed(rows)]

    def checkpoint(self) -> None:
        """Move the log into the database."""
        self._rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def backup(self, target: Path) -> None:
        """Copy everything into a new file, whatever is written meanwhile."""
        copy_database(self._connection, target)

    def flaws(self) -> list[str]:
        """Return a sentence for each invariant that does not hold."""
        # As a table, pragma_integrity_check(20), newer SQLite takes the number for a table's name.
        sound = [row[0] for row in self._rows("PRAGMA integrity_check(20)")] == ["ok"]
        asked = {
            "frames belong to no collection": "inboxes WHERE collection NOT IN (SELECT key FROM collections)",
            "sealed epochs still have frames": "inboxes JOIN seals USING (collection, epoch)",
            "seals belong to no collection": "seals WHERE collection NOT IN (SELECT key FROM collections)",
            "sealed epochs are not closed": "seals WHERE (collection, epoch) NOT IN (SELECT * FROM closed)",
        }
        counts = {what: self._rows(f"SELECT count(*) FROM {rows}")[0][0] for what, rows in asked.items()}
        uneven = [f"{_table(*at)} WHERE length(reports) % n <> 0" for at in self.pending()]
        counts["frames have another length than their number of reports"] = sum(
            self._rows(f"SELECT count(*) FROM {rows}")[0][0] for rows in uneven
        )
        ((triggers, gaps),) = self._rows(
            "SELECT (SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'), "
            "(SELECT ifnull(max(seq), 0) - count(*) FROM audit)"
        )
        counts |= {"triggers that keep the audit are missing": 2 - triggers, "lines of the audit are missing": gaps}
        broken = [] if sound else ["the database is damaged (integrity_check)"]
        return broken + [f"{count} {what}" for what, count in counts.items() if count]


def _table(key: int, epoch: int) -> str:
    return f"inbox_{int(key)}_{int(epoch)}"


def _keys(joined: bytes) -> tuple[bytes, ...]:
    return tuple(joined[start : start + _KEY_BYTES] for start in range(0, len(joined), _KEY_BYTES))
