"""Surveys: both promises by enumerating every report of every record, and the draw of questions to the last word."""

import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, product
from math import prod

import numpy as np
import pytest

import discreet as dc
from discreet.core.guarantee import likelihood_ratio, logarithm
from discreet.core.random import WORD_RANGE
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.surveys.questions import question_domain
from discreet.testing import outputs_of

SIZES = {"a": 2, "b": 3, "c": 2}
COMBINATIONS = ({"a": 0, "b": 0}, {"a": 1, "b": 2, "c": 1})
"""000, 001 and 121."""


def domains(**sensitive: list[int]) -> dict[str, dc.Domain]:
    return {
        name: dc.Domain(range(size), sensitive=sensitive.get(name), allow_unprotected=True)
        for name, size in SIZES.items()
    }


def survey(
    attributes: dict[str, dc.Domain],
    asked: dict[str, float],
    *,
    promise: str = "record",
    shares: list[int] | None = None,
    kind: type = dc.RandomizedResponse,
    **more: object,
) -> dc.Survey:
    """Return a survey with an epsilon for each question, and a promise that it just keeps."""
    answers = int(more.get("answers", 1))
    even = answers * WORD_RANGE // len(asked)
    shares = shares or [even] * (len(asked) - 1) + [answers * WORD_RANGE - even * (len(asked) - 1)]
    combinations = more.get("combinations", ())
    questions = [
        dc.Question(
            tuple(name.split(",")), kind(question_domain(attributes, name.split(","), combinations), epsilon), share
        )
        for (name, epsilon), share in zip(asked.items(), shares, strict=True)
    ]
    most = sum(sorted(asked.values())[-answers:])
    return dc.Survey(attributes, questions, more.pop("epsilon", most), promise=promise, **more)


def rows(asked: dc.Survey) -> Iterator[tuple[list[Fraction], list[tuple[str, ...]], list[tuple[str, ...]]]]:
    """Yield for every output of a person its chance from each record, and the attributes in blocks and in clear."""
    records = list(product(*(range(size) for size in SIZES.values())))
    codes = dict(zip(SIZES, np.array(records).T, strict=True))
    spelled = [outputs_of(question.mechanism) for question in asked.questions]
    for places, chance in asked.draws:
        columns = []
        for place in places:
            names, outputs = asked.questions[place].attributes, spelled[place]
            cells = np.ravel_multi_index([codes[name] for name in names], [SIZES[name] for name in names])
            columns.append(
                [
                    (outputs.numerators[cells, y], outputs.denominator, outputs.clear[y] < 0, names)
                    for y in range(outputs.reports.n)
                ]
            )
        for outcome in product(*columns):
            each = [
                Fraction(chance, WORD_RANGE) * prod(Fraction(int(part[0][row]), int(part[1])) for part in outcome)
                for row in range(len(records))
            ]
            yield each, [part[3] for part in outcome if part[2]], [part[3] for part in outcome if not part[2]]


def realised(asked: dc.Survey) -> tuple[Fraction, dict[str, Fraction]]:
    """Return the largest ratios of chances: of records, all in blocks; and by attribute, where it is in blocks."""
    records = list(product(*(range(size) for size in SIZES.values())))
    whole, alone = Fraction(1), dict.fromkeys(SIZES, Fraction(1))
    for chances, _, clear in rows(asked):
        if not clear:
            whole = max(whole, max(chances) / min(chances))
        for axis, name in enumerate(SIZES):
            if any(name in names for names in clear):
                continue
            for first, second in product(range(len(records)), repeat=2):
                others = [at for at in range(len(SIZES)) if records[first][at] != records[second][at]]
                if others == [axis] and chances[first]:
                    alone[name] = max(alone[name], chances[first] / chances[second])
    return whole, alone


