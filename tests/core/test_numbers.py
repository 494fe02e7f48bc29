"""Domains of numbers: bins, their borders, ranges, and what is refused."""

from typing import Any

import numpy as np
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


def test_ranges_of_an_attribute_are_whole_bins_too() -> None:
    bins = Domain.number(0.1, 1.1, bins=10).space
    pair = Domain.product({"sex": ["f", "m"], "x": bins}, sensitive={"sex": "f", "x": [[0.1, 0.3], [0.7, 0.9]]})
    assert pair.sensitive_codes.tolist() == [0, 1, 2, 6, 7, 8]
    # What is not sensitive ends below a border: the border belongs to the bin above.
    for end, last in ((0.3, 1), (0.35, 2), (np.nextafter(0.3, 1), 2)):
        assert np.flatnonzero(bins.ranges([[0.1, end]])).tolist() == list(range(last + 1))


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
        ({"low": 1, "high": 1}, "range.empty"),
        ({"low": float("nan")}, "low.not-at-least"),
        ({"high": float("inf")}, "high.not-at-least"),
        ({"low": "0"}, "low.not-at-least"),
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
        ({"sensitive": [[90, 110]]}, "sensitive.ranges-outside"),
        ({"sensitive": [[20, 30, 40]]}, "ranges"),
        ({"sensitive": [[20, float("nan")]]}, "sensitive.not-ranges"),
        ({"sensitive": []}, "sensitive.empty"),
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
