"""Views of mechanisms side by side, by their errors.

Each has a record for programs, and tables with a recommendation and notes for people.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.cli.output import Fact, built_ins, record_of, table_of
from discreet.core.guarantee import in_odds
from discreet.core.result_table import ResultTable
from discreet.pictures.curves import Heading, LossPanel, Points, loss_chart
from discreet.planning.candidates import COUNTED, Candidate, Losses, in_seconds
from discreet.planning.compare import LOWER_BOUND, Curve, MechanismComparison, against_epsilon, against_users
from discreet.planning.numbers import NumberPlan


def law_of(option: Any) -> Any:
    """Return the description of the block law of an option's mechanism."""
    return option.mechanism.law.describe()


_MOST_ROWS = 6

_CANDIDATE = (
    Fact("name", "name"),
    Fact("law", law_of),
    Fact("epsilon_realised", "mechanism.guarantee.realised"),
    Fact("worst_case_mse", "worst_mse"),
    Fact("mse_at_sensitive_mass", "assumed_mse"),
    Fact("mse_uniform", "uniform_mse"),
    Fact("standard_error_rare_sensitive", "sensitive_error"),
    Fact("standard_error_clear", "clear_error"),
    Fact("bytes_per_report", "bytes"),
    Fact("largest_report_bytes", "largest_bytes"),
    Fact("collector_seconds", "seconds"),
    Fact("report_fits", "fits"),
    Fact("users_needed", "users_needed"),
    Fact("worst", "worst"),
    Fact("assumed", "assumed"),
)
"""The figures of a mechanism in a comparison, for programs."""

_REQUIRED = "target epsilon users reports_per_user reports largest_report most_seconds standard_error within"
_COMPARISON = (
    *(Fact(name, f"requirements.{name}") for name in _REQUIRED.split()),
    Fact("epsilon_per_report", "requirements.epsilon_each"),
    Fact("sensitive_mass", "sensitive_mass"),
    Fact("sensitive_mass_assumed", "assumed"),
    Fact("distribution_given", lambda comparison: not comparison.requirements.people.even),
    Fact("lower_bound", "bounds"),
    Fact("mechanisms", lambda comparison: [record_of(row, _CANDIDATE) for row in comparison.rows]),
    Fact("best_worst_case", "best_worst.name"),
    Fact("best_at_sensitive_mass", "best_assumed.name"),
    Fact("best", "best.name"),
    Fact("least_error", "least.name"),
    Fact("alternative", lambda comparison: None if comparison.alternative is None else comparison.alternative.name),
    Fact("recommendation", "recommendation"),
)
"""The figures of a comparison: the requirements, an object per mechanism, and the recommendation."""


def comparison_record(comparison: MechanismComparison) -> dict[str, Any]:
    """Return a comparison ready for JSON."""
    record: dict[str, Any] = built_ins(record_of(comparison, _COMPARISON))
    return record


def comparison_parts(comparison: MechanismComparison, *, brief: bool = False) -> Iterator[str | ResultTable]:
    """Yield the requirements, the tables of losses, the recommendation and the notes; if brief, what fits a screen."""
    requirements = comparison.requirements
    each = f", {requirements.reports_per_user} reports each" if requirements.reports_per_user > 1 else ""
    yield f"{requirements.domain!r}, epsilon = {requirements.epsilon:g}, {requirements.crowd}{each}"
    if brief:
        yield _least_losses(comparison)
        yield comparison.recommendation
        yield from _brief_notes(comparison)
        return
    yield _worst_losses(comparison)
    yield _assumed_losses(comparison)
    yield comparison.recommendation
    yield from _notes(comparison)


def _brief_notes(comparison: MechanismComparison) -> Iterator[str]:
    yield (
        "*: recommended. MSE: expected sum of squared errors; / bound: over the least of any mechanism; max s.e.: "
        "largest standard error of a value; bytes: of a report, at most; time: of one collector. --all: all "
        "mechanisms, options and errors."
    )
    yield from _cautions(comparison)


