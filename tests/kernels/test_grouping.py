"""Counts by group against counting each group by itself, by NumPy and compiled."""

import numpy as np
import pytest

from discreet.kernels import counting
from packing import each

RANDOM = np.random.default_rng(11)
# One group with more reports than eight bits count, twice over, one with few, one with none.
GROUPS = RANDOM.permutation(np.repeat([0, 1, 3], [700, 255, 30])).astype(np.int32)


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "compiled_pays", lambda _: request.param)


@pytest.mark.parametrize("shape", [(), (1,), (4,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64])
def test_symbols_of_each_group(shape: tuple[int, ...], dtype: type) -> None:
    symbols = RANDOM.integers(0, 9, (len(GROUPS), *shape)).astype(dtype)
    # What is outside of the counts is ignored.
    symbols[:5] = -1 if np.iinfo(dtype).min else 250
    counts = np.ones((4, 7), np.int64)
    counting.add_grouped_symbols(symbols, GROUPS, counts)
    assert counts.tolist() == [(1 + counting.count_symbols(symbols[at == GROUPS], 7)).tolist() for at in range(4)]
    with pytest.raises(ValueError, match="must be integers, got float64"):
        counting.add_grouped_symbols(symbols.astype(float), GROUPS, counts)


@each("size", [1, 7, 8, 9, 64, 100])
@each("share", [0.5, 1.0])
def test_bits_of_each_group(size: int, share: float) -> None:
    bits = RANDOM.random((len(GROUPS), size)) < share
    packed, counts = np.packbits(bits, axis=1, bitorder="little"), np.ones((4, size), np.int64)
    counting.add_bits(packed, GROUPS, counts)
    assert counts.tolist() == [(1 + bits[at == GROUPS].sum(axis=0)).tolist() for at in range(4)]
    with pytest.raises(ValueError, match="must be uint8"):
        counting.add_bits(packed, GROUPS, np.zeros((4, size + 8), np.int64))


@pytest.mark.parametrize("greatest", [3, 1 << 16])
def test_runs_are_the_groups_that_occur_in_order(greatest: int) -> None:
    groups = np.where(GROUPS == 3, greatest, GROUPS)
    order, runs = counting.runs_of(groups)
    assert [group for group, *_ in runs] == [0, 1, greatest]
    for group, start, stop in runs:
        assert order[start:stop].tolist() == np.flatnonzero(groups == group).tolist()
