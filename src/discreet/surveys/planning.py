"""Plans of surveys: questions, mechanisms, the share of people who answer each question, and answers per person.

One report of a question has the summed squared error g = E ||phi||^2. If a share q of n people answers the question,
the table has the error g/(n q). The sum over tables is smallest for shares proportional to sqrt(g), none above 1
[Neyman 1934]. For numbers, g is n Var of their mean, with the range scaled to 1; then the sum of squared errors of
shares and of scaled means is minimised. If each person answers t questions, each answer has epsilon/t: the noise grows,
and the shares grow too. All t are compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from typing import Any, Unpack

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_choice, checked_epsilon, checked_n, checked_whole
from discreet.core.domain import Domain
from discreet.core.guarantee import rounded_up
from discreet.core.random import WORD_RANGE
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, number_of, text_column
from discreet.mechanisms import BlockMechanism, RandomizedResponse, SubsetSelection, Windows
from discreet.planning.compare import best
from discreet.planning.losses import worst_variance
from discreet.planning.numbers import mean_moment
from discreet.planning.requirements import PlanningOptions
from discreet.privacy.composition import split_epsilon
from discreet.surveys.questions import Question, Want, checked_attributes, question_domain, wanted_tables, whole_shares
from discreet.surveys.rounds import Rounds
from discreet.surveys.survey import Promise, Survey

_DIGITS = 6
# The search over the number of answers ends when the error is this many times the smallest error.
_FAR = 4.0


def second_moment(mechanism: BlockMechanism) -> float:
    """Return g: the mean squared contribution of one report, summed over values, at the worst distribution.

    For numbers under windows it is n Var of the mean, with the range scaled to 1, because single bins are noisy.

    Example:
        >>> import discreet as dc
        >>> round(second_moment(dc.RandomizedResponse(dc.Domain(range(3)), 0.7)), 6)
        10.784046
    """
    bins = mechanism.domain.numbers
    if mechanism.of_neighbours and bins is not None:
        return mean_moment(mechanism) / (bins.high - bins.low) ** 2
    numbers = mechanism.coefficients
    if mechanism.domain.sensitive_count == 0:
        return 1.0
    mass, sensitive = numbers.worst_mass, float(np.max(numbers.sensitive_loss))
    return mass * sensitive + ((1 - mass) * numbers.clear_loss if mass < 1 else 0.0)


def best_shares(moments: Sequence[float] | FloatArray, answers: int) -> FloatArray:
    """Return the ``(questions,)`` shares of people per question, with sum t, that minimise the sum of g/q.

    Args:
        moments: g of each question.
        answers: t, at most the number of questions.

    Example:
        >>> best_shares([1.0, 4.0, 100.0], 1).round(3).tolist(), best_shares([1.0, 4.0, 100.0], 2).round(3).tolist()
        ([0.077, 0.154, 0.769], [0.333, 0.667, 1.0])
    """
    weights = np.sqrt(np.asarray(moments, dtype=np.float64))
    shares, free = np.ones(len(weights)), np.ones(len(weights), dtype=np.bool_)
    while free.any():
        left = answers - np.count_nonzero(~free)
        shares[free] = left * weights[free] / weights[free].sum()
        over = free & (shares >= 1)
        if not over.any():
            break
        shares[over], free = 1.0, free & ~over
    return shares


def _as_integers(shares: FloatArray, answers: int) -> list[int]:
    """Return shares as integers over 2^64, from shares with few decimal places, so that documents are easy to read."""
    unit = 10**_DIGITS
    decimals = np.clip(np.round(shares * unit), 1, unit).astype(np.int64)
    # The remainder of rounding goes to the largest share with room, because it changes this share least.
    for place in np.argsort(-shares, kind="stable"):
        lacking = answers * unit - int(decimals.sum())
        decimals[place] = min(max(int(decimals[place]) + lacking, 1), unit)
    return whole_shares([Fraction(int(part), unit) for part in decimals])


@dataclass(frozen=True, slots=True)
class SurveyOption:
    """A survey design for the wanted tables, with its exact error.

    Attributes:
        name: a phrase that names the design.
        error: n times the expected squared error, summed over values and tables, at the distribution with the largest
            error; for numbers the error of their mean, with the range scaled to 1.
        record: epsilon for whole records, in nats.
        answers: the number of questions that each person answers.
    """

    name: str
    error: float
    record: float
    answers: int


@dataclass(frozen=True, eq=False, repr=False)
class SurveyPlan(TabularResult):
    """A survey with its questions, shares and mechanisms, and the errors of other survey designs.

    Attributes:
        survey: the planned survey.
        users: the number of people; None for any number.
        options: the designs, the planned design first. Their errors are computed for subset selection, and for windows
            if values are numbers.

    Example:
        >>> import discreet as dc
        >>> attributes = {"age": dc.Domain(range(9)), "sex": dc.Domain(["f", "m"])}
        >>> plan = dc.plan_survey(attributes, 1.0, users=10_000)
        >>> plan.survey.answers, [round(question.share / 2**64, 2) for question in plan.survey.questions]
        (1, [0.75, 0.25])
    """

    survey: Survey
    users: int | None
    options: tuple[SurveyOption, ...]

    @property
    def heading(self) -> str:
        """A line with the number of questions, epsilon and the number of people."""
        survey = self.survey
        crowd = "any number of people" if self.users is None else f"{self.users:,} people"
        asked = f"{survey.answers} of {number_of(len(survey.questions), 'question')} each"
        asked += "" if survey.rounds is None else f" in a round of {survey.rounds.number}"
        return f"SurveyPlan({asked}, epsilon={survey.epsilon:g} per {survey.promise}, {crowd})"

    def table(self) -> ResultTable:
        """Return a table with the share, the mechanism and the error of each question."""
        questions = self.survey.questions
        shares = np.array([question.share / WORD_RANGE for question in questions])
        domains = [question.mechanism.domain for question in questions]
        columns = [
            text_column("question", (question.name for question in questions)),
            text_column("mechanism", (question.mechanism.name for question in questions)),
            ResultColumn("values", np.array([domain.size for domain in domains]), "count"),
            ResultColumn("sensitive", np.array([domain.sensitive_count for domain in domains]), "count"),
            ResultColumn("epsilon", np.array([question.epsilon for question in questions]), format=rounded_up),
            ResultColumn("share", shares, "share", format=".1%"),
        ]
        if self.users is not None:
            people = [max(round(self.users * share), 1) for share in shares.tolist()]
            errors = [_standard_error(question, n) for question, n in zip(questions, people, strict=True)]
            columns.append(ResultColumn("people", np.array(people), "count"))
            columns.append(ResultColumn("standard_error", np.array(errors), "error", "s.e. at most", ".3g"))
            if any(domain.numbers for domain in domains):
                columns.append(text_column("of", map(_estimated, domains)))
        return ResultTable(self.heading, columns)

    def view(self) -> ResultTable:
        """Return the table of questions, with the reason for the design and the guarantee as notes."""
        return replace(self.table(), notes=[self.reason, str(self.survey.guarantee)])

    @property
    def reason(self) -> str:
        """A sentence with the reason for this design, and the errors of the other designs."""
        chosen, *others = self.options
        listed = "; ".join(
            f"{option.name} {option.error / chosen.error:.3g}"
            + ("" if abs(option.record - chosen.record) < 1e-9 else f" (whole records: epsilon {option.record:.3g})")
            for option in others
        )
        beside = f" Errors of other designs, relative to this design: {listed}." if listed else ""
        least = "with a question for each table, this design has the smallest summed squared error"
        if any(question.mechanism.of_neighbours for question in self.survey.questions):
            least += "; for numbers this is the error of the mean, divided by the range"
        return f"{chosen.name[:1].upper()}{chosen.name[1:]}: {least}.{beside}"


def _estimated(domain: Domain) -> str:
    """Return the name of the estimated quantity and its unit, for the column of standard errors."""
    bins = domain.numbers
    return "a share of people" if bins is None else f"the mean, {bins.low:g} to {bins.high:g}"


def _standard_error(question: Question, n: int) -> float:
    """Return the largest standard error of a value in a question with n answers; for numbers, the mean's."""
    domain = question.mechanism.domain
    if question.mechanism.of_neighbours:
        return sqrt(mean_moment(question.mechanism) / n)
    # If no value is sensitive, all answers are in clear, and shares are counted with variance 1/4 at most.
    return sqrt((worst_variance(question.mechanism) if domain.sensitive_count else 0.25) / n)


