"""Data in PostgreSQL, for several collectors that serve the same collections.

Reports that are not sealed lie in a table per collection and epoch, a row for each group of frames, which is dropped as
a whole. They are tables of their own and no partitions of one: dropping a partition locks the whole, and while a dump
reads it nobody could write.

A group is one transaction, and is acknowledged when it is committed. It holds a lock that it shares with the other
writers, and whoever closes an epoch takes that lock alone: then every group of the epoch is committed, and none comes
behind it. What others changed is seen by a revision that each group reads behind the lock.
"""

import secrets
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from discreet.collector.logs import log
from discreet.collector.storage.inboxes import At, Inboxes
from discreet.collector.storage.store import VERSION, WRITERS, DamagedStoreError, FailedStoreError, Store
from discreet.errors import DataError, ParameterError
from discreet.extras import optional

_LINK = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "discreet",
}
"""Settings that a URL does not have: who is cut off from the server learns it within seconds."""
# Who closes an epoch waits longer than the server does for a writer that hangs.
_PATIENCE = "10s"
SETTINGS = f"""
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '{_PATIENCE}';
SET idle_in_transaction_session_timeout = '5s';
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') <> 'remote_apply';
"""
# Locks are of a database, and collectors of several schemas may share it.
_LOCK = "(hashtext(current_schema()), {})"
_MAKING, _AUDIT, _ALONE = 3, 4, 5
_WAITING = "SELECT collection, epoch, sum(n)::bigint FROM waiting GROUP BY collection, epoch"
_INBOXES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename ~ '^inbox_[0-9_]+$'"
_LOST = "postgresql.lost"
# In place of a lock: a transaction goes with the connection too.
_TRANSACTION = 0
_TABLES = f"""
CREATE TABLE collections (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bytea NOT NULL UNIQUE CHECK (length(id) = 32),
    name text NOT NULL,
    version bigint NOT NULL CHECK (version >= 1),
    state text NOT NULL CHECK (state IN ('open', 'withdrawn')),
    envelope bytea NOT NULL,
    trust bytea NOT NULL CHECK (length(trust) % 32 = 0),
    added bigint NOT NULL,
    UNIQUE (name, version)
);
CREATE TABLE closed (collection bigint, epoch bigint, PRIMARY KEY (collection, epoch));
CREATE TABLE seals (
    collection bigint NOT NULL REFERENCES collections (key),
    epoch bigint NOT NULL,
    last bigint NOT NULL CHECK (last >= epoch),
    file text NOT NULL,
    sha256 text NOT NULL CHECK (length(sha256) = 64),
    n bigint NOT NULL,
    duplicates bigint NOT NULL,
    conflicts bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (collection, epoch)
);
CREATE TABLE purges (key bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE refusals (collection bigint, epoch bigint NOT NULL, reason text NOT NULL, count bigint NOT NULL);
CREATE UNIQUE INDEX refusals_of ON refusals (coalesce(collection, -1), epoch, reason);
CREATE TABLE tokens (
    name text PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('analyst', 'operator')),
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
    made bigint NOT NULL,
    ends bigint
);
CREATE TABLE clock (one int PRIMARY KEY CHECK (one = 1), seen bigint NOT NULL);
CREATE TABLE audit (seq bigint PRIMARY KEY, at bigint NOT NULL, actor text NOT NULL, action text NOT NULL,
    detail text NOT NULL);
CREATE TABLE waiting (collection bigint, epoch bigint, writer bigint, n bigint NOT NULL,
    PRIMARY KEY (collection, epoch, writer)) WITH (fillfactor = 50);
CREATE TABLE state (one int PRIMARY KEY CHECK (one = 1), version int NOT NULL, revision bigint NOT NULL);
INSERT INTO state VALUES (1, {VERSION}, 1);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN RAISE EXCEPTION 'the audit is append-only'; END$$;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_remains BEFORE DELETE OR TRUNCATE ON audit EXECUTE FUNCTION refuse_change();
-- A sequence would leave a gap where a transaction is rolled back.
CREATE FUNCTION next_line() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN
        PERFORM pg_advisory_xact_lock{_LOCK.format(_AUDIT)};
        NEW.seq = (SELECT coalesce(max(seq), 0) + 1 FROM audit);
        RETURN NEW;
    END$$;
CREATE TRIGGER audit_lines BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION next_line();
CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN UPDATE state SET revision = revision + 1; RETURN NULL; END$$;
""" + "".join(
    f"CREATE TRIGGER announced AFTER INSERT OR UPDATE OR DELETE ON {table} EXECUTE FUNCTION announce();\n"
    for table in ("collections", "closed", "tokens")
)
_TRIGGERS = 6


