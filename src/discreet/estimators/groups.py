"""Estimates by group and with weights: direct, weighted and post-stratified.

The weights of people are multiples of 2^-20 of the largest, so that weighted tallies are integers that add up exactly.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.columns import absent, numbers, reals, refuse_missing
from discreet.core.grouping import Grouping, SmallGroups
from discreet.core.reports import Reports
from discreet.core.tally import DIGIT, GroupedTally, Tally, TallyStack, WeightedTally, scaled
from discreet.errors import DataError, ParameterError
from discreet.estimators.linear import LinearStart, linear
from discreet.estimators.strata import Strata, combine
from discreet.kernels.counting import runs_of
from discreet.mechanisms import Mechanism
from discreet.mechanisms.evidence import Evidence
from discreet.mechanisms.mechanism import tallies_by_group
from discreet.results.estimate import Estimate
from discreet.results.groups import EstimatesOnDemand, GroupedEstimate

_SUM = 1e-6


def checked_shares(shares: Any, labels: Sequence[Any], wanted: str) -> FloatArray:
    """Return the shares of groups in the population, in the order of the groups.

    Args:
        shares: the share of each group, by its label.
        labels: of the groups that have people.
        wanted: what they are called.

    Raises:
        DataError: if a group has no share, or a share no people.
        ParameterError: if they are no numbers of at least 0, or do not sum to 1.
    """
    if not isinstance(shares, Mapping):
        raise ParameterError(f"{wanted} must be shares by group, got {type(shares).__name__}.")
    empty = [label for label in shares if label not in set(labels)]
    if empty:
        raise DataError(f"{wanted} must be of groups with people, and {_listed(empty)} have none; merge them.")
    without = [label for label in labels if label not in shares]
    if without:
        raise DataError(f"{wanted} must name every group, and {_listed(without)} are not there.")
    numbers: FloatArray = reals([shares[label] for label in labels], wanted)
    if not ((numbers >= 0) & np.isfinite(numbers)).all() or abs(numbers.sum() - 1) > _SUM:
        raise ParameterError(f"{wanted} must be numbers >= 0 that sum to 1, got sum {numbers.sum():.9g}.")
    known: FloatArray = numbers / numbers.sum()
    return known


def _listed(labels: Sequence[Any], most: int = 5) -> str:
    shown = ", ".join(str(label)[:40] for label in labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} others"


# So many different weights have a tally each; more are added digit by digit, 61 tallies of half of the reports.
_FEW = 64
_LOW = (1 << DIGIT) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of a batch of reports.

    Attributes:
        units: ``(n,)`` weights as multiples of the unit, 1..2^20.
        unit: the largest weight times 2^-20.

    Example:
        >>> from discreet.estimators.groups import Weights
        >>> Weights.of([1.0, 2.0, 4.0], rows=3).units.tolist()
        [262144, 524288, 1048576]
    """

    units: IntArray
    unit: float

    @classmethod
    def of(cls, weights: Any, rows: int) -> "Weights":
        """Return the weights of a column of numbers above 0, one for each report.

        Args:
            weights: ``(n,)`` numbers; one below 2^-20 of the largest counts as that.
            rows: n, the number of reports.

        Raises:
            DataError: if some are missing, infinite or not above 0, or there are more or fewer than reports.
        """
        if isinstance(weights, Weights):
            return weights
        gone = absent(weights, "weights") if hasattr(weights, "__len__") else np.zeros(0, np.bool_)
        refuse_missing(gone, "weights")
        column = numbers(weights, "weights")
        if len(column) != rows:
            raise DataError(f"weights must be one for each of {rows} reports, got {len(column)}.")
        wrong = np.flatnonzero(~((column > 0) & (column < np.inf)))
        if len(wrong):
            raise DataError(
                f"weights must be finite numbers > 0, and {len(wrong)} of {rows} are not (first at row {wrong[0]}); "
                "leave out people who count for nothing."
            )
        unit = float(column.max(initial=1e-300)) * 2.0**-DIGIT
        return cls(np.maximum(np.rint(column / unit), 1).astype(np.int64), unit)

    def take(self, rows: IntArray) -> "Weights":
        """Return the weights of some rows, in the same unit."""
        return Weights(self.units[rows], self.unit)


