"""Reports as Arrow tables: their columns, the checks, and the metadata that identify the plan.

In an Arrow table reports have a column ``clear`` (the code of a value in clear) and the columns of the block law. A
number is an unsigned integer, a string of bits a fixed-size binary, a list of members a fixed-size list. Absent parts
are null. The schema's metadata have an entry ``discreet`` with the format's version, the plan's fingerprint, the batch,
and whether the reports are simulated.

Every table with these columns is accepted, also with the types of other tools: integers of any size (pandas stores
integers with missing entries as floats), bytes and lists of any length. The plan is in the metadata, or in a column
``plan`` with the fingerprint in every row. If it is in neither, the caller can vouch for the plan (``trust_plan``). A
caller cannot override the plan of a table. Other columns are ignored, with a warning. Metadata or a column
``simulated`` mark simulated reports; without either, reports count as real.
"""

import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.arrow import arrow_numbers, flags_of, present, rows_of_bytes
from discreet.core.batches import NamedBatch, batch_in
from discreet.core.columns import absent
from discreet.core.reports import (
    CLEAR,
    COUNTS,
    FORMAT,
    MOST_REPORTS,
    PLAN,
    RESERVED,
    SIMULATED,
    STAMP,
    Column,
    Reports,
    check_same_plan,
    is_count,
    report_schema,
    report_table,
)
from discreet.core.tally import Tally, scaled, total
from discreet.errors import DataError, MismatchError, SourceWarning
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.row_checks import (
    GAP,
    UNREADABLE,
    Checked,
    FlawedRowsError,
    Nullable,
    checked_reports,
    refuse_rows,
)

_PUBLIC = "public"


def schema_of(
    mechanism: Mechanism,
    *,
    simulated: bool = False,
    facts: Mapping[str, Any] = MappingProxyType({}),
    public: pa.Schema | None = None,
) -> pa.Schema:
    """Return the Arrow schema for a mechanism's reports.

    Args:
        mechanism: the mechanism that makes the reports.
        simulated: whether the reports are simulated.
        facts: further entries for the metadata.
        public: public columns beside the reports, which the metadata list; None if there are none.
    """
    names = {} if public is None else {_PUBLIC: public.names}
    schema = report_schema(mechanism.columns, mechanism.fingerprint, simulated=simulated, facts={**names, **facts})
    return pa.schema([*schema, *([] if public is None else public)], metadata=schema.metadata)


def stamped_public(schema: pa.Schema) -> list[str]:
    """Return the names of the public columns beside the reports, from the metadata."""
    try:
        names = json.loads((schema.metadata or {})[STAMP])[_PUBLIC]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def is_stamped(schema: pa.Schema) -> bool:
    """Return true if a table's metadata identify a plan, whichever plan it is."""
    return STAMP in (schema.metadata or {})


def read_stamp(schema: pa.Schema, kind: str, fingerprint: str) -> dict[str, Any]:
    """Return the metadata of reports or a tally, after a check of their kind, format and plan.

    Raises:
        DataError: if there are no such metadata, or they have another kind or format.
        MismatchError: if they belong to another plan.
    """
    try:
        facts = json.loads((schema.metadata or {})[STAMP])
        known = facts["format"] == FORMAT and facts["kind"] == kind and str.isalnum(facts["plan"])
    except (KeyError, TypeError, ValueError, RecursionError):
        known = False
    if not known:
        raise DataError("document.other-format", kind=kind, format=FORMAT)
    check_same_plan({fingerprint, facts["plan"]})
    return dict(facts)


def to_arrow(mechanism: Mechanism, reports: Reports) -> pa.Table:
    """Return reports as an Arrow table whose metadata identify the plan."""
    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    return report_table(reports, mechanism.columns)


_BYTES = (pa.types.is_binary, pa.types.is_large_binary)
_LISTS = (pa.types.is_list, pa.types.is_large_list)


def is_bits(column: Column) -> bool:
    """Return true if a column of reports is a string of bytes."""
    return column.width is not None and column.bound is None


