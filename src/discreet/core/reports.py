"""Reports in columns, a row each: as they leave devices, in canonical order, as bytes, and as a table of Arrow.

As bytes a report has a constant length, so that devices send it and canonical order compares it. A table has a stamp
with the plan's fingerprint in the metadata of its schema.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from discreet.arrays import AnyArray, BoolArray, IntArray, frozen, is_masked
from discreet.core.batches import NamedBatch, batch_facts, merged, new_batches
from discreet.core.checks import is_whole, shown
from discreet.core.columns import marks
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.kernels.row_order import row_order

Blocks: TypeAlias = Mapping[str, AnyArray]
"""The columns of a batch of blocks, each ``(m,)`` or ``(m, width)``; a block law says which."""

_MOST_REPORTS = 1 << 62

CLEAR, PLAN, SIMULATED = "clear", "plan", "simulated"
"""Name of the column of codes of values in clear."""

RESERVED = frozenset([CLEAR, PLAN, SIMULATED])
"""Names of columns that mean something beside the reports of any plan."""


def is_count(name: str) -> bool:
    """Return true if a column may say of how many people a row is: ``count``, in small or capital letters."""
    return name.strip().lower() == "count"


@dataclass(frozen=True, slots=True)
class Column:
    """The format of one column of a block.

    Attributes:
        name: the field's name on the wire.
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
        """Size of one block in this column, in bytes."""
        return np.dtype(self.dtype).itemsize * (1 if self.width is None else self.width)

    def shape(self, rows: int) -> tuple[int, ...]:
        """Return the shape of a column with this number of blocks."""
        return (rows,) if self.width is None else (rows, self.width)

    def out_of_bounds(self, entries: AnyArray) -> BoolArray | None:
        """Return ``(m,)`` booleans: the rows with an entry that is negative or not below the bound; None without any.

        Args:
            entries: ``(m,)`` or ``(m, width)`` integers.
        """
        # Nearly always all is well, which a sweep or two that write nothing show.
        at_least_0 = entries.dtype.kind == "u" or not entries.size or entries.min() >= 0
        if self.bound is None or not entries.size or (at_least_0 and entries.max() < self.bound):
            return None
        each = (entries < 0) | (entries >= self.bound)
        wrong: BoolArray = np.any(each.reshape(len(each), -1), axis=1)
        return wrong


