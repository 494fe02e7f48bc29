"""Domains of numbers: bins, their borders, ranges, and every kind of column that holds them."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet import Domain, Plan, Windows
from discreet.core.columns import CLIPPED
from discreet.errors import DataError, ParameterError
from discreet.tables.values import ValueColumns
from refusals import refused


@pytest.mark.parametrize("scale", ["linear", "log1p"])
@pytest.mark.parametrize(("low", "high", "bins"), [(0, 100, 10), (-0.5, 7.25, 256), (0, 1e6, 4096)])
def test_a_border_belongs_to_the_bin_above_it(scale: str, low: float, high: float, bins: int) -> None:
    domain = Domain.number(low, high, bins=bins, scale=scale)
    columns = domain.table()
    assert domain.encode(columns["low"]).tolist() == list(range(bins))
    assert domain.encode(np.nextafter(columns["high"], -np.inf)).tolist() == list(range(bins))
    assert domain.encode([high]).tolist() == [bins - 1]
    assert columns["low"][1:].tolist() == columns["high"][:-1].tolist()
    assert len(set(domain.names())) == bins
    if scale == "log1p":
        np.testing.assert_allclose(np.diff(np.log1p([*columns["low"], high]), 2), 0, atol=1e-9)


@pytest.mark.parametrize(
    "column",
    [
        [0.5, 9, 10.0],
        (0.5, 9, 10),
        np.array([0.5, 9, 10]),
        np.array([0.5, 9, 10], np.float32),
        pa.array([0.5, 9, 10]),
        pa.chunked_array([[0.5], [9.0, 10.0]]),
        pd.Series([0.5, 9, 10]),
        pd.Series([0.5, 9, 10], dtype="Float64"),
        pd.Series([0.5, 9, 10], dtype=object),
    ],
    ids=str,
)
def test_numbers_of_any_kind_are_encoded(column: Any) -> None:
    assert Domain.number(0, 10, bins=5).encode(column).tolist() == [0, 4, 4]
    assert Domain.number(0, 10, bins=5).encode(pa.array([1, 3])).tolist() == [0, 1]


def test_numbers_outside_are_refused_unless_they_are_clipped() -> None:
    strict, loose = Domain.number(0, 10, bins=5), Domain.number(0, 10, bins=5, clip=True)
    message = refused(DataError, lambda: strict.encode([1.0, -0.1, 10.1, 3.0]))
    assert "2 of 4" in message
    assert "10.1" not in message
    refused(DataError, lambda: strict.encode([1.0, float("nan")]))
    refused(DataError, lambda: loose.encode([1.0, float("nan")]))
    refused(DataError, lambda: strict.encode(["1.0"]))
    assert loose.encode([1.0, -0.1, np.inf, 3.0]).tolist() == [0, 0, 4, 1]
    assert strict.fingerprint != loose.fingerprint


@pytest.mark.parametrize(("low", "high", "bins"), [(0, 1, 10), (-1, 1, 20), (0.1, 1.1, 10), (18, 50, 320)])
def test_the_least_number_of_a_range_is_sensitive(low: float, high: float, bins: int) -> None:
    for place in range(bins):
        start = float(Fraction(str(low)) + (Fraction(str(high)) - Fraction(str(low))) * place / bins)
        domain = Domain.number(low, high, bins=bins, sensitive=[[start, high]])
        assert domain.encode([start]).tolist() == [place]
        assert domain.sensitive_codes.tolist() == list(range(place, bins))
    for start in (999.0, np.nextafter(999, 0), 998.9999999999):
        domain = Domain.number(0, 1e6, bins=4, scale="log1p", sensitive=[[start, 1e6]])
        assert domain.sensitive[domain.encode([start])].all()


def test_all_numbers_of_a_range_are_sensitive_at_borders_that_floats_do_not_meet() -> None:
    """In patterns and by itself: 1,500 ranges that begin and end at a border, or a float below or above it."""
    random, scales = np.random.default_rng(1), [(0, 1, 10), (-1, 1, 20), (0.1, 1.1, 10), (-0.3, 0.7, 13), (18, 50, 320)]
    spaces = [Domain.number(*scale[:2], bins=scale[2]).space for scale in scales]
    spaces.append(Domain.number(0, 1e6, scale="log1p").space)
    for space in spaces:
        for _ in range(250):
            first, last = np.sort(random.choice(space.bins + 1, 2, replace=False))
            ends = [np.nextafter(space.borders[place], random.choice([-np.inf, 0, np.inf])) for place in (first, last)]
            ends = np.where(random.random(2) < 0.3, space.borders[[first, last]], ends).clip(space.low, space.high)
            if last - first < 2:
                continue
            inside = space.encode([ends[0], np.nextafter(ends[1], -np.inf), ends.mean()])
            mask, closed = space.ranges([ends]), space.ranges([ends], closed=True)
            assert mask[inside].all()
            # At most the bins that a float reaches into are more.
            assert first - 1 <= np.flatnonzero(mask).min()
            assert np.flatnonzero(mask).max() <= last
            # A sensitive range holds its upper end too, and the bin of it.
            assert np.flatnonzero(closed).tolist() == list(range(inside[0], space.encode([ends[1]])[0] + 1))
    pair = Domain.product({"sex": ["f", "m"], "x": spaces[2]}, sensitive={"sex": "f", "x": [[0.1, 0.3], [0.7, 0.9]]})
    assert pair.sensitive_codes.tolist() == [0, 1, 2, 6, 7, 8]


def test_a_width_may_be_an_integer_of_numpy() -> None:
    domain = Domain.number(0, 10, bins=5)
    assert Windows(domain, 1.0, width=np.int64(2)) == Windows(domain, 1.0, width=2)


def test_ranges_are_rounded_outward_to_whole_bins() -> None:
    assert Domain.number(0, 100, bins=10, sensitive=[[0, 9], [85, 96]]).sensitive_codes.tolist() == [0, 8, 9]
    assert Domain.number(0, 100, bins=10, sensitive=[[0, 10], [45.1, 45.2]]).sensitive_codes.tolist() == [0, 1, 4]
    domain = Domain.number(0, 1e6, scale="log1p", sensitive=[[0, 10_000], [500_000, 1e6]])
    assert domain.sensitive[domain.encode([0, 10_000, 500_000, 1e6])].all()
    # The document of a plan means exactly these bins again.
    for one in (domain, Domain.number(0, 0.3, bins=7, sensitive=[[0.1, 0.2]], clip=True)):
        assert Plan.of(Windows(one, 1.0)).mechanism().domain == one


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"low": 1, "high": 1}, "below"),
        ({"low": float("nan")}, "finite"),
        ({"high": float("inf")}, "finite"),
        ({"low": "0"}, "finite"),
        ({"bins": 1}, "bins"),
        ({"bins": 4097}, "bins"),
        ({"bins": 2.5}, "bins"),
        ({"scale": "log"}, "scale"),
        ({"low": -1, "scale": "log1p"}, "scale.too-low-numbers"),
        ({"low": 1e16, "high": 1e16 + 8}, "bins.too-many"),
        ({"clip": 1}, "clip"),
        ({"sensitive": [[20, 60], [50, 80]]}, "overlap"),
        ({"sensitive": [[20, 20]]}, "sensitive.not-ranges"),
        ({"sensitive": [[30, 20]]}, "sensitive.not-ranges"),
        ({"sensitive": [[90, 110]]}, "between"),
        ({"sensitive": [[20, 30, 40]]}, "ranges"),
        ({"sensitive": [[20, float("nan")]]}, "sensitive.not-ranges"),
        ({"sensitive": []}, "at least one"),
    ],
)
def test_what_is_no_range_of_numbers_is_refused(arguments: dict[str, Any], word: str) -> None:
    whole = {"low": 0, "high": 100} | arguments
    assert word in refused(ParameterError, lambda: Domain.number(whole.pop("low"), whole.pop("high"), **whole))


def test_tables_of_text_and_of_numbers_give_the_same_codes(tmp_path: Any) -> None:
    domain, numbers = Domain.number(0, 10, bins=5, clip=True), [0.5, 9.0, 10.0, 12.5]
    (tmp_path / "text.csv").write_text("income\n" + "\n".join(map(str, numbers)))
    pa.parquet.write_table(pa.table({"income": pa.array(numbers, pa.float32())}), tmp_path / "typed.parquet")
    for name in ("text.csv", "typed.parquet"):
        values = ValueColumns(domain).of(tmp_path / name)
        assert [codes.tolist() for codes, _, _ in values.batches()] == [[0, 4, 4, 4]]
        assert values.left_out == {CLIPPED: 1}
