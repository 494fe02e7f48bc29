"""The commands ``survey init`` and ``survey plan``."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import Count, OptionGroup, allow_outside, force, option
from discreet.cli.output import InputFile, OutputFile, alike_in
from discreet.cli.proposing import (
    Labels,
    Promise,
    Proposal,
    ScannedTable,
    check_complete,
    proposal_facts,
    show_proposal,
)
from discreet.cli.results import CommandResult
from discreet.cli.verbs.plan import ReportLimits
from discreet.core.guarantee import rounded_up
from discreet.core.result_table import ResultColumn, ResultTable, number_of
from discreet.files.paths import PLANS, any_of
from discreet.formats.domains import DomainSpec
from discreet.surveys.documents import AskSpec, Questionnaire, SurveyDocument
from discreet.surveys.planning import plan_survey
from discreet.surveys.schedules import SHOWN_ROUNDS, SurveySchedule, survey_schedules
from discreet.surveys.verbs.together import SURVEY, load_survey
from discreet.tables.spellings import SAME
from discreet.theory.memo import CHANGES_ARE_VISIBLE

_NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class _Questions(OptionGroup):
    """The option ``--question`` of ``survey init``."""

    questions: tuple[str, ...] = option(
        "--question",
        multiple=True,
        metavar="COLUMN[,COLUMN]",
        help="A question about one column, or about combinations of columns. Repeat it for each question.",
    )

    @property
    def tables(self) -> list[list[str]]:
        """The names of the columns of each question."""
        return [[name.strip() for name in question.split(",")] for question in self.questions]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns in the questions."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table))


@click.command(
    cls=Subcommand,
    epilog="Example: discreet survey init people.csv --question age --question sex,diagnosis --sensitive "
    "diagnosis=diabetes --epsilon 1 -o survey.toml",
)
@click.argument("tables", nargs=-1, required=True, type=InputFile(urls=True), metavar="TABLE...")
@_Questions.options
@Labels.options
@Promise.options
@click.option("--title", default="", help="Title of the survey. People read it.")
@click.option("-o", "--output", type=OutputFile("plans", PLANS), help=f"File: {any_of(PLANS)}. [standard output]")
@force
def init(
    tables: tuple[str | Path, ...],
    asked: _Questions,
    labels: Labels,
    promise: Promise,
    *,
    title: str,
    output: Path | None,
    force: bool,
) -> None:
    """Propose a survey about columns of TABLE.

    The survey lists the labels, marks the sensitive ones, and has the questions that each person answers.

    Without --question, the command lists the columns. Each person answers some of the questions, which are drawn.
    Epsilon is for all answers of a person together. At a terminal the command asks for missing options. Without -o, it
    prints the survey on standard output.

    A survey is public. Labels are read from the table if enough rows have them. Columns in which most values differ,
    such as names, are refused. With --labels or --cuts, the survey contains nothing of the table.
    """
    table = ScannedTable.of(tables, asked.names, labels)
    unnamed = "" if asked.names else "Name each question by its column, or by several with commas, with --question."
    check_complete(unnamed, promise, asking=table.rules.asking and bool(asked.names))
    proposal = table.proposal(asked.names, promise)
    document, heading = _planned(proposal, asked.tables, title)
    if output is not None:
        document.save(output, force=force)
    where = f" written to {output}." if output else "."
    words, named = proposal.sensitive.sentences_and_record(proposal.labels, document.attributes)
    missing = f"they count as {_NO_ANSWER!r} in the survey, or are refused if the labels are numbers"
    sentences = [heading[0] + where, *heading[1:], *words, *proposal.sentences(missing)]
    sizes = {"questions": len(document.document.question)}
    facts = proposal_facts(document.fingerprint, document.fields(), sizes, proposal.columns, output)
    show_proposal(document.text, facts | named, sentences, _next(tables, proposal, output, labels.repeated))


def _planned(proposal: Proposal, tables: list[list[str]], title: str) -> tuple[Questionnaire, list[str]]:
    """Return the proposed survey and sentences on it. Rows without a value get the label "no answer"."""
    sensitive, epsilon = proposal.sensitive, proposal.epsilon
    specs = {}
    for name, column in proposal.columns.items():
        labels, missing = [*column.labels.labels], None
        if column.labels.missing and all(isinstance(label, str) for label in labels):
            missing = _NO_ANSWER
            same = SAME[sensitive.join]
            labels = [*(label for label in labels if same(str(label)) != same(missing)), missing]
        marks = sensitive.among(name, labels)
        about: dict[str, Any] = {"allow_unprotected": marks == [], "exact": sensitive.join == "exact"}
        specs[name] = DomainSpec(labels, sensitive=marks, missing=missing, cuts=column.cuts, **about)
    questionnaire = Questionnaire(SurveyDocument(2, epsilon, specs, "record", title, AskSpec(tables)))
    plan = plan_survey(questionnaire.attributes, **questionnaire.asked)
    survey = plan.survey
    head = (
        f"{len(survey.questions)} questions; each person answers {survey.answers}, with epsilon {epsilon:g} for all "
        f"answers; plan {survey.fingerprint[:12]}"
    )
    return questionnaire.asking(survey), [head, plan.reason, str(survey.guarantee)]


def _next(tables: Sequence[str | Path], proposal: Proposal, output: Path | None, table_options: str) -> list[str]:
    """Return the next commands, from the survey to its estimates; ``table_options`` are for the table's cells."""
    table = shlex.quote(str(tables[0])) if len(tables) == 1 else "TABLE"
    read = "--as-read " if any(column.labels.read_rows for column in proposal.columns.values()) else ""
    survey = shlex.quote(str(output))
    return [
        "Next:",
        f"  discreet survey obfuscate {survey} {table} {table_options}{read}-o reports",
        f"  discreet survey estimate {survey} reports",
    ]


