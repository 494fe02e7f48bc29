"""Files of reports that another tool rewrote: their remaining metadata, and what the caller vouches for.

Such a file has lost the stamp with the plan's fingerprint, or has other types or more columns than discreet writes. Two
things can replace the stamp: a column ``plan`` with the fingerprint in every row, or the caller's word
(``trust_plan``), which never overrules the file: a stamp or a row of another plan is refused. Columns that the plan's
reports do not have are ignored with a warning that names them. A stamp or a column ``simulated`` marks simulated
reports; without either, reports count as real.
"""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.reports import CLEAR, Reports
from discreet.errors import DataError, MismatchError, RewrittenFileWarning
from discreet.io.arrow import check_schema, is_stamped, read_stamp, schema
from discreet.io.remote import File
from discreet.io.untyped_arrow import check_untyped_schema, sift_untyped, untyped_reports
from discreet.mechanisms import Mechanism

PLAN, SIMULATED = "plan", "simulated"
UNSTAMPED = (
    "this does not say which plan its reports belong to (another tool may have rewritten it); if you know that all of "
    "them are of this plan, pass --trust-plan (trust_plan=True), write them anew with 'discreet stamp', or give every "
    "row the plan's fingerprint in a column 'plan'."
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

    def names(self, mechanism: Mechanism) -> list[str]:
        """Return the names of the columns to read."""
        said = [(PLAN, self.named), (SIMULATED, self.marked)]
        return [*(column.name for column in mechanism.columns), *(name for name, there in said if there)]


def form_of(mechanism: Mechanism, found: pa.Schema, *, trust_plan: bool = False) -> Form | None:
    """Return the form of a rewritten table; None for discreet's own format.

    Raises:
        DataError: if neither the file nor the caller states the plan, if the table differs from its stamp without
            ``trust_plan``, or if it cannot hold reports of this plan.
        MismatchError: if the stamp is of another plan, also with ``trust_plan``.
    """
    simulated = None
    if is_stamped(found):
        if found.equals(schema(mechanism)) or not trust_plan:
            check_schema(mechanism, found)
            return None
        simulated = bool(read_stamp(found, "reports", mechanism.fingerprint).get("simulated"))
    named, marked = PLAN in found.names, SIMULATED in found.names
    if simulated is None and not named and not trust_plan:
        raise DataError(UNSTAMPED)
    check_untyped_schema(mechanism, found)
    ours = {PLAN, SIMULATED, *(column.name for column in mechanism.columns)}
    _check_others(found, ours)
    extra = tuple(name for name in found.names if name not in ours)
    return Form(simulated is None and not named, named, simulated, marked, extra)


def _check_others(found: pa.Schema, ours: set[str]) -> None:
    refuse_clear(set(found.names) - ours)
    if any(found.names.count(name) > 1 for name in (PLAN, SIMULATED)):
        raise DataError(f"there must be one column {PLAN!r} and one column {SIMULATED!r} at most, got several.")
    if SIMULATED in found.names and not _says_yes_or_no(found.field(SIMULATED).type):
        raise DataError(f"a column {SIMULATED!r} must hold true or false; rename it if it means something else.")


def refuse_clear(others: Collection[str]) -> None:
    """Refuse a column of values in clear among the columns that are not read.

    Raises:
        DataError: if they are there: what is sensitive under another plan would be counted as if it were so here.
    """
    if CLEAR in others:
        raise DataError(
            f"reports of this plan tell no value in clear, so there must be no {CLEAR!r}; these are of another plan."
        )


def _says_yes_or_no(kind: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(kind) or pa.types.is_null(kind))


def rewritten_reports(
    mechanism: Mechanism, batch: pa.RecordBatch, form: Form, *, sift: bool
) -> tuple[Reports, Counter[str]]:
    """Return the reports of a batch, and the number of rows left out by reason.

    Args:
        mechanism: what they claim to come from.
        batch: the rows.
        form: of their file.
        sift: whether rows that no device can have sent are left out; else they are refused.

    Raises:
        DataError: if no device can have sent one of them and none is to be left out.
        MismatchError: if a row is of another plan.
    """
    import pyarrow.compute as pc

    # A damaged file may have lengths that lead out of it, and say that nothing is missing where something is.
    batch.validate(full=True)
    if form.named:
        refuse_strange_rows(batch.column(PLAN), mechanism.fingerprint)
    simulated = bool(form.simulated)
    if form.marked and not pa.types.is_null(batch.column(SIMULATED).type):
        simulated |= bool(pc.any(batch.column(SIMULATED)).as_py())
    if sift:
        return sift_untyped(mechanism, batch, simulated=simulated)
    return untyped_reports(mechanism, batch, simulated=simulated), Counter()


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


def warn_of(forms: Mapping[File, Form], files: int, fingerprint: str, unread: Iterable[str] = ()) -> None:
    """Warn once of what the caller vouches for, and of columns that are not read.

    Args:
        forms: of the files that are not as discreet writes them.
        files: how many files there are in all.
        fingerprint: of the plan.
        unread: columns that are not read, beside those of the forms.
    """
    trusted = sum(form.trusted for form in forms.values())
    unmarked = sum(form.simulated is None and not form.marked for form in forms.values())
    extra = list(dict.fromkeys([*(name for form in forms.values() for name in form.extra), *unread]))
    notes = []
    if trusted:
        notes.append(
            f"{trusted} of {files} files: nothing in them says which plan their reports belong to; that it is "
            f"{fingerprint[:12]} is the caller's word (trust_plan)."
        )
    if unmarked:
        notes.append(
            f"{unmarked} of {files} files: nothing in them says whether their reports are simulated; they count as "
            "real."
        )
    if extra:
        shown = ", ".join(repr(name[:40]) for name in extra[:_NAMES_SHOWN])
        more = f" and {len(extra) - _NAMES_SHOWN} others" if len(extra) > _NAMES_SHOWN else ""
        notes.append(f"Columns that reports of this plan do not have are not read: {shown}{more}.")
    for note in notes:
        warnings.warn(note, RewrittenFileWarning, stacklevel=2)
