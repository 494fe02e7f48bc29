"""Regressions against textbooks: on reports that tell the truth, and on the sums that define them."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.errors import DataError
from discreet.estimators.regression.log_odds import LogOddsLaw, ScoreModel, output_rows
from discreet.estimators.regression.logistic import LogisticLikelihood
from discreet.results.coefficients import LeastSquaresLaw

DOMAIN = dc.Domain(["poor", "fair", "rich"], sensitive=["poor"])
MECHANISMS = {
    "rr": dc.RandomizedResponse(DOMAIN, 1.0),
    "bits": dc.UnaryEncoding(dc.Domain(["poor", "fair", "rich"]), 2.0),
    "channel": dc.Channel([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], dc.Domain(["poor", "fair", "rich"])),
}
RANDOM = np.random.default_rng(2)
PEOPLE = 900
AGE, SEX = RANDOM.uniform(20, 80, PEOPLE), RANDOM.choice(["f", "m"], PEOPLE)
ODDS = np.stack([0.05 * (AGE - 50) + (SEX == "m"), np.zeros(PEOPLE), 0.02 * (AGE - 50)], axis=1)
SHARES = np.exp(ODDS) / np.exp(ODDS).sum(axis=1, keepdims=True)
CODES = (RANDOM.random(PEOPLE)[:, None] > SHARES.cumsum(axis=1)).sum(axis=1)
COVARIATES = {"age": AGE, "sex": SEX}


def reports_of(mechanism: Any) -> dc.Reports:
    return mechanism.obfuscate_codes(CODES, random=dc.SeededRandom(4))


@pytest.mark.parametrize("name", MECHANISMS)
def test_linear_is_least_squares_on_pseudo_values_with_errors_of_the_law(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = MECHANISMS[name]
    reports = reports_of(mechanism)
    monkeypatch.setattr("discreet.estimators.regression.ENTRIES_AT_ONCE", 300)
    found = dc.regress(mechanism, reports, COVARIATES)
    z = np.stack([np.ones(PEOPLE), AGE, SEX == "m"], axis=1).astype(float)
    inverse = np.linalg.inv(z.T @ z)
    for place in range(3):
        y = mechanism.contributions(reports)[:, place]
        beta = inverse @ z.T @ y
        pulled = y - z @ beta
        sandwich = inverse @ (z.T * pulled**2) @ z @ inverse
        assert found.coefficients[place] == pytest.approx(beta, rel=1e-8)
        # The law's error is about that of the sample, where there is much of that.
        assert found.standard_errors[place] == pytest.approx(np.sqrt(np.diag(sandwich)), rel=0.15)
    assert found.covariates == ("intercept", "age", "sex=m")
    one = dc.regress(mechanism, reports, COVARIATES, values=["rich"])
    assert one.coefficients == pytest.approx(found.coefficients[2:], rel=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
def test_contributions_are_streamed_by_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = MECHANISMS[name]
    reports = reports_of(mechanism)
    whole = mechanism.decoder.contributions(reports)
    assert np.array_equal(mechanism.contributions(reports), whole)
    assert np.array_equal(mechanism.contributions(reports, ["rich", "poor"]), whole[:, [2, 0]])
    with pytest.raises(DataError, match="1 of 1 values are not in the domain"):
        mechanism.contributions(reports, ["broke"])


@pytest.mark.parametrize("name", MECHANISMS)
def test_likelihoods_are_those_of_the_channel(name: str) -> None:
    mechanism = MECHANISMS[name]
    rows = mechanism.likelihoods(reports_of(mechanism))
    decoded = mechanism.contributions(reports_of(mechanism))
    # Reports with the same contributions are one output; the rows of an output are the same up to a factor.
    _, places = np.unique(decoded.round(9), axis=0, return_inverse=True)
    for place in np.unique(places):
        assert (np.ptp(rows[places.reshape(-1) == place], axis=0) < 1e-12).all()
    spelled = mechanism if name == "channel" else mechanism.channel()
    allowed = [column / column.max() for column in spelled.matrix.T if column.max() > 0]
    for row in np.unique(rows, axis=0):
        assert any(np.allclose(row / row.max(), column, rtol=1e-6) for column in allowed)


def test_logistic_of_the_truth_is_the_textbooks() -> None:
    """With an epsilon that hides nothing, the likelihood is that of multinomial logistic regression."""
    mechanism = dc.RandomizedResponse(dc.Domain(["poor", "fair", "rich"]), 30.0)
    found = dc.regress(mechanism, reports_of(mechanism), COVARIATES, method="logistic")
    counts = np.bincount(CODES)
    assert found.baseline == ["poor", "fair", "rich"][int(counts.argmax())]
    z = np.stack([np.ones(PEOPLE), AGE, SEX == "m"], axis=1).astype(float)
    base = int(counts.argmax())
    others = [code for code in range(3) if code != base]
    logits = np.zeros((PEOPLE, 3))
    logits[:, others] = z @ found.coefficients.T
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    gradient = z.T @ (np.eye(3)[CODES] - shares)
    assert abs(gradient / z.std(axis=0).clip(1)[:, None]).max() / PEOPLE < 1e-5
    assert found.disagreement is None


@pytest.mark.parametrize("name", ["bits", "channel"])
def test_logistic_covers_what_made_the_data(name: str) -> None:
    mechanism = MECHANISMS[name]
    found = dc.regress(mechanism, reports_of(mechanism), COVARIATES, method="logistic")
    true = {"poor": [-2.5, 0.05, 1.0], "fair": [0.0, 0.0, 0.0], "rich": [-1.0, 0.02, 0.0]}
    assert found.baseline is not None
    for value, row, errors in zip(found.values, found.coefficients, found.standard_errors, strict=True):
        away = row - (np.array(true[value]) - np.array(true[found.baseline]))
        assert (abs(away) < 4 * errors).all()


def test_references_baselines_and_the_order_of_categories_are_kept() -> None:
    mechanism, ages = MECHANISMS["rr"], ["young", "middle", "old"]
    column = np.array(ages)[np.digitize(AGE, [40, 60])]
    kept = pd.Categorical(column, categories=[*ages, "nobody"])
    tables = [{"age": kept}, pd.DataFrame({"age": kept}), pl.DataFrame({"age": pl.Series(column, dtype=pl.Enum(ages))})]
    for table in tables:
        assert dc.regress(mechanism, reports_of(mechanism), table).covariates[1:] == ("age=middle", "age=old")
    # Text has no order but that of the alphabet.
    assert dc.regress(mechanism, reports_of(mechanism), {"age": column}).covariates[1:] == ("age=old", "age=young")
    options: Any = {"reference": {"age": "old"}, "method": "logistic", "baseline": "rich"}
    found = dc.regress(mechanism, reports_of(mechanism), tables[0], **options)
    assert (found.covariates[1:], found.baseline, found.values) == (
        ("age=young", "age=middle"),
        "rich",
        ("poor", "fair"),
    )
    # Another reference and baseline tell the same shares.
    other = dc.regress(mechanism, reports_of(mechanism), tables[0], method="logistic", baseline="fair")
    shares = [{(one.row, one.value): one[2:] for one in fit.predict({"age": ages})} for fit in (found, other)]
    assert shares[0].keys() == shares[1].keys()
    for key, numbers in shares[0].items():
        assert numbers == pytest.approx(shares[1][key], abs=2e-3)


@pytest.mark.parametrize("method", ["linear", "logistic"])
def test_predicted_shares_are_those_of_the_groups(method: Any) -> None:
    """With one covariate of labels the regression is as free as the groups are."""
    mechanism = MECHANISMS["bits"]
    reports = reports_of(mechanism)
    found = dc.regress(mechanism, reports, {"sex": SEX}, method=method)
    grouped = dc.estimate_groups(mechanism, reports, groups=SEX, method="linear" if method == "linear" else "mle")
    for one in found.predict({"sex": ["f", "m"]}, level=0.9):
        estimate = grouped["fm"[one.row]]
        place = mechanism.domain.encode([one.value])[0]
        # Maxima are found to their tolerances.
        assert one.share == pytest.approx(estimate.frequencies[place], abs=1e-9 if method == "linear" else 5e-3)
        low, high = estimate.interval(0.9)
        assert one.lower == pytest.approx(low[place], abs=0.015)
        assert one.upper == pytest.approx(high[place], abs=0.015)
    with pytest.raises(DataError, match=r"covariates.new-labels"):
        found.predict({"sex": ["f", "x"]})
    with pytest.raises(DataError, match=r"covariates.missing-columns"):
        found.predict({"gender": ["f"]})


def test_odds_ratios_are_those_of_the_log_odds() -> None:
    found = dc.regress(MECHANISMS["bits"], reports_of(MECHANISMS["bits"]), COVARIATES, method="logistic")
    columns = found.columns(0.9)
    assert columns["odds_ratio"] == pytest.approx(np.exp(found.coefficients).ravel(), rel=1e-12)
    assert (columns["odds_lower"] < columns["odds_ratio"]).all()
    assert columns["odds_upper"] == pytest.approx(np.exp(columns["upper"]), rel=1e-12)


def test_weights_count_people_and_errors_know_them() -> None:
    mechanism, draws = MECHANISMS["rr"], np.random.default_rng(6)
    reports, w = reports_of(mechanism), draws.integers(1, 9, PEOPLE)
    found = dc.regress(mechanism, reports, COVARIATES, values=["rich"], weights=w)
    z = np.stack([np.ones(PEOPLE), AGE, SEX == "m"], axis=1).astype(float)
    y, bread = mechanism.contributions(reports)[:, 2], np.linalg.inv((z.T * w) @ z)
    beta = bread @ (z.T * w) @ y
    pulled = y - z @ beta
    assert found.coefficients[0] == pytest.approx(beta, rel=1e-6)
    sandwich = bread @ (z.T * (w * pulled) ** 2) @ z @ bread
    assert found.standard_errors[0] == pytest.approx(np.sqrt(np.diag(sandwich)), rel=0.15)
    odds = [
        dc.regress(mechanism, one, {"sex": sex}, method="logistic", baseline="rich", **more)
        for one, sex, more in (
            (reports, SEX, {"weights": w}),
            (reports.take(np.repeat(np.arange(PEOPLE), w)), np.repeat(SEX, w), {}),
        )
    ]
    assert odds[0].coefficients == pytest.approx(odds[1].coefficients, abs=1e-3)
    # One person who counts for five is not five people.
    assert (odds[0].standard_errors > 1.5 * odds[1].standard_errors).all()
    with pytest.raises(DataError, match=r"weights.wrong-length"):
        dc.regress(mechanism, reports, COVARIATES, weights=w[:5])


def test_log_odds_that_noise_hides_are_penalised_and_named() -> None:
    """Thirteen age groups at epsilon 1: the likelihood of some share is largest at 0, in nearly every sample."""
    mechanism = dc.UnaryEncoding(dc.Domain(["never", "married", "divorced", "widowed"]), 1.0)
    ages = np.arange(13)
    odds = np.column_stack([1.5 - 3.5 * ages / 12, 0 * ages, -2 + 0.7 * ages / 12, -4 + 4 * ages / 12])
    p = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    draws, held, named = np.random.default_rng(0), [], 0
    true = (odds - odds[:, [1]])[:, [0, 2, 3]].T
    true[:, 1:] -= true[:, :1]
    for run in range(2):
        age = draws.integers(0, 13, 20_000)
        codes = (draws.random(20_000)[:, None] > p[age].cumsum(axis=1)).sum(axis=1)
        reports = mechanism.obfuscate_codes(np.minimum(codes, 3), random=dc.SeededRandom(run))
        covariates = {"age": np.array([f"{one:02d}" for one in ages])[age]}
        found = dc.regress(mechanism, reports, covariates, method="logistic", baseline="married")
        named += found.penalty is not None and "do not determine" in repr(found)
        assert np.isfinite(found.standard_errors).all()
        low, high = (found.columns()[name].reshape(true.shape) for name in ("lower", "upper"))
        held.append((low <= true) & (true <= high))
    assert np.mean(held) > 0.9
    assert named


@pytest.mark.parametrize(
    ("covariates", "words"),
    [
        (
            {"age": AGE, "months": 12 * AGE, "one": np.ones(PEOPLE)},
            r"covariates.collinear",
        ),
        ({"age": AGE, "sex": SEX, "male": SEX == "m"}, r"covariates.collinear"),
        ({"age": AGE[:5]}, r"covariates.wrong-length"),
        ({"age": np.where(AGE > 79, np.nan, AGE)}, r"covariates.not-finite"),
        ({"name": [f"person {row}" for row in range(PEOPLE)]}, r"covariates.too-many-labels"),
        ({"sex": [None] * PEOPLE}, r"covariates.not-finite"),
    ],
)
def test_covariates_that_say_nothing_of_their_own_are_named(covariates: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        dc.regress(MECHANISMS["rr"], reports_of(MECHANISMS["rr"]), covariates)


def test_the_check_values_of_a_linear_regression() -> None:
    """Eight people; computed once by an implementation that shares no code with this."""
    mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0)
    told, groups = np.array([0, 1, 0, 1, 1, 0, 0, 0]), np.array([0, 0, 0, 0, 0, 0, 1, 1.0])
    law = _law_of(mechanism, told, groups)
    assert law.coefficients[0] == pytest.approx([0.5, 1.08197671], abs=6e-9)
    every = np.eye(2)
    assert law.errors[0, 1] == pytest.approx(0.80959809, abs=6e-9)
    assert np.sqrt(law.shape(every, 0, np.zeros(2))[0][1]) == pytest.approx(0.85537769, abs=6e-9)
    assert law.tail(every, 0, np.zeros(2))[1] == pytest.approx(0.09845585, abs=6e-9)
    assert np.ravel(law.combined(every, 0.05))[[1, 3]] == pytest.approx([-0.68143084, 2.81325220], abs=1e-6)


def _law_of(mechanism: Any, told: Any, groups: Any) -> LeastSquaresLaw:
    """Return the law of the coefficients of the first of two values."""
    q, (inside, outside, _) = mechanism.channel().matrix, mechanism.decoder.coefficients.kinds[0].contributions
    added, z = np.array([inside, outside]), np.column_stack([np.ones(len(told)), groups])
    squared = np.linalg.inv(z.T @ z)
    second, third = (np.array([[q[1] @ added**k], [q[0] @ added**k]]) for k in (2, 3))
    return LeastSquaresLaw(z, np.ones((3, len(z))), squared, (squared @ z.T @ added[told])[None], second, third)


@pytest.mark.parametrize("few", [2, 5, 20])
@pytest.mark.parametrize("build", [dc.RandomizedResponse, dc.UnaryEncoding], ids=["rr", "bits"])
def test_a_rare_label_without_an_effect_is_not_significant(build: Any, few: int) -> None:
    """By the variance of the sample it was in half of all regressions of 600 people with 2 of a label."""
    mechanism, runs = build(dc.Domain(["a", "b"], sensitive=["a"] if build is dc.RandomizedResponse else None), 1.0), 40
    group = np.arange(600) < few
    rows = []
    for run in range(runs):
        codes = np.random.default_rng(run).integers(0, 2, 600)
        found = dc.regress(mechanism, mechanism.obfuscate_codes(codes, random=dc.SeededRandom(run)), {"g": group * 1.0})
        rows.append(next(one for one in found.rows() if one.value == "a" and one.covariate == "g"))
    assert sum(one.p_value < 0.05 for one in rows) <= 6
    assert all((one.p_value < 0.05) == (not one.lower <= 0 <= one.upper) for one in rows)
    assert min(one.lower for one in rows) >= -1
    assert np.median([one.standard_error for one in rows]) > (0.4 if few == 2 else 0.6) * np.std(
        [one.coefficient for one in rows]
    )


def test_a_coefficient_is_significant_if_its_limits_exclude_0() -> None:
    """Of groups of two or three, 10% without an effect were significant at 5%, where limits missed 5%."""
    mechanism, place = dc.RandomizedResponse(dc.Domain(range(2), sensitive=[0]), 1.0), np.arange(30)
    groups = {f"g{group}": (place % 13 == group).astype(float) for group in range(1, 13)}
    random = np.random.default_rng(1)
    for run in range(40):
        codes = (random.random(30) > 0.3).astype(np.int64)
        fit = dc.regress(mechanism, mechanism.obfuscate_codes(codes, random=dc.SeededRandom(run)), groups, values=[0])
        for row in fit.rows():
            assert (row.p_value < 0.05) == (not row.lower <= 0 <= row.upper), (run, row)


@pytest.mark.parametrize(("epsilon", "few", "share"), [(1.0, 2, 0.02), (4.0, 3, 0.02), (4.0, 5, 0.5), (4.0, 20, 0.02)])
def test_the_score_of_two_groups_is_the_textbooks_and_its_level_holds(epsilon: float, few: int, share: float) -> None:
    """All pairs of counts: z is that of two binomial shares with their common fit, clipped to possible shares.

    By the information at the fit 11% of tests were false positives at few = 2, and by the profile likelihood 20%.
    """
    q = dc.RandomizedResponse(dc.Domain(["a", "b"]), epsilon).channel().matrix
    noise, truth, rest = q[1, 0], q[0, 0] - q[1, 0], 600 - few
    groups, false = np.column_stack([np.ones(600), np.arange(600) < few]), 0.0
    chances = binom(rest, noise + truth * share)
    middles = np.arange(int(chances.ppf(1e-4)), int(chances.isf(1e-4)), max(int(chances.std() / 3), 1))
    for first in range(few + 1):
        for other in middles:
            codes = np.append(np.arange(few) >= first, np.arange(rest) >= other).astype(int)
            model = ScoreModel(LogisticLikelihood(q.T[codes], groups, np.ones(600), 1), q.T)
            test = model.test(lambda point: (float(point[1]), np.array([0.0, 1.0])), 0.0, np.zeros(2))
            common = np.clip((first + other) / 600, noise, noise + truth)
            error = np.sqrt(common * (1 - common) * (1 / few + 1 / rest))
            assert test.score == pytest.approx((first / few - other / rest) / error, abs=5e-3)
            near = chances.pmf(np.arange(other, other + middles[1] - middles[0])).sum()
            false += binom(few, noise + truth * share).pmf(first) * near * (min(test.tail(1), test.tail(-1)) < 0.025)
    assert false <= 0.08


def test_log_odds_of_groups_that_differ_wholly_have_no_upper_limit() -> None:
    mechanism, groups = dc.RandomizedResponse(dc.Domain(["a", "b"]), 4.0), np.arange(60) % 2
    for run in range(4):
        reports = mechanism.obfuscate_codes(groups, random=dc.SeededRandom(run))
        found = dc.regress(mechanism, reports, {"g": groups * 1.0}, method="logistic", baseline="a")
        row = next(one for one in found.rows() if one.covariate == "g")
        assert 0 < row.lower <= row.coefficient < row.upper == np.inf
        assert row.p_value < 1e-6
        shares = {(one.value, one.row): (one.lower, one.share, one.upper) for one in found.predict({"g": [0.0, 1.0]})}
        assert shares["a", 0] == pytest.approx(tuple(1 - end for end in shares["b", 0][::-1]), abs=1e-6)
        assert shares["b", 0][2] < shares["b", 1][0]
        least = dc.regress(mechanism, reports, {"g": groups * 1.0}, values=["b"])
        assert least.standard_errors.min() > 0.01


def test_log_odds_have_nested_limits_that_agree_with_their_p_values() -> None:
    mechanism, group = dc.UnaryEncoding(dc.Domain(["a", "b", "c"], sensitive=["a", "b"]), 1.0), np.arange(200) < 6
    codes = np.random.default_rng(3).integers(0, 3, 200)
    covariates = {"g": group * 1.0, "x": np.linspace(0, 1, 200).round(1)}
    found = dc.regress(
        mechanism, mechanism.obfuscate_codes(codes, random=dc.SeededRandom(5)), covariates, method="logistic"
    )
    again = pickle.loads(pickle.dumps(found))
    narrow, wide = found.columns(0.8), again.columns(0.95)
    assert (wide["lower"] <= narrow["lower"]).all()
    assert (narrow["upper"] <= wide["upper"]).all()
    for one in found.rows(0.95):
        assert (one.p_value >= 0.05) == (one.lower <= 0 <= one.upper)
        ends = found.columns(1 - one.p_value)
        nearest = np.minimum(abs(ends["lower"]), abs(ends["upper"]))[[*found.columns()["p_value"]].index(one.p_value)]
        assert nearest < 0.02 * one.standard_error


def test_drawn_outputs_give_the_errors_of_the_sample() -> None:
    """4,096 outputs and 900 rows of covariates: each row is expected over some of the outputs."""
    mechanism = dc.UnaryEncoding(dc.Domain(range(12)), 3.0)
    codes = np.minimum(CODES * 4 + np.arange(PEOPLE) % 4, 11)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(2))
    fit = dc.regress(mechanism, reports, {"age": AGE}, method="logistic").law.fit
    law = LogOddsLaw(fit, output_rows(mechanism, reports))
    likelihood, slopes = fit.likelihood, fit.likelihood.scores(fit.point)[1]
    each = (slopes[:, :, None] * likelihood.matrix[:, None, :]).reshape(len(slopes), -1)
    squares = (each * likelihood.weights[:, None]).T @ each
    whole = np.kron(np.eye(11), fit.turn)
    observed = np.sqrt(np.diag(whole @ np.linalg.inv(squares) @ whole.T)).reshape(law.errors.shape)
    assert np.median(law.errors / observed) == pytest.approx(1, abs=0.15)


def test_where_no_report_tells_a_value_its_error_is_that_of_the_law() -> None:
    domain = dc.Domain(["often", "never", "secret"], sensitive=["secret"])
    mechanism = dc.UnaryEncoding(domain, 1.0)
    reports = mechanism.obfuscate_codes(np.tile([0, 2], 100), random=dc.SeededRandom(1))
    found = dc.regress(mechanism, reports, {"x": np.linspace(0, 1, 200)}, values=["never", "often"])
    row = next(one for one in found.rows() if one.value == "never" and one.covariate == "x")
    assert row.coefficient == 0
    assert row.lower < -0.02 < 0.02 < row.upper
    assert np.isfinite(found.standard_errors).all()
