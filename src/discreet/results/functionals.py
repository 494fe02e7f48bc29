"""Functionals of an estimate: sums, marginals, conditions, differences, ratios, means and quantiles, with their errors.

Errors and intervals are those of the unbiased estimates from the same reports, whatever the method of the estimate is:
an interval belongs to the reports (`discreet.results.limits`). Variances are exact for every number of reports, and
unbiased; how these are formed stands in `discreet.theory.covariance`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isnan, nan, prod, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core import columns
from discreet.core.checks import checked_between, checked_level
from discreet.core.domain import Domain, value_mask
from discreet.core.grouping import AxisPartition, CellPartition
from discreet.core.labels import IntegerRange, Integers, LabelSpace, Numbers, Product
from discreet.errors import ParameterError
from discreet.results.limits import ConfidenceLimits, ShareLimits, SumLimits
from discreet.theory.binomial import sigmas
from discreet.theory.covariance import Covariance
from discreet.theory.limits import ONE_SIGMA, all_agree, by_half_width, by_one_report


def scores_of(domain: Domain, scores: Any, name: str) -> FloatArray:
    """Return a number for each value of a domain.

    Args:
        domain: the values.
        scores: ``(|X|,)`` numbers, or a mapping from every label to its number; None for labels that are integers, or
            for the middles of bins of numbers.
        name: of the argument, in refusals.

    Raises:
        ParameterError: if there is no finite number for each value.
    """
    if scores is None:
        return _numbers(domain.space, f"the mean of labels needs labels that are numbers, or {name}").astype(float)
    if isinstance(scores, Mapping):
        with columns.of_parameter(f"{name}: "):
            codes, numbers = domain.encode(list(scores)), np.full(domain.size, np.nan)
            numbers[codes] = columns.numbers(list(scores.values()), name)
    else:
        numbers = columns.reals(scores, name)
    if numbers.shape != (domain.size,) or not np.isfinite(numbers).all():
        raise ParameterError(
            f"{name} must be a finite number for each of the {domain.size} values, got shape {numbers.shape} with "
            f"{np.count_nonzero(np.isfinite(numbers))} finite numbers."
        )
    return numbers


def ascending(domain: Domain, order: Any) -> tuple[IntArray, list[Any]]:
    """Return the codes of all values from the lowest to the highest, and their labels.

    Args:
        domain: the values.
        order: all labels in this order; None for labels that are integers, or bins of numbers.

    Raises:
        ParameterError: if the labels have no order, or it does not list each of them once.
    """
    if order is None:
        labels = _numbers(domain.space, "a quantile needs labels that are numbers, or their order from low to high")
        codes = np.argsort(labels, kind="stable")
        return codes, labels[codes].tolist()
    with columns.of_parameter("order: "):
        codes = domain.encode(order)
    different = len(np.unique(codes))
    if len(codes) != domain.size or different != domain.size:
        raise ParameterError(
            f"order must list each of the {domain.size} values once, got {len(codes)}, of which {different} differ."
        )
    return codes, domain.names(codes)


def _numbers(space: LabelSpace, wanted: str) -> AnyArray:
    if isinstance(space, Numbers):
        return space.centres
    if not isinstance(space, IntegerRange | Integers):
        raise ParameterError(f"{wanted}, got other labels.")
    return space.table(np.arange(space.size))["value"]


def marginal(domain: Domain, names: Sequence[str]) -> tuple[Domain, AxisPartition]:
    """Return the domain of some attributes, and the partition of the values by these.

    A value of the marginal is sensitive if one that falls on it is.

    Raises:
        ParameterError: if the domain is no product, or has no such attribute.
    """
    attributes = _attributes(domain, "a marginal")
    unknown = [name for name in names if name not in attributes]
    if unknown or not names or len(set(names)) < len(names):
        raise ParameterError(
            f"a marginal must be of different attributes among {', '.join(attributes)}, got {list(names)}."
        )
    order = list(attributes)
    shape, axes = tuple(space.size for space in attributes.values()), tuple(order.index(name) for name in names)
    cells = AxisPartition(prod(shape[axis] for axis in axes), shape, axes)
    sensitive = cells.total(domain.sensitive.astype(np.float64)) > 0
    return _domain_of({name: attributes[name] for name in names}, sensitive, domain), cells


def condition(domain: Domain, pattern: Mapping[str, Any]) -> tuple[Domain, CellPartition]:
    """Return the domain of the attributes that a pattern leaves open, and the partition of the values that fit it.

    Raises:
        ParameterError: if the domain is no product, an attribute or a label is unknown, or none is left open.
    """
    attributes = _attributes(domain, "a condition")
    mask = value_mask(domain.space, [pattern], "where")
    left = {name: space for name, space in attributes.items() if name not in pattern}
    if not left:
        raise ParameterError(
            f"where must leave one attribute open, got labels of all: {', '.join(attributes)}; for the share of single "
            "values use total."
        )
    codes = np.flatnonzero(mask)
    places = np.unravel_index(codes, tuple(space.size for space in attributes.values()))
    of_left = [place for name, place in zip(attributes, places, strict=True) if name in left]
    sizes = tuple(space.size for space in left.values())
    cells = CellPartition(prod(sizes), domain.size, codes, np.ravel_multi_index(of_left, sizes))
    return _domain_of(left, cells.total(domain.sensitive.astype(np.float64)) > 0, domain), cells


def _attributes(domain: Domain, wanted: str) -> dict[str, LabelSpace]:
    if not isinstance(domain.space, Product):
        raise ParameterError(
            f"{wanted} needs a product domain, of several attributes, got {domain!r}; for sums of values use total."
        )
    return domain.space.attributes


def _domain_of(attributes: Mapping[str, LabelSpace], sensitive: Any, whole: Domain) -> Domain:
    space = next(iter(attributes.values())) if len(attributes) == 1 else Product(dict(attributes))
    return Domain.over(space, sensitive, exact=whole.exact)


_LEVEL = 0.95
_ROUNDING = 1e-9


class IntervalEnds(NamedTuple):
    """The ends of an interval.

    Attributes:
        lower: the lower end.
        upper: the upper end.
    """

    lower: Any
    upper: Any


@dataclass(frozen=True, slots=True, repr=False)
class Quantity:
    """A weighted sum of frequencies: a share of people, a mean, a difference.

    Attributes:
        name: of the quantity.
        estimate: its value under the method of the estimate that it is of.
        standard_error: of the unbiased estimate of it, from the covariances of the frequencies.
        bounds: a function that returns its limits, not clipped, for the probability with which both together may miss.
        borders: the least and the largest value that it can have.
        facts: method and number of reports, in words.
    """

    name: str
    estimate: float
    standard_error: float
    bounds: Callable[[float], tuple[float, float]]
    borders: tuple[float, float]
    facts: str

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return a confidence interval, within the borders.

        It belongs to the reports, whatever the method is: the estimate of a biased method may lie outside.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        low, high = self.bounds(1 - checked_level(level))
        least, most = self.borders
        return IntervalEnds(min(max(low, least), most), min(max(high, least), most))

    @property
    def fits(self) -> bool:
        """True if the estimate lies in its own interval at 95%, before that is cut off at the borders."""
        low, high = self.bounds(1 - _LEVEL)
        ends = self.interval()
        least, most = min(low, float(ends.lower)), max(high, float(ends.upper))
        return least - _ROUNDING <= self.estimate <= most + _ROUNDING

    def __float__(self) -> float:
        return self.estimate

    def __repr__(self) -> str:
        low, high = self.interval()
        error = f"standard error {self.standard_error:.4f}, 95% interval {low:.4f} to {high:.4f}"
        reason = "of this method lies outside, so that it contradicts the reports"
        if self.facts.startswith("linear"):
            reason = "lies outside, as unbiased estimates need not sum to 1 and shares do"
        away = "" if self.fits else f"; the estimate {reason}"
        return f"{self.name}: {self.estimate:.4f}, {error}{away} ({self.facts})"


@dataclass(frozen=True, slots=True, repr=False)
class Ratio(Quantity):
    """The ratio of the shares of two sets of values.

    The estimate is no number where it divides by 0 or less, and so is the standard error, which is to first order (the
    delta method); intervals do not follow from it. They hold the ratios that the reports do not contradict, and are
    infinite where the divisor may be 0.
    """

    @property
    def determined(self) -> bool:
        """True if the reports bound the ratio at 95%: an end lies inside the borders."""
        return tuple(self.interval()) != self.borders

    def __repr__(self) -> str:
        low, high = self.interval()
        doubt = "" if self.determined else "; not determined by these data"
        value = "no estimate" if isnan(self.estimate) else f"{self.estimate:.4f}"
        error = f"standard error {self.standard_error:.4f}, 95% interval {low:.4f} to {high:.4f}"
        return f"{self.name}: {value}, {error}{doubt} ({self.facts})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Quantile:
    """A quantile of labels that have an order, with an interval by inversion.

    Attributes:
        name: of the quantile.
        share: tau, the share of people at or below it.
        labels: all labels in ascending order.
        cumulative: the shares at or below each label, under the method of the estimate.
        unbiased: the unbiased estimates of them.
        deviations: the standard errors of these.
        facts: method and number of reports, in words.
        borders: ``(|X| + 1,)`` of bins of numbers, in which people are taken to lie evenly; None for other labels.
    """

    name: str
    share: float
    labels: Sequence[Any]
    cumulative: FloatArray
    unbiased: FloatArray
    deviations: FloatArray
    facts: str
    borders: FloatArray | None = None

    @property
    def estimate(self) -> Any:
        """The first label at or below which at least this share is estimated to lie; of numbers, where it does."""
        reached = np.flatnonzero(self.cumulative >= self.share)
        return self._label(int(reached[0]) if len(reached) else len(self.labels) - 1, self.cumulative)

    def _label(self, place: int, shares: FloatArray) -> Any:
        """Return the label at a place; of numbers, where in the bin the shares at or below reach the quantile."""
        if self.borders is None:
            return self.labels[place]
        low, high = self.borders[place : place + 2].tolist()
        before = float(shares[place - 1]) if place else 0.0
        within = (self.share - before) / max(float(shares[place]) - before, 1e-300)
        return low + (high - low) * min(max(within, 0.0), 1.0)

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return the first and the last label that may be the quantile.

        The label j may be it if F_j + z sd(F_j) >= tau and F_(j-1) - z sd(F_(j-1)) < tau. Of numbers, both are taken
        to grow evenly within a bin.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        z = sigmas((1 - checked_level(level)) / 2)
        away = z * self.deviations
        most, least = self.unbiased + away, self.unbiased - away
        # All people are at or below the last label.
        above = np.append(most[:-1] >= self.share, True)
        last = np.flatnonzero(least[:-1] < self.share)
        ends = int(np.argmax(above)), int(last[-1]) + 1 if len(last) else 0
        return IntervalEnds(self._label(ends[0], most), self._label(ends[1], least))

    def __repr__(self) -> str:
        low, high = self.interval()
        digits = "" if self.borders is None else ".5g"
        shown = f"{self.estimate:{digits}}, 95% interval {low:{digits}} to {high:{digits}}"
        return f"{self.name}: {shown} ({self.facts})"


# Reports of which a covariance is known.
_LEAST = 2
# More are no table that anybody reads, and take memory in the square.
_MOST_VALUES = 4096


class Functionals:
    """The quantities that follow from an estimate."""

    __slots__ = ()

    if TYPE_CHECKING:
        domain: Domain
        frequencies: FloatArray
        n: int
        method: str
        simulated: bool

        @property
        def covariances(self) -> Covariance | None:
            """The covariance of the unbiased estimates."""
            ...

        @property
        def _limits(self) -> ConfidenceLimits: ...

    def covariance(self, values: Any = None) -> FloatArray:
        """Return the covariance matrix of the unbiased estimates of some values, exact for every n and unbiased.

        Args:
            values: ``(m,)`` values of the domain, at most 4096; None for all.

        Returns:
            ``(m, m)`` covariances, in the order of the values.

        Raises:
            DataError: if one of them is not in the domain.
            ParameterError: if there is none, there are too many, or there is only one report.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
            >>> dc.estimate(mechanism, reports).covariance(["bus", "car"]).round(5).tolist()
            [[0.00116, -0.00116], [-0.00116, 0.00116]]
        """
        codes = np.arange(self.domain.size) if values is None else self.domain.encode(values)
        if not 1 <= len(codes) <= _MOST_VALUES:
            raise ParameterError(f"values must be 1 to {_MOST_VALUES} of the domain, got {len(codes)}.")
        return self._known_covariances.matrix(codes)

    def total(self, values: Any) -> Quantity:
        """Return the share of people who have one of some values.

        Args:
            values: a list of values, a ``(|X|,)`` mask, a predicate, or for products a pattern such as
                ``{"age": ["30s", "40s"]}`` or a list of them, as for the sensitive values of a domain.

        Raises:
            ParameterError: if it names what is not in the domain, or no value, or there is only one report.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.SubsetSelection(dc.Domain(["bus", "car", "tram", "walk"]), epsilon=2.0)
            >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
            >>> estimate = dc.estimate(mechanism, reports)
            >>> estimate.total(["bus", "tram"])
            share of 2 values: 0.6187, standard error 0.0254, 95% interval 0.5685 to 0.6682 (linear, n=1,000, simulated)
        """
        mask = self._mask(values, "values")
        count, size = int(np.count_nonzero(mask)), self.domain.size
        error = self._known_covariances.variance(mask.astype(np.float64))
        if count == 1:
            limits, row = self._limits, int(np.argmax(mask))
        else:
            limits, row = self._sums([mask, ~mask]), 0
        bounds = partial(_bounds_of, limits, row)
        alike = np.full(len(limits.centre), error)
        errors = np.sqrt(limits.stated(alike)) if count == size else limits.floored_errors(alike, self.n)
        deviation = float(errors[row])
        name = f"share of {'all values' if count == size else '1 value' if count == 1 else f'{count} values'}"
        return Quantity(name, float(self.frequencies[mask].sum()), deviation, bounds, (0, 1), self._facts)

    def weighted(self, weights: Any, name: str = "weighted sum") -> Quantity:
        """Return a weighted sum of the frequencies.

        Args:
            weights: ``(|X|,)`` finite numbers.
            name: of the sum.

        Raises:
            ParameterError: if they are none, or there is only one report.
        """
        return self._sum(name, scores_of(self.domain, weights, "weights"))

    def mean(self, scores: Any = None) -> Quantity:
        """Return the mean of labels that are integers, of the middles of bins of numbers, or of a score of each value.

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
        """Return the difference of the shares of two sets of values, of the same people.

        For two collections, or two groups, see `discreet.compare`.

        Args:
            first: a set of values; see `total`.
            second: another one; what both have in common cancels out.

        Raises:
            ParameterError: as for `total`.
        """
        in_first, in_second = self._mask(first, "first"), self._mask(second, "second")
        error = self._known_covariances.variance(in_first.astype(np.float64) - in_second)
        sums = self._sums([in_first & ~in_second, in_second & ~in_first, ~(in_first ^ in_second)])
        estimate = float(self.frequencies[in_first].sum() - self.frequencies[in_second].sum())
        if not (in_first ^ in_second).any():
            return Quantity("difference", 0.0, 0.0, partial(_known, 0.0), (-1, 1), self._facts)
        error = sums.variance(np.array([1.0, -1, 0]), error)
        deviation = _floored(sqrt(error), sums.difference, self.n)
        return Quantity("difference", estimate, deviation, sums.difference, (-1, 1), self._facts)

    def ratio(self, first: Any, second: Any) -> Ratio:
        """Return the ratio of the shares of two sets of values.

        Args:
            first: a set of values; see `total`.
            second: the set to divide by; if it holds the first one the ratio is a share, in [0, 1].

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
        covariances, weights = self._known_covariances, (top.astype(np.float64), bottom.astype(np.float64))
        divisor = float(self.frequencies[bottom].sum())
        estimate = float(self.frequencies[top].sum()) / divisor if divisor > 0 else nan
        centres, error = [float(row @ covariances.centre) for row in weights], nan
        only, others = top & ~bottom, bottom & ~top
        both = top & bottom
        # Of shares, the sums that these are made of.
        sums = self._sums([only, others, both, ~(top | bottom)]).parts
        bounds = partial(_ratio_of, sums, _kind(only, others, both))
        if not (top ^ bottom).any():
            bounds = partial(_known, 1.0)
        if sums.controlled:
            centres = [float(sums.centre[rows].sum()) for rows in ([0, 2], [1, 2])]
        if centres[1] > 0:
            ratio = centres[0] / centres[1]
            plain = covariances.variance(weights[0] - ratio * weights[1])
            error = sqrt(sums.variance(np.array([1, -ratio, 1 - ratio, 0]), plain)) / centres[1]
            error = _floored(error, bounds, self.n) if (top != bottom).any() else 0.0
        borders = (0.0, inf) if only.any() else (0.0, 1.0)
        return Ratio("ratio", estimate, error, bounds, borders, self._facts)

    def quantile(self, share: float, order: Any = None) -> Quantile:
        """Return a quantile of labels that have an order, with an interval by inversion.

        Args:
            share: tau, in (0, 1): the quantile is the first label at or below which this share of people is.
            order: all labels from the lowest to the highest; None for labels that are integers, or bins of numbers.

        Raises:
            ParameterError: if the share is none, the labels have no order, or there is only one report.
        """
        share = checked_between("share", share)
        codes, labels = ascending(self.domain, order)
        ranks = CellPartition(len(codes), self.domain.size, codes, np.arange(len(codes)))
        covariances = self._known_covariances.sums(ranks)
        cumulative = np.cumsum(self.frequencies[codes]), np.cumsum(covariances.centre)
        name = "median" if share == 0.5 else f"{share:g} quantile"
        borders = self.domain.space.borders if isinstance(self.domain.space, Numbers) and order is None else None
        return Quantile(name, share, labels, *cumulative, np.sqrt(covariances.prefixes()), self._facts, borders)

    def mean_and_deciles(self) -> "list[Quantity | Quantile]":
        """Return the mean and the nine deciles of labels that are numbers."""
        return [self.mean(), *(self.quantile(share / 10) for share in range(1, 10))]

    def median(self, order: Any = None) -> Quantile:
        """Return the median of labels that have an order; see `quantile`.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.UnaryEncoding(dc.Domain(range(18, 100)), epsilon=4.0)
            >>> reports = mechanism.obfuscate([30] * 4000 + [50] * 2000, random=dc.SeededRandom(1))
            >>> dc.estimate(mechanism, reports).median().interval()
            IntervalEnds(lower=30, upper=30)
        """
        return self.quantile(0.5, order)

    def marginal(self, *attributes: str) -> Self:
        """Return the estimate of some attributes of a product domain, with its own errors and intervals.

        Its standard errors are those of the sums of unbiased estimates. A value of it is sensitive if one that falls on
        it is.

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
        summed = self._known_covariances.sums(cells)
        limits = self._limits.sums(cells, self._known_covariances, self.n)
        return self._over(domain, cells.total(self.frequencies), summed, limits)

    def where(self, /, **labels: Any) -> Self:
        """Return the estimate among the people who have some labels of a product domain.

        Args:
            labels: a label, or a list of labels, by attribute.

        Returns:
            The distribution of the other attributes. Its standard errors are to first order, its intervals are not:
            where the reports do not determine a share they reach from 0 to 1. Where nobody is estimated to have these
            labels the frequencies are no numbers; the intervals hold all the same.

        Raises:
            ParameterError: if the domain is no product, an attribute or label is unknown, none is left open, or there
                is only one report.

        Example:
            >>> import discreet as dc
            >>> domain = dc.Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]})
            >>> mechanism = dc.RandomizedResponse(domain, epsilon=2.0)
            >>> reports = mechanism.obfuscate([("f", "<40")] * 600 + [("m", "40+")] * 400, random=dc.SeededRandom(1))
            >>> dc.estimate(mechanism, reports).where(sex="f").top(1)[0].value
            '<40'
        """
        domain, cells = condition(self.domain, labels)
        base = self._known_covariances.sums(cells)
        shares = cells.total(self.frequencies)
        divisor = float(shares.sum())
        ratios = shares / divisor if divisor > 0 else np.full(len(shares), nan)
        limits = self._limits.sums(cells, self._known_covariances, self.n)
        covariances = base.conditional() if float(base.centre.sum()) > 0 else None
        return self._over(domain, ratios, covariances, ShareLimits(limits.parts))

    # What they have in common

    @property
    def _known_covariances(self) -> Covariance:
        if self.n < _LEAST:
            raise ParameterError(f"the error of a sum of estimates needs at least two reports, got {self.n}.")
        if self.covariances is None:
            raise ParameterError(self._limits.no_sums)
        return self.covariances

    @property
    def _facts(self) -> str:
        return f"{self.method}, n={self.n:,}{', simulated' if self.simulated else ''}"

    def _mask(self, values: Any, name: str) -> BoolArray:
        mask = value_mask(self.domain.space, values, name)
        if not mask.any():
            raise ParameterError(f"{name} must name at least one value of the domain, got none.")
        return mask

    def _sum(self, name: str, weights: FloatArray) -> Quantity:
        borders = float(weights.min()), float(weights.max())
        covariances, width = self._known_covariances, borders[1] - borders[0]
        error = sqrt(covariances.variance(weights))
        error = width * float(by_one_report(np.array(error / width), self.n)) if width else error
        bounds = partial(_normal_bounds, float(weights @ covariances.centre), error)
        return Quantity(name, float(weights @ self.frequencies), error, bounds, borders, self._facts)

    def _sums(self, masks: list[BoolArray]) -> SumLimits | ShareLimits:
        """Return the limits of sums over sets that make up all values."""
        places = np.argmax(masks, axis=0)
        cells = CellPartition(len(masks), self.domain.size, np.arange(self.domain.size), places)
        return self._limits.sums(cells, self._known_covariances, self.n)

    def _over(
        self, domain: Domain, frequencies: FloatArray, covariances: Covariance | None, limits: ConfidenceLimits
    ) -> Self:
        """Return an estimate of other values, from the same reports."""
        errors = (
            np.full(len(frequencies), nan)
            if covariances is None
            else limits.floored_errors(covariances.variances(), self.n)
        )
        whole: Any = self
        functionals: Self = replace(
            whole, domain=domain, frequencies=frequencies, errors=errors, intervals=limits, joint_errors=covariances
        )
        return functionals


