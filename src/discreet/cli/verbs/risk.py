"""The verbs ``risk``: the identification risk of traces and reports, of scores of a matcher, and of plans."""

from collections.abc import Collection
from functools import partial
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.group import Verb, VerbGroup, given_options
from discreet.cli.options import Count, allow_outside, load_plan, progress_bar
from discreet.cli.output import InputFile, OutputFolder, built_ins, show
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.core.domain import Domain
    from discreet.core.random import RandomSource
    from discreet.core.traces import Traces
    from discreet.mechanisms import BlockMechanism

_TRACES = "traces"
_WORSE_THAN_CHANCE = 0.5
_VARIES = "Random choices are a part of this, so figures vary from run to run; --seed repeats them."


class _RiskVerb(Verb):
    """A verb of the group, which names the sibling that an option belongs to."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an option of another verb of the group is refused with that verb's name."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            others = [other for other, verb in risk.commands.items() if any(name in one.opts for one in verb.params)]
            if not others:
                raise
            whose = " or ".join(f"discreet risk {other}" for other in others)
            raise ParameterError(
                f"{name} goes with {whose}, not with discreet risk {self.name}; leave it out."
            ) from None


class _RiskGroup(VerbGroup):
    """A group of verbs, whose first one need not be named."""

    command_class = _RiskVerb

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without a verb they are those of ``traces``."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [_TRACES, *args]
        return super().parse_args(ctx, args)


def _checked_limit(_: click.Context, __: click.Parameter, limit: float | None) -> float | None:
    if limit is not None and not (isfinite(limit) and 0 <= limit < 1):
        raise ParameterError(f"--fail-above must be a probability from 0 to below 1, got {limit:g}.")
    return limit


_FAIL_ABOVE = click.option(
    "--fail-above",
    type=float,
    callback=_checked_limit,
    help="Exit with 1 if the identification risk may be above this.",
)


@click.group(cls=_RiskGroup)
def risk() -> None:
    """Assess the identification risk of traces, of reports, of plans, or of scores of a matcher.

    `discreet risk TABLE...` is `discreet risk traces TABLE...`; write ./traces for a table of that name.
    """


@risk.command(_TRACES)
@click.argument("tables", type=InputFile(urls=True), nargs=-1, required=True, metavar="TABLE...")
@click.option("--user", default="user", show_default=True, help="Column that says whose event it is.")
@click.option("--event", default="event", show_default=True, help="Column of events.")
@click.option("--time", help="Column by which each user's events are ordered; else the order of the rows.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="What becomes of rows where a user, an event or a time is missing; those left out are counted.",
)
@click.option(
    "--split",
    default="half",
    show_default=True,
    help="What the attacker knows of each user: half (the first half of the events), all, first:N, rest:N.",
)
@click.option("--least", type=Count(1), default=2, show_default=True, help="Leave out users with fewer events.")
@click.option(
    "--attack",
    default="all",
    show_default=True,
    help="all: the strongest of all attacks on traces; or one of them: markov, visits, smoothed, tf-idf, cosine.",
)
@click.option("--plan", type=InputFile(), help="Plan by which events are obfuscated before they are published.")
@click.option("--epsilon", type=float, help="Instead of a plan: epsilon of a mechanism over the events of the table.")
@click.option("--mechanism", default="rr", show_default=True, help="Which one, with --epsilon.")
@click.option("--reports", type=Count(), default=1, show_default=True, help="Reports of each user, with a mechanism.")
@click.option("--list", "largest_list", type=Count(1), default=10, show_default=True, help="Longest list of guesses.")
@_FAIL_ABOVE
@click.option("-o", "--output", type=OutputFolder("risk.html", "risk.json"), help="Folder for risk.html and risk.json.")
@options.seed
@options.force
@allow_outside
@options.as_json
def traces(
    tables: tuple[str | Path, ...],
    *,
    user: str,
    event: str,
    time: str | None,
    missing: str,
    split: str,
    least: int,
    attack: str,
    plan: Path | None,
    epsilon: float | None,
    mechanism: str,
    reports: int,
    largest_list: int,
    fail_above: float | None,
    output: Path | None,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Attack traces as they are, or with --plan or --epsilon as reports, and bound what every attack finds.

    TABLE has a row per event: user, event and perhaps time; several files, and folders of them, here or at URLs, are
    one table. What the strongest attack finds is set beside what no attack exceeds.
    """
    _check_together(given_options())
    from discreet.cli.views.risk import AssessedTraces, assessment_parts
    from discreet.core.domain import Domain
    from discreet.core.traces import split_of
    from discreet.risk.assessment import assess
    from discreet.simulation.pages import check_page, write_page

    if output is not None:
        check_page(output, force=force)
    obfuscating, domain = _mechanism_of(plan)
    random = _random(seed)
    read = _read(tables, domain, user=user, event=event, time=time, missing=missing)
    parts, knowledge = split_of(read, split, least=least)
    if obfuscating is None and epsilon is not None:
        obfuscating = _named(mechanism, Domain(range(parts.target.event_count)), epsilon)
    chosen: dict[str, Any] = {"attack": attack, "reports": reports, "largest_list": largest_list}
    with progress_bar("comparing every trace with every user"):
        found = assess(parts, mechanism=obfuscating, random=random, **chosen)
    record = built_ins(AssessedTraces.of(found, parts, knowledge, read))
    files: list[Path] = []
    if output is not None:
        swept = _swept(parts, obfuscating, reports)
        files = write_page(found, knowledge, record, output, swept, force=force)
    lines = assessment_parts(found, parts, knowledge, read, files)
    show(record | {"files": files}, chain(lines, [] if seed is not None else [_VARIES]), as_json=as_json)
    if fail_above is not None and found.risk > fail_above:
        known = "" if found.bounds is not None else " (upper limit of what the strongest attack tried achieves)"
        if found.unlearned:
            known = f" (with the {found.unlearned:.2%} of the traces of which nothing was learned)"
        click.echo(f"The identification risk, {found.risk:.4g}{known}, is above {fail_above:g}.", err=True)
        raise click.exceptions.Exit(1)


