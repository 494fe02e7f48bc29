"""Likelihoods of reports on disk: the estimates are those of the reports in memory, and no file is left behind."""

import errno
import gc
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet.formats.scanned as reading
from discreet import (
    Channel,
    Domain,
    LocalHashing,
    Reports,
    SeededRandom,
    Sources,
    SubsetSelection,
    UnaryEncoding,
    estimate,
    write_reports,
)
from discreet.engines import evidence as stored
from discreet.engines import gather
from discreet.errors import DataError, ParameterError
from discreet.formats.tallies import write_tally
from discreet.mechanisms.evidence import StoredBlocks
from laws import MEDIUM, Case, cases, sampled

MECHANISM = UnaryEncoding(Domain(range(70), sensitive=list(range(45))), 2.0)


@pytest.fixture
def spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write reports in files whose batches do not fill tiles."""
    monkeypatch.setattr(reading, "BATCH_ROWS", 37)

    def write(mechanism: Any, reports: Reports) -> Path:
        folder = tmp_path / "reports"
        folder.mkdir()
        for place, start in enumerate(range(0, reports.n, 301)):
            write_reports(folder / f"{place}.parquet", mechanism, reports.part(start, start + 301))
        return folder

    return write


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def reports_of(n: int) -> Reports:
    codes = np.random.default_rng(2).choice(70, n, p=np.arange(70, 0, -1) / np.arange(71).sum())
    return MECHANISM.obfuscate_codes(codes, random=SeededRandom(4))


def mapped_from(folder: Path) -> int:
    """Return how many files of a folder, with or without names, this process still has mapped or open."""
    if sys.platform != "linux":
        return 0
    lines = Path("/proc/self/maps").read_text().splitlines()
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(str(folder) in line for line in [*lines, *links])


# Every law, and the one of several columns with every number of values.
STORED = cases({"12of40": MEDIUM["12of40"]}, (1.0,))
SIZED = [Case(builder, sizes, 1.0) for sizes in ("1of40", "40of40") for builder in ("unary", "subset", "hashing-pool")]


@pytest.mark.parametrize("case", [*STORED, *SIZED], ids=str)
def test_estimates_are_those_in_memory(case: Case, spread: Any, temporary: Path) -> None:
    reports = sampled(case, 700)
    found, left_out = gather(case.mechanism, spread(case.mechanism, reports), folder=temporary, memory=0)
    assert isinstance(found, StoredBlocks)
    assert not left_out
    assert found.tally == case.mechanism.tally(reports)
    for method in ("mle", "em", "linear"):
        inside, outside = (estimate(case.mechanism, data, method=method) for data in (reports, found))
        np.testing.assert_allclose(outside.frequencies, inside.frequencies, rtol=0, atol=1e-12)
        np.testing.assert_allclose(outside.standard_errors, inside.standard_errors, rtol=0, atol=1e-12)
        assert outside.n == inside.n
        assert (outside.gap is None) == (inside.gap is None)
        assert outside.gap is None or outside.gap == pytest.approx(inside.gap, abs=1e-12)
        if (method, case.builder) == ("mle", "unary"):
            np.testing.assert_allclose(outside.limits(), inside.limits(), rtol=1e-8, atol=1e-12)


# Both read rows in one way; em goes through them far more often.
STRETCHED = [("mle", case) for case in [*STORED, *SIZED]]
STRETCHED += [("em", Case(builder, "12of40", 1.0)) for builder in ("rr", "unary", "subset", "hashing-pool")]


@pytest.mark.parametrize(("method", "case"), STRETCHED, ids=str)
def test_stretches_of_rows_change_nothing(
    case: Case, method: str, spread: Any, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are worked on a few at a time: nothing is lost where stretches and pieces of them meet."""
    reports = sampled(case, 700)
    # In memory strings of few bits are counted: the same to rounding only.
    monkeypatch.setattr("discreet.mechanisms.laws.bits.FEW_BITS", 0)
    whole = estimate(case.mechanism, reports, method=method)
    monkeypatch.setattr("discreet.estimators.likelihood.STRETCH", 160)
    monkeypatch.setattr("discreet.estimators.likelihood.PIECE", 50)
    data, _ = gather(case.mechanism, spread(case.mechanism, reports), folder=temporary, memory=0)
    inside, outside = (estimate(case.mechanism, found, method=method) for found in (reports, data))
    np.testing.assert_array_equal(outside.frequencies, inside.frequencies)
    assert (outside.gap, outside.passes) == (inside.gap, inside.passes)
    np.testing.assert_allclose(inside.frequencies, whole.frequencies, rtol=0, atol=1e-10)
    np.testing.assert_allclose(inside.standard_errors, whole.standard_errors, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("on_disk", "method"), [(True, "mle"), (True, "em"), (False, "mle")])
