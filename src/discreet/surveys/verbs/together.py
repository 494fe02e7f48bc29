"""Functions that verbs of surveys share: they read a survey, go through its questions, and put results together.

Every question is an ordinary plan with files of its own, which its reports name. So a verb of surveys calls the
function of the core's verb for each question, or for the one that ``--question`` names. Tables of results become one
with a column for the question. Other outputs are a folder with a file for each question: all of them are written, or
none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from discreet.cli.options import OptionGroup, allows_outside, option, refuse_idle
from discreet.cli.output import (
    STANDARD,
    InputFile,
    OutputPlace,
    built_ins,
    given_options,
    prints_json,
)
from discreet.cli.results import Ending, VerbResult
from discreet.core.result_table import ResultTable
from discreet.errors import DiscreetError, ParameterError, SurveyDocumentError
from discreet.files.paths import REPORTS, checked_output
from discreet.files.writing import check_own_folder, replacing_all
from discreet.formats.plan import Plan
from discreet.surveys.documents import Questionnaire, question_files
from discreet.surveys.survey import Survey

SURVEY = click.argument("survey", type=InputFile())
REPORTS_OF_SURVEY = click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))


class Lacking(NamedTuple):
    """Words for questions without a result.

    Attributes:
        name: of their list, for programs.
        words: before their list, for people.
        none: the code of the error that no question has a result.
    """

    name: str
    words: str
    none: str


UNANSWERED = Lacking("unanswered", "No reports on", "questions.without-reports")
UNPROTECTED = Lacking("unprotected", "Nothing is protected in", "questions.unprotected")


def load_survey(path: Path) -> Questionnaire:
    """Read a survey, with files outside its folder if the running verb allows them.

    Raises:
        ParameterError: if it is a plan, cannot be read, or has a wrong field; the message has the place.
    """
    try:
        return Questionnaire.load(path, allow_outside=allows_outside())
    except SurveyDocumentError as error:
        raise ParameterError("question.behind-survey", path=error.path, name=error.question) from None
    except ParameterError as error:
        wrong = error
        with suppress(ParameterError):
            Plan.load(path, allow_outside=allows_outside())
            verb = click.get_current_context().info_name
            wrong = ParameterError("survey.is-plan", path=path, verb=verb)
        raise wrong from None


@dataclass(frozen=True, slots=True)
class Asked(OptionGroup):
    """The survey and the question that a verb is about: all questions, or one as if it were a plan."""

    survey: Path = field(metadata={"option": partial(click.argument, type=InputFile())})
    question: str | None = option("--question", metavar="NAME", help="Only this question, as if it were a plan.")

    def document(self, of_one: Sequence[str] = ()) -> Questionnaire:
        """Read the survey, and refuse options that are for one question if none is named.

        Args:
            of_one: names of these options.

        Raises:
            ParameterError: if one of these options is given without a question, or as for `load_survey`.
        """
        if self.question is None:
            refuse_idle(of_one, "{} is for one question of a survey; name the question with --question.")
        return load_survey(self.survey)

    def files(self, document: Questionnaire, sources: Sequence[Any], by: Sequence[str] = ()) -> dict[str, list[Any]]:
        """Return the files among the sources that hold reports on a question, by its name.

        Args:
            document: the survey.
            sources: files and folders. With --question, files of a trusted plan and standard input are not checked.
            by: names of the columns that make groups of the reports.

        Raises:
            ParameterError: if there are no reports on the one question; or if reports are of several rounds, and no
                column distinguishes these.
        """
        from discreet.surveys.sources import files_by_question, refuse_pooled_rounds

        survey, name = document.survey(), self.question
        if name is None:
            return files_by_question(survey, sources, by)
        name = survey.question(name).name
        if STANDARD in sources or "trust_plan" in given_options():
            refuse_pooled_rounds(survey, [source for source in sources if source != STANDARD], by)
            return {name: list(sources)}
        files = files_by_question(survey, sources, by).get(name)
        if files is None:
            raise ParameterError("reports.none-on-question", name=name)
        return {name: files}

    def places(self, document: Questionnaire, output: Path, kind: OutputPlace, files: Iterable[str]) -> dict[str, Path]:
        """Return the file to write for each question: the output itself, or a file in it; see `files_in_folder`."""
        if self.question is None:
            return files_in_folder(document.survey(), output, kind, files)
        checked_output(output, kind.endings, kind.what)
        return dict.fromkeys(files, output)

    def combined(self, document: Questionnaire, results: Mapping[str, VerbResult], **about: Any) -> VerbResult:
        """Return the result of the one question, or the results of all questions together.

        Args:
            document: the survey.
            results: by question.
            about: further arguments of `together`.
        """
        if self.question is not None and results:
            return next(iter(results.values()))
        return together(document, results, **about)

    def result(
        self, document: Questionnaire, of: Mapping[str, Any], result: Callable[[Plan, Any], VerbResult], **about: Any
    ) -> VerbResult:
        """Return the result of a function of each question's plan, and of what differs, such as files of reports."""
        return self.combined(document, each_question(document, of, result), **about)


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
        try:
            of_one = result(document.plan(name), some)
            results[name] = replace(of_one, parts=() if prints_json() else list(of_one.parts))
        except DiscreetError as error:
            raise error.at(f"Question {name!r}") from None
    return results


