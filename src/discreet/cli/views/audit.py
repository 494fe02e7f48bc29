"""An audit: the record of the lower bound on epsilon, and the event that shows it."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from discreet.mechanisms import BlockMechanism
from discreet.privacy.audit import Audit


class TestedEvent(Struct, frozen=True):
    """Record of an event, and of how often it came from each of two values."""

    event: str
    values: tuple[str, str]
    counts: tuple[int, int]
    trials: tuple[int, int]


class AuditedPlan(Struct, frozen=True):
    """Record of an audit."""

    plan: str
    promised: float
    lower_bound: float
    confidence: float
    draws: int
    holds: bool
    simulated: bool
    tested: TestedEvent

    @classmethod
    def of(cls, found: Audit, mechanism: BlockMechanism) -> "AuditedPlan":
        """Return the record of an audit."""
        names = _names(found, mechanism)
        tested = TestedEvent(found.event.describe(*names), names, found.counts, found.trials)
        numbers = found.promised, found.lower_bound, found.confidence, found.draws
        return cls(mechanism.fingerprint, *numbers, found.holds, found.simulated, tested)


def audit_parts(found: Audit, mechanism: BlockMechanism) -> Iterator[str]:
    """Yield the mechanism, the event, its counts and the bound."""
    names = _names(found, mechanism)
    yield str(mechanism)
    yield f"Tested: {found.event.describe(*names)}."
    what = "reports" if found.event.first.beside is None else "pairs of reports"
    for value, count, trials in zip(names, found.counts, found.trials, strict=True):
        yield f"  from {value}: {count:,} of {trials:,} {what}"
    yield str(found)


def _names(found: Audit, mechanism: BlockMechanism) -> tuple[str, str]:
    first, second = mechanism.domain.names(np.array([found.event.first.code, found.event.second.code]))
    return first, second
