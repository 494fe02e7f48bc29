"""A column of values becomes codes: every container against one readable loop."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from discreet import Domain
from discreet.core.columns import all_below
from discreet.errors import DataError
from packing import each
from refusals import refused

INTEGERS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": lambda v: np.array(v, dtype=np.int64),
    "numpy int32": lambda v: np.array(v, dtype=np.int32),
    "pandas": lambda v: pd.Series(v, dtype="int64", index=np.arange(len(v)) + 7),
    "pandas nullable": lambda v: pd.Series(v, dtype="Int64"),
    "polars": lambda v: pl.Series(v, dtype=pl.Int64),
    "arrow": lambda v: pa.array(v, type=pa.int32()),
    "arrow chunks": lambda v: pa.chunked_array([v[:2], v[2:]], type=pa.int64()),
}
TEXTS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy objects": lambda v: np.array(v, dtype=object),
    "numpy strings": lambda v: np.array(v, dtype=np.dtypes.StringDType()),
    "pandas": lambda v: pd.Series(v, dtype="str", index=np.arange(len(v)) + 7),
    "pandas objects": lambda v: pd.Series(v, dtype=object),
    "pandas categories": lambda v: pd.Series(v, dtype="str").astype("category"),
    "polars": lambda v: pl.Series(v, dtype=pl.String),
    "polars categories": lambda v: pl.Series(v, dtype=pl.String).cast(pl.Categorical),
    "arrow": lambda v: pa.array(v, type=pa.string()),
    "arrow large": lambda v: pa.array(v, type=pa.large_string()),
    "arrow dictionary": lambda v: pa.array(v, type=pa.string()).dictionary_encode(),
    "arrow chunks": lambda v: pa.chunked_array([v[:2], v[2:]], type=pa.string()),
    "arrow dictionary chunks": lambda v: pa.chunked_array([v[:2], v[2:]], type=pa.string()).dictionary_encode(),
}
FIELDS = [("a", "U6"), ("b", "i8"), ("c", "U6")]
TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "list of tuples": lambda t: list(zip(*t.values(), strict=True)),
    "list of mappings": lambda t: [dict(zip(t, row, strict=True)) for row in zip(*t.values(), strict=True)],
    "mapping of lists": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": lambda t: pa.table(t) if t else t,
    "numpy structured": lambda t: np.array(list(zip(*t.values(), strict=True)), dtype=FIELDS),
}
whole = st.integers(-(2**31), 2**31 - 1)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def by_loop(labels: list[Any], values: list[Any]) -> list[int]:
    """The specification: the place of each value among the labels, -1 if it is none of them."""
    found = []
    for value in values:
        place = -1
        for code, label in enumerate(labels):
            if label == value:
                place = code
        found.append(place)
    return found


def check(domain: Domain, values: Any, expected: list[int]) -> None:
    """Codes if every value is in the domain, else a refusal that counts them and says where the first one is."""
    outside = [row for row, code in enumerate(expected) if code < 0]
    if not outside:
        codes = domain.encode(values)
        assert codes.dtype == np.int64
        assert codes.tolist() == expected
        return
    with pytest.raises(DataError) as caught:
        domain.encode(values)
    wanted = f"{len(outside)} of {len(expected)} values are not in the domain (first in row {outside[0]})"
    assert str(caught.value).startswith(wanted)


# Containers see the same examples: to draw some for each would take most of the time.


@pytest.mark.parametrize(("any_value", "containers"), [(whole, INTEGERS), (words, TEXTS)], ids=["integers", "texts"])
@settings(max_examples=60)
@given(data=st.data())
def test_columns(data: st.DataObject, any_value: Any, containers: dict[str, Callable[[Any], Any]]) -> None:
    labels = data.draw(st.lists(any_value, min_size=1, max_size=9, unique=True))
    values = data.draw(st.lists(st.sampled_from(labels), min_size=1, max_size=9))
    if data.draw(st.booleans()):
        values[data.draw(st.integers(0, len(values) - 1))] = data.draw(any_value)
    domain, expected = Domain(labels), by_loop(labels, values)
    for container, contain in containers.items():
        note(container)
        check(domain, contain(values), expected)


@given(start=st.integers(-(2**40), 2**40), size=st.integers(1, 50), data=st.data())
def test_ranges(start: int, size: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(start - 1, start + size), min_size=1, max_size=9))
    expected = [value - start if start <= value < start + size else -1 for value in values]
    for labels in (range(start, start + size), list(range(start, start + size))):
        check(Domain(labels), values, expected)
    reverse = range(start + size - 1, start - 1, -1)
    check(Domain(reverse), values, by_loop(list(reverse), values))


@given(value=st.integers(-(2**63), 2**63 - 1), start=st.integers(-(2**63), 2**63 - 5))
def test_ranges_at_the_ends_of_the_integers(value: int, start: int) -> None:
    expected = [value - start] if start <= value < start + 4 else [-1]
    check(Domain(range(start, start + 4)), np.array([value]), expected)


@settings(max_examples=60)
@given(data=st.data())
def test_products(data: st.DataObject) -> None:
    parts = {
        "a": data.draw(st.lists(words.filter(str.isalnum), min_size=1, max_size=4, unique=True)),
        "b": data.draw(st.lists(whole, min_size=1, max_size=4, unique=True)),
        "c": data.draw(st.lists(words.filter(str.isalnum), min_size=1, max_size=3, unique=True)),
    }
    size = data.draw(st.integers(1, 8))
    table = {
        name: data.draw(st.lists(st.sampled_from(labels), min_size=size, max_size=size))
        for name, labels in parts.items()
    }
    if data.draw(st.booleans()):
        table["b"][data.draw(st.integers(0, size - 1))] = data.draw(whole)
    combinations = [(a, b, c) for a in parts["a"] for b in parts["b"] for c in parts["c"]]
    expected = by_loop(combinations, list(zip(*table.values(), strict=True)))
    domain = Domain.product(parts)
    for container, contain in TABLES.items():
        note(container)
        check(domain, contain(table), expected)
    spelled = domain.table()
    assert list(zip(*(column.tolist() for column in spelled.values()), strict=True)) == combinations


LAT, LON = (40.5, 40.9), (-74.25, -73.75)


def cell(lat: float, lon: float, rows: int, cols: int) -> int:
    """The specification of a grid: count whole cells from the lowest borders; upper borders belong to the last."""
    if not (LAT[0] <= lat <= LAT[1] and LON[0] <= lon <= LON[1]):
        return -1
    row = min(int((lat - LAT[0]) / (LAT[1] - LAT[0]) * rows), rows - 1)
    col = min(int((lon - LON[0]) / (LON[1] - LON[0]) * cols), cols - 1)
    return row * cols + col


@given(rows=st.integers(1, 30), cols=st.integers(1, 30), data=st.data())
def test_grids(rows: int, cols: int, data: st.DataObject) -> None:
    lat = st.floats(LAT[0], LAT[1]) | st.sampled_from([*LAT, 40.4999, 41.0])
    lon = st.floats(LON[0], LON[1]) | st.sampled_from([*LON, -74.26, 0.0])
    points = data.draw(st.lists(st.tuples(lat, lon), min_size=1, max_size=8))
    table = {"lat": [point[0] for point in points], "lon": [point[1] for point in points]}
    containers = [points, np.array(points), pd.DataFrame(table), pl.DataFrame(table), pa.table(table), table]
    domain = Domain.grid(lat=LAT, lon=LON, rows=rows, cols=cols)
    for values in containers:
        note(type(values).__name__)
        check(domain, values, [cell(*point, rows, cols) for point in points])
    centres = domain.table()
    assert domain.encode(np.column_stack([centres["lat"], centres["lon"]])).tolist() == list(range(rows * cols))
    assert (centres["row"] * cols + centres["col"]).tolist() == list(range(rows * cols))


@pytest.mark.parametrize(
    "empty", [[], (), np.array([], dtype=np.int64), pd.Series([], dtype="int64"), pl.Series([], dtype=pl.Int64)]
)
def test_empty_columns(empty: Any) -> None:
    assert Domain(range(3)).encode(empty).tolist() == []


@each("kind", ["i1", "u1", ">i2", "<u2", "i4", ">u8", "i8"])
@each("limit", [6, 127, 128, 625, 2**40])
def test_numbers_below_a_limit_are_told_from_others_in_every_type(kind: str, limit: int) -> None:
    info = np.iinfo(kind)
    for one in (info.min, -1, 0, 5, 6, 126, 127, info.max):
        if info.min <= one <= info.max:
            column = np.array([0, one, 1, 0], dtype=kind)[::-2]
            assert all_below(column, limit) is all(0 <= number < limit for number in column.tolist())
    assert all_below(np.empty(0, dtype=kind), limit)


# NUL

TEXT = Domain(["a", "b"])


def test_a_nul_makes_another_text() -> None:
    for make in (
        list,
        tuple,
        lambda v: [np.str_(one) for one in v],
        lambda v: np.array(v, object),
        lambda v: np.array(v, np.dtypes.StringDType()),
        pa.array,
    ):
        refused(DataError, lambda make=make: TEXT.encode(make(["a\0"])))
        refused(DataError, lambda make=make: TEXT.encode(make(["\0a"])))
        assert Domain(make(["a", "a\0", "a\0\0"])).encode(make(["a\0", "a", "a\0\0"])).tolist() == [1, 0, 2]


def test_texts_of_fixed_width_are_refused_where_they_cannot_tell_labels_apart() -> None:
    domain = Domain(["a", "a\0"])
    assert "texts.ending-in-nul" in refused(DataError, lambda: domain.encode(np.array(["a", "a"])))
    assert Domain(["a", "\0a"]).encode(np.array(["a", "\0a"])).tolist() == [0, 1]
