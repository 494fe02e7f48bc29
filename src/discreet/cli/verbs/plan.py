"""The command ``plan``: compare mechanisms by their errors and recommend one."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import (
    Count,
    OptionGroup,
    WriteOptions,
    allow_outside,
    allows_outside,
    load_plan,
    option,
    refuse_idle,
)
from discreet.cli.output import InputFile, OutputFile, alike_in, save_picture, show, write_results, written
from discreet.cli.views import planning as views
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.files.paths import PICTURES, PLANS, any_of
from discreet.formats.plan import DomainDocument, read_document, write_plan
from discreet.mechanisms import BlockMechanism
from discreet.planning.compare import compare_mechanisms
from discreet.planning.losses import reports_for_change
from discreet.planning.numbers import NumberPlan
from discreet.planning.requirements import Target
from discreet.tables.columns import read_distribution

_NOT_OF_NUMBERS = (
    "sensitive_mass", "target", "largest_report", "most_seconds", "within", "standard_error", "change", "power",
    "reports_per_user",
)  # fmt: skip
USERS = click.option("--users", required=True, type=Count(), help="Number of people.")


@dataclass(frozen=True, slots=True)
class _Promise(OptionGroup):
    """Options for epsilon, the number of people and the reports of each person."""

    epsilon: float | None = option("--epsilon", type=float, help="Promised epsilon, in nats. [the plan's]")
    users: int = option("--users", required=True, type=Count(), help="Number of people.")
    reports_per_user: int = option(
        "--reports-per-user", type=Count(), default=1, help="Reports of each user, with equal parts of epsilon."
    )


@dataclass(frozen=True, slots=True)
class _People(OptionGroup):
    """Options for the known distribution of values, and for the kind of error to minimise."""

    sensitive_mass: float | None = option(
        "--sensitive-mass", type=float, help="Share (0 to 1) of people whose value is sensitive, if roughly known."
    )
    distribution: Path | None = option(
        "--distribution", type=InputFile(), help="Known or assumed distribution: columns label, probability."
    )
    target: Any = option(
        "--target",
        type=click.Choice(["worst-case", "sensitive-mass", "distribution"]),
        metavar="TARGET",
        help="Minimize the error for: worst-case, sensitive-mass or distribution. [the most specific one given]",
    )

    def known(self, path: Path) -> tuple[Domain, dict[str, Any]]:
        """Return the domain, and the keyword arguments of `compare_mechanisms` for the distribution and the target."""
        domain, stated = domain_of(path)
        if self.distribution is None:
            mass = stated if self.sensitive_mass is None else self.sensitive_mass
            likely: Target = "worst-case" if mass is None else "sensitive-mass"
            return domain, {"sensitive_mass": mass, "target": self.target or likely}
        if self.sensitive_mass is not None:
            raise ParameterError("sensitive-mass.with-distribution")
        return domain, {"p": read_distribution(self.distribution, domain), "target": self.target or "distribution"}


@dataclass(frozen=True, slots=True)
class ReportLimits(OptionGroup):
    """Options for the largest cost of a report: bytes, and computing time at the collector."""

    largest_report: float | None = option(
        "--largest-report", type=float, metavar="BYTES", help="Maximum size of a report, in bytes."
    )
    most_seconds: float | None = option(
        "--most-seconds",
        type=float,
        metavar="SECONDS",
        help="Maximum time to count all reports and decode the tally, on one core.",
    )
    within: float | None = option(
        "--within",
        type=float,
        metavar="SHARE",
        help="Accept an error that is larger by this share, if reports are smaller. [0.05]",
    )

    def given(self) -> dict[str, Any]:
        """Return the limits as keyword arguments of `compare_mechanisms`."""
        limits = {"largest_report": self.largest_report, "most_seconds": self.most_seconds}
        return limits | ({} if self.within is None else {"within": self.within})


@dataclass(frozen=True, slots=True)
class _Precision(OptionGroup):
    """Options for the wanted precision, from which the number of people is computed."""

    standard_error: float | None = option(
        "--standard-error",
        type=float,
        help="Print the number of users with which every value has at most this standard error.",
    )
    change: float | None = option(
        "--change",
        type=float,
        metavar="SHARE",
        help="Print the number of users in each of two groups that shows this difference of a share.",
    )
    power: float | None = option(
        "--power",
        type=float,
        needs={"change": "it needs --change"},
        help="With --change: probability of detecting the difference. [0.8]",
    )

    def sight(self, mechanism: BlockMechanism, p: Any) -> dict[str, str]:
        """Return a sentence on the number of reports that detect a change of a share; empty if none is asked for."""
        if self.change is None:
            return {}
        likely = 0.8 if self.power is None else self.power
        reports = reports_for_change(mechanism, self.change, power=likely, p=p)
        known = "any distribution" if p is None else "this distribution"
        return {
            "change": f"{reports:,} reports in each of two groups show a change of {self.change:g} in a value's share "
            f"with probability {likely:g}, for {known} (two-sided test at 5%)."
        }


@dataclass(frozen=True, slots=True)
class PlanFile(WriteOptions):
    """The option for the file of the recommended plan."""

    output: Path | None = option(
        "-o", "--output", type=OutputFile("plans", PLANS), help=f"File for the recommended plan: {any_of(PLANS)}."
    )

    def write(self, source: Path, mechanism: BlockMechanism) -> list[str]:
        """Write the plan if a file was named, and return a sentence that names the file."""
        if self.output is None:
            return []
        write_plan(self.output, source, mechanism, force=self.force, allow_outside=allows_outside())
        return [f"Plan with the recommended mechanism: {self.output}"]


@dataclass(frozen=True, slots=True)
class _Outputs(PlanFile):
    """Options for the files of the plan and the picture."""

    plot: Path | None = option(
        "--plot", type=options.PICTURE, help=f"File for a picture of errors by epsilon: {any_of(PICTURES)}."
    )

    def write_all(self, source: Path, mechanism: BlockMechanism, chart: Callable[[], Any]) -> list[str]:
        """Write the plan and the picture, if files were named: both files or none."""
        sentences: list[str] = []

        def save(path: Path) -> None:
            save_picture(chart)(path)
            sentences.extend(self.write(source, mechanism))

        if self.plot is None:
            return self.write(source, mechanism)
        write_results(None, None, {self.plot: save}, force=self.force)
        return [*sentences, *written(self.plot)]


@click.command(cls=Subcommand, epilog="Example: discreet plan domain.toml --epsilon 1 --users 100000 -o plan.toml")
@click.argument("domain", type=InputFile())
@_Promise.options
@_People.options
@ReportLimits.options
@_Precision.options
@_Outputs.options
@allow_outside
def plan(
    domain: Path,
    promise: _Promise,
    people: _People,
    limits: ReportLimits,
    precision: _Precision,
    out: _Outputs,
) -> None:
    """Compare all mechanisms on DOMAIN and recommend one.

    DOMAIN is a plan, or a file with a [domain] table.

    To find the largest epsilon for a given identification risk, use discreet risk plan.
    """
    values, choice = people.known(domain)
    epsilon = _stated_epsilon(domain) if promise.epsilon is None else promise.epsilon
    if values.numbers is not None:
        refuse_idle(_NOT_OF_NUMBERS, "a plan of numbers shows the errors of the mean and quantiles")
        planned = NumberPlan.of(values, epsilon, promise.users, choice.get("p"))
        files = out.write_all(domain, planned.mechanism, planned.expected.plot)
        show(views.number_record(planned), chain(views.number_parts(planned), files))
        return
    comparison = compare_mechanisms(
        values,
        epsilon,
        promise.users,
        reports_per_user=promise.reports_per_user,
        standard_error=precision.standard_error,
        **choice,
        **limits.given(),
    )
    sight = precision.sight(comparison.best.mechanism, choice.get("p"))
    files = out.write_all(domain, comparison.best.mechanism, comparison.plot)
    alike, named = alike_in({"": values})
    parts = chain(views.comparison_parts(comparison), sight.values(), alike, files)
    show(views.comparison_record(comparison) | sight | named, parts)


def _stated_epsilon(path: Path) -> float:
    """Return the epsilon of a plan. Raise an error for a file with only a domain."""
    if not {"mechanism", "version"} & {*read_document(path, dict)}:
        raise ParameterError("epsilon.missing", path=path)
    return load_plan(path).document.epsilon


def domain_of(path: Path) -> tuple[Domain, float | None]:
    """Return the domain of a plan or of a domain file, and the file's share of people with a sensitive value."""
    # A document that names a mechanism or a version is read as a plan, so errors are about a plan.
    if {"mechanism", "version"} & {*read_document(path, dict)}:
        plan = load_plan(path)
        return plan.mechanism().domain if plan.is_personalized else plan.domain, None
    document = read_document(path, DomainDocument)
    return document.domain.domain(path.parent, allow_outside=allows_outside()), document.sensitive_mass
