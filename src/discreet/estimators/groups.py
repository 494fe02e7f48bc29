"""Estimates for each group, weighted by known shares.

Raking: weights of cells such that the shares of several margins are those of the population.

Shrinkage of small groups towards what all have in common, with Morris' correction of the errors.

For every value, the groups' linear estimates d_g with known variances V_g are normal about frequencies that are normal
about m with variance t. Then [Morris 1983, (1.14), (1.17), for one regressor and k groups]

    p_g = d_g - B_g (d_g - m),  B_g = (k-3)/(k-1) V_g/(V_g + t),
    s_g^2 = V_g (1 - (k-1)/k B_g) + 2/(k-3) B_g^2 (V + t)/(V_g + t) (d_g - m)^2,

with m and V the means weighted by 1/(V_g + t), and t where their weighted squares are as large as expected. The second
addend is for m and t, which are estimated too; without it, intervals cover less than they say.

Weights of people: multiples of 2^-20 of the largest, so that weighted tallies are integers that add up exactly.

Estimates by group and with weights: direct, shrunk, post-stratified and raked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_choice
from discreet.core.columns import absent, numbers, reals, refuse_missing
from discreet.core.grouping import Grouping, SmallGroups
from discreet.core.reports import Reports
from discreet.core.tally import DIGIT, GroupedTally, Tally, TallyStack, WeightedTally, scaled
from discreet.errors import DataError, ParameterError
from discreet.estimators.linear import LinearStart, linear
from discreet.estimators.strata import Strata, Stratum, combine
from discreet.kernels.counting import runs_of
from discreet.mechanisms import Mechanism
from discreet.mechanisms.block_law import Evidence
from discreet.mechanisms.mechanism import tallies_by_group
from discreet.results.estimate import Estimate
from discreet.results.groups import EstimatesOnDemand, GroupedEstimate
from discreet.results.limits import CountLimits
from discreet.theory.binomial import MeanWorths
from discreet.theory.limits import half_a_report

_ROUNDS = 5000
_CLOSE = 1e-10
_SUM = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """The known shares of one column's categories.

    Attributes:
        name: of the column.
        places: ``(k,)`` the category of each cell.
        shares: ``(c,)`` of the categories; they sum to 1.
    """

    name: str
    places: IntArray
    shares: FloatArray


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


def raked(weights: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Return the shares of cells whose margins are the known ones, by iterative proportional fitting.

    Args:
        weights: ``(k,)`` of the cells, above 0.
        margins: of the population.

    Returns:
        ``(k,)`` shares that sum to 1.

    Raises:
        DataError: if no shares of these cells have these margins.
    """
    shares: FloatArray = weights / weights.sum()
    for _ in range(_ROUNDS):
        most = 0.0
        for margin in margins:
            now = np.bincount(margin.places, shares, len(margin.shares))
            ratios = np.divide(margin.shares, now, out=np.ones_like(now), where=now > 0)
            most = max(most, float(np.abs(now - margin.shares).max()))
            shares = shares * ratios[margin.places]
        if most < _CLOSE:
            return shares
    raise DataError("margins must fit the people: no weights of the combinations that occur have these margins.")


