"""The best linear decoder of blocks of several sizes, and the information that reports hold.

Fisher information of block sizes about a distribution that is uniform inside each class.

The best mechanism draws a block size k with probability t_k and then a uniform k-subset of the v sensitive values. At
the distribution with mass alpha spread over the sensitive values and 1 - alpha over the N others, its information has
three eigenvalues: among the sensitive values (v - 1 of them), among the others (N - 1) and between the classes. With
tau = 1/(e^eps - 1) and the sums S_i of t_k s_i(k) over k,

    s_1(k) = k (v - k) / ((alpha k + v tau)(k + v tau)),  s_2(k) = k / (k + v tau),  s_3(k) = k / (alpha k + v tau),

no unbiased estimate from n reports has a mean squared error below M/n there, with

    M = c_1/S_1 + c_2/S_2 + c_3/S_3,  c = ((v - 1)^2 / v, (N - 1)(1 - alpha)/N, w (1 - alpha)/(v N)),

written without factors that overflow or vanish at the ends of epsilon.

Mixtures of block sizes: probabilities, decoder and exact errors of the optimal mechanism.

With probability t_k the size is k, whatever the value is *and whether the report is truth or noise*: drawing both from
one random number would leave no finite epsilon. A sensitive value then sends a uniform k-subset that contains it with
probability k e^eps / (k e^eps + v - k), else a uniform one that does not; another value sends a uniform k-subset with
probability v / (k e^eps + v - k), else itself in clear.

The decoder is the best unbiased linear one at the distribution of mass alpha, uniform inside each class.
For a single size it is `LinearDecoder`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import expm1, isclose
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, Floats
from discreet.core.checks import checked_epsilon, checked_mass, checked_n, checked_whole, refuse_silence
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError
from discreet.theory.binomial import joint_share
from discreet.theory.linear_decoder import (
    NO_POOL_BIAS,
    AlikeWorths,
    JointInclusion,
    PoolBias,
    Variances,
    WorthRanges,
    arranged_moments,
)

Three = tuple[float, float, float]
_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class Instance:
    """A design problem: v, w and epsilon.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: in nats.
    """

    size: int
    total: int
    epsilon: float

    def __post_init__(self) -> None:
        """Refuse numbers that make no design problem.

        Raises:
            ParameterError: if there is nothing to protect or to estimate, or epsilon is no promise.
        """
        size, total = (checked_whole(name, getattr(self, name), -_MOST, _MOST) for name in ("size", "total"))
        if not 1 <= size <= total or total < 2:
            raise ParameterError(
                f"there must be at least 1 sensitive value among at least 2, got size={size} of total={total}."
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        # No block is likelier as noise than surely: this is the most that S can be.
        refuse_silence(self.epsilon, WORD_RANGE * expm1(self.epsilon))

    @property
    def clear_size(self) -> int:
        """Return N, the number of values that may go in clear."""
        return self.total - self.size

    @property
    def tau(self) -> float:
        """Return 1 / (e^eps - 1)."""
        return 1 / expm1(self.epsilon)

    def check_mass(self, mass: object) -> float:
        """Return a sensitive mass as a float.

        Raises:
            ParameterError: if it is not in 0..1, or not 1 where every value is sensitive.
        """
        return checked_mass(mass, self.clear_size)

    def squares(self, mass: float) -> float:
        """Return the squared norm of the distribution with this sensitive mass that is uniform inside each class."""
        return mass**2 / self.size + ((1 - mass) ** 2 / self.clear_size if self.clear_size else 0.0)

    def costs(self, alpha: float) -> Three:
        """Return c = (c_1, c_2, c_3), the costs of the three eigenvalues at mass alpha."""
        v, others = self.size, self.clear_size
        among_sensitive = (v - 1) ** 2 / v
        if others == 0:
            return among_sensitive, 0.0, 0.0
        rest = 1 - alpha
        return among_sensitive, (others - 1) * rest / others, self.total * rest / (v * others)

    def told(self, alpha: float, k: Any) -> tuple[Any, Any, Any]:
        """Return (s_1, s_2, s_3), the information in blocks of size k at mass alpha; arrays for an array of sizes."""
        noise = self.size * self.tau
        near, far = k / (k + noise), alpha * k + noise
        return near * (self.size - k) / far, near, k / far


@dataclass(frozen=True, slots=True)
class Mixture:
    """Block sizes with their probabilities.

    Attributes:
        sizes: ascending, each in 1..v.
        shares: t, positive, with the sum 1.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]

    def sums(self, instance: Instance, alpha: float) -> Three:
        """Return (S_1, S_2, S_3), the mean information of the mixture at mass alpha."""
        rows = [instance.told(alpha, k) for k in self.sizes]
        first, second, third = (self.mean(column) for column in zip(*rows, strict=True))
        return first, second, third

    def mean(self, numbers: Sequence[float]) -> float:
        """Return the mean over block sizes of one number per size."""
        return sum(share * number for share, number in zip(self.shares, numbers, strict=True))

    def bound(self, instance: Instance, alpha: float) -> float:
        """Return M(alpha, t): n times the least mean squared error at mass alpha."""
        sums = self.sums(instance, alpha)
        return sum(cost / mean for cost, mean in zip(instance.costs(alpha), sums, strict=True) if cost)

    def slope(self, instance: Instance, alpha: float) -> float:
        """Return the derivative of M with respect to alpha."""
        v, w, others = instance.size, instance.total, instance.clear_size
        rows = [instance.told(alpha, k) for k in self.sizes]
        first, second, third = self.sums(instance, alpha)
        steps = [k / (alpha * k + v * instance.tau) for k in self.sizes]
        among, _, between = instance.costs(alpha)
        rising = between * self.mean([row[2] * step for row, step in zip(rows, steps, strict=True)]) / third**2
        if among:
            rising += among * self.mean([row[0] * step for row, step in zip(rows, steps, strict=True)]) / first**2
        return rising - (others - 1) / (others * second) - w / (v * others * third)

    def gap(self, instance: Instance, alpha: float) -> float:
        """Return an upper bound on the relative distance of M to its minimum over all mixtures of all sizes.

        M is convex in t and its derivative by t_k is minus the sum of c_i s_i(k) / S_i^2, whose mean over t is M. So no
        mixture is better than M (1 - gap) [Karush, Kuhn, Tucker].
        """
        bound = self.bound(instance, alpha)
        if bound == 0:
            return 0.0
        every = instance.told(alpha, np.arange(1, instance.size + 1, dtype=np.float64))
        sums = self.sums(instance, alpha)
        steepest = np.zeros(instance.size)
        for cost, total, column in zip(instance.costs(alpha), sums, every, strict=True):
            if cost:
                steepest += (cost / total) * (column / total)
        return float(steepest.max()) / bound - 1


