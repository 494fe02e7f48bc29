"""Several questions together: one likelihood against the spelled out one, consistency against least squares, errors."""

from functools import cache
from math import prod

import numpy as np
import pytest

import discreet as dc
from discreet.core.random import WORD_RANGE
from discreet.estimators.linear import LinearStart
from discreet.surveys.joint_tables.consistency import Combination
from discreet.surveys.joint_tables.maximum import JointTable, QuestionReports, joint_maximum
from discreet.surveys.questions import question_domain
from discreet.surveys.survey import SurveyReports, SurveyTally
from discreet.testing import outputs_of

SIZES = {"a": 2, "b": 3, "c": 4}
SHAPE = tuple(SIZES.values())
P = np.random.default_rng(1).dirichlet(np.full(prod(SHAPE), 0.4)).reshape(SHAPE)
QUESTIONS = {
    "a,b": (dc.RandomizedResponse, 1.0, 0.3),
    "b,c": (dc.UnaryEncoding, 2.0, 0.4),
    "a,c": (dc.SubsetSelection, 0.5, 0.2),
    "c": (dc.HadamardResponse, 1.5, 0.1),
}


@cache
def asked(answers: int = 1, *, clear: bool = True, questions: tuple[str, ...] = tuple(QUESTIONS)) -> dc.Survey:
    """Return a survey of questions with laws, epsilons and shares of their own; some combinations may go in clear."""
    sensitive = {"a": [1], "b": [0], "c": [2, 3]} if clear else {}
    attributes = {name: dc.Domain(range(size), sensitive=sensitive.get(name)) for name, size in SIZES.items()}
    chosen = {name: QUESTIONS[name] for name in questions}
    total = sum(share for _, _, share in chosen.values())
    shares = [int(answers * WORD_RANGE * share / total) for _, _, share in chosen.values()]
    shares[0] += answers * WORD_RANGE - sum(shares)
    parts = []
    for (name, (kind, epsilon, _)), share in zip(chosen.items(), shares, strict=True):
        names = tuple(name.split(","))
        parts.append(dc.Question(names, kind(question_domain(attributes, names), epsilon), share))
    return dc.Survey(attributes, parts, answers * 2.0, promise="record", answers=answers)


def reports(survey: dc.Survey, n: int, seed: int = 1) -> SurveyReports:
    cells = np.random.default_rng(seed).choice(P.size, n, p=P.reshape(-1))
    codes = dict(zip(SIZES, np.unravel_index(cells, SHAPE), strict=True))
    return survey.obfuscate_codes(codes, random=dc.SeededRandom(seed))


def axes_of(name: str) -> tuple[int, ...]:
    return tuple(list(SIZES).index(each) for each in name.split(","))


def summing(name: str) -> np.ndarray:
    """Return the matrix from cells of the whole table to those of a question."""
    axes = axes_of(name)
    places = np.array(np.unravel_index(np.arange(P.size), SHAPE))
    rows = np.ravel_multi_index([places[axis] for axis in axes], [SHAPE[axis] for axis in axes])
    return np.eye(prod(SHAPE[axis] for axis in axes))[:, rows]


def solved(survey: dc.Survey, data: SurveyReports, tolerance: float = 1e-10) -> JointTable:
    answered = [
        QuestionReports(axes_of(name), LinearStart.of(survey.question(name).mechanism, part))
        for name, part in data.items()
    ]
    return joint_maximum(answered, SHAPE, tolerance=tolerance)


