"""Pairs of values, as whoever sees shuffled reports tells them apart [Balle, Bell, Gascon, Nissim 2019].

Noise that does not depend on the value is the *privacy blanket*. Let x and x' be two values of one person, and let the
attacker know who of the others told the truth (which only helps). What is left are blocks of noise and one report of
the person, anywhere among them. With a(y) and b(y) the likelihoods of a report y from x and from x' against the
blanket, and C = e^eps,

    D_C(x -> x') = sum (P_x - C P_x')_+ <= (1/n) E[(G_1 + ... + G_n)_+],  G = a(y) - C b(y)

where y is noise with probability gamma, and G = 0 otherwise (somebody else's truth). Truth or noise has a, b in {1, E},
by which of x and x' a block holds. The bound is attained where the truth of everybody else is told in clear.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import exp, log

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.random import WORD_RANGE
from discreet.mechanisms import BlockMechanism, Channel
from discreet.privacy.shuffling_excess import chernoff_end, excess


@dataclass(frozen=True, slots=True, eq=False)
class ValuePair:
    """Two values of a person, by the likelihoods of noise.

    Attributes:
        first: ``(k,)`` likelihood a of each kind of report from x, against the blanket.
        second: ``(k,)`` likelihood b from x'.
        weights: ``(k,)`` probabilities of the kinds of reports, of anybody; they sum to gamma.
        silent: 1 - gamma, the probability of a report that says nothing of x and x'.
    """

    first: FloatArray
    second: FloatArray
    weights: FloatArray
    silent: float

    def delta(self, ratio: float, n: int) -> tuple[float, float]:
        """Return a lower and an upper end of delta = (1/n) E[(G_1 + ... + G_n)_+] for C = ``ratio``."""
        values = np.append(self.first - ratio * self.second, 0.0)
        low, high = excess(values, np.append(self.weights, self.silent), n)
        return low / n, min(high / n, 1.0)

    def bound(self, ratio: float, n: int) -> float:
        """Return an upper end of delta that costs little and is some times too large."""
        values = np.append(self.first - ratio * self.second, 0.0)
        return chernoff_end(values, np.append(self.weights, self.silent), n) / n

    def floor(self, delta: float = 0.0) -> float:
        """Return an epsilon below which no n keeps delta: E[G] > delta there (Jensen); 0 where that is nothing."""
        return max(log((self.weights @ self.first - delta) / (self.weights @ self.second)), 0.0)

    @property
    def strength(self) -> float:
        """Mu sqrt(n) of the Gaussian mechanism that the pair tends to: the deviation of G where its mean is 0."""
        ratio = exp(self.floor())
        return float(np.sqrt(self.weights @ (self.first - ratio * self.second) ** 2))

    @property
    def largest(self) -> float:
        """The largest ratio a/b: nobody's C exceeds it."""
        return float((self.first / self.second).max())


def block_pairs(mechanism: BlockMechanism) -> Iterator[ValuePair]:
    """Yield the ordered pairs of levels of sensitive values that no other pair exceeds at any C.

    G = 1 - C + c_x 1[x in A] - C c_x' 1[x' in A], where c_x P(x in A) is the same for all x. So where values are in a
    block independently of each other, or never together, a rarer value spreads G and keeps its mean, given all else:
    delta grows, and the two rarest values of all are the worst, in one order or the other.
    """
    law = mechanism.law
    rhos = (Fraction(0),) * len(law.inclusions) if is_pool(mechanism) else law.conditional_inclusions
    counts: list[int] = [law.size] if law.groups is None else np.bincount(law.groups).tolist()
    for x, other in _worst_levels(law.inclusions, rhos, counts):
        both = law.inclusions[x] * rhos[other]
        only = law.inclusions[x] - both, law.inclusions[other] - both
        shares = (only[0], only[1], both, 1 - sum(only) - both)
        ratios = ratio_of(mechanism, x), ratio_of(mechanism, other)
        yield _pair(mechanism, (ratios[0], 1.0, ratios[0], 1.0), (1.0, ratios[1], ratios[1], 1.0), shares)


def _worst_levels(
    inclusions: Sequence[Fraction], rhos: Sequence[Fraction], counts: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the pairs of levels of two different values that may be the worst."""
    if tuple(rhos) != tuple(inclusions) and any(rhos):
        levels = range(len(inclusions))
        return [(x, other) for x, other in product(levels, levels) if x != other or counts[x] > 1]
    rarest = sorted(range(len(inclusions)), key=inclusions.__getitem__)[:2]
    return [(rarest[0], rarest[0])] if counts[rarest[0]] > 1 else list(permutations(rarest, 2))


def pairs_towards(mechanism: BlockMechanism) -> Iterator[ValuePair]:
    """Yield the pair of the rarest sensitive value and one in clear, which is the worst; see `block_pairs`."""
    x = min(range(len(mechanism.law.inclusions)), key=mechanism.law.inclusions.__getitem__)
    inclusion = mechanism.law.inclusions[x]
    yield _pair(mechanism, (ratio_of(mechanism, x), 1.0), (1.0, 1.0), (inclusion, 1 - inclusion))


def _pair(
    mechanism: BlockMechanism, first: tuple[float, ...], second: tuple[float, ...], shares: tuple[Fraction, ...]
) -> ValuePair:
    noise = Fraction(WORD_RANGE - mechanism.threshold, WORD_RANGE)
    weights = np.array([float(noise * share) for share in shares])
    return ValuePair(np.array(first), np.array(second), weights, float(1 - noise))


def ratio_of(mechanism: BlockMechanism, level: int) -> float:
    """Return E_x = 1 + s / (gamma pi_x), how much likelier a block that holds x is from x than as noise."""
    odds = Fraction(mechanism.threshold, WORD_RANGE - mechanism.threshold)
    return float(1 + odds / mechanism.law.inclusions[level])


def is_pool(mechanism: BlockMechanism) -> bool:
    """True if rho is a mean over public draws, so that two values of this draw may never share a block."""
    return mechanism.law.conditional_variation[0] > 0


def channel_pairs(channel: Channel, *, towards: bool) -> list[ValuePair]:
    """Return the different pairs of a sensitive value and another sensitive one, or one that is not, of a channel.

    omega(y), the least probability of y from any value, is the blanket.
    """
    weights = channel.weights
    least = weights.min(axis=0)
    kinds = np.flatnonzero(least > 0)
    blanket = least[kinds]
    noise = Fraction(int(blanket.sum()), WORD_RANGE)
    shares, silent = np.array([float(Fraction(int(one), WORD_RANGE)) for one in blanket]), float(1 - noise)
    rows = (weights[:, kinds] / blanket).astype(np.float64)
    others = channel.domain.clear_codes if towards else channel.domain.sensitive_codes
    found: dict[tuple[tuple[float, ...], ...], ValuePair] = {}
    for x in channel.domain.sensitive_codes:
        for other in others:
            if x != other:
                order = np.lexsort((shares, rows[other], rows[x]))
                columns = rows[x][order], rows[other][order], shares[order]
                found.setdefault(tuple(map(tuple, columns)), ValuePair(*columns, silent))
    return list(found.values())


def silent_rows(channel: Channel) -> int:
    """Return the number of values whose reports are noise or tell what no sensitive value can have caused."""
    least = channel.weights.min(axis=0)
    kinds = least > 0
    silent = (channel.weights[channel.domain.clear_codes][:, kinds] == least[kinds]).all(axis=1)
    return int(silent.sum())