def test_nothing_as_long_as_all_rows_is_in_memory(
    on_disk: bool, method: str, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number for every report would be 8 n bytes; without files to keep it in, the same measurement finds it."""
    monkeypatch.setattr("discreet.estimators.likelihood.STRETCH", 1 << 13)
    n = 200_000
    write_reports(tmp_path / "a.parquet", MECHANISM, reports_of(n))
    data, _ = gather(MECHANISM, tmp_path / "a.parquet", folder=temporary, memory=0)
    if not on_disk:
        data = StoredBlocks(data.tally, data.membership)
    estimate(MECHANISM, data, method=method)
    tracemalloc.start()
    try:
        found = estimate(MECHANISM, data, method=method)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.n == n
    rows = data.membership.rows
    assert rows > n / 2
    assert most < 4 * rows if on_disk else most > 8 * rows


def resident(folder: Path) -> int:
    """Return how many bytes of files of a folder are in this process's memory."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            ours = str(folder) in line
        elif ours and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


@pytest.mark.skipif(sys.platform != "linux", reason="says where memory goes on Linux only")
@pytest.mark.parametrize("mechanism", [UnaryEncoding, SubsetSelection, LocalHashing])
def test_products_let_go_of_what_they_read(mechanism: Any, temporary: Path, tmp_path: Path) -> None:
    """Whatever the law's matrix is read from, it is in memory when it was looked at, and not after a product."""
    mechanism = mechanism(Domain(range(60)), 1.0)
    write_reports(tmp_path / "a.parquet", mechanism, mechanism.obfuscate_codes(np.arange(100_000) % 60))
    membership = gather(mechanism, tmp_path / "a.parquet", folder=temporary, memory=0)[0].membership
    weights = np.ones(membership.rows)
    for product in (lambda: membership.dot(np.ones(60)), lambda: membership.transpose_dot(weights)):
        for column in getattr(membership, "blocks", {"tiles": getattr(membership, "tiles", None)}).values():
            assert column is None or column.max() >= 0
        if hasattr(membership, "members"):
            membership.members.max()
        assert resident(temporary) > 300_000
        product()
        assert resident(temporary) < 100_000


# Reading


def test_tallies_have_no_blocks(tmp_path: Path) -> None:
    write_tally(tmp_path / "a.tally.parquet", MECHANISM.tally(reports_of(10)))
    data, _ = gather(MECHANISM, tmp_path)
    assert data == MECHANISM.tally(reports_of(10))
    write_reports(tmp_path / "b.parquet", MECHANISM, reports_of(10))
    with pytest.raises(ParameterError, match=r"sources.with-tallies"):
        gather(MECHANISM, tmp_path)
    with pytest.raises(ParameterError, match=r"mechanism\.without-blocks"):
        stored.BlockWriter(Channel([[0.9, 0.1], [0.1, 0.9]]))


# Nothing is left behind


def test_files_have_no_names_and_end_with_their_arrays(spread: Any, temporary: Path) -> None:
    data, _ = gather(MECHANISM, spread(MECHANISM, reports_of(2000)), folder=temporary, memory=0)
    assert list(temporary.iterdir()) == []
    assert mapped_from(temporary) > 0 or sys.platform != "linux"
    estimate(MECHANISM, data, method="mle")
    del data
    gc.collect()
    assert mapped_from(temporary) == 0


class _FullDisk:
    """A file that takes so many bytes and no more."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self._room = file, room

    def write(self, some: Any) -> int:
        if self._room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._file.write(some[: self._room])
        self._room -= written
        return int(written)

    def close(self) -> None:
        self._file.close()


@pytest.mark.parametrize("room", [0, 100, 6000])
def test_a_full_disk_is_one_sentence(room: int, spread: Any, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = spread(MECHANISM, reports_of(4000))
    make = stored.tempfile.TemporaryFile
    monkeypatch.setattr(stored.tempfile, "TemporaryFile", lambda **options: _FullDisk(make(**options), room))
    with pytest.raises(DataError, match=r"temporary.no-room"):
        gather(MECHANISM, folder, folder=temporary, memory=0)
    gc.collect()
    assert list(temporary.iterdir()) == []
    assert mapped_from(temporary) == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_whatever_ends_the_reading_leaves_nothing(error: type[BaseException], spread: Any, temporary: Path) -> None:
    folder, calls = spread(MECHANISM, reports_of(2000)), []

    def interrupt(done: int, total: int | None) -> None:
        calls.append((done, total))
        if done > 500:
            raise error

    with pytest.raises(error):
        gather(MECHANISM, Sources(folder, progress=interrupt), folder=temporary, memory=0)
    gc.collect()
    assert calls[-1][1] == 2000
    assert list(temporary.iterdir()) == []
    assert mapped_from(temporary) == 0


def test_an_interrupted_pass_leaves_nothing(spread: Any, temporary: Path) -> None:
    def interrupt(passes: float, gap: float) -> None:
        raise KeyboardInterrupt

    data, _ = gather(MECHANISM, spread(MECHANISM, reports_of(2000)), folder=temporary, memory=0)
    with pytest.raises(KeyboardInterrupt):
        estimate(MECHANISM, data, method="em", progress=interrupt)
    del data
    gc.collect()
    assert list(temporary.iterdir()) == []
    assert mapped_from(temporary) == 0
