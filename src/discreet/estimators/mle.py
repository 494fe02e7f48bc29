"""The method ``mle``: maximum likelihood, certified, for the evidence of any mechanism.

Errors, limits and covariances belong to the one-step estimate that starts at this estimate
(`discreet.results.one_step`).

Where blocks are single values (RR and uRR) the maximum has a closed form. A report is one symbol y, sent with
probability q_y = f_y + s p_y: f_y > 0 is the probability with which a sensitive symbol arises as noise, f_y = 0 for a
value in clear, and s is the probability of the truth. The log-likelihood sum(n_y ln q_y) is greatest, subject to p >= 0
and sum(p) = 1, at

    q_y = max(f_y, n_y / mu),  mu = N_A / (s + f_A),  A = {y: n_y > mu f_y},

with N_A and f_A the sums over A. Taking a symbol out of A that does not belong there raises mu, so A shrinks to the
right set.
"""

from dataclasses import replace
from functools import cache, partial

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.likelihood import LocalRows, RowLikelihood
from discreet.estimators.linear import PROGRESS, TOLERANCE, LinearStart, Method, Progress, missing_of
from discreet.estimators.maximum import Solution, maximize
from discreet.estimators.simplex import projected_deviation
from discreet.mechanisms.evidence import Evidence, needs_reports
from discreet.mechanisms.worths import ReportLaw
from discreet.results.estimate import Estimate
from discreet.results.one_step import OneStep, StepWorths, one_step
from discreet.results.uncertainty import ValueUncertainty
from discreet.theory.limits import all_agree, larger_of_few

MOST_VALUES = 1000
"""More values than this would take too long: their number enters in the third power."""
# Numbers of the rows that choose values: beyond, the linear estimate's covariance is as good as any.
_MOST_NUMBERS = 1 << 25


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
    evidence = start.evidence
    if not evidence.covered.any():
        return with_errors(start, start.linear, start.safe_variance, "mle", 0.0, None)
    if evidence.noise is not None:
        return _of_single_values(start, evidence.noise)
    missing, likelihood = missing_of(start.n, tolerance), likelihood_of(start, "mle")
    solution = maximize(likelihood, *_first_values(start), tolerance=missing, progress=progress)
    # The rest is shared among the values that may go in clear, in proportion to their counts.
    counts, total = start.tally.clear, start.tally.clear_total
    others = solution.rest * counts / total if total else np.zeros(len(counts))
    frequencies = arranged(evidence, solution.frequencies, others)
    variance = _information_variance(start, solution)
    estimate = with_errors(start, frequencies, variance, "mle", solution.gap, solution.passes)
    return one_stepped(start, estimate, (solution.frequencies, solution.rest), solution.gradient)


def arranged(evidence: Evidence, covered: FloatArray, others: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` numbers in the domain's order, from numbers of the values that B covers and of the others."""
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
    """Return the maximum likelihood estimate from counts of symbols, exact but for rounding, and its gap.

    The gap bounds the log-likelihood that rounding leaves out, in nats per report:
    max_x (1/n) sum_y n_y Q(y|x)/q_y - 1. With Q(y|x) = f_y + s [y = x] this needs one sum, and the mean of 1 is taken
    out term by term, so that nothing close to 1 is subtracted from anything close to 1.

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
    """Return the likelihood of reports.

    Raises:
        ParameterError: if a method needs more than the tally that there is.
    """
    evidence = start.evidence
    if evidence.membership is None:
        raise needs_reports(method)
    clear = None if evidence.covered.all() else start.tally.clear_total
    return RowLikelihood(evidence.membership, evidence.contrast, clear, evidence.rows_of or LocalRows)


def _first_values(start: LinearStart) -> tuple[FloatArray, FloatArray]:
    """Return the linear estimate as a point of the likelihood, with inverse variances."""
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
    # Of what the rows say with all other frequencies known, what all reports have in common takes away.
    information = np.maximum(solution.information[:size] * evidence.information_left, 1e-300)
    # Never worse than the linear estimate, which is one of its competitors.
    variance = arranged(evidence, 1 / (start.n * information), np.zeros(len(evidence.covered) - size))
    return np.where(evidence.covered, np.minimum(variance, linear), linear)


def with_errors(
    start: LinearStart, frequencies: FloatArray, variance: FloatArray, method: str, gap: float, passes: float | None
) -> Estimate:
    """Return an estimate with the errors of a projection that moves values in proportion to their variances."""
    positive = frequencies > 1e-3 * np.sqrt(variance)
    share = np.where(positive, variance, 0.0) / max(float(variance[positive].sum()), 1e-300)
    errors = partial(projected_deviation, start, frequencies, frequencies, variance, share)
    return start.estimate(frequencies, errors, method, gap=gap, passes=passes)


def one_stepped(
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

    @cache
    def step() -> OneStep | None:
        return one_step(ratios, gradient, start.n)

    return replace(
        estimate,
        errors=lambda: _step_errors(start, step(), estimate),
        intervals=lambda: _step_uncertainty(start, step()),
    )


def _step_errors(start: LinearStart, step: OneStep | None, estimate: Estimate) -> FloatArray:
    """Return the ``(|X|,)`` standard errors of the one-step estimate; larger ones where all reports agree."""
    closed = estimate.standard_errors
    if step is None:
        return closed
    errors = np.sqrt(step.variances(np.flatnonzero(start.evidence.covered), start.tally))
    return larger_of_few(errors, closed, all_agree(errors, start.n))


def _step_uncertainty(start: LinearStart, step: OneStep | None) -> ValueUncertainty:
    """Return the uncertainty of the one-step estimate, or of the linear estimate without a step.

    Values in clear have the limits of their counts.
    """
    if step is None:
        return replace(
            start.intervals, about="The blocks do not tell all values apart; intervals are those of the tally."
        )
    codes, centre, tally = np.flatnonzero(start.evidence.covered), start.linear.copy(), start.tally
    others, shares = np.flatnonzero(~start.evidence.covered), tally.clear / max(tally.clear_total, 1)
    of_step = StepWorths(step, codes, others, shares, start.evidence.truth)
    worths = step.worths(len(codes))
    laws = [law for law in start.decoder.count_laws(tally, start.linear) if not np.isin(law[0][:1], codes).any()]
    centre[codes] = worths.estimates

    def behind() -> ReportLaw:
        of_tally = start.decoder.report_law(tally, start.linear)
        estimates = arranged(start.evidence, worths.estimates, step.estimates[len(codes) :].sum() * shares)
        p = arranged(start.evidence, step.point[: len(codes)], step.point[len(codes) :].sum() * shares)
        return replace(of_tally, worths=of_step, p=p, n=step.n, linear=estimates, binomial=None, single=False)

    return ValueUncertainty(centre, (*laws, (codes, worths)), behind=behind)


MLE = Method("mle", maximum_likelihood, (TOLERANCE, PROGRESS), needs_reports=True)
