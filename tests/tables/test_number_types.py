"""Types of numbers beside a plain column: in products, surveys, maps and cuts, widened, mixed, and too large."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.labels.products import Grid
from discreet.errors import DataError, ParameterError
from packing import each
from refusals import refused

TENTHS = np.arange(11) / 10
NARROW = ["float16", "float32"]


def near(numbers: Any, kind: str) -> Any:
    """Return numbers in a type with their neighbours, up to three steps."""
    column = np.asarray(numbers).astype(kind)
    rows = [column]
    for towards in (-np.inf, np.inf):
        step = column
        for _ in range(3):
            step = np.nextafter(step, step.dtype.type(towards))
            rows.append(step)
    return np.unique(np.concatenate(rows))


def within(number: Any, low: float, high: float) -> bool:
    """Return true if the real value of a float, or the number of its shortest text, is in a range."""
    ends = Fraction(str(low)), Fraction(str(high))
    return any(ends[0] <= read <= ends[1] for read in (Fraction(float(number)), Fraction(str(number))))


@each("kind", NARROW)
def test_numbers_of_a_product_are_rounded_as_they_are_alone(kind: str) -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        ends = np.sort(random.uniform(0, 100, 2)), np.sort(random.uniform(0, 100, 2))
        space = dc.Domain.number(0, 100, bins=int(random.choice([5, 40, 1000])), clip=True).space
        patterns = [{"sex": sex, "x": [pair.tolist()]} for sex, pair in zip("fm", ends, strict=True)]
        domain = dc.Domain.product({"sex": ["f", "m"], "x": space}, sensitive=patterns)
        numbers = near(np.concatenate(ends), kind)
        for sex, pair in zip("fm", ends, strict=True):
            protected = [within(number, *pair.tolist()) for number in numbers]
            codes = domain.encode(pd.DataFrame({"sex": sex, "x": numbers}))
            assert domain.sensitive[codes[protected]].all()


def test_a_type_too_coarse_for_two_ranges_of_a_product_is_refused() -> None:
    space = dc.Domain.number(0, 1, bins=10).space
    patterns = [{"sex": "f", "x": [[0.5, 0.89995]]}, {"sex": "m", "x": [[0.9, 1]]}]
    domain = dc.Domain.product({"sex": ["f", "m"], "x": space}, sensitive=patterns)
    table = {"sex": ["f", "m"], "x": np.array([0.9, 0.9], np.float16)}
    assert "column.too-coarse" in refused(DataError, lambda: domain.encode(table))
    wide = domain.encode({**table, "x": np.array([0.9, 0.9], np.float32)})
    assert domain.sensitive[wide].tolist() == [False, True]


@each("kind", ["float32", "float64"])
def test_a_place_at_the_border_of_a_cell_is_in_the_cell_above(kind: str) -> None:
    for lat, rows in [
        ((40.0, 41.0), 10),
        ((48.0, 48.2), 20),
        ((40.7, 40.9), 25),
        ((-90.0, 90.0), 180),
        ((0.1, 1.1), 1000),
    ]:
        ends = Fraction(str(lat[0])), Fraction(str(lat[1]))
        borders = np.array([float(ends[0] + (ends[1] - ends[0]) * place / rows) for place in range(rows)])
        domain = dc.Domain.grid(lat=lat, lon=(0.0, 1.0), rows=rows, cols=1)
        at = np.column_stack([borders, np.full(rows, 0.5)]).astype(kind)
        below = np.column_stack([np.nextafter(at[1:, 0], np.dtype(kind).type(-200)), at[1:, 1]])
        assert domain.encode(at).tolist() == list(range(rows))
        assert domain.encode(below).tolist() == list(range(rows - 1))
        assert domain.encode(pl.DataFrame({"lat": at[:, 0], "lon": at[:, 1]})).tolist() == list(range(rows))
        assert domain.encode([(lat[1], 1.0), (lat[0], 0.0)]).tolist() == [rows - 1, 0]
    assert "grid.too-coarse" in refused(
        DataError, lambda: Grid((48.0, 48.2), (11.0, 11.2), 20, 20).encode(at.astype("float16"))
    )


def test_float32_that_were_widened_are_named_and_read_as_they_were() -> None:
    domain = dc.Domain.number(0, 1, bins=10)
    widened = TENTHS[:10].astype(np.float32).astype(np.float64)
    for column in (widened, pd.Series(widened), pl.Series(widened), pa.array(widened), widened.tolist()):
        with pytest.warns(UserWarning, match="were float32"):
            assert domain.encode(column).tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 8, 8]
        assert domain.encode(column, float32=True).tolist() == list(range(10))
    mechanism = dc.RandomizedResponse(dc.Domain.number(0, 1, bins=10, sensitive=[[0.7, 1]]), 1.0)
    random = dc.SeededRandom(1)
    assert mechanism.obfuscate(TENTHS[:7].repeat(20), random=random).in_clear.any()
    assert not mechanism.obfuscate(widened[7:8].repeat(20), random=random, float32=True).in_clear.any()
    product = dc.Domain.product({"sex": ["f"], "score": domain.space})
    table = pd.DataFrame({"sex": "f", "score": widened})
    assert product.encode(table, float32=True).tolist() == list(range(10))


@each("numbers", [TENTHS, np.arange(200.0), np.arange(200) / 16, TENTHS.astype(np.float32), np.array([0.5, 0.25, 0.1])])
def test_short_decimals_are_not_named(numbers: Any) -> None:
    with warnings.catch_warnings(action="error"):
        dc.Domain.number(0, 250, bins=7).encode(numbers)


def test_what_is_no_float32_is_not_read_as_such() -> None:
    domain = dc.Domain.number(0, 1, bins=10)
    assert "2 of 3" in refused(DataError, lambda: domain.encode([0.1, 0.2, 0.5], float32=True))
    refused(ParameterError, lambda: dc.Domain(["a"]).encode(["a"], float32=True))
    refused(ParameterError, lambda: domain.encode([0.5], float32=1))


def test_floats_of_several_types_are_refused_and_gaps_are_not_taken_for_one() -> None:
    domain = dc.Domain.number(0, 1, bins=10)
    seven = np.float32(0.7)
    mixed = [
        [seven, 0.7],
        [seven, np.float16(0.7)],
        pd.Series([seven, 0.7], dtype=object),
        np.array([seven, 0.7], object),
    ]
    for column in mixed:
        assert "column.several-float-types" in refused(DataError, lambda column=column: domain.encode(column))
    assert domain.encode([seven, 1]).tolist() == domain.encode(np.array([seven, 1], object)).tolist() == [7, 9]
    for gap in (None, float("nan"), pd.NA):
        assert "1 of 2" in refused(DataError, lambda gap=gap: domain.encode([seven, gap]))
        assert domain.space.encode([seven, gap]).tolist() == [7, -2]


def test_a_number_too_large_for_its_type_is_no_number_of_the_last_bin() -> None:
    """In float16 both 70,000 and 900,000 are infinite."""
    for clip in (False, True):
        domain = dc.Domain.number(0, 1e6, bins=10, clip=clip, sensitive=[[0, 150_000]])
        assert domain.encode(np.array([0, 60_000], np.float16)).tolist() == [0, 0]
        assert "1 of 2" in refused(DataError, lambda domain=domain: domain.encode(np.array([0, np.inf], np.float16)))
    assert dc.Domain.number(0, 10, bins=5, clip=True).encode(np.array([np.inf, -np.inf], np.float16)).tolist() == [4, 0]


def test_integers_stored_as_floats_are_integers_only_where_they_are_exact() -> None:
    from discreet.tables.text import Cells, Kind, from_typed

    for kind, most in ((pa.float32(), 1 << 24), (pa.float64(), 1 << 53)):
        exact, beyond = (pa.array([1.0, float(last), None], kind) for last in (most - 1, most))
        assert from_typed(exact, Cells(Kind.INTEGER)).to_pylist() == [1, most - 1, None]
        assert from_typed(beyond, Cells(Kind.INTEGER)).type == kind