def _loss_facts(comparison: MechanismComparison, *, worst: bool) -> list[Fact]:
    """Return the figures of a mechanism's losses, in the worst case or for the people as they are assumed."""

    def of(losses: str) -> str:
        return f"{'worst' if worst else 'assumed'}.{losses}"

    def l1(row: Candidate) -> str:
        losses = row.worst if worst else row.assumed
        return f"~{losses.l1:.3e}" if losses.exact_l1 is None else f"{losses.exact_l1:.3e}"

    facts = [
        Fact("", of("mse"), "MSE", ".3e"),
        Fact("", of("excess"), "/ bound", ".3f"),
        Fact("", l1, "l1"),
        Fact("", of("standard_error"), "max s.e.", ".3e"),
    ]
    wanted = comparison.requirements.standard_error
    if wanted is not None and (comparison.requirements.target == "worst-case") == worst:
        facts.append(Fact("", _needed, "users"))
    return facts


def _needed(row: Candidate) -> str:
    needed = row.users_needed
    return "never" if needed is None else f"{needed:,}" if needed < 10**10 else f"{needed:.2e}"


_BYTES, _TIME = Fact("", "largest_bytes", "bytes", ","), Fact("", "seconds", "time", in_seconds)


def _least_losses(comparison: MechanismComparison) -> ResultTable:
    """Return the table of the mechanisms with the least errors for what was asked, the recommended one among them."""
    worst = comparison.requirements.target == "worst-case"
    rows = sorted((row for row in comparison.candidates if row.fits), key=lambda row: row.error(worst=worst))
    shown = [row for place, row in enumerate(rows) if place < _MOST_ROWS or row is comparison.best]
    losses = [fact for fact in _loss_facts(comparison, worst=worst) if fact.heading != "l1"]
    mass, even = (
        f"{comparison.sensitive_mass:.1%} of the people have a sensitive value",
        comparison.requirements.people.even,
    )
    people = "worst case over all distributions" if worst else f"{mass}, {'spread evenly' if even else 'as given'}"
    return table_of(f"Least errors first; {people}", shown, [_starred_name(comparison.best), *losses, _BYTES, _TIME])


def _starred_name(best: Candidate) -> Fact:
    return Fact("", lambda row: f"{row.name}{' *' if row is best else '' if row.fits else ' !'}", "mechanism")


def _worst_losses(comparison: MechanismComparison) -> ResultTable:
    usual, starred = [*comparison.usual.values()], _starred_name(comparison.best_worst)

    def name(row: Candidate) -> str:
        # Below the row of the one that it is the default of.
        return f"  {row.name.rpartition(', ')[2]}" if row in usual else starred.cell(row)

    facts = [
        Fact("", name, "mechanism"),
        Fact("", "options", "options"),
        *_loss_facts(comparison, worst=True),
        Fact("", "bytes", "bytes", ".2f"),
        Fact("", "largest_bytes", "most", ","),
    ]
    return table_of("Worst case over all distributions; size of a report", comparison.rows, facts, left=2)


def _assumed_losses(comparison: MechanismComparison) -> ResultTable:
    losses = _loss_facts(comparison, worst=False)
    errors = [
        Fact("", "sensitive_error", "s.e. sens.", ".3e"),
        Fact("", "clear_error", "s.e. clear", ".3e"),
    ]
    facts = [_starred_name(comparison.best_assumed), *losses[:4], *errors, *losses[4:], _TIME]
    how = "spread evenly" if comparison.requirements.people.even else "as given"
    return table_of(
        f"{comparison.sensitive_mass:.1%} of the people have a sensitive value, {how}", comparison.candidates, facts
    )


def _notes(comparison: MechanismComparison) -> list[str]:
    requirements, large = comparison.requirements, not all(row.fits for row in comparison.candidates)
    near = f"smallest report within {requirements.within * 100:g}% of the " if requirements.within else ""
    notes = [
        f"*: {near}least error there{'; !: its reports may be too large or too slow' if large else ''}. "
        "MSE: expected sum of squared errors of the linear estimate, exact.",
        "/ bound: MSE over the least of any mechanism. l1: expected sum of absolute errors, exact, or after ~ in the "
        "limit of many reports. max s.e.: largest standard error of a value; s.e. sens.: of a rare sensitive value; "
        "s.e. clear: of one in clear at its even share. bytes: of a report, expected and at most. time: seconds of one "
        "core that counting and decoding take the collector, roughly.",
    ]
    if comparison.usual:
        notes.append(
            "digits: random bits of a noise bit. Few make obfuscating faster, under the same promise, for at most a "
            "thousandth more error; the default, of plans without the word, is shown and not recommended."
        )
    notes += [_pool_bias_note(row, comparison.sensitive_mass) for row in comparison.candidates if row.worst.pool_bias]
    if requirements.standard_error is not None:
        notes.append(f"users: how many give every value a standard error of at most {requirements.standard_error:g}.")
    if comparison.assumed and requirements.domain.clear_count:
        notes.append("The sensitive share is assumed; say --sensitive-mass or --distribution if you know better.")
    return [*notes, *_cautions(comparison)]


