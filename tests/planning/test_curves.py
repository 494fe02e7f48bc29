"""What a plot shows is what the mechanisms say."""

from typing import Any

import numpy as np
import pytest

from discreet import Domain
from discreet.planning.compare import compare_mechanisms
from discreet.planning.curves import LOWER_BOUND, against_epsilon
from discreet.planning.requirements import Requirements

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
    for curves in [against_epsilon(asked)]:
        # Some short reports have a form of their own at some epsilons only.
        short = [name for name in curves if name.endswith("-byte")]
        assert [name for name in curves if name not in short] == [*(n for n in names if n not in short), *bound]
        for points in (points for name, points in curves.items() if name not in short):
            xs, errors = np.array(points).T
            assert (np.diff(xs) > 0).all()
            assert (np.diff(errors) < 0).mean() > 0.9
            if bound:
                assert (errors >= np.array(curves[LOWER_BOUND])[:, 1] * (1 - 1e-9)).all()
