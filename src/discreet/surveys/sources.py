"""Files of reports, sorted by the questions of a survey."""

from collections.abc import Sequence

from discreet.errors import MismatchError, ParameterError
from discreet.files.paths import COLUMNS, File
from discreet.files.stored import look
from discreet.formats.sources import report_files, stamped_plan
from discreet.surveys.rounds import ROUND
from discreet.surveys.survey import Survey


def files_by_question(survey: Survey, sources: Sequence[str | File], by: Sequence[str] = ()) -> dict[str, list[File]]:
    """Return the files of reports and tallies by question, according to the plan's fingerprint in each file.

    Args:
        survey: the survey.
        sources: files, and folders of files.
        by: names of the columns that divide the reports into groups.

    Raises:
        DataError: if a file cannot be read, or has no fingerprint of a plan.
        MismatchError: if a file belongs to none of the questions; the error names the file.
        ParameterError: if a file has reports of several rounds, and rounds are not groups.
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
    """Raise an error if a file has reports from several rounds, because the same people reported in each round.

    Args:
        survey: a survey with rounds or without.
        sources: files, and folders of files.
        by: names of the columns that divide the reports into groups.

    Raises:
        ParameterError: if a file has reports of several rounds, and rounds are not groups.
    """
    if survey.rounds is None or ROUND in by:
        return
    for file in report_files(sources):
        if file.name.endswith(COLUMNS) and ROUND in look(file).schema.names:
            raise ParameterError("rounds.pooled", file=file)
