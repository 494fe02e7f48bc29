"""Products with a pool's blocks, against a plain loop over values and functions."""

from functools import partial
from typing import Any

import numpy as np
import pytest
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


def test_the_number_of_threads_changes_no_digit() -> None:
    coefficients, random = drawn(3, 700, LARGEST), np.random.default_rng(4)
    tables, values = random.normal(size=(700, 5)), random.normal(size=20_000)
    products = [
        partial(gather_buckets, coefficients, tables, prime=LARGEST, size=20_000),
        partial(scatter_buckets, coefficients, values, prime=LARGEST, buckets=5),
    ]
    for product in products:
        assert (product(threads=1) == product(threads=4)).all()


def test_what_does_not_fit_is_refused() -> None:
    coefficients, tables = drawn(5, 2, 101), np.zeros((2, 3), np.int64)
    for wrong in (
        lambda: gather_buckets(coefficients.astype(np.int64), tables, prime=101, size=5),
        lambda: gather_buckets(coefficients[:, :3], tables, prime=101, size=5),
        lambda: gather_buckets(coefficients, tables[:1], prime=101, size=5),
        lambda: gather_buckets(coefficients, tables[:, :0], prime=101, size=5),
        lambda: gather_buckets(coefficients, tables, prime=101, size=102),
        lambda: gather_buckets(np.full((2, 4), 101, np.uint32), tables, prime=101, size=5),
        lambda: gather_buckets(coefficients, tables, prime=1 << 31, size=5),
        lambda: scatter_buckets(coefficients, np.zeros(102), prime=101, buckets=3),
        lambda: scatter_buckets(coefficients, np.zeros(5), prime=101, buckets=0),
    ):
        with pytest.raises(ValueError, match="must"):
            wrong()
