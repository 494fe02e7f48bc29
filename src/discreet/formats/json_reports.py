"""Reports as lines of JSON, for devices that send one report at a time.

    {"plan": "<fingerprint>", "clear": 12}
    {"plan": "<fingerprint>", "bits": "<base64>"}                  independent bits, value j at 2^(j % 8) of byte j // 8
    {"plan": "<fingerprint>", "symbol": 3}                         singletons: rank among the sensitive values
    {"plan": "<fingerprint>", "members": [0, 4, 9]}                subsets, ascending ranks
    {"plan": "<fingerprint>", "alpha": 5, "beta": 7, "bucket": 1}  hash buckets
    {"plan": "<fingerprint>", "column": 9}                         Hadamard columns

A simulated report also has ``"simulated": true``. No other field is allowed. If the caller states that all lines belong
to the plan (``trust_plan``), lines need no fingerprint.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from discreet.core.reports import CLEAR, PLAN, SIMULATED, Column, Reports, check_same_plan
from discreet.errors import DataError, MismatchError
from discreet.formats.records import JsonRows, entry_as_json, once
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import Form
from discreet.mechanisms.row_checks import UNREADABLE, checked_reports, valid_reports

_NOTHING = object()
# The largest number of characters in a line besides its entries, and in one entry: a number, a comma and some spaces.
_ROOM, _LETTERS = 1 << 16, 32


def longest_line(mechanism: Mechanism) -> int:
    """Return the largest number of characters in a report's line, with generous room for spaces."""
    return _ROOM + _LETTERS * sum(column.width or 1 for column in mechanism.columns)


def to_json(mechanism: Mechanism, reports: Reports) -> Iterator[str]:
    """Yield one line of JSON for each report."""
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


def valid_json(mechanism: Mechanism, lines: Iterable[str], *, trust_plan: bool = False) -> tuple[Reports, Counter[str]]:
    """Return the valid reports in lines of JSON, and the number of invalid lines by flaw.

    Arguments as for `from_json`.

    Raises:
        MismatchError: if a report belongs to another plan.
    """
    rows, unreadable = _Rows(mechanism, trust_plan), Counter[str]()
    for row, line in enumerate(lines):
        try:
            rows.read(line, row)
        except MismatchError:
            raise
        except DataError:
            unreadable[UNREADABLE] += 1
    simulated = np.array(rows.simulated, dtype=np.bool_)
    reports, left_out = valid_reports(mechanism, len(simulated), rows.columns(), simulated=simulated)
    return reports, +(unreadable + left_out)


def from_json(mechanism: Mechanism, lines: Iterable[str], *, first: int = 0, trust_plan: bool = False) -> Reports:
    """Check lines of JSON, and return their reports.

    Args:
        mechanism: the mechanism of the plan.
        lines: the lines of JSON.
        first: the number of the first line, for messages.
        trust_plan: whether the caller states that lines without a fingerprint belong to this plan.

    Raises:
        DataError: if a line is not a report of this form. The error names the line and never quotes it.
        MismatchError: if a report belongs to another plan.
    """
    rows = _Rows(mechanism, trust_plan)
    for row, line in enumerate(lines, start=first):
        rows.read(line, row)
    return checked_reports(mechanism, len(rows.simulated), rows.columns(), simulated=any(rows.simulated))


class _Rows(JsonRows):
    """Collects the columns of reports from lines of JSON."""

    def __init__(self, mechanism: Mechanism, trust_plan: bool) -> None:
        super().__init__(mechanism)
        self._fingerprint, self._trust_plan = mechanism.fingerprint, trust_plan
        self.simulated: list[bool] = []

    def read(self, line: str, row: int) -> None:
        """Check a line, and add its report; errors as for `from_json`."""
        report = _parsed(line, self._fingerprint, self._columns, row, self._trust_plan)
        self.add(report, row)
        self.simulated.append(report.get("simulated", False))


def form_of_line(mechanism: Mechanism, line: str | None, *, trust_plan: bool = False) -> Form:
    """Return the form of a file of JSON lines, determined from its first line.

    Args:
        mechanism: the mechanism of the plan.
        line: the first line; None if the file is empty.
        trust_plan: as for `from_json`.

    Raises:
        MismatchError: if the report belongs to another plan.
    """
    first = None
    try:
        from_json(mechanism, [] if line is None else [line], trust_plan=trust_plan)
    except MismatchError:
        raise
    except DataError:
        pass
    with suppress(ValueError, RecursionError):
        first = json.loads(line or "null")
    named = not isinstance(first, dict) or PLAN in first
    return Form(trusted=trust_plan and not named, named=named, marked=True)


def _parsed(line: str, fingerprint: str, columns: dict[str, Column], row: int, trust_plan: bool) -> dict[str, Any]:
    report: Any = _NOTHING
    # The library's error is not chained, because it holds the whole line.
    with suppress(ValueError, RecursionError):
        report = json.loads(line, object_pairs_hook=once)
    if report is _NOTHING:
        raise DataError("report.not-json", row=row)
    if not isinstance(report, dict):
        raise DataError("report.not-an-object", row=row)
    plan = report.get(PLAN, fingerprint if trust_plan else None)
    if not isinstance(plan, str):
        raise DataError("report.without-plan", row=row)
    if plan != fingerprint:
        raise MismatchError("report.other-plan", row=row, plan=fingerprint[:12])
    unknown = sorted(set(report) - {PLAN, SIMULATED, *columns})
    if unknown or not isinstance(report.get(SIMULATED, False), bool):
        raise DataError("report.unknown-fields", row=row)
    return report
