"""Reports in tables of Arrow: stamped, or rewritten by other tools.

As an Arrow table reports have a column per part: ``clear`` (the code of a value in clear) and the block law's own; a
plain number is an unsigned integer, a string of bits a fixed-size binary, a list of members a fixed-size list. Absent
parts are null. The schema's metadata carries, under ``discreet``, the format's version, the plan's fingerprint and
whether the reports are simulated.

Tables of other systems have looser types. Integers may have any integer type, or be floats with whole values (pandas
turns integers with gaps into floats; NaN is a null); bits may be bytes of any type, and members lists of any type. So a
row may have further flaws, which are counted too.

A table that another tool rewrote has lost the stamp with the plan's fingerprint, or has other types or more columns
than discreet writes. Two things can replace the stamp: a column ``plan`` with the fingerprint in every row, or the
caller's word (``trust_plan``), which never overrules the table: a stamp or a row of another plan is refused. Columns
that the plan's reports do not have are ignored with a warning that names them. A stamp or a column ``simulated`` marks
simulated reports; without either, reports count as real.
"""

import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, BoolArray
from discreet.core.arrow import arrow_numbers, flags_of, present, rows_of_bytes
from discreet.core.columns import absent
from discreet.core.reports import (
    CLEAR,
    FORMAT,
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
from discreet.errors import DataError, MismatchError, RewrittenFileWarning
from discreet.mechanisms.row_checks import (
    GAP,
    UNREADABLE,
    Checked,
    FlawedRowsError,
    Nullable,
    ReportMaker,
    checked_reports,
    refuse_rows,
)

_PUBLIC = "public"


def schema_of(mechanism: ReportMaker, *, simulated: bool = False, facts: Mapping[str, Any] | None = None) -> pa.Schema:
    """Return the Arrow schema of a mechanism's reports; ``facts`` are said in its metadata besides."""
    return report_schema(mechanism.columns, mechanism.fingerprint, simulated=simulated, facts=facts)


def schema_beside(mechanism: ReportMaker, public: pa.Schema, *, simulated: bool = False) -> pa.Schema:
    """Return the Arrow schema of reports with public columns beside them, which the stamp names."""
    schema = schema_of(mechanism, simulated=simulated, facts={_PUBLIC: public.names})
    return pa.schema([*schema, *public], metadata=schema.metadata)


def stamped_public(schema: pa.Schema) -> list[str]:
    """Return the names of the public columns of which the stamp says that they are beside the reports."""
    try:
        names = json.loads((schema.metadata or {})[STAMP])[_PUBLIC]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def is_stamped(schema: pa.Schema) -> bool:
    """Return true if metadata hold a stamp, of any plan."""
    return STAMP in (schema.metadata or {})


def read_stamp(schema: pa.Schema, kind: str, fingerprint: str) -> dict[str, Any]:
    """Return the facts of a stamp, checked.

    Raises:
        DataError: if there is no stamp, or it is one of another kind or format.
        MismatchError: if it belongs to another plan.
    """
    try:
        facts = json.loads((schema.metadata or {})[STAMP])
        known = facts["format"] == FORMAT and facts["kind"] == kind and str.isalnum(facts["plan"])
    except (KeyError, TypeError, ValueError, RecursionError):
        known = False
    if not known:
        raise DataError(f"this does not hold {kind} of discreet, or of another format than {FORMAT}.")
    check_same_plan({fingerprint, facts["plan"]})
    return dict(facts)


def to_arrow(mechanism: ReportMaker, reports: Reports) -> pa.Table:
    """Return reports as a table with `schema_of`."""
    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    return report_table(reports, mechanism.columns)


def check_schema(mechanism: ReportMaker, schema: pa.Schema) -> bool:
    """Refuse a table that does not hold reports of this plan.

    Returns:
        Whether they say that they are simulated.

    Raises:
        DataError: if its columns are not those of the plan.
        MismatchError: if it belongs to another plan.
    """
    facts = read_stamp(schema, "reports", mechanism.fingerprint)
    wanted = schema_of(mechanism)
    if not schema.equals(wanted):
        names = ", ".join(f"{field.name}: {field.type}" for field in wanted)
        raise DataError(
            f"reports of this plan have the columns {names}; these have others, or other types (if another tool "
            "rewrote them, pass --trust-plan or discreet.Sources(..., trust_plan=True))."
        )
    return bool(facts.get("simulated"))


_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
# No views of lists: casting them to lists, Arrow 26 loses the last one after a gap.
_LISTS = (pa.types.is_list, pa.types.is_large_list)
# Whole numbers below these are exact in 16, 32 and 64 bits; beyond, a float may stand for another number.
_EXACT_BELOW = {16: 1 << 11, 32: 1 << 24, 64: 1 << 53}


def is_bits(column: Column) -> bool:
    """Return true if a column is a string of bytes."""
    return column.width is not None and column.bound is None


def check_untyped_schema(mechanism: ReportMaker, schema: pa.Schema) -> None:
    """Refuse a table that cannot hold reports of this plan.

    Raises:
        DataError: if a column is missing, there twice or of another kind; it says which columns there should be.
    """
    columns = mechanism.columns
    once = all(schema.names.count(column.name) == 1 for column in columns)
    if not once or not all(_fits(column, schema.field(column.name).type) for column in columns):
        wanted = ", ".join(f"{column.name} ({_kind(column)})" for column in columns)
        raise DataError(f"reports of this plan have the columns {wanted}; these have others, or of another kind.")


def _kind(column: Column) -> str:
    if column.width is None:
        return "integer"
    return f"{column.width} bytes" if is_bits(column) else f"list of {column.width} integers"


def _fits(column: Column, kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _fits(column, kind.value_type)
    if pa.types.is_null(kind):
        return True
    if column.width is None:
        return _holds_numbers(column, kind)
    if is_bits(column):
        fixed = pa.types.is_fixed_size_binary(kind) and kind.byte_width == column.width
        return fixed or any(test(kind) for test in _BYTES)
    fixed = pa.types.is_fixed_size_list(kind) and kind.list_size == column.width
    return (fixed or any(test(kind) for test in _LISTS)) and _holds_numbers(column, kind.value_type)


def _holds_numbers(column: Column, kind: pa.DataType) -> bool:
    if pa.types.is_floating(kind):
        return (column.bound or 0) <= _EXACT_BELOW[kind.bit_width]
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


def _checked_untyped(mechanism: ReportMaker, plain: pa.RecordBatch, *, simulated: bool) -> Reports:
    """Return the reports of `_plain_columns`, checked; errors as for `checked_reports`."""
    columns = {column.name: _nullable(column, plain.column(column.name)) for column in mechanism.columns}
    return checked_reports(mechanism, plain.num_rows, columns, simulated=simulated)


def sift_untyped(mechanism: ReportMaker, batch: Any, *, simulated: bool = False) -> Checked:
    """Return the valid reports of a batch, and the number of invalid rows by flaw.

    Args:
        mechanism: what they claim to come from.
        batch: an Arrow batch with the mechanism's columns and perhaps others; see `check_untyped_schema`.
        simulated: whether they say that they are simulated.
    """
    left_out: Counter[str] = Counter()
    # Arrow chooses no rows of views.
    plain = _plain_columns(mechanism, batch)
    while True:
        try:
            return _checked_untyped(mechanism, plain, simulated=simulated), left_out
        except FlawedRowsError as error:
            keep = np.ones(plain.num_rows, dtype=np.bool_)
            keep[error.rows] = False
            left_out[error.what] += plain.num_rows - int(np.count_nonzero(keep))
        plain = plain.filter(flags_of(keep))


def _plain_columns(mechanism: ReportMaker, batch: Any) -> pa.RecordBatch:
    names = [column.name for column in mechanism.columns]
    return pa.record_batch([_plain(column, batch.column(column.name)) for column in mechanism.columns], names=names)


def _plain(column: Column, entries: pa.Array) -> pa.Array:
    """Return a column in one of the few types that `_nullable` reads."""
    if pa.types.is_dictionary(entries.type):
        entries = entries.dictionary_decode()
    kind = entries.type
    if pa.types.is_null(kind):
        plain = pa.int64() if column.width is None else pa.binary() if is_bits(column) else pa.list_(pa.int64())
    elif pa.types.is_binary_view(kind):
        plain = pa.large_binary()
    else:
        return entries
    return entries.cast(plain)


def _nullable(column: Column, entries: pa.Array) -> Nullable:
    """Return a column as it arrived; rows with an entry that is none of the column's are refused."""
    rows, kind, width = present(entries), entries.type, column.width

    def there(each: AnyArray) -> AnyArray:
        return each[np.flatnonzero(rows)] if entries.null_count else each

    if width is None:
        return _numbers(rows, there(arrow_numbers(entries)))
    if is_bits(column):
        if not pa.types.is_fixed_size_binary(kind):
            refuse_rows(rows, there(_lengths(entries)) != width, UNREADABLE)
            entries = entries.cast(pa.binary(width))
        return Nullable(rows, there(rows_of_bytes(entries, width)))
    if not pa.types.is_fixed_size_list(kind):
        refuse_rows(rows, there(_lengths(entries)) != width, UNREADABLE)
    # Arrow leaves the members of missing lists out itself.
    items = entries.flatten()
    if items.null_count or pa.types.is_floating(items.type):
        refuse_rows(rows, np.any(absent(items).reshape(-1, width), axis=1), GAP)
    members = arrow_numbers(items.cast(pa.int64()) if pa.types.is_null(items.type) else items)
    if members.dtype.kind == "f":
        refuse_rows(rows, np.any(~_whole(members).reshape(-1, width), axis=1), UNREADABLE)
        members = members.astype(np.int64)
    return Nullable(rows, members.reshape(-1, width))


def _lengths(entries: pa.Array) -> AnyArray:
    """Return the ``(n,)`` lengths of strings of bytes or of lists; anything where one is missing."""
    import pyarrow.compute as pc

    lists = any(test(entries.type) for test in _LISTS)
    return arrow_numbers(pc.list_value_length(entries) if lists else pc.binary_length(entries))


def _numbers(rows: BoolArray, entries: AnyArray) -> Nullable:
    """Return a column of integers, which may be floats with whole values; NaN is a null."""
    if entries.dtype.kind != "f":
        return Nullable(rows, entries)
    there = ~np.isnan(entries)
    left, entries = rows.copy(), entries[there]
    left[rows] = there
    refuse_rows(left, ~_whole(entries), UNREADABLE)
    return Nullable(left, entries.astype(np.int64))


def _whole(numbers: AnyArray) -> BoolArray:
    """Return ``(n,)`` booleans: the floats that are 64-bit integers."""
    is_whole: BoolArray = (np.trunc(numbers) == numbers) & (np.abs(numbers.astype(np.float64)) < 2.0**63)
    return is_whole


UNSTAMPED = (
    "this does not say which plan its reports belong to (another tool may have rewritten it); if you know that all of "
    "them are of this plan, pass --trust-plan (discreet.Sources(..., trust_plan=True)), write them anew with 'discreet "
    "stamp', or give every row the plan's fingerprint in a column 'plan'."
)
_UNSTAMPED_TABLE = (
    "the table does not say which plan its reports belong to; if you know that all of them are of this plan, take "
    "discreet.read_reports(discreet.Sources(table, trust_plan=True), mechanism), or give every row the plan's "
    "fingerprint in a column 'plan'."
)
_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a file of reports that another tool rewrote.

    Attributes:
        trusted: whether the plan is the caller's word alone.
        named: whether a column ``plan`` holds the fingerprint in every row.
        simulated: whether the stamp marks reports as simulated; None without a stamp.
        marked: whether a column ``simulated`` marks every row.
        extra: names of further columns, which are not read.
    """

    trusted: bool
    named: bool
    simulated: bool | None
    marked: bool
    extra: tuple[str, ...]

    def names(self, mechanism: ReportMaker) -> list[str]:
        """Return the names of the columns to read."""
        extras = [(PLAN, self.named), (SIMULATED, self.marked)]
        return [*(column.name for column in mechanism.columns), *(name for name, there in extras if there)]


def form_of(
    mechanism: ReportMaker, schema: pa.Schema, *, trust_plan: bool = False, public: Sequence[str] = ()
) -> Form | None:
    """Return the form of a rewritten table; None for discreet's own format.

    Args:
        mechanism: what made the reports.
        schema: of the table.
        trust_plan: whether the caller vouches that a table which does not say its plan, or is not as discreet writes
            it, holds reports of this plan.
        public: names of public columns beside the reports, which the table must have then.

    Raises:
        DataError: if neither the file nor the caller states the plan, if the table has no stamp and a column
            ``count``, if it differs from its stamp without ``trust_plan``, or if it cannot hold reports of this plan.
        MismatchError: if the stamp is of another plan, also with ``trust_plan``.
    """
    if not is_stamped(schema):
        refuse_counts(schema.names)
    simulated, narrowed = None, _without_others(schema, mechanism, public)
    if is_stamped(narrowed):
        if narrowed.equals(schema_of(mechanism)) or not trust_plan:
            check_schema(mechanism, narrowed)
            return None
        simulated = bool(read_stamp(narrowed, "reports", mechanism.fingerprint).get("simulated"))
    named, marked = PLAN in narrowed.names, SIMULATED in narrowed.names
    if simulated is None and not named and not trust_plan:
        raise DataError(UNSTAMPED)
    check_untyped_schema(mechanism, narrowed)
    ours = {PLAN, SIMULATED, *(column.name for column in mechanism.columns)}
    refuse_clear(set(narrowed.names) - ours)
    if any(narrowed.names.count(name) > 1 for name in (PLAN, SIMULATED)):
        raise DataError(f"there must be one column {PLAN!r} and one column {SIMULATED!r} at most, got several.")
    kind = narrowed.field(SIMULATED).type if marked else pa.null()
    if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataError(f"a column {SIMULATED!r} must hold true or false; rename it if it means something else.")
    extra = tuple(name for name in narrowed.names if name not in ours)
    return Form(simulated is None and not named, named, simulated, marked, extra)


def _without_others(schema: pa.Schema, mechanism: ReportMaker, public: Sequence[str]) -> pa.Schema:
    """Return a schema without what is beside the reports, where the public columns must be, each once.

    That are the columns that the stamp says were kept there. Where public ones are read, it is every other column of a
    table that says its plan; else the public ones, and the form tells the others.
    """
    ours = {column.name for column in mechanism.columns}
    if ours & set(public):
        raise DataError(f"a public column must not be one of the reports' own, {', '.join(sorted(ours))}.")
    missing = [name for name in public if schema.names.count(name) != 1]
    if missing:
        others = [name for name in schema.names if name not in ours]
        there = ", ".join(repr(name[:40]) for name in others[:_NAMES_SHOWN]) or "none"
        raise DataError(f"the file must have the public column {missing[0]!r} once; beside the reports it has {there}.")
    beside = {*public, *stamped_public(schema)} - RESERVED - ours
    if public and is_stamped(schema):
        beside |= {*schema.names} - ours
    return pa.schema([field for field in schema if field.name not in beside], schema.metadata)


def refuse_counts(names: Iterable[str]) -> None:
    """Refuse a column that may say of how many people a row is, in a table without a stamp.

    Raises:
        DataError: if there is one: 1,000 people in two rows would be counted as two.
    """
    name = next((name for name in names if is_count(name)), None)
    if name is not None:
        raise DataError(
            f"the table must have no column {name!r}, as it has no plan in its metadata: a row may stand for several "
            "reports, and each would be counted as one; write a row for each report, or rename a column of another "
            "meaning."
        )


def refuse_clear(others: Collection[str]) -> None:
    """Refuse a column of values in clear among the columns that are not read.

    Raises:
        DataError: if they are there: what is sensitive under another plan would be counted as if it were so here.
    """
    if CLEAR in others:
        raise DataError(
            f"reports of this plan tell no value in clear, so there must be no {CLEAR!r}; these are of another plan."
        )


def batch_reports(mechanism: ReportMaker, batch: pa.RecordBatch, form: Form | None, *, sift: bool) -> Checked:
    """Return the reports of a batch, and the number of rows left out by reason.

    Args:
        mechanism: what they claim to come from.
        batch: the rows.
        form: of their table; None for discreet's own format.
        sift: whether rows that no device can have sent are left out; else they are refused.

    Raises:
        DataError: if no device can have sent one of them and none is to be left out.
        MismatchError: if a row is of another plan.
    """
    # A damaged file may have lengths that lead out of it, and say that nothing is missing where something is.
    batch.validate(full=True)
    if form is None:
        simulated = check_schema(mechanism, batch.schema)
    else:
        simulated = bool(form.simulated)
        if form.named:
            refuse_strange_rows(batch.column(PLAN), mechanism.fingerprint)
        if form.marked and not pa.types.is_null(batch.column(SIMULATED).type):
            import pyarrow.compute as pc

            simulated |= bool(pc.any(batch.column(SIMULATED)).as_py())
    if sift:
        return sift_untyped(mechanism, batch, simulated=simulated)
    return _checked_untyped(mechanism, _plain_columns(mechanism, batch), simulated=simulated), Counter()


def refuse_strange_rows(plans: Any, fingerprint: str) -> None:
    """Refuse rows with another plan's fingerprint, or none.

    Raises:
        MismatchError: if there is one; it says how many, and never what they say.
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
            f"the column {PLAN!r} must hold the fingerprint of the plan, {fingerprint[:12]}..., in every row; "
            f"{len(plans) - ours} of {len(plans)} rows of a batch do not."
        )


def warn_of(
    forms: Collection[Form], files: int, fingerprint: str, unread: Iterable[str] = (), *, kind: str = "files"
) -> None:
    """Warn once of what the caller vouches for, and of columns that are not read.

    Args:
        forms: of the files that are not as discreet writes them.
        files: how many files there are in all.
        fingerprint: of the plan.
        unread: columns that are not read, beside those of the forms.
        kind: what they are, in the plural.
    """
    trusted = sum(form.trusted for form in forms)
    unmarked = sum(form.simulated is None and not form.marked for form in forms)
    extra = list(dict.fromkeys([*(name for form in forms for name in form.extra), *unread]))
    notes = []
    if trusted:
        notes.append(
            f"{trusted} of {files} {kind}: nothing in them says which plan their reports belong to; that it is "
            f"{fingerprint[:12]} is the caller's word (trust_plan)."
        )
    if unmarked:
        notes.append(
            f"{unmarked} of {files} {kind}: nothing in them says whether their reports are simulated; they count as "
            "real."
        )
    if extra:
        shown = ", ".join(repr(name[:40]) for name in extra[:_NAMES_SHOWN])
        more = f" and {len(extra) - _NAMES_SHOWN} others" if len(extra) > _NAMES_SHOWN else ""
        notes.append(f"Columns that reports of this plan do not have are not read: {shown}{more}.")
    for note in notes:
        warnings.warn(note, RewrittenFileWarning, stacklevel=2)


def table_of(data: Any) -> pa.Table:
    """Return a table of Arrow in memory, from pandas, polars, DuckDB, Spark, Arrow or whatever else hands one out.

    Raises:
        DataError: if Arrow cannot read it.
    """
    failed = ""
    try:
        return data if isinstance(data, pa.Table) else pa.table(data)
    except Exception as error:
        # Not chained: libraries quote values.
        failed = type(error).__name__
    raise DataError(f"the table cannot be read by Arrow ({failed}); see that every column is of one type.")


def taken_reports(mechanism: ReportMaker, data: Any) -> Any:
    """Return the reports of a table that Arrow reads, checked as those of files are; what is no table as it is.

    Args:
        mechanism: what they claim to come from.
        data: a tally, or a table of reports that says its plan, by its stamp or in a column ``plan``.

    Raises:
        DataError: if a table does not say its plan, or cannot hold reports of it, or no device can have sent a row.
        MismatchError: if it belongs to another plan.

    Example:
        >>> import discreet as dc, pyarrow as pa
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> table = pa.table(mechanism.obfuscate(["yes"] * 50))
        >>> mechanism.tally(table).n, dc.estimate(mechanism, table).n
        (50, 50)
    """
    if not hasattr(data, "__arrow_c_stream__"):
        return data
    table = table_of(data)
    if not is_stamped(table.schema) and PLAN not in table.schema.names:
        raise DataError(_UNSTAMPED_TABLE)
    form = form_of(mechanism, table.schema)
    warn_of([] if form is None else [form], 1, mechanism.fingerprint, kind="tables")
    names = [column.name for column in mechanism.columns] if form is None else form.names(mechanism)
    batches = table.select(names).combine_chunks().to_batches()
    nobody = pa.RecordBatch.from_pylist([], schema=table.select(names).schema)
    return Reports.concatenate(batch_reports(mechanism, batch, form, sift=False)[0] for batch in batches or [nobody])
