"""Vectors of devices: scripts of events with what must become of each, and the streams of permanent answers.

The first line of ``events.jsonl`` holds public keys and envelopes by label; every other line is a script for a new
device with ``limits``, ``person_secret`` (hexadecimal digits) and ``events``. An event happens ``at`` a time of the
device's clock:

    accept, agree, tag     of an envelope; "done", or the reason of a refusal ("refused" for one without a reason)
    answer                 a value under an envelope: the outcome, or "refused"
    decline                a name; "done"
    send                   ``answers`` are what the collector says in turn (a status, or a status and seconds of
                           Retry-After; 0 is no answer): how many reports were sent, dropped, and wait
    spent                  nats in all
    states, records        of the log, oldest first; records in hexadecimal digits
    restart, forget        "done"
"""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.collector.documents.signing import sign, sign_survey, withdraw
from discreet.core.domain import Domain
from discreet.core.random import WORD_RANGE, KeyedRandom, SeededRandom
from discreet.device.protocol.collection import Collection, Epochs, open_envelope
from discreet.device.protocol.envelope import public_key
from discreet.device.protocol.sampler import Sampler
from discreet.mechanisms import (
    BlockDesign,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.mechanisms.memo import Memo
from discreet.surveys.documents import Questionnaire
from discreet.surveys.survey import Question, Survey
from signed import EPOCH, PLAIN, START, plan_of, terms

HOUR = EPOCH
KEY = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"discreet vectors").digest())
SECRET = hashlib.sha256(b"a person of the vectors").digest()

_LABELS = PLAIN["domain"]["labels"]


def signed(plan: dict[str, Any] | None = None, *, version: int = 1, **changes: Any) -> bytes:
    """Return an envelope of a plan and terms."""
    return sign(plan_of(plan or PLAIN), terms(**changes), [KEY], version=version)


def _envelopes() -> dict[str, bytes]:
    """Return the envelopes of the scripts, by label."""
    tagged = {**PLAIN, "tags": ["home"], "mechanism": {"name": "hadamard"}}
    hadamard = {**PLAIN, "mechanism": {"name": "hadamard"}}
    few = {**PLAIN, "mechanism": {"name": "unary", "digits": "few"}}
    once, permanent = signed(), signed(answers="permanent", lifetime=2.0)
    return {
        **survey_envelopes(),
        "once": once,
        "once, version 2": signed(version=2, contact="new@example.org"),
        "once, another version 2": signed(version=2, contact="other@example.org"),
        "once, withdrawn": withdraw(once, [KEY]),
        "fresh": signed(answers="fresh", name="fresh", lifetime=3.0),
        "fresh, version 2": signed(answers="fresh", name="fresh", lifetime=3.0, version=2, least=50),
        "fresh, longer": signed(answers="fresh", name="fresh", lifetime=3.0, version=2, epochs=Epochs(START, HOUR, 48)),
        "tenths": signed({**PLAIN, "epsilon": 0.1}, answers="fresh", name="tenths", lifetime=0.3),
        "another": signed(answers="fresh", name="another", lifetime=4.0),
        "a day": signed(name="a-day", epochs=Epochs(START, 24 * HOUR, 1)),
        "permanent": permanent,
        "permanent, contact": signed(answers="permanent", lifetime=2.0, version=2, contact="new@example.org"),
        "permanent, mechanism": signed(hadamard, answers="permanent", lifetime=2.0, version=3),
        "memo": signed(answers="permanent", name="memo", lifetime=4.0, memo=2.0),
        "memo, without": signed(answers="permanent", name="memo", lifetime=4.0, version=2),
        "few digits": signed(few, answers="permanent", name="few", lifetime=2.0),
        "tagged": signed(tagged, answers="permanent", name="tagged", lifetime=2.0),
        "dear": signed({**PLAIN, "epsilon": 2.5}, name="dear"),
        "long": signed(name="long", lifetime=21.0),
        "simulated": signed(name="simulated", simulated=True),
        "short": signed(answers="fresh", name="short", epochs=Epochs(START, 60, 10), late=30),
    }


