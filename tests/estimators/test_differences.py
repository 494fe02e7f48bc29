"""Comparisons: intervals and tests of differences against their definitions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency

import discreet as dc
from discreet.core.tally import GroupedTally
from discreet.errors import MismatchError, ParameterError
from discreet.estimators.differences import homogeneity_test
from discreet.results.comparison import ChiSquare
from packing import each
from papers.data.drawn_tallies import draw_tally

DOMAIN = dc.Domain(["flu", "hiv", "none", "cold", "other"], sensitive=["hiv", "flu"])
MECHANISM = dc.SubsetSelection(DOMAIN, 1.0)


def estimated(p: list[float], n: int, seed: int, **options: Any) -> dc.Estimate:
    codes = np.random.default_rng(seed).choice(5, n, p=p)
    return dc.estimate(MECHANISM, MECHANISM.obfuscate_codes(codes, random=dc.SeededRandom(seed)), **options)


ONE, OTHER = estimated([0.3, 0.1, 0.3, 0.2, 0.1], 900, 1), estimated([0.2, 0.1, 0.3, 0.4, 0.0], 500, 2)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_intervals_are_of_the_limits_that_are_not_clipped(level: float, simultaneous: bool) -> None:
    found = dc.compare(ONE, OTHER, level=level, simultaneous=simultaneous)
    (low, high), (low_other, high_other) = (one.limits(level, simultaneous) for one in (ONE, OTHER))
    difference = ONE.frequencies - OTHER.frequencies
    below = np.sqrt((ONE.frequencies - low) ** 2 + (high_other - OTHER.frequencies) ** 2)
    above = np.sqrt((high - ONE.frequencies) ** 2 + (OTHER.frequencies - low_other) ** 2)
    assert found.lower == pytest.approx(difference - below, rel=1e-9)
    assert found.upper == pytest.approx(difference + above, rel=1e-9)
    assert np.array_equal(found.differences, difference)


def test_a_p_value_is_where_the_interval_reaches_zero() -> None:
    found = dc.compare(ONE, OTHER)
    for code, p_value in enumerate(found.p_values):
        if p_value < 1e-9:
            continue
        at = dc.compare(ONE, OTHER, level=1 - p_value)
        nearest = min(abs(at.lower[code]), abs(at.upper[code]))
        assert nearest < 0.01 * (at.upper[code] - at.lower[code])


def test_the_sides_can_be_changed() -> None:
    found, turned = dc.compare(ONE, OTHER), dc.compare(OTHER, ONE)
    assert found.p_values == pytest.approx(turned.p_values, rel=1e-9)
    assert found.lower == pytest.approx(-turned.upper, rel=1e-12)


def test_the_test_over_all_values_of_single_values_is_pearsons() -> None:
    """The check of the specification: the table of counts of two collections."""
    mechanism = dc.RandomizedResponse(dc.Domain(list("abcdef"), sensitive=list("abcd")), 1.0)
    table = np.array([[90, 70, 60, 55, 20, 5], [80, 75, 65, 58, 15, 7]])
    one, other = (dc.estimate(mechanism, dc.Tally(mechanism.fingerprint, 300, row[:4], row[4:])) for row in table)
    found = dc.compare(one, other).overall
    assert found is not None
    expected = table.sum(axis=0) / 2
    assert found.statistic == pytest.approx(float(((table - expected) ** 2 / expected).sum()), rel=1e-9)
    assert (round(found.statistic, 6), found.degrees, round(found.p_value, 6)) == (2.087914, 5, 0.836852)
    # Of three groups too; values of which each tells fewer than five reports in clear are put together.
    three = np.array([[100, 80, 60, 53, 4, 3], [90, 85, 65, 56, 2, 2], [85, 80, 70, 60, 2, 3]])
    many = [dc.estimate(mechanism, dc.Tally(mechanism.fingerprint, 300, row[:4], row[4:])) for row in three]
    several = dc.homogeneity(many)
    together = np.hstack([three[:, :4], three[:, 4:].sum(axis=1, keepdims=True)])
    pearson = chi2_contingency(together, correction=False)
    assert several is not None
    assert several[:2] == (pytest.approx(pearson.statistic, rel=1e-9), 8)


def rejections(runs: int, test: Callable[[int], ChiSquare | None]) -> int:
    """Return how many of some collections are rejected at 5%."""
    found = [test(run) for run in range(runs)]
    return sum(one is not None and one.p_value < 0.05 for one in found)


def shares_of(size: int) -> Any:
    return 1 / np.arange(1, size + 1) / (1 / np.arange(1, size + 1)).sum()


@each(
    "law, size, sensitive, sizes",
    [
        (dc.UnaryEncoding, 60, 10, (250, 250)),
        (dc.RandomizedResponse, 40, 4, (500, 5000)),
        (dc.SubsetSelection, 26, 26, (300, 3000, 600)),
        (dc.UnaryEncoding, 60, 10, (250,)),
    ],
)
def test_true_hypotheses_are_rejected_as_often_as_is_said(law: Any, size: int, sensitive: int, sizes: Any) -> None:
    """Against one distribution of all groups, or its known shares; with the covariances at the estimates up to .93."""
    mechanism, p = law(dc.Domain(range(size), sensitive=range(sensitive)), 1.0), shares_of(size)
    draws = np.random.default_rng(size)

    def test(_: int) -> ChiSquare | None:
        tallies = [draw_tally(mechanism, draws.multinomial(n, p), draws) for n in sizes]
        # A comparison's own test, without its values.
        people = [dc.estimate(mechanism, tally).people for tally in tallies]
        return homogeneity_test(people, p if len(sizes) == 1 else None)

    assert binom.ppf(1e-3, 120, 0.05) <= rejections(120, test) <= binom.ppf(1 - 1e-3, 120, 0.05)


def test_distributions_that_differ_are_told_apart() -> None:
    mechanism, p = dc.UnaryEncoding(dc.Domain(range(60), sensitive=range(10)), 1.0), shares_of(60)
    draws = np.random.default_rng(4)

    def test(_: int) -> ChiSquare | None:
        rolled = [draw_tally(mechanism, draws.multinomial(2000, one), draws) for one in (p, 0.8 * p + 0.2 * p[::-1])]
        return dc.homogeneity([dc.estimate(mechanism, tally) for tally in rolled])

    assert rejections(20, test) >= 18


def test_collections_under_two_plans_are_tested_too() -> None:
    p, draws = np.array([0.3, 0.1, 0.3, 0.2, 0.1]), np.random.default_rng(3)
    mechanisms = [dc.SubsetSelection(DOMAIN, 1.0), dc.RandomizedResponse(DOMAIN, 3.0)]

    def pair() -> list[dc.Estimate]:
        return [dc.estimate(one, draw_tally(one, draws.multinomial(600, p), draws)) for one in mechanisms]

    assert rejections(20, lambda _: dc.compare(*pair()).overall) <= binom.ppf(1 - 1e-3, 20, 0.05)
    with pytest.raises(MismatchError, match=r"homogeneity.different-plans"):
        dc.homogeneity(pair())


def test_weighted_people_are_tested_under_the_hypothesis_too() -> None:
    """Weights that go with values: those of rare ones are large, and have the larger part of the squares."""
    p, draws = np.array([0.3, 0.1, 0.3, 0.25, 0.05]), np.random.default_rng(5)
    mechanism, weighs = dc.SubsetSelection(DOMAIN, 2.0), np.array([1.0, 4.0, 1.0, 2.0, 8.0])

    def side(seed: int) -> dc.Estimate:
        codes = draws.choice(5, 400, p=p)
        reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(seed))
        return dc.estimate(mechanism, reports, weights=weighs[codes])

    found = rejections(30, lambda run: dc.compare(side(2 * run), side(2 * run + 1)).overall)
    assert found <= binom.ppf(1 - 1e-3, 30, 0.05)


def test_a_value_that_nobody_may_have_is_no_chance() -> None:
    mechanism = dc.UnaryEncoding(DOMAIN, 1.0)
    reports = mechanism.obfuscate(["none"] * 290 + ["cold"] * 10, random=dc.SeededRandom(2))
    tally = mechanism.tally(reports)
    assert tally.clear.tolist()[1] > 0
    found = dc.compare(dc.estimate(mechanism, tally), {"none": 0.99, "flu": 0.01}).overall
    assert found is not None
    assert found.p_value == 0


def test_given_shares_have_no_error() -> None:
    shares = {"flu": 0.5, "none": 0.5}
    found = dc.compare(ONE, shares)
    assert found.lower == pytest.approx(ONE.limits()[0] - DOMAIN.distribution(list(shares), [0.5, 0.5]), rel=1e-12)
    assert found.second.tolist() == [0.5, 0, 0.5, 0, 0]
    assert (found.sizes, found.titles[1]) == ((900, 0), "given shares")
    assert np.array_equal(dc.compare(ONE, [0.5, 0, 0.5, 0, 0]).p_values, found.p_values)


def test_a_biased_point_moves_no_interval() -> None:
    """The points are shown, but limits are about the unbiased estimates: a point may lie outside its own limits."""
    _, high = ONE.limits()
    biased = replace(ONE, frequencies=np.where(np.arange(5) == 3, high + 0.1, ONE.frequencies), method="threshold")
    found, plain = dc.compare(biased, OTHER), dc.compare(ONE, OTHER)
    assert found.lower == pytest.approx(plain.lower, rel=1e-9)
    assert found.upper == pytest.approx(plain.upper, rel=1e-9)
    assert found.p_values == pytest.approx(plain.p_values, rel=1e-9)
    assert np.array_equal(found.first, biased.frequencies)
    assert plain.remark == ""
    assert "Differences outside their intervals: cold. Method threshold and linear moves" in found.remark
    assert found.remark in repr(found)


def test_the_same_people_on_both_sides_are_refused() -> None:
    codes = np.random.default_rng(1).choice(5, 900, p=[0.3, 0.1, 0.3, 0.2, 0.1])
    reports = MECHANISM.obfuscate_codes(codes, random=dc.SeededRandom(1))
    again = dc.estimate(MECHANISM, MECHANISM.tally(reports.take(np.arange(900)[::-1])), method="projected")
    regions = np.repeat(["CA", "TX", "NY"], 300)
    grouped, weighted = (dc.estimate_groups(MECHANISM, reports, groups=regions, weights=w) for w in (None, codes + 1.0))
    streamed = dc.estimate_groups(
        MECHANISM, GroupedTally(("state",), {r: one.people.counts[0] for r, one in grouped.items()})
    )
    one = dc.estimate(MECHANISM, reports)
    shared = [(one, again), (ONE, ONE), (grouped["CA"], grouped.overall), (weighted.overall, weighted["TX"])]
    shared += [
        (grouped.overall, one),
        (one, grouped["TX"]),
        (streamed["NY"], streamed.overall),
        (streamed["NY"], grouped["NY"]),
    ]
    for first, second in shared:
        with pytest.raises(ParameterError, match=r"comparison.shared-reports"):
            dc.compare(first, second)
    with pytest.raises(ParameterError, match=r"comparison.shared-reports"):
        dc.homogeneity([grouped["CA"], grouped["TX"], grouped["CA"]])
    assert dc.homogeneity(grouped) == dc.homogeneity(dict(streamed.items()))
    assert dc.homogeneity(weighted) is not None
    # Other people who answer alike are other people: (ONE, one) have equal reports.
    assert dc.compare(ONE, one).overall is not None
