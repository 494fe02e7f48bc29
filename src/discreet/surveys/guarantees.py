"""Surveys: verification of both promises, and publications, where the answers of one person add up.

Each question is verified and published as an ordinary plan. Which ones a person is asked is worked out here once more,
from the shares alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, product
from math import floor, prod
from typing import Any

from discreet.core.guarantee import percent_sure
from discreet.core.result_table import number_of
from discreet.privacy.notions import at_most
from discreet.privacy.publication import HONEST, Publication, left_out, names_sentence, together, trust_sentence
from discreet.privacy.verify import Verification, verify, verify_memo
from discreet.surveys.rounds import MOST_ROUNDS
from discreet.surveys.survey import Survey
from discreet.theory.memo import NOT_HIDDEN

_WORDS = 1 << 64
_ROUNDS = (1, 2, 3)
"""After which it is verified what a person's reports tell, beside all of them."""
_MOST = 4096
"""Histories of draws that are listed."""


@dataclass(frozen=True, slots=True, eq=False)
class SurveyVerification:
    """The check of a survey's promise: of every question, and of all that a person can be asked together.

    Attributes:
        questions: the verification of each question's mechanism, by name.
        record: e^epsilon of whole records, exactly.
        attributes: e^epsilon of each attribute, exactly.
        shares: whether shares add up, and no question is asked twice of a person.
        holds: whether all questions keep their promises, and the answers of a person that of the survey.
        rounds: e^epsilon of whole records after some rounds, exactly; where questions are drawn anew, as far as all
            histories can be listed.

    Example:
        >>> import discreet as dc
        >>> survey = dc.plan_survey({"age": dc.Domain(range(5)), "sex": dc.Domain(["f", "m"])}, 2.0).survey
        >>> verify_survey(survey).holds
        True
    """

    questions: Mapping[str, Verification]
    record: Fraction
    attributes: Mapping[str, Fraction]
    shares: bool
    holds: bool
    rounds: Mapping[int, Fraction] = field(default_factory=dict)


def verify_survey(survey: Survey) -> SurveyVerification:
    """Return the verification of a survey, from the integers of its samplers and shares."""
    rows = {question.name: verify(question.mechanism) for question in survey.questions}
    rounds = survey.rounds
    turns, after = (
        (1, []) if rounds is None else (rounds.turns, sorted({min(t, rounds.number) for t in (*_ROUNDS, MOST_ROUNDS)}))
    )
    memos = {name: verify_memo(memo, after) for name, memo in survey.memos.items()}
    alone = [Fraction(1) if row.ratio is None else row.ratio for row in rows.values()]
    ratios = [memos[name].ratio if name in memos else ratio**turns for name, ratio in zip(rows, alone, strict=True)]
    ends = list(accumulate((Fraction(question.share, _WORDS) for question in survey.questions), initial=Fraction(0)))
    # Between two of these, the same questions are drawn.
    words = {end % 1 for end in ends}
    drawn = [
        [place for place in range(len(ratios)) for turn in range(survey.answers) if _within(ends, place, word + turn)]
        for word in words
    ]
    fit = ends[-1] == survey.answers and all(len(set(places)) == survey.answers == len(places) for places in drawn)
    everything = [[*range(len(ratios))]] if memos and rounds is not None and rounds.redrawn else drawn
    record = max(prod((ratios[place] for place in places), start=Fraction(1)) for places in everything)
    attributes = {
        name: max(
            prod((ratios[at] for at in places if name in survey.questions[at].attributes), start=Fraction(1))
            for places in everything
        )
        for name in survey.attributes
    }
    most = record if survey.promise == "record" else max(attributes.values())
    promised = all(row.holds for row in rows.values()) and all(memo.holds for memo in memos.values())
    promised = promised and at_most(most, survey.epsilon)
    names = [*rows]

    def told(history: Mapping[int, int]) -> Fraction:
        """Return the ratio of a history: so many reports on each question."""
        each = ((names[place], alone[place], n) for place, n in history.items())
        return prod(
            (memos[name].ratios[n] if name in memos else ratio**n for name, ratio, n in each), start=Fraction(1)
        )

    listed = {t: _histories(drawn, rounds, t) for t in after}
    curve = {t: max(map(told, histories)) for t, histories in listed.items() if histories}
    return SurveyVerification(rows, record, attributes, fit, fit and promised, curve)


def _histories(drawn: Sequence[Sequence[int]], rounds: Any, number: int) -> list[Counter[int]]:
    """Return the reports of a person in so many rounds, by question: of every draw; none where they are too many."""
    turns = min(number, rounds.turns)
    if not rounds.redrawn:
        return [Counter(dict.fromkeys(places, turns)) for places in drawn]
    if len(drawn) ** turns > _MOST:
        return []
    return [Counter(chain.from_iterable(places)) for places in product(drawn, repeat=turns)]


def _within(ends: Sequence[Fraction], place: int, point: Fraction) -> bool:
    return ends[place] <= point < ends[place + 1]


