"""Surveys in rounds: both promises by enumerating every history of every record, and who answers what when."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import discreet as dc
import discreet.testing
from discreet.core.guarantee import logarithm
from discreet.core.random import WORD_RANGE
from discreet.errors import DataError, ParameterError
from discreet.privacy.publication import Publication
from discreet.surveys.guarantees import SurveyPublication, verify_survey
from discreet.surveys.questions import question_domain
from histories import listed, whole

SIZES = {"a": 3, "b": 2}


def asked(
    epsilons: dict[str, float], rounds: dc.Rounds | None, sensitive: tuple[list[int] | None, ...] = (None, None), **more
) -> dc.Survey:
    """Return a survey of questions by name with equal shares."""
    kind, answers = more.pop("kind", dc.RandomizedResponse), more.get("answers", 1)
    domains = {
        name: dc.Domain(range(size), sensitive=part, allow_unprotected=True)
        for (name, size), part in zip(SIZES.items(), sensitive, strict=True)
    }
    questions = [
        dc.Question(
            tuple(name.split(",")),
            kind(question_domain(domains, name.split(",")), epsilon),
            answers * WORD_RANGE // len(epsilons),
        )
        for name, epsilon in epsilons.items()
    ]
    return dc.Survey(
        domains, questions, more.pop("epsilon", 2.0), promise=more.pop("promise", "record"), rounds=rounds, **more
    )


def chances(survey: dc.Survey, name: str, reports: int) -> np.ndarray:
    """Return by record, up to a factor, the chances of all histories of so many reports in blocks on a question."""
    question = survey.question(name)
    memo = survey.memos.get(name)
    rows = np.array([[1]] * question.mechanism.domain.size, dtype=object)
    if memo is not None and reports:
        rows = listed(memo, reports)
    elif reports:
        spelled = dc.testing.outputs_of(question.mechanism)
        once = spelled.numerators[:, spelled.clear < 0].astype(object)
        for _ in range(reports):
            rows = (rows[:, :, None] * once[:, None, :]).reshape(len(rows), -1)
    records = np.array(list(product(*map(range, SIZES.values())))).T
    codes = dict(zip(SIZES, records, strict=True))
    cells = np.ravel_multi_index(
        [codes[part] for part in question.attributes], [SIZES[part] for part in question.attributes]
    )
    return whole(rows * Fraction(1))[cells]


def enumerated(survey: dc.Survey, number: int) -> tuple[Fraction, dict[str, Fraction]]:
    """Return the largest ratios of chances of what a person sends in so many rounds: of records, and by attribute."""
    rounds = survey.rounds
    turns, names = min(number, rounds.answered), [question.name for question in survey.questions]
    draws = [places for places, _ in survey.draws]
    histories = ((places,) * turns for places in draws)
    records = list(product(*map(range, SIZES.values())))
    record, alone = Fraction(1), dict.fromkeys(SIZES, Fraction(1))
    for counts in {tuple(sorted(Counter(sum(history, ())).items())) for history in histories}:
        columns = np.array([[1]] * len(records), dtype=object)
        for place, reports in counts:
            each = chances(survey, names[place], reports)
            columns = (columns[:, :, None] * each[:, None, :]).reshape(len(records), -1)
        for column in filter(any, set(map(tuple, columns.T))):
            record = max(record, Fraction(max(column), min(column)))
            for axis, name in enumerate(SIZES):
                for (one, x), (other, y) in product(enumerate(records), repeat=2):
                    if [at for at in range(len(SIZES)) if x[at] != y[at]] == [axis]:
                        alone[name] = max(alone[name], Fraction(column[one], column[other]))
    return record, alone


WAYS = {
    "memo": ({"a": 1.0, "b": 0.75}, dc.Rounds(3, first=1.0), {}),
    "permanent": ({"a": 1.0, "b": 2.0}, dc.Rounds(3), {}),
    "two answers": ({"a": 0.5, "b": 0.75}, dc.Rounds(3, first=1.25), {"answers": 2}),
    "rare blocks": ({"a": 0.5, "b": 0.5}, dc.Rounds(3, first=1.0), {"kind": dc.UnaryEncoding}),
    "attributes": ({"a": 0.5, "a,b": 0.5}, dc.Rounds(2, first=1.0), {"promise": "attribute", "answers": 2}),
    "some in clear": ({"a": 1.0, "b": 1.0}, dc.Rounds(3, first=1.0), {"sensitive": ([0, 1], None)}),
    "fresh": ({"a": 0.5, "b": 0.25}, dc.Rounds(3, how="fresh"), {}),
    "rotate": ({"a": 1.0, "b": 0.75}, dc.Rounds(3, how="rotate", answers=2), {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_rounds_of_a_survey_tell_what_enumeration_says(way: str) -> None:
    epsilons, rounds, more = WAYS[way]
    survey = asked(epsilons, rounds, **more)
    exact, curve = verify_survey(survey), []
    for t in range(1, rounds.number + 1):
        record, alone = enumerated(survey, t)
        stated, by_attribute = survey.epsilons_after(t)
        for ratio, epsilon in [(record, stated), *((alone[name], by_attribute[name]) for name in SIZES)]:
            assert logarithm(ratio) <= epsilon
            assert epsilon == pytest.approx(logarithm(ratio), abs=1e-12)
        assert exact.rounds[t] == record
        curve.append(stated)
    most, each = survey.epsilons_after()
    assert curve == sorted(curve)
    assert curve[-1] <= most <= survey.epsilon if survey.promise == "record" else max(each.values()) <= survey.epsilon
    assert exact.holds
    assert logarithm(exact.record) == pytest.approx(survey.guarantee.record, abs=1e-12)
    if rounds.first is not None:
        limit = curve[0] if survey.promise == "record" else max(survey.epsilons_after(1)[1].values())
        assert limit <= rounds.first


@pytest.mark.parametrize(
    ("epsilons", "rounds", "words"),
    [
        ({"a": 1.0, "b": 1.0}, dc.Rounds(3, how="fresh"), r"questions.too-much-epsilon"),
        ({"a": 1.5, "b": 1.0}, dc.Rounds(4, how="rotate", answers=2), r"questions.too-much-epsilon"),
        ({"a": 1.5, "b": 1.0}, dc.Rounds(4, first=1.0), r"questions.too-much-epsilon"),
        ({"a": 1.0, "b": 1.0}, dc.Rounds(4, first=2.0), "first.too-large"),
        ({"a": 1.0, "b": 1.0}, "memo", "rounds.wrong-type"),
        (
            {"a": 1.0, "b": 1.0},
            dc.Rounds(4, first=float(np.nextafter(2.0, 0))),
            r"memo.epsilon-too-small",
        ),
    ],
)
def test_rounds_that_would_break_the_promise_are_refused(epsilons, rounds, words) -> None:
    with pytest.raises(ParameterError, match=words):
        asked(epsilons, rounds)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"number": 1}, r"number.not-integer"),
        ({"number": True}, "number.not-integer"),
        ({"number": 3, "how": "often"}, "how.not-among"),
        ({"number": 3, "first": 0}, "epsilon.not-positive"),
        ({"number": 3, "how": "fresh", "first": 1.0}, r"first.needs-memo"),
        ({"number": 3, "answers": 2}, r"answers.needs-rotate"),
        ({"number": 3, "how": "rotate", "answers": 4}, r"answers.not-integer"),
    ],
)
def test_what_makes_no_rounds_is_refused(wrong, words) -> None:
    with pytest.raises(ParameterError, match=words):
        dc.Rounds(**wrong)


def test_surveys_without_rounds_keep_their_fingerprints() -> None:
    once = asked({"a": 1.0, "b": 1.0}, None)
    assert once.fingerprint == "418271ce6db286272ce97e87fb0f6ea6"
    others = [
        asked({"a": 1.0, "b": 0.5}, rounds).fingerprint
        for rounds in (dc.Rounds(2), dc.Rounds(3), dc.Rounds(2, first=1.0), dc.Rounds(2, how="fresh"))
    ]
    assert len({once.fingerprint, *others}) == 5


def rows(people: int, months: int) -> dict[str, np.ndarray]:
    whose = np.tile(np.arange(people), months)
    return {"a": whose % 3, "b": whose % 2, "who": whose, "month": np.repeat(np.arange(months), people)}


def answered(
    survey: dc.Survey, table: dict[str, np.ndarray], seed: int = 1
) -> list[tuple[int, str, np.ndarray, dc.Reports]]:
    codes = {name: table[name] for name in SIZES}
    return list(survey.answers_in_rounds(codes, table["who"], table["month"], random=dc.SeededRandom(seed)))


def test_a_person_answers_the_same_questions_in_all_rounds() -> None:
    table = rows(500, 3)
    survey = asked({"a": 0.5, "b": 0.5}, dc.Rounds(3, first=1.0))
    who = {(time, name): table["who"][some] for time, name, some, _ in answered(survey, table)}
    assert sum(map(len, who.values())) == 1500
    assert all(np.array_equal(who[0, name], who[time, name]) for time in (1, 2) for name in SIZES)


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_rotating_people_answer_in_as_many_rounds_as_is_said(turns: int) -> None:
    table, survey = rows(1200, 5), asked({"a": 0.25, "b": 0.25}, dc.Rounds(5, how="rotate", answers=turns))
    times = np.zeros((1200, 5), int)
    for time, _, some, _ in answered(survey, table):
        np.add.at(times, (table["who"][some], time), 1)
    assert times.max() == 1
    assert set(times.sum(axis=1)) == {turns}
    assert (np.abs(times.sum(axis=0) - 240 * turns) < 5 * 14).all()


def test_reports_are_those_of_the_rows_that_answer_them() -> None:
    """In clear, so that they are read off: of fresh and rotating rounds, and of memos that noise is not in front of."""
    for rounds in (dc.Rounds(3), dc.Rounds(3, how="fresh"), dc.Rounds(3, how="rotate", answers=2)):
        survey = asked({"a": 0.5, "b": 0.5}, rounds, ([], []))
        table = rows(300, 3)
        for _, name, some, reports in answered(survey, table):
            assert reports.clear.tolist() == table[name][some].tolist()


def test_what_cannot_be_asked_in_rounds_is_refused_and_quotes_nobody() -> None:
    survey, table = asked({"a": 0.5, "b": 0.5}, dc.Rounds(2)), rows(4, 2)
    columns = {"people": "who", "rounds": "month"}
    assert {time: reports.people for time, reports in survey.obfuscate_rounds(table, **columns).items()} == {0: 4, 1: 4}
    with pytest.raises(ParameterError, match=r"rounds.separate"):
        survey.obfuscate(table)
    with pytest.raises(ParameterError, match=r"survey.without-rounds"):
        asked({"a": 0.5, "b": 0.5}, None).obfuscate_rounds(table, **columns)
    with pytest.raises(DataError, match=r"rounds.too-many"):
        survey.obfuscate_rounds(rows(4, 3), **columns)
    with pytest.raises(DataError, match=r"person.twice-in-round"):
        survey.obfuscate_rounds({**table, "who": [7] * 8}, **columns)
    with pytest.raises(DataError, match="2 of 8 people are missing"):
        survey.obfuscate_rounds({**table, "who": [None, "x", "y", "z"] * 2}, **columns)
    assert survey.obfuscate_rounds({name: column[:0] for name, column in table.items()}, **columns) == {}


def stated(survey: dc.Survey, names: Iterable[str], batches: tuple[int, ...]) -> dict[str, Publication]:
    """Return the publications of questions with the same batches."""
    return {name: dc.published(survey.question(name).mechanism, batches) for name in names}


def test_what_is_published_of_rounds_adds_up_as_people_answer() -> None:
    def published(rounds: dc.Rounds | None, batches: tuple[int, ...] = (4000, 5000), **more) -> SurveyPublication:
        survey = asked({"a": 0.25, "b": 0.25}, rounds, **more)
        return SurveyPublication(survey, stated(survey, SIZES, batches), apart=True)

    once = published(None)
    assert once.people == 18_000
    memo = published(dc.Rounds(12, first=1.0))
    assert memo.people == 9000
    # Reports that are sent again are of one person: what both rounds tell of her is not made less by others.
    assert memo.reach == memo.survey.epsilons_after(2)[0] > 0.25
    assert "Changes are hidden only" in " ".join(memo.conditions())
    assert "9,000 different people who answered as this survey asks" in memo.person()
    assert published(dc.Rounds(12, first=1.0), (4000,)).reach == pytest.approx(once.reach, rel=1e-3)
    fresh = published(dc.Rounds(2, how="fresh"))
    assert fresh.people == 9000
    alone = dc.published(fresh.survey.questions[1].mechanism, (4000, 5000), answers="fresh", most=2, delta=fresh.chance)
    assert fresh.reach == pytest.approx(alone.figures()["among"]["epsilon"])
    assert once.reach < fresh.reach < 2 * once.reach
    rotated = published(dc.Rounds(12, how="rotate"))
    assert rotated.people == 18_000
    assert rotated.reach == pytest.approx(once.reach)
    # Where rounds may be in one batch, all of a person's reports may be.
    for survey in (memo.survey, fresh.survey):
        assert SurveyPublication(survey, stated(survey, "a", (9000,))).reach == survey.epsilon_of("a")
    few = published(dc.Rounds(2, how="fresh"), (1, 1))
    assert few.reach == pytest.approx(0.5)
