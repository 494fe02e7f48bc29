"""Tables of values are obfuscated in pieces: as the whole table is, with public columns row for row beside reports."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import read_reports
from discreet.engines import LocalEngine, obfuscate, obfuscation
from discreet.errors import DataError, ParameterError
from discreet.formats.reports import read_public
from discreet.tables import scan, values
from discreet.tables.values import ValueColumns
from refusals import refused
from table_files import save_table

LABELS = ["north", "south", "east", "west"]
TEXT = dc.UnaryEncoding(dc.Domain(LABELS, sensitive=["north", "west"]), 1.0)
NUMBERS = dc.RandomizedResponse(dc.Domain(range(10, 60)), 1.0)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BATCH_ROWS", 37)
    monkeypatch.setattr(obfuscation, "MOST_ROWS", 64)


def codes(n: int = 500) -> Any:
    return np.random.default_rng(1).integers(0, 4, n)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("kept", [0, 1 << 26])
def test_reports_are_those_of_the_column_at_once(
    suffix: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "KEPT_BYTES", kept)
    values = [LABELS[code] for code in codes()]
    source = save_table(tmp_path / f"values.{suffix}", pa.table({"x": values}))
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
    source = save_table(tmp_path / "values.parquet", pa.table({"x": column + 10}))
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
    source = save_table(tmp_path / f"v.{suffix}", pa.table({"x": pa.array(values, pa.int64())}))
    message = refused(DataError, lambda: obfuscate(NUMBERS, source, tmp_path / "r.parquet"))
    lines = (", line 122", ", line 202") if suffix == "csv" else ("", "")
    assert message.startswith(f"{source}: 2 of 300 values are not in the domain (first in row 120{lines[0]}).")
    values[200] = values[250] = values[251] = None
    source = save_table(tmp_path / f"v.{suffix}", pa.table({"x": pa.array(values, pa.int64())}))
    message = refused(DataError, lambda: obfuscate(NUMBERS, source, tmp_path / "r.parquet"))
    assert message.startswith(f"{source}: 3 of 300 values are missing (first in row 200{lines[1]}).")
    assert not (tmp_path / "r.parquet").exists()


def test_users_are_there_for_secrets(tmp_path: Path) -> None:
    users = pa.array([f"u{row % 7}" if row != 130 else None for row in range(200)])
    source = save_table(tmp_path / "v.parquet", pa.table({"x": codes(200) + 10, "who": users}))

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


# Public columns

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


def columns(keep: Any = KEEP, **options: Any) -> ValueColumns:
    return ValueColumns(MECHANISM.domain, "x", keep=keep, **options)


def obfuscated(source: Any, target: Path, keep: Any = KEEP, **options: Any) -> Any:
    return LocalEngine(threads=2).obfuscate(MECHANISM, source, target, columns(keep, **options), seed=3, force=True)


@pytest.mark.parametrize("into", ["parquet", "arrow"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
def test_rows_stay_beside_their_reports(suffix: str, into: str, tmp_path: Path) -> None:
    source, target = save_table(tmp_path / f"values.{suffix}", TABLE), tmp_path / f"r.{into}"
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
    obfuscated(save_table(tmp_path / "v.arrow", table), tmp_path / "r.parquet", (*kinds, "e"))
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
    source = save_table(tmp_path / f"v.{suffix}", pa.table({"x": VALUES, "g": pa.array(cells)}))
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
        ("nope", DataError, "column.unknown-name"),
        ("list", DataError, "Column 'list' holds list<"),
    ],
)
def test_refusals(keep: Any, error: Any, words: str, tmp_path: Path) -> None:
    table = TABLE.append_column("who", TABLE["row"]).append_column("list", pa.array([[1]] * N))
    for name in ("bits", "plan"):
        table = table.append_column(name, TABLE["row"])
    source = save_table(tmp_path / "v.parquet", table)
    message = refused(error, lambda: obfuscated(source, tmp_path / "r.parquet", keep, user="who"))
    assert words in message
    assert not (tmp_path / "r.parquet").exists()


def test_reports_that_do_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    obfuscated(save_table(tmp_path / "t.csv", TABLE), tmp_path / "r.parquet")
    needed = 3 * N * (sum(column.bytes for column in MECHANISM.columns) + 16 * 2)
    with pytest.raises(DataError, match=r"reports.too-large"):
        read_public(MECHANISM, tmp_path / "r.parquet", ["region"], memory=needed - 1)
    assert read_public(MECHANISM, tmp_path / "r.parquet", ["region"], memory=needed)[0].n == N
