"""Labels for a plan, from a column: labels found in enough rows, or a given list compared with the column.

A plan is public. A label that is read from people's data reveals that somebody has this value. So labels in few rows
are not proposed. A column with mostly different values, such as names or e-mail addresses, is an error.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from math import ceil, floor, inf, isfinite, log10
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.arrow import as_text, is_textual, is_value
from discreet.core.checks import checked_whole
from discreet.core.labels.text_forms import composed, match_key
from discreet.errors import DataError, ParameterError
from discreet.files.paths import File
from discreet.files.reading import readable
from discreet.tables.columns import checked_columns, is_number, shown
from discreet.tables.cuts import DATE, Cut, are_dates, check_ascending, labels_of_cuts
from discreet.tables.scan import is_text, scan, table_files
from discreet.tables.spellings import Join, joined_counts, other_texts
from discreet.tables.text import (
    DATE_ORDERS,
    PLAIN,
    SPELLINGS,
    CellFormat,
    Cells,
    Kind,
    from_typed,
    with_points,
    with_year_first,
)

LEAST = 20
"""The default for the fewest rows of a proposed label."""
MOST_LABELS = 1000
_MOST_DIFFERENT = 100_000
INTEGERS, NUMBER_LABELS, DATES, TEXT, _CELLS = "integers", "numbers", "dates", "text", "cells"
_CUT = (INTEGERS, NUMBER_LABELS, DATES)
KINDS = (*_CUT, TEXT)
# The approximate number of proposed ranges of numbers; the least and the most ranges of dates.
_RANGES, _FEW_DATES, _MOST_DATES = 8, 3, 12
# Proposed bounds are multiples of about one fortieth of the range of all numbers.
_STEPS = 40
# At most this many texts beside numbers are taken for spellings of missing values.
_FEW_TEXTS = 5
# This many different integers, each in one row, count as identifiers of people.
_IDS = 200
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0+)?", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*", re.ASCII)

Label = str | int


@dataclass(frozen=True, slots=True)
class ColumnLabels:
    """The labels of a column, and the numbers of rows that have no label.

    Attributes:
        labels: the labels, all texts or all integers; ascending if they were read from the table.
        found: whether the labels were read from the table; otherwise the caller listed them.
        rows: the number of rows of the table.
        missing: the number of rows without a value.
        others: the number of different values that are no labels.
        other_rows: the number of rows with such values.
        read_rows: the number of rows whose text is no label but reads like one.
    """

    labels: tuple[Label, ...]
    found: bool
    rows: int
    missing: int
    others: int
    other_rows: int
    read_rows: int = 0


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """The counts of the values in a column of a table.

    Attributes:
        name: the name of the column.
        kind: ``integers``, ``numbers``, ``dates`` or ``text``; or the name of another type.
        counts: the number of rows of each value; dates are texts. If there are too many values, every second value is
            dropped, and the others are counted twice.
        missing: the number of rows without a value.
        thinned: whether values were dropped from the counts.
        is_spelled: whether the values come from text files, whose cells have no types.
    """

    name: str
    kind: str
    counts: Counter[Any]
    missing: int
    thinned: bool
    is_spelled: bool

    @property
    def rows(self) -> int:
        """The number of rows with a value."""
        return self.counts.total()


def summarize_columns(
    sources: str | File | Sequence[str | File],
    asked: Mapping[str, Sequence[str] | None] | None = None,
    spelling: CellFormat = PLAIN,
) -> dict[str, ColumnSummary]:
    """Count the values in columns of tables, in one pass.

    Args:
        sources: files and folders of tables, on this machine or at URLs.
        asked: the columns, each with its labels if the caller lists them (NA means a missing cell unless it is a
            label); None for all columns with a unique name.
        spelling: how the cells of text are written.

    Raises:
        DataError: if a table is damaged, or a column is missing or has different types in different tables.

    Example:
        >>> from importlib.resources import files
        >>> summary = summarize_columns(files("discreet") / "examples" / "answers.csv")["age"]
        >>> summary.kind, summary.rows, len(summary.counts), summary.missing
        ('text', 2000, 4, 0)
    """
    counts: dict[str, Counter[Any]] = {}
    kinds: dict[str, str] = {}
    thinned: set[str] = set()
    for table in table_files(sources):
        with readable(table):
            _add(table, asked, spelling, (counts, kinds, thinned))
    return {name: _summary(name, counter, kinds[name], name in thinned, spelling) for name, counter in counts.items()}


def _add(
    table: File,
    asked: Mapping[str, Any] | None,
    spelling: CellFormat,
    so_far: tuple[dict[str, Counter[Any]], dict[str, str], set[str]],
) -> None:
    """Add the values of one table's columns to the counts. Missing values are counted under None."""
    counts, kinds, thinned = so_far

    def chosen(names: Sequence[str]) -> Mapping[str, Cells]:
        if asked is None and is_text(table) and any(map(is_number, names)):
            raise DataError("table.without-names", columns=shown(names))
        columns = [name for name in names if name and names.count(name) == 1] if asked is None else list(asked)
        # NA means a missing cell, unless it is a listed label.
        labels = {name: SPELLINGS & {*((asked or {}).get(name) or ())} for name in columns}
        return {name: Cells(Kind.TEXT, labels[name], spelling) for name in columns}

    scanned = scan(table, checked_columns(chosen, dict.fromkeys(asked or (), "columns")), list(asked or ()))
    for name in scanned.asked:
        kind = _CELLS if is_text(table) else _kind(scanned.types[name])
        if kinds.setdefault(name, kind) != kind:
            raise DataError("column.other-kind", before=kinds[name], name=name, kind=kind)
        counts.setdefault(name, Counter())
    for batch in scanned.batches(list(scanned.asked)):
        for name in scanned.asked:
            counter = counts[name]
            counter.update(dict(_counted(from_typed(batch.column(name), scanned.asked[name]))))
            while len(counter) > _MOST_DIFFERENT:
                thinned.add(name)
                ranked = sorted((item for item in counter.items() if item[0] is not None), key=itemgetter(0))[::2]
                counts[name] = counter = Counter({None: counter[None], **{value: 2 * count for value, count in ranked}})


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return INTEGERS
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return NUMBER_LABELS
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return DATES
    return TEXT if is_textual(kind) or pa.types.is_boolean(kind) else str(kind)


