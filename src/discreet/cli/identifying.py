"""The verb ``plan`` with a wanted identification error: both risks of every mechanism, side by side."""

from dataclasses import asdict
from typing import Any

from discreet.cli.terminal import console, show_json, show_table
from discreet.core.domain import Domain
from discreet.core.guarantee import in_odds
from discreet.planning.identification import SIDE_BY_SIDE, IdentificationPlan, Option, plan_identification
from discreet.risk.bounds import Bounds, conditions
from discreet.risk.bounds.calibration import LARGEST_EPSILON, Wanted


def plan_for(domain: Domain, wanted: Wanted, epsilon: float | None, *, as_json: bool) -> None:
    """Show the largest epsilon, both risks and the error of every mechanism at a wanted identification risk."""
    found = plan_identification(domain, wanted, epsilon=epsilon)
    if as_json:
        show_json(_facts(found))
    else:
        _show(found)


def _facts(found: IdentificationPlan) -> dict[str, Any]:
    wanted = found.wanted
    return {
        "users": wanted.users,
        "identification_error": wanted.error,
        "reports_per_user": wanted.reports,
        "epsilon_limit": found.epsilon,
        "mechanisms": [_option_facts(one) for one in found.options],
        "cannot": list(found.refused),
        "recommendation": found.recommendation,
        "without_noise": found.without_noise,
        "note": SIDE_BY_SIDE,
    }


def _option_facts(one: Option) -> dict[str, Any]:
    bounds = one.bounds
    return {
        "name": one.name,
        "law": one.mechanism.law.describe(),
        "epsilon_per_report": one.mechanism.epsilon,
        "epsilon_realised": bounds.epsilon,
        "epsilon_together": bounds.total_epsilon,
        "identification_limits_epsilon": one.limited,
        "identification": asdict(bounds.identification),
        "identification_error": bounds.error,
        "pie": asdict(bounds.pie),
        "in_clear": bounds.in_clear,
        "worst_case_mse": one.worst_mse,
        "largest_standard_error": one.standard_error,
    }


def _show(found: IdentificationPlan) -> None:
    wanted, out = found.wanted, console()
    each = f", {wanted.reports} reports each" if wanted.reports > 1 else ""
    limit = "no limit on epsilon" if found.epsilon is None else f"epsilon at most {found.epsilon:g}"
    out.print(f"{found.domain!r}, {wanted.users:,} users{each}, identification error >= {wanted.error:g}, {limit}")
    headings = ["mechanism", "epsilon", "together", "error >=", "PIE (bits)", "in clear", "MSE", "max s.e."]
    show_table("Attribute risk, identification risk, and error of the estimate", headings, _cells(found))
    out.print(found.recommendation)
    for note in _notes(found):
        out.print(note)


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
        notes.append(f"!: the identification error is kept at any epsilon up to {most:g}, which alone is the limit.")
    if found.refused:
        notes.append(f"Cannot keep it at any epsilon: {', '.join(found.refused)}.")
    if found.without_noise is not None:
        notes.append(found.without_noise)
    return notes


def _odds(bounds: list[Bounds]) -> str:
    """Return a sentence on the odds behind the largest epsilon, if it is large."""
    odds = in_odds(max((one.total_epsilon for one in bounds), default=0.0))
    return f"At the largest epsilon: {odds}" if odds else ""
