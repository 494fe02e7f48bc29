"""Logistic regression on the likelihood of obfuscated reports: log odds that are linear in covariates.

A report y has the likelihood sum over x of Q(y|x) P(x|z), with P(x|z) the softmax of linear functions of z. It is not
concave in the coefficients, so that it is climbed from several starts. Where it has no inner maximum, since a share is
best fitted by 0, it is penalised.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import scipy

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import DataError

_STARTS = 4
_STEP = 1e-5
_MOST_COEFFICIENTS = 400
# Products of a pass of the penalty: beyond, it would take minutes.
_MOST_PENALTY = 1 << 28
# The curvature of the likelihood and the squares of its slopes are alike at an inner maximum.
_LEAST_ALIKE = 0.25
# The normal quantile of 95% intervals, and the farthest end of one that is looked for, in log odds.
_Z, _FAR = 1.96, 10.0


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A maximum of the likelihood, or of the penalised likelihood.

    Attributes:
        baseline: code of the value that log odds are against.
        coefficients: ``(|X| - 1, k)``.
        covariance: ``(|X| - 1, k, |X| - 1, k)`` of them. Of a maximum of the likelihood it is right where the model is
            wrong too (sandwich); else the inverse of the squared slopes, which knows no curvature of the penalty,
            widened as far as the likelihood reaches.
        ends: log-likelihoods, penalised or not, that the starts ended at, the best first.
        undetermined: ``(|X| - 1, k)`` booleans: coefficients without which the likelihood would have a maximum; where
            there are some, it was penalised.
    """

    baseline: int
    coefficients: FloatArray
    covariance: FloatArray
    ends: tuple[float, ...]
    undetermined: BoolArray

    @property
    def standard_errors(self) -> FloatArray:
        """``(|X| - 1, k)`` square roots of the variances."""
        size = self.coefficients.size
        variances = np.diagonal(self.covariance.reshape(size, size))
        return np.sqrt(np.maximum(variances, 0)).reshape(self.coefficients.shape)


