"""Collections: a plan with its terms, signed; what a device checks before it believes one.

A collection is a document of JSON bytes; its id is their SHA-256. The checks come in this order, each with a refusal of
its own (`envelope.py`): size, envelope and a trusted signature; format and fields; version, against what was seen
before; epsilon, recomputed from the sampler's integers; what the application allows; the plan. The third and the fifth
need a memory, so they are the caller's: `open_envelope` does the others.

The plan is spelled out in the document: what a plan's file says in another way, such as labels in a file of their own,
was written out when the collection was signed. So a device reads neither plan files nor tables.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import inf, isfinite
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.core.domain import Domain
from discreet.core.labels.bins import Numbers, are_pairs
from discreet.core.labels.spaces import LabelSpace
from discreet.core.random import WORD_RANGE
from discreet.device.protocol.alike import check_alike, check_composed
from discreet.device.protocol.assignment import NAME, Assignment, checked_assignment
from discreet.device.protocol.envelope import (
    FieldError,
    FormatError,
    LawError,
    PlanError,
    PromiseError,
    RebuiltError,
    opened,
    parsed,
)
from discreet.device.protocol.languages import (
    BASE,
    TAG,
    TEXT,
    SurveyTexts,
    check_labels,
    check_together,
    checked_languages,
    label_lists,
)
from discreet.device.protocol.sampler import Sampler, SamplerError, UnknownSamplerError
from discreet.device.protocol.shapes import fits
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, RandomizedResponse
from discreet.mechanisms.memo import Memo
from discreet.mechanisms.personalized import Personalized

FORMAT = "discreet collection 1"
OPEN, WITHDRAWN = "open", "withdrawn"
ONCE, FRESH, PERMANENT = "once", "fresh", "permanent"
ANSWERS = (ONCE, FRESH, PERMANENT)
SHORTEST_EPOCH = 60
"""In seconds."""

_LARGEST = (1 << 53) - 1
_MOST_EPOCHS = (1 << 32) - 1
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_DECIMAL = re.compile(r"[1-9][0-9]{0,19}")
_HOST = re.compile(r"[a-z0-9.-]+|[0-9a-f:.]+")
USUAL_PORTS = {"https": 443, "http": 80}
"""Ports that an origin does not name."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts of origins that are this machine."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """Epochs in which a collection takes answers.

    Attributes:
        start: of epoch 0, in seconds since 1970.
        seconds: length of an epoch.
        count: number of epochs.
    """

    start: int
    seconds: int
    count: int

    @property
    def end(self) -> int:
        """End of the last epoch, in seconds since 1970."""
        return self.start + self.seconds * self.count


@dataclass(frozen=True, slots=True)
class MemoTerms:
    """The terms of permanent answers with a second coin.

    Attributes:
        epsilon: of all reports on one answer together, in nats.
        truth: S_1; a permanent answer tells the truth with probability S_1 / 2^64.
    """

    epsilon: float
    truth: int


def _refuse(name: str, wanted: str) -> FieldError:
    return FieldError("field.wrong-value", name=name, wanted=wanted)


def _checked(accepts: Callable[[Any], bool], wanted: str) -> Callable[[str, Any], Any]:
    """Return a function that returns an entry of a field that a condition accepts, and refuses another."""

    def check(name: str, entry: Any) -> Any:
        if not accepts(entry):
            raise _refuse(name, wanted)
        return entry

    return check


def _fitting(pattern: re.Pattern[str]) -> Callable[[str, Any], str]:
    return _checked(lambda entry: fits(entry, pattern), f"a text of the form {pattern.pattern}")


def _either(*known: str) -> Callable[[str, Any], str]:
    return _checked(lambda entry: type(entry) is str and entry in known, f"one of {', '.join(known)}")


def _whole(least: int, most: int = _LARGEST) -> Callable[[str, Any], int]:
    return _checked(lambda entry: type(entry) is int and least <= entry <= most, f"an integer in {least}..{most}")


_text = _checked(lambda entry: fits(entry, TEXT), "a text that is not empty")
_flag = _checked(lambda entry: type(entry) is bool, "true or false")
_mark = _checked(lambda entry: entry is True, "true, or left out")
_table = _checked(lambda entry: type(entry) is dict, "an object")


