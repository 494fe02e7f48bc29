"""Files of reports on the questions of a survey."""

from collections.abc import Sequence

from discreet.errors import MismatchError, ParameterError
from discreet.files.paths import COLUMNS, File
from discreet.files.stored import look
from discreet.formats.sources import report_files, stamped_plan
from discreet.surveys.rounds import ROUND
from discreet.surveys.survey import Survey


def files_by_question(survey: Survey, sources: Sequence[str | File], by: Sequence[str] = ()) -> dict[str, list[File]]:
    """Return the files of reports and tallies by the question that they say they answer; those in folders too.

    Args:
        survey: whose questions.
        sources: files and folders.
        by: names of the columns that make groups of them.

    Raises:
        DataError: if a file cannot be read, or does not say its plan.
        MismatchError: if one is of none of the questions; it names the file.
        ParameterError: if one has reports of several rounds, and groups do not tell these apart.
    """
    names = {question.mechanism.fingerprint: question.name for question in survey.questions}
    files: dict[str, list[File]] = {name: [] for name in names.values()}
    for file in report_files(sources):
        plan = stamped_plan(file)
        if plan not in names:
            named = f"plan {plan[:12]}" if plan else "an unknown plan"
            raise MismatchError("reports.of-no-question", file=file, plan=named, survey=survey.fingerprint[:12])
        refuse_pooled_rounds(survey, [file], by)
        files[names[plan]].append(file)
    return {name: some for name, some in files.items() if some}


def refuse_pooled_rounds(survey: Survey, sources: Sequence[str | File], by: Sequence[str] = ()) -> None:
    """Raise if a file has reports of several rounds: reports of the same people are not one batch.

    Args:
        survey: a survey with rounds or without.
        sources: files and folders.
        by: names of the columns that make groups of them.

    Raises:
        ParameterError: if one has reports of several rounds, and groups do not tell these apart.
    """
    if survey.rounds is None or ROUND in by:
        return
    for file in report_files(sources):
        if file.name.endswith(COLUMNS) and ROUND in look(file).schema.names:
            raise ParameterError("rounds.pooled", file=file)
