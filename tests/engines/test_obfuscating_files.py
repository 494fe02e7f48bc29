"""Tables of values are obfuscated in pieces; reports and refusals are those of the whole table."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import discreet as dc
from discreet import read_reports
from discreet.engines import obfuscate, obfuscation
from discreet.errors import DataError, ParameterError
from discreet.tables import scan, values
from discreet.tables.values import ValueColumns
from refusals import refused

LABELS = ["north", "south", "east", "west"]
TEXT = dc.UnaryEncoding(dc.Domain(LABELS, sensitive=["north", "west"]), 1.0)
NUMBERS = dc.RandomizedResponse(dc.Domain(range(10, 60)), 1.0)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BATCH_ROWS", 37)
    monkeypatch.setattr(obfuscation, "MOST_ROWS", 64)


def write(path: Path, table: pa.Table, groups: int = 50) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=groups)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f'{{"x": {one.as_py()!r}}}\n'.replace("'", '"') for one in table["x"]))
    else:
        with pa.ipc.new_file(str(path), table.schema) as sink:
            sink.write_table(table, max_chunksize=groups)
    return path


def codes(n: int = 500) -> Any:
    return np.random.default_rng(1).integers(0, 4, n)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("kept", [0, 1 << 26])
def test_reports_are_those_of_the_column_at_once(
    suffix: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "KEPT_BYTES", kept)
    values = [LABELS[code] for code in codes()]
    source = write(tmp_path / f"values.{suffix}", pa.table({"x": values}))
    for threads in (1, 2):
        found = obfuscate(TEXT, source, tmp_path / "r.parquet", seed=3, force=True, threads=threads)
        assert (found.reports, dict(found.left_out), found.simulated) == (500, {}, True)
        expected = TEXT.obfuscate_batches(codes(), size=64, random=dc.SeededRandom(3))
        reports = read_reports(tmp_path / "r.parquet", TEXT)
        assert TEXT.tally(reports) == sum(map(TEXT.tally, expected))
        assert reports.simulated


def test_large_reports_are_drawn_in_small_batches_and_are_those_of_the_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is drawn at once is in memory, and waited for where the work is interrupted."""
    monkeypatch.setattr(obfuscation, "MOST_ROWS", 1 << 18)
    monkeypatch.setattr(obfuscation, "MOST_BYTES", 1 << 16)
    mechanism = dc.SubsetSelection(dc.Domain(range(10, 60)), 1.0)
    column = np.arange(40_000) % 50
    source = write(tmp_path / "values.parquet", pa.table({"x": column + 10}))
    done: list[int] = []
    obfuscate(mechanism, source, tmp_path / "r.parquet", seed=3, progress=lambda now, _: done.append(now))
    assert done == [1 << 14, 1 << 15, 40_000]
    expected = mechanism.obfuscate_codes(column, random=dc.SeededRandom(3))
    found = read_reports(tmp_path / "r.parquet", mechanism)
    assert all(np.array_equal(found.blocks[name], expected.blocks[name]) for name in expected.blocks)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_refusals_count_the_whole_table(suffix: str, tmp_path: Path) -> None:
    values: list[int | None] = [10] * 300
    values[120], values[290] = 99, 5
    source = write(tmp_path / f"v.{suffix}", pa.table({"x": pa.array(values, pa.int64())}))
    message = refused(DataError, lambda: obfuscate(NUMBERS, source, tmp_path / "r.parquet"))
    lines = (", line 122", ", line 202") if suffix == "csv" else ("", "")
    assert message.startswith(f"{source}: 2 of 300 values are not in the domain (first in row 120{lines[0]}).")
    values[200] = values[250] = values[251] = None
    source = write(tmp_path / f"v.{suffix}", pa.table({"x": pa.array(values, pa.int64())}))
    message = refused(DataError, lambda: obfuscate(NUMBERS, source, tmp_path / "r.parquet"))
    assert message.startswith(f"{source}: 3 of 300 values are missing (first in row 200{lines[1]}).")
    assert not (tmp_path / "r.parquet").exists()


def test_rows_without_a_value_are_left_out_or_stand_for_a_label(tmp_path: Path) -> None:
    values = pa.array([None if row % 10 == 0 else 10 + row % 5 for row in range(300)], pa.int64())
    source = write(tmp_path / "v.parquet", pa.table({"x": values}))
    dropped = obfuscate(NUMBERS, source, tmp_path / "a.parquet", ValueColumns(NUMBERS.domain, missing="drop"))
    assert (dropped.reports, dict(dropped.left_out)) == (270, {"have no value": 30})
    filled = obfuscate(NUMBERS, source, tmp_path / "b.parquet", ValueColumns(NUMBERS.domain, stand=10))
    assert (filled.reports, dict(filled.left_out)) == (300, {})


def test_users_are_there_for_secrets(tmp_path: Path) -> None:
    users = pa.array([f"u{row % 7}" if row != 130 else None for row in range(200)])
    source = write(tmp_path / "v.parquet", pa.table({"x": codes(200) + 10, "who": users}))

    def moved(found: Any, owners: Any) -> Any:
        assert len(found) == len(owners)
        return (found + 1) % NUMBERS.domain.size

    columns = ValueColumns(NUMBERS.domain, column="x", user="who", placeholders=moved)
    message = refused(DataError, lambda: obfuscate(NUMBERS, source, tmp_path / "r.parquet", columns))
    assert "1 of 200 users are missing (first in row 130). Fill them in" in message
    assert "`missing='drop'`" in message
    columns = ValueColumns(NUMBERS.domain, column="x", user="who", missing="drop", placeholders=moved)
    found = obfuscate(NUMBERS, source, tmp_path / "r.parquet", columns, seed=1)
    assert dict(found.left_out) == {"have no user": 1}
    expected = (np.delete(codes(200), 130) + 1) % NUMBERS.domain.size
    drawn = NUMBERS.obfuscate_batches(expected, size=64, random=dc.SeededRandom(1))
    assert NUMBERS.tally(read_reports(tmp_path / "r.parquet", NUMBERS)) == sum(map(NUMBERS.tally, drawn))
    with pytest.raises(ParameterError, match=r"user\.required"):
        ValueColumns(NUMBERS.domain, placeholders=moved)
