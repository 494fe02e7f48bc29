"""Sorted rows: the order of Python's byte strings, in memory and through files, which are nobody else's."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.formats import sealing
from discreet.formats.sealing import RowSort
from discreet.kernels.row_order import sorted_rows


def _sorted(rows: np.ndarray) -> list[bytes]:
    return sorted(row.tobytes() for row in rows)


@given(st.integers(1, 30), st.integers(0, 200), st.sampled_from([1, 2, 255]), st.integers(0, 2**32 - 1))
def test_rows_are_sorted_as_byte_strings(width: int, n: int, largest: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, largest + 1, (n, width)).astype(np.uint8)
    assert [row.tobytes() for row in sorted_rows(rows)] == _sorted(rows)


@pytest.mark.parametrize("width", [1, 8, 9, 27])
@pytest.mark.parametrize("largest", [1, 255])
def test_runs_are_merged(width: int, largest: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So little memory that there are many runs, in memory and in files, and blocks of a few rows."""
    monkeypatch.setattr(sealing, "LEAST_ROWS", 7)
    monkeypatch.setattr(sealing, "LEAST_BLOCK", 3)
    rows = np.random.default_rng(1).integers(0, largest + 1, (3000, width)).astype(np.uint8)
    with RowSort(width, memory=3000 * width, folder=tmp_path) as order:
        for start in range(0, 3000, 101):
            order.add(rows[start : start + 101])
        found = [row.tobytes() for batch in order.batches() for row in batch]
        in_files = sum(run.file is not None for run in order.runs)
        assert 0 < in_files < len(order.runs)
        assert {os.fstat(run.file.fileno()).st_mode & 0o777 for run in order.runs if run.file is not None} == {0o600}
        assert not list(tmp_path.iterdir())
    assert found == _sorted(rows)


def test_memory_is_bounded(tmp_path: Path) -> None:
    import tracemalloc

    rng = np.random.default_rng(1)
    tracemalloc.start()
    with RowSort(32, memory=1 << 19, folder=tmp_path) as order:
        for _ in range(40):
            order.add(rng.integers(0, 256, (2500, 32), dtype=np.uint8))
        assert sum(len(batch) for batch in order.batches()) == 100_000
    assert tracemalloc.get_traced_memory()[1] < 4 << 19
    tracemalloc.stop()
