"""Covariates: public columns, and the matrix of a regression, which has an intercept."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.columns import categories, category_order, names_of, numbers
from discreet.errors import DataError, ParameterError

INTERCEPT = "intercept"
_CLOSE = 1e-9
_MOST_LABELS = 100


@dataclass(frozen=True)
class CovariateDesign:
    """The design of a regression: its covariates, and the labels of covariates that are categories.

    Attributes:
        labels: by column, the labels of a column of categories, with the reference label first; None for numbers.
    """

    labels: Mapping[str, tuple[Any, ...] | None]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of a regression's matrix, the intercept first."""
        columns = [
            [str(name)] if labels is None else [f"{name}={label}" for label in labels[1:]]
            for name, labels in self.labels.items()
        ]
        return (INTERCEPT, *(name for column in columns for name in column))

    def matrix(self, covariates: Any, rows: int | None = None) -> FloatArray:
        """Return the ``(n, k)`` matrix of covariates: numbers, and an indicator of each label but the first.

        Args:
            covariates: a table or a mapping with these columns.
            rows: n, the number of reports; None for as many as the columns have.

        Raises:
            DataError: if a column is missing, has another number of rows, has missing or infinite entries, or has other
                labels.
        """
        columns, absent = [], [name for name in self.labels if name not in (names_of(covariates) or ())]
        if absent:
            raise DataError("covariates.missing-columns", argument="covariates", listed=_listed(absent))
        for name, labels in self.labels.items():
            column = covariates[name]
            parts = [_finite(name, column)] if labels is None else _marks(name, column, labels)
            n = len(parts[0]) if parts else len(column)
            rows = n if rows is None else rows
            if n != rows:
                raise DataError("covariates.wrong-length", argument="covariates", rows=rows, name=name, n=n)
            columns += parts
        return np.stack([np.ones(rows or 0), *columns], axis=1)


def design_of(
    covariates: Any, rows: int, reference: Mapping[str, Any] | None = None
) -> tuple[CovariateDesign, FloatArray]:
    """Return the design of covariates, and their ``(n, k)`` matrix, the intercept first.

    Args:
        covariates: a table or a mapping of columns: numbers, unchanged; booleans, as 1 and 0; texts, as an indicator of
            each label but one. Labels have the order of the column's categories, or are sorted.
        rows: n, the number of reports.
        reference: by column, the reference label, which has no indicator; by default the first.

    Raises:
        DataError: if columns do not fit the reports, have missing or infinite entries, or are collinear.
        ParameterError: if this is no table of columns, or a reference is no label.
    """
    names, asked = names_of(covariates) or [], dict(reference or {})
    if not names:
        raise ParameterError("covariates.wrong-type", argument="covariates")
    labels: dict[str, tuple[Any, ...] | None] = {}
    for name in names:
        levels = _labels(name, covariates[name])
        if name in asked:
            first = next((level for level in levels or () if asked[name] in (level, str(level))), None)
            if levels is None or first is None:
                known = "numbers" if levels is None else f"the labels {_listed(levels[:12])}"
                raise ParameterError("reference.unknown-label", argument="reference", name=name, known=known)
            levels = (first, *(level for level in levels if level != first))
        labels[name] = levels
    if unknown := [name for name in asked if name not in labels]:
        raise ParameterError(
            "reference.unknown-covariates", argument="reference", names=_listed(labels), unknown=_listed(unknown)
        )
    design = CovariateDesign(labels)
    matrix = design.matrix(covariates, rows)
    _check_collinear(matrix, design.names)
    return design, matrix


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names))


def _numbers(name: str, column: Any) -> FloatArray | None:
    """Return a column of numbers, or of booleans as 1 and 0; None for a column of categories."""
    with suppress(DataError):
        return numbers(column, f"covariates {name!r}")
    codes, labels = categories(column, f"covariates {name!r}")
    are_flags = labels and all(isinstance(label, bool) for label in labels)
    return np.array(labels, dtype=np.float64)[codes] if are_flags else None


def _labels(name: str, column: Any) -> tuple[Any, ...] | None:
    """Return the labels of a column of categories, in order; None for numbers and for booleans."""
    if _numbers(name, column) is not None:
        return None
    _, labels = categories(column, f"covariates {name!r}")
    if len(labels) > _MOST_LABELS:
        raise DataError(
            "covariates.too-many-labels", argument="covariates", name=name, n=len(labels), most=_MOST_LABELS
        )
    places = {label: place for place, label in enumerate(category_order(column))}
    return tuple(sorted(labels, key=lambda label: places.get(label, len(places))))


def _finite(name: str, column: Any) -> FloatArray:
    """Return a column of numbers, or of booleans as 1 and 0; raise an error if an entry is not finite."""
    values = _numbers(name, column)
    if values is None:
        # This call raises the error that describes the column.
        values = numbers(column, f"covariates {name!r}")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(
            "covariates.not-finite", argument="covariates", name=name, n=len(wrong), total=len(values), first=wrong[0]
        )
    return values


def _marks(name: str, column: Any, labels: tuple[Any, ...]) -> list[FloatArray]:
    """Return an indicator, 1 or 0 in each row, for each label but the first."""
    codes, names = categories(column, f"covariates {name!r}")
    if strange := [label for label in names if label not in labels]:
        rows = np.flatnonzero(np.isin(codes, [names.index(label) for label in strange]))
        raise DataError(
            "covariates.new-labels", argument="covariates", name=name, n=len(rows), total=len(codes), first=rows[0]
        )
    return [(codes == (names.index(label) if label in names else -1)).astype(np.float64) for label in labels[1:]]


def _check_collinear(matrix: FloatArray, names: tuple[str, ...]) -> None:
    """Raise an error for covariates that are linear combinations of the covariates before them."""
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
        raise DataError("covariates.collinear", argument="covariates", names=", ".join(following))
    if len(matrix) <= len(names):
        raise DataError("covariates.too-many-coefficients", n=len(names), rows=len(matrix))
