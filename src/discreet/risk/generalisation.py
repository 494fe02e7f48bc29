"""Generalisations of tables of people: coarser ways of writing columns, ladders of them, and who is left out.

A document says it, in TOML or JSON, and so do options; both are a `Generalisation`:

    limit = 0.2

    [columns]
    age = ["as it is", "5-year", "20-year"]
    zip = "3-digits"
    sex = "*"

    [suppress]
    below = 5
    share = 0.05

A step is written as people say it:

    5-year, 10-wide, 0.1-degree   intervals of that width, counted from 0; of dates, spans of years
    3, 3-digits                   the first characters; of whole numbers, with zeros before the shorter ones
    6-hour, day, week             of dates with a clock, or without: spans counted from the start of 1970
    month, year                   of dates
    *                             one value for everybody: the column is left out

A missing cell stays a value of its own, except under ``*``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.checks import checked_share, checked_whole
from discreet.errors import ParameterError

AS_IT_IS, LEFT_OUT = "as it is", "*"

_WIDTH = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)-(?:year|wide|degree)s?", re.ASCII)
_TIME = re.compile(r"(?:(\d{1,5})-)?(hour|day|week)s?", re.ASCII)
_SECONDS = {"hour": 3600, "day": 86400, "week": 7 * 86400}
_LENGTH = re.compile(r"(\d{1,2})(?:-digits?)?", re.ASCII)
_SPANS = {"month": "%Y-%m", "year": "%Y"}
_NICE = (1, 2, 2.5, 5, 10)
# Intervals of the steps that are proposed for a column of numbers.
_INTERVALS = (20, 10, 4)
_LONGEST_CODE, _MOST_CUTS, _DIGITS = 12, 3, 9


@dataclass(frozen=True, slots=True)
class Step:
    """A coarser way of writing a column.

    Attributes:
        text: as it is written, such as ``5-year``; `AS_IT_IS` for no change.

    Raises:
        ParameterError: if it is none of these.

    Example:
        >>> import pyarrow as pa
        >>> Step("20-year").of("age", pa.array([34, 45, 66, None])).to_pylist()
        ['[20, 40)', '[40, 60)', '[60, 80)', None]
        >>> Step("3").of("zip", pa.array(["81675", "81925"])).to_pylist()
        ['816', '819']
    """

    text: str = AS_IT_IS

    def __post_init__(self) -> None:
        known = self.text in (AS_IT_IS, LEFT_OUT, *_SPANS)
        if not (known or self.width or self.length or self.seconds):
            raise ParameterError(
                "a generalisation must be written as 5-year, 10-wide, 3-digits, 6-hour, day, week, month, year or *, "
                f"got {self.text!r}."
            )

    @property
    def width(self) -> float:
        """The width of intervals; 0 if it is no step of intervals."""
        match = _WIDTH.fullmatch(self.text)
        return float(match[1]) if match else 0.0

    @property
    def seconds(self) -> int:
        """The length of spans of time; 0 if it is no step of hours, days or weeks."""
        match = _TIME.fullmatch(self.text)
        return int(match[1] or 1) * _SECONDS[match[2]] if match else 0

    @property
    def length(self) -> int:
        """The number of characters that are kept; 0 if it is no such step."""
        match = _LENGTH.fullmatch(self.text)
        return int(match[1]) if match else 0

    def of(self, name: str, values: Any) -> Any:
        """Return values in Arrow, written more coarsely.

        Raises:
            ParameterError: if values of their type cannot be written so; ``name`` is what the column is called.
        """
        kind = values.type
        if self.text == AS_IT_IS or pa.types.is_null(kind):
            return values
        if self.text == LEFT_OUT:
            return pa.repeat(pa.scalar(LEFT_OUT), len(values))
        is_date, is_text = pa.types.is_date(kind) or pa.types.is_timestamp(kind), is_textual(kind)
        if is_date and self.text in _SPANS:
            moments = values.cast(pa.timestamp("s", tz=getattr(kind, "tz", None)), safe=False)
            return pc.strftime(moments, format=_SPANS[self.text])
        if is_date and self.width >= 1:
            return _intervals(pc.year(values), self.width)
        if is_date and self.seconds:
            instants = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).cast(pa.float64())
            starts = pc.multiply(pc.floor(pc.divide(instants, self.seconds)), self.seconds)
            form = "%Y-%m-%dT%H" if self.seconds % _SECONDS["day"] else "%Y-%m-%d"
            return pc.strftime(starts.cast(pa.int64()).cast(pa.timestamp("s")), format=form)
        if self.width and is_numeric(kind):
            return _intervals(values, self.width)
        if self.length and (is_text or pa.types.is_integer(kind)):
            return pc.utf8_slice_codeunits(values if is_text else _padded(values), 0, self.length)
        raise ParameterError(
            f"the column {name!r} holds {noun_of(kind)}, which cannot be written as {self.text}; numbers take 5-year "
            "or 10-wide, text and whole numbers 3-digits, dates (as 1990-12-31) week, month or 5-year, and every "
            "column *."
        )


def _intervals(values: Any, width: float) -> Any:
    """Return numbers as the intervals that they are in, such as ``[20, 40)``."""

    def multiple(factors: Any) -> Any:
        # As many digits as the width has, so that 3 x .1 is .3.
        return pc.round(pc.multiply(factors, width), _DIGITS)

    numbers = values.cast(pa.float64(), safe=False)
    below = pc.floor(pc.divide(numbers, width))
    # Of .3 the tenths are 2.9999999999999996.
    below = pc.add(below, pc.greater_equal(numbers, multiple(pc.add(below, 1.0))).cast(pa.float64()))
    low, high = (multiple(pc.add(below, step)).cast(pa.string()) for step in (0.0, 1.0))
    return pc.binary_join_element_wise("[", low, ", ", high, ")", "")


def is_textual(kind: Any) -> bool:
    """Return true for Arrow's types of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_numeric(kind: Any) -> bool:
    """Return true for Arrow's types of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _padded(values: Any) -> Any:
    """Return whole numbers as text of one length, as postcodes were before a zero got lost."""
    texts = values.cast(pa.string())
    longest = pc.max(pc.utf8_length(texts)).as_py()
    return pc.utf8_lpad(texts, longest or 0, "0")


def noun_of(kind: Any) -> str:
    """Return a noun for values of an Arrow type, for messages."""
    if is_numeric(kind):
        return "numbers"
    if is_textual(kind):
        return "text"
    return "dates" if pa.types.is_temporal(kind) else str(kind)


def proposed(values: Any) -> tuple[Step, ...]:
    """Return a ladder for a column of distinct values in Arrow: from its own values to leaving it out.

    Numbers get three widths, codes of one length lose up to three characters, dates become months, years and decades.

    Example:
        >>> import pyarrow as pa
        >>> [step.text for step in proposed(pa.array(range(90)))]
        ['as it is', '5-wide', '10-wide', '25-wide', '*']
    """
    between = list[str]()
    there = values.drop_null()
    if len(there) > 2 and is_numeric(there.type):
        ends = pc.min_max(there.cast(pa.float64(), safe=False)).as_py()
        between = _widths(ends["max"] - ends["min"])
    elif pa.types.is_date(there.type) or pa.types.is_timestamp(there.type):
        between = ["month", "year", "10-year"]
    elif len(there) > 2 and is_textual(there.type):
        lengths, digits = pc.min_max(pc.utf8_length(there)).as_py(), pc.match_substring_regex(there, "[0-9]")
        longest = lengths["max"]
        if lengths["min"] == longest <= _LONGEST_CODE and pc.all(digits).as_py():
            between = [f"{left}-digits" for left in range(longest - 1, max(longest - 1 - _MOST_CUTS, 0), -1)]
    return Step(), *map(Step, between), Step(LEFT_OUT)


def _widths(span: float) -> list[str]:
    """Return round widths of intervals, each larger than the one before."""
    if not 0 < span < 1e15:
        return []
    widths = [0.0]
    for intervals in _INTERVALS:
        least = span / intervals
        scale = 10.0 ** floor(log10(least))
        widths.append(max(scale * next(factor for factor in _NICE if factor * scale >= least * (1 - 1e-9)), 1e-9))
    return [f"{_spelled(wide)}-wide" for narrow, wide in pairwise(widths) if wide > narrow]


def _spelled(width: float) -> str:
    return f"{width:.9f}".rstrip("0").rstrip(".")


class Suppression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """People who are left out of a table.

    Attributes:
        below: people in classes of fewer are.
        share: of the people that may be left out so, at most.

    Raises:
        ParameterError: if a number is out of range.
    """

    below: int = 1
    share: float = 1.0

    def __post_init__(self) -> None:
        checked_whole("below", self.below)
        checked_share("share", self.share)


class Generalisation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The ways in which a table of people may be written, and what is wanted of them.

    Attributes:
        limit: risk that nobody in the table is to exceed; 0.2 asks for classes of five.
        columns: by column a step, or the steps of which one is to be chosen.
        suppress: people who are left out.

    Raises:
        ParameterError: if a step is none, or a number is out of range.

    Example:
        >>> Generalisation(columns={"age": ["5-year", "*"]}).ladders["age"]
        (Step(text='5-year'), Step(text='*'))
    """

    limit: float = 0.2
    columns: dict[str, str | list[str]] = {}
    suppress: Suppression = Suppression()

    def __post_init__(self) -> None:
        checked_share("limit", self.limit)
        for name, steps in self.columns.items():
            try:
                for step in [steps] if isinstance(steps, str) else steps or [""]:
                    Step(step)
            except ParameterError as error:
                raise ParameterError(f"column {name!r}: {error}") from None

    @property
    def ladders(self) -> dict[str, tuple[Step, ...]]:
        """The steps by column."""
        return {
            name: tuple(map(Step, [steps] if isinstance(steps, str) else steps)) for name, steps in self.columns.items()
        }

    @property
    def chosen(self) -> dict[str, Step] | None:
        """The step of each column; None if one is to be chosen among several."""
        steps = {name: ladder[0] for name, ladder in self.ladders.items() if len(ladder) == 1}
        return steps if len(steps) == len(self.columns) else None

    def choosing(self, columns: Mapping[str, str | list[str]]) -> "Generalisation":
        """Return the generalisation with these columns instead."""
        return msgspec.structs.replace(self, columns=dict(columns))


def columns_of(text: str) -> dict[str, str | list[str]]:
    """Return the columns of a `Generalisation`, as in ``age=5-year,zip=3``; steps are separated by a slash.

    Raises:
        ParameterError: if it is not written so, or a column is named twice.

    Example:
        >>> columns_of("age=5-year/10-year,sex=*")
        {'age': ['5-year', '10-year'], 'sex': '*'}
    """
    columns = dict[str, str | list[str]]()
    for part in text.split(","):
        name, _, steps = (piece.strip() for piece in part.partition("="))
        if not (name and steps) or name in columns:
            raise ParameterError(
                f"generalisations must be written as age=5-year,zip=3, each column once, got {part.strip()!r}."
            )
        ladder = [step.strip() for step in steps.split("/")]
        columns[name] = ladder if len(ladder) > 1 else ladder[0]
    return columns
