"""The verbs ``risk``: the identification risk of traces, of reports, of a matcher's scores, and of plans."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click

from discreet.cli import options
from discreet.cli.commands import SubcommandGroup
from discreet.cli.options import (
    Count,
    OptionGroup,
    WriteOptions,
    load_plan,
    option,
    progress_bar,
)
from discreet.cli.output import (
    InputFile,
    OutputFile,
    OutputFolder,
    built_ins,
    prints_json,
    record_of,
    save_table,
    show,
    written,
)
from discreet.core.checks import checked_choice
from discreet.core.domain import Domain
from discreet.core.random import SecureRandom, SeededRandom
from discreet.core.result_table import ResultTable, number_of
from discreet.errors import ParameterError
from discreet.files.writing import replacing
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism
from discreet.risk.assessment import Assessment, TraceAssessment, assess
from discreet.risk.attacks.traces import ALL, ATTACKS, JOINTLY, named_attacks
from discreet.risk.linkage import link
from discreet.risk.pages import measured, write_page
from discreet.risk.scores.biometric import Biometric, biometric
from discreet.risk.scores.tables import read_scores
from discreet.risk.traces import Split, Traces, split_of
from discreet.risk.verbs.classes import risk_of_reports
from discreet.risk.verbs.defences import compare_risks
from discreet.risk.verbs.events import ARGUMENTS, VARIES, Events, evidence_of, left_out_of
from discreet.risk.verbs.gates import FAIL_ABOVE, end_above
from discreet.risk.verbs.linkage import KnownTable, linkage_parts, linkage_record
from discreet.risk.verbs.plan import plan_for_risk

_TRACES = "traces"
_WORSE_THAN_CHANCE = 0.5
_AS_THEY_ARE = "events are published as they are."
_OWN = "uses a function of one's own"


class _RiskGroup(SubcommandGroup):
    """A group of verbs, where the first verb is the default."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without a verb they belong to ``traces``."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [_TRACES, *args]
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def _function_of(name: str) -> Any:
    """Return the function that the text MODULE:FUNCTION names. Modules of the current folder are found too.

    Raises:
        ParameterError: if there is no such function.
    """
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        function = None
    finally:
        sys.path.pop(0)
    if not callable(function):
        raise ParameterError("attack.no-function", argument="attack", name=name)
    return function


@click.group(cls=_RiskGroup)
def risk() -> None:
    """Assess how surely people can be identified.

    It reads traces, reports, plans, or scores of a matcher.

    `discreet risk TABLE...` is `discreet risk traces TABLE...`; write ./traces for a table of that name.
    """


risk.add_command(risk_of_reports)
risk.add_command(compare_risks)
risk.add_command(plan_for_risk)


