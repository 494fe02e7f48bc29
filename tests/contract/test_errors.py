"""The linear estimate and its errors, against enumeration: no sampling anywhere."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from laws import (
    POOLS,
    Case,
    aim,
    distributions,
    every_with_rho,
    kinds_of,
    small,
    small_exact,
    small_with_rho,
    spelled,
)

MANY = 1 << 60


@every_with_rho
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


@small_with_rho
def test_variance_of_several_reports_equals_enumeration_of_pairs(case: Case) -> None:
    """Two reports, every pair of outputs: errors fall exactly as 1/n."""
    phi, matrix = spelled(case).worths, spelled(case).matrix
    p = distributions(case.domain.size, case.domain.sensitive)["skewed"]
    p = p / p.sum()
    outputs = p @ matrix
    mean = (phi[:, None, :] + phi[None, :, :]) / 2
    squared = ((mean - p) ** 2).sum(axis=2)
    constant, slope = case.mechanism.decoder.variance_of(p[case.domain.sensitive].sum())
    q = aim(case, p)
    expected = (constant + slope * q - q * q).sum() / 2 + ((q - p) ** 2).sum()
    assert expected == pytest.approx(outputs @ squared @ outputs, rel=1e-9)
    if case.builder not in POOLS:
        assert case.mechanism.decoder.mse(2, p) == pytest.approx(expected, rel=1e-9)


@small_exact
def test_worst_case_equals_numerical_maximum(case: Case) -> None:
    """Largest loss.p - |p|^2 over the simplex: p = max(loss/2 - shift, 0), the shift found by bisection."""
    loss = (spelled(case).matrix @ spelled(case).worths ** 2).sum(axis=1)
    low, high = loss.min() / 2 - 1, loss.max() / 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(loss / 2 - middle, 0).sum() > 1 else (low, middle)
    p = np.maximum(loss / 2 - low, 0)
    p /= p.sum()
    assert case.mechanism.decoder.worst_case_mse(9) == pytest.approx((loss @ p - p @ p) / 9, rel=1e-9)


@every_with_rho
def test_worst_case_is_reached_and_never_passed(case: Case) -> None:
    mechanism, domain = case.mechanism, case.domain
    worst = mechanism.decoder.worst_case_mse(100)
    a = mechanism.decoder.coefficients.worst_mass
    inside = np.full(domain.sensitive_count, a / domain.sensitive_count)
    p = mechanism.domain.arrange(inside, np.full(domain.clear_count, (1 - a) / max(domain.clear_count, 1)))
    if case.builder in POOLS:
        assert max(mechanism.decoder.mse(100, p) for p in with_one_value(case)) == pytest.approx(worst, rel=1e-4)
    else:
        assert mechanism.decoder.mse(100, p) == pytest.approx(worst, rel=1e-12)
    random = np.random.default_rng(5)
    for concentration in (0.05, 0.5, 50.0):
        for p in random.dirichlet(np.full(domain.size, concentration), 5):
            assert mechanism.decoder.mse(100, p) <= worst * (1 + 1e-12)


def with_one_value(case: Case) -> list[Any]:
    """Return distributions with any sensitive mass, spread evenly or all on one value; the rest spread evenly."""
    domain, found = case.domain, []
    spread, one = domain.sensitive / domain.sensitive_count, np.eye(domain.size)[domain.sensitive_codes[0]]
    for a in np.linspace(0, 1, 101) if domain.clear_count else (1.0,):
        found += [a * inside + (1 - a) * ~domain.sensitive / max(domain.clear_count, 1) for inside in (spread, one)]
    return found


@small
def test_likelihood_is_one_plus_contrast_times_mass(case: Case) -> None:
    """Q(A|p) is proportional to Lambda(A) (1 + (E - 1) p(A)), and Q(x in clear|p) to p_x."""
    mechanism, channel, domain = case.mechanism, spelled(case), case.domain
    blocks = channel.clear < 0
    _, weights = mechanism.law.alphabet()
    for name, shares in distributions(domain.size, domain.sensitive).items():
        p = shares / shares.sum()
        outputs = p @ channel.matrix
        mass = channel.contained[blocks] @ (mechanism.contrast * p[domain.sensitive])
        constant = outputs[blocks] / (weights.astype(np.float64) * (1 + mass))
        np.testing.assert_allclose(constant, constant[0], rtol=1e-11, err_msg=name)
        for rank, code in enumerate(domain.clear_codes):
            told = outputs[channel.clear == rank].sum()
            assert told == pytest.approx(mechanism.coefficients.truth * p[code], rel=1e-12, abs=1e-300), name
