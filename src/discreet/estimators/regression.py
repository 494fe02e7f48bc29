"""Regressions of values on public covariates: linear on pseudo-values, logistic on the exact likelihood."""

from typing import Any, Literal

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_choice
from discreet.core.regression import Regression
from discreet.core.reports import Reports
from discreet.errors import DataError, ParameterError
from discreet.estimators.covariates import design_matrix
from discreet.estimators.logistic import logistic_fit
from discreet.mechanisms import BlockMechanism, Channel, given
from discreet.mechanisms.report_likelihoods import report_likelihoods

# Pseudo-values that are worked out together, and values that are fitted without being named.
_AT_ONCE = 1 << 22
_MOST_VALUES = 200
_MOST_LIKELIHOODS = 1 << 27


def regress(
    mechanism: BlockMechanism | Channel,
    reports: Reports,
    covariates: Any,
    *,
    values: Any = None,
    method: Literal["linear", "logistic"] = "linear",
) -> Regression:
    """Regress what people reported on public covariates.

    Args:
        mechanism: the mechanism of the reports.
        reports: n reports.
        covariates: a table of public columns beside the reports: numbers, true and false, or texts, of which each label
            but the first has a coefficient. An intercept is added.
        values: the values of the domain to be explained, for ``linear``; None for all.
        method: ``linear``: least squares on the reports' worth, unbiased, with errors that need no equal variances
            (HC3), and Student's intervals; ``logistic``: log odds against the most frequent value, by maximum
            likelihood of the reports themselves. That likelihood may have several maxima: it is climbed from several
            starts, and the result says so if they do not agree.

    Returns:
        Coefficients with errors, intervals and tests.

    Raises:
        DataError: if columns do not fit the reports, or follow from each other, which are named.
        ParameterError: if there are too many values.
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
    matrix, names = design_matrix(covariates, reports.n)
    domain = given.mechanism(mechanism).domain
    if method == "logistic":
        if values is not None:
            raise ParameterError("values does nothing for method 'logistic', which explains all of them together.")
        return _logistic(mechanism, reports, matrix, names)
    codes = np.arange(domain.size) if values is None else domain.encode(values)
    if len(codes) > _MOST_VALUES:
        raise ParameterError(f"values must name at most {_MOST_VALUES} of {domain.size}, got {len(codes)}.")
    coefficients, errors, degrees = _least_squares(mechanism, reports, matrix, codes)
    spelled, n = tuple(domain.names(codes)), reports.n
    return Regression("linear", spelled, names, coefficients, errors, n, degrees=degrees, simulated=reports.simulated)


def _least_squares(
    mechanism: BlockMechanism | Channel, reports: Reports, matrix: FloatArray, codes: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``(m, k)`` coefficients, errors and degrees of freedom, in two passes over the reports.

    A coefficient is a sum over reports, and u their parts of its error: the variance is sum u^2, whose own variance is
    about sum u^4 - (sum u^2)^2 / n. Degrees of freedom are those of the chi-square variable with both (Satterthwaite):
    n for normal residuals, and twice the number of reports where few make up the whole error.
    """
    upper = np.linalg.qr(matrix, mode="r")
    rows = max(_AT_ONCE // mechanism.domain.size, 1)
    pieces = [slice(start, min(start + rows, reports.n)) for start in range(0, reports.n, rows)]

    def worth(piece: slice) -> FloatArray:
        found: FloatArray = mechanism.decoder.worth(reports.part(piece.start, piece.stop))[:, codes]
        return found

    products = sum((matrix[piece].T @ worth(piece) for piece in pieces), np.zeros((matrix.shape[1], len(codes))))
    inverse = np.linalg.inv(upper)
    squared = inverse @ inverse.T
    coefficients = squared @ products
    variances, fourths = np.zeros((2, len(codes), matrix.shape[1]))
    for piece in pieces:
        z = matrix[piece]
        leverage = ((z @ inverse) ** 2).sum(axis=1)
        residuals = (worth(piece) - z @ coefficients) / np.maximum(1 - leverage, 1e-9)[:, None]
        parts = (z @ squared) ** 2
        variances += (residuals**2).T @ parts
        fourths += (residuals**4).T @ parts**2
    # Where no report tells the value nothing is known of the error.
    known = np.where(variances > 0, variances, np.nan)
    degrees = 2 / np.maximum(fourths / known**2 - 1 / reports.n, 1e-12)
    return coefficients.T, np.sqrt(known), np.maximum(degrees, 1)


def _logistic(
    mechanism: BlockMechanism | Channel, reports: Reports, matrix: FloatArray, names: tuple[str, ...]
) -> Regression:
    domain = mechanism.domain
    if reports.n * domain.size > _MOST_LIKELIHOODS:
        raise ParameterError(
            f"method 'logistic' keeps a number for each report and value, at most {_MOST_LIKELIHOODS}, and "
            f"{reports.n} reports and {domain.size} values are more; take fewer, or method 'linear'."
        )
    if domain.size < 2:
        raise DataError("method 'logistic' needs at least two values.")
    found = logistic_fit(report_likelihoods(mechanism, reports), matrix)
    others = np.delete(np.arange(domain.size), found.baseline)
    return Regression(
        "logistic",
        tuple(domain.names(others)),
        names,
        found.coefficients,
        found.standard_errors,
        reports.n,
        domain.names(np.array([found.baseline]))[0],
        starts=found.ends,
        simulated=reports.simulated,
    )
