"""The verb ``obfuscate``."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import PeopleColumns, allow_outside, load_plan, option, progress_bar
from discreet.cli.output import SIMULATED_REPORTS, STANDARD, InputFile, OutputFile, left_out_sentences, sent, show
from discreet.cli.values import secrets, value_columns, value_source
from discreet.engines import LocalEngine
from discreet.files.paths import REPORTS, spelled

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


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("values", type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("reports", REPORTS, piped=True),
    help=f"Reports: {spelled(REPORTS)}; - for JSON lines on standard output.",
)
@_Columns.options
@options.seed
@options.force
@allow_outside
def obfuscate(plan: Path, values: Path, table: _Columns, *, output: Path, seed: int | None, force: bool) -> None:
    """Obfuscate a table of values under PLAN: one report per row, in order.

    VALUES is a table, here or at a URL, or - for CSV or JSON lines on standard input.

    Columns that are kept serve for --by and --weights of discreet estimate. They are public: nothing protects them, and
    whoever keeps many of them may make people recognisable.

    Under a personalized plan this is a simulation: on real devices nobody holds a table of everybody's secrets.
    """
    document = load_plan(plan)
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
    sentences = [
        *left_out_sentences(written.left_out),
        f"{written.reports:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.",
        str((document.personalized() if document.is_personalized else mechanism).guarantee),
        *([_KEPT.format(", ".join(map(repr, table.keep)))] if table.keep else []),
        *([SIMULATED_REPORTS] if written.simulated else []),
    ]
    show(result | ({"left_out": written.left_out} if written.left_out else {}), sentences)
