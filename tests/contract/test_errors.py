"""The worst case of the linear estimate, against a search for it."""

from typing import Any

import numpy as np
import pytest

from laws import POOLS, SMALL, Case, cases, over, small_exact, spelled


@small_exact
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


@over([case for case in cases(SMALL) if case.builder in POOLS])
def test_the_worst_case_of_a_pool_is_found_on_a_grid(case: Case) -> None:
    """With the bias that it leaves, the loss is no parabola."""
    found = max(case.mechanism.decoder.mse(100, p) for p in with_one_value(case))
    assert found == pytest.approx(case.mechanism.decoder.worst_case_mse(100), rel=1e-4)


def with_one_value(case: Case) -> list[Any]:
    """Return distributions with any sensitive mass, spread evenly or all on one value; the rest spread evenly."""
    domain, found = case.domain, []
    spread, one = domain.sensitive / domain.sensitive_count, np.eye(domain.size)[domain.sensitive_codes[0]]
    for a in np.linspace(0, 1, 101) if domain.clear_count else (1.0,):
        found += [a * inside + (1 - a) * ~domain.sensitive / max(domain.clear_count, 1) for inside in (spread, one)]
    return found
