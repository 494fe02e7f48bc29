"""Schedules of a survey in several rounds, compared by their exact errors.

For T rounds and epsilon in all, and V(epsilon) the mean summed squared contribution of a report of the best mechanism,
the error of one round, in units of V(epsilon), is

    fresh:   V(epsilon/T), a new report in every round;
    rotate:  (T/k) V(epsilon/k), each person in k rounds that are drawn beforehand;
    memo:    V(eps_1), a permanent report with a second coin; one round has the epsilon eps_1.

The first two also hide changes of an answer. A memo hides the answers, but not the time of a change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log2
from typing import Any

from discreet.core.checks import checked_whole
from discreet.core.domain import Domain
from discreet.surveys.planning import plan_survey
from discreet.surveys.rounds import MOST_ROUNDS, How, Rounds
from discreet.surveys.survey import Survey

SHOWN_ROUNDS = (1, 2, 3)
"""Numbers of rounds for which the epsilon of permanent reports is shown, in addition to all rounds."""

_FIRST = (0.5, 0.9)
"""Epsilons of one round of a memo with a second coin, as shares of the whole epsilon."""
# The search over the rounds per person ends when the error is this many times the smallest error.
_FAR = 4.0


@dataclass(frozen=True, slots=True)
class SurveySchedule:
    """A schedule: a survey in several rounds, and its error.

    Attributes:
        survey: the planned survey with these rounds.
        error: the summed squared error of one round, divided by the error of the same survey in a single round.
    """

    survey: Survey
    error: float

    @property
    def rounds(self) -> Any:
        """The rounds of the schedule."""
        return self.survey.rounds

    @property
    def block_bits(self) -> float:
        """The base-2 logarithm of the largest number of blocks. With many blocks, equal reports identify a person."""
        return log2(max(question.mechanism.law.alphabet_size for question in self.survey.questions))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The epsilons of a person's reports after 1, 2, 3 and all rounds, in nats, for whole records."""
        number = self.rounds.number
        return tuple(self.survey.epsilons_after(min(t, number))[0] for t in (*SHOWN_ROUNDS, number))


def survey_schedules(
    attributes: Mapping[str, Domain], epsilon: float, number: int, **asked: Any
) -> tuple[SurveySchedule, ...]:
    """Return five schedules: fresh reports, rotation, and permanent reports with and without a second coin.

    Args:
        attributes: domains by name.
        epsilon: the promise for all rounds together, in nats.
        number: T, the number of rounds.
        asked: further arguments of `discreet.plan_survey`.

    Example:
        >>> import discreet as dc
        >>> options = survey_schedules({"age": dc.Domain(range(10))}, epsilon=2.0, number=12)
        >>> [(option.rounds.how, round(option.error, 2)) for option in options]
        [('fresh', 194.6), ('rotate', 12.0), ('memo', 5.0), ('memo', 1.34), ('memo', 1.0)]
    """
    number = checked_whole("number", number, 2, MOST_ROUNDS)
    unit = plan_survey(attributes, epsilon, **asked).options[0].error

    def planned(how: How, answers: int = 1, first: float | None = None) -> SurveySchedule:
        rounds = Rounds(number, how, first, answers)
        plan = plan_survey(attributes, epsilon, rounds=rounds, **asked)
        return SurveySchedule(plan.survey, plan.options[0].error / unit * number / rounds.answered)

    rotated: SurveySchedule = min(_rotations(planned, number), key=lambda option: option.error)
    memos = (planned("memo", first=share * epsilon) for share in _FIRST)
    return planned("fresh"), rotated, *memos, planned("memo")


def _rotations(repeated: Any, rounds: int) -> Iterator[Any]:
    """Yield schedules in which each person answers in 1, 2, ... rounds, while the error is near the smallest error."""
    least = float("inf")
    for answers in range(1, rounds):
        option = repeated("rotate", answers)
        yield option
        if option.error > _FAR * least:
            return
        least = min(least, option.error)
