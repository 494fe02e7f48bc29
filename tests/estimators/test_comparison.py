"""Comparisons: intervals and tests of differences against their definitions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2

import discreet as dc
from discreet.errors import MismatchError, ParameterError
from discreet.mechanisms import BlockMechanism

DOMAIN = dc.Domain(["flu", "hiv", "none", "cold", "other"], sensitive=["hiv", "flu"])
MECHANISM = dc.SubsetSelection(DOMAIN, 1.0)
RANDOM = np.random.default_rng(8)


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


def test_the_same_estimate_differs_from_itself_nowhere() -> None:
    found = dc.compare(ONE, ONE)
    assert found.p_values == pytest.approx(1, abs=1e-12)
    assert not found.significant()
    assert ((found.lower < 0) & (found.upper > 0)).all()


def test_the_sides_can_be_changed() -> None:
    found, turned = dc.compare(ONE, OTHER), dc.compare(OTHER, ONE)
    assert found.p_values == pytest.approx(turned.p_values, rel=1e-9)
    assert found.lower == pytest.approx(-turned.upper, rel=1e-12)


@pytest.mark.parametrize("mechanism", [MECHANISM, dc.RandomizedResponse(DOMAIN, 1.0), dc.UnaryEncoding(DOMAIN, 1.0)])
def test_the_test_over_all_values_is_of_the_covariance_of_the_reports(mechanism: BlockMechanism) -> None:
    batches = [
        mechanism.obfuscate_codes(RANDOM.choice(5, n, p=p), random=dc.SeededRandom(n))
        for n, p in ((700, [0.3, 0.1, 0.3, 0.2, 0.1]), (500, [0.2] * 5))
    ]
    one, other = (dc.estimate(mechanism, batch) for batch in batches)
    found = dc.compare(one, other).overall
    worths = [mechanism.decoder.worth(batch) for batch in batches]
    covariance = sum(np.cov(worth.T) / len(worth) for worth in worths)
    difference = one.frequencies - other.frequencies
    rank = int(np.linalg.matrix_rank(covariance, tol=1e-9))
    assert found is not None
    assert found.degrees == rank
    # The covariance is not that of the sample, but as exact: it follows from the tally.
    assert found.statistic == pytest.approx(difference @ np.linalg.pinv(covariance, rcond=1e-9) @ difference, rel=0.1)
    assert found.p_value == pytest.approx(chi2.sf(found.statistic, rank), rel=1e-9)


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


def test_a_comparison_is_a_table(tmp_path: Any) -> None:
    found = dc.compare(ONE, OTHER, titles=("2025", "2026"))
    frame = found.to_pandas()
    assert list(frame.columns) == [
        *("value", "sensitive", "first", "second", "difference", "lower", "upper", "p_value")
    ]
    assert pl.DataFrame(found).equals(found.to_polars())
    assert frame.equals(pd.DataFrame(found.to_polars().to_dict(as_series=False)))
    found.to_csv(tmp_path / "differences.csv")
    assert len((tmp_path / "differences.csv").read_text().splitlines()) == 6
    assert "2025, n=900; 2026, n=500" in repr(found)
    assert (found["hiv"].sensitive, len(found)) == (True, 5)
    with pytest.raises(KeyError, match="not in the domain"):
        found["gout"]


def test_the_forest_plot_has_a_row_for_each_value() -> None:
    chart = dc.compare(ONE, OTHER).plot().to_dict()
    rows = chart["layer"][1]["data"]["values"]
    assert {row["value"] for row in rows} == set(DOMAIN.names())
    assert {row["class"] for row in rows if row["value"] in ("flu", "hiv")} == {"sensitive"}


def test_what_cannot_be_compared_is_refused() -> None:
    strangers = dc.Domain(["flu", "hiv", "none", "cold", "other"])
    mechanism = dc.RandomizedResponse(strangers, 1.0)
    other = dc.estimate(mechanism, mechanism.obfuscate(["flu"] * 50, random=dc.SeededRandom(1)))
    with pytest.raises(MismatchError, match="differ in which values are sensitive"):
        dc.compare(ONE, other)
    with pytest.raises(ParameterError, match="level must be a number between 0 and 1"):
        dc.compare(ONE, OTHER, level=1.0)
    with pytest.raises(ParameterError, match="must be an Estimate, got dict"):
        dc.compare({}, ONE)
    with pytest.raises(ParameterError, match="5 probabilities that sum to 1"):
        dc.compare(ONE, [0.5] * 5)
    with pytest.raises(ParameterError, match=r"rate must be a number between 0 and 0\.5"):
        dc.compare(ONE, OTHER).significant(0)
    with pytest.raises(ParameterError, match="control must be one of"):
        dc.compare(ONE, OTHER).significant(control="holm")
