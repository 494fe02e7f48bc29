"""Lower ends of central epsilons: data sets, and an attacker who knows them.

Where nobody's value is told in clear, the others' truths are blocks like hers, and the blanket's bound is not attained.
If all others have the same value t, reports of theirs are the blanket: with a, b and c the likelihoods of a report from
x, from x' and from t, such an attacker reaches delta = (1/n) E[(sum (a - C b)/c)_+] over reports from t. Tried are x
itself, x' and a third value, whose blocks go by the joint law of three values.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from math import comb

import numpy as np

from discreet.arrays import FloatArray
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.block_law import BlockLaw
from discreet.privacy.shuffling_pairs import ValuePair, is_pool, ratio_of
from discreet.privacy.shuffling_rounds import CentralCurve

_PATTERNS = np.array(list(product((0, 1), repeat=3)))
_LEVELS = 3
_MOST_ENTRIES = 1 << 22
_THIRDS = 4


def reached(attacks: Iterable[ValuePair], n: int, delta: float, rounds: int = 1) -> float:
    """Return an epsilon that an attacker certainly reaches, by the attack of the largest divergence; 0 for none."""
    ranked = sorted(attacks, key=lambda attack: attack.strength)
    return CentralCurve((ranked[-1],), n, rounds).epsilon(delta)[0] if ranked else 0.0


def others_alike(pair: ValuePair) -> Iterator[ValuePair]:
    """Yield the attacks where all others have the value x, or all have x'."""
    yield _against(pair.first, pair.second, pair.first, pair.weights)
    # x' may be told in clear, which x never is.
    clear = max(1 - float(pair.weights @ pair.second), 0.0)
    columns = np.append(pair.first, 0.0), np.append(pair.second, 1.0), np.append(pair.weights, clear)
    yield _against(columns[0], columns[1], columns[1], columns[2])


def others_at_a_third(mechanism: BlockMechanism) -> Iterator[ValuePair]:
    """Yield the attacks on two sensitive values where all others have a third one; none where its law is not known."""
    law = mechanism.law
    noise = mechanism.numbers.noisy
    for levels in _triples(law):
        ratios = np.array([ratio_of(mechanism, level) for level in levels])
        likelihoods = np.where(_PATTERNS == 1, ratios, 1.0).T
        for shares in _joint_laws(mechanism, levels):
            possible = shares > 0
            first, second, others = likelihoods[:, possible]
            yield _against(first, second, others, noise * shares[possible])


def others_beside_clear(pairs: Iterable[ValuePair]) -> Iterator[ValuePair]:
    """Yield the attacks on x and a value in clear where all others have the sensitive value x' of a pair."""
    for pair in pairs:
        yield _against(pair.first, np.ones_like(pair.first), pair.second, pair.weights)


def _against(first: FloatArray, second: FloatArray, others: FloatArray, weights: FloatArray) -> ValuePair:
    """Return the pair whose blanket are reports of likelihood ``others``."""
    return ValuePair(first / others, second / others, weights * others, 0.0)


def _triples(law: BlockLaw) -> Iterator[tuple[int, int, int]]:
    """Yield the levels of three different values; of many levels, the rarest and the commonest ones."""
    counts = [law.size] if law.groups is None else np.bincount(law.groups).tolist()
    ranked = sorted(range(len(counts)), key=lambda level: law.inclusions[level])
    tried = ranked if len(ranked) <= _LEVELS else [ranked[0], ranked[len(ranked) // 2], ranked[-1]]
    for x, other, third in product(tried, tried, tried):
        if all((x, other, third).count(level) <= counts[level] for level in (x, other, third)):
            yield x, other, third


def _joint_laws(mechanism: BlockMechanism, levels: tuple[int, int, int]) -> Iterator[FloatArray]:
    """Yield ``(8,)`` probabilities of which of three values a noise block holds, as `_PATTERNS` lists them."""
    law = mechanism.law
    hits = law.hit_distribution(3) if law.groups is None else None
    if hits is not None and hits.exact and not is_pool(mechanism):
        by_count = dict(zip(np.rint(3 * hits.shares).astype(int).tolist(), hits.probabilities.tolist(), strict=True))
        yield np.array([by_count.get(k, 0.0) / comb(3, k) for k in _PATTERNS.sum(axis=1).tolist()])
    elif law.triple_covariance is not None:
        yield _from_pairs(law, levels)
    elif law.groups is None and law.alphabet_size * law.size <= _MOST_ENTRIES:
        blocks, chances = law.alphabet()
        contained, weights = law.contains(blocks), chances.astype(np.float64)
        for third in range(2, min(2 + _THIRDS, law.size)):
            places = contained[:, [0, 1, third]] @ np.array([4, 2, 1])
            yield np.bincount(places, weights=weights, minlength=8).astype(np.float64)


def _from_pairs(law: BlockLaw, levels: tuple[int, int, int]) -> FloatArray:
    """Return the joint law from pi, rho and the covariance of two values given a third."""
    x, other, third = (float(law.inclusions[level]) for level in levels)
    rhos = [float(law.conditional_inclusions[level]) for level in levels]
    all_three = x * (rhos[1] * rhos[2] + float(law.triple_covariance or 0))
    pairs = x * rhos[1], x * rhos[2], other * rhos[2]
    exactly = {
        (1, 1, 1): all_three,
        (1, 1, 0): pairs[0] - all_three,
        (1, 0, 1): pairs[1] - all_three,
        (0, 1, 1): pairs[2] - all_three,
        (1, 0, 0): x - pairs[0] - pairs[1] + all_three,
        (0, 1, 0): other - pairs[0] - pairs[2] + all_three,
        (0, 0, 1): third - pairs[1] - pairs[2] + all_three,
    }
    shares: FloatArray = np.array([exactly.get(tuple(pattern), 0.0) for pattern in _PATTERNS.tolist()])
    shares[0] = 1 - shares.sum()
    nonnegative: FloatArray = np.maximum(shares, 0.0)
    return nonnegative