def _nats(name: str, entry: Any) -> float:
    if type(entry) not in {int, float} or not 0 < entry <= _LARGEST:
        raise _refuse(name, "a finite number of nats above 0")
    return float(entry)


def _epochs(name: str, entry: Any) -> Epochs:
    if not fits(entry, dict.fromkeys(Epochs.__slots__, Any)):
        raise _refuse(name, "an object of start, seconds and count")
    start = _whole(0)("epochs.start", entry["start"])
    seconds = _whole(SHORTEST_EPOCH)("epochs.seconds", entry["seconds"])
    epochs = Epochs(start, seconds, _whole(1, _MOST_EPOCHS)("epochs.count", entry["count"]))
    if epochs.end > _LARGEST:
        raise _refuse(name, "over before the year 285,000,000")
    return epochs


def _memo(name: str, entry: Any) -> MemoTerms:
    if not fits(entry, dict.fromkeys(MemoTerms.__slots__, Any)):
        raise _refuse(name, "an object of epsilon and truth")
    truth = _fitting(_DECIMAL)("memo.truth", entry["truth"])
    return MemoTerms(_nats("memo.epsilon", entry["epsilon"]), int(truth))


def _origins(name: str, entry: Any) -> tuple[str, ...]:
    if type(entry) is not list or not entry or not all(type(origin) is str and is_origin(origin) for origin in entry):
        raise _refuse(name, "a list of origins such as https://collect.example.org (http only on this machine)")
    return tuple(entry)


# Controls of direction, joiners where nothing joins, fillers, tags, and controls beside tab and line feed: whatever
# makes a text another one than people see. Joiners belong to scripts from Arabic on, and to pictures of several parts.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    "|(?<![\u0600-\u1fff\u2070-\U0010ffff])[\u200c\u200d]"
)


def refuse_invisible(document: Any) -> None:
    """Refuse a document in which any text has characters that nobody sees.

    Raises:
        FieldError: if so; it names the first ones.
    """
    invisible = sorted({character for text in _texts(document) for character in _INVISIBLE.findall(text)})
    if invisible:
        shown = ", ".join(f"U+{ord(character):04X}" for character in invisible[:3])
        shown += ", and more" if len(invisible) > 3 else ""
        raise FieldError("text.invisible-characters", characters=shown)


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts in JSON, names of fields among them."""
    parts = [content]
    while parts:
        part = parts.pop()
        match part:
            case str():
                yield part
            case dict():
                parts += [*part.keys(), *part.values()]
            case list():
                parts += part


def is_origin(text: str) -> bool:
    """Return true if a text is an origin that devices may send to: https, or http on this machine."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or not _HOST.fullmatch(host) or port == USUAL_PORTS.get(parts.scheme):
        return False
    written = f"[{host}]" if ":" in host else host
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
    return safe and text == f"{parts.scheme}://{written}" + ("" if port is None else f":{port}")


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "name": _fitting(NAME),
    "version": _whole(1),
    "state": _either(OPEN, WITHDRAWN),
    "title": _text,
    "purpose": _text,
    "contact": _text,
    "plan": _table,
    "simulated": _flag,
    "linkable": _flag,
    "fingerprint": _fitting(_FINGERPRINT),
    "sampler": _table,
    "answers": _either(*ANSWERS),
    "epsilon": _nats,
    "lifetime": _nats,
    "epochs": _epochs,
    "late": _whole(0),
    "spread": _whole(0),
    "least": _whole(1),
    "retention": _whole(1),
    "collectors": _origins,
}
FIELDS = ("format", *CHECKS)
"""The fields of every document, in the order in which they are checked."""
OPTIONAL: dict[str, Callable[[str, Any], Any]] = {
    "listed": _mark,
    "memo": _memo,
    "survey": checked_assignment,
    "language": _fitting(TAG),
    "question": _text,
    "languages": checked_languages,
}
"""Fields that a document may have beside them: a mark, a second coin, a survey, and languages and texts."""


_KINDS = {"labels": list, "range": (int, int), "number": dict, "product": [(str, list)], "grid": dict}
_BESIDE = ("sensitive", "allow_unprotected", "missing", "cuts")
_DOMAIN = {**dict.fromkeys((f"{name}?" for name in (*_KINDS, *_BESIDE)), Any), "attribute?": str, "exact?": bool}
_PLAN = {
    "domain": dict,
    "epsilon": int | float,
    "mechanism": dict,
    "others?": bool,
    **dict.fromkeys(("version?", "title?", "tags?", "cells?"), Any),
}


