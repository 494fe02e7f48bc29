"""The optimal mechanism attains the lower bound."""

import numpy as np
import pytest

from discreet import BlockDesign, Domain
from discreet.errors import ParameterError
from discreet.mechanisms.laws.subsets import Subsets
from discreet.theory.optimum import lower_bound


def test_the_bound_is_attained() -> None:
    random, regimes = np.random.default_rng(0), set()
    for _ in range(300):
        w = int(random.integers(2, 300))
        v, epsilon = int(random.integers(1, w + 1)), float(np.exp(random.uniform(np.log(0.02), np.log(9))))
        mechanism = BlockDesign(Domain(range(w), sensitive=range(v)), epsilon)
        assert mechanism.decoder.worst_case_mse(7) == pytest.approx(lower_bound(v, w, epsilon, 7), rel=1e-9), (
            w,
            v,
            epsilon,
        )
        assert mechanism.design is not None
        assert abs(mechanism.design.gap) < 1e-10
        assert mechanism.guarantee.realised <= epsilon
        regimes.add(mechanism.design.regime)
    assert regimes == {"randomized response", "subsets", "mixture"}


def test_where_there_is_nothing_to_choose() -> None:
    for domain in (Domain(["a"]), Domain(range(3), sensitive=[], allow_unprotected=True)):
        mechanism = BlockDesign(domain, 1.0)
        assert isinstance(mechanism.law, Subsets)
        assert mechanism.design is None
        with pytest.raises(ParameterError, match=r"sensitive-mass.no-effect"):
            BlockDesign(domain, 1.0, sensitive_mass=0.5)
    with pytest.raises(ParameterError):
        BlockDesign(Domain(range(5), sensitive=[1, 2]), 1.0, sensitive_mass=1.5)
