"""The methods ``mle`` and ``em``, with errors of one step from their estimate.

The one-step estimate: the best linear decoder at an estimate, and what it knows of its own error.

Let u be the likelihood ratios of a report at an estimate f (`discreet.mechanisms.covariances`) and J = E u u'
under f. Then J f = 1, and E u = J p for any true p, so that

    p~ = f + J^-1 (mean of u - 1)

is unbiased whatever f is, with n Cov = J^-1 - f f' where f is right: no decoder has less. The mean of u over reports
is the gradient that certifies a maximum of the likelihood. Worths w = J^-1 u of reports give the second and third
moments from which limits follow (`discreet.theory.binomial`): E w^k under f, and E u_x w_x^k, which is that of
reports of x. With d = u - 1, J = 11' + E d d' and w = f + J^-1 d.

The covariance of the one-step estimate: J^-1 - f f', and the rest shared by counts in clear.

Maximum likelihood and the paper's EM, for the evidence of any mechanism.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import real_number, shown
from discreet.core.grouping import ValueCells
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.likelihood import LocalRows, RowLikelihood, singleton_gap, singleton_maximum
from discreet.estimators.likelihood import expectation_maximization as reconstruct
from discreet.estimators.linear import (
    LinearStart,
    checked_significance,
    make_estimate,
    projected_deviation,
    thresholded,
)
from discreet.estimators.maximum import Solution, Start, maximize
from discreet.mechanisms.block_law import Membership
from discreet.mechanisms.covariances import LikelihoodRatios
from discreet.mechanisms.evidence import Evidence, needs_reports
from discreet.mechanisms.tally_limits import CountIntervals, CountLaw, TallyIntervals
from discreet.results.estimate import Deferred, Estimate
from discreet.theory.binomial import MeanWorths, WorthMoment
from discreet.theory.covariance import Covariance, DeferredCovariance, LowRankCovariance
from discreet.theory.limits import ShareLimits, Sums

MOST_VALUES = 1000
"""More values than this would take too long: their number enters in the third power."""
# Of the largest eigenvalue of J, in units of its diagonal: below it values cannot be told apart.
_SINGULAR = 1e-9
# Frequencies that are nearer to 0 or 1 are so but for rounding.
_NOTHING = 1e-6


@dataclass(frozen=True, eq=False)
class OneStep:
    """A one-step estimate.

    Attributes:
        estimates: ``(k,)`` p~.
        inverse: ``(k, k)`` J^-1.
        ratios: the likelihood ratios of reports at f.
        n: number of reports, less one for every positive frequency of f.
    """

    estimates: FloatArray
    inverse: FloatArray
    ratios: LikelihoodRatios
    n: float

    @property
    def point(self) -> FloatArray:
        """``(k,)`` f."""
        return self.ratios.point

    @property
    def covariance(self) -> FloatArray:
        """``(k, k)`` n Cov(p~) = J^-1 - f f'."""
        covariance: FloatArray = self.inverse - np.outer(self.point, self.point)
        return covariance

    def errors(self, codes: IntArray, tally: Tally) -> FloatArray:
        """Return the ``(|X|,)`` standard deviations of p~, with the rest shared by counts in clear.

        With r the frequency of the rest and h_y = F_y / F its shares, r h_y varies with r and with h, of which the
        variance is r^2 h (1 - h) / F.

        Args:
            codes: ``(v,)`` the values that blocks cover; the others have counts in clear.
            tally: of the reports.
        """
        own, in_clear = np.diagonal(self.covariance), np.ones(len(codes) + len(tally.clear), dtype=np.bool_)
        in_clear[codes] = False
        variances = np.zeros(len(in_clear))
        variances[codes] = own[: len(codes)]
        if len(own) > len(codes):
            told = max(tally.clear_total, 1)
            shares, moved = tally.clear / told, max(float(self.estimates[-1]), 0.0) ** 2 * self.n / told
            variances[in_clear] = own[-1] * shares**2 + moved * shares * (1 - shares)
        errors: FloatArray = np.sqrt(np.maximum(variances, 0) / self.n)
        return errors

    @cached_property
    def moments(self) -> FloatArray:
        """``(2, 2, k)`` E w^2 and E w^3, each under f and of reports of the value itself."""
        moments, inverse = np.zeros((2, 2, len(self.point))), self.inverse
        for weights, d in self.ratios.stretches():
            w = self.point.astype(d.dtype) + d @ inverse.astype(d.dtype)
            power = w * weights[:, None].astype(d.dtype)
            for found in moments:
                power *= w
                whole = np.add.reduce(power, dtype=np.float64)
                found += [whole, whole + np.add.reduce(power * d, dtype=np.float64)]
        return moments

    def worths(self, size: int) -> MeanWorths:
        """Return the means of worths to the first ``size`` values, from which their limits follow."""
        f = np.minimum(self.point[:size], 1 - _NOTHING)
        moments = []
        for whole, own in self.moments[..., :size]:
            # Where p moves to t, those who have another value keep their proportions.
            others = (whole - f * own) / (1 - f)
            moments.append(WorthMoment(others, own - others))
        return MeanWorths(self.estimates[:size], self.n, moments[0], moments[1])


