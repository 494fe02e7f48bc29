"""The methods ``mle`` and ``em``: maximum likelihood and the paper's EM, for the evidence of any mechanism.

Their errors, limits and covariances are those of one step from their estimates (`discreet.results.one_step`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import real_number, shown
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
from discreet.mechanisms.evidence import Evidence, needs_reports
from discreet.results.estimate import Estimate
from discreet.results.one_step import OneStepWorths
from discreet.theory.covariance import Covariance
from discreet.theory.limits import all_agree, larger_of_few

MOST_VALUES = 1000
"""More values than this would take too long: their number enters in the third power."""
# Numbers of the rows that choose values: beyond, the linear estimate's covariance is as good as any.
_MOST_NUMBERS = 1 << 25

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
    check_progress(progress)
    missing, evidence = checked_tolerance(start.n, tolerance), start.evidence
    if not evidence.covered.any():
        return _with_errors(start, start.linear, start.safe_variance, "mle", 0.0, None)
    if evidence.noise is not None:
        return _of_single_values(start, evidence.noise)
    solution = maximize(likelihood_of(start, "mle"), _first_values(start), tolerance=missing, progress=progress)
    # The rest is shared among the values that may go in clear, in proportion to their counts.
    counts, total = start.tally.clear, start.tally.clear_total
    others = solution.rest * counts / total if total else np.zeros(len(counts))
    frequencies = _arranged(evidence, solution.frequencies, others)
    variance = _information_variance(start, solution)
    estimate = _with_errors(start, frequencies, variance, "mle", solution.gap, solution.passes)
    return _one_stepped(start, estimate, (solution.frequencies, solution.rest), solution.gradient)


def checked_tolerance(n: int, tolerance: object) -> float:
    """Return the largest gap to accept of n reports, in nats per report; that of None, or the one that is asked for."""
    if tolerance is None:
        return max(min(_MISSING_PER_REPORT, _MISSING / n), 1e-12)
    number = real_number(tolerance)
    if not 1e-12 <= number < np.inf:
        raise ParameterError(f"tolerance must be a finite number of at least 1e-12, got tolerance={shown(tolerance)}.")
    return number


def check_progress(progress: object) -> None:
    """Refuse what cannot be called with passes and gap."""
    if progress is not None and not callable(progress):
        raise ParameterError(f"progress must be called with the passes and the gap, got {type(progress).__name__}.")


def _arranged(evidence: Evidence, covered: FloatArray, others: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` numbers in the domain's order, from those of the values that B covers and of the others."""
    whole = np.empty(len(evidence.covered))
    whole[evidence.covered], whole[~evidence.covered] = covered, others
    return whole


def _of_single_values(start: LinearStart, noise: float) -> Estimate:
    tally, truth, size = start.tally, start.evidence.truth, len(start.tally.support)
    counts = np.concatenate([tally.support, tally.clear])
    floors = np.append(np.full(size, noise), np.zeros(len(tally.clear)))
    maximum = singleton_maximum(counts, floors, slope=truth)
    gap = singleton_gap(counts, floors, truth, maximum)
    frequencies = _arranged(start.evidence, maximum[:size], maximum[size:])
    return _with_errors(start, frequencies, start.safe_variance, "mle", gap, None)


def likelihood_of(start: LinearStart, method: str) -> RowLikelihood:
    """Return the likelihood of reports.

    Raises:
        ParameterError: if a method needs more than the tally that there is.
    """
    evidence = start.evidence
    if evidence.membership is None:
        raise needs_reports(method)
    clear = None if evidence.covered.all() else start.tally.clear_total
    return RowLikelihood(evidence.membership, evidence.contrast, clear, evidence.rows_of or LocalRows)


def _first_values(start: LinearStart) -> Start:
    covered = start.evidence.covered
    values, precision = start.linear[covered], 1 / start.safe_variance[covered]
    if not covered.all():
        rest = float(start.linear[~covered].sum())
        variance = max(rest * (1 / start.evidence.truth - rest), 1 / start.n) / start.n
        values, precision = np.append(values, rest), np.append(precision, 1 / variance)
    return Start(values, precision)


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
    check_progress(progress)
    evidence = start.evidence
    first, _ = thresholded(start, checked_significance(significance), uniform=True)
    if not evidence.covered.any():
        return _with_errors(start, start.linear, start.safe_variance, "em", 0.0, None)
    likelihood = likelihood_of(start, "em")
    first = first / first.sum()
    membership = likelihood.membership
    if not np.isfinite(likelihood.contrast) and membership.is_here and not (membership.dot(first) > 0).all():
        # Something was seen that no value with a share could cause.
        first = (first + _LITTLE) / (first + _LITTLE).sum()
    result = reconstruct(
        likelihood,
        np.concatenate([first[evidence.covered], first[~evidence.covered]]),
        clear_counts=None if evidence.covered.all() else start.tally.clear,
        change=EM_CHANGE,
        progress=progress,
    )
    frequencies = _arranged(evidence, result.frequencies, result.clear_frequencies)
    estimate = _with_errors(start, frequencies, start.safe_variance, "em", result.gap, result.iterations)
    size = len(result.frequencies)
    return _one_stepped(start, estimate, (result.point[:size], float(result.point[size:].sum())), result.gradient)


def _one_stepped(
    start: LinearStart, estimate: Estimate, point: tuple[FloatArray, float], gradient: FloatArray
) -> Estimate:
    """Return an estimate with errors and intervals of its one-step estimate, where blocks hold more than one value.

    Args:
        start: the reports.
        estimate: the estimate.
        point: the frequencies of covered values, and of the rest, at which the gradient is.
        gradient: the mean of the likelihood ratios of the reports.
    """
    evidence, covered = start.evidence, point[0]
    if evidence.noise is not None or len(covered) > MOST_VALUES:
        return estimate
    ratios = start.decoder.likelihood_ratios(evidence, *point)
    worths = OneStepWorths(np.flatnonzero(evidence.covered), ratios, gradient, start.n)
    return replace(
        estimate,
        errors=partial(_step_errors, start, worths, estimate),
        intervals=replace(start.intervals, step=worths),
        joint_errors=partial(_step_covariances, start, worths),
    )


def _step_errors(start: LinearStart, worths: OneStepWorths, estimate: Estimate) -> FloatArray:
    """Return the ``(|X|,)`` standard errors of the one-step estimate; larger ones where all reports agree."""
    closed = estimate.standard_errors
    if worths.step is None:
        return closed
    errors = np.sqrt(worths.step.covariances(worths.codes, start.tally).variances())
    return larger_of_few(errors, closed, all_agree(errors, start.n))


def _step_covariances(start: LinearStart, worths: OneStepWorths) -> Covariance | None:
    """Return the covariance of the one-step estimate, or of the linear one where there is none."""
    if worths.step is None or start.domain.size * len(worths.step.point) > _MOST_NUMBERS:
        return start.covariances
    return worths.step.covariances(worths.codes, start.tally)
