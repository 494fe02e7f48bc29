"""One person's device: it accepts collections, records consent, answers once in an epoch, and sends reports.

The device refuses a collection before it asks for consent if a later version was seen, or
if it costs more than the person's limits. An answer is one transaction: the charge and the report are stored before
anything is sent, and every attempt sends the stored report. So a crash costs at most a charge, and never draws a second
report.
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
    checked_secret,
    is_question_drawn,
    placeholders_of_values,
    store_secret_values,
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
from discreet.device.outbox import Answer, Keys, LogEntry, Post, SendResult, deliver, log_entries
from discreet.device.protocol.collection import OPEN, Collection, open_envelope, promised, read_document
from discreet.device.protocol.collection import rebuild as rebuilt
from discreet.device.protocol.envelope import (
    CapError,
    EquivocationError,
    LifetimeError,
    RollbackError,
    SimulatedError,
    checked_trust,
)
from discreet.errors import ParameterError


def refuse_old(database: sqlite3.Connection, name: str, version: int, id_: bytes) -> None:
    """Raise an error for a version older than the newest seen, or for another document with the same version.

    Raises:
        RollbackError: if a later version was seen before.
        EquivocationError: if another document had this version before.
    """
    row = one_row(database, "SELECT version, id FROM names WHERE name = ?", name)
    if row is not None and version < row["version"]:
        raise RollbackError("version.too-old", seen=row["version"], version=version)
    if row is not None and version == row["version"] and id_ != row["id"]:
        raise EquivocationError("version.two-documents", version=version)


def refuse_unaffordable(collection: Collection, limits: Limits, *, simulated: bool) -> None:
    """Raise an error for a collection above the limits, or for a simulated one on a real device (or the reverse).

    Raises:
        SimulatedError: if one of the two is simulated and the other is not.
        CapError: if a report costs too much.
        LifetimeError: if all reports together, or one report in an epoch, cost too much.
    """
    if collection.simulated != simulated:
        raise SimulatedError("collection.other-kind")
    if not within(collection.cost, limits.report):
        raise CapError("cost.above-report-limit", limit=limits.report, cost=collection.cost)
    if not within(collection.lifetime, limits.lifetime):
        raise LifetimeError("cost.above-lifetime-limit", cost=collection.lifetime, limit=limits.lifetime)
    if not within(collection.cost, limits.epoch):
        raise LifetimeError("cost.above-epoch-limit", limit=limits.epoch, cost=collection.cost)


def store_collection(database: sqlite3.Connection, collection: Collection) -> None:
    """Store a collection as the newest version of its name. Withdrawal erases the keys and the waiting reports."""
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


# Larger sums of seconds would lose precision.
_LATEST = 1e15


class Device:
    """The device of one person, which answers collections within privacy budgets.

    Args:
        folder: the folder for the device's database. If it does not exist it is made, and only its owner can read it.
        trust: public keys of the signers whose collections are accepted, pinned by the application: 32 bytes each, or
            their base64, which ``discreet collection key show`` prints.
        limits: the limits of the person's privacy loss.
        person_secret: at least 16 unpredictable bytes, the same on all devices of one person, so that they give the
            same permanent answers; None for a key of this device only.
        simulated: whether the device is for simulated collections only.
        random: the source of random words, for a simulation only; None for the operating system's.
        clock: a function that returns the seconds since 1970.
        proxy: the HTTP proxy on the way to collectors, such as ``http://proxy.example.org:3128``; empty for none; None
            for the system's (``HTTPS_PROXY``, ``NO_PROXY``).
        post: function that delivers a frame; None for the network.

    Raises:
        ParameterError: if an argument is not usable.
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
        trust: Sequence[bytes | str],
        limits: Limits,
        *,
        person_secret: bytes | None = None,
        simulated: bool = False,
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
        self._limits, self._simulated = limits, checked_flag("simulated", simulated)
        self._clock, self._keys = partial(_seconds, clock), Keys()
        if proxy is not None:
            # Loaded late: many devices have no proxy, and TLS is slow to import.
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
        """Close the database of the device."""
        self._memory.close()

    # Collections

    def accept(self, envelope: bytes, *, rebuild: bool = False) -> Collection:
        """Check a signed collection and store its version. Return the collection, so that the person can be shown it.

        Args:
            envelope: the bytes as received.
            rebuild: also make the mechanism from the plan, and compare it with the sampler.

        Raises:
            CollectionError: a subclass for each reason. Nothing of the collection is stored.
        """
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
            # Another process may have accepted a newer version meanwhile.
            refuse_old(database, collection.name, collection.version, id_)
            store_collection(database, collection)
            note_time(database, self._clock())
        self._collections[id_] = collection
        return collection

    def collection(self, name: str) -> Collection:
        """Return the newest accepted version of the collection with this name.

        Raises:
            ParameterError: if no collection of this name was accepted.
            CollectionError: if the application no longer trusts its key.
        """
        with self._memory.transaction() as database:
            row = one_row(database, "SELECT id, envelope FROM names WHERE name = ?", name)
        if row is None or row["envelope"] is None:
            raise ParameterError("collection.unknown-name")
        return self._opened(row["id"], row["envelope"])

    def _opened(self, id_: bytes, envelope: bytes) -> Collection:
        """Return the collection with an id. Its envelope is opened only once."""
        if id_ not in self._collections:
            collection = open_envelope(envelope, self._trust)
            if collection.id != id_:
                raise ParameterError("collection.other-id")
            self._collections[id_] = collection
        return self._collections[id_]

    # Consent

    def agree(self, collection: Collection | str) -> None:
        """Record that the person agrees to this document. Without consent no report is drawn.

        Raises:
            ParameterError: if the document is not the newest accepted version, or the collection is withdrawn.
        """
        current = self._current(collection)
        if current.state != OPEN:
            raise ParameterError("collection.withdrawn")
        with self._memory.transaction() as database:
            database.execute("UPDATE versions SET agreed = 1 WHERE id = ?", (current.id,))
            database.execute("UPDATE names SET declined = 0 WHERE name = ?", (current.name,))

    def decline(self, name: str) -> None:
        """Stop answering collections with this name. Erase the key, the secret values and the reports not yet sent.

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
        """Store the person's secret values under a personalized plan. They can be changed until the first answer.

        Args:
            collection: the collection or its name.
            tagged: values by tag, such as ``{"home": ["park"]}``; if placeholders stand for cells, a list of values.
                It is empty if no value is secret.

        Raises:
            ParameterError: if the plan has no placeholders or needs values in another form, or after an answer.
            DataError: if a value is not in the domain or has two tags; values are not quoted.
        """
        current = self._current(collection)
        places = placeholders_of_values(current, tagged)
        with self._memory.transaction() as database:
            if current.name in spent_by_name(database):
                raise ParameterError("tagged.after-answer", argument="tagged")
            store_secret_values(database, current, places)

    def _collection_of(self, collection: Collection | str) -> Collection:
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
        """Draw, charge and store one report. `send` sends the report when it is due.

        Args:
            collection: the collection or its name.
            value: a value of the domain; see `Collection.code_of`.

        Returns:
            The outcome. Only RECORDED means that a report was drawn and charged.

        Raises:
            DataError: if the value is not in the domain; it is not quoted, and nothing is charged.
            ParameterError: if the collection was not accepted, or a personalized plan still lacks the secret values.
            RandomnessError: if the system has no randomness; nothing is charged.
            StoreError: if the memory cannot be read or written; nothing is charged.
        """
        known = self._collection_of(collection)
        with self._memory.transaction() as database:
            now = self._clock()
            latest = note_time(database, now)
            erase_ended(database, now)
            return answer(database, known, value, Moment(now, latest), self._person)

    def asks(self, collection: Collection | str) -> bool:
        """Return true if the person is asked: always, or in a survey if the person's device has drawn the question.

        Args:
            collection: the collection or its name.

        Raises:
            ParameterError: if the collection, or the survey's first question, was not accepted.
        """
        known = self._collection_of(collection)
        with self._memory.transaction() as database:
            return is_question_drawn(database, known, self._person)

    def _known(self, collection: Collection) -> Collection:
        """Return the device's checked copy of a collection. Changes that the caller made have no effect."""
        if collection.id in self._collections:
            return self._collections[collection.id]
        with self._memory.transaction() as database:
            row = one_row(database, "SELECT envelope FROM names WHERE id = ?", collection.id)
        envelope = collection.envelope if row is None else row["envelope"]
        if envelope is None:
            raise ParameterError("collection.not-accepted")
        return self._opened(collection.id, envelope)

    def send(self) -> SendResult:
        """Send the reports that are due. Threads and processes may call this at any time.

        Returns:
            The numbers of reports sent and dropped now, the number that wait, and the reason.

        Raises:
            StoreError: if the memory cannot be read or written.
        """
        with self._memory.transaction() as database:
            erase_ended(database, self._clock())
        return deliver(self._memory, self._clock, self._post, self._keys)

    # For the person to see and erase

    def log(self) -> list[LogEntry]:
        """Return all reports, waiting, sent or dropped, the oldest first. An entry has the sent bytes, but no value."""
        with self._memory.transaction() as database:
            return log_entries(database)

    def budget(self) -> Budget:
        """Return the privacy budget: the epsilon spent in total and by collection name, and the epsilon left."""
        with self._memory.transaction() as database:
            spent, names = spent_in_all(database), spent_by_name(database)
        return Budget(spent, max(self._limits.lifetime - spent, 0.0), MappingProxyType(names))

    def export(self) -> dict[str, Any]:
        """Return the device's content for JSON: collection names, consent, spent privacy budgets and reports.

        Secret values, keys and prints are left out: no query here reads them.
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
        """Erase everything except the newest versions and the spent privacy budget.

        So no privacy budget starts again.
        """
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
    """Check the time that the application's clock returns, and return it."""
    now = clock()
    if not isinstance(now, int | float) or not abs(now) < _LATEST:
        raise ParameterError("clock.wrong-time", argument="clock", latest=_LATEST)
    return now


def _network(proxy: str | None, origin: str, frame: bytes) -> Answer:
    # TLS is slow to import, and a device with nothing to send does not need it.
    from discreet.device.sending import post

    return post(origin, frame, proxy)
