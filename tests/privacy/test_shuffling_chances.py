"""Chances: how often whoever sees shuffled reports gets further than they are told they can."""

from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import discreet as dc
from discreet import shuffled
from discreet.privacy.shuffling_pairs import ValuePair
from discreet.privacy.shuffling_rounds import CentralCurve
from packing import each


def test_chances_are_of_both_directions_and_within_the_local_epsilon() -> None:
    domain = dc.Domain(range(30), sensitive=range(20))
    for rounds in (1, 2):
        central = shuffled(dc.RandomizedResponse(domain, 2.0), n=100, rounds=rounds)
        told = [central.at_most(chance) for chance in (1e-2, 1e-6, 1e-30)]
        assert rounds > 1 or central.at_most(1e-280).among > told[-1].among
        for less, more in pairwise(told):
            assert less.versus_clear is not None
            assert more.versus_clear is not None
            assert 0 <= less.among < more.among <= rounds * central.local * (1 + 1e-12)
            assert 0 < less.versus_clear < more.versus_clear <= rounds * central.local * (1 + 1e-12)


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


@dataclass(frozen=True)
class Law:
    """Truth or noise: E = e^epsilon, s, pi, and whether two values are never in a block together."""

    epsilon: float
    pi: float
    never: bool

    @property
    def s(self) -> float:
        odds = self.pi * (exp(self.epsilon) - 1)
        return odds / (1 + odds)

    def pair(self, *, versus_clear: bool) -> ValuePair:
        e, pi = exp(self.epsilon), self.pi
        if versus_clear:
            return ValuePair(np.array([e, 1.0]), np.ones(2), (1 - self.s) * np.array([pi, 1 - pi]), self.s)
        both = 0.0 if self.never else pi**2
        shares = np.array([pi - both, pi - both, both, 1 - 2 * pi + both])
        return ValuePair(np.array([e, 1, e, 1]), np.array([1, e, e, 1]), (1 - self.s) * shares, self.s)

    def told(self, n: int, chance: float, *, versus_clear: bool) -> float:
        return CentralCurve((self.pair(versus_clear=versus_clear),), n).epsilon_at_chance(chance)


CHANCES = (1e-2, 1e-4, 1e-6)


def exact_losses(law: Law, n: int, *, versus_clear: bool) -> tuple[Any, Any]:
    """Return losses and their probabilities when a person has x, from all likely counts of every kind of block."""
    pair = law.pair(versus_clear=versus_clear)
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
    law = Law(epsilon, 1 / 2 if never and not versus_clear else 1 / 10, never=never)
    found, shares = exact_losses(law, n, versus_clear=versus_clear)
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    order = np.argsort(-found)
    beyond = np.cumsum(shares[order])
    for chance in CHANCES:
        least = max(float(found[order][np.searchsorted(beyond, chance)]), 0.0)
        told = law.told(n, chance, versus_clear=versus_clear)
        assert least <= told * (1 + 1e-9)
        # Of few reports the losses are far between.
        assert told <= (2 if n == 30 else 1.1 if chance <= 1e-4 else 1.2) * least or told >= epsilon
