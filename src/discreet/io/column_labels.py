"""Labels of a plan from a column of a table: those found often enough, or a list that is compared with the table.

A plan is public. A label that is read from people's data tells that somebody has this value, so a label that few rows
hold is not proposed, and a column with mostly different values, such as names or e-mails, is refused.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core.checks import checked_whole
from discreet.errors import DataError, ParameterError
from discreet.io.cells import SPELLINGS, Cells, Kind
from discreet.io.piped import Source
from discreet.io.read_errors import readable
from discreet.io.remote import File
from discreet.io.table_scan import is_text, scan, table_files
from discreet.io.tables import checked_columns

LEAST = 20
"""The fewest rows that hold a label, for it to be proposed."""
MOST_LABELS = 1000
_MOST_DIFFERENT = 100_000
_INTEGER, _TEXT, _CELLS = "integers", "text", "cells"
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0+)?", re.ASCII)

Label = str | int


@dataclass(frozen=True, slots=True)
class ColumnLabels:
    """The labels of a column, and the rows that they leave out.

    Attributes:
        labels: all texts or all integers, ascending where they were found.
        found: whether they were read from the table; otherwise they were listed.
        rows: number of rows of the table.
        missing: rows without a value.
        others: different values that are no labels.
        other_rows: rows that hold these.
    """

    labels: tuple[Label, ...]
    found: bool
    rows: int
    missing: int
    others: int
    other_rows: int


def labels_of(
    sources: str | File | Sequence[str | File], asked: Mapping[str, Sequence[str] | None], *, least: int = LEAST
) -> dict[str, ColumnLabels]:
    """Return the labels of columns, in one pass through tables.

    Args:
        sources: files and folders of tables, on this machine or at URLs.
        asked: for each column its labels as texts, or None for those that are found. Labels of a column of integers
            are integers; those of a text file are, if all are written so.
        least: the fewest rows that hold a label that is found.

    Raises:
        DataError: if a table is broken, a column is not there or holds neither text nor integers, or labels are to be
            found in a column whose values are mostly different, mostly rare, or too many to list.
        ParameterError: if a list of labels does not fit its column, or nothing is asked for.

    Example:
        >>> from importlib.resources import files
        >>> answers = files("discreet") / "examples" / "answers.csv"
        >>> labels_of(answers, {"age": None})["age"].labels
        ('18-29', '30s', '40s', '50+')
    """
    checked_whole("least", least)
    if not asked:
        raise ParameterError("at least one column must be asked for, got none.")
    named = [sources] if isinstance(sources, str | Path | File) else list(sources)
    tables = table_files(named)
    counts: dict[str, Counter[Any]] = {name: Counter() for name in asked}
    kinds: dict[str, str] = {}
    for table in tables:
        with readable(table):
            _add(table, asked, counts, kinds)
    return {name: _labels(name, counts[name], listed, kinds[name], least) for name, listed in asked.items()}


def _add(table: Source, asked: Mapping[str, Any], counts: Mapping[str, Counter[Any]], kinds: dict[str, str]) -> None:
    """Count the values of a table's columns; None counts the missing ones."""
    # NA is a missing cell, unless it is listed.
    cells = {name: Cells(Kind.TEXT, SPELLINGS & {*(listed or ())}) for name, listed in asked.items()}
    found = scan(table, checked_columns(lambda _: cells), list(asked))
    for name in asked:
        kind = _CELLS if is_text(table) else _kind(name, found.types[name])
        if kinds.setdefault(name, kind) != kind:
            raise DataError(f"column {name!r} holds {kind} here and {kinds[name]} in the tables before.")
    for batch in found.batches(list(asked)):
        for name, counter in counts.items():
            counter.update(dict(_counted(batch.column(name))))
            if len(counter) > _MOST_DIFFERENT:
                raise _different(name, f"more than {_MOST_DIFFERENT:,}")


def _kind(name: str, kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _kind(name, kind.value_type)
    if pa.types.is_integer(kind):
        return _INTEGER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _TEXT
    raise DataError(
        f"column {name!r} holds {kind}, and labels of a plan are text or integers; make ranges of numbers or dates, as "
        "texts, first."
    )


def _counted(column: Any) -> Iterator[tuple[Any, int]]:
    import pyarrow.compute as pc

    found = pc.value_counts(column)
    yield from zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)


def _labels(name: str, counts: Counter[Any], listed: Sequence[str] | None, kind: str, least: int) -> ColumnLabels:
    missing, rows = counts.pop(None, 0), counts.total()
    if kind == _CELLS:
        whole = all(_WHOLE.fullmatch(text) for text in (counts if listed is None else listed))
        kind, counts = (_INTEGER, _as_integers(counts)) if whole else (_TEXT, counts)
    if listed is None:
        labels = tuple(sorted(value for value, count in counts.items() if count >= least))
        _refuse_telling(name, counts, labels, least)
    else:
        labels = _listed(name, listed, kind)
    known = set(labels)
    others = [count for value, count in counts.items() if value not in known]
    return ColumnLabels(labels, listed is None, rows + missing, missing, len(others), sum(others))


def _as_integers(counts: Counter[Any]) -> Counter[Any]:
    """Return counts with whole numbers as integers, such as 20 and 20.0, and any other cell as it is."""
    found: Counter[Any] = Counter()
    for text, count in counts.items():
        found[int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else text] += count
    return found


def _listed(name: str, listed: Sequence[str], kind: str) -> tuple[Label, ...]:
    wrong = [text for text in listed if kind == _INTEGER and not _WHOLE.fullmatch(text)]
    if wrong:
        raise ParameterError(f"column {name!r} holds integers, so its labels must be integers, got {wrong[0]!r}.")
    labels = tuple(int(text.partition(".")[0]) if kind == _INTEGER else text for text in listed)
    if len({*labels}) < len(labels) or not labels:
        raise ParameterError(f"the labels of column {name!r} must be different from each other, and at least one.")
    return labels


def _refuse_telling(name: str, counts: Counter[Any], labels: Sequence[Label], least: int) -> None:
    """Refuse labels that were found where they would tell who is in the table, or say little of it."""
    rows = counts.total()
    if rows < least:
        raise DataError(
            f"column {name!r} holds {rows:,} values, and a label that is found is held by {least} rows at least, as "
            "one that few people hold tells of them; list the labels (--labels), from the questionnaire."
        )
    if 2 * len(counts) > rows:
        raise _different(name, f"{len(counts):,} in {rows:,} rows")
    rare = rows - sum(counts[label] for label in labels)
    if 2 * rare > rows:
        raise DataError(
            f"{rare:,} of {rows:,} rows hold a value of column {name!r} that fewer than {least} rows hold, and a label "
            "that few people hold tells of them; list the labels (--labels), from the questionnaire."
        )
    if len(labels) > MOST_LABELS:
        raise DataError(
            f"at most {MOST_LABELS:,} labels of a column are proposed, got {len(labels):,} in column {name!r}; join "
            "values to groups first, or write the plan by hand."
        )


def _different(name: str, how_many: str) -> DataError:
    return DataError(
        f"the values of column {name!r} are mostly different ({how_many}), as names or e-mails are, and a plan is "
        "public; ask for another column, or list its labels (--labels)."
    )
