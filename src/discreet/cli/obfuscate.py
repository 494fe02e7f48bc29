"""The verb ``obfuscate``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import SIMULATED_REPORTS, left_out_sentences, show
from discreet.cli.output_files import InputFile, OutputFile
from discreet.cli.piping import STANDARD, sent
from discreet.cli.plans import allow_outside, load_plan
from discreet.cli.progress import progress_bar
from discreet.io.suffixes import REPORTS, spelled

if TYPE_CHECKING:
    from discreet.core.reports import Reports

_BATCH = 1 << 18


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("values", type=InputFile())
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("reports", REPORTS, piped=True),
    help=f"Reports: {spelled(REPORTS)}; - for JSON lines on standard output.",
)
@click.option("--column", help="Column that holds the values, if there are several.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="Rows without a value (or without a user): refuse the table, or leave them out and count them.",
)
@click.option("--user", help="For personalized plans: column that says whose value it is.")
@click.option(
    "--tags", type=InputFile(), help="For personalized plans: table of users' secret values (user, value, tag)."
)
@options.seed
@options.force
@allow_outside
@options.as_json
def obfuscate(
    plan: Path,
    values: Path,
    *,
    output: Path,
    column: str | None,
    missing: str,
    user: str | None,
    tags: Path | None,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Obfuscate a table of values under PLAN: one report per row, in order.

    VALUES is a table, or - for CSV or JSON lines on standard input.

    Under a personalized plan this is a simulation: on real devices nobody holds a table of everybody's secrets.
    """
    from discreet.cli.values import read_codes
    from discreet.core.random import SecureRandom, SeededRandom
    from discreet.io.reports import write_reports

    document = load_plan(plan)
    mechanism = document.mechanism()
    codes, left_out = read_codes(document, values, column=column, user=user, tags=tags, missing=missing)
    random = SecureRandom() if seed is None else SeededRandom(seed)
    with progress_bar("obfuscating") as progress:

        def batches() -> "Iterator[Reports]":
            done = 0
            for reports in mechanism.obfuscate_batches(codes, size=_BATCH, random=random):
                yield reports
                done += reports.n
                progress("obfuscating", done, len(codes))

        with sent(output, ".jsonl") as target:
            written = write_reports(target, mechanism, batches(), force=force)
    result = {"reports": written, "output": output, "plan": mechanism.fingerprint, "simulated": seed is not None}
    where = "standard output" if output == STANDARD else output
    sentences = [
        *left_out_sentences(left_out),
        f"{written:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.",
        str((document.personalized() if document.is_personalized else mechanism).guarantee),
        *([] if seed is None else [SIMULATED_REPORTS]),
    ]
    show(result | ({"left_out": left_out} if left_out else {}), sentences, as_json=as_json)
