"""Missing values of tables: their rows, and the label that they stand for in a plan."""

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.arrays import BoolArray
from discreet.core import columns
from discreet.core.arrow_memory import flags_of
from discreet.core.domain import Domain
from discreet.core.grids import Grid
from discreet.core.labels import LabelSpace, Texts
from discreet.core.products import Product
from discreet.errors import ParameterError

Label: TypeAlias = str | int
Stand: TypeAlias = Label | dict[str, Label]
"""The label that a missing value stands for; of a product, by attribute."""


def check_stand(domain: Domain, stand: Stand) -> None:
    """Refuse a label for missing values that is not of the domain.

    Raises:
        ParameterError: if it is not, or attributes are named and there are none, or none are named and there are some.
    """
    space = domain.space
    attributes = space.attributes if isinstance(space, Product) else {}
    if isinstance(stand, dict) != bool(attributes):
        raise ParameterError(
            "missing must be one of the labels, or for a product give one by attribute, as in missing = { age = 99 }."
        )
    if not isinstance(stand, dict):
        stand, attributes = {"": stand}, {"": space}
    for name, label in stand.items():
        if name not in attributes or not _is_label(attributes[name], label):
            where = f" of {name!r}" if name else ""
            raise ParameterError(f"missing must be one of the labels{where}, got {label!r}; add it to them.")


def _is_label(space: LabelSpace, label: Label) -> bool:
    if isinstance(space, Product | Grid) or isinstance(label, str) != isinstance(space, Texts):
        return False
    return (isinstance(label, str) or -(1 << 63) <= label < 1 << 63) and bool(space.encode([label])[0] >= 0)


def filled(values: Any, stand: Stand | None) -> Any:
    """Return a column or table of values with labels for the missing ones.

    Args:
        values: Arrow, as `discreet.io.values.read_values` returns them.
        stand: the label; None if there is none. See `check_stand`.
    """
    if stand is None:
        return values
    if not isinstance(stand, dict):
        return _filled(values, stand)
    return pa.table({name: _filled(values[name], stand.get(name)) for name in values.column_names})


def _filled(column: Any, label: Label | None) -> Any:
    if label is None or not columns.absent(column).any():
        return column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string() if isinstance(label, str) else pa.int64())
    # What is neither text nor integers is refused when it is encoded.
    return column if isinstance(label, str) == pa.types.is_integer(column.type) else column.fill_null(label)


def absent_rows(values: Any) -> BoolArray:
    """Return ``(n,)`` booleans: the rows of a column, or of a table, with a missing value."""
    if not isinstance(values, pa.Table):
        return columns.absent(values)
    rows = np.zeros(values.num_rows, dtype=np.bool_)
    for column in values.columns:
        rows |= columns.absent(column)
    return rows


def without(values: Any, rows: BoolArray) -> Any:
    """Return a column or a table without some rows."""
    return values.filter(flags_of(~rows)) if rows.any() else values


UNKNOWN = "have a value that is not in the plan"
REASONS = ("have no value", "have no user", UNKNOWN)
"""Reasons for which rows of values and their users are left out."""


def left_out(values: Mapping[str, Any], nouns: Collection[str]) -> tuple[dict[str, Any], dict[str, int]]:
    """Return columns without the rows in which a value is missing, and the number of such rows by column.

    Args:
        values: columns or tables of one length, by a noun for their values (for messages).
        nouns: those that a row must have; it may lack the others.

    Returns:
        The columns without these rows, and the number of rows left out by column; a row counts for the first column
        in which it lacks a value.
    """
    kept, counts = dict(values), dict[str, int]()
    for wanted in nouns:
        rows = absent_rows(kept[wanted])
        if rows.any():
            counts[f"have no {wanted}"] = int(np.count_nonzero(rows))
            kept = {name: without(column, rows) for name, column in kept.items()}
    return kept, counts
