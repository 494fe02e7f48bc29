"""The verb ``risk compare``: plans by their bounds, or defences of traces by the success of attacks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product, starmap
from math import inf
from pathlib import Path
from typing import Any

import click
import numpy as np

from discreet.arrays import FloatArray
from discreet.cli import options
from discreet.cli.commands import ConditionalOption, Subcommand
from discreet.cli.options import Count, OptionGroup, load_plan, option, refuse_idle
from discreet.cli.output import InputFile, built_ins, show
from discreet.core.columns import reals
from discreet.core.guarantee import odds_sentence
from discreet.core.random import SecureRandom, SeededRandom
from discreet.core.result_table import ResultColumn, ResultTable
from discreet.errors import ParameterError
from discreet.files.paths import PLANS
from discreet.mechanisms import BlockMechanism
from discreet.risk.bounds.identification import Bounds, conditions, identification_bounds, limit
from discreet.risk.defences import (
    Defence,
    coarser_events,
    coarser_times,
    combined,
    compare_defences,
    first_events,
    reported,
    without_rare,
)
from discreet.risk.generalisation import Step
from discreet.risk.traces import split_of
from discreet.risk.verbs.events import VARIES, Events, evidence_of, left_out_of
from discreet.risk.verbs.gates import FAIL_ABOVE, end_above
from discreet.tables.columns import read_columns
from discreet.tables.text import NUMBERS

_OF_TRACES = {"traces": "{} goes with --traces; leave it out."}
_OF_PLANS = {"traces": "{} goes with plans alone; --traces has its own users."}
_COUNT = re.compile(r"[0-9]{1,18}")
_EVENTS = ("user", "event", "time", "missing", "split", "least")


@dataclass(frozen=True, slots=True)
class _Defences(OptionGroup):
    """The traces and the defences to compare."""

    traces: tuple[str | Path, ...] = option(
        "--traces",
        type=InputFile(urls=True),
        multiple=True,
        metavar="TABLE",
        help="Instead: defences of these events, attacked as by risk traces; plans are among them.",
    )
    defences: str = option(
        "--defences",
        default="",
        metavar="D+D,...",
        needs=_OF_TRACES,
        help="first:5/20 (each user's first events), rare:5/20 (no events of fewer users), place=3-digits/2-digits and "
        "at=day/* (coarser), a plan: reports; joined by + one after the other.",
    )
    seed: int | None = option("--seed", type=int, needs=_OF_TRACES, help="Seed of the attacks and the reports.")

    def of(self, events: Events, plans: Sequence[Path], reports: int) -> list[Defence]:
        """Return the requested defences, and the plans."""
        defences = []
        for choice in self.defences.split(",") if self.defences else ():
            ladders = [_ladder(part.strip(), events, reports) for part in choice.split("+")]
            defences += list(starmap(combined, product(*ladders)))
        defences += [_of_plan(path, reports) for path in plans]
        if not defences:
            raise ParameterError("defence.none", argument="defences")
        return list({defence.name: defence for defence in defences}.values())

    @property
    def plans(self) -> list[Path]:
        """The plans among the defences."""
        parts = (part.strip() for part in self.defences.replace("+", ",").split(","))
        return [Path(part) for part in parts if part.endswith(PLANS)]


def _ladder(part: str, events: Events, reports: int) -> list[Defence]:
    """Return the alternative defences for one part of a combination."""
    kind, _, numbers = part.partition(":")
    column, equals, steps = part.partition("=")
    counted = {"first": first_events, "rare": without_rare}.get(kind)
    if counted is not None and all(map(_COUNT.fullmatch, numbers.split("/"))):
        return [counted(int(number)) for number in numbers.split("/")]
    if equals and len(events.event) > 1 and column != events.time:
        raise ParameterError("defence.two-columns", argument="defences", part=part)
    if equals and column in (*events.event, events.time):
        coarser = coarser_times if column == events.time else coarser_events
        return [coarser(column, Step(step)) for step in steps.split("/")]
    if part.endswith(PLANS):
        return [_of_plan(Path(part), reports)]
    raise ParameterError("defence.unknown", event=events.event[0], events=events.time or "-", part=part)


def _of_plan(path: Path, reports: int) -> Defence:
    document = load_plan(path)
    if document.is_personalized:
        raise ParameterError("defence.personalized-plan", path=path)
    each = f"{path}, {reports} reports each" if reports > 1 else str(path)
    return reported(each, document.mechanism(), reports)


@click.command("compare", cls=Subcommand, epilog="Example: discreet risk compare a.toml b.toml --users 1000")
@click.argument("plans", type=InputFile(), nargs=-1, metavar="PLAN...")
@click.option(
    "--users", type=Count(), cls=ConditionalOption, bars=_OF_PLANS, help="Among how many people.  [required for plans]"
)
@click.option("--reports", type=Count(), default=1, help="Reports of each user.")
@click.option(
    "--prior",
    cls=ConditionalOption,
    metavar="zipf:S|TABLE",
    bars=_OF_PLANS,
    help="How likely each user is to be the sender: the r-th like r^-S, or as the column weight of a table, a row per "
    "user. [all alike]",
)
@_Defences.options
@Events.options
@FAIL_ABOVE
@options.allow_outside
def compare_risks(
    plans: tuple[Path, ...],
    defences: _Defences,
    events: Events,
    *,
    users: int | None,
    reports: int,
    prior: str | None,
    fail_above: float | None,
) -> None:
    """Rank plans by identification risk.

    Errors stand beside the risks. With --traces, the defences of a table of events are ranked.

    These are fewer events, coarser events or times, and reports. The table has the success of attacks and the loss.
    """
    if defences.traces:
        if not plans and not defences.plans:
            refuse_idle(["reports", "allow_outside"], "there is no plan")
        risks = _compare_defences(plans, defences, events, reports, fail_above)
        _gate(risks, fail_above, "ways to release the traces")
        return
    refuse_idle(_EVENTS, "it goes with --traces")
    if not plans:
        raise ParameterError("compare.no-plans")
    if users is None:
        raise ParameterError("compare.without-users", argument="users")
    likely = None if prior is None else prior_of(prior, users)
    compared = [_PlanRisk.of(path, users, reports, likely) for path in plans]
    compared.sort(key=lambda row: (row.bounds.identification.value, row.worst_case_mse))
    first = compared[0].bounds
    beforehand = {"prior": prior, "guessed": first.guessed, "entropy_bits": first.entropy}
    record = {"users": users, "reports": reports, **beforehand, "plans": _plan_table(compared).records()}
    show(record, _plan_parts(compared))
    _gate([row.bounds.identification.value for row in compared], fail_above, "plans")


def _gate(risks: Sequence[float], fail_above: float | None, what: str) -> None:
    """Exit with 1 if one of the ascending risks exceeds the limit."""
    above = [value for value in risks if fail_above is not None and value > fail_above]
    if above:
        end_above(
            f"The identification risk is above {fail_above:g} under {len(above)} of {len(risks)} {what}, "
            f"{above[-1]:.4g} at most."
        )


def _compare_defences(
    plans: Sequence[Path], asked: _Defences, events: Events, reports: int, fail_above: float | None
) -> list[float]:
    """Compare the defences of traces; return their risks, ascending."""
    read = events.read(asked.traces, keep_labels=True)
    split, knowledge = split_of(read, events.split, least=events.least)
    defences = asked.of(events, plans, reports)
    random = SecureRandom() if asked.seed is None else SeededRandom(asked.seed)
    compared = compare_defences(split, defences, random=random)
    risks = [row.risk for row in compared.rows]
    limits = {"limit": fail_above, "within_the_limit": None if fail_above is None else [r <= fail_above for r in risks]}
    left_out = {"rows_left_out": read.left_out, "users_left_out": read.users - split.target.users}
    record: dict[str, Any] = built_ins(
        {
            "users": split.target.users,
            "attacker_knows": knowledge,
            "seed": asked.seed,
            **limits,
            **left_out,
            "defences": [asdict(row) for row in compared.rows],
            "in_words": compared.sentences,
            "evidence": evidence_of(asked.traces, [*plans, *asked.plans], read),
        }
    )
    first = [compared.answer(knowledge.partition(";")[0]), *left_out_of(read, split)]
    first += [f"{split.target!r}; the attacker knows {knowledge}"]
    show(record, [*first, compared.table(), *([] if asked.seed is not None else [VARIES])])
    return risks


def prior_of(text: str, users: int) -> FloatArray:
    """Return the ``(n,)`` prior probabilities of each user as the sender, from the text of ``--prior``."""
    kind, _, exponent = text.partition(":")
    if kind == "zipf":
        try:
            slope = float(exponent)
        except ValueError:
            slope = -1.0
        if not 0 <= slope < inf:
            raise ParameterError("prior.no-exponent", argument="prior", text=text)
        weights = np.arange(1.0, users + 1) ** -slope
    else:
        weights = reals(read_columns(text, lambda _: {"weight": NUMBERS}, ["weight"])["weight"], "weights")
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
            raise ParameterError("prior.wrong-weights", argument="prior", text=text)
    prior: FloatArray = weights / weights.sum()
    return prior


@dataclass(frozen=True, slots=True)
class _PlanRisk:
    """The risks and the error of a plan."""

    plan: Path
    mechanism: BlockMechanism
    bounds: Bounds
    worst_case_mse: float

    @classmethod
    def of(cls, path: Path, users: int, reports: int, prior: FloatArray | None) -> "_PlanRisk":
        """Return the risks of a plan from a file."""
        mechanism = load_plan(path).mechanism()
        bounds = identification_bounds(mechanism, users, reports=reports, prior=prior)
        return cls(path, mechanism, bounds, mechanism.decoder.worst_case_mse(users))


def _plan_table(risks: Sequence[_PlanRisk]) -> ResultTable:
    """Return the table of plans, by ascending identification risk."""
    first, column = risks[0].bounds, partial(ResultColumn.of, risks)
    each = f", {first.reports} reports each" if first.reports > 1 else ""
    columns = [
        column("plan", "plan", "plan", kind="text"),
        column("mechanism", "mechanism.name", "mechanism", kind="text"),
        column("identification", "bounds.identification", "identified <=", lambda bound: limit(bound.value)),
        column("pie", "bounds.pie", "PIE <= (bits)", lambda bound: limit(bound.value, first.entropy)),
        column("epsilon", "bounds.total_epsilon", "total epsilon", ".4g"),
        column("told_in_clear", "bounds.in_clear", "in clear", ".3g"),
        column("worst_case_mse", "worst_case_mse", "worst MSE", kind="error"),
        column("attribution_in_a_sealed_batch", "bounds.attribution"),
    ]
    return ResultTable(f"Smallest identification risk first; {first.users:,} users{each}", columns)


def _plan_parts(risks: Sequence[_PlanRisk]) -> Iterator[str | ResultTable]:
    """Yield the table of plans, by ascending identification risk, and the conditions on its figures."""
    first = risks[0].bounds
    yield (
        f"An attacker identifies at most {first.identification.value:.2%} of the {first.users:,} people on average "
        f"under {risks[0].plan}, the plan with the least risk."
    )
    yield _plan_table(risks)
    yield (
        "identified <=: bound on the probability of identifying the user, on average over users, for every adversary; "
        f"{first.guessed:.4g} without any report.\n"
        "The two risks differ: epsilon is about values, identification about users."
    )
    yield from (f"{row.plan}: {row.bounds.attribution}." for row in risks if row.bounds.attribution is not None)
    odds = odds_sentence(max(row.bounds.total_epsilon for row in risks))
    yield from filter(
        None, (conditions([row.bounds for row in risks]), f"At the largest epsilon: {odds}" if odds else "")
    )
