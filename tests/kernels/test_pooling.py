"""Products with a pool's blocks, against a plain loop over values and functions."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.kernels.hashing import gather_buckets, scatter_buckets
from packing import each

LARGEST = (1 << 31) - 1


def hashed(coefficients: Any, size: int, prime: int, buckets: int) -> Any:
    """Return ``(m, size)`` buckets, in Python integers."""
    rows = [[int(c) for c in row] for row in coefficients]
    return np.array([[sum(c * x**k for k, c in enumerate(row)) % prime % buckets for x in range(size)] for row in rows])


def drawn(seed: int, functions: int, prime: int) -> Any:
    return np.random.default_rng(seed).integers(0, prime, (functions, 4)).astype(np.uint32)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([2, 3, 7, 101, 8209, LARGEST]),
    st.integers(0, 300),
    st.integers(1, 2000),
    st.integers(0, 4),
    st.integers(0, 1 << 32),
)
def test_both_products_are_the_loop(prime: int, size: int, buckets: int, functions: int, seed: int) -> None:
    size, coefficients, random = min(size, prime), drawn(seed, functions, prime), np.random.default_rng(seed)
    where = hashed(coefficients, size, prime, buckets).reshape(functions, size).astype(np.int64)
    tables, values = random.integers(0, 1 << 40, (functions, buckets)), random.integers(0, 1000, size)
    wanted = sum((table[row] for table, row in zip(tables, where, strict=True)), np.zeros(size, np.int64))
    found = gather_buckets(coefficients, tables, prime=prime, size=size)
    assert found.dtype == np.int64
    assert found.tolist() == wanted.tolist()
    sums = scatter_buckets(coefficients, values.astype(np.float64), prime=prime, buckets=buckets)
    assert sums.shape == (functions, buckets)
    for row, total in zip(where, sums, strict=True):
        assert total.tolist() == np.bincount(row, values, buckets).tolist()


@each("prime", [16411, LARGEST])
@each("size", [127, 128, 129, 4095, 4096, 4097, 9000])
@each("buckets", [1, 2, 3, 1023, 1024, 1025, 65_536])
def test_where_tiles_and_lanes_end(prime: int, size: int, buckets: int) -> None:
    coefficients = np.vstack([drawn(1, 2, prime), np.full((1, 4), prime - 1, np.uint32)])
    where = hashed(coefficients, size, prime, buckets)
    tables = np.random.default_rng(2).integers(0, 1 << 20, (3, buckets))
    wanted = sum(table[row] for table, row in zip(tables, where, strict=True))
    assert gather_buckets(coefficients, tables, prime=prime, size=size).tolist() == wanted.tolist()
    values = np.arange(size, dtype=np.float64)
    sums = scatter_buckets(coefficients, values, prime=prime, buckets=buckets)
    assert all((total == np.bincount(row, values, buckets)).all() for row, total in zip(where, sums, strict=True))