def _check_together(given: Collection[str]) -> None:
    """Refuse options that do not go together."""
    obfuscated = bool({"plan", "epsilon"} & set(given))
    if {"plan", "epsilon"} <= set(given):
        raise ParameterError("--epsilon follows from --plan; give one of the two.")
    if "mechanism" in given and "epsilon" not in given:
        raise ParameterError("--mechanism goes with --epsilon; without it events are published as they are.")
    if "reports" in given and not obfuscated:
        raise ParameterError("--reports goes with --plan or --epsilon; without them events are published as they are.")
    if "allow_outside" in given and "plan" not in given:
        raise ParameterError("--allow-outside goes with --plan; leave it out.")
    if "attack" in given and obfuscated:
        raise ParameterError("--attack is for events as they are; reports are attacked by their likelihood.")


def _mechanism_of(plan: Path | None) -> tuple["BlockMechanism | None", "Domain | None"]:
    if plan is None:
        return None, None
    document = load_plan(plan)
    if document.is_personalized:
        raise ParameterError(
            "events under a personalized plan are attacked only with each user's secret values, which their table does "
            "not have; bound its risk with discreet risk compare instead."
        )
    mechanism = document.mechanism()
    return mechanism, mechanism.domain


def _read(tables: tuple[str | Path, ...], domain: "Domain | None", **columns: Any) -> "Traces":
    from discreet.tables.events import read_traces

    with progress_bar("reading the events") as progress:
        return read_traces(tables, domain=domain, progress=partial(progress, "reading the events"), **columns)


def _named(name: str, domain: "Domain", epsilon: float) -> "BlockMechanism":
    from discreet.core.checks import checked_choice
    from discreet.mechanisms import BLOCK_MECHANISMS

    known = [known for known, made in BLOCK_MECHANISMS.items() if not made.needs_options()]
    return BLOCK_MECHANISMS[checked_choice("--mechanism", name, known)](domain, epsilon)


