"""Patterns of names, folders named as columns, and the lines of text that refusals name."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import write_reports
from discreet.engines import LocalEngine, obfuscate
from discreet.errors import DataError
from discreet.files.paths import matched
from discreet.risk.events import read_traces
from discreet.tables.labels import summarize_columns
from discreet.tables.values import ValueColumns, read_values
from object_store import Put, s3
from refusals import refused
from running import refusal
from table_files import save_table

LABELS = ["a", "b", "c"]
MECHANISM = dc.RandomizedResponse(dc.Domain(LABELS), 2.0)
PLAN = 'epsilon = 2.0\n[domain]\nlabels = ["a", "b", "c"]\n[mechanism]\nname = "rr"\n'


def keep(path: Path, n: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_reports(path, MECHANISM, MECHANISM.obfuscate([LABELS[row % 3] for row in range(n)]))
    return path


@pytest.fixture(params=["here", "s3"])
def root(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Puts files of a folder where they are read, and returns what names them."""
    if request.param == "here":
        yield lambda folder: lambda below: f"{folder}/{below}"
        return
    for put in s3(monkeypatch):

        def named(folder: Path, put: Put = put) -> Callable[[str], str]:
            urls = [put(path, f"top/{path.relative_to(folder)}") for path in folder.rglob("*") if path.is_file()]
            start, _, rest = urls[0].partition("/top/")
            return lambda below: f"{start}/top/{below}{rest[rest.find('?') :]}"

        yield named


