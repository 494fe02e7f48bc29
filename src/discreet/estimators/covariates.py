"""Covariates: public columns as the matrix of a regression, with an intercept."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.columns import categories, numbers
from discreet.errors import DataError, ParameterError

INTERCEPT = "intercept"
_CLOSE = 1e-9
_MOST_LABELS = 100


def design_matrix(covariates: Any, rows: int) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the ``(n, k)`` matrix of covariates and the names of its columns, the intercept first.

    Args:
        covariates: a table or a mapping of columns: numbers, as they are; true and false, as 1 and 0; texts, as 1 and 0
            for each label but the first.
        rows: n, the number of reports.

    Raises:
        DataError: if columns do not fit the reports, hold what is missing or infinite, or follow from each other.
        ParameterError: if this is no table of columns.
    """
    names = list(covariates) if isinstance(covariates, Mapping) else getattr(covariates, "column_names", None)
    names = list(getattr(covariates, "columns", ())) if names is None else list(names)
    if not names:
        raise ParameterError("covariates must be a table or a mapping of one column or more.")
    whole: dict[str, FloatArray] = {INTERCEPT: np.ones(rows)}
    for name in names:
        for spelled, column in _columns(str(name), covariates[name]).items():
            if len(column) != rows:
                raise DataError(f"covariates must be one for each of {rows} reports, and {name!r} has {len(column)}.")
            whole[spelled] = column
    matrix = np.stack(list(whole.values()), axis=1)
    _refuse_collinear(matrix, tuple(whole))
    return matrix, tuple(whole)


def _columns(name: str, column: Any) -> dict[str, FloatArray]:
    """Return the columns that one covariate makes."""
    try:
        values = numbers(column, f"covariates {name!r}")
    except DataError:
        codes, labels = categories(column, f"covariates {name!r}")
        if labels == [False, True] or (labels and all(isinstance(label, bool) for label in labels)):
            return {name: np.array([float(label) for label in labels])[codes]}
        if len(labels) > _MOST_LABELS:
            raise DataError(
                f"covariates {name!r} have {len(labels)} labels, more than {_MOST_LABELS}; merge some."
            ) from None
        return {f"{name}={label}": (codes == at).astype(np.float64) for at, label in enumerate(labels) if at}
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(
            f"covariates {name!r} must be finite numbers, and {len(wrong)} of {len(values)} are missing or infinite "
            f"(first at row {wrong[0]})."
        )
    return {name: values}


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
