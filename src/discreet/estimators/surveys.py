"""Estimates of surveys: question by question, from the reports of those who answered it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.columns import numbers
from discreet.core.grouping import Grouping
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.survey import Survey, SurveyReports, SurveyTally
from discreet.results.answers import Answers


def survey_answers(
    survey: Survey, data: object, direct: Callable[..., Any], *, groups: Any = None, weights: Any = None
) -> Answers:
    """Return the estimates of a survey's questions.

    Args:
        survey: the survey.
        data: its reports or their tally.
        direct: the estimate of a mechanism's reports or tally, with groups and weights if there are some.
        groups: public columns of all people; reports must know who answered.
        weights: of all people.

    Raises:
        DataError: if nobody answered anything, or columns are not as long as there are people.
        MismatchError: if the data belong to another survey.
        ParameterError: if groups or weights go with data that do not know who answered.
    """
    if not isinstance(data, SurveyReports | SurveyTally):
        raise DataError(f"reports of a survey or their tally are needed, got {type(data).__name__}.")
    survey.check_same(data)
    asked: dict[str, Any] = {} if groups is None else {"groups": Grouping.of(groups)}
    asked |= {} if weights is None else {"weights": numbers(weights, "weights")}
    rows = data.rows if isinstance(data, SurveyReports) else None
    if asked and rows is None:
        raise ParameterError("groups and weights need the reports as obfuscate returned them, which know who answered.")
    for name, column in asked.items():
        size = len(column.codes if isinstance(column, Grouping) else column)
        if size != data.people:
            raise DataError(f"{name} must be one for each of {data.people} people, got {size}.")
    estimates = {
        name: direct(survey.question(name).mechanism, part, **_of_rows(asked, None if rows is None else rows[name]))
        for name, part in data.items()
        if part.n
    }
    if not estimates:
        raise DataError("at least one report is needed to estimate anything, got none.")
    return Answers(survey, estimates, data.people)


def _of_rows(columns: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Return the groups and weights of some people."""
    chosen: dict[str, Any] = {}
    for name, column in columns.items():
        if isinstance(column, Grouping):
            places, codes = np.unique(column.codes[rows], return_inverse=True)
            chosen[name] = Grouping(column.names, [column.labels[place] for place in places], codes.reshape(-1))
        else:
            chosen[name] = column[rows]
    return chosen
