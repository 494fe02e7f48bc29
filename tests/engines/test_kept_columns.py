"""Public columns of tables of values stand beside their reports, row for row; readers of reports read on."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import discreet as dc
from discreet.engines import LocalEngine, obfuscation
from discreet.errors import DataError, ParameterError
from discreet.formats.reports import read_public
from discreet.tables import values
from discreet.tables.values import ValueColumns
from refusals import refused

MECHANISM = dc.UnaryEncoding(dc.Domain(range(4), sensitive=[0, 3]), 1.0)
N = 300
RANDOM = np.random.default_rng(5)
VALUES = RANDOM.integers(0, 4, N)
TABLE = pa.table(
    {
        "w": RANDOM.uniform(1, 3, N),
        "x": VALUES,
        "region": RANDOM.choice(["north", "south", "été"], N),
        "row": np.arange(N),
        "urban": RANDOM.integers(0, 2, N) > 0,
    }
)
KEEP = ("row", "region", "w", "urban")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BATCH_ROWS", 37)
    monkeypatch.setattr(obfuscation, "MOST_ROWS", 64)


def write(path: Path, table: pa.Table = TABLE) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        table.to_pandas().to_json(path, orient="records", lines=True, double_precision=15)
    else:
        with pa.ipc.new_file(str(path), table.schema) as sink:
            sink.write_table(table, max_chunksize=50)
    return path


def columns(keep: Any = KEEP, **options: Any) -> ValueColumns:
    return ValueColumns(MECHANISM.domain, "x", keep=keep, **options)


def obfuscated(source: Any, target: Path, keep: Any = KEEP, **options: Any) -> Any:
    return LocalEngine(threads=2).obfuscate(MECHANISM, source, target, columns(keep, **options), seed=3, force=True)


@pytest.mark.parametrize("into", ["parquet", "arrow"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
def test_rows_stay_beside_their_reports(suffix: str, into: str, tmp_path: Path) -> None:
    source, target = write(tmp_path / f"values.{suffix}"), tmp_path / f"r.{into}"
    plain = tmp_path / "plain.parquet"
    assert obfuscated(source, target).reports == N
    obfuscated(source, plain, ())
    reports, public = read_public(MECHANISM, target, list(KEEP))
    expected = TABLE.select(list(KEEP))
    assert public.schema.types == [pa.int64(), pa.string(), pa.float64(), pa.bool_()]
    assert public.drop(["w"]).combine_chunks() == expected.drop(["w"]).combine_chunks()
    assert public["w"].to_pylist() == pytest.approx(expected["w"].to_pylist(), rel=1e-12)
    # The reports are those of the values alone, with and without the columns; nobody is warned.
    alone = dc.read_reports(plain, MECHANISM).to_arrow()
    assert reports.to_arrow() == alone == dc.read_reports(target, MECHANISM).to_arrow()
    assert LocalEngine().tally(MECHANISM, target).tally == LocalEngine().tally(MECHANISM, plain).tally
    groups = LocalEngine().tally_by(MECHANISM, target, "region")
    for region in ("north", "south", "été"):
        rows = np.flatnonzero(np.array(TABLE["region"]) == region)
        assert groups[region] == MECHANISM.tally(reports.take(rows))


def test_types_are_kept_and_dictionaries_are_spelled_out(tmp_path: Path) -> None:
    kinds = {"a": pa.int8(), "b": pa.float32(), "c": pa.large_string(), "d": pa.uint64()}
    table = pa.table({"x": VALUES, **{name: pa.array([1] * N).cast(kind) for name, kind in kinds.items()}})
    table = table.append_column("e", TABLE["region"].dictionary_encode())
    obfuscated(write(tmp_path / "v.arrow", table), tmp_path / "r.parquet", (*kinds, "e"))
    schema = pq.read_schema(tmp_path / "r.parquet")
    assert [schema.field(name).type for name in "abcde"] == [*kinds.values(), pa.string()]
    assert pq.read_table(tmp_path / "r.parquet")["e"].to_pylist() == TABLE["region"].to_pylist()


def test_text_decides_by_the_whole_column(tmp_path: Path) -> None:
    rows = [f"{row % 4},{row if row < 290 else 'x'},{row if row < 290 else 0.5},2026-01-01" for row in range(N)]
    (tmp_path / "v.csv").write_text("\n".join(["x,code,w,day", *rows]) + "\n")
    obfuscated(tmp_path / "v.csv", tmp_path / "r.parquet", ("code", "w", "day"))
    found = pq.read_table(tmp_path / "r.parquet")
    assert found["code"].to_pylist() == [str(row) if row < 290 else "x" for row in range(N)]
    assert found["w"].to_pylist() == [float(row) if row < 290 else 0.5 for row in range(N)]
    assert set(found["day"].to_pylist()) == {"2026-01-01"}


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("gap", [None, "", float("nan")])
def test_missing_cells_are_counted(suffix: str, gap: Any, tmp_path: Path) -> None:
    cells = [1.5] * N if isinstance(gap, float) else ["secret"] * N
    cells[120] = cells[290] = gap
    source = write(tmp_path / f"v.{suffix}", pa.table({"x": VALUES, "g": pa.array(cells)}))
    for options in ({}, {"missing": "drop"}):
        message = refused(DataError, lambda o=options: obfuscated(source, tmp_path / "r.parquet", "g", **o))
        line = ", line 122" if suffix == "csv" else ""
        assert f"2 of 300 cells of 'g' are missing (first in row 120{line}). Fill them in" in message
        assert "secret" not in message
    assert not (tmp_path / "r.parquet").exists()


@pytest.mark.parametrize(
    ("keep", "error", "words"),
    [
        ("x", ParameterError, "keep.secret"),
        (["who"], ParameterError, "keep.secret"),
        ("bits", ParameterError, "must not list 'bits'"),
        ("plan", ParameterError, "must not list 'plan'"),
        ("nope", DataError, "There is no column 'nope'. The table has"),
        ("list", DataError, "Column 'list' holds list<"),
    ],
)
def test_refusals(keep: Any, error: Any, words: str, tmp_path: Path) -> None:
    table = TABLE.append_column("who", TABLE["row"]).append_column("list", pa.array([[1]] * N))
    for name in ("bits", "plan"):
        table = table.append_column(name, TABLE["row"])
    source = write(tmp_path / "v.parquet", table)
    message = refused(error, lambda: obfuscated(source, tmp_path / "r.parquet", keep, user="who"))
    assert words in message
    assert not (tmp_path / "r.parquet").exists()


@pytest.mark.parametrize("into", ["parquet", "arrow"])
def test_the_seal_covers_kept_columns(into: str, tmp_path: Path) -> None:
    table = TABLE.append_column("mark", pa.array([f"{row:04}-landmark" for row in range(N)]))
    target = tmp_path / f"r.{into}"
    obfuscated(write(tmp_path / "v.parquet", table), target, ("mark", "row"))
    whole = target.read_bytes()
    for place in range(100, len(whole) // 2, 97):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        target.write_bytes(damaged)
        assert "damaged" in refused(DataError, lambda: read_public(MECHANISM, target, ["mark"]))
        assert "damaged" in refused(DataError, lambda: LocalEngine().tally(MECHANISM, target))
    assert place > 100


def test_reports_that_do_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    obfuscated(write(tmp_path / "t.csv"), tmp_path / "r.parquet")
    needed = 3 * N * (sum(column.bytes for column in MECHANISM.columns) + 16 * 2)
    with pytest.raises(DataError, match=r"reports.too-large"):
        read_public(MECHANISM, tmp_path / "r.parquet", ["region"], memory=needed - 1)
    assert read_public(MECHANISM, tmp_path / "r.parquet", ["region"], memory=needed)[0].n == N
