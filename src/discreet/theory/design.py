"""Mixtures of block sizes: the Fisher information in reports, the best linear decoder, and its exact errors.

The best mechanism draws a block size k with probability t_k, whatever the value is *and whether the report is truth or
noise*. If one random number decided both, there would be no finite epsilon. A sensitive value sends a uniform k-subset
that contains it with probability k e^eps / (k e^eps + v - k), and otherwise a uniform k-subset without it. Another
value sends a uniform k-subset with probability v / (k e^eps + v - k), and otherwise itself in clear.

At the distribution with mass alpha spread evenly over the v sensitive values and 1 - alpha over the N others, the
Fisher information has three eigenvalues: among the sensitive values (v - 1 of them), among the others (N - 1) and
between the classes. With tau = 1/(e^eps - 1) and the sums S_i of t_k s_i(k) over k,

    s_1(k) = k (v - k) / ((alpha k + v tau)(k + v tau)),  s_2(k) = k / (k + v tau),  s_3(k) = k / (alpha k + v tau),

no unbiased estimate from n reports has a mean squared error below M/n there, with

    M = c_1/S_1 + c_2/S_2 + c_3/S_3,  c = ((v - 1)^2 / v, (N - 1)(1 - alpha)/N, w (1 - alpha)/(v N)),

in a form whose factors neither overflow nor vanish for very small or large epsilon. The decoder is the best unbiased
linear decoder at this distribution. For a single size it is `LinearDecoder`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import expm1, isclose
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray
from discreet.core.checks import check_truth_possible, checked_epsilon, checked_mass, checked_whole
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError
from discreet.theory.binomial import joint_share
from discreet.theory.linear_decoder import BlockKind, DecoderCoefficients

Three = tuple[float, float, float]
_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class Instance:
    """A design problem: v sensitive values of w values, and epsilon.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: the privacy promise, in nats.
    """

    size: int
    total: int
    epsilon: float

    def __post_init__(self) -> None:
        """Check that a design problem has values to protect and to estimate, and a positive epsilon.

        Raises:
            ParameterError: if there is nothing to protect or to estimate, or epsilon is not a positive number.
        """
        size, total = (checked_whole(name, getattr(self, name), -_MOST, _MOST) for name in ("size", "total"))
        if not 1 <= size <= total or total < 2:
            raise ParameterError("instance.too-small", size=size, total=total)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        # A block's probability as noise is at most 1, which bounds S.
        check_truth_possible(self.epsilon, WORD_RANGE * expm1(self.epsilon))

    @property
    def clear_size(self) -> int:
        """N, the number of values of a design problem that may be reported in clear."""
        return self.total - self.size

    @property
    def tau(self) -> float:
        """The number tau = 1 / (e^eps - 1), for the privacy promise eps."""
        return 1 / expm1(self.epsilon)

    def check_mass(self, mass: object) -> float:
        """Return a sensitive mass as a float; raise an error if it is invalid.

        Raises:
            ParameterError: if it is not in 0..1, or not 1 where every value is sensitive.
        """
        return checked_mass(mass, self.clear_size)

    def squares(self, mass: float) -> float:
        """Return ||p||^2 of the distribution p that has this sensitive mass and is uniform within each class."""
        return mass**2 / self.size + ((1 - mass) ** 2 / self.clear_size if self.clear_size else 0.0)

    def costs(self, alpha: float) -> Three:
        """Return (c_1, c_2, c_3), the factors of the three terms of the error bound M, at sensitive mass alpha."""
        v, others = self.size, self.clear_size
        among_sensitive = (v - 1) ** 2 / v
        if others == 0:
            return among_sensitive, 0.0, 0.0
        rest = 1 - alpha
        return among_sensitive, (others - 1) * rest / others, self.total * rest / (v * others)

    def information(self, alpha: float, k: Any) -> tuple[Any, Any, Any]:
        """Return (s_1, s_2, s_3), the Fisher information in blocks of size k at sensitive mass alpha.

        For an array of sizes, the results are arrays.
        """
        noise = self.size * self.tau
        near, far = k / (k + noise), alpha * k + noise
        return near * (self.size - k) / far, near, k / far


@dataclass(frozen=True, slots=True)
class Mixture:
    """A probability distribution over block sizes.

    Attributes:
        sizes: block sizes, ascending, each in 1..v.
        shares: t, positive, with the sum 1.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]

    def sums(self, instance: Instance, alpha: float) -> Three:
        """Return (S_1, S_2, S_3), the mean Fisher information of the mixture's blocks at sensitive mass alpha."""
        rows = [instance.information(alpha, k) for k in self.sizes]
        first, second, third = (self.mean(column) for column in zip(*rows, strict=True))
        return first, second, third

    def mean(self, numbers: Sequence[float]) -> float:
        """Return the mean of a quantity over the block sizes, from one number for each size."""
        return sum(share * number for share, number in zip(self.shares, numbers, strict=True))

    def bound(self, instance: Instance, alpha: float) -> float:
        """Return the error bound M(alpha, t): n times the smallest mean squared error at sensitive mass alpha."""
        sums = self.sums(instance, alpha)
        return sum(cost / mean for cost, mean in zip(instance.costs(alpha), sums, strict=True) if cost)

    def slope(self, instance: Instance, alpha: float) -> float:
        """Return the derivative of the error bound M(alpha, t) with respect to alpha."""
        v, w, others = instance.size, instance.total, instance.clear_size
        rows = [instance.information(alpha, k) for k in self.sizes]
        first, second, third = self.sums(instance, alpha)
        steps = [k / (alpha * k + v * instance.tau) for k in self.sizes]
        among, _, between = instance.costs(alpha)
        rising = between * self.mean([row[2] * step for row, step in zip(rows, steps, strict=True)]) / third**2
        if among:
            rising += among * self.mean([row[0] * step for row, step in zip(rows, steps, strict=True)]) / first**2
        return rising - (others - 1) / (others * second) - w / (v * others * third)

    def gap(self, instance: Instance, alpha: float) -> float:
        """Return an upper bound on the relative distance of M from its minimum over all mixtures of block sizes.

        M is convex in t. Its derivative by t_k is minus the sum of c_i s_i(k) / S_i^2, and the mean of this sum over t
        is M. So no mixture is better than M (1 - gap) [Karush, Kuhn, Tucker].
        """
        bound = self.bound(instance, alpha)
        if bound == 0:
            return 0.0
        every = instance.information(alpha, np.arange(1, instance.size + 1, dtype=np.float64))
        sums = self.sums(instance, alpha)
        steepest = np.zeros(instance.size)
        for cost, total, column in zip(instance.costs(alpha), sums, every, strict=True):
            if cost:
                steepest += (cost / total) * (column / total)
        return float(steepest.max()) / bound - 1


