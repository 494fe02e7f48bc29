"""Maximum likelihood and the paper's EM, for whatever mechanism made the reports."""

from collections.abc import Callable

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import real_number, shown
from discreet.core.estimate import Estimate
from discreet.errors import ParameterError
from discreet.estimators.closed_form import singleton_gap, singleton_maximum
from discreet.estimators.dense import dense_ascent
from discreet.estimators.evidence import Evidence
from discreet.estimators.expectation import expectation_maximization as reconstruct
from discreet.estimators.likelihood import BlockLikelihood
from discreet.estimators.maximum import Solution, Start, maximize
from discreet.estimators.methods import checked_significance, make_estimate, thresholded
from discreet.estimators.spread import projected_deviation
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.law import BlockMechanism

# Where the paper's procedure stops: the sum of absolute changes in one iteration.
EM_CHANGE = 3e-4
# By default at most this much log-likelihood is missing: per report, and over all reports together, where a tenth of a
# nat is little beside the half nat per value that the noise costs.
_MISSING_PER_REPORT = 1e-4
_MISSING = 0.1

Progress = Callable[[float, float], None]


def maximum_likelihood(
    evidence: Evidence, *, tolerance: float | None = None, progress: Progress | None = None
) -> Estimate:
    """Maximise the likelihood over the simplex, with a certificate of how little is missing.

    Wins where the noise is small against the frequencies (larger epsilon or n); where it is large,
    ``threshold`` and ``em``, which stop early, are often nearer to the truth.

    Args:
        evidence: the reports; the tally is enough where blocks are single values.
        tolerance: how much log-likelihood may be missing, in nats per report; at least 1e-12. None for a tenth of a nat
            over all reports together, and at most 1e-4 per report (an explicit channel: 1e-4).
        progress: called with the passes done and the present gap.
    """
    _check_progress(progress)
    missing = _checked_tolerance(evidence, tolerance)
    mechanism = evidence.mechanism
    if isinstance(mechanism, Channel):
        frequencies, gap, passes = dense_ascent(
            mechanism, evidence, _even_start(evidence), tolerance=missing, progress=progress
        )
        return _with_errors(evidence, frequencies, evidence.safe_variance, "mle", gap, passes)
    if mechanism.domain.sensitive_count == 0:
        return _with_errors(evidence, evidence.linear, evidence.safe_variance, "mle", 0.0, None)
    if evidence.has_one_block_per_value:
        return _of_singletons(evidence, mechanism)
    return _of_blocks(evidence, mechanism, missing, progress)


def _checked_tolerance(evidence: Evidence, tolerance: object) -> float:
    if tolerance is None:
        explicit = isinstance(evidence.mechanism, Channel)
        return _MISSING_PER_REPORT if explicit else max(min(_MISSING_PER_REPORT, _MISSING / evidence.n), 1e-12)
    number = real_number(tolerance)
    if not 1e-12 <= number < np.inf:
        raise ParameterError(f"tolerance must be a finite number of at least 1e-12, got tolerance={shown(tolerance)}.")
    return number


def _check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise ParameterError(f"progress must be called with the passes and the gap, got {type(progress).__name__}.")


def _even_start(evidence: Evidence) -> FloatArray:
    size = evidence.mechanism.domain.size
    return np.full(size, 1 / size)


def _of_singletons(evidence: Evidence, mechanism: BlockMechanism) -> Estimate:
    tally, moments, domain = evidence.tally, mechanism.moments, mechanism.domain
    counts = np.concatenate([tally.support, tally.clear])
    noise = moments.noisy * moments.inclusion * np.ones(domain.sensitive_count)
    floors = np.concatenate([noise, np.zeros(domain.clear_count)])
    found = singleton_maximum(counts, floors, slope=moments.truth)
    gap = singleton_gap(counts, floors, moments.truth, found)
    frequencies = mechanism.arrange(found[: domain.sensitive_count], found[domain.sensitive_count :])
    return _with_errors(evidence, frequencies, evidence.safe_variance, "mle", gap, None)


def _of_blocks(evidence: Evidence, mechanism: BlockMechanism, tolerance: float, progress: Progress | None) -> Estimate:
    likelihood = _likelihood(evidence, mechanism, "mle")
    solution = maximize(likelihood, _start(evidence, mechanism), tolerance=tolerance, progress=progress)
    frequencies = mechanism.arrange(solution.frequencies, _shared(evidence, mechanism, solution.rest))
    variance = _information_variance(evidence, mechanism, solution)
    return _with_errors(evidence, frequencies, variance, "mle", solution.gap, solution.passes)


