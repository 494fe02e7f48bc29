"""The verb ``plan``."""

from collections.abc import Callable, Set
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.group import Verb, given_options
from discreet.cli.options import Count, allow_outside, allows_outside, load_plan
from discreet.cli.output import InputFile, OutputFile, built_ins, show, written
from discreet.errors import ParameterError
from discreet.files.paths import PICTURES, PLANS, spelled

if TYPE_CHECKING:
    from discreet.core.domain import Domain
    from discreet.mechanisms import BlockMechanism
    from discreet.planning.candidates import Target

_WITH_IDENTIFICATION = {
    *("epsilon", "users", "identification_error", "reports_per_user"),
    *("output", "force", "allow_outside", "as_json", "debug"),
}
_OF_CENTRAL = {"delta", "towards", "local_at_most"}
_WITH_CENTRAL = {
    *("central", "epsilon", "users", "sensitive_mass", "distribution", "target", "largest_report"),
    *("most_seconds", "within"),
    *("output", "force", "allow_outside", "as_json", "debug"),
    *_OF_CENTRAL,
}


@click.command(cls=Verb)
@click.argument("domain", type=InputFile())
@click.option("--epsilon", type=float, help="Privacy promise, in nats; with --identification-error the most of it.")
@click.option("--users", required=True, type=Count(), help="Number of people.")
@click.option(
    "--identification-error",
    type=float,
    help="Say which epsilon each mechanism may have so that whoever guesses the user errs at least this often.",
)
@click.option(
    "--central",
    type=float,
    metavar="EPSILON",
    help="Say which epsilon each mechanism may have so that what is published of shuffled reports keeps this one.",
)
@click.option("--delta", type=float, help="With --central, the delta of (epsilon, delta). [1e-6]")
@click.option(
    "--towards", type=float, metavar="EPSILON", help="With --central, the promise towards values in clear. [the same]"
)
@click.option(
    "--local-at-most",
    type=float,
    metavar="EPSILON",
    help="With --central, the most that a report may say to whoever sees who sent it. [--epsilon]",
)
@click.option("--sensitive-mass", type=float, help="Share of people whose value is sensitive, if roughly known.")
@click.option(
    "--distribution", type=InputFile(), help="Distribution that is known or assumed: columns label, probability."
)
@click.option(
    "--target",
    type=click.Choice(["worst-case", "sensitive-mass", "distribution"]),
    help="What the error should be least for. [what is known of the people, else worst-case]",
)
@click.option("--largest-report", type=float, metavar="BYTES", help="Most bytes that a report may take.")
@click.option(
    "--most-seconds",
    type=float,
    metavar="SECONDS",
    help="Most time of one core that counting all reports and decoding their tally may take the collector.",
)
@click.option(
    "--reports-per-user",
    type=Count(),
    default=1,
    show_default=True,
    help="Reports of each user, with an equal part of epsilon each.",
)
@click.option(
    "--within",
    type=float,
    metavar="SHARE",
    help="Recommend the smallest report whose error is at most this much above the least; 0: the least error. [0.05]",
)
@click.option("--standard-error", type=float, help="Say how many users give every value this standard error or less.")
@click.option(
    "--change", type=float, metavar="SHARE", help="Say how many users in each of two groups show this change."
)
@click.option("--power", type=float, help="With --change, the probability of seeing it. [0.8]")
@click.option("--all", "everything", is_flag=True, help="Show all mechanisms, options and errors, and what they mean.")
@click.option(
    "-o", "--output", type=OutputFile("plans", PLANS), help=f"Plan with the recommended mechanism: {spelled(PLANS)}."
)
@click.option(
    "--plot", type=options.PICTURE, help=f"Picture of the errors against epsilon and users: {spelled(PICTURES)}."
)
@options.force
@allow_outside
@options.as_json
def plan(
    domain: Path,
    *,
    epsilon: float | None,
    users: int,
    identification_error: float | None,
    central: float | None,
    delta: float | None,
    towards: float | None,
    local_at_most: float | None,
    sensitive_mass: float | None,
    distribution: Path | None,
    target: "Target | None",
    largest_report: float | None,
    most_seconds: float | None,
    reports_per_user: int,
    within: float | None,
    standard_error: float | None,
    change: float | None,
    power: float | None,
    everything: bool,
    output: Path | None,
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compare all mechanisms on DOMAIN (a file with a [domain] table; a plan will do) and recommend one.

    With --epsilon their errors are compared; with --identification-error both risks, what reports say of values and
    what they say of users, and the errors that these leave; with --central the largest epsilons that a promise for
    what is published allows.
    """
    asked = _Asked(domain, epsilon, users, reports_per_user)
    outputs = _Outputs(output, plot, force)
    if identification_error is not None:
        _plan_for(asked, identification_error, outputs, as_json=as_json)
        return
    values, known = _known(domain, distribution, sensitive_mass)
    choice = known | {"target": target or _likely_target(known)}
    choice |= {"largest_report": largest_report, "most_seconds": most_seconds}
    choice |= {} if within is None else {"within": within}
    if central is not None:
        promise = _Central(central, delta, towards, local_at_most)
        _plan_central(asked, promise, (values, choice), outputs, as_json=as_json)
        return
    _refuse_idle(given_options().keys() - _OF_CENTRAL, "without --central")
    from discreet.cli.views.planning import ComparedMechanisms, comparison_chart, comparison_parts
    from discreet.planning.compare import compare

    found = compare(
        values,
        _stated_epsilon(domain) if epsilon is None else epsilon,
        users,
        reports_per_user=reports_per_user,
        standard_error=standard_error,
        **choice,
    )
    sight = _sight(found.best.mechanism, change, power, known.get("p"))
    outputs.write(domain, found.best.mechanism, lambda: comparison_chart(found))
    parts = chain(comparison_parts(found, brief=not everything), sight.values(), outputs.sentences())
    show(built_ins(ComparedMechanisms.of(found)) | sight, parts, as_json=as_json)


def _sight(mechanism: "BlockMechanism", change: float | None, power: float | None, p: Any) -> dict[str, str]:
    """Return the sentence on the reports that show a change between two groups, by its name; none if not asked for."""
    from discreet.planning.losses import reports_for_change

    if change is None:
        if power is not None:
            raise ParameterError("--power does nothing here: it goes with --change; leave it out.")
        return {}
    likely = 0.8 if power is None else power
    reports = reports_for_change(mechanism, change, power=likely, p=p)
    known = "the worst distribution" if p is None else "this distribution"
    return {
        "change": f"To see a change of {change:g} in a value's share with probability {likely:g} (two-sided test, 5%), "
        f"{known}: {reports:,} reports in each of two groups."
    }


@dataclass(frozen=True, slots=True)
class _Asked:
    """Domain, promise and people of both forms of the verb."""

    path: Path
    epsilon: float | None
    users: int
    reports_per_user: int


@dataclass(frozen=True, slots=True)
class _Central:
    """The central promise and the limit of the local one, as they were asked for."""

    epsilon: float
    delta: float | None
    towards: float | None
    local: float | None


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Files to write; None for those that are not named."""

    plan: Path | None
    picture: Path | None
    force: bool

    def write(self, source: Path, mechanism: "BlockMechanism", chart: Callable[[], Any]) -> None:
        """Write the outputs that are named: all of them, or none."""
        from discreet.files.writing import replacing
        from discreet.formats.plan import write_plan
        from discreet.pictures.curves import picture_options

        with ExitStack() as stack:
            if self.picture is not None:
                beside = stack.enter_context(replacing(self.picture, force=self.force))
                chart().save(str(beside), **picture_options(self.picture))
            if self.plan is not None:
                write_plan(self.plan, source, mechanism, force=self.force, allow_outside=allows_outside())

    def sentences(self) -> list[str]:
        """Return sentences on the plan and the picture that were written, if they were."""
        plan = [] if self.plan is None else [f"Plan with the recommended mechanism: {self.plan}"]
        return plan + written(self.picture)


def _plan_for(asked: _Asked, error: float, outputs: _Outputs, *, as_json: bool) -> None:
    """Show the largest epsilon of each mechanism that keeps an identification error, with both risks and the error."""
    from discreet.cli.views.planning import IdentificationOptions, identification_parts
    from discreet.planning.identification import plan_identification
    from discreet.risk.bounds.calibration import RiskTarget

    _refuse_idle(_WITH_IDENTIFICATION, "with --identification-error")
    if outputs.plan is not None and asked.epsilon is None:
        raise ParameterError("-o writes what is recommended, which needs a limit on epsilon; give --epsilon as well.")
    domain, _ = _domain_of(asked.path)
    wanted = RiskTarget(asked.users, error=error, reports=asked.reports_per_user)
    found = plan_identification(domain, wanted, epsilon=asked.epsilon)
    outputs.write(asked.path, found.options[0].mechanism, lambda: None)
    parts = chain(identification_parts(found), outputs.sentences())
    show(IdentificationOptions.of(found), parts, as_json=as_json)


def _plan_central(
    asked: _Asked, central: _Central, people: tuple["Domain", dict[str, Any]], outputs: _Outputs, *, as_json: bool
) -> None:
    """Show the largest epsilon of each mechanism whose shuffled batch keeps a central promise, with its error."""
    from discreet.cli.views.planning import CentralOptions, central_parts
    from discreet.planning.candidates import People, Requirements
    from discreet.planning.central import CentralTarget, plan_central

    _refuse_idle(_WITH_CENTRAL, "with --central")
    if central.local is not None and asked.epsilon is not None:
        raise ParameterError("--local-at-most and --epsilon are both the limit of the local epsilon; give one of them.")
    local = asked.epsilon if central.local is None else central.local
    domain, choice = people
    known = People.of(domain, choice.pop("sensitive_mass", None), choice.pop("p", None))
    wanted = CentralTarget(central.epsilon, 1e-6 if central.delta is None else central.delta, central.towards)
    limit = _stated_epsilon(asked.path) if local is None else local
    found = plan_central(Requirements(domain, limit, asked.users, known, **choice), wanted)
    outputs.write(asked.path, found.best.candidate.mechanism, lambda: None)
    show(CentralOptions.of(found), chain(central_parts(found), outputs.sentences()), as_json=as_json)


def _refuse_idle(used: Set[str], where: str) -> None:
    """Refuse options that were given and are not used."""
    idle = sorted(option for name, option in given_options().items() if name not in used)
    if idle:
        raise ParameterError(f"{idle[0]} says nothing {where}; leave it out.")


def _known(path: Path, distribution: Path | None, sensitive_mass: float | None) -> tuple["Domain", dict[str, Any]]:
    """Return the domain and the knowledge of the people, as `compare` takes it."""
    from discreet.tables.columns import read_distribution

    domain, stated = _domain_of(path)
    if distribution is None:
        return domain, {"sensitive_mass": stated if sensitive_mass is None else sensitive_mass}
    if sensitive_mass is not None:
        raise ParameterError("--sensitive-mass follows from --distribution; give one of the two.")
    return domain, {"p": read_distribution(distribution, domain)}


def _likely_target(known: dict[str, Any]) -> "Target":
    if "p" in known:
        return "distribution"
    return "worst-case" if known["sensitive_mass"] is None else "sensitive-mass"


def _stated_epsilon(path: Path) -> float:
    """Return the epsilon of a plan; refuse a domain, which has none."""
    from discreet.formats.plan import read_document

    if "mechanism" not in read_document(path, dict):
        raise ParameterError(f"--epsilon must be given, because {path} is a domain without one; or give a plan.")
    return load_plan(path).document.epsilon


def _domain_of(path: Path) -> tuple["Domain", float | None]:
    from discreet.formats.plan import DomainDocument, read_document

    # A document that names a mechanism is a plan, and its mistakes are those of a plan.
    if "mechanism" in read_document(path, dict):
        plan = load_plan(path)
        return plan.mechanism().domain if plan.is_personalized else plan.domain, None
    document = read_document(path, DomainDocument)
    return document.domain.domain(path.parent, allow_outside=allows_outside()), document.sensitive_mass
