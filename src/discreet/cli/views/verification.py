"""Views of verifications, audits and sealed files.

An audit: the record of the lower bound on epsilon, and the event that shows it.

A verification: the record of a plan's realised epsilon, its table and its verdict.

The check of sealed files, for people and programs.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from msgspec import Struct

from discreet.arrays import IntArray
from discreet.cli.output import SIMULATED_REPORTS, Table, show
from discreet.cli.publications import Statement
from discreet.core.domain import Domain
from discreet.core.guarantee import NOT_TWO_SIDED, ONE_SIDED
from discreet.mechanisms import BlockMechanism
from discreet.privacy.audit import Audit
from discreet.privacy.publication import Publication
from discreet.privacy.verify import GroupVerification, Verification

if TYPE_CHECKING:
    from discreet.formats.sealed_files import SealedFile
    from discreet.mechanisms import Mechanism


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


_MOST_NAMES = 3
_MOST_LEVELS = 8
_COUNTED = {
    "all": "counted from all blocks",
    "few values": "as stated; counted over few values",
    "none": "as stated; never counted",
}


class VerifiedGroup(Struct, frozen=True):
    """Record of a group of values with a promise of their own."""

    count: int
    first_values: list[str]
    promised: float
    realised: float
    e_to_epsilon: Fraction
    block_contains_a_given_one: Fraction
    from_matrix: float | None
    holds: bool

    @classmethod
    def of(cls, group: GroupVerification, domain: Domain) -> "VerifiedGroup":
        """Return the record of a group."""
        first = domain.names(group.codes[:_MOST_NAMES])
        numbers = group.promised, group.realised, group.ratio, group.inclusion, group.from_matrix
        return cls(len(group.codes), first, *numbers, group.holds)


class VerifiedPlan(Struct, frozen=True, omit_defaults=True):
    """Record of a verification; ``reading`` and ``per_value`` where values have promises of their own.

    ``verdict`` is the sentence of ``holds``, empty where nothing is promised; ``shuffled`` is what shuffled reports
    tell of a person, where it is asked for; ``counted`` says which blocks pi and rho were counted from, and ``faults``
    what the law states otherwise.
    """

    plan: str
    notion: str
    promised: float | None
    realised: float
    e_to_epsilon: Fraction | None
    integers: dict[str, str]
    from_matrix: float | None
    holds: bool
    reading: str = ""
    per_value: list[VerifiedGroup] = []
    shuffled: dict[str, Any] | None = None
    counted: str = "all"
    faults: tuple[str, ...] = ()
    verdict: str = ""

    @classmethod
    def of(
        cls, found: Verification, mechanism: BlockMechanism, publication: Publication | None = None
    ) -> "VerifiedPlan":
        """Return the record of a verification."""
        numbers = found.promised, found.realised, found.ratio, found.integers, found.from_matrix
        groups = [VerifiedGroup.of(group, mechanism.domain) for group in found.groups]
        reading = _reading(found) if groups else ""
        shuffled = None if publication is None else publication.to_dict()
        return cls(
            mechanism.fingerprint,
            found.notion,
            *numbers,
            found.holds,
            reading,
            groups,
            shuffled,
            found.counted,
            found.faults,
            "" if found.notion == "none" else found.verdict,
        )


def verification_parts(
    found: Verification, mechanism: BlockMechanism, publication: Publication | None = None
) -> Iterator[str | Table]:
    """Yield the mechanism, the table of its integers, the groups of values, the verdict, and what is shuffled."""
    yield f"{mechanism}\n{mechanism.guarantee}"
    if found.notion == "none" or found.ratio is None:
        yield "Nothing is protected: every value is reported in clear."
        return
    largest = "the largest " if found.groups else ""
    cells = [
        *([name, number] for name, number in found.integers.items()),
        [f"{largest}e^epsilon, exactly", f"{found.ratio.numerator} / {found.ratio.denominator}"],
        [f"{largest}epsilon realised, its logarithm", f"{found.realised:.17g}"],
        [f"{largest}epsilon from the spelled-out matrix", _from_matrix(found.from_matrix)],
        [f"{largest}epsilon promised", f"{found.promised:.17g}"],
        ["pi and rho of the law", _COUNTED[found.counted]],
    ]
    yield Table(f"{found.notion}: the sampler's own integers", ["what", "value"], cells)
    if found.groups:
        yield from _level_parts(mechanism.domain, found)
    yield from (f"Broken: {fault}" for fault in found.faults)
    yield found.verdict
    if publication is not None:
        person, conditions = publication.lines(status=True)
        yield person
        yield f"Conditions: {conditions}"


def _reading(found: Verification) -> str:
    return ONE_SIDED + (f"; {NOT_TWO_SIDED}" if len(found.groups) > 1 else "")


def _from_matrix(epsilon: float | None) -> str:
    return "too large to be spelled out" if epsilon is None else f"{epsilon:.15g}"


def _level_parts(domain: Domain, found: Verification) -> Iterator[str | Table]:
    yield f"Per value, {_reading(found)}."
    # A broken promise is always among those shown.
    listed = sorted(found.groups, key=lambda group: (group.holds, group.promised))
    shown, rest = listed[:_MOST_LEVELS], listed[_MOST_LEVELS:]
    cells = [
        [
            _values(domain, group.codes),
            f"{group.promised:.17g}",
            f"{group.realised:.17g}",
            _from_matrix(group.from_matrix),
        ]
        for group in shown
    ]
    if rest:
        spans = [_span([group.promised for group in rest]), _span([group.realised for group in rest])]
        others = f"{sum(len(group.codes) for group in rest)} other values"
        cells.append([others, *spans, _span([group.from_matrix for group in rest])])
    yield Table("epsilon_x", ["values", "promised", "realised", "from the matrix"], cells)
    for group in shown:
        inclusion, ratio = (f"{number.numerator}/{number.denominator}" for number in (group.inclusion, group.ratio))
        yield (
            f"{_values(domain, group.codes)}: a noise block contains {'a given one' if len(group.codes) > 1 else 'it'} "
            f"with probability {inclusion}; e^epsilon_x, exactly: {ratio}"
        )


def _span(numbers: list[float | None]) -> str:
    known = [number for number in numbers if number is not None]
    return f"{min(known):.12g} to {max(known):.12g}" if known else _from_matrix(None)


def _values(domain: Domain, codes: IntArray) -> str:
    named = "; ".join(domain.names(codes[:_MOST_NAMES]))
    more = len(codes) - _MOST_NAMES
    return f"{named}; and {more} more" if more > 0 else named


def verify_sealed(mechanism: "Mechanism", source: str | Path, *, as_json: bool) -> None:
    """Check sealed files and print what was found; exit with 1 if one is not sealed.

    Args:
        mechanism: what made the reports.
        source: a file, or a folder of sealed files alone.
        as_json: whether JSON is printed.

    Raises:
        DataError: if a file cannot be read.
        MismatchError: if one belongs to another plan.
    """
    from discreet.formats.sealed_files import UnsealedError, check_sealed
    from discreet.formats.sources import report_files

    files: list[SealedFile] = []
    flaw = ""
    try:
        files += [check_sealed(path, mechanism) for path in report_files([source])]
    except UnsealedError as error:
        flaw = str(error)
    result = {"plan": mechanism.fingerprint, "sealed": not flaw, "flaw": flaw or None, "files": files}
    said = None if flaw else _statement(mechanism, files)
    record = {} if said is None else said.record()
    show({**result, **record}, [flaw] if flaw else _parts(files, mechanism.fingerprint, said), as_json=as_json)
    if flaw:
        raise click.exceptions.Exit(1)


def _statement(mechanism: "Mechanism", files: Sequence["SealedFile"]) -> Statement | None:
    """Return the statement on a person in the files; None of files without reports."""
    from discreet.privacy.publication import Publication

    batches = tuple(file.n for file in files if file.n)
    simulated = any(file.simulated for file in files)
    shown = "these files, or anything made of them"
    return Statement(Publication(mechanism, batches, simulated=simulated, shown=shown)) if batches else None


def _parts(files: Sequence["SealedFile"], plan: str, said: Statement | None) -> Iterator[str]:
    for file in files:
        yield (
            f"{file.path}: {file.n:,} reports of plan {plan[:12]}, sealed: sorted by what they say, with nothing "
            "beside them."
        )
        if not file.compared:
            yield (
                f"Note: its bytes were not compared with those that its reports give, since {file.writer} wrote it and "
                "another version is installed here; to have them compared, seal the file again."
            )
        if file.simulated:
            yield SIMULATED_REPORTS
    yield from () if said is None else said.parts()
    yield "No check of a sealed file can show that each person has one report in it."
