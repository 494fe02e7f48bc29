"""What a tally is measured against counts the same, on as many threads; whoever is faster is said to be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import scale
from discreet import Domain, RandomizedResponse, write_reports


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    mechanism, path = RandomizedResponse(Domain(range(1000)), 1.0), tmp_path / "reports.parquet"
    write_reports(path, mechanism, scale.made_up(mechanism, 5000), force=True)
    return path


@pytest.mark.parametrize("work", [scale.bincount, scale.loop])
def test_every_limit_counts_every_report(
    stored: Path, work: Any, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    seen = []
    scanned = scale.scan_and_add

    def watched(mechanism: Any, path: Path, add: Any) -> None:
        def adding(values: np.ndarray, counts: np.ndarray) -> None:
            before = counts.copy()
            add(values, counts)
            assert (counts - before == np.bincount(values, minlength=len(counts))).all()
            seen.append(len(values))

        scanned(mechanism, path, adding)

    monkeypatch.setattr(scale, "scan_and_add", watched)
    work(RandomizedResponse(Domain(range(1000)), 1.0), stored)
    assert sum(seen) == 5000
    assert not recwarn.list
