"""Answers: what becomes of one, in one transaction, and the three ways in which its report is drawn.

Once and fresh answers take new words from the operating system every time. A permanent answer takes the words that
follow from the value and the name's key; a value that is new is charged, and when nothing is left the last report is
repeated: falling silent would tell that the value changed often.
"""

import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

from discreet.client.ledger import Limits, affordable, charge, is_answered
from discreet.client.memory import one_row
from discreet.client.outbox import put
from discreet.client.permanent import key_of_person, print_of, words_of
from discreet.client.places import replaced
from discreet.client.randomness import Keys
from discreet.core.keystream import KEY_SIZE
from discreet.core.random import KeyedRandom, RandomSource, fresh_words
from discreet.errors import ParameterError
from discreet.io.collection import Collection
from discreet.io.collection_fields import ONCE, OPEN, PERMANENT


class Outcome(StrEnum):
    """The outcome of an answer.

    Attributes:
        RECORDED: a report was charged and written, and will be sent.
        ALREADY: there was one in this epoch (once: under this version) before.
        EXHAUSTED: another report would exceed a budget.
        CLOSED: no epoch runs, the collection is withdrawn or superseded, or the clock went back.
        DECLINED: the person has not agreed, or has declined.
    """

    RECORDED = "recorded"
    ALREADY = "already"
    EXHAUSTED = "exhausted"
    CLOSED = "closed"
    DECLINED = "declined"


class Moment(NamedTuple):
    """The time of an answer, and the highest one seen before, in seconds since 1970."""

    now: float
    latest: int


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """The circumstances on which the reports of one person depend, beside the value.

    Attributes:
        limits: the most that the person may spend.
        keys: of the operating system.
        secret: shared by the person's devices; None if there is none.
        random: the source of a simulation; None for a person.
    """

    limits: Limits
    keys: Keys
    secret: bytes | None
    random: RandomSource | None

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied into bytes, of which nobody knows where they are kept."""
        raise ParameterError("a person's secret must stay on the device; nothing of it is copied.")

    def source(self) -> RandomSource:
        """Return the source of the words of one report."""
        return KeyedRandom(self.keys.key()) if self.random is None else self.random

    def key(self) -> bytes:
        """Return a fresh key for a name."""
        return self.keys.key() if self.random is None else fresh_words(self.random, KEY_SIZE // 8).tobytes()


class _Drawn(NamedTuple):
    record: bytes
    epsilon: float


def answer(database: sqlite3.Connection, collection: Collection, value: Any, moment: Moment, person: Person) -> Outcome:
    """Draw, charge and write one report, if everything allows it.

    Args:
        database: of the device, in a transaction.
        collection: as it was checked here.
        value: of its domain.
        moment: of the answer.
        person: whose it is.

    Raises:
        DataError: if the value is not in the domain.
        ParameterError: if the collection was not accepted, or secret places are lacking.
        RandomnessError: if there is no randomness.
    """
    state = one_row(
        database,
        "SELECT versions.key AS version, agreed, tagged, names.id = versions.id AS current FROM versions "
        "JOIN names USING (name) WHERE versions.id = ? AND envelope IS NOT NULL",
        collection.id,
    )
    if state is None:
        raise ParameterError("this collection was not accepted; call accept first.")
    if not state["current"] or collection.state != OPEN:
        return Outcome.CLOSED
    if not state["agreed"]:
        return Outcome.DECLINED
    epoch = _running(collection, moment)
    if epoch is None:
        return Outcome.CLOSED
    if is_answered(database, state["version"], None if collection.answers == ONCE else epoch):
        return Outcome.ALREADY
    code = replaced(database, collection, collection.code_of(value), state["tagged"])
    draw = _permanent if collection.answers == PERMANENT else _fresh
    drawn = draw(database, collection, code, epoch, person)
    if drawn is None:
        return Outcome.EXHAUSTED
    charge(database, state["version"], collection, epoch, drawn.epsilon)
    put(database, state["version"], collection, epoch, record=drawn.record, now=moment.now, keys=person.keys)
    return Outcome.RECORDED


def _running(collection: Collection, moment: Moment) -> int | None:
    """Return the epoch that runs; None if there is none, or the clock went back by more than an epoch."""
    if moment.now < moment.latest - collection.epochs.seconds:
        return None
    return collection.epoch_at(moment.now)


def _fresh(
    database: sqlite3.Connection, collection: Collection, code: int, epoch: int, person: Person
) -> _Drawn | None:
    if not affordable(database, collection, epoch, person.limits):
        return None
    return _Drawn(collection.sampler.record(code, person.source()), collection.epsilon)


def _permanent(
    database: sqlite3.Connection, collection: Collection, code: int, epoch: int, person: Person
) -> _Drawn | None:
    key = _key_of(database, collection.name, person)
    trace = collection.name, print_of(key, collection, code)
    known = one_row(database, "SELECT 1 FROM prints WHERE name = ? AND print = ?", *trace) is not None
    if not known and not affordable(database, collection, epoch, person.limits):
        last = one_row(
            database,
            "SELECT record FROM names WHERE name = ? AND fingerprint = ?",
            collection.name,
            collection.fingerprint,
        )
        return None if last is None else _Drawn(last["record"], 0.0)
    record = collection.sampler.record(code, words_of(key, collection, code))
    if not known:
        database.execute("INSERT INTO prints VALUES (?, ?)", trace)
    kept = collection.fingerprint, record, collection.name
    database.execute("UPDATE names SET fingerprint = ?, record = ? WHERE name = ?", kept)
    return _Drawn(record, 0.0 if known else collection.epsilon)


def _key_of(database: sqlite3.Connection, name: str, person: Person) -> bytes:
    """Return K of a name; a new one is kept."""
    if person.secret is not None:
        return key_of_person(person.secret, name)
    row = one_row(database, "SELECT key FROM names WHERE name = ?", name)
    if row is not None and row["key"] is not None:
        return bytes(row["key"])
    made = person.key()
    database.execute("UPDATE names SET key = ? WHERE name = ?", (made, name))
    return made
