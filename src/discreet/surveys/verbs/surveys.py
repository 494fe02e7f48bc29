"""Verbs about a plan that are handed a survey: they go through its questions, and say what all of them come to.

Every question is an ordinary plan with files of its own, which its reports name. So a verb runs as it does on that
plan; what it would print is kept, and printed together. Tables of results become one with a column for the question;
of other outputs there is a folder with a file for each question, all of them or none.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Verb
from discreet.cli.options import allows_outside, refuse_idle
from discreet.cli.output import (
    STANDARD,
    OutputPlace,
    QuestionResult,
    SavedTable,
    Table,
    asking,
    show,
    write_results,
    written,
)
from discreet.cli.statements import Ending
from discreet.core.guarantee import rounded_up
from discreet.errors import DiscreetError, ParameterError
from discreet.files.paths import ESTIMATES, REPORTS, File
from discreet.files.writing import check_own_folder, replacing_all
from discreet.surveys.documents import Questionnaire, WholeSurveyError, question_files, survey_of_question
from discreet.surveys.rounds import ROUND
from discreet.surveys.survey import Survey

OF_ONE = "it is for one question of a survey, as SURVEY#QUESTION"
"""The reason for which an option does not go with a whole survey."""

Together = Callable[[Survey, Mapping[str, QuestionResult]], tuple[dict[str, Any], list[str]]]
"""A function of the results of all questions that returns a record and sentences."""


class Gathered(list[File]):
    """The files of a question among those that one path or URL names.

    Args:
        source: the path or URL.
        files: of the question.
    """

    def __init__(self, source: Any, files: Iterable[File]) -> None:
        super().__init__(files)
        self.name = getattr(source, "name", "") or str(source)


def files_of(source: Any) -> list[Any]:
    """Return the files that a side of reports is made of."""
    return [*source] if isinstance(source, Gathered) else [source]


class SurveyVerb(Verb):
    """A verb about a plan, which goes through the questions of a survey.

    Args:
        reads: the parameter of reports; empty if there is none, so that every question is looked at.
        sides: whether what is named is looked at one by one.
        of_one: options that are for one question.
        level: the parameter of a confidence with which statements on all questions hold at once.
        together: what the results of all questions come to.
    """

    def __init__(
        self,
        *given: Any,
        reads: str = "reports",
        sides: bool = False,
        of_one: Collection[str] = (),
        level: str = "",
        together: Together | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self.reads, self.sides, self.of_one, self.level, self.together = reads, sides, of_one, level, together

    def run(self, ctx: click.Context) -> None:
        """Run the verb; on every question of a survey."""
        self._refuse_rounds(ctx.params)
        try:
            super().run(ctx)
        except WholeSurveyError as whole:
            self._go_through(ctx, whole.questionnaire)

    def _refuse_rounds(self, values: Mapping[str, Any]) -> None:
        """Refuse reports of several rounds of one question, of which its plan by itself knows nothing."""
        from discreet.formats.sources import report_files
        from discreet.surveys.sources import has_rounds

        sources = values.get(self.reads) or ()
        document = survey_of_question(values["plan"], allow_outside=allows_outside()) if sources else None
        if document is not None and document.rounds is not None:
            named = sources if isinstance(sources, tuple) else (sources,)
            for file in filter(has_rounds, report_files([source for source in named if source != STANDARD])):
                raise ParameterError(
                    f"{file} has reports of rounds, in which people answer again; name the survey as a whole, and not "
                    f"one question, with --by {ROUND}."
                )

    def _go_through(self, ctx: click.Context, document: Questionnaire) -> None:
        """Run the verb on every question; print all results, write all files or none, exit with the largest code."""
        refuse_idle([*self.of_one, "trust_plan"], OF_ONE)
        survey, results, values = document.survey(), dict[str, QuestionResult](), ctx.params
        asked = self._asked(survey, values)
        if not asked:
            raise ParameterError(
                f"no question is {'on both sides' if self.sides else 'protected'}; nothing can be said."
            )
        with ExitStack() as files:
            targets = self._targets(survey, asked, values)
            # A tally is added to where it is; all else is written whole, or not at all.
            force = {"force": True} if targets and "force" in values else {}
            besides = list(targets.values())
            if force:
                besides = files.enter_context(replacing_all(besides, force=values["force"]))
            for place, (name, more) in enumerate(asked.items()):
                to = {"output": besides[place]} if targets else {}
                ctx.params = {**values, "plan": Path(f"{values['plan']}#{name}"), **more, **to, **force}
                results[name] = self._result(ctx, document, name)
        ctx.params = values
        names = {str(beside): str(target) for beside, target in zip(besides, targets.values(), strict=True)}
        self._show(survey, results, values, names)
        if code := max(result.code for result in results.values()):
            raise click.exceptions.Exit(code)

    def _asked(self, survey: Survey, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the parameters that differ for each question: its reports, and the confidence."""
        # What reads reports is loaded when there is something to read.
        from discreet.surveys.sources import files_by_question

        names = [question.name for question in survey.questions]
        if not self.reads:
            names = [question.name for question in survey.questions if question.epsilon]
            each = {self.level: 1 - (1 - values[self.level]) / len(names)} if self.level else {}
            return dict.fromkeys(names, each)
        sources, by = values[self.reads], values.get("by") or ()
        if not self.sides:
            files = files_by_question(survey, sources if isinstance(sources, tuple) else [sources], by)
            return {name: {self.reads: tuple(some)} for name, some in files.items()}
        sides = [(source, files_by_question(survey, [source], by)) for source in sources]
        return {
            name: {self.reads: tuple(Gathered(source, files[name]) for source, files in sides)}
            for name in names
            if all(name in files for _, files in sides)
        }

    def _targets(self, survey: Survey, asked: Collection[str], values: Mapping[str, Any]) -> dict[str, Path]:
        """Return the files to write; none where there is a table of all questions, or nothing to write."""
        kinds = [part.type for part in self.params if part.name == "output"]
        if not kinds or not isinstance(kinds[0], OutputPlace) or kinds[0].endings == ESTIMATES:
            return {}
        return files_in_folder(survey, values["output"], kinds[0], asked)

    def _result(self, ctx: click.Context, document: Questionnaire, name: str) -> QuestionResult:
        """Return the result of one question."""
        result = QuestionResult(document.plan(name), document.survey())
        try:
            with asking(result):
                super().run(ctx)
        except DiscreetError as error:
            raise type(error)(f"question {name!r}: {error}") from None
        return result

    def _show(
        self, survey: Survey, results: Mapping[str, QuestionResult], values: Mapping[str, Any], names: Mapping[str, str]
    ) -> None:
        """Write the table of all questions, and print what came of each and of all of them."""
        ending = _ending(survey, results, apart=ROUND in (values.get("by") or ()))
        record, sentences = ({}, []) if self.together is None else self.together(survey, results)
        left = "unanswered" if self.reads else "unprotected"
        lacking = [question.name for question in survey.questions if question.name not in results]

        def facts() -> dict[str, Any]:
            each = {name: _renamed(part.result, names) for name, part in results.items()}
            stated = {} if ending is None else ending.record()
            return (
                {"plan": survey.fingerprint, **survey_facts(survey), "questions": each, left: lacking} | record | stated
            )

        def parts() -> Iterator[str | Table]:
            for name, result in results.items():
                yield f"\nQuestion {name}"
                yield from (_renamed(part, names) for part in result.parts)
            yield ""
            absent = (
                "Not on both sides:" if self.sides else "No reports on" if self.reads else "Nothing is protected in"
            )
            yield from [f"{absent} {'; '.join(lacking)}."] if lacking else []
            yield from sentences
            yield from written(table)
            yield from [str(survey.guarantee)] if ending is None else ending.lines()

        table = values["output"] if any(result.table for result in results.values()) else None
        write_results(table, SavedTable(partial(_joined, results), facts), {}, force=values.get("force", False))
        show(facts, parts())


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


