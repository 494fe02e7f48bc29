"""Options for a wanted identification risk: both risks and the error of every mechanism, side by side."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from discreet.cli.output import Table
from discreet.core.guarantee import in_odds
from discreet.planning.identification import SIDE_BY_SIDE, IdentificationPlan, Option
from discreet.risk.bounds.bound import Bound
from discreet.risk.bounds.calibration import LARGEST_EPSILON
from discreet.risk.bounds.identification import Bounds, conditions


class OptionRow(Struct, frozen=True):
    """Record of a mechanism at its largest epsilon."""

    name: str
    law: Any
    epsilon_per_report: float
    epsilon_realised: float
    epsilon_together: float
    identification_limits_epsilon: bool
    identification: Bound
    identification_error: float
    pie: Bound
    in_clear: float
    worst_case_mse: float
    largest_standard_error: float

    @classmethod
    def of(cls, option: Option) -> "OptionRow":
        """Return the record of an option."""
        bounds = option.bounds
        return cls(
            name=option.name,
            law=option.mechanism.law.describe(),
            epsilon_per_report=option.mechanism.epsilon,
            epsilon_realised=bounds.epsilon,
            epsilon_together=bounds.total_epsilon,
            identification_limits_epsilon=option.limited,
            identification=bounds.identification,
            identification_error=bounds.error,
            pie=bounds.pie,
            in_clear=bounds.in_clear,
            worst_case_mse=option.worst_mse,
            largest_standard_error=option.standard_error,
        )


class IdentificationOptions(Struct, frozen=True):
    """Record of the options for a wanted identification risk, an object per mechanism."""

    users: int
    identification_error: float | None
    reports_per_user: int
    epsilon_limit: float | None
    mechanisms: list[OptionRow]
    cannot: tuple[str, ...]
    recommendation: str
    without_noise: str | None
    note: str = SIDE_BY_SIDE

    @classmethod
    def of(cls, found: IdentificationPlan) -> "IdentificationOptions":
        """Return the record of the options."""
        wanted, rows = found.wanted, [OptionRow.of(option) for option in found.options]
        people = wanted.users, wanted.error, wanted.reports
        return cls(*people, found.epsilon, rows, found.refused, found.recommendation, found.without_noise)


def identification_parts(found: IdentificationPlan) -> Iterator[str | Table]:
    """Yield the wanted risk, the table of the options, the recommendation and the notes."""
    wanted = found.wanted
    each = f", {wanted.reports} reports each" if wanted.reports > 1 else ""
    limit = "no limit on epsilon" if found.epsilon is None else f"epsilon at most {found.epsilon:g}"
    yield f"{found.domain!r}, {wanted.users:,} users{each}, identification error >= {wanted.error:g}, {limit}"
    headings = ["mechanism", "epsilon", "together", "error >=", "PIE (bits)", "in clear", "MSE", "max s.e."]
    yield Table("Attribute risk, identification risk, and error of the estimate", headings, _cells(found))
    yield found.recommendation
    yield from _notes(found)


def _cells(found: IdentificationPlan) -> list[list[str]]:
    cells = []
    for one in found.options:
        bounds = one.bounds
        risks = [
            f"{bounds.epsilon:.6g}",
            f"{bounds.total_epsilon:.6g}",
            f"{bounds.error:.6g}",
            f"{bounds.pie.value:.4g}",
        ]
        errors = [f"{bounds.in_clear:.4g}", f"{one.worst_mse:.3e}", f"{one.standard_error:.3e}"]
        cells.append([f"{one.name}{'' if one.limited else ' !'}", *risks, *errors])
    return cells


def _notes(found: IdentificationPlan) -> list[str]:
    notes = [
        SIDE_BY_SIDE,
        "error >=: identification error of any adversary who guesses one user; in clear: how often a value that is not",
        "sensitive is told as it is, which names a user who alone has it. MSE: largest expected sum of squared errors.",
    ]
    bounds = [one.bounds for one in found.options]
    notes += [sentence for sentence in (conditions(bounds), _odds(bounds)) if sentence]
    if not all(one.limited for one in found.options):
        most = LARGEST_EPSILON if found.epsilon is None else found.epsilon
        notes.append(
            f"!: the identification error is kept at any epsilon up to {most:g}; only this, and what the integers of a "
            "sampler can reach, limits it."
        )
    if found.refused:
        notes.append(f"Cannot keep it at any epsilon: {', '.join(found.refused)}.")
    if found.without_noise is not None:
        notes.append(found.without_noise)
    return notes


def _odds(bounds: list[Bounds]) -> str:
    """Return a sentence on the odds behind the largest epsilon, if it is large."""
    odds = in_odds(max((one.total_epsilon for one in bounds), default=0.0))
    return f"At the largest epsilon: {odds}" if odds else ""
