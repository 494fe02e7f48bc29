"""The reader of counts that a query made in a warehouse; see `discreet.sql.query`.

Every row of a result names the plan and the number of all rows. So a result that was cut, doubled, or put together
from several results is refused. Counts that are not in the result are 0.
"""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import IntArray
from discreet.core.reports import COUNTS
from discreet.core.tally import GroupedTally, Tally
from discreet.engines.folds import groups_in
from discreet.errors import DataError, MismatchError, SourceWarning
from discreet.mechanisms import Mechanism

PARTS = ("n", "flawed", "clear", "block")
"""The parts of a result: reports, other rows, values in clear, and blocks."""
_N, _FLAWED, _CLEAR, _BLOCK = range(len(PARTS))
_MOST = 1 << 62
_UNSEEN = (
    "The counts come from a warehouse. It is not known whether reports are simulated, counted twice, or reports of "
    "another plan. The author of the query must make sure of this."
)


def read_counts(
    mechanism: Mechanism, table: pa.Table, by: Sequence[str] | None = None, *, bad_share: float = 0.0
) -> GroupedTally:
    """Return the tallies of the groups in a result of `tally_sql`, and warn of facts that are not known from counts.

    Args:
        mechanism: the mechanism that made the reports.
        table: the result, in Arrow.
        by: the columns of groups; groups that differ in other columns are added up. None for all columns of groups.
        bad_share: the largest share of rows, in 0..1, that no device can have sent.

    Raises:
        DataError: if rows are missing or repeated, a count is not a whole number of at least 0, the counts do not fit
            together, a group has no label, or too many rows of the warehouse are not reports of the plan.
        MismatchError: if the result belongs to another plan.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> rows = {"part": ["n", "flawed", "block", "block"], "place": [0, 0, 0, 1], "count": [50, 0, 30, 20]}
        >>> table = pa.table({**rows, "of_rows": [4] * 4, "plan": [mechanism.fingerprint] * 4})
        >>> with warnings.catch_warnings(action="ignore"):
        ...     read_counts(mechanism, table).whole.support.tolist()
        [30, 20]
    """
    table = table.combine_chunks()
    names = tuple(name for name in table.column_names if name not in COUNTS)
    if missing := [name for name in by or () if name not in names]:
        raise DataError("warehouse.no-group", name=missing[0], there=", ".join(names) or "none")
    _check_whole(mechanism, table)
    parts, places, counts = _parts(table), _numbers(table, "place"), _numbers(table, "count")
    if names:
        codes, labels = groups_in([table[name].combine_chunks() for name in names], names)
        tuples = labels if len(names) > 1 else [(label,) for label in labels]
    else:
        codes, tuples = np.zeros(len(parts), np.int64), [()]
    _check_rows(np.stack([codes, parts, places], axis=1), counts, len(tuples))
    flawed = int(counts[parts == _FLAWED].sum())
    _note(flawed, int(counts[parts == _N].sum()), bad_share)
    tallies: dict[Any, Tally] = {}
    chosen = [names.index(name) for name in (names if by is None else by)]
    for code, group in enumerate(tuples):
        rows = codes == code
        tally = _tally(mechanism, parts[rows], places[rows], counts[rows])
        label = group[chosen[0]] if len(chosen) == 1 else tuple(group[at] for at in chosen)
        if tally.n:
            tallies[label] = tallies[label] + tally if label in tallies else tally
    return GroupedTally(tuple(names if by is None else by), {label: tallies[label] for label in sorted(tallies)})


def _check_whole(mechanism: Mechanism, table: pa.Table) -> None:
    """Raise an error for a result of another plan, or with too few or too many rows."""
    plans = table["plan"].cast(pa.large_string())
    if not table.num_rows or pc.any(pc.fill_null(pc.not_equal(plans, mechanism.fingerprint), True)).as_py():
        raise MismatchError("warehouse.other-plan", plan=mechanism.fingerprint[:12])
    if np.any(_numbers(table, "of_rows") != table.num_rows):
        raise DataError("warehouse.other-rows", rows=table.num_rows)


def _numbers(table: pa.Table, name: str) -> IntArray:
    """Return a column of whole numbers of at least 0 as 64-bit integers."""
    column = table[name].combine_chunks()
    whole: IntArray | None = None
    # Not chained, because the library's error quotes an entry.
    with suppress(pa.ArrowException):
        whole = None if column.null_count or pa.types.is_boolean(column.type) else column.cast(pa.int64()).to_numpy()
    if whole is None or (len(whole) and whole.min() < 0):
        raise DataError("warehouse.not-whole", name=name)
    return whole


def _parts(table: pa.Table) -> IntArray:
    """Return the index of each row's part in `PARTS`."""
    parts = pc.index_in(table["part"].cast(pa.large_string()), value_set=pa.array(PARTS, pa.large_string()))
    if parts.null_count:
        raise DataError("warehouse.unknown-part", parts=", ".join(PARTS))
    indices: IntArray = parts.to_numpy().astype(np.int64)
    return indices


def _check_rows(rows: IntArray, counts: IntArray, groups: int) -> None:
    """Raise an error for a repeated count, a group without its number of reports, or too many reports."""
    _, first, times = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if len(first) < len(rows):
        raise DataError("warehouse.twice", count=int(np.count_nonzero(times > 1)))
    reports = counts[rows[:, 1] == _N]
    if len(reports) < groups:
        raise DataError("warehouse.without-n", count=groups - len(reports))
    if int(reports.sum(dtype=object)) >= _MOST:
        raise DataError("warehouse.too-many")


def _tally(mechanism: Mechanism, parts: IntArray, places: IntArray, counts: IntArray) -> Tally:
    """Return the tally of one group, or raise an error if no reports can have these counts."""
    blocks, values = mechanism.tally_sizes
    support, clear = np.zeros(blocks, np.int64), np.zeros(values, np.int64)
    in_clear, in_blocks = parts == _CLEAR, parts == _BLOCK
    codes = mechanism.domain.clear_codes if values else np.empty(0, np.int64)
    at = np.searchsorted(codes, places[in_clear])
    known = bool((places[in_blocks] < blocks).all()) and bool((places[parts <= _FLAWED] == 0).all())
    if not known or not (np.append(codes, -1)[np.minimum(at, values)] == places[in_clear]).all():
        raise DataError("warehouse.unknown-place")
    support[places[in_blocks]], clear[at] = counts[in_blocks], counts[in_clear]
    n = int(counts[parts == _N].sum())
    if not mechanism.is_consistent(n, support, clear):
        raise DataError("warehouse.inconsistent", n=n)
    return Tally(mechanism.fingerprint, n, support, clear)


def _note(flawed: int, n: int, bad_share: float) -> None:
    """Warn of rows that are no reports, and of facts that are not known from counts."""
    if flawed > bad_share * (n + flawed):
        raise DataError("warehouse.flawed", bad=flawed, rows=n + flawed, share=bad_share)
    out = f"{flawed:,} of {n + flawed:,} rows in the warehouse are not reports of this plan, and are left out."
    for note in ([out] if flawed else []) + [_UNSEEN]:
        warnings.warn(note, SourceWarning, stacklevel=2)
