"""The method ``mle``: maximum likelihood, certified, for the evidence of any mechanism.

Standard errors, limits and covariances belong to the one-step estimate that starts at this estimate
(`discreet.results.one_step`).

If blocks are single values (RR and uRR), the maximum has a closed form. A report is one symbol y, sent with probability
q_y = f_y + s p_y. The probability of a sensitive symbol as noise is f_y > 0; f_y = 0 for a value in clear; s is the
probability of the truth. The log-likelihood sum(n_y ln q_y) is greatest, subject to p >= 0 and sum(p) = 1, at

    q_y = max(f_y, n_y / mu),  mu = N_A / (s + f_A),  A = {y: n_y > mu f_y},

with N_A and f_A the sums over A. Removing a symbol that does not belong to A increases mu, so A shrinks to the right
set.
"""

from dataclasses import replace
from functools import cache, partial
from math import isinf

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.likelihood import LocalRows, RowLikelihood
from discreet.estimators.linear import PROGRESS, TOLERANCE, LinearStart, Method, Progress, missing_of
from discreet.estimators.maximum import Solution, maximize
from discreet.estimators.simplex import projected_deviation
from discreet.mechanisms.contributions import ReportLaw
from discreet.mechanisms.evidence import Evidence, needs_reports
from discreet.results.estimate import Estimate
from discreet.results.one_step import OneStep, OneStepContributions, one_step
from discreet.results.uncertainty import ValueUncertainty
from discreet.theory.limits import all_agree, larger_of_few

MOST_VALUES = 1000
"""Largest number of values; the time grows with its third power."""

_CHANNEL_TOLERANCE = 1e-11


def maximum_likelihood(
    start: LinearStart, *, tolerance: float | None = None, progress: Progress | None = None
) -> Estimate:
    """Return the maximum likelihood estimate on the simplex, with a certificate of the gap.

    It is the best method if the noise is small compared with the frequencies (large epsilon or n). If the noise is
    large, ``threshold`` and ``em`` are often nearer to the truth.

    Args:
        start: the reports and their linear estimate; a tally suffices if blocks are single values.
        tolerance: the largest accepted gap, in nats per report; at least 1e-12. None for a tenth of a nat over all
            reports, and at most 1e-4 per report. For an explicit channel None is 1e-11, so that two machines whose
            roundings differ agree within 1e-9.
        progress: a function that is called with the number of passes and the present gap.
    """
    evidence = start.evidence
    if not evidence.covered.any():
        return with_errors(start, start.linear, start.safe_variance, "mle", 0.0, None)
    if evidence.noise is not None:
        return _of_single_values(start, evidence.noise)
    if tolerance is None and isinf(evidence.contrast):
        tolerance = _CHANNEL_TOLERANCE
    missing, likelihood = missing_of(start.n, tolerance), likelihood_of(start, "mle")
    solution = maximize(likelihood, *_first_values(start), tolerance=missing, progress=progress)
    # The rest is divided among the values that may be reported in clear, in proportion to their counts.
    counts, total = start.tally.clear, start.tally.clear_total
    others = solution.rest * counts / total if total else np.zeros(len(counts))
    frequencies = arranged(evidence, solution.frequencies, others)
    variance = _information_variance(start, solution)
    estimate = with_errors(start, frequencies, variance, "mle", solution.gap, solution.passes)
    return one_stepped(start, estimate, (solution.frequencies, solution.rest), solution.gradient)


