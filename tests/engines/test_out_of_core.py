"""Likelihoods of reports on disk: the estimates are those of the reports in memory, and no file is left behind."""

import gc
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet.formats.scanned as reading
from discreet import (
    Domain,
    Reports,
    SeededRandom,
    Sources,
    UnaryEncoding,
    estimate,
    write_reports,
)
from discreet.engines import LocalEngine
from discreet.mechanisms.evidence import StoredBlocks
from laws import Case, sampled

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


# Both methods read rows in one way; em goes through them far more often.
STRETCHED = [("em", Case(builder, "12of40", 1.0)) for builder in ("rr", "unary")]
STRETCHED += [
    ("mle", Case(builder, sizes, 1.0))
    for builder in ("unary", "unary-clear-bits", "subset", "hashing", "hadamard", "windows")
    for sizes in ("12of40", "40of40")
    if (builder, sizes) != ("unary-clear-bits", "40of40")
]


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
    data, _ = LocalEngine(folder=temporary, memory=0).evidence(case.mechanism, spread(case.mechanism, reports))
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
    data, _ = LocalEngine(folder=temporary, memory=0).evidence(MECHANISM, tmp_path / "a.parquet")
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


# Nothing is left behind


def test_files_have_no_names_and_end_with_their_arrays(spread: Any, temporary: Path) -> None:
    data, _ = LocalEngine(folder=temporary, memory=0).evidence(MECHANISM, spread(MECHANISM, reports_of(2000)))
    assert list(temporary.iterdir()) == []
    assert mapped_from(temporary) > 0 or sys.platform != "linux"
    estimate(MECHANISM, data, method="mle")
    del data
    gc.collect()
    assert mapped_from(temporary) == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_whatever_ends_the_reading_leaves_nothing(error: type[BaseException], spread: Any, temporary: Path) -> None:
    folder, calls = spread(MECHANISM, reports_of(2000)), []

    def interrupt(done: int, total: int | None) -> None:
        calls.append((done, total))
        if done > 500:
            raise error

    with pytest.raises(error):
        LocalEngine(folder=temporary, memory=0).evidence(MECHANISM, Sources(folder, progress=interrupt))
    gc.collect()
    assert calls[-1][1] == 2000
    assert list(temporary.iterdir()) == []
    assert mapped_from(temporary) == 0


def test_an_interrupted_pass_leaves_nothing(spread: Any, temporary: Path) -> None:
    def interrupt(passes: float, gap: float) -> None:
        raise KeyboardInterrupt

    data, _ = LocalEngine(folder=temporary, memory=0).evidence(MECHANISM, spread(MECHANISM, reports_of(2000)))
    with pytest.raises(KeyboardInterrupt):
        estimate(MECHANISM, data, method="em", progress=interrupt)
    del data
    gc.collect()
    assert list(temporary.iterdir()) == []
    assert mapped_from(temporary) == 0
