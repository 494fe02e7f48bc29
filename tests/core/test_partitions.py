"""Cells of values: the marginals of an array in any order of axes, against a loop."""

from itertools import permutations, product

import numpy as np
import pytest

from discreet.core.grouping import AxisPartition

SHAPE = (2, 3, 4)


@pytest.mark.parametrize("kept", [axes for size in (1, 2, 3) for axes in permutations(range(3), size)], ids=str)
def test_a_marginal_adds_up_what_a_loop_adds_up(kept: tuple[int, ...]) -> None:
    each, places = np.random.default_rng(1).random(24), list(product(*map(range, SHAPE)))
    sizes = [SHAPE[axis] for axis in kept]
    partition = AxisPartition(int(np.prod(sizes)), SHAPE, kept)
    cells = [int(np.ravel_multi_index([place[axis] for axis in kept], sizes)) for place in places]
    assert partition.total(each) == pytest.approx(np.bincount(cells, each))
    weights = np.arange(partition.size) + 1.0
    assert (partition.lifted(weights) == weights[cells]).all()
