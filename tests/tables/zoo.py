"""A zoo of columns: every type of column that the libraries of tables have, with and without missing entries.

Each kind makes a column from Python's entries. The page docs/reference/columns.md is the list of these kinds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb as dk
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from discreet import Domain

BINS = Domain.number(0, 2, bins=4)
DOMAINS = {
    "text": Domain(["a", "b"]),
    "booleans": Domain(["false", "true"]),
    "whole numbers": Domain([1, 2]),
    "numbers": BINS,
    "dates": Domain(["2026-01-01", "2026-03-31"]),
    "times": Domain(["2026-01-01 12:30:00", "2026-03-31"]),
    "times with a zone": Domain(["2026-01-01 13:30:00+0100", "2026-03-31 02:00:00+0200"]),
}
"""The domain for columns of each kind. The two entries below have the codes 0 and 1; numbers have the codes 1 and 3."""
REFUSED = "refused"
MOMENTS = [datetime(2026, 1, 1, 12, 30), datetime(2026, 3, 31)]
ENTRIES: dict[str, list[Any]] = {
    "text": ["a", "b"],
    "booleans": [False, True],
    "whole numbers": [1, 2],
    "numbers": [0.5, 1.5],
    "dates": [date(2026, 1, 1), date(2026, 3, 31)],
    "times": MOMENTS,
    "times with a zone": [moment.replace(tzinfo=UTC) for moment in MOMENTS],
}
LIST, ROW, SPAN, HOUR, BYTES = [[1], [2]], [{"a": 1}, {"a": 2}], [timedelta(1), timedelta(2)], [time(1), time(2)], b"ab"


@dataclass(frozen=True)
class Kind:
    """A type of column in a library.

    Attributes:
        library: the library.
        name: the type, as the library calls it.
        holds: how the column is read: a key of `DOMAINS`, or `REFUSED`.
        make: returns a column with the given entries.
        entries: two entries of the column.
        has_gaps: whether such a column can have missing entries.
    """

    library: str
    name: str
    holds: str
    make: Callable[[list[Any]], Any]
    entries: list[Any]
    has_gaps: bool = True

    @property
    def codes(self) -> list[int]:
        """The codes of the two entries."""
        return [1, 3] if self.holds == "numbers" else [0, 1]


def arrow() -> Iterator[Kind]:
    """Yield the types of Arrow."""
    several: dict[str, list[pa.DataType]] = {
        "text": [pa.string(), pa.large_string(), pa.string_view()],
        "booleans": [pa.bool_()],
        "whole numbers": [
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
            *(pa.float16(), pa.float32(), pa.float64(), pa.decimal32(5, 2), pa.decimal64(9, 2), pa.decimal128(38, 0)),
            *(pa.decimal128(9, 2), pa.decimal256(40, 2)),
        ],
        "numbers": [pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal256(40, 2)],
        "dates": [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns")],
        "times": [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")],
        "times with a zone": [pa.timestamp("us", "Europe/Berlin")],
    }
    for holds, kinds in several.items():
        for kind in kinds:
            yield Kind("Arrow", str(kind), holds, lambda entries, kind=kind: typed(entries, kind), ENTRIES[holds])
    for kind in (pa.string(), pa.string_view(), pa.int64()):
        holds = "whole numbers" if kind == pa.int64() else "text"
        yield Kind("Arrow", f"dictionary<{kind}>", holds, lambda e, kind=kind: dictionary(e, kind), ENTRIES[holds])
        yield Kind(
            "Arrow", f"dictionary<{kind}>, gap inside", holds, lambda e, k=kind: dictionary(e, k, True), ENTRIES[holds]
        )
    yield Kind("Arrow", "run-end encoded", "text", lambda e: pc.run_end_encode(pa.array(e)), ENTRIES["text"])
    yield Kind("Arrow", "run-end encoded dictionary", "text", runs, ENTRIES["text"])
    yield Kind(
        "Arrow", "bool8", "booleans", lambda e: stored(pa.bool8(), pa.array(e).cast(pa.int8())), ENTRIES["booleans"]
    )
    yield Kind("Arrow", "json", "text", lambda e: stored(pa.json_(pa.string()), pa.array(e)), ENTRIES["text"])
    yield Kind("Arrow", "chunks", "text", lambda e: pa.chunked_array([e[:1], [], e[1:]], pa.string()), ENTRIES["text"])
    yield Kind("Arrow", "slice", "text", lambda e: pa.array(["x", *e], pa.string_view()).slice(1), ENTRIES["text"])
    uuid = pa.uuid()
    yield Kind("Arrow", "uuid", REFUSED, lambda e: stored(uuid, pa.array(e, pa.binary(16))), [b"0" * 16, b"1" * 16])
    for kind in (pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view()):
        yield Kind("Arrow", str(kind), REFUSED, lambda e, kind=kind: pa.array(e, kind), [BYTES, BYTES])
    yield Kind("Arrow", "time32", REFUSED, lambda e: pa.array(e, pa.time32("s")), HOUR)
    yield Kind("Arrow", "duration", REFUSED, lambda e: pa.array(e, pa.duration("s")), SPAN)
    interval = pa.month_day_nano_interval()
    yield Kind("Arrow", "interval", REFUSED, lambda e: pa.array(e, interval), [(1, 1, 1), (2, 2, 2)])
    yield Kind("Arrow", "list", REFUSED, pa.array, LIST)
    yield Kind("Arrow", "struct", REFUSED, pa.array, ROW)
    yield Kind("Arrow", "map", REFUSED, lambda e: pa.array(e, pa.map_(pa.string(), pa.int64())), [[("a", 1)], []])
    yield Kind("Arrow", "union", REFUSED, union, ["a", 1], has_gaps=False)
    yield Kind("Arrow", "table of one column", "text", lambda e: pa.table({"x": e}), ENTRIES["text"])
    yield Kind("Arrow", "record batch of one column", "text", lambda e: pa.record_batch({"x": e}), ENTRIES["text"])
    yield Kind("Arrow", "table of two columns", REFUSED, lambda e: pa.table({"x": e, "y": e}), ENTRIES["text"])


def pandas() -> Iterator[Kind]:
    """Yield the types of pandas 2 and 3."""
    several = {
        "text": ["object", "string[python]", "string[pyarrow]", "str", "category"],
        "booleans": ["object", "boolean", "bool[pyarrow]"],
        "whole numbers": ["float64", "Int64", "UInt8", "Float64", "int64[pyarrow]", "float32", "object"],
        "numbers": ["float64", "Float32", "double[pyarrow]", "float16"],
        "dates": ["object", "datetime64[ns]", "date32[pyarrow]"],
        "times": ["datetime64[s]", "datetime64[us]"],
    }
    for holds, kinds in several.items():
        for kind in kinds:
            yield Kind("pandas", kind, holds, lambda e, kind=kind: pd.Series(e, dtype=kind), ENTRIES[holds])
    for kind in ("bool", "int64", "uint8"):
        holds = "booleans" if kind == "bool" else "whole numbers"
        yield Kind("pandas", kind, holds, lambda e, kind=kind: pd.Series(e, dtype=kind), ENTRIES[holds], has_gaps=False)
    yield Kind("pandas", "Sparse", "whole numbers", lambda e: pd.Series(pd.arrays.SparseArray(e)), [1, 2])
    yield Kind("pandas", "objects with decimals", "whole numbers", pd.Series, [Decimal(1), Decimal("2.0")])
    yield Kind("pandas", "datetime64 with a zone", "times with a zone", zoned, ENTRIES["times with a zone"])
    yield Kind(
        "pandas", "frame of one column", "text", lambda e: pd.DataFrame({"x": e}, index=[*"qrst"[: len(e)]]), ["a", "b"]
    )
    yield Kind("pandas", "frame of two columns", REFUSED, lambda e: pd.DataFrame({"x": e, "y": e}), ["a", "b"])
    yield Kind("pandas", "period", REFUSED, lambda e: pd.Series(pd.PeriodIndex(e, freq="M")), ["2026-01", "2026-02"])
    yield Kind("pandas", "interval", REFUSED, pd.Series, [pd.Interval(0, 1), pd.Interval(1, 2)])
    yield Kind("pandas", "timedelta64", REFUSED, pd.Series, SPAN)
    yield Kind("pandas", "complex128", REFUSED, pd.Series, [1j, 2j], has_gaps=False)
    yield Kind("pandas", "objects with bytes", REFUSED, pd.Series, [BYTES, BYTES])
    yield Kind("pandas", "objects of several types", REFUSED, pd.Series, ["a", 1])


def polars() -> Iterator[Kind]:
    """Yield the types of polars."""
    several: dict[str, list[Any]] = {
        "text": [pl.String, pl.Categorical, pl.Enum(["b", "a"])],
        "booleans": [pl.Boolean],
        "whole numbers": [
            *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
            *(pl.Float32, pl.Float64, pl.Decimal(10, 2)),
        ],
        "numbers": [pl.Float32, pl.Float64, pl.Decimal(10, 2)],
        "dates": [pl.Date, pl.Datetime],
        "times": [pl.Datetime("ms"), pl.Datetime("ns")],
    }
    for holds, kinds in several.items():
        for kind in kinds:
            name = getattr(kind, "__name__", str(kind))
            yield Kind("polars", name, holds, lambda e, kind=kind: pl.Series(e).cast(kind), ENTRIES[holds])
    yield Kind("polars", "frame of one column", "text", lambda e: pl.DataFrame({"x": e}), ENTRIES["text"])
    yield Kind("polars", "query of one column", "text", lambda e: pl.LazyFrame({"x": e}), ENTRIES["text"])
    yield Kind("polars", "frame of two columns", REFUSED, lambda e: pl.DataFrame({"x": e, "y": e}), ENTRIES["text"])
    nested = {"Time": HOUR, "Duration": SPAN, "List": LIST, "Struct": ROW, "Binary": [BYTES, BYTES]}
    for name, entries in nested.items():
        yield Kind("polars", name, REFUSED, pl.Series, entries)
    yield Kind("polars", "Array", REFUSED, lambda e: pl.Series(e, dtype=pl.Array(pl.Int64, 1)), LIST)
    yield Kind("polars", "Object", REFUSED, lambda e: pl.Series(e, dtype=pl.Object), [object(), object()])


def duckdb() -> Iterator[Kind]:
    """Yield the types of DuckDB, as queries of one column."""
    several = {
        "text": ["VARCHAR", "ENUM('b', 'a')"],
        "booleans": ["BOOLEAN"],
        "whole numbers": ["TINYINT", "BIGINT", "HUGEINT", "UHUGEINT", "UINTEGER", "DECIMAL(9, 2)", "DOUBLE", "FLOAT"],
        "numbers": ["DOUBLE", "FLOAT", "DECIMAL(9, 2)"],
        "dates": ["DATE", "TIMESTAMP"],
        "times": ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS"],
        "times with a zone": ["TIMESTAMPTZ"],
    }
    for holds, kinds in several.items():
        for kind in kinds:
            yield Kind("DuckDB", kind, holds, lambda e, kind=kind: query(e, kind), ENTRIES[holds])
    nested = {"TIME": HOUR, "INTERVAL": SPAN, "BLOB": [BYTES, BYTES], "INTEGER[]": LIST, "INTEGER[1]": LIST}
    for kind, entries in (nested | {"STRUCT(a INTEGER)": ROW, "BIT": ["101", "1"]}).items():
        yield Kind("DuckDB", kind, REFUSED, lambda e, kind=kind: query(e, kind), entries)


def query(entries: list[Any], kind: str) -> Any:
    """Return a query of DuckDB with one column of a type, in the time of Berlin."""
    connection = dk.connect()
    connection.execute("SET TimeZone = 'Europe/Berlin'")
    return connection.sql(f"SELECT unnest($entries)::{kind} AS x", params={"entries": entries})


def others() -> Iterator[Kind]:
    """Yield the types of NumPy and of Python."""
    for kind in ("bool", "U1", "int16", "uint64", "float16", "float32"):
        holds = {"bool": "booleans", "U1": "text"}.get(kind, "whole numbers")
        yield Kind("NumPy", kind, holds, lambda e, kind=kind: np.array(e, kind), ENTRIES[holds], has_gaps=False)
    for kind, holds in {"datetime64[D]": "dates", "datetime64[ns]": "times"}.items():
        yield Kind("NumPy", kind, holds, lambda e, kind=kind: np.array(e, kind), ENTRIES[holds])
    yield Kind(
        "NumPy", "StringDType", "text", lambda e: np.array(e, np.dtypes.StringDType()), ["a", "b"], has_gaps=False
    )
    for name, entries in {"bytes": [BYTES, BYTES], "complex128": [1j, 2j], "timedelta64": SPAN}.items():
        yield Kind("NumPy", name, REFUSED, np.array, entries, has_gaps=False)
    for holds, entries in ENTRIES.items():
        if holds != "times with a zone":
            yield Kind("Python", f"list of {holds}", holds, list, entries)
    yield Kind("Python", "list of decimals", "numbers", list, [Decimal("0.5"), Decimal("1.5")])
    yield Kind("Python", "list of bytes", REFUSED, list, [BYTES, BYTES])
    yield Kind("Python", "list of several types", REFUSED, list, ["a", 1])


def typed(entries: list[Any], kind: pa.DataType) -> Any:
    """Return an Arrow array of any type of text, numbers or dates."""
    if pa.types.is_decimal(kind):
        return pa.array([None if entry is None else Decimal(str(entry)) for entry in entries], kind)
    if pa.types.is_float16(kind):
        return pa.array([None if entry is None else np.float16(entry) for entry in entries], kind)
    return pa.array(entries).cast(kind) if pa.types.is_temporal(kind) else pa.array(entries, kind)


def dictionary(entries: list[Any], kind: pa.DataType, gap_inside: bool = False) -> Any:
    """Return a column with a dictionary; a missing entry is a missing index, or an index of a missing entry."""
    known = [*dict.fromkeys(entry for entry in entries if entry is not None or gap_inside)]
    indices = [known.index(entry) if entry in known else None for entry in entries]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(known, kind))


def stored(kind: Any, storage: Any) -> Any:
    """Return a column of an extension type."""
    return pa.ExtensionArray.from_storage(kind, storage)


def runs(entries: list[Any]) -> Any:
    """Return a run-end encoded column whose values are a dictionary; Arrow's own decoder refuses it."""
    ends = pa.array(range(1, len(entries) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, pa.array(entries).dictionary_encode())


def union(entries: list[Any]) -> Any:
    """Return a column of texts and numbers."""
    texts = pa.array([entry if isinstance(entry, str) else None for entry in entries])
    numbers = pa.array([entry if isinstance(entry, int) else None for entry in entries])
    return pa.UnionArray.from_sparse(pa.array([isinstance(e, int) for e in entries]).cast(pa.int8()), [texts, numbers])


def zoned(entries: list[Any]) -> Any:
    """Return times of pandas in the zone of Berlin."""
    return pd.Series(pd.to_datetime(pd.Series(entries), utc=True)).dt.tz_convert("Europe/Berlin")


ZOO = [*arrow(), *pandas(), *polars(), *duckdb(), *others()]


def page() -> str:
    """Return the page of the zoo for the documentation."""
    lines = [f"| {kind.library} | {kind.name} | {kind.holds} |" for kind in ZOO]
    return "\n".join([HEAD, "| library | column | read as |", "|---|---|---|", *lines, ""])


HEAD = """# Columns that can be read

*For whoever has a table in another library; 3 minutes. The table is made by the test that tries all these columns.*

`Domain.encode`, `mechanism.obfuscate`, `discreet init` and `discreet obfuscate` read these columns in the same way,
from memory and from files. A missing entry (null, None, nan, NaT, NA, or a masked entry) is a missing value.

- Booleans are the labels `true` and `false`.
- Floats and decimals are whole numbers if all of them are whole.
- Dates are written as 2026-03-31, and times as 2026-03-31 12:30:00. A time at midnight is written as its date.
- A table with one column is that column. A table with several columns is refused: pass `frame["age"]`.
- A refusal names the type. Convert the column to text, numbers or dates.
"""
