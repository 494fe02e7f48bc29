"""Coefficients of regressions, with standard errors and limits from their sampling distribution.

**Least squares.** A coefficient b is a sum over reports, with the weight a_i of report i. If the truth is t, the fitted
shares nearest to the data are P_i + (t - b) (a_i/w_i) / sum(a_k^2/w_k), clipped to [0, 1]. If P is a person's share of
the value, the contribution of the person's report has the mean P, and the mechanism gives its second and third
moments. So the coefficient has a variance and a skewness for every t, and its limits follow from Pearson's type III.

**Log odds** have limits by their scores (`discreet.estimators.regression.log_odds`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray
from discreet.theory.binomial import Ends, z_quantile
from discreet.theory.limits import crossing, tail_above

# In upper bounds of the standard deviation: the largest distance of a limit from its coefficient.
_FAR = 20.0


class CoefficientLaw(ABC):
    """The sampling distribution of a regression's coefficients, and of the shares that follow from them.

    Attributes:
        coefficients: ``(m, k)``, a row per value.
    """

    coefficients: FloatArray

    @property
    @abstractmethod
    def errors(self) -> FloatArray:
        """``(m, k)`` standard errors of the coefficients, computed as if the estimates were the truth."""

    @property
    @abstractmethod
    def p_values(self) -> FloatArray:
        """``(m, k)`` p-values, each of the test that a coefficient of a regression is 0."""

    @abstractmethod
    def limits(self, alpha: float) -> Ends:
        """Return the ``(m, k)`` limits of the coefficients; each misses with about probability alpha/2."""

    @abstractmethod
    def predicted(self, rows: FloatArray, alpha: float) -> tuple[FloatArray, Ends]:
        """Return predicted shares of the values among people with ``(r, k)`` covariates, and their limits.

        Both are ``(r, values)``.
        """


@dataclass(frozen=True, eq=False, repr=False)
class LeastSquaresLaw(CoefficientLaw):
    """The sampling distribution of least squares coefficients, which are differences of shares.

    Attributes:
        rows: ``(g, k)`` the different rows of covariates.
        powers: ``(3, g)`` the sums of the weights w of all people of a row, of their squares and of their cubes.
        squared: ``(k, k)`` the inverse of Z' W Z.
        coefficients: ``(m, k)`` estimates.
        second: ``(2, m)`` mean squared contributions to each value: of people with another value, and with this value.
        third: ``(2, m)`` mean cubed contributions, for the same people.
    """

    rows: FloatArray
    powers: FloatArray
    squared: FloatArray
    coefficients: FloatArray
    second: FloatArray
    third: FloatArray

    def shape(self, combinations: FloatArray, place: int, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variances and the skewness of estimated combinations of coefficients.

        Both have shape ``(r,)`` and hold if the true combinations are t.
        """
        a, centre = self.rows @ (self.squared @ combinations.T), combinations @ self.coefficients[place]
        weights, squares, cubes = self.powers
        moved = (t - centre) * (a / (weights @ a**2))
        p = np.clip((self.rows @ self.coefficients[place])[:, None] + moved, 0, 1)
        second, third = (each[0, place] * (1 - p) + each[1, place] * p for each in (self.second, self.third))
        variance = np.maximum(squares @ (a**2 * (second - p**2)), np.finfo(float).tiny ** 0.6)
        return variance, cubes @ (a**3 * (third - 3 * p * second + 2 * p**3)) / variance**1.5

    def tail(self, combinations: FloatArray, place: int, t: FloatArray) -> FloatArray:
        """Return ``(r,)`` probabilities of estimates at least as large as these if the true combinations are t."""
        variance, skewness = self.shape(combinations, place, t)
        return tail_above((combinations @ self.coefficients[place] - t) / np.sqrt(variance), skewness)

    def least(self, combinations: FloatArray, place: int) -> FloatArray:
        """Return the ``(r,)`` smallest standard errors allowed; smaller ones only mean that all reports agree."""
        a = self.rows @ (self.squared @ combinations.T)
        return np.asarray(np.sqrt(self.powers[1] @ a**2 * self.second[:, place].max() / (2 * self.powers[0].sum())))

    @cached_property
    def errors(self) -> FloatArray:
        """``(m, k)`` standard errors of least squares coefficients; see `CoefficientLaw`."""
        every = np.eye(self.coefficients.shape[1])
        of_values = enumerate(self.coefficients)
        return np.array(
            [np.maximum(np.sqrt(self.shape(every, at, b)[0]), self.least(every, at)) for at, b in of_values]
        )

    @property
    def p_values(self) -> FloatArray:
        """``(m, k)`` p-values, each of the test that a least squares coefficient is 0; see `CoefficientLaw`."""
        from scipy.special import ndtr

        places, every = range(len(self.coefficients)), np.eye(self.coefficients.shape[1])
        tails = np.array([self.tail(every, place, np.zeros(len(every))) for place in places])
        # As limits are: a coefficient within the error of half a report is not significant.
        least = np.array([ndtr(-np.abs(self.coefficients[place]) / self.least(every, place)) for place in places])
        return np.asarray(np.minimum(2 * np.maximum(np.minimum(tails, 1 - tails), least), 1))

    def limits(self, alpha: float) -> Ends:
        """Return the ``(m, k)`` limits of least squares coefficients; see `CoefficientLaw`.

        Differences of shares between labels have limits in -1..1.
        """
        low, high = self.combined(np.eye(self.rows.shape[1]), alpha)
        most = np.where(((self.rows == 0) | (self.rows == 1)).all(axis=0), 1.0, np.inf)
        return np.clip(low, -most, most), np.clip(high, -most, most)

    def predicted(self, rows: FloatArray, alpha: float) -> tuple[FloatArray, Ends]:
        """Return shares predicted by least squares, which may lie outside of 0 to 1, and their limits."""
        low, high = self.combined(rows, alpha)
        return rows @ self.coefficients.T, (np.clip(low.T, 0, 1), np.clip(high.T, 0, 1))

    def combined(self, combinations: FloatArray, alpha: float) -> Ends:
        """Return the ``(m, r)`` limits of linear combinations of coefficients.

        Each limit misses with about probability alpha/2.
        """
        ends = np.array([self._ends(combinations, place, alpha / 2) for place in range(len(self.coefficients))])
        return ends[:, 0], ends[:, 1]

    def _ends(self, combinations: FloatArray, place: int, tail: float) -> Ends:
        centre, least = combinations @ self.coefficients[place], self.least(combinations, place)
        away = _FAR * np.sqrt(2 * self.powers[0].sum()) * least
        low, high = centre - away, centre + away

        def tails(t: FloatArray) -> FloatArray:
            return np.array([self.tail(combinations, place, each) for each in np.atleast_2d(t)]).reshape(t.shape)

        lower = crossing(tails, low, centre, tail)
        upper = -crossing(lambda t: 1 - tails(-t), -high, -centre, tail)
        # If nothing varies at the estimate, a limit is at least half a report away.
        return np.fmin(lower, centre - z_quantile(tail) * least), np.fmax(upper, centre + z_quantile(tail) * least)
