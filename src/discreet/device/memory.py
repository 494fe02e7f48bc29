"""The device's memory: a private SQLite database with consent, reports, and the spent privacy budgets.

The memory has the newest version of each name, consent, the ledger of charges, prints of permanent answers, reports
waiting and sent, and a person's secret values. It never has answers, coins or seeds. Erased data are overwritten. A
crash at any point leaves a usable memory.

Budgets are sums of epsilon over all collections of the application: for one report, for all reports with overlapping
epochs, and for all reports ever. Each name also has a lifetime budget over all its versions.

SQLite detects a damaged page, but not a flipped bit in a number. Such a bit could invent consent, remove a charge, or
allow a second report in an epoch. So a digest covers everything that decides about an answer. It is written again with
every change, and a memory that does not match its digest is refused. The digest does not protect against people who can
write the file, because they can write the digest too. The ledger only grows, so its digest is a sum to which each
charge is added; it is compared when a memory is opened. All other data are small, and compared before every use.

SQLite's locks belong to a process, which loses them as soon as any code in it closes the file, such as an application
that copies it. So every user of the memory locks a separate file, whose lock no other code can release. Between two
transactions there is no lock and no write-ahead log that could be lost.
"""

import errno
import hashlib
import os
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakSet

from discreet.core.checks import checked_positive
from discreet.device.protocol.assignment import Assignment
from discreet.device.protocol.collection import ONCE, Collection
from discreet.errors import DiscreetError, ParameterError

_SUM_BYTES = 16
# Each query has an order, because versions of SQLite choose different ones. Envelopes are left out because they are
# signed; reports sent or dropped because they are only shown.
_DIGESTED = (
    "SELECT name, rootpage, sql FROM sqlite_master WHERE type = 'table' ORDER BY name",
    "SELECT latest, charges FROM clock",
    "SELECT name, version, id, envelope IS NULL, declined, key, tagged, fingerprint, record FROM names ORDER BY name",
    "SELECT * FROM versions ORDER BY key",
    "SELECT * FROM reports WHERE status IS NULL ORDER BY version, epoch",
    "SELECT * FROM prints ORDER BY name, print",
    "SELECT * FROM places ORDER BY name, code",
)


def is_sound(database: sqlite3.Connection, *, whole: bool) -> bool:
    """Return true if the database matches its digest; if `whole`, the table of charges is checked too.

    Args:
        database: the device's database, in a transaction.
        whole: whether to check the ledger too.
    """
    clock = _rows(database, "SELECT seal, charges FROM clock")
    if len(clock) != 1 or clock[0][0] != _digest(database):
        return False
    return not whole or clock[0][1] == _sum(_rows(database, "SELECT version, epoch, start, stop, charge FROM ledger"))


def write_digest(database: sqlite3.Connection) -> None:
    """Write the digest of the database's content, without the table of charges."""
    database.execute("UPDATE clock SET seal = ?", (_digest(database),))


