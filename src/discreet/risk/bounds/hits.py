"""Hit distributions: the number of given values that a noise block contains.

The leakage of a report about its *sender* depends on a block law only through K. This is the number of members of a
noise block in the set S of the m values in use. The formulas need the share z = K/m, whose mean is pi for every block
law.

If all sets of m values are alike, the block law gives the distribution of K exactly. Otherwise two numbers bound the
leakage: z in 0..1 has mean pi and at least the variance pi (rho - pi) + pi (1 - rho)/m, for any S with any weights.
Information is the mean of a concave function of z with a positive third derivative. So it is largest for the
distribution on two points, one of them 1, with this mean and variance [Krein; Chebyshev systems].
"""

from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from math import log1p, sqrt

import numpy as np

from discreet.arrays import FloatArray, read_only
from discreet.mechanisms.block_law import BlockLaw, HitDistribution
from discreet.mechanisms.laws.bits import IndependentBits
from discreet.mechanisms.laws.hadamard import HadamardColumns
from discreet.mechanisms.laws.hashing import HashBuckets
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import MixedSubsets, Subsets
from discreet.theory.arithmetic import stirling_remainder

# e^-46 < 1e-19: the neglected probability.
_TAIL = 46.0


@singledispatch
def hit_distribution(law: BlockLaw, m: int) -> HitDistribution:
    """Return the hit distribution for the m values that leak most about their users, or a bounding distribution."""
    if hasattr(law, "hit_distribution"):
        stated: HitDistribution = law.hit_distribution(m)
        return stated
    # Where rho depends on the two values, 0 is a lower bound.
    return from_pairs(m, law.inclusion, law.conditional_inclusion or Fraction(0))


@hit_distribution.register
def _(law: Singletons, m: int) -> HitDistribution:
    return single(m, law.inclusion)


@hit_distribution.register
def _(law: IndependentBits, m: int) -> HitDistribution:
    return binomial(m, law.inclusion)


@hit_distribution.register
def _(law: Subsets, m: int) -> HitDistribution:
    return hypergeometric(law.size, law.count, m)


@hit_distribution.register
def _(law: MixedSubsets, m: int) -> HitDistribution:
    return mixed([hypergeometric(law.size, k, m) for k in law.sizes], law.shares)


@hit_distribution.register
def _(law: HashBuckets, m: int) -> HitDistribution:
    # Given the function, a report is randomized response over the g buckets. It leaks at most as much as with m values
    # without collisions, or as with all g buckets equally likely. For a uniformly random public function, K is
    # binomial.
    bound = single(min(m, law.buckets), law.inclusion, exact=False)
    return replace(bound, ideal=binomial(m, law.inclusion), idealised="a uniformly random public hash function")


@singledispatch
def hits_of(law: BlockLaw, m: FloatArray) -> FloatArray:
    """Return P(a noise block contains one of m values) for each m: the largest over all sets, or an upper bound."""
    hits: FloatArray = law.hits(m) if hasattr(law, "hits") else np.minimum(1.0, m * float(law.inclusion))
    return hits


@hits_of.register
def _(law: IndependentBits, m: FloatArray) -> FloatArray:
    return -np.expm1(m * log1p(-float(law.inclusion)))


@hits_of.register
def _(law: Subsets, m: FloatArray) -> FloatArray:
    return hits_of_subsets(law.size, law.count, m)


@hits_of.register
def _(law: MixedSubsets, m: FloatArray) -> FloatArray:
    smaller, larger = (hits_of_subsets(law.size, k, m) for k in law.sizes)
    share = float(law.shares[1])
    return (1 - share) * smaller + share * larger


@hits_of.register
def _(law: HadamardColumns, m: FloatArray) -> FloatArray:  # noqa: ARG001
    # Of two rows and their product, an odd number is +1 in every column.
    return np.array([0.0, 0.5, 0.75, 1.0])[np.minimum(m, 3).astype(np.int64)]


def single(m: int, inclusion: Fraction, *, exact: bool = True) -> HitDistribution:
    """Return the hit distribution if a block contains at most one of the m values: P(K = 1) = m pi."""
    hit = m * inclusion
    return _overlap(np.array([0.0, 1 / m]), np.array([float(1 - hit), float(hit)]), exact=exact)


def from_pairs(m: int, inclusion: Fraction, conditional_inclusion: Fraction) -> HitDistribution:
    """Return the hit distribution on two points, which leaks at least as much as any set of m values."""
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

    It is computed with Stirling's formula and its remainder, without cancellation.
    """
    m = np.asarray(m, dtype=np.float64)
    left = size - m - count
    # One value less is needed at the end of the range, where no value is left.
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
    return HitDistribution(read_only(shares), read_only(probabilities), exact)


def _window(m: int, mean: float, variance: float) -> FloatArray:
    """Return the range that K leaves with probability less than 1e-18, also if weighted by K (Bernstein)."""
    reach = _TAIL / 3 + sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance) + 2
    return np.arange(max(int(mean - reach), 0), min(int(mean + reach) + 1, m) + 1, dtype=np.float64)


def _from_ratios(k: FloatArray, ratios: FloatArray, m: int, mode: int) -> HitDistribution:
    """Return the distribution with the given ratios of successive probabilities, computed outwards from the mode."""
    at = int(np.clip(mode - k[0], 0, len(k) - 1))
    up = np.cumprod(ratios[at:])
    down = np.cumprod(1 / ratios[:at][::-1])[::-1]
    weights = np.concatenate([down, [1.0], up])
    return _overlap(k / m, weights / weights.sum())
