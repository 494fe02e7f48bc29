"""Signing: from a plan and terms to the envelope of a collection, and to its next version."""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from discreet.device.protocol.assignment import MOST_QUESTIONS, Assignment
from discreet.device.protocol.collection import (
    FORMAT,
    FRESH,
    ONCE,
    OPEN,
    OPTIONAL,
    PERMANENT,
    SHORTEST_EPOCH,
    WITHDRAWN,
    Collection,
    Epochs,
    domain_of,
    open_envelope,
    rebuild,
)
from discreet.device.protocol.envelope import document_bytes, opened, parsed, public_key, signed
from discreet.device.protocol.languages import BASE
from discreet.device.protocol.sampler import Sampler
from discreet.device.protocol.shapes import fits
from discreet.errors import OutputExistsError, ParameterError
from discreet.formats.domains import all_composed, described_values
from discreet.formats.plan import Plan, PlanDocument
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.memo import Memo
from discreet.privacy.verify import verify
from discreet.surveys.documents import Questionnaire
from discreet.surveys.rounds import Rounds

LARGEST_UNNAMED_LIFETIME = 8.0
"""Nats that a person may spend in all without the operator's naming the number."""
LEAST_PEOPLE_PER_BLOCK = 20
"""People who share each block of a permanent answer, on average, so that it is no name."""