def note_charge(database: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    """Add a charge to the digest of the table of charges."""
    ((before,),) = _rows(database, "SELECT charges FROM clock")
    database.execute("UPDATE clock SET charges = ?", (_sum([row], before),))


def _digest(database: sqlite3.Connection) -> bytes:
    return hashlib.sha256(repr([_rows(database, query) for query in _DIGESTED]).encode()).digest()


def _sum(rows: list[tuple[Any, ...]], before: bytes = bytes(_SUM_BYTES)) -> bytes:
    """Return the sum `before` plus the digests of the rows. The order of the rows has no effect."""
    digests = (hashlib.sha256(repr(row).encode()).digest()[:_SUM_BYTES] for row in rows)
    total = sum((int.from_bytes(digest, "little") for digest in digests), int.from_bytes(before, "little"))
    return (total % (1 << 8 * _SUM_BYTES)).to_bytes(_SUM_BYTES, "little")


def _rows(database: sqlite3.Connection, query: str) -> list[tuple[Any, ...]]:
    cursor = database.cursor()
    cursor.row_factory = None
    return cursor.execute(query).fetchall()


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

VERSION = 4
"""Version of the database's form; others are refused."""

_FILE = "device.db"
_LOCK, _TURN = ".lock", ".turn"
WAIT_SECONDS = 30.0
_PAUSE = 0.001
_PAGE = 1024
_TABLES = """
CREATE TABLE names (
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, id BLOB NOT NULL, envelope BLOB,
    declined INTEGER NOT NULL DEFAULT 0, key BLOB, tagged TEXT, fingerprint TEXT, record BLOB
) WITHOUT ROWID;
CREATE TABLE versions (
    key INTEGER PRIMARY KEY, id BLOB NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
    stop INTEGER NOT NULL, agreed INTEGER NOT NULL DEFAULT 0, origins TEXT NOT NULL
);
CREATE TABLE ledger (
    version INTEGER NOT NULL, epoch INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
    charge REAL NOT NULL, PRIMARY KEY (version, epoch)
) WITHOUT ROWID;
CREATE TABLE reports (
    version INTEGER NOT NULL, epoch INTEGER NOT NULL, id BLOB, record BLOB NOT NULL, due REAL NOT NULL,
    until INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, at INTEGER, status TEXT,
    PRIMARY KEY (version, epoch)
) WITHOUT ROWID;
CREATE TABLE prints (name TEXT NOT NULL, print BLOB NOT NULL, PRIMARY KEY (name, print)) WITHOUT ROWID;
CREATE TABLE places (
    name TEXT NOT NULL, code INTEGER NOT NULL, bot INTEGER NOT NULL, PRIMARY KEY (name, code)
) WITHOUT ROWID;
CREATE TABLE clock (latest INTEGER NOT NULL, charges BLOB NOT NULL, seal BLOB);
INSERT INTO clock VALUES (0, zeroblob(16), NULL);
"""


class StoreError(DiscreetError, RuntimeError):
    """Raised if the device's database cannot be read or written. The last transaction had no effect."""

    reason = "store"


class Memory:
    """The database of a device.

    Args:
        folder: the folder for the database. If it does not exist it is made, and only its owner can read it.

    Raises:
        ParameterError: if other users can read the folder, or it cannot be made.
        StoreError: if the database cannot be opened, or has another version.
    """

    def __init__(self, folder: str | Path) -> None:
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None
        self._folder = Path(folder)
        _OPEN.add(self)
        _make_folder(self._folder)
        with self._lock, folder_lock(self._folder):
            _ = self._connection

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None

    def __del__(self) -> None:
        # For a device that nobody closed: Python warns about open databases.
        self.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = _opened(self._folder / _FILE)
        return self._database

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the body as one transaction: afterwards all its changes are on disk, or none of them.

        Raises:
            StoreError: if the database cannot be read or written.
        """
        with self._lock, _store_errors(), folder_lock(self._folder):
            database = self._connection
            database.execute("BEGIN IMMEDIATE")
            try:
                if not is_sound(database, whole=False):
                    raise StoreError("memory.damaged")
                before = database.total_changes
                yield database
                if database.total_changes != before:
                    write_digest(database)
                database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise


# SQLite does not allow a connection to survive a fork. So before a fork all transactions end and all connections close;
# they open again at their next use.
_OPEN: WeakSet[Memory] = WeakSet()
_WAITING_FOR_FORK: list[Memory] = []


def _before_fork() -> None:
    for memory in list(_OPEN):
        memory._lock.acquire()
        _WAITING_FOR_FORK.append(memory)
        memory.close()


def _after_fork() -> None:
    while _WAITING_FOR_FORK:
        _WAITING_FOR_FORK.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # UnicodeDecodeError comes from damaged files. Only the kind is shown: a message of SQLite may quote data.
        raise StoreError("memory.not-usable", kind=type(error).__name__) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode
    except OSError as error:
        raise ParameterError("folder.not-made", argument="folder", folder=folder, kind=type(error).__name__) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise ParameterError("folder.not-private", argument="folder", folder=folder)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock the database in a folder against all other devices, in this process and in others.

    Two locks make the order fair: a device that waits has the first lock, so nobody can overtake it repeatedly.
    """
    end = time.monotonic() + WAIT_SECONDS
    with ExitStack() as turn, ExitStack() as lock:
        turn.enter_context(_locked(folder, _TURN, end))
        lock.enter_context(_locked(folder, _LOCK, end))
        turn.close()
        yield


@contextmanager
def _locked(folder: Path, name: str, end: float) -> Iterator[None]:
    """Lock a file. Wait for the lock until the time `end`."""
    try:
        file = os.open(folder / name, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise StoreError("folder.not-writable", folder=folder, kind=type(error).__name__) from None
    try:
        while not _try_lock(file, folder):
            if time.monotonic() > end:
                raise StoreError("memory.in-use")
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            _unlock(file)
    finally:
        os.close(file)


def _try_lock(file: int, folder: Path) -> bool:
    """Try to lock a file; return false if another device has the lock."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EAGAIN, errno.EACCES, errno.EDEADLK}:
            return False
        raise StoreError("folder.without-locks", folder=folder) from None
    return True


def _unlock(file: int) -> None:
    # Closing the file is not enough: a program that is being started has it open for a moment too.
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_UN)


def _opened(path: Path) -> sqlite3.Connection:
    with _store_errors():
        database = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                # A new file. It is changed by name, because opening it here would end this process's locks on it.
                path.chmod(0o600)
            database.row_factory = sqlite3.Row
            _is_new(database)
            database.execute(f"PRAGMA page_size={_PAGE}")
            # A rollback journal, which each transaction empties, and no write-ahead log.
            for setting in ("journal_mode=TRUNCATE", "synchronous=EXTRA", "secure_delete=ON", "temp_store=MEMORY"):
                database.execute(f"PRAGMA {setting}").fetchall()
            _make_tables(database)
        except BaseException:
            database.close()
            raise
        return database


def _is_new(database: sqlite3.Connection) -> bool:
    """Return true if a database has no tables yet.

    Raises:
        StoreError: if it has another version than this one.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in {0, VERSION}:
        code = "memory.newer-version" if version > VERSION else "memory.older-version"
        raise StoreError(code, known=VERSION, version=version)
    return not version


def _make_tables(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        if _is_new(database):
            for statement in filter(str.strip, _TABLES.split(";")):
                database.execute(statement)
            write_digest(database)
            database.execute(f"PRAGMA user_version={VERSION}")
        if database.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok" or not is_sound(database, whole=True):
            raise StoreError("memory.damaged")
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def one_row(database: sqlite3.Connection, query: str, *values: Any) -> sqlite3.Row | None:
    """Return the first row of a query, or None if it has no rows."""
    row: sqlite3.Row | None = database.execute(query, values).fetchone()
    return row


def note_time(database: sqlite3.Connection, now: float) -> int:
    """Store the latest time that the device has seen. Return the time stored before, in seconds since 1970."""
    (latest,) = database.execute("SELECT latest FROM clock").fetchone()
    if int(now) > latest:
        database.execute("UPDATE clock SET latest = ?", (int(now),))
    return int(latest)


def erase_key(database: sqlite3.Connection, name: str) -> None:
    """Erase the key of a collection name, and the data that were made with the key."""
    database.execute("DELETE FROM prints WHERE name = ?", (name,))
    database.execute("UPDATE names SET key = NULL, fingerprint = NULL, record = NULL WHERE name = ?", (name,))


def erase_name(database: sqlite3.Connection, name: str) -> None:
    """Erase the key, the secret values and the reports not yet sent of a collection name."""
    erase_key(database, name)
    database.execute("DELETE FROM places WHERE name = ?", (name,))
    # Without this reset, an answer under the same name would assume that the person has no secret values.
    database.execute("UPDATE names SET tagged = NULL WHERE name = ?", (name,))
    of_name = "(SELECT key FROM versions WHERE name = ?)"
    database.execute(f"DELETE FROM reports WHERE status IS NULL AND version IN {of_name}", (name,))


def erase_ended(database: sqlite3.Connection, now: float) -> None:
    """Erase the keys of collection names whose last epoch has ended."""
    ended = database.execute(
        "SELECT name FROM names WHERE (key IS NOT NULL OR record IS NOT NULL OR name IN (SELECT name FROM prints)) "
        "AND ? >= (SELECT max(stop) FROM versions WHERE versions.name = names.name)",
        (now,),
    ).fetchall()
    for row in ended:
        erase_key(database, row["name"])


# Tolerance for rounding errors in sums of floats.
_MARGIN = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a person's privacy loss, in nats. The application sets them, and no collection can exceed them.

    Attributes:
        report: the largest epsilon of one report.
        epoch: the largest sum of epsilon over all reports whose epochs overlap.
        lifetime: the largest sum of epsilon over all reports of all collections.

    Raises:
        ParameterError: if a limit is not a finite number above 0.

    Example:
        >>> Limits(report=1.0, epoch=2.0, lifetime=8.0)
        Limits(report=1.0, epoch=2.0, lifetime=8.0)
    """

    report: float
    epoch: float
    lifetime: float

    def __post_init__(self) -> None:
        """Check that the limits are positive numbers."""
        for name in self.__slots__:
            object.__setattr__(self, name, checked_positive(name, getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Budget:
    """The privacy budget that a person has spent and has left, in nats.

    Attributes:
        spent: the sum of epsilon over all collections.
        left: the application's lifetime limit minus ``spent``, at least 0.
        names: the sum of epsilon by collection name.
    """

    spent: float
    left: float
    names: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


def within(spent: float, limit: float) -> bool:
    """Return true if a sum of epsilons is at most a limit, up to rounding errors."""
    return spent <= limit * _MARGIN


def affordable(database: sqlite3.Connection, collection: Collection, epoch: int, limits: Limits) -> bool:
    """Return true if every privacy budget allows one more report of a collection."""
    start, stop, _ = collection.window(epoch)
    epsilon = collection.cost
    overlapping = _sum_of(database, "SELECT total(charge) FROM ledger WHERE start < ? AND stop > ?", stop, start)
    return (
        within(epsilon, limits.report)
        and within(overlapping + epsilon, limits.epoch)
        and within(spent_in_all(database) + epsilon, limits.lifetime)
        and within(spent_by_name(database).get(collection.name, 0.0) + epsilon, collection.lifetime)
        and (collection.survey is None or _survey_allows(database, collection, collection.survey, epoch, epsilon))
    )


def _survey_allows(
    database: sqlite3.Connection, collection: Collection, survey: Assignment, epoch: int, epsilon: float
) -> bool:
    """Return true if the survey's privacy budget allows one more answer: in this epoch, or in total."""
    span, names = collection.epochs, list(survey.questions)
    start, stop = (span.start, span.end) if collection.answers == ONCE else collection.window(epoch)[:2]
    spent = _sum_of(
        database,
        "SELECT total(charge) FROM ledger JOIN versions ON key = ledger.version "
        f"WHERE name IN ({', '.join('?' * len(names))}) AND start < ? AND ledger.stop > ?",
        *names,
        stop,
        start,
    )
    return within(spent + epsilon, survey.epsilon)


def charge(database: sqlite3.Connection, version: int, collection: Collection, epoch: int, epsilon: float) -> None:
    """Store the epsilon of a report as a charge. It fails if this version and epoch already have a report."""
    start, stop, _ = collection.window(epoch)
    row = version, epoch, start, stop, float(epsilon)
    database.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?)", row)
    note_charge(database, row)


def is_answered(database: sqlite3.Connection, version: int, epoch: int | None) -> bool:
    """Return true if a version of a collection has a report in the epoch, or in any epoch if `epoch` is None."""
    query = "SELECT 1 FROM ledger WHERE version = ? AND (? IS NULL OR epoch = ?) LIMIT 1"
    return one_row(database, query, version, epoch, epoch) is not None


def spent_in_all(database: sqlite3.Connection) -> float:
    """Return the sum of all charges, in nats."""
    return _sum_of(database, "SELECT total(charge) FROM ledger")


def spent_by_name(database: sqlite3.Connection) -> dict[str, float]:
    """Return the sum of the charges for each collection name, over all its versions, in nats."""
    rows = database.execute(
        "SELECT name, total(charge) AS spent FROM ledger JOIN versions ON key = ledger.version GROUP BY name"
    )
    return {row["name"]: row["spent"] for row in rows}


def _sum_of(database: sqlite3.Connection, query: str, *values: Any) -> float:
    return float(database.execute(query, values).fetchone()[0])
