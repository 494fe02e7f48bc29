"""What a tally is measured against counts the same, on as many threads; whoever is faster is said to be."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import scale
from bench.measure import Row
from discreet import Domain, RandomizedResponse
from discreet.formats.reports import write_reports


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    mechanism, path = RandomizedResponse(Domain(range(1000)), 1.0), tmp_path / "reports.parquet"
    write_reports(path, mechanism, scale.made_up(mechanism, 5000), force=True)
    return path


@pytest.mark.parametrize("work", [scale._bincount, scale._loop])
def test_every_limit_counts_every_report(
    stored: Path, work: Any, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    seen = []
    scanned = scale._scan_and_add

    def watched(mechanism: Any, path: Path, add: Any) -> None:
        def adding(values: np.ndarray, counts: np.ndarray) -> None:
            before = counts.copy()
            add(values, counts)
            assert (counts - before == np.bincount(values, minlength=len(counts))).all()
            seen.append(len(values))

        scanned(mechanism, path, adding)

    monkeypatch.setattr(scale, "_scan_and_add", watched)
    work(RandomizedResponse(Domain(range(1000)), 1.0), stored)
    assert sum(seen) == 5000
    assert not recwarn.list


class _Others:
    """Answers like DuckDB's process, in so many seconds."""

    def __init__(self, taken: float) -> None:
        self.taken = taken

    def ask(self, *_: object, **__: object) -> dict[str, dict[str, float]]:
        return {"duckdb": {"seconds": self.taken}}


@pytest.mark.slow
def test_the_row_says_who_is_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def row_of(taken: float) -> Row:
        return scale._tally_row("RR, |X| = 1e3", tmp_path, _Others(taken), 3000, 1)  # type: ignore[arg-type]

    # One of the two ways to add: the other one compiles, and both count every report above.
    monkeypatch.setattr(scale, "ADDING", ("bincount",))
    slower = row_of(1e-9)
    assert slower.cells["faster"] == "DuckDB"
    assert slower.cells["times limit"] == pytest.approx(slower.cells["seconds"] / slower.cells["scan and adds"])
    assert json.dumps(slower.cells["scan"])
    assert slower.met is False
    # Beside it our own processes need not run again.
    known = {what: slower.cells[what] for what in ("seconds", "peak MB")}
    monkeypatch.setattr(scale, "_warm", lambda *_: nullcontext(lambda: known))
    assert row_of(1e9).cells["faster"] == "ours"
