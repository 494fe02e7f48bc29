"""Pools of hash functions in the planner: an error that more users do not lessen, stated beside the others."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.mechanisms import PooledHashing
from discreet.mechanisms.hashing import PooledHashBlocks
from discreet.planning.best import best
from discreet.planning.candidates import Candidate
from discreet.planning.compare import against_users, compare_mechanisms

DOMAIN = Domain(range(300), sensitive=range(200))
P = np.r_[0.4 / np.arange(1, 201) / (1 / np.arange(1, 201)).sum(), np.full(100, 0.006)]


def pooled(found: Any) -> Candidate:
    (one,) = [one for one in found.candidates if one.name == "hashing-pool"]
    return one


def test_what_lasts_is_stated_for_the_worst_case_and_the_assumed_one() -> None:
    found = compare_mechanisms(DOMAIN, 1.0, 10_000, sensitive_mass=0.3)
    one = pooled(found)
    moments, even = one.mechanism.numbers, np.full(200, 0.3 / 200)
    assert one.assumed.pool_bias == pytest.approx(moments.pool_bias_error(10_000, even), rel=1e-12)
    # All on one sensitive value: v - 1 others, and of each the variance of its collisions with that one.
    law = one.mechanism.law
    all_on_one = 199 * float(law.conditional_variation[0] / (1 - law.conditional_inclusion) ** 2) * (1 - 1e-4)
    assert one.worst.pool_bias == pytest.approx(all_on_one, rel=1e-12)
    assert 0 < one.assumed.pool_bias < one.assumed.mse
    assert 0 < one.worst.pool_bias < one.worst.mse
    assert {other.worst.pool_bias + other.assumed.pool_bias for other in found.candidates if other is not one} == {0.0}
    assert one.sensitive_error > sqrt(float(one.mechanism.decoder.variance_of(0.3)[0][0]) / 10_000)


@pytest.mark.parametrize("users", [1000, 10_000, 200_000])
def test_for_a_given_distribution_functions_are_as_few_as_add_little(users: int) -> None:
    one = pooled(compare_mechanisms(DOMAIN, 1.0, users, target="distribution", p=P))
    law, default = one.mechanism.law, PooledHashing(DOMAIN, 1.0).law
    assert isinstance(law, PooledHashBlocks)
    assert law.buckets == default.buckets
    assert one.assumed.pool_bias <= 0.01 * (one.assumed.mse - one.assumed.pool_bias)
    assert law.functions < default.functions
    fewer = PooledHashing(DOMAIN, 1.0, g=law.buckets, functions=law.functions // 2)
    pool_bias = fewer.numbers.pool_bias_error(users, P[:200])
    assert law.functions == 1 or pool_bias > 0.01 * (fewer.decoder.mse(users, P) - pool_bias)


def test_otherwise_there_are_as_many_functions_as_by_default() -> None:
    default = PooledHashing(DOMAIN, 1.0).law
    assert pooled(compare_mechanisms(DOMAIN, 1.0, 10_000)).mechanism.law == default
    assert (
        pooled(compare_mechanisms(DOMAIN, 1.0, 10_000, target="sensitive-mass", sensitive_mass=0.3)).mechanism.law
        == default
    )
    assert pooled(compare_mechanisms(DOMAIN, 1.0, 10**12, target="distribution", p=P)).mechanism.law == default


def test_curves_bend_where_an_error_lasts() -> None:
    requirements = compare_mechanisms(DOMAIN, 1.0, 10**9).requirements
    curves = {curve.name: dict(curve.points) for curve in against_users(requirements)}
    mechanism = PooledHashing(DOMAIN, 1.0)
    for users, error in curves["hashing-pool"].items():
        assert error == pytest.approx(sqrt(mechanism.decoder.worst_case_mse(int(users))), rel=1e-12)
    few, many = min(curves["rr"]), max(curves["rr"])
    assert curves["rr"][few] / curves["rr"][many] == pytest.approx(sqrt(many / few), rel=1e-9)
    assert curves["hashing-pool"][few] / curves["hashing-pool"][many] < 1.1


def test_the_best_for_any_number_of_reports_is_none_whose_error_lasts() -> None:
    """In a single report nothing is shared."""
    domain = Domain(range(10_000))
    chosen = best(domain, 1.0, largest_report=4)
    assert not isinstance(chosen, PooledHashing)
    assert pooled(compare_mechanisms(domain, 1.0, 1, largest_report=4)).worst_mse < chosen.decoder.worst_case_mse(1)
