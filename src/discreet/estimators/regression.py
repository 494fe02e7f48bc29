"""Logistic regression of obfuscated answers on public covariates.

Covariates: public columns as the matrix of a regression, with an intercept.

Logistic regression on the likelihood of obfuscated reports: log odds that are linear in covariates.

A report y has the likelihood sum over x of Q(y|x) P(x|z), with P(x|z) the softmax of linear functions of z. It is not
concave in the coefficients, so that it is climbed from several starts. Where it has no inner maximum, since a share is
best fitted by 0, it is penalised.

Regressions of values on public covariates: linear on pseudo-values, logistic on the exact likelihood.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_choice
from discreet.core.columns import categories, category_order, numbers
from discreet.core.reports import Reports
from discreet.errors import DataError, ParameterError
from discreet.estimators.groups import Weights
from discreet.mechanisms import Mechanism
from discreet.results.regression import Regression

INTERCEPT = "intercept"
_CLOSE = 1e-9
_MOST_LABELS = 100


@dataclass(frozen=True)
class CovariateDesign:
    """The columns of covariates as a regression reads them.

    Attributes:
        labels: of each column of categories the labels, that which the others are against first; None for numbers.
    """

    labels: Mapping[str, tuple[Any, ...] | None]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the matrix, the intercept first."""
        columns = [
            [str(name)] if labels is None else [f"{name}={label}" for label in labels[1:]]
            for name, labels in self.labels.items()
        ]
        return (INTERCEPT, *(name for column in columns for name in column))

    def matrix(self, covariates: Any, rows: int | None = None) -> FloatArray:
        """Return the ``(n, k)`` matrix of covariates: numbers, and 1 and 0 for each label but the first.

        Args:
            covariates: a table or a mapping with these columns.
            rows: n, the number of reports; None for as many as the columns have.

        Raises:
            DataError: if a column is not there, has more or fewer rows, is missing or infinite somewhere, or has other
                labels.
        """
        columns, absent = [], [name for name in self.labels if name not in _names(covariates)]
        if absent:
            raise DataError(f"covariates must have the columns of the regression; not there: {_listed(absent)}.")
        for name, labels in self.labels.items():
            column = covariates[name]
            parts = [_finite(name, column)] if labels is None else _marks(name, column, labels)
            n = len(parts[0]) if parts else len(column)
            rows = n if rows is None else rows
            if n != rows:
                raise DataError(f"covariates must be one for each of {rows} reports, and {name!r} has {n}.")
            columns += parts
        return np.stack([np.ones(rows or 0), *columns], axis=1)


def design_of(
    covariates: Any, rows: int, reference: Mapping[str, Any] | None = None
) -> tuple[CovariateDesign, FloatArray]:
    """Return the design of covariates, and their ``(n, k)`` matrix, the intercept first.

    Args:
        covariates: a table or a mapping of columns: numbers, as they are; true and false, as 1 and 0; texts, as 1 and 0
            for each label but one. Labels stay in the order that the column gives its categories; else they are sorted.
        rows: n, the number of reports.
        reference: by column, the label that the others are against; by default the first.

    Raises:
        DataError: if columns do not fit the reports, hold what is missing or infinite, or follow from each other.
        ParameterError: if this is no table of columns, or a reference is of no label.
    """
    names, asked = _names(covariates), dict(reference or {})
    if not names:
        raise ParameterError("covariates must be a table or a mapping of one column or more.")
    labels: dict[str, tuple[Any, ...] | None] = {}
    for name in names:
        levels = _labels(name, covariates[name])
        if name in asked:
            first = next((level for level in levels or () if asked[name] in (level, str(level))), None)
            if levels is None or first is None:
                known = "numbers" if levels is None else f"the labels {_listed(levels[:12])}"
                raise ParameterError(f"reference must be a label of covariates {name!r}, which have {known}.")
            levels = (first, *(level for level in levels if level != first))
        labels[name] = levels
    if unknown := [name for name in asked if name not in labels]:
        raise ParameterError(f"reference must be of covariates, {_listed(labels)}; got {_listed(unknown)}.")
    design = CovariateDesign(labels)
    matrix = design.matrix(covariates, rows)
    _refuse_collinear(matrix, design.names)
    return design, matrix


def _names(covariates: Any) -> list[Any]:
    names = list(covariates) if isinstance(covariates, Mapping) else getattr(covariates, "column_names", None)
    return list(getattr(covariates, "columns", ()) if names is None else names)


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names))


def _labels(name: str, column: Any) -> tuple[Any, ...] | None:
    """Return the labels of a column of categories, in order; None for numbers, and for true and false."""
    with suppress(DataError):
        numbers(column, f"covariates {name!r}")
        return None
    _, labels = categories(column, f"covariates {name!r}")
    if labels and all(isinstance(label, bool) for label in labels):
        return None
    if len(labels) > _MOST_LABELS:
        raise DataError(
            f"covariates {name!r} have {len(labels)} labels, more than {_MOST_LABELS}; merge some."
        ) from None
    places = {label: place for place, label in enumerate(category_order(column))}
    return tuple(sorted(labels, key=lambda label: places.get(label, len(places))))


