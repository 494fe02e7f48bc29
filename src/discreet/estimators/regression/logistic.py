"""Logistic regression on the likelihood of obfuscated reports: log odds that are linear in covariates.

A report y has the likelihood sum over x of Q(y|x) P(x|z), with P(x|z) the softmax of linear functions of z. It is not
concave in the coefficients, so that it is climbed from several starts. Where it has no inner maximum, since a share is
best fitted by 0, it has a weak prior: effects of covariates are normal with a deviation of 2 in log odds, from the
least to the largest value of a covariate. Limits follow from scores (`discreet.estimators.regression.log_odds`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from discreet.arrays import FloatArray
from discreet.errors import DataError

_STARTS = 4
_MOST_COEFFICIENTS = 400
# In log odds: the deviations of effects and of constants that a weak prior expects.
_EFFECT, _CONSTANT = 2.0, 5.0
# A smaller share than this is fitted best by 0.
_HIDDEN = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A maximum of the likelihood, or of the penalised likelihood, of a logistic regression.

    Attributes:
        baseline: code of the value that log odds are against.
        likelihood: of the reports, with standardized covariates.
        point: the coefficients of these, flat.
        turn: ``(k, k)`` the matrix that takes coefficients back to the covariates as they are.
        ends: log-likelihoods, with the prior or not, that the starts ended at, the best first.
        hidden: whether some share is fitted best by 0, so that the estimate has a prior.
    """

    baseline: int
    likelihood: "LogisticLikelihood"
    point: FloatArray
    turn: FloatArray
    ends: tuple[float, ...]
    hidden: bool

    @property
    def coefficients(self) -> FloatArray:
        """``(|X| - 1, k)`` coefficients of the covariates, which are not standardized."""
        return self.point.reshape(self.likelihood.shape) @ self.turn.T


