"""Chances: how often whoever sees shuffled reports gets further than they are told they can."""

from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc, gammaln

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


def test_many_users_are_a_gaussian_mechanism() -> None:
    """Losses tend to a normal law of mean mu^2 / 2 and deviation mu, and the bound to a little above its tail."""
    mechanism = dc.RandomizedResponse(dc.Domain(range(20)), 1.0)
    s, n = mechanism.threshold / 2**64, 10**9
    mu = np.sqrt(2 * s**2 * 20 / ((1 - s) * n))
    for chance, deviations in ((1e-2, 2.3263), (1e-4, 3.7190), (1e-6, 4.7534)):
        assert deviations * mu < shuffled(mechanism, n).at_most(chance).among < 1.2 * deviations * mu
    assert exp(mu) < 1.001


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


def losses(law: Law, n: int, draws: int, random: np.random.Generator, *, versus_clear: bool) -> Any:
    """Return the losses of batches of n in which a person has x, the others' truths being in clear.

    Drawn are the numbers of noise blocks and of those with x and with x' among them, and her own report.
    """
    blocks = random.binomial(n - 1, 1 - law.s, draws)
    true = random.random(draws) < law.s
    with_x = true | (random.random(draws) < law.pi)
    if versus_clear:
        first, second = random.binomial(blocks, law.pi) + with_x, 0
    else:
        second = random.binomial(blocks, law.pi)
        first = (
            random.binomial(blocks - second, law.pi / (1 - law.pi)) if law.never else random.binomial(blocks, law.pi)
        )
        # Her own block: beside x as anybody's, or never; without x it holds x' with what is left.
        beside = np.where(with_x, 0.0 if law.never else law.pi, law.pi / (1 - law.pi) if law.never else law.pi)
        first, second = first + with_x, second + (random.random(draws) < beside)
    c, total = exp(law.epsilon) - 1, blocks + 1
    return np.log((total + c * first) / (total + c * second))


CASES = [
    (Law(epsilon, pi, never), n, versus_clear)
    for epsilon, pi, never, n in (
        (2.0, 1 / 2, True, 10_000),
        (1.0, 1 / 2, True, 100),
        (3.0, 1 / 20, True, 1_000),
        (1.0, 1 / 10, True, 100_000),
        (5.0, 1 / 3, True, 300),
        (1.0, 1 / (exp(1) + 1), False, 100),
        (2.0, 1 / (exp(2) + 1), False, 1_000),
        (3.0, 1 / (exp(3) + 1), False, 10_000),
        (3.0, 1 / (exp(1.5) + 1), False, 3_000),
        (0.5, 1 / 2, False, 100_000),
    )
    for versus_clear in (False, True)
]
CHANCES = (1e-2, 1e-4, 1e-6)


@each("case", range(len(CASES)))
def test_nobody_gets_further_more_often_than_they_are_told(case: int) -> None:
    """Exact binomial tails at 1e-9, over 200,000 batches: of the rival below, whose chance is 27 times 1e-4 or more."""
    law, n, versus_clear = CASES[case]
    draws, random = 200_000, np.random.default_rng(case)
    found = losses(law, n, draws, random, versus_clear=versus_clear)
    for chance in CHANCES:
        beyond = int((found > law.told(n, chance, versus_clear=versus_clear) * (1 + 1e-12)).sum())
        assert bdtrc(beyond - 1, draws, chance) >= 1e-9 if beyond else True
    # What was told before: the epsilon at delta = chance, and that would be seen.
    old = CentralCurve((law.pair(versus_clear=versus_clear),), n).epsilon(1e-4)[1]
    if old < law.epsilon * 0.98:
        assert bdtrc(int((found > old).sum()) - 1, draws, 1e-4) < 1e-9


def exact_losses(law: Law, n: int, *, versus_clear: bool) -> tuple[Any, Any]:
    """Return losses and their probabilities when a person has x, from all likely counts of both kinds of blocks."""
    pair = law.pair(versus_clear=versus_clear)
    kept = pair.weights > 0
    first, second, weights = pair.first[kept], pair.second[kept], pair.weights[kept]
    assert len(weights) == 2
    means = (n - 1) * weights
    ranges = [np.arange(max(int(m - 9 * sqrt(m) - 30), 0), min(int(m + 9 * sqrt(m) + 30), n - 1) + 1) for m in means]
    one, two = (grid.ravel() for grid in np.meshgrid(*ranges, indexing="ij"))
    rest = n - 1 - one - two
    one, two, rest = one[rest >= 0], two[rest >= 0], rest[rest >= 0]
    logs = gammaln(n) - gammaln(one + 1) - gammaln(two + 1) - gammaln(rest + 1)
    chances = np.exp(logs + one * log(weights[0]) + two * log(weights[1]) + rest * log(pair.silent))
    found, shares = [], []
    for kind in (0, 1):
        counts = one + (kind == 0), two + (kind == 1)
        ratio = (counts[0] * first[0] + counts[1] * first[1]) / (counts[0] * second[0] + counts[1] * second[1])
        found.append(np.log(ratio))
        shares.append(chances * weights[kind] * first[kind])
    return np.concatenate(found), np.concatenate(shares)


@pytest.mark.parametrize("versus_clear", [False, True])
@pytest.mark.parametrize("n", [100, 5_000])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_what_is_told_is_hardly_more_than_the_least_exact_epsilon(epsilon: float, n: int, versus_clear: bool) -> None:
    law = Law(epsilon, 1 / 2 if not versus_clear else 1 / 10, never=True)
    found, shares = exact_losses(law, n, versus_clear=versus_clear)
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    order = np.argsort(-found)
    beyond = np.cumsum(shares[order])
    for chance in CHANCES:
        least = max(float(found[order][np.searchsorted(beyond, chance)]), 0.0)
        told = law.told(n, chance, versus_clear=versus_clear)
        assert least <= told * (1 + 1e-9)
        assert told <= (1.1 if chance <= 1e-4 else 1.2) * least or told >= epsilon