def _cautions(comparison: MechanismComparison) -> Iterator[str]:
    """Yield the cautions: for a promise that hardly protects, and for people who report more than once."""
    requirements = comparison.requirements
    if odds := in_odds(requirements.epsilon):
        yield odds
    if requirements.reports_per_user > 1:
        yield (
            f"Each report has epsilon = {requirements.epsilon_each:g} and fresh noise; the "
            f"{requirements.reports:,} values reported are taken to be independent, over time too."
        )


def _pool_bias_note(row: Candidate, mass: float) -> str:
    """Return a sentence on the share of pool bias in the errors."""
    functions, worst, assumed = row.mechanism.settings["m"], _share(row.worst), _share(row.assumed)
    return (
        f"{row.name}: all reports share its {functions:,} hash functions, which makes {worst} of its MSE in the "
        f"worst case and {assumed} where {mass:.1%} have a sensitive value. More users do not lessen that; more "
        "functions do."
    )


def _share(losses: Losses) -> str:
    return f"{losses.pool_bias:.2e} ({losses.pool_bias / losses.mse:.1%})" if losses.mse else "nothing"


def comparison_chart(comparison: MechanismComparison) -> Any:
    """Return the chart of the errors against epsilon and against the number of users."""
    requirements, error = comparison.requirements, "root mean squared error (share of people)"
    each = f", {requirements.reports_per_user} reports each" if requirements.reports_per_user > 1 else ""
    epsilons = LossPanel(f"{requirements.crowd}{each}", _lines(against_epsilon(requirements)), requirements.epsilon)
    users = LossPanel(
        f"epsilon = {requirements.epsilon:g}{each}", _lines(against_users(requirements)), requirements.users or COUNTED
    )
    panels = [(epsilons, "epsilon (nats)"), (users, "users (people)")]
    title = f"{requirements.domain.size:,} values, {requirements.domain.sensitive_count:,} sensitive"
    heading = Heading(title, [*_about(comparison), "Grey: what was asked."])
    return loss_chart(panels, y_title=error, bound=LOWER_BOUND, heading=heading)


def _about(comparison: MechanismComparison) -> list[str]:
    if comparison.requirements.target == "distribution":
        return [
            "Error of the linear estimate, all values together, for the given distribution; no bound is known there."
        ]
    where = {
        "worst-case": "for the worst distribution",
        "sensitive-mass": f"if {comparison.sensitive_mass:.1%} of the people have a sensitive value, spread evenly",
    }[comparison.requirements.target]
    return [
        f"Error of the linear estimate, all values together, {where}.",
        "Dotted: no unbiased estimate under any mechanism has less.",
    ]


def _lines(curves: Sequence[Curve]) -> list[tuple[str, Points]]:
    return [(curve.name, curve.points) for curve in curves]


_NUMBER_FACTS = [
    Fact("name", "name", "quantity"),
    Fact("value", "value", "if so", ".4g"),
    Fact("standard_error", "error", "std. error", ".3g"),
]


def number_record(plan: NumberPlan) -> dict[str, Any]:
    """Return a plan of numbers as JSON holds it."""
    return {
        "law": plan.mechanism.law.describe(),
        "epsilon": plan.mechanism.epsilon,
        "users": plan.users,
        "distribution": "given" if plan.known else "even",
        "expected": [record_of(row, _NUMBER_FACTS) for row in plan.errors],
        "recommendation": plan.recommendation,
    }


def number_parts(plan: NumberPlan) -> Iterator[str | ResultTable]:
    """Yield the table of expected errors, and the recommendation."""
    assumed = "for this distribution" if plan.known else "if numbers are spread evenly over the bins"
    yield table_of(f"Expected of {plan.users:,} people, {assumed}", plan.errors, _NUMBER_FACTS)
    yield plan.recommendation
    yield str(plan.mechanism.guarantee)
