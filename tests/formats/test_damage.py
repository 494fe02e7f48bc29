"""Faults of files that libraries pass over: pages, footers and checksums; rows that are lost; files that shrink."""

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damage import CHECKED, MECHANISM, bare_bytes, flipped, verdicts, written
from discreet import Sources, read_reports
from discreet.engines import tally
from discreet.errors import DataError
from discreet.files.stored import look, read_checksums
from discreet.formats.scanned import SourcePart
from refusals import refused

checked = pytest.mark.parametrize("suffix", CHECKED)


def test_pages_of_files_without_checksums_keep_their_own_checksums(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    _, right = written(path)
    bare = bare_bytes(path)
    column = pq.read_metadata(path).row_group(1).column(1)
    start, end = column.data_page_offset + 60, column.dictionary_page_offset + column.total_compressed_size
    bits = range(8 * start, 8 * end, 61)
    found = verdicts(path, (flipped(bare, bit) for bit in bits), right)
    assert found == ["refused"] * len(bits)


def test_a_row_group_that_comes_to_nothing_is_missed(tmp_path: Path) -> None:
    """Where a page header says that a page is of another kind, Arrow passes the page over and says nothing."""
    path = tmp_path / "a.parquet"
    written(path)
    bare, facts = bare_bytes(path), pq.read_metadata(path)
    starts = [facts.row_group(1).column(0).dictionary_page_offset, facts.row_group(1).column(0).data_page_offset]
    heads = [flipped(bare, 8 * (start + place) + bit) for start in starts for place in range(8) for bit in range(8)]
    vanished = []
    for head in heads:
        path.write_bytes(head)
        try:
            if not list(pq.ParquetFile(path, page_checksum_verification=True).iter_batches(row_groups=[1])):
                vanished.append(head)
        except (OSError, pa.ArrowException):
            continue
    assert vanished
    for head in vanished:
        path.write_bytes(head)
        message = refused(DataError, lambda: tally(MECHANISM, path))
        assert "row group 1 has 0 rows, and its metadata say 700" in message
        refused(DataError, lambda: read_reports(path, MECHANISM))


def test_the_footer_promises_what_its_row_groups_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    _, right = written(path)
    bare = bare_bytes(path)
    total = bare.rindex(b"\x16\xe8\x20")  # 2100 rows, as Thrift writes them: 4200 in steps of seven bits
    path.write_bytes(bare[: total + 1] + b"\xea\x20" + bare[total + 3 :])
    message = refused(DataError, lambda: tally(MECHANISM, path))
    assert "2101 rows, and its row groups have 2100" in message
    assert right.n == 2100


@checked
def test_checksums_of_another_form_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    whole, _ = written(path)
    with path.open("rb") as file:
        checksums, _ = read_checksums(file)
    assert checksums is not None
    start, end = checksums.ends[-1], whole.rindex(b"DSCRSEAL") - 8
    for text in (b"[]", b"{", b'{"rows":[],"ends":[1],"sums":[],"footer":0}', b'{"rows":1}', b"[" * 50_000):
        damaged = text + struct.pack("<II", len(text), zlib.crc32(text))
        path.write_bytes(whole[:start] + damaged + whole[end + 8 :])
        assert "checksums" in refused(DataError, lambda: read_reports(path, MECHANISM))


def test_a_batch_that_is_too_large_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of Arrow's is in memory as a whole; what it takes there is told beforehand."""
    path, table = tmp_path / "a.arrow", pa.table({"a": np.arange(1000), "b": np.arange(1000)})
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=400)
    assert look(path).rows == (400, 400, 200)
    monkeypatch.setattr("discreet.files.stored.LARGEST_BATCH", 6400)
    assert look(path).rows == (400, 400, 200)
    monkeypatch.setattr("discreet.files.stored.LARGEST_BATCH", 6399)
    assert "at most 6,399 bytes, got 6,400. " in refused(DataError, lambda: look(path))


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
        assert f"announce {rows:,} rows, but {read_rows:,} were read" in refused(DataError, read)


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
