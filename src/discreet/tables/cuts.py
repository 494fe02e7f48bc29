"""Ranges of numbers and dates: columns that are cut into ranges, and a label for each range.

Dates are compared as text that starts with the year (2026-03-01T12:00). A cut is a year, a month, a day or a time.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.arrow import array_of, as_text, flags_of, is_textual
from discreet.core.columns import absent, floats
from discreet.core.domain import Domain
from discreet.core.labels.spaces import TEXT
from discreet.errors import DataError, ParameterError
from discreet.tables.text import NUMBERS, CellFormat, Cells, Kind, with_year_first

Cut: TypeAlias = float | str
Cuts: TypeAlias = list[Cut] | dict[str, list[Cut]]
"""The ascending starts of ranges: all numbers, or all dates; for a product, by attribute."""

DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII)
"""A date that starts with the year, perhaps with a time."""


def by_attribute(given: Any) -> dict[str, Any]:
    """Return an entry of a plan as a dictionary by attribute. For a single value, the key is an empty text."""
    return given if isinstance(given, dict) else {"": given}


def each_column(values: Any, change: Callable[[str, Any], Any]) -> Any:
    """Apply a function of name and column to each column of a table, or to a single column with an empty name."""
    if not isinstance(values, pa.Table):
        return change("", values)
    return pa.table({name: change(name, values[name]) for name in values.column_names})


def are_dates(cuts: Sequence[Cut]) -> bool:
    """Return true if cuts are dates, and false if they are numbers."""
    return isinstance(cuts[0], str)


def labels_of_cuts(cuts: Sequence[Cut]) -> list[str]:
    """Return a label for each range: below the first cut, between two cuts, and from the last cut on.

    Example:
        >>> labels_of_cuts([20, 30, 31])
        ['19 and below', '20 to 29', '30', '31 and above']
        >>> labels_of_cuts([0.5, 2.0]), labels_of_cuts(["2025"])
        (['below 0.5', '0.5 to below 2', '2 and above'], ['before 2025', 'from 2025'])
    """
    first, last = cuts[0], cuts[-1]
    if are_dates(cuts):
        return [f"before {first}", *(f"{low} to before {high}" for low, high in pairwise(cuts)), f"from {last}"]
    if all(isinstance(cut, int) for cut in cuts):
        whole = [int(cut) for cut in cuts]
        inner = [f"{low}" if high == low + 1 else f"{low} to {high - 1}" for low, high in pairwise(whole)]
        return [f"{whole[0] - 1} and below", *inner, f"{whole[-1]} and above"]
    inner = [f"{low:.12g} to below {high:.12g}" for low, high in pairwise(cuts)]
    return [f"below {first:.12g}", *inner, f"{last:.12g} and above"]


def cells_of_cuts(cuts: Sequence[Cut]) -> Cells:
    """Return the type as which a column with these cuts is read: text for dates, numbers for numbers."""
    return Cells(Kind.TEXT) if are_dates(cuts) else NUMBERS


def check_cuts(domain: Domain, cuts: Cuts, missing_label: Any = None) -> None:
    """Raise an error for cuts that do not fit the domain's labels. The last label may be for missing values.

    Raises:
        ParameterError: if the cuts are not ascending, their number is not one less than the number of labels, or an
            attribute is unknown.
    """
    for name, some in by_attribute(cuts).items():
        space = domain.space.flat_parts.get(name)
        lacking = by_attribute(missing_label).get(name)
        sizes = {len(some) + 1}
        if lacking is not None and space is not None and space.names(np.array([space.size - 1])) == [lacking]:
            sizes.add(len(some) + 2)
        if space is None or space.holds != TEXT or space.size not in sizes:
            where = f" of {name!r}" if name else ""
            raise ParameterError("cuts.wrong-count", argument="cuts", where=where)
        check_ascending(some)


def check_ascending(cuts: Sequence[Cut]) -> None:
    """Raise an error for cuts that are not ascending; errors as for `check_cuts`."""
    dates = [isinstance(cut, str) and DATE.fullmatch(cut) is not None for cut in cuts]
    numbers = [not isinstance(cut, str) and np.isfinite(cut) for cut in cuts]
    if not (cuts and (all(dates) or all(numbers)) and all(low < high for low, high in pairwise(cuts))):  # type: ignore[operator]
        raise ParameterError("cuts.not-ascending", argument="cuts")


def cells_with_cuts(cells: Mapping[str, Cells], cuts: Cuts) -> dict[str, Cells]:
    """Return the types as which columns of values are read, if some columns have cuts."""
    if not isinstance(cuts, dict):
        return dict.fromkeys(cells, cells_of_cuts(cuts))
    return {**cells, **{name: cells_of_cuts(some) for name, some in cuts.items()}}


def cut(values: Any, cuts: Cuts, domain: Domain, spelling: CellFormat) -> Any:
    """Replace numbers or dates by the labels of their ranges, in columns that have cuts. Missing values stay missing.

    Raises:
        DataError: if a column does not hold numbers or dates, as its cuts do.
    """
    named = by_attribute(cuts)

    def changed(name: str, column: Any) -> Any:
        if name not in named:
            return column
        space, what = domain.space.flat_parts[name], f"column {name!r}" if name else "the column"
        above = partial(_dates_above, spelling=spelling) if are_dates(named[name]) else _numbers_above
        return pa.array(space.names(np.arange(space.size)), pa.string()).take(above(what, column, named[name]))

    return each_column(values, changed)


def _dates_above(what: str, column: Any, cuts: list[Cut], spelling: CellFormat) -> Any:
    """Return for each date the number of cuts at or before it; null for missing dates."""
    import pyarrow.compute as pc

    column = as_text(column)
    if not is_textual(column.type):
        raise DataError("cuts.needs-dates", kind=column.type, what=what)
    read = pc.replace_substring(pc.utf8_trim_whitespace(with_year_first(column, spelling)), "T", " ")
    fits = pc.match_substring_regex(read, f"^({DATE.pattern})$").fill_null(True)
    wrong = np.flatnonzero(~np.asarray(fits))
    if len(wrong):
        raise DataError("cuts.not-dates", count=len(wrong), total=len(read), what=what)
    # A date with a time is after its day, and both are after its month.
    above = [pc.greater_equal(read, pa.scalar(str(cut).replace("T", " "), read.type)).cast(pa.int64()) for cut in cuts]
    places = above[0]
    for flags in above[1:]:
        places = pc.add(places, flags)
    return places


def _numbers_above(what: str, column: Any, cuts: list[Cut]) -> Any:
    """Return for each number the number of cuts at or below it, in the column's type; null for missing numbers."""
    gone = absent(column)
    try:
        there = floats(column.filter(flags_of(~gone)))
    except DataError:
        raise DataError("cuts.needs-numbers", kind=column.type, what=what) from None
    places = np.zeros(len(gone), dtype=np.int64)
    places[~gone] = np.searchsorted(np.array(cuts, dtype=np.float64).astype(there.dtype), there, side="right")
    return array_of(places, ~gone)