def test_patterns_name_files_and_folders_by_name(root: Callable[..., Callable[[str], str]], tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    names = ("2026-02.parquet", "2026-01.parquet", "2025-12.parquet", "more/x/2026-03.parquet", "_old/y/2026.parquet")
    for count, name in enumerate(names, start=1):
        keep(folder / name, count)
    of = root(folder)
    assert [file.name for file in matched(of("2026-*.parquet"))] == ["2026-01.parquet", "2026-02.parquet"]
    assert [file.name for file in matched(of("*"))] == ["2025-12.parquet", "2026-01.parquet", "2026-02.parquet", "more"]
    assert [file.name for file in matched(of("_*/*"))] == ["y"]
    engine = LocalEngine(threads=1)
    counts = {"2026-0[13].parquet": 2, "2026-*.parquet": 3, "m*/*/*.parquet": 4, "m*": 4, "_[o]*": 5}
    assert {name: engine.tally(MECHANISM, of(name)).tally.n for name in counts} == counts
    for name in ("2027-*.parquet", "none/*", "m*/*/*/*", "*/z"):
        message = refused(DataError, lambda name=name: engine.tally(MECHANISM, of(name)))  # type: ignore[misc]
        assert message == f"No file matches the pattern {of(name).partition('?')[0]}. [file.no-match]"


def test_files_of_patterns_are_not_replaced(tmp_path: Path) -> None:
    for day, n in (("day-1", 90), ("day-2", 110)):
        keep(tmp_path / day / "a.parquet", n)
    assert LocalEngine(threads=1).tally(MECHANISM, f"{tmp_path}/day-*").tally.n == 200
    (tmp_path / "plan.toml").write_text(PLAN)
    values = tmp_path / "values-1.csv"
    values.write_text("x\na\nb\n")
    given = tmp_path / "plan.toml", tmp_path / "values-*.csv", "-o"
    assert "values-1.csv" in refusal("obfuscate", *given, tmp_path / "values-1.csv", "--force")
    assert "file.no-match" in refusal("obfuscate", given[0], tmp_path / "v-*.csv", "-o", tmp_path / "r.parquet")


def test_folders_named_as_columns_make_groups(root: Callable[..., Callable[[str], str]], tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    counts = {"2026-01-02": 20, "2026-01-01": 30}
    for day, count in counts.items():
        keep(folder / f"date={day}" / "place=New%20York" / "part.parquet", count)
    of, engine = root(folder), LocalEngine(threads=2)
    for name in ("", "*", "date=2026-01-0[12]", "*/*/*.parquet"):
        grouped = engine.tally_by(MECHANISM, of(name), "date")
        assert {label: tally.n for label, tally in grouped.items()} == counts
    both = engine.tally_by(MECHANISM, of(""), ("place", "date"))
    assert {label: tally.n for label, tally in both.items()} == {("New York", day): n for day, n in counts.items()}
    assert engine.tally(MECHANISM, of("")).tally.n == 50
    assert "'day'" in refused(DataError, lambda: engine.tally_by(MECHANISM, of(""), "day"))


def test_a_name_that_two_folders_of_a_path_have_is_no_column(tmp_path: Path) -> None:
    keep(tmp_path / "r" / "a=1" / "b=3" / "a=2" / "part.parquet")
    message = refused(DataError, lambda: LocalEngine().tally_by(MECHANISM, tmp_path / "r", "a"))
    assert "public-column.missing" in message
    assert list(LocalEngine().tally_by(MECHANISM, tmp_path / "r", "b")) == ["3"]


def test_folders_that_disagree_are_refused(tmp_path: Path) -> None:
    keep(tmp_path / "r" / "date=2026-01-01" / "a.parquet")
    other = keep(tmp_path / "r" / "b.parquet")
    message = refused(DataError, lambda: LocalEngine().tally(MECHANISM, tmp_path / "r"))
    first = tmp_path / "r" / "date=2026-01-01" / "a.parquet"
    assert f"no column and date ({first} is the first" in message
    assert "[folder.different-columns]" in message
    other.unlink()
    keep(tmp_path / "r" / "day=2026-01-02" / "a.parquet")
    assert ": date and day (" in refused(DataError, lambda: LocalEngine().tally(MECHANISM, tmp_path / "r"))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_folders_named_as_columns_are_columns_of_tables(suffix: str, tmp_path: Path) -> None:
    for day, people in {"2026-01-02/hour=9": ["x", "y"], "2026-01-01/hour=10": ["y", "x"]}.items():
        path = tmp_path / "t" / f"date={day}" / "n=007" / f"part.{suffix}"
        save_table(path, {"who": people, "event": ["a", "b"]})
    traces = read_traces(tmp_path / "t", user="who", event="event", time="hour")
    # Of y, then of x, by the hour: 9 is before 10.
    assert traces.events.tolist() == [1, 0, 0, 1]
    by_day = read_traces(tmp_path / "t", user="date", event="event")
    assert by_day.users == 2
    look = summarize_columns(tmp_path / "t", {"date": None, "n": None})
    assert {name: (one.kind, dict(one.counts)) for name, one in look.items()} == {
        "date": ("dates", {"2026-01-01": 2, "2026-01-02": 2}),
        "n": ("text", {"007": 4}),
    }
    path = next((tmp_path / "t").rglob("part.*"))
    assert read_values(path, dc.Domain(["2026-01-01", "2026-01-02"]), "date").to_pylist() == [path.parts[-4][5:]] * 2
    columns = ValueColumns(MECHANISM.domain, "event", keep=("date",))
    obfuscate(MECHANISM, tmp_path / "t", tmp_path / "out.parquet", columns)
    assert (
        sorted(pq.read_table(tmp_path / "out.parquet")["date"].to_pylist()) == ["2026-01-01"] * 2 + ["2026-01-02"] * 2
    )
    assert "no column 'day'" in refused(DataError, lambda: read_values(path, MECHANISM.domain, "day"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x,y\n1,a\n2,\n3,z\n", "row 1, line 3"),
        ('x,y\n1,"a"\n"2\n2\n\n2",a\n3,z\n4,b\n', "row 2, line 7"),
        ('"x\nx",y\r\n1,a\r\n"2\r\n",b\r\n3,z\r\n', "row 2, line 6"),
        ('sep=;\n"a;""\n";y\n1;a\n5" x 7";b\n6";z\n', "row 2, line 6"),
        ('x,y\n1,a\n\n2,"b"\n', "row 1, line 3"),
    ],
)
def test_refusals_name_the_line_as_editors_count_them(text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(text, newline="")
    found = ValueColumns(MECHANISM.domain, "y").of(path)
    assert f"(first in {place})" in refused(DataError, lambda: list(found.batches()))
