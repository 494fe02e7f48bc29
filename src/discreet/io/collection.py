"""Collections: a plan with its terms, signed; what a device checks before it believes one.

A collection is a document of JSON bytes; its id is their SHA-256. The checks come in this order, each with a refusal of
its own (`discreet.io.collection_errors`): size, envelope and a trusted signature; format and fields; version, against
what was seen before; epsilon, recomputed from the sampler's integers; what the application allows; the plan. The third
and the fifth need a memory, so they are the caller's: `open_envelope` does the others.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.domain import Domain
from discreet.io.collection_errors import FieldError, FormatError, PlanError, PromiseError, RebuiltError
from discreet.io.envelope import opened, parsed
from discreet.io.sampler import Sampler, SamplerError
from discreet.io.spelled_plan import Bots, bots_of, check_fields, code_of, domain_of, mechanism_of
from discreet.mechanisms import BlockMechanism

FORMAT = "discreet collection 1"
OPEN, WITHDRAWN = "open", "withdrawn"
ONCE, FRESH, PERMANENT = "once", "fresh", "permanent"
ANSWERS = (ONCE, FRESH, PERMANENT)
SHORTEST_EPOCH = 60
"""In seconds."""

# What doubles and their printing may add to epsilon.
_MARGIN = 1 + 1e-9
_LARGEST = (1 << 53) - 1
_MOST_EPOCHS = (1 << 32) - 1
_MOST_NAMES = 6
# Values under a plan with bots: a device looks at each of them, to see which bots there are.
_MOST_WITH_BOTS = 1 << 18
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_HOST = re.compile(r"[a-z0-9.-]+|[0-9a-f:.]+")
USUAL_PORTS = {"https": 443, "http": 80}
"""Ports that an origin does not name."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts of origins that are this machine."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """When a collection takes answers.

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
        """The values, without bots; a device asks it for codes alone, what is sensitive the sampler says."""
        return domain_of(self.plan)

    @cached_property
    def sensitive(self) -> BoolArray:
        """``(|X|,)`` booleans: which values the sampler's coin looks at."""
        mask = np.zeros(self.sampler.size, dtype=np.bool_)
        for start, stop in self.sampler.sensitive:
            mask[start:stop] = True
        return mask[: self.domain.size]

    @cached_property
    def bots(self) -> Bots | None:
        """The bots of a personalized plan; None of any other."""
        return bots_of(self.plan, self.sensitive) if self._is_personalized else None

    @property
    def _is_personalized(self) -> bool:
        return self.plan.get("tags") is not None or self.plan.get("cells") is not None

    def code_of(self, value: Any) -> int:
        """Return the code of one value, without bots; see `discreet.io.spelled_plan.code_of`."""
        return code_of(self.domain, value)

    @property
    def sensitive_count(self) -> int:
        """Number of values that are protected for everybody."""
        size = self.domain.size
        return sum(min(stop, size) - min(start, size) for start, stop in self.sampler.sensitive)

    @property
    def protected(self) -> str:
        """Names of the values that are protected for everybody; of many, the first ones and how many others."""
        size, count = self.domain.size, self.sensitive_count
        if count == size:
            return f"all {size} values"
        codes: list[int] = []
        for start, stop in self.sampler.sensitive:
            codes.extend(range(start, min(stop, size, start + _MOST_NAMES - len(codes))))
        more = f"; and {count - len(codes)} more" if count > len(codes) else ""
        return "; ".join(self.domain.names(np.array(codes, dtype=np.int64))) + more

    def check_plan(self) -> None:
        """Refuse a plan that is not of the sampler's size, or whose bots the coin does not look at.

        Raises:
            PlanError: if so.
        """
        check_fields(self.plan)
        size = self.domain.size
        if self._is_personalized and size > _MOST_WITH_BOTS:
            raise PlanError(f"a plan with tags or cells must have at most {_MOST_WITH_BOTS} values, got {size}.")
        if size > self.sampler.size or self.plan["epsilon"] != self.epsilon:
            raise PlanError(
                "the plan in the collection must have the values and the epsilon of its sampler, and has not."
            )
        bots = 0 if self.bots is None else len(self.bots.tags)
        covered = sum(max(stop, size) - max(start, size) for start, stop in self.sampler.sensitive)
        if size + bots != self.sampler.size or covered != bots:
            raise PlanError("the plan in the collection must have the values and bots of its sampler, and has not.")


def open_envelope(envelope: bytes, trust: Sequence[bytes]) -> Collection:
    """Return the collection of an envelope, if it is signed, well-formed and keeps its promise.

    Args:
        envelope: as it came.
        trust: public keys, 32 bytes each, pinned by the application.

    Raises:
        ParameterError: if ``trust`` is no list of such keys.
        CollectionError: a class for each reason.
    """
    collection = promised(*read_document(envelope, trust), envelope)
    collection.check_plan()
    return collection


