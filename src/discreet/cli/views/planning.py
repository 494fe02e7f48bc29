"""Printed results of planning: the comparison of mechanisms, and the expected errors for numbers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from discreet.cli.output import built_ins, record_of
from discreet.core.guarantee import odds_sentence
from discreet.core.result_table import ResultTable
from discreet.planning.compare import MechanismComparison
from discreet.planning.numbers import NumberPlan


def law_of(option: Any) -> Any:
    """Return a description of the block law of an option's mechanism, for a table."""
    return option.mechanism.law.describe()


_MOST_ROWS = 8

_REQUIRED = "target epsilon users reports_per_user reports largest_report most_seconds standard_error within"
_COMPARISON: dict[str, Any] = {
    **{name: f"requirements.{name}" for name in _REQUIRED.split()},
    "epsilon_per_report": "requirements.epsilon_each",
    "sensitive_mass": "requirements.mass",
    "sensitive_mass_assumed": "requirements.is_assumed",
    "distribution_given": lambda comparison: comparison.requirements.p is not None,
    "lower_bound": "least_possible",
    "mechanisms": lambda comparison: comparison.table().records(),
    "best": "best.name",
    "least_error": "least.name",
    "recommendation": "recommendation",
}
"""The figures of a comparison: the requirements, an object per mechanism, and the recommendation."""


def comparison_record(comparison: MechanismComparison) -> dict[str, Any]:
    """Return the comparison as a dictionary for JSON."""
    record: dict[str, Any] = built_ins(record_of(comparison, _COMPARISON))
    return record


def comparison_parts(comparison: MechanismComparison) -> Iterator[str | ResultTable]:
    """Yield the requirements, the table of the smallest errors, the recommendation and the notes."""
    wanted = comparison.requirements
    yield comparison.heading
    yield replace(comparison.view(_MOST_ROWS), title=f"Least errors first, {wanted.where}")
    why = f"smallest report within {wanted.within * 100:g}% of the least error" if wanted.within else "least error"
    bound = " / bound: MSE over the least possible." if comparison.least_possible is not None else ""
    yield (
        f"*: {why}. MSE: expected sum of squared errors.{bound} max s.e.: largest standard error of a value. "
        f"bytes: at most{'' if all(row.fits for row in comparison.candidates) else '. !: above a limit'}."
    )
    if wanted.target == "sensitive-mass" and wanted.is_assumed:
        yield "The sensitive share is assumed; pass --sensitive-mass if you know it roughly."
    if odds := odds_sentence(wanted.epsilon):
        yield odds
    if wanted.reports_per_user > 1:
        yield (
            f"Each report has epsilon = {wanted.epsilon_each:g} and fresh noise. The errors are those of "
            f"{wanted.reports:,} independent values, over people and over time."
        )


def number_record(plan: NumberPlan) -> dict[str, Any]:
    """Return the plan for numbers as a dictionary for JSON."""
    return {
        "law": law_of(plan),
        "epsilon": plan.mechanism.epsilon,
        "users": plan.users,
        "distribution": "given" if plan.known else "even",
        "expected": plan.table().records(),
        "recommendation": plan.recommendation,
    }


def number_parts(plan: NumberPlan) -> Iterator[str | ResultTable]:
    """Yield the table of expected errors, the recommendation and the guarantee."""
    yield plan.table()
    yield str(plan.mechanism.guarantee)
