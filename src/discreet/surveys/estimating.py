"""Estimates of surveys: of each question alone, of consistent tables, or by one likelihood for all questions.

A question is estimated from the reports of the people who answered it. Method ``consistent`` combines the marginals of
several questions linearly (`joint_tables/consistency.py`). Method ``joint`` maximises one likelihood for all reports
(`joint_tables/maximum.py`). Only tables of questions and their marginals are estimated: the reports do not determine
other tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Unpack

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_choice
from discreet.errors import DataError, ParameterError
from discreet.estimators import METHODS, Options, estimate
from discreet.estimators.linear import PROGRESS, TOLERANCE, LinearStart, Method, linear, missing_of
from discreet.estimators.simplex import positive_deviation
from discreet.mechanisms.evidence import StoredBlocks
from discreet.results.estimate import Estimate
from discreet.results.uncertainty import SumUncertainty, ValueUncertainty
from discreet.surveys.answers import Answers
from discreet.surveys.joint_tables.consistency import LEAST_FOR_NORMAL, Combination, Names, SurveyFacts, spread_of
from discreet.surveys.joint_tables.marginals import Axes
from discreet.surveys.joint_tables.maximum import JointTable, QuestionReports, joint_maximum, marginal_of
from discreet.surveys.questions import MOST_CELLS
from discreet.surveys.survey import Survey, SurveyParts
from discreet.theory.limits import all_agree, larger_of_few


def estimate_survey(
    survey: Survey,
    data: Mapping[str, Any],
    *,
    method: str = "linear",
    **options: Unpack[Options],
) -> Answers:
    """Estimate the distributions of the answers to a survey's questions.

    Args:
        survey: the survey.
        data: the reports of the survey or their tally; or reports, tallies or evidence by the names of questions.
        method: one of `discreet.METHODS`, question by question, or a method for all questions together:

            - ``joint``: maximum likelihood from the reports of all questions together, certified. All tables agree, and
              each is better than from its own question. Options as for ``mle``.
            - ``consistent``: linear estimates whose tables agree, with exact errors.
        options: of the method, by name.

    Raises:
        DataError: if nobody answered anything.
        MismatchError: if the data belong to another survey.
        ParameterError: if the method or an option is unknown.

    Example:
        >>> import discreet as dc
        >>> attributes = {"smokes": dc.Domain(["yes", "no"]), "drinks": dc.Domain(["yes", "no"])}
        >>> survey = dc.plan_survey(attributes, epsilon=2.0, users=2000).survey
        >>> table = {"smokes": ["yes", "no"] * 1000, "drinks": ["no", "no"] * 1000}
        >>> answers = estimate_survey(survey, survey.obfuscate(table, random=dc.SeededRandom(1)), method="joint")
        >>> list(answers)
        ['smokes', 'drinks']
    """
    if checked_choice("method", method, [*METHODS, *TOGETHER]) in TOGETHER:
        together = TOGETHER[method]
        return together.run(survey, data, **together.checked(options))
    asked: Any = {"method": method, **options}
    parts = _answered(survey, data)
    estimates = {name: estimate(survey.question(name).mechanism, part, **asked) for name, part in parts.items()}
    return separate_answers(survey, estimates, getattr(data, "people", None))


def separate_answers(survey: Survey, estimates: Mapping[str, Estimate], people: int | None = None) -> Answers:
    """Return the answers to a survey, with the given estimate of each question.

    Args:
        survey: the survey.
        estimates: by the names of questions.
        people: number of people who were asked; None if it is not known.
    """
    return Answers(survey, estimates, people, Combination(survey, estimates, people).marginal)


def consistent_answers(survey: Survey, data: Mapping[str, Any]) -> Answers:
    """Return linear estimates whose tables agree on all marginals, by weighted least squares.

    Args:
        survey: the survey.
        data: the reports of the survey or their tally; or reports, tallies or evidence by the names of questions.

    Raises:
        DataError, MismatchError: as for `estimate_survey`.
        ParameterError: if a question has too many values.
    """
    combination = _combination(survey, _starts(survey, data), data)
    tables = {name: combination.consistent(survey.question(name).attributes) for name in combination.estimates}
    return Answers(survey, tables, combination.people, combination.consistent)


def joint_answers(
    survey: Survey,
    data: Mapping[str, Any],
    *,
    tolerance: float | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Answers:
    """Maximise the likelihood of the reports of all questions; the tables agree on all marginals.

    Args:
        survey: the survey.
        data: the reports of the survey; or their tally, if the likelihood of each question needs only a tally; or
            reports, tallies or evidence by the names of questions.
        tolerance: the largest gap to accept, in nats per report; None as for `maximum_likelihood`.
        progress: called with the passes done and the present gap.

    Raises:
        DataError, MismatchError: as for `estimate_survey`.
        ParameterError: if the table of all attributes has too many cells, or a likelihood needs reports.
    """
    starts = _starts(survey, data)
    asked = {name for question in starts for name in survey.question(question).attributes}
    attributes = tuple(name for name in survey.attributes if name in asked)
    sizes = tuple(survey.attributes[name].size for name in attributes)
    if (size := prod(sizes)) > MOST_CELLS:
        raise ParameterError("table.too-large-for-joint", most=MOST_CELLS, names=", ".join(attributes), size=size)
    answered = [
        QuestionReports(tuple(map(attributes.index, survey.question(name).attributes)), start)
        for name, start in starts.items()
    ]
    missing = missing_of(sum(start.n for start in starts.values()), tolerance)
    table = joint_maximum(answered, sizes, tolerance=missing, progress=progress)
    tables = _JointTables(attributes, table, _combination(survey, starts, data))
    estimates = {name: tables.estimate(survey.question(name).attributes) for name in starts}
    return Answers(survey, estimates, tables.linears.people, tables.estimate)


@dataclass(frozen=True, eq=False)
class _JointTables:
    """The tables of a joint maximum likelihood estimate.

    Attributes:
        attributes: the names of the attributes of the whole table.
        table: the maximum likelihood estimate.
        linears: the linear estimates of the questions.
    """

    attributes: Names
    table: JointTable
    linears: Combination

    def estimate(self, names: Names) -> Estimate:
        """Return the estimate of a question's table, or of a marginal of it."""
        axes, facts = tuple(map(self.attributes.index, names)), self._facts()
        frequencies = marginal_of(self.table.whole, axes)
        if not self.table.is_small or self.table.n < LEAST_FOR_NORMAL:
            # One question's linear estimate has wider limits. For few reports only these have the stated coverage.
            known = self.linears.part(self.linears.holders(names)[0], names)
            return facts.estimate(names, frequencies, known.intervals, known.errors)
        return facts.estimate(names, frequencies, partial(self._limits, axes), partial(self._errors, axes))

    def _facts(self) -> SurveyFacts:
        simulated = any(question.start.tally.simulated for question in self.table.answered)
        solution = self.table.solution
        return SurveyFacts(self.linears.survey, self.table.n, "joint", simulated, solution.gap, solution.passes)

    def _limits(self, axes: Axes) -> ValueUncertainty:
        means = self.table.contribution_means(axes, self.linears.overlap)
        return ValueUncertainty.of(means, means.estimates, lambda: self._normal(axes).law)

    def _normal(self, axes: Axes) -> SumUncertainty:
        centre, matrix = self.table.stepped(axes)
        matrix = matrix + self.linears.overlap * spread_of(marginal_of(self.table.whole, axes))
        return SumUncertainty.known(centre, matrix)

    def _errors(self, axes: Axes) -> FloatArray:
        normal = self._normal(axes)
        stepped = normal.errors
        within = self.table.errors_within(axes)
        if within is None:
            return stepped
        cut = positive_deviation(normal.centre, stepped)
        within = np.where(all_agree(within, self.table.n), cut, within)
        return larger_of_few(within, stepped, all_agree(within, self.table.n))


