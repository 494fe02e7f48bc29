"""Standard errors, limits and tests of log odds, from the score at the fit with a fixed coefficient.

Let b be a coefficient, or the log odds of a share among some people, and t a number. At the fit with b = t a report y
of a person with covariates z has the score s = P_x (Q(y|x)/q - 1) z for each value x, with P the person's shares and
q the probability of y. With I = sum w E s s' and g the derivative of b, the efficient score of b is h . s, h = I^-1 g:
it does not change to first order with the other coefficients. Its sum over reports has the variance
sum w^2 E (h . s)^2 and the third cumulant sum w^3 E (h . s)^3, expected under the law and not averaged over the
reports. t belongs to the limits of b if the sum lies within the quantiles of Pearson's type III with these moments.

Coefficients that few reports tell anything about would be fitted to these, and their noise would be too small. So the
fit has a weak prior of all effects but b (`discreet.estimators.regression.logistic`). The efficient score corrects for
it to first order.

A share that is fitted best by 0 makes scores and errors small alike, so that their ratio has a limit. There the
limits of log odds may be infinite.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf, log
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from discreet.arrays import FloatArray
from discreet.core.reports import Reports
from discreet.estimators.regression.logistic import LogisticFit, LogisticLikelihood
from discreet.mechanisms import Mechanism
from discreet.results.coefficients import CoefficientLaw
from discreet.theory.binomial import Ends
from discreet.theory.limits import ROOM, tail_above

# In log odds: how far from the estimate limits may be, and the longest step of the search for a fit.
_FAR, _LONGEST = 20.0, 3.0
_MOST_STEPS, _MOST_HALVINGS = 40, 8
# In nats: a fit is as good as the best. In log odds: the fixed coefficient is what it should be.
_GAIN, _FIXED = 1e-5, 1e-6
# In standard errors: the first distance that is tested, and the ratio of one distance to the one before.
_FIRST, _GROWTH = 1.2, 1.5
_ROUNDS, _CLOSE = 30, 0.01
_SHORT_TAIL = 0.5
# Products of one information matrix: of more, patterns take turns with the outputs.
_MOST_PRODUCTS = 1 << 23
# A smaller information counts as none, and its reciprocal is not too large.
_RIDGE, _NOTHING = 1e-10, 1e-150

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""A function of the coefficients that returns a number, and its derivative."""


def output_rows(mechanism: Mechanism, reports: Reports) -> FloatArray:
    """Return ``(outputs, |X|)`` probabilities of possible reports given each value; proportional rows are summed.

    Where a law has many outputs, some are drawn, from a fixed seed.
    """
    even = np.full(mechanism.domain.size, 1 / mechanism.domain.size)
    chunks = mechanism.decoder.value_ratios(mechanism.evidence(reports), even)
    rows = np.concatenate([weights[:, None] * (1 + d) for weights, d in chunks])
    rows = rows[rows.any(axis=1)]
    total = rows.sum(axis=1)
    shapes, places = np.unique((rows / total[:, None]).round(9), axis=0, return_inverse=True)
    rows = shapes * np.bincount(places.ravel(), total)[:, None]
    return np.asarray(rows / rows.sum(axis=0))


class _Test(NamedTuple):
    """The score test of the hypothesis that a coefficient is a given number.

    It has the fit, and the standardized efficient score with its skewness.
    """

    point: FloatArray
    score: float
    skewness: float

    def tail(self, side: int) -> float:
        """Return the tail probability of a score test on one side.

        Near the fit it is 1/2, so that limits have a least distance. The short tail of a few reports is bounded: its
        skewness is at most 0.5.
        """
        if abs(self.score) <= ROOM:
            return 0.5
        skewness = -side * self.skewness
        tails = tail_above(np.full(2, -side * self.score), np.array([skewness, max(skewness, -_SHORT_TAIL)]))
        return float(tails.max())