Bounds = Callable[[float], tuple[float, float]]


def _bounds_of(limits: ConfidenceLimits, row: int, alpha: float) -> tuple[float, float]:
    low, high = limits.limits(1 - alpha)
    return float(low[row]), float(high[row])


def _normal_bounds(centre: float, error: float, alpha: float) -> tuple[float, float]:
    away = sigmas(alpha / 2) * error
    return centre - away, centre + away


def _known(number: float, alpha: float) -> tuple[float, float]:
    """Return the limits of what is so whatever was reported."""
    del alpha
    return number, number


def _floored(error: float, bounds: Bounds, n: int) -> float:
    """Return a standard error; half of the interval of one where all reports agree, no number if that has no end."""
    if not all_agree(np.array(error), n):
        return error
    low, high = (np.array(end) for end in bounds(ONE_SIGMA))
    return float(by_half_width(np.array(error), (low, high), n))


def _kind(only: BoolArray, others: BoolArray, common: BoolArray) -> str:
    """Return the name of how two sets overlap."""
    if not common.any():
        return "apart"
    return "inside" if not only.any() else "around" if not others.any() else "across"


def _ratio_of(sums: SumLimits, kind: str, alpha: float) -> tuple[float, float]:
    """Return the limits of the ratio A / B; `sums` are over A without B, B without A, both, neither.

    Of sets that share no value, or all of one, it follows from the share of one in both.
    """
    if kind == "across":
        low, high = sums.overlapping(alpha)
    else:
        order = {"apart": (0, 1), "inside": (2, 1), "around": (0, 2)}[kind]
        low, high = sums.unions(np.eye(4)[list(order)]).ratio(alpha)
    if kind == "inside":
        return low, high
    odds = low / (1 - low) if low < 1 else inf, high / (1 - high) if high < 1 else inf
    return (1 + odds[0], 1 + odds[1]) if kind == "around" else odds