def check_columns(mechanism: Mechanism, schema: pa.Schema) -> None:
    """Raise an error for a table whose columns cannot hold reports of a mechanism.

    Raises:
        DataError: if a column is missing, repeated or of another kind; the error lists the expected columns.
    """
    columns = mechanism.columns
    once = all(schema.names.count(column.name) == 1 for column in columns)
    if not once or not all(_fits(column, schema.field(column.name).type) for column in columns):
        wanted = ", ".join(f"{column.name} ({_kind(column)})" for column in columns)
        raise DataError("report-table.wrong-columns", wanted=wanted)


def _kind(column: Column) -> str:
    if column.width is None:
        return "integer"
    return f"{column.width} bytes" if is_bits(column) else f"list of {column.width} integers"


def _fits(column: Column, kind: pa.DataType) -> bool:
    if pa.types.is_null(kind):
        return True
    if column.width is None:
        return _is_number(kind)
    if is_bits(column):
        fixed = pa.types.is_fixed_size_binary(kind) and kind.byte_width == column.width
        return fixed or any(test(kind) for test in (*_BYTES, pa.types.is_binary_view))
    fixed = pa.types.is_fixed_size_list(kind) and kind.list_size == column.width
    return (fixed or any(test(kind) for test in _LISTS)) and _is_number(kind.value_type)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_float64(kind))


def valid_rows(mechanism: Mechanism, batch: Any, *, simulated: bool = False) -> Checked:
    """Return the valid reports of a batch, and the number of invalid rows by flaw.

    Args:
        mechanism: the mechanism that the reports claim.
        batch: an Arrow batch with the mechanism's columns and perhaps others; see `check_columns`.
        simulated: whether the reports are marked as simulated.
    """
    left_out: Counter[str] = Counter()
    plain = _plain_columns(mechanism, batch)
    while True:
        try:
            return _checked_rows(mechanism, plain, simulated=simulated), left_out
        except FlawedRowsError as error:
            keep = np.ones(plain.num_rows, dtype=np.bool_)
            keep[error.rows] = False
            left_out[error.what] += plain.num_rows - int(np.count_nonzero(keep))
        plain = plain.filter(flags_of(keep))


def _checked_rows(mechanism: Mechanism, plain: pa.RecordBatch, *, simulated: bool) -> Reports:
    """Return the checked reports of `_plain_columns`; errors as for `checked_reports`."""
    columns = {column.name: _nullable(column, plain.column(column.name)) for column in mechanism.columns}
    return checked_reports(mechanism, plain.num_rows, columns, simulated=simulated)


def _plain_columns(mechanism: Mechanism, batch: Any) -> pa.RecordBatch:
    names = [column.name for column in mechanism.columns]
    return pa.record_batch([_plain(column, batch.column(column.name)) for column in mechanism.columns], names=names)


def _plain(column: Column, entries: pa.Array) -> pa.Array:
    """Return a column with one of the types that `_nullable` reads."""
    kind = entries.type
    if is_bits(column):
        plain = pa.large_binary() if pa.types.is_binary_view(kind) or pa.types.is_null(kind) else kind
    elif column.width is None:
        plain = kind if pa.types.is_integer(kind) else pa.int64()
    else:
        plain = pa.list_(pa.int64()) if pa.types.is_null(kind) or pa.types.is_float64(kind.value_type) else kind
    try:
        return entries if plain == kind else entries.cast(plain)
    except pa.ArrowInvalid:
        # Not chained, because the library's error quotes values.
        pass
    raise DataError("report-table.not-integers", name=column.name)


def _nullable(column: Column, entries: pa.Array) -> Nullable:
    """Return a column and its nulls; raise an error with the rows of entries that are impossible for the column."""
    rows, kind, width = present(entries) if entries.null_count else None, entries.type, column.width

    def there(each: AnyArray) -> AnyArray:
        return each if rows is None else each[np.flatnonzero(rows)]

    if width is None:
        return Nullable(rows, there(arrow_numbers(entries)))
    if not (pa.types.is_fixed_size_binary(kind) or pa.types.is_fixed_size_list(kind)):
        refuse_rows(rows, there(_lengths(entries)) != width, UNREADABLE)
    if is_bits(column):
        return Nullable(rows, there(rows_of_bytes(entries.cast(pa.binary(width)), width)))
    # Arrow itself omits the members of missing lists.
    items = entries.flatten()
    if items.null_count:
        refuse_rows(rows, np.any(absent(items).reshape(-1, width), axis=1), GAP)
    return Nullable(rows, arrow_numbers(items).reshape(-1, width))


