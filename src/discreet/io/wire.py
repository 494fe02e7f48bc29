"""What a batch of reports may look like from outside, checked before anything is counted.

Whatever the format, a batch arrives as nullable columns: ``clear`` with a value's code, and the columns of the block
law. A report has either a value in clear or a whole block (both, where the plan sends noise blocks along).
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.core.reports import CLEAR, Blocks, Column, Reports, smallest_unsigned
from discreet.errors import DataError
from discreet.mechanisms import Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class Nullable:
    """One column as it arrived.

    Attributes:
        present: ``(n,)`` booleans: which rows have an entry.
        entries: ``(k,)`` or ``(k, width)`` the entries of those rows, in order.
    """

    present: BoolArray
    entries: AnyArray


def checked_reports(mechanism: Mechanism, n: int, columns: dict[str, Nullable], *, simulated: bool) -> Reports:
    """Make a batch of reports out of nullable columns.

    Args:
        mechanism: what they claim to come from.
        n: number of rows.
        columns: one for each of the mechanism's columns.
        simulated: whether they say that they are simulated.

    Raises:
        DataError: if no device can have sent one of them; it says how many, where the first one is, and what is wrong.
    """
    clear = columns.get(CLEAR)
    in_clear = None if clear is None else clear.present
    blocks = {column.name: columns[column.name] for column in mechanism.block_columns}
    _check_shape(mechanism, n, in_clear, blocks)
    for column in mechanism.columns:
        _check_bound(column, columns[column.name])
    if clear is not None:
        outside = mechanism.domain.sensitive[clear.entries.astype(np.int64)]
        _refuse(clear.present, outside, "give a sensitive value in clear")
    entries = {name: column.entries for name, column in blocks.items()}
    _refuse(next(iter(blocks.values())).present, mechanism.flaws(entries), "hold a block that no device can send")
    return _assembled(mechanism, n, clear, entries, simulated)


def _assembled(mechanism: Mechanism, n: int, clear: Nullable | None, blocks: Blocks, simulated: bool) -> Reports:
    stored = {c.name: np.ascontiguousarray(blocks[c.name], dtype=c.dtype) for c in mechanism.block_columns}
    codes = np.empty(0) if clear is None else clear.entries
    narrow = codes.astype(smallest_unsigned(mechanism.domain.size))
    return Reports(mechanism.fingerprint, n, None if clear is None else clear.present, narrow, stored, simulated)


def _check_shape(mechanism: Mechanism, n: int, in_clear: BoolArray | None, blocks: dict[str, Nullable]) -> None:
    every = np.ones(n, dtype=np.bool_)
    told = np.zeros(n, dtype=np.bool_) if in_clear is None else in_clear
    for column in blocks.values():
        if mechanism.clear_blocks:
            _refuse(every, ~column.present, "lack their block")
            continue
        _refuse(every, told & column.present, "hold both a block and a value in clear")
        _refuse(every, ~told & ~column.present, "hold neither a whole block nor a value in clear")


def _check_bound(column: Column, found: Nullable) -> None:
    if column.bound is None:
        return
    each = (found.entries < 0) | (found.entries >= column.bound)
    wrong: BoolArray = np.any(each.reshape(len(each), column.width or 1), axis=1)
    _refuse(found.present, wrong, f"have a {column.name} outside 0..{column.bound - 1}")


def _refuse(present: BoolArray, wrong: BoolArray, what: str) -> None:
    """Raise if any of the present rows is wrong, by count and place alone."""
    if wrong.any():
        rows = np.flatnonzero(present)[wrong]
        raise DataError(f"{len(rows)} of {len(present)} reports {what} (first at row {rows[0]}); leave them out.")