def _counted(column: Any) -> Iterator[tuple[Any, int]]:
    import pyarrow.compute as pc

    column = as_text(column)
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, pa.float64()))
    elif not is_value(column.type):
        return
    counts = pc.value_counts(column)
    yield from zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)


def _summary(name: str, counts: Counter[Any], kind: str, thinned: bool, spelling: CellFormat) -> ColumnSummary:
    """Return the counts of a column. The cells of text determine whether it holds integers, numbers, dates or text."""
    missing, is_spelled = counts.pop(None, 0), kind == _CELLS
    if kind in {_CELLS, TEXT}:
        kind, counts = _texts(counts, spelling, is_spelled=is_spelled)
    if kind == NUMBER_LABELS:
        counts = _recounted(counts, map(float, counts))
        if counts and all(value.is_integer() and abs(value) < 2.0**53 for value in counts):
            # In data frames a missing cell turns a column of integers into floats.
            kind, counts = INTEGERS, _recounted(counts, map(int, counts))
    return ColumnSummary(name, kind, counts, missing, thinned, is_spelled)


def _texts(counts: Counter[Any], spelling: CellFormat, *, is_spelled: bool) -> tuple[str, Counter[Any]]:
    """Return the type of the values that texts stand for, and the counts of these values."""
    column = pa.array(counts, pa.string())
    numbers = _recounted(counts, with_points(column).to_pylist()) if spelling.decimal == "," else counts
    if is_spelled and counts and all(map(_WHOLE.fullmatch, numbers)):
        return INTEGERS, _as_integers(numbers)
    if is_spelled and counts and all(map(_is_number, numbers)):
        return NUMBER_LABELS, numbers
    dates = _recounted(counts, with_year_first(column, spelling).to_pylist())
    if counts and all(len(text) > 4 and DATE.fullmatch(text.strip()) for text in dates):
        return DATES, dates
    return TEXT, counts


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and isfinite(float(text))


def _recounted(counts: Mapping[Any, int], values: Iterable[Any]) -> Counter[Any]:
    """Return the counts with each counted value replaced by the new value in the same place."""
    changed: Counter[Any] = Counter()
    for value, rows in zip(values, counts.values(), strict=True):
        changed[value] += rows
    return changed


