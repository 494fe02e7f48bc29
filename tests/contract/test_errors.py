"""The worst case of the linear estimate, against a search for it."""

import numpy as np
import pytest

from laws import Case, small, spelled


@small
def test_worst_case_equals_numerical_maximum(case: Case) -> None:
    """Largest loss.p - |p|^2 over the simplex: p = max(loss/2 - shift, 0), the shift found by bisection."""
    loss = (spelled(case).matrix @ spelled(case).contributions ** 2).sum(axis=1)
    low, high = loss.min() / 2 - 1, loss.max() / 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(loss / 2 - middle, 0).sum() > 1 else (low, middle)
    p = np.maximum(loss / 2 - low, 0)
    p /= p.sum()
    assert case.mechanism.decoder.worst_case_mse(9) == pytest.approx((loss @ p - p @ p) / 9, rel=1e-9)
