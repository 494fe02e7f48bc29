"""Plans of surveys: shares, numbers of answers and errors against the figures of the specification and enumeration."""

import numpy as np
import pytest

import discreet as dc
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError
from discreet.planning.numbers import mean_error, mean_moment
from discreet.surveys.planning import best_shares, second_moment
from discreet.testing import outputs_of

CENSUS = {"work": 9, "school": 17, "marital": 7, "job": 15, "house": 8, "race": 5, "sex": 2, "land": 43, "income": 2}


def attributes(sizes: dict[str, int], sensitive: object = None) -> dict[str, dc.Domain]:
    return {name: dc.Domain(range(size), sensitive=sensitive) for name, size in sizes.items()}


@pytest.mark.parametrize(("epsilon", "gain", "split"), [(1.0, 1.3402, 13.0), (3.0, 1.1354, 16.6)])
def test_shares_of_nine_attributes_lessen_the_error_of_equal_ones(epsilon, gain, split):
    plan = dc.plan_survey(attributes(CENSUS), epsilon, users=50_000)
    errors = {option.name.split(",")[0]: option.error for option in plan.options}
    assert errors["with equal shares"] / plan.options[0].error == pytest.approx(gain, abs=1e-3)
    assert errors["all 9 questions to everybody"] / plan.options[0].error == pytest.approx(split, abs=0.1)
    moments = [second_moment(question.mechanism) for question in plan.survey.questions]
    shares = np.array([question.share for question in plan.survey.questions]) / WORD_RANGE
    assert shares == pytest.approx(np.sqrt(moments) / np.sqrt(moments).sum(), abs=2e-6)
    assert sum(question.share for question in plan.survey.questions) == WORD_RANGE


