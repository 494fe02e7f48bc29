"""Comparisons: differences of two estimates, or of an estimate and given shares, with intervals and tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.core.result_table import (
    ResultColumn,
    ResultTable,
    TabularResult,
    label_columns,
    spelled_p_value,
    text_column,
)
from discreet.pictures.charts import Differences, forest_chart
from discreet.theory.binomial import Control, rejected

_SHOWN = 12
# Values that are named where differences lie outside; of an interval's width: a difference at its end does not.
_NAMED, _ROUNDING = 5, 1e-9


class ValueDifference(NamedTuple):
    """The difference of one value's frequencies.

    Attributes:
        value: its name.
        sensitive: whether it is.
        first: its estimated share in the first.
        second: its share in the second.
        difference: first less second.
        lower: end of the interval of the difference.
        upper: the other end.
        p_value: of the test of no difference.
    """

    value: str
    sensitive: bool
    first: float
    second: float
    difference: float
    lower: float
    upper: float
    p_value: float


class ChiSquare(NamedTuple):
    """The test of no difference in any value.

    Attributes:
        statistic: the squared distance of the differences from 0, by their covariance.
        degrees: of freedom.
        p_value: the probability of such a statistic, or a larger one, where nothing differs.
    """

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(TabularResult):
    """The differences of two distributions over one domain, value by value and over all.

    Intervals are made of the limits of both estimates before these are clipped to [0, 1] (MOVER); the test of a value
    is that interval turned round: its p-value is below 5% exactly where the 95% interval excludes 0.

    Attributes:
        domain: the values.
        first: ``(|X|,)`` frequencies.
        second: ``(|X|,)`` frequencies, or given shares.
        lower: ``(|X|,)`` lower ends of the intervals of the differences.
        upper: ``(|X|,)`` upper ends.
        level: confidence of the intervals.
        p_values: ``(|X|,)`` of the tests of no difference, each by itself.
        overall: the test over all values; None where the covariances are not known, or there are too many values.
        sizes: reports in the first and in the second; 0 for given shares.
        titles: of both.
        simultaneous: whether all intervals hold at once.
        simulated: whether any report was simulated.
        methods: of the estimates.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=2.0)
        >>> values, regions = ["bus"] * 600 + ["car"] * 400, ["north"] * 500 + ["south"] * 500
        >>> reports = mechanism.obfuscate(values, random=dc.SeededRandom(1))
        >>> grouped = dc.estimate_groups(mechanism, reports, groups=regions)
        >>> comparison = dc.compare(grouped["north"], grouped["south"])
        >>> [one.value for one in comparison.significant()], comparison["walk"].p_value > 0.05
        (['bus', 'car'], True)
    """

    domain: Domain
    first: FloatArray
    second: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    p_values: FloatArray
    overall: ChiSquare | None
    sizes: tuple[int, int]
    titles: tuple[str, str] = ("first", "second")
    simultaneous: bool = False
    simulated: bool = False
    methods: tuple[str, ...] = ()

    @property
    def differences(self) -> FloatArray:
        """``(|X|,)`` first less second."""
        return self.first - self.second

    @property
    def heading(self) -> str:
        """Both sides, and the test over all values, in a line."""
        sizes = [f"{title}, n={size}" if size else title for title, size in zip(self.titles, self.sizes, strict=True)]
        test = (
            ""
            if self.overall is None
            else f"; no difference at all: p{spelled_p_value(self.overall.p_value, sign=True)}"
        )
        return f"Comparison({sizes[0]}; {sizes[1]}; {self.domain.size} values{test})"

    @property
    def remark(self) -> str:
        """A sentence on differences that lie outside their intervals, and why; empty if there are none."""
        slack = _ROUNDING * (self.upper - self.lower)
        outside = np.flatnonzero((self.differences < self.lower - slack) | (self.differences > self.upper + slack))
        if not len(outside):
            return ""
        more = [f"{len(outside) - _NAMED:,} more values"] if len(outside) > _NAMED else []
        names, methods = (
            ", ".join([*self.domain.names(outside[:_NAMED]), *more]),
            " and ".join(dict.fromkeys(self.methods)),
        )
        return (
            f"Differences outside their intervals: {names}. Method {methods} moves frequencies away from the unbiased "
            "estimates, and intervals and p-values are of these; compare estimates of method linear to see them."
        )

    def view(self) -> ResultTable:
        """Return the table of the clearest differences, with a note on the others."""
        left = self.domain.size - _SHOWN
        below = f"and {left:,} values that differ less; to_pandas, to_polars and to_arrow return all"
        table = self.values_table(self.heading, self.clearest_values(_SHOWN))
        return replace(table, notes=[below, *table.notes]) if left > 0 else table

    def values_table(self, title: str, codes: IntArray, before: Sequence[ResultColumn] = ()) -> ResultTable:
        """Return the table of the differences of some values, after other columns as long as the domain."""
        columns = [column.at(codes) for column in (*before, *self.value_columns())]
        names = text_column("value", self.domain.names(codes))
        return ResultTable(title, [names, *columns], [*filter(None, [self.remark])])

    def __len__(self) -> int:
        return self.domain.size

    def __getitem__(self, value: Any) -> ValueDifference:
        """Return the difference of one value, given as the domain has it.

        Raises:
            KeyError: if it is not in the domain; it is not quoted.
        """
        return self._rows(self.domain.code_of(value))[0]

    def _rows(self, codes: AnyArray) -> list[ValueDifference]:
        rows = self.values_table("", codes).records()
        return [ValueDifference(**row) for row in rows]

    def clearest_values(self, count: int) -> IntArray:
        """Return the codes of the values with the smallest p-values; all in the domain's order if few."""
        if self.domain.size <= count:
            return np.arange(self.domain.size)
        return np.argsort(self.p_values, kind="stable")[:count]

    def clearest(self, count: int = 10) -> list[ValueDifference]:
        """Return the differences of the values with the smallest p-values; all in the domain's order if few."""
        return self._rows(self.clearest_values(count))

    def significant(self, rate: float = 0.05, *, control: Control = "fdr") -> list[ValueDifference]:
        """Return the differences that are significant, the clearest first.

        Args:
            rate: the bound that is kept, in (0, 1/2).
            control: of what; see `discreet.theory.binomial.rejected`.

        Raises:
            ParameterError: if rate is not in (0, 1/2), or there is no such control.
        """
        listed = np.flatnonzero(self.significant_values(rate, control=control))
        return self._rows(listed[np.argsort(self.p_values[listed], kind="stable")])

    def significant_values(self, rate: float = 0.05, *, control: Control = "fdr") -> BoolArray:
        """Return ``(|X|,)`` booleans, true for the values that `significant` lists; arguments as there."""
        return rejected(self.p_values, rate, control=control)

    def table(self) -> ResultTable:
        """Return all values: labels, sensitive, first, second, difference, lower, upper, p_value."""
        return ResultTable(self.heading, label_columns(self.domain.table(), self.value_columns()))

    def value_columns(self) -> list[ResultColumn]:
        """Return the columns beside labels of every output of a comparison."""
        ends = f"{'simultaneous ' if self.simultaneous else ''}{self.level * 100:g}% from"
        return [
            ResultColumn("sensitive", self.domain.sensitive, "mark"),
            ResultColumn("first", self.first, "share", self.titles[0]),
            ResultColumn("second", self.second, "share", self.titles[1]),
            ResultColumn("difference", self.differences, "share", "", "+%"),
            ResultColumn("lower", self.lower, "share", ends, "+%"),
            ResultColumn("upper", self.upper, "share", "to", "+%"),
            ResultColumn("p_value", self.p_values, "p-value", "p"),
        ]

    def plot(self, largest: int = 40) -> Any:
        """Return an Altair forest plot: a row per value with its difference and interval; sensitive ones are marked.

        Args:
            largest: how many values to draw, those that differ most clearly.
        """
        rows = self.clearest(largest)
        sizes = [
            f"{title} ({size:,} reports)" if size else title
            for title, size in zip(self.titles, self.sizes, strict=True)
        ]
        kind = "simultaneous " if self.simultaneous else ""
        legend = f"dot: difference; bar: {self.level * 100:g}% {kind}interval; filled: interval excludes 0"
        return forest_chart(Differences(f"{sizes[0]} less {sizes[1]}", legend, [row._asdict() for row in rows]))
