"""Checks of reports from outside, before anything is counted; all formats use these checks.

A batch arrives as nullable columns: ``clear`` with a value's code, and the columns of the block law. A report has
either a value in clear or a complete block. It has both if the mechanism adds noise blocks to reports in clear.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.reports import CLEAR, Column, Reports, smallest_unsigned
from discreet.errors import DataError
from discreet.mechanisms.mechanism import Mechanism

Checked: TypeAlias = tuple[Reports, Counter[str]]
"""Reports that devices can have sent, and the number of omitted rows by reason."""


class ArrowTable(Protocol):
    """A table with Arrow's C stream interface: from pandas, polars, DuckDB, Spark or Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a capsule with an Arrow stream of batches of the table."""
        ...


UNREADABLE = "do not have the form of a report"
GAP = "have a list of members with a missing entry"
_LACKING = "have no block"
_BOTH = "have both a block and a value in clear"
_NEITHER = "have neither a whole block nor a value in clear"
_SENSITIVE = "have a sensitive value in clear"
_IMPOSSIBLE = "have a block that no device can send"


@dataclass(frozen=True, slots=True, eq=False)
class Nullable:
    """A column of a table as it arrived: a mask of the rows with an entry, and these entries.

    Attributes:
        present: ``(n,)`` booleans: true for a row with an entry; None if all rows have one.
        entries: ``(k,)`` or ``(k, width)`` the entries of these rows, in order.
    """

    present: BoolArray | None
    entries: AnyArray

    def mask(self, n: int) -> BoolArray:
        """Return ``(n,)`` booleans: true for a row in which the column has an entry."""
        return np.ones(n, dtype=np.bool_) if self.present is None else self.present

    def take(self, keep: BoolArray) -> "Nullable":
        """Return the part of a nullable column in the rows that ``(n,)`` booleans select."""
        if self.present is None:
            return Nullable(None, self.entries[keep])
        return Nullable(self.present[keep], self.entries[keep[self.present]])


class FlawedRowsError(DataError):
    """Raised if a batch has rows that no device can have sent.

    Attributes:
        what: the flaw of the rows; one of `reasons`.
        rows: the ``(k,)`` positions of the rows, never their contents.
    """

    def __init__(self, code: str, /, *, what: str = "", rows: IntArray | None = None, **values: Any) -> None:
        super().__init__(code, what=what, **values)
        self.what, self.rows = what, rows


def reasons(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the possible flaws of a row, each as the end of "n reports ...", in the order of the checks."""
    bounds = [_outside(column) for column in mechanism.columns if column.bound is not None]
    return (UNREADABLE, GAP, _LACKING, _BOTH, _NEITHER, *bounds, _SENSITIVE, _IMPOSSIBLE)


def valid_reports(
    mechanism: Mechanism, n: int, columns: dict[str, Nullable], *, simulated: bool | BoolArray
) -> Checked:
    """Return the valid reports among rows, and the number of invalid rows by flaw; see `checked_reports`.

    Args:
        mechanism: the mechanism that the reports claim.
        n: the number of rows.
        columns: one for each of the mechanism's columns.
        simulated: whether all reports are marked as simulated, or ``(n,)`` booleans for the reports.

    Returns:
        The reports, and the number of invalid rows for each of the `reasons`; a row counts for its first flaw.
    """
    left_out: Counter[str] = Counter()
    while True:
        try:
            return checked_reports(mechanism, n, columns, simulated=bool(np.any(simulated))), left_out
        except FlawedRowsError as error:
            keep = np.ones(n, dtype=np.bool_)
            keep[error.rows] = False
            left_out[error.what] += n - int(np.count_nonzero(keep))
        columns = {name: column.take(keep) for name, column in columns.items()}
        simulated = simulated[keep] if isinstance(simulated, np.ndarray) else simulated
        n = int(np.count_nonzero(keep))


def checked_reports(mechanism: Mechanism, n: int, columns: dict[str, Nullable], *, simulated: bool) -> Reports:
    """Return a batch of reports from nullable columns; raise an error if a row cannot be a report.

    Args:
        mechanism: the mechanism that the reports claim.
        n: the number of rows.
        columns: one for each of the mechanism's columns.
        simulated: whether the reports are marked as simulated.

    Raises:
        DataError: if no device can have sent one of the rows; the error gives their number, first row and flaw.
    """
    clear = columns.get(CLEAR)
    in_clear = None if clear is None else clear.mask(n)
    blocks = {column.name: columns[column.name] for column in mechanism.block_columns}
    _check_shape(mechanism, n, in_clear, blocks)
    for column in mechanism.columns:
        wrong = column.out_of_bounds(columns[column.name].entries)
        if wrong is not None:
            refuse_rows(columns[column.name].present, wrong, _outside(column))
    if clear is not None:
        outside = mechanism.domain.sensitive[clear.entries.astype(np.int64)]
        refuse_rows(clear.present, outside, _SENSITIVE)
    entries = {name: column.entries for name, column in blocks.items()}
    refuse_rows(next(iter(blocks.values())).present, mechanism.flaws(entries), _IMPOSSIBLE)
    stored = {c.name: np.ascontiguousarray(entries[c.name], dtype=c.dtype) for c in mechanism.block_columns}
    codes = np.empty(0) if clear is None else clear.entries
    narrow = codes.astype(smallest_unsigned(mechanism.domain.size))
    return Reports(mechanism.fingerprint, n, in_clear, narrow, stored, simulated, mechanism.columns)


def _check_shape(mechanism: Mechanism, n: int, in_clear: BoolArray | None, blocks: dict[str, Nullable]) -> None:
    for column in blocks.values():
        if mechanism.clear_blocks or in_clear is None:
            if column.present is not None:
                refuse_rows(None, ~column.present, _LACKING if mechanism.clear_blocks else _NEITHER)
            continue
        present = column.mask(n)
        refuse_rows(None, in_clear & present, _BOTH)
        refuse_rows(None, ~in_clear & ~present, _NEITHER)


def _outside(column: Column) -> str:
    return f"have a {column.name} outside 0..{(column.bound or 0) - 1}"


def refuse_rows(present: BoolArray | None, wrong: BoolArray, what: str) -> None:
    """Raise an error for rows with a wrong entry; it gives their number and the position of the first one."""
    if wrong.any():
        rows = np.flatnonzero(wrong) if present is None else np.flatnonzero(present)[wrong]
        n = len(wrong) if present is None else len(present)
        raise FlawedRowsError("reports.flawed-rows", what=what, rows=rows, count=len(rows), n=n, first=rows[0])
