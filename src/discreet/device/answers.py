"""A device's answers: one transaction draws a report, charges the privacy budget, and stores both.

"Once" and "fresh" answers take new random words from the operating system every time. A "permanent" answer derives its
words from the value and the key K of the collection's name, so a value always gives the same report. Only a new value
is charged. When the budget is spent, the device repeats the last report: silence would reveal that the value changed
often.

The print of a code is a keyed hash. It counts different values and is useless without K. The words of a code come from
the library's own stream under another key. Both depend on the name and the mechanism and not on the version, so a new
version that changes only the contact costs nothing. With a second coin both depend on S_1 too: under another S_1 the
same answer is drawn and charged again. "Once" answers, "fresh" answers and second coins use nothing derived from K.

A person's secret values and their placeholders are in one table only.
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
    """Return the key K of a collection name, derived from a secret that all devices of one person share.

    Args:
        secret: at least 16 unpredictable bytes.
        name: the collection name.
    """
    return _digest(secret, b"discreet person 1", name.encode())


def checked_secret(secret: object) -> bytes | None:
    """Check the secret that the devices of one person share.

    Raises:
        ParameterError: if the secret is too short or not bytes; the message does not quote it.
    """
    if secret is None or (isinstance(secret, bytes) and len(secret) >= SHORTEST_SECRET):
        return secret
    raise ParameterError("person-secret.too-short", argument="person_secret", n=SHORTEST_SECRET)


def print_of(key: bytes, collection: Collection, code: int) -> bytes:
    """Return 16 bytes of a keyed hash of a code. With them the device recognises a repeated value."""
    return _digest(key, b"discreet print 1", *_parts(collection, code))[:PRINT_BYTES]


def words_of(key: bytes, collection: Collection, code: int) -> KeyedRandom:
    """Return the random words for a code's permanent report. They are the same every time."""
    return KeyedRandom(_digest(key, b"discreet answer 1", *_parts(collection, code)))


def _parts(collection: Collection, code: int) -> tuple[bytes, bytes]:
    fixed = bytes.fromhex(collection.fingerprint) + code.to_bytes(8, "little")
    memo = b"" if collection.memo is None else collection.memo.truth.to_bytes(8, "little")
    return collection.name.encode(), fixed + memo


def _drawing(collection: Collection) -> str:
    """Return an id for permanent draws: the mechanism's fingerprint, and S_1 if there is a second coin."""
    return collection.fingerprint + ("" if collection.memo is None else f" {collection.memo.truth}")


def _digest(key: bytes, *parts: bytes) -> bytes:
    """Return HMAC-SHA256 of the parts, with a zero byte between them."""
    return hmac.new(key, b"\0".join(parts), hashlib.sha256).digest()


def placeholders_of_values(collection: Collection, tagged: Any) -> dict[int, int]:
    """Return a dictionary of the person's secret values: each value's code, and the code of its placeholder.

    Args:
        collection: a collection with a personalized plan.
        tagged: values by tag; if placeholders stand for cells, a list of values.

    Raises:
        ParameterError: if the plan has no placeholders, or needs values in another form; tags are not quoted.
        DataError: if a value is not in the domain or has two tags; values are not quoted.
    """
    placeholders, size = collection.placeholders, collection.domain.size
    if placeholders is None:
        raise ParameterError("tagged.not-personalized", argument="tagged")
    if placeholders.cell_of is not None:
        if isinstance(tagged, Mapping | str) or not hasattr(tagged, "__iter__"):
            raise ParameterError("tagged.with-tags", argument="tagged")
        codes = [collection.code_of(value) for value in tagged]
        return {code: size + int(placeholders.cell_of[code]) for code in codes if not collection.sensitive[code]}
    if not isinstance(tagged, Mapping) or not set(tagged) <= set(placeholders.tags):
        raise ParameterError("tagged.without-tags", argument="tagged", names=", ".join(placeholders.tags))
    pairs = [
        (collection.code_of(value), placeholders.tags.index(tag)) for tag, values in tagged.items() for value in values
    ]
    placeholder_of = {code: size + rank for code, rank in pairs if not collection.sensitive[code]}
    if any(placeholder_of.get(code, size + rank) != size + rank for code, rank in pairs):
        raise DataError("tagged.two-tags", argument="tagged")
    return placeholder_of


def store_secret_values(database: sqlite3.Connection, collection: Collection, places: Mapping[int, int]) -> None:
    """Store the placeholders of a person's secret values, and a digest of the domain of these values."""
    database.execute("DELETE FROM places WHERE name = ?", (collection.name,))
    rows = [(collection.name, code, bot) for code, bot in places.items()]
    database.executemany("INSERT INTO places VALUES (?, ?, ?)", rows)
    database.execute("UPDATE names SET tagged = ? WHERE name = ?", (_domain(collection), collection.name))