def fitted(cells: FloatArray, shares: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Return the ``(k, |X|)`` fitted values of the cells' means: what margins explain of them.

    Args:
        cells: ``(k, |X|)`` means.
        shares: ``(k,)`` of the cells, by which they are weighted.
        margins: whose categories explain them.
    """
    marks = [np.eye(len(margin.shares))[margin.places] for margin in margins]
    design = np.concatenate(marks, axis=1)
    root = np.sqrt(shares)[:, None]
    return design @ np.linalg.lstsq(root * design, root * cells, rcond=None)[0]


def _listed(labels: Sequence[Any], most: int = 5) -> str:
    shown = ", ".join(str(label)[:40] for label in labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} others"


LEAST_GROUPS = 4
_SHRINKAGE_ROUNDS = 50


def shrunk(direct: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shrunk frequencies and their standard errors.

    Args:
        direct: ``(k, |X|)`` unbiased estimates of the groups.
        variances: ``(k, |X|)`` their variances.

    Returns:
        Frequencies and standard errors, each ``(k, |X|)``.

    Raises:
        DataError: if there are fewer than 4 groups.

    Example:
        >>> import numpy as np
        >>> from discreet.estimators.groups import shrunk
        >>> found, errors = shrunk(np.array([[0.1], [0.2], [0.3], [0.6]]), np.full((4, 1), 0.02))
        >>> found.ravel().round(3).tolist(), errors.ravel().round(3).tolist()
        ([0.129, 0.214, 0.3, 0.557], [0.14, 0.135, 0.134, 0.147])
    """
    k = len(direct)
    if k < LEAST_GROUPS:
        raise DataError(f"method 'shrunk' needs at least {LEAST_GROUPS} groups, got {k}; take method 'linear'.")
    known = np.maximum(variances, np.finfo(float).tiny)
    between = _between(direct, known)
    weights = 1 / (known + between)
    total = weights.sum(axis=0)
    middle = (weights * direct).sum(axis=0) / total
    typical = (weights * known).sum(axis=0) / total
    away = direct - middle
    pull = (k - 3) / (k - 1) * known * weights
    square = known * (1 - (k - 1) / k * pull) + 2 / (k - 3) * pull**2 * (typical + between) * weights * away**2
    errors: FloatArray = np.sqrt(square)
    return direct - pull * away, errors


def _between(direct: FloatArray, variances: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` t: the variance of the groups' frequencies, at least 0, by weighted moments."""
    k = len(direct)
    between: FloatArray = np.maximum(direct.var(axis=0, ddof=1) - variances.mean(axis=0), 0)
    for _ in range(_SHRINKAGE_ROUNDS):
        weights = 1 / (variances + between)
        total = weights.sum(axis=0)
        away = direct - (weights * direct).sum(axis=0) / total
        new = np.maximum((weights * (k / (k - 1) * away**2 - variances)).sum(axis=0) / total, 0)
        if np.allclose(new, between, rtol=1e-9, atol=0):
            break
        between = new
    return between


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

LINEAR, SHRUNK = "linear", "shrunk"
OPTIONS = ("shares", "margins", "minimum", "small")


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
    checked_choice("method with weights", method, (LINEAR,))
    if not isinstance(data, Reports):
        raise ParameterError(f"weights need the reports that they belong to, got {type(data).__name__}.")
    return _alone(mechanism, weighted_tally(mechanism, data, Weights.of(weights, data.n)))


def grouped_estimate(
    mechanism: Mechanism, batch: Batch, method: str, direct: Direct, options: Mapping[str, Any]
) -> GroupedEstimate:
    """Return the estimates of groups.

    Args:
        mechanism: what made the reports.
        batch: the reports of each group.
        method: a method of `discreet.estimate`, or ``"shrunk"``.
        direct: the estimate of plain reports by this method.
        options: of groups; see `discreet.estimate`.

    Raises:
        DataError, ParameterError: as for `discreet.estimate`.
    """
    shares, margins = options.get("shares"), options.get("margins")
    if batch.weighted or shares is not None or margins is not None:
        checked_choice("method with weights, shares and margins", method, (LINEAR, SHRUNK))
    if shares is not None and margins is not None:
        raise ParameterError("shares are of groups and margins of several columns of groups; give one of the two.")
    asked = {"minimum": options.get("minimum"), "treatment": options.get("small")}
    rule = SmallGroups(**{name: limit for name, limit in asked.items() if limit is not None})
    large = _large(batch, rule, options)
    chosen = {label: batch.counts[label] for label in large}
    if method == SHRUNK:
        estimates: Mapping[Any, Estimate] = _shrunk(mechanism, chosen)
    elif batch.weighted:
        estimates = {label: _alone(mechanism, counts) for label, counts in chosen.items()}
    elif method == LINEAR and mechanism.decoder.stacks:
        estimates = _on_demand(mechanism, batch, large, direct)
    else:
        estimates = {label: direct(batch.data[label]) for label in large}
    if shares is not None:
        # The sum of the strata's estimates times their known shares.
        known, strata = checked_shares(shares, list(batch.counts), "shares"), _strata(mechanism, batch.counts)
        overall = combine(mechanism, strata, known / strata.weights, "linear, post-stratified")
    elif margins is not None:
        overall = _raked(mechanism, batch, margins, rule)
    elif method == SHRUNK or batch.weighted:
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


def _large(batch: Batch, rule: SmallGroups, options: Mapping[str, Any]) -> list[Any]:
    """Return the groups to be estimated; small cells of raked margins are left out, small strata refused."""
    if options.get("shares") is not None and rule.treatment != "refuse":
        raise ParameterError("shares need every group, so small ones cannot be left out; merge them.")
    if options.get("margins") is not None:
        return SmallGroups(rule.minimum, "leave-out").check(batch.sizes)
    return rule.check(batch.sizes)


def _alone(mechanism: Mechanism, counts: Counts) -> Estimate:
    """Return the estimate of one sample of people."""
    if isinstance(counts, Tally):
        return linear(LinearStart.of(mechanism, counts))
    strata = Strata(mechanism.decoder, (counts,))
    centre = mechanism.decoder.estimate(counts.weights)
    return combine(mechanism, strata, 1 / strata.weights, "linear, weighted", lambda *_: centre)


def _strata(mechanism: Mechanism, counts: Mapping[Any, Counts]) -> Strata:
    return Strata(mechanism.decoder, tuple(counts.values()))


def _raked(mechanism: Mechanism, batch: Batch, margins: Any, rule: SmallGroups) -> Estimate:
    """Return the sum of the cells' estimates with weights that have the known margins."""
    if not isinstance(margins, Mapping) or set(margins) != set(batch.names) or len(batch.names) < 2:
        names = ", ".join(batch.names) or "none"
        raise ParameterError(f"margins must be shares by column of groups, for each of two or more; there are {names}.")
    sizes, known = batch.sizes, []
    for at, name in enumerate(batch.names):
        categories = [label[at] for label in batch.counts]
        labels = sorted(set(categories))
        SmallGroups(rule.minimum).check(
            {label: sum(size for cell, size in sizes.items() if cell[at] == label) for label in labels}
        )
        places = np.array([labels.index(label) for label in categories])
        known.append(Margin(name, places, checked_shares(margins[name], labels, f"margins of {name!r}")))
    strata = _strata(mechanism, batch.counts)
    shares = raked(strata.weights, known)
    means = np.stack([stratum.mean for stratum in strata])
    centres = fitted(means, shares, known)
    return combine(mechanism, strata, shares / strata.weights, "linear, raked", lambda place, _: centres[place])


def _shrunk(mechanism: Mechanism, counts: Mapping[Any, Counts]) -> dict[Any, Estimate]:
    """Return the estimates of groups, each moved towards what all have in common."""
    strata = list(_strata(mechanism, counts))
    direct = np.stack([stratum.mean for stratum in strata])
    sizes = np.array([stratum.weight**2 / stratum.squares for stratum in strata])
    together = sizes @ direct / sizes.sum()
    variances = np.stack([_variance_at(stratum, together, size) for stratum, size in zip(strata, sizes, strict=True)])
    frequencies, errors = shrunk(direct, variances)
    estimates = {}
    for at, (label, stratum) in enumerate(zip(counts, strata, strict=True)):
        estimates[label] = Estimate(
            mechanism.domain,
            frequencies[at],
            errors[at],
            stratum.people,
            SHRUNK,
            mechanism.fingerprint,
            simulated=stratum.simulated,
            intervals=CountLimits.of(MeanWorths(frequencies[at], 1, lasting=errors[at] ** 2)),
            people=Strata(mechanism.decoder, (counts[label],)),
        )
    return estimates


def _variance_at(stratum: Stratum, p: FloatArray, size: float) -> FloatArray:
    """Return the ``(|X|,)`` variances of a group's estimate if its frequencies were p."""
    constant, slope = stratum.moments
    inside = np.clip(p, 0, 1)
    variance: FloatArray = (constant + slope * inside - inside**2) / size + stratum.lasting
    return half_a_report(variance, size)
