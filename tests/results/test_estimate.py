"""An estimate as numbers, intervals, columns and pictures."""

import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyarrow import csv
from scipy.stats import binom, norm

from discreet import (
    METHODS,
    Domain,
    Estimate,
    RandomizedResponse,
    SeededRandom,
    Tally,
    UnaryEncoding,
    estimate,
)
from discreet.errors import ParameterError
from discreet.theory.binomial import miss_probability
from packing import each
from papers.data.drawn_tallies import draw_tally

DOMAIN = Domain(["low", "mid", "high", "none"], sensitive=["mid", "none"])
MECHANISM = RandomizedResponse(DOMAIN, 1.0)
TALLY = Tally(MECHANISM.fingerprint, 1000, np.array([430, 270]), np.array([200, 100]))
LINEAR = estimate(MECHANISM, TALLY)


def made(frequencies: list[float], errors: list[float]) -> Estimate:
    domain = Domain(range(len(frequencies)))
    return Estimate(domain, np.array(frequencies), np.array(errors), 100, "made", "0" * 32)


# Intervals


@each("level", [0.5, 0.9, 0.95, 0.999])
@each("simultaneous", [False, True])
@each("method", METHODS)
def test_values_in_clear_have_binomial_limits(level: float, simultaneous: bool, method: str) -> None:
    """A value in clear is a coin with probability s p; both tails of its count have half of what may be missed."""
    s, n = MECHANISM.threshold / 2**64, TALLY.n
    alpha = 1 - level ** (1 / 4 if simultaneous else 1)
    low, high = estimate(MECHANISM, TALLY, method=method).interval(level, simultaneous=simultaneous)
    for code, count in zip(DOMAIN.clear_codes, TALLY.clear, strict=True):
        weight = 0.5 + 0.5 * np.exp(-count / 4)
        of_count = weight * binom.pmf(count, n, s * np.array([low[code], high[code]]))
        assert binom.sf(count, n, s * low[code]) + of_count[0] == pytest.approx(alpha / 2)
        assert binom.cdf(count - 1, n, s * high[code]) + of_count[1] == pytest.approx(alpha / 2)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_others_get_z_standard_errors(simultaneous: bool) -> None:
    found = made([0.2, 0.5, 0.3], [0.01, 0.02, 0.0])
    low, high = found.interval(0.9, simultaneous=simultaneous)
    z = norm.isf((1 - 0.9 ** (1 / 3 if simultaneous else 1)) / 2)
    np.testing.assert_allclose(low, [0.2 - z * 0.01, 0.5 - z * 0.02, 0.3], rtol=1e-9)
    np.testing.assert_allclose(high, [0.2 + z * 0.01, 0.5 + z * 0.02, 0.3], rtol=1e-9)


def test_intervals_stay_between_nothing_and_everything() -> None:
    low, high = made([0.01, 0.99, -0.3, 1.4], [0.1, 0.1, 0.1, 0.1]).interval()
    assert low.tolist()[::2] == [0, 0]
    assert high[1] == high[3] == 1
    assert 0 <= low.min() <= high.max() <= 1


def far_below(build: Any) -> tuple[Estimate, int]:
    """Return an estimate of 40 values, all sensitive, and the code of one seen much less than noise alone."""
    mechanism = build(Domain(range(40)), 0.5)
    counts = np.full(40, 1000)
    counts[7] = 0
    counts[8:] += np.arange(32) % 2 == 0
    n = int(counts.sum()) if build is RandomizedResponse else 2000
    return estimate(mechanism, Tally(mechanism.fingerprint, n, counts, np.zeros(0, int))), 7


@each("build", [RandomizedResponse, UnaryEncoding])
@each("level", [0.01, 0.5, 0.95, 0.999, 1 - 1e-12])
@each("simultaneous", [False, True])
def test_no_interval_is_nothing(build: Any, level: float, simultaneous: bool) -> None:
    """However far below 0 the estimate is, a value may be there: .315 sigmas at least, the same at every level."""
    found, code = far_below(build)
    low, high = found.interval(level, simultaneous=simultaneous)
    sigma = np.sqrt(found.uncertainty.variances(0.0)[code])
    assert found.frequencies[code] < -5 * sigma
    assert low[code] == 0
    # At the highest levels the limit itself reaches farther.
    assert high[code] == pytest.approx(0.315 * sigma, rel=1e-9) or level > 0.9999
    assert high[code] >= 0.315 * sigma * (1 - 1e-9)
    assert (high > low).all()