@dataclass(frozen=True, eq=False)
class _Designs:
    """The survey designs that are compared. Their errors assume subset selection, and windows for numbers."""

    tables: tuple[tuple[str, ...], ...]
    domains: tuple[Domain, ...]
    epsilon: float
    promise: Promise
    known: dict[Any, float] = field(default_factory=dict)

    def each(self, answers: int) -> float:
        """Return the epsilon of one answer if each person answers t questions."""
        if self.promise == "record":
            return split_epsilon(self.epsilon, answers)
        names = [name for table in self.tables for name in table]
        return split_epsilon(self.epsilon, min(answers, max(names.count(name) for name in names)))

    def moments(self, answers: int) -> FloatArray:
        return np.array([self._moment(domain, self.each(answers)) for domain in self.domains])

    def _moment(self, domain: Domain, epsilon: float) -> float:
        space, chosen = domain.space, domain.sensitive_count
        if not chosen:
            return 1.0
        numbers = domain.numbers is not None
        kind = (space, domain.sensitive_codes.tobytes()) if numbers else (domain.size, chosen)
        if (kind, epsilon) not in self.known:
            law = Windows if numbers else SubsetSelection
            self.known[kind, epsilon] = second_moment(law(domain, epsilon))
        return self.known[kind, epsilon]

    def error(self, answers: int, shares: FloatArray | None = None) -> float:
        """Return n times the summed squared error of a design, for the given shares or the best ones."""
        moments = self.moments(answers)
        return float(np.sum(moments / (best_shares(moments, answers) if shares is None else shares)))

    def option(self, name: str, answers: int, shares: FloatArray | None = None) -> SurveyOption:
        return SurveyOption(name, self.error(answers, shares), answers * self.each(answers), answers)

    def best_answers(self) -> int:
        """Return the number of answers per person with the smallest error, and the smaller number for equal errors."""
        errors: list[float] = []
        for answers in range(1, len(self.tables) + 1):
            errors.append(self.error(answers))
            if errors[-1] > _FAR * min(errors):
                break
        return 1 + errors.index(min(errors))

    def options(self, answers: int) -> Iterator[SurveyOption]:
        """Yield the planned design, and other designs for comparison."""
        count = len(self.tables)
        of_all = f"{answers} of {number_of(count, 'question')} to each person"
        yield self.option(of_all, answers)
        if 1 < count != answers:
            yield self.option("with equal shares", answers, np.full(count, answers / count))
        for other in sorted({1, count} - {answers}):
            each = f"epsilon {rounded_up(self.each(other))} each"
            words = f"all {count} questions to everybody, {each}" if other == count else f"1 question to each, {each}"
            yield self.option(words, other)