def one_step(ratios: LikelihoodRatios, mean: FloatArray, n: int) -> OneStep | None:
    """Return the one-step estimate at a distribution; None where its reports do not tell all values apart.

    Args:
        ratios: of the reports, at f.
        mean: ``(k,)`` the mean of u over the n reports.
        n: number of reports.
    """
    f = ratios.point
    # f . d = 0 for every report and E d = 0, so that J f = 1 though blocks are drawn.
    information = np.ones((len(f), len(f)))
    for weights, d in ratios.stretches():
        root = d * np.sqrt(weights, dtype=d.dtype)[:, None]
        information += root.T @ root
    inverse = _inverse(information)
    if inverse is None:
        return None
    left = max(n - int(np.count_nonzero(f > _NOTHING)), 1)
    return OneStep(f + inverse @ (mean - 1), inverse, ratios, left)


def _inverse(information: FloatArray) -> FloatArray | None:
    """Return the inverse of J; None where it has none to speak of."""
    scale = np.sqrt(np.diagonal(information))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        return None
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if values[0] <= _SINGULAR * values[-1]:
        return None
    inverse: FloatArray = (vectors / values) @ vectors.T / np.outer(scale, scale)
    return inverse


class WorthIntervals(CountIntervals):
    """Intervals of which those of the values that blocks cover follow from worths of whole reports.

    Values in clear keep those of their counts.

    Attributes:
        tally: the intervals of the tally.
        codes: ``(v,)`` the values that blocks cover.
    """

    tally: TallyIntervals
    codes: IntArray

    @property
    @abstractmethod
    def worths(self) -> MeanWorths | None:
        """The mean worths of the reports to these values; None where the reports do not tell all values apart."""

    @property
    def remark(self) -> str:
        """A sentence where the intervals are those of the tally after all."""
        if self.worths is not None:
            return ""
        return "The blocks do not tell all values apart; intervals are those of the tally."

    @cached_property
    def centre(self) -> FloatArray:
        """The mean worths, and the linear estimates of values in clear."""
        centre = self.tally.centre
        if self.worths is not None:
            centre = centre.copy()
            centre[self.codes] = self.worths.estimates
        return centre

    @cached_property
    def counts(self) -> list[CountLaw]:
        """The worths of reports to the values that blocks cover, and the counts of values in clear."""
        if self.worths is None:
            return self.tally.counts
        in_clear = [law for law in self.tally.counts if not np.isin(law[0][:1], self.codes).any()]
        return [*in_clear, (self.codes, self.worths)]

    def sums(self, cells: ValueCells, spread: Covariance, n: int) -> Sums | ShareLimits:
        """Return the limits of sums; those in clear are the tally's."""
        return self.tally.sums(cells, spread, n) if self.worths is None else self.tally.sums_beside(cells, spread, n)