@pytest.mark.parametrize("promise", ["record", "attribute"])
@pytest.mark.parametrize(
    ("sensitive", "asked", "answers"),
    [
        ({}, {"a": 1.0, "b": 0.5, "c": 1.0}, 1),
        ({}, {"a": 0.5, "b": 0.25, "c": 0.5}, 2),
        ({}, {"a,b": 0.5, "c": 0.5, "b,c": 0.25}, 2),
        ({"a": [0], "b": [0, 1], "c": []}, {"a,b": 1.0, "b": 0.5, "a,c": 1.0}, 1),
        ({"a": [0], "b": [1], "c": [1]}, {"a": 0.5, "b": 0.5, "b,c": 0.5}, 3),
    ],
)
def test_both_promises_are_those_of_every_report_of_every_record(sensitive, asked, answers, promise):
    made = survey(domains(**sensitive), asked, answers=answers, promise=promise)
    whole, alone = realised(made)
    guarantee = made.guarantee
    assert logarithm(whole) <= guarantee.record <= made.epsilon
    assert guarantee.record == pytest.approx(logarithm(whole), abs=1e-12)
    for name, ratio in alone.items():
        assert logarithm(ratio) <= guarantee.attributes[name]
        assert guarantee.attributes[name] == pytest.approx(logarithm(ratio), abs=1e-12)


