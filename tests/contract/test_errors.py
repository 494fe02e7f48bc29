"""The linear estimate and its errors, against enumeration: no sampling anywhere."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from laws import MEDIUM, POOLS, SMALL, Case, cases, distributions, kinds_of, over, small_exact, spelled, with_rho

MANY = 1 << 60


@over(with_rho(cases(MEDIUM)))
def test_linear_estimate_is_unbiased_by_the_law(case: Case) -> None:
    """Expected counts from S, pi and rho alone, for alphabets too large to spell out."""
    mechanism, domain = case.mechanism, case.domain
    truth = Fraction(mechanism.threshold, 1 << 64)
    pi = mechanism.law.inclusion
    for name, weights in distributions(domain.size, domain.sensitive).items():
        p = [Fraction(int(weight), int(weights.sum())) for weight in weights]
        mass = sum(p[code] for code in domain.sensitive_codes)
        beside = truth * (1 - mass) if mechanism.clear_blocks else 0
        support = [
            truth * share * own / pi * (p[code] + rho * (mass - p[code])) + (1 - truth) * share * own + beside * pi
            for share, own, rho in kinds_of(mechanism)
            for code in domain.sensitive_codes
        ]
        clear = [truth * p[code] for code in domain.clear_codes]
        counts = _counts(support).astype(np.float64), _counts(clear).astype(np.float64)
        found = mechanism.domain.arrange(*mechanism.decoder.coefficients.estimate(*counts, MANY))
        assert abs(found - np.array(p, dtype=np.float64)).max() < 1e-12, name


def _counts(shares: list[Fraction]) -> Any:
    return np.array([round(share * MANY) for share in shares], dtype=np.int64)


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
