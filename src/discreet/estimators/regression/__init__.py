"""Regressions of values on public covariates: linear on the worths of reports, logistic on their exact likelihood."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_choice
from discreet.core.reports import Reports
from discreet.errors import DataError, ParameterError
from discreet.estimators.regression.covariates import CovariateDesign, design_of
from discreet.estimators.regression.logistic import logistic_fit
from discreet.estimators.weights import Weights
from discreet.mechanisms import Mechanism
from discreet.results.regression import Regression

# Pseudo-values that are worked out together, and values that are fitted without being named.
ENTRIES_AT_ONCE = 1 << 22
_MOST_VALUES = 200
_MOST_LIKELIHOODS = 1 << 27


def regress(
    mechanism: Mechanism,
    reports: Reports,
    covariates: Any,
    *,
    values: Any = None,
    method: Literal["linear", "logistic"] = "linear",
    reference: Mapping[str, Any] | None = None,
    baseline: Any = None,
    weights: Any = None,
) -> Regression:
    """Regress what people reported on public covariates.

    Args:
        mechanism: the mechanism of the reports.
        reports: n reports.
        covariates: a table of public columns beside the reports: numbers, true and false, or texts, of which each label
            but one has a coefficient, in the order that a column of categories gives them. An intercept is added.
        values: the values of the domain to be explained, for ``linear``; None for all.
        method: ``linear``: least squares on reports' contributions, unbiased, with errors that need no equal variances
            (HC3), and Student's intervals; ``logistic``: log odds against the most frequent value, by maximum
            likelihood of the reports themselves. That likelihood may have several maxima: it is climbed from several
            starts, and the result says so if they do not agree. It may have none, where noise hides a share: then it is
            penalised, and the result names the coefficients.
        reference: by column of texts, the label that the others are against; by default the first.
        baseline: for ``logistic``, the value that log odds are against; None for the most frequent.
        weights: ``(n,)`` a public column of numbers above 0: of how many people each stands for.

    Returns:
        Coefficients with errors, intervals and tests.

    Raises:
        DataError: if columns do not fit the reports, or follow from each other, which are named.
        ParameterError: if there are too many values, or a reference or an option is of nothing here.
        MismatchError: if the reports belong to another plan.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["poor", "other"]), epsilon=2.0)
        >>> age = [20, 40, 60, 80] * 500
        >>> reports = mechanism.obfuscate(["poor", "other", "other", "other"] * 500, random=dc.SeededRandom(1))
        >>> found = dc.regress(mechanism, reports, {"age": age}, values=["poor"])
        >>> [(one.covariate, round(one.coefficient, 3)) for one in found.rows()]
        [('intercept', 0.964), ('age', -0.014)]
    """
    checked_choice("method", method, ("linear", "logistic"))
    design, matrix = design_of(covariates, reports.n, reference)
    domain = Mechanism.checked(mechanism).domain
    shares = None if weights is None else Weights.of(weights, reports.n).units.astype(np.float64)
    if method == "logistic":
        if values is not None:
            raise ParameterError("values does nothing for method 'logistic', which explains all of them together.")
        against = None if baseline is None else int(domain.encode([baseline])[0])
        return _logistic(mechanism, reports, (design, matrix), shares, against)
    if baseline is not None:
        raise ParameterError("baseline does nothing for method 'linear', which explains shares, not odds.")
    codes = np.arange(domain.size) if values is None else domain.encode(values)
    if len(codes) > _MOST_VALUES:
        raise ParameterError(f"values must name at most {_MOST_VALUES} of {domain.size}, got {len(codes)}.")
    coefficients, covariance, degrees = _least_squares(mechanism, reports, matrix, codes, shares)
    return Regression(
        "linear",
        tuple(domain.names(codes)),
        design.names,
        coefficients,
        np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)),
        reports.n,
        degrees=degrees,
        simulated=reports.simulated,
        covariance=covariance,
        design=design,
    )


def _least_squares(
    mechanism: Mechanism,
    reports: Reports,
    matrix: FloatArray,
    codes: IntArray,
    weights: FloatArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``(m, k)`` coefficients, ``(m, k, k)`` covariances and ``(m, k)`` degrees of freedom, in two passes.

    With weights, rows and worths are multiplied by their square roots: then least squares and errors are those of sums.

    A coefficient is a sum over reports, and u their parts of its error: the variance is sum u^2, whose own variance is
    about sum u^4 - (sum u^2)^2 / n. Degrees of freedom are those of the chi-square variable with both (Satterthwaite):
    n for normal residuals, and twice the number of reports where few make up the whole error.
    """
    roots = np.ones((reports.n, 1)) if weights is None else np.sqrt(weights / weights.mean())[:, None]
    matrix = matrix * roots
    upper = np.linalg.qr(matrix, mode="r")
    rows = max(ENTRIES_AT_ONCE // mechanism.domain.size, 1)
    pieces = [slice(start, min(start + rows, reports.n)) for start in range(0, reports.n, rows)]

    def worth(piece: slice) -> FloatArray:
        worths: FloatArray = mechanism.decoder.contributions(reports.part(piece.start, piece.stop))[:, codes]
        return worths * roots[piece]

    products = sum((matrix[piece].T @ worth(piece) for piece in pieces), np.zeros((matrix.shape[1], len(codes))))
    inverse = np.linalg.inv(upper)
    squared = inverse @ inverse.T
    coefficients = squared @ products
    fourths = np.zeros((len(codes), matrix.shape[1]))
    covariance = np.zeros((*fourths.shape, matrix.shape[1]))
    for piece in pieces:
        z = matrix[piece]
        leverage = ((z @ inverse) ** 2).sum(axis=1)
        residuals = (worth(piece) - z @ coefficients) / np.maximum(1 - leverage, 1e-9)[:, None]
        parts = z @ squared
        for place, residual in enumerate(residuals.T):
            covariance[place] += (parts * (residual**2)[:, None]).T @ parts
        fourths += (residuals**4).T @ parts**4
    variances = np.diagonal(covariance, axis1=1, axis2=2)
    # Where no report tells the value nothing is known of the error.
    covariance[(variances <= 0).any(axis=1)] = np.nan
    known = np.where(variances > 0, variances, np.nan)
    degrees = 2 / np.maximum(fourths / known**2 - 1 / reports.n, 1e-12)
    return coefficients.T, covariance, np.maximum(degrees, 1)


def _logistic(
    mechanism: Mechanism,
    reports: Reports,
    read: tuple[CovariateDesign, FloatArray],
    weights: FloatArray | None,
    baseline: int | None,
) -> Regression:
    domain = mechanism.domain
    if reports.n * domain.size > _MOST_LIKELIHOODS:
        raise ParameterError(
            f"method 'logistic' keeps a number for each report and value, at most {_MOST_LIKELIHOODS}, and "
            f"{reports.n} reports and {domain.size} values are more; take fewer, or method 'linear'."
        )
    if domain.size < 2:
        raise DataError("method 'logistic' needs at least two values.")
    fit = logistic_fit(mechanism.likelihoods(reports), read[1], weights=weights, baseline=baseline)
    others = np.delete(np.arange(domain.size), fit.baseline)
    return Regression(
        "logistic",
        tuple(domain.names(others)),
        read[0].names,
        fit.coefficients,
        fit.standard_errors,
        reports.n,
        domain.names(np.array([fit.baseline]))[0],
        starts=fit.ends,
        simulated=reports.simulated,
        covariance=fit.covariance,
        undetermined=fit.undetermined if fit.undetermined.any() else None,
        design=read[0],
    )