_DAYS = 30
_MOST_KEY_BYTES = 1 << 14


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of a collection; `Collection` explains the fields.

    Attributes:
        name: of the collection.
        title: for people.
        purpose: for people.
        contact: for people.
        answers: ``"once"``, ``"fresh"`` or ``"permanent"``.
        epochs: when answers are taken.
        collectors: origins that reports may be sent to.
        lifetime: in nats; None for epsilon (once), or for epsilon times the number of epochs, if that is at most 8.
        late: in seconds; None for one epoch.
        spread: in seconds.
        least: reports.
        retention: days.
        simulated: whether it is for a simulation alone.
        memo: epsilon of all reports on one permanent answer, in nats. The plan's epsilon is then for one report, and a
            second coin decides in each epoch whether the answer or noise is sent. None without a second coin.
        people: devices expected; needed for permanent answers.
        linkable: allow permanent reports that are as good as names.
        listed: whether collectors list it for everybody.
        language: of the texts, and of the plan's labels.
        question: that is asked; empty for the title.
        languages: the texts in other languages; see `read_texts`.
    """

    name: str
    title: str
    purpose: str
    contact: str
    answers: str
    epochs: Epochs
    collectors: tuple[str, ...]
    lifetime: float | None = None
    late: int | None = None
    spread: int = 0
    least: int = 100
    retention: int = _DAYS
    simulated: bool = False
    memo: float | None = None
    people: int | None = None
    linkable: bool = False
    listed: bool = False
    language: str = BASE
    question: str = ""
    languages: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read_texts(path: Path) -> dict[str, Any]:
    """Return the texts of a TOML file: their language, the question, and texts in other languages.

    Raises:
        ParameterError: if there is no such file, or anything else in it.
        FieldError: if a text is empty or no text.
    """
    return _checked_texts(path, _read_toml(path))


def read_survey_texts(path: Path) -> dict[str, dict[str, Any]]:
    """Return the texts that a TOML file states for questions of a survey, in tables such as ``[questions.age]``.

    Raises:
        ParameterError: if there is no such file, or anything else in it but the language of all texts.
        FieldError: as for `read_texts`.
    """
    content = _read_toml(path)
    if not fits(content, {"language?": Any, "questions": dict}):
        raise ParameterError("texts.wrong-form", path=path)
    tables = content.pop("questions")
    if not fits([*tables.values()], [dict]) or any("language" in table for table in tables.values()):
        raise ParameterError("texts.several-languages", path=path)
    return {name: _checked_texts(path, {**content, **table}) for name, table in tables.items()}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return dict(all_composed(tomllib.loads(path.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ParameterError("texts.not-toml", path=path, reason=error) from None


def _checked_texts(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := set(content) - {"language", "question", "languages"}:
        raise ParameterError("texts.unknown-fields", path=path, n=len(unknown))
    return {"language": BASE, "question": "", "languages": {}} | {
        name: OPTIONAL[name](name, content[name]) for name in content
    }


def new_key(path: str | Path) -> bytes:
    """Write a new private key to a PEM file that only its owner can read; return the public key, 32 bytes.

    Raises:
        OutputExistsError: if the file exists: keys are never replaced.
        ParameterError: if it cannot be written.
    """
    key, target = Ed25519PrivateKey.generate(), Path(path)
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        with os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise OutputExistsError("key.exists", path=target) from None
    except OSError as error:
        raise ParameterError("key.not-written", path=target, reason=error.strerror) from None
    return public_key(key)


def read_key(path: str | Path) -> Ed25519PrivateKey:
    """Return the private key in a PEM file.

    Raises:
        ParameterError: if there is no private key, or other users can read it.
    """
    source = Path(path)
    try:
        with source.open("rb") as file:
            written, mode = file.read(_MOST_KEY_BYTES), os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise ParameterError("key.not-readable", path=source, reason=error.strerror) from None
    if mode & 0o077 and os.name == "posix":
        raise ParameterError("key.not-private", path=source)
    key: object = None
    with suppress(ValueError, TypeError, UnsupportedAlgorithm):
        key = load_pem_private_key(written, None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ParameterError("key.wrong-form", path=source)
    return key


def sign(
    plan: Plan,
    terms: Terms,
    keys: Sequence[Ed25519PrivateKey],
    *,
    version: int = 1,
    survey: Assignment | None = None,
) -> bytes:
    """Return the envelope of a collection.

    Args:
        plan: of the mechanism.
        terms: who asks, how often, until when.
        keys: one or several; every one signs.
        version: of the name.
        survey: the survey, if the collection is one of its questions; None for a single question.

    Raises:
        ParameterError: if the plan protects nobody or does not keep its promise, the terms allow no answer or too many
            or permanent reports would be as good as names.
        FieldError: if what people read has invisible characters.
        SamplerError: if devices cannot draw under the plan.
    """
    mechanism = plan.mechanism()
    _refuse_unkept(mechanism)
    memo = {} if terms.memo is None else _memo_of(terms, mechanism)
    lifetime = _lifetime(terms, terms.memo or mechanism.epsilon)
    _refuse_names(terms, mechanism)
    fields = {
        "version": version,
        "state": OPEN,
        "plan": spelled_out(plan),
        "fingerprint": mechanism.fingerprint,
        "sampler": Sampler.of(mechanism).document(),
        "epsilon": mechanism.epsilon,
        "lifetime": lifetime,
        "epochs": asdict(terms.epochs),
        "late": terms.epochs.seconds if terms.late is None else terms.late,
        **memo,
        **({} if survey is None else {"survey": survey.document()}),
    }
    return _sealed({**_plain_terms(terms), **fields}, keys)


def sign_survey(
    questionnaire: Questionnaire,
    terms: Terms,
    keys: Sequence[Ed25519PrivateKey],
    texts: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> tuple[bytes, ...]:
    """Return the envelopes of a survey, a collection for each question, in the survey's order.

    Args:
        questionnaire: with its questions.
        terms: the terms of all questions; the collection of the first question gets the name NAME-1, and so on.
        keys: one or several; every one signs.
        texts: by names of questions: its ``question``, and ``languages``; see `read_texts`.

    Raises:
        ParameterError: as for `sign`; also if texts name an unknown question, a device could not draw, or the terms
            differ from the survey's rounds.
    """
    survey = questionnaire.survey()
    for name in texts:
        survey.question(name)
    names = [f"{terms.name}-{number}" for number, _ in enumerate(survey.questions, 1)]
    if len(names) > MOST_QUESTIONS:
        raise ParameterError("survey.too-many-questions", most=MOST_QUESTIONS, n=len(names))
    shares = dict(zip(names, (question.share for question in survey.questions), strict=True))
    _check_rounds(survey.rounds, terms)
    # What a person is promised once; with a second coin, what all reports on the answers cost.
    coins = [survey.memos[each.name].infinity if each.name in survey.memos else terms.memo for each in survey.questions]
    costs = [coin or question.epsilon for coin, question in zip(coins, survey.questions, strict=True)]
    most = max(sum(costs[place] for place in places) for places, _ in survey.draws)
    drawn = Assignment(terms.name, survey.answers, most, shares)
    envelopes = []
    for name, question, coin, cost in zip(names, survey.questions, coins, costs, strict=True):
        text = texts.get(question.name, {})
        asked = {
            "question": text.get("question") or question.name,
            "languages": text.get("languages", {}),
            "memo": coin,
        }
        if survey.memos and terms.lifetime is None:
            # Of one answer, which is what the survey promises for all rounds.
            asked["lifetime"] = cost
        envelopes.append(
            sign(questionnaire.plan(question.name), replace(terms, name=name, **asked), keys, survey=drawn)
        )
    return tuple(envelopes)


def _check_rounds(rounds: Rounds | None, terms: Terms) -> None:
    """Raise if the terms differ from the survey's rounds, or the rounds rotate."""
    if rounds is None:
        return
    if rounds.how == "rotate":
        raise ParameterError("rounds.rotate")
    kind = PERMANENT if rounds.is_permanent else FRESH
    if terms.answers != kind or terms.memo is not None or terms.epochs.count > rounds.number:
        raise ParameterError("terms.other-rounds", n=rounds.number, kind=kind)