@dataclass(frozen=True, slots=True)
class _Attack(OptionGroup):
    """The attack, and the mechanism of the reports to attack."""

    attack: tuple[str, ...] = option(
        "--attack",
        multiple=True,
        metavar="ATTACK",
        bars={"plan epsilon": "{} is for events as they are; reports are attacked by their likelihood."},
        help=f"Only some attacks on traces: {', '.join(ATTACKS)}. MODULE:FUNCTION is tried beside all. [all]",
    )
    alone: bool = option(
        "--alone",
        is_flag=True,
        bars={"plan epsilon": "{} is for events as they are; reports are attacked one user at a time."},
        help="A user may have several traces: no attack on all of them at once.",
    )
    plan: Path | None = option(
        "--plan", type=InputFile(), help="Plan by which events are obfuscated before they are published."
    )
    epsilon: float | None = option(
        "--epsilon",
        type=float,
        bars={"plan": "{} follows from --plan; give one of the two."},
        help="Instead of a plan: epsilon of a mechanism over the events of the table.",
    )
    mechanism: str = option(
        "--mechanism",
        default="rr",
        needs={"epsilon": f"{{}} goes with --epsilon; without it {_AS_THEY_ARE}"},
        help="Which one, with --epsilon.",
    )
    reports: int = option(
        "--reports",
        type=Count(),
        default=1,
        needs={"plan epsilon": f"{{}} goes with --plan or --epsilon; without them {_AS_THEY_ARE}"},
        help="Reports of each user, with a mechanism.",
    )
    largest_list: int = option("--list", type=Count(1), default=10, help="Longest list of guesses.")

    def chosen(self, *, gated: bool) -> dict[str, Any]:
        """Return the arguments of an assessment; a gate refuses an attack that would take the place of all others."""
        attacks = [_function_of(name) if ":" in name else name for name in self.attack]
        if gated and (named := named_attacks(attacks)):
            raise ParameterError("attack.one-of-many", argument="attack", attack=named[0])
        about = {"alone": self.alone, "reports": self.reports, "largest_list": self.largest_list}
        return {"attack": attacks or ALL, **about}

    def of_plan(self) -> tuple[BlockMechanism | None, Domain | None]:
        """Return the mechanism and the domain of the plan, if there is one."""
        if self.plan is None:
            return None, None
        document = load_plan(self.plan)
        if document.is_personalized:
            raise ParameterError("plan.personalized")
        mechanism = document.mechanism()
        return mechanism, mechanism.domain

    def of_epsilon(self, events: int) -> BlockMechanism | None:
        """Return the mechanism over the given number of events, if an epsilon is given."""
        if self.epsilon is None:
            return None
        known = [known for known, kind in BLOCK_MECHANISMS.items() if not kind.needs_options()]
        name = checked_choice("mechanism", self.mechanism, known)
        return BLOCK_MECHANISMS[name](Domain(range(events)), self.epsilon)


_FOR_ALL_ALIKE = {
    "plan epsilon": "{} is for events as they are; reports are bounded for all users alike.",
    "known": "{} does not go with --known.",
}


@dataclass(frozen=True, slots=True)
class _Pages(WriteOptions):
    """The pages, and a file of users by name."""

    output: Path | None = option(
        "-o", "--output", type=OutputFolder("risk.html", "risk.json"), help="Folder for risk.html and risk.json."
    )
    per_user: Path | None = option(
        "--per-user",
        type=OutputFile("figures of each user", (".csv", ".parquet")),
        bars=_FOR_ALL_ALIKE,
        help="Users by name, with rank and margin: a .csv or .parquet, mode 0600.",
    )

    @contextmanager
    def naming(self, assessment: Assessment, names: Any) -> Iterator[list[Path]]:
        """Write the file of users by name after the body; yield the list of such files."""
        if self.per_user is None or not isinstance(assessment, TraceAssessment):
            yield []
            return
        table = assessment.per_user()
        named = table.set_column(0, "user", names.take(table["user"]))
        with replacing(self.per_user, force=self.force, private=True) as beside:
            save_table(lambda: named, dict, beside)
            yield [self.per_user]


