"""Comparisons: intervals and tests of differences against their definitions."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import false_discovery_control

import discreet as dc
from discreet.arrays import FloatArray
from discreet.core.comparison import rejected
from discreet.errors import MismatchError, ParameterError

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


def test_given_shares_have_no_error() -> None:
    shares = {"flu": 0.5, "none": 0.5}
    found = dc.compare(ONE, shares)
    assert found.lower == pytest.approx(ONE.limits()[0] - DOMAIN.distribution(list(shares), [0.5, 0.5]), rel=1e-12)
    assert found.second.tolist() == [0.5, 0, 0.5, 0, 0]
    assert (found.sizes, found.titles[1]) == ((900, 0), "given shares")
    assert np.array_equal(dc.compare(ONE, [0.5, 0, 0.5, 0, 0]).p_values, found.p_values)


def false_discoveries(p_values: FloatArray, rate: float) -> FloatArray:
    return np.asarray(false_discovery_control(p_values) <= rate)


def holm(p_values: FloatArray, rate: float) -> list[bool]:
    found = [False] * len(p_values)
    for step, place in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        if p_values[place] > rate / (len(p_values) - step):
            break
        found[place] = True
    return found


@pytest.mark.parametrize("seed", range(4))
def test_rates_of_errors_are_those_of_their_authors(seed: int) -> None:
    p_values = np.random.default_rng(seed).beta(0.3, 1.5, 40)
    assert np.array_equal(rejected(p_values, 0.1, "false-discovery"), false_discoveries(p_values, 0.1))
    assert rejected(p_values, 0.1, "family-wise").tolist() == holm(p_values, 0.1)
    assert np.array_equal(rejected(p_values, 0.1, "none"), p_values <= 0.1)


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
    with pytest.raises(ParameterError, match="rate must be a number between 0 and 1"):
        dc.compare(ONE, OTHER).significant(0)
    with pytest.raises(ParameterError, match="control must be one of"):
        dc.compare(ONE, OTHER).significant(control="holm")
