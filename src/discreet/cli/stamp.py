"""The verb ``stamp``."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.notes import file_notes
from discreet.cli.output import left_out_sentences, show
from discreet.cli.output_files import InputFile, OutputPlace
from discreet.cli.plans import allow_outside, load_plan
from discreet.cli.progress import progress_bar
from discreet.io.suffixes import REPORTS, spelled

if TYPE_CHECKING:
    from discreet.engines import Stamped


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPlace("stamped reports"),
    help=f"A file for all reports ({spelled(REPORTS)}), or a folder for a Parquet file of each.",
)
@options.bad_rows
@options.force
@allow_outside
@options.as_json
def stamp(
    plan: Path, reports: tuple[str | Path, ...], *, output: Path, bad_rows: float, force: bool, as_json: bool
) -> None:
    """Write REPORTS that another tool rewrote anew, marked as reports of PLAN.

    You vouch that they are of this plan where they do not say so. Every row is checked before anything is written; what
    says another plan is refused. REPORTS are files, or folders of files, here or at URLs.
    """
    from discreet.engines import stamp as stamped

    mechanism = load_plan(plan).mechanism()
    with progress_bar("checking") as progress, file_notes() as notes:
        show_progress = partial(progress, "checking")
        found = stamped(mechanism, reports, output, bad_share=bad_rows, force=force, progress=show_progress)
    files = [
        {"output": path, "reports": count, "simulated": path in found.simulated} for path, count in found.files.items()
    ]
    result = {"plan": mechanism.fingerprint, "reports": found.reports, "files": files}
    show(
        {**result, "left_out": found.left_out, "notes": notes},
        _parts(found, output, mechanism.fingerprint, notes),
        as_json=as_json,
    )


def _parts(found: "Stamped", output: Path, plan: str, notes: Sequence[str]) -> Iterator[str]:
    where = f"{output}" if list(found.files) == [output] else f"{len(found.files)} files in {output}"
    yield f"{found.reports:,} reports of plan {plan[:12]} written to {where}."
    yield from left_out_sentences(found.left_out)
    yield from (f"Note: {note}" for note in notes)
    if found.simulated:
        yield f"Simulated with a known seed, so that they protect nobody: {len(found.simulated)} of the files."
