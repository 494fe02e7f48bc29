"""Reports in columns, one row per report: as devices send them, in canonical order, as bytes, and as an Arrow table.

Reports of one plan all have the same number of bytes. Devices send these bytes, and canonical order compares them. The
schema of a table has a stamp with the plan's fingerprint in its metadata.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from discreet.arrays import AnyArray, BoolArray, IntArray, is_masked, read_only
from discreet.core.batches import NamedBatch, batch_facts, merged, new_batches
from discreet.core.checks import is_whole, quoted
from discreet.core.columns import marks
from discreet.core.other_names import OtherNames
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.kernels.row_order import row_order

Blocks: TypeAlias = Mapping[str, AnyArray]
"""The columns of a batch of blocks, each ``(m,)`` or ``(m, width)``; a block law says which."""

MOST_REPORTS = 1 << 62
"""Numbers of reports are below it."""

CLEAR, PLAN, SIMULATED = "clear", "plan", "simulated"
"""Names of the columns with codes of values in clear, with the plan, and with the mark of simulation."""

RESERVED = frozenset([CLEAR, PLAN, SIMULATED])
"""Names of columns that have a meaning in tables of reports of every plan."""


COUNTS = frozenset(["part", "place", "count", "of_rows", "plan"])
"""Names of the columns of counts that a warehouse made; other columns of such a table are groups."""


def is_count(name: str) -> bool:
    """Return true if a column's name is ``count`` in any case: such a column may count the people of a row."""
    return name.strip().lower() == "count"


@dataclass(frozen=True, slots=True)
class Column:
    """The name, the type and the bounds of one column of a block.

    Attributes:
        name: the column's name in files and messages.
        dtype: an unsigned NumPy integer type; ``uint8`` with a width is a string of bytes.
        width: entries per block; None for a plain number.
        bound: every entry is below it.
        random: whether entries are nearly random bits, which no dictionary and no compression makes shorter.
    """

    name: str
    dtype: DTypeLike
    width: int | None = None
    bound: int | None = None
    random: bool = False

    @property
    def bytes(self) -> int:
        """The size of a column's part of one block, in bytes."""
        return np.dtype(self.dtype).itemsize * (1 if self.width is None else self.width)

    def shape(self, rows: int) -> tuple[int, ...]:
        """Return the shape of a column that stores a number of blocks."""
        return (rows,) if self.width is None else (rows, self.width)

    def out_of_bounds(self, entries: AnyArray) -> BoolArray | None:
        """Return ``(m,)`` booleans: true for rows with an entry below 0 or not below the bound; None without such rows.

        Args:
            entries: ``(m,)`` or ``(m, width)`` integers.
        """
        # Nearly always all entries are valid, which a minimum and a maximum show without a new array.
        at_least_0 = entries.dtype.kind == "u" or not entries.size or entries.min() >= 0
        if self.bound is None or not entries.size or (at_least_0 and entries.max() < self.bound):
            return None
        each = (entries < 0) | (entries >= self.bound)
        wrong: BoolArray = np.any(each.reshape(len(each), -1), axis=1)
        return wrong


