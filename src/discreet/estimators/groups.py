"""Estimates by group and with weights: direct, shrunk, post-stratified and raked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_choice
from discreet.core.estimate import Estimate
from discreet.core.grouped_estimate import EstimatesOnDemand, GroupedEstimate
from discreet.core.grouped_tally import GroupedTally, TallyStack, WeightedTally
from discreet.core.grouping import Grouping, SmallGroups
from discreet.core.limits import StatedLimits
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.combination import combine
from discreet.estimators.linear_start import LinearStart
from discreet.estimators.raking import Margin, checked_shares, fitted, raked
from discreet.estimators.shrinkage import shrunk
from discreet.estimators.strata import Strata, Stratum
from discreet.estimators.weighting import Weights, weighted_tally
from discreet.kernels.blocks.grouping import runs_of
from discreet.mechanisms import Mechanism
from discreet.mechanisms.consistency import refuse_unfit_tally
from discreet.mechanisms.evidence import Evidence
from discreet.mechanisms.grouped_counts import tallies_by_group

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
        return any(isinstance(one, WeightedTally) for one in self.counts.values())

    @property
    def sizes(self) -> dict[Any, int]:
        """The number of people in each group."""
        return {label: people_of(one) for label, one in self.counts.items()}


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
        for one in self.estimates.values():
            yield from one.people.counts


def people_of(counts: Counts) -> int:
    """Return the number of reports of a tally."""
    return counts.n if isinstance(counts, Tally) else counts.people


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
    _check_method(method, "weights")
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
        _check_method(method, "weights, shares and margins", SHRUNK)
    if shares is not None and margins is not None:
        raise ParameterError("shares are of groups and margins of several columns of groups; give one of the two.")
    asked = {"minimum": options.get("minimum"), "treatment": options.get("small")}
    rule = SmallGroups(**{name: one for name, one in asked.items() if one is not None})
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
        overall = _post_stratified(mechanism, batch.counts, shares)
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
    tallies = {label: refuse_unfit_tally(mechanism, batch.counts[label]) for label in large}
    make = partial(_of_group, batch.data, direct)
    return EstimatesOnDemand(
        {label: one.n for label, one in tallies.items()}, make, partial(_stacked, mechanism, tallies)
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


def _check_method(method: str, wanted: str, *more: str) -> None:
    checked_choice(f"method with {wanted}", method, (LINEAR, *more))


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
        from discreet.estimators import estimate

        return estimate(mechanism, counts)
    strata = Strata(mechanism.decoder, (counts,))
    centre = mechanism.decoder.estimate(counts.weights)
    return combine(mechanism, strata, 1 / strata.weights, "linear, weighted", lambda *_: centre)


def _post_stratified(mechanism: Mechanism, counts: Mapping[Any, Counts], shares: Any) -> Estimate:
    """Return the sum of the strata's estimates times their known shares."""
    known = checked_shares(shares, list(counts), "shares")
    strata = Strata(mechanism.decoder, tuple(counts.values()))
    return combine(mechanism, strata, known / strata.weights, "linear, post-stratified")


def _raked(mechanism: Mechanism, batch: Batch, margins: Any, rule: SmallGroups) -> Estimate:
    """Return the sum of the cells' estimates with weights that have the known margins."""
    if not isinstance(margins, Mapping) or set(margins) != set(batch.names) or len(batch.names) < 2:
        names = ", ".join(batch.names) or "none"
        raise ParameterError(f"margins must be shares by column of groups, for each of two or more; there are {names}.")
    sizes, known = batch.sizes, []
    for at, name in enumerate(batch.names):
        own = [label[at] for label in batch.counts]
        labels = sorted(set(own))
        SmallGroups(rule.minimum).check(
            {label: sum(size for cell, size in sizes.items() if cell[at] == label) for label in labels}
        )
        places = np.array([labels.index(label) for label in own])
        known.append(Margin(name, places, checked_shares(margins[name], labels, f"margins of {name!r}")))
    strata = Strata(mechanism.decoder, tuple(batch.counts.values()))
    shares = raked(strata.weights, known)
    means = np.stack([stratum.mean for stratum in strata])
    centres = fitted(means, shares, known)
    return combine(mechanism, strata, shares / strata.weights, "linear, raked", lambda place, _: centres[place])


def _shrunk(mechanism: Mechanism, counts: Mapping[Any, Counts]) -> dict[Any, Estimate]:
    """Return the estimates of groups, each moved towards what all have in common."""
    strata = list(Strata(mechanism.decoder, tuple(counts.values())))
    direct = np.stack([stratum.mean for stratum in strata])
    sizes = np.array([stratum.weight**2 / stratum.squares for stratum in strata])
    together = sizes @ direct / sizes.sum()
    variances = np.stack([_variance_at(stratum, together, size) for stratum, size in zip(strata, sizes, strict=True)])
    frequencies, errors = shrunk(direct, variances)
    found = {}
    for at, (label, stratum) in enumerate(zip(counts, strata, strict=True)):
        found[label] = Estimate(
            mechanism.domain,
            frequencies[at],
            errors[at],
            stratum.people,
            SHRUNK,
            mechanism.fingerprint,
            simulated=stratum.simulated,
            intervals=StatedLimits(frequencies[at], errors[at] ** 2),
            people=Strata(mechanism.decoder, (counts[label],)),
        )
    return found


def _variance_at(stratum: Stratum, p: FloatArray, size: float) -> FloatArray:
    """Return the ``(|X|,)`` variances of a group's estimate if its frequencies were p."""
    constant, slope = stratum.moments
    inside = np.clip(p, 0, 1)
    variance: FloatArray = (constant + slope * inside - inside**2) / size + stratum.lasting
    return np.maximum(variance, (0.5 / size) ** 2)
