"""Collections: a plan with its terms, signed; what a device checks before it believes one.

A collection is a document of JSON bytes; its id is their SHA-256. The checks come in this order, each with a refusal of
its own (`discreet.io.collection_errors`): size, envelope and a trusted signature; format and fields; version, against
what was seen before; epsilon, recomputed from the sampler's integers; what the application allows; the plan. The third
and the fifth need a memory, so they are the caller's: `open_envelope` does the others.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.domain import Domain
from discreet.io.collection_errors import FieldError, FormatError, LawError, PlanError, PromiseError, RebuiltError
from discreet.io.collection_fields import CHECKS, FORMAT, OPEN, OPTIONAL, Epochs, refuse_invisible
from discreet.io.envelope import opened, parsed
from discreet.io.sampler import Sampler, SamplerError, UnknownSamplerError
from discreet.io.spelled_plan import Bots, bots_of, check_fields, code_of, domain_of, mechanism_of
from discreet.mechanisms import BlockMechanism

# What doubles and their printing may add to epsilon.
_MARGIN = 1 + 1e-9
_MOST_NAMES = 6
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
    collection.check_plan()
    return collection


def read_document(envelope: bytes, trust: Sequence[bytes], *, is_known: bool = False) -> tuple[bytes, dict[str, Any]]:
    """Return the id and the fields of a document that a trusted key has signed; its promise is not yet checked.

    A notice of withdrawal may have invisible characters: it asks nobody, and must reach whoever accepted a version.

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
    if wrong := set(said) - set(OPTIONAL) ^ {"format", *CHECKS}:
        raise FieldError(f"a collection must have {len(CHECKS) + 1} fields, and {len(wrong)} are missing or unknown.")
    checked = {name: check(name, said[name]) for name, check in (CHECKS | OPTIONAL).items() if name in said}
    if checked["lifetime"] < checked["epsilon"]:
        raise FieldError("lifetime must be at least epsilon: otherwise nobody could answer.")
    if checked["state"] == OPEN and not is_known:
        refuse_invisible(said)
    return hashlib.sha256(document).digest(), checked


def promised(id_: bytes, said: Mapping[str, Any], envelope: bytes) -> Collection:
    """Return a collection if the sampler's integers keep the epsilon that it states.

    Args:
        id_: of the document.
        said: its fields; see `read_document`.
        envelope: as it came.

    Raises:
        PromiseError: if they do not.
        LawError: if the sampler's law is unknown here, so that nothing can be said.
    """
    try:
        sampler = Sampler.parse(said["sampler"])
        realised = sampler.realised
    except UnknownSamplerError as error:
        raise LawError(str(error)) from None
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