@dataclass(frozen=True, eq=False, repr=False)
class ScoreModel:
    """The likelihood of reports, with the expected moments of its scores.

    Attributes:
        likelihood: the likelihood of the reports.
        outputs: ``(outputs, |X|)`` probabilities of reports given each value.
    """

    likelihood: LogisticLikelihood
    outputs: FloatArray

    def _pieces(self, products: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of the distinct rows of covariates, with the outputs over which scores are averaged."""
        patterns, outputs = len(self.likelihood.patterns), self.outputs
        turns = max(min(-(-patterns * len(outputs) * products // _MOST_PRODUCTS), patterns), 1)
        for turn in range(turns):
            yield slice(turn, None, turns), outputs[turn::turns] * turns

    def information(self, point: FloatArray, power: int = 0) -> FloatArray:
        """Return the ``(m k, m k)`` sums of E s s', weighted by people's weights to the power ``power`` + 1."""
        model, (m, k) = self.likelihood, self.likelihood.shape
        whole = np.zeros((m, k, m, k))
        for part, outputs in self._pieces(m * m):
            rows, weights = model.patterns[part], model.powers[power, part]
            shares, chosen = model.shares(rows, point), outputs[:, model.others]
            likely = np.maximum(shares @ outputs.T, 1e-300)
            cross = (1 / likely) @ (chosen[:, :, None] * chosen[:, None, :]).reshape(-1, m * m)
            single = chosen.sum(axis=0)
            cross = cross.reshape(-1, m, m) - single[:, None] - single + likely.sum(axis=1)[:, None, None]
            p = shares[:, model.others]
            cross *= weights[:, None, None] * p[:, :, None] * p[:, None, :]
            for a in range(m):
                for b in range(m):
                    whole[a, :, b] += (rows * cross[:, a, b, None]).T @ rows
        return whole.reshape(m * k, m * k)

    def moments(self, point: FloatArray, direction: FloatArray) -> tuple[float, float]:
        """Return the variance and the third cumulant of the sum of scores along a direction."""
        model, variance, third = self.likelihood, 0.0, 0.0
        for part, outputs in self._pieces(1):
            rows = model.patterns[part]
            shares = model.shares(rows, point)
            gains = rows @ direction.reshape(model.shape).T * shares[:, model.others]
            likely = np.maximum(shares @ outputs.T, 1e-300)
            scores = gains @ outputs[:, model.others].T / likely - gains.sum(axis=1, keepdims=True)
            variance += float(model.powers[1, part] @ (likely * scores**2).sum(axis=1))
            third += float(model.powers[2, part] @ (likely * scores**3).sum(axis=1))
        return variance, third

    def solved(self, information: FloatArray, sides: FloatArray) -> FloatArray:
        """Return I^-1 times the columns ``sides``; I is scaled first, because shares near 0 make entries small."""
        diagonal = np.diagonal(information)
        scale = 1 / np.sqrt(np.where(diagonal > _NOTHING, diagonal, 1.0))
        scaled = information * np.outer(scale, scale) + _RIDGE * np.eye(len(scale))
        return np.asarray(scale[:, None] * np.linalg.solve(scaled, scale[:, None] * sides))

    def _shortened(self, move: FloatArray) -> FloatArray:
        """Return a step of the search, shortened if it changes log odds by much."""
        longest = float(np.abs(self.likelihood.patterns @ move.reshape(self.likelihood.shape).T).max())
        return move * min(1.0, _LONGEST / max(longest, _FIXED))

    def test(self, function: Function, t: float, start: FloatArray) -> _Test:
        """Return the test that a function of the coefficients is t, computed at the fit under this hypothesis."""
        model, point, before = self.likelihood, start, inf
        for step in range(_MOST_STEPS):
            loss, slope = model(point)
            score, information = -model.n * slope, self.information(point)
            value, derivative = function(point)
            prior = model.effects * (derivative == 0)
            loss, pull = model.n * loss + float(prior @ point**2) / 2, score - prior * point
            free, direction = self.solved(information + np.diag(prior), np.column_stack([pull, derivative])).T
            along = direction / (derivative @ direction)
            fix, climb = self._shortened(along * (t - value)), self._shortened(free - along * (derivative @ free))
            fixed = abs(t - value) <= _FIXED * (1 + abs(t))
            gain = min(abs(float(pull @ climb)), before - loss)
            if (fixed and gain < _GAIN) or step == _MOST_STEPS - 1:
                break
            before, length = loss if fixed else inf, 1.0
            for _ in range(_MOST_HALVINGS if fixed else 0):
                there = point + fix + length * climb
                if model.n * model(there)[0] + float(prior @ there**2) / 2 <= loss:
                    break
                length /= 2
            point = point + fix + length * climb
        direction = self.solved(information, derivative[:, None])[:, 0]
        # A share near 0 makes the direction long.
        direction = direction / max(float(derivative @ direction), np.finfo(float).tiny) ** 0.5
        variance, third = self.moments(point, direction)
        deviation = max(variance, np.finfo(float).tiny) ** 0.5
        return _Test(point, float(direction @ score) / deviation, third / deviation**3)


class _Limits:
    """The limits of a function of the coefficients; earlier tests are stored and serve other levels too."""

    def __init__(self, model: ScoreModel, function: Function, best: FloatArray, scale: tuple[float, float]) -> None:
        self.model, self.function, self.best = model, function, best
        self.centre, (self.error, self.far) = function(best)[0], scale
        self.tests: dict[float, _Test] = {}

    def at(self, t: float) -> _Test:
        """Return the test that the function is t, with a search from the nearest earlier fit."""
        if t not in self.tests:
            near = min(self.tests, key=lambda other: abs(other - t), default=self.centre)
            start = self.tests[near].point if abs(near - t) < abs(self.centre - t) else self.best
            self.tests[t] = self.model.test(self.function, t, start)
        return self.tests[t]

    @property
    def p_value(self) -> float:
        """The p-value of the test that the function of the coefficients is 0."""
        test = self.at(0.0)
        return min(2 * min(test.tail(-1), test.tail(1)), 1.0)

    def end(self, side: int, tail: float) -> float:
        """Return the limit on one side: the nearest number with this tail probability; infinite without one."""

        def above(t: float) -> float:
            return log(max(self.at(t).tail(side), np.finfo(float).tiny) / tail)

        if above(self.centre) <= 0:
            return self.centre
        near, distance = self.centre, min(_FIRST * self.error, self.far / 8)
        while above(self.centre + side * distance) > 0:
            if distance >= self.far:
                return side * inf
            near, distance = self.centre + side * distance, min(_GROWTH * distance, self.far)
        far = self.centre + side * distance
        over, under = above(near), above(far)
        for _ in range(_ROUNDS):
            middle = far - under * (far - near) / (under - over)
            value = above(middle)
            if abs(value) < _CLOSE:
                return middle
            # The secant, with the value at an end that stays halved [Illinois].
            near, over, far, under = (middle, value, far, under / 2) if value > 0 else (near, over / 2, middle, value)
        return far


@dataclass(frozen=True, eq=False, repr=False)
class LogOddsLaw(CoefficientLaw):
    """The sampling distribution of the coefficients of log odds, by score tests.

    Attributes:
        fit: the maximum of the likelihood.
        outputs: ``(outputs, |X|)`` probabilities of reports given each value.
    """

    fit: LogisticFit
    outputs: FloatArray

    @property
    def coefficients(self) -> FloatArray:  # type: ignore[override]
        """``(m, k)`` coefficients of log odds, with a row per value; see `CoefficientLaw`."""
        return self.fit.coefficients

    @cached_property
    def _model(self) -> ScoreModel:
        return ScoreModel(self.fit.likelihood, self.outputs)

    @cached_property
    def _covariance(self) -> FloatArray:
        """The covariance of the coefficients of standardized covariates, computed as if the estimate were the truth."""
        point, model = self.fit.point, self._model
        inverse = model.solved(model.information(point), np.eye(len(point)))
        return inverse @ model.information(point, 1) @ inverse.T

    @cached_property
    def _limits(self) -> list[_Limits]:
        """The confidence limits of each coefficient of log odds, by value and covariate."""
        turn, likelihood = self.fit.turn, self.fit.likelihood
        span = np.ptp(likelihood.patterns, axis=0) / np.diagonal(turn)
        span[0] = 1.0
        return [
            self._limits_of(partial(_combination, row), float(far))
            for value in np.eye(likelihood.shape[0])
            for row, far in zip(np.kron(value, turn), _FAR / span, strict=True)
        ]

    def _limits_of(self, function: Function, far: float) -> _Limits:
        derivative = function(self.fit.point)[1]
        error = float(derivative @ self._covariance @ derivative) ** 0.5
        return _Limits(self._model, function, self.fit.point, (error, far))

    @cached_property
    def errors(self) -> FloatArray:
        """``(m, k)`` standard errors of the coefficients of log odds; see `CoefficientLaw`."""
        return np.array([each.error for each in self._limits]).reshape(self.coefficients.shape)

    @cached_property
    def p_values(self) -> FloatArray:
        """``(m, k)`` p-values, each of the score test that a coefficient is 0; see `CoefficientLaw`."""
        return np.array([each.p_value for each in self._limits]).reshape(self.coefficients.shape)

    def limits(self, alpha: float) -> Ends:
        """Return the ``(m, k)`` limits of the coefficients of log odds; see `CoefficientLaw`."""
        low, high = (np.array([each.end(side, alpha / 2) for each in self._limits]) for side in (-1, 1))
        return low.reshape(self.coefficients.shape), high.reshape(self.coefficients.shape)

    def predicted(self, rows: FloatArray, alpha: float) -> tuple[FloatArray, Ends]:
        """Return the predicted shares, the share of the baseline last, and their limits; see `CoefficientLaw`."""
        likelihood = self.fit.likelihood
        standard = rows @ self.fit.turn
        order = [*likelihood.others.tolist(), self.fit.baseline]
        shares = likelihood.shares(standard, self.fit.point)[:, order]
        ends = np.empty((2, *shares.shape))
        for at, row in enumerate(standard):
            for place, code in enumerate(order):
                limits = self._limits_of(_log_odds(likelihood, row, code), _FAR)
                ends[:, at, place] = [expit(limits.end(side, alpha / 2)) for side in (-1, 1)]
        return shares, (ends[0], ends[1])


def _combination(row: FloatArray, point: FloatArray) -> tuple[float, FloatArray]:
    """Return a linear combination of the coefficients, and its derivative."""
    return float(row @ point), row


def _log_odds(likelihood: LogisticLikelihood, row: FloatArray, code: int) -> Function:
    """Return the function from coefficients to the log odds of a share among people with some covariates."""

    def function(point: FloatArray) -> tuple[float, FloatArray]:
        logits = np.zeros(likelihood.rows.shape[1])
        logits[likelihood.others] = point.reshape(likelihood.shape) @ row
        rest = np.delete(logits, code)
        most = float(rest.max())
        value = float(logits[code]) - most - log(float(np.exp(rest - most).sum()))
        # The log odds change with the logit of another value by minus its share among all but this one.
        slopes = np.insert(-np.exp(rest - most) / np.exp(rest - most).sum(), code, 1.0)
        return value, np.outer(slopes[likelihood.others], row).ravel()

    return function
