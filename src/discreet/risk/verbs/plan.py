"""The verb ``risk plan``: the largest epsilon of each mechanism for an identification risk."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import Count, allow_outside
from discreet.cli.output import InputFile, show
from discreet.cli.verbs.plan import USERS, PlanFile, domain_of
from discreet.cli.views.planning import law_of
from discreet.core.guarantee import odds_sentence
from discreet.core.result_table import ResultColumn, ResultTable
from discreet.errors import ParameterError
from discreet.risk.bounds.calibration import LARGEST_EPSILON, RiskTarget
from discreet.risk.bounds.identification import Bounds, conditions
from discreet.risk.planning import SIDE_BY_SIDE, IdentificationPlan, plan_identification
from discreet.risk.verbs.defences import prior_of


def identification_table(plan: IdentificationPlan) -> ResultTable:
    """Return the table of mechanisms, each with its largest epsilon."""
    column = partial(ResultColumn.of, plan.options)
    columns = [
        column("name", "name"),
        column("", lambda option: f"{option.name}{'' if option.limited else ' !'}", "mechanism", kind="text"),
        column("law", law_of),
        column("epsilon_per_report", "mechanism.epsilon"),
        column("epsilon_realised", "bounds.epsilon", "epsilon", ".6g"),
        column("epsilon_together", "bounds.total_epsilon", "together", ".6g"),
        column("identification_limits_epsilon", "limited"),
        column("identification", "bounds.identification"),
        column("identification_error", "bounds.error", "error >=", ".6g"),
        column("pie", "bounds.pie", "PIE (bits)", lambda pie: f"{pie.value:.4g}"),
        column("in_clear", "bounds.in_clear", "in clear", ".4g"),
        column("worst_case_mse", "worst_mse", "MSE", kind="error"),
        column("largest_standard_error", "standard_error", "max s.e.", kind="error"),
    ]
    return ResultTable("Attribute risk, identification risk, and error of the estimate", columns)


def identification_record(plan: IdentificationPlan) -> dict[str, Any]:
    """Return the options for a wanted identification risk, an object per mechanism."""
    wanted = plan.wanted
    return {
        "users": wanted.users,
        "identification_error": wanted.error,
        "reports_per_user": wanted.reports,
        "epsilon_limit": plan.epsilon,
        "mechanisms": identification_table(plan).records(),
        "cannot": plan.refused,
        "recommendation": plan.recommendation,
        "without_noise": plan.without_noise,
        "note": SIDE_BY_SIDE,
    }


def identification_parts(plan: IdentificationPlan) -> Iterator[str | ResultTable]:
    """Yield the wanted risk, the table of the options, the recommendation and the notes."""
    wanted = plan.wanted
    each = f", {wanted.reports} reports each" if wanted.reports > 1 else ""
    each += ", some likelier than others" if wanted.prior is not None else ""
    limit = "no limit on epsilon" if plan.epsilon is None else f"epsilon at most {plan.epsilon:g}"
    yield plan.recommendation
    yield f"{plan.domain!r}, {wanted.users:,} users{each}, identification error >= {wanted.error:g}, {limit}"
    yield identification_table(plan)
    yield from _identification_notes(plan)


def _identification_notes(plan: IdentificationPlan) -> list[str]:
    notes = [
        SIDE_BY_SIDE,
        "error >=: identification error of any adversary who guesses one user. in clear: probability of reporting a "
        "value in clear, which identifies a user with a unique value. MSE: largest expected sum of squared errors.",
    ]
    bounds = [option.bounds for option in plan.options]
    notes += [sentence for sentence in (conditions(bounds), _odds(bounds)) if sentence]
    if not all(option.limited for option in plan.options):
        most = LARGEST_EPSILON if plan.epsilon is None else plan.epsilon
        notes.append(
            f"!: the identification error holds for every epsilon up to {most:g}. Only this limit, or the integers of "
            "a sampler, bound epsilon here."
        )
    if plan.refused:
        notes.append(f"Above this identification risk at every epsilon: {', '.join(plan.refused)}.")
    if plan.without_noise is not None:
        notes.append(plan.without_noise)
    return notes


def _odds(bounds: list[Bounds]) -> str:
    """Return a sentence on the odds behind the largest epsilon, if it is large."""
    odds = odds_sentence(max((bound.total_epsilon for bound in bounds), default=0.0))
    return f"At the largest epsilon: {odds}" if odds else ""


@click.command(
    "plan", cls=Subcommand, epilog="Example: discreet risk plan domain.toml --users 1000 --identification-error 0.9"
)
@click.argument("domain", type=InputFile())
@click.option(
    "--identification-error", type=float, required=True, help="How often whoever guesses the user errs, at least."
)
@USERS
@click.option("--epsilon", type=float, help="The most that it may be, in nats. [no limit]")
@click.option("--reports-per-user", type=Count(), default=1, help="Reports of each user.")
@click.option("--prior", metavar="zipf:S|TABLE", help="How likely each user is, as in risk compare. [all alike]")
@PlanFile.options
@allow_outside
def plan_for_risk(
    domain: Path,
    out: PlanFile,
    *,
    identification_error: float,
    users: int,
    epsilon: float | None,
    reports_per_user: int,
    prior: str | None,
) -> None:
    """Find the largest epsilon for an identification risk.

    All mechanisms are compared on DOMAIN.

    Both risks are shown side by side, what reports say of values and what they say of users, with the error that they
    leave. DOMAIN is a file with a [domain] table, or a plan.
    """
    if out.output is not None and epsilon is None:
        raise ParameterError("output.needs-epsilon", argument="output")
    values, _ = domain_of(domain)
    likely = None if prior is None else prior_of(prior, users)
    wanted = RiskTarget(users, error=identification_error, reports=reports_per_user, prior=likely)
    options = plan_identification(values, wanted, epsilon=epsilon)
    files = out.write(domain, options.options[0].mechanism)
    show(identification_record(options) | {"prior": prior}, chain(identification_parts(options), files))
