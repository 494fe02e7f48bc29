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


def test_twice_is_the_size_times_the_identity() -> None:
    values = np.random.default_rng(1).integers(-100, 100, 2**12)
    np.testing.assert_array_equal(walsh_hadamard(walsh_hadamard(values)), 2**12 * values)


@pytest.mark.parametrize("shape", [(0,), (3,), (12,), (2, 2)])
def test_other_lengths_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="power of two"):
        walsh_hadamard(np.zeros(shape))