@pytest.mark.parametrize(
    ("count", "size", "best"), [(5, 4, [1, 1, 2, 4]), (10, 2, [1, 3, 4, 8]), (10, 10, [1, 1, 1, 3])]
)
def test_each_person_answers_as_many_questions_as_the_specification_says(count, size, best):
    sizes = {f"a{place}": size for place in range(count)}
    planned = [dc.plan_survey(attributes(sizes), epsilon).survey for epsilon in (1.0, 4.0, 6.0, 12.0)]
    assert [survey.answers for survey in planned] == best
    for survey in planned:
        assert survey.guarantee.record <= survey.epsilon
        assert survey.guarantee.record == pytest.approx(survey.epsilon, abs=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.RandomizedResponse(dc.Domain(range(3)), 0.7),
        dc.SubsetSelection(dc.Domain(range(5)), 1.0, k=2),
        dc.UnaryEncoding(dc.Domain(range(4), sensitive=[0, 1]), 1.0),
        dc.SubsetSelection(dc.Domain(range(6), sensitive=range(3)), 2.0),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_the_moment_is_the_mean_square_contribution_of_a_report(mechanism):
    outputs, domain = outputs_of(mechanism), mechanism.domain
    squares = outputs.matrix @ np.square(mechanism.contributions(outputs.reports)).sum(axis=1)
    mass = mechanism.coefficients.worst_mass
    each = [squares[domain.sensitive].mean()] + ([squares[~domain.sensitive].mean()] if domain.clear_count else [])
    assert np.ptp(squares[domain.sensitive]) < 1e-9
    assert second_moment(mechanism) == pytest.approx(np.dot(each, [mass, 1 - mass][: len(each)]), rel=1e-12)


@pytest.mark.parametrize("sensitive", [None, [[0, 30], [70, 91]]], ids=["all", "ranges"])
def test_the_error_of_a_mean_is_that_of_the_worst_of_any_two_numbers(sensitive):
    mechanism = dc.Windows(dc.Domain.number(0, 91, bins=9, sensitive=sensitive), 1.0)
    mixes = [
        np.eye(9)[a] * share + np.eye(9)[b] * (1 - share)
        for a in range(9)
        for b in range(a)
        for share in np.linspace(0, 1, 33)
    ]
    worst = max(mean_error(mechanism, 1, p) for p in mixes) ** 2
    assert worst <= mean_moment(mechanism) * (1 + 1e-9)
    assert worst == pytest.approx(mean_moment(mechanism), rel=2e-3)


def test_numbers_have_the_share_and_the_error_of_their_mean_whatever_their_unit():
    plans = [
        dc.plan_survey({"age": dc.Domain.number(0, high, bins=16), "sex": dc.Domain(["f", "m"])}, 1.0, users=50_000)
        for high in (91, 910)
    ]
    assert [[q.share for q in plan.survey.questions] for plan in plans[1:]] == [
        [q.share for q in plans[0].survey.questions]
    ]
    table = plans[0].to_arrow().to_pydict()
    assert table["of"] == ["the mean, 0 to 91", "a share of people"]
    question = plans[0].survey.question("age")
    assert table["standard_error"][0] == pytest.approx((mean_moment(question.mechanism) / table["people"][0]) ** 0.5)
    assert plans[1].to_arrow()["standard_error"][0].as_py() == pytest.approx(10 * table["standard_error"][0])
    moments = [second_moment(q.mechanism) for q in plans[0].survey.questions]
    assert plans[0].survey.questions[0].share / WORD_RANGE == pytest.approx(best_shares(moments, 1)[0], abs=1e-6)
    assert plans[0].options[0].error == pytest.approx((moments[0] ** 0.5 + moments[1] ** 0.5) ** 2, rel=1e-4)
    assert "divided by the range" in plans[0].reason


def test_no_share_is_above_one_and_none_could_be_better():
    moments = np.array([1.0, 2.0, 50.0, 400.0])
    shares = best_shares(moments, 3)
    assert shares.sum() == pytest.approx(3)
    assert shares[2] == shares[3] == 1
    # Moving a little from one to the other makes the sum of g/q no smaller.
    move = np.array([1e-4, -1e-4, 0, 0])
    assert (moments / (shares + move)).sum() > (moments / shares).sum() < (moments / (shares - move)).sum()
    assert best_shares(moments, 4).tolist() == [1, 1, 1, 1]


def test_a_promise_to_attributes_lets_everybody_answer_everything_and_says_what_records_pay():
    plan = dc.plan_survey(attributes({"a": 3, "b": 4, "c": 2}), 1.0, promise="attribute")
    survey = plan.survey
    assert survey.answers == 3
    assert survey.guarantee.record == pytest.approx(3.0)
    assert max(survey.guarantee.attributes.values()) <= 1.0
    assert "epsilon 3" in str(survey.guarantee)
    pairs = dc.plan_survey(attributes({"a": 3, "b": 4, "c": 2}), 1.0, "pairs", promise="attribute", answers=3).survey
    # Every attribute is part of two of the questions that everybody answers.
    assert [question.epsilon for question in pairs.questions] == [0.5, 0.5, 0.5]
    assert max(pairs.guarantee.attributes.values()) <= 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"want": "triples"}, "want must be"),
        ({"want": []}, "'singles', 'pairs' or a list"),
        ({"want": [["a"], ["c"]]}, r"attribute.unknown"),
        ({"want": [["a", "b"], ["b", "a"]]}, r"want.repeated"),
        ({"want": [["a", "a"]]}, r"attributes.repeated"),
        ({"answers": 3}, "answers must be an integer in 1..2"),
        ({"promise": "both"}, "promise must be"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"sizes": {"a": 1500, "b": 1500}, "want": "pairs"}, r"question.too-large"),
        ({"sizes": {"a": 5}, "want": "pairs"}, "at least two attributes"),
    ],
)
def test_wishes_that_nothing_meets_are_refused(change, words):
    sizes = change.pop("sizes", {"a": 2, "b": 3})
    epsilon = change.pop("epsilon", 1.0)
    with pytest.raises(ParameterError, match=words):
        dc.plan_survey(attributes(sizes), epsilon, **change)