def _memo_of(terms: Terms, mechanism: BlockMechanism) -> dict[str, Any]:
    """Return the field of a second coin."""
    if terms.answers != PERMANENT:
        raise ParameterError("memo.without-permanent", argument="memo", answers=terms.answers)
    return {"memo": {"epsilon": terms.memo, "truth": str(Memo(mechanism, terms.memo).truth)}}


def _plain_terms(terms: Terms) -> dict[str, Any]:
    names = ("name", "title", "purpose", "contact", "answers", "spread", "least", "retention", "simulated", "linkable")
    usual = {"listed": False, "language": BASE, "question": "", "languages": {}}
    more = {name: getattr(terms, name) for name, plain in usual.items() if getattr(terms, name) != plain}
    return {**{name: getattr(terms, name) for name in names}, **more, "collectors": list(terms.collectors)}


def _sealed(fields: Mapping[str, Any], keys: Sequence[Ed25519PrivateKey]) -> bytes:
    """Sign a document, and see that every device would take it."""
    envelope = signed(document_bytes({"format": FORMAT, **fields}), keys)
    rebuild(open_envelope(envelope, [public_key(key) for key in keys]))
    return envelope


def _refuse_unkept(mechanism: BlockMechanism) -> None:
    if mechanism.guarantee.notion == "none":
        raise ParameterError("plan.protects-nobody")
    if not verify(mechanism).holds:
        raise ParameterError("plan.broken-promise")


def _lifetime(terms: Terms, epsilon: float) -> float:
    if terms.epochs.seconds < SHORTEST_EPOCH:
        raise ParameterError("epoch.too-short", least=SHORTEST_EPOCH, seconds=terms.epochs.seconds)
    if terms.lifetime is not None:
        if not epsilon <= terms.lifetime < inf:
            raise ParameterError("lifetime.out-of-range", argument="lifetime", least=epsilon, got=terms.lifetime)
        return terms.lifetime
    lifetime = epsilon if terms.answers == ONCE else epsilon * terms.epochs.count
    if lifetime > max(LARGEST_UNNAMED_LIFETIME, epsilon):
        raise ParameterError(
            "lifetime.missing", argument="lifetime", cost=lifetime, kind=terms.answers, n=terms.epochs.count
        )
    return lifetime


def _refuse_names(terms: Terms, mechanism: BlockMechanism) -> None:
    """Refuse permanent answers whose reports are as good as names, and words about people that have no effect."""
    if terms.answers != PERMANENT:
        if terms.people is not None or terms.linkable:
            raise ParameterError("people.without-permanent", argument="people", answers=terms.answers)
        return
    if terms.linkable:
        return
    if terms.people is None:
        raise ParameterError("people.missing", argument="people")
    blocks, most = mechanism.law.alphabet_size, terms.people // LEAST_PEOPLE_PER_BLOCK
    if blocks > most:
        shown = f"{blocks}" if blocks.bit_length() <= 64 else f"about 2^{blocks.bit_length() - 1}"
        raise ParameterError("blocks.too-many", people=terms.people, most=most, blocks=shown)


