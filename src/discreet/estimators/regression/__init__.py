"""Regressions of values on public covariates: linear on reports' contributions, logistic on their likelihood."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_choice
from discreet.core.reports import Reports
from discreet.errors import DataError, ParameterError
from discreet.estimators.regression.covariates import CovariateDesign, design_of
from discreet.estimators.regression.log_odds import LogOddsLaw, output_rows
from discreet.estimators.regression.logistic import logistic_fit
from discreet.estimators.weights import Weights
from discreet.mechanisms import Mechanism
from discreet.mechanisms.contributions import units
from discreet.results.coefficients import LeastSquaresLaw
from discreet.results.regression import Regression
from discreet.results.sums import PlainSums

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
    """Return the regression of people's values on public covariates, from their reports.

    Args:
        mechanism: the mechanism of the reports.
        reports: n reports.
        covariates: a table of public columns beside the reports: numbers, true and false, or texts. Each label of a
            text but one has a coefficient, in the order that a column of categories gives. An intercept is added.
        values: the values of the domain to be explained, for ``linear``; None for all.
        method: ``linear``: least squares on reports' contributions, unbiased, with errors and limits by the law of the
            mechanism; ``logistic``: log odds against the most frequent value, by maximum
            likelihood of the reports themselves. That likelihood may have several maxima: it is climbed from several
            starts, and the result says so if they do not agree. It may have none, where noise hides a share: then it is
            penalised, and the result names the coefficients.
        reference: for each column of texts, the reference label; by default the first label.
        baseline: for ``logistic``, the value that log odds are against; None for the most frequent.
        weights: ``(n,)`` a public column of numbers above 0: the number of people that each report represents.

    Returns:
        Coefficients with errors, intervals and tests.

    Raises:
        DataError: if columns do not fit the reports, or follow from each other, which are named.
        ParameterError: if there are too many values, or a reference or an option does not fit.
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
            raise ParameterError("values.unused", argument="values")
        against = None if baseline is None else int(domain.encode([baseline])[0])
        return _logistic(mechanism, reports, (design, matrix), shares, against)
    if baseline is not None:
        raise ParameterError("baseline.unused", argument="baseline")
    codes = np.arange(domain.size) if values is None else domain.encode(values)
    if len(codes) > _MOST_VALUES:
        raise ParameterError(
            "values.too-many-regressions", argument="values", size=domain.size, most=_MOST_VALUES, n=len(codes)
        )
    law = _least_squares(mechanism, reports, matrix, codes, shares)
    return Regression(
        "linear",
        tuple(domain.names(codes)),
        design.names,
        law,
        reports.n,
        simulated=reports.simulated,
        design=design,
    )


def _least_squares(
    mechanism: Mechanism, reports: Reports, matrix: FloatArray, codes: IntArray, weights: FloatArray | None
) -> LeastSquaresLaw:
    """Return the sampling distribution of the ``(m, k)`` least squares coefficients, in one pass."""
    w = np.ones(reports.n) if weights is None else weights / weights.mean()
    upper = np.linalg.qr(matrix * np.sqrt(w)[:, None], mode="r")
    inverse = np.linalg.inv(upper)
    size = max(ENTRIES_AT_ONCE // mechanism.domain.size, 1)
    products = np.zeros((matrix.shape[1], len(codes)))
    for start in range(0, reports.n, size):
        piece = slice(start, min(start + size, reports.n))
        added = mechanism.decoder.contributions(reports.part(piece.start, piece.stop))[:, codes]
        products += (matrix[piece] * w[piece, None]).T @ added
    tally = mechanism.tally(reports)
    law = mechanism.decoder.report_law(tally, mechanism.decoder.decode(tally))
    moments = PlainSums.of(law, units(codes, mechanism.domain.size)).moments
    rows, places = np.unique(matrix, axis=0, return_inverse=True)
    powers = np.array([np.bincount(places.ravel(), w**power, len(rows)) for power in (1, 2, 3)])
    squared = inverse @ inverse.T
    return LeastSquaresLaw(rows, powers, squared, (squared @ products).T, moments.second, moments.third)


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
            "method.too-many-likelihoods", argument="method", n=reports.n, size=domain.size, most=_MOST_LIKELIHOODS
        )
    if domain.size < 2:
        raise DataError("method.one-value", argument="method")
    fit = logistic_fit(mechanism.likelihoods(reports), read[1], weights=weights, baseline=baseline)
    others = np.delete(np.arange(domain.size), fit.baseline)
    return Regression(
        "logistic",
        tuple(domain.names(others)),
        read[0].names,
        LogOddsLaw(fit, output_rows(mechanism, reports)),
        reports.n,
        domain.names(np.array([fit.baseline]))[0],
        starts=fit.ends,
        simulated=reports.simulated,
        hidden=fit.hidden,
        design=read[0],
    )
