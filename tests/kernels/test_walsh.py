"""The fast transform against the matrix."""

import numpy as np
import pytest

from discreet.kernels.counting import walsh_hadamard


def _matrix(size: int) -> np.ndarray:
    return np.array([[(-1) ** (i & j).bit_count() for j in range(size)] for i in range(size)], np.int64)


@pytest.mark.parametrize("exponent", range(8))
def test_it_is_the_matrix_product(exponent: int) -> None:
    values = np.random.default_rng(exponent).integers(-(2**40), 2**40, 2**exponent)
    floats = values / 7
    np.testing.assert_allclose(walsh_hadamard(floats), _matrix(2**exponent) @ floats, rtol=1e-12, atol=1e-2)
    before = values.copy()
    transformed = walsh_hadamard(values)
    assert transformed.dtype == np.int64
    np.testing.assert_array_equal(transformed, _matrix(2**exponent) @ values)
    np.testing.assert_array_equal(values, before)
    assert not np.shares_memory(transformed, values)