@contextmanager
def _asking(what: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into one sentence, without what was to be written and where it was to go."""
    errors = optional("psycopg").errors
    try:
        yield
    except (errors.DataCorrupted, errors.IndexCorrupted):
        raise DamagedStoreError("postgresql.damaged") from None
    except errors.Error as error:
        raise FailedStoreError("postgresql.failed", what=what, reason=type(error).__name__) from None


def connected(server: str) -> Any:
    """Return a connection that commits each statement by itself and holds every setting that the data need."""
    psycopg = optional("psycopg")
    try:
        facts = psycopg.conninfo.conninfo_to_dict(server)
    except psycopg.ProgrammingError:
        # Unquoted, as it may have a password.
        raise ParameterError("database.not-url", argument="database") from None
    try:
        connection = psycopg.connect(**{**_LINK, **facts}, autocommit=True)
    except psycopg.Error as error:
        # Of where and as whom; no password, and nothing of persons.
        why = str(error).partition("\n")[0].strip()
        raise FailedStoreError("postgresql.unreachable", reason=why) from None
    with _asking("set up"):
        connection.execute(SETTINGS)
    return connection


class PostgresStore(Store):
    """The database in PostgreSQL, which several processes have open at once.

    Args:
        server: its URL; tables are made in the first schema of its search path.

    Raises:
        FailedStoreError: if it cannot be reached.
        ParameterError: if its tables are of another version of discreet, or it does not flush what it commits.
    """

    def __init__(self, server: str) -> None:
        super().__init__()
        self.server, self._held, self._lost = server, Counter[int](), False
        self._connection = connected(server)
        try:
            with self.transaction():
                self._rows(f"SELECT pg_advisory_xact_lock{_LOCK.format(_MAKING)}")
                if self._rows("SELECT to_regclass(quote_ident(current_schema()) || '.state')") == [(None,)]:
                    with _asking("given tables"):
                        self._connection.execute(_TABLES)
                ((version,),) = self._rows("SELECT version FROM state")
            if version != VERSION:
                raise ParameterError("database.other-version", version=version, known=VERSION)
            if self._rows("SHOW fsync") != [("on",)]:
                raise ParameterError("postgresql.without-fsync")
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Let go of the database, and of all locks."""
        with self._lock:
            self._connection.close()

    def _live(self) -> Any:
        """Return the connection, made anew if it was lost, and all that it held with it."""
        if self._connection.closed:
            if self._held[_TRANSACTION]:
                raise FailedStoreError(_LOST)
            self._lost = self._lost or bool(self._held)
            self._connection = connected(self.server)
        return self._connection

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[None]:
        """Write within the body: all of it, committed to disk at the end, or nothing.

        Nothing is written by anybody while somebody goes on who has lost a lock: it may be he.
        """
        with self._lock, _asking("written to"), self._live().transaction():
            if self._lost:
                raise FailedStoreError(_LOST)
            self._held[_TRANSACTION] += 1
            try:
                if alone:
                    self._rows(f"SELECT pg_advisory_xact_lock{_LOCK.format(_ALONE)}")
                yield
            finally:
                self._held -= Counter([_TRANSACTION])

    def _rows(self, text: str, *values: Any) -> list[Any]:
        with self._lock, _asking("read"):
            rows: list[Any] = self._live().execute(_spoken(text), values).fetchall()
            return rows

    def _write(self, text: str, *values: Any) -> int:
        with _asking("written to"):
            count: int = self._live().execute(_spoken(text), values).rowcount
            return count

    def revision(self) -> int:
        """Return the number of changes to collections, closed epochs and tokens, by whomever."""
        return int(self._rows("SELECT revision FROM state")[0][0])

    def hold(self, lock: int, *, wait: bool = True) -> bool:
        """Take a lock of all processes, which goes with the connection, and return whether it was free.

        Those who wait are served in turn; for the lock of writers they give up after some seconds.
        """
        held = f"advisory_lock{_LOCK.format(lock)}"
        if not wait:
            if not self._rows(f"SELECT pg_try_{held}")[0][0]:
                return False
        elif lock == WRITERS:
            self._rows(f"SELECT pg_{held}")
        else:
            # As long as it takes: by verbs, whose process has nothing else to ask.
            self._rows(f"SELECT set_config('lock_timeout', '0', false), pg_{held}")
            self._rows(f"SELECT set_config('lock_timeout', '{_PATIENCE}', false)")
        self._held[lock] += 1
        return True

    def let_go(self, lock: int) -> None:
        """Give a lock back; one that was lost is given back already."""
        with self._lock:
            self._held -= Counter([lock])
            self._lost = self._lost and bool(self._held)
            if not self._connection.closed:
                with suppress(FailedStoreError):
                    self._rows(f"SELECT pg_advisory_unlock{_LOCK.format(lock)}")

    def waiting(self) -> dict[At, int]:
        """Return the number of reports in tables, by collection and epoch."""
        return {(key, epoch): n for key, epoch, n in self._rows(_WAITING)}

    def drop(self, at: At) -> None:
        """Drop the table of an epoch, unless somebody reads it."""
        with self.transaction():
            self._rows("SELECT set_config('lock_timeout', '200ms', true)")
            self._write("DELETE FROM waiting WHERE collection = ? AND epoch = ?", *at)
            self._write(f"DROP TABLE IF EXISTS {_name(at)}")

    def _lacking_triggers(self) -> int:
        query = (
            "SELECT count(*) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid "
            "WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal AND tgenabled = 'O'"
        )
        return _TRIGGERS - int(self._rows(query)[0][0])


def _spoken(text: str) -> str:
    """Return a statement as PostgreSQL has it."""
    return text.replace("?", "%s").replace("ifnull(", "coalesce(")


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Reports of one epoch, in a table.

    Attributes:
        server: its URL.
        name: of the table.
        flaw: empty; damage is found by who reads.
    """

    server: str = field(repr=False)
    name: str
    flaw: str = ""

    def rows(self, width: int) -> Iterator[bytes]:
        """Yield the reports, a group at a time, each checked.

        Raises:
            DataError: if they are damaged.
            FailedStoreError: if they cannot be read.
        """
        with closing(connected(self.server)) as connection:
            yield from _rows_of(connection, self.name, width)


def _rows_of(connection: Any, name: str, width: int) -> Iterator[bytes]:
    count = 0
    groups = connection.cursor().stream(f"SELECT n, crc, rows FROM {name} ORDER BY seq", binary=True)
    with _asking("read"), closing(groups):
        for n, crc, rows in groups:
            if len(rows) != n * width or zlib.crc32(rows) != crc:
                raise DataError("table.damaged", name=name, n=count)
            count += n
            yield rows


def _name(at: At) -> str:
    return f"inbox_{at[0]}_{at[1]}"


class PostgresInboxes(Inboxes):
    """The tables of all epochs that are not sealed, and the connection that writes to them.

    Args:
        store: the database.
        widths: bytes of a report by key of the collection.
    """

    def __init__(self, store: PostgresStore, widths: Mapping[int, int]) -> None:
        super().__init__()
        self._store, self._widths = store, widths
        self._connection = connected(store.server)
        # Each writer counts in rows of its own: collectors do not wait for each other there.
        self._writer = secrets.randbits(63)
        self._made = set[At]()

    def close(self) -> None:
        """Let go of the connection; what is not committed is as if it had never been."""
        self._connection.close()

    def _live(self) -> Any:
        if self._connection.closed:
            self._connection = connected(self._store.server)
        return self._connection

    def begin(self) -> int:
        """Begin the transaction of a group, behind the lock that keeps epochs as they are; return the revision.

        Raises:
            FailedStoreError: if the server cannot be reached, or the lock cannot be had.
        """
        connection = self._live()
        with _asking("written to"):
            # Each has a snapshot of its own: the revision is that behind the lock. No pipeline, as behind one the
            # server (15) does not notice that nothing more comes.
            answer = connection.execute(
                f"BEGIN; SELECT pg_advisory_xact_lock_shared{_LOCK.format(WRITERS)}; SELECT revision FROM state"
            )
            while answer.nextset():
                pass
            return int(answer.fetchone()[0])

    def finish(self) -> None:
        """End the transaction of a group, if it is not committed."""
        with suppress(FailedStoreError), _asking("written to"):
            if not self._connection.closed:
                self._connection.rollback()

    def waiting(self) -> dict[At, int]:
        """Return the number of reports that wait to be sealed, by collection and epoch; those sent again count."""
        return self._store.waiting()

    def parts(self, at: At) -> Sequence[ReportTable]:
        """Return the table of an epoch, if it has one."""
        return [ReportTable(self._store.server, _name(at))] if at in self.waiting() else []

    def append(self, groups: Mapping[At, Sequence[bytes]]) -> set[At]:
        """Write reports and commit them; if that fails, nothing of any epoch is kept."""
        with self.turn:
            try:
                with _asking("written to"):
                    if self._live().info.transaction_status == optional("psycopg").pq.TransactionStatus.IDLE:
                        self.begin()
                    self._insert({at: b"".join(rows) for at, rows in groups.items()})
            except FailedStoreError as error:
                log("store_failed", level="error", reason=str(error))
                self._made.clear()
                self.finish()
                return set(groups)
            self._made |= groups.keys()
            return set()

    def _insert(self, groups: Mapping[At, bytes]) -> None:
        new = groups.keys() - self._made
        # What fails within a pipeline ends it: nothing behind it is done, the last statement included.
        with self._connection.pipeline():
            if new:
                # Two who make one table at once would fail.
                self._connection.execute(f"SELECT pg_advisory_xact_lock{_LOCK.format(_MAKING)}")
            for at in new:
                self._connection.execute(
                    f"CREATE TABLE IF NOT EXISTS {_name(at)} (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
                    "n bigint NOT NULL, crc bigint NOT NULL, rows bytea NOT NULL)"
                )
                # Random bytes are not tried to be made smaller.
                self._connection.execute(f"ALTER TABLE {_name(at)} ALTER rows SET STORAGE EXTERNAL")
            for at, rows in groups.items():
                n = len(rows) // self._widths[at[0]]
                self._connection.execute(
                    f"INSERT INTO {_name(at)} (n, crc, rows) VALUES (%s, %s, %b)", (n, zlib.crc32(rows), rows)
                )
                self._connection.execute(
                    "INSERT INTO waiting VALUES (%s, %s, %s, %s) "
                    "ON CONFLICT (collection, epoch, writer) DO UPDATE SET n = waiting.n + excluded.n",
                    (*at, self._writer, n),
                )
            self._connection.execute("COMMIT")

    def probe(self) -> bool:
        """Return true if something can be written and committed."""
        try:
            with self.turn, _asking("written to"):
                self._live().execute("UPDATE clock SET seen = seen")
        except FailedStoreError:
            return False
        return True

    def remove(self, at: At) -> None:
        """Drop the table of an epoch.

        Raises:
            FailedStoreError: if it cannot be dropped, as while a dump reads it.
        """
        self._store.drop(at)

    def check(self) -> Iterator[str]:
        """Yield a sentence for each table that is not what was written here, all read as of one moment."""
        with closing(connected(self._store.server)) as connection:
            with _asking("read"):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                waiting = {(key, epoch): n for key, epoch, n in connection.execute(_WAITING)}
                there = {name for (name,) in connection.execute(_INBOXES)}
            for name in sorted(there - set(map(_name, waiting))):
                yield f"the table {name} belongs to no epoch that waits."
            for at, n in waiting.items():
                if _name(at) not in there:
                    yield f"the table {_name(at)} is missing, and {n} reports with it."
                elif at[0] in self._widths:
                    yield from self._flaws_of(connection, at, n)

    def _flaws_of(self, connection: Any, at: At, n: int) -> Iterator[str]:
        width = self._widths[at[0]]
        try:
            count = sum(len(rows) // width for rows in _rows_of(connection, _name(at), width))
        except DataError as error:
            yield error.sentence()
            return
        if count != n:
            yield f"the table {_name(at)} holds {count} reports, and {n} were acknowledged."
