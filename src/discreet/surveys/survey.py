"""Surveys: several questions, and the public draw of the questions that each person answers.

Each person answers t different questions, drawn by public shares that depend on no value. So reports of a question are
ordinary reports of its mechanism. The draw takes one random word w per person. Lay the questions side by side, each as
long as its share: the person answers the questions at the points w, w + 2^64, ..., w + (t - 1) 2^64.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import inf, nextafter
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.checks import checked_choice, checked_epsilon, checked_whole
from discreet.core.columns import categories, numbered
from discreet.core.domain import Domain
from discreet.core.guarantee import odds_sentence, rounded_up
from discreet.core.labels.products import named_columns
from discreet.core.random import WORD_RANGE, RandomSource, checked_source, fresh_words
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.mechanisms.memo import Memo
from discreet.surveys.questions import (
    Question,
    checked_attributes,
    checked_patterns,
    coded_patterns,
    in_order,
    question_domain,
    question_name,
    with_ends,
)
from discreet.surveys.rounds import Rounds
from discreet.theory.memo import CHANGES_ARE_VISIBLE

Promise = Literal["record", "attribute"]
"""The unit that epsilon is promised to: whole records, or records that differ in one attribute."""

_FORMAT = 1

Part = TypeVar("Part", Reports, Tally)


@dataclass(frozen=True, eq=False, repr=False)
class SurveyGuarantee:
    """The realised epsilons of a survey: for whole records, and for records that differ in one attribute.

    Attributes:
        survey: the survey; if it has rounds, epsilons are for all rounds together.
        record: realised epsilon of all answers of a person together, in nats.
        attributes: realised epsilon of each attribute, from all answers about it; 0 where nothing is sensitive.

    Example:
        >>> import discreet as dc
        >>> domains = {"age": dc.Domain(["<18", "18+"]), "sex": dc.Domain(["f", "m"])}
        >>> halves = [Question((n,), dc.RandomizedResponse(d.for_attribute(n), 1.0), 1 << 63)
        ...     for n, d in domains.items()]
        >>> guarantee = Survey(domains, halves, 1.0, promise="record").guarantee
        >>> round(guarantee.record, 6), {name: round(epsilon, 6) for name, epsilon in guarantee.attributes.items()}
        (1.0, {'age': 1.0, 'sex': 1.0})
        >>> guarantee.brief
        'All answers of one person together are protected with epsilon 1'
    """

    survey: "Survey"
    record: float
    attributes: Mapping[str, float]

    @property
    def in_clear(self) -> bool:
        """True if some answers may be reported in clear."""
        return any(question.mechanism.domain.clear_count for question in self.survey.questions)

    @property
    def brief(self) -> str:
        """A clause, without a full stop, that states the protection of all answers of one person."""
        clear = ", except answers in clear" if self.in_clear else ""
        return f"All answers of one person together are protected with epsilon {rounded_up(self.record)}{clear}"

    def to_dict(self) -> dict[str, Any]:
        """Return the promised and the realised epsilons as a dictionary for JSON; epsilons are in nats."""
        promised = {"promise": self.survey.promise, "promised": self.survey.epsilon}
        return promised | {"record": self.record, "attributes": dict(self.attributes)}

    def __str__(self) -> str:
        survey, asked = self.survey, {name for question in self.survey.questions for name in question.attributes}
        promised = {unit: f" (promised: {survey.epsilon:g})" * (survey.promise == unit) for unit in get_args(Promise)}
        each = ", ".join(f"{name} {epsilon:.12g}" for name, epsilon in self.attributes.items())
        alike = len({*self.attributes.values()}) == 1
        bare = ", ".join(name for name, epsilon in self.attributes.items() if not epsilon and name in asked)
        unasked = ", ".join(name for name in self.attributes if name not in asked)
        sentences = [
            f"Each person answers {survey.answers} of {len(survey.questions)} questions, drawn by public shares that "
            "depend on no answer.",
            f"All {'protected reports' if self.in_clear else 'reports'} of one person together have epsilon "
            f"{self.record:.12g}{promised['record']}. They change the odds between any two records by at most a factor "
            "of e^epsilon.",
            "Epsilon for records that differ in one attribute: "
            f"{f'{next(iter(self.attributes.values())):.12g}' if alike else each}{promised['attribute']}.",
            "A report in clear is not protected. It reveals that its answer is not sensitive, and may hint at related "
            "attributes."
            if self.in_clear
            else "",
            f"Not protected at all: {bare}." if bare else "",
            f"Never asked: {unasked}." if unasked else "",
            odds_sentence(self.record),
            self._of_rounds(),
        ]
        return " ".join(filter(None, sentences))

    def _of_rounds(self) -> str:
        """Return the sentences on rounds; empty for a survey without rounds."""
        rounds = self.survey.rounds
        if rounds is None:
            return ""
        if rounds.is_permanent:
            first, last = (self.survey.epsilons_after(number)[0] for number in (1, rounds.number))
            return (
                f"Reports are permanent. One person's reports have epsilon {first:.12g} in one round, {last:.12g} in "
                f"all {rounds.number} rounds, and {self.record:.12g} in any number. {CHANGES_ARE_VISIBLE}"
            )
        if rounds.how == "rotate":
            return f"Each person answers in {rounds.answers} of {rounds.number} rounds. Epsilon is for all of them."
        return f"Each of {rounds.number} rounds has new reports. Epsilon is for all of them."


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """A survey with several questions. Each person answers some of them, drawn by public shares.

    Attributes:
        attributes: the domains, by the attribute's name.
        questions: the questions; their shares add up to ``answers``.
        epsilon: the privacy promise to each person, in nats.
        promise: ``"record"`` (epsilon for all answers of a person), or ``"attribute"`` (for records that differ in one
            attribute).
        answers: t, the number of different questions that each person answers.
        combinations: patterns of sensitive combinations of values, instead of sensitive values of attributes.
        rounds: the rounds in which the same people answer, with epsilon for all rounds; None for one round.

    Raises:
        ParameterError: if names, shares or mechanisms do not fit together, or epsilon is exceeded.

    Example:
        >>> import discreet as dc
        >>> domains = {"age": dc.Domain(["<18", "18+"]), "sex": dc.Domain(["f", "m"])}
        >>> halves = [Question((n,), dc.RandomizedResponse(d.for_attribute(n), 1.0), 1 << 63)
        ...     for n, d in domains.items()]
        >>> survey = Survey(domains, halves, 1.0, promise="record")
        >>> table = {"age": ["<18", "18+"] * 50, "sex": ["f"] * 100}
        >>> reports = survey.obfuscate(table, random=dc.SeededRandom(1))
        >>> reports.people, sum(part.n for part in reports.values())
        (100, 100)
    """

    attributes: Mapping[str, Domain]
    questions: tuple[Question, ...]
    epsilon: float
    promise: Promise = field(kw_only=True)
    answers: int = field(default=1, kw_only=True)
    combinations: tuple[Mapping[str, Any], ...] = field(default=(), kw_only=True)
    rounds: Rounds | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the fields; see the class."""
        object.__setattr__(self, "attributes", checked_attributes(self.attributes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "questions", tuple(self.questions) if isinstance(self.questions, Sequence) else ())
        object.__setattr__(self, "combinations", checked_patterns(self.attributes, self.combinations))
        object.__setattr__(self, "attributes", with_ends(self.attributes, self.combinations))
        checked_choice("promise", self.promise, get_args(Promise))
        object.__setattr__(self, "answers", checked_whole("answers", self.answers))
        if not self.questions or not all(isinstance(question, Question) for question in self.questions):
            raise ParameterError("questions.none", argument="questions")
        if self.combinations and any(domain.clear_count for domain in self.attributes.values()):
            raise ParameterError("combinations.and-sensitive-values", argument="combinations")
        self._check_questions()
        self._check_promise()
        # The constructor of each memoized mechanism checks its parameters.
        dict(self.memos)

    def _check_questions(self) -> None:
        total = sum(question.share for question in self.questions)
        if total != self.answers * WORD_RANGE:
            raise ParameterError("shares.wrong-sum", answers=self.answers, total=total / WORD_RANGE)
        for question in self.questions:
            if self.ordered(question.attributes) != question.attributes:
                raise ParameterError("question.wrong-order", name=question.name)
            domain = question_domain(self.attributes, question.attributes, self.combinations)
            if question.mechanism.domain != domain:
                raise ParameterError("question.wrong-domain", name=question.name, domain=domain)
        if len(self._by_name) < len(self.questions):
            raise ParameterError("question.repeated")

    def _check_promise(self) -> None:
        if not isinstance(self.rounds, Rounds | None):
            raise ParameterError("rounds.wrong-type", argument="rounds", kind=type(self.rounds).__name__)
        units = self._max_sums([question.epsilon for question in self.questions])
        most = units[0] if self.promise == "record" else max(units[1].values())
        if most > (limit := Fraction(self.epsilon) if self.rounds is None else self.rounds.round_epsilon(self.epsilon)):
            which = "questions" if self.promise == "record" else "questions about one attribute"
            time = "" if self.rounds is None else " in one round"
            raise ParameterError(
                "questions.too-much-epsilon", which=which, time=time, limit=float(limit), most=float(most)
            )

    def _max_sums(self, epsilons: Sequence[float]) -> tuple[Fraction, dict[str, Fraction]]:
        """Return the largest sum of epsilons of one person's questions: of all questions, and by attribute."""
        exact = [Fraction(epsilon) for epsilon in epsilons]
        record, attributes = Fraction(0), dict.fromkeys(self.attributes, Fraction(0))
        for places, _ in self.draws:
            record = max(record, sum((exact[place] for place in places), Fraction(0)))
            for name in attributes:
                about = (exact[place] for place in places if name in self.questions[place].attributes)
                attributes[name] = max(attributes[name], sum(about, Fraction(0)))
        return record, attributes

    # Rounds

    @cached_property
    def memos(self) -> Mapping[str, Memo]:
        """The memoized mechanisms of questions with sensitive values, by name; empty if reports are not permanent."""
        rounds = self.rounds
        if rounds is None or not rounds.is_permanent:
            return {}
        # Each question has the same ratio of the epsilon of all rounds to the epsilon of one round.
        times = None if rounds.first is None else Fraction(self.epsilon) / Fraction(rounds.first)
        return {
            each.name: Memo(each.mechanism, None if times is None else -_rounded_up(-Fraction(each.epsilon) * times))
            for each in self.questions
            if each.epsilon
        }

    def epsilon_of(self, name: str, reports: int | None = None) -> float:
        """Return the realised epsilon of a person's first `reports` reports on a question, in nats; None means all."""
        question = self.question(name)
        if name in self.memos:
            return self.memos[name].epsilon(reports)
        turns = 1 if self.rounds is None else self.rounds.answered
        return _rounded_up(Fraction(question.realised) * min(turns, reports or turns))

    def epsilons_after(self, rounds: int | None = None) -> tuple[float, dict[str, float]]:
        """Return the realised epsilon of a person's reports in the first rounds: for whole records, and by attribute.

        Args:
            rounds: the number of rounds; None for all rounds, and with memos for any number.

        Example:
            >>> import discreet as dc
            >>> plan = dc.plan_survey({"age": dc.Domain(range(9))}, 2.0, rounds=dc.Rounds(12, first=1.0), within=0.0)
            >>> [round(plan.survey.epsilons_after(months)[0], 3) for months in (1, 2, 12, None)]
            [1.0, 1.934, 2.0, 2.0]
        """
        record, attributes = self._max_sums([self.epsilon_of(question.name, rounds) for question in self.questions])
        return _rounded_up(record), {name: _rounded_up(epsilon) for name, epsilon in attributes.items()}

    def __repr__(self) -> str:
        asked = f"{self.answers} of {len(self.questions)} questions"
        return f"Survey({asked}, epsilon={self.epsilon!r} per {self.promise}, plan={self.fingerprint[:12]})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Survey) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def ordered(self, names: object) -> tuple[str, ...]:
        """Return names of attributes in the survey's order.

        Raises:
            ParameterError: if a name is not an attribute of the survey, or is given twice.
        """
        return in_order(self.attributes, names)

    @cached_property
    def _by_name(self) -> dict[str, Question]:
        return {question.name: question for question in self.questions}

    def question(self, attributes: object) -> Question:
        """Return the question about these attributes, given as a list of names or as the question's name.

        Raises:
            ParameterError: if the survey has no such question; the message lists its questions.
        """
        if isinstance(attributes, str) and attributes in self._by_name:
            return self._by_name[attributes]
        name = question_name(self.ordered(attributes))
        if name not in self._by_name:
            raise ParameterError("question.unknown", name=name, names="; ".join(self._by_name))
        return self._by_name[name]

    @cached_property
    def fingerprint(self) -> str:
        """A digest of attributes, questions, shares and promise."""
        facts = {
            "format": _FORMAT,
            "attributes": [[name, domain.fingerprint] for name, domain in self.attributes.items()],
            "combinations": coded_patterns(self.attributes, self.combinations),
            "questions": [[part.name, part.mechanism.fingerprint, part.share] for part in self.questions],
            "epsilon": self.epsilon.hex(),
            "promise": self.promise,
            "answers": self.answers,
            **({} if self.rounds is None else {"rounds": self.rounds.facts()}),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    @cached_property
    def guarantee(self) -> SurveyGuarantee:
        """The realised epsilons of all answers of a person, and of the answers about each attribute."""
        return SurveyGuarantee(self, *self.epsilons_after())

    # The draw

    @cached_property
    def draws(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """The sets of questions that a person can be asked, as indices, each with its probability times 2^64."""
        ends = list(accumulate(question.share for question in self.questions))
        starts = sorted({0, *(end % WORD_RANGE for end in ends)})
        points = range(0, self.answers * WORD_RANGE, WORD_RANGE)
        places = (tuple(bisect_right(ends, word + point) for point in points) for word in starts)
        chances = (end - start for start, end in pairwise([*starts, WORD_RANGE]))
        return tuple(zip(places, chances, strict=True))

    def draw_questions(self, words: AnyArray) -> AnyArray:
        """Return the ``(n, t)`` indices of the questions that each person answers, from ``(n,)`` random 64-bit words.

        Example:
            >>> import discreet as dc
            >>> domains = {"age": dc.Domain(["<18", "18+"]), "sex": dc.Domain(["f", "m"])}
            >>> asked = [Question((n,), dc.RandomizedResponse(d.for_attribute(n), 1.0), 1 << 63)
            ...     for n, d in domains.items()]
            >>> survey = Survey(domains, asked, 1.0, promise="record")
            >>> survey.draw_questions(np.array([0, 2**63 - 1, 2**63], np.uint64)).tolist()
            [[0], [0], [1]]
        """
        places, chances = zip(*self.draws, strict=True)
        ends = np.array([*accumulate(chances[:-1])], dtype=np.uint64)
        places_of = np.array(places, dtype=np.min_scalar_type(len(self.questions)))
        return places_of[np.searchsorted(ends, words, side="right")]

    # The device

    def obfuscate(self, table: Any, *, random: RandomSource | None = None, float32: bool = False) -> "SurveyReports":
        """Draw the questions of each person, and obfuscate the answers to them.

        Args:
            table: a column of values for each attribute, a row per person: of pandas, polars, Arrow, NumPy or lists.
            random: the source of random words; None for a secure source with a key from the operating system.
            float32: whether numbers are read as float32, because they were float32 before they became float64.

        Raises:
            DataError: if a column is missing, or a value is missing or not in its domain. A person without an answer
                needs a label for that, such as "no answer".
        """
        return self._obfuscated(self._encoded(named_columns(table, list(self.attributes)), float32=float32), random)

    def _encoded(self, columns: Mapping[str, Any], *, float32: bool = False) -> dict[str, IntArray]:
        codes = {}
        for name, domain in self.attributes.items():
            try:
                codes[name] = domain.encode(columns[name], float32=float32 and domain.numbers is not None)
            except DataError as error:
                raise error.at(f"Attribute {name!r}") from None
        return codes

    def obfuscate_rounds(
        self, table: Any, *, people: str, rounds: str, random: RandomSource | None = None
    ) -> "dict[Any, SurveyReports]":
        """Obfuscate people's answers in several rounds.

        Args:
            table: as for `obfuscate`, with a row for each person and round.
            people: the column of people.
            rounds: the column of rounds; rounds are in the order of its labels.
            random: as for `obfuscate`.

        Returns:
            The reports of every round, ascending.

        Raises:
            DataError: as for `obfuscate`; or if a person has two rows in a round, or the table has too many rounds.
            ParameterError: if the survey has no rounds.

        Example:
            >>> import discreet as dc
            >>> domains = {"age": dc.Domain(["<18", "18+"]), "sex": dc.Domain(["f", "m"])}
            >>> survey = dc.plan_survey(domains, 2.0, rounds=dc.Rounds(12, first=1.0)).survey
            >>> table = {"age": ["<18", "18+"] * 2, "sex": ["f", "m"] * 2, "who": ["a", "b"] * 2, "month": [1, 1, 2, 2]}
            >>> months = survey.obfuscate_rounds(table, people="who", rounds="month")
            >>> {month: reports.people for month, reports in months.items()}
            {1: 2, 2: 2}
        """
        columns = named_columns(table, [*self.attributes, people, rounds])
        codes = self._encoded(columns)
        months: dict[Any, dict[str, Reports]] = {}
        for time, name, _, reports in self.answers_in_rounds(codes, columns[people], columns[rounds], random=random):
            months.setdefault(time, {})[name] = reports
        counts = {time: sum(part.n for part in parts.values()) // self.answers for time, parts in months.items()}
        return {time: SurveyReports(self, counts[time], months[time]) for time in sorted(months)}

    def answers_in_rounds(
        self, codes: Mapping[str, IntArray], people: Any, rounds: Any, *, random: RandomSource | None = None
    ) -> Iterator[tuple[Any, str, IntArray, Reports]]:
        """Yield for each round and question: the round, the question's name, the rows that answer it, and the reports.

        Args:
            codes: ``(n,)`` checked integers for each attribute.
            people: ``(n,)`` texts or integers, the person of each row.
            rounds: ``(n,)`` texts or integers, the round of each row.
            random: as for `obfuscate`.
        """
        if self.rounds is None:
            raise ParameterError("survey.without-rounds")
        source, number = checked_source(random), self.rounds.number
        (whose, persons), (when, times) = categories(people, "people"), categories(rounds, "rounds")
        if len(times) > number:
            raise DataError("rounds.too-many", number=number, found=len(times))
        if len(numbered(whose * max(len(times), 1) + when)[0]) < len(when):
            raise DataError("person.twice-in-round")
        rows = np.arange(len(when))
        if self.rounds.how == "rotate":
            starts = (fresh_words(source, len(persons)) % np.uint64(number)).astype(np.int64)
            turns = np.arange(self.rounds.answered) * number // self.rounds.answered
            rows = np.flatnonzero(np.isin((when - starts[whose]) % number, turns))
        drawn = self.draw_questions(fresh_words(source, len(persons)))[whose[rows]]
        for place, question in enumerate(self.questions):
            some = rows[(drawn == place).any(axis=1)]
            cells, month = self.cells(question, codes, some), when[some]
            if (memo := self.memos.get(question.name)) is not None:
                answers = memo.obfuscate_rounds(cells, whose[some], month, random=source)
            else:
                mechanism, drawn_rounds = question.mechanism, map(int, np.unique(month))
                answers = {t: mechanism.obfuscate_codes(cells[month == t], random=source) for t in drawn_rounds}
            for time, reports in answers.items():
                yield times[time], question.name, some[month == time], reports

    def cells(self, question: Question, codes: Mapping[str, IntArray], rows: IntArray) -> IntArray:
        """Return the codes of the answers of the people in `rows` to a question."""
        first, *others = question.attributes
        cells = codes[first].take(rows)
        for name in others:
            cells = cells * self.attributes[name].size + codes[name].take(rows)
        return cells

    def obfuscate_codes(self, codes: Mapping[str, IntArray], *, random: RandomSource | None = None) -> "SurveyReports":
        """Obfuscate answers that are given as codes: ``(n,)`` integers for each attribute.

        Raises:
            DataError: if a column is missing, columns differ in length, or a code is out of range.
        """
        columns = named_columns(codes, list(self.attributes))
        # Small integers would overflow where answers are combined.
        whole = {n: self.attributes[n].check_codes(part).astype(np.int64, copy=False) for n, part in columns.items()}
        return self._obfuscated(whole, random)

    def _obfuscated(self, codes: Mapping[str, IntArray], random: RandomSource | None) -> "SurveyReports":
        if self.rounds is not None:
            raise ParameterError("rounds.separate")
        source = checked_source(random)
        people = len(next(iter(codes.values())))
        drawn = self.draw_questions(fresh_words(source, people))
        parts, who = {}, {}
        for place, question in enumerate(self.questions):
            rows = who[question.name] = np.flatnonzero((drawn == place).any(axis=1))
            parts[question.name] = question.mechanism.obfuscate_codes(self.cells(question, codes, rows), random=source)
        return SurveyReports(self, people, parts, who)

    # The collector

    def tally(self, reports: "SurveyReports") -> "SurveyTally":
        """Return the tallies of the reports, one for each question.

        Raises:
            DataError: if the survey's mechanisms cannot have made the reports.
            MismatchError: if the reports belong to another survey.
        """
        self.check_same(reports)
        return SurveyTally(
            self, reports.people, {name: self._by_name[name].mechanism.tally(part) for name, part in reports.items()}
        )

    def check_same(self, parts: "SurveyParts[Any]") -> None:
        """Raise an error for reports or tallies of another survey.

        Raises:
            MismatchError: if the reports or tallies belong to another survey.
        """
        if (other := parts.survey.fingerprint) != self.fingerprint:
            raise MismatchError("reports.other-survey", found=other[:12], survey=self.fingerprint[:12])


def _rounded_up(number: Fraction) -> float:
    """Return the smallest float that is not less than an exact number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else nextafter(nearest, inf)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SurveyParts(Mapping[str, Part]):
    """The reports or tallies of a survey by question. The reports of different people can be added.

    Attributes:
        survey: the survey.
        people: the number of people, each with t answers; None if it is not known.
        parts: the reports or tallies by the question's name; a question may be absent. Reports are in order of people.
        rows: for each question the ``(m,)`` indices of the people who answered it; None if not known.

    A key is the name of a question, or names of its attributes in any order: ``"age,income"``, ``["income", "age"]``.
    """

    survey: Survey
    people: int | None
    parts: Mapping[str, Part]
    rows: Mapping[str, IntArray] | None = None

    def __post_init__(self) -> None:
        """Check that each part was made under the plan of its question.

        Raises:
            ParameterError: if a name is not a question.
            MismatchError: if a part belongs to another plan than its question.
        """
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))
        for name, part in self.parts.items():
            plan, other = self.survey.question(name).mechanism.fingerprint, part.fingerprint
            if other != plan:
                raise MismatchError("reports.other-question", found=other[:12], name=name, plan=plan[:12])

    def __getitem__(self, attributes: Any) -> Part:
        try:
            return self.parts[self.survey.question(attributes).name]
        except ParameterError as error:
            raise KeyError(str(error)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {part.n}" for name, part in self.parts.items())
        return f"{type(self).__name__}({counts}; plan={self.survey.fingerprint[:12]})"

    def __add__(self, other: Self) -> Self:
        """Return the reports or tallies of both groups of people."""
        self.survey.check_same(other)
        people = None if self.people is None or other.people is None else self.people + other.people
        names = [question.name for question in self.survey.questions if question.name in {*self, *other}]
        parts: dict[str, Any] = {name: sum(batch[name] for batch in (self, other) if name in batch) for name in names}
        rows = None
        if self.people is not None and self.rows is not None and other.rows is not None:
            later = {name: places + self.people for name, places in other.rows.items()}
            rows = {name: np.concatenate([each[name] for each in (self.rows, later) if name in each]) for name in names}
        return type(self)(self.survey, people, parts, rows)

    def __radd__(self, other: int) -> Self:
        """Return the object itself for 0, so that ``sum`` works."""
        return self if other == 0 else NotImplemented


SurveyReports: TypeAlias = SurveyParts[Reports]
SurveyTally: TypeAlias = SurveyParts[Tally]