class _Likelihood:
    """The log-likelihood of coefficients of standardized covariates, of n people with weights of mean 1.

    Equal reports of people with equal covariates are one row, with the sums of their weights and of their squares.
    """

    def __init__(self, rows: FloatArray, matrix: FloatArray, weights: FloatArray, baseline: int) -> None:
        whole, places = np.unique(np.column_stack([rows, matrix]), axis=0, return_inverse=True)
        sums = [
            np.bincount(places.reshape(-1), weights=power, minlength=len(whole)).astype(np.float64)
            for power in (weights, weights**2)
        ]
        self.rows, self.matrix, self.n = whole[:, : rows.shape[1]], whole[:, rows.shape[1] :], len(rows)
        self.weights, self.squared_weights = sums
        self.others = np.delete(np.arange(rows.shape[1]), baseline)
        self.shape = (len(self.others), matrix.shape[1])

    def _shares(self, matrix: FloatArray, flat: FloatArray) -> FloatArray:
        logits = np.zeros((len(matrix), self.rows.shape[1]))
        logits[:, self.others] = matrix @ flat.reshape(self.shape).T
        logits -= logits.max(axis=1, keepdims=True)
        shares: FloatArray = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def scores(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(n,)`` log-likelihoods of the reports, and their ``(n, |X| - 1)`` derivatives by the logits."""
        shares = self._shares(self.matrix, flat)
        joint = shares * self.rows
        likelihood = np.maximum(joint.sum(axis=1), 1e-300)
        return np.log(likelihood), (joint / likelihood[:, None] - shares)[:, self.others]

    def __call__(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood per report, and its derivative."""
        logs, slopes = self.scores(flat)
        n = self.n
        return -float(self.weights @ logs) / n, -((slopes * self.weights[:, None]).T @ self.matrix).ravel() / n

    @cached_property
    def _patterns(self) -> tuple[FloatArray, FloatArray]:
        """The different rows of the matrix, and the weight of each."""
        rows, places = np.unique(self.matrix, axis=0, return_inverse=True)
        return rows, np.bincount(places.reshape(-1), weights=self.weights, minlength=len(rows)).astype(np.float64)

    @property
    def penalty_cost(self) -> int:
        """Products of one pass of the penalty."""
        products: int = len(self._patterns[0]) * (self.shape[0] * self.shape[1]) ** 2
        return products

    def penalised(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood per report with Jeffreys' penalty for values that are known, and derivative.

        The penalty is half the logarithm of the determinant of sum_i V_i x z_i z_i', V = diag(p) - p p' [Firth 1993].
        """
        (rows, counts), (m, k) = self._patterns, self.shape
        p = self._shares(rows, flat)[:, self.others]
        information = np.empty((m, k, m, k))
        for a, b in product(range(m), repeat=2):
            v = counts * (p[:, a] * (a == b) - p[:, a] * p[:, b])
            information[a, :, b, :] = (rows * v[:, None]).T @ rows
        information = information.reshape(m * k, m * k) + 1e-12 * np.trace(information.reshape(m * k, -1)) * np.eye(
            m * k
        )
        inverse = np.linalg.inv(information).reshape(m, k, m, k)
        inner = np.empty((len(rows), m, m))
        for a, b in product(range(m), repeat=2):
            inner[:, a, b] = ((rows @ inverse[a, :, b, :]) * rows).sum(axis=1)
        # With d V_ab / d eta_j = (a == b) V_aj - V_aj p_b - p_a V_bj.
        own_terms = np.einsum("iaa->ia", inner) - 2 * np.einsum("iab,ib->ia", inner, p)
        slopes = p * (own_terms - (p * own_terms).sum(axis=1, keepdims=True)) * counts[:, None]
        value, slope = self(flat)
        n = self.n
        return value - 0.5 * float(np.linalg.slogdet(information)[1]) / n, slope - 0.5 * (slopes.T @ rows).ravel() / n

    def hessian(self, flat: FloatArray) -> FloatArray:
        """Return the second derivative of minus the log-likelihood per report."""
        steps = _STEP * np.eye(len(flat))
        differences = np.array([(self(flat + step)[1] - self(flat - step)[1]) / (2 * _STEP) for step in steps])
        symmetric: FloatArray = (differences + differences.T) / 2
        return symmetric

    def squares(self, flat: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the mean square of the derivatives of single reports, with these weights of the rows."""
        slopes = self.scores(flat)[1]
        each = (slopes[:, :, None] * self.matrix[:, None, :]).reshape(len(slopes), -1)
        return (each * weights[:, None]).T @ each / self.n


def _undetermined(hessian: FloatArray, squares: FloatArray) -> BoolArray:
    """Return the coefficients that make up the directions in which there is no inner maximum.

    There the likelihood is flat, or highest at a border. At an inner maximum, curvature and squared slopes are equal
    on average; at a border the curvature is much larger.
    """
    values = np.linalg.eigvalsh(hessian)
    if values[0] <= 1e-7 * values[-1]:
        eigenvalues, vectors = np.linalg.eigh(hessian)
        wrong = vectors[:, eigenvalues <= 1e-7 * eigenvalues[-1]]
    else:
        eigenvalues, vectors = scipy.linalg.eigh(squares, hessian)
        wrong = vectors[:, eigenvalues < _LEAST_ALIKE]
    shares = (wrong / np.maximum(np.linalg.norm(wrong, axis=0), 1e-300)) ** 2
    marks: BoolArray = (shares > 0.5 * shares.max(axis=0, initial=0)).any(axis=1)
    return marks


def logistic_fit(
    rows: FloatArray, matrix: FloatArray, *, weights: FloatArray | None = None, baseline: int | None = None
) -> LogisticFit:
    """Return the best of the maxima that several starts lead to.

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
    likelihood = _Likelihood(rows, standard, weights, baseline)
    size = likelihood.shape[0] * likelihood.shape[1]
    if size > _MOST_COEFFICIENTS:
        raise DataError("covariates.too-many-for-logistic", argument="method", size=size, most=_MOST_COEFFICIENTS)
    start = np.zeros(likelihood.shape)
    start[:, 0] = np.log(np.maximum(np.delete(shares, baseline), 1e-3) / max(shares[baseline], 1e-3))
    random = np.random.default_rng(20261122)
    starts = [start, *(start + random.normal(0, 0.7, start.shape) for _ in range(_STARTS - 1))]
    climbs = _climbed(likelihood, starts)
    best, hessian = climbs[0].x, likelihood.hessian(climbs[0].x)
    undetermined = _undetermined(hessian, likelihood.squares(best, likelihood.weights))
    if undetermined.any():
        if likelihood.penalty_cost > _MOST_PENALTY:
            raise DataError("covariates.undetermined")
        climbs = _climbed(likelihood.penalised, [start, np.clip(best, -3, 3).reshape(start.shape)])
        best = climbs[0].x
        hessian = likelihood.squares(best, likelihood.weights)
    inverse = np.linalg.inv(hessian)
    covariance = inverse @ likelihood.squares(best, likelihood.squared_weights) @ inverse / len(rows)
    whole = np.kron(np.eye(likelihood.shape[0]), turn)
    covariance = whole @ covariance @ whole.T
    if undetermined.any():
        reach = _reach(likelihood, best, covariance, np.linalg.inv(whole)) / np.sqrt(np.diagonal(covariance))
        covariance *= np.outer(reach, reach)
    ends = tuple(-float(climb.fun) * len(rows) for climb in climbs)
    return LogisticFit(
        baseline,
        best.reshape(likelihood.shape) @ turn.T,
        covariance.reshape(likelihood.shape * 2),
        ends,
        undetermined.reshape(likelihood.shape),
    )


def _standardized(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return covariates with mean 0 and deviation 1, and the matrix that takes their coefficients back."""
    centre, scale = matrix.mean(axis=0), np.where(matrix.std(axis=0) > 0, matrix.std(axis=0), 1.0)
    centre[0], scale[0] = 0.0, 1.0
    turn = np.diag(1 / scale)
    turn[0] -= np.where(np.arange(len(scale)) > 0, centre / scale, 0.0)
    return (matrix - centre) / scale, turn


def _reach(likelihood: _Likelihood, best: FloatArray, covariance: FloatArray, back: FloatArray) -> FloatArray:
    """Return the ``(m k,)`` standard errors of coefficients, as the likelihood falls to their side where it falls less.

    With each coefficient the others change as they vary together. If noise hides a share, the likelihood falls little
    as the share goes to 0, at any log odds. The distance at which it has fallen by 1.92, at most 10, counts as 1.96
    errors.
    """
    errors = np.sqrt(np.diagonal(covariance))
    top, reached = likelihood(best)[0], errors.copy()
    for at, error in enumerate(errors):
        direction = back @ covariance[:, at] / error**2
        for side in (-1, 1):
            near, far = _Z * error, max(_FAR, _Z * error)
            for _ in range(12):
                middle = (near + far) / 2
                fallen = likelihood.n * (likelihood(best + side * middle * direction)[0] - top)
                near, far = (middle, far) if fallen < _Z**2 / 2 else (near, middle)
            reached[at] = max(reached[at], near / _Z)
    return reached


def _climbed(target: Callable[[FloatArray], tuple[float, FloatArray]], starts: list[FloatArray]) -> list[Any]:
    """Return the ends of the climbs from several starts, the best first."""
    options: dict[str, Any] = {"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7}
    asked: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": options}
    minima = [scipy.optimize.minimize(target, start.ravel(), **asked) for start in starts]
    return sorted(minima, key=lambda minimum: float(minimum.fun))


def _shares(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` shares of the values without covariates, after a few steps of expectation and maximization."""
    shares = np.full(rows.shape[1], 1 / rows.shape[1])
    for _ in range(100):
        joint = rows * shares
        shares = weights @ (joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)) / len(rows)
    return np.asarray(shares)
