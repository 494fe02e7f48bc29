"""Files that others replace, shorten or add to while they are read."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damage import EACH, MECHANISM, written
from discreet import Sources, read_reports, write_reports
from discreet.engines import LocalEngine, TallyFold
from discreet.errors import DataError, DiscreetError
from discreet.formats.reports import iterate_reports
from discreet.formats.scanned import SourcePart, part_of_ticket
from discreet.tables.scan import scan
from discreet.tables.text import Cells, Kind
from refusals import refused

SUFFIXES = ["parquet", "arrow", "jsonl", "jsonl.gz"]
formats = pytest.mark.parametrize("suffix", SUFFIXES)
STRANGER = type(MECHANISM)(MECHANISM.domain, 3.0)


def replace(path: Path) -> None:
    """Put a file of another plan, with the same columns, in the place of a file."""
    reports = read_reports(path, MECHANISM)
    beside = path.with_name(f"beside-{path.name}")
    counts = {"n": reports.n, "in_clear": reports.in_clear, "clear": reports.clear, "blocks": reports.blocks}
    write_reports(beside, STRANGER, type(reports)(STRANGER.fingerprint, **counts))
    beside.replace(path)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(path.read_bytes()[-20:])


def touch(path: Path) -> None:
    os.utime(path, ns=(1, 1))


@formats
@pytest.mark.parametrize("change", [replace, append, touch], ids=lambda change: change.__name__)
def test_a_file_that_changes_after_the_check_is_refused(
    suffix: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / f"a.{suffix}"
    written(path)
    sources = Sources(path).scan(MECHANISM)
    change(path)
    message = refused(DataError, lambda: LocalEngine(threads=1).fold(TallyFold(MECHANISM), sources))
    assert message.startswith(f"{path}: ")
    assert "[file.changed]" in message


@formats
def test_a_file_that_changes_while_it_is_read_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    written(path)
    batches = iterate_reports(path, MECHANISM, batch=10)
    next(batches)
    touch(path)
    with pytest.raises(DataError, match=r"file\.changed"):
        list(batches)


@formats
def test_a_file_that_goes_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    written(path)
    sources = Sources(path).scan(MECHANISM)
    path.unlink()
    refused(DataError, lambda: LocalEngine(threads=1).fold(TallyFold(MECHANISM), sources))


@formats
def test_another_machine_must_see_the_same_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    written(path)
    (part,) = Sources(path).scan(MECHANISM).parts
    ticket = part.ticket
    touch(path)
    assert part_of_ticket(MECHANISM, ticket).rows == part.rows
    reports = read_reports(path, MECHANISM)
    write_reports(path, MECHANISM, reports.part(0, EACH), force=True)
    assert "not the file that was checked" in refused(DataError, lambda: part_of_ticket(MECHANISM, ticket))


def test_a_reader_says_at_its_end_that_rows_are_missing_or_were_read_twice(tmp_path: Path) -> None:
    written(tmp_path / "a.parquet")
    written(tmp_path / "b.parquet")
    sources = Sources(tmp_path).scan(MECHANISM)
    rows, (first, second) = sources.rows, sources.parts
    with sources.reader() as reader:
        found = [batch.reports.n for batch in reader]
    assert sum(found) == rows == reader.account.rows == reader.account.n
    for parts in ([first], [first, second, second]):

        def read(parts: list[SourcePart] = parts) -> None:
            with sources.reader() as reader:
                for part in parts:
                    list(reader.part(part))

        read_rows = sum(part.rows or 0 for part in parts)
        assert f"announced {rows:,} rows, and {read_rows:,} were read" in refused(DataError, read)


SHORTENED = """
import sys
from pathlib import Path
from damage import MECHANISM
from discreet.errors import DataError
from discreet.formats.reports import iterate_reports

path = Path(sys.argv[1])
try:
    for number, batch in enumerate(iterate_reports(path, MECHANISM, batch=100)):
        if number == 1:
            with path.open("r+b") as file:
                file.truncate(400)
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_a_file_that_is_cut_short_while_it_is_read_does_not_kill(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    written(path)
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", SHORTENED, str(path)], env=paths, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(str(path))


@pytest.mark.parametrize("suffix", ["arrow", "parquet", "csv"])
def test_tables_that_change_after_the_check_are_refused(suffix: str, tmp_path: Path) -> None:
    path, table = tmp_path / f"a.{suffix}", pa.table({"user": [1, 2, 3], "event": [4, 5, 6]})
    if suffix == "csv":
        path.write_text("user,event\n1,4\n2,5\n3,6\n")
    elif suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as sink:
            sink.write_table(table, max_chunksize=2)
    asked = dict.fromkeys(["event", "user"], Cells(Kind.INTEGER))
    found = scan(path, lambda _: asked, list(asked))
    assert found.rows == 3
    assert pa.Table.from_batches(found.batches(["event", "user"])).to_pydict() == {
        "event": [4, 5, 6],
        "user": [1, 2, 3],
    }
    touch(path)
    with pytest.raises(DiscreetError, match=r"file\.changed"):
        list(found.batches(["user"]))
