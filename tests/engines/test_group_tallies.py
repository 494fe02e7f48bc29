"""Tallies by group from files, against tallies of each group's own reports."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Reports, write_reports
from discreet.core.grouping import Grouping
from discreet.core.tally import GroupedTally
from discreet.engines import LocalEngine, folds
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.formats.tallies import write_tally
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.report_tables import to_arrow
from discreet.tables.values import ValueColumns

ULDP = dc.Domain(["flu", "hiv", "none", "cold"], sensitive=["hiv", "flu"])


RR = dc.RandomizedResponse(ULDP, 1.0)
pytestmark = pytest.mark.filterwarnings("ignore:These columns are not read")
PEOPLE = 3000
RANDOM = np.random.default_rng(4)
REGION = RANDOM.choice(["east", "north", "süd"], PEOPLE)
AGE = RANDOM.integers(0, 40, PEOPLE)


def reports_of(mechanism: BlockMechanism) -> Reports:
    return mechanism.obfuscate_codes(np.arange(PEOPLE) % mechanism.domain.size, random=dc.SeededRandom(1))


def write(path: Path, mechanism: BlockMechanism, rows: slice = slice(None), **more: Any) -> None:
    reports = reports_of(mechanism)
    table = to_arrow(mechanism, reports)
    for name, column in {"region": REGION, "age": AGE, **more}.items():
        table = table.append_column(name, column if isinstance(column, pa.Array) else pa.array(column))
    start, end, _ = rows.indices(PEOPLE)
    pq.write_table(table.slice(start, end - start), path, row_group_size=700)


def expected(mechanism: BlockMechanism, by: tuple[str, ...]) -> GroupedTally:
    reports, columns = reports_of(mechanism), [{"region": REGION, "age": AGE}[name].tolist() for name in by]
    labels = list(zip(*columns, strict=True)) if len(by) > 1 else columns[0]
    rows = {label: [at for at, own in enumerate(labels) if own == label] for label in sorted(set(labels))}
    return GroupedTally(by, {label: mechanism.tally(reports.take(np.array(own))) for label, own in rows.items()})


def same(one: GroupedTally, other: GroupedTally) -> bool:
    return one.names == other.names and list(one.items()) == list(other.items())


def test_threads_share_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is too little for a row of each group in every thread, one thread counts."""
    for place in range(4):
        write(tmp_path / f"{place}.parquet", RR, slice(place * PEOPLE // 4, (place + 1) * PEOPLE // 4))
    row, engine = 8 * (1 + sum(RR.tally_sizes)), LocalEngine(threads=4)
    monkeypatch.setattr(folds, "memory_limit", lambda: 41 * row)
    assert same(engine.tally_by(RR, tmp_path, "age"), expected(RR, ("age",)))
    monkeypatch.setattr(folds, "memory_limit", lambda: 39 * row)
    with pytest.raises(DataError, match=r"groups\.too-large"):
        engine.tally_by(RR, tmp_path, "age")


@pytest.mark.parametrize("table", [0, folds.TABLE_ENTRIES])
def test_combinations_are_numbered_in_order(table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds, "TABLE_ENTRIES", table)
    columns = [pa.array(["b", "a", "b", "b"]), pa.array([3, 3, 1, 3]), pa.array([True, True, True, False])]
    codes, labels = folds.groups_in(columns, ("x", "y", "z"))
    assert [labels[code] for code in codes] == [("b", 3, True), ("a", 3, True), ("b", 1, True), ("b", 3, False)]
    assert len(labels) == 4


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    mechanism, engine = RR, LocalEngine()
    write(
        tmp_path / "all.parquet", mechanism, weight=RANDOM.random(PEOPLE), gaps=pa.array([None] + ["a"] * (PEOPLE - 1))
    )
    for by, words in (
        ("sex", r"public-column.missing"),
        ("weight", "'weight' in a batch .* double.*column.not-categories"),
        ("gaps", "1 of 700 labels of 'gaps' in a batch are missing"),
        ("symbol", r"public-column.reserved"),
    ):
        with pytest.raises(DataError, match=words):
            engine.tally_by(mechanism, tmp_path / "all.parquet", by)
    for wrong in ((), ("region", "region"), (3,)):
        with pytest.raises(ParameterError, match=r"by\.not-names"):
            engine.tally_by(mechanism, tmp_path / "all.parquet", wrong)  # type: ignore[arg-type]
    with pytest.raises(MismatchError):
        engine.tally_by(dc.RandomizedResponse(ULDP, 2.0), tmp_path / "all.parquet", "region")
    lines, tally = tmp_path / "some.jsonl", tmp_path / "some.tally.parquet"
    write_reports(lines, mechanism, reports_of(mechanism))
    write_tally(tally, mechanism.tally(reports_of(mechanism)))
    for path in (lines, tally):
        with pytest.raises(DataError, match=r"public.no-columns"):
            engine.tally_by(mechanism, path, "region")


# However accents are stored

COMPOSED, APART = "K\u00f6ln", "Ko\u0308ln"
COLUMN = [COMPOSED, "Bonn", APART, "Bonn"]


@pytest.mark.parametrize("column", [COLUMN, pd.Series(COLUMN), pa.array(COLUMN), pa.array(COLUMN).dictionary_encode()])
def test_groups_of_a_column(column: object) -> None:
    grouping = Grouping.of(column)
    assert (grouping.labels, grouping.codes.tolist()) == (["Bonn", COMPOSED], [1, 0, 1, 0])
    whole = Grouping.of({"city": column, "n": [1, 1, 1, 2]})
    assert whole.labels == [("Bonn", 1), ("Bonn", 2), (COMPOSED, 1)]


def test_groups_of_files(tmp_path: Path) -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["ja", "nein"]), epsilon=1.0)
    for place, city in enumerate((COMPOSED, APART)):
        values = tmp_path / f"{place}.csv"
        values.write_text("x,city\n" + f"ja,{city}\nnein,Bonn\n" * 30, encoding="utf-8")
        columns = ValueColumns(mechanism.domain, "x", keep=("city",))
        LocalEngine().obfuscate(mechanism, values, tmp_path / f"{place}.parquet", columns)
    grouped = LocalEngine().tally_by(mechanism, [tmp_path / "0.parquet", tmp_path / "1.parquet"], "city")
    assert {label: counts.n for label, counts in grouped.items()} == {"Bonn": 60, COMPOSED: 60}
