"""Verification of a survey's promise, and privacy statements on publications of answers to several questions.

Each question is verified and published like a plan. This module computes the questions that one person can be asked
again, from the shares only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

from discreet.core.result_table import number_of
from discreet.privacy.notions import at_most
from discreet.privacy.publication import (
    HONEST,
    Publication,
    default_delta,
    joint_epsilon,
    names_sentence,
    posterior_text,
    readers_sentence,
    trust_sentence,
)
from discreet.privacy.verify import Verification, verify, verify_memo
from discreet.surveys.rounds import MOST_ROUNDS
from discreet.surveys.survey import Survey
from discreet.theory.memo import CHANGES_ARE_VISIBLE

_WORDS = 1 << 64
_ROUNDS = (1, 2, 3)
"""Numbers of rounds after which the epsilon of a person's reports is verified, beside all rounds."""


@dataclass(frozen=True, slots=True, eq=False)
class SurveyVerification:
    """The recomputed e^epsilon of a survey: for each question, and for all questions that one person can be asked.

    Attributes:
        questions: the verification of each question's mechanism, by name.
        record: e^epsilon of whole records, exactly.
        attributes: e^epsilon of each attribute, exactly.
        holds: whether the promises of all questions and of the survey hold, the shares have the right sum, and no
            person is asked a question twice.
        rounds: e^epsilon of whole records after some rounds, exactly.

    Example:
        >>> import discreet as dc
        >>> survey = dc.plan_survey({"age": dc.Domain(range(5)), "sex": dc.Domain(["f", "m"])}, 2.0).survey
        >>> verify_survey(survey).holds
        True
    """

    questions: Mapping[str, Verification]
    record: Fraction
    attributes: Mapping[str, Fraction]
    holds: bool
    rounds: Mapping[int, Fraction] = field(default_factory=dict)


def verify_survey(survey: Survey) -> SurveyVerification:
    """Recompute the epsilons of a survey from the integers of its samplers and from the shares of its questions."""
    rows = {question.name: verify(question.mechanism) for question in survey.questions}
    names, rounds = [*rows], survey.rounds
    turns = 1 if rounds is None else rounds.answered
    after = [] if rounds is None else sorted({min(t, rounds.number) for t in (*_ROUNDS, MOST_ROUNDS)})
    memos = {name: verify_memo(memo, after) for name, memo in survey.memos.items()}
    alone = [Fraction(1) if row.ratio is None else row.ratio for row in rows.values()]
    ratios = [memos[name].ratio if name in memos else ratio**turns for name, ratio in zip(names, alone, strict=True)]
    ends = list(accumulate((Fraction(question.share, _WORDS) for question in survey.questions), initial=Fraction(0)))
    # All random words between two of these numbers draw the same questions.
    words = {end % 1 for end in ends}
    drawn = [
        [place for place in range(len(ratios)) for turn in range(survey.answers) if _within(ends, place, word + turn)]
        for word in words
    ]
    fit = ends[-1] == survey.answers and all(len(set(places)) == survey.answers == len(places) for places in drawn)
    record = _largest(ratios, drawn)
    about = {
        name: [[place for place in places if name in survey.questions[place].attributes] for places in drawn]
        for name in survey.attributes
    }
    attributes = {name: _largest(ratios, each) for name, each in about.items()}
    most = record if survey.promise == "record" else max(attributes.values())
    promised = all(row.holds for row in rows.values()) and all(memo.holds for memo in memos.values())
    curve = {}
    for t in after:
        each = zip(names, alone, strict=True)
        each_ratio = [memos[name].ratios[t] if name in memos else ratio ** min(t, turns) for name, ratio in each]
        curve[t] = _largest(each_ratio, drawn)
    holds = fit and promised and at_most(most, survey.epsilon)
    return SurveyVerification(rows, record, attributes, holds, curve)


def _largest(ratios: Sequence[Fraction], drawn: Sequence[Sequence[int]]) -> Fraction:
    """Return the largest product of e^epsilon over the questions that one person can be asked."""
    return max(prod((ratios[place] for place in places), start=Fraction(1)) for places in drawn)


def _within(ends: Sequence[Fraction], place: int, point: Fraction) -> bool:
    return ends[place] <= point < ends[place + 1]


