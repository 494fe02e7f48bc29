"""Collections: a signed plan with its terms, and the checks before a device accepts a collection.

A collection is a document of JSON bytes, and its id is their SHA-256. The checks have this order, each with its own
error (`envelope.py`): (1) size, envelope and a trusted signature; (2) format and fields; (3) the version, compared with
the versions seen before; (4) epsilon, computed again from the sampler's integers; (5) the application's limits; (6) the
plan. The caller does checks 3 and 5, because they need a memory; `open_envelope` does the others.

The document contains the complete plan: signing also includes labels that the plan's file takes from another file. So a
device reads neither plan files nor tables.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from ipaddress import ip_address
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
    check_language_fields,
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
"""Length of the shortest epoch, in seconds."""

_LARGEST = (1 << 53) - 1
_MOST_EPOCHS = (1 << 32) - 1
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_DECIMAL = re.compile(r"[1-9][0-9]{0,19}")
# A host as browsers write it: a name whose last part is no number, or an address in its one form.
_NAME_OF_HOST, _PART = r"(?!(.*\.)?(\d+|0x[0-9a-f]*)\.?$)[a-z0-9.-]+", r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_HOST = re.compile(rf"{_NAME_OF_HOST}|{_PART}(\.{_PART}){{3}}|(?!::ffff:[0-9a-f]+:)[0-9a-f:]+")
USUAL_PORTS = {"https": 443, "http": 80}
"""Default ports, which an origin must leave out."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Host names of this machine."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """The epochs in which people may answer a collection.

    Attributes:
        start: start of epoch 0, in seconds since 1970.
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
        epsilon: privacy loss of all reports on one answer together, in nats.
        truth: S_1; a permanent answer is the true one with probability S_1 / 2^64.
    """

    epsilon: float
    truth: int


def _refuse(name: str, wanted: str) -> FieldError:
    return FieldError("field.wrong-value", name=name, wanted=wanted)


def _checked(accepts: Callable[[Any], bool], wanted: str) -> Callable[[str, Any], Any]:
    """Return a function that checks the content of a field. It raises an error if `accepts` returns false."""

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


# Characters that make a text differ from its appearance: controls of direction, joiners with nothing to join, fillers,
# tags, and controls except tab and line feed. Scripts from Arabic on and composed emoji need joiners.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    "|(?<![\u0600-\u1fff\u2070-\U0010ffff])[\u200c\u200d]"
)


def refuse_invisible(document: Any) -> None:
    """Raise an error if a text in the document has characters that people cannot see.

    Raises:
        FieldError: if a text has them; the message lists the first three.
    """
    invisible = sorted({character for text in _texts(document) for character in _INVISIBLE.findall(text)})
    if invisible:
        raise FieldError("text.invisible-characters", characters=", ".join(f"U+{ord(x):04X}" for x in invisible[:3]))


