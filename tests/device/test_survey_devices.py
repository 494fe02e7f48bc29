"""Surveys on a device: collections of which it answers those that it draws, and no more than the survey's epsilon."""

from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.collector.documents.signing import renew, sign_survey, withdraw
from discreet.device import Device, Limits, Outcome
from discreet.device.protocol.assignment import Assignment
from discreet.device.protocol.collection import Collection, Epochs, open_envelope
from discreet.device.sending import Answer
from discreet.errors import ParameterError
from refusals import refused
from signed import EPOCH, START, TRUST, key, terms

LIMITS = Limits(report=2.0, epoch=4.0, lifetime=20.0)
QUESTIONNAIRE = dc.Questionnaire.load(str(files("discreet") / "examples" / "health_survey.toml"))
ANSWERS: dict[str, Any] = {"age": "<30", "education": "trade", "diagnosis": "flu", "sex,diagnosis": ("f", "flu")}
NAMES = [question.name for question in QUESTIONNAIRE.survey().questions]
ENVELOPES = sign_survey(QUESTIONNAIRE, terms(name="health", lifetime=2.0), [key()])


def _survey(drawn: int, **changes: Any) -> tuple[bytes, ...]:
    """Return the envelopes of a survey of three questions about three attributes, of which each person answers some."""
    attributes = {name: dc.Domain(["no", "yes"]) for name in ("a", "b", "c")}
    shares = [drawn * 2**64 // 3] * 2
    questions = [
        dc.Question((name,), dc.RandomizedResponse(attributes[name].for_attribute(name), 1.0), share)
        for name, share in zip(attributes, [*shares, drawn * 2**64 - sum(shares)], strict=True)
    ]
    survey = dc.Survey(attributes, questions, float(drawn), promise="record", answers=drawn)
    return sign_survey(dc.Questionnaire.of(survey), terms(name="abc", lifetime=20.0, **changes), [key()])


class People:
    """A device with a clock, which has agreed to some collections."""

    def __init__(self, folder: Path, envelopes: tuple[bytes, ...], **named: Any) -> None:
        self.now = float(START + 10)
        self.device = Device(folder, TRUST, LIMITS, clock=lambda: self.now, post=lambda *_: Answer(202), **named)
        self.collections = [self.device.accept(envelope) for envelope in envelopes]
        for collection in self.collections:
            self.device.agree(collection)

    def outcomes(self, *values: Any) -> list[Outcome]:
        return [self.device.answer(asked, value) for asked, value in zip(self.collections, values, strict=True)]

    @property
    def asked(self) -> list[str]:
        return [collection.name for collection in self.collections if self.device.asks(collection)]


def _opened(envelopes: tuple[bytes, ...]) -> list[Collection]:
    return [open_envelope(envelope, TRUST) for envelope in envelopes]


def test_a_device_draws_as_the_survey_does() -> None:
    survey, (first, *_) = QUESTIONNAIRE.survey(), _opened(ENVELOPES)
    assert first.survey is not None
    borders = np.cumsum([question.share for question in survey.questions], dtype=np.uint64)[:-1]
    words = np.concatenate([borders - np.uint64(1), borders, np.array([0, 2**64 - 1], np.uint64)])
    places = [[f"health-{place + 1}" for place in row] for row in survey.draw_questions(words).tolist()]
    assert [[*first.survey.drawn(int(word))] for word in words] == places
    for place, collection in enumerate(_opened(ENVELOPES)):
        asked = first.survey.asked(collection.name, words)
        assert asked.tolist() == [f"health-{place + 1}" in row for row in places]
    two = Assignment("abc", 2, 2.0, {"abc-1": 2**63, "abc-2": 2**64, "abc-3": 2**63})
    assert two.drawn(0) == ("abc-1", "abc-2")
    assert two.drawn(2**63) == ("abc-2", "abc-3")
    ends = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    assert [two.asked(name, ends).tolist() for name in two.questions] == [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]]


def test_each_collection_states_the_whole_survey_and_asks_one_question() -> None:
    opened = _opened(ENVELOPES)
    assert [collection.name for collection in opened] == [f"health-{number}" for number in range(1, 5)]
    assert [collection.question for collection in opened] == NAMES
    assert len({repr(collection.survey) for collection in opened}) == 1
    assert opened[0].survey is not None
    assert opened[0].survey.epsilon == QUESTIONNAIRE.survey().guarantee.record
    texts = {"age": {"question": "How old are you?"}}
    asked = _opened(sign_survey(QUESTIONNAIRE, terms(name="health", lifetime=2.0), [key()], texts))
    assert [collection.question for collection in asked] == ["How old are you?", *NAMES[1:]]


def test_a_person_answers_what_was_drawn_and_nothing_else(tmp_path: Path) -> None:
    drawn = Counter[str]()
    for number in range(16):
        person = People(tmp_path / str(number), ENVELOPES, person_secret=number.to_bytes(16, "little"))
        (asked,) = person.asked
        outcomes = person.outcomes(*ANSWERS.values())
        assert Counter(outcomes) == {Outcome.UNASKED: 3, Outcome.RECORDED: 1}
        assert person.collections[outcomes.index(Outcome.RECORDED)].name == asked
        assert person.device.budget().spent == 2.0
        drawn[asked] += 1
    # Secrets are fixed, and so are their draws.
    assert len(drawn) == 4


