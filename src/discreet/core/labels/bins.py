"""Numbers in bins: the label space of the numbers between two bounds.

Devices store numbers in floats of several widths. So borders and bounds are rounded to the type of a column before the
comparison. A number in a sensitive range then never gets the code of a bin above the range.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log10
from sys import float_info
from typing import Any, ClassVar
from warnings import warn

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core import columns
from discreet.core.checks import checked_choice, checked_finite, checked_flag, checked_whole, is_real
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.labels.spaces import NUMBERS, LabelSpace
from discreet.errors import DataError, ParameterError

SCALES = ("linear", "log1p")
MOST_BINS = 4096
_WIDENED = (
    "these numbers were float32 before they became float64. A float32 can lie just below the border that it stands "
    "for. Use --float32 (float32=True) to read these numbers as float32."
)
# Share of a bin by which a range may be narrower than the bin.
_ON_BORDER = 1e-9


def are_pairs(values: Any) -> bool:
    """Return true if an argument holds ranges of numbers, and false if it holds single numbers."""
    if isinstance(values, list | tuple):
        return bool(values) and not any(map(is_real, values))
    return getattr(values, "ndim", 1) == 2


def borders_at(low: float, high: float, count: int, places: IntArray) -> FloatArray:
    """Return some of the borders that divide the range from low to high into ``count`` parts of equal width.

    Each border is the float nearest to its exact decimal value. For example, 0.3 must not lie below a border that was
    computed as 0.1 + 0.1 + 0.1.
    """
    first, last = Fraction(repr(low)), Fraction(repr(high))
    each = (last - first) / count
    parts, whole = first.numerator * each.denominator, first.denominator * each.denominator
    width = each.numerator * first.denominator
    different, back = np.unique(places, return_inverse=True)
    # A quotient of integers of Python is the nearest float.
    return np.array([(parts + width * place) / whole for place in different.tolist()], dtype=np.float64)[back]


@dataclass(frozen=True, eq=False)
class Numbers(LabelSpace):
    """The numbers from low to high, in bins; a border belongs to the bin above it, and high to the last bin.

    Borders, low and high are rounded to the type of a column (float16, float32). A number of this type then lies at or
    above a border if it may stand for a real number at or above the border.

    Attributes:
        low: the least number.
        high: the largest number.
        bins: number of bins; at most 4,096.
        scale: ``"linear"`` for bins of one width, ``"log1p"`` for bins in which ln(1 + x) grows by as much.
        clip: whether numbers outside belong to the first and the last bin; otherwise they have no label.
        ends: upper bounds of the sensitive ranges: the largest numbers that are surely sensitive. They do not change
            the fingerprint. A number of a narrow type that may stand for such a bound is never in a bin above it.
        starts: the borders at which sensitive ranges of other combinations of a product begin.
    """

    low: float
    high: float
    bins: int = 256
    scale: str = "linear"
    clip: bool = False
    ends: tuple[float, ...] = ()
    starts: tuple[float, ...] = ()
    holds: ClassVar[str] = NUMBERS

    def __post_init__(self) -> None:
        """Raise an error for an empty range of numbers, or for invalid bins.

        Raises:
            ParameterError: if the range is empty or the bins are invalid.
        """
        for name in ("low", "high"):
            # -0.0 becomes 0.0, so that equal ranges have equal descriptions.
            object.__setattr__(self, name, checked_finite(name, getattr(self, name), -float_info.max) + 0.0)
        if not self.low < self.high:
            raise ParameterError("range.empty", argument="low", low=self.low, high=self.high)
        object.__setattr__(self, "bins", checked_whole("bins", self.bins, 2, MOST_BINS))
        checked_choice("scale", self.scale, SCALES)
        object.__setattr__(self, "clip", checked_flag("clip", self.clip))
        if self.scale == "log1p" and self.low <= -1:
            raise ParameterError("scale.too-low-numbers", argument="low", low=self.low)
        if not (np.diff(self.borders) > 0).all():
            raise ParameterError("bins.too-many", argument="bins", bins=self.bins)

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of bins into which a range of numbers is divided."""
        return self.bins

    @cached_property
    def borders(self) -> FloatArray:
        """``(bins + 1,)`` borders of the bins of numbers, in ascending order."""
        if self.scale == "linear":
            return borders_at(self.low, self.high, self.bins, np.arange(self.bins + 1))
        scaled = np.expm1(np.linspace(np.log1p(self.low), np.log1p(self.high), self.bins + 1))
        borders: FloatArray = np.array([float(f"{border:.15g}") for border in scaled])
        borders[0], borders[-1] = self.low, self.high
        return borders

    def quantities(self) -> FloatArray:
        """Return the ``(bins,)`` midpoints of the bins of numbers."""
        middles: FloatArray = (self.borders[:-1] + self.borders[1:]) / 2
        return middles

    def as_float32(self, values: Any) -> AnyArray:
        """Return a column of numbers as float32."""
        return columns.float32(values)

    def encode(self, values: Any) -> IntArray:
        """Return the ``(n,)`` codes of a column of numbers: for each number the index of its bin.

        Raises:
            DataError: if the values are no numbers, or their type is too coarse for the sensitive ranges of a product.
        """
        numbers = columns.floats(values)
        if numbers.dtype == np.float64 and columns.were_float32(numbers):
            warn(_WIDENED, UserWarning, stacklevel=2)
        codes = np.searchsorted(self._steps(numbers.dtype), numbers, side="right").astype(np.int64)
        away = self._unknown(numbers) if self.clip else self.outside(numbers)
        codes[away] = OUTSIDE
        codes[np.isnan(numbers)] = MISSING
        return codes

    def outside(self, numbers: AnyArray) -> BoolArray:
        """Return ``(n,)`` booleans: true for floats, of any type, that are below low or above high."""
        low, high = self._rounded((self.low, self.high), numbers.dtype)
        away: BoolArray = (numbers < low) | (numbers > high) | self._unknown(numbers)
        return away

    def _unknown(self, numbers: AnyArray) -> BoolArray:
        """Return ``(n,)`` booleans: true for infinite numbers, if their float type cannot represent low and high."""
        is_small = np.isinf(self._rounded((self.low, self.high), numbers.dtype)).any()
        return np.isinf(numbers) if is_small else np.zeros(len(numbers), dtype=np.bool_)

    @staticmethod
    def _rounded(numbers: Any, kind: np.dtype[Any]) -> AnyArray:
        with np.errstate(over="ignore"):
            return np.asarray(numbers, dtype=np.float64).astype(kind)

    def _steps(self, kind: np.dtype[Any]) -> AnyArray:
        """Return the ``(bins - 1,)`` least numbers of all bins but the first, in a float type."""
        steps = self._rounded(self.borders[1:-1], kind)
        ends, bins = self._rounded(self.ends, kind), self._bins(self.ends)
        inner = bins < self.bins - 1
        # In a narrow type, the next bin begins above the bound of a sensitive range. In float64 no border is that near.
        np.maximum.at(steps, bins[inner], np.nextafter(ends[inner], kind.type(np.inf)))
        steps = np.maximum.accumulate(steps)
        starts = np.searchsorted(steps, self._rounded(self.starts, kind), side="right")
        if (starts < self._bins(self.starts)).any():
            raise DataError("column.too-coarse", kind=kind)
        return steps

    def _bins(self, numbers: Any) -> IntArray:
        """Return the index of the bin of each float64 number from low to high."""
        return np.searchsorted(self.borders[1:-1], np.asarray(numbers, dtype=np.float64), side="right")

    def ranges(self, ranges: Any, name: str = "sensitive", *, closed: bool = False, narrow: bool = True) -> BoolArray:
        """Return the ``(bins,)`` mask of the bins that overlap ranges of numbers.

        A range is rounded outward to whole bins.

        Args:
            ranges: pairs of numbers, no two of them overlapping.
            name: the argument's name in messages.
            closed: whether a range includes its upper bound, as sensitive ranges do; otherwise a bound that is a border
                belongs to the bin above.
            narrow: whether a range may be narrower than a bin.

        Raises:
            ParameterError: if these are no such pairs, or a range does not lie between low and high.
        """
        pairs = columns.reals(ranges, name)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not (pairs[:, 0] < pairs[:, 1]).all():
            raise ParameterError("argument.not-ranges", argument=name)
        if pairs.min() < self.low or pairs.max() > self.high:
            raise ParameterError("argument.ranges-outside", argument=name, low=self.low, high=self.high)
        ordered = pairs[np.argsort(pairs[:, 0])]
        if (ordered[1:, 0] < ordered[:-1, 1]).any():
            raise ParameterError("argument.ranges-overlap", argument=name)
        places = np.interp(pairs, self.borders, np.arange(self.bins + 1.0))
        if not narrow and (np.diff(places) < 1 - 2 * _ON_BORDER * self.bins).any():
            raise ParameterError("argument.ranges-narrow", argument=name)
        lasts = self._bins(pairs[:, 1]) if closed else np.searchsorted(self.borders, pairs[:, 1]) - 1
        mask = np.zeros(self.bins, dtype=np.bool_)
        for first, last in zip(self._bins(pairs[:, 0]), lasts, strict=True):
            mask[first : last + 1] = True
        return mask

    def mask_of(self, labels: Any, name: str, *, closed: bool = False) -> BoolArray:
        """Return the ``(bins,)`` mask of the bins that ranges or single numbers select."""
        if are_pairs(labels):
            return self.ranges(labels, name, closed=closed, narrow=closed)
        return super().mask_of(labels, name, closed=closed)

    def codes_in(self, wanted: Any, where: str, *, closed: bool = False) -> IntArray:
        """Return the codes of the bins that one number, or ranges of numbers, select.

        A list of numbers raises an error, because it could mean one range.
        """
        if is_real(wanted):
            return super().codes_in(wanted, where, closed=closed)
        with columns.of_parameter(where):
            return np.flatnonzero(self.ranges(wanted, "pattern", closed=closed, narrow=closed))

    def bounded(self, chosen: BoolArray, numbers: Iterable[float] = ()) -> "Numbers":
        """Return a copy of the bins that stores the upper bounds of the sensitive ranges.

        Args:
            chosen: ``(bins,)`` or ``(bins, m)`` booleans: the sensitive bins, of a product for each of m combinations
                of the other attributes.
            numbers: the upper bounds that are known.
        """
        marks, known = chosen.reshape(self.bins, -1), sorted({*self.ends, *map(float, numbers)})
        last = {int(code): number for code, number in zip(self._bins(known), known, strict=True)}
        closing = np.flatnonzero((marks[:-1] & ~marks[1:]).any(axis=1)).tolist()
        opening = (~marks[:-1] & marks[1:]).any(axis=1) & (marks.shape[1] > 1)
        ends = tuple(last[code] if code in last else self._short_number_inside(code) for code in closing)
        return replace(self, ends=ends, starts=tuple(self.borders[1:-1][opening].tolist()))

    def _short_number_inside(self, code: int) -> float:
        """Return the number with the fewest digits in the middle half of a bin."""
        low, high = self.borders[code : code + 2].tolist()
        edge = (high - low) / 4
        texts = (f"{(low + high) / 2:.{digits}g}" for digits in range(1, 18))
        return next((float(text) for text in texts if low + edge <= float(text) <= high - edge), (low + high) / 2)

    def names(self, codes: IntArray) -> list[str]:
        """Return a readable range for each code, with enough digits to distinguish the borders."""
        largest = max(abs(self.low), abs(self.high))
        digits = min(max(ceil(log10(largest / float(np.diff(self.borders).min()))) + 1, 3), 17)
        spelled = [f"{border:.{digits}g}" for border in self.borders.tolist()]
        return [f"{spelled[code]} to {spelled[code + 1]}" for code in np.asarray(codes).tolist()]

    def runs(self, codes: IntArray) -> IntArray:
        """Return the ``(r, 2)`` first and last bins of the runs of consecutive bins in an ascending list."""
        starts = np.flatnonzero(np.diff(codes, prepend=-2) > 1)
        return np.column_stack([codes[starts], codes[np.append(starts[1:], len(codes)) - 1]])

    def closed_ranges(self, codes: IntArray) -> list[list[float]]:
        """Return ranges of numbers that select the given bins, which are in ascending order.

        The upper bound of a range lies inside its last bin; only a range up to the last bin of all has the bound high.
        So the ranges select the same bins whether or not a bound belongs to its range.
        """
        known = dict(zip(self._bins(self.ends).tolist(), self.ends, strict=True))
        ranges = []
        for first, last in self.runs(codes).tolist():
            end = known.get(last, self.low)
            inside = end if end > self.borders[last] else self._short_number_inside(last)
            ranges.append([float(self.borders[first]), self.high if last == self.bins - 1 else inside])
        return ranges

    def spelled_ranges(self, codes: IntArray) -> list[str]:
        """Return the ranges of numbers of the given bins as texts, one for each run of consecutive bins."""
        low, high = self.borders[:-1].tolist(), self.borders[1:].tolist()
        return [
            f"from {low[first]:.9g} up to {'' if last == self.bins - 1 else 'below '}{high[last]:.9g}"
            for first, last in self.runs(codes).tolist()
        ]

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the lower and the upper border of the bin of each code."""
        codes = np.asarray(codes)
        return {"low": self.borders[codes], "high": self.borders[codes + 1]}

    def describe(self) -> dict[str, Any]:
        """Return a description with low, high, the number of bins, the scale and the clipping."""
        return {"number": [self.low, self.high, self.bins, self.scale, self.clip]}
