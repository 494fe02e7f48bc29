"""Conversion of columns of values from NumPy, pandas, polars, Arrow or plain sequences.

Numbers become a NumPy array. Text from Python or NumPy becomes a list, so that a device needs no other library, and
text from a library of tables becomes an Arrow array. Errors that libraries raise about values are suppressed, not
chained: their messages may quote a value.
"""

from collections.abc import Iterable, Iterator, Mapping, Set, Sized
from contextlib import contextmanager, suppress
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
READ = "are taken for the label that they read like"
"""Text in the summary of a run about texts that count as the label that they read like."""


# Span per entry up to which integers are marked in an array instead of sorted.
_SPARSE = 32
# Numbers that are checked first, and numbers per block of the full check.
_HEAD, _BLOCK = 64, 1 << 15
# Significant digits of a short decimal; multiples of 1/16 below this number have no more digits.
_SHORT, _EXACT = 12, 1 << 20


def integers(values: Any, wanted: str = "values") -> IntArray:
    """Return a column of integers as ``(n,)`` int64; raise an error if a value is missing.

    Raises:
        DataError: if it holds anything but integers.
    """
    column = _numpy_column(values, wanted)
    if column.dtype.kind not in "iu":
        refuse_missing(_missing(column), wanted)
        raise DataError("column.not-integers", kind=_described(column), wanted=wanted)
    if column.dtype == np.uint64 and len(column) and column.max() > np.iinfo(np.int64).max:
        raise DataError("column.too-large", wanted=wanted)
    return column.astype(np.int64, copy=False)


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
    """Return a column of text as an Arrow array of strings, plain or dictionary-encoded.

    Raises:
        DataError: if it holds anything but text.
    """
    import pyarrow as pa

    from discreet.core.arrow import is_textual, one_array, value_type

    column = _arrow_column(values, wanted)
    if pa.types.is_dictionary(column.type) and is_textual(value_type(column.type)):
        return one_array(column)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
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
        if column.dtype.kind not in "UTO" and len(column):
            raise DataError("column.not-text", kind=_described(column), wanted=wanted)
        return list(column.tolist())
    if any(hasattr(values, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "to_numpy")):
        return None
    _check_column(values, wanted)
    return list(values)


def places_of_other(plain: list[Any], rows: Iterable[int], wanted: str = "values") -> list[int]:
    """Return the given rows whose entry is missing; raise an error if an entry of another given row is not text.

    Raises:
        DataError: if an entry is neither missing nor text; the message says how many and where.
    """
    other = [row for row in rows if not isinstance(plain[row], str)]
    missing = [row for row in other if _is_missing(plain[row])]
    if len(missing) < len(other):
        wrong = [row for row in other if not _is_missing(plain[row])]
        raise DataError("column.not-all-text", count=len(wrong), total=len(plain), row=wrong[0], wanted=wanted)
    return missing


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

    from discreet.core.arrow import arrow_numbers, decoded, present

    if is_masked(values):
        return np.asarray(np.ma.getmaskarray(values), dtype=np.bool_)
    # Rows that refer to a null entry of a dictionary count as missing only after the column is decoded.
    column = decoded(_arrow_column(values, wanted))
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
    import pyarrow as pa

    from discreet.core.arrow import arrow_numbers, decoded, is_textual, one_array, present

    column = decoded(_arrow_column(values, wanted))
    refuse_missing(~present(column), wanted)
    kind = column.type
    if not (is_textual(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataError("column.not-categories", wanted=wanted, kind=kind)
    encoded = one_array(column.cast(pa.large_string()) if is_textual(kind) else column).dictionary_encode()
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
    column = _arrow_column(values, "categories")
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
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    _check_column(values, wanted)
    values = unmasked(values, wanted)
    known = pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeError, ValueError, OverflowError
    with suppress(*known):
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
        plain = values.to_numpy() if hasattr(values, "to_numpy") else values
        return pa.array(plain if isinstance(plain, np.ndarray) else list(plain), from_pandas=True)
    raise DataError("column.mixed", wanted=wanted)


def _numpy_column(values: Any, wanted: str) -> AnyArray:
    if isinstance(values, np.ndarray):
        column: AnyArray = unmasked(values, wanted)
    elif isinstance(values, range):
        column = np.arange(values.start, values.stop, values.step)
    elif hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
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

    from discreet.core.arrow import arrow_numbers, is_plain, present

    column = _arrow_column(values, wanted)
    if column.null_count:
        refuse_missing(~present(column), wanted)
    if pa.types.is_decimal(column.type):
        # Decimals are converted by way of their text, which is exact.
        column = column.cast(pa.string()).cast(pa.float64())
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
    return isinstance(value, float | np.floating) and bool(value != value)  # noqa: PLR0124


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
    """Return the unsigned integer type of the same size, and the largest integer of the given type."""
    return np.dtype(kind.str.replace("i", "u")), int(np.iinfo(kind).max)
