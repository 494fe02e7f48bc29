"""The verb ``obfuscate``, and tables of values: their columns, and secret values that become bots."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import PeopleColumns, allow_outside, load_plan_or_survey, option, progress_bar, refuse_idle
from discreet.cli.output import (
    SIMULATED_REPORTS,
    STANDARD,
    InputFile,
    OutputFile,
    OutputPlace,
    Table,
    left_out_sentences,
    sent,
    show,
)
from discreet.cli.readings import read_as_record, read_as_table
from discreet.core.domain import AS_READ
from discreet.engines import LocalEngine
from discreet.errors import DataError, ParameterError
from discreet.files.paths import REPORTS, spelled
from discreet.files.reading import Piped, piped_table
from discreet.formats.plan import Plan
from discreet.mechanisms.personalized import SimulatedTags
from discreet.surveys.documents import Questionnaire, question_files
from discreet.surveys.obfuscation import obfuscate_survey, survey_columns
from discreet.surveys.survey import Survey
from discreet.surveys.verbs.surveys import check_folder_name
from discreet.tables.values import Bots, ReadAs, ValueColumns, read_owned

_KEPT = (
    "Kept beside the reports in clear, protected by nothing: {}; many such columns together may make people "
    "recognisable."
)


@dataclass(frozen=True, slots=True)
class _Columns(PeopleColumns):
    """The columns of the table, and what becomes of rows without a known value."""

    missing: str = option(
        "--missing",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        show_default=True,
        help="Rows without a value (or a user): refuse the table, or leave them out and count them.",
    )
    unknown: str = option(
        "--unknown",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        show_default=True,
        help="Rows with a value that is not in the plan: the same.",
    )
    keep: tuple[str, ...] = option(
        "--keep",
        multiple=True,
        metavar="COLUMN",
        help="Public column to keep beside the reports (Parquet, Arrow), in clear. May be repeated.",
    )
    round: str | None = option(
        "--round", metavar="COLUMN", help="For surveys with rounds: column that says of which round a row is."
    )


TAG = "tag"
"""The column of a file of tags that holds the tag of a value."""


def value_columns(
    plan: Plan, people: PeopleColumns, *, missing: str = "refuse", keep: tuple[str, ...] = (), unknown: str = "refuse"
) -> ValueColumns:
    """Return the columns of a table of values.

    Raises:
        ParameterError: if users and tags are named and the plan is not personalized, or the other way round; if
            columns are to be kept and it is personalized.
    """
    if plan.is_personalized and keep:
        raise ParameterError("--keep does not go with personalized plans, whose bots belong to all groups.")
    if not plan.is_personalized and (people.user is not None or people.tags is not None):
        raise ParameterError("--user and --tags are for personalized plans; this one has no tags and no cells.")
    if plan.is_personalized and (people.user is None or people.tags is None):
        raise ParameterError(
            "this plan is personalized, so --user must say which column tells whose value it is, and --tags which "
            "file holds users' secret values; without them secrets would go in clear."
        )
    spec = plan.document.domain
    drop, known = missing == "drop", unknown == "drop"
    owned = plan.domain, people.column, people.user
    columns = ValueColumns(*owned, spec.missing, drop, keep, spec.cuts, known=known, as_read=people.as_read)
    checked_float32([columns := replace(columns, float32=people.float32)])
    return columns


def checked_float32(columns: Sequence[ValueColumns]) -> Sequence[ValueColumns]:
    """Return columns; the option --float32 is refused where none of them holds numbers.

    Raises:
        ParameterError: if so.
    """
    if not any(part.has_numbers for part in columns):
        refuse_idle(["float32"], "no column holds numbers in bins, in ranges or of a map")
    return columns


def secrets(plan: Plan, tags: Path | None, columns: ValueColumns) -> Bots | None:
    """Return the replacement of secret values in a file of tags; None if the plan has no bots.

    Raises:
        DataError, ParameterError: if the file's rows are no secrets under this plan; it names the file.
    """
    if tags is None or columns.user is None:
        return None
    personalized = plan.personalized()
    tag = TAG if personalized.cell_of is None else None
    values, users, marks = read_owned(tags, personalized.domain, columns.user, columns.column, tag)
    try:
        codes = personalized.domain.codes_of(values, as_read=columns.as_read)
        people = SimulatedTags(personalized, users, codes, marks)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{tags}: {str(error).replace(AS_READ, '--as-read')}") from None
    return lambda codes, users: people.replaced(personalized, codes, users)


def value_source(values: str | Path) -> str | Path | Piped:
    """Return the source of a table of values; - is standard input, whose form is noted on the error stream."""
    if str(values) != "-":
        return values
    piped = piped_table()
    click.echo(f"Standard input is read as {'CSV' if piped.suffix == '.csv' else 'JSON lines'}.", err=True)
    return piped


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("values", type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("reports", REPORTS, piped=True, folders=True),
    help=f"Reports: {spelled(REPORTS)}; - for JSON lines on standard output. Of a survey a folder.",
)
@_Columns.options
@options.seed
@options.force
@allow_outside
def obfuscate(plan: Path, values: Path, table: _Columns, *, output: Path, seed: int | None, force: bool) -> None:
    """Obfuscate a table of values under PLAN: one report per row, in order.

    Under a survey each row is a person, who answers the questions that are drawn; there is a file for each question.

    VALUES is a table, here or at a URL, or - for CSV or JSON lines on standard input.

    Columns that are kept serve for --by and --weights of discreet estimate. They are public: nothing protects them, and
    whoever keeps many of them may make people recognisable.

    Under a personalized plan this is a simulation: on real devices nobody holds a table of everybody's secrets.
    """
    document = load_plan_or_survey(plan)
    if isinstance(document, Questionnaire):
        _obfuscate_survey(document, values, table, output, seed=seed, force=force)
        return
    if "#" in plan.name and not plan.exists():
        raise ParameterError(
            "each person's questions are drawn, and answering them one by one would cost more than epsilon; name the "
            f"survey, {str(plan).rpartition('#')[0]}."
        )
    refuse_idle(["round"], "it is for surveys with rounds")
    mechanism = document.mechanism()
    columns = value_columns(document, table, missing=table.missing, keep=table.keep, unknown=table.unknown)
    with progress_bar("obfuscating") as progress, sent(output, ".jsonl") as target:
        written = LocalEngine().obfuscate(
            mechanism,
            value_source(values),
            target,
            replace(columns, bots=secrets(document, table.tags, columns)),
            seed=seed,
            force=force,
            progress=partial(progress, "obfuscating"),
        )
    result = {
        "reports": written.reports,
        "output": output,
        "plan": mechanism.fingerprint,
        "simulated": written.simulated,
    }
    where = "standard output" if output == STANDARD else output
    result |= {"kept": list(table.keep)} if table.keep else {}
    result |= read_as_record(written.read_as)
    sentences: list[str | Table] = [
        *left_out_sentences(written.left_out),
        *read_as_table(written.read_as),
        f"{written.reports:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.",
        str(document.maker.guarantee),
        *([_KEPT.format(", ".join(map(repr, table.keep)))] if table.keep else []),
        *([SIMULATED_REPORTS] if written.simulated else []),
    ]
    show(result | ({"left_out": written.left_out} if written.left_out else {}), sentences)


def _columns_of_rounds(survey: Survey, table: _Columns) -> tuple[str, str] | None:
    """Return the columns of people and of rounds; None where a survey asks once."""
    if survey.rounds is None:
        refuse_idle(["user", "round"], "this survey has no rounds")
        return None
    if table.user is None or table.round is None:
        raise ParameterError(
            "this survey asks in rounds, and all of them are obfuscated together: name the columns that say whose row "
            "it is (--user) and of which round (--round)."
        )
    return table.user, table.round


def _obfuscate_survey(
    document: Questionnaire, values: Path, table: _Columns, output: Path, *, seed: int | None, force: bool
) -> None:
    """Write a file of reports for each question, and print how many people answered it."""
    survey = document.survey()
    rounds = _columns_of_rounds(survey, table)
    refuse_idle(["column", "tags"], "a survey names its columns itself")
    refuse_idle(
        ["missing", "unknown"],
        "who is left out would depend on the answer; give the attribute a label for values without one (missing)",
    )
    check_folder_name(output, OutputPlace("reports", REPORTS))
    read_as = ReadAs()
    asked = survey_columns(document, (*table.keep, *(rounds or ())), as_read=table.as_read, float32=table.float32)
    with progress_bar("obfuscating") as progress:
        written = obfuscate_survey(
            survey,
            value_source(values),
            output,
            checked_float32(asked),
            rounds=rounds,
            seed=seed,
            force=force,
            progress=partial(progress, "obfuscating"),
            read_as=read_as,
        )
    people = sum(written.values()) // survey.answers
    counted = {"people" if rounds is None else "answers": people, "reports": written}
    result = {**counted, "output": output, "plan": survey.fingerprint}
    cells = [[name, file, f"{written[name]:,}"] for name, file in question_files(written).items()]
    whose = "people" if rounds is None else "people and rounds"
    title = f"{people:,} {whose}, {survey.answers} of {len(written)} questions each"
    sentences: list[str | Table] = [
        *read_as_table(read_as),
        f"Reports of survey {survey.fingerprint[:12]} written to {output}.",
        str(survey.guarantee),
        "This is for once: whoever obfuscates the same people again adds up epsilon.",
        *([_KEPT.format(", ".join(map(repr, table.keep)))] if table.keep else []),
        *([SIMULATED_REPORTS] if seed is not None else []),
    ]
    listed = Table(title, ["question", "file", "reports"], cells, left=2)
    result |= {"simulated": seed is not None, "kept": list(table.keep), **read_as_record(read_as)}
    show(result, [listed, *sentences])
