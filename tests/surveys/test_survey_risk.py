"""Surveys: what the answers of a person tell of who they are, and values in clear of attributes; by enumeration."""

import json
from itertools import product
from math import log2, prod
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import Question, Survey
from discreet.errors import ParameterError
from discreet.surveys.questions import question_domain
from discreet.surveys.risk import clear_information, survey_bounds
from running import done, refusal, run, told

EXAMPLES = Path(dc.__file__).parent / "examples"
SURVEY, PEOPLE = EXAMPLES / "health_survey.toml", EXAMPLES / "people.csv"
HALF = 1 << 63


def made(sizes, questions, *, sensitive=None, answers=1, share=HALF):
    """Return a survey of attributes a, b, ... by randomized response, each question with the same share."""
    attributes = {"abc"[at]: dc.Domain(range(size), sensitive=sensitive) for at, size in enumerate(sizes)}
    asked = [
        Question(tuple(names), dc.RandomizedResponse(question_domain(attributes, [*names]), 0.9), share)
        for names in questions
    ]
    return Survey(attributes, asked, 0.9 * answers, promise="record", answers=answers)


def information(joint):
    """Return the mutual information of a matrix of chances, in bits."""
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float(sum(p * log2(p / q) for p, q in zip(joint.ravel(), apart.ravel(), strict=True) if p > 0))


def test_information_of_values_in_clear_is_that_of_every_record_enumerated():
    sizes, rng = (3, 2, 4), np.random.default_rng(1)
    survey = made(sizes, ["ab", "c"], sensitive=[0])
    chances = rng.dirichlet(np.ones(prod(sizes))).reshape(sizes)

    def table(names):
        return chances.sum(axis=tuple(at for at in range(3) if "abc"[at] not in names)).reshape(-1)

    pairs = {(each.attribute, each.question): each for each in clear_information(survey, table)}
    assert pairs.keys() == {*product("abc", ("a,b", "c"))}
    for (attribute, name), each in pairs.items():
        question, at = survey.question(name), "abc".index(attribute)
        matrix = question.mechanism.channel().matrix
        # A value in clear is the only one that has its output.
        alone = np.flatnonzero((matrix > 0).sum(axis=0) == 1)
        joint = np.zeros((sizes[at], len(alone) + 1))
        for record in product(*map(range, sizes)):
            code = 0
            for part in question.attributes:
                code = code * survey.attributes[part].size + record["abc".index(part)]
            clear = matrix[code, alone]
            joint[record[at]] += chances[record] * np.array([*clear, 1 - clear.sum()])
        assert each.bits == pytest.approx(information(joint), abs=1e-12)
        assert each.entropy == pytest.approx(information(np.diag(chances.sum(axis=tuple({0, 1, 2} - {at})))))
    assert [each.bits for each in clear_information(survey, lambda _: None)] == [None] * 6
    assert [*clear_information(made((2, 3), "ab"), table)] == []


def seen(survey, records):
    """Return the chances of everything that may be seen of each of the users, who have these records."""
    names = [*survey.attributes]
    columns = []
    for places, count in survey.draws:
        some = [survey.questions[place] for place in places]
        rows = [
            [part.mechanism.channel().matrix[record[names.index(part.name)]] for part in some] for record in records
        ]
        columns.append([count / 2**64 * _outer(row) for row in rows])
    return np.concatenate([np.array(column) for column in columns], axis=1) / len(records)


def _outer(vectors):
    whole = np.ones(1)
    for vector in vectors:
        whole = np.multiply.outer(whole, vector).reshape(-1)
    return whole


@pytest.mark.parametrize(("answers", "share"), [(1, HALF), (2, 1 << 64)])
def test_bounds_are_above_everything_that_can_be_seen_of_people(answers, share):
    survey = made((2, 3), "ab", answers=answers, share=share)
    rng = np.random.default_rng(2)
    for users in (2, 3, 5):
        pie, named = survey_bounds(survey, users)
        for _ in range(20):
            chances = seen(survey, [(rng.integers(2), rng.integers(3)) for _ in range(users)])
            assert information(chances) <= pie.value + 1e-12
            assert chances.max(axis=0).sum() <= named.value + 1e-12
    if answers == 1:
        # Two people who differ in every attribute are told apart as well as the bounds allow.
        pie, named = survey_bounds(survey, 2)
        chances = seen(survey, [(0, 0), (1, 1)])
        assert chances.max(axis=0).sum() == pytest.approx(named.value, abs=1e-12)
        assert information(chances) == pytest.approx(pie.value, abs=1e-9)


def test_the_verb_states_both_and_warns_above_the_limit(tmp_path):
    done("survey", "obfuscate", SURVEY, PEOPLE, "-o", tmp_path / "r", "--seed", 1)
    facts = told("survey", "risk", SURVEY, tmp_path / "r", "--users", 1000)
    survey = dc.Questionnaire.load(SURVEY).survey()
    pie, named = survey_bounds(survey, 1000)
    assert (facts["pie_at_most_bits"], facts["identification_at_most"]) == (pie.value, named.value)
    pairs = {(each["attribute"], each["question"]): each for each in facts["in_clear"]}
    assert 0 < pairs["diagnosis", "sex,diagnosis"]["bits"] < pairs["diagnosis", "sex,diagnosis"]["entropy"]
    assert pairs["age", "diagnosis"]["bits"] is None
    text = " ".join(done("survey", "risk", SURVEY, tmp_path / "r", "--users", 1000, "--limit", 0.2).split())
    assert "MORE THAN 0.2 BITS in values in clear: diagnosis about diagnosis" in text
    assert "no answered question has both: diagnosis about age" in text
    assert "give REPORTS too" in done("survey", "risk", SURVEY, "--users", 1000)
    failed = run("survey", "risk", SURVEY, "--users", 1000, "--fail-above", 0.001, "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["identification_at_most"] > 0.001
    assert "survey.is-plan" in refusal("survey", "risk", EXAMPLES / "survey.toml", "--users", 10)
    (tmp_path / "none").mkdir()
    assert "folder.empty" in refusal("survey", "risk", SURVEY, tmp_path / "none", "--users", 10)


def test_answers_in_rounds_are_not_bounded_here():
    survey = made((2, 3), "ab")
    object.__setattr__(survey, "rounds", object())
    with pytest.raises(ParameterError, match=r"rounds.without-bound"):
        survey_bounds(survey, 10)
