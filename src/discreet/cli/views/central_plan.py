"""Options for a central promise: both epsilons, central and local, and the error of every mechanism."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from discreet.cli.output import Table
from discreet.planning.central import CentralOption, CentralPlan
from discreet.privacy.shuffling import CentralEpsilon

_LIMITS = {"local": "", "among": "among sensitive values", "towards": "towards values in clear"}
_CONDITIONS = (
    "Conditions: one report of each of {users:,} people in the batch, all of the same plan; whoever shuffles, and sees "
    "names or order, does not work with whoever is to be kept out; devices draw from secure randomness. Where only "
    "estimates are published, the collector is the one who shuffles."
)


class CentralRow(Struct, frozen=True):
    """Record of a mechanism at its largest local epsilon."""

    name: str
    law: Any
    local_epsilon: float
    limit: str
    among: CentralEpsilon
    towards: CentralEpsilon | None
    floor: float | None
    mean_squared_error: float
    root_mean_squared_error: float
    gain: float
    largest_report_bytes: int

    @classmethod
    def of(cls, option: CentralOption) -> "CentralRow":
        """Return the record of an option."""
        central, mechanism = option.central, option.candidate.mechanism
        return cls(
            name=option.candidate.name,
            law=mechanism.law.describe(),
            local_epsilon=option.local,
            limit=option.limit,
            among=central.among,
            towards=central.towards,
            floor=central.floor,
            mean_squared_error=option.error**2,
            root_mean_squared_error=option.error,
            gain=option.gain,
            largest_report_bytes=option.candidate.largest_bytes,
        )


class CentralOptions(Struct, frozen=True):
    """Record of the options for a central promise, an object per mechanism."""

    users: int
    central_epsilon: float
    towards: float | None
    delta: float
    local_at_most: float
    target: str
    mechanisms: list[CentralRow]
    best: str
    local_only_error: float
    recommendation: str
    collector: str

    @classmethod
    def of(cls, found: CentralPlan) -> "CentralOptions":
        """Return the record of the options."""
        asked, wanted = found.requirements, found.wanted
        return cls(
            users=asked.reports,
            central_epsilon=wanted.epsilon,
            towards=wanted.most_towards if asked.domain.clear_count else None,
            delta=wanted.delta,
            local_at_most=asked.epsilon,
            target=asked.target,
            mechanisms=[CentralRow.of(option) for option in found.options],
            best=found.best.candidate.name,
            local_only_error=found.local_only,
            recommendation=found.recommendation,
            collector=found.collector,
        )


def central_parts(found: CentralPlan) -> Iterator[str | Table]:
    """Yield the promise, the table of the options, the recommendation and the notes."""
    asked, wanted = found.requirements, found.wanted
    towards = f", at most {wanted.most_towards:g} towards values in clear" if asked.domain.clear_count else ""
    yield (
        f"{asked.domain!r}, {asked.crowd}; central epsilon at most {wanted.epsilon:g} among sensitive values"
        f"{towards}, delta = {wanted.delta:g}; local epsilon at most {asked.epsilon:g}"
    )
    headings = ["mechanism", "local", "among", "towards", "floor", "RMSE", "gain", "bytes"]
    yield Table("Largest local epsilon that keeps the central promise, and the error", headings, _cells(found))
    yield found.recommendation
    yield found.collector
    yield from _notes(found)


def _cells(found: CentralPlan) -> list[list[str]]:
    cells = []
    for one in found.options:
        central, star = one.central, " *" if one is found.best else ""
        beyond = (
            ["-", "-"] if central.towards is None else [f"{central.towards.upper:.3g}", f"{central.floor or 0:.3g}"]
        )
        numbers = [f"{one.error:.3e}", f"{one.gain:.1f}", f"{one.candidate.largest_bytes:,}"]
        limited = "" if one.limit == "local" else " !"
        cells.append(
            [
                f"{one.candidate.name}{star}",
                f"{one.local:.4g}{limited}",
                f"{central.among.upper:.3g}",
                *beyond,
                *numbers,
            ]
        )
    return cells


def _notes(found: CentralPlan) -> list[str]:
    asked, worst = found.requirements, found.requirements.target == "worst-case"
    people = "for the worst distribution" if worst else "for the people as they are assumed"
    limits = sorted({_LIMITS[one.limit] for one in found.options} - {""})
    notes = [
        "local: for whoever sees reports with names or order. among, towards: for whoever sees the shuffled batch or "
        "what is computed from it, two-sided among sensitive values, one-sided from these towards values in clear, "
        "where no number of users gets below the floor. RMSE: root of the expected sum of squared errors, "
        f"{people}. gain: how many times less than {found.local_only:.3g}, the least of all without shuffling.",
    ]
    if limits:
        notes.append(f"!: the limit is the promise {' or '.join(limits)}; elsewhere it is that of the local epsilon.")
    if found.wanted.delta * asked.reports >= 1:
        notes.append(
            f"delta should be well below 1/n = {1 / asked.reports:.1g}: at that, whole reports may be given away."
        )
    notes.append(_CONDITIONS.format(users=asked.reports))
    return notes
