"""Pools of hash functions in the planner: an error that more users do not lessen, stated beside the others."""

from typing import Any

import numpy as np

from discreet import Domain, PooledHashing, best
from discreet.planning.candidates import Candidate
from discreet.planning.compare import compare_mechanisms

DOMAIN = Domain(range(300), sensitive=range(200))


def pooled(found: Any) -> Candidate:
    (one,) = [one for one in found.candidates if one.name == "hashing-pool"]
    return one


def test_errors_contain_the_bias_of_the_pool() -> None:
    found = compare_mechanisms(DOMAIN, 1.0, 10_000, target="worst-case", sensitive_mass=0.3)
    one = pooled(found)
    moments = one.mechanism.coefficients
    assert one.worst_mse == one.mechanism.decoder.worst_case_mse(10_000)
    assert one.assumed_mse > moments.pool_bias_error(10_000, np.full(200, 0.3 / 200)) > 0
    assert one.mechanism.law == PooledHashing(DOMAIN, 1.0).law


def test_the_best_for_any_number_of_reports_is_none_whose_error_lasts() -> None:
    """In a single report nothing is shared."""
    domain = Domain(range(10_000))
    chosen = best(domain, 1.0, largest_report=4)
    assert not isinstance(chosen, PooledHashing)
    assert pooled(compare_mechanisms(domain, 1.0, 1, largest_report=4)).worst_mse < chosen.decoder.worst_case_mse(1)
