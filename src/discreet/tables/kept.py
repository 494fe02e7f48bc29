"""Kept columns: public columns of a table that are written beside the reports, in clear.

A kept column is neither a column of values nor of users, and has a name that reports do not use. Several tables that
are written into one file keep a column in a type that holds the cells of all of them.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from discreet.core.arrow import is_plain, is_textual, value_type
from discreet.core.checks import are_names
from discreet.core.reports import RESERVED, is_count
from discreet.errors import DataError, ParameterError
from discreet.files.paths import COLUMNS, any_of
from discreet.mechanisms import Mechanism
from discreet.tables.text import without_empty


def checked_keep(keep: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of kept columns.

    Raises:
        ParameterError: if one is no text or empty, or is named twice.
    """
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    if not are_names(names):
        raise ParameterError("keep.not-names", argument="keep")
    return names


def check_apart(keep: Sequence[str], secret: Sequence[str]) -> None:
    """Refuse to keep the columns of values and of users.

    Raises:
        ParameterError: if one of them is to be kept.
    """
    clash = sorted({*keep} & {*secret})
    if clash:
        raise ParameterError("keep.secret", argument="keep", clash=clash[0])


def check_writable(keep: Sequence[str], mechanism: Mechanism, kind: str) -> None:
    """Refuse kept columns that reports have no place for.

    Args:
        keep: names of the kept columns.
        mechanism: of the reports.
        kind: ending of the file of reports.

    Raises:
        ParameterError: if one has the name of a column of reports or is named ``count``, or the file is one of lines.
    """
    reserved = RESERVED | {column.name for column in mechanism.columns}
    clash = sorted(name for name in keep if name in reserved or is_count(name))
    if clash:
        raise ParameterError("keep.reserved", argument="keep", clash=clash[0])
    if keep and kind not in COLUMNS:
        raise ParameterError("keep.no-columns", argument="keep", formats=any_of(COLUMNS), kind=kind)


def kept_schema(types: dict[str, pa.DataType], *, is_text: bool) -> pa.Schema:
    """Return the types in which columns of a table are kept: without dictionaries, and dates in text as text.

    Args:
        types: of the columns in the table.
        is_text: whether the file carries no types, so that dates are what the reader took text for.

    Raises:
        DataError: if a column holds neither text, numbers, nor true and false.
    """
    return pa.schema([(name, _kept_type(name, kind, is_text)) for name, kind in types.items()])


def _kept_type(name: str, kind: pa.DataType, is_text: bool) -> pa.DataType:
    kind = value_type(kind)
    if pa.types.is_string_view(kind) or (is_text and pa.types.is_temporal(kind)):
        return pa.string()
    if is_textual(kind) or is_plain(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return kind
    raise DataError("keep.wrong-type", name=name, kind=str(kind)[:40])


def joined_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the types of kept columns of several tables: those that hold the cells of all of them.

    Raises:
        DataError: if a column is of different kinds.
    """
    fields = []
    for name in schemas[0].names if schemas else []:
        try:
            wide = pa.unify_schemas([pa.schema([each.field(name)]) for each in schemas], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            kinds = " and ".join(dict.fromkeys(str(each.field(name).type) for each in schemas))
            raise DataError("keep.several-types", name=name, kinds=kinds) from None
        fields.append(wide.field(0))
    return pa.schema(fields)


def kept_in(rows: Any, schema: pa.Schema) -> Any:
    """Return the kept columns of rows of a table, in their types; an empty text is missing."""
    selected = rows.select(schema.names)
    selected.validate(full=True)
    cast = selected.cast(schema).columns
    columns = [without_empty(column) if is_textual(column.type) else column for column in cast]
    return pa.Table.from_arrays(columns, schema=schema)


def recast(table: Any, schema: pa.Schema) -> Any:
    """Return kept columns of one table in the types of all tables.

    Raises:
        DataError: if a number has no exact place there.
    """
    try:
        return table.cast(schema)
    except pa.ArrowInvalid:
        raise DataError("keep.inexact") from None