def weighted_tally(mechanism: Mechanism, reports: Reports, weights: Weights) -> WeightedTally:
    """Return the tally of reports with weights.

    Raises:
        DataError, MismatchError: as for `Mechanism.tally`.
    """
    empty = replace(mechanism.empty_tally(), simulated=reports.simulated)
    whole = WeightedTally(0, weights.unit, empty, (empty, empty))
    if len(np.unique(weights.units[: 1 << 16])) <= _FEW and len(values := np.unique(weights.units)) <= _FEW:
        parts = (weighed(_tally(mechanism, reports, weights.units == value), int(value), weights) for value in values)
        return reduce(add, parts, whole)
    squares = weights.units**2
    once = _by_digits(mechanism, reports, weights.units)
    low, high = (_by_digits(mechanism, reports, digits) for digits in (squares & _LOW, squares >> DIGIT))
    return WeightedTally(reports.n, weights.unit, once, (low, high))


def weighed(tally: Tally, units: int, weights: Weights) -> WeightedTally:
    """Return the weighted tally of reports of one weight, of which the plain tally is known."""
    low, high = (scaled(tally, times) for times in (units**2 & _LOW, units**2 >> DIGIT))
    return WeightedTally(tally.n, weights.unit, scaled(tally, units), (low, high))


def _by_digits(mechanism: Mechanism, reports: Reports, numbers_of: IntArray) -> Tally:
    """Return the tally in which each report counts so often; a tally for each binary digit."""
    places = range(int(numbers_of.max(initial=0)).bit_length())
    digits = ((1 << place, ((numbers_of >> place) & 1).astype(np.bool_)) for place in places)
    parts = (scaled(_tally(mechanism, reports, mask), times) for times, mask in digits)
    return reduce(add, parts, replace(mechanism.empty_tally(), simulated=reports.simulated))


def _tally(mechanism: Mechanism, reports: Reports, mask: BoolArray) -> Tally:
    return mechanism.tally(reports.take(np.flatnonzero(mask)))


Counts: TypeAlias = Tally | WeightedTally
Direct: TypeAlias = Callable[[Any], Estimate]
"""The estimate of plain reports or a tally by the method that was chosen."""