@dataclass
class Script:
    """A script of events, in the order in which they are added."""

    name: str
    limits: tuple[float, float, float] = (2.0, 4.0, 20.0)
    events: list[dict[str, Any]] = field(default_factory=list)

    def add(self, hours: float, do: str, expect: Any = "done", **said: Any) -> "Script":
        """Add an event some hours after the first epoch's start."""
        at = START + 10 + hours * HOUR
        self.events.append({"at": int(at) if at == int(at) else at, "do": do, **said, "expect": expect})
        return self

    def joined(self, *labels: str, hours: float = 0) -> "Script":
        """Add that envelopes are accepted and agreed to."""
        for label in labels:
            self.add(hours, "accept", envelope=label).add(hours, "agree", envelope=label)
        return self

    def answer(self, hours: float, label: str, value: Any, expect: str) -> "Script":
        """Add an answer."""
        return self.add(hours, "answer", expect, envelope=label, value=value)

    def answers(self, label: str, *said: str) -> "Script":
        """Add answers under an envelope, each ``"hours value outcome"``."""
        for hours, value, expect in map(str.split, said):
            self.answer(float(hours), label, value, expect)
        return self

    def send(self, hours: float, answers: list[Any], sent: int, dropped: int, waiting: int) -> "Script":
        """Add a sending."""
        return self.add(hours, "send", {"sent": sent, "dropped": dropped, "waiting": waiting}, answers=answers)

    def line(self) -> dict[str, Any]:
        """Return the script as a line."""
        limits = dict(zip(("report", "epoch", "lifetime"), self.limits, strict=True))
        return {"name": self.name, "limits": limits, "person_secret": SECRET.hex(), "events": self.events}


def survey_envelopes() -> dict[str, bytes]:
    """Return the envelopes of a survey of three questions, of which each person answers two, by label."""
    attributes = {name: Domain(_LABELS, sensitive=["often", "daily"]) for name in ("a", "b", "c")}
    shares = [(1 << 63) + 12345, 1 << 63, (1 << 64) - 12345]
    questions = [
        Question((name,), RandomizedResponse(domain.for_attribute(name), 1.0), share)
        for (name, domain), share in zip(attributes.items(), shares, strict=True)
    ]
    survey = Survey(attributes, questions, 2.0, promise="record", answers=2)
    asked = terms(name="survey", answers="fresh", lifetime=8.0)
    envelopes = sign_survey(Questionnaire.of(survey), asked, [KEY])
    return {f"survey, {number}": envelope for number, envelope in enumerate(envelopes, 1)}


def _surveys(envelopes: dict[str, bytes]) -> list[Script]:
    labels = [label for label in envelopes if label.startswith("survey, ")]
    first = open_envelope(envelopes[labels[0]], [public_key(KEY)]).survey
    assert first is not None
    key = hmac.new(SECRET, b"discreet person 1\0survey-1", hashlib.sha256).digest()
    word = hmac.new(key, b"discreet questions 1\0survey", hashlib.sha256).digest()[:8]
    drawn = first.drawn(int.from_bytes(word, "little"))
    asked = Script("of a survey a person answers the questions that are drawn, in every epoch the same").joined(*labels)
    for hours in range(2):
        for label in labels:
            name = label.replace(", ", "-")
            asked.answer(hours, label, "daily", "recorded" if name in drawn else "unasked")
        asked.add(hours, "spent", 2 * hours + 2)
    early = Script("nothing is drawn before the first question is there").joined(*labels[1:])
    return [asked, early.answer(0, labels[1], "daily", "refused")]


