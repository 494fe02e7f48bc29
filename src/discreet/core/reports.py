"""Reports: batches of blocks and values in clear, as they leave the devices."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from discreet.arrays import AnyArray, BoolArray, IntArray, frozen, is_masked
from discreet.core.batches import SealedBatch
from discreet.core.checks import shown
from discreet.core.columns import marks
from discreet.errors import DataError, MismatchError, ParameterError

Blocks: TypeAlias = Mapping[str, AnyArray]
"""The columns of a batch of blocks, each ``(m,)`` or ``(m, width)``; a block law says which."""

_MOST_REPORTS = 1 << 62

CLEAR = "clear"
"""Name of the column of codes of values in clear."""


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
        """Return the shape of the column of so many blocks."""
        return (rows,) if self.width is None else (rows, self.width)


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
        batches: the sealed batches among them, each as a whole; some of the rows are none.

    ``reports[mask]`` and ``reports[10:20]`` are those of some rows, and ``monday + tuesday`` are both batches, of one
    plan; polars, pandas, DuckDB and Arrow read reports as a table (``polars.DataFrame(reports)``).

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
    batches: tuple[SealedBatch, ...] = ()

    def __post_init__(self) -> None:
        """Make the columns read-only; their contents are for the mechanism to judge.

        Raises:
            DataError: if they are no columns of integers, or do not fit together.
        """
        check_header(self.fingerprint, self.n, self.simulated)
        told, rows = 0, self.n
        if self.in_clear is not None:
            if not is_plain(self.in_clear, "b") or len(self.in_clear) != rows:
                raise DataError(f"in_clear must be ({rows},) booleans, one for each report, or None.")
            told = int(np.count_nonzero(self.in_clear))
            object.__setattr__(self, "in_clear", frozen(self.in_clear))
        if not is_plain(self.clear) or len(self.clear) != told:
            raise DataError(f"clear must be ({told},) codes, one for each report in clear.")
        object.__setattr__(self, "clear", frozen(self.clear))
        object.__setattr__(self, "blocks", _sealed_blocks(self.blocks, (rows - told, rows)))
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
        mask = marks(rows, "a mask of reports")
        if len(mask) != self.n:
            raise DataError(f"a mask of reports must have {self.n} entries, one for each report, got {len(mask)}.")
        return self.take(np.flatnonzero(mask))

    __iter__ = None
    """Reports are columns: there is nothing to be had of one report alone."""

    def _with(self, n: int, in_clear: BoolArray | None, clear: IntArray, rows: slice | IntArray) -> Self:
        blocks = {name: column[rows] for name, column in self.blocks.items()}
        return type(self)(self.fingerprint, n, in_clear, clear, blocks, self.simulated, self.columns)

    def __add__(self, other: Self) -> Self:
        """Return the reports of both batches, in order; of more than two, see `concatenate`.

        Raises:
            MismatchError: if they belong to different plans.
        """
        return self.concatenate([self, other]) if isinstance(other, Reports) else NotImplemented

    def __radd__(self, other: object) -> Self:
        """Return these reports for 0, so that ``sum`` works."""
        return self if other == 0 and isinstance(other, int) else NotImplemented

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with the columns of a file of reports, and its mark of the plan.

        Raises:
            ParameterError: if the reports were put together by hand, so that they have no ``columns``.
        """
        from discreet.core.report_table import report_table

        return report_table(self, self._formats())

    def _formats(self) -> tuple[Column, ...]:
        if not self.columns:
            raise ParameterError(
                "reports that were put together by hand must say the formats of their columns, as the mechanism does: "
                "dataclasses.replace(reports, columns=mechanism.columns)."
            )
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

        Files of them, of any number of reports, are written by `discreet.io.sealed_files.write_sealed`.

        Raises:
            ParameterError: if the reports were put together by hand, so that they have no ``columns``.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["bus", "walk", "car"] * 2, random=dc.SeededRandom(1))
            >>> reports.sealed().blocks["symbol"].tolist()
            [0, 2, 2, 2, 2, 2]
        """
        from discreet.core.record_form import RecordForm
        from discreet.kernels.row_order import row_order

        clear_blocks = len(self.clear) > 0 and self.block_count == self.n
        return self.take(row_order(RecordForm(self._formats(), clear_blocks, order=">").encode(self)))

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """Return all the reports of ``parts``, in order.

        Raises:
            DataError: if there are no parts.
            MismatchError: if they belong to different plans.
        """
        batches = list(parts)
        if not batches:
            raise DataError("at least one batch of reports is needed, got none.")
        first = batches[0]
        if not all(isinstance(batch, Reports) for batch in batches):
            raise DataError("batches of reports are needed to make one of them, got something else.")
        check_same_plan({batch.fingerprint for batch in batches})
        if any(set(batch.blocks) != set(first.blocks) for batch in batches):
            raise MismatchError("batches of one plan must have the same columns.")
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
            tuple(sealed for batch in batches for sealed in batch.batches),
        )


def _ends(rows: slice, n: int) -> tuple[int, int, int]:
    """Return first, stop and step of a slice that goes forwards."""
    try:
        start, stop, step = rows.indices(n)
    except (TypeError, ValueError):
        start, stop, step = 0, 0, 0
    if step < 1:
        raise ParameterError(f"a slice of reports must go forwards in whole numbers, got step={shown(rows.step)}.")
    return start, stop, step


def _sealed_blocks(blocks: object, lengths: tuple[int, int]) -> Blocks:
    """Return read-only columns, all of one of these lengths."""
    if not isinstance(blocks, Mapping) or not blocks:
        raise DataError("blocks must be columns by name, at least one.")
    sealed = {}
    for name, column in blocks.items():
        if not is_plain(column, axes=2) or len(column) not in lengths:
            raise DataError(f"blocks must be columns of integers with a row for each of {lengths[0]} blocks.")
        lengths = len(column), len(column)
        sealed[name] = frozen(column)
    return MappingProxyType(sealed)


def is_plain(array: object, kinds: str = "iu", axes: int = 1) -> bool:
    """Return true if this is an unmasked NumPy array of these kinds of numbers, with at most so many axes."""
    return (
        isinstance(array, np.ndarray) and array.dtype.kind in kinds and 1 <= array.ndim <= axes and not is_masked(array)
    )


def check_header(fingerprint: object, n: object, simulated: object) -> None:
    """Refuse a fingerprint, a number of reports or a mark of simulation that is none.

    Raises:
        DataError: if there is no fingerprint, n is no number of reports, or it is not said whether they are simulated.
    """
    if type(fingerprint) is not str or not fingerprint:
        raise DataError(f"fingerprint must be the mechanism's own, got {type(fingerprint).__name__}.")
    if type(n) is not int or not 0 <= n < _MOST_REPORTS:
        raise DataError(f"n must be a number of reports, an integer in 0..2^62 - 1, got n={shown(n)}.")
    if type(simulated) is not bool:
        raise DataError(f"simulated must be True or False, got {type(simulated).__name__}.")


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
        raise MismatchError(f"reports, tallies and mechanism must belong to one plan, got plans {shown}.")
