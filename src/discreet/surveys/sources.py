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
            whose = f"of plan {plan[:12]}, which is" if plan else "without the mark of a plan, and so of"
            raise MismatchError(f"{file} holds reports {whose} no question of survey {survey.fingerprint[:12]}.")
        refuse_pooled_rounds(survey, [file], by)
        files[names[plan]].append(file)
    return {name: some for name, some in files.items() if some}


def refuse_pooled_rounds(survey: Survey, sources: Sequence[str | File], by: Sequence[str] = ()) -> None:
    """Refuse reports of several rounds of a survey, which are not those of as many people, as one batch.

    Args:
        survey: which may have rounds.
        sources: files and folders.
        by: names of the columns that make groups of them.

    Raises:
        ParameterError: if one has reports of several rounds, and groups do not tell these apart.
    """
    if survey.rounds is None or ROUND in by:
        return
    for file in report_files(sources):
        if file.name.endswith(COLUMNS) and ROUND in look(file).schema.names:
            raise ParameterError(
                f"{file} has reports of rounds, in which people answer again; take each round by itself, as "
                f"discreet survey estimate --by {ROUND} does."
            )
