"""Estimates by group: from each group's reports, weighted, and post-stratified."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.columns import reals
from discreet.core.grouping import MINIMUM, Grouping, SmallGroups
from discreet.core.reports import Reports
from discreet.core.tally import GroupedTally, Tally, TallyStack, WeightedTally
from discreet.errors import DataError, ParameterError
from discreet.estimators import MethodName, Options, estimator, method_of
from discreet.estimators.linear import LINEAR, LinearStart
from discreet.estimators.strata import Strata, combine
from discreet.estimators.weights import Weights, of_sample, weighted_tally
from discreet.kernels.counting import runs_of
from discreet.mechanisms import Mechanism
from discreet.mechanisms.evidence import Evidence
from discreet.mechanisms.mechanism import tallies_by_group
from discreet.mechanisms.report_tables import reports_from_table
from discreet.results.estimate import Estimate
from discreet.results.groups import EstimatesOnDemand, GroupedEstimate

_SUM = 1e-6

Counts: TypeAlias = Tally | WeightedTally
Direct: TypeAlias = Callable[[Any], Estimate]
"""A function that returns the estimate of reports or a tally by the chosen method."""


def estimate_groups(
    mechanism: Mechanism,
    data: Any,
    groups: Any = None,
    *,
    method: MethodName = "linear",
    weights: Any = None,
    shares: Mapping[Any, float] | None = None,
    minimum: int = MINIMUM,
    small: Literal["refuse", "leave-out"] = "refuse",
    **options: Unpack[Options],
) -> GroupedEstimate:
    """Estimate the distribution of the true values in each group of people, and among everybody.

    Args:
        mechanism: the mechanism of the reports.
        data: reports, or a table of reports that identifies its plan, as for `discreet.estimate`; or a tally by group.
        groups: ``(n,)`` a public column, the group of each report, or a table of several such columns; None if the
            data are a tally by group.
        method: one of `METHODS`.
        weights: ``(n,)`` a public column of numbers above 0, for method ``linear``.
        shares: the share of each group in the population, by its label. With shares, ``overall`` is post-stratified;
            for method ``linear``.
        minimum: number of people in the smallest group that is estimated.
        small: treatment of smaller groups: raise an error (``"refuse"``) or leave them out (``"leave-out"``); no
            message names them.
        options: options of the method, by name.

    Raises:
        ParameterError: if the method or an option is unknown, or an argument does not go with the data.
        DataError: if columns do not fit the reports, or a group is too small.
        MismatchError: if reports and mechanism belong to different plans.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=2.0)
        >>> values, regions = ["bus"] * 600 + ["car"] * 400, ["north"] * 500 + ["south"] * 500
        >>> reports = mechanism.obfuscate(values, random=dc.SeededRandom(1))
        >>> grouped = dc.estimate_groups(mechanism, reports, regions)
        >>> list(grouped), round(grouped["south"]["car"].frequency, 2)
        (['north', 'south'], 0.8)
    """
    chosen = method_of(method)
    direct, always = partial(_direct, mechanism, estimator(chosen, options)), options.get("limits") == "always"
    if weights is not None or shares is not None:
        chosen.check_weighs()
        if always:
            raise ParameterError("limits.weighted", argument="limits")
    rule = SmallGroups(minimum, small)
    if shares is not None and rule.treatment != "refuse":
        raise ParameterError("small.needs-every-group", argument="small")
    batch = batch_of(mechanism, reports_from_table(mechanism, data, grouped=True), groups, weights)
    large = rule.check(batch.sizes)
    estimates: Mapping[Any, Estimate]
    if weights is not None:
        estimates = {label: of_sample(mechanism, batch.counts[label]) for label in large}
    elif chosen is LINEAR and mechanism.decoder.stacks and not always:
        estimates = _on_demand(mechanism, batch, large, direct)
    else:
        estimates = {label: direct(batch.data(label)) for label in large}
    if shares is not None:
        known = checked_shares(shares, list(batch.counts), "shares")
        strata = Strata(mechanism.decoder, tuple(batch.counts.values()))
        overall = combine(mechanism, strata, known, "linear, post-stratified")
    elif weights is not None:
        overall = of_sample(mechanism, reduce(add, batch.counts.values()))
    else:
        overall = direct(batch.whole)
    overall = replace(overall, people=replace(overall.people, parts=partial(_all_tallies, batch.counts, estimates)))
    left = sum(size for label, size in batch.sizes.items() if label not in estimates)
    return GroupedEstimate(batch.names, estimates, overall, rule.minimum, (len(batch.counts) - len(estimates), left))


def _direct(mechanism: Mechanism, run: Callable[[LinearStart], Estimate], data: Any) -> Estimate:
    return run(LinearStart.of(mechanism, data))


def checked_shares(shares: Any, labels: Sequence[Any], wanted: str) -> FloatArray:
    """Return the shares of groups in the population, in the order of ``labels``.

    Args:
        shares: the share of each group, by its label.
        labels: labels of the groups that have people.
        wanted: name of the shares in messages.

    Raises:
        DataError: if a group has no share, or a share has no people.
        ParameterError: if the shares are no numbers of at least 0, or do not sum to 1.
    """
    if not isinstance(shares, Mapping):
        raise ParameterError("shares.wrong-type", argument="shares", wanted=wanted, kind=type(shares).__name__)
    empty = [label for label in shares if label not in set(labels)]
    if empty:
        raise DataError("shares.of-empty-groups", argument="shares", wanted=wanted, listed=_listed(empty))
    without = [label for label in labels if label not in shares]
    if without:
        raise DataError("shares.missing-groups", argument="shares", wanted=wanted, listed=_listed(without))
    numbers: FloatArray = reals([shares[label] for label in labels], wanted)
    if not ((numbers >= 0) & np.isfinite(numbers)).all() or abs(numbers.sum() - 1) > _SUM:
        raise ParameterError("shares.sum-not-1", argument="shares", wanted=wanted, sum=numbers.sum())
    known: FloatArray = numbers / numbers.sum()
    return known


def _listed(labels: Sequence[Any], most: int = 5) -> str:
    shown = ", ".join(str(label)[:40] for label in labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} others"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The reports of several groups of people, with the tally of each group.

    Attributes:
        names: names of the columns that make the groups.
        data: a function from a label to the reports of its group, or to their tally.
        counts: the tally of each group, weighted or not.
        whole: all reports, or the tally of all reports.
    """

    names: tuple[str, ...]
    data: Callable[[Any], Any]
    counts: Mapping[Any, Counts]
    whole: Reports | Tally

    @property
    def sizes(self) -> dict[Any, int]:
        """The number of people in each group, by the group's label."""
        return {label: counts.people for label, counts in self.counts.items()}


