"""Histograms against a loop, by NumPy and compiled, and when compiled kernels are started."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.kernels import counting

_TYPES = [np.uint8, np.uint16, np.uint32, np.int32, np.int64]
# Both sides of the change from NumPy's histogram, and from four compiled ones, to single additions.
_SIZES = st.sampled_from([0, 1, 2, 5, 64, 65, 625, 1 << 14, (1 << 14) + 1])


def count_symbols(symbols: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Count in both ways, which must agree."""
    with patch.object(counting, "compiled_pays", lambda _: True):
        compiled = counting.count_symbols(symbols, size)
    with patch.object(counting, "compiled_pays", lambda _: False):
        counts = counting.count_symbols(symbols, size)
    np.testing.assert_array_equal(compiled, counts)
    return counts


def _loop(symbols: NDArray[Any], size: int) -> list[int]:
    counts = [0] * size
    for symbol in symbols.reshape(-1).tolist():
        if 0 <= symbol < size:
            counts[symbol] += 1
    return counts


@settings(deadline=None)
@given(size=_SIZES, data=st.data(), dtype=st.sampled_from(_TYPES))
def test_counts_equal_the_loop(size: int, data: st.DataObject, dtype: type) -> None:
    info = np.iinfo(dtype)
    near = st.integers(max(info.min, -2), min(info.max, size + 2))
    symbol = st.one_of(near, st.sampled_from([int(info.min), int(info.max)]))
    symbols = np.array(data.draw(st.lists(symbol, max_size=40)), dtype)
    counts = count_symbols(symbols, size)
    assert counts.dtype == np.int64
    assert counts.tolist() == _loop(symbols, size)


@pytest.mark.parametrize("size", [7, 20_000])
def test_any_shape_and_stride(size: int) -> None:
    symbols = np.arange(6 * 35, dtype=np.uint16).reshape(6, 35) % size
    for view in (symbols, symbols.T, symbols[::2, 1::3], symbols.reshape(2, 3, 35)):
        assert count_symbols(view, size).tolist() == _loop(view, size)
