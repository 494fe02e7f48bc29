"""The optimal mechanism: it attains the lower bound, and a known mass lowers the error."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from discreet import BlockDesign, Domain, SeededRandom, SubsetSelection, Tally
from discreet.errors import ParameterError
from discreet.mechanisms.laws.subsets import Subsets
from discreet.theory.optimum import lower_bound

MIXED = BlockDesign(Domain(range(8), sensitive=range(5)), 1.2)


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


def test_knowing_the_mass_never_costs() -> None:
    p = np.concatenate([np.full(30, 0.05 / 30), np.full(270, 0.95 / 270)])
    domain = Domain(range(300), sensitive=range(30))
    for epsilon in (0.3, 1.0, 3.0):
        known = BlockDesign(domain, epsilon, sensitive_mass=0.05).decoder.mse(1, p)
        assert known <= BlockDesign(domain, epsilon).decoder.mse(1, p) * (1 + 1e-12)
        assert known <= min(SubsetSelection(domain, epsilon, k=k).decoder.mse(1, p) for k in range(1, 30)) * (1 + 1e-12)


def test_the_alphabet_is_uniform_within_each_size() -> None:
    _, weights = MIXED.law.alphabet()
    assert sum(weights.tolist(), Fraction(0)) == 1
    assert len(set(weights[: comb(5, 1)].tolist())) == len(set(weights[comb(5, 1) :].tolist())) == 1


def test_forged_tallies_of_two_sizes() -> None:
    tally = MIXED.tally(MIXED.obfuscate_codes(np.arange(8).repeat(50), random=SeededRandom(1)))
    assert MIXED.is_consistent(tally.n, tally.support, tally.clear)
    assert not MIXED.is_consistent(tally.n + 1, tally.support, tally.clear)
    moved = tally.support.copy()
    moved[5] += 1
    assert not MIXED.is_consistent(tally.n, moved, tally.clear)
    assert MIXED.empty_tally() + tally == tally
    assert isinstance(tally, Tally)


def test_where_there_is_nothing_to_choose() -> None:
    for domain in (Domain(["a"]), Domain(range(3), sensitive=[], allow_unprotected=True)):
        mechanism = BlockDesign(domain, 1.0)
        assert isinstance(mechanism.law, Subsets)
        assert mechanism.design is None
        with pytest.raises(ParameterError, match=r"sensitive-mass.no-effect"):
            BlockDesign(domain, 1.0, sensitive_mass=0.5)
    with pytest.raises(ParameterError):
        BlockDesign(Domain(range(5), sensitive=[1, 2]), 1.0, sensitive_mass=1.5)
