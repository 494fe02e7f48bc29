"""The verbs ``seal``, ``stamp``, ``tally`` and ``manifest``, about files of reports."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import NOT_TRUSTED, Count, Reading, allow_outside, load_plan, progress_bar
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
from discreet.cli.statements import VOUCHED, Ending
from discreet.engines.sealing import refuse_replacing
from discreet.engines.stamping import stamp as stamped
from discreet.files.paths import REPORTS, TALLIES, checked_output, spelled
from discreet.files.writing import in_turn
from discreet.formats.manifest import NAME, write_manifest
from discreet.formats.sources import Sources
from discreet.formats.tallies import read_tally, write_tally
from discreet.privacy.publication import published
from discreet.surveys.verbs.surveys import SurveyVerb


@click.command(cls=SurveyVerb)
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("sealed reports", (".parquet",), folders=True),
    help="The sealed file: .parquet. Of a survey a folder.",
)
@click.option("--least", type=Count(1), default=2, show_default=True, help="Refuse to seal fewer reports.")
@click.option("--not-trusted", **NOT_TRUSTED)
@Reading.options
@options.force
@allow_outside
def seal(
    plan: Path,
    reports: tuple[str | Path, ...],
    read: Reading,
    *,
    output: Path,
    least: int,
    not_trusted: int,
    force: bool,
) -> None:
    """Write REPORTS made under PLAN into one file, sorted by what they say: nothing of ids, order or times is left.

    That is the shuffle of the shuffle model, and anybody can check it: discreet verify PLAN --sealed FILE. The same
    reports give the same bytes. Each person must have one report in the batch; nobody can see that in a sealed file.
    REPORTS are files, or folders of files, here or at URLs.
    """
    document = load_plan(plan)
    mechanism = document.mechanism()
    with progress_bar("reading") as progress, read.running() as running, file_notes() as notes:
        sealed = running.seal(
            mechanism, read.sources(reports, partial(progress, "reading")), output, least=least, force=force
        )
    shown = "the sealed file, or anything made of it"
    publication = replace(
        published(document.maker, sealed.n, not_trusted=not_trusted, shown=shown),
        simulated=sealed.simulated,
        remarks=(VOUCHED,) * read.trust_plan,
    )
    ending = Ending(document.maker.guarantee.brief, sealed.simulated, read.trust_plan, {"publication": publication})
    result = {"plan": mechanism.fingerprint, "output": output, "reports": sealed.n, "simulated": sealed.simulated}
    details = {"dropped": sealed.dropped, "left_out": dict(sealed.left_out), "notes": notes}
    sentences = [
        f"{sealed.n:,} reports of plan {document.fingerprint[:12]} sealed in {sealed.path}, sorted by what they say.",
        *(
            [f"Dropped, and not in the sealed file: the columns {', '.join(map(repr, sealed.dropped))}."]
            * bool(sealed.dropped)
        ),
        *left_out_sentences(sealed.left_out),
        *notes_of(notes),
        *ending.lines(),
        f"What it cannot show: that each person has one report in it. To check the rest: discreet verify {plan} "
        f"--sealed {sealed.path}",
    ]
    show({**result, **details, **ending.record()}, sentences)


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
@Reading.only("bad_rows")
@options.force
@allow_outside
def stamp(plan: Path, reports: tuple[str | Path, ...], *, output: Path, bad_rows: float, force: bool) -> None:
    """Write REPORTS that another tool rewrote anew, marked as reports of PLAN.

    You vouch that they are of this plan where they do not say so. Every row is checked before anything is written; what
    says another plan is refused. REPORTS are files, or folders of files, here or at URLs.
    """
    mechanism = load_plan(plan).mechanism()
    with progress_bar("checking") as progress, file_notes() as notes:
        read = Sources(reports, bad_share=bad_rows, progress=partial(progress, "checking"))
        written = stamped(mechanism, read, output, force=force)
    files = [
        {"output": path, "reports": count, "simulated": path in written.simulated}
        for path, count in written.files.items()
    ]
    result = {"plan": mechanism.fingerprint, "reports": written.reports, "files": files}
    where = f"{output}" if list(written.files) == [output] else f"{len(written.files)} files in {output}"
    sentences = [
        f"{written.reports:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.",
        *left_out_sentences(written.left_out),
        *notes_of(notes),
    ]
    if written.simulated:
        sentences.append(
            f"Simulated with a known seed, so that they protect nobody: {len(written.simulated)} of the files."
        )
    show({**result, "left_out": written.left_out, "notes": notes}, sentences)


@click.command(cls=SurveyVerb, reads="sealed")
@click.argument("plan", type=InputFile())
@click.argument("sealed", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPlace("tallies", TALLIES),
    help=f"The tally, made where there is none: {spelled(TALLIES)}. Of a survey a folder.",
)
@click.option("--retract", is_flag=True, help="Take the batches out instead, which must have been counted.")
@Reading.only("engine")
@Reading.only("master")
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
    """Add to a tally the SEALED batches made under PLAN that it has not counted yet, each exactly once.

    SEALED are a collector's sealed files, tallies of such files, and folders of both, here or at URLs. Batches that the
    tally has counted are known by their names and digests, and are not read again: run it every night on the whole
    folder. A batch that was counted with other reports is refused. discreet estimate PLAN TALLY reads the result.
    """
    document = load_plan(plan)
    mechanism = document.mechanism()
    checked_output(output, TALLIES, "tallies")
    read = Reading(trust_plan=False, engine=engine, master=master, bad_rows=0.0)
    with progress_bar("reading") as progress, read.running() as running, in_turn(output.absolute().parent):
        before = read_tally(output, mechanism) if output.exists() else mechanism.empty_tally()
        sources = read.sources(sealed, partial(progress, "reading"))
        refuse_replacing(output, sources.named, sources.files)
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
    show(
        {**result, "batches": len(after.batches), "changed": len(changed)},
        [sentence, *([SIMULATED_REPORTS] * after.simulated)],
    )


@click.command(cls=Verb)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@options.force
def manifest(folder: Path, *, force: bool) -> None:
    """List the files of reports in FOLDER, with rows and digests, in FOLDER/_manifest.json.

    From then on the folder is refused if a file is missing, new or has other bytes; --force lists it anew.
    """
    listed = write_manifest(folder, force=force)
    result = {"manifest": str(folder / NAME), "files": len(listed.files), "rows": listed.rows}
    sentence = f"{listed.rows:,} reports in {len(listed.files):,} files, listed in {result['manifest']}."
    show(result, [sentence])
