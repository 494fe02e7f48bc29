"""The command ``obfuscate``, the columns of a table of values, and the replacement of secrets by placeholders."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import PeopleColumns, allow_outside, load_plan, option, progress_bar, refuse_idle
from discreet.cli.output import (
    SIMULATED_REPORTS,
    STANDARD,
    InputFile,
    OutputFile,
    left_out_sentences,
    read_as_record,
    read_as_table,
    sent,
    show,
)
from discreet.core.result_table import ResultTable
from discreet.engines.obfuscation import obfuscate as obfuscated
from discreet.errors import DataError, ParameterError
from discreet.files.paths import REPORTS, any_of
from discreet.files.reading import PipedTable, piped_table
from discreet.formats.plan import Plan
from discreet.mechanisms.personalized import SimulatedTags
from discreet.tables.values import Placeholders, ValueColumns, read_owned

KEEP: dict[str, Any] = {
    "multiple": True,
    "metavar": "COLUMN",
    "help": "Public column to write beside the reports in clear (Parquet, Arrow). May be repeated.",
}
"""The option ``--keep`` of a verb that obfuscates a table."""
_KEPT = "Kept in clear beside the reports, without protection: {}. Many such columns together can identify people."


@dataclass(frozen=True, slots=True)
class _Columns(PeopleColumns):
    """Options for the columns of the table, and for rows without a valid value."""

    missing: str = option(
        "--missing",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        help="Rows without a value (or a user): refuse the table, or leave them out and count them.",
    )
    unknown: str = option(
        "--unknown",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        help="Rows with a value that is not in the plan: refuse the table, or leave them out and count them.",
    )
    keep: tuple[str, ...] = option("--keep", **KEEP)


TAG = "tag"
"""The column of a file of tags that holds the tag of a value."""


def value_columns(
    plan: Plan, people: PeopleColumns, *, missing: str = "refuse", keep: tuple[str, ...] = (), unknown: str = "refuse"
) -> ValueColumns:
    """Return the columns to read from a table of values.

    Raises:
        ParameterError: if users and tags are named and the plan is not personalized, or not named and it is
            personalized; if columns are kept under a personalized plan.
    """
    if plan.is_personalized and keep:
        raise ParameterError("keep.personalized")
    if not plan.is_personalized and (people.user is not None or people.tags is not None):
        raise ParameterError("tags.not-personalized")
    if plan.is_personalized and (people.user is None or people.tags is None):
        raise ParameterError("tags.missing")
    spec = plan.document.domain
    owned = plan.domain, people.column, people.user
    columns = ValueColumns(*owned, spec.missing, missing, keep, spec.cuts, unknown, as_read=people.as_read)
    checked_float32([columns := replace(columns, float32=people.float32, spelling=people.spelling)])
    return columns


def checked_float32(columns: Sequence[ValueColumns]) -> Sequence[ValueColumns]:
    """Return the columns, or raise an error if ``--float32`` was given and no column is numeric.

    Raises:
        ParameterError: if no column is numeric and the option was given.
    """
    if not any(part.has_numbers for part in columns):
        refuse_idle(["float32"], "it is for columns of numbers, and this domain has none")
    return columns


def secrets(plan: Plan, tags: Path | None, columns: ValueColumns) -> Placeholders | None:
    """Return a function that replaces secret values by placeholders; None if the plan has no placeholders.

    Raises:
        DataError, ParameterError: if a row of the file is not a secret under this plan; the error names the file.
    """
    if tags is None or columns.user is None:
        return None
    personalized = plan.personalized()
    tag = TAG if personalized.cell_of is None else None
    values, users, marks = read_owned(tags, personalized.domain, columns.user, columns.column, tag)
    try:
        codes = personalized.domain.encode(values, as_read=columns.as_read)
        people = SimulatedTags(personalized, users, codes, marks)
    except (DataError, ParameterError) as error:
        raise error.at(tags) from None
    return lambda codes, users: people.replaced(personalized, codes, users)


def kept_sentences(keep: tuple[str, ...]) -> list[str]:
    """Return a sentence on the public columns kept beside the reports; an empty list if there are none."""
    return [_KEPT.format(", ".join(map(repr, keep)))] if keep else []


def value_source(values: str | Path) -> str | Path | PipedTable:
    """Return the table of values to read. ``-`` is standard input, and its format is noted on the error stream."""
    if str(values) != "-":
        return values
    piped = piped_table()
    click.echo(f"Standard input is read as {'CSV' if piped.suffix == '.csv' else 'JSON lines'}.", err=True)
    return piped


@click.command(
    cls=Subcommand, epilog="Example: discreet obfuscate plan.toml people.csv --column diagnosis -o reports.parquet"
)
@click.argument("plan", type=InputFile())
@click.argument("values", type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("reports", REPORTS, piped=True),
    help=f"File for the reports: {any_of(REPORTS)}; - for JSON lines on standard output.",
)
@_Columns.options
@options.seed
@options.force
@allow_outside
def obfuscate(plan: Path, values: Path, table: _Columns, *, output: Path, seed: int | None, force: bool) -> None:
    """Obfuscate a table of values under PLAN: one report per row.

    Reports are in the order of the rows.

    VALUES is a table, on this machine or at a URL. - reads CSV or JSON lines from standard input.

    Columns of --keep are for --by and --weights of discreet estimate. They are public and not protected. Many of them
    together can identify people.

    With a personalized plan this is a simulation, because in a real collection nobody has a table of all secret values.
    """
    document = load_plan(plan)
    mechanism = document.mechanism()
    columns = value_columns(document, table, missing=table.missing, keep=table.keep, unknown=table.unknown)
    with progress_bar("obfuscating") as progress, sent(output, ".jsonl") as target:
        written = obfuscated(
            mechanism,
            value_source(values),
            target,
            replace(columns, placeholders=secrets(document, table.tags, columns)),
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
    sentences: list[str | ResultTable] = [
        *left_out_sentences(written.left_out),
        *read_as_table(written.read_as),
        f"{written.reports:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.",
        str(document.maker.guarantee),
        *kept_sentences(table.keep),
        *([SIMULATED_REPORTS] if written.simulated else []),
    ]
    show(result | ({"left_out": written.left_out} if written.left_out else {}), sentences)
