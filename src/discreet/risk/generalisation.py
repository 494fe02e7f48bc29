"""Steps of generalisation: coarser values for a column.

A step is written in a short form:

    5-year, 10-wide, 0.1-degree   intervals of this width, counted from 0; for dates, periods of years
    3, 3-digits                   the first characters; whole numbers are padded with zeros first
    6-hour, day, week             for dates, with or without a clock: periods counted from the start of 1970
    month, year                   for dates
    *                             one value for everybody: the column is omitted

A missing cell stays a separate value, except for ``*``.
"""

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import ParameterError

LEFT_OUT = "*"

_WIDTH = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)-(?:year|wide|degree)s?", re.ASCII)
_TIME = re.compile(r"(?:(\d{1,5})-)?(hour|day|week)s?", re.ASCII)
_SECONDS = {"hour": 3600, "day": 86400, "week": 7 * 86400}
_LENGTH = re.compile(r"(\d{1,2})(?:-digits?)?", re.ASCII)
_SPANS = {"month": "%Y-%m", "year": "%Y"}
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Step:
    """A step of generalisation, which makes the values of a column coarser.

    Attributes:
        text: its short form, such as ``5-year``.

    Raises:
        ParameterError: if the text is not such a form.

    Example:
        >>> import pyarrow as pa
        >>> Step("20-year").coarsen("age", pa.array([34, 45, 66, None])).to_pylist()
        ['[20, 40)', '[40, 60)', '[60, 80)', None]
        >>> Step("3").coarsen("zip", pa.array(["81675", "81925"])).to_pylist()
        ['816', '819']
    """

    text: str

    def __post_init__(self) -> None:
        known = self.text in (LEFT_OUT, *_SPANS)
        if not (known or self.width or self.length or self.seconds):
            raise ParameterError("generalisation.unknown", text=self.text)

    @property
    def width(self) -> float:
        """The width of intervals; 0 for another kind of step."""
        match = _WIDTH.fullmatch(self.text)
        return float(match[1]) if match else 0.0

    @property
    def seconds(self) -> int:
        """The length of time periods; 0 unless the step is in hours, days or weeks."""
        match = _TIME.fullmatch(self.text)
        return int(match[1] or 1) * _SECONDS[match[2]] if match else 0

    @property
    def length(self) -> int:
        """The number of first characters; 0 for another kind of step."""
        match = _LENGTH.fullmatch(self.text)
        return int(match[1]) if match else 0

    def coarsen(self, name: str, values: Any) -> Any:
        """Return coarser values in Arrow.

        Raises:
            ParameterError: if values of this type cannot be made coarser in this way; ``name`` is the column's name.
        """
        kind = values.type
        if pa.types.is_null(kind):
            return values
        if self.text == LEFT_OUT:
            return pa.repeat(pa.scalar(LEFT_OUT), len(values))
        is_date, is_text = pa.types.is_date(kind) or pa.types.is_timestamp(kind), _is_textual(kind)
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
        if self.width and _is_numeric(kind):
            return _intervals(values, self.width)
        if self.length and (is_text or pa.types.is_integer(kind)):
            return pc.utf8_slice_codeunits(values if is_text else _padded(values), 0, self.length)
        raise ParameterError("generalisation.wrong-column-type", name=name, noun_of=_noun_of(kind), text=self.text)


def _intervals(values: Any, width: float) -> Any:
    """Return the interval of each number as text, such as ``[20, 40)``."""

    def multiple(factors: Any) -> Any:
        # With as many digits as the width has, so that 3 x .1 is .3.
        return pc.round(pc.multiply(factors, width), _DIGITS)

    numbers = values.cast(pa.float64(), safe=False)
    below = pc.floor(pc.divide(numbers, width))
    # For .3 the number of tenths is 2.9999999999999996.
    below = pc.add(below, pc.greater_equal(numbers, multiple(pc.add(below, 1.0))).cast(pa.float64()))
    low, high = (multiple(pc.add(below, step)).cast(pa.string()) for step in (0.0, 1.0))
    return pc.binary_join_element_wise("[", low, ", ", high, ")", "")


def _is_textual(kind: Any) -> bool:
    """Return true for Arrow's types of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_numeric(kind: Any) -> bool:
    """Return true for Arrow's types of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _padded(values: Any) -> Any:
    """Return whole numbers as text of one length, as postcodes were before a zero was lost."""
    texts = values.cast(pa.string())
    longest = pc.max(pc.utf8_length(texts)).as_py()
    return pc.utf8_lpad(texts, longest or 0, "0")


def _noun_of(kind: Any) -> str:
    """Return a noun for values of an Arrow type, for use in messages."""
    if _is_numeric(kind):
        return "numbers"
    if _is_textual(kind):
        return "text"
    return "dates" if pa.types.is_temporal(kind) else str(kind)
