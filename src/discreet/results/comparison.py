"""Comparisons: differences of two estimates, or of an estimate and known shares, with intervals and tests."""

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
    p_value_text,
    text_column,
)
from discreet.pictures.charts import Differences, forest_chart
from discreet.theory.binomial import Control, rejected

_SHOWN = 12
# Most values listed in a remark; share of an interval's width by which a difference may lie outside.
_NAMED, _ROUNDING = 5, 1e-9


class ValueDifference(NamedTuple):
    """The difference of the shares that one value has in two distributions.

    Attributes:
        value: the name of the value.
        sensitive: whether the value is sensitive.
        first: the estimated share in the first distribution.
        second: the share in the second distribution.
        difference: first minus second.
        lower: lower limit of the difference.
        upper: upper limit of the difference.
        p_value: p-value of the test of no difference.
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
    """The chi-square test of the hypothesis that the compared distributions are equal.

    Attributes:
        statistic: the squared distance of the differences from 0, by their covariance.
        degrees: degrees of freedom.
        p_value: the probability of a statistic at least as large if there is no difference.
    """

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(TabularResult):
    """The differences of two distributions over one domain, for each value, with a test of all values.

    Intervals are made of the limits of both estimates before these are clipped to [0, 1] (MOVER). The test of a value
    is the inversion of its interval: the p-value is below 5% if and only if the 95% interval excludes 0.

    Attributes:
        domain: the values.
        first: ``(|X|,)`` frequencies.
        second: ``(|X|,)`` frequencies, or given shares.
        lower: ``(|X|,)`` lower limits of the differences.
        upper: ``(|X|,)`` upper limits.
        level: confidence of the intervals.
        p_values: ``(|X|,)`` p-values of the tests of no difference, one per value.
        overall: the test over all values; None if the covariances are not known, or there are too many values.
        sizes: numbers of reports in the first and in the second; 0 for given shares.
        titles: names of both distributions.
        simultaneous: whether all intervals hold at once.
        simulated: whether any report was simulated.
        methods: methods of the estimates.

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
        """``(|X|,)`` differences of the two distributions: the first frequencies minus the second."""
        return self.first - self.second

    @property
    def heading(self) -> str:
        """One line with both titles, the numbers of reports, and the test over all values."""
        sizes = [f"{title}, n={size}" if size else title for title, size in zip(self.titles, self.sizes, strict=True)]
        test = (
            "" if self.overall is None else f"; test of no difference: p{p_value_text(self.overall.p_value, sign=True)}"
        )
        return f"Comparison({sizes[0]}; {sizes[1]}; {self.domain.size} values{test})"

    @property
    def remark(self) -> str:
        """A sentence on differences that lie outside their intervals, with the reason; empty if all lie inside."""
        slack = _ROUNDING * (self.upper - self.lower)
        outside = np.flatnonzero((self.differences < self.lower - slack) | (self.differences > self.upper + slack))
        if not len(outside):
            return ""
        more = [f"{len(outside) - _NAMED:,} more values"] if len(outside) > _NAMED else []
        names = ", ".join([*self.domain.names(outside[:_NAMED]), *more])
        methods = " and ".join(dict.fromkeys(self.methods))
        return (
            f"Differences outside their intervals: {names}. Method {methods} moves frequencies away from the unbiased "
            "estimates. Intervals and p-values belong to the unbiased estimates, which method linear shows."
        )

    def view(self) -> ResultTable:
        """Return a table of the values with the smallest p-values, with a note on the others."""
        left = self.domain.size - _SHOWN
        below = f"and {left:,} values that differ less; to_pandas, to_polars and to_arrow return all"
        table = self.values_table(self.heading, self.clearest_values(_SHOWN))
        return replace(table, notes=[below, *table.notes]) if left > 0 else table

    def values_table(self, title: str, codes: IntArray, before: Sequence[ResultColumn] = ()) -> ResultTable:
        """Return a table of the differences of some values, with the given columns before the differences.

        The other columns have an entry for each value of the domain.
        """
        columns = [column.at(codes) for column in (*before, *self.value_columns())]
        names = text_column("value", self.domain.names(codes))
        return ResultTable(title, [names, *columns], [*filter(None, [self.remark])])

    def __len__(self) -> int:
        return self.domain.size

    def __getitem__(self, value: Any) -> ValueDifference:
        """Return the difference of one value, which is passed as a label of the domain.

        Raises:
            KeyError: if the value is not in the domain; the message does not quote it.
        """
        return self._rows(self.domain.code_of(value))[0]

    def _rows(self, codes: AnyArray) -> list[ValueDifference]:
        rows = self.values_table("", codes).records()
        return [ValueDifference(**row) for row in rows]

    def clearest_values(self, count: int) -> IntArray:
        """Return the codes of the ``count`` values with the smallest p-values.

        If the domain has no more values, all codes are returned, in order.
        """
        if self.domain.size <= count:
            return np.arange(self.domain.size)
        return np.argsort(self.p_values, kind="stable")[:count]

    def clearest(self, count: int = 10) -> list[ValueDifference]:
        """Return the differences of the ``count`` values with the smallest p-values.

        If the domain has no more values, all are returned, in the domain's order.
        """
        return self._rows(self.clearest_values(count))

    def significant(self, rate: float = 0.05, *, control: Control = "fdr") -> list[ValueDifference]:
        """Return the values whose shares differ significantly, the smallest p-value first.

        Args:
            rate: the bound on the error rate, in (0, 1/2).
            control: the error rate that is bounded; see `discreet.theory.binomial.rejected`.

        Raises:
            ParameterError: if the rate is not in (0, 1/2), or the control is unknown.
        """
        listed = np.flatnonzero(self.significant_values(rate, control=control))
        return self._rows(listed[np.argsort(self.p_values[listed], kind="stable")])

    def significant_values(self, rate: float = 0.05, *, control: Control = "fdr") -> BoolArray:
        """Return ``(|X|,)`` booleans: true for the values in `significant`; arguments are as for `significant`."""
        return rejected(self.p_values, rate, control=control)

    def table(self) -> ResultTable:
        """Return a table of all values: labels, sensitive, first, second, difference, lower, upper, p_value."""
        return ResultTable(self.heading, label_columns(self.domain.table(), self.value_columns()))

    def value_columns(self) -> list[ResultColumn]:
        """Return the columns of a comparison without the labels, which are the same in every output."""
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
        """Return an Altair forest plot: a row per value with difference and interval; sensitive values are marked.

        Args:
            largest: number of values to draw; values with the smallest p-values are chosen.
        """
        rows = self.clearest(largest)
        sizes = [
            f"{title} ({size:,} reports)" if size else title
            for title, size in zip(self.titles, self.sizes, strict=True)
        ]
        kind = "simultaneous " if self.simultaneous else ""
        legend = f"dot: difference; bar: {self.level * 100:g}% {kind}interval; filled: interval excludes 0"
        return forest_chart(Differences(f"{sizes[0]} minus {sizes[1]}", legend, [row._asdict() for row in rows]))