def _ending(survey: Survey, results: Mapping[str, QuestionResult], *, apart: bool) -> Ending | None:
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


def _joined(results: Mapping[str, QuestionResult]) -> Any:
    """Return the tables of all questions as one, with columns for the question and its value."""
    import pyarrow as pa

    tables = []
    for name, result in results.items():
        table = pa.table({}) if result.table is None else result.table.table()
        if "sensitive" in table.column_names:
            # Labels stand before it, of products a column each.
            names, end = result.plan.domain.names(), table.column_names.index("sensitive")
            labels = table.column_names[end - len(result.plan.domain.table()) : end]
            values = pa.array(names * (table.num_rows // len(names)), pa.string())
            table = table.drop_columns(labels).add_column(end - len(labels), "value", values)
        tables.append(table.add_column(0, "question", pa.array([name] * table.num_rows, pa.string())))
    return pa.concat_tables(tables, promote_options="permissive")


def _renamed(fact: Any, names: Mapping[str, str]) -> Any:
    """Return a fact or a sentence with the names of files as they are in the end."""
    if isinstance(fact, str):
        for beside, target in names.items():
            fact = fact.replace(beside, target)
        return fact
    if isinstance(fact, dict):
        return {name: _renamed(part, names) for name, part in fact.items()}
    return [_renamed(part, names) for part in fact] if isinstance(fact, list) else fact