class LogisticLikelihood:
    """The log-likelihood of the coefficients of standardized covariates, for n people with weights of mean 1.

    Equal reports of people with equal covariates are one row, with the sum of their weights.

    Attributes:
        patterns: ``(g, k)`` the different rows of covariates.
        powers: ``(3, g)`` the sums of the weights of all people of a row, of their squares and of their cubes.
    """

    def __init__(self, rows: FloatArray, matrix: FloatArray, weights: FloatArray, baseline: int) -> None:
        whole, places = np.unique(np.column_stack([rows, matrix]), axis=0, return_inverse=True)
        self.rows, self.matrix, self.n = whole[:, : rows.shape[1]], whole[:, rows.shape[1] :], len(rows)
        self.weights = np.bincount(places.reshape(-1), weights, len(whole))
        self.patterns, places = np.unique(matrix, axis=0, return_inverse=True)
        self.powers = np.array(
            [np.bincount(places.reshape(-1), weights**power, len(self.patterns)) for power in (1, 2, 3)]
        )
        self.others = np.delete(np.arange(rows.shape[1]), baseline)
        self.shape = (len(self.others), matrix.shape[1])

    def shares(self, matrix: FloatArray, flat: FloatArray) -> FloatArray:
        """Return the ``(r, |X|)`` shares of the values among people with ``(r, k)`` covariates."""
        logits = np.zeros((len(matrix), self.rows.shape[1]))
        logits[:, self.others] = matrix @ flat.reshape(self.shape).T
        logits -= logits.max(axis=1, keepdims=True)
        shares: FloatArray = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def scores(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(n,)`` log-likelihoods of the reports, and their ``(n, |X| - 1)`` derivatives by the logits."""
        shares = self.shares(self.matrix, flat)
        joint = shares * self.rows
        likelihood = np.maximum(joint.sum(axis=1), 1e-300)
        return np.log(likelihood), (joint / likelihood[:, None] - shares)[:, self.others]

    def __call__(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood per report, and the derivative by the coefficients."""
        logs, slopes = self.scores(flat)
        n = self.n
        return -float(self.weights @ logs) / n, -((slopes * self.weights[:, None]).T @ self.matrix).ravel() / n

    @property
    def effects(self) -> FloatArray:
        """The ``(m k,)`` inverse variances of coefficients under a weak prior; 0 for intercepts."""
        return np.tile((np.ptp(self.patterns, axis=0) / _EFFECT) ** 2, self.shape[0])

    def with_prior(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood per report with the weak prior, and the derivative by the coefficients."""
        value, slope = self(flat)
        prior = np.where(self.effects > 0, self.effects, _CONSTANT**-2) / self.n
        return value + float(prior @ flat**2) / 2, slope + prior * flat


def logistic_fit(
    rows: FloatArray, matrix: FloatArray, *, weights: FloatArray | None = None, baseline: int | None = None
) -> LogisticFit:
    """Return the best fit of a logistic regression among the maxima found from several starts.

    Args:
        rows: ``(n, |X|)`` likelihoods of the reports given values, each row up to a factor.
        matrix: ``(n, k)`` covariates, the intercept first.
        weights: ``(n,)`` of people; None for 1.
        baseline: code of the value that log odds are against; None for the most frequent.

    Raises:
        DataError: if there are too many coefficients.
    """
    rows = rows / rows.max(axis=1, keepdims=True)
    weights = np.ones(len(rows)) if weights is None else weights / weights.mean()
    shares = _shares(rows, weights)
    baseline = int(shares.argmax()) if baseline is None else baseline
    standard, turn = _standardized(matrix)
    likelihood = LogisticLikelihood(rows, standard, weights, baseline)
    size = likelihood.shape[0] * likelihood.shape[1]
    if size > _MOST_COEFFICIENTS:
        raise DataError("covariates.too-many-for-logistic", argument="method", size=size, most=_MOST_COEFFICIENTS)
    start = np.zeros(likelihood.shape)
    start[:, 0] = np.log(np.maximum(np.delete(shares, baseline), 1e-3) / max(shares[baseline], 1e-3))
    random = np.random.default_rng(20261122)
    starts = [start, *(start + random.normal(0, 0.7, start.shape) for _ in range(_STARTS - 1))]
    climbs = _climbed(likelihood, starts)
    hidden = bool(likelihood.shares(likelihood.patterns, climbs[0].x).min() < _HIDDEN)
    if hidden:
        climbs = _climbed(likelihood.with_prior, [start, np.clip(climbs[0].x, -3, 3)])
    ends = tuple(-float(climb.fun) * len(rows) for climb in climbs)
    return LogisticFit(baseline, likelihood, climbs[0].x, turn, ends, hidden)


def _standardized(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return covariates with mean 0 and standard deviation 1, and the matrix that converts coefficients back."""
    centre, scale = matrix.mean(axis=0), np.where(matrix.std(axis=0) > 0, matrix.std(axis=0), 1.0)
    centre[0], scale[0] = 0.0, 1.0
    turn = np.diag(1 / scale)
    turn[0] -= np.where(np.arange(len(scale)) > 0, centre / scale, 0.0)
    return (matrix - centre) / scale, turn


def _climbed(target: Callable[[FloatArray], tuple[float, FloatArray]], starts: list[FloatArray]) -> list[Any]:
    """Return the results of a search for the maximum from several starts, the best result first."""
    options: dict[str, Any] = {"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7}
    asked: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": options}
    minima = [scipy.optimize.minimize(target, start.ravel(), **asked) for start in starts]
    return sorted(minima, key=lambda minimum: float(minimum.fun))


def _shares(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the ``(|X|,)`` shares of the values without covariates, after 100 steps of expectation maximisation."""
    shares = np.full(rows.shape[1], 1 / rows.shape[1])
    for _ in range(100):
        joint = rows * shares
        shares = weights @ (joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)) / len(rows)
    return np.asarray(shares)
