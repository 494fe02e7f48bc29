"""How much of a set of values a noise block contains: the law of K, its members in a set S of m values.

What a report tells about *who* sent it depends on a block law only through K: users are told apart by the values they
have, and S is the set of values in use. What is needed is the share z = K/m, whose mean is pi for every law.

A law in which all sets of m values are alike says K exactly. For any other, two numbers bound what is told: z has the
mean pi and at least the variance pi (rho - pi) + pi (1 - rho)/m, whatever S is and however it is weighted, and lies in
0..1. Information is the mean of a concave function of z whose third derivative is positive, so no such law tells more
than the one on two points with that mean and variance of which one is 1 [Krein; Chebyshev systems].
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lgamma, log, pi, sqrt

import numpy as np

from discreet.arrays import FloatArray, frozen

# e^-46 < 1e-19: what is left out of a law.
_TAIL = 46.0
_TABLE = 16
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


@dataclass(frozen=True, slots=True, eq=False)
class HitDistribution:
    """The law of the share z = K/m of a set of m values that a noise block contains.

    Attributes:
        shares: ``(k,)`` values of z, ascending, in 0..1.
        probabilities: ``(k,)`` of each; what is left out is below 1e-18.
        exact: whether this is the law of the set that tells most; else no set of m values tells more than this law.
        ideal: the law under an idealisation, where the block law itself is known less well; None if there is none.
        idealised: what that idealisation is.
    """

    shares: FloatArray
    probabilities: FloatArray
    exact: bool = True
    ideal: "HitDistribution | None" = None
    idealised: str = ""

    @property
    def hit(self) -> float:
        """Return P(K > 0)."""
        return min(float(self.probabilities[self.shares > 0].sum()), 1.0)

    def mean(self, values: FloatArray) -> float:
        """Return the mean of one number per share."""
        return float(self.probabilities @ values)


def single(m: int, inclusion: Fraction, *, exact: bool = True) -> HitDistribution:
    """Return the law where a block contains at most one of the m values: P(K = 1) = m pi."""
    hit = m * inclusion
    return _overlap(np.array([0.0, 1 / m]), np.array([float(1 - hit), float(hit)]), exact=exact)


def from_pairs(m: int, inclusion: Fraction, conditional_inclusion: Fraction) -> HitDistribution:
    """Return the law on two points that tells no less than any set of m values; see the module."""
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
    """Return the law of independent values: K ~ Bin(m, pi)."""
    q = float(inclusion)
    odds = float(inclusion / (1 - inclusion))
    k = _window(m, m * q, m * q * (1 - q))
    return _from_ratios(k, odds * (m - k[:-1]) / (k[:-1] + 1), m, min(int((m + 1) * q), m))


def hypergeometric(size: int, count: int, m: int) -> HitDistribution:
    """Return the law of uniform subsets of ``count`` of ``size`` values."""
    share = count / size
    least, most = max(0, count + m - size), min(count, m)
    k = _window(m, m * share, m * share * (1 - share))
    k = k[(k >= least) & (k <= most)]
    before = k[:-1]
    ratios = (m - before) * (count - before) / ((before + 1) * (size - m - count + before + 1))
    return _from_ratios(k, ratios, m, (m + 1) * (count + 1) // (size + 2))


def mixed(laws: list[HitDistribution], shares: tuple[Fraction, ...]) -> HitDistribution:
    """Return the mixture of laws."""
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
    small = _remainder(np.maximum(size - a, 1)) + _remainder(np.array(float(max(size - count, 1))))
    main += small - _remainder(np.array(float(size))) - _remainder(rest)
    main -= np.where(last, np.log(np.maximum(size - m + 1, 1)), 0.0)
    found: FloatArray = np.where(m == 0, 0.0, np.where(left < 0, 1.0, -np.expm1(np.minimum(main, 0.0))))
    return found


def _overlap(shares: FloatArray, probabilities: FloatArray, *, exact: bool = True) -> HitDistribution:
    return HitDistribution(frozen(shares), frozen(probabilities), exact)


def _window(m: int, mean: float, variance: float) -> FloatArray:
    """Return the counts outside of which less than 1e-18 lies, by Bernstein's inequality; also if weighted by K."""
    reach = _TAIL / 3 + sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance) + 2
    return np.arange(max(int(mean - reach), 0), min(int(mean + reach) + 1, m) + 1, dtype=np.float64)


def _from_ratios(k: FloatArray, ratios: FloatArray, m: int, mode: int) -> HitDistribution:
    """Return the law whose successive probabilities have these ratios; from the mode outwards, so that none is lost."""
    at = int(np.clip(mode - k[0], 0, len(k) - 1))
    up = np.cumprod(ratios[at:])
    down = np.cumprod(1 / ratios[:at][::-1])[::-1]
    weights = np.concatenate([down, [1.0], up])
    return _overlap(k / m, weights / weights.sum())


_SMALL_REMAINDERS = np.array(
    [0.0, *(lgamma(n + 1) - (n + 0.5) * log(n) + n - log(2 * pi) / 2 for n in range(1, _TABLE))]
)


def _remainder(n: FloatArray) -> FloatArray:
    """Return ln n! - ((n + 1/2) ln n - n + ln(2 pi)/2) for n >= 1."""
    inverse = 1 / np.maximum(n, _TABLE)
    series = np.zeros_like(inverse)
    for coefficient in reversed(_STIRLING):
        series = coefficient + inverse * inverse * series
    table = _SMALL_REMAINDERS[np.minimum(n, _TABLE - 1).astype(np.int64)]
    found: FloatArray = np.where(n < _TABLE, table, inverse * series)
    return found