@pytest.mark.parametrize("clear", [True, False])
def test_the_likelihood_is_that_of_every_report_spelled_out(clear: bool) -> None:
    survey = asked(clear=clear)
    data = reports(survey, 2000)
    table = solved(survey, data)
    # Probabilities of each report given each cell, up to a factor, with nothing of the operator in it.
    rows = np.concatenate(
        [survey.question(name).mechanism.likelihoods(part) @ summing(name) for name, part in data.items()]
    )
    found = table.whole.reshape(-1)
    ratios = (rows / (rows @ found)[:, None]).mean(axis=0)
    assert abs(ratios.max() - 1 - table.solution.gap) < 1e-8
    assert ratios.max() - 1 < 1e-8
    other = np.random.default_rng(2).dirichlet(np.ones(P.size))
    assert np.log(rows @ other).mean() < np.log(rows @ found).mean()
    answers = dc.estimate_survey(survey, data, method="joint", tolerance=1e-10)
    for name, part in answers.items():
        np.testing.assert_allclose(part.frequencies, summing(name) @ found, atol=1e-12)
        if "," in name:
            np.testing.assert_allclose(part.marginal(name[-1]).frequencies, answers[name[-1]].frequencies, atol=1e-12)


def test_one_step_has_the_covariance_of_the_whole_table_spelled_out() -> None:
    survey = asked()
    data = reports(survey, 20_000)
    table = solved(survey, data, 1e-3)
    even = JointTable(table.answered, P, table.solution)
    information, n = np.zeros((P.size, P.size)), sum(part.n for part in data.values())
    channels = []
    for name, part in data.items():
        channel = outputs_of(survey.question(name).mechanism).matrix.T @ summing(name)
        q = channel @ P.reshape(-1)
        information += part.n / n * (channel.T / q) @ channel
        channels.append(part.n / n * channel)
    inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    for name in ("a,b", "b,c", "a,c", "b"):
        lift = summing(name)
        wanted = (lift @ inverse @ lift.T - np.outer(lift @ P.reshape(-1), lift @ P.reshape(-1))) / n
        stepped = even.stepped(axes_of(name))
        assert stepped is not None
        np.testing.assert_allclose(stepped[1], wanted, atol=2e-3 * wanted.max())
    # The moments of contributions w of all reports y, of everybody and of the people of each cell.
    lift, chances = summing("a,b"), np.vstack(channels)
    added = lift @ inverse @ (chances / (chances @ P.reshape(-1))[:, None]).T
    of_cell = chances @ (lift * P.reshape(-1) / (lift @ P.reshape(-1))[:, None]).T
    law = even.contribution_means((0, 1), 0.0)
    for power, moment in ((2, law.second), (3, law.third)):
        assert moment is not None
        np.testing.assert_allclose(
            moment.constant + moment.slope * (lift @ P.reshape(-1)), added**power @ chances @ P.reshape(-1), rtol=0.01
        )
        np.testing.assert_allclose(
            moment.constant + moment.slope, np.einsum("ky,yk->k", added**power, of_cell), rtol=0.01
        )
    # Where every cell is used, nothing is gained by staying within them.
    np.testing.assert_allclose(even.errors_within((0, 1)) ** 2, np.diagonal(even.stepped((0, 1))[1]), rtol=1e-4)


@pytest.mark.parametrize("answers", [1, 2])
def test_consistent_tables_are_the_weighted_least_squares_solution(answers: int) -> None:
    survey = asked(answers)
    data = reports(survey, 3000)
    linears = dc.estimate_survey(survey, data)
    together = dc.estimate_survey(survey, data, method="consistent")
    rows, wanted, blocks, indicators = [], [], [], []
    for name, plain in linears.items():
        mechanism, part = survey.question(name).mechanism, plain.controlled()
        root = np.sqrt(part.n / mechanism.decoder.variances(1, np.full(part.domain.size, 1 / part.domain.size)).mean())
        rows.append(root * summing(name))
        wanted.append(root * part.frequencies)
        blocks.append(root**2 * part.covariance())
        indicators.append(root**2 * (np.diag(part.frequencies) - np.outer(part.frequencies, part.frequencies)))
    # All people are 1: only what is orthogonal to that is free.
    free = np.linalg.qr(np.column_stack([np.ones(P.size), np.eye(P.size)[:, 1:]]))[0][:, 1:]
    start = np.full(P.size, 1 / P.size)
    operator = free @ np.linalg.pinv(np.vstack(rows) @ free, rcond=1e-10)
    solution = start + operator @ (np.concatenate(wanted) - np.vstack(rows) @ start)
    for name in ("a,b", "b,c", "c"):
        np.testing.assert_allclose(together[name].frequencies, summing(name) @ solution, atol=1e-10)
        expected, at, repeated = 0.0, 0, 0.0
        for block, spread in zip(blocks, indicators, strict=True):
            lift = summing(name) @ operator[:, at : at + len(block)]
            expected, at = expected + lift @ block @ lift.T, at + len(block)
            repeated += lift @ spread @ lift.T
        p = together[name].frequencies
        overlap = Combination(survey, dict(linears), data.people).overlap
        expected += overlap * (np.diag(p) - np.outer(p, p) - repeated)
        np.testing.assert_allclose(together[name].covariance(), expected, atol=1e-12)
    assert answers == 2 or overlap == 0
    pairs = [sum(chance for places, chance in survey.draws if {a, b} <= {*places}) for a in range(4) for b in range(a)]
    assert answers == 1 or max(pairs) / WORD_RANGE <= overlap * data.people <= 4


