"""What a plot shows is what the mechanisms say."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

from discreet import Domain, RandomizedResponse
from discreet.planning.compare import compare_mechanisms
from discreet.planning.curves import LOWER_BOUND, against_epsilon, against_users
from discreet.planning.requirements import Requirements
from discreet.theory.optimum import lower_bound

DOMAIN = Domain(range(40), sensitive=range(12))
GIVEN = np.random.default_rng(1).dirichlet(np.ones(40))
TARGETS: dict[str, dict[str, Any]] = {
    "worst-case": {},
    "sensitive-mass": {"sensitive_mass": 0.1},
    "distribution": {"p": GIVEN},
}


def requirements(target: Any, **options: Any) -> Requirements:
    return Requirements(DOMAIN, 1.0, 5000, target=target, **TARGETS[target], **options)


@pytest.mark.parametrize("target", TARGETS)
def test_a_curve_per_mechanism_and_the_bound(target: Any) -> None:
    compared = compare_mechanisms(DOMAIN, 1.0, 5000, target=target, **TARGETS[target])
    asked, names = compared.requirements, [one.name for one in compared.candidates]
    bound = [] if target == "distribution" else [LOWER_BOUND]
    for curves in (against_epsilon(asked), against_users(asked)):
        assert [*curves] == [*names, *bound]
        for points in curves.values():
            xs, errors = np.array(points).T
            assert (np.diff(xs) > 0).all()
            assert (np.diff(errors) < 0).mean() > 0.9
            if bound:
                assert (errors >= np.array(curves[LOWER_BOUND])[:, 1] * (1 - 1e-9)).all()


def test_numbers_are_those_of_the_mechanism() -> None:
    asked = requirements("worst-case", reports_per_user=2)
    curves = against_epsilon(asked)
    for epsilon, error in curves["rr"]:
        each = RandomizedResponse(DOMAIN, epsilon / 2)
        assert error == pytest.approx(sqrt(each.decoder.worst_case_mse(10_000)), rel=1e-9)
    assert (curves["rr"][0][0], curves["rr"][-1][0]) == pytest.approx((0.1, 10))
    for epsilon, error in curves[LOWER_BOUND]:
        assert error == pytest.approx(sqrt(lower_bound(12, 40, epsilon / 2, 10_000)), rel=1e-9)
    first = against_users(asked)["rr"]
    assert 5000 in dict(first)
    for users, error in first:
        assert error == pytest.approx(
            sqrt(RandomizedResponse(DOMAIN, 0.5).decoder.worst_case_mse(2 * int(users))), rel=1e-9
        )
    for users, error in against_users(requirements("distribution"))["rr"]:
        mechanism = RandomizedResponse(DOMAIN, 1.0)
        assert error == pytest.approx(sqrt(mechanism.decoder.mse(int(users), GIVEN)), rel=1e-9)
