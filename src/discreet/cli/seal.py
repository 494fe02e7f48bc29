"""The verb ``seal``."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.engines import refuse_idle, running_engine
from discreet.cli.group import Verb
from discreet.cli.notes import file_notes
from discreet.cli.output import SIMULATED_REPORTS, left_out_sentences, show
from discreet.cli.output_files import InputFile, OutputFile
from discreet.cli.parameters import Count
from discreet.cli.plans import allow_outside, load_plan
from discreet.cli.progress import progress_bar
from discreet.cli.publications import Publishing, Statement, not_trusted_option

if TYPE_CHECKING:
    from discreet.engines import Sealed
    from discreet.io.plan import Plan


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
@options.engine
@options.master
@options.bad_rows
@options.trust_plan
@click.option(
    "--temporary", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Folder for sorting. [TMPDIR]"
)
@options.manifest
@not_trusted_option
@options.force
@allow_outside
@options.as_json
def seal(
    plan: Path,
    reports: tuple[str | Path, ...],
    *,
    output: Path,
    least: int,
    engine: str,
    master: str | None,
    bad_rows: float,
    trust_plan: bool,
    temporary: Path | None,
    manifest: bool,
    not_trusted: int,
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
    _refuse_idle_folder(mechanism)
    read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest}
    with (
        progress_bar("reading") as progress,
        running_engine(engine, master, None, temporary) as running,
        file_notes() as notes,
    ):
        given: dict[str, Any] = {"least": least, "bad_share": bad_rows, "force": force}
        found = running.seal(mechanism, reports, output, progress=partial(progress, "reading"), **given, **read)
    publishing = Publishing(document, (), not_trusted, trust_plan)
    said = publishing.of([found.n], "the sealed file, or anything made of it", simulated=found.simulated)
    result = {"plan": mechanism.fingerprint, "output": output, "reports": found.n, "simulated": found.simulated}
    details = {"dropped": found.dropped, "left_out": dict(found.left_out), "notes": notes}
    show({**result, **details, **said.record()}, _parts(found, document, plan, notes, said), as_json=as_json)


def _refuse_idle_folder(mechanism: Any) -> None:
    from discreet.io.content_counts import ContentCounts

    if ContentCounts.of(mechanism) is not None:
        refuse_idle(["temporary"], "reports of this plan are counted, which needs no temporary files")


def _parts(found: "Sealed", document: "Plan", plan: Path, notes: Sequence[str], said: Statement) -> Iterator[str]:
    yield f"{found.n:,} reports of plan {document.fingerprint[:12]} sealed in {found.path}, sorted by what they say."
    if found.dropped:
        yield f"Dropped, and not in the sealed file: the columns {', '.join(map(repr, found.dropped))}."
    yield from left_out_sentences(found.left_out)
    yield from (f"Note: {note}" for note in notes)
    if found.simulated:
        yield SIMULATED_REPORTS
    yield from said.parts()
    yield f"What it cannot show: that each person has one report in it. To check the rest: discreet verify {plan} " + (
        f"--sealed {found.path}"
    )