def _finite(name: str, column: Any) -> FloatArray:
    """Return a column of numbers, or of true and false as 1 and 0."""
    try:
        values = numbers(column, f"covariates {name!r}")
    except DataError:
        codes, labels = categories(column, f"covariates {name!r}")
        if not all(isinstance(label, bool) for label in labels):
            raise
        return np.array([float(label) for label in labels])[codes]
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(
            f"covariates {name!r} must be finite numbers, and {len(wrong)} of {len(values)} are missing or infinite "
            f"(first at row {wrong[0]})."
        )
    return values


def _marks(name: str, column: Any, labels: tuple[Any, ...]) -> list[FloatArray]:
    """Return 1 and 0 for each label but the first."""
    codes, names = categories(column, f"covariates {name!r}")
    if strange := [label for label in names if label not in labels]:
        rows = np.flatnonzero(np.isin(codes, [names.index(label) for label in strange]))
        raise DataError(
            f"{len(rows)} of {len(codes)} covariates {name!r} have labels that the regression has not seen "
            f"(first at row {rows[0]})."
        )
    return [(codes == (names.index(label) if label in names else -1)).astype(np.float64) for label in labels[1:]]


def _refuse_collinear(matrix: FloatArray, names: tuple[str, ...]) -> None:
    """Refuse covariates that follow from those before them, by their names."""
    basis = np.zeros((len(matrix), 0))
    following = []
    for name, column in zip(names, matrix.T, strict=True):
        length = float(np.linalg.norm(column))
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)
        rest = float(np.linalg.norm(left))
        if rest <= _CLOSE * length or length == 0:
            following.append(name)
        else:
            basis = np.column_stack([basis, left / rest])
    if following:
        raise DataError(
            f"covariates must not be constant or follow from those before them, as do {', '.join(following)}; leave "
            "these out."
        )
    if len(matrix) <= len(names):
        raise DataError(f"{len(names)} coefficients need more than so many reports, got {len(matrix)}.")


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

    There the likelihood is flat, or falls towards a border: then it is curved much more than the squares of its slopes
    say, which are equal on average at an inner maximum.
    """
    from scipy.linalg import eigh

    values = np.linalg.eigvalsh(hessian)
    if values[0] <= 1e-7 * values[-1]:
        eigenvalues, vectors = np.linalg.eigh(hessian)
        wrong = vectors[:, eigenvalues <= 1e-7 * eigenvalues[-1]]
    else:
        eigenvalues, vectors = eigh(squares, hessian)
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
        raise DataError(f"there may be at most {_MOST_COEFFICIENTS} coefficients, got {size}; take method 'linear'.")
    start = np.zeros(likelihood.shape)
    start[:, 0] = np.log(np.maximum(np.delete(shares, baseline), 1e-3) / max(shares[baseline], 1e-3))
    random = np.random.default_rng(20261122)
    starts = [start, *(start + random.normal(0, 0.7, start.shape) for _ in range(_STARTS - 1))]
    climbs = _climbed(likelihood, starts)
    best, hessian = climbs[0].x, likelihood.hessian(climbs[0].x)
    undetermined = _undetermined(hessian, likelihood.squares(best, likelihood.weights))
    if undetermined.any():
        if likelihood.penalty_cost > _MOST_PENALTY:
            raise DataError(
                "the reports do not determine every coefficient; take fewer covariates, or method 'linear'."
            )
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

    With each coefficient the others change as they vary together. Where noise hides a share, its likelihood falls
    little towards 0, however far its log odds are taken: the distance at which it has fallen by 1.92, of at most 10, is
    1.96 errors.
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
    from scipy.optimize import minimize

    options: dict[str, Any] = {"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7}
    minima = [minimize(target, start.ravel(), jac=True, method="L-BFGS-B", options=options) for start in starts]
    return sorted(minima, key=lambda minimum: float(minimum.fun))


def _shares(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` shares of the values without covariates, after a few steps of expectation and maximization."""
    shares = np.full(rows.shape[1], 1 / rows.shape[1])
    for _ in range(100):
        joint = rows * shares
        shares = weights @ (joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)) / len(rows)
    return np.asarray(shares)


# Pseudo-values that are worked out together, and values that are fitted without being named.
_AT_ONCE = 1 << 22
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
        method: ``linear``: least squares on the reports' worth, unbiased, with errors that need no equal variances
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
    rows = max(_AT_ONCE // mechanism.domain.size, 1)
    pieces = [slice(start, min(start + rows, reports.n)) for start in range(0, reports.n, rows)]

    def worth(piece: slice) -> FloatArray:
        worths: FloatArray = mechanism.decoder.worth(reports.part(piece.start, piece.stop))[:, codes]
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
