"""The verbs ``survey estimate``, ``survey compare`` and ``survey regress``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Verb
from discreet.cli.options import GROUPS, NOT_WITH_GROUPS, Reading, Showing, allow_outside, option, progress_bar
from discreet.cli.output import (
    OutputFile,
    OutputPlace,
    file_notes,
    left_out_sentences,
    notes_of,
)
from discreet.cli.results import VerbResult
from discreet.cli.statements import Ending, check_folders
from discreet.cli.verbs.compare import DifferenceFiles, Side, Sides, Tests, compared_sides
from discreet.cli.verbs.estimate import (
    NEEDS_REPORTS,
    ByGroup,
    EstimateFiles,
    How,
    ReadingAll,
    at_level,
    check_files,
    estimate_groups,
    estimate_parts,
    estimate_reports,
    read_for,
    tally_of,
)
from discreet.cli.verbs.regress import LEVEL, CoefficientFile, Model, regression
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators import METHODS
from discreet.estimators import estimate as estimated
from discreet.files.paths import TALLIES, spelled
from discreet.formats.tallies import put_tally
from discreet.results.estimate import estimate_facts
from discreet.surveys.answers import Answers
from discreet.surveys.documents import Questionnaire
from discreet.surveys.estimating import TOGETHER, estimate_survey
from discreet.surveys.rounds import ROUND
from discreet.surveys.sources import files_by_question
from discreet.surveys.survey import Survey
from discreet.surveys.verbs.together import (
    QUESTION,
    REPORTS_OF_SURVEY,
    SURVEY,
    Lacking,
    each_question,
    files_in_folder,
    load_survey,
    protection_of,
    question_of,
    refuse_of_one,
    together,
)

_NOT_ON_BOTH = Lacking("unanswered", "Not on both sides:", "no question is on both sides")


@dataclass(frozen=True, slots=True)
class _How(How):
    """The method and its options; methods of all questions together among them."""

    method: Any = option(
        "--method",
        type=click.Choice([*METHODS, *TOGETHER]),
        metavar="METHOD",
        default="linear",
        help=f"{', '.join(METHODS)}; of all questions together: {' or '.join(TOGETHER)}. [linear]",
    )

    tolerance: float | None = option(
        "--tolerance", type=float, help="For mle, smooth, joint: certified gap, in nats per report."
    )

    @property
    def needs_reports(self) -> bool:
        """True if the method reads reports one by one."""
        return self.method in (*NEEDS_REPORTS, "joint")


@dataclass(frozen=True, slots=True)
class _Files(EstimateFiles):
    """Files to write; None for those that are not named."""

    tally_file: Path | None = option(
        "--tally",
        type=OutputFile("tallies", TALLIES, folders=True),
        bars={GROUPS: NOT_WITH_GROUPS},
        help=f"A folder of tallies; with --question a tally: {spelled(TALLIES)}.",
    )


@click.command(cls=Verb, epilog="Example: discreet survey estimate survey.toml reports -o estimates.csv")
@SURVEY
@REPORTS_OF_SURVEY
@QUESTION
@_How.options
@ByGroup.options
@Showing.options
@_Files.options
@ReadingAll.options
@allow_outside
def estimate(
    survey: Path,
    reports: tuple[Any, ...],
    how: _How,
    grouping: ByGroup,
    shown: Showing,
    out: _Files,
    read: ReadingAll,
    *,
    question: str | None,
) -> None:
    """Estimate all questions of SURVEY from REPORTS, and count the people who answered each.

    REPORTS are reports or tallies. --by round estimates each round. --shares, --plot need --question.
    """
    document = load_survey(survey)
    check_folders(reports if shown.statement else ())
    if question is not None:
        _estimate_one(document, question, reports, how, grouping, shown, out, read)
        return
    refuse_of_one(["shares", "plot", "trust_plan"])
    if grouping.wanted:
        apart = ROUND in grouping.by
        of_one = partial(estimate_groups, how=how, grouping=grouping, read=read, shown=shown, same_people=apart)
        files = files_by_question(document.survey(), reports, grouping.by)
        result = together(document, each_question(document, files, of_one), apart=apart)
        result.write(out.output, force=out.force)
    else:
        result, tallies = _estimates(document, reports, how, read, shown)
        writers = dict[Path | None, Any]()
        if out.tally_file is not None:
            places = files_in_folder(document.survey(), out.tally_file, OutputPlace("tallies", TALLIES), tallies)
            writers = {place: partial(put_tally, tally=tallies[name]) for name, place in places.items()}
        result.write(out.output, None, writers, force=out.force)
    result.show(out.output, out.tally_file)


def _estimate_one(
    document: Questionnaire,
    name: str,
    reports: Sequence[Any],
    how: _How,
    grouping: ByGroup,
    shown: Showing,
    out: _Files,
    read: ReadingAll,
) -> None:
    """Estimate one question as an ordinary plan."""
    if how.method in TOGETHER:
        raise ParameterError(f"--method {how.method} estimates all questions together; leave --question out.")
    plan, files = question_of(document, name, reports, grouping.by)
    check_files(files, read.engine, out.tally_file)
    if grouping.wanted:
        result = estimate_groups(plan, files, how, grouping, read, shown, same_people=ROUND in grouping.by)
        result.write(out.output, out.plot, force=out.force)
    else:
        result, tally = estimate_reports(plan, files, how, read, shown)
        result.write(out.output, out.plot, {out.tally_file: lambda path: put_tally(path, tally())}, force=out.force)
    result.show(out.output, out.plot, out.tally_file)


def _estimates(
    document: Questionnaire, reports: Sequence[Any], how: _How, read: ReadingAll, shown: Showing
) -> tuple[VerbResult, dict[str, Tally]]:
    """Return the estimates of all questions, and the tally of each question with reports."""
    survey = document.survey()
    parts, tallies, left_out, jointly = dict[str, Any](), dict[str, Tally](), Counter[str](), how.method in TOGETHER
    files = files_by_question(survey, reports)
    with progress_bar("reading") as progress, read.running(read.memory) as engine, file_notes() as notes:
        for name, some in files.items():
            mechanism = survey.question(name).mechanism
            data, left = read_for(engine, mechanism, read.sources(some, partial(progress, f"reading {name}")), how)
            tallies[name] = tally_of(mechanism, data)
            left_out.update(left)
            if tallies[name].n:
                parts[name] = data if jointly else estimated(mechanism, data, **how.asked(progress))
        answers = estimate_survey(survey, parts, **how.asked(progress)) if jointly else Answers(survey, parts)
    limits = shown.level, shown.simultaneous

    def record() -> dict[str, Any]:
        facts = {name: at_level(partial(estimate_facts, part), *limits)() for name, part in answers.items()}
        beside = {"left_out": dict(left_out), "notes": notes}
        return {"plan": survey.fingerprint, "questions": facts, "unanswered": answers.unanswered, **beside}

    tables = (part for name, result in answers.items() for part in estimate_parts(result, shown, f"{name}: "))
    lacking = [f"No reports on {'; '.join(answers.unanswered)}."] if answers.unanswered else []
    sentences = [*lacking, *left_out_sentences(left_out), *notes_of(notes)]
    ending = _ending(survey, tallies, shown)
    return VerbResult(record, chain(tables, sentences), at_level(answers.to_arrow, *limits), ending=ending), tallies


def _ending(survey: Survey, tallies: Mapping[str, Tally], shown: Showing) -> Ending:
    """Return the end of the estimates of all questions."""
    simulated, stated = any(tally.simulated for tally in tallies.values()), {}
    if shown.statement:
        from discreet.privacy.publication import published
        from discreet.surveys.guarantees import SurveyPublication

        about: dict[str, Any] = {"not_trusted": shown.not_trusted, "shown": "these estimates"}
        answered = {name: tally for name, tally in tallies.items() if tally.n}
        parts = {name: published(survey.question(name).mechanism, tally, **about) for name, tally in answered.items()}
        stated = {"publication": SurveyPublication.of(survey, parts)}
    return Ending(protection_of(survey), simulated, statement=stated)


@click.command(cls=Verb, epilog="Example: discreet survey compare survey.toml spring autumn")
@SURVEY
@REPORTS_OF_SURVEY
@QUESTION
@Sides.options
@Tests.options
@Showing.options
@DifferenceFiles.options
@Reading.only("trust_plan")
@allow_outside
def compare(
    survey: Path,
    reports: tuple[Any, ...],
    asked: Sides,
    tests: Tests,
    shown: Showing,
    out: DifferenceFiles,
    *,
    question: str | None,
    trust_plan: bool,
) -> None:
    """Compare two collections of reports made under SURVEY, question by question, or two groups of one.

    REPORTS are two files or folders of reports or tallies, each of other people; or with --by or --given one. --given
    and --plot go with --question.
    """
    document = load_survey(survey)
    check_folders(reports if shown.statement else ())
    by = [] if asked.by is None else [asked.by]
    how: dict[str, Any] = {"asked": asked, "tests": tests, "shown": shown, "trust_plan": trust_plan}
    if question is not None:
        of_one = [(source.name or str(source), *question_of(document, question, [source], by)) for source in reports]
        sides = [Side(title, files) for title, _, files in of_one]
        result = compared_sides(document.plan(question), sides, **how)
        result.write(out.output, out.plot, force=out.force)
        result.show(out.output, out.plot)
        return
    refuse_of_one(["given", "plot", "trust_plan"])
    every = [(source, files_by_question(document.survey(), [source], by)) for source in reports]
    of = {
        name: [Side(source.name or str(source), files[name]) for source, files in every]
        for name in (each.name for each in document.survey().questions)
        if all(name in files for _, files in every)
    }
    result = together(document, each_question(document, of, partial(compared_sides, **how)), lacking=_NOT_ON_BOTH)
    result.write(out.output, force=out.force)
    result.show(out.output)


@click.command(cls=Verb, epilog="Example: discreet survey regress survey.toml reports --on region")
@SURVEY
@REPORTS_OF_SURVEY
@QUESTION
@Model.options
@LEVEL
@CoefficientFile.options
@Showing.only("statement")
@Reading.only("trust_plan")
@allow_outside
def regress(
    survey: Path, reports: tuple[Any, ...], model: Model, out: CoefficientFile, *, question: str | None, **asked: Any
) -> None:
    """Regress what people reported on each question of SURVEY on public columns beside REPORTS.

    REPORTS are Parquet and Arrow files of reports, and folders of such files, that have these columns. --value and
    --baseline go with --question.
    """
    document = load_survey(survey)
    if question is not None:
        result = regression(*question_of(document, question, reports), model, **asked)
    else:
        refuse_of_one(["value", "baseline", "trust_plan"])
        files = files_by_question(document.survey(), reports)
        result = together(document, each_question(document, files, partial(regression, model=model, **asked)))
    result.write(out.output, force=out.force)
    result.show(out.output)