def together(
    document: Questionnaire,
    results: Mapping[str, VerbResult],
    record: Mapping[str, Any] | None = None,
    sentences: Sequence[str] = (),
    *,
    lacking: Lacking = UNANSWERED,
    apart: bool = False,
    table: Callable[[], Any] | None = None,
) -> VerbResult:
    """Return the results of all questions as one.

    Args:
        document: the survey.
        results: by question.
        record: further facts on all questions, for programs.
        sentences: the same facts, for people.
        lacking: words on the other questions.
        apart: for the statement, whether groups of each question are batches of their own.
        table: a function that returns the table of all questions; None for the joined tables of the results.

    Raises:
        ParameterError: if there are no results.
    """
    survey = document.survey()
    if not results:
        raise ParameterError(lacking.none)
    others = [question.name for question in survey.questions if question.name not in results]
    ending = _ending(survey, results, apart=apart)
    if table is None and any(result.table for result in results.values()):
        table = partial(_joined, document, results)

    def facts() -> dict[str, Any]:
        each = {name: built_ins(part.record()) for name, part in results.items()}
        return {
            "plan": survey.fingerprint,
            **survey.guarantee.to_dict(),
            "questions": each,
            lacking.name: others,
            **(record or {}),
        }

    def parts() -> Iterator[str | ResultTable]:
        for name, result in results.items():
            yield f"\nQuestion {name}"
            yield from result.parts
        yield ""
        yield from [f"{lacking.words} {'; '.join(others)}."] if others else []
        yield from sentences
        yield from [str(survey.guarantee)] if ending is None else []

    code = max(result.code for result in results.values())
    return VerbResult(facts, parts(), table, ending=ending, code=code)


def check_folder_name(folder: Path, kind: OutputPlace) -> None:
    """Refuse a file where a folder is needed, with a file for each question of a survey.

    Raises:
        ParameterError: if the name ends like a file's.
    """
    if folder == STANDARD or folder.name.endswith((*kind.endings, *REPORTS)):
        raise ParameterError("folder.is-file", what=kind.what, folder=folder)


def files_in_folder(survey: Survey, folder: Path, kind: OutputPlace, asked: Iterable[str]) -> dict[str, Path]:
    """Return the files of questions in a folder, which is made.

    Raises:
        ParameterError: if the name ends like a file's, or the folder cannot be made or has other files.
    """
    check_folder_name(folder, kind)
    files = question_files((question.name for question in survey.questions), kind.endings[0])
    check_own_folder(folder, [folder / file for file in files.values()])
    return {name: folder / files[name] for name in asked}


def each_file(
    document: Questionnaire,
    of: Mapping[str, Any],
    places: Mapping[str, Path],
    result: Callable[[Plan, Any, Path, Path], VerbResult],
    *,
    force: bool,
) -> dict[str, VerbResult]:
    """Return the results of questions that each write a file; all are in their places afterwards, or none.

    Args:
        document: the survey.
        of: what differs for each question, such as its files of reports, by the question's name.
        places: the file of each question.
        result: a function of the question's plan, what differs, its file, and the file beside it to write to.
        force: whether files that exist are replaced.

    Raises:
        OutputExistsError: if a file exists and is not to be replaced.
    """
    with replacing_all(list(places.values()), force=force) as besides:
        targets = dict(zip(places, besides, strict=True))

        def written(plan: Plan, name: str) -> VerbResult:
            return result(plan, of[name], places[name], targets[name])

        return each_question(document, {name: name for name in of}, written)


def _ending(survey: Survey, results: Mapping[str, VerbResult], *, apart: bool) -> Ending | None:
    """Return the end of the result of all questions together; None of a verb whose results have none."""
    endings = {name: result.ending for name, result in results.items() if result.ending is not None}
    if not endings:
        return None
    stated = {name: ending.statement for name, ending in endings.items() if ending.statement}
    statement = {}
    if stated:
        from discreet.surveys.guarantees import SurveyPublication

        for which in dict.fromkeys(which for parts in stated.values() for which in parts):
            # A question without columns beside its reports has the same publication with and without them.
            parts = {name: part.get(which, part["publication"]) for name, part in stated.items()}
            statement[which] = SurveyPublication(survey, parts, apart)
    simulated = any(ending.simulated for ending in endings.values())
    return Ending(lambda: survey.guarantee.brief, simulated, statement=statement)


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