def reported_code(database: sqlite3.Connection, collection: Collection, code: int, tagged: str | None) -> int:
    """Return the code to report: the value's code, or its placeholder's code if the value is secret.

    Args:
        database: the device's database.
        collection: the collection to answer.
        code: the code of the person's value.
        tagged: the digest of the domain for which the person gave secret values; None without them.

    Raises:
        ParameterError: if the plan has placeholders, and the person gave no secret values for its domain.
    """
    if collection.placeholders is None:
        return code
    if tagged != _domain(collection):
        raise ParameterError("tagged.missing")
    row = one_row(database, "SELECT bot FROM places WHERE name = ? AND code = ?", collection.name, code)
    return code if row is None else int(row["bot"])


def _domain(collection: Collection) -> str:
    """Return a digest of the domain's values and placeholders, and of the values that are sensitive for everybody.

    A value that is sensitive for everybody has no placeholder. A version that no longer protects it would send it in
    clear, so such a version has another digest and asks for the secret values again.
    """
    placeholders = collection.placeholders
    domain = collection.domain.with_placeholders(() if placeholders is None else placeholders.tags)
    content = json.dumps([domain.fingerprint, collection.sampler.sensitive])
    return hashlib.sha256(content.encode()).hexdigest()


class Outcome(StrEnum):
    """The outcome of a person's answer on this device.

    Attributes:
        RECORDED: a report was charged and stored, and will be sent.
        UNASKED: the collection is a survey's question that was not drawn for this person.
        ALREADY: the person already answered in this epoch (for "once": this version).
        EXHAUSTED: another report would exceed a budget.
        CLOSED: there is no epoch now, the collection is withdrawn or replaced, or the clock went back.
        DECLINED: the person has not agreed, or has declined.
    """

    RECORDED = "recorded"
    UNASKED = "unasked"
    ALREADY = "already"
    EXHAUSTED = "exhausted"
    CLOSED = "closed"
    DECLINED = "declined"


class Moment(NamedTuple):
    """The time of an answer, and the latest time that the device saw before, in seconds since 1970."""

    now: float
    latest: int


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """The limits, keys and source of randomness for the reports of one person.

    Attributes:
        limits: the limits of the person's privacy loss.
        keys: the source of keys from the operating system.
        secret: the secret that the person's devices share, or None.
        random: the source for a simulation; None for a person.
    """

    limits: Limits
    keys: Keys
    secret: bytes | None
    random: RandomSource | None

    def __reduce__(self) -> NoReturn:
        """Raise an error, because a pickled object with keys could be stored anywhere."""
        raise ParameterError("person.not-copyable")

    def source(self) -> RandomSource:
        """Return a source of random words for one report."""
        return KeyedRandom(self.keys.key()) if self.random is None else self.random

    def key(self) -> bytes:
        """Return a fresh key for a collection name."""
        return self.keys.key() if self.random is None else fresh_words(self.random, KEY_SIZE // 8).tobytes()


class _Drawn(NamedTuple):
    record: bytes
    epsilon: float


def answer(database: sqlite3.Connection, collection: Collection, value: Any, moment: Moment, person: Person) -> Outcome:
    """Draw, charge and store one report, if consent, time and privacy budgets allow it.

    Args:
        database: the device's database, in a transaction.
        collection: a collection that was checked on this device.
        value: a value of the collection's domain.
        moment: the time of the answer.
        person: the limits and keys of the person who answers.

    Raises:
        DataError: if the value is not in the domain.
        ParameterError: if the collection was not accepted, or secret values are missing.
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
    # A clock that went back by more than an epoch is not trusted.
    is_back = moment.now < moment.latest - collection.epochs.seconds
    epoch = None if is_back else collection.epoch_at(moment.now)
    if epoch is None:
        return Outcome.CLOSED
    if not is_question_drawn(database, collection, person):
        return Outcome.UNASKED
    if is_answered(database, state["version"], None if collection.answers == ONCE else epoch):
        return Outcome.ALREADY
    code = reported_code(database, collection, collection.code_of(value), state["tagged"])
    draw = _permanent if collection.answers == PERMANENT else _fresh
    drawn = draw(database, collection, code, epoch, person)
    if drawn is None:
        return Outcome.EXHAUSTED
    charge(database, state["version"], collection, epoch, drawn.epsilon)
    put(database, state["version"], collection, epoch, record=drawn.record, now=moment.now, keys=person.keys)
    return Outcome.RECORDED


def is_question_drawn(database: sqlite3.Connection, collection: Collection, person: Person) -> bool:
    """Return true if the person answers this question of a survey, or if the collection is no part of a survey.

    The random word of the draw is derived from the survey's name and the key of its first question, or the person's
    secret.

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
    """Return the record to send for a permanent answer: the permanent record, or noise by a second coin."""
    if collection.memo is None:
        return record
    threshold = second_threshold(collection.sampler.truth, collection.memo.truth)
    return collection.sampler.round_record(record, threshold, person.source())


def _key_of(database: sqlite3.Connection, name: str, person: Person) -> bytes:
    """Return the key K of a collection name. A new key is stored."""
    if person.secret is not None:
        return key_of_person(person.secret, name)
    row = one_row(database, "SELECT key FROM names WHERE name = ?", name)
    if row is not None and row["key"] is not None:
        return bytes(row["key"])
    key = person.key()
    database.execute("UPDATE names SET key = ? WHERE name = ?", (key, name))
    return key