def report_columns(size: int, has_clear: bool, block: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the columns of a report: the code of a value in clear, if there are such values, and the block."""
    return (Column(CLEAR, smallest_unsigned(size), bound=size), *block) if has_clear else block


@lru_cache(maxsize=256)
def smallest_unsigned(bound: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds 0..bound - 1."""
    return np.min_scalar_type(max(bound - 1, 0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reports(OtherNames):
    """A batch of reports of one mechanism, in columns; row i is the report on the i-th value.

    Attributes:
        fingerprint: fingerprint of the plan.
        n: number of reports.
        in_clear: ``(n,)`` booleans, true for reports that state a value in clear; None if no report does.
        clear: ``(F,)`` codes of these values, in the order of the rows.
        blocks: columns of the blocks, in the order of the rows with a block.
        simulated: whether the noise is from a seeded source, so that it protects nobody.
        columns: formats of the columns in files; empty for reports that were put together by hand, or whose blocks have
            other columns.
        batches: the batches to which the reports belong, as far as known, in the order of their names. Reports that a
            mechanism makes are a new batch; reports that were put together by hand belong to no batch.

    ``reports[mask]`` and ``reports[10:20]`` return the reports of some rows. ``monday + tuesday`` joins two batches of
    one plan. polars, pandas, DuckDB and Arrow read reports as a table (``polars.DataFrame(reports)``).

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> monday, tuesday = (mechanism.obfuscate(["yes", "no"], random=dc.SeededRandom(day)) for day in (1, 2))
        >>> reports = dc.Reports.concatenate([monday, tuesday])
        >>> reports.n, reports.simulated, reports[:3].n, reports[[True, False, True, False]].n
        (4, True, 3, 2)
        >>> (monday + tuesday).to_arrow().column_names
        ['symbol']
    """

    other_names: ClassVar[Mapping[str, str]] = {
        "to_pandas": "to_arrow().to_pandas()",
        "to_polars": "polars.DataFrame(reports)",
        **dict.fromkeys(["save", "to_csv", "to_parquet", "write"], "discreet.write_reports(file, mechanism, reports)"),
        "estimate": "discreet.estimate(mechanism, reports)",
    }

    fingerprint: str
    n: int
    in_clear: BoolArray | None
    clear: IntArray
    blocks: Blocks
    simulated: bool = False
    columns: tuple[Column, ...] = ()
    batches: tuple[NamedBatch, ...] = ()

    def __post_init__(self) -> None:
        """Check the shapes and make the columns read-only; the mechanism checks the contents.

        Raises:
            DataError: if the columns do not hold integers, or do not fit together.
            MismatchError: if there are more reports of a batch than its size.
        """
        check_header(self.fingerprint, self.n, self.simulated)
        object.__setattr__(self, "batches", merged(self.batches))
        if sum(batch.n for batch in self.batches) > self.n:
            raise DataError("batches.too-many-reports", n=self.n)
        clear_count, rows = 0, self.n
        if self.in_clear is not None:
            if not is_plain(self.in_clear, "b") or len(self.in_clear) != rows:
                raise DataError("in-clear.wrong-form", argument="in_clear", rows=rows)
            clear_count = int(np.count_nonzero(self.in_clear))
            object.__setattr__(self, "in_clear", read_only(self.in_clear))
        if not is_plain(self.clear) or len(self.clear) != clear_count:
            raise DataError("clear.wrong-form", argument="clear", count=clear_count)
        object.__setattr__(self, "clear", read_only(self.clear))
        object.__setattr__(self, "blocks", _sealed_blocks(self.blocks, (rows - clear_count, rows)))
        if {column.name for column in self.columns} - {CLEAR} != {*self.blocks}:
            # The blocks have other columns than the formats.
            object.__setattr__(self, "columns", ())

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be pickled, but reports are sent between processes.
        header = self.fingerprint, self.n, self.in_clear, self.clear
        return type(self), (*header, dict(self.blocks), self.simulated, self.columns, self.batches)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        marks = ", simulated" if self.simulated else ""
        return f"Reports(n={self.n}, in_clear={len(self.clear)}, plan={self.fingerprint[:12]}{marks})"

    @property
    def nbytes(self) -> int:
        """The size of all columns of a batch of reports, in bytes."""
        mask = 0 if self.in_clear is None else self.in_clear.nbytes
        return self.clear.nbytes + mask + sum(column.nbytes for column in self.blocks.values())

    @property
    def block_count(self) -> int:
        """The number of reports that have a block."""
        return block_count(self.blocks)

    @property
    def batch(self) -> NamedBatch | None:
        """The batch, or the part of one batch, that holds all reports; None for several batches or an unknown one."""
        return self.batches[0] if len(self.batches) == 1 and self.batches[0].n == self.n else None

    def part(self, start: int, stop: int) -> Self:
        """Return the reports in rows start..stop - 1."""
        start, stop, _ = slice(start, stop).indices(self.n)
        stop = max(start, stop)
        if self.in_clear is None:
            return self._selected(stop - start, None, self.clear, slice(start, stop))
        before = np.count_nonzero(self.in_clear[:start])
        inside = np.count_nonzero(self.in_clear[start:stop])
        every_row = self.block_count == self.n
        rows = slice(start, stop) if every_row else slice(start - before, stop - before - inside)
        return self._selected(stop - start, self.in_clear[start:stop], self.clear[before : before + inside], rows)

    def __getitem__(self, rows: Any) -> Self:
        """Return the reports in some rows, in the order of the rows.

        Args:
            rows: a slice, or ``(n,)`` booleans in NumPy, pandas, polars, Arrow or a list.

        Raises:
            DataError: if a mask does not have one boolean for every report.
            ParameterError: if a slice goes backwards or is not of whole numbers.
        """
        if isinstance(rows, slice):
            start, stop, step = _slice_bounds(rows, self.n)
            return self.part(start, stop) if step == 1 else self.take(np.arange(start, stop, step))
        mask = marks(rows, "entries of a mask")
        if len(mask) != self.n:
            raise DataError("mask.wrong-length", count=len(mask), n=self.n)
        return self.take(np.flatnonzero(mask))

    def __iter__(self) -> Iterator[Any]:
        raise DataError("reports.not-rows")

    def _selected(self, n: int, in_clear: BoolArray | None, clear: IntArray, rows: slice | IntArray) -> Self:
        blocks, batches = {name: column[rows] for name, column in self.blocks.items()}, self._batches_of(n)
        return type(self)(self.fingerprint, n, in_clear, clear, blocks, self.simulated, self.columns, batches)

    def _batches_of(self, n: int) -> tuple[NamedBatch, ...]:
        """Return the batches of n selected reports: all batches, or a part of the only batch."""
        if n == self.n:
            return self.batches
        batch = self.batch
        return () if batch is None or not 0 < n < batch.n else (NamedBatch(batch.name, n, batch.size),)

    def __add__(self, other: Self) -> Self:
        """Return the reports of two batches, in order; for more than two batches, see `concatenate`.

        Raises:
            MismatchError: if they belong to different plans, or some reports are in both, as far as batches show it.
        """
        return self.concatenate([self, other]) if isinstance(other, Reports) else NotImplemented

    def __radd__(self, other: object) -> Self:
        """Return these reports if the other operand is 0, so that ``sum`` works."""
        return self if is_whole(other) and other == 0 else NotImplemented

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with the columns of a file of reports; its metadata identify the plan and the batch.

        Raises:
            ParameterError: if the reports were put together by hand, so that they have no ``columns``.
        """
        batches = new_batches(self.n) if self.batch is None else [self.batch]
        facts = batch_facts(batches[0].name, batches[0].size) if batches else {}
        return report_table(self, self._formats(), facts)

    def _formats(self) -> tuple[Column, ...]:
        if not self.columns:
            raise ParameterError("reports.no-formats")
        return self.columns

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the columns as an Arrow stream, which polars, pandas, DuckDB and Arrow read as a table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def take(self, rows: IntArray) -> Self:
        """Return the reports in some rows, in the given order of rows.

        Args:
            rows: ``(m,)`` places in 0..n - 1.
        """
        if self.in_clear is None:
            return self._selected(len(rows), None, self.clear, rows)
        chosen = self.in_clear[rows]
        places = np.cumsum(self.in_clear)[rows]
        blocks = rows if self.block_count == self.n else (rows - places)[~chosen]
        return self._selected(len(rows), chosen, self.clear[(places - 1)[chosen]], blocks)

    def sealed(self) -> Self:
        """Return the reports in canonical order: sorted by their contents, so that the order of people is lost.

        `discreet.engines.LocalEngine().seal` writes files of such reports, of any number of reports.

        Raises:
            ParameterError: if the reports were put together by hand, so that they have no ``columns``.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["bus", "walk", "car"] * 2, random=dc.SeededRandom(1))
            >>> reports.sealed().blocks["symbol"].tolist()
            [0, 2, 2, 2, 2, 2]
        """
        clear_blocks = len(self.clear) > 0 and self.block_count == self.n
        return self.take(row_order(RecordForm(self._formats(), clear_blocks, order=">").encode(self)))

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """Return the reports of several batches as one batch, in order.

        Raises:
            DataError: if there are no parts.
            MismatchError: if they belong to different plans, or some reports are in two of them, as far as batches
                show it.
        """
        batches = list(parts)
        if not batches:
            raise DataError("reports.empty")
        first = batches[0]
        if not all(isinstance(batch, Reports) for batch in batches):
            raise DataError("reports.not-batches")
        check_same_plan({batch.fingerprint for batch in batches})
        if any(set(batch.blocks) != set(first.blocks) for batch in batches):
            raise MismatchError("reports.other-columns")
        if len(batches) == 1:
            return first
        masks = [np.zeros(batch.n, dtype=np.bool_) if batch.in_clear is None else batch.in_clear for batch in batches]
        return cls(
            first.fingerprint,
            sum(batch.n for batch in batches),
            None if all(batch.in_clear is None for batch in batches) else np.concatenate(masks),
            np.concatenate([batch.clear for batch in batches]),
            {name: np.concatenate([batch.blocks[name] for batch in batches]) for name in first.blocks},
            any(batch.simulated for batch in batches),
            first.columns,
            tuple(each for batch in batches for each in batch.batches),
        )


def _slice_bounds(rows: slice, n: int) -> tuple[int, int, int]:
    """Return start, stop and step of a slice; raise an error if it goes backwards."""
    try:
        start, stop, step = rows.indices(n)
    except (TypeError, ValueError):
        start, stop, step = 0, 0, 0
    if step < 1:
        raise ParameterError("slice.not-forward", step=quoted(rows.step))
    return start, stop, step


def _sealed_blocks(blocks: object, lengths: tuple[int, int]) -> Blocks:
    """Return columns of blocks as read-only arrays; raise an error unless all have the same, allowed length."""
    if not isinstance(blocks, Mapping) or not blocks:
        raise DataError("blocks.empty", argument="blocks")
    sealed = {}
    for name, column in blocks.items():
        if not is_plain(column, axes=2) or len(column) not in lengths:
            raise DataError("blocks.wrong-form", argument="blocks", rows=lengths[0])
        lengths = len(column), len(column)
        sealed[name] = read_only(column)
    return MappingProxyType(sealed)


def is_plain(array: object, kinds: str = "iu", axes: int = 1) -> bool:
    """Return true for an unmasked NumPy array with these kinds of numbers, and with at most this number of axes."""
    return (
        isinstance(array, np.ndarray) and array.dtype.kind in kinds and 1 <= array.ndim <= axes and not is_masked(array)
    )


def check_header(fingerprint: object, n: object, simulated: object) -> None:
    """Raise an error for an invalid fingerprint, number of reports or mark of simulation.

    Raises:
        DataError: if there is no fingerprint, n is no number of reports, or the mark of simulation is no boolean.
    """
    if type(fingerprint) is not str or not fingerprint:
        raise DataError("fingerprint.wrong-type", argument="fingerprint", kind=type(fingerprint).__name__)
    if type(n) is not int or not 0 <= n < MOST_REPORTS:
        raise DataError("n.out-of-range", argument="n", value=quoted(n))
    if type(simulated) is not bool:
        raise DataError("argument.not-boolean", argument="simulated", value=type(simulated).__name__)


def block_count(blocks: Blocks) -> int:
    """Return the number of blocks that columns of blocks store."""
    return len(next(iter(blocks.values())))


def check_same_plan(fingerprints: set[str]) -> None:
    """Raise an error for reports or tallies of different plans.

    Raises:
        MismatchError: if there is more than one fingerprint.
    """
    if len(fingerprints) > 1:
        quoted = ", ".join(sorted(mark[:12] for mark in fingerprints))
        raise MismatchError("plan.different", plans=quoted)


BLOCK, IN_CLEAR, BOTH = 1, 2, 3
"""Kinds of records, their first byte."""


@dataclass(frozen=True)
class RecordForm:
    """The layout of a binary record: a tag byte (1 block, 2 value in clear, 3 both), columns, and zeros.

    Attributes:
        columns: columns of a report: the code of a value in clear, if there are such values, and the block.
        clear_blocks: whether reports in clear have a block too.
        order: byte order of numbers: ``"<"`` for sending; ``">"``, the highest byte first, for sorting records by their
            numbers.
    """

    columns: tuple[Column, ...]
    clear_blocks: bool
    order: Literal["<", ">"] = "<"

    @cached_property
    def clear(self) -> Column | None:
        """The column with the code of a value in clear; None if no report states one."""
        return next((column for column in self.columns if column.name == CLEAR), None)

    @cached_property
    def block(self) -> tuple[Column, ...]:
        """The columns that store a report's block."""
        return tuple(column for column in self.columns if column.name != CLEAR)

    @cached_property
    def _clear_bytes(self) -> int:
        return 0 if self.clear is None else self.clear.bytes

    @cached_property
    def _block_at(self) -> int:
        """The position of a block's first byte in a binary record."""
        return 1 + (self._clear_bytes if self.clear_blocks else 0)

    @cached_property
    def _block_end(self) -> int:
        return self._block_at + sum(column.bytes for column in self.block)

    @cached_property
    def width(self) -> int:
        """W, the number of bytes of a record."""
        return max(self._block_end, 1 + self._clear_bytes)

    def encode(self, reports: Reports, width: int | None = None) -> AnyArray:
        """Return ``(n, W)`` bytes: one binary record of W bytes for each report.

        With ``width``, zeros fill each record up to this many bytes.
        """
        in_clear = reports.in_clear
        if in_clear is None or self.clear is None:
            return self.of_blocks(reports.blocks, width)
        if self.clear_blocks:
            records = self.of_blocks(reports.blocks, width)
            records[in_clear, 0] = BOTH
            codes = np.zeros(reports.n, reports.clear.dtype)
            codes[in_clear] = reports.clear
            self._put(records, self.clear, 1, codes)
            return records
        records = np.empty((reports.n, width or self.width), dtype=np.uint8)
        records[in_clear] = self.of_codes(reports.clear, width)
        records[~in_clear] = self.of_blocks(reports.blocks, width)
        return records

    def of_codes(self, codes: AnyArray, width: int | None = None) -> AnyArray:
        """Return ``(m, W)`` bytes, the records of reports with only a value in clear; ``width`` as for `encode`."""
        records = np.zeros((len(codes), width or self.width), dtype=np.uint8)
        records[:, 0] = IN_CLEAR
        if self.clear is not None:
            self._put(records, self.clear, 1, codes)
        return records

    def of_blocks(self, blocks: Blocks, width: int | None = None) -> AnyArray:
        """Return ``(m, W)`` bytes, the records of reports that only have a block; ``width`` as for `encode`."""
        records, at = np.zeros((block_count(blocks), width or self.width), dtype=np.uint8), self._block_at
        records[:, 0] = BLOCK
        for column in self.block:
            self._put(records, column, at, blocks[column.name])
            at += column.bytes
        return records

    def _put(self, records: AnyArray, column: Column, at: int, entries: AnyArray) -> None:
        """Write the entries of a column into ``(n, W)`` records, starting at byte ``at``."""
        kind, places = np.dtype(column.dtype).newbyteorder(self.order), records[:, at : at + column.bytes]
        if column.width is None:
            places.view(kind)[:, 0] = entries
            return
        # Rows of a few bytes are copied as a whole; entry by entry takes three times as long.
        whole = np.dtype((np.void, column.bytes))
        places.view(whole)[:] = np.ascontiguousarray(entries, dtype=kind).view(whole)

    def _entries(self, records: AnyArray, column: Column, at: int) -> AnyArray:
        """Return the entries of a column in ``(n, W)`` records, starting at byte ``at``."""
        spelled = np.ascontiguousarray(records[:, at : at + column.bytes])
        entries = spelled.view(np.dtype(column.dtype).newbyteorder(self.order)).astype(column.dtype, copy=False)
        return entries.reshape(column.shape(len(records)))

    def swap_byte_order(self, records: AnyArray) -> AnyArray:
        """Return ``(n, W)`` records with the bytes of every number in reverse order; nothing is checked."""
        blocks, in_clear = self._positions_before_swap
        swapped = np.take(records, blocks, axis=1)
        if in_clear != blocks:
            is_clear = records[:, 0] == IN_CLEAR
            swapped[is_clear] = records[is_clear][:, in_clear]
        return swapped

    @cached_property
    def _positions_before_swap(self) -> tuple[list[int], list[int]]:
        """Positions of bytes before the swap: in records with a block, and in records with only a value in clear."""
        blocks, in_clear, at = list(range(self.width)), list(range(self.width)), self._block_at
        for column in self.block:
            _reverse_bytes(blocks, column, at)
            at += column.bytes
        if self.clear is None:
            return blocks, blocks
        if self.clear_blocks:
            _reverse_bytes(blocks, self.clear, 1)
            return blocks, blocks
        _reverse_bytes(in_clear, self.clear, 1)
        return blocks, in_clear


def _reverse_bytes(places: list[int], column: Column, at: int) -> None:
    """Reverse the positions of the bytes of each number of a column that starts at byte ``at``."""
    size = np.dtype(column.dtype).itemsize
    for start in range(at, at + column.bytes, size):
        places[start : start + size] = reversed(places[start : start + size])


STAMP = b"discreet"
"""The key of the stamp among a schema's metadata."""
FORMAT = 1
"""The version of the format of reports."""


def stamp(kind: str, fingerprint: str, **facts: Any) -> dict[bytes, bytes]:
    """Return schema metadata with the kind of a file's content and the fingerprint of its plan."""
    return {STAMP: json.dumps({"format": FORMAT, "kind": kind, "plan": fingerprint, **facts}).encode()}


def report_schema(
    columns: Sequence[Column], fingerprint: str, *, simulated: bool = False, facts: Mapping[str, Any] | None = None
) -> Any:
    """Return the Arrow schema of reports with these columns; its metadata also contain ``facts``."""
    import pyarrow as pa

    entries = {**(facts or {}), "simulated": simulated}
    fields = [pa.field(column.name, _type(column)) for column in columns]
    return pa.schema(fields, metadata=stamp("reports", fingerprint, **entries))


def report_table(reports: Reports, columns: Sequence[Column], facts: Mapping[str, Any] | None = None) -> Any:
    """Return reports as an Arrow table with the schema of `report_schema`; ``facts`` as for `report_schema`.

    Raises:
        DataError: if a number does not fit into its column, in reports that were put together by hand.
    """
    import pyarrow as pa

    in_clear = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
    blocks = None if reports.block_count == reports.n else ~in_clear
    arrays = [
        _array(column, reports.clear, in_clear)
        if column.name == CLEAR
        else _array(column, reports.blocks[column.name], blocks)
        for column in columns
    ]
    schema = report_schema(columns, reports.fingerprint, simulated=reports.simulated, facts=facts)
    return pa.Table.from_arrays(arrays, schema=schema)


def _type(column: Column) -> Any:
    import pyarrow as pa

    if column.width is None:
        return pa.from_numpy_dtype(np.dtype(column.dtype))
    if np.dtype(column.dtype) == np.uint8 and column.bound is None:
        return pa.binary(column.width)
    return pa.list_(pa.field("item", pa.from_numpy_dtype(np.dtype(column.dtype)), nullable=False), column.width)


def _array(column: Column, dense: AnyArray, rows: BoolArray | None) -> Any:
    """Return entries as an Arrow column of reports, with null in the rows that have no entry."""
    import pyarrow as pa

    from discreet.core.arrow import array_of, from_buffer, validity

    largest = np.iinfo(np.dtype(column.dtype)).max
    if dense.dtype != column.dtype and dense.size and (dense.min() < 0 or dense.max() > largest):
        raise DataError("reports.out-of-range", name=column.name, largest=largest)
    entries = np.ascontiguousarray(dense, dtype=column.dtype)
    if rows is not None and not rows.all():
        entries = np.zeros(column.shape(len(rows)), dtype=column.dtype)
        entries[np.flatnonzero(rows)] = dense
    kind = _type(column)
    if column.width is None or pa.types.is_fixed_size_binary(kind):
        return from_buffer(kind, entries, rows)
    members = array_of(entries.reshape(-1))
    return pa.Array.from_buffers(kind, len(entries), [validity(rows)], children=[members])
