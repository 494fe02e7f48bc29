"""The commands ``survey estimate``, ``survey compare`` and ``survey regress``."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import GROUPS, NOT_WITH_GROUPS, ReadOptions, TableOptions, allow_outside, option, progress_bar
from discreet.cli.output import (
    OutputFile,
    OutputPlace,
    file_notes,
    left_out_sentences,
    notes_of,
)
from discreet.cli.results import CommandResult, Ending, check_folders, publication_of
from discreet.cli.verbs.compare import DifferenceFiles, Side, Sides, Tests, compared_sides
from discreet.cli.verbs.estimate import (
    EstimateFiles,
    GroupOptions,
    MemoryOptions,
    MethodOptions,
    check_files,
    estimate_groups,
    estimate_parts,
    estimate_reports,
    method_options,
    read_for,
    tally_of,
)
from discreet.cli.verbs.regress import LEVEL, CoefficientFile, Model, regression
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators import METHODS
from discreet.estimators import estimate as estimated
from discreet.files.paths import TALLIES, any_of
from discreet.formats.tallies import put_tally
from discreet.results.estimate import estimate_facts
from discreet.surveys.documents import Questionnaire
from discreet.surveys.estimating import TOGETHER, estimate_survey, separate_answers
from discreet.surveys.rounds import ROUND
from discreet.surveys.survey import Survey
from discreet.surveys.verbs.together import REPORTS_OF_SURVEY, NoResultTexts, SurveyOptions, together

_TALLIES = OutputPlace("tallies", TALLIES)
_NOT_ON_BOTH = NoResultTexts("unanswered", "Not on both sides:", "questions.not-on-both-sides")


@dataclass(frozen=True, slots=True)
class _Files(EstimateFiles):
    """Options for output files; None for files that are not named."""

    tally_file: Path | None = option(
        "--tally",
        type=OutputFile("tallies", TALLIES, folders=True),
        bars={GROUPS: NOT_WITH_GROUPS},
        help=f"Folder for the tallies; with --question, file for one tally: {any_of(TALLIES)}.",
    )


@click.command(cls=Subcommand, epilog="Example: discreet survey estimate survey.toml reports -o estimates.csv")
@SurveyOptions.options
@REPORTS_OF_SURVEY
@method_options(METHODS.values(), TOGETHER.values())
@GroupOptions.options
@TableOptions.options
@_Files.options
@MemoryOptions.options
@allow_outside
def estimate(
    asked: SurveyOptions,
    reports: tuple[Any, ...],
    method: MethodOptions,
    grouping: GroupOptions,
    shown: TableOptions,
    out: _Files,
    read: MemoryOptions,
) -> None:
    """Estimate all questions of SURVEY from REPORTS.

    The result has the number of people who answered each question.

    REPORTS are files of reports or tallies, and folders of such files. --by round estimates each round. --shares,
    --plot and --page need --question.
    """
    document = asked.document(["shares", "plot", "page", "trust_plan"])
    check_folders(reports if shown.statement else ())
    if asked.question is not None and method.estimator.name in TOGETHER:
        raise ParameterError("method.needs-all-questions", name=method.estimator.name)
    files = asked.files(document, reports, grouping.by)
    tallies = dict[str, Tally]()
    if grouping.wanted:
        apart = ROUND in grouping.by
        of_one = partial(estimate_groups, method=method, grouping=grouping, read=read, shown=shown, same_people=apart)
        result = asked.result(document, files, of_one, apart=apart)
    elif asked.question is not None:
        ((name, some),) = files.items()
        check_files(some, read.engine, out.tally_file)
        result, tally = estimate_reports(document.plan(name), some, method, read, shown)
        tallies = {} if out.tally_file is None else {name: tally()}
    else:
        result, tallies = _estimates(document, files, method, read, shown)
    places = {} if out.tally_file is None else asked.places(document, out.tally_file, _TALLIES, tallies)
    writers: Any = {place: partial(put_tally, tally=tallies[name]) for name, place in places.items()}
    result.write(out.output, out.plot, {out.page: result.save_page, **writers}, force=out.force)
    result.show(out.output, out.plot, out.page, out.tally_file)


def _estimates(
    document: Questionnaire, files: Mapping[str, Any], method: MethodOptions, read: MemoryOptions, shown: TableOptions
) -> tuple[CommandResult, dict[str, Tally]]:
    """Return the estimates of all questions as one result, and the tallies of the questions with reports."""
    survey = document.survey()
    parts, tallies, left_out = dict[str, Any](), dict[str, Tally](), Counter[str]()
    joint = method.estimator.name in TOGETHER
    with progress_bar("reading") as progress, read.running(read.memory) as engine, file_notes() as notes:
        for name, some in files.items():
            mechanism = survey.question(name).mechanism
            data, left = read_for(engine, mechanism, read.sources(some, partial(progress, f"reading {name}")), method)
            tallies[name] = tally_of(mechanism, data)
            left_out.update(left)
            if tallies[name].n:
                parts[name] = data if joint else estimated(mechanism, data, **method.asked(progress))
        answers = estimate_survey(survey, parts, **method.asked(progress)) if joint else separate_answers(survey, parts)
    results = {name: _of_question(part, survey, name, tallies[name], shown) for name, part in answers.items()}
    beside, sentences = {"left_out": dict(left_out), "notes": notes}, [*left_out_sentences(left_out), *notes_of(notes)]
    table = partial(answers.to_arrow, **shown.limits)
    return together(document, results, beside, sentences, table=table), tallies


def _of_question(estimate: Any, survey: Survey, name: str, tally: Tally, shown: TableOptions) -> CommandResult:
    """Return the estimate of one question as a result."""
    mechanism, statement = survey.question(name).mechanism, {}
    if shown.statement:
        publication = publication_of(mechanism, tally, "these estimates", not_trusted=shown.not_trusted)
        statement = {"publication": publication}
    ending = Ending(lambda: mechanism.guarantee.brief, tally.simulated, statement=statement)
    record = partial(estimate_facts, estimate, **shown.limits)
    return CommandResult(record, estimate_parts(estimate, shown), ending=ending)


@click.command(cls=Subcommand, epilog="Example: discreet survey compare survey.toml spring autumn")
@SurveyOptions.options
@REPORTS_OF_SURVEY
@Sides.options
@Tests.options
@TableOptions.options
@DifferenceFiles.options
@ReadOptions.only("trust_plan")
@allow_outside
def compare(
    asked: SurveyOptions,
    reports: tuple[Any, ...],
    sides: Sides,
    tests: Tests,
    shown: TableOptions,
    out: DifferenceFiles,
    *,
    trust_plan: bool,
) -> None:
    """Compare two groups of people, question by question.

    The groups are two collections of REPORTS made under SURVEY, or two groups of one collection.

    REPORTS are two files or folders of reports or tallies, of different people. With --by or --given, name only one.
    --given and --plot need --question.
    """
    document = asked.document(["given", "plot", "trust_plan"])
    check_folders(reports if shown.statement else ())
    by = [] if sides.by is None else [sides.by]
    every = [(source, asked.files(document, [source], by)) for source in reports]
    of = {
        question.name: [Side(source.name or str(source), files[question.name]) for source, files in every]
        for question in document.survey().questions
        if all(question.name in files for _, files in every)
    }
    of_one = partial(compared_sides, asked=sides, tests=tests, shown=shown, trust_plan=trust_plan)
    result = asked.result(document, of, of_one, lacking=_NOT_ON_BOTH)
    result.finish(out.output, out.plot, force=out.force)


@click.command(cls=Subcommand, epilog="Example: discreet survey regress survey.toml reports --on region")
@SurveyOptions.options
@REPORTS_OF_SURVEY
@Model.options
@LEVEL
@CoefficientFile.options
@TableOptions.only("statement")
@ReadOptions.only("trust_plan")
@allow_outside
def regress(asked: SurveyOptions, reports: tuple[Any, ...], model: Model, out: CoefficientFile, **about: Any) -> None:
    """Explain the answers to each question by public columns.

    REPORTS are Parquet or Arrow files of reports with the public columns, or folders of such files. They must be made
    under SURVEY. --value and --baseline need --question.
    """
    document = asked.document(["value", "baseline", "trust_plan"])
    files = asked.files(document, reports)
    result = asked.result(document, files, partial(regression, model=model, **about))
    result.finish(out.output, force=out.force)
