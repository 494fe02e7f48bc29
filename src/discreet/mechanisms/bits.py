"""Independent bits: RAPPOR, OUE and their utility-optimized forms.

Every sensitive value has a bit that noise sets with probability d1, on its own; the truth sets its own bit for sure. So
pi = rho = d1, and with theta = s + (1 - s) d1 the probability that one's own bit is set,

    d1 = theta e^-eps / (1 - theta + theta e^-eps),   s = theta (1 - e^-eps),

which is generalized RAPPOR [ULDP, section 3.2] when every value is sensitive and uRAP [ULDP, Def. 4] otherwise;
theta = e^(eps/2) / (e^(eps/2) + 1) is basic RAPPOR, theta = 1/2 is OUE [Wang 2017].

Epsilon is kept by the probability s of the truth, whatever d1 is. So d1 may be a fraction of few binary digits, each of
which costs a random bit per noise bit: 3/8 in place of .3775 changes the error by a quarter of a percent, and takes 3
random bits in place of 13.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, log1p, log2
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from discreet.accuracy.theta import optimal_theta
from discreet.arrays import AnyArray, FloatArray
from discreet.core.checks import checked_flag, checked_whole, real_number, shown
from discreet.core.coins import rare_bits
from discreet.errors import ParameterError
from discreet.leakage.hits import HitDistribution, binomial
from discreet.mechanisms.block_law import EvenLaw
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.mechanisms.numbers import numbers_of, threshold_of
from discreet.mechanisms.packed_bits import GREATEST_DEPTH, PIECE_WORDS, PRECISION_BITS, PackedBitCodec

# What few digits may change: d1 by one part in so many, and the worst-case error by a factor.
_NEAR = 32
_SAME_ERROR = 1 + 2.0**-10


@dataclass(frozen=True, slots=True)
class IndependentBits(EvenLaw, PackedBitCodec):
    """Bits that noise sets with probability ``threshold / 2^depth``, each on its own.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        threshold: an odd integer in 1..2^depth - 1.
        depth: random bits that one noise bit costs.
    """

    kind = "bits"
    wide = ("threshold",)

    size: int
    threshold: int
    depth: int

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if there is no value, or the fraction is not one between 0 and 1 in lowest terms.
        """
        checked_whole("size", self.size)
        checked_whole("depth", self.depth, 1, GREATEST_DEPTH)
        checked_whole("threshold", self.threshold)
        if self.size < 1 or not 0 < self.threshold < 1 << self.depth or self.threshold % 2 == 0:
            raise ParameterError(
                f"threshold must be odd and below 2^depth, got {self.threshold!r} and depth {self.depth!r}."
            )

    @classmethod
    def near(cls, size: int, inclusion: float) -> "IndependentBits":
        """Return the law whose d1 is near ``inclusion``: within 2^-12 of it and of its complement, in few digits."""
        magnitude = ceil(-log2(max(min(inclusion, 1 - inclusion), 2.0**-GREATEST_DEPTH)))
        depth = min(magnitude + PRECISION_BITS, GREATEST_DEPTH)
        rounded = Fraction(min(max(round(inclusion * 2**depth), 1), 2**depth - 1), 2**depth)
        return cls(size, rounded.numerator, rounded.denominator.bit_length() - 1)

    def shorter(self, inclusion: float) -> Iterator["IndependentBits"]:
        """Yield the laws of fewer digits whose d1 is within a 32nd of ``inclusion`` and of its complement, by depth."""
        room = min(inclusion, 1 - inclusion) / _NEAR
        for depth in range(1, self.depth):
            # The nearest odd number.
            law = IndependentBits(self.size, int(inclusion * 2**depth) | 1, depth)
            if abs(float(law.inclusion) - inclusion) <= room:
                yield law

    @property
    def inclusion(self) -> Fraction:
        """Return pi = d1."""
        return Fraction(self.threshold, 1 << self.depth)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = d1: bits are independent."""
        return self.inclusion

    def joint_inclusion(self, count: int) -> Fraction:
        """Return d1^count."""
        return self.inclusion**count

    @property
    def _piece_lanes(self) -> int:
        return max(PIECE_WORDS // self.depth, 1)

    def hit_distribution(self, m: int) -> HitDistribution:
        """Return the law of K: binomial."""
        return binomial(m, self.inclusion)

    def hits(self, m: FloatArray) -> FloatArray:
        """Return 1 - (1 - d1)^m."""
        return -np.expm1(m * log1p(-float(self.inclusion)))

    def describe(self) -> dict[str, Any]:
        """Return v and the fraction d1."""
        return {"law": self.kind, "size": self.size, "threshold": self.threshold, "depth": self.depth}

    def _ladder(self, words: AnyArray) -> AnyArray:
        return rare_bits(words, self.threshold)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class UnaryEncoding(BlockMechanism):
    """Unary encoding: basic RAPPOR by default, OUE at theta = 1/2; uRAP and uOUE when only some values are sensitive.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        theta: the probability that one's own bit is set, in (0, 1); None for e^(eps/2) / (e^(eps/2) + 1);
            ``"optimal"`` for the one with the least worst-case error of the decoder in use.
        clear_bits: make reports in clear carry v noise bits too, which the decoder counts: the paper's uRAP to the
            letter, for reproduction. By default they are left out: the same guarantee, shorter reports, less error.
        digits: ``"few"`` for a noise bit of as few binary digits as change its probability d1 by at most a 32nd and the
            worst-case error by at most a thousandth: the same guarantee, obfuscated several times faster. None for d1
            to 11 bits.

    Raises:
        ParameterError: if a parameter is out of range, or clear_bits is set where nothing goes in clear.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.UnaryEncoding(dc.Domain(["bus", "car", "walk"]), epsilon=2.0, theta="optimal")
        >>> reports = mechanism.obfuscate(["bus"] * 6000 + ["car"] * 4000, random=dc.SeededRandom(1))
        >>> dc.estimate(mechanism, reports, method="projected").frequencies.round(2).tolist()
        [0.6, 0.4, 0.0]
    """

    name = "unary"
    laws = (IndependentBits,)
    proposed = MappingProxyType({"digits": "few"})

    theta: float | Literal["optimal"] | None = None
    clear_bits: bool = False
    digits: Literal["few"] | None = None

    @cached_property
    def law(self) -> IndependentBits:
        """The block law."""
        size = sensitive_size(self.domain)
        object.__setattr__(self, "clear_bits", checked_flag("clear_bits", self.clear_bits))
        if self.clear_bits and self.domain.clear_count == 0:
            raise ParameterError("clear_bits does nothing where every value is sensitive; leave it out.")
        if not (self.digits is None or (isinstance(self.digits, str) and self.digits == "few")):
            raise ParameterError(f"digits must be 'few' or left out, got digits={shown(self.digits)}.")
        inclusion = self._noise(size)
        law = IndependentBits.near(size, inclusion)
        if self.digits is None:
            return law
        limit = self._error(law) * _SAME_ERROR
        return next((few for few in law.shorter(inclusion) if self._error(few) <= limit), law)

    def _noise(self, size: int) -> float:
        """Return d1 as theta and epsilon say."""
        if self.theta is None:
            return 1 / (1 + exp(self.epsilon / 2))
        if isinstance(self.theta, str) and self.theta == "optimal":
            return _best_noise(size, self.domain.size, self.epsilon, self.clear_bits)
        return _noise(_checked_theta(self.theta), self.epsilon)

    def _error(self, law: IndependentBits) -> float:
        """Return the worst-case error of one report under a law."""
        return numbers_of(
            self.domain, law, threshold_of((self.epsilon,), law), clear_blocks=self.clear_bits
        ).worst_case_mse(1)

    @property
    def clear_blocks(self) -> bool:  # type: ignore[override]
        """True if reports in clear carry noise bits too."""
        return self.clear_bits

    @property
    def settings(self) -> dict[str, float]:
        """Return theta, as the sampler realises it, and the binary digits of d1: random bits for one noise bit."""
        numbers = self.numbers
        theta = numbers.truth + numbers.noisy * float(np.mean(numbers.inclusion))
        return {"theta": theta, "digits": self.law.depth}


def _best_noise(size: int, total: int, epsilon: float, clear_bits: bool) -> float:
    """Return d1 of the best theta, or the nearest that bits can have."""
    if total < 2:
        raise ParameterError("theta='optimal' has nothing to choose in a domain of one value; leave it out.")
    best = optimal_theta(size, total, epsilon, clear_bits=clear_bits)
    return _inclusion(best.theta, best.complement, epsilon)


def _inclusion(theta: float, complement: float, epsilon: float) -> float:
    """Return d1. With e^-eps, not e^eps: no overflow."""
    weight = theta * exp(-epsilon)
    return weight / (complement + weight)


def _noise(theta: float, epsilon: float) -> float:
    """Return d1 of a theta that was asked for."""
    noise = _inclusion(theta, 1 - theta, epsilon)
    if not 2.0**-GREATEST_DEPTH < noise < 1 - 2.0**-GREATEST_DEPTH:
        raise ParameterError(
            f"theta={theta!r} needs bits too rare or too frequent at this epsilon; choose another one."
        )
    return noise


def _checked_theta(theta: object) -> float:
    number = real_number(theta)
    if not 0 < number < 1:
        raise ParameterError(
            f"theta must be a number between 0 and 1, both excluded, or 'optimal', got theta={shown(theta)}."
        )
    return number