def test_a_marginal_of_several_questions_is_combined_by_weights_that_depend_on_no_answer() -> None:
    survey = asked(questions=("a,b", "b,c", "a,c"))
    first, second = (dc.estimate_survey(survey, reports(survey, 4000, seed)) for seed in (1, 2))
    weights = Combination(survey, dict(first), 4000)
    assert weights.weight("a,b", ("b",)) + weights.weight("b,c", ("b",)) == pytest.approx(1)
    for answers in (first, second):
        of_two = [answers[name].marginal("b") for name in ("a,b", "b,c")]
        share = Combination(survey, dict(answers), 4000).weight("a,b", ("b",))
        np.testing.assert_allclose(
            answers["b"].frequencies, share * of_two[0].frequencies + (1 - share) * of_two[1].frequencies
        )
        covariance = share**2 * of_two[0].covariance() + (1 - share) ** 2 * of_two[1].covariance()
        np.testing.assert_allclose(answers["b"].covariance(), covariance)
        np.testing.assert_allclose(answers["b"].standard_errors ** 2, np.diagonal(covariance))
    projected = dc.estimate_survey(survey, reports(survey, 4000), method="projected")["b"]
    assert projected.method == "projected"
    assert projected.frequencies.sum() == pytest.approx(1)


def test_limits_of_the_joint_estimate_cover() -> None:
    survey, runs = asked(), 20
    inside, squares, stated = 0, 0.0, 0.0
    for seed in range(runs):
        answers = dc.estimate_survey(survey, reports(survey, 2000, seed + 10), method="joint")
        for name in ("a,b", "b", "c"):
            truth = summing(name) @ P.reshape(-1)
            low, high = answers[name].interval()
            inside += int(((low <= truth) & (truth <= high)).sum())
            squares += float(((answers[name].frequencies - truth) ** 2).sum())
            stated += float((answers[name].standard_errors ** 2).sum())
    assert 0.9 < inside / (runs * 13) < 0.995
    assert 0.6 < stated / squares < 1.6


def test_few_reports_have_the_limits_of_linear_estimates() -> None:
    """Of three people the limits of the likelihood held cells in 39% to 72% of surveys, consistent ones in 68%."""
    survey = asked(1)
    for people, few in ((30, True), (400, False)):
        data = reports(survey, people)
        linear = dc.estimate_survey(survey, data)
        for method in ("joint", "consistent"):
            found = dc.estimate_survey(survey, data, method=method)
            same = [np.array_equal(found[name].interval(), linear[name].interval()) for name in found]
            assert all(same) == few, method


def test_tables_that_no_question_determines_are_refused() -> None:
    survey = asked()
    data = reports(survey, 500)
    with pytest.raises(KeyError, match="do not determine the table 'a,b,c'; ask a and b and c in one question"):
        dc.estimate_survey(survey, data, method="joint")["a", "c", "b"]
    with pytest.raises(KeyError, match="do not determine"):
        dc.estimate_survey(survey, SurveyTally(survey, 5, {"c": survey.tally(data)["c"]}))["a"]