def _starts(survey: Survey, data: object) -> dict[str, LinearStart]:
    """Return the reports and the linear estimate of each question that has answers; errors as for `_answered`."""
    answered = _answered(survey, data)
    return {name: LinearStart.of(survey.question(name).mechanism, part) for name, part in answered.items()}


def _combination(survey: Survey, starts: Mapping[str, LinearStart], data: object) -> Combination:
    """Return the linear estimates of the answered questions as a `Combination`."""
    return Combination(survey, {name: linear(start) for name, start in starts.items()}, getattr(data, "people", None))


def _answered(survey: Survey, data: object) -> dict[str, Any]:
    """Return the reports or tallies of the questions that have answers, by the question's name."""
    if not isinstance(data, Mapping):
        raise DataError("reports.not-of-survey", kind=type(data).__name__)
    if isinstance(data, SurveyParts):
        survey.check_same(data)
    answered = {name: part for name, part in data.items() if isinstance(part, StoredBlocks) or part.n}
    if not answered:
        raise DataError("reports.none")
    return answered


JOINT = Method("joint", joint_answers, (TOLERANCE, PROGRESS), needs_reports=True)
TOGETHER: dict[str, Method[Answers]] = {
    method.name: method for method in (JOINT, Method("consistent", consistent_answers))
}
"""Methods for all questions of a survey together, by name."""
