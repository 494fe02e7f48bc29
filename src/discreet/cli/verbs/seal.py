"""The verbs ``seal``, ``stamp`` and ``manifest``, about files of reports."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import Count, Reading, allow_outside, load_plan, progress_bar
from discreet.cli.output import (
    SIMULATED_REPORTS,
    InputFile,
    OutputFile,
    OutputPlace,
    file_notes,
    left_out_sentences,
    notes_of,
    show,
)
from discreet.cli.publications import Publishing, Statement
from discreet.engines.sealing import Sealed
from discreet.engines.stamping import Stamped
from discreet.engines.stamping import stamp as stamped
from discreet.files.paths import REPORTS, spelled
from discreet.formats.manifest import NAME, write_manifest
from discreet.formats.plan import Plan
from discreet.formats.sources import Sources


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("sealed reports", (".parquet",)),
    help="The sealed file: .parquet.",
)
@click.option("--least", type=Count(1), default=2, show_default=True, help="Refuse to seal fewer reports.")
@Reading.options
@options.force
@allow_outside
@options.as_json
def seal(
    plan: Path,
    reports: tuple[str | Path, ...],
    read: Reading,
    *,
    output: Path,
    least: int,
    force: bool,
    as_json: bool,
) -> None:
    """Write REPORTS made under PLAN into one file, sorted by what they say: nothing of ids, order or times is left.

    That is the shuffle of the shuffle model, and anybody can check it: discreet verify PLAN --sealed FILE. The same
    reports give the same bytes. Each person must have one report in the batch; nobody can see that in a sealed file.
    REPORTS are files, or folders of files, here or at URLs.
    """
    document = load_plan(plan)
    mechanism = document.mechanism()
    with progress_bar("reading") as progress, read.running() as running, file_notes() as notes:
        found = running.seal(
            mechanism, read.sources(reports, partial(progress, "reading")), output, least=least, force=force
        )
    publishing = Publishing(document, (), read.not_trusted, read.trust_plan)
    said = publishing.of([found.n], "the sealed file, or anything made of it", simulated=found.simulated)
    result = {"plan": mechanism.fingerprint, "output": output, "reports": found.n, "simulated": found.simulated}
    details = {"dropped": found.dropped, "left_out": dict(found.left_out), "notes": notes}
    show({**result, **details, **said.record()}, _parts(found, document, plan, notes, said), as_json=as_json)


def _parts(found: Sealed, document: Plan, plan: Path, notes: Sequence[str], said: Statement) -> Iterator[str]:
    yield f"{found.n:,} reports of plan {document.fingerprint[:12]} sealed in {found.path}, sorted by what they say."
    if found.dropped:
        yield f"Dropped, and not in the sealed file: the columns {', '.join(map(repr, found.dropped))}."
    yield from left_out_sentences(found.left_out)
    yield from notes_of(notes)
    if found.simulated:
        yield SIMULATED_REPORTS
    yield from said.parts()
    yield f"What it cannot show: that each person has one report in it. To check the rest: discreet verify {plan} " + (
        f"--sealed {found.path}"
    )


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
    mechanism = load_plan(plan).mechanism()
    with progress_bar("checking") as progress, file_notes() as notes:
        read = Sources(reports, bad_share=bad_rows, progress=partial(progress, "checking"))
        found = stamped(mechanism, read, output, force=force)
    files = [
        {"output": path, "reports": count, "simulated": path in found.simulated} for path, count in found.files.items()
    ]
    result = {"plan": mechanism.fingerprint, "reports": found.reports, "files": files}
    show(
        {**result, "left_out": found.left_out, "notes": notes},
        _stamped_parts(found, output, mechanism.fingerprint, notes),
        as_json=as_json,
    )


def _stamped_parts(found: Stamped, output: Path, plan: str, notes: Sequence[str]) -> Iterator[str]:
    where = f"{output}" if list(found.files) == [output] else f"{len(found.files)} files in {output}"
    yield f"{found.reports:,} reports of plan {plan[:12]} written to {where}."
    yield from left_out_sentences(found.left_out)
    yield from notes_of(notes)
    if found.simulated:
        yield f"Simulated with a known seed, so that they protect nobody: {len(found.simulated)} of the files."


@click.command(cls=Verb)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@options.force
@options.as_json
def manifest(folder: Path, *, force: bool, as_json: bool) -> None:
    """List the files of reports in FOLDER, with rows and digests, in FOLDER/_manifest.json.

    From then on the folder is refused if a file is missing, new or has other bytes; --force lists it anew.
    """
    found = write_manifest(folder, force=force)
    result = {"manifest": str(folder / NAME), "files": len(found.files), "rows": found.rows}
    sentence = f"{found.rows:,} reports in {len(found.files):,} files, listed in {result['manifest']}."
    show(result, [sentence], as_json=as_json)
