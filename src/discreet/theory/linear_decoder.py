"""The linear decoder of truth-or-noise mechanisms, and its exact errors, from the mechanism's parameters.

Every block mechanism has the same unbiased decoder. With c = (pi - rho)(1 - s) and D = s(1 - rho), a report contributes
to the estimate of a sensitive value

    phi_in = (1 - rho - c)/D if its block contains it, phi_out = (-rho - c)/D if not, and -c/D if it is in clear,

and 1/s to the estimate of its value if it is in clear. The errors are exact for every n.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, Floats
from discreet.core.checks import checked_n

JointInclusion: TypeAlias = Callable[[int], Fraction | None]
"""A function from a number of given values to the probability that all of them are in a noise block."""


class Variances(NamedTuple):
    """The coefficients A and B of n Var(p_hat_x) = A + B p_x - p_x^2, for sensitive values and for other values."""

    sensitive: tuple[Floats, float]
    clear: tuple[Floats, float]


class ContributionRanges(NamedTuple):
    """The smallest and largest contribution of a report to an estimate, for sensitive values and for other values."""

    sensitive: tuple[float, float]
    clear: tuple[float, float]


class BlockKind(NamedTuple):
    """One kind of blocks, such as one size, with its contributions to the estimates.

    Attributes:
        share: the probability that a block is of this kind.
        truth: s, the probability of the truth.
        noisy: 1 - s, stored separately, because the difference loses digits near s = 1.
        inclusion: pi, the probability that a noise block contains a given value.
        conditional_inclusion: rho, the probability that a block drawn for one value contains a second one.
        joint: the probabilities that given numbers of values are all in a noise block; None to ask the law.
        contributions: the contributions to a sensitive value inside the block, to one outside, and to any other value.
    """

    share: float
    truth: float
    noisy: float
    inclusion: float
    conditional_inclusion: float
    joint: JointInclusion | None
    contributions: tuple[float, float, float]

    def mean_power(self, inclusion: float, power: int = 2) -> float:
        """Return the mean of a power of a block's contribution to the estimate of a sensitive value.

        The block contains the value with probability ``inclusion``.
        """
        inside, outside, _ = self.contributions
        return inclusion * inside**power + (1 - inclusion) * outside**power


class DecoderCoefficients(ABC):
    """The coefficients of a linear decoder of blocks, and its exact errors.

    Attributes:
        size: v, the number of sensitive values.
        clear_size: N, the number of other values.
        truth: s, the probability that a value that is not sensitive is reported in clear.
        noisy: 1 - s.
        clear_blocks: whether reports in clear have a block of noise too.
        by_size: whether there is a support for each size of block.
    """

    size: int
    clear_size: int
    truth: float
    noisy: float
    clear_blocks: ClassVar[bool] = False
    by_size: ClassVar[bool] = False

    @property
    @abstractmethod
    def kinds(self) -> tuple[BlockKind, ...]:
        """The kinds of blocks with different contributions, such as one kind for each block size."""

    @property
    @abstractmethod
    def clear_contributions(self) -> tuple[float, float, float]:
        """The contributions of a report in clear to the estimates of a sensitive, another and the reported value."""

    @abstractmethod
    def estimate(self, support: AnyArray, clear: AnyArray, n: float) -> tuple[FloatArray, FloatArray]:
        """Return unbiased estimates of the ``(v,)`` sensitive frequencies and of the ``(N,)`` other frequencies.

        Args:
            support: ``(v,)`` T, counts or expected counts of blocks that contain each value.
            clear: ``(N,)`` F, counts of the values in clear.
            n: the number of reports.
        """

    @property
    def noisy_inclusion(self) -> float:
        """The probability that the report of a value that is not sensitive has a noise block with a given value."""
        return sum(kind.share * kind.noisy * kind.inclusion for kind in self.kinds)

    def _blocks(self, kind: BlockKind, sensitive_mass: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of a noise block and of a truthful block, given p(X_S) and the kind.

        An estimate of p(X_S) may be far outside 0..1, so the probability of noise uses it only if necessary.
        """
        more_noise = (1 - sensitive_mass) * kind.truth if self.clear_blocks else 0.0
        return kind.noisy + more_noise, sensitive_mass * kind.truth

    @property
    def _silent(self) -> tuple[float, float]:
        """The probability of a report in clear without a block, and the report's contribution to a sensitive value."""
        alone = self.clear_size > 0 and not self.clear_blocks
        return (self.truth, self.clear_contributions[0]) if alone else (0.0, 0.0)

    @property
    def contribution_ranges(self) -> ContributionRanges:
        """The smallest and the largest contribution of a report to the estimate of a value.

        Blocks of every kind are included, however rare.
        """
        sensitive = [kind.contributions[0] for kind in self.kinds]
        # A value in every block has no contribution from outside one.
        sensitive += [kind.contributions[1] for kind in self.kinds if kind.inclusion < 1]
        others = [kind.contributions[2] for kind in self.kinds] if self.size else []
        if self.clear_size:
            others += [self.clear_contributions[2], self.clear_contributions[1 if self.clear_size > 1 else 2]]
            sensitive += [] if self.clear_blocks else [self.clear_contributions[0]]
        return ContributionRanges((min(sensitive), max(sensitive)), (min(others), max(others)))

    def block_contributions(self, contained: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the contributions of blocks to the estimates, given ``(m, v)`` booleans for their members.

        Returns:
            ``(m, v)`` for the sensitive values, and ``(m, 1)`` for each other value.
        """
        inside, outside, beside = self.kinds[0].contributions
        return np.where(contained, inside, outside), np.full((len(contained), 1), beside)

    def sensitive_moment(self, power: int, sensitive_mass: Floats) -> tuple[Floats, float]:
        """Return constant and slope in p_x of E w^k, for a report's contribution w to the estimate of a sensitive x."""
        clear_mass, (silent_share, silent) = 1 - sensitive_mass, self._silent
        constant, slope = clear_mass * (silent_share * silent**power), 0.0
        for kind in self.kinds:
            inside, outside, _ = (each**power for each in kind.contributions)
            noise, truthful = self._blocks(kind, sensitive_mass)
            base = noise * kind.inclusion + truthful * kind.conditional_inclusion
            constant = constant + kind.share * (inside * base + outside * (noise + truthful - base))
            slope += kind.share * kind.truth * (1 - kind.conditional_inclusion) * (inside - outside)
        return constant, slope

    def variances(self, sensitive_mass: Floats) -> Variances:
        """Return the coefficients A and B of the estimates' variances, given the sensitive mass p(X_S)."""
        sensitive = self.sensitive_moment(2, sensitive_mass)
        if not self.clear_size:
            return Variances(sensitive, (0.0, 0.0))
        clear_mass, (_, other, reported) = 1 - sensitive_mass, self.clear_contributions
        constant = clear_mass * (self.truth * other**2)
        for kind in self.kinds:
            noise, truthful = self._blocks(kind, sensitive_mass)
            constant = constant + kind.share * (noise + truthful) * kind.contributions[2] ** 2
        # Every unbiased decoder has s (reported - other) = 1, so no digit is lost where sums of estimates are constant.
        return Variances(sensitive, (constant, reported + other))

    @cached_property
    def sensitive_loss(self) -> float:
        """g_S: the sum over all estimates of the mean squared contribution of a report on a sensitive value."""
        loss = 0.0
        for kind in self.kinds:
            inside, _, beside = kind.contributions
            truthful = kind.truth * (inside**2 + (self.size - 1) * kind.mean_power(kind.conditional_inclusion))
            noise = kind.noisy * self.size * kind.mean_power(kind.inclusion)
            loss += kind.share * (truthful + noise + self.clear_size * beside**2)
        return loss

    @cached_property
    def clear_loss(self) -> float:
        """g_N: the sum over all estimates of the mean squared contribution of a report on another value."""
        _, other, reported = self.clear_contributions
        silent_share, silent = self._silent
        own_square = reported * (1 + self.truth * other)
        loss = silent_share * self.size * silent**2 + self.truth * (self.clear_size - 1) * other**2 + own_square
        for kind in self.kinds:
            square = self.size * kind.mean_power(kind.inclusion) + self.clear_size * kind.contributions[2] ** 2
            noise: Any = self._blocks(kind, 0.0)[0]
            loss += kind.share * noise * square
        return loss

    def mse(self, n: int, mass: float, squares: float) -> float:
        """Return the exact mean squared error E ||p_hat - p||^2 of estimates from n independent draws from p.

        Args:
            n: the number of reports.
            mass: p(X_S), the sum of the sensitive frequencies.
            squares: ||p||^2.
        """
        clear = (1 - mass) * self.clear_loss if self.clear_size else 0.0
        return (self.sensitive_loss * mass + clear - squares) / checked_n(n)

    @property
    def worst_mass(self) -> float:
        """a*, the sensitive mass at which the error is largest; the worst p is uniform within each class."""
        if self.clear_size == 0:
            return 1.0
        if self.size == 0:
            return 0.0
        gain = (self.sensitive_loss - self.clear_loss) / 2
        return float(np.clip((gain + 1 / self.clear_size) / (1 / self.size + 1 / self.clear_size), 0, 1))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest mean squared error of the estimates over all distributions p."""
        a = self.worst_mass
        squares = sum(mass * mass / count for mass, count in ((a, self.size), (1 - a, self.clear_size)) if count)
        # Rounding may make a value of 0 negative (for a domain of one value).
        return max(self.mse(n, a, squares), 0.0)

    def cross_moments(self, triple: float, mass: float) -> FloatArray:
        """Return the cross moments of one report: the mean product of its contributions to two different values.

        With a = p(X_S), values x != x' in X_S, and rho_3 = P(x', x'' in A given x in A),

            E phi_x phi_x' = c_0 + c_1 (p_x + p_x'),

            m_0 = o^2 + 2 o d pi + d^2 pi rho,  m_1 = o^2 + o d (1 + rho) + d^2 rho,
            m_2 = o^2 + 2 o d rho + d^2 rho_3,
            c_0 = (1 - s) m_0 + s (a m_2 + (1 - a) k^2),  c_1 = s (m_1 - m_2),

        where a report contributes o = phi_out to a value outside its block, d more to one inside, and k if it is in
        clear. A noise block contains both values with probability pi rho. The block of one of them contains the other
        with probability rho, and the block of a third value contains both with rho_3. The covariance of two estimates
        is this moment less p_x p_x', over n. It is affine in p and in a. So unbiased estimates may replace p and a if n
        - 1 replaces n.

        Args:
            triple: the covariance of x' in A and x'' in A given x in A, which is rho_3 - rho^2.
            mass: a = p(X_S).

        Returns:
            ``(4, 4)`` C: E phi_x phi_y = b_x' C b_y with b_x = (1, p_x, 0, 0) for x in X_S, and (0, 0, 1, p_x) for
            other values.
        """
        crossed = [kind.share * self._crossed(kind, triple, mass) for kind in self.kinds]
        total: FloatArray = np.sum(crossed, axis=0)
        return total

    def _crossed(self, kind: BlockKind, triple: float, mass: float) -> FloatArray:
        """Return the `cross_moments` of a report whose block is of one kind."""
        inside, o, beside = kind.contributions
        silent, other, _ = self.clear_contributions if self.clear_size else (0.0, 0.0, 0.0)
        s, noisy, pi, rho, rest = kind.truth, kind.noisy, kind.inclusion, kind.conditional_inclusion, 1 - mass
        d, rho_3 = inside - o, rho * rho + triple if kind.joint is None else float(kind.joint(3) or 0) / pi
        m_0 = o * o + 2 * o * d * pi + d * d * pi * rho
        m_1 = o * o + o * d * (1 + rho) + d * d * rho
        m_2 = o * o + 2 * o * d * rho + d * d * rho_3
        c_0, c_1 = noisy * m_0 + s * (mass * m_2 + rest * silent**2), s * (m_1 - m_2)
        # Between a sensitive value and another value, and between two other values.
        of_x = s * (1 - rho) * d * beside
        d_0 = noisy * (o + d * pi) * beside + s * (mass * (o + d * rho) * beside + rest * silent * other)
        e_0 = noisy * beside**2 + s * (mass * beside**2 + rest * other**2)
        of_y, e_1 = s / self.truth * silent, s / self.truth * other
        return np.array([[c_0, c_1, d_0, of_y], [c_1, 0, of_x, 0], [d_0, of_x, e_0, e_1], [of_y, 0, e_1, 0]])

    @property
    def count_law(self) -> tuple[float, float] | None:
        """The numbers b and d such that the support of x is binomial with probability b + d p_x; None if it is not.

        It is not binomial for several kinds of blocks. Nor is it if the number of blocks varies with
        p(X_S) and another value's block may contain x.
        """
        kind = self.kinds[0]
        varies = self.clear_size > 0 and not self.clear_blocks and kind.conditional_inclusion != 0
        if varies or len(self.kinds) > 1:
            return None
        rho = kind.conditional_inclusion
        return kind.noisy * kind.inclusion + kind.truth * rho, kind.truth * (1 - rho)


@dataclass(frozen=True)
class LinearDecoder(DecoderCoefficients):
    """The linear decoder of a block mechanism, from the mechanism's parameters.

    Attributes:
        size: v, the number of sensitive values.
        clear_size: N, the number of other values.
        truth: s, the probability of the truth.
        noisy: 1 - s, stored separately, because the difference loses digits near s = 1.
        inclusion: pi, the probability that a noise block contains a given value.
        conditional_inclusion: rho, the probability that a block drawn for one value contains a second one; nan if it
            depends on the two values, so that all results that need it are nan.
    """

    size: int
    clear_size: int
    truth: float
    noisy: float
    inclusion: float
    conditional_inclusion: float

    @property
    def offset(self) -> float:
        """The coefficient c = (pi - rho)(1 - s) of a linear decoder."""
        return (self.inclusion - self.conditional_inclusion) * self.noisy

    @property
    def scale(self) -> float:
        """The coefficient D = s(1 - rho) of a linear decoder."""
        return self.truth * (1 - self.conditional_inclusion)

    @cached_property
    def contributions(self) -> tuple[float, float, float]:
        """The contributions (phi_in, phi_out, in clear) of a report to the estimate of one sensitive value."""
        inside = (1 - self.conditional_inclusion - self.offset) / self.scale
        outside = (-self.conditional_inclusion - self.offset) / self.scale
        return inside, outside, -self.offset / self.scale

    @cached_property
    def kinds(self) -> tuple[BlockKind, ...]:
        """The kinds of blocks, a single one, with the contributions of a block."""
        numbers = self.truth, self.noisy, self.inclusion, self.conditional_inclusion
        return (BlockKind(1.0, *numbers, None, (*self.contributions[:2], 0.0)),)

    @property
    def clear_contributions(self) -> tuple[float, float, float]:
        """The contributions of a report in clear to the estimates of a sensitive, another and the reported value."""
        return self.contributions[2], 0.0, 1 / self.truth

    def estimate(self, support: AnyArray, clear: AnyArray, n: float) -> tuple[FloatArray, FloatArray]:
        """Return unbiased estimates of the sensitive and of the other frequencies; see `DecoderCoefficients`."""
        blocks = n if self.clear_blocks else n - clear.sum(axis=-1, keepdims=True)
        frequencies: FloatArray = support - (self.conditional_inclusion * blocks + self.offset * n)
        if self.size == 1:
            # For a single value the result is exactly 1; for many values a product is faster.
            frequencies /= n * self.scale
        else:
            frequencies *= 1 / (n * self.scale)
        return frequencies, clear / (n * self.truth)


@dataclass(frozen=True)
class DecoderBesideClear(LinearDecoder):
    """The linear decoder for reports in clear that have a block too, as in the paper's uRAP.

    It counts the blocks of all reports, which is unbiased only if values are in a block independently (pi = rho).
    Without blocks in clear reports (`LinearDecoder`) errors are smaller.
    """

    clear_blocks: ClassVar[bool] = True