# Intervals belong to the reports


def test_every_method_of_a_tally_has_its_intervals() -> None:
    """Equal noise for 30 values: norm-sub and threshold move what is rare, the intervals stay."""
    mechanism = RandomizedResponse(Domain(range(30)), 1.0)
    counts = np.full(30, 1000) + 40 * np.arange(30)
    tally = Tally(mechanism.fingerprint, int(counts.sum()), counts, np.zeros(0, int))
    # All but smooth, whose limits are those of its own errors.
    methods = [method for method in METHODS if method != "smooth"]
    whole = [estimate(mechanism, tally, method=method) for method in methods]
    for found in whole:
        np.testing.assert_array_equal(found.limits(0.9), whole[0].limits(0.9))
        np.testing.assert_array_equal(found.centre, whole[0].frequencies)
        assert list(found.columns())[-2:] == ["lower", "upper"]


def test_a_method_that_contradicts_the_reports_says_where() -> None:
    """Thousands of reports in clear of values that each fall below the threshold of 3,000 together."""
    domain = Domain([f"v{code}" for code in range(8)], sensitive=["v0", "v1"])
    mechanism = UnaryEncoding(domain, 0.1)
    clear = np.array([1000, 900, 800, 700, 600, 500])
    tally = Tally(mechanism.fingerprint, 60_000, np.array([28_500, 26_000]), clear)
    linear, other = estimate(mechanism, tally), estimate(mechanism, tally, method="norm-sub")
    assert not linear.contradicted().any()
    assert linear.contradiction() == ""
    low, high = other.interval()
    outside = (other.frequencies < low) | (other.frequencies > high)
    assert outside.sum() > 5
    np.testing.assert_array_equal(other.contradicted(), outside)
    said = other.contradiction()
    assert f"v{np.flatnonzero(outside)[0]}, " in said
    assert repr(other).splitlines()[-1].strip() == said
    assert said in other._repr_html_()


# Columns


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        (DOMAIN, {"value": ["low", "mid", "high", "none"]}),
        (Domain(range(-1, 3)), {"value": [-1, 0, 1, 2]}),
        (Domain.product({"sex": ["f", "m"], "n": [7, 9]}), {"sex": ["f", "f", "m", "m"], "n": [7, 9, 7, 9]}),
        (
            Domain.grid(lat=(0, 2), lon=(10, 14), rows=2, cols=2),
            {"row": [0, 0, 1, 1], "col": [0, 1, 0, 1], "lat": [0.5, 0.5, 1.5, 1.5], "lon": [11, 13, 11, 13]},
        ),
    ],
    ids=["texts", "integers", "product", "grid"],
)
def test_every_library_gets_the_same_table(domain: Domain, labels: dict[str, Any], tmp_path: Path) -> None:
    mechanism = RandomizedResponse(domain, 1.0)
    found = estimate(mechanism, mechanism.obfuscate_codes(np.arange(400) % 4))
    low, high = found.interval(0.8)
    wanted = {**labels, "sensitive": domain.sensitive.tolist(), "frequency": found.frequencies.tolist()}
    wanted |= {"standard_error": found.standard_errors.tolist(), "lower": low.tolist(), "upper": high.tolist()}
    assert found.to_arrow(0.8).to_pydict() == wanted
    pandas, polars = found.to_pandas(0.8), found.to_polars(0.8)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert pandas.to_dict("list") == wanted
    assert polars.to_dict(as_series=False) == wanted
    found.to_csv(tmp_path / "e.csv", 0.8)
    assert csv.read_csv(tmp_path / "e.csv").to_pydict() == wanted


# Objects


def test_of_many_values_the_most_frequent_are_shown() -> None:
    found = made(list(np.linspace(0, 1, 500)), [0.0] * 500)
    rows = repr(found).splitlines()[2:]
    # Labels with an order are shown in it.
    assert [row.split()[0] for row in rows[:12]] == [str(value) for value in range(488, 500)]
    assert "488 less frequent values" in rows[12]
    assert "12 largest of 500 values. 499 values are above 0" in rows[13]
    assert "No value is above 0" in made([0.01] * 100, [0.02] * 100).selected(5)