def _consent() -> list[Script]:
    return [
        Script("nothing is drawn without consent")
        .add(0, "accept", envelope="once")
        .answers("once", "0 daily declined")
        .add(0, "spent", 0)
        .add(0, "agree", envelope="once")
        .answers("once", "0 daily recorded")
        .add(0, "spent", 1),
        Script("who declines is asked no more, and nothing waits")
        .joined("fresh")
        .answers("fresh", "0 daily recorded")
        .add(0, "decline", name="fresh")
        .answers("fresh", "1 daily declined")
        .send(1, [], 0, 0, 0)
        .add(1, "states", [])
        .add(1, "agree", envelope="fresh")
        .answers("fresh", "0.5 daily already", "1 daily recorded")
        .add(1, "spent", 2),
        Script("a new version is agreed to anew")
        .joined("fresh")
        .answers("fresh", "0 daily recorded")
        .add(1, "accept", envelope="fresh, version 2")
        .answers("fresh", "1 daily closed")
        .answers("fresh, version 2", "1 daily declined")
        .add(1, "agree", "refused", envelope="fresh")
        .add(1, "agree", envelope="fresh, version 2")
        .answers("fresh, version 2", "1 daily recorded")
        .add(1, "spent", 2),
        Script("forgetting keeps versions and what was spent")
        .joined("once, version 2")
        .answers("once, version 2", "0 daily recorded")
        .add(0, "forget")
        .add(0, "spent", 1)
        .add(0, "states", [])
        .answers("once, version 2", "0 daily refused")
        .add(0, "accept", "rollback", envelope="once")
        .add(0, "accept", envelope="once, version 2")
        .answers("once, version 2", "0 daily declined")
        .add(0, "agree", envelope="once, version 2")
        .answers("once, version 2", "1 daily already"),
    ]


def _versions() -> list[Script]:
    return [
        Script("a lower version is a rollback, the same one with other bytes equivocation")
        .add(0, "accept", envelope="once, version 2")
        .add(0, "accept", "rollback", envelope="once")
        .add(0, "accept", "equivocation", envelope="once, another version 2")
        .add(0, "accept", envelope="once, version 2")
        .add(0, "restart")
        .add(0, "accept", "rollback", envelope="once"),
        Script("what is withdrawn is closed, and nothing waits")
        .joined("once")
        .answers("once", "0 daily recorded")
        .add(0, "accept", envelope="once, withdrawn")
        .answers("once", "0 daily closed")
        .answers("once, withdrawn", "0 daily closed")
        .add(0, "agree", "refused", envelope="once, withdrawn")
        .send(0, [], 0, 0, 0)
        .add(0, "accept", "rollback", envelope="once")
        .add(0, "spent", 1),
        Script("limits of the application are limits")
        .add(0, "accept", "cap", envelope="dear")
        .add(0, "accept", "lifetime", envelope="long")
        .add(0, "accept", "simulated", envelope="simulated")
        .add(0, "answer", "refused", envelope="dear", value="daily"),
        Script("an epoch has a limit of its own", (2.0, 0.5, 20.0)).add(0, "accept", "lifetime", envelope="once"),
    ]


def _once_and_fresh() -> list[Script]:
    return [
        Script("once is once for a version, and the lifetime spans versions")
        .joined("once")
        .answers("once", "0 daily recorded", "0 daily already", "5 never already")
        .joined("once, version 2", hours=6)
        .answers("once, version 2", "6 daily recorded")
        .add(6, "spent", 2),
        Script("fresh is once in an epoch until the lifetime is spent")
        .joined("fresh")
        .answers(
            "fresh",
            "0 daily recorded",
            "0.99 never already",
            "1 never recorded",
            "7 often recorded",
            "8 often exhausted",
        )
        .joined("fresh, version 2", hours=9)
        .answers("fresh, version 2", "9 often exhausted")
        .add(9, "spent", 3),
        Script("three times a tenth is three tenths")
        .joined("tenths")
        .answers("tenths", "0 daily recorded", "1 daily recorded", "2 daily recorded", "3 daily exhausted"),
        Script("epochs that overlap share a limit", (2.0, 2.0, 20.0))
        .joined("fresh", "another", "a day")
        .answers("fresh", "0 daily recorded")
        .answers("another", "0 daily recorded")
        .answers("a day", "0 daily exhausted")
        .answers("fresh", "1 daily recorded")
        .add(1, "spent", 3),
        Script("what lasts a day counts in every hour of it", (2.0, 1.0, 20.0))
        .joined("a day", "fresh")
        .answers("a day", "0 daily recorded")
        .answers("fresh", "5 daily exhausted"),
        Script("a lifetime is over all collections", (2.0, 4.0, 4.0))
        .joined("fresh", "another")
        .answers("fresh", "0 daily recorded", "1 daily recorded")
        .answers("another", "1 daily recorded", "2 daily recorded", "3 daily exhausted")
        .answers("fresh", "3 daily exhausted")
        .add(3, "spent", 4),
        Script("a value outside is refused, and costs nothing")
        .joined("fresh")
        .answers("fresh", "0 sometimes refused")
        .answer(0, "fresh", 3, "refused")
        .answer(0, "fresh", None, "refused")
        .add(0, "spent", 0)
        .answers("fresh", "0 daily recorded", "0 sometimes already"),
    ]