@dataclass(frozen=True, eq=False)
class SurveyPublication:
    """The privacy statement of a publication that is made from answers to a survey.

    The privacy losses of the questions that one person can have answered are composed. A question with few answers
    counts with the local epsilon of its reports.

    Attributes:
        survey: the survey.
        stated: the publication of each question, by the question's name.
        apart: whether each batch has reports of one round only. Otherwise the statement is for all rounds.

    Example:
        >>> import discreet as dc
        >>> survey = dc.plan_survey({"age": dc.Domain(range(5)), "sex": dc.Domain(["f", "m"])}, 2.0).survey
        >>> sizes = {"age": 7000, "sex": 3000}
        >>> parts = {name: dc.published(survey.question(name).mechanism, n) for name, n in sizes.items()}
        >>> print(SurveyPublication(survey, parts).person())
        This assumes 10,000 different people who answered once. Readers of the publication may know everything about \
other people. A reader who gave two records of a person 50% each can reach at most 58% for one of them, except with a \
chance of 1 in 1,000,000.
    """

    survey: Survey
    stated: Mapping[str, Publication]
    apart: bool = False

    @property
    def simulated(self) -> bool:
        """True if a report is simulated or seeded."""
        return any(part.simulated for part in self.stated.values())

    @property
    def not_trusted(self) -> int:
        """The number of reports in each batch that are fake or known to the reader."""
        return max(part.not_trusted for part in self.stated.values())

    @property
    def people(self) -> int:
        """The number of people, if each person gave as many answers as the survey asks for."""
        turns, batches = 1 if self.survey.rounds is None else self.survey.rounds.answered, self.stated.values()
        turns = min(turns, max(len(part.batches) for part in batches)) if self.apart else turns
        return -(-sum(sum(part.batches) for part in batches) // (self.survey.answers * turns))

    @property
    def chance(self) -> float:
        """The delta for all answers of one person."""
        return default_delta(self.people)

    @cached_property
    def parts(self) -> dict[str, Publication]:
        """The publication of each question, with the same delta for all questions."""
        more: dict[str, Any] = {"not_trusted": self.not_trusted, "simulated": self.simulated, "delta": self.chance}
        if (rounds := self.survey.rounds) is not None:
            more["answers"] = "permanent" if rounds.is_permanent else "once" if rounds.answered == 1 else "fresh"
            more |= {"most": rounds.answered} if more["answers"] == "fresh" else {}
        return {name: replace(part, **more) for name, part in self.stated.items()}

    @cached_property
    def reach(self) -> float:
        """The epsilon of all answers of one person in the publication, in nats; `chance` is its delta."""
        stated = self.apart or self.survey.rounds is None
        parts = {
            name: (part if stated else None, self.survey.epsilon_of(name, len(part.batches) if self.apart else None))
            for name, part in self.parts.items()
        }
        names = [question.name for question in self.survey.questions]
        return joint_epsilon(parts, ([names[i] for i in places] for places, _ in self.survey.draws), self.chance)

    def person(self) -> str:
        """Return a sentence for people: the most that a reader can learn about one person's record."""
        shown = next(iter(self.stated.values())).shown
        if self.simulated:
            return f"There is no guarantee for {shown}: the reports are simulated, and protect nobody."
        guarantee = self.survey.guarantee
        pair = f"{'a protected and another record' if guarantee.in_clear else 'two records'} of a person"
        answered = "once" if self.survey.rounds is None else "as this survey asks"
        clear = " Answers that are not protected can be sent unchanged." if guarantee.in_clear else ""
        people = number_of(self.people, "different person", "different people")
        return (
            f"This assumes {people} who answered {answered}. {readers_sentence(shown)} "
            f"{posterior_text(pair, self.reach, self.chance, first=guarantee.in_clear)}{clear}"
        )

    def conditions(self) -> Iterator[str]:
        """Yield the conditions of the privacy statement, one sentence each."""
        if self.simulated:
            return
        least = {name: part.n for name, part in self.parts.items()}
        few = min(least, key=lambda name: least[name])
        yield from dict.fromkeys(remark for part in self.parts.values() for remark in part.remarks)
        for reason in dict.fromkeys(filter(None, (part.dependence for part in self.parts.values()))):
            yield f"There is no guarantee beyond the guarantee of each report: {reason}."
        yield f"The smallest batch is of question {few!r}, with {number_of(least[few], 'report')}."
        yield trust_sentence(self.not_trusted)
        yield HONEST
        yield from filter(None, [names_sentence([batch for part in self.parts.values() for batch in part.named])])
        yield from [CHANGES_ARE_VISIBLE] if self.survey.memos else []

    def lines(self) -> Iterator[str]:
        """Yield the lines of the privacy statement: first the guarantee for a person, then the conditions."""
        yield self.person()
        if conditions := [f"- {sentence}" for sentence in self.conditions()]:
            yield from ["Conditions:", *conditions]

    def to_dict(self) -> dict[str, Any]:
        """Return the privacy statement as a dictionary for JSON; epsilons are in nats."""
        return {
            "people": self.people,
            "chance": self.chance,
            "epsilon": None if self.simulated else self.reach,
            "questions": {name: part.figures() for name, part in self.parts.items()},
            "sentences": {"person": [self.person()], "conditions": list(self.conditions())},
        }
