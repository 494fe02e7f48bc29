"""Logistic regression on the likelihood of obfuscated reports: log odds that are linear in covariates.

A report y has the likelihood sum over x of Q(y|x) P(x|z), with P(x|z) the softmax of linear functions of z. It is not
concave in the coefficients, so that it is climbed from several starts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import DataError

_STARTS = 4
_STEP = 1e-5
_MOST_COEFFICIENTS = 400


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A maximum of the likelihood.

    Attributes:
        baseline: code of the value that log odds are against.
        coefficients: ``(|X| - 1, k)``.
        standard_errors: ``(|X| - 1, k)``, right where the model is wrong too (sandwich).
        ends: log-likelihoods that the starts ended at, the best first.
    """

    baseline: int
    coefficients: FloatArray
    standard_errors: FloatArray
    ends: tuple[float, ...]


class _Likelihood:
    """The log-likelihood of coefficients of standardized covariates."""

    def __init__(self, rows: FloatArray, matrix: FloatArray, baseline: int) -> None:
        self.rows, self.matrix = rows, matrix
        self.others = np.delete(np.arange(rows.shape[1]), baseline)
        self.shape = (len(self.others), matrix.shape[1])

    def scores(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(n,)`` log-likelihoods of the reports, and their ``(n, |X| - 1)`` derivatives by the logits."""
        logits = np.zeros(self.rows.shape)
        logits[:, self.others] = self.matrix @ flat.reshape(self.shape).T
        logits -= logits.max(axis=1, keepdims=True)
        shares = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        joint = shares * self.rows
        likelihood = np.maximum(joint.sum(axis=1), 1e-300)
        return np.log(likelihood), (joint / likelihood[:, None] - shares)[:, self.others]

    def __call__(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood per report, and its derivative."""
        logs, slopes = self.scores(flat)
        n = len(logs)
        return -float(logs.mean()), -(slopes.T @ self.matrix).ravel() / n

    def sandwich(self, flat: FloatArray) -> FloatArray:
        """Return the covariance of the coefficients.

        Raises:
            DataError: if the reports do not determine them.
        """
        hessian = np.array(
            [(self(flat + step)[1] - self(flat - step)[1]) / (2 * _STEP) for step in _STEP * np.eye(len(flat))]
        )
        hessian = (hessian + hessian.T) / 2
        values = np.linalg.eigvalsh(hessian)
        if values[0] <= 1e-7 * values[-1]:
            raise DataError(
                "the reports must determine every coefficient, and the likelihood is flat in some direction; take "
                "fewer covariates or values, or method 'linear'."
            )
        slopes = self.scores(flat)[1]
        each = (slopes[:, :, None] * self.matrix[:, None, :]).reshape(len(slopes), -1)
        inverse = np.linalg.inv(hessian)
        n = len(slopes)
        covariance: FloatArray = inverse @ (each.T @ each / n) @ inverse / n
        return covariance


def logistic_fit(rows: FloatArray, matrix: FloatArray) -> LogisticFit:
    """Return the best of the maxima that several starts lead to.

    Args:
        rows: ``(n, |X|)`` likelihoods of the reports given values, each row up to a factor.
        matrix: ``(n, k)`` covariates, the intercept first.

    Raises:
        DataError: if there are too many coefficients, or the reports do not determine them.
    """
    from scipy.optimize import minimize

    rows = rows / rows.max(axis=1, keepdims=True)
    shares = _shares(rows)
    baseline = int(shares.argmax())
    centre, scale = matrix.mean(axis=0), np.where(matrix.std(axis=0) > 0, matrix.std(axis=0), 1.0)
    centre[0], scale[0] = 0.0, 1.0
    likelihood = _Likelihood(rows, (matrix - centre) / scale, baseline)
    size = likelihood.shape[0] * likelihood.shape[1]
    if size > _MOST_COEFFICIENTS:
        raise DataError(f"there may be at most {_MOST_COEFFICIENTS} coefficients, got {size}; take method 'linear'.")
    start = np.zeros(likelihood.shape)
    start[:, 0] = np.log(np.maximum(np.delete(shares, baseline), 1e-3) / shares[baseline])
    random = np.random.default_rng(20261122)
    starts = [start, *(start + random.normal(0, 0.7, start.shape) for _ in range(_STARTS - 1))]
    options: dict[str, Any] = {"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7}
    found = [minimize(likelihood, one.ravel(), jac=True, method="L-BFGS-B", options=options) for one in starts]
    found.sort(key=lambda one: float(one.fun))
    turn = np.diag(1 / scale)
    turn[0] -= np.where(np.arange(len(scale)) > 0, centre / scale, 0.0)
    covariance = likelihood.sandwich(found[0].x)
    whole = np.kron(np.eye(likelihood.shape[0]), turn)
    errors = np.sqrt(np.maximum(np.diagonal(whole @ covariance @ whole.T), 0)).reshape(likelihood.shape)
    ends = tuple(-float(one.fun) * len(rows) for one in found)
    return LogisticFit(baseline, found[0].x.reshape(likelihood.shape) @ turn.T, errors, ends)


def _shares(rows: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` shares of the values without covariates, after a few steps of expectation and maximization."""
    shares = np.full(rows.shape[1], 1 / rows.shape[1])
    for _ in range(100):
        joint = rows * shares
        shares = (joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)
    return np.asarray(shares)