def read_document(envelope: bytes, trust: Sequence[bytes]) -> tuple[bytes, dict[str, Any]]:
    """Return the id and the fields of a document that a trusted key has signed; its promise is not yet checked.

    Raises:
        CollectionError: see `open_envelope`.
    """
    document = opened(envelope, trust)
    try:
        said = parsed(document)
    except ValueError:
        raise FormatError(f"a collection must be a document of the format {FORMAT!r}, and this is none.") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise FormatError(
            f"a collection must be a document of the format {FORMAT!r}, and this one is of another; update discreet."
        )
    if wrong := sorted(set(said) ^ {"format", *_FIELDS}):
        raise FieldError(f"a collection must have {len(_FIELDS) + 1} fields, and {len(wrong)} are missing or unknown.")
    checked = {name: check(name, said[name]) for name, check in _FIELDS.items()}
    if checked["lifetime"] < checked["epsilon"]:
        raise FieldError("lifetime must be at least epsilon: otherwise nobody could answer.")
    return hashlib.sha256(document).digest(), checked


def promised(id_: bytes, said: Mapping[str, Any], envelope: bytes) -> Collection:
    """Return a collection if the sampler's integers keep the epsilon that it states.

    Args:
        id_: of the document.
        said: its fields; see `read_document`.
        envelope: as it came.

    Raises:
        PromiseError: if they do not.
    """
    try:
        sampler = Sampler.parse(said["sampler"])
        realised = sampler.realised
    except SamplerError:
        raise PromiseError("the sampler's integers must make a law that keeps a promise, and they do not.") from None
    if not (isfinite(realised) and realised <= said["epsilon"] * _MARGIN):
        raise PromiseError(
            f"epsilon of the sampler's integers must be at most the {said['epsilon']:g} stated, got {realised:.12g}."
        )
    return Collection(**{**said, "sampler": sampler}, id=id_, envelope=envelope)


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
    if sampler != collection.sampler or mechanism.fingerprint != collection.fingerprint:
        raise RebuiltError("the plan must describe the mechanism of the sampler and the fingerprint, and it does not.")
    return mechanism


# Fields, one check each


def _refuse(name: str, wanted: str) -> FieldError:
    return FieldError(f"the field {name} of a collection must be {wanted}, and it is not.")


def _text(name: str, said: Any) -> str:
    if type(said) is not str or not said.strip():
        raise _refuse(name, "a text that is not empty")
    return said


def _fitting(pattern: re.Pattern[str]) -> Callable[[str, Any], str]:
    def check(name: str, said: Any) -> str:
        if type(said) is not str or not pattern.fullmatch(said):
            raise _refuse(name, f"a text of the form {pattern.pattern}")
        return said

    return check


def _either(*known: str) -> Callable[[str, Any], str]:
    def check(name: str, said: Any) -> str:
        if said not in known or type(said) is not str:
            raise _refuse(name, f"one of {', '.join(known)}")
        return said

    return check


def _whole(least: int, most: int = _LARGEST) -> Callable[[str, Any], int]:
    def check(name: str, said: Any) -> int:
        if type(said) is not int or not least <= said <= most:
            raise _refuse(name, f"an integer in {least}..{most}")
        return said

    return check


def _nats(name: str, said: Any) -> float:
    if type(said) not in {int, float} or not 0 < said <= _LARGEST:
        raise _refuse(name, "a finite number of nats above 0")
    return float(said)


def _flag(name: str, said: Any) -> bool:
    if type(said) is not bool:
        raise _refuse(name, "true or false")
    return said


def _table(name: str, said: Any) -> dict[str, Any]:
    if type(said) is not dict:
        raise _refuse(name, "an object")
    return said


def _epochs(name: str, said: Any) -> Epochs:
    if type(said) is not dict or set(said) != set(Epochs.__slots__):
        raise _refuse(name, "an object of start, seconds and count")
    start = _whole(0)("epochs.start", said["start"])
    seconds = _whole(SHORTEST_EPOCH)("epochs.seconds", said["seconds"])
    made = Epochs(start, seconds, _whole(1, _MOST_EPOCHS)("epochs.count", said["count"]))
    if made.end > _LARGEST:
        raise _refuse(name, "over before the year 285,000,000")
    return made


def _origins(name: str, said: Any) -> tuple[str, ...]:
    if type(said) is not list or not said or not all(type(one) is str and is_origin(one) for one in said):
        raise _refuse(name, "a list of origins such as https://collect.example.org (http only on this machine)")
    return tuple(said)


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


_FIELDS: dict[str, Callable[[str, Any], Any]] = {
    "name": _fitting(_NAME),
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
FIELDS = ("format", *_FIELDS)
"""The fields of a document, in the order in which they are checked."""
