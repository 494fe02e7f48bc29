"""Reports as lines of JSON, for devices that send one at a time.

    {"plan": "<fingerprint>", "clear": 12}
    {"plan": "<fingerprint>", "bits": "<base64>"}                  independent bits, value j at 2^(j % 8) of byte j // 8
    {"plan": "<fingerprint>", "symbol": 3}                         singletons: rank among the sensitive values
    {"plan": "<fingerprint>", "members": [0, 4, 9]}                subsets, ascending ranks
    {"plan": "<fingerprint>", "alpha": 5, "beta": 7, "bucket": 1}  hash buckets
    {"plan": "<fingerprint>", "column": 9}                         Hadamard columns

A simulated report says so: ``"simulated": true``. Nothing else may be there.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from discreet.core.reports import CLEAR, PLAN, SIMULATED, Column, Reports, check_same_plan
from discreet.errors import DataError, MismatchError
from discreet.formats.records import JsonRows, entry_as_json, once
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import Form, refuse_clear, refuse_counts
from discreet.mechanisms.row_checks import UNREADABLE, checked_reports, sifted_reports

_NOTHING = object()
# Floats below it are exact.
_EXACT = 1 << 53


# What a line may have besides its entries; and letters that an entry takes: a number, a comma and some room.
_ROOM, _LETTERS = 1 << 16, 32


def longest_line(mechanism: Mechanism) -> int:
    """Return the largest number of characters in the line of a report, with ample room for spaces."""
    return _ROOM + _LETTERS * sum(column.width or 1 for column in mechanism.columns)


def to_json(mechanism: Mechanism, reports: Reports) -> Iterator[str]:
    """Return one line of JSON per report."""
    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    marks = {"simulated": True} if reports.simulated else {}
    in_clear = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
    has_block = np.ones(reports.n, dtype=np.bool_) if reports.block_count == reports.n else ~in_clear
    clear, place = iter(reports.clear.tolist()), 0
    for row in range(reports.n):
        parts: dict[str, Any] = {CLEAR: next(clear)} if in_clear[row] else {}
        if has_block[row]:
            parts |= {c.name: entry_as_json(c, reports.blocks[c.name][place]) for c in mechanism.block_columns}
            place += 1
        yield json.dumps({"plan": reports.fingerprint, **parts, **marks})


def sift_json(mechanism: Mechanism, lines: Iterable[str], *, form: Form | None = None) -> tuple[Reports, Counter[str]]:
    """Return the valid reports among lines of JSON, and the number of invalid ones by flaw.

    Arguments as for `from_json`.

    Raises:
        MismatchError: if one belongs to another plan.
    """
    rows, unreadable = _Rows(mechanism, form), Counter[str]()
    for row, line in enumerate(lines):
        try:
            rows.read(line, row)
        except MismatchError:
            raise
        except DataError:
            unreadable[UNREADABLE] += 1
    simulated = np.array(rows.simulated, dtype=np.bool_)
    reports, left_out = sifted_reports(mechanism, len(simulated), rows.columns(), simulated=simulated)
    return reports, +(unreadable + left_out)


def from_json(mechanism: Mechanism, lines: Iterable[str], *, first: int = 0, form: Form | None = None) -> Reports:
    """Return the reports of lines of JSON, checked.

    Args:
        mechanism: what they claim to come from.
        lines: the texts.
        first: the number of the first one, for messages.
        form: how they are to be read if another tool may have rewritten them; see `form_of_lines`.

    Raises:
        DataError: if one is not a report of this form; it says which and never what it holds.
        MismatchError: if one belongs to another plan.
    """
    rows = _Rows(mechanism, form)
    for row, line in enumerate(lines, start=first):
        rows.read(line, row)
    return checked_reports(mechanism, len(rows.simulated), rows.columns(), simulated=any(rows.simulated))


class _Rows(JsonRows):
    """Reports under construction from lines of JSON."""

    def __init__(self, mechanism: Mechanism, form: Form | None) -> None:
        super().__init__(mechanism)
        self._fingerprint, self._form = mechanism.fingerprint, form
        self.simulated: list[bool] = []

    def read(self, line: str, row: int) -> None:
        """Add a report; errors as for `from_json`."""
        report = _parsed(line, self._fingerprint, self._columns, row, self._form)
        self.add(report, row)
        self.simulated.append(report.get("simulated", False))


def check_first(mechanism: Mechanism, lines: Iterable[str], *, form: Form | None = None) -> None:
    """Check the fields of the first line; its other errors are raised when it is read.

    Raises:
        MismatchError: if it belongs to another plan.
    """
    try:
        from_json(mechanism, islice(lines, 1), form=form)
    except MismatchError:
        raise
    except DataError:
        pass


def form_of_lines(mechanism: Mechanism, lines: Iterable[str], *, trust_plan: bool = False) -> Form | None:
    """Return the form in which lines are to be read, from the first one; None for the strict form.

    Args:
        mechanism: what they claim to come from.
        lines: the texts.
        trust_plan: whether another tool may have rewritten them: a number may be a float if it is whole, what is null
            is not there, fields that the first one has besides are not read, and if the first one does not say its
            plan, the caller does.

    Raises:
        DataError: if the first one has a place for values in clear and this plan's reports give none.
        MismatchError: if the first one belongs to another plan.
    """
    texts = list(islice(lines, 1))
    if not trust_plan:
        check_first(mechanism, texts)
        return None
    first: Any = None
    with suppress(ValueError, RecursionError):
        first = json.loads(texts[0]) if texts else None
    fields = first if isinstance(first, dict) else {PLAN: mechanism.fingerprint}
    ours = {PLAN, SIMULATED, *(column.name for column in mechanism.columns)}
    extra = tuple(name for name in fields if name not in ours)
    refuse_clear(extra)
    refuse_counts(extra)
    named = fields.get(PLAN) is not None
    form = Form(trusted=not named, named=named, simulated=None, marked=True, extra=extra)
    check_first(mechanism, texts, form=form)
    return form


def _parsed(line: str, fingerprint: str, columns: dict[str, Column], row: int, form: Form | None) -> dict[str, Any]:
    report: Any = _NOTHING
    # Swallowed, not chained: the library's error holds the whole line.
    with suppress(ValueError, RecursionError):
        report = json.loads(line, object_pairs_hook=once)
    if report is _NOTHING:
        raise DataError(f"report {row} is not JSON, or says something twice; it may be truncated.")
    if form is not None and isinstance(report, dict):
        report = _loosened(report, fingerprint, form)
    if not isinstance(report, dict) or not isinstance(report.get("plan"), str):
        way = " (if another tool dropped it, pass --trust-plan or trust_plan=True)" if isinstance(report, dict) else ""
        raise DataError(f"report {row} must be an object that names its plan{way}.")
    if report["plan"] != fingerprint:
        raise MismatchError(f"report {row} belongs to another plan than {fingerprint[:12]}.")
    unknown = sorted(set(report) - {"plan", "simulated", *columns})
    if unknown or not isinstance(report.get("simulated", False), bool):
        raise DataError(f"report {row} has fields that are not of this plan, or not of their kind.")
    return report


def _loosened(report: dict[str, Any], fingerprint: str, form: Form) -> dict[str, Any]:
    """Undo the changes of other tools to a report: fields for missing parts, and integers as floats."""
    there = {name: _whole(entry) for name, entry in report.items() if entry is not None and name not in form.extra}
    return {PLAN: fingerprint, **there} if form.trusted else there


def _whole(entry: Any) -> Any:
    if isinstance(entry, float):
        return int(entry) if entry.is_integer() and abs(entry) < _EXACT else entry
    return [_whole(item) for item in entry] if isinstance(entry, list) else entry