@dataclass(frozen=True)
class Design(DecoderCoefficients):
    """A mixture of block sizes with its best decoder, for one sensitive mass.

    Attributes:
        instance: v, w and epsilon.
        alpha: the sensitive mass for which weights and decoder are optimal.
        mixture: the block sizes and their weights.
        given: whether the caller gave alpha; otherwise it is the mass with the largest error.
    """

    instance: Instance
    alpha: float
    mixture: Mixture
    given: bool = True

    def __post_init__(self) -> None:
        """Check the sensitive mass of a design and its mixture of block sizes.

        Raises:
            ParameterError: if alpha or the mixture is out of range, or no estimate is possible.
        """
        object.__setattr__(self, "alpha", self.instance.check_mass(self.alpha))
        sizes, shares = self.mixture.sizes, self.mixture.shares
        if not sizes or list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] > self.size:
            raise ParameterError("block-sizes.not-ascending", argument="sizes", size=self.size, sizes=sizes)
        if len(shares) != len(sizes) or min(shares) <= 0 or not isclose(sum(shares), 1, rel_tol=1e-12):
            raise ParameterError("block-sizes.wrong-weights", argument="shares", shares=shares)
        if sizes[0] == self.size > 1:
            raise ParameterError("block-sizes.no-information", argument="sizes")

    @property
    def size(self) -> int:  # type: ignore[override]
        """v, the number of sensitive values that a design is for."""
        return self.instance.size

    @property
    def clear_size(self) -> int:  # type: ignore[override]
        """N, the number of values of a design that are not sensitive."""
        return self.instance.clear_size

    @property
    def total(self) -> int:
        """w, the number of all values that a design is for."""
        return self.instance.total

    @property
    def epsilon(self) -> float:
        """The privacy promise epsilon of a design, in nats."""
        return self.instance.epsilon

    @property
    def weights(self) -> dict[int, float]:
        """The probability t of each block size of a design, by block size."""
        return dict(zip(self.mixture.sizes, self.mixture.shares, strict=True))

    @cached_property
    def value(self) -> float:
        """M(alpha, t): n times the mean squared error at sensitive mass alpha, if p is uniform within each class.

        For the worst alpha this is M*, the largest over all distributions. Even if the search failed,
        ``value * (1 - gap) <= M* <= worst_case_mse(1)``.
        """
        return self.mixture.bound(self.instance, self.alpha)

    @cached_property
    def gap(self) -> float:
        """The certificate: no mixture of block sizes has an error below ``value * (1 - gap)`` at this mass."""
        return self.mixture.gap(self.instance, self.alpha)

    def noise(self, k: int) -> float:
        """Return v / (k e^eps + v - k): the probability of a block if the value is not sensitive, given size k."""
        hidden = self.size * self.instance.tau
        return hidden / (k + hidden)

    by_size: ClassVar[bool] = True

    @property
    def noisy(self) -> float:  # type: ignore[override]
        """The probability that a report on a value that is not sensitive is a block."""
        return self.mixture.mean([self.noise(k) for k in self.mixture.sizes])

    @property
    def truth(self) -> float:  # type: ignore[override]
        """The probability that a value that is not sensitive is reported in clear."""
        return self.mixture.sums(self.instance, self.alpha)[1]

    @cached_property
    def kinds(self) -> tuple[BlockKind, ...]:
        """The kinds of blocks: uniform subsets, one kind for each size."""
        v, hidden = self.size, self.size * self.instance.tau
        kinds = []
        for k, share in self.weights.items():
            pair, joint = (k - 1) / max(v - 1, 1), partial(joint_share, v, k)
            kinds.append(BlockKind(share, k / (k + hidden), self.noise(k), k / v, pair, joint, self.contributions(k)))
        return tuple(kinds)

    def contributions(self, k: int) -> tuple[float, float, float]:
        """Return the contributions of a block of size k to the estimates of a member, a non-member and another value.

        Returns:
            For a sensitive value in the block, for a sensitive value outside it, and for a value that is not sensitive.
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
    def clear_contributions(self) -> tuple[float, float, float]:
        """Return a report in clear's contributions to the estimates of a sensitive, another and the reported value.

        Returns:
            For a sensitive value, for another value in clear, and for the reported value.

        Raises:
            ParameterError: if every value is sensitive, so that no report is in clear.
        """
        v, others = self.size, self.instance.clear_size
        if others == 0:
            raise ParameterError("clear-values.none")
        _, among, between = self.mixture.sums(self.instance, self.alpha)
        sensitive = self.alpha / v - 1 / (v * between)
        other = (1 - self.alpha) / others + 1 / (others * between) - 1 / (others * among)
        return sensitive, other, other + 1 / among

    def block_contributions(self, contained: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the contributions of blocks of several sizes to the estimates; see `DecoderCoefficients`."""
        added = {k: kind.contributions for k, kind in zip(self.mixture.sizes, self.kinds, strict=True)}
        inside, outside, beside = np.array([added[int(k)] for k in contained.sum(axis=1)]).reshape(-1, 3).T[:, :, None]
        return np.where(contained, inside, outside), beside

    def estimate(self, support: AnyArray, clear: AnyArray, n: float) -> tuple[FloatArray, FloatArray]:
        """Return unbiased estimates of the ``(v,)`` sensitive frequencies and of the ``(N,)`` others.

        Args:
            support: ``(c v,)`` T, the support for each block size in turn.
            clear: ``(N,)`` F, the counts of values in clear.
            n: the number of reports.
        """
        sensitive, others = np.zeros(self.size), np.zeros(len(clear))
        for k, counts in zip(self.mixture.sizes, support.reshape(-1, self.size), strict=True):
            inside, outside, beside = self.contributions(k)
            blocks = counts.sum() / k
            sensitive += inside * counts + outside * (blocks - counts)
            others += beside * blocks
        if len(clear):
            total, (silent, other, reported) = clear.sum(), self.clear_contributions
            sensitive += silent * total
            others += other * (total - clear) + reported * clear
        return sensitive / n, others / n
