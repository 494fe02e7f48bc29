"""The verb ``obfuscate``."""

from functools import partial
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.options import allow_outside, load_plan, progress_bar
from discreet.cli.output import SIMULATED_REPORTS, STANDARD, InputFile, OutputFile, left_out_sentences, sent, show
from discreet.files.paths import REPORTS, spelled


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
@click.option("--column", help="Column that holds the values, if there are several.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="Rows without a value (or without a user): refuse the table, or leave them out and count them.",
)
@click.option(
    "--unknown",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="Rows with a value that is not in the plan: refuse the table, or leave them out and count them.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Public column to keep beside the reports (Parquet, Arrow), in clear: nothing protects it. May be repeated.",
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
    unknown: str,
    keep: tuple[str, ...],
    user: str | None,
    tags: Path | None,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Obfuscate a table of values under PLAN: one report per row, in order.

    VALUES is a table, here or at a URL, or - for CSV or JSON lines on standard input.

    Columns that are kept serve for --by and --weights of discreet estimate. They are public: nothing protects them, and
    whoever keeps many of them may make people recognisable.

    Under a personalized plan this is a simulation: on real devices nobody holds a table of everybody's secrets.
    """
    from discreet.cli.values import secrets, value_columns, value_source
    from discreet.engines import LocalEngine

    document = load_plan(plan)
    mechanism = document.mechanism()
    columns = value_columns(document, column=column, user=user, tags=tags, missing=missing, keep=keep, unknown=unknown)
    with progress_bar("obfuscating") as progress, sent(output, ".jsonl") as target:
        found = LocalEngine().obfuscate(
            mechanism,
            value_source(values),
            target,
            columns,
            replace=secrets(document, tags, columns),
            seed=seed,
            force=force,
            progress=partial(progress, "obfuscating"),
        )
    result = {"reports": found.reports, "output": output, "plan": mechanism.fingerprint, "simulated": found.simulated}
    where = "standard output" if output == STANDARD else output
    result |= {"kept": list(keep)} if keep else {}
    sentences = [
        *left_out_sentences(found.left_out),
        f"{found.reports:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.",
        str((document.personalized() if document.is_personalized else mechanism).guarantee),
        *([_kept_sentence(keep)] if keep else []),
        *([SIMULATED_REPORTS] if found.simulated else []),
    ]
    show(result | ({"left_out": found.left_out} if found.left_out else {}), sentences, as_json=as_json)


def _kept_sentence(keep: tuple[str, ...]) -> str:
    return (
        f"Kept beside the reports in clear, protected by nothing: {', '.join(map(repr, keep))}; many such columns "
        "together may make people recognisable."
    )
