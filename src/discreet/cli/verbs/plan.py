"""The verb ``plan``: mechanisms side by side, and which to use."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import (
    Count,
    OptionGroup,
    Writing,
    allow_outside,
    allows_outside,
    load_plan,
    option,
    refuse_idle,
)
from discreet.cli.output import InputFile, OutputFile, Table, save_picture, show, write_results, written
from discreet.cli.readings import alike_in
from discreet.cli.views import planning as views
from discreet.core.domain import Domain
from discreet.core.labels import Numbers
from discreet.core.result_table import objects, rows_of
from discreet.errors import ParameterError
from discreet.files.paths import PICTURES, PLANS, spelled
from discreet.formats.plan import DomainDocument, read_document, write_plan
from discreet.mechanisms import BlockMechanism
from discreet.planning.candidates import Target
from discreet.planning.compare import compare_mechanisms
from discreet.planning.losses import reports_for_change
from discreet.planning.numbers import NumberPlan
from discreet.surveys.documents import Questionnaire
from discreet.surveys.planning import plan_survey
from discreet.surveys.schedules import schedules, survey_schedules
from discreet.tables.columns import read_distribution
from discreet.theory.memo import NOT_HIDDEN

_NOT_OF_NUMBERS = (
    "sensitive_mass", "target", "largest_report", "most_seconds", "within", "standard_error", "change", "power",
    "everything", "reports_per_user",
)  # fmt: skip
USERS = click.option("--users", required=True, type=Count(), help="Number of people.")


@dataclass(frozen=True, slots=True)
class _Promise(OptionGroup):
    """The promise and the people who have it."""

    epsilon: float | None = option("--epsilon", type=float, help="Privacy promise, in nats. [the plan's]")
    users: int = option("--users", required=True, type=Count(), help="Number of people.")
    reports_per_user: int = option(
        "--reports-per-user", type=Count(), default=1, help="Reports of each user, with equal parts of epsilon. [1]"
    )
    rounds: int | None = option(
        "--rounds",
        type=Count(2),
        bars={"reports_per_user": "ways to ask in rounds have their own numbers of reports"},
        help="Also compare ways to ask in so many rounds, with epsilon in all.",
    )


@dataclass(frozen=True, slots=True)
class _People(OptionGroup):
    """Knowledge of the people, and the error that counts."""

    sensitive_mass: float | None = option(
        "--sensitive-mass", type=float, help="Share of people whose value is sensitive, if roughly known."
    )
    distribution: Path | None = option(
        "--distribution", type=InputFile(), help="Distribution, known or assumed: columns label, probability."
    )
    target: Any = option(
        "--target",
        type=click.Choice(["worst-case", "sensitive-mass", "distribution"]),
        metavar="TARGET",
        help="Least error in the worst-case, for sensitive-mass, or distribution. [what is known]",
    )

    def known(self, path: Path) -> tuple[Domain, dict[str, Any]]:
        """Return the domain and the knowledge of the people, as `compare_mechanisms` takes it, with the target."""
        domain, stated = domain_of(path)
        if self.distribution is None:
            mass = stated if self.sensitive_mass is None else self.sensitive_mass
            likely: Target = "worst-case" if mass is None else "sensitive-mass"
            return domain, {"sensitive_mass": mass, "target": self.target or likely}
        if self.sensitive_mass is not None:
            raise ParameterError("--sensitive-mass follows from --distribution; give one of the two.")
        return domain, {"p": read_distribution(self.distribution, domain), "target": self.target or "distribution"}


@dataclass(frozen=True, slots=True)
class _Limits(OptionGroup):
    """The most that a report and its collector may cost."""

    largest_report: float | None = option(
        "--largest-report", type=float, metavar="BYTES", help="Most bytes that a report may take."
    )
    most_seconds: float | None = option(
        "--most-seconds",
        type=float,
        metavar="SECONDS",
        help="Most time of one core for counting all reports and decoding their tally.",
    )
    within: float | None = option(
        "--within",
        type=float,
        metavar="SHARE",
        help="Recommend the smallest report with at most so much more than the least error. [0.05]",
    )

    def given(self) -> dict[str, Any]:
        """Return the limits as `compare_mechanisms` takes them."""
        limits = {"largest_report": self.largest_report, "most_seconds": self.most_seconds}
        return limits | ({} if self.within is None else {"within": self.within})


@dataclass(frozen=True, slots=True)
class _Precision(OptionGroup):
    """The precision for which people are counted."""

    standard_error: float | None = option(
        "--standard-error", type=float, help="Say how many users give every value this standard error or less."
    )
    change: float | None = option(
        "--change", type=float, metavar="SHARE", help="Say how many users in each of two groups show this change."
    )
    power: float | None = option(
        "--power",
        type=float,
        needs={"change": "it goes with --change"},
        help="With --change, the probability of seeing it. [0.8]",
    )

    def sight(self, mechanism: BlockMechanism, p: Any) -> dict[str, str]:
        """Return the sentence on the reports that show a change between two groups, by its name, if it is asked for."""
        if self.change is None:
            return {}
        likely = 0.8 if self.power is None else self.power
        reports = reports_for_change(mechanism, self.change, power=likely, p=p)
        known = "the worst distribution" if p is None else "this distribution"
        return {
            "change": f"To see a change of {self.change:g} in a value's share with probability {likely:g} (two-sided "
            f"test, 5%), {known}: {reports:,} reports in each of two groups."
        }


@dataclass(frozen=True, slots=True)
class PlanFile(Writing):
    """The plan to write."""

    output: Path | None = option(
        "-o", "--output", type=OutputFile("plans", PLANS), help=f"Plan with what is recommended: {spelled(PLANS)}."
    )

    def write(self, source: Path, mechanism: BlockMechanism) -> list[str]:
        """Write the plan, if it is named, and return sentences that say so."""
        if self.output is None:
            return []
        write_plan(self.output, source, mechanism, force=self.force, allow_outside=allows_outside())
        return [f"Plan with the recommended mechanism: {self.output}"]


@dataclass(frozen=True, slots=True)
class _Outputs(PlanFile):
    """The plan and the picture to write."""

    plot: Path | None = option("--plot", type=options.PICTURE, help=f"Errors by epsilon, users: {spelled(PICTURES)}.")

    def write_all(self, source: Path, mechanism: BlockMechanism, chart: Callable[[], Any]) -> list[str]:
        """Write the plan and the picture that are named: both of them, or none."""
        sentences: list[str] = []

        def save(path: Path) -> None:
            save_picture(chart)(path)
            sentences.extend(self.write(source, mechanism))

        if self.plot is None:
            return self.write(source, mechanism)
        write_results(None, None, {self.plot: save}, force=self.force)
        return [*sentences, *written(self.plot)]


@click.command(cls=Verb)
@click.argument("domain", type=InputFile())
@_Promise.options
@_People.options
@_Limits.options
@_Precision.options
@click.option("--all", "everything", is_flag=True, help="Show all mechanisms, options and errors, and what they mean.")
@_Outputs.options
@allow_outside
def plan(
    domain: Path,
    promise: _Promise,
    people: _People,
    limits: _Limits,
    precision: _Precision,
    out: _Outputs,
    *,
    everything: bool,
) -> None:
    """Compare all mechanisms on DOMAIN (a file with a [domain] table; a plan will do) and recommend one.

    Of a survey it plans the questions, who answers how many of them, and their mechanisms.

    discreet risk plan finds the largest epsilon that a wanted protection allows.
    """
    survey = _survey_of(domain)
    if survey is not None:
        _plan_survey(survey, promise, limits, out)
        return
    values, choice = people.known(domain)
    epsilon = _stated_epsilon(domain) if promise.epsilon is None else promise.epsilon
    if isinstance(values.space, Numbers):
        refuse_idle(_NOT_OF_NUMBERS, "numbers are planned by the errors of their mean and quantiles")
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
    files = out.write_all(domain, comparison.best.mechanism, lambda: views.comparison_chart(comparison))
    again = promise.rounds and schedules(values, epsilon, promise.rounds, promise.users, **choice, **limits.given())
    rounds = views.schedule_parts(again, epsilon) if again else ()
    alike, named = alike_in({"": values})
    parts = chain(views.comparison_parts(comparison, brief=not everything), sight.values(), rounds, alike, files)
    record = views.comparison_record(comparison) | sight | named
    show(record | ({"rounds": views.schedule_record(again)} if again else {}), parts)


def _survey_of(path: Path) -> Questionnaire | None:
    """Return a survey; None for plans and domains, which say nothing of attributes."""
    if "#" in path.name or "attributes" not in read_document(path, dict):
        return None
    return Questionnaire.load(path, allow_outside=allows_outside())


def _plan_survey(survey: Questionnaire, promise: _Promise, limits: _Limits, out: _Outputs) -> None:
    """Plan the questions of a survey, write the plan if it is named, and print why it is as it is."""
    refuse_idle(
        [
            "reports_per_user",
            "sensitive_mass",
            "distribution",
            "target",
            "standard_error",
            "change",
            "power",
            "everything",
            "plot",
        ],
        "it is about one question, and a survey has several",
    )
    asked = survey.asked if promise.epsilon is None else {**survey.asked, "epsilon": promise.epsilon}
    planned = plan_survey(survey.attributes, users=promise.users, **asked, **limits.given())
    if out.output is not None:
        survey.asking(planned.survey).save(out.output, force=out.force)
    guarantee = planned.survey.guarantee
    record = {
        "plan": planned.survey.fingerprint,
        "answers": planned.survey.answers,
        "record_epsilon": guarantee.record,
        "attribute_epsilons": guarantee.attributes,
        "questions": objects({name: column.tolist() for name, column in planned.columns().items()}),
        "options": [asdict(option) for option in planned.options],
    }
    rounds: list[str | Table] = []
    if number := promise.rounds or (survey.rounds and survey.rounds.number):
        asked.pop("rounds")
        again = survey_schedules(survey.attributes, number=number, users=promise.users, **asked, **limits.given())
        record["rounds"], table = views.survey_schedules_shown(again)
        rounds = [table, *([] if survey.rounds is not None else [NOT_HIDDEN])]
    headings, *cells = rows_of(planned.stated(), "page")
    questions = Table(planned.heading, headings, cells, left=2)
    alike, named = alike_in({question.name: question.mechanism.domain for question in planned.survey.questions})
    show(record | named, [questions, planned.reason, str(guarantee), *rounds, *alike, *written(out.output)])


def _stated_epsilon(path: Path) -> float:
    """Return the epsilon of a plan; refuse a domain, which has none."""
    if "#" not in path.name and "mechanism" not in read_document(path, dict):
        raise ParameterError(f"--epsilon must be given, because {path} is a domain without one; or give a plan.")
    return load_plan(path).document.epsilon


def domain_of(path: Path) -> tuple[Domain, float | None]:
    """Return the domain of a plan or of a file with a domain, and the stated mass of its sensitive values."""
    # A document that names a mechanism or attributes is a plan, and its mistakes are those of a plan.
    if "#" in path.name or {"mechanism", "attributes"} & {*read_document(path, dict)}:
        plan = load_plan(path)
        return plan.mechanism().domain if plan.is_personalized else plan.domain, None
    document = read_document(path, DomainDocument)
    return document.domain.domain(path.parent, allow_outside=allows_outside()), document.sensitive_mass
