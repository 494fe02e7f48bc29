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
from typing import ClassVar, NamedTuple, TypeAlias

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


@dataclass(frozen=True, slots=True)
class PoolBias:
    """The bias of a linear estimate that a shared pool of hash functions causes: the coefficients u and w of E b_x^2.

    Both are 0 without a pool.

    If blocks come from a pool of public hash functions, two values x and x' collide under a fraction R_xx' of the
    functions, and then share a block. The mean of R_xx' over pools is rho, so the linear estimate is unbiased over
    pools. For one pool the bias does not depend on n:

        b_x = sum_{x' != x} p_x' (R_xx' - rho) / (1 - rho).

    Given the variance of R_xx', and the covariance of R_xx' and R_xx'', over pools E b_x = 0 and

        E b_x^2 = u sum_{x' != x} p_x'^2 + w (sum_{x' != x} p_x')^2,
        u = (variance - covariance)/(1 - rho)^2, w = covariance/(1 - rho)^2.

    Let A + B p_x be the mean squared contribution of one report. It is linear in R, so its mean over pools follows from
    rho. By the law of total variance,

        Var(p_hat_x) = (A + B p_x - p_x^2)/n + (1 - 1/n) E b_x^2.

    Attributes:
        squares: u, the coefficient of the summed squares of the other sensitive frequencies.
        mass: w, the coefficient of the squared sum of the other sensitive frequencies.
    """

    squares: float = 0.0
    mass: float = 0.0

    @classmethod
    def of(cls, conditional_inclusion: Fraction, variance: Fraction, covariance: Fraction) -> "PoolBias":
        """Return u and w from the moments of R, the share of a pool's functions under which two values collide."""
        apart = (1 - conditional_inclusion) ** 2
        return cls(float((variance - covariance) / apart), float(covariance / apart)) if apart else NO_POOL_BIAS

    def __bool__(self) -> bool:
        return self.squares > 0 or self.mass > 0

    @property
    def most(self) -> float:
        """The largest E b_x^2 over all distributions: all users have the same value, which is not x."""
        return self.squares + self.mass

    def remaining_information(self, size: int) -> float:
        """Return the share of the information on one frequency that remains if the other frequencies are unknown too.

        For a pool of m functions to g buckets it is 1 - (v - 1)/(m (g - 1)), as in a linear regression with v unknowns
        and m (g - 1) independent counts. It is 0 with more unknowns than counts.

        Args:
            size: v, the number of sensitive values.
        """
        return max(1 - (size - 1) * self.squares, 0.0)

    def each(self, frequencies: FloatArray) -> FloatArray:
        """Return the ``(v,)`` mean squared biases E b_x^2, given the sensitive frequencies."""
        others = float(frequencies @ frequencies) - frequencies**2
        return self.squares * others + self.mass * (float(frequencies.sum()) - frequencies) ** 2

    def summed(self, size: int, mass: float, squares: float) -> float:
        """Return the sum of E b_x^2 over v sensitive values, given p(X_S) and the sum of squared frequencies."""
        return self._per_square(size) * squares + self.mass * (size - 2) * mass**2

    def _per_square(self, size: int) -> float:
        return (size - 1) * self.squares + self.mass

    def estimated(self, frequencies: FloatArray, noise: FloatArray, mass: float) -> FloatArray:
        """Return ``(v,)`` estimates of the mean squared biases E b_x^2 from a linear estimate.

        The squares of noisy estimates exceed the squared frequencies by the variances, which are subtracted.

        Args:
            frequencies: ``(v,)`` linear estimates p_hat from n reports.
            noise: ``(v,)`` (A + B p_hat - p_hat^2)/(n - 1), whose mean is the variance less E b_x^2.
            mass: the estimate of p(X_S).
        """
        size = len(frequencies)
        if not size or not self:
            return np.zeros(size)
        estimate = float(frequencies @ frequencies) - float(noise.sum()) - self.mass * (size - 2) * mass**2
        # Bounds: evenly spread over the values, and all on one value.
        squares = min(max(estimate / (1 + self._per_square(size)), mass**2 / size), mass**2)
        square = np.clip(frequencies**2 - noise, 0, squares)
        left = np.clip(mass - frequencies, 0, mass)
        return self.squares * (squares - square) + self.mass * left**2


