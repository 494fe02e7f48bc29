"""Answers of a device: each is drawn, charged and written in one transaction.

Once and fresh answers take new words from the operating system every time. A permanent answer takes the words that
follow from the value and the key K of the collection's name, so that a value's report is drawn once and for all. A
value that is new is charged. When nothing is left of a budget the last report is repeated: falling silent would tell
that the value changed often.

The print of a code counts different values and is useless without K; the words of a code are the library's own stream
under another key. Both are bound to the name and the mechanism, not to the version: one that changes only a contact
costs nothing new. Where a second coin decides what is sent, they are bound to S_1 too: the same answer under another
S_1 is drawn and charged anew. Once and fresh answers, and second coins, derive nothing from K.

A person's secret places, which bot stands for which of their values, are in one table and in nothing else.
"""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

from discreet.core.random import KEY_SIZE, KeyedRandom, RandomSource, fresh_words
from discreet.device.memory import Limits, affordable, charge, is_answered, one_row
from discreet.device.outbox import Keys, put
from discreet.device.protocol.collection import ONCE, OPEN, PERMANENT, Collection
from discreet.errors import DataError, ParameterError
from discreet.theory.memo import second_threshold

PRINT_BYTES = 16
SHORTEST_SECRET = 16


def key_of_person(secret: bytes, name: str) -> bytes:
    """Return K of a name, the same on all devices that share a person's secret.

    Args:
        secret: at least 16 bytes, secret and unpredictable.
        name: of the collection.
    """
    return _digest(secret, b"discreet person 1", name.encode())


def checked_secret(secret: object) -> bytes | None:
    """Return a person's secret, or None if there is none.

    Raises:
        ParameterError: if it is too short, or no bytes; it is not quoted.
    """
    if secret is None or (isinstance(secret, bytes) and len(secret) >= SHORTEST_SECRET):
        return secret
    raise ParameterError("person-secret.too-short", argument="person_secret", n=SHORTEST_SECRET)


def print_of(key: bytes, collection: Collection, code: int) -> bytes:
    """Return the print of a code, 16 bytes."""
    return _digest(key, b"discreet print 1", *_parts(collection, code))[:PRINT_BYTES]


def words_of(key: bytes, collection: Collection, code: int) -> KeyedRandom:
    """Return the words with which a code's report is drawn, the same every time."""
    return KeyedRandom(_digest(key, b"discreet answer 1", *_parts(collection, code)))


def _parts(collection: Collection, code: int) -> tuple[bytes, bytes]:
    fixed = bytes.fromhex(collection.fingerprint) + code.to_bytes(8, "little")
    memo = b"" if collection.memo is None else collection.memo.truth.to_bytes(8, "little")
    return collection.name.encode(), fixed + memo


def _drawing(collection: Collection) -> str:
    """Return the name of what permanent answers are drawn with: the fingerprint, and S_1 of a memo."""
    return collection.fingerprint + ("" if collection.memo is None else f" {collection.memo.truth}")


def _digest(key: bytes, *parts: bytes) -> bytes:
    """Return HMAC-SHA256 of the parts, with a zero byte between them."""
    return hmac.new(key, b"\0".join(parts), hashlib.sha256).digest()


def bots_of_places(collection: Collection, tagged: Any) -> dict[int, int]:
    """Return the bot of each secret value, by codes; values that are sensitive for everybody stay themselves.

    Args:
        collection: of a personalized plan.
        tagged: values by tag; where bots stand for cells, a list of values.

    Raises:
        ParameterError: if the plan has no bots, or tags are given in another form than it wants; tags are not quoted.
        DataError: if a value is not in the domain, or has two tags; values are not quoted.
    """
    bots, size = collection.bots, collection.domain.size
    if bots is None:
        raise ParameterError("tagged.not-personalized", argument="tagged")
    if bots.cell_of is not None:
        if isinstance(tagged, Mapping | str) or not hasattr(tagged, "__iter__"):
            raise ParameterError("tagged.with-tags", argument="tagged")
        codes = [collection.code_of(value) for value in tagged]
        return {code: size + int(bots.cell_of[code]) for code in codes if not collection.sensitive[code]}
    if not isinstance(tagged, Mapping) or not set(tagged) <= set(bots.tags):
        raise ParameterError("tagged.without-tags", argument="tagged", names=", ".join(bots.tags))
    pairs = [(collection.code_of(value), bots.tags.index(tag)) for tag, values in tagged.items() for value in values]
    bot_of = {code: size + rank for code, rank in pairs if not collection.sensitive[code]}
    if any(bot_of.get(code, size + rank) != size + rank for code, rank in pairs):
        raise DataError("tagged.two-tags", argument="tagged")
    return bot_of


