"""The fast transform against the matrix."""

import numpy as np
import pytest

from discreet.kernels.counting import walsh_hadamard


def _matrix(size: int) -> np.ndarray:
    return np.array([[(-1) ** (i & j).bit_count() for j in range(size)] for i in range(size)], np.int64)


@pytest.mark.parametrize("exponent", range(8))
def test_integers_equal_the_matrix_product(exponent: int) -> None:
    values = np.random.default_rng(exponent).integers(-(2**40), 2**40, 2**exponent)
    before = values.copy()
    transformed = walsh_hadamard(values)
    assert transformed.dtype == np.int64
    np.testing.assert_array_equal(transformed, _matrix(2**exponent) @ values)
    np.testing.assert_array_equal(values, before)
    assert not np.shares_memory(transformed, values)


@pytest.mark.parametrize("exponent", range(8))
def test_floats_equal_the_matrix_product(exponent: int) -> None:
    values = np.random.default_rng(exponent).normal(size=2**exponent)
    transformed = walsh_hadamard(values)
    assert transformed.dtype == np.float64
    np.testing.assert_allclose(transformed, _matrix(2**exponent) @ values, atol=1e-12)
