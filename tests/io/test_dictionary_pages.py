"""Counting indices of dictionaries: what pyarrow reads, or nothing, whatever the bytes are."""

import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from discreet.cli import main
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.engines import LocalEngine, local
from discreet.errors import DataError
from discreet.files.stored import look
from discreet.formats import sources
from discreet.formats.plan import Plan
from discreet.formats.reports import write_reports
from discreet.formats.sources import Partition, distinct_rows, partitions_of
from discreet.kernels import dictionary_pages as kernel
from discreet.kernels import startup
from discreet.mechanisms import HadamardResponse, RandomizedResponse, UnaryEncoding

_FAILURES = (DataError, OSError, pa.ArrowException)


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "pays", lambda _: True)


def column(values: Any, kind: pa.DataType | None = None, *, nullable: bool = True) -> pa.Table:
    schema = pa.schema([pa.field("symbol", kind or pa.uint16(), nullable)])
    return pa.table([pa.array(values, schema.field(0).type)], schema=schema)


def counted(path: Path, bound: int = 1 << 16) -> Counter[int] | None:
    table = look(path)
    found = distinct_rows(table, range(len(table.rows)), bound)
    if found is None:
        return None
    batch, counts = found
    assert batch.schema == table.schema
    return Counter(dict(zip(batch.column(0).to_pylist(), counts.tolist(), strict=True)))


def read(path: Path) -> Counter[int]:
    return Counter(pq.ParquetFile(path).read().column(0).to_pylist())


SIZES = [2, 3, 17, 256, 1000, 1 << 13, (1 << 14) + 3, 1 << 15, 40_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_counts_are_those_of_pyarrow(tmp_path: Path, size: int, compression: str) -> None:
    """Any width of indices, runs of one value among them, several pages and row groups, with and without nulls."""
    path, rng = tmp_path / "a.parquet", np.random.default_rng(size)
    values = np.concatenate([rng.integers(0, size, 70_001), np.full(999, size - 1), rng.permutation(size)])
    for nullable in (True, False):
        table = column(values, nullable=nullable)
        pq.write_table(table, path, compression=compression, row_group_size=60_000, dictionary_pagesize_limit=1 << 24)
        assert counted(path) == read(path) == Counter(values.tolist())


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (column([1, None, 2] * 50), {}),
        (column([1, 2] * 50), {"use_dictionary": False}),
        (column([1, 2] * 50), {"data_page_version": "2.0"}),
        (column([1, 2] * 50), {"compression": "snappy"}),
        (column([1, 2] * 50, pa.int64()), {}),
        (column([1] * 50), {}),
        (column(range(30_000)), {"dictionary_pagesize_limit": 1000}),
        (column([]), {}),
        (column([1, 2]).append_column("other", pa.array([1, 2])), {}),
    ],
    ids=["null", "plain", "version 2", "snappy", "signed", "one value", "large dictionary", "empty", "two columns"],
)
def test_what_is_unknown_is_left_to_pyarrow(tmp_path: Path, table: pa.Table, options: dict[str, Any]) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, **{"compression": "none", **options})
    assert not table.num_rows or counted(path) is None


def test_values_out_of_bounds_and_of_other_bytes_are_left_to_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(column([3, 9] * 100), path, compression="none", write_page_checksum=True)
    assert counted(path, 10) == Counter({3: 100, 9: 100})
    assert counted(path, 9) is None
    whole = path.read_bytes()
    dictionary = whole.index(np.array([3, 9], "<i4").tobytes())
    path.write_bytes(whole[:dictionary] + b"\x04" + whole[dictionary + 1 :])
    assert counted(path, 10) is None


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_damaged_files_have_the_counts_of_pyarrow_or_none(tmp_path: Path, compression: str) -> None:
    """Bytes of the pages replaced, removed, repeated: never another count, never another end than an answer."""
    path, rng, answers = tmp_path / "a.parquet", np.random.default_rng(4), Counter[bool]()
    pq.write_table(column(np.arange(3000) ** 2 % 37), path, compression=compression, data_page_size=256)
    whole = bytearray(path.read_bytes())
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            # Heads are where most is decided.
            at = int(rng.integers(4, min(end, 160) if rng.random() < 0.6 else end))
            data[at] = int(rng.integers(256)) if rng.random() < 0.5 else data[at] ^ 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            found = counted(path)
        except _FAILURES:
            continue
        answers[found is None] += 1
        if found is not None:
            assert found == read(path)
    # Both happen, or this tests nothing.
    assert min(answers.values()) > 20
    assert len(answers) == 2


