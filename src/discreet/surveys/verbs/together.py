"""Functions that commands of surveys share: read a survey, run a function for each question, combine the results.

Every question has a plan, and files of reports with the plan's fingerprint. A command of surveys calls the function of
the same command for plans, once for each question or only for ``--question``. Tables of the results are joined to one
table with a column for the question. Other outputs are a folder with a file for each question: all files are written,
or none.
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
from discreet.cli.results import CommandResult, Ending
from discreet.core.result_table import ResultTable
from discreet.errors import DiscreetError, ParameterError, SurveyDocumentError
from discreet.files.paths import REPORTS, checked_output
from discreet.files.writing import check_own_folder, replacing_all
from discreet.formats.plan import Plan
from discreet.surveys.documents import Questionnaire, question_files
from discreet.surveys.survey import Survey

SURVEY = click.argument("survey", type=InputFile())
REPORTS_OF_SURVEY = click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))


class NoResultTexts(NamedTuple):
    """Texts for questions that have no result.

    Attributes:
        name: the name of the list of these questions, for JSON.
        words: the words before the list of these questions, for people.
        none: the code of the error if no question has a result.
    """

    name: str
    words: str
    none: str


UNANSWERED = NoResultTexts("unanswered", "No reports on", "questions.without-reports")
UNPROTECTED = NoResultTexts("unprotected", "Nothing is protected in", "questions.unprotected")


def load_survey(path: Path) -> Questionnaire:
    """Read a survey. It may name files outside its folder if ``--allow-outside`` was given.

    Raises:
        ParameterError: if the file is a plan, cannot be read, or has a wrong field; the error names the field.
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
class SurveyOptions(OptionGroup):
    """The arguments SURVEY and ``--question``. Without ``--question`` a command handles all questions."""

    survey: Path = field(metadata={"option": partial(click.argument, type=InputFile())})
    question: str | None = option("--question", metavar="NAME", help="Use only this question of the survey.")

    def document(self, of_one: Sequence[str] = ()) -> Questionnaire:
        """Read the survey. Raise an error for options that need ``--question`` if no question is named.

        Args:
            of_one: the names of the options that need ``--question``.

        Raises:
            ParameterError: if such an option is given without a question, or as for `load_survey`.
        """
        if self.question is None:
            refuse_idle(of_one, "{} is for one question of a survey; name the question with --question.")
        return load_survey(self.survey)

    def files(self, document: Questionnaire, sources: Sequence[Any], by: Sequence[str] = ()) -> dict[str, list[Any]]:
        """Return the files of reports for each question, by the question's name.

        Args:
            document: the survey.
            sources: files and folders. With --question, files of a trusted plan and standard input are not checked.
            by: names of the columns that divide the reports into groups.

        Raises:
            ParameterError: if there are no reports on the one question; or if a file has reports of several rounds, and
                rounds are not groups.
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
        """Return the file to write for each question: a file in the folder `output`, or `output` for one question."""
        if self.question is None:
            return files_in_folder(document.survey(), output, kind, files)
        checked_output(output, kind.endings, kind.what)
        return dict.fromkeys(files, output)

    def combined(self, document: Questionnaire, results: Mapping[str, CommandResult], **about: Any) -> CommandResult:
        """Return the result of the question of ``--question``, or one result for all questions.

        Args:
            document: the survey.
            results: the results, by the question's name.
            about: further arguments of `together`.
        """
        if self.question is not None and results:
            return next(iter(results.values()))
        return together(document, results, **about)

    def result(
        self, document: Questionnaire, of: Mapping[str, Any], result: Callable[[Plan, Any], CommandResult], **about: Any
    ) -> CommandResult:
        """Call a function for each question, with the question's plan and input, and combine the results."""
        return self.combined(document, each_question(document, of, result), **about)


def each_question(
    document: Questionnaire, of: Mapping[str, Any], result: Callable[[Plan, Any], CommandResult]
) -> dict[str, CommandResult]:
    """Call a function for each question, and return the results by the question's name.

    Args:
        document: the survey.
        of: an input for each question, such as its files of reports, by the question's name.
        result: a function of the question's plan and of the question's input.
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
    results: Mapping[str, CommandResult],
    record: Mapping[str, Any] | None = None,
    sentences: Sequence[str] = (),
    *,
    lacking: NoResultTexts = UNANSWERED,
    apart: bool = False,
    table: Callable[[], Any] | None = None,
) -> CommandResult:
    """Combine the results of all questions into one result.

    Args:
        document: the survey.
        results: the results, by the question's name.
        record: further facts on all questions, for JSON.
        sentences: the same facts, for people.
        lacking: texts about questions without a result.
        apart: for the privacy statement, whether each group of a question's reports is a batch.
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
    return CommandResult(facts, parts(), table, ending=ending, code=code)


def check_folder_name(folder: Path, kind: OutputPlace) -> None:
    """Raise an error if the path of a folder looks like the path of a file.

    Raises:
        ParameterError: if the name has the ending of a file.
    """
    if folder == STANDARD or folder.name.endswith((*kind.endings, *REPORTS)):
        raise ParameterError("folder.is-file", what=kind.what, folder=folder)


def files_in_folder(survey: Survey, folder: Path, kind: OutputPlace, asked: Iterable[str]) -> dict[str, Path]:
    """Make the folder for the questions' files, and return the path of each question's file.

    Raises:
        ParameterError: if the name has the ending of a file, or the folder cannot be made or has other files.
    """
    check_folder_name(folder, kind)
    files = question_files((question.name for question in survey.questions), kind.endings[0])
    check_own_folder(folder, [folder / file for file in files.values()])
    return {name: folder / files[name] for name in asked}


def each_file(
    document: Questionnaire,
    of: Mapping[str, Any],
    places: Mapping[str, Path],
    result: Callable[[Plan, Any, Path, Path], CommandResult],
    *,
    force: bool,
) -> dict[str, CommandResult]:
    """Call a function that writes a file for each question, and return the results. All files are written, or none.

    Args:
        document: the survey.
        of: an input for each question, such as its files of reports, by the question's name.
        places: the file of each question.
        result: a function of the question's plan, its input, its file, and the temporary file to write.
        force: whether files that exist are replaced.

    Raises:
        OutputExistsError: if a file exists and ``force`` is false.
    """
    with replacing_all(list(places.values()), force=force) as besides:
        targets = dict(zip(places, besides, strict=True))

        def written(plan: Plan, name: str) -> CommandResult:
            return result(plan, of[name], places[name], targets[name])

        return each_question(document, {name: name for name in of}, written)


def _ending(survey: Survey, results: Mapping[str, CommandResult], *, apart: bool) -> Ending | None:
    """Return the last lines of the combined result; None if the questions' results have no such lines."""
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


def _joined(document: Questionnaire, results: Mapping[str, CommandResult]) -> Any:
    """Return the tables of all questions as one Arrow table, with columns for the question and the value."""
    import pyarrow as pa

    tables = []
    for name, result in results.items():
        table = pa.table({}) if result.table is None else result.table()
        if "sensitive" in table.column_names:
            # The columns of labels are before this column, one column for each attribute of a product.
            domain = document.plan(name).domain
            names, end = domain.names(), table.column_names.index("sensitive")
            labels = table.column_names[end - len(domain.table()) : end]
            values = pa.array(names * (table.num_rows // len(names)), pa.string())
            table = table.drop_columns(labels).add_column(end - len(labels), "value", values)
        tables.append(table.add_column(0, "question", pa.array([name] * table.num_rows, pa.string())))
    return pa.concat_tables(tables, promote_options="permissive")
