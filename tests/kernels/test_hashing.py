"""Inverted hashes against trying every value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.kernels import hashing
from discreet.kernels.hashing import add_preimages, preimages_dot, preimages_dot_transposed

_Columns = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]
_PARAMETERS = [
    # prime, buckets, size
    (2, 1, 2),
    (2, 2, 1),
    (7, 5, 5),
    (101, 3, 100),
    (631, 7, 625),
    (631, 630, 625),
    (10007, 10007, 40),
    (2147483647, 2**29 + 3, 2**31 - 1),
    (2147483659, 2**29 - 3, 2**31),
    (4294967291, 2**28, 4294967291),
    (4294967291, 4294967291, 4294967291),
]
_SPARSE = 10**6


def _draw(m: int, prime: int, buckets: int, seed: int) -> _Columns:
    random = np.random.default_rng(seed)
    alpha = random.integers(1, prime, m).astype(np.uint32)
    beta = random.integers(0, prime, m).astype(np.uint32)
    bucket = random.integers(0, min(buckets, prime), m).astype(np.uint32)
    if m:
        alpha[-1], beta[-1], bucket[-1] = prime - 1, prime - 1, min(buckets, prime) - 1
    return alpha, beta, bucket


def _blocks(columns: _Columns, prime: int, buckets: int, size: int) -> list[list[int]]:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    blocks = [[(alpha * z + beta) % prime for z in range(bucket, prime, buckets)] for alpha, beta, bucket in rows]
    return [[x for x in block if x < size] for block in blocks]


def count_preimages(
    *columns: NDArray[np.unsignedinteger[Any]], prime: int, buckets: int, size: int
) -> NDArray[np.int64]:
    counts = np.zeros((1, size), np.int64)
    groups = np.zeros(len(columns[0]), np.int32)
    add_preimages((columns[0], columns[1], columns[2]), groups, counts, prime=prime, buckets=buckets)
    return counts[0]


def _check(columns: _Columns, prime: int, buckets: int, size: int) -> None:
    blocks = _blocks(columns, prime, buckets, size)
    random = np.random.default_rng(5)
    values, weights = random.normal(size=size), random.normal(size=len(blocks))
    counts, sums = np.zeros(size, np.int64), np.zeros(size)
    for block, weight in zip(blocks, weights, strict=True):
        for x in block:
            counts[x] += 1
            sums[x] += weight
    law = {"prime": prime, "buckets": buckets}
    counted = count_preimages(*columns, **law, size=size)
    assert counted.dtype == np.int64
    np.testing.assert_array_equal(counted, counts)
    dot = preimages_dot(*columns, values, **law)
    assert dot.dtype == np.float64
    expected = [sum(values[x] for x in block) for block in blocks]
    np.testing.assert_allclose(dot, expected, atol=1e-11)
    transposed = preimages_dot_transposed(*columns, weights, **law, size=size)
    assert transposed.dtype == np.float64
    np.testing.assert_allclose(transposed, sums, atol=1e-11)


@settings(deadline=None)  # The first call compiles.
@given(
    m=st.sampled_from([0, 1, 7, 8, 63, 64, 65, 130]),
    parameters=st.sampled_from([p for p in _PARAMETERS if p[2] < _SPARSE]),
    seed=st.integers(0, 2**32),
)
def test_kernels_equal_the_loops(m: int, parameters: tuple[int, int, int], seed: int) -> None:
    prime, buckets, size = parameters
    _check(_draw(m, prime, buckets, seed), prime, buckets, size)


@pytest.mark.parametrize(("prime", "buckets", "size"), [p for p in _PARAMETERS if p[2] >= _SPARSE])
def test_walks_near_the_end_of_32_bits(prime: int, buckets: int, size: int) -> None:
    # Too many values for arrays, so the walk itself is compared.
    columns = _draw(64, prime, buckets, seed=3)
    x, step, visits = hashing.begin_walks(columns, 0, prime, buckets)
    walks: list[list[int]] = [[] for _ in x]
    for visit in range(visits.max()):
        hashing.retire_walks(x, visits, visit)
        for walk, here in zip(walks, x.tolist(), strict=True):
            walk.extend([here] if here < size else [])
        hashing.advance_walks(x, step, prime)
    assert walks == _blocks(columns, prime, buckets, size)


@pytest.mark.parametrize("kernel", [preimages_dot, preimages_dot_transposed])
def test_any_number_of_threads_gives_the_same_bits(kernel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "STEPS_PER_TASK", 1000)
    columns = _draw(3001, 101, 9, seed=1)
    vector = np.random.default_rng(2).normal(size=3001)
    arguments: dict[str, int] = {"prime": 101, "buckets": 9}
    if kernel is preimages_dot:
        vector = vector[:97]
    else:
        arguments["size"] = 97
    results = {kernel(*columns, vector, **arguments, threads=t).tobytes() for t in (1, 2, 3)}
    assert len(results) == 1
    _check(columns, 101, 9, 97)