def _lengths(entries: pa.Array) -> AnyArray:
    """Return the ``(n,)`` lengths of byte strings or lists; arbitrary where an entry is missing."""
    import pyarrow.compute as pc

    lists = any(test(entries.type) for test in _LISTS)
    return arrow_numbers(pc.list_value_length(entries) if lists else pc.binary_length(entries))


_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a source of reports: where it gives the plan, the batch and the marks of simulated rows.

    Attributes:
        facts: the entries of its metadata; None without metadata.
        trusted: whether only the caller vouches for the plan.
        named: whether a column ``plan`` has the fingerprint in every row.
        marked: whether a column ``simulated`` marks rows.
        extra: names of further columns, which are ignored.
        count: the column with the number of reports of each row; None for one report in each row.
    """

    facts: Mapping[str, Any] | None = None
    trusted: bool = False
    named: bool = False
    marked: bool = False
    extra: tuple[str, ...] = ()
    count: str | None = None

    def names(self, mechanism: Mechanism) -> list[str]:
        """Return the names of the columns to read from a source of reports."""
        extras = [(PLAN, self.named), (SIMULATED, self.marked), (self.count, self.count is not None)]
        return [*(column.name for column in mechanism.columns), *(str(name) for name, there in extras if there)]

    def batch(self, n: int) -> NamedBatch | None:
        """Return the named batch of n reports of the source; None if the source does not name it."""
        return None if self.facts is None else batch_in(self.facts, n)


def form_of(
    mechanism: Mechanism,
    schema: pa.Schema,
    *,
    trust_plan: bool = False,
    public: Sequence[str] = (),
    count: str | None = None,
) -> Form:
    """Return the form of a table of reports after a check of its plan and columns.

    Args:
        mechanism: the mechanism of the reports.
        schema: the table's schema.
        trust_plan: whether the caller vouches for the plan of a table that does not identify one.
        public: names of public columns beside the reports, which the table must have.
        count: the column with the number of reports of each row. None for a column ``count`` of a table without
            metadata, if it has one.

    Raises:
        DataError: if neither the table nor the caller identifies the plan, or the table cannot hold its reports.
        MismatchError: if the metadata belong to another plan, also with ``trust_plan``.
    """
    ours = [column.name for column in mechanism.columns]
    if count is None and not is_stamped(schema):
        count = next((name for name in schema.names if is_count(name)), None)
    _check_public(schema, ours, [*public, *filter(None, [count])])
    facts = read_stamp(schema, "reports", mechanism.fingerprint) if is_stamped(schema) else None
    beside = {*public, *stamped_public(schema), *filter(None, [count])} - RESERVED - {*ours}
    names = [name for name in schema.names if name not in beside]
    named, marked = PLAN in names, SIMULATED in names
    if facts is None and not named and not trust_plan:
        raise DataError("report-table.no-plan", argument="trust_plan")
    check_columns(mechanism, schema)
    if any(names.count(name) > 1 for name in (PLAN, SIMULATED)):
        raise DataError("report-table.repeated-column", plan=PLAN, simulated=SIMULATED)
    kind = schema.field(SIMULATED).type if marked else pa.null()
    if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataError("report-table.simulated-not-boolean", simulated=SIMULATED)
    extra = tuple(name for name in names if name not in {PLAN, SIMULATED, *ours})
    if CLEAR in extra:
        raise DataError("report-table.other-plan", clear=CLEAR)
    refuse_counts(extra)
    if count is None and (other := next(filter(is_count, schema.names), None)) is not None:
        note = f"Column {other!r} is read as a public column, not as the number of reports of a row (count)."
        warnings.warn(note, SourceWarning, stacklevel=2)
    return Form(facts, facts is None and not named, named, marked, extra, count)


def multiples_in(column: Any, name: str, first: int = 0) -> IntArray:
    """Return the numbers of reports in a column, as ``(n,)`` 64-bit integers.

    Args:
        column: an Arrow array of whole numbers of at least 0, integers or floats.
        name: the name of the column, for messages.
        first: the number of the first row, for messages.

    Raises:
        DataError: if a number is missing, negative or not whole; the error has their number and the first row.
    """
    is_whole = pa.types.is_integer(column.type)
    is_number = is_whole or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    plain = column if is_whole else column.cast(pa.float64()) if is_number else pa.nulls(len(column), pa.float64())
    numbers = arrow_numbers(plain)
    wrong = ~present(plain) | (numbers < 0) | (numbers >= MOST_REPORTS) | (np.floor(numbers) != numbers)
    if wrong.any():
        rows = np.flatnonzero(wrong)
        raise DataError("multiples.not-whole", name=name, count=len(rows), n=len(wrong), first=first + rows[0])
    return numbers.astype(np.int64)


def note_multiples(reports: int, rows: int, name: str) -> None:
    """Warn that rows stand for several reports each; raise an error for more reports than can be counted.

    Raises:
        DataError: if there are 2^62 reports or more.
    """
    if reports >= MOST_REPORTS:
        raise DataError("multiples.too-many", name=name)
    warnings.warn(f"{reports:,} reports in {rows:,} rows, by column {name!r}.", SourceWarning, stacklevel=2)


def by_digits(times: IntArray) -> Iterator[tuple[int, BoolArray]]:
    """Yield powers of two, each with the ``(n,)`` rows whose number has this binary digit; at least one power."""
    for place in range(max(int(times.max(initial=0)).bit_length(), 1)):
        yield 1 << place, (times >> place & 1).astype(np.bool_)


def _check_public(schema: pa.Schema, ours: Sequence[str], public: Sequence[str]) -> None:
    """Raise an error for public columns that the table lacks, or that belong to the reports."""
    if {*ours} & {*public}:
        raise DataError("public-column.reserved", names=", ".join(sorted(ours)))
    missing = [name for name in public if schema.names.count(name) != 1]
    if missing:
        others = [name for name in schema.names if name not in ours]
        there = ", ".join(repr(name[:40]) for name in others[:_NAMES_SHOWN]) or "none"
        raise DataError("public-column.missing", missing=missing[0], there=there)


def refuse_counts(names: Iterable[str]) -> None:
    """Raise an error for a column that may hold numbers of people per row.

    Raises:
        DataError: if there is one, because 1,000 people in two rows would be counted as two.
    """
    name = next((name for name in names if is_count(name)), None)
    if name is not None:
        raise DataError("report-table.has-counts", name=name)


def batch_reports(mechanism: Mechanism, batch: pa.RecordBatch, form: Form, *, omit_invalid: bool) -> Checked:
    """Return the reports of a batch, and the number of omitted rows by reason.

    Args:
        mechanism: the mechanism that the reports claim.
        batch: the rows.
        form: the form of their table.
        omit_invalid: whether to omit rows that no device can have sent; otherwise they are refused.

    Raises:
        DataError: if no device can have sent one of the rows, unless such rows are omitted.
        MismatchError: if a row belongs to another plan.
    """
    # In a damaged file, lengths may point outside the data, and missing entries may be marked as present.
    batch.validate(full=True)
    simulated = form.facts is not None and bool(form.facts.get("simulated"))
    if form.named:
        refuse_strange_rows(batch.column(PLAN), mechanism.fingerprint)
    if form.marked and not pa.types.is_null(batch.column(SIMULATED).type):
        import pyarrow.compute as pc

        simulated |= bool(pc.any(batch.column(SIMULATED)).as_py())
    if omit_invalid:
        return valid_rows(mechanism, batch, simulated=simulated)
    return _checked_rows(mechanism, _plain_columns(mechanism, batch), simulated=simulated), Counter()


def refuse_strange_rows(plans: Any, fingerprint: str) -> None:
    """Raise an error for rows with another plan's fingerprint, or without a fingerprint.

    Raises:
        MismatchError: if there is one; the error gives their number, but never their contents.
    """
    import pyarrow.compute as pc

    ours = 0
    if not pa.types.is_null(plans.type):
        text = plans.dictionary_decode() if pa.types.is_dictionary(plans.type) else plans
        try:
            ours = int(pc.sum(pc.equal(text.cast(pa.large_binary()), fingerprint.encode())).as_py() or 0)
        except pa.ArrowException:
            ours = 0
    if ours < len(plans):
        raise MismatchError(
            "report-table.rows-of-other-plans",
            plan=PLAN,
            fingerprint=fingerprint[:12],
            wrong=len(plans) - ours,
            total=len(plans),
        )


def warn_about_tables(forms: Collection[Form], fingerprint: str, *, kind: str = "files") -> None:
    """Warn once that the caller vouches for the plan, that marks are missing, or that columns are ignored.

    Args:
        forms: the forms of all sources.
        fingerprint: the plan's fingerprint.
        kind: a word for the sources, in the plural.
    """
    trusted = sum(form.trusted for form in forms)
    unmarked = sum(form.facts is None and not form.marked for form in forms)
    extra = list(dict.fromkeys(name for form in forms for name in form.extra))
    notes = []
    if trusted:
        notes.append(
            f"{trusted} of {len(forms)} {kind} do not name the plan of their reports. They count as reports of plan "
            f"{fingerprint[:12]}, because the caller states this (trust_plan)."
        )
    if unmarked:
        notes.append(
            f"{unmarked} of {len(forms)} {kind} do not say whether their reports are simulated. They count as real."
        )
    if extra:
        shown = ", ".join(repr(name[:40]) for name in extra[:_NAMES_SHOWN])
        more = f" and {len(extra) - _NAMES_SHOWN} others" if len(extra) > _NAMES_SHOWN else ""
        notes.append(f"These columns are not read, because reports of this plan do not have them: {shown}{more}.")
    for note in notes:
        warnings.warn(note, SourceWarning, stacklevel=2)


def table_of(data: Any) -> pa.Table:
    """Return an Arrow table in memory from a table of pandas, polars, DuckDB, Spark, Arrow or a similar library.

    Raises:
        DataError: if Arrow cannot read it.
    """
    failed = ""
    try:
        return data if isinstance(data, pa.Table) else pa.table(data)
    except Exception as error:
        # Not chained, because the libraries' errors quote values.
        failed = type(error).__name__
    raise DataError("report-table.unreadable", failed=failed)


COUNTS_READER = "discreet.sql.counts"
"""The module that reads counts from a warehouse: a name only, since the core imports no wing."""


def multiplied_tally(mechanism: Mechanism, reports: Reports, times: IntArray) -> Tally:
    """Return the tally in which each report counts a given number of times, from a tally per binary digit."""
    parts = ((factor, mechanism.tally(reports.take(np.flatnonzero(rows)))) for factor, rows in by_digits(times))
    return Tally.merged(scaled(part, factor) for factor, part in parts)


def reports_from_table(mechanism: Mechanism, data: Any, *, grouped: bool = False) -> Any:
    """Return the checked reports of a table that Arrow can read; any other argument is returned unchanged.

    Args:
        mechanism: the mechanism that the reports claim.
        data: a tally, a table of reports with its plan in the metadata or in a column ``plan``, or a table of counts
            that a warehouse made.
        grouped: whether counts become a tally for each group; otherwise they become one tally.

    Raises:
        DataError: if a table does not identify its plan, cannot hold its reports, or has a row that no device can
            have sent.
        MismatchError: if it belongs to another plan.

    Example:
        >>> import discreet as dc, pyarrow as pa
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> table = pa.table(mechanism.obfuscate(["yes"] * 50))
        >>> dc.estimate(mechanism, table).n
        50
    """
    if isinstance(data, Reports) or not hasattr(data, "__arrow_c_stream__"):
        return data
    table = table_of(data)
    if {*table.column_names} >= COUNTS:
        counts = import_module(COUNTS_READER).read_counts(mechanism, table)
        return counts if grouped else sum(counts.values(), start=mechanism.empty_tally())
    form = form_of(mechanism, table.schema)
    warn_about_tables([form], mechanism.fingerprint, kind="tables")
    batches = table.select(form.names(mechanism)).combine_chunks().to_batches()
    nobody = pa.RecordBatch.from_pylist([], schema=table.select(form.names(mechanism)).schema)
    parts = [batch_reports(mechanism, batch, form, omit_invalid=False)[0] for batch in batches or [nobody]]
    reports = Reports.concatenate(parts)
    if form.count is not None:
        times = multiples_in(table[form.count].combine_chunks(), form.count)
        note_multiples(total(times), len(times), form.count)
        return multiplied_tally(mechanism, reports, times)
    batch = form.batch(table.num_rows)
    return replace(reports, batches=() if batch is None else (batch,))