def _texts(content: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, including names of fields."""
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
    """Return true if devices may send to this origin: https, or http on the same machine."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        written = f"[{ip_address(host)}]" if ":" in host else host
    except ValueError:
        return False
    if not _HOST.fullmatch(host) or port == USUAL_PORTS.get(parts.scheme):
        return False
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
OPTIONAL: dict[str, Callable[[str, Any], Any]] = {
    "listed": _mark,
    "memo": _memo,
    "survey": checked_assignment,
    "language": _fitting(TAG),
    "question": _text,
    "languages": checked_languages,
}
"""Fields that a document may also have: public listing, a second coin, a survey, languages and texts."""


_KINDS = {"labels": [str | int], "range": (int, int), "number": dict, "product": [(str, [str | int])], "grid": dict}
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
class Placeholders:
    """The placeholders of a personalized plan, which stand for people's secret values.

    Attributes:
        tags: one name per placeholder.
        cell_of: ``(|X|,)`` each value's placeholder by rank, -1 for none; None if the user's tags choose it.
    """

    tags: tuple[str, ...]
    cell_of: IntArray | None


def check_fields(plan: Mapping[str, Any]) -> None:
    """Check the names and types of a plan's fields.

    Raises:
        PlanError: if a field is missing, unknown or of another type.
    """
    if not fits(plan, _PLAN):
        raise PlanError("plan.wrong-form")


def domain_of(plan: Mapping[str, Any], sensitive: Any = None) -> Domain:
    """Return the domain of a plan's values, without placeholders.

    Args:
        plan: the plan as JSON.
        sensitive: a ``(|X|,)`` mask; None for all values, if only codes are needed.

    Raises:
        PlanError: if the plan does not describe a valid domain.
    """
    table = plan["domain"]
    kinds = [kind for kind in _KINDS if fits(table, _DOMAIN) and table.get(kind) is not None]
    if len(kinds) != 1 or not fits(table[kinds[0]], _KINDS[kinds[0]]):
        raise PlanError("plan.wrong-form")
    protection = {"sensitive": sensitive, "allow_unprotected": True}
    # Labels that read alike are checked later, because it depends on the collection's state: see `check_plan`.
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
                # A range that ends at a border does not include it. Only documents of earlier versions have such
                # ranges, and their samplers protect nothing above the border.
                sensitive = space.ranges(sensitive)
                space = _with_ends(space, sensitive)
            return Domain.over(space, sensitive).for_attribute(attribute)
        labels = range(*table["range"]) if kinds == ["range"] else table["labels"]
        return Domain(labels, **labelled).for_attribute(attribute)
    except (ParameterError, DataError, TypeError, ValueError, OverflowError):
        raise PlanError("plan.wrong-form") from None


def _with_ends(space: Numbers, sensitive: BoolArray) -> Numbers:
    """Return bins in which float32 and float16 numbers that may stand for a sensitive number are sensitive.

    A document does not contain the end of a range within its last bin, so the range ends at the next border.
    """
    return space.bounded(sensitive, np.nextafter(space.borders[1:], -inf).tolist())


def placeholders_of(plan: Mapping[str, Any], sensitive: BoolArray) -> Placeholders | None:
    """Return the placeholders of a personalized plan, or None for other plans.

    Args:
        plan: the plan as JSON.
        sensitive: ``(|X|,)`` booleans: true for values that are sensitive for everybody.

    Raises:
        PlanError: if the plan's tags or cells are malformed.
    """
    if plan.get("tags") is None and plan.get("cells") is None:
        return None
    try:
        # Placeholders depend only on the values and the tags, so any mechanism works here.
        personalized = _personalized(plan, domain_of(plan, sensitive), 1.0, RandomizedResponse)
    except (ParameterError, DataError, TypeError):
        raise PlanError("plan.wrong-form") from None
    return Placeholders(personalized.tags, personalized.cell_of)


def _personalized(plan: Mapping[str, Any], domain: Domain, epsilon: float, build: Any) -> Personalized:
    cells, tags = plan.get("cells"), plan.get("tags")
    if cells is None:
        return Personalized(domain, epsilon, tags, mechanism=build, others=plan.get("others", True))
    if tags is not None:
        raise PlanError("plan.wrong-form")
    return Personalized.cells(domain, epsilon, mechanism=build, **cells)


def mechanism_of(plan: Mapping[str, Any]) -> BlockMechanism:
    """Return the mechanism that a plan describes, over its values and placeholders.

    Raises:
        PlanError: if the plan describes no mechanism.
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
        value: a label; for a product a mapping from each attribute to a label, or the labels in order; for a grid
            latitude and longitude.

    Raises:
        DataError: if the value is not in the domain; it is not quoted.
    """
    try:
        codes = domain.space.encode([_in_order(domain.space, value)])
    except (DataError, TypeError, ValueError, OverflowError):
        codes = np.array([-1])
    if codes.shape != (1,) or codes[0] < 0:
        raise DataError("value.not-in-collection", argument="value", size=domain.size)
    return int(codes[0])


def _in_order(space: LabelSpace, value: Any) -> Any:
    """Return a value in the domain's order: a mapping by attribute becomes a tuple; other values stay unchanged."""
    names = space.column_names
    if not names or not isinstance(value, Mapping):
        return value
    if set(value) != set(names):
        raise ValueError("other attributes")
    return tuple(value[name] for name in names)


# Tolerance for rounding errors of floats in epsilon.
_MARGIN = 1 + 1e-9
# Most values of a plan with placeholders: a device visits each value to find the placeholders.
_MOST_WITH_PLACEHOLDERS = 1 << 18


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Collection:
    """A collection whose signature, fields and epsilon were checked. `open_envelope` makes it.

    Attributes:
        id: SHA-256 of the document, 32 bytes.
        envelope: the bytes as received.
        name: the name of the collection; all versions of a name share one lifetime budget.
        version: a number that increases with every new document of the name.
        state: ``"open"`` or ``"withdrawn"``.
        title: a text for people.
        purpose: a text for people.
        contact: a text for people.
        plan: the complete plan as JSON.
        simulated: whether the collection is for a simulation only.
        linkable: whether the operator warns that permanent reports may identify people.
        fingerprint: the fingerprint of the plan's mechanism.
        sampler: the integers for drawing reports.
        answers: ``"once"``, ``"fresh"`` or ``"permanent"``.
        epsilon: privacy loss of one report, in nats.
        lifetime: largest privacy loss of all reports of one person under this name, in nats.
        epochs: the epochs in which people may answer.
        late: seconds after an epoch's end in which the collector still accepts its reports.
        spread: largest random delay before a report is sent, in seconds.
        least: least number of reports for an estimate.
        retention: number of days before sealed reports are erased.
        collectors: origins to which devices may send reports.
        listed: whether collectors list the collection publicly.
        language: the language of its texts.
        question: the question; empty if the title is the question.
        languages: texts in other languages, by language; see `texts`.
        memo: the terms of permanent answers with a second coin, whose epsilon exceeds one report's; None without them.
        survey: the survey in which this collection is a question; None if it belongs to no survey.
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
        """Privacy loss of a new answer, in nats: of one report, or of all reports of a permanent answer."""
        return self.epsilon if self.memo is None else self.memo.epsilon

    @property
    def truth(self) -> int:
        """S: the truth is reported with probability S / 2^64. For permanent answers with a second coin it is S_1."""
        return self.sampler.truth if self.memo is None else self.memo.truth

    def answered(self, mechanism: BlockMechanism) -> BlockMechanism:
        """Return the mechanism of all reports on one answer together. With a second coin it differs from the plan's."""
        return mechanism if self.memo is None else Memo(mechanism, self.memo.epsilon).permanent

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, version {self.version}, {self.state}, id={self.id.hex()[:12]})"

    def epoch_at(self, now: float) -> int | None:
        """Return the number of the epoch at a time in seconds since 1970; None before the first and after the last."""
        if not self.epochs.start <= now < self.epochs.end:
            return None
        return int((now - self.epochs.start) // self.epochs.seconds)

    def window(self, epoch: int) -> tuple[int, int, int]:
        """Return an epoch's start, its end, and the last time for its reports, in seconds since 1970."""
        start = self.epochs.start + epoch * self.epochs.seconds
        return start, start + self.epochs.seconds, start + self.epochs.seconds + self.late

    @cached_property
    def domain(self) -> Domain:
        """The domain of the values, without placeholders. The sampler decides which values are sensitive."""
        domain = domain_of(self.plan)
        if domain.numbers is None or self.sampler.size < domain.size:
            return domain
        space = _with_ends(domain.numbers, self._is_sensitive[: domain.size])
        return Domain.over(space, domain.sensitive).for_attribute(domain.attribute)

    @cached_property
    def sensitive(self) -> BoolArray:
        """``(|X|,)`` booleans: true for values that the sampler protects."""
        return self._is_sensitive[: self.domain.size]

    @cached_property
    def _is_sensitive(self) -> BoolArray:
        """``(m,)`` booleans: true for values and placeholders that the sampler protects."""
        mask = np.zeros(self.sampler.size, dtype=np.bool_)
        for start, stop in self.sampler.sensitive:
            mask[start:stop] = True
        return mask

    @cached_property
    def placeholders(self) -> Placeholders | None:
        """The placeholders of a personalized plan, or None for other plans."""
        return placeholders_of(self.plan, self.sensitive) if self._is_personalized else None

    @property
    def _is_personalized(self) -> bool:
        return self.plan.get("tags") is not None or self.plan.get("cells") is not None

    def code_of(self, value: Any) -> int:
        """Return the code of one value; see `discreet.device.protocol.collection.code_of`."""
        return code_of(self.domain, value)

    def texts(self, language: str = "") -> SurveyTexts:
        """Return the texts in a language, or in the collection's own language if that language is missing."""
        texts = self.languages.get(language, {})
        title, purpose = texts.get("title", self.title), texts.get("purpose", self.purpose)
        question = texts.get("question", self.question) or title
        return SurveyTexts(language if texts else self.language, title, purpose, question, texts.get("labels", {}))

    @property
    def sensitive_count(self) -> int:
        """The number of values that are protected for everybody."""
        size = self.domain.size
        return sum(min(stop, size) - min(start, size) for start, stop in self.sampler.sensitive)

    def check_plan(self, *, is_known: bool = False) -> None:
        """Check that the plan fits the sampler, and that the sampler protects all placeholders.

        Labels that read alike are refused too, unless the plan was accepted before or is withdrawn.

        Args:
            is_known: whether the collection was accepted before.

        Raises:
            PlanError: if the plan fails a check.
        """
        check_fields(self.plan)
        size = self.domain.size
        if self._is_personalized and size > _MOST_WITH_PLACEHOLDERS:
            raise PlanError("plan.too-many-values", most=_MOST_WITH_PLACEHOLDERS, size=size)
        if size > self.sampler.size or self.plan["epsilon"] != self.epsilon:
            raise PlanError("plan.other-sampler")
        placeholders = 0 if self.placeholders is None else len(self.placeholders.tags)
        covered = sum(max(stop, size) - max(start, size) for start, stop in self.sampler.sensitive)
        if size + placeholders != self.sampler.size or covered != placeholders:
            raise PlanError("plan.other-placeholders")
        if self.languages:
            tags = () if self.placeholders is None or self.placeholders.cell_of is not None else self.placeholders.tags
            check_labels(self.languages, list(label_lists(self.plan, tags)))
        if self.state == OPEN and not is_known:
            self._check_names()

    def _check_names(self) -> None:
        """Raise an error for labels not in normal form C, or labels that look the same if one is unprotected."""
        domain = self.plan["domain"]
        check_composed(self.plan)
        lists = [labels for _, labels in domain.get("product") or []] or [domain.get("labels")]
        if domain.get("exact", False) or lists == [None]:
            return
        for words in ({}, *(texts["labels"] for texts in self.languages.values())):
            names = [[words.get(label, str(label)) for label in labels] for labels in lists]
            check_alike(names, self.sampler.sensitive, can_differ=self.plan.get("tags") is not None)


def open_envelope(envelope: bytes, trust: Sequence[bytes | str], *, is_known: bool = False) -> Collection:
    """Check the signature, fields, epsilon and plan in an envelope, and return the collection.

    Args:
        envelope: the bytes as received.
        trust: public keys, 32 bytes each or their base64, pinned by the application.
        is_known: whether the collection was accepted before; earlier versions allowed invisible characters.

    Raises:
        ParameterError: if ``trust`` is no list of such keys.
        CollectionError: a subclass for each reason.
    """
    collection = promised(*read_document(envelope, trust, is_known=is_known), envelope)
    collection.check_plan(is_known=is_known)
    return collection


def read_document(
    envelope: bytes, trust: Sequence[bytes | str], *, is_known: bool = False
) -> tuple[bytes, dict[str, Any]]:
    """Check a document's signature and fields, and return its id and its fields.

    A notice of withdrawal may have invisible characters: it asks nobody, and every device must be able to read it.

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
    check_language_fields(checked)
    if checked["state"] == OPEN and not is_known:
        refuse_invisible(content)
    return hashlib.sha256(document).digest(), checked


def promised(id_: bytes, fields: Mapping[str, Any], envelope: bytes) -> Collection:
    """Check that the sampler does not exceed the promised epsilon, and return the collection.

    Args:
        id_: the id of the document.
        fields: the fields of the document; see `read_document`.
        envelope: the bytes as received.

    Raises:
        PromiseError: if the sampler exceeds epsilon.
        LawError: if the sampler's law is unknown here, so that epsilon cannot be checked.
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
    """Build the plan's mechanism, compare it with the sampler and the fingerprint, and return it.

    Raises:
        PlanError: if the plan describes no mechanism.
        RebuiltError: if the plan describes another mechanism.
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
