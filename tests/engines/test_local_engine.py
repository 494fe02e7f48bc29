"""Files and folders of reports, tallied in parts: the tally of all reports, or one sentence of what is wrong."""

from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet.formats.scanned as reading
from discreet import (
    Channel,
    Domain,
    RandomizedResponse,
    Reports,
    SeededRandom,
    Sources,
    SubsetSelection,
    UnaryEncoding,
    write_reports,
)
from discreet.engines import TallyFold, tally
from discreet.errors import DataError
from discreet.formats.scanned import CheckedBatch
from discreet.formats.sources import Account, SourceReader
from discreet.formats.tallies import write_tally
from discreet.mechanisms import BlockMechanism, report_tables
from laws import MEDIUM, Case, cases, over, sampled

every_law = over(cases(MEDIUM, (1.0,)))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts and batches so small that every file has many."""
    monkeypatch.setattr(reading, "PART_ROWS", 100)
    monkeypatch.setattr(reading, "BATCH_ROWS", 37)
    monkeypatch.setattr(reading, "LINES_AT_ONCE", 41)


def batches(reports: Reports, size: int) -> list[Reports]:
    return [reports.part(start, start + size) for start in range(0, reports.n, size)]


def spread(folder: Path, mechanism: BlockMechanism, reports: Reports) -> Path:
    """Write reports as a folder of files of every kind, some of them in folders of their own."""
    (folder / "day-2").mkdir(parents=True)
    places = ["a.parquet", "day-2/b.arrow", "c.jsonl", "day-2/d.PARQUET", "day-2/e.Jsonl.gz", "f.ARROW"]
    thirds = batches(reports, -(-reports.n // len(places)))
    for place, part in zip(places, thirds, strict=True):
        write_reports(folder / place, mechanism, batches(part, 60))
    (folder / "_SUCCESS").write_text("")
    (folder / ".a.parquet.crc").write_text("")
    return folder


@pytest.mark.usefixtures("small_parts")
@every_law
def test_a_folder_has_the_tally_of_all_its_reports(case: Case, tmp_path: Path) -> None:
    reports = sampled(case, 500)
    folder = spread(tmp_path / "reports", case.mechanism, reports)
    expected = case.mechanism.tally(reports)
    for threads in (1, 2, 3):
        found = tally(case.mechanism, folder, threads=threads)
        assert found.tally == expected
        assert (found.rows, found.bad, found.left_out) == (500, 0, {})


@every_law
def test_states_merge_in_any_order_and_in_pieces(case: Case) -> None:
    mechanism, reports = case.mechanism, sampled(case, 300)
    fold = TallyFold(mechanism)
    states, account = [], Account(mechanism)
    for part in batches(reports, 70):
        state = fold.zero()
        fold.add(state, CheckedBatch(part))
        account.add(CheckedBatch(part))
        states.append(state)
    expected = mechanism.tally(reports)
    for order in (states, states[::-1], states[2:] + states[:2]):
        whole = fold.zero()
        for state in order:
            fold.merge(whole, state)
        assert whole.dtype == np.int64
        assert fold.finish(whole, account).tally == expected
    in_pieces = np.concatenate([sum(state[cut : cut + 7] for state in states) for cut in range(0, len(states[0]), 7)])
    assert fold.finish(in_pieces, account).tally == expected
    assert fold.finish(fold.zero(), Account(mechanism)).tally == mechanism.empty_tally()


def test_an_explicit_channel_folds_too() -> None:
    channel = Channel([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    reports = channel.obfuscate_codes([0, 1] * 50, random=SeededRandom(3))
    fold = TallyFold(channel)
    state, account = fold.zero(), Account(channel)
    fold.add(state, CheckedBatch(reports))
    account.add(CheckedBatch(reports))
    assert fold.finish(state, account).tally == channel.tally(reports)


DOMAIN = Domain(range(50), sensitive=list(range(30)))
UNARY = UnaryEncoding(DOMAIN, 1.0)


def reports_of(mechanism: BlockMechanism, n: int = 400) -> Reports:
    return mechanism.obfuscate_codes(np.arange(n) % mechanism.domain.size, random=SeededRandom(1))


def test_tallies_join_the_reports_of_a_folder(tmp_path: Path) -> None:
    reports = reports_of(UNARY)
    write_reports(tmp_path / "a.parquet", UNARY, reports)
    others = UNARY.tally(reports_of(UNARY)[:300])
    write_tally(tmp_path / "b.tally.parquet", others)
    assert tally(UNARY, [tmp_path]).tally == UNARY.tally(reports) + others


# Bad rows

SUBSETS = SubsetSelection(DOMAIN, 1.0, k=3)
FLAWED: dict[str, dict[str, Any]] = {
    "hold both a block and a value in clear": {"clear": 41, "members": [1, 2, 3]},
    "hold neither a whole block nor a value in clear": {},
    "give a sensitive value in clear": {"clear": 7},
    "have a clear outside 0..49": {"clear": 50},
    "have a members outside 0..29": {"members": [1, 2, 30]},
    "hold a block that no device can send": {"members": [3, 2, 9]},
}


def with_flaws(path: Path, *, gap: bool) -> tuple[Reports, Counter[str]]:
    """Write good reports with bad rows among them, once, twice and so on."""
    good = reports_of(SUBSETS, 300)
    rows = report_tables.to_arrow(SUBSETS, good).to_pylist()
    expected: Counter[str] = Counter()
    for times, (reason, flawed) in enumerate(FLAWED.items(), start=1):
        for turn in range(times):
            rows.insert((97 * turn + 31 * times) % len(rows), {"clear": None, "members": None, **flawed})
        expected[reason] = times
    table = pa.Table.from_pylist(rows, schema=report_tables.schema_of(SUBSETS, simulated=True))
    if gap:
        reason, marks = "hold a list of members with nothing in some place", report_tables.schema_of(SUBSETS).metadata
        lists = pa.FixedSizeListArray.from_arrays(pa.array([1, None, 5], pa.uint8()), type=table.schema.field(1).type)
        one = pa.Table.from_arrays([pa.array([None], pa.uint8()), lists], schema=table.schema)
        table, expected[reason] = pa.concat_tables([one, table]).replace_schema_metadata(marks), 1
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as sink:
        sink.write_table(table, max_chunksize=50)
    return good, expected


@pytest.mark.parametrize("gap", [False, True])
def test_bad_rows_are_counted_by_reason(tmp_path: Path, gap: bool) -> None:
    good, expected = with_flaws(tmp_path / "a.arrow", gap=gap)
    found = tally(SUBSETS, Sources(tmp_path, bad_share=0.1))
    assert found.left_out == dict(expected)
    assert (found.bad, found.rows) == (expected.total(), 300 + expected.total())
    np.testing.assert_array_equal(found.tally.support, SUBSETS.tally(good).support)
    np.testing.assert_array_equal(found.tally.clear, SUBSETS.tally(good).clear)
    with pytest.raises(DataError, match=rf"{found.bad} of {found.rows} rows .*bad-share.exceeded"):
        tally(SUBSETS, Sources(tmp_path, bad_share=0.05))
    with pytest.raises(DataError, match="leave"):
        tally(SUBSETS, tmp_path)


# Threads


def test_an_interruption_ends_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in range(20):
        write_reports(tmp_path / f"{name}.parquet", UNARY, reports_of(UNARY, 400 + name))
    monkeypatch.setattr("discreet.engines.engine.SECONDS_BETWEEN", 0.0)
    part, stop, begun, stopped = SourceReader.part, SourceReader.stop, [], Event()

    def held(reader: SourceReader, each: Any) -> Any:
        begun.append(each)
        assert stopped.wait(60)
        yield from part(reader, each)

    def stopping(reader: SourceReader) -> None:
        stop(reader)
        stopped.set()

    def interrupted(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SourceReader, "part", held)
    monkeypatch.setattr(SourceReader, "stop", stopping)
    with pytest.raises(KeyboardInterrupt):
        tally(UNARY, Sources(tmp_path, progress=interrupted), threads=3)
    assert len(begun) <= 3


def test_every_thread_needs_a_state_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = RandomizedResponse(Domain(range(1000)), 1.0)
    reports = reports_of(mechanism, 5000)
    for part, some in enumerate(batches(reports, 1000)):
        write_reports(tmp_path / f"{part}.parquet", mechanism, some)
    monkeypatch.setattr("discreet.engines.engine.STATES_BYTES", 1)
    assert tally(mechanism, tmp_path, threads=4).tally == mechanism.tally(reports)
