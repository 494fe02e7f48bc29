"""Ends of sensitive ranges: no number of a narrow type goes in clear because of the type that it is stored in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from discreet import Domain
from discreet.tables.values import ValueColumns
from packing import each

KINDS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
STEPS = 3
RANGES = 200


def stepped(numbers: Any, steps: int = STEPS) -> Any:
    """Return numbers with their neighbours in the same type, up to so many steps, ``(n, 2 steps + 1)``."""
    rows = {0: numbers}
    for step in range(1, steps + 1):
        rows[step] = np.nextafter(rows[step - 1], numbers.dtype.type(np.inf))
        rows[-step] = np.nextafter(rows[1 - step], numbers.dtype.type(-np.inf))
    return np.column_stack([rows[step] for step in sorted(rows)])


def written(number: Any) -> Fraction:
    """Return the number that the shortest text of a float stands for."""
    return Fraction(str(number))


def in_range(number: Any, low: Fraction, high: Fraction) -> bool:
    """Return true if the real value of a float lies in a range, or the number that its shortest text stands for."""
    return low <= Fraction(float(number)) <= high or low <= written(number) <= high


@dataclass(frozen=True)
class Case:
    """A domain with one sensitive range, its ends, and all numbers of each type within three steps of an end."""

    domain: Domain
    ends: tuple[float, float]
    near: dict[str, Any]
    protected: dict[str, Any]


def case_of(domain: Domain, low: float, high: float) -> Case:
    """Return a case; what is protected is found by exact arithmetic."""
    near = {name: np.unique(stepped(np.array([low, high], dtype=kind)).ravel()) for name, kind in KINDS.items()}
    ends = written(low), written(high)
    protected = {name: np.array([in_range(number, *ends) for number in some]) for name, some in near.items()}
    return Case(domain, (low, high), near, protected)


def cases() -> Iterator[Case]:
    """Yield random ranges: ends of few digits and of many, on borders and beside them, and bins of all widths."""
    random, count = np.random.default_rng(20), 0
    while count < RANGES:
        digits, scale = int(random.integers(1, 5)), str(random.choice(["linear", "log1p"]))
        low, width = round(random.uniform(-0.9, 50), digits), round(random.uniform(1, 500), digits)
        about = {"bins": int(random.choice([2, 7, 10, 60, 256, 1000, 4096])), "scale": scale, "clip": True}
        space: Any = Domain.number(low, round(low + width, digits), **about).space
        borders, form = random.choice(space.borders, 2, replace=False), count % 4
        ends = random.uniform(space.low, space.high, 2) if form < 2 else borders
        if form == 1:
            ends = np.round(ends, digits + 1)
        elif form == 3:
            # Nearer to a border than float16, float32 or float64 shows.
            ends = borders * (1 - random.choice([1e-4, 1e-8, 1e-16]))
        first, last = np.sort(np.clip(ends, space.low, space.high)).tolist()
        if first < last:
            count += 1
            domain = Domain.number(space.low, space.high, sensitive=[[first, last]], **about)
            yield case_of(domain, first, last)


@cache
def all_cases() -> list[Case]:
    """Return the same random ranges each time."""
    return list(cases())


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "NumPy": lambda numbers: numbers,
    "NumPy, other order of bytes": lambda numbers: numbers.astype(numbers.dtype.newbyteorder()),
    "scalars of NumPy": list,
    "pandas": pd.Series,
    "pandas objects": lambda numbers: pd.Series(list(numbers), dtype=object),
    "pandas on Arrow": lambda numbers: pd.Series(numbers, dtype=pd.ArrowDtype(pa.from_numpy_dtype(numbers.dtype))),
    "polars": pl.Series,
    "Arrow": pa.array,
    "Arrow in chunks": lambda numbers: pa.chunked_array([numbers[:2], numbers[2:]]),
    "Arrow dictionary": lambda numbers: pa.DictionaryArray.from_arrays(np.arange(len(numbers)), pa.array(numbers)),
    "Arrow, run-end encoded": lambda numbers: pc.run_end_encode(pa.array(numbers)),
}
# Types that pandas has not as float16.
WIDE: dict[str, Callable[[Any], Any]] = {
    "pandas with gaps": lambda numbers: pd.Series(numbers, dtype=str(numbers.dtype).capitalize()),
    "pandas categories": lambda numbers: pd.Series(numbers).astype("category"),
}


PAIRS = [(holder, kind) for kind in KINDS for holder in (HOLDERS if kind == "float16" else {**HOLDERS, **WIDE})]


@each("holder, kind", PAIRS)
def test_a_number_in_a_sensitive_range_is_sensitive(holder: str, kind: str) -> None:
    wrong, count = 0, 0
    for case in all_cases():
        codes = case.domain.encode({**HOLDERS, **WIDE}[holder](case.near[kind]))
        wrong += int(np.count_nonzero(case.protected[kind] & ~case.domain.sensitive[codes]))
        count += int(np.count_nonzero(case.protected[kind]))
    assert (wrong, count > 6 * RANGES) == (0, True)


@each("kind", KINDS)
def test_a_number_in_a_sensitive_range_of_a_file_is_sensitive(kind: str, tmp_path: Path) -> None:
    """In Parquet as the type, in CSV as the shortest text: there the text is all that is known of a number."""
    for place, case in enumerate(all_cases()):
        numbers, ends = case.near[kind], [written(end) for end in case.ends]
        pa.parquet.write_table(pa.table({"x": pa.array(numbers)}), tmp_path / f"{place}.parquet")
        (tmp_path / f"{place}.csv").write_text("x\n" + "\n".join(map(str, numbers)))
        by_text = [ends[0] <= written(number) <= ends[1] for number in numbers]
        for ending, protected in (("parquet", case.protected[kind]), ("csv", by_text)):
            table = ValueColumns(case.domain).of(tmp_path / f"{place}.{ending}")
            ((codes, _, _),) = table.batches()
            assert case.domain.sensitive[codes[protected]].all()


def test_numbers_beyond_the_bins_of_the_ends_are_not_sensitive() -> None:
    for case in all_cases():
        space, mask = case.domain.space, case.domain.sensitive
        first, last = case.domain.encode(np.array(case.ends))
        assert np.flatnonzero(mask).tolist() == list(range(first, last + 1))
        middles = space.quantities().astype(np.float32)
        wide = np.diff(space.borders) > 4 * np.spacing(np.abs(middles))
        assert (case.domain.encode(middles)[wide] == np.arange(space.bins)[wide]).all()


def is_stored_from(numbers: Any, end: Fraction) -> Any:
    """Return of which floats some real number at or above an end is stored as the float."""
    above = np.nextafter(numbers, numbers.dtype.type(np.inf))
    is_even = numbers.view(f"u{numbers.dtype.itemsize}") % 2 == 0
    middles = [(Fraction(float(low)) + Fraction(float(high))) / 2 for low, high in zip(numbers, above, strict=True)]
    return np.array([middle > end or (middle == end and even) for middle, even in zip(middles, is_even, strict=True)])


@each("kind", ["float16", "float32"])
def test_nobody_at_or_above_a_border_is_below_it(kind: str) -> None:
    """Over 2,000 borders and 7 neighbours each; numbers as they are, and their shortest texts, put many below."""
    ranges = [(0, 1, 3), (0, 1, 10), (36, 42, 60), (0, 100, 7), (0.1, 1.1, 10), (-0.3, 0.7, 13), (18, 50, 320)]
    spaces: list[Any] = [Domain.number(low, high, bins=bins).space for low, high, bins in ranges]
    spaces += [Domain.number(0, 60_000, bins=bins, scale="log1p").space for bins in (256, 400, 1000)]
    count, wrong = 0, {"rounded": 0, "as they are": 0, "texts": 0}
    for space in spaces:
        for place, border in enumerate(space.borders[1:-1].tolist(), start=1):
            near = stepped(np.array([border], dtype=kind))[0]
            above = is_stored_from(near, written(border))
            texts = np.array([float(str(number)) for number in near])
            below = space.encode(near) < place, near.astype(np.float64) < border, texts < border
            for way, people in zip(wrong, below, strict=True):
                wrong[way] += int(np.count_nonzero(above & people))
            count += 1
    assert count > 2000
    assert wrong["rounded"] == 0
    assert wrong["as they are"] > 0.4 * count
    assert wrong["texts"] > 0.3 * count
