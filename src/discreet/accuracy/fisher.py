"""Fisher information of block sizes about a distribution that is uniform inside each class.

The best mechanism draws a block size k with probability t_k and then a uniform k-subset of the v sensitive values. At
the distribution with mass alpha spread over the sensitive values and 1 - alpha over the N others, its information has
three eigenvalues: among the sensitive values (v - 1 of them), among the others (N - 1) and between the classes. With
tau = 1/(e^eps - 1) and the sums S_i of t_k s_i(k) over k,

    s_1(k) = k (v - k) / ((alpha k + v tau)(k + v tau)),  s_2(k) = k / (k + v tau),  s_3(k) = k / (alpha k + v tau),

no unbiased estimate from n reports has a mean squared error below M/n there, with

    M = c_1/S_1 + c_2/S_2 + c_3/S_3,  c = ((v - 1)^2 / v, (N - 1)(1 - alpha)/N, w (1 - alpha)/(v N)),

which is M of the spec of the optimum, section 3, without the factors that overflow or vanish at its ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_epsilon, checked_mass, checked_whole, refuse_silence
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError

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
        size, total = _count("size", self.size), _count("total", self.total)
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

    def told(self, alpha: float, k: int) -> Three:
        """Return (s_1, s_2, s_3), the information in blocks of size k at mass alpha."""
        noise = self.size * self.tau
        near, far = k / (k + noise), alpha * k + noise
        return near * (self.size - k) / far, near, k / far

    def told_by_all(self, alpha: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (s_1, s_2, s_3) of every block size 1..v, as ``(v,)`` arrays."""
        k = np.arange(1, self.size + 1, dtype=np.float64)
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
        return sum(cost / told for cost, told in zip(instance.costs(alpha), sums, strict=True) if cost)

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
        sums, every = self.sums(instance, alpha), instance.told_by_all(alpha)
        steepest = np.zeros(instance.size)
        for cost, total, column in zip(instance.costs(alpha), sums, every, strict=True):
            if cost:
                steepest += (cost / total) * (column / total)
        return float(steepest.max()) / bound - 1


def _count(name: str, count: object) -> int:
    return checked_whole(name, count, -_MOST, _MOST)
