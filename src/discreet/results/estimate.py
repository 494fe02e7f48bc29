"""The estimate: a table of frequencies with the standard errors of its method, and with confidence limits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, read_only
from discreet.core.checks import checked_between, checked_choice, checked_level, checked_whole
from discreet.core.domain import Domain, value_mask
from discreet.core.grouping import CellPartition
from discreet.core.labels.spaces import INTEGERS, NUMBERS
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, label_columns, text_column
from discreet.errors import ParameterError
from discreet.pictures.charts import Density, Map, Panel, density_chart, frequency_chart, region_chart
from discreet.results.functionals import Quantile, Quantity, Ratio, ascending, condition, marginal, scores_of
from discreet.results.uncertainty import Bounded, SumUncertainty, Uncertainty, ValueUncertainty
from discreet.theory.binomial import DEFAULT_LEVEL, ContributionMeans, Control, Ends, rejections

# Most values listed in a sentence on contradictions.
_NAMED = 5
# Share of an interval's width by which a frequency may lie outside.
_ROUNDING = 1e-9
# Most values of a covariance matrix, whose memory is quadratic in this number.
_MOST_COVARIANCES = 4096

# Most rows shown of an estimate; of more values, the most frequent are shown.
_SHOWN = 12


class ValueEstimate(NamedTuple):
    """The estimated share of one value, with its standard error and limits.

    Attributes:
        value: the name of the value.
        sensitive: whether the value is sensitive.
        frequency: the estimated share.
        standard_error: standard error of the share.
        lower: lower limit at 95%.
        upper: upper limit at 95%.
    """

    value: str
    sensitive: bool
    frequency: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(TabularResult):
    """The estimated frequencies of a domain's values, with their errors.

    Attributes:
        domain: the values.
        frequencies: ``(|X|,)`` estimates; an unbiased estimate may be negative.
        errors: the `standard_errors`, or a function that computes them on first use.
        n: number of reports.
        method: name of the method.
        fingerprint: fingerprint of the plan.
        gap: upper bound on the distance of the log-likelihood from its maximum, in nats per report; None if the method
            does not maximise it.
        passes: number of passes through the reports; None if only the tally was used.
        simulated: whether any report was simulated.
        intervals: the limits that the reports determine, for every method, or a function that computes them on first
            use; None for normal limits from the standard errors.
        people: the tallies of the estimate, a `discreet.estimators.strata.Strata`, by which comparisons recognise and
            test people; None without tallies.
        conditions: what all people have in common whose shares these are, such as "age = 65+"; empty for everybody.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=2.0)
        >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
        >>> estimate = dc.estimate(mechanism, reports)
        >>> estimate.frequencies.round(2).tolist(), estimate.standard_errors.round(2).tolist()
        ([0.59, 0.4, 0.0], [0.02, 0.02, 0.01])
        >>> low, high = estimate.interval(0.95)
        >>> [f"{a:.2f} to {b:.2f}" for a, b in zip(low, high, strict=True)]
        ['0.55 to 0.64', '0.36 to 0.45', '0.00 to 0.03']

        An estimate is a table: it is printed, read by value, and read by every library that reads Arrow.

        >>> estimate
        Estimate(linear, n=1000, 3 values, simulated)
          value             frequency  standard error  lower  upper
          bus    sensitive      0.594           0.023  0.549  0.640
          car    sensitive      0.402           0.023  0.358  0.447
          walk   sensitive      0.004           0.014  0.000  0.034
        >>> round(estimate["bus"].frequency, 2), [one.value for one in estimate.top(2)]
        (0.59, ['bus', 'car'])
    """

    domain: Domain
    frequencies: FloatArray
    errors: FloatArray | Callable[[], FloatArray]
    n: int
    method: str
    fingerprint: str
    gap: float | None = None
    passes: float | None = None
    simulated: bool = False
    intervals: Uncertainty | Callable[[], Uncertainty] | None = None
    people: Any = None
    conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Make the frequencies and the standard errors of an estimate read-only."""
        object.__setattr__(self, "frequencies", read_only(self.frequencies))
        if not callable(self.errors):
            object.__setattr__(self, "errors", read_only(self.errors))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle; deferred results are computed first, so that it contains no reports."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["intervals"] = self.uncertainty if callable(self.intervals) else self.intervals
        return state | {"errors": self.standard_errors}

    @cached_property
    def standard_errors(self) -> FloatArray:
        """``(|X|,)`` standard errors of the estimated frequencies.

        For ``mle`` and ``em`` they are the standard errors of the unbiased one-step estimates from the same reports.
        """
        return read_only(self.errors()) if callable(self.errors) else self.errors

    @property
    def heading(self) -> str:
        """One line with the method, the number of reports, the number of values, and `about`."""
        gap = "" if self.gap is None else f", gap={self.gap:.1e}"
        marks = ", simulated" if self.simulated else ""
        return f"Estimate({self.method}, n={self.n}, {self.domain.size} values{gap}{marks}{self._noted('; ')})"

    @property
    def about(self) -> str:  # type: ignore[override]
        """The attribute whose values have these shares, and which people they are shares of; empty if neither is known.

        The number of people follows from the unbiased estimates, and has two digits.
        """
        among = ""
        if self.conditions and isinstance(self.uncertainty, SumUncertainty):
            people = max(float(self.uncertainty.cells.centre.sum()), 0.0) * self.n
            number = f"about {float(f'{people:.2g}'):,.0f} of {self.n:,} people"
            among = f"of those with {' and '.join(self.conditions)}; {number}"
        return ", ".join(filter(None, [self.domain.attribute, among]))

    def _noted(self, before: str) -> str:
        return f"{before}{about}" if (about := self.about) else ""

    def view(self) -> ResultTable:
        """Return a table of all values, or of the most frequent values with a note on the others."""
        left = self.domain.size - _SHOWN
        codes = self.chosen(_SHOWN) if left > 0 else np.arange(self.domain.size)
        table = self.values_table(self.heading, codes)
        below = f"and {left:,} less frequent values; to_arrow, to_pandas and to_polars return all"
        return replace(table, notes=[below, *table.notes]) if left > 0 else table

    def values_table(
        self,
        title: str,
        codes: IntArray,
        level: float = DEFAULT_LEVEL,
        *,
        simultaneous: bool = False,
    ) -> ResultTable:
        """Return a table of the most frequent values, with intervals that are valid for such a selection.

        Args:
            title: text above the table.
            codes: codes of the values.
            level: confidence of the intervals.
            simultaneous: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        shown = max(len(codes), 1)
        columns = self.value_columns(level, simultaneous=simultaneous, shown=shown)
        notes = [
            self.selected(len(codes), level, simultaneous=simultaneous),
            self.contradiction(level, simultaneous=simultaneous, shown=shown),
            self.remark,
        ]
        names = text_column("value", self.domain.names(codes))
        return ResultTable(title, [names, *(column.at(codes) for column in columns)], [*filter(None, notes)])

    def chosen(self, count: int) -> IntArray:
        """Return the codes of the ``count`` most frequent values, in the order of a table.

        Numbers have the order of the domain, and so do labels if all are shown. A selection of labels is sorted by
        frequency.
        """
        codes = self.largest(count)
        return np.sort(codes) if len(self) <= count or self.domain.space.holds in {INTEGERS, NUMBERS} else codes

    def selected(self, count: int, level: float = DEFAULT_LEVEL, *, simultaneous: bool = False) -> str:
        """Return a sentence on intervals of the most frequent values, and on noise; empty if all values are shown.

        Args:
            count: number of values that are shown.
            level: confidence of the intervals.
            simultaneous: whether all intervals hold at once.

        Raises:
            ParameterError: as for `interval`.
        """
        size = self.domain.size
        if count >= size:
            return ""
        above = int(np.count_nonzero(self.interval(level, simultaneous=True)[0] > 0))
        chosen = "" if simultaneous else f"Intervals allow for the choice of the {count:,} largest of {size:,} values. "
        noun = "1 value is" if above == 1 else f"{above:,} values are" if above else "No value is"
        noise = "" if above == size else "; the others may be noise" if above else "; each of them may be noise"
        return f"{chosen}{noun} above 0 with {level * 100:g}% confidence for all values together{noise}."

    def interval(
        self, level: float = DEFAULT_LEVEL, simultaneous: bool = False, *, shown: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return confidence intervals for the true frequencies of all values.

        An interval depends on the reports and the value, not on the method: it contains every share under which the
        count of the value is not surprising. If the count is binomial, it uses exact tails; otherwise it is corrected
        for skewness. ``mle`` and ``em`` have shorter intervals, from whole reports. The frequency of a biased method
        may lie outside; see `contradicted`.

        Args:
            level: confidence, in (0, 1).
            simultaneous: whether all |X| intervals hold at once with this confidence (Sidak).
            shown: number of values that are chosen by their estimates, such as the most frequent ones. On average, at
                most 1 - level of the intervals of chosen values miss [Benjamini and Yekutieli 2005]. None for values
                that are chosen without the estimates; pointwise intervals are valid for them.

        Returns:
            Lower and upper limits, each ``(|X|,)``, within [0, 1]; equal only if the share is known.

        Raises:
            ParameterError: if the level is not in (0, 1), or shown is not a positive integer.
        """
        low, high = self.limits(level, simultaneous, shown=shown)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def limits(self, level: float = DEFAULT_LEVEL, simultaneous: bool = False, *, shown: int | None = None) -> Ends:
        """Return the limits of `interval` before they are clipped to [0, 1]; differences of estimates need them.

        Args:
            level: confidence, in (0, 1).
            simultaneous: as for `interval`.
            shown: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        level = checked_level(level)
        chosen = None if shown is None else checked_whole("shown", shown, 1)
        return self.uncertainty.limits(level, simultaneous=simultaneous, shown=chosen)

    @property
    def centre(self) -> FloatArray:
        """``(|X|,)`` nearly unbiased estimates around which the limits lie, for every method."""
        return self.uncertainty.centre

    @property
    def remark(self) -> str:
        """Sentences on intervals that do not come from the method, and on noisy bins; empty if neither applies."""
        noisy = self.domain.numbers is not None and self.method.startswith("linear")
        bins = "Single bins of numbers are noisy, but the mean is not. Use method smooth for the distribution."
        return " ".join(filter(None, [self.uncertainty.remark, bins if noisy else ""]))

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """The confidence limits and errors that the reports determine, for every method."""
        if callable(self.intervals):
            return self.intervals()
        errors = ContributionMeans(self.frequencies, 1, lasting=self.standard_errors**2)
        return self.intervals or ValueUncertainty.of(errors, self.frequencies)

    @property
    def is_unbiased(self) -> bool:
        """True if the frequencies are the unbiased estimates around which the limits lie."""
        return np.array_equal(self.frequencies, self.uncertainty.centre)

    def contradicted(
        self, level: float = DEFAULT_LEVEL, simultaneous: bool = False, *, shown: int | None = None
    ) -> BoolArray:
        """Return ``(|X|,)`` booleans: true where a frequency lies outside its interval.

        Such a frequency contradicts the reports, which would be surprising if it were the true share.

        Args:
            level: confidence, in (0, 1).
            simultaneous: as for `interval`.
            shown: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        low, high = self.interval(level, simultaneous, shown=shown)
        lowest, highest = self.limits(level, simultaneous, shown=shown)
        slack = _ROUNDING * (high - low)
        outside: BoolArray = (self.frequencies < np.minimum(low, lowest) - slack) | (
            self.frequencies > np.maximum(high, highest) + slack
        )
        return outside

    def contradiction(
        self, level: float = DEFAULT_LEVEL, *, simultaneous: bool = False, shown: int | None = None
    ) -> str:
        """Return a sentence that lists the values whose frequency contradicts the reports; empty if there are none."""
        outside = self.contradicted(level, simultaneous, shown=shown)
        where = np.flatnonzero(outside)
        if not len(where):
            return ""
        named = self.domain.names(where[:_NAMED])
        more = [f"{len(where) - _NAMED:,} more values"] if len(where) > _NAMED else []
        reason = f"Method {self.method} contradicts the reports where its frequencies lie outside their intervals"
        if self.method.startswith("linear"):
            reason = "Unbiased estimates need not sum to 1, so some can lie outside their intervals"
        return f"{reason}: {', '.join([*named, *more])}."

    def __len__(self) -> int:
        return self.domain.size

    def __iter__(self) -> Iterator["ValueEstimate"]:
        return iter(self._shares(np.arange(self.domain.size)))

    def __contains__(self, value: Any) -> bool:
        return value in self.domain

    def __getitem__(self, value: Any) -> "ValueEstimate":
        """Return the estimated share of one value, with its standard error and limits.

        Args:
            value: as the domain has it; for products a tuple, for grids a (lat, lon) pair.

        Raises:
            KeyError: if the value is not in the domain; the message does not quote it.
        """
        return self._shares(self.domain.code_of(value))[0]

    def top(self, count: int = 10) -> list["ValueEstimate"]:
        """Return the estimates of the most frequent values, in descending order.

        The intervals are valid for such a selection.
        """
        return self._shares(self.largest(count), chosen=True)

    def significant(self, rate: float = 0.05, *, control: Control = "fdr") -> list["ValueEstimate"]:
        """Return the values whose frequency is significantly above 0, the most frequent first.

        Their intervals are valid for such a selection.

        The interval of a value is the test of a true frequency of 0: the value is significant at alpha if the lower
        limit at level 1 - 2 alpha is above 0. The false discovery rate is proven for independent and for positively
        dependent tests; frequencies that sum to 1 are slightly negatively dependent.

        Args:
            rate: the bound on false discoveries, in (0, 1/2).
            control: ``"fdr"``: a bound on the expected share of false discoveries among the returned values [Benjamini
                and Hochberg 1995]; ``"fwer"``: a bound on the probability of any false discovery [Holm 1979].

        Raises:
            ParameterError: if the rate or the control is invalid.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.SubsetSelection(dc.Domain(range(50)), epsilon=2.0)
            >>> reports = mechanism.obfuscate([7] * 600 + [9] * 400, random=dc.SeededRandom(1))
            >>> [one.value for one in dc.estimate(mechanism, reports).significant()]
            ['7', '9']
        """

        def above(alpha: float) -> BoolArray:
            return self.uncertainty.limits(1 - 2 * alpha)[0] > 0

        codes = np.flatnonzero(rejections(above, self.domain.size, rate, control))
        return self._shares(codes[np.argsort(-self.frequencies[codes], kind="stable")], chosen=True)

    def counts(self) -> FloatArray:
        """Return the ``(|X|,)`` estimated numbers of people, among those who reported: n times the frequencies."""
        return self.n * self.frequencies

    def covariance(self, values: Any = None) -> FloatArray:
        """Return the covariance matrix of the unbiased estimates of some values, at a plausible distribution.

        Args:
            values: ``(m,)`` values of the domain, at most 4096; None for all.

        Returns:
            ``(m, m)`` covariances, in the order of the values.

        Raises:
            DataError: if a value is not in the domain.
            ParameterError: if there are no values or too many, or the covariances are not known.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
            >>> dc.estimate(mechanism, reports).covariance(["bus", "car"]).round(5).tolist()
            [[0.00116, -0.00116], [-0.00116, 0.00116]]
        """
        codes = np.arange(self.domain.size) if values is None else self.domain.encode(values)
        if not 1 <= len(codes) <= _MOST_COVARIANCES:
            raise ParameterError("values.too-many", argument="values", most=_MOST_COVARIANCES, n=len(codes))
        return self.uncertainty.covariance(codes)

    def total(self, values: Any) -> Quantity:
        """Return the share of people whose value is in a set of values.

        Args:
            values: a list of values, a ``(|X|,)`` mask, a predicate, or for products a pattern such as
                ``{"age": ["30s", "40s"]}`` or a list of them, as for the sensitive values of a domain.

        Raises:
            ParameterError: if a value is not in the domain, there is no value, or there is only one report.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.SubsetSelection(dc.Domain(["bus", "car", "tram", "walk"]), epsilon=2.0)
            >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
            >>> estimate = dc.estimate(mechanism, reports)
            >>> estimate.total(["bus", "tram"])
            share of 2 values: 0.619, standard error 0.025, 95% interval 0.569 to 0.668 (linear, n=1,000, simulated)
        """
        mask = self._mask(values, "values")
        count, size = int(np.count_nonzero(mask)), self.domain.size
        name = f"share of {'all values' if count == size else '1 value' if count == 1 else f'{count} values'}"
        return self._quantity(name, self.uncertainty.total(mask), float(self.frequencies[mask].sum()), (0, 1))

    def weighted(self, weights: Any, name: str = "weighted sum") -> Quantity:
        """Return a weighted sum of the estimated frequencies, with standard error and limits.

        Args:
            weights: ``(|X|,)`` finite numbers.
            name: name of the sum.

        Raises:
            ParameterError: if the weights are not finite numbers, or there is only one report.
        """
        return self._sum(name, scores_of(self.domain, weights, "weights"))

    def mean(self, scores: Any = None) -> Quantity:
        """Return the mean of integer labels, of the midpoints of bins, or of a score for each value.

        Args:
            scores: ``(|X|,)`` numbers, or a mapping from every label to its number; None for the labels.

        Raises:
            ParameterError: if the labels are no numbers and there are no scores, or there is only one report.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(range(5)), epsilon=3.0)
            >>> reports = mechanism.obfuscate([1] * 500 + [3] * 500, random=dc.SeededRandom(1))
            >>> round(dc.estimate(mechanism, reports).mean().estimate, 1)
            2.0
        """
        return self._sum("mean", scores_of(self.domain, scores, "scores"))

    def difference(self, first: Any, second: Any) -> Quantity:
        """Return the difference of the shares of two sets of values, among the same people.

        For two collections, or two groups, see `discreet.compare`.

        Args:
            first: a set of values; see `total`.
            second: another set; values in both sets cancel out.

        Raises:
            ParameterError: as for `total`.
        """
        in_first, in_second = self._mask(first, "first"), self._mask(second, "second")
        if not (in_first ^ in_second).any():
            return Quantity("difference", 0.0, 0.0, lambda alpha: (0.0, 0.0), (-1, 1), self._facts)
        bounded = self.uncertainty.difference(in_first & ~in_second, in_second & ~in_first)
        direct = float(self.frequencies[in_first].sum() - self.frequencies[in_second].sum())
        return self._quantity("difference", bounded, direct, (-1, 1))

    def ratio(self, first: Any, second: Any) -> Ratio:
        """Return the ratio of the shares of two sets of values, with standard error and limits.

        Args:
            first: a set of values; see `total`.
            second: the set to divide by; if it contains the first set, the ratio is a share, in [0, 1].

        Raises:
            ParameterError: as for `total`.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
            >>> dc.estimate(mechanism, reports).ratio(["walk"], ["walk", "car"]).determined
            True
        """
        top, bottom = self._mask(first, "first"), self._mask(second, "second")
        borders = (0.0, inf) if (top & ~bottom).any() else (0.0, 1.0)
        bounded = self.uncertainty.ratio(top, bottom)
        divisor = float(self.frequencies[bottom].sum())
        direct = float(self.frequencies[top].sum()) / divisor if divisor > 0 else nan
        estimate = bounded.estimate if self.is_unbiased else direct
        return Ratio("ratio", estimate, bounded.error, bounded.bounds, borders, self._facts)

    def quantile(self, share: float, order: Any = None) -> Quantile:
        """Return a quantile of labels that have an order, with an interval from limits of cumulative shares.

        Args:
            share: tau, in (0, 1): the quantile is the first label at or below which this share of people is.
            order: all labels from the lowest to the highest; None for labels that are integers, or bins of numbers.

        Raises:
            ParameterError: if the share is not between 0 and 1, the labels have no order, or there is only one report.
        """
        share = checked_between("share", share)
        codes, labels = ascending(self.domain, order)
        borders = None if order is not None or self.domain.numbers is None else self.domain.numbers.borders
        cumulative = np.cumsum(self.frequencies[codes])
        ranks = CellPartition(len(codes), self.domain.size, codes, np.arange(len(codes)))
        return Quantile(share, labels, cumulative, self.uncertainty.over(ranks), self._facts, borders)

    def mean_and_deciles(self, level: float = DEFAULT_LEVEL) -> ResultTable | None:
        """Return a table of the mean and the nine deciles of numbers in bins; None for any other domain.

        Args:
            level: confidence of the intervals.
        """
        if self.domain.numbers is None:
            return None
        median = self.median()
        named: list[Quantity | Quantile] = [self.mean(), *(replace(median, share=part / 10) for part in range(1, 10))]
        numbers = np.array([[each.estimate, *each.interval(level)] for each in named]).T
        errors = (numbers[2] - numbers[1]) / 4
        columns = [
            ResultColumn("name", [each.name for each in named], "text", "quantity"),
            ResultColumn("estimate", numbers[0], errors=errors),
            ResultColumn("lower", numbers[1], heading=f"{level * 100:g}% from", errors=errors),
            ResultColumn("upper", numbers[2], heading="to", errors=errors),
        ]
        return ResultTable("Mean and deciles", columns)

    def median(self, order: Any = None) -> Quantile:
        """Return the median of people's values, for labels that have an order; see `quantile`.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.UnaryEncoding(dc.Domain(range(18, 100)), epsilon=4.0)
            >>> reports = mechanism.obfuscate([30] * 4000 + [50] * 2000, random=dc.SeededRandom(1))
            >>> dc.estimate(mechanism, reports).median().interval()
            IntervalEnds(lower=30, upper=30)
        """
        return self.quantile(0.5, order)

    def marginal(self, *attributes: str) -> "Estimate":
        """Return the estimate of the joint distribution of some attributes of a product domain.

        Standard errors are computed for sums of unbiased estimates. A value of the marginal is sensitive if it contains
        a sensitive value of this domain.

        Args:
            attributes: names; the last one varies fastest.

        Raises:
            ParameterError: if the domain is no product or has no such attribute, or there is only one report.

        Example:
            >>> import discreet as dc
            >>> domain = dc.Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]})
            >>> mechanism = dc.RandomizedResponse(domain, epsilon=2.0)
            >>> reports = mechanism.obfuscate([("f", "<40")] * 600 + [("m", "40+")] * 400, random=dc.SeededRandom(1))
            >>> [(one.value, round(one.frequency, 1)) for one in dc.estimate(mechanism, reports).marginal("sex")]
            [('f', 0.6), ('m', 0.4)]
        """
        domain, cells = marginal(self.domain, attributes)
        return self._for_domain(domain, cells.total(self.frequencies), self.uncertainty.over(cells))

    def controlled(self) -> "Estimate":
        """Return the estimate with a control variate in each frequency, so that the frequencies sum to 1.

        Each frequency is the estimate minus a multiple of (sum of all estimates - 1).
        """
        every = np.arange(self.domain.size)
        cells = CellPartition(self.domain.size, self.domain.size, every, every)
        return self._for_domain(self.domain, self.frequencies, self.uncertainty.over(cells))

    def where(self, /, **labels: Any) -> "Estimate":
        """Return the estimated distribution among the people who have some labels of a product domain.

        Args:
            labels: a label, or a list of labels, by attribute.

        Returns:
            The distribution of the other attributes. Standard errors are first-order approximations. Intervals are not:
            if the reports do not determine a share, its interval is 0 to 1. If nobody is estimated to have these
            labels, the frequencies are nan, and the intervals are still valid.

        Raises:
            ParameterError: if the domain is no product, an attribute or label is unknown, no other attribute is left,
                or there is only one report.

        Example:
            >>> import discreet as dc
            >>> domain = dc.Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]})
            >>> mechanism = dc.RandomizedResponse(domain, epsilon=2.0)
            >>> reports = mechanism.obfuscate([("f", "<40")] * 600 + [("m", "40+")] * 400, random=dc.SeededRandom(1))
            >>> dc.estimate(mechanism, reports).where(sex="f").top(1)[0].value
            '<40'
        """
        domain, cells = condition(self.domain, labels)
        shares = cells.total(self.frequencies)
        divisor = float(shares.sum())
        ratios = shares / divisor if divisor > 0 else np.full(len(shares), nan)
        texts = {name: part if isinstance(part, list | tuple) else [part] for name, part in labels.items()}
        conditions = (f"{name} = {' or '.join(map(str, part))}" for name, part in texts.items())
        estimate = self._for_domain(domain, ratios, self.uncertainty.given(cells))
        return replace(estimate, conditions=(*self.conditions, *conditions))

    @property
    def _facts(self) -> str:
        return f"{self.method}, n={self.n:,}{', simulated' if self.simulated else ''}{self._noted('; ')}"

    def _mask(self, values: Any, name: str) -> BoolArray:
        mask = value_mask(self.domain.space, values, name)
        if not mask.any():
            raise ParameterError("values.empty", name=name)
        return mask

    def _sum(self, name: str, weights: FloatArray) -> Quantity:
        borders = float(weights.min()), float(weights.max())
        return self._quantity(name, self.uncertainty.weighted(weights), float(weights @ self.frequencies), borders)

    def _quantity(self, name: str, bounded: Bounded, direct: float, borders: tuple[float, float]) -> Quantity:
        """Return a quantity: the controlled sum if frequencies are unbiased, otherwise the sum of the frequencies."""
        estimate = bounded.estimate if self.is_unbiased else direct
        return Quantity(name, estimate, bounded.error, bounded.bounds, borders, self._facts)

    def _for_domain(self, domain: Domain, frequencies: FloatArray, uncertainty: SumUncertainty) -> "Estimate":
        """Return the estimate over a domain whose values are sums over values of this estimate's domain.

        If frequencies are unbiased, they are controlled sums.
        """
        direct = uncertainty.centre if self.is_unbiased else frequencies
        return replace(self, domain=domain, frequencies=direct, errors=uncertainty.errors, intervals=uncertainty)

    def sensitive_share(self) -> Quantity:
        """Return p(X_S), the share of people whose value is sensitive: 1 minus the share of all other values.

        The other values are counted in clear, so the interval comes from a binomial count if people have no weights.

        Raises:
            ParameterError: if every value is sensitive or no value is, because the share is then known.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.UnaryEncoding(dc.Domain(["flu", "none"], sensitive=["flu"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["flu"] * 300 + ["none"] * 700, random=dc.SeededRandom(1))
            >>> share = dc.estimate(mechanism, reports).sensitive_share()
            >>> [round(end, 3) for end in share.interval()]
            [0.242, 0.382]
        """
        if self.domain.sensitive_count in (0, self.domain.size):
            which = "no value is" if self.domain.sensitive_count == 0 else "every value is"
            raise ParameterError("sensitive-share.known", which=which)
        return replace(self.total(self.domain.sensitive), name="share of sensitive values")

    def _shares(self, codes: IntArray, *, chosen: bool = False) -> list["ValueEstimate"]:
        stated = self.value_columns(shown=max(len(codes), 1) if chosen else None)
        columns: dict[str, Any] = {column.name: column.values for column in stated}
        numbers = [columns[name][codes].tolist() for name in ValueEstimate._fields[1:]]
        return [ValueEstimate(*row) for row in zip(self.domain.names(codes), *numbers, strict=True)]

    def table(
        self, level: float = DEFAULT_LEVEL, *, simultaneous: bool = False, shown: int | None = None
    ) -> ResultTable:
        """Return a table of all values: labels, sensitive, frequency, standard_error, lower, upper.

        An attribute with one of these names is called ``label_...`` here.

        Args:
            level: confidence of the intervals.
            simultaneous: as for `interval`.
            shown: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        columns = self.value_columns(level, simultaneous=simultaneous, shown=shown)
        return ResultTable(self.heading, label_columns(self.domain.table(), columns))

    def value_columns(
        self, level: float = DEFAULT_LEVEL, *, simultaneous: bool = False, shown: int | None = None
    ) -> list[ResultColumn]:
        """Return the columns of an estimate without the labels, which are the same in every output.

        Arguments and errors are as for `table`.
        """
        low, high = self.interval(level, simultaneous=simultaneous, shown=shown)
        ends = f"{'simultaneous ' if simultaneous else ''}{level * 100:g}% from"
        return [
            ResultColumn("sensitive", self.domain.sensitive, "mark"),
            ResultColumn("frequency", self.frequencies, "share", "estimate"),
            ResultColumn("standard_error", self.standard_errors, "share", "std. error"),
            ResultColumn("lower", low, "share", ends),
            ResultColumn("upper", high, "share", "to"),
        ]

    def plot(
        self,
        level: float = DEFAULT_LEVEL,
        *,
        simultaneous: bool = False,
        truth: Any = None,
        largest: int = 40,
        title: str = "",
        order: str | None = None,
        width: int = 520,
    ) -> Any:
        """Return an Altair chart of frequencies with their intervals; sensitive values are marked.

        For numbers in bins, the chart is the whole density over an axis of numbers.

        Args:
            level: confidence of the intervals.
            simultaneous: as for `interval`.
            truth: ``(|X|,)`` true frequencies to be drawn too, if they are known.
            largest: number of values to draw, the most frequent ones; intervals are valid for this selection.
            title: the name of the variable, for the first line of the title; by default `about`.
            order: ``"share"`` for the most frequent value first, ``"domain"`` for the order of the domain; by default
                the order of the domain if all values are drawn.
            width: the width of the plot, in pixels.

        Raises:
            ParameterError: if an argument is not usable.
            MissingExtraError: if Altair is missing.
        """
        name, facts = title or self.about, f"Estimated shares: {self.n:,} reports, method {self.method}"
        lines, space = f"{name}\n{facts}" if name else facts, self.domain.numbers
        if space is not None and truth is None:
            low, high = self.interval(level, simultaneous)
            drawn = (space.borders, self.frequencies, low, high)
            sensitive = self.domain.sensitive if self.domain.clear_count else None
            density = Density(
                lines, *drawn, sensitive, level, space.scale == "log1p", self.method == "smooth", name or "value"
            )
            return density_chart(density, width=width)
        codes = self.chosen(largest) if truth is None else self.largest(largest, truth)
        if order is not None:
            checked_choice("order", order, ("share", "domain"))
            codes = codes[np.argsort(codes if order == "domain" else -self.frequencies[codes], kind="stable")]
        panel = self.panel(lines, codes, level=level, simultaneous=simultaneous, truth=truth)
        return frequency_chart(panel, width=width)

    def map(self) -> Any:
        """Return an Altair map of the shares, for the domain of a grid; sensitive regions are framed.

        Raises:
            ParameterError: if the domain is no grid.
            MissingExtraError: if Altair is missing.
        """
        if (grid := self.domain.grid_cells) is None:
            raise ParameterError("map.no-grid", domain=self.domain)
        sensitive = self.domain.sensitive if self.domain.clear_count else None
        title = f"{self.n:,} reports, method {self.method}{self._noted('; ')}"
        (south, north), (west, east) = grid.lat, grid.lon
        degrees = south, west, (north - south) / grid.rows, (east - west) / grid.cols
        return region_chart(Map(title, self.domain.table(), self.frequencies, sensitive, degrees))

    def largest(self, count: int, truth: Any = None) -> IntArray:
        """Return the codes of the ``count`` most frequent values in descending order, by ``truth`` if it is passed."""
        ranked = self.frequencies if truth is None else np.asarray(truth)
        return np.argsort(-ranked, kind="stable")[: checked_whole("count", count, 0)]

    def panel(
        self,
        title: str,
        codes: IntArray,
        *,
        level: float = DEFAULT_LEVEL,
        simultaneous: bool = False,
        truth: Any = None,
    ) -> Panel:
        """Return the data of a chart of the most frequent values, by ``truth`` if it is passed."""
        # A choice by the truth is not a choice by the estimates.
        shown = len(codes) if truth is None and 0 < len(codes) < self.domain.size else None
        every = self.columns(level, simultaneous=simultaneous, shown=shown)
        columns = {name: column[codes] for name, column in every.items()}
        known = None if truth is None else np.asarray(truth, dtype=np.float64)[codes]
        return Panel(title, self.domain.names(codes), columns, known, level, simultaneous, shown)


def estimate_facts(
    estimate: Estimate,
    *,
    level: float = DEFAULT_LEVEL,
    simultaneous: bool = False,
) -> dict[str, Any]:
    """Return an estimate as a dictionary for JSON.

    The entry ``values`` has an object per value, with the columns of `Estimate.columns`.

    Args:
        estimate: the estimate.
        level: confidence of the intervals.
        simultaneous: whether all intervals hold at once.

    Raises:
        ParameterError: if the level is not in (0, 1).
    """
    table, quantities = estimate.table(level, simultaneous=simultaneous), estimate.mean_and_deciles(level)
    outside = np.flatnonzero(estimate.contradicted(level, simultaneous))
    return {
        "plan": estimate.fingerprint,
        "method": estimate.method,
        **({"about": estimate.about} if estimate.about else {}),
        "n": estimate.n,
        "gap": estimate.gap,
        "level": level,
        "simultaneous": simultaneous,
        "contradicted": list(estimate.domain.names(outside)),
        "simulated": estimate.simulated,
        **({"limits": "always"} if estimate.uncertainty.always else {}),
        **({} if quantities is None else {"quantities": quantities.records()}),
        "values": table.records(),
    }