def test_where_combinations_are_sensitive_no_such_record_speaks_in_clear():
    made = survey(domains(), {"a,b": 1.0, "c": 1.0, "b,c": 1.0}, combinations=COMBINATIONS)
    counts = [(q.mechanism.domain.sensitive_count, q.mechanism.domain.size) for q in made.questions]
    assert counts == [(2, 6), (2, 2), (3, 6)]
    records = list(product(*(range(size) for size in SIZES.values())))
    secret = [records.index(record) for record in ((0, 0, 0), (0, 0, 1), (1, 2, 1))]
    ratios = []
    for chances, blocks, clear in rows(made):
        if clear:
            assert not any(chances[row] for row in secret)
        else:
            ratios.append((max(chances) / min(chances), blocks[0]))
    exact = {q.attributes: likelihood_ratio(q.mechanism.threshold, q.mechanism.law.inclusion) for q in made.questions}
    assert all(max(r for r, names in ratios if names == asked) == ratio for asked, ratio in exact.items())


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_shares_are_kept_to_the_last_word(answers):
    shares = [WORD_RANGE // 3, WORD_RANGE // 7 + 5, WORD_RANGE, 11]
    names = ("a", "b", "c", "a,b")
    wanted = answers * WORD_RANGE
    while sum(shares) != wanted:
        # Whatever is lacking or too much, on questions that have room.
        for place in range(4):
            shares[place] = min(max(shares[place] + wanted - sum(shares), 1), WORD_RANGE)
    made = survey(domains(), dict.fromkeys(names, 0.5), shares=shares, answers=answers)
    totals = [sum(chance for places, chance in made.draws if at in places) for at in range(4)]
    assert totals == shares
    assert sum(chance for _, chance in made.draws) == WORD_RANGE
    assert all(len({*places}) == answers for places, _ in made.draws)
    starts = [0, *accumulate(chance for _, chance in made.draws)]
    edges = [word for start in starts[:-1] for word in (start, start - 1) if word >= 0] + [WORD_RANGE - 1]
    drawn = made.draw_questions(np.array(edges, dtype=np.uint64))
    for word, row in zip(edges, drawn.tolist(), strict=True):
        at = next(place for place, start in enumerate(starts[1:]) if word < start)
        assert tuple(row) == made.draws[at][0]


def test_each_person_answers_what_is_drawn_and_reports_are_those_of_ordinary_plans():
    made = survey(domains(a=[0]), {"a": 9.0, "b": 9.0, "a,c": 9.0}, answers=2)
    n = 600
    table = {"c": np.arange(n) % 2, "a": np.arange(n) % 2, "b": np.arange(n) % 3, "idle": ["x"] * n}
    reports = made.obfuscate(table, random=dc.SeededRandom(3))
    assert reports.people == n
    assert sum(part.n for part in reports.values()) == 2 * n
    answered = np.bincount(np.concatenate([*reports.rows.values()]), minlength=n)
    assert (answered == 2).all()
    assert all(reports[name].fingerprint == made.question(name).mechanism.fingerprint for name in reports)
    # At this epsilon nearly everybody tells the truth: the rows are those of the people who were asked.
    symbols = reports["b"].blocks["symbol"]
    assert np.mean(symbols == table["b"][reports.rows["b"]]) > 0.99
    tally = made.tally(reports)
    assert tally["a", "c"].n == tally["c", "a"].n == reports["a,c"].n
    half = {name: column[: n // 2] for name, column in table.items()}
    again = made.obfuscate(half, random=dc.SeededRandom(4))
    both = reports + again
    assert both.people == 900
    assert both["b"].n == reports["b"].n + again["b"].n
    assert both.rows["b"].max() < 900
    assert made.tally(both)["b"].n == both["b"].n


def test_attributes_with_the_same_labels_are_never_taken_for_each_other():
    made = survey({name: dc.Domain(["no", "yes"]) for name in "ab"}, {"a": 1.0, "b": 1.0})
    reports = made.obfuscate({"a": ["no"] * 9, "b": ["yes"] * 9}, random=dc.SeededRandom(1))
    with pytest.raises(MismatchError, match=r"plan.different"):
        made.question("b").mechanism.tally(reports["a"])
    with pytest.raises(MismatchError, match=r"reports.other-question"):
        type(reports)(made, 9, {"b": reports["a"]})
    plain = dc.Domain(["no", "yes"])
    assert plain != plain.for_attribute("a") != plain.for_attribute("b")
    assert plain.for_attribute("a").fingerprint != plain.fingerprint
    assert plain.fingerprint == dc.Domain(["no", "yes"]).fingerprint


def test_answers_say_how_many_answered_each_question_and_are_right():
    made = survey(domains(b=[0]), {"a": 3.0, "b,c": 3.0, "c": 3.0}, shares=[WORD_RANGE // 2, WORD_RANGE // 2 - 1, 1])
    rng = np.random.default_rng(1)
    n = 20_000
    table = {name: rng.integers(0, size, n) for name, size in SIZES.items()}
    reports = made.obfuscate(table, random=dc.SeededRandom(2))
    answers = dc.estimate_survey(made, reports)
    assert list(answers) == ["a", "b,c"]
    assert answers.unanswered == ("c",)
    assert answers["a"].n + answers["c", "b"].n == n
    for name, truth in (("a", table["a"]), ("b,c", table["b"] * 2 + table["c"])):
        low, high = answers[name].limits(1 - 1e-6, simultaneous=True)
        shares = np.bincount(truth) / n
        assert ((low <= shares) & (shares <= high)).all()
    assert answers.to_arrow().column_names[:3] == ["question", "value", "n"]
    assert "No reports on c." in repr(answers)
    assert "20,000 people" in repr(answers)
    tallied = dc.estimate_survey(made, made.tally(reports), method="projected")
    assert tallied["a"].frequencies.sum() == pytest.approx(1)
    assert dc.estimate_survey(made, dict(reports))["a"].frequencies == pytest.approx(answers["a"].frequencies)
    odd = np.where(np.arange(n) % 2, "odd", "even")[reports.rows["a"]]
    grouped = dc.estimate_groups(made.question("a").mechanism, reports["a"], odd)
    assert sum(part.n for part in grouped.values()) == answers["a"].n


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"asked": {"a": 1.0, "d": 1.0}}, r"attribute.unknown"),
        ({"shares": [WORD_RANGE // 2, WORD_RANGE // 4]}, "shares.wrong-sum"),
        ({"shares": [WORD_RANGE, 0]}, r"share.not-integer"),
        ({"asked": {"a": 0.5, "b,a": 0.5}}, "question.wrong-order"),
        ({"asked": {"a": 0.5, "a ": 0.5}}, r"attribute.unknown"),
        ({"promise": "people"}, "promise"),
        ({"answers": 2, "epsilon": 1.0}, r"questions.too-much-epsilon"),
        ({"promise": "attribute", "epsilon": 0.5}, r"questions.too-much-epsilon"),
        ({"combinations": COMBINATIONS, "sensitive": {"a": [0]}}, r"combinations.and-sensitive-values"),
        ({"combinations": [{"a": 0, "ab": 0}]}, r"attribute.unknown"),
        ({"combinations": {"a": 0}}, "combinations.not-patterns"),
        ({"combinations": [{}]}, "combinations.not-patterns"),
    ],
)
def test_parts_that_make_no_survey_are_refused_in_a_sentence(change, words):
    about = {"asked": {"a": 1.0, "b": 1.0}, **change}
    attributes = domains(**about.pop("sensitive", {}))
    with pytest.raises(ParameterError, match=words):
        survey(attributes, **about)


def test_what_cannot_be_answered_is_refused_and_quotes_nobody():
    made = survey(domains(), {"a": 1.0, "b": 1.0})
    table = {name: [0, 1, 0] for name in SIZES}
    with pytest.raises(DataError, match=r"values.no-column"):
        made.obfuscate({name: table[name] for name in "ab"})
    with pytest.raises(DataError, match="Attribute 'b': 1 of 3 values") as caught:
        made.obfuscate({**table, "b": [0, 7, 1]})
    assert "7" not in str(caught.value)
    with pytest.raises(DataError, match="Attribute 'c': 1 of 3 values"):
        made.obfuscate({**table, "c": [0, None, 1]})
    codes = {name: np.array([0, 1, 0]) for name in SIZES}
    with pytest.raises(DataError, match=r"codes.out-of-range"):
        made.obfuscate_codes({**codes, "b": np.array([0, 7, 1])})
    with pytest.raises(DataError, match=r"column.different-lengths"):
        made.obfuscate_codes({**codes, "c": np.array([0, 1])})
    with pytest.raises(DataError, match=r"values.no-column"):
        made.obfuscate_codes({"a": codes["a"], "b": codes["b"]})
    with pytest.raises(ParameterError, match=r"question.too-large"):
        question_domain({name: dc.Domain(range(2000)) for name in "ab"}, ["a", "b"])
    with pytest.raises(ParameterError, match=r"attribute.invalid-name"):
        dc.Survey({"a,b": dc.Domain(range(2))}, made.questions, 1.0, promise="record")
    with pytest.raises(ParameterError, match=r"attribute.of-several-columns"):
        dc.Survey({"a": dc.Domain.product({"x": range(2)})}, made.questions, 1.0, promise="record")


def test_names_that_differ_in_how_accents_are_stored_are_one_attribute():
    single, split = (unicodedata.normalize(form, "größe") for form in ("NFC", "NFD"))
    surveys = [
        dc.plan_survey(
            {one: dc.Domain(["a", "b"]), "sex": dc.Domain(["f", "m"])},
            1.0,
            [["sex", other]],
            combinations=[{other: "a", "sex": "f"}],
        ).survey
        for one in (single, split)
        for other in (single, split)
    ]
    assert len({made.fingerprint for made in surveys}) == 1
    assert surveys[0].questions[0].mechanism.domain.sensitive_count == 1
    mechanism = surveys[0].questions[0].mechanism
    assert dc.Question((split, "sex"), mechanism, 1 << 64) == dc.Question((single, "sex"), mechanism, 1 << 64)
    with pytest.raises(ParameterError, match=r"attributes.repeated"):
        question_domain(surveys[0].attributes, [single], [{single: "a", split: "b"}])
