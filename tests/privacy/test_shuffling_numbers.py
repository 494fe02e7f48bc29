"""The numbers behind central guarantees: certified ends, and rounds."""

from collections import Counter
from itertools import product
from math import exp, sqrt

import numpy as np
import pytest
from matrices import law_pair
from scipy.special import ndtr

import discreet as dc
from discreet import shuffled
from discreet.privacy.shuffling_pairs import excess
from discreet.privacy.shuffling_rounds import CentralCurve, pair_epsilon


def test_what_is_too_small_for_a_float_is_no_error() -> None:
    assert excess(np.array([1e-9, -1e10, 0.0]), np.array([1e-12, 0.5, 0.5 - 1e-12]), 10**6)[1] <= 1e-290
    assert excess(np.array([-1.0, -2.0]), np.array([0.5, 0.5]), 5) == (0.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_both_ends_of_an_epsilon_are_within_a_percent(epsilon: float) -> None:
    """``python -m bench shuffling`` goes through the whole grid."""
    d1 = 1 / (exp(epsilon) + 1)
    for pi, rho in ((0.01, 0.0), (d1, d1)):
        for n, delta in ((10**3, 1e-6), (10**5, 1e-30), (10**8, 1e-6)):
            low, high = pair_epsilon(law_pair(epsilon, pi, rho), n, delta)
            assert high <= 1.01 * low <= 1.01 * high
            assert high <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("rounds", "printed"), [(4, 0.1872), (16, 0.3926), (64, 0.8252)])
def test_rounds_add_up_as_printed(rounds: int, printed: float) -> None:
    low, high = CentralCurve((law_pair(3.0, 0.01, 0.0),), 10_000, rounds).epsilon(1e-6)
    assert high / 1.01 <= low <= high <= printed + 5e-5
    assert high == pytest.approx(printed, rel=1e-3)


def test_lower_ends_of_rounds_are_below_those_of_a_normal_law() -> None:
    """As n grows, rounds are a Gaussian mechanism; delta of its exact curve is between both ends."""
    n, rounds, pair = 10**7, 9, law_pair(1.0, 0.05, 0.0)
    mu = pair.strength * sqrt(rounds / n)
    curve = CentralCurve((pair,), n, rounds)
    for epsilon in (0.5 * mu, 2 * mu, 4 * mu):
        exact = ndtr(mu / 2 - epsilon / mu) - exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
        low, high = curve.delta(epsilon, 1e-9)
        assert low <= exact * 1.01
        assert high >= exact * 0.99
        assert high <= 1.25 * low


def test_rounds_of_a_small_batch_are_those_of_the_product() -> None:
    """Two batches of three, the others in clear: every pair of outcomes, by its likelihoods."""
    pair = law_pair(1.2, 1 / 3, 0.0)
    kinds = [*zip(pair.first, pair.second, pair.weights, strict=True), (0.0, 0.0, pair.silent)]
    once: Counter[tuple[float, float]] = Counter()
    for three in product(kinds, repeat=3):
        both = sum(kind[0] for kind in three), sum(kind[1] for kind in three)
        once[both] += np.prod([kind[2] for kind in three]) / 3
    for epsilon in (0.2, 0.6, 1.0, 2.1, 2.3):
        exact = sum(
            one_weight * other_weight * max(one[0] * other[0] - exp(epsilon) * one[1] * other[1], 0.0)
            for one, one_weight in once.items()
            for other, other_weight in once.items()
        )
        low, high = CentralCurve((pair,), 3, 2).delta(epsilon)
        assert low <= exact * (1 + 1e-9)
        # Near the largest loss of all rounds the last dots are given up.
        assert low >= 0.9 * exact or epsilon > 1
        assert exact * (1 - 1e-9) <= high <= 1.05 * exact + 1e-6


def test_towards_clear_the_floor_adds_up() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(120), sensitive=range(100)), 1.0)
    central = shuffled(mechanism, 10**6, rounds=20)
    assert central.versus_clear is not None
    assert central.floor is not None
    once = shuffled(mechanism, 10**6).floor
    assert central.floor == pytest.approx(20 * once, rel=1e-4)
    assert central.floor < central.versus_clear.upper < 1.2 * central.floor
