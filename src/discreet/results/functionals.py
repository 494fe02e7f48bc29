"""Quantities that follow from an estimate: sums, ratios and quantiles of shares, and marginal domains.

Standard errors and intervals belong to the unbiased estimates from the same reports, for every method of the estimate:
an interval depends on the reports only (`discreet.results.uncertainty`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isnan, prod
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core import columns
from discreet.core.checks import checked_level
from discreet.core.domain import Domain, value_mask
from discreet.core.grouping import AxisPartition, CellPartition
from discreet.core.labels.products import Product
from discreet.core.labels.spaces import LabelSpace
from discreet.core.result_table import rounded_by
from discreet.errors import ParameterError
from discreet.results.uncertainty import SumUncertainty


def scores_of(domain: Domain, scores: Any, name: str) -> FloatArray:
    """Return the ``(|X|,)`` scores of a domain's values, with one number for each value.

    Args:
        domain: the values.
        scores: ``(|X|,)`` numbers, or a mapping from every label to its number; None for labels that are integers, or
            for the midpoints of bins of numbers.
        name: the argument's name in messages.

    Raises:
        ParameterError: if there is no finite number for each value.
    """
    if scores is None:
        return _numbers(domain.space, f"The mean of labels needs labels that are numbers, or {name}").astype(float)
    if isinstance(scores, Mapping):
        with columns.of_parameter(name):
            codes, numbers = domain.encode(list(scores)), np.full(domain.size, np.nan)
            numbers[codes] = columns.numbers(list(scores.values()), name)
    else:
        numbers = columns.reals(scores, name)
    if numbers.shape != (domain.size,) or not np.isfinite(numbers).all():
        raise ParameterError(
            "scores.wrong-numbers",
            name=name,
            size=domain.size,
            shape=numbers.shape,
            n=np.count_nonzero(np.isfinite(numbers)),
        )
    return numbers


def ascending(domain: Domain, order: Any) -> tuple[IntArray, list[Any]]:
    """Return the codes of all values in ascending order, and the labels of these values.

    Args:
        domain: the values.
        order: all labels in this order; None for labels that are integers, or bins of numbers.

    Raises:
        ParameterError: if the labels have no order, or ``order`` does not list each label once.
    """
    if order is None:
        labels = _numbers(domain.space, "A quantile needs labels that are numbers, or their order from low to high")
        codes = np.argsort(labels, kind="stable")
        return codes, labels[codes].tolist()
    with columns.of_parameter("order"):
        codes = domain.encode(order)
    different = len(np.unique(codes))
    if len(codes) != domain.size or different != domain.size:
        raise ParameterError("order.incomplete", argument="order", size=domain.size, different=different, n=len(codes))
    return codes, domain.names(codes)


def _numbers(space: LabelSpace, wanted: str) -> AnyArray:
    quantities = space.quantities()
    if quantities is None:
        raise ParameterError("labels.not-numbers", wanted=wanted)
    return quantities


def marginal(domain: Domain, names: Sequence[str]) -> tuple[Domain, AxisPartition]:
    """Return the domain of some attributes, and the partition of the values by these attributes.

    A value of the marginal is sensitive if any value in its cell is.

    Raises:
        ParameterError: if the domain is no product, or has no such attribute.
    """
    attributes = _attributes(domain, "A marginal")
    unknown = [name for name in names if name not in attributes]
    if unknown or not names or len(set(names)) < len(names):
        raise ParameterError("marginal.wrong-attributes", names=", ".join(attributes), found=list(names))
    order = list(attributes)
    shape, axes = tuple(space.size for space in attributes.values()), tuple(order.index(name) for name in names)
    cells = AxisPartition(prod(shape[axis] for axis in axes), shape, axes)
    sensitive = cells.total(domain.sensitive.astype(np.float64)) > 0
    return _domain_of({name: attributes[name] for name in names}, sensitive, domain), cells


def condition(domain: Domain, pattern: Mapping[str, Any]) -> tuple[Domain, CellPartition]:
    """Return the domain of the attributes that are not in a pattern, and the partition of the matching values.

    Raises:
        ParameterError: if the domain is no product, an attribute or a label is unknown, or no other attribute is left.
    """
    attributes = _attributes(domain, "A condition")
    mask = value_mask(domain.space, [pattern], "where")
    left = {name: space for name, space in attributes.items() if name not in pattern}
    if not left:
        raise ParameterError("where.no-open-attribute", argument="where", names=", ".join(attributes))
    codes = np.flatnonzero(mask)
    places = np.unravel_index(codes, tuple(space.size for space in attributes.values()))
    of_left = [place for name, place in zip(attributes, places, strict=True) if name in left]
    sizes = tuple(space.size for space in left.values())
    cells = CellPartition(prod(sizes), domain.size, codes, np.ravel_multi_index(of_left, sizes))
    return _domain_of(left, cells.total(domain.sensitive.astype(np.float64)) > 0, domain), cells


def _attributes(domain: Domain, wanted: str) -> Mapping[str, LabelSpace]:
    if not domain.space.parts:
        raise ParameterError("domain.not-product", wanted=wanted, domain=domain)
    return domain.space.parts


def _domain_of(attributes: Mapping[str, LabelSpace], sensitive: Any, whole: Domain) -> Domain:
    if len(attributes) > 1:
        return Domain.over(Product(dict(attributes)), sensitive, exact=whole.exact)
    name, space = next(iter(attributes.items()))
    return Domain.over(space, sensitive, exact=whole.exact).for_attribute(name)


_LEVEL = 0.95
_ROUNDING = 1e-9


class IntervalEnds(NamedTuple):
    """The lower and the upper limit of a confidence interval.

    Attributes:
        lower: the lower limit.
        upper: the upper limit.
    """

    lower: Any
    upper: Any


@dataclass(frozen=True, slots=True, repr=False)
class Quantity:
    """A weighted sum of frequencies: a share of people, a mean, a difference.

    Attributes:
        name: name of the quantity.
        estimate: the quantity under the estimate's method.
        standard_error: standard error of the unbiased estimate, from the covariances of the frequencies.
        bounds: a function that returns the limits, not clipped, for the probability with which the interval may miss.
        borders: the least and the largest possible value.
        facts: method and number of reports, as text.
    """

    name: str
    estimate: float
    standard_error: float
    bounds: Callable[[float], tuple[float, float]]
    borders: tuple[float, float]
    facts: str

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return a confidence interval of a sum of frequencies, clipped to the possible values.

        The interval depends on the reports, not on the method: the estimate of a biased method may lie outside.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        low, high = self.bounds(1 - checked_level(level))
        least, most = self.borders
        return IntervalEnds(min(max(low, least), most), min(max(high, least), most))

    @property
    def fits(self) -> bool:
        """True if the estimate lies in its 95% interval, before the interval is clipped to the possible values."""
        low, high = self.bounds(1 - _LEVEL)
        ends = self.interval()
        least, most = min(low, float(ends.lower)), max(high, float(ends.upper))
        return least - _ROUNDING <= self.estimate <= most + _ROUNDING

    def __float__(self) -> float:
        return self.estimate

    def __repr__(self) -> str:
        reason = "lies outside the interval, so the method contradicts the reports"
        if self.facts.startswith("linear"):
            reason = "lies outside the interval, because unbiased estimates need not sum to 1"
        away = "" if self.fits else f"; the estimate {reason}"
        return f"{self.name}: {self._figures}{away} ({self.facts})"

    @property
    def _figures(self) -> str:
        """The estimate, its standard error and its interval as text, with two significant digits of the error."""
        numbers = (self.estimate, self.standard_error, *self.interval())
        value, error, low, high = (rounded_by(number, self.standard_error) for number in numbers)
        value = "no estimate" if isnan(self.estimate) else value
        return f"{value}, standard error {error}, 95% interval {low} to {high}"


@dataclass(frozen=True, slots=True, repr=False)
class Ratio(Quantity):
    """The ratio of the shares of two sets of values.

    The estimate and the standard error are nan if the divisor is estimated at 0 or less. The standard error is a
    first-order approximation (the delta method). Intervals do not use it: they contain the ratios that the reports do
    not contradict, and are infinite if the divisor may be 0.
    """

    @property
    def determined(self) -> bool:
        """True if the reports bound the ratio at 95%: at least one limit lies inside the borders."""
        return tuple(self.interval()) != self.borders

    def __repr__(self) -> str:
        doubt = "" if self.determined else "; not determined by these data"
        return f"{self.name}: {self._figures}{doubt} ({self.facts})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Quantile:
    """A quantile of labels that have an order, with an interval from limits of cumulative shares.

    Attributes:
        share: tau, the share of people at or below the quantile.
        labels: all labels in ascending order.
        cumulative: the shares at or below each label, under the method of the estimate.
        uncertainty: uncertainty of the shares of the labels, in this order.
        facts: method and number of reports, as text.
        borders: ``(|X| + 1,)`` borders of bins of numbers, within which people are assumed to be evenly distributed;
            None for other labels.
    """

    share: float
    labels: Sequence[Any]
    cumulative: FloatArray
    uncertainty: SumUncertainty
    facts: str
    borders: FloatArray | None = None

    @property
    def name(self) -> str:
        """The name of the quantile."""
        return "median" if self.share == 0.5 else f"{self.share:g} quantile"

    @property
    def estimate(self) -> Any:
        """The first label whose cumulative estimated share is at least tau; for numbers, a point inside the bin."""
        reached = np.flatnonzero(self.cumulative >= self.share)
        return self._label(int(reached[0]) if len(reached) else len(self.labels) - 1, self.cumulative)

    def _label(self, place: int, shares: FloatArray) -> Any:
        """Return the label at a place; for numbers, the point of the bin at which the cumulative share is tau."""
        if self.borders is None:
            return self.labels[place]
        low, high = self.borders[place : place + 2].tolist()
        before = float(shares[place - 1]) if place else 0.0
        within = (self.share - before) / max(float(shares[place]) - before, 1e-300)
        return low + (high - low) * min(max(within, 0.0), 1.0)

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return a confidence interval of a quantile: the first and the last label that it may be.

        Label j may be the quantile if the share up to j may be tau or more, and the share up to the label before j may
        be less than tau. For numbers, limits of shares are interpolated linearly within a bin.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        alpha = 1 - checked_level(level)
        placed = self.uncertainty.places(self.share, alpha)
        if placed is not None:
            if self.borders is not None:
                return IntervalEnds(*np.interp(placed, np.arange(len(self.borders)), self.borders).tolist())
            first, last_place = max(ceil(placed[0]) - 1, 0), min(floor(placed[1]), len(self.labels) - 1)
            return IntervalEnds(self.labels[first], self.labels[last_place])
        least, most = self.uncertainty.prefix_limits(alpha)
        # All people are at or below the last label.
        first = int(np.argmax(np.append(most[:-1] >= self.share, True)))
        below = np.flatnonzero(least[:-1] < self.share)
        return IntervalEnds(self._label(first, most), self._label(int(below[-1]) + 1 if len(below) else 0, least))

    def __repr__(self) -> str:
        numbers: tuple[Any, ...] = (self.estimate, *self.interval())
        if self.borders is not None:
            numbers = tuple(rounded_by(number, (numbers[2] - numbers[1]) / 4) for number in numbers)
        return "{}: {}, 95% interval {} to {} ({})".format(self.name, *numbers, self.facts)