@risk.command(_TRACES, epilog="Example: discreet risk traces checkins.csv --event place --time day --time-unit d")
@click.argument("tables", type=InputFile(urls=True), nargs=-1, required=True, metavar="TABLE...")
@Events.options
@_Attack.options
@KnownTable.options
@FAIL_ABOVE
@_Pages.options
@options.seed
@options.outside(needs={"plan": "{} goes with --plan; leave it out."})
def traces(
    tables: tuple[str | Path, ...],
    events: Events,
    how: _Attack,
    aux: KnownTable,
    out: _Pages,
    *,
    fail_above: float | None,
    seed: int | None,
) -> None:
    """Attack traces, or reports of them, and bound every attack.

    With --plan or --epsilon the attack sees reports; otherwise it sees the traces.

    TABLE has a row per event: user, event and perhaps time; several files, and folders of them, here or at URLs, are
    one table. The result compares the strongest attack with bounds for every attack. With --known
    the tables are a release, and some of its users are known.
    """
    random, linkage = SecureRandom() if seed is None else SeededRandom(seed), None
    mechanism, domain = how.of_plan()
    chosen = how.chosen(gated=fail_above is not None)
    if aux.known is None:
        read = events.read(tables, domain, keep_labels=True)
        parts, knowledge = split_of(read, events.split, least=events.least)
    else:
        parts = aux.read(tables, events, domain)
        read, knowledge = parts.target, "the known table"
    mechanism = mechanism or how.of_epsilon(parts.target.event_count)
    with progress_bar("comparing every trace with every user"):
        if aux.known is None:
            assessment = assess(parts, mechanism=mechanism, random=random, **chosen)
        else:
            linkage = link(parts, mechanism=mechanism, random=random, **chosen)
            assessment = linkage.assessment
    record = _assessment_record(assessment, parts, knowledge, read) | {"seed": seed, "limit": fail_above}
    # Attacks that are chosen by name have no risk, and a gate refuses them.
    exceeds = fail_above is not None and (assessment.risk is None or assessment.risk > fail_above)
    record["verdict"] = None if fail_above is None else ("within the limit", "above the limit")[exceeds]
    record["conditions"] = _conditions(assessment, record)
    if linkage is not None:
        record |= linkage_record(linkage, parts)
    if prints_json() or out.output is not None:
        record["evidence"] = evidence_of(tables, filter(None, [how.plan]), read)
    with out.naming(assessment, parts.target.names) as files:
        if out.output is not None:
            files.extend(write_page(assessment, knowledge, record, out.output, force=out.force))
    lines = [
        *_assessment_parts(assessment, parts, knowledge, read),
        *([] if linkage is None else linkage_parts(linkage, parts)),
        *written(*files),
        *([] if seed is not None else [VARIES]),
    ]
    show(record | {"files": files}, lines)
    if exceeds:
        risk = f"{assessment.risk:.4g}{assessment.risk_note}"
        end_above(f"The identification risk, {risk}, is above {fail_above:g}.")


_ASSESSMENT: dict[str, Any] = {
    "attack": "attack",
    "level": "level",
    "success": "success",
    "risk": "risk",
    "list": "largest_list",
    "success_of_list": "listed",
    "singled_out": "singled_out",
    "pie_at_least_bits": "certified",
    "lower_bounds": lambda assessment: (assessment.pse.certified, assessment.rank_pse),
    "divergence_of_the_paper": "pse.paper",
    "equal_error_rate": "det.equal_error_rate",
    "consistent": "consistent",
    "in_words": "sentences",
}
"""The figures of an assessment, for programs."""

_OF_TRACES: dict[str, Any] = {
    "attacks_tried": "tried",
    "attacker": lambda assessment: ATTACKS[assessment.attack].words if assessment.attack in ATTACKS else _OWN,
    "traces_of_which_nothing_was_learned": "unlearned",
    "hours_not_used": "clock",
    "uniqueness": "unique",
    "traces_that_differ_at_most": "unique.limit",
}
_OF_REPORTS: dict[str, Any] = {
    "reports": "reports",
    "pie_at_most_bits": "alpha",
    "list_at_most": "list_bound",
    "identification_at_most": "bounds.identification",
    "all_bounds": lambda assessment: (*assessment.bounds.pies, *assessment.bounds.identifications),
    "epsilon_together": "bounds.total_epsilon",
    "attribution_in_a_sealed_batch": "bounds.attribution",
}


def _assessment_record(assessment: Assessment, split: Split, knowledge: str, read: Traces) -> dict[str, Any]:
    target, kinds = split.target, (_OF_TRACES, _OF_REPORTS)
    facts, others = kinds if assessment.bounds is None else kinds[::-1]
    record: dict[str, Any] = built_ins(
        {
            "users": assessment.users,
            "events": target.events.size,
            "different_events": target.event_count,
            "attacker_knows": knowledge,
            **record_of(assessment, _ASSESSMENT),
            **record_of(assessment, facts),
            **dict.fromkeys(others),
            "rows_left_out": read.left_out,
            "users_left_out": read.users - target.users,
        }
    )
    return record


