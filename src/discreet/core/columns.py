"""Conversion of columns of values from NumPy, pandas, polars, Arrow or plain sequences.

Numbers become a NumPy array. Text from Python or NumPy becomes a list, so that a device needs no other library, and
text from a library of tables becomes an Arrow array. Errors that libraries raise about values are suppressed, not
chained: their messages may quote a value.
"""

from collections.abc import Iterable, Iterator, Mapping, Set, Sized
from contextlib import contextmanager, suppress
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, is_masked
from discreet.core.checks import is_flag, is_real, is_single, real_number
from discreet.core.labels.text_forms import as_composed
from discreet.errors import DataError, ParameterError

MISSING = -2
"""Code of a value that is missing."""
OUTSIDE = -1
"""Code of a value that is not in the domain."""
CLIPPED = "lie outside the range, and count as its nearest end"
"""Text about clipped numbers in the summary of a run."""
READ = "count as the label that reads alike"
"""Text in the summary of a run about texts that count as the label that they read like."""


# Span per entry up to which integers are marked in an array instead of sorted.
_SPARSE = 32
# Numbers that are checked first, and numbers per block of the full check.
_HEAD, _BLOCK = 64, 1 << 15
# Significant digits of a short decimal; multiples of 1/16 below this number have no more digits.
_SHORT, _EXACT = 12, 1 << 20


def integers(values: Any, wanted: str = "values", *, whole: bool = False) -> IntArray:
    """Return a column of integers as ``(n,)`` int64; raise an error if a value is missing.

    Args:
        values: the column.
        wanted: the column's name in messages.
        whole: whether floats and decimals count as integers if all of them are whole numbers.

    Raises:
        DataError: if it holds anything but integers.
    """
    column = _numpy_column(values, wanted)
    if column.dtype.kind not in "iu":
        refuse_missing(_missing(column), wanted)
        exact = whole_numbers(_floats_of(column, wanted) if column.dtype.kind == "O" else column) if whole else None
        if exact is None:
            raise DataError("column.not-integers", kind=_described(column), wanted=wanted)
        column = exact
    if column.dtype == np.uint64 and len(column) and column.max() > np.iinfo(np.int64).max:
        raise DataError("column.too-large", wanted=wanted)
    return column.astype(np.int64, copy=False)


def whole_numbers(column: AnyArray) -> AnyArray | None:
    """Return numbers as integers if each is a whole number that its type stores exactly, and None otherwise.

    Numbers that are nan become 0. Integers turn into floats where a data frame has a missing entry.
    """
    if column.dtype.kind != "f":
        return None
    gone = np.isnan(column)
    # Above this limit one float stands for several integers.
    exact = (np.trunc(column) == column) & (np.abs(column) < 2.0 ** (np.finfo(column.dtype).nmant + 1))
    return np.where(gone, 0, column).astype(np.int64) if (gone | exact).all() else None