def test_shown_intervals_allow_for_their_choice() -> None:
    """On terminals, in notebooks, pictures, lists and groups: R of m have the tail alpha_R."""
    assert miss_probability(0.95, 100, simultaneous=False, shown=5) == pytest.approx(0.00256401, abs=6e-9)
    assert miss_probability(0.95, 100, simultaneous=False, shown=100) == pytest.approx(0.05)
    mechanism = UnaryEncoding(Domain([f"v{code}" for code in range(100)]), 1.0)
    found = estimate(mechanism, mechanism.obfuscate_codes(np.arange(2000) % 100, random=SeededRandom(3)))
    codes = found.largest(12)
    ends = np.array(found.interval(shown=12))[:, codes].T
    for row, (low, high) in zip(repr(found).splitlines()[2:14], ends, strict=True):
        assert row.split()[-2:] == [f"{low:.3f}", f"{high:.3f}"]
    assert [(one.lower, one.upper) for one in found.top(12)] == [tuple(pair) for pair in ends]
    drawn = values(found.plot(largest=12))
    assert [(row["lower"], row["upper"]) for row in drawn] == [tuple(pair) for pair in ends]
    assert "95% interval for the 12 largest" in str(found.plot(largest=12).to_dict())
    named = found[f"v{codes[0]}"]
    assert (named.lower, named.upper) == tuple(end[codes[0]] for end in found.interval())
    assert named.upper < ends[0][1]
    with pytest.raises(ParameterError, match="shown must be an integer of at least 1"):
        found.interval(shown=0)


def test_shown_intervals_cover() -> None:
    """The 15 largest of 1,000 alike values; pointwise intervals hold in none of them."""
    size, rng = 1000, np.random.default_rng(2)
    p = np.full(size, 1 / size)
    mechanism, held = UnaryEncoding(Domain(range(size)), 1.0), np.zeros(2)
    for _ in range(20):
        found = estimate(mechanism, draw_tally(mechanism, rng.multinomial(20_000, p), rng))
        codes = found.largest(15)
        for at, shown in enumerate((15, None)):
            low, high = (end[codes] for end in found.interval(shown=shown))
            held[at] += ((low <= p[codes]) & (p[codes] <= high)).mean() / 20
    assert held[0] >= 0.95
    assert held[1] < 0.8


def test_labels_are_text_in_a_notebook() -> None:
    domain = Domain(["<b>&", "x"])
    html = Estimate(domain, np.array([0.5, 0.5]), np.zeros(2), 10, "made", "0" * 32)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;" in html
    assert html.count("<tr>") == html.count("</tr>") == 3


def test_an_estimate_is_a_sequence_of_its_values() -> None:
    table = LINEAR.to_pandas()
    assert len(LINEAR) == 4
    assert [tuple(share) for share in LINEAR] == [tuple(row) for row in table.itertuples(index=False)]
    assert tuple(LINEAR["high"]) == tuple(table.iloc[2])
    assert [share.value for share in LINEAR.top(2)] == table.nlargest(2, "frequency")["value"].tolist()
    assert LINEAR.counts().tolist() == (1000 * table["frequency"]).tolist()
    with pytest.raises(KeyError, match="not in the domain") as raised:
        LINEAR["secret"]
    assert "secret" not in str(raised.value)


# Pictures


def values(chart: Any) -> list[dict[str, Any]]:
    (data,) = chart.to_dict()["datasets"].values() if "datasets" in chart.to_dict() else (chart.to_dict()["data"],)
    return data["values"] if isinstance(data, dict) else data


@pytest.mark.parametrize("method", ["linear", "projected", "mle"])
def test_an_estimate_is_frozen_works_out_its_errors_once_and_pickles_without_reports(method: str) -> None:
    mechanism = UnaryEncoding(Domain(range(5), sensitive=range(4)), 2.0)
    sizes = []
    for n in (400, 40_000):
        reports = mechanism.obfuscate_codes(np.arange(n) % 5, random=SeededRandom(3))
        found = estimate(mechanism, reports, method=method)
        assert not {"standard_errors", "uncertainty"} & set(vars(found))
        assert found.standard_errors is found.standard_errors
        assert found.uncertainty is found.uncertainty
        with pytest.raises(FrozenInstanceError):
            found.n = 1  # type: ignore[misc]
        with pytest.raises(ValueError, match="read-only"):
            found.standard_errors[0] = 0
        written = pickle.dumps(found)
        again = pickle.loads(written)
        np.testing.assert_array_equal(again.standard_errors, found.standard_errors)
        np.testing.assert_allclose(again.covariance(), found.covariance(), rtol=1e-12)
        assert repr(again) == repr(found)
        sizes.append(len(written))
    assert max(sizes) < min(sizes) + 200 < 6000
