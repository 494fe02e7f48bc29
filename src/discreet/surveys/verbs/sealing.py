"""The verbs ``survey seal`` and ``survey tally``."""

from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Verb
from discreet.cli.options import Reading, allow_outside, force
from discreet.cli.output import InputFile, OutputFile, OutputPlace, prints_json, say
from discreet.cli.results import VerbResult
from discreet.cli.verbs.seal import RETRACT, SEALED, TO_CHECK, SealedBatch, add_batches, seal_reports
from discreet.files.paths import TALLIES, checked_output, spelled
from discreet.formats.plan import Plan
from discreet.surveys.sources import files_by_question
from discreet.surveys.verbs.together import (
    QUESTION,
    REPORTS_OF_SURVEY,
    SURVEY,
    all_or_none,
    each_question,
    files_in_folder,
    load_survey,
    question_of,
    refuse_of_one,
    together,
)


@click.command(cls=Verb, epilog="Example: discreet survey seal survey.toml reports -o sealed")
@SURVEY
@REPORTS_OF_SURVEY
@QUESTION
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("sealed reports", SEALED, folders=True),
    help="A folder with a sealed file for each question; with --question the file: .parquet.",
)
@SealedBatch.options
@Reading.options
@force
@allow_outside
def seal(
    survey: Path,
    reports: tuple[Any, ...],
    batch: SealedBatch,
    read: Reading,
    *,
    question: str | None,
    output: Path,
    force: bool,
) -> None:
    """Write REPORTS on each question of SURVEY into one file, sorted by what they say: nothing of ids, order or times.

    All files are written, or none. Anybody can check them: discreet survey verify SURVEY --sealed FOLDER.
    """
    document = load_survey(survey)
    check = f"discreet survey verify {survey} --sealed {output}"
    if question is not None:
        checked_output(output, SEALED, "sealed reports")
        seal_reports(*question_of(document, question, reports), batch, read, output, force=force).show()
        check += f" --question {question}"
    else:
        refuse_of_one(["trust_plan"])
        files = files_by_question(document.survey(), reports)
        places = files_in_folder(document.survey(), output, OutputPlace("sealed reports", SEALED), files)
        with all_or_none(places, force=force) as targets:
            of = {name: (some, *targets[name]) for name, some in files.items()}

            def sealed(plan: Plan, place: Any) -> VerbResult:
                some, target, beside = place
                return seal_reports(plan, some, batch, read, target, beside=beside, force=True)

            results = each_question(document, of, sealed)
        together(document, results).show()
    if not prints_json():
        say([TO_CHECK.format(check)])


@click.command(cls=Verb, epilog="Example: discreet survey tally survey.toml sealed -o tallies")
@SURVEY
@click.argument("sealed", nargs=-1, required=True, type=InputFile(urls=True))
@QUESTION
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPlace("tallies", TALLIES),
    help=f"A folder with a tally for each question; with --question the tally: {spelled(TALLIES)}.",
)
@RETRACT
@Reading.only("engine")
@Reading.only("master")
@allow_outside
def tally(
    survey: Path,
    sealed: tuple[Any, ...],
    *,
    question: str | None,
    output: Path,
    retract: bool,
    engine: str,
    master: str | None,
) -> None:
    """Add to the tally of each question of SURVEY the SEALED batches that it has not counted yet, each exactly once.

    SEALED are a collector's sealed files, tallies of such files, and folders of both, here or at URLs. Batches that a
    tally has counted are not read again: run it every night on all folders. discreet survey estimate reads the result.
    """
    document = load_survey(survey)
    read = Reading(trust_plan=False, engine=engine, master=master, bad_rows=0.0)
    if question is not None:
        add_batches(*question_of(document, question, sealed), read, output, retract=retract).show()
        return
    files = files_by_question(document.survey(), sealed)
    places = files_in_folder(document.survey(), output, OutputPlace("tallies", TALLIES), files)

    def added(plan: Plan, name: str) -> VerbResult:
        return add_batches(plan, files[name], read, places[name], retract=retract)

    together(document, each_question(document, {name: name for name in files}, added)).show()
