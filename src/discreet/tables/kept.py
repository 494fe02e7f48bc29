"""Kept columns: public columns of a table that are written beside the reports, in clear.

A kept column is neither a column of values nor of users, and does not have the name of a column of reports. If several
tables are written into one file, the type of a kept column can hold the cells of all tables.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from discreet.core.arrow import is_category, is_plain, plain_type
from discreet.core.checks import are_names
from discreet.core.reports import RESERVED, is_count
from discreet.errors import DataError, ParameterError
from discreet.files.paths import COLUMNS, any_of
from discreet.mechanisms import Mechanism
from discreet.tables.text import without_empty


def checked_keep(keep: str | Sequence[str]) -> tuple[str, ...]:
    """Check the names of kept columns, and return them.

    Raises:
        ParameterError: if a name is not text, is empty, or is repeated.
    """
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    if not are_names(names):
        raise ParameterError("keep.not-names", argument="keep")
    return names


def check_apart(keep: Sequence[str], secret: Sequence[str]) -> None:
    """Raise an error if a kept column is a column of values or of users.

    Raises:
        ParameterError: if a kept column is a column of values or users.
    """
    clash = sorted({*keep} & {*secret})
    if clash:
        raise ParameterError("keep.secret", argument="keep", clash=clash[0])


def check_writable(keep: Sequence[str], mechanism: Mechanism, kind: str) -> None:
    """Raise an error for kept columns that a file of reports cannot have.

    Args:
        keep: the names of the kept columns.
        mechanism: the mechanism of the reports.
        kind: the ending of the file of reports.

    Raises:
        ParameterError: if a name is ``count`` or the name of a column of reports, or if the file holds JSON lines.
    """
    reserved = RESERVED | {column.name for column in mechanism.columns}
    clash = sorted(name for name in keep if name in reserved or is_count(name))
    if clash:
        raise ParameterError("keep.reserved", argument="keep", clash=clash[0])
    if keep and kind not in COLUMNS:
        raise ParameterError("keep.no-columns", argument="keep", formats=any_of(COLUMNS), kind=kind)


def kept_schema(types: dict[str, pa.DataType], *, is_text: bool) -> pa.Schema:
    """Return the types of kept columns: text, numbers or booleans. Dates in text files are text.

    Args:
        types: the types of the columns in the table.
        is_text: whether the file has no types. Then Arrow may have taken text for dates.

    Raises:
        DataError: if a column does not hold text, numbers, or true and false.
    """
    return pa.schema([(name, _kept_type(name, kind, is_text)) for name, kind in types.items()])


def _kept_type(name: str, kind: pa.DataType, is_text: bool) -> pa.DataType:
    kind = plain_type(kind)
    if is_text and pa.types.is_temporal(kind):
        return pa.string()
    if is_category(kind) or is_plain(kind):
        return kind
    raise DataError("keep.wrong-type", name=name, kind=str(kind)[:40])


def joined_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return a schema for the kept columns that can hold the cells of all tables.

    Raises:
        DataError: if a column has types that cannot be combined.
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
    """Return the kept columns of rows in the types of `schema`. Empty text becomes a missing cell."""
    plain = [without_empty(column) for column in rows.select(schema.names).columns]
    return pa.Table.from_arrays(plain, schema.names).cast(schema)


def recast(table: Any, schema: pa.Schema) -> Any:
    """Convert the kept columns of one table to the schema for all tables.

    Raises:
        DataError: if a number cannot be converted exactly.
    """
    try:
        return table.cast(schema)
    except pa.ArrowInvalid:
        raise DataError("keep.inexact") from None