@dataclass(frozen=True)
class Design:
    """A mixture of block sizes with its decoder, optimal for one sensitive mass.

    Attributes:
        instance: v, w and epsilon.
        alpha: the sensitive mass that the weights and the decoder are best for; in the worst case, the worst one.
        mixture: the block sizes and their weights.
        given: whether alpha was given, rather than the worst.
    """

    instance: Instance
    alpha: float
    mixture: Mixture
    given: bool = True

    def __post_init__(self) -> None:
        """Refuse an invalid alpha, or an invalid mixture.

        Raises:
            ParameterError: if alpha or the mixture is not one, or nothing could be estimated from it.
        """
        object.__setattr__(self, "alpha", self.instance.check_mass(self.alpha))
        sizes, shares = self.mixture.sizes, self.mixture.shares
        if not sizes or list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] > self.size:
            raise ParameterError(f"block sizes must ascend within 1..{self.size}, got {sizes!r}.")
        if len(shares) != len(sizes) or min(shares) <= 0 or not isclose(sum(shares), 1, rel_tol=1e-12):
            raise ParameterError(f"each block size needs a positive weight, with the sum 1, got {shares!r}.")
        if sizes[0] == self.size > 1:
            raise ParameterError("blocks of all sensitive values tell none from another; add a smaller size.")

    @property
    def size(self) -> int:
        """Return v, the number of sensitive values."""
        return self.instance.size

    @property
    def total(self) -> int:
        """Return w, the number of values."""
        return self.instance.total

    @property
    def epsilon(self) -> float:
        """Return epsilon, in nats."""
        return self.instance.epsilon

    @property
    def weights(self) -> dict[int, float]:
        """Return t, the probabilities of the block sizes, by size."""
        return dict(zip(self.mixture.sizes, self.mixture.shares, strict=True))

    @cached_property
    def value(self) -> float:
        """Return M(alpha, t): n times the mean squared error at mass alpha, spread evenly inside each class.

        For the worst alpha this is M*, and so the largest over all distributions. Whatever the search did,
        ``value * (1 - gap) <= M* <= worst_case_mse(1)``.
        """
        return self.mixture.bound(self.instance, self.alpha)

    @cached_property
    def gap(self) -> float:
        """Return the certificate: no mixture of block sizes has an error below ``value * (1 - gap)`` at this mass."""
        return self.mixture.gap(self.instance, self.alpha)

    @property
    def regime(self) -> str:
        """Return ``"randomized response"``, ``"subsets"`` (one size above 1) or ``"mixture"`` (of two neighbours)."""
        if len(self.mixture.sizes) > 1:
            return "mixture"
        return "randomized response" if self.mixture.sizes == (1,) else "subsets"

    # The mechanism

    def noise(self, k: int) -> float:
        """Return v / (k e^eps + v - k), the probability of a block from a value in clear, given size k."""
        hidden = self.size * self.instance.tau
        return hidden / (k + hidden)

    pool_bias: ClassVar[PoolBias] = NO_POOL_BIAS
    clear_blocks: ClassVar[bool] = False
    stacks: ClassVar[bool] = False
    by_size: ClassVar[bool] = True

    @property
    def noisy_inclusion(self) -> float:
        """Return the probability that a value in clear sends a block that contains a given sensitive value."""
        return sum(share * self.noise(k) * k / self.size for k, share in self.weights.items())

    @property
    def truth(self) -> float:
        """Return the probability that a value that is not sensitive goes in clear."""
        return self.mixture.sums(self.instance, self.alpha)[1]

    def inside(self, k: int) -> float:
        """Return k e^eps / (k e^eps + v - k), the probability that a block of size k contains its sender's value."""
        return 1 - self.noise(k) * (1 - k / self.size)

    # The decoder

    def block_worth(self, k: int) -> tuple[float, float, float]:
        """Return the contribution of a block of size k to the estimate of each value.

        Returns:
            For a sensitive value in the block, for one outside it, for a value that is not sensitive.
        """
        v, others = self.size, self.instance.clear_size
        among, _, between = self.mixture.sums(self.instance, self.alpha)
        far = self.alpha * k + v * self.instance.tau
        apart = (v - 1) / (far * among) if v > 1 else 0.0
        base, clear = self.alpha / v, 0.0
        if others:
            moved = k * (1 - self.alpha) / (far * others * between)
            base, clear = base + moved * others / v, (1 - self.alpha) / others - moved
        return base + apart * (1 - k / v), base - apart * k / v, clear

    @property
    def clear_worth(self) -> tuple[float, float, float]:
        """Return the contribution of a report in clear to the estimate of each value.

        Returns:
            For a sensitive value, for another value than the one it gives, for that one.

        Raises:
            ParameterError: if every value is sensitive, so that there are no such reports.
        """
        v, others = self.size, self.instance.clear_size
        if others == 0:
            raise ParameterError("nothing goes in clear where every value is sensitive.")
        _, among, between = self.mixture.sums(self.instance, self.alpha)
        sensitive = self.alpha / v - 1 / (v * between)
        other = (1 - self.alpha) / others + 1 / (others * between) - 1 / (others * among)
        return sensitive, other, other + 1 / among

    @property
    def worth_ranges(self) -> WorthRanges:
        """Return the least and the largest contribution of any one report to the estimate of a value.

        Of blocks of every size, however rarely it is drawn.
        """
        worths = {k: self.block_worth(k) for k in self.mixture.sizes}
        sensitive = [inside for inside, _, _ in worths.values()]
        sensitive += [outside for k, (_, outside, _) in worths.items() if k < self.size]
        others = [beside for _, _, beside in worths.values()]
        if self.instance.clear_size:
            silent, other, own_worth = self.clear_worth
            sensitive.append(silent)
            others += [own_worth, other] if self.instance.clear_size > 1 else [own_worth]
        return WorthRanges((min(sensitive), max(sensitive)), (min(others), max(others)))

    def block_worths(self, contained: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the contributions of blocks to the estimates, given the ``(m, v)`` values that they contain.

        Returns:
            ``(m, v)`` for the sensitive values, and ``(m, 1)`` for each of the others.
        """
        worths = {k: self.block_worth(k) for k in self.mixture.sizes}
        inside, outside, beside = np.array([worths[int(k)] for k in contained.sum(axis=1)]).reshape(-1, 3).T[:, :, None]
        return np.where(contained, inside, outside), beside

    def estimate(self, support: AnyArray, clear: AnyArray, n: float) -> tuple[FloatArray, FloatArray]:
        """Return the unbiased estimates of the ``(v,)`` sensitive frequencies and of the ``(N,)`` others.

        Args:
            support: ``(c v,)`` T for each block size in turn.
            clear: ``(N,)`` F.
            n: number of reports.
        """
        sensitive, others = np.zeros(self.size), np.zeros(len(clear))
        for k, counts in zip(self.mixture.sizes, support.reshape(-1, self.size), strict=True):
            inside, outside, beside = self.block_worth(k)
            blocks = counts.sum() / k
            sensitive += inside * counts + outside * (blocks - counts)
            others += beside * blocks
        if len(clear):
            total, (silent, other, own_worth) = clear.sum(), self.clear_worth
            sensitive += silent * total
            others += other * (total - clear) + own_worth * clear
        return sensitive / n, others / n

    # Exact errors

    def variances(self, sensitive_mass: Floats) -> Variances:
        """Return the coefficients of the variances, given p(X_S)."""
        sensitive = self.sensitive_moment(2, sensitive_mass)
        if not self.instance.clear_size:
            return Variances(sensitive, (0.0, 0.0))
        beside = sum(
            share * (sensitive_mass + (1 - sensitive_mass) * self.noise(k)) * self.block_worth(k)[2] ** 2
            for k, share in self.weights.items()
        )
        _, other, own_worth = self.clear_worth
        clear_share = self.truth * (1 - sensitive_mass)
        return Variances(sensitive, (beside + clear_share * other**2, self.truth * (own_worth**2 - other**2)))

    def sensitive_moment(self, power: int, sensitive_mass: Floats) -> tuple[Floats, float]:
        """Return constant and slope of E w^k, affine in p_x, of the worth w of a report to a sensitive x."""
        constant: Floats = 0.0
        slope = 0.0
        for k, share in self.weights.items():
            own_chance, other = self.inside(k), self._inside_beside(k)
            inside, outside, _ = self.block_worth(k)
            blocks = share * (sensitive_mass + (1 - sensitive_mass) * self.noise(k))
            base = share * (sensitive_mass * other + (1 - sensitive_mass) * self.noise(k) * k / self.size)
            constant += base * inside**power + (blocks - base) * outside**power
            slope += share * (own_chance - other) * (inside**power - outside**power)
        if not self.instance.clear_size:
            return constant, slope
        return constant + self.truth * (1 - sensitive_mass) * self.clear_worth[0] ** power, slope

    def noise_moment(self, power: int) -> tuple[float, float]:
        """Return E w^k of the worth w of noise, to a sensitive value and to another one."""
        sensitive = clear = 0.0
        for k, share in self.weights.items():
            inside, outside, beside = self.block_worth(k)
            chance, pi = share * self.noise(k) / (1 - self.truth), k / self.size
            sensitive += chance * (pi * inside**power + (1 - pi) * outside**power)
            clear += chance * beside**power
        return sensitive, clear

    @property
    def count_law(self) -> tuple[float, float] | None:
        """Return b and d such that the support of x is binomial with probability b + d p_x; None where it is not."""
        if self.instance.clear_size or len(self.mixture.sizes) > 1:
            return None
        other = self._inside_beside(self.mixture.sizes[0])
        return other, self.inside(self.mixture.sizes[0]) - other

    def _inside_beside(self, k: int) -> float:
        """Return the probability that a block of size k from a sensitive value contains another one, x'."""
        if self.size == 1:
            return 0.0
        inside = self.inside(k)
        return (inside * (k - 1) + (1 - inside) * k) / (self.size - 1)

    def sum_covariance(
        self, sensitive: tuple[FloatArray, FloatArray], clear: FloatArray, n: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return zeros: the contributions of any report to all estimates add up to 1."""
        del n
        return np.zeros_like(sensitive[0]), np.zeros_like(clear)

    def cross_moments(self, triple: float, mass: float) -> FloatArray:
        """Return the ``(4, 4)`` cross moments of a mixture of block sizes; see `LinearDecoder.cross_moments`."""
        del triple
        total = np.zeros((4, 4))
        for k, share in self.weights.items():
            total += share * _of_size(self, k, mass)
        return total

    def alike_worths(self, joint: JointInclusion) -> list[AlikeWorths]:
        """Return the worths of reports by block size; none where some values go in clear."""
        del joint
        if self.instance.clear_size:
            return []
        return [
            (1 - noise, noise, partial(joint_share, self.size, k), (*self.block_worth(k)[:2], 0.0), share)
            for k, share in self.weights.items()
            for noise in [self.noise(k)]
        ]

    def _square_worth(self, k: int) -> float:
        inside, outside, clear = self.block_worth(k)
        return k * inside**2 + (self.size - k) * outside**2 + self.instance.clear_size * clear**2

    @cached_property
    def sensitive_loss(self) -> float:
        """Return g_S, the summed mean square contribution of a report on a sensitive value."""
        return self.mixture.mean([self._square_worth(k) for k in self.mixture.sizes])

    @cached_property
    def clear_loss(self) -> float:
        """Return g_N, the summed mean square contribution of a report on a value that may go in clear."""
        sensitive, other, own_worth = self.clear_worth
        squares = self.size * sensitive**2 + (self.instance.clear_size - 1) * other**2 + own_worth**2
        return self.truth * squares + self.mixture.mean(
            [self.noise(k) * self._square_worth(k) for k in self.mixture.sizes]
        )

    def mse(self, n: int, sensitive: Floats, squares: float) -> float:
        """Return E ||p_hat - p||^2, exactly, for n independent draws from p.

        Args:
            n: number of reports.
            sensitive: a = p(X_S), or the ``(v,)`` frequencies that it is the sum of.
            squares: ||p||^2.
        """
        mass = float(np.sum(sensitive))
        clear = (1 - mass) * self.clear_loss if self.instance.clear_size else 0.0
        return (self.sensitive_loss * mass + clear - squares) / checked_n(n)

    @property
    def worst_mass(self) -> float:
        """Return the sensitive mass of the worst p, which is uniform inside each class."""
        v, others = self.size, self.instance.clear_size
        if others == 0:
            return 1.0
        gain = (self.sensitive_loss - self.clear_loss) / 2
        return float(np.clip((gain + 1 / others) / (1 / v + 1 / others), 0, 1))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest mean squared error of this decoder over all distributions."""
        mass = self.worst_mass
        return self.mse(n, mass, self.instance.squares(mass))


def _of_size(design: Design, k: int, mass: float) -> FloatArray:
    """Return the cross moments of a device that draws blocks of size k."""
    v, hit, noise = design.size, design.inside(k), design.noise(k)
    silent, other_clear, own_clear = design.clear_worth if design.instance.clear_size else (0.0, 0.0, 0.0)
    beside = design.block_worth(k)[2]

    def worth(members: int, values: int) -> tuple[float, float]:
        """Return the mean worth to one, and the mean product to two, of values of which a uniform set is inside."""
        inside, outside, _ = design.block_worth(k)
        single = members / max(values, 1)
        both = single * (members - 1) / max(values - 1, 1)
        pair = both * inside**2 + 2 * (single - both) * inside * outside + (1 - 2 * single + both) * outside**2
        return single * inside + (1 - single) * outside, pair

    inside, outside, _ = design.block_worth(k)
    (next_in, pair_in), (next_out, pair_out), (any_one, any_pair) = worth(k - 1, v - 1), worth(k, v - 1), worth(k, v)
    first = hit * inside * next_in + (1 - hit) * outside * next_out
    third = hit * pair_in + (1 - hit) * pair_out
    from_clear = noise * any_pair + (1 - noise) * silent**2
    mean_own, mean_other = hit * inside + (1 - hit) * outside, hit * next_in + (1 - hit) * next_out
    joint, joint_other = (noise * any_one * beside + (1 - noise) * silent * each for each in (own_clear, other_clear))
    clear_pair, clear_third = (
        noise * beside**2 + (1 - noise) * other_clear * each for each in (own_clear, other_clear)
    )
    return arranged_moments(
        (mass * third + (1 - mass) * from_clear, first - third),
        (joint - joint_other, (mean_own - mean_other) * beside, mass * mean_other * beside + (1 - mass) * joint_other),
        (mass * beside**2 + (1 - mass) * clear_third, clear_pair - clear_third),
    )