NO_POOL_BIAS = PoolBias()
"""No pool bias, because reports share no public randomness."""


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
        pool_bias: the bias from a pool of hash functions that all reports share, where rho is a mean over pools.
        clear_blocks: whether reports in clear have a block of noise too.
        by_size: whether there is a support for each size of block.
    """

    size: int
    clear_size: int
    truth: float
    noisy: float
    pool_bias: PoolBias = NO_POOL_BIAS
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
    def stacks(self) -> bool:
        """True if a stack of tallies can be decoded at once: with one kind of block and without a pool bias."""
        return not (self.pool_bias or self.by_size)

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
            loss += kind.share * float(self._blocks(kind, 0.0)[0]) * square
        return loss

    def mse(self, n: int, sensitive: Floats, squares: float) -> float:
        """Return the exact mean squared error E ||p_hat - p||^2 of estimates from n independent draws from p.

        Args:
            n: the number of reports.
            sensitive: ``(v,)`` frequencies of the sensitive values; without a pool bias their sum p(X_S) suffices.
            squares: ||p||^2.
        """
        mass = float(np.sum(sensitive))
        clear = (1 - mass) * self.clear_loss if self.clear_size else 0.0
        return (self.sensitive_loss * mass + clear - squares) / checked_n(n) + self.pool_bias_error(n, sensitive)

    def pool_bias_error(self, n: int, sensitive: Floats) -> float:
        """Return the part of `mse` due to the pool bias, (1 - 1/n) sum E b_x^2."""
        if not self.pool_bias:
            return 0.0
        mass, squares = float(np.sum(sensitive)), float(np.sum(np.square(sensitive)))
        return (1 - 1 / n) * self.pool_bias.summed(self.size, mass, squares)

    @property
    def worst_mass(self) -> float:
        """a*, the sensitive mass at which the error is largest; the worst p is uniform within each class.

        The pool bias, which does not decrease with n, is not considered here; `worst_case_mse` includes it.
        """
        if self.clear_size == 0:
            return 1.0
        if self.size == 0:
            return 0.0
        gain = (self.sensitive_loss - self.clear_loss) / 2
        return float(np.clip((gain + 1 / self.clear_size) / (1 / self.size + 1 / self.clear_size), 0, 1))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest mean squared error of the estimates over all distributions p."""
        if self.pool_bias and self.size:
            return max(self._worst_sharing(n, squares) for squares in (1 / self.size, 1.0))
        a = self.worst_mass
        squares = sum(mass * mass / count for mass, count in ((a, self.size), (1 - a, self.clear_size)) if count)
        # Rounding may make a value of 0 negative (for a domain of one value).
        return max(self.mse(n, a, squares), 0.0)

    def _worst_sharing(self, n: int, share: float) -> float:
        """Return the largest error over a = p(X_S), if the squared sensitive frequencies sum to ``share`` a^2.

        The error is linear in this sum, which lies between a^2/v (even) and a^2 (one value), and quadratic in a.
        """
        even = 1 / self.clear_size if self.clear_size else 0.0
        pool_bias = (n - 1) * self.pool_bias.summed(self.size, 1.0, share)
        bend = pool_bias - share - even
        slope = self.sensitive_loss - self.clear_loss + 2 * even
        inside = [slope / (-2 * bend)] if bend < 0 < slope < -2 * bend else []
        tops = [0.0, 1.0, *inside] if self.clear_size else [1.0]
        return max((self.clear_loss - even + slope * a + bend * a * a) / n for a in tops)

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

        It is not binomial for several kinds of blocks or a shared pool. Nor is it if the number of blocks varies with
        p(X_S) and another value's block may contain x.
        """
        kind = self.kinds[0]
        varies = self.clear_size > 0 and not self.clear_blocks and kind.conditional_inclusion != 0
        if varies or self.pool_bias or len(self.kinds) > 1:
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
        pool_bias: the bias from a pool of hash functions that all reports share, where rho is a mean over pools.
    """

    size: int
    clear_size: int
    truth: float
    noisy: float
    inclusion: float
    conditional_inclusion: float
    pool_bias: PoolBias = NO_POOL_BIAS

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
