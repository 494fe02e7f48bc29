"""Packed bits against unpacked matrices."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.kernels import bits, counting
from discreet.kernels.bits import tiles_dot, tiles_dot_transposed, transpose_tiles

_ROWS = st.sampled_from([0, 1, 7, 8, 31, 32, 33, 100])
_SIZES = st.sampled_from([0, 1, 7, 8, 9, 15, 31, 32, 33, 625])
_SEEDS = st.integers(0, 2**32)
# Float32 sums may be off by this much, relative to the sum of absolute values.
_TOLERANCE: dict[type, float] = {np.float32: 1e-6, np.float64: 1e-14}


def count_columns(rows: NDArray[np.uint8], size: int) -> NDArray[np.int64]:
    """Count in both ways, which must agree."""
    with patch.object(counting, "compiled_pays", lambda _: True):
        compiled = counting.count_columns(rows, size)
    with patch.object(counting, "compiled_pays", lambda _: False):
        counts = counting.count_columns(rows, size)
    np.testing.assert_array_equal(compiled, counts)
    return counts


def _draw(m: int, size: int, seed: int) -> NDArray[np.bool_]:
    random = np.random.default_rng(seed)
    matrix = random.random((m, size)) < random.choice([0.02, 0.5, 1.0])
    matrix[-1:, :] |= random.random() < 0.5
    matrix[:, -1:] |= random.random() < 0.5
    return matrix


def _pack(matrix: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(matrix, axis=1, bitorder="little")


@settings(deadline=None)  # The first call compiles.
@given(m=_ROWS, size=_SIZES, seed=_SEEDS)
def test_counts_equal_the_column_sums(m: int, size: int, seed: int) -> None:
    matrix = _draw(m, size, seed)
    counts = count_columns(_pack(matrix), size)
    assert counts.dtype == np.int64
    assert counts.tolist() == matrix.sum(axis=0).tolist()


def test_counts_carry_into_every_digit() -> None:
    # A full column makes every carry ripple to the top.
    rows = np.full((128 * 517 + 5, 64), 255, np.uint8)
    assert (count_columns(rows, 512) == 128 * 517 + 5).all()


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 63, 64, 65, 200])
def test_counts_piece_by_piece(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "BYTES_AT_ONCE", 64)
    matrix = _draw(rows, 15, seed=rows)
    assert count_columns(_pack(matrix), 15).tolist() == matrix.sum(axis=0).tolist()


@pytest.mark.parametrize("threads", [1, 2, 3, None])
def test_counts_over_several_tasks(threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "BYTES_PER_TASK", 1)
    monkeypatch.setattr(bits, "MOST_TASKS", 5)
    matrix = _draw(128 * 11 + 77, 625, seed=4)
    counts = bits.count_columns(_pack(matrix), 625, threads=threads)
    assert counts.tolist() == matrix.sum(axis=0).tolist()


@settings(deadline=None)  # The first call compiles.
@given(m=_ROWS, size=_SIZES, seed=_SEEDS, dtype=st.sampled_from([np.float32, np.float64]))
def test_products_equal_the_matrix_products(m: int, size: int, seed: int, dtype: type) -> None:
    matrix = _draw(m, size, seed)
    random = np.random.default_rng(seed + 1)
    values, weights = random.normal(size=size).astype(dtype), random.normal(size=m).astype(dtype)
    _check_products(matrix, values, weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "size"), [(129, 4096), (1025, 4097), (333, 9001)])
def test_products_beyond_one_span(m: int, size: int, dtype: type) -> None:
    random = np.random.default_rng(6)
    values, weights = random.random(size).astype(dtype), random.random(m).astype(dtype)
    _check_products(_draw(m, size, seed=7), values, weights)


def _check_products(matrix: NDArray[np.bool_], values: NDArray[Any], weights: NDArray[Any]) -> None:
    m, size = matrix.shape
    ones = matrix.astype(np.float64)
    tolerance = _TOLERANCE[values.dtype.type]
    tiles = transpose_tiles(_pack(matrix), size)
    dot = tiles_dot(tiles, values, m)
    assert dot.dtype == values.dtype
    assert (np.abs(dot - ones @ values) <= tolerance * (ones @ np.abs(values))).all()
    transposed = tiles_dot_transposed(tiles, weights)
    assert transposed.dtype == np.float64
    assert (np.abs(transposed - weights @ ones) <= tolerance * (np.abs(weights) @ ones)).all()


def test_many_float32_values_do_not_drift() -> None:
    # A float32 running sum of this many thirds, in one lane or in sixteen, would be off by more.
    size = 1 << 21
    tiles = np.full((1, size), 1, np.uint32)
    values = np.full(size, 1 / 3, np.float32)
    np.testing.assert_allclose(tiles_dot(tiles, values, 1), float(values[0]) * size, 1e-6)