def refuse_spelling(summary: ColumnSummary, least: int = LEAST) -> None:
    """Raise an error for a column of text that holds numbers or dates in another spelling.

    The error names the option that reads them. It quotes only texts of at least ``least`` rows.

    Raises:
        DataError: if the column holds dates without the year in front, numbers with decimal commas, or numbers beside
            at most a few other texts.
    """
    name, texts = summary.name, summary.counts
    if summary.kind != TEXT or not texts:
        return
    days = [order for order in DATE_ORDERS if _texts(texts, CellFormat(dates=order), is_spelled=False)[0] == DATES]
    if days:
        raise DataError("column.order-of-dates", name=name, orders=" or ".join(days))
    pointed = with_points(pa.array(texts, pa.string())).to_pylist()
    others = {text for text, point in zip(texts, pointed, strict=True) if not (_is_number(text) or _is_number(point))}
    rows = sum(texts[text] for text in others)
    if summary.is_spelled and not others:
        raise DataError("column.decimal-commas", name=name)
    if summary.is_spelled and len(others) <= _FEW_TEXTS < len(texts) / 2 and 2 * rows < summary.rows:
        shown = ", ".join(repr(text) for text in sorted(others) if texts[text] >= least) or "none"
        raise DataError("column.numbers-and-texts", name=name, count=len(others), rows=rows, shown=shown)


def labels_in(
    summary: ColumnSummary, listed: Sequence[str] | None = None, *, least: int = LEAST, join: Join = "spaces"
) -> ColumnLabels:
    """Return the labels of a column: the labels found in it, or a given list.

    Args:
        summary: the column.
        listed: the labels as texts; None for the labels found in the column. Labels of a column of integers are
            integers; labels of a text file are integers if all are written as integers.
        least: the fewest rows of a label that is found in the column.
        join: the name of the rule by which different texts count as one label.

    Raises:
        DataError: if labels are wanted from a column that holds neither text nor integers, or whose values are mostly
            different, mostly rare, or too many.
        ParameterError: if a list of labels does not fit its column.

    Example:
        >>> from importlib.resources import files
        >>> summary = summarize_columns(files("discreet") / "examples" / "answers.csv")["age"]
        >>> labels_in(summary).labels
        ('18-29', '30s', '40s', '50+')
    """
    checked_whole("least", least)
    texts, kind, name = summary.counts, summary.kind, summary.name
    counts = joined_counts(texts, join) if kind == TEXT else texts
    if listed is None:
        refuse_spelling(summary, least)
        if kind not in {TEXT, INTEGERS}:
            raise DataError("labels.no-kind", name=name, kind=kind)
        labels = tuple(sorted(value for value, count in counts.items() if count >= least))
        _check_rare_values(replace(summary, counts=counts), labels, least)
    else:
        if summary.is_spelled:
            # The labels determine the type: 1 is text if "no answer" is a label too.
            kind = INTEGERS if all(map(_WHOLE.fullmatch, listed)) else TEXT
            texts = Counter({str(value): count for value, count in texts.items()})
            counts = _as_integers(texts) if kind == INTEGERS else texts
        labels = _listed(name, listed, kind)
        if join == "reading":
            labels = tuple({match_key(str(label)): label for label in reversed(labels)}.values())[::-1]
    rows = summary.rows + summary.missing
    if kind == TEXT:
        return ColumnLabels(labels, listed is None, rows, summary.missing, *other_texts(texts, labels, join))
    known = set(labels)
    others = [count for value, count in counts.items() if value not in known]
    return ColumnLabels(labels, listed is None, rows, summary.missing, len(others), sum(others))


def labels_between(summary: ColumnSummary, cuts: Sequence[Cut], *, found: bool = False) -> ColumnLabels:
    """Return labels for the ranges of a column. ``found`` is true if the cuts come from `proposed_cuts`.

    Raises:
        DataError: if the column does not hold numbers or dates, as the cuts do.
        ParameterError: if the cuts are not ascending.
    """
    check_ascending(cuts)
    refuse_spelling(summary)
    if summary.rows and (summary.kind not in _CUT or (summary.kind == DATES) != are_dates(cuts)):
        raise DataError("cuts.other-kind", name=summary.name, kind=summary.kind)
    return ColumnLabels(tuple(labels_of_cuts(cuts)), found, summary.rows + summary.missing, summary.missing, 0, 0)


def proposed_cuts(summary: ColumnSummary, *, least: int = LEAST) -> list[Cut]:
    """Return cuts for about eight ranges, each with at least ``least`` rows; none for text or identifiers.

    The cuts are evenly spaced over the middle nine tenths of the rows (over all rows if these are equal), so that they
    reveal little about a single row.
    """
    whole = summary.kind == INTEGERS
    if summary.kind not in _CUT or (whole and summary.rows == len(summary.counts) >= _IDS):
        return []
    values = sorted(summary.counts)
    upto = np.cumsum([summary.counts[value] for value in values])
    if not values or upto[-1] < 2 * least:
        return []
    for share in (0.05, 0.0):
        low, high = (values[int(np.searchsorted(upto, part * upto[-1]))] for part in (share, 1 - share))
        candidates: Sequence[Cut] = _days(low, high) if summary.kind == DATES else _round(low, high, whole=whole)
        cuts: list[Cut] = []
        before = 0
        for cut in candidates:
            below = int(upto[place - 1]) if (place := bisect_left(values, cut)) else 0
            if below - before >= least and upto[-1] - below >= least:
                cuts.append(cut)
                before = below
        if cuts:
            break
    return cuts