_OUTPUT = click.option("-o", "--output", type=OutputFile("plans", PLANS), help=f"File for the survey: {any_of(PLANS)}.")


@click.command(cls=Subcommand, epilog="Example: discreet survey plan survey.toml --users 100000 -o planned.toml")
@SURVEY
@click.option("--users", required=True, type=Count(), help="Number of people.")
@click.option("--epsilon", type=float, help="Promised epsilon, in nats. [the survey's]")
@click.option(
    "--rounds", type=Count(2), help="Compare schedules of this many rounds. Epsilon is for all rounds. [the survey's]"
)
@ReportLimits.options
@_OUTPUT
@force
@allow_outside
def plan(
    survey: Path,
    limits: ReportLimits,
    *,
    users: int,
    epsilon: float | None,
    rounds: int | None,
    output: Path | None,
    force: bool,
) -> None:
    """Plan the questions of SURVEY, and who answers them.

    The plan has the mechanism of each question, and how many questions each person answers.

    SURVEY lists attributes and the tables that you want to estimate. One epsilon is for all answers of a person. The
    planned survey has the smallest error. The errors of other ways to ask are printed too.
    """
    document = load_survey(survey)
    asked = document.asked if epsilon is None else {**document.asked, "epsilon": epsilon}
    planned = plan_survey(document.attributes, users=users, **asked, **limits.given())
    if output is not None:
        document.asking(planned.survey).save(output, force=force)
    guarantee = planned.survey.guarantee
    record = {
        "plan": planned.survey.fingerprint,
        "answers": planned.survey.answers,
        "record_epsilon": guarantee.record,
        "attribute_epsilons": guarantee.attributes,
        "questions": planned.table().records(),
        "options": [asdict(option) for option in planned.options],
    }
    ways: list[str | ResultTable] = []
    if number := rounds or (document.document.rounds and document.document.rounds.number):
        asked.pop("rounds")
        again = survey_schedules(document.attributes, number=number, users=users, **asked, **limits.given())
        listed = _schedules_table(again)
        record["rounds"] = listed.records()
        ways = [listed, _WAYS, *([] if document.document.rounds is not None else [CHANGES_ARE_VISIBLE])]
    alike, named = alike_in({question.name: question.mechanism.domain for question in planned.survey.questions})
    parts = [planned.view(), *ways, *alike]
    CommandResult(lambda: record | named, parts).show(output)


_WAYS = (
    "fresh: new reports in every round. rotate: each person answers in some rounds only, drawn beforehand. memo: "
    "permanent reports; with a second coin, noise replaces them in some rounds. 1 round, ..., all: largest epsilon of "
    "one person's reports after these rounds. error: summed squared error of one round, relative to asking once with "
    "all of epsilon. The mean over all rounds of a memo is no better than one round without a second coin. bits: log2 "
    "of the largest number of blocks of a question. With many blocks, equal reports of a memo in several rounds "
    "reveal that one person sent them."
)


def _schedules_table(options: Sequence[SurveySchedule]) -> ResultTable:
    """Return a table of the schedules in several rounds, with their errors and epsilons."""

    def name(option: SurveySchedule) -> str:
        rounds = option.rounds
        often = f", {number_of(rounds.answers, 'round')} each" * (rounds.how == "rotate")
        coin = "" if rounds.first is None else f", second coin, first {rounds.first:g}"
        return f"{rounds.how}{often}{coin}"

    ends = [number_of(rounds, "round") for rounds in SHOWN_ROUNDS]
    curve = [partial(lambda place, option: rounded_up(option.epsilons[place]), place) for place in range(len(ends) + 1)]
    column = partial(ResultColumn.of, options)
    columns = [
        column("", name, "schedule", kind="text"),
        column("how", "rounds.how"),
        column("first", "rounds.first"),
        column("answers", "rounds.answered"),
        column("epsilon_of_1_2_3_all_rounds", "epsilons"),
        *(column("", each, heading) for each, heading in zip(curve, [*ends, "all"], strict=True)),
        column("error_in_units_of_one_survey", "error", "error", ".3g"),
        column("block_bits", "block_bits", "bits", ".3g"),
        column("", lambda option: "no" if option.rounds.is_permanent else "yes", "hides changes"),
    ]
    title = f"Schedules of {options[0].rounds.number:,} rounds; error of one round, relative to asking once"
    return ResultTable(title, columns)