def spelled_out(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON: the labels of a file in their place, a product as pairs, nothing that is not said."""
    content: dict[str, Any] = json.loads(msgspec.json.encode(plan.document), object_hook=_without_none)
    for name in ("attribute", "exact"):
        if not content["domain"][name]:
            del content["domain"][name]
    if plan.document.domain.product is not None:
        if not fits([*plan.document.domain.product.values()], [list]):
            raise ParameterError("product.with-numbers")
        # Codes follow the order of the attributes, and the keys of a document have none.
        content["domain"]["product"] = [[*pair] for pair in content["domain"]["product"].items()]
    if plan.document.domain.number is not None and plan.document.domain.sensitive is not None:
        # A range that ends at a border is read in documents as one that ends below it.
        content["domain"]["sensitive"] = described_values(plan.domain.space, plan.domain.sensitive)
    if plan.document.domain.file is not None:
        domain = plan.domain
        table = content["domain"]
        del table["file"]
        labels = domain.table()["value"].tolist()
        table["labels"] = labels
        if domain.clear_count:
            table["sensitive"] = [labels[code] for code in domain.sensitive_codes.tolist()]
    return content


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in table.items() if item is not None}


def terms_of(collection: Collection) -> Terms:
    """Return the terms of a collection, for a next version; ``people`` is not among them."""
    names = ("name", "title", "purpose", "contact", "answers", "epochs", "collectors", "lifetime", "late", "spread")
    more = ("least", "retention", "simulated", "linkable", "listed", "language", "question", "languages")
    memo = None if collection.memo is None else collection.memo.epsilon
    return Terms(**{name: getattr(collection, name) for name in (*names, *more)}, memo=memo)


def renew(
    envelope: bytes,
    keys: Sequence[Ed25519PrivateKey],
    *,
    trust: Sequence[bytes] = (),
    plan: Plan | None = None,
    **changes: Any,
) -> bytes:
    """Return the envelope of a collection's next version.

    Args:
        envelope: of the version before.
        keys: that sign.
        trust: further public keys that may have signed the version before.
        plan: another plan; None for the same one.
        changes: of the terms, by name.

    Raises:
        CollectionError: if the version before is refused.
        ParameterError: as for `sign`.
    """
    before = open_envelope(envelope, [*trust, *map(public_key, keys)], is_known=True)
    if before.state == WITHDRAWN:
        raise ParameterError("version.after-withdrawal")
    if "name" in changes:
        raise ParameterError("version.other-name", argument="name")
    if plan is None:
        rebuild(before)
        changes = _unchanged_people(before, changes)
        plan = plan_of(before)
    return sign(plan, replace(terms_of(before), **changes), keys, version=before.version + 1, survey=before.survey)


def _unchanged_people(before: Collection, changes: dict[str, Any]) -> dict[str, Any]:
    """Keep the number of people for permanent reports, if neither the plan nor these terms change."""
    said_anew = {"people", "linkable", "answers"} & set(changes)
    if before.answers != PERMANENT or said_anew or before.linkable:
        return changes
    return {**changes, "people": rebuild(before).law.alphabet_size * LEAST_PEOPLE_PER_BLOCK}


def plan_fields(collection: Collection) -> dict[str, Any]:
    """Return the fields of the plan that a collection spells out, as a file of a plan has them."""
    content = dict(collection.plan)
    table = content["domain"] = dict(content["domain"])
    if table.get("product") is not None:
        table["product"] = dict(table["product"])
    if table.get("number") is not None and table.get("sensitive"):
        domain = domain_of(collection.plan, table["sensitive"])
        table["sensitive"] = described_values(domain.space, domain.sensitive)
    return content


def plan_of(collection: Collection) -> Plan:
    """Return the plan that a collection spells out, as read from a file.

    Raises:
        ParameterError: if this version does not know the plan.
    """
    try:
        return Plan(msgspec.convert(plan_fields(collection), PlanDocument))
    except msgspec.ValidationError:
        raise ParameterError("plan.unknown") from None


def withdraw(envelope: bytes, keys: Sequence[Ed25519PrivateKey], *, trust: Sequence[bytes] = ()) -> bytes:
    """Return the signed notice that a collection is withdrawn: devices stop, and erase what they kept for it.

    Raises:
        CollectionError: if the version before is refused.
        ParameterError: if it is withdrawn already.
    """
    trusted = [*trust, *map(public_key, keys)]
    before = open_envelope(envelope, trusted, is_known=True)
    if before.state == WITHDRAWN:
        raise ParameterError("version.withdrawn")
    changed = {"version": before.version + 1, "state": WITHDRAWN}
    return _sealed(parsed(opened(envelope, trusted)) | changed, keys)
