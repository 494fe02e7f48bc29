"""Chances: how often whoever sees shuffled reports gets further than they are told they can."""

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from matrices import clear_pair, law_pair
from scipy.special import gammaln

import discreet as dc
from discreet import shuffled
from discreet.privacy.shuffling_pairs import ValuePair
from discreet.privacy.shuffling_rounds import CentralCurve
from packing import each


def test_chances_of_rounds_that_are_one_round() -> None:
    """The dots of one round, joined, are a little above its curve."""
    central = shuffled(dc.RandomizedResponse(dc.Domain(range(30), sensitive=range(20)), 2.0), n=1000)
    for curve in (central.curve_among, central.curve_versus_clear):
        below, above = curve.loss_sums(1e-9)
        for epsilon in (0.01, 0.1, 0.2, 0.3, 0.5, 0.6):
            low, high = curve.delta(epsilon)
            assert below.delta(epsilon)[0] <= high
            assert low <= above.delta(epsilon)[1]
            if low > 1e-8:
                assert above.delta(epsilon)[1] <= 1.2 * below.delta(epsilon)[0]
    assert central.at_most(1e-6).among < shuffled(central.mechanism, 1000, rounds=2).at_most(1e-6).among


def test_one_sensitive_value_has_nothing_to_be_told_from() -> None:
    told = shuffled(dc.RandomizedResponse(dc.Domain(range(3), sensitive=[0]), 1.0), 100).at_most(1e-6)
    assert told.among == 0
    # That it is not told in clear is all there is to see: the floor is the local epsilon.
    assert told.versus_clear == pytest.approx(1.0)


CHANCES = (1e-2, 1e-4, 1e-6)


def exact_losses(pair: ValuePair, n: int) -> tuple[Any, Any]:
    """Return losses and their probabilities when a person has x, from all likely counts of every kind of block."""
    kept = pair.weights > 0
    first, second, weights = pair.first[kept], pair.second[kept], pair.weights[kept]
    means = (n - 1) * weights
    ranges = [np.arange(max(int(m - 9 * sqrt(m) - 30), 0), min(int(m + 9 * sqrt(m) + 30), n - 1) + 1) for m in means]
    counts = np.array([grid.ravel() for grid in np.meshgrid(*ranges, indexing="ij")])
    counts = counts[:, counts.sum(axis=0) < n]
    rest = n - 1 - counts.sum(axis=0)
    logs = gammaln(n) - gammaln(counts + 1).sum(axis=0) - gammaln(rest + 1)
    chances = np.exp(logs + np.log(weights) @ counts + rest * log(pair.silent))
    found, shares = [], []
    for kind, own in enumerate(np.eye(len(weights))):
        every = counts + own[:, None]
        found.append(np.log(first @ every) - np.log(second @ every))
        shares.append(chances * weights[kind] * first[kind])
    return np.concatenate(found), np.concatenate(shares)


@each("versus_clear", [False, True])
@each("never, n", [(True, 100), (True, 5_000), (False, 30)])
@each("epsilon", [0.5, 2.0, 4.0])
def test_what_is_told_is_hardly_more_than_the_least_exact_epsilon(
    epsilon: float, never: bool, n: int, versus_clear: bool
) -> None:
    pi = 1 / 2 if never and not versus_clear else 1 / 10
    pair = clear_pair(epsilon, pi) if versus_clear else law_pair(epsilon, pi, 0.0 if never else pi)
    found, shares = exact_losses(pair, n)
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    order = np.argsort(-found)
    beyond = np.cumsum(shares[order])
    for chance in CHANCES:
        least = max(float(found[order][np.searchsorted(beyond, chance)]), 0.0)
        told = CentralCurve((pair,), n).epsilon_at_chance(chance)
        assert least <= told * (1 + 1e-9)
        # Of few reports the losses are far between.
        assert told <= (2 if n == 30 else 1.1 if chance <= 1e-4 else 1.2) * least or told >= epsilon