def test_the_draw_stays_and_a_secret_of_the_person_makes_it_the_same_on_all_devices(tmp_path: Path) -> None:
    secret = bytes(range(16))
    one, other = (People(tmp_path / name, _survey(2), person_secret=secret) for name in ("one", "other"))
    assert one.asked == other.asked
    alone = People(tmp_path / "alone", _survey(2, answers="fresh"))
    asked = alone.asked
    for epoch in range(3):
        alone.now = float(START + 10 + epoch * EPOCH)
        outcomes = alone.outcomes("no", "yes", "no")
        assert [
            name for name, outcome in zip(("abc-1", "abc-2", "abc-3"), outcomes, strict=True) if outcome == "recorded"
        ] == asked


def test_a_key_that_is_gone_lets_nobody_answer_more_than_the_survey_allows(tmp_path: Path) -> None:
    person = People(tmp_path, _survey(1))
    assert Counter(person.outcomes("no", "no", "no"))[Outcome.RECORDED] == 1
    for _ in range(20):
        # Whoever declines and comes back has a new key, and may be drawn for another question.
        person.device.decline("abc-1")
        person.device.agree(person.collections[0])
        assert Outcome.RECORDED not in person.outcomes("no", "no", "no")
    assert person.device.budget().spent == 1.0


def test_nothing_is_drawn_before_the_first_question_is_there(tmp_path: Path) -> None:
    person = People(tmp_path, _survey(1)[1:])
    assert "survey.not-accepted" in refused(ParameterError, lambda: person.device.asks("abc-2"))


def test_a_next_version_is_a_question_of_the_same_survey() -> None:
    first = _survey(1)[0]
    (before, later, notice) = _opened(
        (first, renew(first, [key()], contact="new@example.org"), withdraw(first, [key()]))
    )
    assert before.survey == later.survey == notice.survey


def _in_rounds(rounds: dc.Rounds) -> dc.Questionnaire:
    attributes = {name: dc.Domain(["no", "yes", "now and then"]) for name in ("a", "b", "c")}
    planned = dc.plan_survey(attributes, 2.0, answers=2, rounds=rounds, within=0.0)
    return dc.Questionnaire.of(planned.survey)


@pytest.mark.parametrize("first", [None, 1.0])
def test_rounds_of_a_survey_are_permanent_answers_that_cost_what_it_promises(
    first: float | None, tmp_path: Path
) -> None:
    questionnaire = _in_rounds(dc.Rounds(4, first=first))
    survey = questionnaire.survey()
    asked = terms(name="abc", answers="permanent", epochs=Epochs(START, EPOCH, 4), lifetime=None)
    envelopes = sign_survey(questionnaire, asked, [key()])
    for collection, question in zip(_opened(envelopes), survey.questions, strict=True):
        memo = survey.memos[question.name]
        assert (collection.cost, collection.truth) == (memo.infinity or question.epsilon, memo.truth)
        assert collection.lifetime == collection.cost
        assert collection.survey is not None
        assert collection.survey.epsilon == survey.epsilon == 2.0
    person = People(tmp_path, envelopes)
    drawn = person.asked
    assert len(drawn) == 2
    for epoch in range(4):
        person.now = float(START + 10 + epoch * EPOCH)
        assert Counter(person.outcomes("no", "no", "no"))[Outcome.UNASKED] == 1
        assert person.asked == drawn
        assert person.device.budget().spent == 2.0
    person = People(tmp_path / "changes", envelopes)
    for epoch, answer in enumerate(["no", "yes", "now and then", "no"]):
        person.now = float(START + 10 + epoch * EPOCH)
        person.outcomes(answer, answer, answer)
        assert person.device.budget().spent == 2.0


@pytest.mark.parametrize(
    ("rounds", "changes", "words"),
    [
        (dc.Rounds(4, how="rotate"), {}, "rounds.rotate"),
        (dc.Rounds(4), {"answers": "fresh"}, "4 rounds of permanent answers"),
        (dc.Rounds(4, first=1.0), {"memo": 2.0}, "terms.other-rounds"),
        (dc.Rounds(4), {"epochs": Epochs(START, EPOCH, 5)}, "at most 4 epochs"),
        (dc.Rounds(4, how="fresh"), {}, "4 rounds of fresh answers"),
    ],
)
def test_terms_that_are_not_those_of_the_rounds_are_refused(rounds: dc.Rounds, changes: Any, words: str) -> None:
    asked = terms(
        **{"name": "abc", "answers": "permanent", "epochs": Epochs(START, EPOCH, 4), "lifetime": None, **changes}
    )
    assert words in refused(ParameterError, lambda: sign_survey(_in_rounds(rounds), asked, [key()]))


def test_texts_of_no_question_are_refused() -> None:
    texts = {"income": {"question": "How much?"}}
    refused(ParameterError, lambda: sign_survey(QUESTIONNAIRE, terms(name="health", lifetime=2.0), [key()], texts))


def test_epochs_of_a_survey_that_asks_again_have_their_own_limit(tmp_path: Path) -> None:
    person = People(tmp_path, _survey(1, answers="fresh", epochs=Epochs(START, EPOCH, 3)))
    spent = []
    for epoch in range(4):
        person.now = float(START + 10 + epoch * EPOCH)
        person.outcomes("no", "no", "no")
        spent.append(person.device.budget().spent)
    assert spent == [1.0, 2.0, 3.0, 3.0]
