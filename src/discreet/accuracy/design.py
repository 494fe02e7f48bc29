"""Mixtures of block sizes: probabilities, decoder and exact errors of the optimal mechanism.

With probability t_k the size is k, whatever the value is *and whether the report is truth or noise*: drawing both from
one random number would leave no finite epsilon. A sensitive value then sends a uniform k-subset that contains it with
probability k e^eps / (k e^eps + v - k), else a uniform one that does not; another value sends a uniform k-subset with
probability v / (k e^eps + v - k), else itself in clear.

The decoder is the best unbiased linear one at the distribution of mass alpha, uniform inside each class [spec of the
optimum, section 3]. For a single size it is that of `LinearDecoder`.
"""

from dataclasses import dataclass
from functools import cached_property
from math import isclose

import numpy as np

from discreet.accuracy.decoder import PerValue, Variances, WorthRanges
from discreet.accuracy.fisher import Instance, Mixture
from discreet.accuracy.pool_bias import NO_POOL_BIAS, PoolBias
from discreet.arrays import AnyArray, BoolArray, FloatArray
from discreet.core.checks import checked_n
from discreet.errors import ParameterError


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

    @property
    def pool_bias(self) -> PoolBias:
        """Return none: nothing is drawn for all reports."""
        return NO_POOL_BIAS

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
        spread = (v - 1) / (far * among) if v > 1 else 0.0
        base, clear = self.alpha / v, 0.0
        if others:
            moved = k * (1 - self.alpha) / (far * others * between)
            base, clear = base + moved * others / v, (1 - self.alpha) / others - moved
        return base + spread * (1 - k / v), base - spread * k / v, clear

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
            silent, other, own = self.clear_worth
            sensitive.append(silent)
            others += [own, other] if self.instance.clear_size > 1 else [own]
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
            total, (silent, other, own) = clear.sum(), self.clear_worth
            sensitive += silent * total
            others += other * (total - clear) + own * clear
        return sensitive / n, others / n

    # Exact errors

    def variances(self, sensitive_mass: PerValue) -> Variances:
        """Return the coefficients of the variances, given p(X_S)."""
        sensitive = self.sensitive_moment(2, sensitive_mass)
        if not self.instance.clear_size:
            return Variances(sensitive, (0.0, 0.0))
        beside = sum(
            share * (sensitive_mass + (1 - sensitive_mass) * self.noise(k)) * self.block_worth(k)[2] ** 2
            for k, share in self.weights.items()
        )
        _, other, own = self.clear_worth
        told = self.truth * (1 - sensitive_mass)
        return Variances(sensitive, (beside + told * other**2, self.truth * (own**2 - other**2)))

    def sensitive_moment(self, power: int, sensitive_mass: PerValue) -> tuple[PerValue, PerValue]:
        """Return constant and slope of E w^k, affine in p_x, of the worth w of a report to a sensitive x."""
        constant: PerValue = 0.0
        slope: PerValue = 0.0
        for k, share in self.weights.items():
            own, other = self.inside(k), self._inside_beside(k)
            inside, outside, _ = self.block_worth(k)
            blocks = share * (sensitive_mass + (1 - sensitive_mass) * self.noise(k))
            base = share * (sensitive_mass * other + (1 - sensitive_mass) * self.noise(k) * k / self.size)
            constant += base * inside**power + (blocks - base) * outside**power
            slope += share * (own - other) * (inside**power - outside**power)
        if not self.instance.clear_size:
            return constant, slope
        return constant + self.truth * (1 - sensitive_mass) * self.clear_worth[0] ** power, slope

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
        sensitive, other, own = self.clear_worth
        told = self.size * sensitive**2 + (self.instance.clear_size - 1) * other**2 + own**2
        return self.truth * told + self.mixture.mean(
            [self.noise(k) * self._square_worth(k) for k in self.mixture.sizes]
        )

    def mse(self, n: int, sensitive: PerValue, squares: float) -> float:
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
