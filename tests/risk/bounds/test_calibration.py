"""The largest epsilon for a wanted identification risk, and both risks side by side."""

from functools import partial
from math import exp, log
from typing import Any

import pytest

from discreet import Domain, LocalHashing, RandomizedResponse, UnaryEncoding
from discreet.risk.bounds import identification_bounds
from discreet.risk.bounds.calibration import RiskTarget, largest_epsilon
from discreet.risk.planning import plan_identification

D, N = 10_500_393, 1_370_637
LOCATIONS = Domain(range(D))
FEW = Domain(range(30))
MIXED = Domain(range(30), sensitive=range(12))


def test_theta_at_the_papers_size() -> None:
    """V = (1 + theta (n - 1)) / n where every user has a value of their own; Cor. 8 with Thm 11 allows .031 only."""
    theta = (N * (1 - 0.92) - 1) / (N - 1)
    assert theta == pytest.approx(0.080, abs=5e-4)
    allowed = largest_epsilon(partial(RandomizedResponse, LOCATIONS), RiskTarget(N, error=0.92))
    assert allowed is not None
    assert allowed.mechanism.coefficients.truth == pytest.approx(theta, rel=1e-6)


def test_buckets_without_noise_have_the_least_error_and_protect_no_value() -> None:
    """n times the squared error of a value with p = 1e-3, by (23) of the paper, at V <= .08."""

    def squared(g: float, e: float) -> float:
        p = 1e-3
        own = (g + e - 1) ** 2 / ((e - 1) ** 2 * (g - 1))
        return own + p * (g * g - 2 * g - e + 1) / ((e - 1) * (g - 1))

    theta, most = 1 - 0.92 - log(2) / log(N), (1 << 32) - 5
    assert squared(1e15, 1 + theta * 1e15 / (1 - theta)) == pytest.approx(0.031, abs=5e-4)
    for g, loss, limited in [(most, 0.0115, True), (109_650, 9.1e-6, False)]:
        allowed = largest_epsilon(partial(LocalHashing, LOCATIONS, g=g), RiskTarget(N, error=0.92))
        assert allowed is not None
        assert squared(g, exp(allowed.bounds.epsilon)) == pytest.approx(loss, rel=5e-3)
        assert allowed.limited == limited
    assert allowed.bounds.epsilon > 40


@pytest.mark.parametrize("domain", [FEW, MIXED], ids=["all", "some"])
@pytest.mark.parametrize("build", [RandomizedResponse, UnaryEncoding, partial(LocalHashing, g=4)])
def test_it_keeps_the_error_and_no_more_does(domain: Domain, build: Any) -> None:
    error = 0.9
    wanted = RiskTarget(100, error=error)
    allowed = largest_epsilon(partial(build, domain), wanted)
    if allowed is None:
        # Values in clear alone tell more than that.
        assert identification_bounds(build(domain, 1e-6), 100).error < error
        return
    assert allowed.bounds.error >= error - 1e-12
    assert allowed.bounds == identification_bounds(allowed.mechanism, 100)
    if allowed.limited:
        assert identification_bounds(build(domain, allowed.mechanism.epsilon * 1.001), 100).error < error + 1e-9
    else:
        assert allowed.mechanism.epsilon == 200


def test_information_and_reports() -> None:
    allowed = largest_epsilon(partial(RandomizedResponse, FEW), RiskTarget(100, pie=0.5))
    assert allowed is not None
    assert allowed.bounds.pie.value == pytest.approx(0.5, rel=1e-6)
    fewer = largest_epsilon(partial(RandomizedResponse, FEW), RiskTarget(100, pie=0.5, reports=4))
    assert fewer is not None
    assert fewer.mechanism.epsilon < allowed.mechanism.epsilon
    assert fewer.bounds.pie.value <= 0.5 * (1 + 1e-9)


def test_reports_of_a_plan_share_epsilon() -> None:
    found = plan_identification(FEW, RiskTarget(1000, error=0.9, reports=4), epsilon=2.0)
    assert all(one.bounds.total_epsilon <= 2.0 for one in found.options)
    assert all(one.worst_mse == one.mechanism.decoder.worst_case_mse(4000) for one in found.options)


def test_epsilon_limited_by_construction_is_not_limited_by_identification() -> None:
    def build(epsilon: float) -> UnaryEncoding:
        return UnaryEncoding(Domain(range(10)), epsilon, theta=0.5)

    allowed = largest_epsilon(build, RiskTarget(20, error=0.31))
    assert allowed is not None
    assert allowed.bounds.error > 0.5
    assert not allowed.limited
    strict = largest_epsilon(build, RiskTarget(20, error=0.9))
    assert strict is not None
    assert strict.limited