@dataclass(frozen=True, eq=False)
class SurveyPublication:
    """A publication of answers to a survey, or of anything made of them, and what it tells of a person.

    The privacy losses of the questions that one person can have answered are composed. A question with few answers
    counts with the local epsilon of its reports.

    Attributes:
        survey: whose questions.
        batches: number of reports of each batch, by question.
        not_trusted: reports of each batch that hide nobody.
        simulated: whether the reports are simulated or seeded.
        shown: what the reader sees, in words.
        stated: the publications of questions, where more is known of them than their batches.
        apart: whether a batch has reports of one round alone; otherwise no more is promised than of all reports.

    Example:
        >>> import discreet as dc
        >>> survey = dc.plan_survey({"age": dc.Domain(range(5)), "sex": dc.Domain(["f", "m"])}, 2.0).survey
        >>> publication = SurveyPublication(survey, {"age": (7000,), "sex": (3000,)})
        >>> print(publication.person())
        If these are 10,000 different people who answered once, whoever sees what is published, however much they know \
of everybody else, can go from 50% to at most 58% sure which of two records is a person's; the chance that they get \
further is at most 1 in 1,000,000.
    """

    survey: Survey
    batches: Mapping[str, tuple[int, ...]]
    not_trusted: int = 0
    simulated: bool = False
    shown: str = "what is published"
    stated: Mapping[str, Publication] = field(default_factory=dict)
    apart: bool = False

    @classmethod
    def of(cls, survey: Survey, stated: Mapping[str, Publication], *, apart: bool = False) -> "SurveyPublication":
        """Return the publication of questions whose publications are stated alike; see ``apart``."""
        batches = {name: part.batches for name, part in stated.items()}
        trust = max(part.not_trusted for part in stated.values())
        simulated = any(part.simulated for part in stated.values())
        shown = next(iter(stated.values())).shown
        return cls(survey, batches, trust, simulated, shown, stated, apart)

    @property
    def people(self) -> int:
        """The number of people, if each of them answered as the survey asks."""
        turns = 1 if self.survey.rounds is None else self.survey.rounds.turns
        turns = min(turns, max(map(len, self.batches.values()), default=1)) if self.apart else turns
        return -(-sum(map(sum, self.batches.values())) // (self.survey.answers * max(turns, 1)))

    @property
    def chance(self) -> float:
        """The chance that a reader gets further, and the delta of all questions of a person together."""
        return left_out(max(self.people, 1))

    @cached_property
    def parts(self) -> dict[str, Publication]:
        """The publication of each question that somebody answered."""
        more: dict[str, Any] = {"not_trusted": self.not_trusted, "simulated": self.simulated, "delta": self.chance}
        if (rounds := self.survey.rounds) is not None:
            more["answers"] = "permanent" if rounds.keeps else "once" if rounds.turns == 1 else "fresh"
            more |= {"most": rounds.turns} if more["answers"] == "fresh" else {}
        return {
            name: replace(self.stated[name], **more)
            if name in self.stated
            else Publication(self.survey.question(name).mechanism, sizes, **more)
            for name, sizes in self.batches.items()
            if sizes
        }

    @cached_property
    def reach(self) -> float:
        """The epsilon that a reader gets to with the answers of one person, in nats, but for the chance."""
        stated = self.apart or self.survey.rounds is None
        parts = {
            name: (part if stated else None, self.survey.told(name, len(part.batches) if self.apart else None))
            for name, part in self.parts.items()
        }
        if self._redrawn:
            return min(together(parts, [[*parts]], self.chance), self.survey.after()[0])
        names = [question.name for question in self.survey.questions]
        return together(parts, ([names[place] for place in places] for places, _ in self.survey.draws), self.chance)

    @property
    def _redrawn(self) -> bool:
        """True if a person's questions are drawn anew in each round, so that all of them are counted."""
        return self.survey.rounds is not None and self.survey.rounds.redrawn

    def person(self) -> str:
        """Return the sentence for people: how sure whoever sees what is published gets of one person's record."""
        if self.simulated:
            return f"Of {self.shown} nothing is promised: the reports are simulated, and protect nobody."
        guarantee = self.survey.guarantee
        which = "that a certain protected record is a person's, and not a certain other one"
        which = which if guarantee.in_clear else "which of two records is a person's"
        answered = "once" if self.survey.rounds is None else "as this survey asks"
        clear = " Answers that are not protected can be sent unchanged." if guarantee.in_clear else ""
        people = number_of(self.people, "different person", "different people")
        return (
            f"If these are {people} who answered {answered}, whoever sees {self.shown}, however "
            f"much they know of everybody else, can go from 50% to at most "
            f"{percent_sure(self.reach)}% sure {which}; the chance that they get further is at most 1 "
            f"in {floor((1 + 1e-9) / self.chance):,}.{clear}"
        )

    def conditions(self) -> Iterator[str]:
        """Yield the conditions of the statement, a sentence each."""
        least = {name: part.n for name, part in self.parts.items()}
        if self.simulated or not least:
            return
        few = min(least, key=lambda name: least[name])
        yield from dict.fromkeys(remark for part in self.parts.values() for remark in part.remarks)
        yield from dict.fromkeys(
            f"No more is promised than of each report: {part.beside}." for part in self.parts.values() if part.beside
        )
        yield f"The smallest batch is of question {few!r}, with {number_of(least[few], 'report')}."
        yield trust_sentence(self.not_trusted)
        yield HONEST
        yield from filter(None, [names_sentence([batch for part in self.parts.values() for batch in part.named])])
        yield from [NOT_HIDDEN] if self.survey.memos else []

    def lines(self) -> Iterator[str]:
        """Yield the statement in two lines: what holds of a person, and under which conditions."""
        yield self.person()
        if conditions := " ".join(self.conditions()):
            yield f"Conditions: {conditions}"

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as built-ins, ready for JSON; epsilons in nats."""
        return {
            "people": self.people,
            "chance": self.chance,
            "epsilon": None if self.simulated else self.reach,
            "questions": {name: part.figures() for name, part in self.parts.items()},
            "sentences": {"person": [self.person()], "conditions": list(self.conditions())},
        }