def keep_places(database: sqlite3.Connection, collection: Collection, places: Mapping[int, int]) -> None:
    """Replace the places of a name; the values that they are places of are remembered by a digest."""
    database.execute("DELETE FROM places WHERE name = ?", (collection.name,))
    rows = [(collection.name, code, bot) for code, bot in places.items()]
    database.executemany("INSERT INTO places VALUES (?, ?, ?)", rows)
    database.execute("UPDATE names SET tagged = ? WHERE name = ?", (_domain(collection), collection.name))


def replaced(database: sqlite3.Connection, collection: Collection, code: int, tagged: str | None) -> int:
    """Return a code, or its bot if it is one of the person's secret places.

    Args:
        database: of the device.
        collection: that is answered.
        code: of the value.
        tagged: the digest of the domain for which places were given; None if none were.

    Raises:
        ParameterError: if the plan has bots, and places were not given, or given for other values.
    """
    if collection.bots is None:
        return code
    if tagged != _domain(collection):
        raise ParameterError("tagged.missing")
    row = one_row(database, "SELECT bot FROM places WHERE name = ? AND code = ?", collection.name, code)
    return code if row is None else int(row["bot"])


def _domain(collection: Collection) -> str:
    """Return a digest of the values and bots, and of what is sensitive for everybody.

    Such a value is kept as no place, and would go in clear under a version that protects it no longer.
    """
    bots = collection.bots
    domain = collection.domain.with_placeholders(() if bots is None else bots.tags)
    content = json.dumps([domain.fingerprint, collection.sampler.sensitive])
    return hashlib.sha256(content.encode()).hexdigest()


class Outcome(StrEnum):
    """The outcome of an answer.

    Attributes:
        RECORDED: a report was charged and written, and will be sent.
        UNASKED: the collection is a question of a survey that was not drawn for this person.
        ALREADY: there was one in this epoch (once: under this version) before.
        EXHAUSTED: another report would exceed a budget.
        CLOSED: no epoch runs, the collection is withdrawn or superseded, or the clock went back.
        DECLINED: the person has not agreed, or has declined.
    """

    RECORDED = "recorded"
    UNASKED = "unasked"
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
        raise ParameterError("person.not-copyable")

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
        raise ParameterError("collection.not-accepted")
    if not state["current"] or collection.state != OPEN:
        return Outcome.CLOSED
    if not state["agreed"]:
        return Outcome.DECLINED
    # Of a clock that went back by more than an epoch nothing is believed.
    is_back = moment.now < moment.latest - collection.epochs.seconds
    epoch = None if is_back else collection.epoch_at(moment.now)
    if epoch is None:
        return Outcome.CLOSED
    if not is_drawn(database, collection, person):
        return Outcome.UNASKED
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


def is_drawn(database: sqlite3.Connection, collection: Collection, person: Person) -> bool:
    """Return true if a person answers a collection: of a survey, if this question was drawn.

    The word of the draw follows from the survey's name and the key of its first question, or the person's secret.

    Raises:
        ParameterError: if the survey's first question was not accepted, so that nothing can be drawn.
    """
    survey = collection.survey
    if survey is None:
        return True
    first = next(iter(survey.questions))
    if one_row(database, "SELECT 1 FROM names WHERE name = ? AND envelope IS NOT NULL", first) is None:
        raise ParameterError("survey.not-accepted", first=first)
    word = _digest(_key_of(database, first, person), b"discreet questions 1", survey.name.encode())[:8]
    return collection.name in survey.drawn(int.from_bytes(word, "little"))


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
            _drawing(collection),
        )
        return None if last is None else _Drawn(_sent(collection, last["record"], person), 0.0)
    record = collection.sampler.record(code, words_of(key, collection, code), collection.truth)
    if not known:
        database.execute("INSERT INTO prints VALUES (?, ?)", trace)
    values = _drawing(collection), record, collection.name
    database.execute("UPDATE names SET fingerprint = ?, record = ? WHERE name = ?", values)
    return _Drawn(_sent(collection, record, person), 0.0 if known else collection.cost)


def _sent(collection: Collection, record: bytes, person: Person) -> bytes:
    """Return the report that is sent of a permanent answer: itself, or as a second coin of this round says."""
    if collection.memo is None:
        return record
    threshold = second_threshold(collection.sampler.truth, collection.memo.truth)
    return collection.sampler.again(record, threshold, person.source())


def _key_of(database: sqlite3.Connection, name: str, person: Person) -> bytes:
    """Return K of a name; a new one is kept."""
    if person.secret is not None:
        return key_of_person(person.secret, name)
    row = one_row(database, "SELECT key FROM names WHERE name = ?", name)
    if row is not None and row["key"] is not None:
        return bytes(row["key"])
    key = person.key()
    database.execute("UPDATE names SET key = ? WHERE name = ?", (key, name))
    return key