def _likelihood(evidence: Evidence, mechanism: BlockMechanism, method: str) -> BlockLikelihood:
    clear = evidence.tally.clear_total if mechanism.domain.clear_count else None
    largest, own = mechanism.contrast, mechanism.contrasts
    shares = own / largest if isinstance(own, np.ndarray) else None
    return BlockLikelihood(evidence.membership(method), largest, clear, shares, evidence.rows_of)


def _start(evidence: Evidence, mechanism: BlockMechanism) -> Start:
    sensitive = mechanism.domain.sensitive
    values, precision = evidence.linear[sensitive], 1 / evidence.safe_variance[sensitive]
    if mechanism.domain.clear_count:
        rest = float(evidence.linear[~sensitive].sum())
        spread = max(rest * (1 / mechanism.moments.truth - rest), 1 / evidence.n) / evidence.n
        values, precision = np.append(values, rest), np.append(precision, 1 / spread)
    return Start(values, precision)


def _shared(evidence: Evidence, mechanism: BlockMechanism, mass: float) -> FloatArray:
    """Share a mass among the values that may go in clear, in proportion to how often each one did."""
    counts, total = evidence.tally.clear, evidence.tally.clear_total
    return mass * counts / total if total else np.zeros(mechanism.domain.clear_count)


def _information_variance(evidence: Evidence, mechanism: BlockMechanism, solution: Solution) -> FloatArray:
    size = mechanism.domain.sensitive_count
    # Of what the blocks say with all other frequencies known, a pool that all reports share takes away.
    information = np.maximum(solution.information[:size] * mechanism.moments.pool_bias.left(size), 1e-300)
    # Never worse than the linear estimate, which is one of its competitors.
    clear = np.zeros(mechanism.domain.clear_count)
    variance = mechanism.arrange(1 / (evidence.n * information), clear)
    linear = evidence.safe_variance
    return np.where(mechanism.domain.sensitive, np.minimum(variance, linear), linear)


def _with_errors(
    evidence: Evidence, frequencies: FloatArray, variance: FloatArray, method: str, gap: float, passes: float | None
) -> Estimate:
    kept = frequencies > 1e-3 * np.sqrt(variance)
    share = np.where(kept, variance, 0.0) / max(float(variance[kept].sum()), 1e-300)
    covariance = evidence.sum_covariance(frequencies, variance)
    errors = projected_deviation(frequencies, variance, covariance, kept, share)
    return make_estimate(evidence, frequencies, errors, method, gap=gap, passes=passes)


def expectation_maximization(
    evidence: Evidence, *, significance: float = 0.05, progress: Progress | None = None
) -> Estimate:
    """Run the paper's EM reconstruction from emp+thr, with an early stop [ULDP, section 4].

    Not the maximum of the likelihood: it stops when an iteration changes little, and in noisy regimes that makes it
    smoother and often nearer to the truth.

    Args:
        evidence: the reports; the tally is enough where blocks are single values.
        significance: of the thresholds that it starts from.
        progress: called with the iterations done and the present gap.
    """
    _check_progress(progress)
    mechanism = evidence.mechanism
    start, _ = thresholded(evidence, checked_significance(significance), uniform=True)
    start = start / start.sum()
    if isinstance(mechanism, Channel):
        frequencies, gap, iterations = dense_ascent(mechanism, evidence, start, change=EM_CHANGE, progress=progress)
        return _with_errors(evidence, frequencies, evidence.safe_variance, "em", gap, iterations)
    if mechanism.domain.sensitive_count == 0:
        return _with_errors(evidence, evidence.linear, evidence.safe_variance, "em", 0.0, None)
    sensitive = mechanism.domain.sensitive
    found = reconstruct(
        _likelihood(evidence, mechanism, "em"),
        np.concatenate([start[sensitive], start[~sensitive]]),
        clear_counts=evidence.tally.clear if mechanism.domain.clear_count else None,
        change=EM_CHANGE,
        progress=progress,
    )
    frequencies = mechanism.arrange(found.frequencies, found.clear_frequencies)
    return _with_errors(evidence, frequencies, evidence.safe_variance, "em", found.gap, found.iterations)
