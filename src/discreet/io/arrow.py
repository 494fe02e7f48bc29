"""Reports as Arrow tables: schema, stamp and checks.

A column per part of a report: ``clear`` (the code of a value in clear) and the block law's own; a plain number is
an unsigned integer, a string of bits a fixed-size binary, a list of members a fixed-size list. Absent parts are null.
The schema's metadata carries, under ``discreet``, the format's version, the plan's fingerprint and whether the reports
are simulated.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import BoolArray
from discreet.core.arrow_memory import flags_of, numbers, present, rows_of_bytes
from discreet.core.report_table import FORMAT, STAMP, report_schema, report_table
from discreet.core.reports import Column, Reports, check_same_plan
from discreet.errors import DataError
from discreet.io.wire import GAP, Nullable, checked_reports, sifted_reports
from discreet.mechanisms import Mechanism

_PUBLIC = "public"


def schema(mechanism: Mechanism, *, simulated: bool = False, facts: Mapping[str, Any] | None = None) -> pa.Schema:
    """Return the Arrow schema of a mechanism's reports; ``facts`` are said in its metadata besides."""
    return report_schema(mechanism.columns, mechanism.fingerprint, simulated=simulated, facts=facts)


def schema_beside(mechanism: Mechanism, public: pa.Schema, *, simulated: bool = False) -> pa.Schema:
    """Return the Arrow schema of reports with public columns beside them, which the stamp names."""
    own = schema(mechanism, simulated=simulated, facts={_PUBLIC: public.names})
    return pa.schema([*own, *public], metadata=own.metadata)


def stamped_public(found: pa.Schema) -> list[str]:
    """Return the names of the public columns of which the stamp says that they are beside the reports."""
    try:
        names = json.loads((found.metadata or {})[STAMP])[_PUBLIC]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def is_stamped(found: pa.Schema) -> bool:
    """Return true if metadata hold a stamp, of any plan."""
    return STAMP in (found.metadata or {})


def read_stamp(found: pa.Schema, kind: str, fingerprint: str) -> dict[str, Any]:
    """Return the facts of a stamp, checked.

    Raises:
        DataError: if there is no stamp, or it is one of another kind or format.
        MismatchError: if it belongs to another plan.
    """
    try:
        facts = json.loads((found.metadata or {})[STAMP])
        known = facts["format"] == FORMAT and facts["kind"] == kind and str.isalnum(facts["plan"])
    except (KeyError, TypeError, ValueError, RecursionError):
        known = False
    if not known:
        raise DataError(f"this does not hold {kind} of discreet, or of another format than {FORMAT}.")
    check_same_plan({fingerprint, facts["plan"]})
    return dict(facts)


def to_arrow(mechanism: Mechanism, reports: Reports) -> pa.Table:
    """Return reports as a table with `schema`."""
    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    return report_table(reports, mechanism.columns)


def from_arrow(mechanism: Mechanism, table: Any) -> Reports:
    """Return the reports of a table, checked.

    Raises:
        DataError: if its columns are not those of the plan, or no device can have sent one of its rows.
        MismatchError: if it belongs to another plan.
    """
    simulated = _checked(mechanism, table)
    return checked_reports(mechanism, table.num_rows, _columns(mechanism, table), simulated=simulated)


def sift_arrow(mechanism: Mechanism, table: Any) -> tuple[Reports, Counter[str]]:
    """Return the valid reports of a table, and the number of invalid rows by flaw.

    Raises:
        DataError: if its columns are not those of the plan.
        MismatchError: if it belongs to another plan.
    """
    simulated, left_out = _checked(mechanism, table), Counter[str]()
    for column in mechanism.columns:
        if pa.types.is_fixed_size_list(table.schema.field(column.name).type):
            gaps = _gaps(table[column.name], column.width or 1)
            left_out[GAP] += int(np.count_nonzero(gaps))
            table = table.filter(flags_of(~gaps))
    reports, others = sifted_reports(mechanism, table.num_rows, _columns(mechanism, table), simulated=simulated)
    return reports, +(left_out + others)


def check_schema(mechanism: Mechanism, found: pa.Schema) -> bool:
    """Refuse a table that does not hold reports of this plan.

    Returns:
        Whether they say that they are simulated.

    Raises:
        DataError: if its columns are not those of the plan.
        MismatchError: if it belongs to another plan.
    """
    facts = read_stamp(found, "reports", mechanism.fingerprint)
    wanted = schema(mechanism)
    if not found.equals(wanted):
        names = ", ".join(f"{field.name}: {field.type}" for field in wanted)
        raise DataError(
            f"reports of this plan have the columns {names}; these have others, or other types (if another tool "
            "rewrote them, pass --trust-plan or trust_plan=True)."
        )
    return bool(facts.get("simulated"))


def _checked(mechanism: Mechanism, table: Any) -> bool:
    """Return the columns of a table, after checks of its schema."""
    simulated = check_schema(mechanism, table.schema)
    # A damaged file may have lengths that lead out of it, and say that nothing is missing where something is.
    table.validate(full=True)
    return simulated


def _columns(mechanism: Mechanism, table: Any) -> dict[str, Nullable]:
    return {column.name: _nullable(column, table[column.name]) for column in mechanism.columns}


def _gaps(lists: pa.ChunkedArray, width: int) -> BoolArray:
    """Return the rows with a list that lacks an entry."""
    found = np.zeros(len(lists), dtype=np.bool_)
    inside = np.concatenate([~present(part.flatten()) for part in lists.chunks] or [found])
    found[present(lists)] = inside.reshape(-1, width).any(axis=1)
    return found


def _nullable(column: Column, found: pa.ChunkedArray) -> Nullable:
    whole = _one(found)
    rows = present(whole)
    if column.width is None:
        entries = numbers(whole)
    elif pa.types.is_fixed_size_binary(whole.type):
        entries = rows_of_bytes(whole, column.width)
    else:
        members = whole.flatten()
        if members.null_count:
            raise DataError("a list of members holds nothing in some place; leave these reports out.")
        # Arrow leaves the members of missing lists out itself.
        return Nullable(rows, numbers(members).reshape(-1, column.width))
    return Nullable(rows, entries[np.flatnonzero(rows)] if whole.null_count else entries)


def _one(found: pa.ChunkedArray) -> pa.Array:
    """Return a column in one chunk, without a copy if it is in one."""
    if found.num_chunks == 1:
        return found.chunk(0)
    whole = found.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
