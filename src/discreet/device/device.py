"""One person's device: it accepts collections, asks for consent, answers once in an epoch, and sends.

A collection is refused before consent is asked: one that is older than a version seen before, is not in the public log,
or costs more than the person's limits. An answer is one transaction: what is charged, remembered and to be sent is
written before anything may leave, and what is sent is what was written, however often it takes. So a crash costs at
most a charge, and never draws a second report.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from discreet.core.checks import checked_flag
from discreet.core.random import RandomSource, checked_source
from discreet.device.answers import (
    Moment,
    Outcome,
    Person,
    answer,
    bots_of_places,
    checked_secret,
    is_drawn,
    keep_places,
)
from discreet.device.memory import (
    Budget,
    Limits,
    Memory,
    erase_ended,
    erase_name,
    note_time,
    one_row,
    spent_by_name,
    spent_in_all,
    within,
)
from discreet.device.outbox import Answer, Keys, LogEntry, Post, Sent, deliver, log_entries
from discreet.device.protocol.collection import OPEN, Collection, open_envelope, promised, read_document
from discreet.device.protocol.collection import rebuild as rebuilt
from discreet.device.protocol.envelope import (
    CapError,
    EquivocationError,
    LifetimeError,
    RollbackError,
    SimulatedError,
    UnloggedError,
    checked_trust,
)
from discreet.device.protocol.public_log import LogHead, checked_log
from discreet.errors import ParameterError


def refuse_old(database: sqlite3.Connection, name: str, version: int, id_: bytes) -> None:
    """Refuse a version below one that was seen, or another document of the same version.

    Raises:
        RollbackError: if a later version was seen before.
        EquivocationError: if another document was this version before.
    """
    row = one_row(database, "SELECT version, id FROM names WHERE name = ?", name)
    if row is not None and version < row["version"]:
        raise RollbackError("version.too-old", seen=row["version"], version=version)
    if row is not None and version == row["version"] and id_ != row["id"]:
        raise EquivocationError("version.two-documents", version=version)


def log_seen(database: sqlite3.Connection, key: bytes | None) -> LogHead:
    """Return the head of a public log as it was seen last, by the log's key; of size 0 if it never was."""
    row = one_row(database, "SELECT size, root FROM log WHERE key = ?", key)
    return LogHead(0, b"") if row is None else LogHead(row["size"], row["root"])


def see_log(database: sqlite3.Connection, key: bytes, id_: bytes, proof: bytes | None) -> None:
    """Check that a collection is in a public log, and remember the log's head.

    Raises:
        UnloggedError: if it is not, or the log is not what it was before and more.
    """
    if proof is None:
        raise UnloggedError("log.no-proof", argument="proof")
    head = checked_log(proof, key, id_, log_seen(database, key))
    database.execute("INSERT OR REPLACE INTO log (key, size, root) VALUES (?, ?, ?)", (key, head.size, head.root))


def refuse_unaffordable(collection: Collection, limits: Limits, *, simulated: bool) -> None:
    """Refuse a collection of another kind than the device, or one that costs more than a person spends.

    Raises:
        SimulatedError: if one of the two is simulated and the other is not.
        CapError: if a report costs too much.
        LifetimeError: if all reports, or those of one epoch, cost too much.
    """
    if collection.simulated != simulated:
        raise SimulatedError("collection.other-kind")
    if not within(collection.cost, limits.report):
        raise CapError("cost.above-report-limit", limit=limits.report, cost=collection.cost)
    if not within(collection.lifetime, limits.lifetime):
        raise LifetimeError("cost.above-lifetime-limit", cost=collection.lifetime, limit=limits.lifetime)
    if not within(collection.cost, limits.epoch):
        raise LifetimeError("cost.above-epoch-limit", limit=limits.epoch, cost=collection.cost)


