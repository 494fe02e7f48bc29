"""Pool bias: the error from public randomness that all reports share, and that more reports do not lessen.

Where blocks come from a pool of public hash functions, two values share a block under the fraction R_xx' of them for
which x and x' collide. The mean of R_xx' over pools is rho, so the linear estimate is unbiased over pools; under one
pool its bias is

    b_x = sum_{x' != x} p_x' (R_xx' - rho) / (1 - rho),

whatever n is. With the variance of R_xx' and the covariance of R_xx' and R_xx'' given, over pools E b_x = 0 and

    E b_x^2 = u sum_{x' != x} p_x'^2 + w (sum_{x' != x} p_x')^2,
    u = (variance - covariance)/(1 - rho)^2, w = covariance/(1 - rho)^2.

By the law of total variance, with A + B p_x the mean square worth of one report (it is linear in R, so its mean over
pools follows from rho),

    Var(p_hat_x) = (A + B p_x - p_x^2)/n + (1 - 1/n) E b_x^2:

under one pool the n reports vary about p_x + b_x, so that E b_x^2 moves from the variance of each report to the
variance of their mean.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class PoolBias:
    """The pool bias of a linear estimate: the coefficients u and w of E b_x^2; 0 where reports share nothing.

    Attributes:
        squares: u, the coefficient of the summed squares of the other sensitive frequencies.
        mass: w, the coefficient of the square of their sum.
    """

    squares: float = 0.0
    mass: float = 0.0

    @classmethod
    def of(cls, conditional_inclusion: Fraction, variance: Fraction, covariance: Fraction) -> "PoolBias":
        """Return u and w from the mean, variance and covariance of R; 0 where blocks hold all values or none."""
        apart = (1 - conditional_inclusion) ** 2
        return cls(float((variance - covariance) / apart), float(covariance / apart)) if apart else NO_POOL_BIAS

    def __bool__(self) -> bool:
        return self.squares > 0 or self.mass > 0

    @property
    def most(self) -> float:
        """Return the largest E b_x^2 over all distributions, attained where all users have one other value."""
        return self.squares + self.mass

    def left(self, size: int) -> float:
        """Return the share of the information on one frequency that remains when the v - 1 others are unknown too.

        For a pool of m functions to g buckets it is 1 - (v - 1)/(m (g - 1)), as in a linear regression with v unknowns
        and m (g - 1) independent counts; it is 0 where there are more unknowns than counts.

        Args:
            size: v, the number of sensitive values.
        """
        return max(1 - (size - 1) * self.squares, 0.0)

    def each(self, frequencies: FloatArray) -> FloatArray:
        """Return the ``(v,)`` mean square biases E b_x^2, given the sensitive frequencies."""
        others = float(frequencies @ frequencies) - frequencies**2
        return self.squares * others + self.mass * (float(frequencies.sum()) - frequencies) ** 2

    def summed(self, size: int, mass: float, squares: float) -> float:
        """Return the sum of E b_x^2 over v values, given p(X_S) and the sum of the squared frequencies."""
        return self._per_square(size) * squares + self.mass * (size - 2) * mass**2

    def _per_square(self, size: int) -> float:
        return (size - 1) * self.squares + self.mass

    def estimated(self, frequencies: FloatArray, noise: FloatArray, mass: float) -> FloatArray:
        """Return ``(v,)`` estimates of the mean square biases E b_x^2 from a linear estimate.

        The squares of noisy estimates exceed those of the frequencies by the variances, which are subtracted.

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
        square = np.clip(frequencies**2 - noise, 0, squares)
        left = np.clip(mass - frequencies, 0, mass)
        return self.squares * (squares - square) + self.mass * left**2


NO_POOL_BIAS = PoolBias()
"""No pool bias: reports share no public randomness."""