@dataclass(frozen=True)
class Bots:
    """The bots of a personalized plan.

    Attributes:
        tags: one name per bot.
        cell_of: ``(|X|,)`` ranks of the bots that stand for the values, -1 for none; None if the user's tags say so.
    """

    tags: tuple[str, ...]
    cell_of: IntArray | None


def check_fields(plan: Mapping[str, Any]) -> None:
    """Refuse a plan with other fields than a plan has.

    Raises:
        PlanError: if it has.
    """
    if not fits(plan, _PLAN):
        raise PlanError("plan.wrong-form")


def domain_of(plan: Mapping[str, Any], sensitive: Any = None) -> Domain:
    """Return the values of a plan, without bots.

    Args:
        plan: as JSON.
        sensitive: a ``(|X|,)`` mask; None for every value, where only codes are wanted.

    Raises:
        PlanError: if the plan says no such domain.
    """
    table = plan["domain"]
    kinds = [kind for kind in _KINDS if fits(table, _DOMAIN) and table.get(kind) is not None]
    if len(kinds) != 1 or not fits(table[kinds[0]], _KINDS[kinds[0]]):
        raise PlanError("plan.wrong-form")
    protection = {"sensitive": sensitive, "allow_unprotected": True}
    # Whether labels that read alike are refused depends on the state of the collection: see `check_plan`.
    labelled, attribute = {**protection, "exact": True}, table.get("attribute", "")
    try:
        if kinds == ["product"]:
            if len(attributes := dict(table["product"])) < len(table["product"]):
                raise ValueError("repeated attribute")
            return Domain.product(attributes, **labelled)
        if kinds == ["grid"]:
            return Domain.grid(**table["grid"], **protection)
        if kinds == ["number"]:
            space: Any = Domain.number(**table["number"]).space
            if type(sensitive) is list and are_pairs(sensitive):
                # A range that ends at a border ends below it: none does in a document of this version, whose ranges end
                # within their last bins, and samplers of documents before protect nothing above.
                sensitive = space.ranges(sensitive)
                space = _with_ends(space, sensitive)
            return Domain.over(space, sensitive).about(attribute)
        labels = range(*table["range"]) if kinds == ["range"] else table["labels"]
        return Domain(labels, **labelled).about(attribute)
    except (ParameterError, DataError, TypeError, ValueError, OverflowError):
        raise PlanError("plan.wrong-form") from None


def _with_ends(space: Numbers, sensitive: BoolArray) -> Numbers:
    """Return bins in which a narrow float that may stand for a sensitive number is sensitive.

    A document does not say where within its last bin a range ends, so it is taken to end at the next border.
    """
    return space.ending(sensitive, np.nextafter(space.borders[1:], -inf).tolist())


def bots_of(plan: Mapping[str, Any], sensitive: BoolArray) -> Bots | None:
    """Return the bots of a personalized plan; None of any other.

    Args:
        plan: as JSON.
        sensitive: ``(|X|,)`` booleans: which of them are sensitive for everybody.

    Raises:
        PlanError: if there can be no such bots.
    """
    if plan.get("tags") is None and plan.get("cells") is None:
        return None
    try:
        # Bots depend on the values and the tags alone, so that any mechanism will do.
        personalized = _personalized(plan, domain_of(plan, sensitive), 1.0, RandomizedResponse)
    except (ParameterError, DataError, TypeError):
        raise PlanError("plan.wrong-form") from None
    return Bots(personalized.tags, personalized.cell_of)


def _personalized(plan: Mapping[str, Any], domain: Domain, epsilon: float, build: Any) -> Personalized:
    cells, tags = plan.get("cells"), plan.get("tags")
    if cells is None:
        return Personalized(domain, epsilon, tags, mechanism=build, others=plan.get("others", True))
    if tags is not None:
        raise PlanError("plan.wrong-form")
    return Personalized.cells(domain, epsilon, mechanism=build, **cells)