def proposed_ends(summary: ColumnSummary, *, least: int = LEAST) -> tuple[float, float]:
    """Return a round lower and upper bound for a column. At least ``least`` rows are near or beyond each bound.

    Raises:
        DataError: if the column holds no numbers, or too few different numbers.
    """
    refuse_spelling(summary, least)
    values = sorted(summary.counts) if summary.kind in (INTEGERS, NUMBER_LABELS) else []
    upto = np.cumsum([summary.counts[value] for value in values])
    if len(values) > 1 and upto[-1] >= 2 * least:
        places = np.searchsorted(upto, least), np.searchsorted(upto, upto[-1] - least, side="right")
        low, high = (values[min(int(place), len(values) - 1)] for place in places)
        if steps := _round(low, high, whole=False, parts=_STEPS):
            size = steps[1] - steps[0] if len(steps) > 1 else abs(steps[0]) or 1.0
            return float(f"{floor(low / size) * size:.12g}"), float(f"{ceil(high / size) * size:.12g}")
    raise DataError("column.too-few-numbers", name=summary.name, least=2 * least)


def _round(low: float, high: float, *, whole: bool, parts: int = _RANGES) -> list[float]:
    """Return the multiples of a round step between two numbers."""
    span = (high - low) / parts
    if not 0 < span < inf:
        return []
    size = 10.0 ** floor(log10(span))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= span)
    step = max(round(step), 1) if whole else step
    counts = range(ceil(low / step), floor(high / step) + 1)
    return [step * count for count in counts] if whole else [float(f"{step * count:.12g}") for count in counts]


def _days(low: str, high: str) -> list[str]:
    """Return the years, months or days between two dates: the coarsest of them with enough dates."""
    try:
        first, last = (date.fromisoformat(f"{end.strip()}-01-01"[:10]) for end in (low, high))
    except ValueError:
        # The text is not a date of the calendar, such as 31 February.
        return []
    days = [first + timedelta(days) for days in range((last - first).days + 1)]
    spelled = [list(dict.fromkeys(day.isoformat()[:letters] for day in days))[1:] for letters in (4, 7, 10)]
    dates = next((candidate for candidate in spelled if len(candidate) >= _FEW_DATES), spelled[-1])
    return dates[:: ceil(len(dates) / _MOST_DATES) or 1]


def _as_integers(counts: Counter[Any]) -> Counter[Any]:
    """Return counts with texts of whole numbers, such as 20 and 20.0, as integers. Other texts stay unchanged."""
    return _recounted(counts, (int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else text for text in counts))


def _listed(name: str, listed: Sequence[str], kind: str) -> tuple[Label, ...]:
    wrong = [text for text in listed if kind == INTEGERS and not _WHOLE.fullmatch(text)]
    if wrong:
        raise ParameterError("labels.not-integers", name=name, wrong=wrong[0])
    labels = tuple(int(text.partition(".")[0]) if kind == INTEGERS else composed(text) for text in listed)
    if len({*labels}) < len(labels) or not labels:
        raise ParameterError("labels.not-different", name=name)
    return labels


def _check_rare_values(summary: ColumnSummary, labels: Sequence[Label], least: int) -> None:
    """Raise an error if labels found in a column could identify people, or cover too few rows."""
    name, counts, rows = summary.name, summary.counts, summary.rows
    if rows < least:
        raise DataError("column.too-few-values", name=name, rows=rows, least=least)
    # Names are mostly different from each other.
    if summary.thinned or 2 * len(counts) > rows:
        many = f"more than {_MOST_DIFFERENT:,}" if summary.thinned else f"{len(counts):,}"
        raise DataError("column.mostly-different", name=name, many=many, rows=rows)
    rare = rows - sum(counts[label] for label in labels)
    if 2 * rare > rows:
        raise DataError("column.mostly-rare", rare=rare, rows=rows, name=name, least=least)
    if len(labels) > MOST_LABELS:
        raise DataError("column.too-many-labels", most=MOST_LABELS, n=len(labels), name=name)