def arranged(evidence: Evidence, covered: FloatArray, others: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` numbers in the domain's order, from numbers for the values that B covers and for the others."""
    whole = np.empty(len(evidence.covered))
    whole[evidence.covered], whole[~evidence.covered] = covered, others
    return whole


def _of_single_values(start: LinearStart, noise: float) -> Estimate:
    tally, truth, size = start.tally, start.evidence.truth, len(start.tally.support)
    counts = np.concatenate([tally.support, tally.clear]).astype(np.float64)
    floors = np.append(np.full(size, noise), np.zeros(len(tally.clear)))
    maximum, gap = singleton_maximum(counts, floors, truth)
    frequencies = arranged(start.evidence, maximum[:size], maximum[size:])
    return with_errors(start, frequencies, start.safe_variance, "mle", gap, None)


def singleton_maximum(counts: FloatArray, floors: FloatArray, slope: float) -> tuple[FloatArray, float]:
    """Return the maximum likelihood estimate from counts of symbols, exact except for rounding, and its gap.

    The gap is max_x (1/n) sum_y n_y Q(y|x)/q_y - 1, in nats per report: it bounds the log-likelihood that is lost by
    rounding. With Q(y|x) = f_y + s [y = x] it needs one sum. The mean of 1 is subtracted term by term, so that numbers
    close to 1 are never subtracted from each other.

    Args:
        counts: ``(w,)`` the number of reports of each symbol; at least one report.
        floors: ``(w,)`` f, the probability of each symbol as noise; 0 where the value comes in clear only.
        slope: s, the probability of the truth, in (0, 1]; ``sum(floors) + slope`` is 1.
    """
    members = np.flatnonzero(counts > 0)
    while True:
        inside, noise = counts[members], floors[members]
        scale = float(np.add.reduce(inside)) / (slope + float(np.add.reduce(noise)))
        excess = inside - scale * noise
        keep = excess > 0
        if keep.all():
            break
        members = members[keep]
    p = np.zeros_like(counts)
    p[members] = excess / float(np.add.reduce(excess))
    share = counts / float(np.add.reduce(counts))
    ratio = np.divide(share, floors + slope * p, out=np.zeros_like(p), where=counts > 0)
    # sum(share) = 1 gives sum(f ratio) - 1 = -slope sum(p ratio); so the gap is slope (max ratio - mean ratio under p).
    return p, slope * float(np.add.reduce(p * (float(ratio.max()) - ratio)))


def likelihood_of(start: LinearStart, method: str) -> RowLikelihood:
    """Return the likelihood of the reports from which a method starts.

    Raises:
        ParameterError: if the method needs reports and there is only a tally.
    """
    evidence = start.evidence
    if evidence.membership is None:
        raise needs_reports(method)
    clear = None if evidence.covered.all() else start.tally.clear_total
    return RowLikelihood(evidence.membership, evidence.contrast, clear, evidence.rows_of or LocalRows)


def _first_values(start: LinearStart) -> tuple[FloatArray, FloatArray]:
    """Return the linear estimate as the first point of the search, with inverse variances."""
    covered = start.evidence.covered
    values, precision = start.linear[covered], 1 / start.safe_variance[covered]
    if not covered.all():
        rest = float(start.linear[~covered].sum())
        variance = max(rest * (1 / start.evidence.truth - rest), 1 / start.n) / start.n
        values, precision = np.append(values, rest), np.append(precision, 1 / variance)
    return values, precision


def _information_variance(start: LinearStart, solution: Solution) -> FloatArray:
    evidence, linear = start.evidence, start.safe_variance
    size = int(np.count_nonzero(evidence.covered))
    # The information with all other frequencies known, reduced by the part that is common to all reports.
    information = np.maximum(solution.information[:size] * evidence.information_left, 1e-300)
    # At most the variance of the linear estimate.
    variance = arranged(evidence, 1 / (start.n * information), np.zeros(len(evidence.covered) - size))
    return np.where(evidence.covered, np.minimum(variance, linear), linear)


def with_errors(
    start: LinearStart, frequencies: FloatArray, variance: FloatArray, method: str, gap: float, passes: float | None
) -> Estimate:
    """Return an estimate with the errors of a projection that moves values in proportion to their variances."""
    positive = frequencies > 1e-3 * np.sqrt(variance)
    share = np.where(positive, variance, 0.0) / max(float(variance[positive].sum()), 1e-300)
    errors = partial(projected_deviation, start, frequencies, variance, share)
    return start.estimate(frequencies, errors, method, gap=gap, passes=passes)


def one_stepped(
    start: LinearStart, estimate: Estimate, point: tuple[FloatArray, float], gradient: FloatArray
) -> Estimate:
    """Return an estimate with the standard errors and intervals of its one-step estimate.

    If blocks are single values, or if there are too many values, the estimate is unchanged.

    Args:
        start: the reports.
        estimate: the estimate.
        point: the frequencies of covered values, and of the rest, at which the gradient was computed.
        gradient: the mean of the likelihood ratios of the reports.
    """
    evidence, covered = start.evidence, point[0]
    if evidence.noise is not None or len(covered) > MOST_VALUES:
        return estimate
    ratios = start.decoder.likelihood_ratios(evidence, *point)

    @cache
    def step() -> OneStep | None:
        return one_step(ratios, gradient, start.n)

    return replace(
        estimate,
        errors=lambda: _step_errors(start, step(), estimate),
        intervals=lambda: _step_uncertainty(start, step()),
    )


def _step_errors(start: LinearStart, step: OneStep | None, estimate: Estimate) -> FloatArray:
    """Return the ``(|X|,)`` standard errors of the one-step estimate.

    Where all reports agree, they are at least the errors of the estimate.
    """
    closed = estimate.standard_errors
    if step is None:
        return closed
    errors = np.sqrt(step.variances(np.flatnonzero(start.evidence.covered), start.tally))
    return larger_of_few(errors, closed, all_agree(errors, start.n))


def _step_uncertainty(start: LinearStart, step: OneStep | None) -> ValueUncertainty:
    """Return the uncertainty of the one-step estimate, or of the linear estimate if there is no one-step estimate.

    Values in clear have the limits of their counts.
    """
    if step is None:
        return replace(
            start.intervals, about="The blocks do not distinguish all values, so intervals come from the tally."
        )
    codes, centre, tally = np.flatnonzero(start.evidence.covered), start.linear.copy(), start.tally
    others, shares = np.flatnonzero(~start.evidence.covered), tally.clear / max(tally.clear_total, 1)
    of_step = OneStepContributions(step, codes, others, shares, start.evidence.truth)
    means = step.contribution_means(len(codes))
    laws = [law for law in start.decoder.count_laws(tally, start.linear) if not np.isin(law[0][:1], codes).any()]
    centre[codes] = means.estimates

    def behind() -> ReportLaw:
        of_tally = start.decoder.report_law(tally, start.linear)
        estimates = arranged(start.evidence, means.estimates, step.estimates[len(codes) :].sum() * shares)
        p = arranged(start.evidence, step.point[: len(codes)], step.point[len(codes) :].sum() * shares)
        return replace(of_tally, contributions=of_step, p=p, n=step.n, linear=estimates, binomial=None, single=False)

    return ValueUncertainty(centre, (*laws, (codes, means)), make_law=behind)


MLE = Method("mle", maximum_likelihood, (TOLERANCE, PROGRESS), needs_reports=True)