@dataclass(frozen=True, eq=False)
class OneStepIntervals(WorthIntervals):
    """Intervals of the one-step estimate at a likelihood estimate; worked out when they are asked for.

    Attributes:
        tally: the intervals of the tally.
        codes: ``(v,)`` the values that blocks cover.
        ratios: the likelihood ratios of reports at the estimate.
        mean: ``(k,)`` their mean over the reports.
        n: number of reports.
        closed: ``(|X|,)`` standard errors from a closed form, or what they follow from; stated where there is no
            one-step estimate.
    """

    tally: TallyIntervals
    codes: IntArray
    ratios: LikelihoodRatios
    mean: FloatArray
    n: int
    closed: FloatArray | Deferred

    @cached_property
    def step(self) -> OneStep | None:
        """The one-step estimate; None where reports do not tell all values apart."""
        return one_step(self.ratios, self.mean, self.n)

    @cached_property
    def worths(self) -> MeanWorths | None:
        """The mean worths; see `WorthIntervals`."""
        return None if self.step is None else self.step.worths(len(self.codes))

    def errors(self) -> FloatArray:
        """Return the ``(|X|,)`` standard errors of the one-step estimate; larger ones where all reports agree."""
        closed = self.closed.value if isinstance(self.closed, Deferred) else self.closed
        if self.step is None:
            return closed
        found = self.step.errors(self.codes, self.tally.tally)
        return np.where(found < 0.5 / self.n, np.maximum(found, closed), found)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that limits follow from, worked out: neither reports nor what only errors need."""
        return {"tally": self.tally, "codes": self.codes, "n": self.n, "worths": self.worths}


# Numbers of the rows that choose values: beyond, the linear estimate's covariance is as good as any.
_MOST_NUMBERS = 1 << 25


class OneStepSpread(DeferredCovariance):
    """The covariance that goes with one-step intervals: worked out when it is asked for, as these are.

    Args:
        intervals: the intervals.
        linear: the covariance of the linear estimates, which it is where there is no one-step estimate.
    """

    def __init__(self, intervals: OneStepIntervals, linear: Covariance) -> None:
        for name, attribute in (("n", intervals.n), ("make", self._worked_out)):
            object.__setattr__(self, name, attribute)
        object.__setattr__(self, "_intervals", intervals)
        object.__setattr__(self, "_linear", linear)

    _intervals: OneStepIntervals
    _linear: Covariance

    @cached_property
    def centre(self) -> FloatArray:  # type: ignore[override]
        """The one-step estimates."""
        return self._made.centre if self.n > 1 else self._intervals.centre

    def _worked_out(self) -> Covariance:
        found = self._intervals
        size = len(found.tally.centre)
        if found.step is None or size * len(found.step.point) > _MOST_NUMBERS:
            return self._linear
        return one_step_covariance(found.step, found.codes, size, found.tally.tally)


def one_step_covariance(step: OneStep, codes: IntArray, size: int, tally: Tally) -> LowRankCovariance:
    """Return the covariance of a one-step estimate over all values.

    With r the frequency of the rest and h_y = F_y / F its shares, r h_y varies with r and with h, of which the
    covariance is r^2 (diag(h) - h h') / F.

    Args:
        step: the estimate.
        codes: ``(v,)`` the values that blocks cover.
        size: |X|.
        tally: of the reports.
    """
    core, factors, apart = step.covariance, np.zeros((len(step.point), size)), np.zeros(size)
    factors[np.arange(len(codes)), codes] = 1
    if len(step.point) > len(codes):
        rest, told = max(float(step.estimates[-1]), 0.0), max(tally.clear_total, 1)
        others = np.ones(size, dtype=np.bool_)
        others[codes] = False
        factors[-1, others] = tally.clear / told
        spread = rest**2 * step.n / told
        apart = spread * factors[-1]
        core[-1, -1] -= spread
    return LowRankCovariance(step.estimates @ factors, apart, factors, core, 1 / step.n)


# Where the paper's procedure stops: the sum of absolute changes in one iteration.
EM_CHANGE = 3e-4
# By default at most this much log-likelihood is missing: per report, and over all reports together, where a tenth of a
# nat is little beside the half nat per value that the noise costs.
_MISSING_PER_REPORT = 1e-4
_MISSING = 0.1
# What every value gets where something was seen that no value with a share could cause.
_LITTLE = 1e-3

Progress = Callable[[float, float], None]


def maximum_likelihood(
    start: LinearStart, *, tolerance: float | None = None, progress: Progress | None = None
) -> Estimate:
    """Maximise the likelihood over the simplex, with a certificate of the gap.

    Wins where the noise is small against the frequencies (larger epsilon or n); where it is large,
    ``threshold`` and ``em``, which stop early, are often nearer to the truth.

    Args:
        start: the reports and their linear estimate; the tally is enough where blocks are single values.
        tolerance: the largest gap to accept, in nats per report; at least 1e-12. None for a tenth of a nat
            over all reports together, and at most 1e-4 per report.
        progress: called with the passes done and the present gap.
    """
    _check_progress(progress)
    missing, evidence = _checked_tolerance(start, tolerance), start.evidence
    if not evidence.covered.any():
        return _with_errors(start, start.linear, start.safe_variance, "mle", 0.0, None)
    if evidence.noise is not None:
        return _of_single_values(start, evidence.noise)
    solution = maximize(_likelihood(start, "mle"), _first_values(start), tolerance=missing, progress=progress)
    frequencies = _arranged(evidence, solution.frequencies, _shared(evidence, solution.rest))
    variance = _information_variance(start, solution)
    found = _with_errors(start, frequencies, variance, "mle", solution.gap, solution.passes)
    return _one_stepped(start, found, (solution.frequencies, solution.rest), solution.gradient)


def _checked_tolerance(start: LinearStart, tolerance: object) -> float:
    if tolerance is None:
        return max(min(_MISSING_PER_REPORT, _MISSING / start.n), 1e-12)
    number = real_number(tolerance)
    if not 1e-12 <= number < np.inf:
        raise ParameterError(f"tolerance must be a finite number of at least 1e-12, got tolerance={shown(tolerance)}.")
    return number


def _check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise ParameterError(f"progress must be called with the passes and the gap, got {type(progress).__name__}.")


def _arranged(evidence: Evidence, covered: FloatArray, others: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` numbers in the domain's order, from those of the values that B covers and of the others."""
    whole = np.empty(len(evidence.covered))
    whole[evidence.covered], whole[~evidence.covered] = covered, others
    return whole


def _of_single_values(start: LinearStart, noise: FloatArray) -> Estimate:
    tally, truth = start.tally, start.evidence.truth
    counts = np.concatenate([tally.support, tally.clear])
    floors = np.concatenate([noise, np.zeros(len(tally.clear))])
    maximum = singleton_maximum(counts, floors, slope=truth)
    gap = singleton_gap(counts, floors, truth, maximum)
    frequencies = _arranged(start.evidence, maximum[: len(noise)], maximum[len(noise) :])
    return _with_errors(start, frequencies, start.safe_variance, "mle", gap, None)


def _likelihood(start: LinearStart, method: str) -> RowLikelihood:
    evidence = start.evidence
    if evidence.membership is None:
        raise needs_reports(method)
    clear = None if evidence.covered.all() else start.tally.clear_total
    return RowLikelihood(evidence.membership, evidence.contrast, clear, evidence.shares, evidence.rows_of or LocalRows)


def _first_values(start: LinearStart) -> Start:
    covered = start.evidence.covered
    values, precision = start.linear[covered], 1 / start.safe_variance[covered]
    if not covered.all():
        rest = float(start.linear[~covered].sum())
        spread = max(rest * (1 / start.evidence.truth - rest), 1 / start.n) / start.n
        values, precision = np.append(values, rest), np.append(precision, 1 / spread)
    return Start(values, precision)


def _shared(evidence: Evidence, mass: float) -> FloatArray:
    """Share a mass among the values that may go in clear, in proportion to their counts."""
    counts, total = evidence.tally.clear, evidence.tally.clear_total
    return mass * counts / total if total else np.zeros(len(counts))


def _information_variance(start: LinearStart, solution: Solution) -> FloatArray:
    evidence, linear = start.evidence, start.safe_variance
    size = int(np.count_nonzero(evidence.covered))
    # Of what the rows say with all other frequencies known, what all reports have in common takes away.
    information = np.maximum(solution.information[:size] * evidence.information_left, 1e-300)
    # Never worse than the linear estimate, which is one of its competitors.
    variance = _arranged(evidence, 1 / (start.n * information), np.zeros(len(evidence.covered) - size))
    return np.where(evidence.covered, np.minimum(variance, linear), linear)


def _with_errors(
    start: LinearStart, frequencies: FloatArray, variance: FloatArray, method: str, gap: float, passes: float | None
) -> Estimate:
    positive = frequencies > 1e-3 * np.sqrt(variance)
    share = np.where(positive, variance, 0.0) / max(float(variance[positive].sum()), 1e-300)
    covariance = start.covariance_with_sum(frequencies, variance)
    errors = projected_deviation(frequencies, variance, covariance, positive, share)
    return make_estimate(start, frequencies, errors, method, gap=gap, passes=passes)


def expectation_maximization(
    start: LinearStart, *, significance: float = 0.05, progress: Progress | None = None
) -> Estimate:
    """Run the paper's EM reconstruction from emp+thr, with an early stop [ULDP, section 4].

    Not the maximum of the likelihood: it stops when an iteration changes little, and in noisy regimes that makes it
    smoother and often nearer to the truth.

    Args:
        start: the reports and their linear estimate; the tally is enough where blocks are single values.
        significance: of the thresholds that it starts from.
        progress: called with the iterations done and the present gap.
    """
    _check_progress(progress)
    evidence = start.evidence
    first, _ = thresholded(start, checked_significance(significance), uniform=True)
    if not evidence.covered.any():
        return _with_errors(start, start.linear, start.safe_variance, "em", 0.0, None)
    likelihood = _likelihood(start, "em")
    first = _possible(likelihood, first / first.sum())
    result = reconstruct(
        likelihood,
        np.concatenate([first[evidence.covered], first[~evidence.covered]]),
        clear_counts=None if evidence.covered.all() else start.tally.clear,
        change=EM_CHANGE,
        progress=progress,
    )
    frequencies = _arranged(evidence, result.frequencies, result.clear_frequencies)
    found = _with_errors(start, frequencies, start.safe_variance, "em", result.gap, result.iterations)
    size = len(result.frequencies)
    return _one_stepped(start, found, (result.point[:size], float(result.point[size:].sum())), result.gradient)


def _one_stepped(
    start: LinearStart, found: Estimate, point: tuple[FloatArray, float], gradient: FloatArray
) -> Estimate:
    """Return an estimate with errors and intervals of its one-step estimate, where blocks hold more than one value.

    Args:
        start: the reports.
        found: the estimate.
        point: the frequencies of covered values, and of the rest, at which the gradient is.
        gradient: the mean of the likelihood ratios of the reports.
    """
    evidence, covered = start.evidence, point[0]
    if evidence.noise is not None or len(covered) > MOST_VALUES:
        return found
    ratios = start.decoder.likelihood_ratios(evidence, *point)
    codes = np.flatnonzero(evidence.covered)
    intervals = OneStepIntervals(start.intervals, codes, ratios, gradient, start.n, found.errors)
    spread = None if start.spread is None else OneStepSpread(intervals, start.spread)
    return replace(found, errors=Deferred(intervals.errors), intervals=intervals, spread=spread)


def _possible(likelihood: RowLikelihood, first: FloatArray) -> FloatArray:
    """Return a start with a positive likelihood, mixed with the uniform distribution if need be."""
    membership = likelihood.membership
    if np.isfinite(likelihood.contrast) or not isinstance(membership, Membership) or (membership.dot(first) > 0).all():
        return first
    everything: FloatArray = (first + _LITTLE) / (first + _LITTLE).sum()
    return everything