def _clocks() -> list[Script]:
    return [
        Script("before the first epoch and after the last one nobody answers")
        .joined("fresh", hours=-1)
        .answers("fresh", "-0.01 daily closed", "0 daily recorded", "23.9 daily recorded", "24 daily closed"),
        Script("a clock that went back by more than an epoch is waited for")
        .joined("fresh")
        .answers("fresh", "5 daily recorded", "3.9 daily closed", "4.5 daily recorded")
        .add(4.5, "restart")
        .answers("fresh", "1 daily closed", "5 daily already", "6 daily recorded"),
        Script("a clock beyond 2038 closes, and closes what was before")
        .joined("fresh")
        .answer(100_000, "fresh", "daily", "closed")
        .answers("fresh", "1 daily closed"),
    ]


def _permanent(envelopes: dict[str, bytes]) -> list[Script]:
    opened = {label: open_envelope(envelope, [public_key(KEY)]) for label, envelope in envelopes.items()}

    def record(label: str, value: str | int) -> str:
        found = opened[label]
        code = value if isinstance(value, int) else _LABELS.index(value)
        return stream(found.sampler, found.name, found.fingerprint, code)["record"]

    daily, never, often = (record("permanent", value) for value in ("daily", "never", "often"))
    other = record("permanent, mechanism", "daily")
    bot, street = record("tagged", 4), record("tagged", "rarely")
    return [
        Script("the same value has the same report, and only a new one costs")
        .joined("permanent")
        .answers("permanent", "0 daily recorded", "0 daily already", "1 daily recorded")
        .add(1, "spent", 1)
        .answers("permanent", "2 never recorded", "3 daily recorded")
        .add(3, "spent", 2)
        .add(3, "records", [daily, daily, never, daily]),
        Script("when nothing is left, the last report is repeated")
        .joined("permanent")
        .answers(
            "permanent",
            "0 daily recorded",
            "1 never recorded",
            "2 often recorded",
            "3 daily recorded",
            "4 rarely recorded",
        )
        .add(4, "spent", 2)
        .add(4, "records", [daily, never, never, daily, daily]),
        Script("with nothing left before the first report there is none", (2.0, 1.0, 20.0))
        .joined("another", "permanent")
        .answers("another", "0 daily recorded")
        .answers("permanent", "0 daily exhausted", "1 daily recorded")
        .add(1, "spent", 2),
        Script("a version with another contact costs nothing new, one with another mechanism does")
        .joined("permanent")
        .answers("permanent", "0 daily recorded")
        .add(1, "restart")
        .joined("permanent, contact", hours=1)
        .answers("permanent, contact", "1 daily recorded")
        .add(1, "spent", 1)
        .joined("permanent, mechanism", hours=2)
        .answers("permanent, mechanism", "2 daily recorded")
        .add(2, "spent", 2)
        .answers("permanent, mechanism", "3 never recorded")
        .add(3, "spent", 2)
        .add(3, "records", [daily, daily, other, other]),
        Script("after forgetting, a value is charged anew and has the report of the person's secret")
        .joined("permanent")
        .answers("permanent", "0 often recorded")
        .add(0, "forget")
        .joined("permanent", hours=1)
        .answers("permanent", "1 often recorded")
        .add(1, "spent", 2)
        .add(1, "records", [often]),
        Script("secret places share the answer of their bot, and are fixed by the first answer")
        .joined("tagged")
        .answers("tagged", "0 never refused")
        .add(0, "tag", "refused", envelope="tagged", tagged={"work": ["never"]})
        .add(0, "tag", "refused", envelope="tagged", tagged={"home": ["nowhere"]})
        .add(0, "tag", "refused", envelope="tagged", tagged=["never"])
        .add(0, "tag", "refused", envelope="tagged", tagged={"home": ["never"], "others": ["never"]})
        .add(0, "tag", envelope="tagged", tagged={"home": ["rarely"]})
        .add(0, "tag", envelope="tagged", tagged={"home": ["never", "daily"]})
        .answers("tagged", "0 never recorded", "1 rarely recorded", "2 never recorded")
        .add(2, "spent", 2)
        .add(2, "records", [bot, street, bot])
        .add(2, "tag", "refused", envelope="tagged", tagged={})
        .add(2, "decline", name="tagged")
        .add(3, "agree", envelope="tagged")
        .answers("tagged", "3 never refused"),
        Script("with a second coin a new value costs all of its rounds, and a memo of another coin is another one")
        .joined("memo")
        .answers("memo", "0 daily recorded", "1 daily recorded")
        .add(1, "spent", 2)
        .answers("memo", "2 never recorded", "3 daily recorded", "4 often recorded")
        .add(4, "spent", 4)
        .joined("memo, without", hours=5)
        .answers("memo, without", "5 daily exhausted"),
        Script("a report of a second coin costs what the application lets all of them cost", (1.5, 4.0, 20.0)).add(
            0, "accept", "cap", envelope="memo"
        ),
        Script("noise bits of few digits are as the sampler of the document says")
        .joined("few digits")
        .answers("few digits", "0 daily recorded", "1 never recorded")
        .add(1, "records", [record("few digits", "daily"), record("few digits", "never")]),
        Script("a plan without bots takes no secret places")
        .joined("permanent")
        .add(0, "tag", "refused", envelope="permanent", tagged={}),
    ]