def numbered(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different integers of a column in ascending order, and the ``(n,)`` index of each entry among them."""
    if not len(keys):
        return keys, keys
    low = int(keys.min())
    span = int(keys.max()) - low + 1
    if span > _SPARSE * len(keys) + (1 << 16):
        return np.unique(keys, return_inverse=True)
    # Marks for all integers in the span take an eighth of the time of sorting.
    marked = np.zeros(span, dtype=np.bool_)
    marked[keys - low] = True
    return np.flatnonzero(marked) + low, (np.cumsum(marked) - 1)[keys - low]


def numbers(values: Any, wanted: str = "values") -> FloatArray:
    """Return a column of numbers as ``(n,)`` float64; missing numbers become nan."""
    return floats(values, wanted).astype(np.float64, copy=False)


def floats(values: Any, wanted: str = "values") -> AnyArray:
    """Return a column of numbers as ``(n,)`` floats of the column's type: float16, float32 or float64.

    Numbers of any other type become float64, and missing numbers become nan. The float32 of 0.7 is less than 0.7. So a
    bound of a range must be rounded to the type of the column before the column is compared with the bound.

    Raises:
        DataError: if the column holds anything but numbers, or floats of several types.
    """
    column = _numpy_column(values, wanted)
    if column.dtype.kind == "f" and str(getattr(values, "dtype", "")) == "object":
        # Arrow has widened the narrow floats among objects of pandas.
        column = values.to_numpy()
    if column.dtype.kind == "O":
        return _floats_of(column, wanted)
    if column.dtype.kind not in "iuf":
        raise DataError("column.not-numbers", kind=_described(column), wanted=wanted)
    return column.astype(_narrow(column.dtype) or np.float64, copy=False)


def _narrow(kind: Any) -> np.dtype[Any] | None:
    """Return a float type narrower than float64, in the machine's byte order; None for any other type."""
    kind = np.dtype(kind)
    is_narrow = kind.kind == "f" and kind.itemsize < np.dtype(np.float64).itemsize
    return kind.newbyteorder("=") if is_narrow else None


def _floats_of(objects: Any, wanted: str) -> AnyArray:
    there = (np.nan if _is_missing(value) else value for value in objects)
    plain = [float(value) if isinstance(value, Decimal) else value for value in there]
    if not all(map(is_real, plain)):
        raise DataError("column.not-numbers", kind="mixed objects", wanted=wanted)
    wide = np.array(list(map(real_number, plain)))
    kinds = {_narrow(type(value)) for value in plain if isinstance(value, np.floating)} - {None}
    if not kinds:
        return wide
    column = _converted(kinds.pop(), wide)
    if kinds or not ((column == wide) | np.isnan(wide)).all():
        raise DataError("column.several-float-types", wanted=wanted)
    return column


def _converted(kind: Any, numbers: AnyArray) -> AnyArray:
    """Return numbers converted to another float type; numbers that are too large for the type become infinite."""
    with np.errstate(over="ignore"):
        return numbers.astype(kind)


def float32(values: Any, wanted: str = "values") -> AnyArray:
    """Return a column of numbers as ``(n,)`` float32, for numbers that were float32 before they became float64.

    Raises:
        DataError: if one of the numbers is no float32.
    """
    column = floats(values, wanted)
    narrow = _converted(np.float32, column)
    wrong = np.flatnonzero((narrow != column) & ~np.isnan(column))
    if len(wrong):
        raise DataError("column.not-float32", count=len(wrong), total=len(column), wanted=wanted)
    return narrow


def were_float32(numbers: AnyArray) -> bool:
    """Return true if float64 numbers were converted from float32.

    Every number must be a float32, and at least one must have more than 12 significant digits as a float64. The float32
    of 0.7 is 0.699999988079071 as a float64.
    """
    for part in (numbers[:_HEAD], numbers):
        if not ((_converted(np.float32, part) == part) | np.isnan(part)).all():
            return False
    return any(_has_long(numbers[start : start + _BLOCK]) for start in range(0, len(numbers), _BLOCK))


def _has_long(numbers: AnyArray) -> bool:
    # Sixteenths are short decimals.
    rest = numbers[(np.trunc(16 * numbers) != 16 * numbers) | (np.abs(numbers) >= _EXACT)]
    return any(float(f"{number:.{_SHORT}g}") != number for number in np.unique(rest[np.isfinite(rest)]).tolist())


def text(values: Any, wanted: str = "values") -> Any:
    """Return a column of text, booleans or dates as an Arrow column of large strings; see `as_text`.

    Raises:
        DataError: if it holds anything else.
    """
    import pyarrow as pa

    from discreet.core.arrow import as_text, is_textual

    column = as_text(_arrow_column(values, wanted))
    if not is_textual(column.type):
        raise DataError("column.not-text", kind=column.type, wanted=wanted)
    return column.cast(pa.large_string())


def listed(values: Any, wanted: str = "values") -> list[Any] | None:
    """Return a Python or NumPy column of text as a list, and None for a column of another library.

    The list may still hold objects that are no text.

    Raises:
        DataError: if it is no column, or cannot hold text.
    """
    if isinstance(values, list):
        return values
    if isinstance(values, np.ndarray):
        column = unmasked(values, wanted)
        if column.ndim != 1:
            raise DataError("column.not-one", wanted=wanted, shape=column.shape)
        if column.dtype.kind not in "UTObM" and len(column):
            raise DataError("column.not-text", kind=_described(column), wanted=wanted)
        return None if column.dtype.kind == "M" else list(column.tolist())
    if _is_of_library(values) or hasattr(values, "to_numpy"):
        return None
    _check_column(values, wanted)
    return list(values)


def texts_at(plain: list[Any], rows: Iterable[int], wanted: str = "values") -> list[str | None]:
    """Return the texts in the given rows of a list, with None for missing entries. Booleans and dates become text.

    Raises:
        DataError: if an entry is anything else; the message says how many and where.
    """
    places = list(rows)
    texts = [_text_of(plain[row]) for row in places]
    wrong = [row for row, text in zip(places, texts, strict=True) if not isinstance(text, str | None)]
    if wrong:
        raise DataError("column.not-all-text", count=len(wrong), total=len(plain), row=wrong[0], wanted=wanted)
    return texts


def _text_of(entry: Any) -> Any:
    """Return an entry of a list as text, as `as_text` does for columns of Arrow; None if it is missing."""
    if isinstance(entry, str):
        # join turns a subclass of str, such as NumPy's, into a plain str; NumPy's conversion would drop a final NUL.
        return "".join((entry,))
    if _is_missing(entry):
        return None
    if isinstance(entry, datetime):
        return entry.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(entry, date):
        return entry.isoformat()
    return str(bool(entry)).lower() if is_flag(entry) else entry


def marks(values: Any, wanted: str) -> AnyArray:
    """Return a column of booleans as an ``(n,)`` array; a missing entry raises an error and never counts as false.

    Raises:
        DataError: if it holds anything else.
    """
    column = _numpy_column(values, wanted)
    if column.dtype.kind == "O":
        refuse_missing(_missing(column), wanted)
        if all(map(is_flag, column)):
            return column.astype(np.bool_)
    if column.dtype.kind != "b":
        raise DataError("column.not-flags", kind=_described(column), wanted=wanted)
    return column


def reals(values: Any, wanted: str) -> FloatArray:
    """Return an array of real numbers of any shape as float64; raise an error for text and for masked entries.

    Raises:
        ParameterError: if it holds anything but real numbers.
    """
    array = None
    # The library's error is not chained, because it quotes the value.
    with suppress(TypeError, ValueError, OverflowError):
        array = np.asarray(unmasked(values, f"entries of {wanted}"))
        if array.dtype.kind == "O" and all(isinstance(value, Real) for value in array.flat):
            array = array.astype(np.float64)
    if array is None or array.dtype.kind not in "biuf":
        raise ParameterError("argument.not-real-numbers", argument=wanted)
    return array.astype(np.float64)


def absent(values: Any, wanted: str = "values") -> BoolArray:
    """Return ``(n,)`` booleans: true where a value of a column is missing.

    Missing values are null in Arrow and polars; None, nan, NaT and NA in other columns; and masked entries. An empty
    text is not missing, because only the reader of a text file knows whether a cell was empty.

    Raises:
        DataError: if this is no column of values of one kind.
    """
    import pyarrow as pa

    from discreet.core.arrow import arrow_numbers, present

    if is_masked(values):
        return np.asarray(np.ma.getmaskarray(values), dtype=np.bool_)
    column = _arrow_column(values, wanted)
    gone = ~present(column)
    return gone | np.isnan(arrow_numbers(column)) if pa.types.is_floating(column.type) else gone


def categories(values: Any, wanted: str = "groups") -> tuple[IntArray, list[Any]]:
    """Return a column of categories as ``(n,)`` codes, and the different labels in sorted order.

    Args:
        values: text, integers, or booleans; a categorical column of pandas or Arrow counts as a column of its labels.
        wanted: the column's name in messages.

    Raises:
        DataError: if the column holds anything else, or entries are missing; the message says how many and where.
    """
    from discreet.core.arrow import arrow_numbers, is_category, one_array, present

    column = _arrow_column(values, wanted)
    refuse_missing(~present(column), wanted)
    if not is_category(column.type):
        raise DataError("column.not-categories", wanted=wanted, kind=column.type)
    encoded = one_array(column).dictionary_encode()
    labels = list(map(as_composed, encoded.dictionary.to_pylist()))
    ordered = sorted(set(labels))
    ranks = {label: rank for rank, label in enumerate(ordered)}
    return np.array([ranks[label] for label in labels], dtype=np.int64)[arrow_numbers(encoded.indices)], ordered


def category_order(values: Any) -> list[Any]:
    """Return the categories of an ordered categorical column (pandas, polars, Arrow); an empty list otherwise."""
    import pyarrow as pa

    kind: Any = getattr(values, "dtype", None)
    if type(kind).__module__.startswith("polars") and str(kind) == "Categorical":
        # polars numbers these categories in the order of their first appearance.
        return []
    if type(kind).__name__ == "CategoricalDtype":
        return list(kind.categories)
    column = _as_arrow(values, "categories")
    if not pa.types.is_dictionary(column.type):
        return []
    chunks = column.unify_dictionaries().chunks if isinstance(column, pa.ChunkedArray) else [column]
    return list(chunks[0].dictionary.to_pylist()) if chunks else []


def named(table: Any, name: str, argument: str = "column") -> Any:
    """Return a column of a table by its name; names with the same Unicode normal form C count as equal.

    Raises:
        DataError: if the table has no such column. The error is about the given argument.
    """
    for spelling in chain((name,), _spellings(table, name)):
        try:
            return table[spelling]
        except Exception as error:
            # polars has an exception class of its own
            absent = isinstance(error, KeyError | IndexError | TypeError | ValueError)
            if not absent and type(error).__name__ != "ColumnNotFoundError":
                raise
    raise DataError("column.missing", argument=argument, name=name)


def names_of(table: Any) -> list[Any] | None:
    """Return the names of a table's columns; None for an object that is a single column."""
    structure = getattr(getattr(table, "dtype", None), "names", None)
    names = (
        table if isinstance(table, Mapping) else getattr(table, "column_names", getattr(table, "columns", structure))
    )
    return None if names is None else list(names)


def _spellings(table: Any, name: str) -> Iterator[str]:
    """Yield the names of a table's columns that differ from a name only by Unicode normalization."""
    if name.isascii():
        return
    for other in names_of(table) or ():
        if other != name and as_composed(other) == name:
            yield other


def unmasked(array: Any, wanted: str) -> Any:
    """Return a masked array as a plain array, and any other object unchanged; raise an error if an entry is masked."""
    if is_masked(array):
        hidden = np.ma.getmaskarray(array)
        if hidden.any():
            refuse_missing(np.asarray(hidden.reshape(len(hidden), -1).any(axis=1)), wanted)
        array = array.data
    return np.asarray(array) if isinstance(array, np.ndarray) else array


def sized(values: Any) -> Any:
    """Return a collection unchanged, and any other iterable as a list."""
    return values if isinstance(values, Sized) else list(values)


def _check_column(values: Any, wanted: str) -> None:
    if is_single(values):
        raise DataError("column.not-sequence", wanted=wanted, kind=type(values).__name__)
    if isinstance(values, Set | Mapping):
        # The entries of a set or a mapping cannot be matched to people, because they have no order.
        raise DataError("column.unordered", wanted=wanted, kind=type(values).__name__)


def _arrow_column(values: Any, wanted: str) -> Any:
    """Return a column of any library in Arrow, as `discreet.core.arrow.plain` does."""
    from discreet.core.arrow import plain

    return plain(_as_arrow(values, wanted))


def _as_arrow(values: Any, wanted: str) -> Any:
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    values = unmasked(_only_column(values, wanted), wanted)
    _check_column(values, wanted)
    known = pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeError, ValueError, OverflowError
    is_arrow = hasattr(values, "__arrow_c_stream__")
    if is_arrow:
        with suppress(*known):
            return pa.chunked_array(values)
    with suppress(*known):
        if hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
        # A type that Arrow does not know, such as Int128 of polars or Sparse of pandas, is read by its entries.
        plain = values.to_numpy() if hasattr(values, "to_numpy") and not is_arrow else values
        return pa.array(plain if isinstance(plain, np.ndarray) else list(plain), from_pandas=True)
    raise DataError("column.mixed", wanted=wanted)


def _is_of_library(values: Any) -> bool:
    """Return true for columns and tables that Arrow reads, and for queries of polars."""
    return any(hasattr(values, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "collect"))


def _only_column(values: Any, wanted: str) -> Any:
    """Return the only column of a table; any other object unchanged.

    Raises:
        DataError: if the table has several columns.
    """
    if not any(hasattr(type(values), name) for name in ("columns", "column_names", "schema", "collect_schema")):
        return values
    import pyarrow as pa

    if hasattr(values, "iloc"):
        names, column = list(values.columns), values.iloc[:, 0] if values.shape[1] else None
    else:
        table = pa.table(values.collect() if hasattr(values, "collect") else values)
        names, column = table.column_names, table.column(0) if table.num_columns else None
    if len(names) != 1:
        raise DataError("column.whole-table", wanted=wanted, count=len(names), name=str((names or ["..."])[0]))
    return column


def _numpy_column(values: Any, wanted: str) -> AnyArray:
    if isinstance(values, np.ndarray):
        column: AnyArray = unmasked(values, wanted)
    elif isinstance(values, range):
        column = np.arange(values.start, values.stop, values.step)
    elif _is_of_library(values):
        column = _from_arrow(values, wanted)
    elif hasattr(values, "to_numpy"):
        column = values.to_numpy()
    else:
        column = _from_sequence(values, wanted)
    if column.ndim != 1:
        raise DataError("column.not-one", wanted=wanted, shape=column.shape)
    return column


def _from_arrow(values: Any, wanted: str) -> AnyArray:
    import pyarrow as pa

    from discreet.core.arrow import arrow_numbers, decimals_as_numbers, is_plain, present

    column = _arrow_column(values, wanted)
    kind = column.type
    if not (is_plain(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataError("column.not-numbers", kind=kind, wanted=wanted)
    if column.null_count:
        refuse_missing(~present(column), wanted)
    if pa.types.is_decimal(kind):
        column = decimals_as_numbers(column)
    return arrow_numbers(column) if is_plain(column.type) else np.asarray(column)


def _from_sequence(values: Any, wanted: str) -> AnyArray:
    _check_column(values, wanted)
    plain = sized(values)
    column = None
    with suppress(ValueError, OverflowError, TypeError):
        column = np.asarray(plain)
    if column is None:
        raise DataError("column.not-flat", wanted=wanted)
    if column.ndim == 0:
        raise DataError("column.not-sequence", wanted=wanted, kind=type(values).__name__)
    kinds = {type(value) for value in plain} if column.dtype.kind in "iuf" else set()
    if bool in kinds:
        raise DataError("column.mixed-flags", wanted=wanted)
    if len(kinds) > 1 and any(issubclass(kind, np.floating) and _narrow(kind) for kind in kinds):
        # A list of objects: NumPy has widened the narrow floats among the numbers.
        return np.fromiter(plain, dtype=object, count=len(plain))
    return column if len(column) else column.astype(np.int64)


def _is_missing(value: Any) -> bool:
    # By name: these types belong to pandas, which may not be installed. nan is the one number unequal to itself.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | Decimal) and bool(value != value)  # noqa: PLR0124


def _missing(column: AnyArray) -> BoolArray:
    if column.dtype.kind == "f":
        return np.isnan(column)
    return np.array([column.dtype.kind == "O" and _is_missing(value) for value in column], np.bool_)


def refuse_missing(gone: BoolArray, wanted: str = "values") -> None:
    """Raise an error if any of the ``(n,)`` booleans marks a missing value.

    Raises:
        DataError: if there is one; the message says how many and where.
    """
    rows = np.flatnonzero(gone)
    if len(rows):
        raise missing_error(len(rows), len(gone), int(rows[0]), wanted)


@contextmanager
def of_parameter(place: str = "") -> Iterator[None]:
    """Raise an error about data as an error about the parameter that holds the data.

    The new error names the parameter, or a place in it.

    Raises:
        ParameterError: if the data are refused inside.
    """
    try:
        yield
    except (DataError, ParameterError) as error:
        fault = error.of_kind(ParameterError)
        raise (fault.at(place) if place else fault) from None


def _described(column: AnyArray) -> str:
    kinds = {"f": "floats", "b": "booleans", "U": "text", "S": "bytes", "O": "mixed objects", "M": "dates"}
    return kinds.get(column.dtype.kind, str(column.dtype))


def missing_error(
    count: int, total: int, row: int | str, wanted: str = "values", advice: str = "filter them out"
) -> DataError:
    """Return the error for missing values: it gives their number and the row of the first one, but no value."""
    return DataError("values.missing", count=count, total=total, row=row, wanted=wanted, advice=advice)


def outside_error(count: int, total: int, row: int | str, alike: int, advice: str = "filter them out") -> DataError:
    """Return the error for values outside the domain. It gives their number and the row of the first one, but no value.

    Args:
        count: number of values outside the domain.
        total: number of all values.
        row: the row of the first one.
        alike: number of values outside the domain that read like a label.
        advice: the remedy besides a larger domain.
    """
    read = f" With `as_read=True`, {alike:,} of them count as the label that reads alike." if alike else ""
    return DataError("values.not-in-domain", count=count, total=total, row=row, advice=advice, read=read)


def all_below(numbers: IntArray, limit: int) -> bool:
    """Return true if all integers are in 0..limit - 1, checked in one pass; their type may be signed or unsigned."""
    if not len(numbers):
        return True
    # Read as unsigned, a negative number is larger than every number of the signed type.
    unsigned, greatest = _unsigned(numbers.dtype)
    return int(np.maximum.reduce(numbers.view(unsigned))) <= min(limit - 1, greatest)


@cache
def _unsigned(kind: np.dtype[Any]) -> tuple[np.dtype[Any], int]:
    """Return the unsigned type of the same size as an integer type, and the integer type's largest integer."""
    return np.dtype(kind.str.replace("i", "u")), int(np.iinfo(kind).max)