def mechanism_of(plan: Mapping[str, Any]) -> BlockMechanism:
    """Return the mechanism that a plan describes, over the bots too where it has some.

    Raises:
        PlanError: if it describes none.
    """
    table = plan["domain"]
    options = dict(plan["mechanism"])
    try:
        build: Any = partial(BLOCK_MECHANISMS[options.pop("name")], **options)
        sensitive = table.get("sensitive")
        domain = domain_of(plan, sensitive)
        if plan.get("tags") is None and plan.get("cells") is None:
            mechanism: BlockMechanism = build(domain, plan["epsilon"])
            return mechanism
        return _personalized(plan, domain, plan["epsilon"], build).common
    except (ParameterError, DataError, TypeError, KeyError, AttributeError):
        raise PlanError("plan.wrong-form") from None


def code_of(domain: Domain, value: Any) -> int:
    """Return the code of one value.

    Args:
        domain: the values.
        value: a label; of a product a mapping from every attribute to a label, or the labels in order; of a grid
            latitude and longitude.

    Raises:
        DataError: if it is not in the domain; it is not quoted.
    """
    try:
        codes = domain.space.encode([_in_order(domain.space, value)])
    except (DataError, TypeError, ValueError, OverflowError):
        codes = np.array([-1])
    if codes.shape != (1,) or codes[0] < 0:
        raise DataError("value.not-in-collection", argument="value", size=domain.size)
    return int(codes[0])


def _in_order(space: LabelSpace, value: Any) -> Any:
    """Return a value of several parts as a tuple of them."""
    names = space.column_names
    if not names or not isinstance(value, Mapping):
        return value
    if set(value) != set(names):
        raise ValueError("other attributes")
    return tuple(value[name] for name in names)


