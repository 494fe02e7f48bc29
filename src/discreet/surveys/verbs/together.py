"""Functions that verbs of surveys share: they read a survey, go through its questions, and put results together.

Every question is an ordinary plan with files of its own, which its reports name. So a verb of surveys calls the
function of the core's verb for each question. Tables of results become one with a column for the question. Other
outputs are a folder with a file for each question: all of them are written, or none.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from discreet.cli.options import allows_outside, refuse_idle
from discreet.cli.output import (
    STANDARD,
    InputFile,
    OutputPlace,
    Table,
    built_ins,
    given_options,
    prints_json,
)
from discreet.cli.results import VerbResult
from discreet.cli.statements import Ending
from discreet.core.guarantee import rounded_up
from discreet.errors import DiscreetError, ParameterError, SurveyDocumentError
from discreet.files.paths import REPORTS
from discreet.files.writing import check_own_folder, replacing_all
from discreet.formats.plan import Plan
from discreet.surveys.documents import Questionnaire, load, question_files
from discreet.surveys.survey import Survey

SURVEY = click.argument("survey", type=InputFile())
REPORTS_OF_SURVEY = click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
QUESTION = click.option("--question", metavar="NAME", help="Only this question, as if it were a plan.")


class Lacking(NamedTuple):
    """Words on the questions of which a verb has no result.

    Attributes:
        name: of their list, for programs.
        words: before their list, for people.
        none: a clause for the case that no question has a result.
    """

    name: str
    words: str
    none: str


UNANSWERED = Lacking("unanswered", "No reports on", "no question has reports")
UNPROTECTED = Lacking("unprotected", "Nothing is protected in", "no question is protected")


def load_survey(path: Path) -> Questionnaire:
    """Read a survey, with files outside its folder if the running verb allows them.

    Raises:
        ParameterError: if it is a plan, cannot be read, or says what it may not; it names the place.
    """
    try:
        document = load(path, allow_outside=allows_outside())
    except SurveyDocumentError as error:
        raise ParameterError(
            f"a question is not named behind the survey; give {error.path} and --question {error.question}, where the "
            "verb has this option."
        ) from None
    if isinstance(document, Plan):
        verb = click.get_current_context().info_name
        raise ParameterError(f"{path} is a plan, and a survey is needed here; discreet {verb} takes plans.")
    return document


def refuse_of_one(names: Sequence[str]) -> None:
    """Refuse options that are for one question, if they were given for the whole survey.

    Raises:
        ParameterError: if one of them was given.
    """
    refuse_idle(names, "{} is for one question of a survey; name the question with --question.")


def question_of(
    document: Questionnaire, name: str, sources: Sequence[Any], by: Sequence[str] = ()
) -> tuple[Plan, list[Any]]:
    """Return the plan of a question, and the files among the sources that hold reports on it.

    Args:
        document: the survey.
        name: of the question.
        sources: files and folders, of other questions too. They are taken as they are where the caller vouches for
            them, and where one is the standard input.
        by: names of the columns that make groups of the reports.

    Raises:
        ParameterError: if there is no such question, or no reports on it; or if reports are of several rounds, and no
            column keeps these apart.
    """
    from discreet.surveys.sources import files_by_question, refuse_pooled_rounds

    plan, survey = document.plan(name), document.survey()
    if STANDARD in sources or "trust_plan" in given_options():
        refuse_pooled_rounds(survey, [source for source in sources if source != STANDARD], by)
        return plan, list(sources)
    files = files_by_question(survey, sources, by).get(name)
    if files is None:
        raise ParameterError(f"none of the files that were named holds reports on {name}.")
    return plan, list(files)


@contextmanager
def named(question: str) -> Iterator[None]:
    """Name the question in errors of the body."""
    try:
        yield
    except DiscreetError as error:
        raise type(error)(f"question {question!r}: {error}") from None


def each_question(
    document: Questionnaire, of: Mapping[str, Any], result: Callable[[Plan, Any], VerbResult]
) -> dict[str, VerbResult]:
    """Return the results of questions, by name.

    Args:
        document: the survey.
        of: what differs for each question, such as its files of reports, by the question's name.
        result: a function of the question's plan and of that.
    """
    results = {}
    for name, some in of.items():
        with named(name):
            of_one = result(document.plan(name), some)
            results[name] = replace(of_one, parts=() if prints_json() else list(of_one.parts))
    return results


def together(
    document: Questionnaire,
    results: Mapping[str, VerbResult],
    record: Mapping[str, Any] | None = None,
    sentences: Sequence[str] = (),
    *,
    lacking: Lacking = UNANSWERED,
    apart: bool = False,
) -> VerbResult:
    """Return the results of all questions as one.

    Args:
        document: the survey.
        results: by question.
        record: what they come to, for programs.
        sentences: the same, for people.
        lacking: words on the other questions.
        apart: for the statement, whether groups of each question are batches of their own.

    Raises:
        ParameterError: if there are no results.
    """
    survey = document.survey()
    if not results:
        raise ParameterError(f"{lacking.none}; nothing can be said.")
    others = [question.name for question in survey.questions if question.name not in results]
    ending = _ending(survey, results, apart=apart)

    def facts() -> dict[str, Any]:
        each = {name: built_ins(part.record()) for name, part in results.items()}
        return {
            "plan": survey.fingerprint,
            **survey_facts(survey),
            "questions": each,
            lacking.name: others,
            **(record or {}),
        }

    def parts() -> Iterator[str | Table]:
        for name, result in results.items():
            yield f"\nQuestion {name}"
            yield from result.parts
        yield ""
        yield from [f"{lacking.words} {'; '.join(others)}."] if others else []
        yield from sentences
        yield from [str(survey.guarantee)] if ending is None else []

    table = partial(_joined, document, results) if any(result.table for result in results.values()) else None
    code = max(result.code for result in results.values())
    return VerbResult(facts, parts(), table, ending=ending, code=code)


def check_folder_name(folder: Path, kind: OutputPlace) -> None:
    """Refuse a file where a folder is needed, with a file for each question of a survey.

    Raises:
        ParameterError: if it is one by its name.
    """
    if folder == STANDARD or folder.name.endswith((*kind.endings, *REPORTS)):
        raise ParameterError(
            f"{kind.what} of a survey are a folder with a file for each question; name one, got {folder}."
        )


def files_in_folder(survey: Survey, folder: Path, kind: OutputPlace, asked: Collection[str]) -> dict[str, Path]:
    """Return the files of questions in a folder, which is made.

    Raises:
        ParameterError: if the name is that of a file, or the folder cannot be made or holds other files.
    """
    check_folder_name(folder, kind)
    files = question_files((question.name for question in survey.questions), kind.endings[0])
    check_own_folder(folder, [folder / file for file in files.values()])
    return {name: folder / files[name] for name in asked}


@contextmanager
def all_or_none(files: Mapping[str, Path], *, force: bool) -> Iterator[dict[str, tuple[Path, Path]]]:
    """Yield each question's file, and the file beside it to write to; all are in their places after the body, or none.

    Raises:
        OutputExistsError: if a file exists and is not to be replaced.
    """
    with replacing_all(list(files.values()), force=force) as besides:
        yield {name: (file, beside) for (name, file), beside in zip(files.items(), besides, strict=True)}


def survey_facts(survey: Survey) -> dict[str, Any]:
    """Return the promise of a survey, and what it is realised by, for programs."""
    guarantee = survey.guarantee
    promised = {"promise": survey.promise, "promised": survey.epsilon}
    return promised | {"record": guarantee.record, "attributes": dict(guarantee.attributes)}


def protection_of(survey: Survey) -> str:
    """Return the protection of one person's answers, in a clause without a full stop."""
    guarantee = survey.guarantee
    clear = ", except answers in clear" if guarantee.in_clear else ""
    return f"All answers of one person together are protected with epsilon {rounded_up(guarantee.record)}{clear}"


