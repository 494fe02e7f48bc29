"""The verb ``plan``: mechanisms side by side, in tables, as JSON and as a picture."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from discreet.cli.identifying import plan_for
from discreet.cli.plans import allows_outside, load_plan
from discreet.cli.terminal import console, show_json, show_table
from discreet.core.domain import Domain
from discreet.core.guarantee import in_odds
from discreet.errors import ParameterError
from discreet.io.atomic import replacing
from discreet.io.plan import DomainDocument, read_document
from discreet.io.tables import read_distribution
from discreet.planning.compare import Comparison, compare
from discreet.planning.curves import LOWER_BOUND, Curve, against_epsilon, against_users
from discreet.planning.prospects import Losses, Prospect
from discreet.planning.question import Target
from discreet.plots.losses import Heading, LossPanel, Points, loss_chart
from discreet.plots.pictures import picture_options
from discreet.risk.bounds.calibration import Wanted

_LOSSES = ("MSE", "/ bound", "l1", "max s.e.")


def compare_on(path: Path, epsilon: float | None, users: int, **options: Any) -> None:
    """Compare all mechanisms on a domain, recommend one, and draw the errors if a picture is named."""
    picture, force, as_json = options.pop("plot"), options.pop("force"), options.pop("as_json")
    domain, known = _known(path, options.pop("distribution"), options.pop("sensitive_mass"))
    epsilon = _stated_epsilon(path) if epsilon is None else epsilon
    target, within = options.pop("target") or _likely_target(known), options.pop("within")
    if within is not None:
        options["within"] = within
    found = compare(domain, epsilon, users, target=target, **known, **options)
    if picture is not None:
        _draw(found, picture, force=force)
    if as_json:
        show_json(_facts(found))
    else:
        _show(found)


def identify_on(path: Path, epsilon: float | None, users: int, **options: Any) -> None:
    """Show the largest epsilon of each mechanism that keeps an identification error, with both risks and the error."""
    error, as_json = options.pop("identification_error"), options.pop("as_json")
    reports = options.pop("reports_per_user")
    # Not "value not in (None, False)": 0 equals False, and 0 was given.
    given = sorted(name for name, value in options.items() if value is not None and value is not False)
    if given:
        raise ParameterError(f"--{given[0].replace('_', '-')} says nothing with --identification-error; leave it out.")
    domain, _ = _domain_of(path)
    plan_for(domain, Wanted(users, error=error, reports=reports), epsilon, as_json=as_json)


def _known(path: Path, distribution: Path | None, sensitive_mass: float | None) -> tuple[Domain, dict[str, Any]]:
    """Return the domain and the knowledge of the people, as `compare` takes it."""
    domain, stated = _domain_of(path)
    if distribution is None:
        return domain, {"sensitive_mass": stated if sensitive_mass is None else sensitive_mass}
    if sensitive_mass is not None:
        raise ParameterError("--sensitive-mass follows from --distribution; give one of the two.")
    return domain, {"p": read_distribution(distribution, domain)}


def _likely_target(known: dict[str, Any]) -> Target:
    if "p" in known:
        return "distribution"
    return "worst-case" if known["sensitive_mass"] is None else "sensitive-mass"


def _stated_epsilon(path: Path) -> float:
    """Return the epsilon of a plan; refuse a domain, which has none."""
    if "mechanism" not in read_document(path, dict):
        raise ParameterError(f"--epsilon must be given, because {path} is a domain without one; or give a plan.")
    return load_plan(path).document.epsilon


def _domain_of(path: Path) -> tuple[Domain, float | None]:
    # What names a mechanism is a plan, and its mistakes are told as a plan's.
    is_plan = "mechanism" in read_document(path, dict)
    if is_plan:
        plan = load_plan(path)
        return plan.mechanism().domain if plan.is_personalized else plan.domain, None
    document = read_document(path, DomainDocument)
    return document.domain.domain(path.parent, allow_outside=allows_outside()), document.sensitive_mass


# JSON


def _facts(found: Comparison) -> dict[str, Any]:
    question = found.question
    return {
        "target": question.target,
        "epsilon": question.epsilon,
        "users": question.users,
        "reports_per_user": question.reports_per_user,
        "epsilon_per_report": question.epsilon_each,
        "reports": question.reports,
        "largest_report": question.largest_report,
        "standard_error": question.standard_error,
        "within": question.within,
        "sensitive_mass": found.sensitive_mass,
        "sensitive_mass_assumed": found.assumed,
        "distribution_given": not question.people.even,
        "lower_bound": asdict(found.bounds),
        "mechanisms": [_prospect_facts(one) for one in found.prospects],
        "best_worst_case": found.best_worst.name,
        "best_at_sensitive_mass": found.best_assumed.name,
        "best": found.best.name,
        "least_error": found.least.name,
        "alternative": None if found.alternative is None else found.alternative.name,
        "recommendation": found.recommendation,
    }


def _prospect_facts(one: Prospect) -> dict[str, Any]:
    return {
        "name": one.name,
        "law": one.mechanism.law.describe(),
        "epsilon_realised": one.mechanism.guarantee.realised,
        "worst_case_mse": one.worst_mse,
        "mse_at_sensitive_mass": one.assumed_mse,
        "mse_uniform": one.uniform_mse,
        "standard_error_rare_sensitive": one.sensitive_error,
        "standard_error_clear": one.clear_error,
        "bytes_per_report": one.bytes,
        "largest_report_bytes": one.largest_bytes,
        "report_fits": one.fits,
        "users_needed": one.users_needed,
        "worst": asdict(one.worst),
        "assumed": asdict(one.assumed),
    }


# Tables


def _show(found: Comparison) -> None:
    question = found.question
    each = f", {question.reports_per_user} reports each" if question.reports_per_user > 1 else ""
    out = console()
    out.print(f"{question.domain!r}, epsilon = {question.epsilon:g}, {question.users:,} users{each}")
    _show_worst(found)
    _show_assumed(found)
    out.print(found.recommendation)
    for note in _notes(found):
        out.print(note)


def _show_worst(found: Comparison) -> None:
    headings = ["mechanism", "options", *_LOSSES, *_needed_heading(found, worst=True), "bytes", "at most"]
    cells = []
    for one in found.prospects:
        row = [*_losses(one.worst), *_needed(found, one, worst=True), f"{one.bytes:.2f}", f"{one.largest_bytes:,}"]
        cells.append([_name(one, found.best_worst), one.options, *row])
    show_table("Worst case over all distributions; size of a report", headings, cells, left=2)


def _show_assumed(found: Comparison) -> None:
    headings = ["mechanism", *_LOSSES, "s.e. sens.", "s.e. clear", *_needed_heading(found, worst=False)]
    cells = []
    for one in found.prospects:
        errors = [f"{one.sensitive_error:.3e}", "-" if one.clear_error is None else f"{one.clear_error:.3e}"]
        row = [*_losses(one.assumed), *errors, *_needed(found, one, worst=False)]
        cells.append([_name(one, found.best_assumed), *row])
    how = "spread evenly" if found.question.people.even else "as given"
    show_table(f"{found.sensitive_mass:.1%} of the people have a sensitive value, {how}", headings, cells)


def _losses(losses: Losses) -> list[str]:
    l1 = f"~{losses.l1:.3e}" if losses.exact_l1 is None else f"{losses.exact_l1:.3e}"
    excess = "-" if losses.excess is None else f"{losses.excess:.3f}"
    return [f"{losses.mse:.3e}", excess, l1, f"{losses.standard_error:.3e}"]


def _needed_heading(found: Comparison, *, worst: bool) -> list[str]:
    wanted = found.question.standard_error
    return ["users"] if wanted is not None and (found.question.target == "worst-case") == worst else []


def _needed(found: Comparison, one: Prospect, *, worst: bool) -> list[str]:
    needed = one.users_needed
    said = "never" if needed is None else f"{needed:,}" if needed < 10**10 else f"{needed:.3e}"
    return [said for _ in _needed_heading(found, worst=worst)]


def _name(one: Prospect, best: Prospect) -> str:
    return f"{one.name}{' *' if one is best else '' if one.fits else ' !'}"


def _notes(found: Comparison) -> list[str]:
    question, large = found.question, not all(one.fits for one in found.prospects)
    notes = [
        f"*: {_starred(question.within)}{'; !: its reports may be too large' if large else ''}. "
        "MSE: expected sum of squared errors of the linear estimate, exact.",
        "/ bound: MSE over the least of any mechanism. l1: expected sum of absolute errors, exact, or after ~ in the "
        "limit of many reports. max s.e.: largest standard error of a value; s.e. sens.: of a rare sensitive value; "
        "s.e. clear: of one in clear at its even share. bytes: of a report, expected and at most.",
    ]
    notes += [_pool_bias_note(one, found.sensitive_mass) for one in found.prospects if one.worst.pool_bias]
    if question.standard_error is not None:
        notes.append(f"users: how many give every value a standard error of at most {question.standard_error:g}.")
    if found.assumed and question.domain.clear_count:
        notes.append("The sensitive share is assumed; say --sensitive-mass or --distribution if you know better.")
    if odds := in_odds(question.epsilon):
        notes.append(odds)
    if question.reports_per_user > 1:
        notes.append(
            f"Each report has epsilon = {question.epsilon_each:g} and fresh noise; the {question.reports:,} values "
            "reported are taken to be independent, over time too."
        )
    return notes


def _starred(within: float) -> str:
    return f"smallest report within {within * 100:g}% of the least error there" if within else "least error there"


def _pool_bias_note(one: Prospect, mass: float) -> str:
    """Return a sentence on the share of pool bias in the errors."""
    functions, worst, assumed = one.mechanism.settings["m"], _share(one.worst), _share(one.assumed)
    return (
        f"{one.name}: all reports share its {functions:,} hash functions, which makes {worst} of its MSE in the "
        f"worst case and {assumed} where {mass:.1%} have a sensitive value. More users do not lessen that; more "
        "functions do."
    )


def _share(losses: Losses) -> str:
    return f"{losses.pool_bias:.2e} ({losses.pool_bias / losses.mse:.1%})" if losses.mse else "nothing"


# Picture


def _draw(found: Comparison, path: Path, *, force: bool) -> None:
    question, error = found.question, "root mean squared error (share of people)"
    each = f", {question.reports_per_user} reports each" if question.reports_per_user > 1 else ""
    epsilons = LossPanel(f"{question.users:,} users{each}", _lines(against_epsilon(question)), question.epsilon)
    users = LossPanel(f"epsilon = {question.epsilon:g}{each}", _lines(against_users(question)), question.users)
    panels = [(epsilons, "epsilon (nats)"), (users, "users (people)")]
    title = f"{question.domain.size:,} values, {question.domain.sensitive_count:,} sensitive"
    heading = Heading(title, [*_about(found), "Grey: what was asked."])
    chart = loss_chart(panels, y_title=error, bound=LOWER_BOUND, heading=heading)
    with replacing(path, force=force) as beside:
        chart.save(str(beside), **picture_options(path))


def _about(found: Comparison) -> list[str]:
    if found.question.target == "distribution":
        return [
            "Error of the linear estimate, all values together, for the given distribution; no bound is known there."
        ]
    where = {
        "worst-case": "for the worst distribution",
        "sensitive-mass": f"if {found.sensitive_mass:.1%} of the people have a sensitive value, spread evenly",
    }[found.question.target]
    return [
        f"Error of the linear estimate, all values together, {where}.",
        "Dotted: no unbiased estimate under any mechanism has less.",
    ]


def _lines(curves: Sequence[Curve]) -> list[tuple[str, Points]]:
    return [(curve.name, curve.points) for curve in curves]