def _conditions(assessment: Assessment, record: Mapping[str, Any]) -> list[str]:
    """Return the conditions on the figures as sentences."""
    sentences = [f"The attacker knows {record['attacker_knows']}."]
    if assessment.bounds is None:
        sentences += [f"The attacker {record['attacker']}. The figures do not bound other attacks."]
        if any(attempt.attack == JOINTLY for attempt in assessment.tried):
            sentences += ["This assumes that each user has one of the traces; --alone does not."]
    else:
        sentences += ["The bounds hold for every attack, on average over users."]
        sentences += filter(None, (assessment.bounds.attribution_sentence, assessment.bounds.condition_sentence))
    sentences += [f"Intervals hold with confidence {assessment.level:.0%}, for users like these."]
    for what, reason in (("row", "with a missing entry"), ("user", "with too few events")):
        if count := record[f"{what}s_left_out"]:
            sentences += [f"The figures do not cover what is left out: {number_of(count, what)} {reason}."]
    return sentences


def _assessment_parts(
    assessment: Assessment, split: Split, knowledge: str, read: Traces
) -> Iterator[str | ResultTable]:
    """Yield the attack, the table of measured and bounding numbers, and the sentences."""
    first = assessment.answer(knowledge.partition(";")[0])
    yield from (first if sentence == assessment.answer() else sentence for sentence in assessment.headline)
    yield from left_out_of(read, split)
    yield f"{split.target!r}; the attacker knows {knowledge}"
    yield measured(assessment, "Success of the attack, and the limit for every attack")
    yield from assessment.remarks
    if assessment.bounds is not None:
        yield from filter(None, (assessment.bounds.attribution_sentence, assessment.bounds.condition_sentence))
    if not assessment.consistent:
        yield "A measured figure exceeds its bound. Do not use these numbers, and please report this."


@dataclass(frozen=True, slots=True)
class _Scores(OptionGroup):
    """The columns of the table of scores, and options for reading them."""

    score: str = option("--score", required=True, help="Column of scores.")
    probe: str = option("--probe", default="row", help="Column that says whose probe it is.")
    template: str = option("--template", default="col", help="Column that says whose template it is.")
    distance: bool = option("--distance", is_flag=True, help="A lower number means more alike.")
    failed: float | None = option("--failed", type=float, help="What stands for no score, such as -1.")


@risk.command(epilog="Example: discreet risk scores scores.csv --score score")
@click.argument("table", type=InputFile(urls=True))
@_Scores.options
@FAIL_ABOVE
@options.seed
def scores(table: str | Path, columns: _Scores, *, fail_above: float | None, seed: int | None) -> None:
    """Measure a matcher by its scores.

    TABLE has a row for each pair of a probe and a template.
    """
    score, failed = columns.score, columns.failed
    matrix = read_scores(table, score, probe=columns.probe, template=columns.template, failed=failed)
    matcher = biometric(
        {score: matrix},
        distances=columns.distance,
        failed=failed,
        random=SecureRandom() if seed is None else SeededRandom(seed),
    )[score]
    show(_matcher_record(matcher), [str(matcher)])
    if matcher.det.equal_error_rate > _WORSE_THAN_CHANCE:
        way = "leave out --distance" if columns.distance else "pass --distance"
        click.echo(
            f"Note: genuine pairs are less similar than impostor pairs. If the scores are reversed, {way}.", err=True
        )
    success = matcher.ranks.rates[0]
    blind = success.low <= 1 / matcher.users
    if fail_above is not None and (blind or success.high > fail_above):
        end_above(
            f"Nothing was learned: these scores are not shown to identify more of {matcher.users:,} users than "
            f"guessing would. So the risk may be above {fail_above:g}."
            if blind
            else f"The upper limit of the measured probability of identification is {success.high:.4g}, above "
            f"{fail_above:g}."
        )


def _matcher_record(matcher: Biometric) -> dict[str, Any]:
    bits = matcher.bse.certified, matcher.bse.info_nce, matcher.bse.paper
    return {
        "users": matcher.users,
        "dropped": matcher.dropped,
        "success": matcher.ranks.rates[0],
        "bse_at_least_bits": matcher.bse.best.certified,
        "bse": {figure.name: figure for figure in bits if figure},
        "equal_error_rate": matcher.det.equal_error_rate,
        "in_words": str(matcher),
    }
