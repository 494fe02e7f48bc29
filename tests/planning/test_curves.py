"""What a plot shows is what the mechanisms say."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.mechanisms import RandomizedResponse
from discreet.planning.candidates import Requirements
from discreet.planning.compare import LOWER_BOUND, against_epsilon, against_users, compare_mechanisms
from discreet.theory.optimum import lower_bound

DOMAIN = Domain(range(40), sensitive=range(12))
GIVEN = np.random.default_rng(1).dirichlet(np.ones(40))
TARGETS: dict[str, dict[str, Any]] = {
    "worst-case": {},
    "sensitive-mass": {"sensitive_mass": 0.1},
    "distribution": {"p": GIVEN},
}


def requirements(target: Any, **options: Any) -> Requirements:
    return compare_mechanisms(DOMAIN, 1.0, 5000, target=target, **TARGETS[target], **options).requirements


@pytest.mark.parametrize("target", TARGETS)
def test_a_curve_per_mechanism_and_the_bound(target: Any) -> None:
    compared = compare_mechanisms(DOMAIN, 1.0, 5000, target=target, **TARGETS[target])
    asked, names = compared.requirements, [one.name for one in compared.candidates]
    bound = [] if target == "distribution" else [LOWER_BOUND]
    for curves in (against_epsilon(asked), against_users(asked)):
        assert [curve.name for curve in curves] == [*names, *bound]
        for curve in curves:
            xs, errors = np.array(curve.points).T
            assert (np.diff(xs) > 0).all()
            assert (np.diff(errors) < 0).mean() > 0.9
            if bound:
                assert (errors >= np.array(curves[-1].points)[:, 1] * (1 - 1e-9)).all()


def test_numbers_are_those_of_the_mechanism() -> None:
    asked = requirements("worst-case", reports_per_user=2)
    first, *_, bound = against_epsilon(asked)
    for epsilon, error in first.points:
        each = RandomizedResponse(DOMAIN, epsilon / 2)
        assert error == pytest.approx(sqrt(each.decoder.worst_case_mse(10_000)), rel=1e-9)
    assert (first.points[0][0], first.points[-1][0]) == pytest.approx((0.1, 10))
    for epsilon, error in bound.points:
        assert error == pytest.approx(sqrt(lower_bound(12, 40, epsilon / 2, 10_000)), rel=1e-9)
    first, *_ = against_users(asked)
    assert 5000 in dict(first.points)
    for users, error in first.points:
        assert error == pytest.approx(
            sqrt(RandomizedResponse(DOMAIN, 0.5).decoder.worst_case_mse(2 * int(users))), rel=1e-9
        )
    first, *_ = against_users(requirements("distribution"))
    for users, error in first.points:
        mechanism = RandomizedResponse(DOMAIN, 1.0)
        assert error == pytest.approx(sqrt(mechanism.decoder.mse(int(users), GIVEN)), rel=1e-9)