LINEAR = "linear"
OPTIONS = ("shares", "minimum", "small")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The reports of groups.

    Attributes:
        names: of the columns that make the groups.
        data: of each group, reports or a tally of them.
        counts: of each group, a tally, weighted or not.
        whole: all of them together, as they came.
    """

    names: tuple[str, ...]
    data: Mapping[Any, Any]
    counts: Mapping[Any, Counts]
    whole: Reports | Tally

    @property
    def weighted(self) -> bool:
        """True if the reports have weights."""
        return any(isinstance(counts, WeightedTally) for counts in self.counts.values())

    @property
    def sizes(self) -> dict[Any, int]:
        """The number of people in each group."""
        return {label: counts.people for label, counts in self.counts.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Parts(Mapping[Any, Reports]):
    """The reports of each group, cut out when they are asked for.

    Attributes:
        ordered: all reports, sorted by group.
        runs: first and stop of each group in them, by its label.
    """

    ordered: Reports
    runs: Mapping[Any, tuple[int, int]]

    def __getitem__(self, group: Any) -> Reports:
        return self.ordered.part(*self.runs[group])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """The tallies of all groups, and those behind their estimates, which may have to be made for it.

    Attributes:
        counts: of each group.
        estimates: of those that are large enough.
    """

    counts: Mapping[Any, Counts]
    estimates: Mapping[Any, Estimate]

    def __iter__(self) -> Iterator[Counts]:
        yield from self.counts.values()
        for estimate in self.estimates.values():
            yield from estimate.people.counts


def batch_of(mechanism: Mechanism, data: Any, groups: Any, weights: Any) -> Batch:
    """Return the reports of each group with their tallies.

    Args:
        mechanism: what made the reports.
        data: reports, or a tally by group.
        groups: the group of each report; None if the tally is by group already.
        weights: the weight of each report; None if all count alike.

    Raises:
        DataError: if columns do not fit the reports, or hold what they must not.
        ParameterError: if groups or weights are passed with a tally.
    """
    if isinstance(data, GroupedTally):
        if groups is not None or weights is not None:
            raise ParameterError("a tally by group has its groups and weights already; leave groups and weights out.")
        return Batch(data.names, data.tallies, data.tallies, data.whole)
    if not isinstance(data, Reports):
        raise ParameterError(f"groups and weights need reports or a tally by group, got {type(data).__name__}.")
    grouping = Grouping.of(groups).check_rows(data.n)
    weighing = None if weights is None else Weights.of(weights, data.n)
    order, runs = runs_of(grouping.codes)
    ordered = data.take(order)
    parts = _Parts(ordered, {grouping.labels[group]: (start, stop) for group, start, stop in runs})
    counts: dict[Any, Counts] = {}
    if weighing is None:
        tallies = tallies_by_group(mechanism, data, grouping.codes, len(grouping.labels))
        counts.update(zip(grouping.labels, tallies, strict=True))
    else:
        for label, (start, stop) in parts.runs.items():
            counts[label] = weighted_tally(mechanism, parts[label], weighing.take(order[start:stop]))
    return Batch(grouping.names, parts, counts, data)


def weighted_estimate(mechanism: Mechanism, data: Any, weights: Any, method: str) -> Estimate:
    """Return the weighted estimate of everybody; arguments and errors as for `discreet.estimate`."""
    _check_linear(method)
    if not isinstance(data, Reports):
        raise ParameterError(f"weights need the reports that they belong to, got {type(data).__name__}.")
    return _alone(mechanism, weighted_tally(mechanism, data, Weights.of(weights, data.n)))


def _check_linear(method: str) -> None:
    if method != LINEAR:
        raise ParameterError(f"weights and shares need method 'linear', got {method!r}.")


def grouped_estimate(
    mechanism: Mechanism, batch: Batch, method: str, direct: Direct, options: Mapping[str, Any]
) -> GroupedEstimate:
    """Return the estimates of groups.

    Args:
        mechanism: what made the reports.
        batch: the reports of each group.
        method: a method of `discreet.estimate`.
        direct: the estimate of plain reports by this method.
        options: of groups; see `discreet.estimate`.

    Raises:
        DataError, ParameterError: as for `discreet.estimate`.
    """
    shares = options.get("shares")
    if batch.weighted or shares is not None:
        _check_linear(method)
    asked = {"minimum": options.get("minimum"), "treatment": options.get("small")}
    rule = SmallGroups(**{name: limit for name, limit in asked.items() if limit is not None})
    if shares is not None and rule.treatment != "refuse":
        raise ParameterError("shares need every group, so small ones cannot be left out; merge them.")
    large = rule.check(batch.sizes)
    if batch.weighted:
        estimates: Mapping[Any, Estimate] = {label: _alone(mechanism, batch.counts[label]) for label in large}
    elif method == LINEAR and mechanism.decoder.stacks:
        estimates = _on_demand(mechanism, batch, large, direct)
    else:
        estimates = {label: direct(batch.data[label]) for label in large}
    if shares is not None:
        strata = Strata(mechanism.decoder, tuple(batch.counts.values()))
        known = checked_shares(shares, list(batch.counts), "shares")
        overall = combine(mechanism, strata, known, "linear, post-stratified")
    elif batch.weighted:
        overall = _alone(mechanism, reduce(add, batch.counts.values()))
    else:
        overall = direct(batch.whole)
    people = replace(overall.people, parts=_Counted(batch.counts, estimates))
    overall = replace(overall, people=people)
    left = sum(size for label, size in batch.sizes.items() if label not in estimates)
    return GroupedEstimate(batch.names, estimates, overall, rule.minimum, (len(batch.counts) - len(estimates), left))


def _on_demand(mechanism: Mechanism, batch: Batch, large: list[Any], direct: Direct) -> EstimatesOnDemand:
    """Return the linear estimates of groups, of which a table is worked out for many at a time.

    Raises:
        DataError, MismatchError: if the tally of a group is none that this mechanism can have made.
    """
    tallies = {label: mechanism.checked_tally(batch.counts[label]) for label in large}
    make = partial(_of_group, batch.data, direct)
    return EstimatesOnDemand(
        {label: tally.n for label, tally in tallies.items()}, make, partial(_stacked, mechanism, tallies)
    )


def _of_group(data: Mapping[Any, Any], direct: Direct, label: Any) -> Estimate:
    return direct(data[label])


def _stacked(mechanism: Mechanism, tallies: Mapping[Any, Tally], labels: Sequence[Any]) -> Estimate:
    """Return the linear estimates of groups in rows: columns are ``(g, |X|)``, no more is asked."""
    tally: Any = TallyStack.of([tallies[label] for label in labels])
    evidence = Evidence(tally, 1.0, mechanism.domain.sensitive)
    start = LinearStart(mechanism.domain, mechanism.fingerprint, mechanism.decoder, evidence)
    facts = tally.n, LINEAR, mechanism.fingerprint
    return Estimate(mechanism.domain, start.linear, start.linear_errors, *facts, intervals=start.intervals)


def _alone(mechanism: Mechanism, counts: Counts) -> Estimate:
    """Return the estimate of one sample of people."""
    if isinstance(counts, Tally):
        return linear(LinearStart.of(mechanism, counts))
    strata = Strata(mechanism.decoder, (counts,))
    return combine(mechanism, strata, np.ones(1), "linear, weighted")