def _reports_of_group(ordered: Reports, runs: Mapping[Any, tuple[int, int]], label: Any) -> Reports:
    """Return the reports of one group, from reports that are sorted by group."""
    return ordered.part(*runs[label])


def _all_tallies(counts: Mapping[Any, Counts], estimates: Mapping[Any, Estimate]) -> Iterator[Counts]:
    """Yield the tallies of all groups, and then the tallies from which the groups' estimates were computed."""
    yield from counts.values()
    for estimate in estimates.values():
        yield from estimate.people.counts


def batch_of(mechanism: Mechanism, data: Any, groups: Any, weights: Any) -> Batch:
    """Return the reports of each group of people, with the tally of each group.

    Args:
        mechanism: the mechanism of the reports.
        data: reports, or a tally by group.
        groups: the group of each report; None for a tally by group.
        weights: the weight of each report; None for equal weights.

    Raises:
        DataError: if columns do not fit the reports, or hold invalid entries.
        ParameterError: if groups or weights are passed with a tally.
    """
    if isinstance(data, GroupedTally):
        if groups is not None or weights is not None:
            raise ParameterError("groups.given-twice", argument="groups")
        return Batch(data.names, data.tallies.__getitem__, data.tallies, data.whole)
    if not isinstance(data, Reports):
        raise ParameterError("groups.without-reports", kind=type(data).__name__)
    if groups is None:
        raise ParameterError("groups.not-given", argument="groups")
    grouping = Grouping.of(groups).check_rows(data.n)
    weighing = None if weights is None else Weights.of(weights, data.n)
    order, runs = runs_of(grouping.codes)
    labelled = {grouping.labels[group]: (start, stop) for group, start, stop in runs}
    part = partial(_reports_of_group, data.take(order), labelled)
    counts: Mapping[Any, Counts]
    if weighing is None:
        tallies = tallies_by_group(mechanism, data, grouping.codes, len(grouping.labels))
        counts = dict(zip(grouping.labels, tallies, strict=True))
    else:
        rows = {label: weighing.take(order[start:stop]) for label, (start, stop) in labelled.items()}
        counts = {label: weighted_tally(mechanism, part(label), some) for label, some in rows.items()}
    return Batch(grouping.names, part, counts, data)


def _on_demand(mechanism: Mechanism, batch: Batch, large: list[Any], direct: Direct) -> EstimatesOnDemand:
    """Return the linear estimates of groups, computed on first use; tables compute many groups at a time.

    Raises:
        DataError, MismatchError: if this mechanism cannot have made the tally of a group.
    """
    tallies = {label: mechanism.checked_tally(batch.counts[label]) for label in large}
    make = partial(_of_group, batch.data, direct)
    return EstimatesOnDemand(
        {label: tally.n for label, tally in tallies.items()}, make, partial(_stacked, mechanism, tallies)
    )


def _of_group(data: Callable[[Any], Any], direct: Direct, label: Any) -> Estimate:
    return direct(data(label))


def _stacked(mechanism: Mechanism, tallies: Mapping[Any, Tally], labels: Sequence[Any]) -> Estimate:
    """Return the linear estimates of groups as one estimate with ``(g, |X|)`` arrays, for tables only."""
    tally: Any = TallyStack.of([tallies[label] for label in labels])
    evidence = Evidence(tally, 1.0, mechanism.domain.sensitive)
    start = LinearStart(mechanism.domain, mechanism.fingerprint, mechanism.decoder, evidence)
    facts = tally.n, LINEAR.name, mechanism.fingerprint
    return Estimate(mechanism.domain, start.linear, start.linear_errors, *facts, intervals=start.intervals)