def report_columns(size: int, has_clear: bool, block: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the columns of a report: of the code of a value in clear, where there are such values, and of a block."""
    return (Column(CLEAR, smallest_unsigned(size), bound=size), *block) if has_clear else block


@lru_cache(maxsize=256)
def smallest_unsigned(bound: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds 0..bound - 1."""
    return np.min_scalar_type(max(bound - 1, 0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reports:
    """A batch of reports of one mechanism, in columns; row i is the report on the i-th value.

    Attributes:
        fingerprint: of the plan.
        n: number of reports.
        in_clear: ``(n,)`` booleans, which reports state a value in clear; None if none does.
        clear: ``(F,)`` codes of these values, in the order of the rows.
        blocks: columns of the blocks, in the order of the rows with a block.
        simulated: whether the noise is from a seeded source, so that it protects nobody.
        columns: formats of the columns as they are written; empty for reports that somebody put together by hand, and
            where the blocks are not of these columns.
        batches: the batches that the reports are of, as far as they are known, in the order of their names. Reports
            that a mechanism makes are a new batch; reports that somebody put together by hand are of none.

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

    fingerprint: str
    n: int
    in_clear: BoolArray | None
    clear: IntArray
    blocks: Blocks
    simulated: bool = False
    columns: tuple[Column, ...] = ()
    batches: tuple[NamedBatch, ...] = ()

    def __post_init__(self) -> None:
        """Make the columns read-only; their contents are for the mechanism to judge.

        Raises:
            DataError: if they are no columns of integers, or do not fit together.
            MismatchError: if a batch has more reports here than it can have.
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
            object.__setattr__(self, "in_clear", frozen(self.in_clear))
        if not is_plain(self.clear) or len(self.clear) != clear_count:
            raise DataError("clear.wrong-form", argument="clear", count=clear_count)
        object.__setattr__(self, "clear", frozen(self.clear))
        object.__setattr__(self, "blocks", _sealed_blocks(self.blocks, (rows - clear_count, rows)))
        if {column.name for column in self.columns} - {CLEAR} != {*self.blocks}:
            # Somebody put other blocks in their place.
            object.__setattr__(self, "columns", ())

    def __reduce__(self) -> tuple[Any, ...]:
        # Sealed columns cannot be pickled as they are; batches travel between processes all the same.
        header = self.fingerprint, self.n, self.in_clear, self.clear
        return type(self), (*header, dict(self.blocks), self.simulated, self.columns, self.batches)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        marks = ", simulated" if self.simulated else ""
        return f"Reports(n={self.n}, in_clear={len(self.clear)}, plan={self.fingerprint[:12]}{marks})"

    @property
    def nbytes(self) -> int:
        """Size of the columns, in bytes."""
        mask = 0 if self.in_clear is None else self.in_clear.nbytes
        return self.clear.nbytes + mask + sum(column.nbytes for column in self.blocks.values())

    @property
    def block_count(self) -> int:
        """Number of rows with a block."""
        return block_count(self.blocks)

    @property
    def batch(self) -> NamedBatch | None:
        """The batch that all reports are of, or the part of it; None if they are of several, or it is not known."""
        return self.batches[0] if len(self.batches) == 1 and self.batches[0].n == self.n else None

    def part(self, start: int, stop: int) -> Self:
        """Return the reports of rows start..stop - 1 as a batch."""
        start, stop, _ = slice(start, stop).indices(self.n)
        stop = max(start, stop)
        if self.in_clear is None:
            return self._with(stop - start, None, self.clear, slice(start, stop))
        before = np.count_nonzero(self.in_clear[:start])
        inside = np.count_nonzero(self.in_clear[start:stop])
        every_row = self.block_count == self.n
        rows = slice(start, stop) if every_row else slice(start - before, stop - before - inside)
        return self._with(stop - start, self.in_clear[start:stop], self.clear[before : before + inside], rows)

    def __getitem__(self, rows: Any) -> Self:
        """Return the reports of some rows, in their order.

        Args:
            rows: a slice, or ``(n,)`` booleans of any holder: NumPy, pandas, polars, Arrow, a list.

        Raises:
            DataError: if a mask does not say true or false of every report.
            ParameterError: if a slice goes backwards or is not of whole numbers.
        """
        if isinstance(rows, slice):
            start, stop, step = _ends(rows, self.n)
            return self.part(start, stop) if step == 1 else self.take(np.arange(start, stop, step))
        mask = marks(rows, "entries of a mask")
        if len(mask) != self.n:
            raise DataError("mask.wrong-length", count=len(mask), n=self.n)
        return self.take(np.flatnonzero(mask))

    __iter__ = None
    """Reports are columns: there is nothing to be had of one report alone."""

    def _with(self, n: int, in_clear: BoolArray | None, clear: IntArray, rows: slice | IntArray) -> Self:
        blocks, batches = {name: column[rows] for name, column in self.blocks.items()}, self._batches_of(n)
        return type(self)(self.fingerprint, n, in_clear, clear, blocks, self.simulated, self.columns, batches)

    def _batches_of(self, n: int) -> tuple[NamedBatch, ...]:
        """Return the batches that some of the rows are of, as far as their number says it."""
        if n == self.n:
            return self.batches
        batch = self.batch
        return () if batch is None or not 0 < n < batch.n else (NamedBatch(batch.name, n, batch.size),)

    def __add__(self, other: Self) -> Self:
        """Return the reports of both batches, in order; of more than two, see `concatenate`.

        Raises:
            MismatchError: if they belong to different plans, or some reports are in both, as far as batches show it.
        """
        return self.concatenate([self, other]) if isinstance(other, Reports) else NotImplemented

    def __radd__(self, other: object) -> Self:
        """Return these reports for 0, so that ``sum`` works."""
        return self if is_whole(other) and other == 0 else NotImplemented

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with the columns of a file of reports, the mark of the plan and of the batch.

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
        """Return the columns as a stream of Arrow, which polars, pandas, DuckDB and Arrow read as a table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def take(self, rows: IntArray) -> Self:
        """Return the reports of some rows as a batch, in this order.

        Args:
            rows: ``(m,)`` places in 0..n - 1.
        """
        if self.in_clear is None:
            return self._with(len(rows), None, self.clear, rows)
        chosen = self.in_clear[rows]
        places = np.cumsum(self.in_clear)[rows]
        blocks = rows if self.block_count == self.n else (rows - places)[~chosen]
        return self._with(len(rows), chosen, self.clear[(places - 1)[chosen]], blocks)

    def sealed(self) -> Self:
        """Return the reports in canonical order: sorted by what they say, so that the order of people is gone.

        Files of them, of any number of reports, are written by `discreet.formats.sealed_files.write_sealed`.

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
        """Return all the reports of ``parts``, in order.

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


def _ends(rows: slice, n: int) -> tuple[int, int, int]:
    """Return first, stop and step of a slice that goes forwards."""
    try:
        start, stop, step = rows.indices(n)
    except (TypeError, ValueError):
        start, stop, step = 0, 0, 0
    if step < 1:
        raise ParameterError("slice.not-forward", step=shown(rows.step))
    return start, stop, step


def _sealed_blocks(blocks: object, lengths: tuple[int, int]) -> Blocks:
    """Return read-only columns, all of one of these lengths."""
    if not isinstance(blocks, Mapping) or not blocks:
        raise DataError("blocks.empty", argument="blocks")
    sealed = {}
    for name, column in blocks.items():
        if not is_plain(column, axes=2) or len(column) not in lengths:
            raise DataError("blocks.wrong-form", argument="blocks", rows=lengths[0])
        lengths = len(column), len(column)
        sealed[name] = frozen(column)
    return MappingProxyType(sealed)


def is_plain(array: object, kinds: str = "iu", axes: int = 1) -> bool:
    """Return true if this is an unmasked NumPy array of these kinds of numbers, with at most this number of axes."""
    return (
        isinstance(array, np.ndarray) and array.dtype.kind in kinds and 1 <= array.ndim <= axes and not is_masked(array)
    )


def check_header(fingerprint: object, n: object, simulated: object) -> None:
    """Refuse an invalid fingerprint, number of reports or mark of simulation.

    Raises:
        DataError: if there is no fingerprint, n is no number of reports, or it is not said whether they are simulated.
    """
    if type(fingerprint) is not str or not fingerprint:
        raise DataError("fingerprint.wrong-type", argument="fingerprint", kind=type(fingerprint).__name__)
    if type(n) is not int or not 0 <= n < _MOST_REPORTS:
        raise DataError("n.out-of-range", argument="n", value=shown(n))
    if type(simulated) is not bool:
        raise DataError("argument.not-boolean", argument="simulated", value=type(simulated).__name__)


def block_count(blocks: Blocks) -> int:
    """Return the number of blocks in the columns."""
    return len(next(iter(blocks.values())))


def check_same_plan(fingerprints: set[str]) -> None:
    """Refuse to combine reports or tallies of different plans.

    Raises:
        MismatchError: if there is more than one fingerprint.
    """
    if len(fingerprints) > 1:
        shown = ", ".join(sorted(mark[:12] for mark in fingerprints))
        raise MismatchError("plan.different", plans=shown)


BLOCK, IN_CLEAR, BOTH = 1, 2, 3
"""Kinds of records, their first byte."""


@dataclass(frozen=True)
class RecordForm:
    """The form of records: a byte that says what follows, then the columns of a report, then zeros.

    Attributes:
        columns: of a report: of the code of a value in clear, where there are such values, and of a block.
        clear_blocks: whether reports in clear carry a block too.
        order: ``"<"`` on the wire; ``">"``, the highest byte first, where records are to compare as their numbers do.
    """

    columns: tuple[Column, ...]
    clear_blocks: bool
    order: Literal["<", ">"] = "<"

    @cached_property
    def clear(self) -> Column | None:
        """The column of codes of values in clear; None where no report states one."""
        return next((column for column in self.columns if column.name == CLEAR), None)

    @cached_property
    def block(self) -> tuple[Column, ...]:
        """The columns of a block."""
        return tuple(column for column in self.columns if column.name != CLEAR)

    @cached_property
    def _clear_bytes(self) -> int:
        return 0 if self.clear is None else self.clear.bytes

    @cached_property
    def _block_at(self) -> int:
        """The place of a block's first byte."""
        return 1 + (self._clear_bytes if self.clear_blocks else 0)

    @cached_property
    def _block_end(self) -> int:
        return self._block_at + sum(column.bytes for column in self.block)

    @cached_property
    def width(self) -> int:
        """W, the bytes of a record."""
        return max(self._block_end, 1 + self._clear_bytes)

    def encode(self, reports: Reports, width: int | None = None) -> AnyArray:
        """Return ``(n, W)`` bytes, a record for each report; with zeros up to another width than W, if one is given."""
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
        """Return ``(m, W)`` bytes, the records of reports with nothing but a value in clear; ``width`` as there."""
        records = np.zeros((len(codes), width or self.width), dtype=np.uint8)
        records[:, 0] = IN_CLEAR
        if self.clear is not None:
            self._put(records, self.clear, 1, codes)
        return records

    def of_blocks(self, blocks: Blocks, width: int | None = None) -> AnyArray:
        """Return ``(m, W)`` bytes, the records of reports with nothing but a block; ``width`` as there."""
        records, at = np.zeros((block_count(blocks), width or self.width), dtype=np.uint8), self._block_at
        records[:, 0] = BLOCK
        for column in self.block:
            self._put(records, column, at, blocks[column.name])
            at += column.bytes
        return records

    def _put(self, records: AnyArray, column: Column, at: int, entries: AnyArray) -> None:
        """Write the entries of a column into ``(n, W)`` records, from byte ``at`` on."""
        kind, places = np.dtype(column.dtype).newbyteorder(self.order), records[:, at : at + column.bytes]
        if column.width is None:
            places.view(kind)[:, 0] = entries
            return
        # Rows as a whole, of a few bytes each: copied entry by entry they take three times as long.
        whole = np.dtype((np.void, column.bytes))
        places.view(whole)[:] = np.ascontiguousarray(entries, dtype=kind).view(whole)

    def _entries(self, records: AnyArray, column: Column, at: int) -> AnyArray:
        """Return the entries of a column in ``(n, W)`` records."""
        spelled = np.ascontiguousarray(records[:, at : at + column.bytes])
        entries = spelled.view(np.dtype(column.dtype).newbyteorder(self.order)).astype(column.dtype, copy=False)
        return entries.reshape(column.shape(len(records)))

    def turned(self, records: AnyArray) -> AnyArray:
        """Return ``(n, W)`` records with the bytes of every number in the other order; nothing is checked."""
        blocks, in_clear = self._turns
        swapped = np.take(records, blocks, axis=1)
        if in_clear != blocks:
            is_clear = records[:, 0] == IN_CLEAR
            swapped[is_clear] = records[is_clear][:, in_clear]
        return swapped

    @cached_property
    def _turns(self) -> tuple[list[int], list[int]]:
        """Sources of the bytes of turned numbers: in records with a block, and in those with only a value."""
        blocks, in_clear, at = list(range(self.width)), list(range(self.width)), self._block_at
        for column in self.block:
            _turn(blocks, column, at)
            at += column.bytes
        if self.clear is None:
            return blocks, blocks
        if self.clear_blocks:
            _turn(blocks, self.clear, 1)
            return blocks, blocks
        _turn(in_clear, self.clear, 1)
        return blocks, in_clear


def _turn(places: list[int], column: Column, at: int) -> None:
    """Turn the bytes of each number of a column, whose first byte is at a place."""
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
    """Return the Arrow schema of reports with such columns; ``facts`` are said in its metadata besides."""
    import pyarrow as pa

    entries = {**(facts or {}), "simulated": simulated}
    fields = [pa.field(column.name, _type(column)) for column in columns]
    return pa.schema(fields, metadata=stamp("reports", fingerprint, **entries))


def report_table(reports: Reports, columns: Sequence[Column], facts: Mapping[str, Any] | None = None) -> Any:
    """Return reports as a table with `report_schema`; ``facts`` as there.

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
    """Return entries as a column of reports, on the rows where they are present, nulls elsewhere."""
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
