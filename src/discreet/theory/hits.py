"""Hit distributions: how many of m values in use a noise block contains.

The leakage of a report about its *sender* depends on a block law only through K, the number of members of a noise block
in the set S of the m values in use. The formulas need the share z = K/m, whose mean is pi for every block law.

Where all sets of m values are alike, the block law gives the distribution of K exactly. Otherwise two numbers bound the
leakage: z lies in 0..1 and has the mean pi and at least the variance pi (rho - pi) + pi (1 - rho)/m, whatever S and its
weights are. Information is the mean of a concave function of z whose third derivative is positive, so it is largest for
the distribution on two points, one of them 1, with that mean and variance [Krein; Chebyshev systems].
"""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from discreet.arrays import FloatArray, frozen
from discreet.core.arithmetic import stirling_remainder

# e^-46 < 1e-19: what is left out of a law.
_TAIL = 46.0


@dataclass(frozen=True, slots=True, eq=False)
class HitDistribution:
    """The hit distribution of m values, as the distribution of the share z = K/m.

    Attributes:
        shares: ``(k,)`` values of z, ascending, in 0..1.
        probabilities: ``(k,)`` of each; what is left out is below 1e-18.
        exact: whether this is the hit distribution of the set that leaks most; else no set of m values leaks more.
        ideal: the hit distribution under an idealisation of the block law; None if there is none.
        idealised: the idealisation, in words.
    """

    shares: FloatArray
    probabilities: FloatArray
    exact: bool = True
    ideal: "HitDistribution | None" = None
    idealised: str = ""

    @property
    def hit(self) -> float:
        """Return P(K > 0), the probability that a noise block contains any of the values."""
        return min(float(self.probabilities[self.shares > 0].sum()), 1.0)

    def mean(self, values: FloatArray) -> float:
        """Return the mean of a function of the share, from its values at the shares."""
        return float(self.probabilities @ values)


def single(m: int, inclusion: Fraction, *, exact: bool = True) -> HitDistribution:
    """Return the hit distribution where a block contains at most one of the m values: P(K = 1) = m pi."""
    hit = m * inclusion
    return _overlap(np.array([0.0, 1 / m]), np.array([float(1 - hit), float(hit)]), exact=exact)


def from_pairs(m: int, inclusion: Fraction, conditional_inclusion: Fraction) -> HitDistribution:
    """Return the hit distribution on two points that leaks at least as much as any set of m values."""
    rest = 1 - inclusion
    if rest == 0:
        return single(1, inclusion, exact=False)
    variance = max(
        inclusion * (conditional_inclusion - inclusion) + inclusion * (1 - conditional_inclusion) / m, Fraction(0)
    )
    top = variance / (rest * rest + variance)
    low = inclusion - variance / rest
    return _overlap(np.array([float(low), 1.0]), np.array([float(1 - top), float(top)]), exact=False)


def binomial(m: int, inclusion: Fraction) -> HitDistribution:
    """Return the hit distribution of independent bits: K ~ Bin(m, pi)."""
    q = float(inclusion)
    odds = float(inclusion / (1 - inclusion))
    k = _window(m, m * q, m * q * (1 - q))
    return _from_ratios(k, odds * (m - k[:-1]) / (k[:-1] + 1), m, min(int((m + 1) * q), m))


def hypergeometric(size: int, count: int, m: int) -> HitDistribution:
    """Return the hit distribution of uniform subsets of ``count`` of ``size`` values."""
    share = count / size
    least, most = max(0, count + m - size), min(count, m)
    k = _window(m, m * share, m * share * (1 - share))
    k = k[(k >= least) & (k <= most)]
    before = k[:-1]
    ratios = (m - before) * (count - before) / ((before + 1) * (size - m - count + before + 1))
    return _from_ratios(k, ratios, m, (m + 1) * (count + 1) // (size + 2))


def mixed(laws: list[HitDistribution], shares: tuple[Fraction, ...]) -> HitDistribution:
    """Return the mixture of hit distributions."""
    z = np.concatenate([law.shares for law in laws])
    weights = np.concatenate([float(t) * law.probabilities for t, law in zip(shares, laws, strict=True)])
    order = np.argsort(z, kind="stable")
    return _overlap(z[order], weights[order])


def hits_of_subsets(size: int, count: int, m: FloatArray) -> FloatArray:
    """Return ``m``-shaped P(K > 0) = 1 - C(v - m, k)/C(v, k) of uniform k-subsets of v values.

    By Stirling's formula with its remainder, in terms that do not cancel.
    """
    m = np.asarray(m, dtype=np.float64)
    left = size - m - count
    # Nothing is left over: the step from one value less, for which one is.
    last = left == 0
    a = np.maximum(np.where(last, m - 1, m), 0.0)
    rest = np.maximum(size - a - count, 1.0)
    cross = a * count / (size * rest)
    far = count * np.log1p(-np.minimum(a / size, 1 - 1e-16)) + a * np.log1p(-min(count / size, 1 - 1e-16))
    main = (rest + 0.5) * np.log1p(cross) + far
    small = stirling_remainder(np.maximum(size - a, 1)) + stirling_remainder(np.array(float(max(size - count, 1))))
    main += small - stirling_remainder(np.array(float(size))) - stirling_remainder(rest)
    main -= np.where(last, np.log(np.maximum(size - m + 1, 1)), 0.0)
    return np.where(m == 0, 0.0, np.where(left < 0, 1.0, -np.expm1(np.minimum(main, 0.0))))


def _overlap(shares: FloatArray, probabilities: FloatArray, *, exact: bool = True) -> HitDistribution:
    return HitDistribution(frozen(shares), frozen(probabilities), exact)


def _window(m: int, mean: float, variance: float) -> FloatArray:
    """Return the counts that K exceeds or falls below with less than 1e-18, also weighted by K (Bernstein)."""
    reach = _TAIL / 3 + sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance) + 2
    return np.arange(max(int(mean - reach), 0), min(int(mean + reach) + 1, m) + 1, dtype=np.float64)


def _from_ratios(k: FloatArray, ratios: FloatArray, m: int, mode: int) -> HitDistribution:
    """Return the distribution with these ratios of successive probabilities, computed outwards from the mode."""
    at = int(np.clip(mode - k[0], 0, len(k) - 1))
    up = np.cumprod(ratios[at:])
    down = np.cumprod(1 / ratios[:at][::-1])[::-1]
    weights = np.concatenate([down, [1.0], up])
    return _overlap(k / m, weights / weights.sum())