def _ending(survey: Survey, results: Mapping[str, VerbResult], *, apart: bool) -> Ending | None:
    """Return the end of the result of all questions together; None of a verb whose results have none."""
    endings = {name: result.ending for name, result in results.items() if result.ending is not None}
    if not endings:
        return None
    simulated = any(ending.simulated for ending in endings.values())
    return Ending(protection_of(survey), simulated, statement=_statement(survey, endings, apart=apart))


def _statement(survey: Survey, endings: Mapping[str, Ending], *, apart: bool) -> dict[str, Any]:
    """Return the publications of all questions: by themselves, and with the columns beside reports."""
    stated = {name: ending.statement for name, ending in endings.items() if ending.statement}
    if not stated:
        return {}
    from discreet.surveys.guarantees import SurveyPublication

    whiches = dict.fromkeys(which for statement in stated.values() for which in statement)
    # A question without such columns has the same publication with and without them.
    parts = {
        which: {name: statement.get(which, statement["publication"]) for name, statement in stated.items()}
        for which in whiches
    }
    return {which: SurveyPublication.of(survey, part, apart=apart) for which, part in parts.items()}


def _joined(document: Questionnaire, results: Mapping[str, VerbResult]) -> Any:
    """Return the tables of all questions as one, with columns for the question and its value."""
    import pyarrow as pa

    tables = []
    for name, result in results.items():
        table = pa.table({}) if result.table is None else result.table()
        if "sensitive" in table.column_names:
            # Labels stand before it, of products a column each.
            domain = document.plan(name).domain
            names, end = domain.names(), table.column_names.index("sensitive")
            labels = table.column_names[end - len(domain.table()) : end]
            values = pa.array(names * (table.num_rows // len(names)), pa.string())
            table = table.drop_columns(labels).add_column(end - len(labels), "value", values)
        tables.append(table.add_column(0, "question", pa.array([name] * table.num_rows, pa.string())))
    return pa.concat_tables(tables, promote_options="permissive")