def keep(database: sqlite3.Connection, collection: Collection) -> None:
    """Write a collection down as the current one of its name; of one that is withdrawn what was kept is erased."""
    row = collection.name, collection.version, collection.id, collection.envelope
    database.execute(
        "INSERT INTO names (name, version, id, envelope) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE "
        "SET version = excluded.version, id = excluded.id, envelope = excluded.envelope",
        row,
    )
    origins = json.dumps(collection.collectors)
    if not database.execute("UPDATE versions SET origins = ? WHERE id = ?", (origins, collection.id)).rowcount:
        database.execute(
            "INSERT INTO versions (id, name, version, stop, origins) VALUES (?, ?, ?, ?, ?)",
            (collection.id, collection.name, collection.version, collection.epochs.end, origins),
        )
    if collection.state != OPEN:
        erase_name(database, collection.name)


# Beyond it, sums of seconds would be none.
_LATEST = 1e15


class Device:
    """One person's device.

    Args:
        folder: for its memory; made for its owner alone if it does not exist.
        trust: public keys of whoever may ask, 32 bytes each, pinned by the application.
        limits: the most that a person may spend.
        person_secret: at least 16 unpredictable bytes, the same on all devices of one person, so that they give the
            same permanent answers; None for a key that is made here.
        simulated: whether the device is for simulated collections, and for these alone.
        log: public key of the log that collections must be in, 32 bytes; None to take those that others may never
            have been asked (`discreet.device.protocol.public_log`).
        random: the source of its words, for a simulation alone; None for the operating system's.
        clock: seconds since 1970.
        proxy: the HTTP proxy on the way to collectors, such as ``http://proxy.example.org:3128``; empty for none; None
            for what the system says (``HTTPS_PROXY``, ``NO_PROXY``).
        post: delivers a frame; None for the network.

    Raises:
        ParameterError: if an argument is none of these.
        StoreError: if the memory cannot be opened.

    Example:
        >>> import tempfile
        >>> limits = Limits(report=2.0, epoch=4.0, lifetime=20.0)
        >>> with tempfile.TemporaryDirectory() as folder, Device(folder, trust=[bytes(32)], limits=limits) as device:
        ...     device.budget().left, device.log()
        (20.0, [])
    """

    def __init__(
        self,
        folder: str | Path,
        trust: Sequence[bytes],
        limits: Limits,
        *,
        person_secret: bytes | None = None,
        simulated: bool = False,
        log: bytes | None = None,
        random: RandomSource | None = None,
        clock: Callable[[], float] = time.time,
        proxy: str | None = None,
        post: Post | None = None,
    ) -> None:
        if not isinstance(limits, Limits):
            raise ParameterError("limits.wrong-type", argument="limits", kind=type(limits).__name__)
        if random is not None and not simulated:
            raise ParameterError("random.for-simulation-only", argument="random")
        if proxy is not None and post is not None:
            raise ParameterError("proxy.with-post", argument="proxy")
        self._trust = list(checked_trust(trust))
        self._log = None if log is None else next(iter(checked_trust([log])))
        self._limits, self._simulated = limits, checked_flag("simulated", simulated)
        self._clock, self._keys = partial(_seconds, clock), Keys()
        if proxy is not None:
            # What sends is loaded when it is needed.
            from discreet.device.sending import checked_proxy

            proxy = checked_proxy(proxy)
        self._post: Post = partial(_network, proxy) if post is None else post
        source = None if random is None else checked_source(random)
        self._person = Person(limits, self._keys, checked_secret(person_secret), source)
        self._collections: dict[bytes, Collection] = {}
        self._memory = Memory(folder)

    def __repr__(self) -> str:
        return "Device(hidden)"

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()

    # Collections

    @property
    def logged(self) -> int:
        """The size of the public log as it was seen last; 0 for never, or without a key of one."""
        with self._memory.transaction() as database:
            return log_seen(database, self._log).size

    def accept(self, envelope: bytes, *, proof: bytes | None = None, rebuild: bool = False) -> Collection:
        """Check a collection, remember its version, and return what to show people.

        Args:
            envelope: as it came.
            proof: that it is in the public log: what its collector answers at ``/v1/log/ID/LOGGED``. Needed where the
                device has the key of one, but for a notice of withdrawal.
            rebuild: also make the mechanism from the plan, and compare it with the sampler.

        Raises:
            CollectionError: a class for each reason; nothing of it is kept.
        """
        if self._log is None and proof is not None:
            raise ParameterError("proof.without-log", argument="proof")
        id_, fields = read_document(envelope, self._trust)
        with self._memory.transaction() as database:
            refuse_old(database, fields["name"], fields["version"], id_)
        collection = promised(id_, fields, envelope)
        if collection.state == OPEN:
            refuse_unaffordable(collection, self._limits, simulated=self._simulated)
        collection.check_plan()
        if rebuild:
            rebuilt(collection)
        with self._memory.transaction() as database:
            # Another process may have accepted one meanwhile.
            refuse_old(database, collection.name, collection.version, id_)
            if self._log is not None and collection.state == OPEN:
                see_log(database, self._log, id_, proof)
            keep(database, collection)
            note_time(database, self._clock())
        self._collections[id_] = collection
        return collection

    def collection(self, name: str) -> Collection:
        """Return the highest version that was accepted of a name.

        Raises:
            ParameterError: if there is none.
            CollectionError: if the application does not trust its key any more.
        """
        with self._memory.transaction() as database:
            row = one_row(database, "SELECT id, envelope FROM names WHERE name = ?", name)
        if row is None or row["envelope"] is None:
            raise ParameterError("collection.unknown-name")
        return self._opened(row["id"], row["envelope"])

    def _opened(self, id_: bytes, envelope: bytes) -> Collection:
        """Return the collection of an id, from an envelope where it was not opened here before."""
        if id_ not in self._collections:
            collection = open_envelope(envelope, self._trust)
            if collection.id != id_:
                raise ParameterError("collection.other-id")
            self._collections[id_] = collection
        return self._collections[id_]

    # Consent

    def agree(self, collection: Collection | str) -> None:
        """Remember that the person agrees to this very document; nothing is drawn without it.

        Raises:
            ParameterError: if it is not the highest version that was accepted, or withdrawn.
        """
        current = self._current(collection)
        if current.state != OPEN:
            raise ParameterError("collection.withdrawn")
        with self._memory.transaction() as database:
            database.execute("UPDATE versions SET agreed = 1 WHERE id = ?", (current.id,))
            database.execute("UPDATE names SET declined = 0 WHERE name = ?", (current.name,))

    def decline(self, name: str) -> None:
        """Answer nothing under this name any more: what was not sent is erased, with the key and secret places.

        Raises:
            ParameterError: if no collection of this name was accepted.
        """
        with self._memory.transaction() as database:
            known = database.execute("UPDATE names SET declined = 1 WHERE name = ?", (name,)).rowcount
            database.execute("UPDATE versions SET agreed = 0 WHERE name = ?", (name,))
            erase_name(database, name)
        if not known:
            raise ParameterError("collection.nothing-to-decline")

    def tag(self, collection: Collection | str, tagged: Any) -> None:
        """Remember the person's secret values under a personalized plan; until the first answer they may be changed.

        Args:
            collection: of the plan.
            tagged: values by tag, such as ``{"home": ["park"]}``; where bots stand for cells, a list of values; empty
                if there are none.

        Raises:
            ParameterError: if the plan has no bots or wants them otherwise, or there was an answer under this name.
            DataError: if a value is not in the domain, or has two tags; values are not quoted.
        """
        current = self._current(collection)
        places = bots_of_places(current, tagged)
        with self._memory.transaction() as database:
            if current.name in spent_by_name(database):
                raise ParameterError("tagged.after-answer", argument="tagged")
            keep_places(database, current, places)

    def _named(self, collection: Collection | str) -> Collection:
        return self.collection(collection) if isinstance(collection, str) else self._known(_checked(collection))

    def _current(self, collection: Collection | str) -> Collection:
        if isinstance(collection, str):
            return self.collection(collection)
        newest = self.collection(_checked(collection).name)
        if collection.id != newest.id:
            raise ParameterError("collection.newer-version")
        return newest

    # Answers

    def answer(self, collection: Collection | str, value: Any) -> Outcome:
        """Draw, charge and write one report, to be sent when it is due.

        Args:
            collection: or its name.
            value: of the domain; see `Collection.code_of`.

        Returns:
            What became of it; only RECORDED has drawn and charged anything.

        Raises:
            DataError: if the value is not in the domain; it is not quoted, and nothing is charged.
            ParameterError: if the collection was not accepted, or a personalized plan still lacks the secret places.
            RandomnessError: if there is no randomness; nothing is charged.
            StoreError: if the memory refuses; nothing is charged.
        """
        known = self._named(collection)
        with self._memory.transaction() as database:
            now = self._clock()
            latest = note_time(database, now)
            erase_ended(database, now)
            return answer(database, known, value, Moment(now, latest), self._person)

    def asks(self, collection: Collection | str) -> bool:
        """Return true if the person answers a collection: always, or of a survey if this question was drawn for them.

        Args:
            collection: or its name.

        Raises:
            ParameterError: if it was not accepted, or the survey's first question was not.
        """
        known = self._named(collection)
        with self._memory.transaction() as database:
            return is_drawn(database, known, self._person)

    def _known(self, collection: Collection) -> Collection:
        """Return the collection that was checked here under this id, whatever the caller's object says."""
        if collection.id in self._collections:
            return self._collections[collection.id]
        with self._memory.transaction() as database:
            row = one_row(database, "SELECT envelope FROM names WHERE id = ?", collection.id)
        envelope = collection.envelope if row is None else row["envelope"]
        if envelope is None:
            raise ParameterError("collection.not-accepted")
        return self._opened(collection.id, envelope)

    def send(self) -> Sent:
        """Send what is due; safe to call at any time, from several threads and processes.

        Returns:
            How many reports were sent and dropped now, how many wait, and why.

        Raises:
            StoreError: if the memory refuses.
        """
        with self._memory.transaction() as database:
            erase_ended(database, self._clock())
        return deliver(self._memory, self._clock, self._post, self._keys)

    # What the person may see and erase

    def log(self) -> list[LogEntry]:
        """Return the reports that wait, were sent or were dropped, oldest first: the very bytes, never a value."""
        with self._memory.transaction() as database:
            return log_entries(database)

    def budget(self) -> Budget:
        """Return the budget: spent in all and by name, and left."""
        with self._memory.transaction() as database:
            spent, names = spent_in_all(database), spent_by_name(database)
        return Budget(spent, max(self._limits.lifetime - spent, 0.0), MappingProxyType(names))

    def export(self) -> dict[str, Any]:
        """Return the content of the device, ready for JSON: names, consent, spent budgets, reports.

        Secret places, keys and prints are not among it: no query here reads them.
        """
        with self._memory.transaction() as database:
            rows = database.execute(
                "SELECT versions.name, versions.version, versions.id, agreed, declined FROM versions JOIN names "
                "USING (name) ORDER BY versions.key"
            ).fetchall()
            entries, spent = log_entries(database), spent_by_name(database)
        return {
            "collections": [
                {
                    "name": row["name"],
                    "version": row["version"],
                    "id": row["id"].hex(),
                    "agreed": bool(row["agreed"]),
                    "declined": bool(row["declined"]),
                }
                for row in rows
            ],
            "spent": spent,
            "reports": [entry.document() for entry in entries],
        }

    def forget(self) -> None:
        """Erase everything but the highest versions and what was spent, so that no budget begins anew."""
        with self._memory.transaction() as database:
            for table in ("prints", "places", "reports"):
                database.execute(f"DELETE FROM {table}")
            erased = "envelope = NULL, key = NULL, tagged = NULL, fingerprint = NULL, record = NULL"
            database.execute(f"UPDATE names SET {erased}, declined = 0")
            database.execute("UPDATE versions SET agreed = 0, origins = '[]'")
            database.execute("UPDATE clock SET latest = 0")
        self._collections.clear()


def _checked(collection: object) -> Collection:
    if not isinstance(collection, Collection):
        raise ParameterError("collection.wrong-type", argument="collection", kind=type(collection).__name__)
    return collection


def _seconds(clock: Callable[[], float]) -> float:
    """Return the time of an application's clock, or refuse what is none."""
    now = clock()
    if not isinstance(now, int | float) or not abs(now) < _LATEST:
        raise ParameterError("clock.wrong-time", argument="clock", latest=_LATEST)
    return now


def _network(proxy: str | None, origin: str, frame: bytes) -> Answer:
    # TLS is dear to import, and a device that has nothing to send needs none.
    from discreet.device.sending import post

    return post(origin, frame, proxy)