def _sending() -> list[Script]:
    return [
        Script("what is taken is sent once")
        .joined("fresh")
        .answers("fresh", "0 daily recorded")
        .send(0, [202], 1, 0, 0)
        .send(0, [], 0, 0, 0)
        .add(0, "states", ["sent"]),
        Script("what fails is sent again, the same bytes, after a pause")
        .joined("fresh")
        .answers("fresh", "0 daily recorded")
        .send(0, [0], 0, 0, 1)
        .send(0, [], 0, 0, 1)
        .add(0.1, "restart")
        .send(0.1, [503], 0, 0, 1)
        .send(0.2, [[429, 1800]], 0, 0, 1)
        .send(0.6, [], 0, 0, 1)
        .send(0.75, [302], 0, 0, 1)
        .send(0.8, [200], 0, 0, 1)
        .send(0.9, [408], 0, 0, 1)
        .send(1.0, [425], 0, 0, 1)
        .send(1.1, [500], 0, 0, 1)
        .send(1.5, [202], 1, 0, 0)
        .add(1.5, "states", ["sent"]),
        Script("what is refused for good is dropped")
        .joined("fresh", "another")
        .answers("fresh", "0 daily recorded")
        .answers("another", "0 daily recorded")
        .send(0, [409, 422], 0, 2, 0)
        .send(1, [], 0, 0, 0)
        .add(1, "states", ["dropped", "dropped"])
        .add(1, "spent", 2),
        Script("what is late is dropped unsent")
        .joined("short")
        .answers("short", "0 daily recorded")
        .answer(80 / HOUR, "short", "daily", "recorded")
        .send(80 / HOUR, [503], 0, 1, 1)
        .add(80 / HOUR, "states", ["dropped", "waiting"]),
        Script("what is withdrawn meanwhile is not sent")
        .joined("once")
        .answers("once", "0 daily recorded")
        .send(0, [503], 0, 0, 1)
        .add(0, "accept", envelope="once, withdrawn")
        .send(1, [], 0, 0, 0),
    ]