@pytest.mark.slow
def test_truncated_files_are_refused_or_left_to_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(column(np.arange(500) % 7), path, compression="none")
    whole = path.read_bytes()
    table = look(path)
    for length in range(0, len(whole) - 1, 3):
        # The footer was read before; then the file lost bytes, and its time is as it was.
        path.write_bytes(whole[:length])
        try:
            assert sources._column(table, 0) is None
        except AssertionError:
            assert length > table.metadata.row_group(0).total_byte_size


def loop(data: bytes, rows: int, bits: int) -> list[int] | None:
    """Return indices as the format describes them, or None if they are not whole."""
    if not data or not 1 <= data[0] <= bits:
        return None
    width, at, found = data[0], 1, list[int]()
    while len(found) < rows:
        head = shift = 0
        while True:
            if at >= len(data) or shift > 49:
                return None
            head |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                break
        runs, size = head >> 1, (head >> 1) * width if head & 1 else -(-width // 8)
        if runs == 0 or runs > rows or at + size > len(data):
            return None
        number = int.from_bytes(data[at : at + size], "little")
        indices = [number >> width * i & (1 << width) - 1 for i in range(8 * runs)] if head & 1 else [number] * runs
        at += size
        spare = len(found) + len(indices) - rows
        if spare >= (8 if head & 1 else 1):
            return None
        found += indices[: len(indices) - max(spare, 0)]
    return found if at == len(data) and max(found) < 1 << width else None


def test_random_runs_are_counted_as_the_format_says_or_refused() -> None:
    rng, answers = np.random.default_rng(7), Counter[bool]()
    for _ in range(4000):
        bits = int(rng.integers(1, 17))
        width, parts, rows = int(rng.integers(1, bits + 1)), list[bytes](), 0
        for _ in range(rng.integers(1, 4)):
            runs, packed = int(rng.integers(1, 20)), bool(rng.integers(2))
            size = runs * width if packed else -(-width // 8)
            parts.append(bytes([runs << 1 | packed]) + rng.bytes(size))
            rows += 8 * runs if packed else runs
        data = bytearray(bytes([width]) + b"".join(parts))
        rows -= int(rng.integers(0, 9))
        if rng.random() < 0.3:
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
        if rng.random() < 0.1:
            data = data[: int(rng.integers(len(data)))]
        rows = max(rows, 1)
        lanes = np.zeros((4, 1 << bits), np.uint32)
        padded = np.frombuffer(bytes(data) + bytes(kernel.PADDING), np.uint8)
        right = loop(bytes(data), rows, bits)
        answers[right is not None] += 1
        assert kernel.count_indices(padded, (0, len(data), rows), lanes, levels=False) == (right is not None)
        if right is not None:
            assert lanes.sum(axis=0).tolist() == np.bincount(right, minlength=1 << bits).tolist()
    assert min(answers.values()) > 400


@pytest.mark.parametrize("width", [0, 17, 32, 33, 62, 63, 64, 66, 127, 128, 191, 255])
@pytest.mark.parametrize("packed", [False, True])
def test_widths_beyond_every_index_are_refused(width: int, packed: bool) -> None:
    """Whole runs of 63 bits and more: once they were counted outside of the histograms."""
    entries = width if packed else -(-width // 8)
    data = bytes([width, 3 if packed else 16]) + b"\x5a" * entries
    lanes = np.zeros((4, 1 << 16), np.uint32)
    padded = np.frombuffer(data + bytes(kernel.PADDING), np.uint8)
    assert not kernel.count_indices(padded, (0, len(data), 8), lanes, levels=False)
    assert not lanes.any()


def test_random_heads_end_somewhere() -> None:
    """No bytes make the reader of heads read beside them, or for ever."""
    rng = np.random.default_rng(8)
    pages = np.empty((16, kernel.COLUMNS), np.int64)
    kinds = np.array([0x15, 0x25, 0x1C, 0x5C, 0x00, 0x02, 0x04, 0x06, 0x18, 0x88, 0xFF, 0x35, 0x2C], np.uint8)
    for _ in range(4000):
        data: NDArray[np.uint8] = rng.integers(0, 256, rng.integers(kernel.PADDING, 80)).astype(np.uint8)
        likely = rng.random(data.size) < 0.6
        data[likely] = rng.choice(kinds, int(likely.sum()))
        found = kernel.find_pages(data, pages)
        assert -1 <= found <= len(pages)
        ends = pages[: max(found, 0), kernel.BEGIN] + pages[: max(found, 0), kernel.PACKED]
        assert (ends <= data.size - kernel.PADDING).all()


@pytest.mark.parametrize("kind", [RandomizedResponse, HadamardResponse])
def test_tallies_are_the_same_either_way(tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = kind(Domain(range(60)), 1.0)
    codes = np.arange(5000) ** 2 % 60
    for name, seed in (("a", 1), ("b", 2)):
        write_reports(
            tmp_path / f"{name}.parquet", mechanism, mechanism.obfuscate_codes(codes, random=SeededRandom(seed))
        )
    used = []
    distinct = Partition.distinct
    monkeypatch.setattr(Partition, "distinct", lambda part: used.append(distinct(part)) or used[-1])
    fast = LocalEngine().tally(mechanism, tmp_path)
    assert len(used) == 2
    assert all(found is not None for found in used)
    assert fast.tally == LocalEngine(plain_parquet=True).tally(mechanism, tmp_path).tally
    assert fast.tally.simulated
    assert len(used) == 2
    assert local.tally(mechanism, tmp_path, threads=1).tally == fast.tally


def test_damage_and_impossible_rows_are_refused_in_the_same_words(tmp_path: Path) -> None:
    mechanism, path = RandomizedResponse(Domain(range(60)), 1.0), tmp_path / "a.parquet"
    write_reports(path, mechanism, mechanism.obfuscate_codes(np.arange(5000) % 60, random=SeededRandom(1)))
    whole = path.read_bytes()
    middle = len(whole) // 3
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    assert [part.distinct() for part in partitions_of(path, mechanism)] == [None]
    said = []
    for plain in (False, True):
        with pytest.raises(DataError) as refused:
            LocalEngine(plain_parquet=plain).tally(mechanism, path)
        said.append(str(refused.value))
    assert said[0] == said[1]
    path.write_bytes(whole)
    schema = look(path).schema
    pq.write_table(pa.table([pa.array([1, 2, 61] * 40, schema.field(0).type)], schema=schema), path, compression="none")
    for share in (0.0, 0.5):
        found = []
        for plain in (False, True):
            try:
                done = LocalEngine(plain_parquet=plain).tally(mechanism, path, bad_share=share)
                found.append((done.tally, dict(done.left_out)))
            except DataError as error:
                found.append(str(error))
        assert found[0] == found[1]
    assert found[0][1] == {"have a symbol outside 0..59": 40}


def test_a_head_with_a_checksum_of_more_than_32_bits_is_left_to_pyarrow(tmp_path: Path) -> None:
    """Not kept, it would be one that is not compared."""
    path = tmp_path / "a.parquet"
    pq.write_table(column(np.arange(4000) % 9), path, compression="none", write_page_checksum=True)
    table, pages = look(path), np.empty((8, kernel.COLUMNS), np.int64)
    found = sources._column(table, 0)
    assert found is not None
    data = bytes(found.data)
    head = bytes([0x15, 4, 0x15, 2, 0x15, 2, 0x15]), bytes([0x3C, 0x15, 2, 0x15, 0, 0, 0])
    for number, known in ((b"\x02", True), (b"\xff\xff\xff\xff\x0f", True), (b"\x80\x80\x80\x80\x10", False)):
        one = np.frombuffer(head[0] + number + head[1] + bytes([7]) + bytes(kernel.PADDING), np.uint8)
        assert (kernel.find_pages(one, pages) == 1) is known
    assert kernel.find_pages(np.frombuffer(data, np.uint8), pages) >= 2


def test_without_numba_nothing_is_counted_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(column([1, 2] * 50), path, compression="none")
    monkeypatch.setattr(sources, "pays", startup.pays)
    monkeypatch.setattr(startup, "_COMPILER", "discreet.kernels.no_such_module")
    monkeypatch.setattr(startup, "_lost", [0.0])
    assert counted(path) is None


def test_checksums_of_pages_are_compared_where_there_is_no_seal(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(column(np.arange(4000) % 9), path, compression="none", write_page_checksum=True)
    assert counted(path) == read(path)
    table = look(path)
    found = sources._column(table, 0)
    assert found is not None
    pages = np.empty((8, kernel.COLUMNS), np.int64)
    count = kernel.find_pages(found.data, pages)
    for page in pages[:count]:
        body = found.data[page[kernel.BEGIN] : page[kernel.BEGIN] + page[kernel.PACKED]]
        assert zlib.crc32(body) == page[kernel.CHECKSUM] & 0xFFFFFFFF


@pytest.mark.parametrize("verb", ["estimate", "compare"])
def test_plain_parquet_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    mechanism, plan, seen = RandomizedResponse(Domain(range(60)), 1.0), tmp_path / "plan.toml", list[Path]()
    Plan.of(mechanism).save(plan)
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"][: 1 if verb == "estimate" else 2]
    for seed, path in enumerate(files):
        write_reports(path, mechanism, mechanism.obfuscate_codes(np.arange(900) % 60, random=SeededRandom(seed)))
    distinct = Partition.distinct
    monkeypatch.setattr(Partition, "distinct", lambda part: seen.append(part.path) or distinct(part))
    given = [verb, str(plan), *map(str, files), "--json"]
    said = [CliRunner().invoke(main, [*given, *more]) for more in ([], ["--plain-parquet"])]
    assert said[0].output == said[1].output
    assert [one.exit_code for one in said] == [0, 0]
    assert seen == files


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["estimate", "{plan}", "{reports}", "--by", "region"], "--by or --weights"),
        (["compare", "{plan}", "{reports}", "--by", "region"], "it does not go with --by"),
        (["estimate", "{plan}", "{reports}", "--engine", "spark"], "--engine local"),
        (["estimate", "{plan}", "{reports}", "--method", "mle"], "reads every report as it is"),
    ],
)
def test_plain_parquet_is_refused_where_it_does_nothing(tmp_path: Path, arguments: list[str], why: str) -> None:
    mechanism, plan, reports = UnaryEncoding(Domain(range(9)), 1.0), tmp_path / "plan.toml", tmp_path / "a.parquet"
    Plan.of(mechanism).save(plan)
    write_reports(reports, mechanism, mechanism.obfuscate_codes(np.arange(90) % 9, random=SeededRandom(1)))
    given = [part.format(plan=plan, reports=reports) for part in arguments]
    refused = CliRunner().invoke(main, [*given, "--plain-parquet"])
    assert refused.exit_code != 0
    assert why in " ".join(refused.output.split())