# What doubles and their printing may add to epsilon.
_MARGIN = 1 + 1e-9
# Values under a plan with bots: a device looks at each of them, to see which bots there are.
_MOST_WITH_BOTS = 1 << 18


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Collection:
    """A collection whose signature, fields and promise were checked; `open_envelope` makes one.

    Attributes:
        id: SHA-256 of the document, 32 bytes.
        envelope: as it came.
        name: of the collection; versions of one name have one lifetime.
        version: rises with every new document of the name.
        state: ``"open"`` or ``"withdrawn"``.
        title: for people.
        purpose: for people.
        contact: for people.
        plan: the plan as JSON, spelled out.
        simulated: whether it is for a simulation alone.
        linkable: whether permanent reports may be as good as names, by the operator's own word.
        fingerprint: of the plan's mechanism.
        sampler: the integers that a device draws with.
        answers: ``"once"``, ``"fresh"`` or ``"permanent"``.
        epsilon: of one report, in nats.
        lifetime: of all reports of one person under this name, in nats.
        epochs: when answers are taken.
        late: seconds after an epoch's end in which its reports are still taken.
        spread: largest random delay before a report is sent, in seconds.
        least: estimates need at least so many reports.
        retention: days that sealed reports are kept.
        collectors: origins that reports may be sent to.
        listed: whether its author marks it as public, so that collectors list it for everybody.
        language: of its texts.
        question: that is asked; empty where the title is.
        languages: texts in other languages, by language; see `texts`.
        memo: of permanent answers with a second coin, whose epsilon is above that of one report; None without one.
        survey: of which it is one question; None if it asks alone.
    """

    id: bytes
    envelope: bytes
    name: str
    version: int
    state: str
    title: str
    purpose: str
    contact: str
    plan: Mapping[str, Any]
    simulated: bool
    linkable: bool
    fingerprint: str
    sampler: Sampler
    answers: str
    epsilon: float
    lifetime: float
    epochs: Epochs
    late: int
    spread: int
    least: int
    retention: int
    collectors: tuple[str, ...]
    listed: bool = False
    language: str = BASE
    question: str = ""
    languages: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    memo: MemoTerms | None = None
    survey: Assignment | None = None

    @property
    def cost(self) -> float:
        """The nats that a new answer costs a person: of its report, or of all reports on it where it is permanent."""
        return self.epsilon if self.memo is None else self.memo.epsilon

    @property
    def truth(self) -> int:
        """S of an answer, or S_1 where it is permanent and a second coin decides what is sent."""
        return self.sampler.truth if self.memo is None else self.memo.truth

    def answered(self, mechanism: BlockMechanism) -> BlockMechanism:
        """Return the mechanism of all that is sent of one answer: that of the plan, or that of its memo."""
        return mechanism if self.memo is None else Memo(mechanism, self.memo.epsilon).permanent

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, version {self.version}, {self.state}, id={self.id.hex()[:12]})"

    def epoch_at(self, now: float) -> int | None:
        """Return the epoch that runs at a time, in seconds since 1970; None before the first and after the last."""
        if not self.epochs.start <= now < self.epochs.end:
            return None
        return int((now - self.epochs.start) // self.epochs.seconds)

    def window(self, epoch: int) -> tuple[int, int, int]:
        """Return start and end of an epoch, and the time until which its reports are taken, in seconds since 1970."""
        start = self.epochs.start + epoch * self.epochs.seconds
        return start, start + self.epochs.seconds, start + self.epochs.seconds + self.late

    @cached_property
    def domain(self) -> Domain:
        """The values, without bots; a device asks it for codes alone: which are sensitive, the sampler says."""
        domain = domain_of(self.plan)
        if domain.numbers is None or self.sampler.size < domain.size:
            return domain
        space = _with_ends(domain.numbers, self._looked_at[: domain.size])
        return Domain.over(space, domain.sensitive).about(domain.attribute)

    @cached_property
    def sensitive(self) -> BoolArray:
        """``(|X|,)`` booleans: which values the sampler's coin looks at."""
        return self._looked_at[: self.domain.size]

    @cached_property
    def _looked_at(self) -> BoolArray:
        """``(m,)`` booleans: which values and bots the sampler's coin looks at."""
        mask = np.zeros(self.sampler.size, dtype=np.bool_)
        for start, stop in self.sampler.sensitive:
            mask[start:stop] = True
        return mask

    @cached_property
    def bots(self) -> Bots | None:
        """The bots of a personalized plan; None of any other."""
        return bots_of(self.plan, self.sensitive) if self._is_personalized else None

    @property
    def _is_personalized(self) -> bool:
        return self.plan.get("tags") is not None or self.plan.get("cells") is not None

    def code_of(self, value: Any) -> int:
        """Return the code of one value, without bots; see `discreet.device.protocol.collection.code_of`."""
        return code_of(self.domain, value)

    def texts(self, language: str = "") -> SurveyTexts:
        """Return the texts that people read: in a language if it has that, and otherwise in its own."""
        texts = self.languages.get(language, {})
        title, purpose = texts.get("title", self.title), texts.get("purpose", self.purpose)
        question = texts.get("question", self.question) or title
        return SurveyTexts(language if texts else self.language, title, purpose, question, texts.get("labels", {}))

    @property
    def sensitive_count(self) -> int:
        """Number of values that are protected for everybody."""
        size = self.domain.size
        return sum(min(stop, size) - min(start, size) for start, stop in self.sampler.sensitive)

    def check_plan(self, *, is_known: bool = False) -> None:
        """Refuse a plan that is not of the sampler's size, or whose bots the coin does not look at.

        A plan whose labels read alike is refused too, unless it was accepted before or asks nobody any more.

        Args:
            is_known: whether it was accepted before.

        Raises:
            PlanError: if so.
        """
        check_fields(self.plan)
        size = self.domain.size
        if self._is_personalized and size > _MOST_WITH_BOTS:
            raise PlanError("plan.too-many-values", most=_MOST_WITH_BOTS, size=size)
        if size > self.sampler.size or self.plan["epsilon"] != self.epsilon:
            raise PlanError("plan.other-sampler")
        bots = 0 if self.bots is None else len(self.bots.tags)
        covered = sum(max(stop, size) - max(start, size) for start, stop in self.sampler.sensitive)
        if size + bots != self.sampler.size or covered != bots:
            raise PlanError("plan.other-placeholders")
        if self.languages:
            tags = () if self.bots is None or self.bots.cell_of is not None else self.bots.tags
            check_labels(self.languages, list(label_lists(self.plan, tags)))
        if self.state == OPEN and not is_known:
            self._check_names()

    def _check_names(self) -> None:
        """Refuse labels that are written in two ways, and names that read alike if only one of them is protected."""
        domain = self.plan["domain"]
        check_composed(self.plan)
        lists = [labels for _, labels in domain.get("product") or []] or [domain.get("labels")]
        if domain.get("exact", False) or lists == [None]:
            return
        for words in ({}, *(texts["labels"] for texts in self.languages.values())):
            names = [[words.get(label, str(label)) for label in labels] for labels in lists]
            check_alike(names, self.sampler.sensitive, can_differ=self.plan.get("tags") is not None)


def open_envelope(envelope: bytes, trust: Sequence[bytes], *, is_known: bool = False) -> Collection:
    """Return the collection of an envelope, if it is signed, well-formed and keeps its promise.

    Args:
        envelope: as it came.
        trust: public keys, 32 bytes each, pinned by the application.
        is_known: whether it was accepted before, when texts might still have invisible characters.

    Raises:
        ParameterError: if ``trust`` is no list of such keys.
        CollectionError: a class for each reason.
    """
    collection = promised(*read_document(envelope, trust, is_known=is_known), envelope)
    collection.check_plan(is_known=is_known)
    return collection


def read_document(envelope: bytes, trust: Sequence[bytes], *, is_known: bool = False) -> tuple[bytes, dict[str, Any]]:
    """Return the id and the fields of a document that a trusted key has signed; its promise is not yet checked.

    A notice of withdrawal may have invisible characters: it asks nobody, and must reach whoever accepted a version.

    Raises:
        CollectionError: see `open_envelope`.
    """
    document = opened(envelope, trust)
    try:
        content = parsed(document)
    except ValueError:
        raise FormatError("document.not-collection", format=FORMAT) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError("document.unknown-format", format=FORMAT)
    if wrong := set(content) - set(OPTIONAL) ^ {"format", *CHECKS}:
        raise FieldError("fields.wrong-names", n=len(CHECKS) + 1, wrong=len(wrong))
    checked = {name: check(name, content[name]) for name, check in (CHECKS | OPTIONAL).items() if name in content}
    memo: MemoTerms | None = checked.get("memo")
    if memo is not None and (checked["answers"] != PERMANENT or memo.epsilon <= checked["epsilon"]):
        raise FieldError("memo.wrong-epsilon")
    cost = checked["epsilon"] if memo is None else memo.epsilon
    if checked["lifetime"] < cost:
        raise FieldError("lifetime.below-epsilon")
    survey: Assignment | None = checked.get("survey")
    if survey is not None and (checked["name"] not in survey.questions or survey.epsilon < cost):
        raise FieldError("survey.wrong-question")
    check_together(checked)
    if checked["state"] == OPEN and not is_known:
        refuse_invisible(content)
    return hashlib.sha256(document).digest(), checked


def promised(id_: bytes, fields: Mapping[str, Any], envelope: bytes) -> Collection:
    """Return a collection if the sampler's integers keep the epsilon that it states.

    Args:
        id_: of the document.
        fields: its fields; see `read_document`.
        envelope: as it came.

    Raises:
        PromiseError: if they do not.
        LawError: if the sampler's law is unknown here, so that nothing can be said.
    """
    try:
        sampler = Sampler.parse(fields["sampler"])
        realised = sampler.realised
    except UnknownSamplerError as error:
        raise LawError("law.unknown", fault=error.sentence()) from None
    except SamplerError:
        raise PromiseError("sampler.no-promise") from None
    if not (isfinite(realised) and realised <= fields["epsilon"] * _MARGIN):
        raise PromiseError("epsilon.above-promise", stated=fields["epsilon"], realised=realised)
    memo: MemoTerms | None = fields.get("memo")
    if memo is not None and not (
        sampler.truth < memo.truth < WORD_RANGE and sampler.realised_at(memo.truth) <= memo.epsilon * _MARGIN
    ):
        raise PromiseError("memo.above-promise")
    return Collection(**{**fields, "sampler": sampler}, id=id_, envelope=envelope)


def rebuild(collection: Collection) -> BlockMechanism:
    """Return the mechanism that the plan describes, over bots too, if it is the one of sampler and fingerprint.

    Raises:
        PlanError: if the plan describes no mechanism.
        RebuiltError: if it describes another one.
    """
    mechanism = mechanism_of(collection.plan)
    try:
        sampler = Sampler.of(mechanism)
    except SamplerError:
        sampler = None
    memo = collection.memo
    other = memo is not None and memo.truth != Memo(mechanism, memo.epsilon).truth
    if other or sampler != collection.sampler or mechanism.fingerprint != collection.fingerprint:
        raise RebuiltError("plan.other-mechanism")
    return mechanism