def _mechanisms(
    domains: Sequence[Domain], epsilon: float, users: Sequence[int | None], wishes: Any
) -> Iterator[BlockMechanism]:
    """Yield the best mechanism for each domain. Domains with the same numbers of values share one computation."""
    known: dict[Any, BlockMechanism] = {}
    for domain, people in zip(domains, users, strict=True):
        # The mechanism for numbers, windows, does not fit a product of attributes with the same number of values.
        numbers = domain.numbers is not None
        kind = domain.size, domain.sensitive_count, people, numbers
        if not domain.sensitive_count:
            yield RandomizedResponse(domain, epsilon)
            continue
        if kind not in known:
            known[kind] = best(domain, epsilon, people, **({} if numbers else wishes))
        yield replace(known[kind], domain=domain)


def plan_survey(
    attributes: Mapping[str, Domain],
    epsilon: float,
    want: Want = "singles",
    users: int | None = None,
    *,
    answers: int | None = None,
    promise: Promise = "record",
    combinations: Sequence[Mapping[str, Any]] = (),
    rounds: Rounds | None = None,
    **wishes: Unpack[PlanningOptions],
) -> SurveyPlan:
    """Plan a survey: a question for each wanted table, with the smallest error under one epsilon.

    Args:
        attributes: domains by name, each with its sensitive values.
        epsilon: the privacy promise to each person, in nats.
        want: the tables that will be estimated: ``"singles"``, ``"pairs"``, or lists of names of attributes.
        users: number of people; None for any number.
        answers: t, the number of questions that each person answers; None for the number with the least error.
        promise: to whole records, or to records that differ in one attribute.
        combinations: patterns over attributes that are sensitive, instead of values of attributes.
        rounds: in which the same people are asked, with epsilon for all of them; errors and people are of one round.
        wishes: limits of mechanisms, by name, as `discreet.best` takes them: ``largest_report``, ``most_seconds``,
            ``within``.

    Raises:
        ParameterError: if something is out of range or does not fit together.

    Example:
        >>> import discreet as dc
        >>> attributes = {"age": dc.Domain(["<18", "18-64", "65+"]), "sex": dc.Domain(["f", "m"])}
        >>> plan = dc.plan_survey(attributes, 1.0, want="pairs", users=10_000)
        >>> [(question.name, question.mechanism.name) for question in plan.survey.questions]
        [('age,sex', 'subset')]
    """
    named, promised = checked_attributes(attributes), checked_epsilon(epsilon)
    checked_choice("promise", promise, ("record", "attribute"))
    people, in_round = None if users is None else checked_n(users), promised
    if rounds is not None:
        in_round = (rounds.first or promised) if rounds.is_permanent else split_epsilon(promised, rounds.answered)
        people = None if people is None else max(people * rounds.answered // rounds.number, 1)
    tables = wanted_tables(named, want)
    domains = tuple(question_domain(named, table, combinations) for table in tables)
    ways = _Designs(tables, domains, in_round, promise)
    t = ways.best_answers() if answers is None else checked_whole("answers", answers, most=len(tables))
    first = best_shares(ways.moments(t), t)
    crowds = [None if people is None else max(round(people * share), 1) for share in first.tolist()]
    mechanisms = list(_mechanisms(domains, ways.each(t), crowds, wishes))
    shares = _as_integers(best_shares([second_moment(mechanism) for mechanism in mechanisms], t), t)
    questions = tuple(map(Question, tables, mechanisms, shares))
    asked: dict[str, Any] = {"promise": promise, "answers": t, "rounds": rounds}
    survey = Survey(named, questions, promised, combinations=tuple(combinations), **asked)
    return SurveyPlan(survey, people, tuple(ways.options(t)))
