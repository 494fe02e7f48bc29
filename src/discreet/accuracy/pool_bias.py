"""The error that stays, however many people report: that of what is drawn once and shared by all reports.

Where blocks come from a few public hash functions, it is these that decide how often two values are in one block: the
share R_xx' of them under which x and x' collide. Over all functions that could have been drawn its mean is rho, so the
linear estimate is unbiased over pools; but under one pool its mean is off by

    b_x = sum_{x' != x} p_x' (R_xx' - rho) / (1 - rho),

whatever n is. With the variance of R_xx' and the covariance of R_xx' and R_xx'' given, over pools E b_x = 0 and

    E b_x^2 = u sum_{x' != x} p_x'^2 + w (sum_{x' != x} p_x')^2,
    u = (variance - covariance)/(1 - rho)^2, w = covariance/(1 - rho)^2.

By the law of total variance, with A + B p_x the mean square worth of one report (it is linear in R, so its mean over
pools is that with rho),

    Var(p_hat_x) = (A + B p_x - p_x^2)/n + (1 - 1/n) E b_x^2:

given the pool the n reports vary about p_x + b_x, so that E b_x^2 is taken off each report's variance and put onto
that of their mean.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class PoolBias:
    """Two numbers that E b_x^2 follows from; both are 0 where nothing is shared.

    Attributes:
        squares: u, in front of the summed squares of the other sensitive frequencies.
        mass: w, in front of the square of their sum.
    """

    squares: float = 0.0
    mass: float = 0.0

    @classmethod
    def of(cls, conditional_inclusion: Fraction, variance: Fraction, covariance: Fraction) -> "PoolBias":
        """Return u and w from the mean, variance and covariance of R; none where blocks hold all values or none."""
        apart = (1 - conditional_inclusion) ** 2
        return cls(float((variance - covariance) / apart), float(covariance / apart)) if apart else NO_POOL_BIAS

    def __bool__(self) -> bool:
        return self.squares > 0 or self.mass > 0

    @property
    def most(self) -> float:
        """Return the largest E b_x^2 over all distributions: everybody has one other value."""
        return self.squares + self.mass

    def left(self, size: int) -> float:
        """Return the share of what reports say of one value that is left if none of the v frequencies is known.

        That of as many unknowns as random numbers that tell them: 1 - (v - 1)/(m (g - 1)) for a pool of m functions to
        g buckets, and nothing where there are more unknowns than counts.
        """
        return max(1 - (size - 1) * self.squares, 0.0)

    def each(self, frequencies: FloatArray) -> FloatArray:
        """Return the ``(v,)`` E b_x^2 for the sensitive frequencies."""
        others = float(frequencies @ frequencies) - frequencies**2
        return self.squares * others + self.mass * (float(frequencies.sum()) - frequencies) ** 2

    def summed(self, size: int, mass: float, squares: float) -> float:
        """Return the sum of `each` over v values, from p(X_S) and the sum of their squares."""
        return self._per_square(size) * squares + self.mass * (size - 2) * mass**2

    def _per_square(self, size: int) -> float:
        return (size - 1) * self.squares + self.mass

    def estimated(self, frequencies: FloatArray, noise: FloatArray, mass: float) -> FloatArray:
        """Return ``(v,)`` estimates of E b_x^2.

        The squares of noisy estimates are larger than those of the frequencies by the variances, this error's among
        them, which is taken off.

        Args:
            frequencies: ``(v,)`` linear estimates p_hat of n reports.
            noise: ``(v,)`` (A + B p_hat - p_hat^2)/(n - 1), whose mean is the variance less E b_x^2.
            mass: p(X_S), as estimated.
        """
        size = len(frequencies)
        if not size or not self:
            return np.zeros(size)
        seen = float(frequencies @ frequencies) - float(noise.sum()) - self.mass * (size - 2) * mass**2
        # Between evenly spread and all on one value.
        squares = min(max(seen / (1 + self._per_square(size)), mass**2 / size), mass**2)
        own = np.clip(frequencies**2 - noise, 0, squares)
        left = np.clip(mass - frequencies, 0, mass)
        return self.squares * (squares - own) + self.mass * left**2


NO_POOL_BIAS = PoolBias()
"""Nothing is shared."""