def stream(sampler: Sampler, name: str, fingerprint: str, code: int, memo: int | None = None) -> dict[str, Any]:
    """Return the parts of a permanent answer, made from the standard library alone up to the words.

    With S_1 of a second coin, also what four rounds send, from the words of the seeds 0 to 3.
    """
    person = hmac.new(SECRET, b"discreet person 1\0" + name.encode(), hashlib.sha256).digest()
    fixed = b"\0" + name.encode() + b"\0" + bytes.fromhex(fingerprint) + code.to_bytes(8, "little")
    fixed += b"" if memo is None else memo.to_bytes(8, "little")
    answer = hmac.new(person, b"discreet answer 1" + fixed, hashlib.sha256).digest()
    record = sampler.record(code, KeyedRandom(answer), memo)
    parts = {
        "person_secret": SECRET.hex(),
        "name": name,
        "fingerprint": fingerprint,
        "code": code,
        "key": person.hex(),
        "print": hmac.new(person, b"discreet print 1" + fixed, hashlib.sha256).digest()[:16].hex(),
        "answer_key": answer.hex(),
        "words": KeyedRandom(answer).words(4).tobytes().hex(),
        "sampler": sampler.document(),
        "record": record.hex(),
    }
    if memo is None:
        return parts
    again = sampler.truth * WORD_RANGE // memo
    sent = [sampler.round_record(record, again, SeededRandom(seed)).hex() for seed in range(4)]
    return {**parts, "memo": str(memo), "sent": sent}


def _coins() -> Iterator[tuple[Sampler, int]]:
    """Yield samplers of each kind of record, with S_1 of a second coin."""
    domain = Domain(range(12), sensitive=[0, 1, 2, 4, 5, 6, 7, 8, 9])
    clear_bits = partial(UnaryEncoding, clear_bits=True)
    for build in (
        HadamardResponse,
        SubsetSelection,
        LocalHashing,
        UnaryEncoding,
        clear_bits,
        BlockDesign,
    ):
        mechanism = build(domain, 1.0)
        yield Sampler.of(mechanism), Memo(mechanism, 2.0).truth


def _streams(opened: dict[str, Collection]) -> list[dict[str, Any]]:
    lines = [
        stream(found.sampler, found.name, found.fingerprint, code)
        for found in (opened["permanent"], opened["permanent, mechanism"], opened["tagged"])
        for code in range(found.sampler.size)
    ]
    memo = opened["memo"]
    lines += [
        stream(sampler, memo.name, memo.fingerprint, code, truth)
        for sampler, truth in [(memo.sampler, memo.truth), *_coins()]
        for code in range(4)
    ]
    large = HadamardResponse(
        Domain(range(5_000_000_000, 5_000_070_000), sensitive=range(5_000_000_000, 5_000_000_300)), 2
    )
    lines += [stream(Sampler.of(large), "x" * 64, large.fingerprint, code) for code in (0, 299, 300, 69_999)]
    return lines


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the files, by their names."""
    envelopes = _envelopes()
    opened = {label: open_envelope(envelope, [public_key(KEY)]) for label, envelope in envelopes.items()}
    head = {
        "trust": [public_key(KEY).hex()],
        "envelopes": {label: json.loads(envelope) for label, envelope in envelopes.items()},
    }
    scripts = [
        *_consent(),
        *_versions(),
        *_once_and_fresh(),
        *_clocks(),
        *_permanent(envelopes),
        *_surveys(envelopes),
        *_sending(),
    ]
    return {"events.jsonl": [head, *(script.line() for script in scripts)], "permanent.jsonl": _streams(opened)}
