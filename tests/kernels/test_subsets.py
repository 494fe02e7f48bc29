"""Products with lists of members, against loops."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.kernels.members import members_dot, members_dot_transposed

_TYPES = [np.uint8, np.uint16, np.uint32, np.uint64]


def _loop(members: NDArray[Any], values: NDArray[np.float64]) -> list[float]:
    return [sum(values[x] for x in row if x < len(values)) for row in members.tolist()]


def _loop_transposed(members: NDArray[Any], weights: NDArray[np.float64], size: int) -> list[float]:
    sums = [0.0] * size
    for row, weight in zip(members.tolist(), weights.tolist(), strict=True):
        for x in row:
            if x < size:
                sums[x] += weight
    return sums


@settings(deadline=None)  # The first call compiles.
@given(
    m=st.sampled_from([0, 1, 7, 33, 100]),
    k=st.sampled_from([0, 1, 2, 9, 40]),
    size=st.sampled_from([0, 1, 8, 31, 255]),
    dtype=st.sampled_from(_TYPES),
    seed=st.integers(0, 2**32),
)
def test_products_equal_the_loops(m: int, k: int, size: int, dtype: type, seed: int) -> None:
    random = np.random.default_rng(seed)
    # One past the end, and the largest that the type can say, are in the lists too.
    members = random.integers(0, size + 1, (m, k)).astype(dtype)
    members[random.random((m, k)) < 0.05] = np.iinfo(dtype).max
    values, weights = random.normal(size=size), random.normal(size=m)
    dot = members_dot(members, values)
    assert dot.dtype == np.float64
    np.testing.assert_allclose(dot, _loop(members, values), atol=1e-12)
    transposed = members_dot_transposed(members, weights, size)
    assert transposed.dtype == np.float64
    np.testing.assert_allclose(transposed, _loop_transposed(members, weights, size), atol=1e-12)
