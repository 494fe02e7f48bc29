"""Steps of generalisation: coarser values for a column.

A step is written in a short form:

    5-year, 10-wide, 0.1-degree        numbers: intervals of this width, counted from 0
    6-hour, day, week, month, 5-year   dates, with or without a clock: periods, counted from the start of 1970
    3, 3-digits                        text and whole numbers: the first characters; numbers are padded with zeros first
    *                                  one value for everybody: the column is omitted

A missing cell stays a separate value, except for ``*``.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import ParameterError

LEFT_OUT = "*"

_WIDTH = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)-(?:year|wide|degree)s?", re.ASCII)
_PERIOD = re.compile(r"(?:(\d{1,5})-)?(hour|day|week|month|year)s?", re.ASCII)
_LENGTH = re.compile(r"(\d{1,2})(?:-digits?)?", re.ASCII)
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
        forms = (form.fullmatch(self.text) for form in (_WIDTH, _PERIOD, _LENGTH))
        numbers = [match[1] for match in forms if match]
        if self.text != LEFT_OUT and (not numbers or any(number and float(number) == 0 for number in numbers)):
            raise ParameterError("generalisation.unknown", text=self.text)

    def coarsen(self, name: str, values: Any) -> Any:
        """Return coarser values in Arrow.

        Raises:
            ParameterError: if values of this type cannot be made coarser in this way; ``name`` is the column's name.
        """
        kind = values.type
        width, period, length = (form.fullmatch(self.text) for form in (_WIDTH, _PERIOD, _LENGTH))
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if pa.types.is_null(kind):
            return values
        if self.text == LEFT_OUT:
            return pa.repeat(pa.scalar(LEFT_OUT), len(values))
        if period and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            moments = values.cast(pa.timestamp("s", tz=getattr(kind, "tz", None)), safe=False)
            return pc.floor_temporal(moments, int(period[1] or 1), period[2])
        if width and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return _intervals(values, float(width[1]))
        if length and (is_text or pa.types.is_integer(kind)):
            return pc.utf8_slice_codeunits(values if is_text else _padded(values), 0, int(length[1]))
        raise ParameterError("generalisation.wrong-column-type", name=name, kind=kind, text=self.text)


def _intervals(values: Any, width: float) -> Any:
    """Return the interval of each number as text, such as ``[20, 40)``."""
    # Rounded, because .3 / .1 is 2.9999999999999996.
    below = np.floor(np.round(np.asarray(values.cast(pa.float64(), safe=False)) / width, _DIGITS))
    ends = (np.round((below + step) * width, _DIGITS) for step in (0, 1))
    low, high = (pa.array(end, from_pandas=True).cast(pa.string()) for end in ends)
    return pc.binary_join_element_wise("[", low, ", ", high, ")", "")


def _padded(values: Any) -> Any:
    """Return whole numbers as text of one length, as postcodes were before a zero was lost."""
    texts = values.cast(pa.string())
    return pc.utf8_lpad(texts, pc.max(pc.utf8_length(texts)).as_py() or 0, "0")
