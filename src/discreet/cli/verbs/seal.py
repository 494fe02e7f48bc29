"""The commands ``seal`` and ``tally``, for files of reports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import (
    NOT_TRUSTED,
    Count,
    OptionGroup,
    ReadOptions,
    allow_outside,
    load_plan,
    option,
    progress_bar,
)
from discreet.cli.output import (
    SIMULATED_REPORTS,
    InputFile,
    OutputFile,
    OutputPlace,
    file_notes,
    left_out_sentences,
    notes_of,
    prints_json,
    say,
)
from discreet.cli.results import VOUCHED, CommandResult, Ending
from discreet.core.batches import NamedBatch
from discreet.files.paths import TALLIES, any_of, checked_output
from discreet.files.writing import in_turn
from discreet.formats.plan import Plan
from discreet.formats.tallies import read_tally, write_tally
from discreet.privacy.publication import published

SEALED = (".parquet",)
RETRACT = click.option("--retract", is_flag=True, help="Remove batches that were counted, instead of adding them.")


@dataclass(frozen=True, slots=True)
class SealedBatch(OptionGroup):
    """Options for the batch of a sealed file: its name and its size."""

    name: str | None = option(
        "--name", help="Name of the batch, which the file shows. [the source's name, or a new one]"
    )
    least: int = option("--least", type=Count(1), default=2, help="Smallest number of reports to seal.")
    not_trusted: int = option("--not-trusted", **NOT_TRUSTED)


@click.command(cls=Subcommand, epilog="Example: discreet seal plan.toml reports.parquet -o sealed.parquet")
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("sealed reports", SEALED),
    help="File for the sealed reports: .parquet.",
)
@SealedBatch.options
@ReadOptions.options
@options.force
@allow_outside
def seal(
    plan: Path,
    reports: tuple[str | Path, ...],
    batch: SealedBatch,
    read: ReadOptions,
    *,
    output: Path,
    force: bool,
) -> None:
    """Write REPORTS into one file, sorted by their content.

    Identifiers, order and times are removed.

    This is the shuffling of the shuffle model. Anybody can check it with discreet verify PLAN --sealed FILE. The same
    reports with the same name give the same bytes. Each person must have only one report in the batch; a sealed file
    cannot show whether this is so. REPORTS are files, or folders of files, on this machine or at URLs.
    """
    check = f"discreet verify {plan} --sealed {output}"
    seal_reports(load_plan(plan), reports, batch, read, output, force=force).show()
    if not prints_json():
        say([TO_CHECK.format(check)])


TO_CHECK = "A sealed file cannot show that each person has one report in it. To check everything else: {}"
"""The last sentence on sealed files, with the verb that checks them."""


def seal_reports(
    document: Plan,
    reports: Sequence[Any],
    batch: SealedBatch,
    read: ReadOptions,
    output: Path,
    *,
    force: bool,
    beside: Path | None = None,
) -> CommandResult:
    """Seal reports in a file, and return a result that describes the file.

    Args:
        document: the plan.
        reports: files and folders.
        batch: the batch's name, its least size, and the number of reports that are fake or known to the reader.
        read: how reports are read.
        output: the sealed file.
        force: whether a file that exists is replaced.
        beside: a temporary path, if the caller moves the file afterwards; else None.
    """
    mechanism = document.mechanism()
    target = output if beside is None else beside
    with progress_bar("reading") as progress, read.running() as running, file_notes() as notes:
        sources = read.sources(reports, partial(progress, "reading"))
        if beside is not None:
            sources.refuse_output(output)
        sealed = running.seal(mechanism, sources, target, name=batch.name, least=batch.least, force=force)
    shown = "the sealed file or anything computed from it"
    publication = replace(
        published(document.maker, sealed.n, not_trusted=batch.not_trusted, shown=shown),
        simulated=sealed.simulated,
        remarks=(VOUCHED,) * read.trust_plan,
        named=(NamedBatch(sealed.name, sealed.n, sealed.n),),
    )
    ending = Ending(
        lambda: document.maker.guarantee.brief, sealed.simulated, read.trust_plan, {"publication": publication}
    )
    result = {"plan": mechanism.fingerprint, "output": output, "name": sealed.name, "reports": sealed.n}
    details = {
        "simulated": sealed.simulated,
        "dropped": sealed.dropped,
        "left_out": dict(sealed.left_out),
        "notes": notes,
    }
    dropped = f"Not in the sealed file: the columns {', '.join(map(repr, sealed.dropped))}."
    sentences = [
        f"{sealed.n:,} reports of plan {document.fingerprint[:12]} sealed in {output}, sorted by content.",
        *([dropped] if sealed.dropped else []),
        *left_out_sentences(sealed.left_out),
        *notes_of(notes),
    ]
    return CommandResult(lambda: {**result, **details}, sentences, ending=ending)


@click.command(cls=Subcommand, epilog="Example: discreet tally plan.toml sealed -o all.tally.parquet")
@click.argument("plan", type=InputFile())
@click.argument("sealed", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPlace("tallies", TALLIES),
    help=f"File of the tally, created if it does not exist: {any_of(TALLIES)}.",
)
@RETRACT
@ReadOptions.only("engine")
@ReadOptions.only("master")
@allow_outside
def tally(
    plan: Path,
    sealed: tuple[str | Path, ...],
    *,
    output: Path,
    retract: bool,
    engine: str,
    master: str | None,
) -> None:
    """Add SEALED batches to a tally, each exactly once.

    The batches must be made under PLAN. Batches that are already in the tally are skipped.

    SEALED are sealed files of a collector, tallies of such files, and folders of both, on this machine or at URLs. The
    tally lists the names of its batches, so you can run this command every night on the whole folder. A batch with
    another number of reports than before is refused. discreet estimate PLAN TALLY reads the result.
    """
    read = ReadOptions(trust_plan=False, engine=engine, master=master, bad_share=0.0, count=None)
    add_batches(load_plan(plan), sealed, read, output, retract=retract).show()


def add_batches(document: Plan, sealed: Any, read: ReadOptions, output: Path, *, retract: bool) -> CommandResult:
    """Add sealed batches to a tally file, or remove them, and return a result that describes the tally."""
    mechanism = document.mechanism()
    checked_output(output, TALLIES, "tallies")
    with progress_bar("reading") as progress, read.running() as running, in_turn(output.absolute().parent):
        before = read_tally(output, mechanism) if output.exists() else mechanism.empty_tally()
        sources = read.sources(sealed, partial(progress, "reading"))
        sources.refuse_output(output)
        if retract:
            after = before.without(running.tally(mechanism, sources).tally)
        else:
            after = running.tally_onto(mechanism, sources, before)
        if after.batches != before.batches or not output.exists():
            write_tally(output, after, force=True)
    changed = set(after.batches) ^ set(before.batches)
    what, reports = "taken out" if retract else "added", sum(batch.n for batch in changed)
    result = {"plan": mechanism.fingerprint, "output": output, "reports": after.n, "simulated": after.simulated}
    sentence = (
        f"Batches {what}: {len(changed):,}, with {reports:,} reports. "
        f"Batches in {output}: {len(after.batches):,}, with {after.n:,} reports."
    )
    counts = {"batches": len(after.batches), "changed": len(changed)}
    return CommandResult(lambda: result | counts, [sentence, *([SIMULATED_REPORTS] * after.simulated)])
