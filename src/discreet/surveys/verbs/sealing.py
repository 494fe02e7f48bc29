"""The commands ``survey seal`` and ``survey tally``."""

from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import ReadOptions, allow_outside, force
from discreet.cli.output import InputFile, OutputFile, OutputPlace, prints_json, say
from discreet.cli.results import CommandResult
from discreet.cli.verbs.seal import RETRACT, SEALED, TO_CHECK, SealedBatch, add_batches, seal_reports
from discreet.files.paths import TALLIES, any_of
from discreet.formats.plan import Plan
from discreet.surveys.verbs.together import REPORTS_OF_SURVEY, SurveyOptions, each_file


@click.command(cls=Subcommand, epilog="Example: discreet survey seal survey.toml reports -o sealed")
@SurveyOptions.options
@REPORTS_OF_SURVEY
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("sealed reports", SEALED, folders=True),
    help="Folder for a sealed file of each question; with --question, the file: .parquet.",
)
@SealedBatch.options
@ReadOptions.options
@force
@allow_outside
def seal(
    asked: SurveyOptions, reports: tuple[Any, ...], batch: SealedBatch, read: ReadOptions, *, output: Path, force: bool
) -> None:
    """Write reports of each question into one file, sorted.

    The reports are sorted by their content. Identifiers, order and times are removed.

    All files are written, or none. Anybody can check them with discreet survey verify SURVEY --sealed FOLDER.
    """
    document = asked.document(["trust_plan"])
    files = asked.files(document, reports)
    places = asked.places(document, output, OutputPlace("sealed reports", SEALED), files)

    def sealed(plan: Plan, some: Any, target: Path, beside: Path) -> CommandResult:
        return seal_reports(plan, some, batch, read, target, beside=beside, force=True)

    results = each_file(document, files, places, sealed, force=force)
    asked.combined(document, results).show()
    if not prints_json():
        named = f" --question {asked.question}" if asked.question else ""
        say([TO_CHECK.format(f"discreet survey verify {asked.survey} --sealed {output}{named}")])


@click.command(cls=Subcommand, epilog="Example: discreet survey tally survey.toml sealed -o tallies")
@SurveyOptions.options
@click.argument("sealed", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPlace("tallies", TALLIES),
    help=f"Folder for a tally of each question; with --question, the tally: {any_of(TALLIES)}.",
)
@RETRACT
@ReadOptions.only("engine")
@ReadOptions.only("master")
@allow_outside
def tally(
    asked: SurveyOptions, sealed: tuple[Any, ...], *, output: Path, retract: bool, engine: str, master: str | None
) -> None:
    """Add SEALED batches to the tallies of all questions.

    Each batch is added exactly once. Batches that a tally has are skipped.

    SEALED are sealed files of a collector, tallies of such files, and folders of both, on this machine or at URLs. You
    can run this command every night on all folders. discreet survey estimate reads the result.
    """
    document = asked.document()
    read = ReadOptions(trust_plan=False, engine=engine, master=master, bad_share=0.0, count=None)
    files = asked.files(document, sealed)
    places = asked.places(document, output, OutputPlace("tallies", TALLIES), files)

    def added(plan: Plan, of: tuple[Any, Path]) -> CommandResult:
        return add_batches(plan, of[0], read, of[1], retract=retract)

    asked.result(document, {name: (some, places[name]) for name, some in files.items()}, added).show()