def _swept(split: Any, mechanism: "BlockMechanism | None", reports: int) -> Any:
    """Return success and bound at other epsilons, where one pass gives all of them."""
    from discreet.mechanisms import RandomizedResponse
    from discreet.risk.assessment import sweep

    if mechanism is None or mechanism.name != RandomizedResponse.name or reports != 1 or mechanism.domain.clear_count:
        return ()
    return sweep(split, mechanism)


def _random(seed: int | None) -> "RandomSource":
    from discreet.core.random import SecureRandom, SeededRandom

    return SecureRandom() if seed is None else SeededRandom(seed)


@risk.command()
@click.argument("table", type=InputFile(urls=True))
@click.option("--score", required=True, help="Column of scores.")
@click.option("--probe", default="row", show_default=True, help="Column that says whose probe it is.")
@click.option("--template", default="col", show_default=True, help="Column that says whose template it is.")
@click.option("--distance", is_flag=True, help="A lower number means more alike.")
@click.option("--failed", type=float, help="What stands for no score, such as -1.")
@_FAIL_ABOVE
@options.seed
@options.as_json
def scores(
    table: str | Path,
    *,
    score: str,
    probe: str,
    template: str,
    distance: bool,
    failed: float | None,
    fail_above: float | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Measure a matcher by its scores: TABLE has a row for each pair of a probe and a template."""
    from discreet.cli.views.risk import AssessedMatcher
    from discreet.risk.scores.biometric import biometric
    from discreet.tables.columns import read_scores

    matrix = read_scores(table, score, probe=probe, template=template, failed=failed)
    found = biometric({score: matrix}, distances=distance, failed=failed, random=_random(seed))[score]
    show(AssessedMatcher.of(found), [str(found)], as_json=as_json)
    if found.det.equal_error_rate > _WORSE_THAN_CHANCE:
        way = "leave out --distance" if distance else "pass --distance"
        click.echo(
            f"Note: genuine pairs look less alike than impostors; if the scores go the other way, {way}.", err=True
        )
    success = found.ranks.rates[0]
    blind = success.low <= 1 / found.users
    if fail_above is not None and (blind or success.high > fail_above):
        click.echo(
            f"Nothing was learned: these scores are not shown to name more of {found.users:,} users than guessing "
            f"would, so that the risk may be above {fail_above:g}."
            if blind
            else f"The right user is named with probability {success.high:.4g} at most, by the upper limit of what was "
            f"measured, above {fail_above:g}.",
            err=True,
        )
        raise click.exceptions.Exit(1)


@risk.command()
@click.argument("plans", type=InputFile(), nargs=-1, metavar="PLAN...")
@click.option("--users", type=Count(), help="Among how many people.  [required]")
@click.option("--reports", type=Count(), default=1, show_default=True, help="Reports of each user.")
@_FAIL_ABOVE
@allow_outside
@options.as_json
def compare(
    plans: tuple[Path, ...], *, users: int | None, reports: int, fail_above: float | None, as_json: bool
) -> None:
    """Rank plans by identification risk, with their errors."""
    if not plans:
        raise ParameterError(
            "compare needs the plans that are to be compared, as in discreet risk compare a.toml b.toml --users 1000."
        )
    if users is None:
        raise ParameterError("--users must say among how many people a report's sender is to be found.")
    from discreet.cli.views.risk import PlanRisk, plan_risk_parts
    from discreet.risk.bounds.identification import identification_bounds

    mechanisms = [(path, load_plan(path).mechanism()) for path in plans]
    bounds = [identification_bounds(mechanism, users, reports=reports) for _, mechanism in mechanisms]
    risks = [PlanRisk.of(*plan, bound, users) for plan, bound in zip(mechanisms, bounds, strict=True)]
    risks.sort(key=lambda row: (row.identification.value, row.worst_case_mse))
    lines = plan_risk_parts(risks, bounds, users, reports)
    show({"users": users, "reports": reports, "plans": risks}, lines, as_json=as_json)
    above = [
        row.identification.value for row in risks if fail_above is not None and row.identification.value > fail_above
    ]
    if above:
        click.echo(
            f"The identification risk is above {fail_above:g} under {len(above)} of {len(risks)} plans, "
            f"{above[-1]:.4g} at most.",
            err=True,
        )
        raise click.exceptions.Exit(1)
