"""The method ``em``: the estimate that the papers call "EM" (iterative Bayesian update).

Each iteration replaces every frequency by the expected share of its reports,

    p_x <- p_x (sum(u) + c (B'u)_x)  for sensitive x,  p_x <- p_x sum(u) + F_x / n  otherwise,

with u = m / (n (1 + c B p)). The likelihood never falls, but it rises ever more slowly, so *the stopping rule is part
of the estimator*. An estimate that stops early is nearer to its start than the maximum likelihood estimate is. With
much noise, it is often nearer to the truth too. A frequency that is zero at the start stays zero, unless the value is
reported in clear.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.estimators.likelihood import RowLikelihood
from discreet.estimators.linear import PROGRESS, SIGNIFICANCE, LinearStart, Method, Progress
from discreet.estimators.mle import arranged, likelihood_of, one_stepped, with_errors
from discreet.estimators.threshold import thresholded
from discreet.results.estimate import Estimate

EM_CHANGE = 3e-4
"""Largest sum of absolute changes in one iteration at which the paper's procedure stops."""
# Share that every value gets if no value with a share can cause some report.
_LITTLE = 1e-3


def early_stopped(start: LinearStart, *, significance: float = 0.05, progress: Progress | None = None) -> Estimate:
    """Return the paper's EM estimate, which starts at emp+thr and stops early [ULDP, section 4].

    It is not the maximum of the likelihood: it stops if an iteration changes little. With much noise this makes it
    smoother and often nearer to the truth.

    Args:
        start: the reports and their linear estimate; a tally suffices if blocks are single values.
        significance: significance of the thresholds at the start.
        progress: a function that is called with the number of iterations and the present gap.
    """
    evidence = start.evidence
    first, _ = thresholded(start, significance, uniform=True)
    if not evidence.covered.any():
        return with_errors(start, start.linear, start.safe_variance, "em", 0.0, None)
    likelihood = likelihood_of(start, "em")
    first = first / first.sum()
    membership = likelihood.membership
    if not np.isfinite(likelihood.contrast) and membership.is_here and not (membership.dot(first) > 0).all():
        # No value with a share can cause some of the reports.
        first = (first + _LITTLE) / (first + _LITTLE).sum()
    clear_counts = start.tally.clear if likelihood.clear is not None else np.zeros(0)
    point = np.concatenate([first[evidence.covered], first[~evidence.covered]])
    result = expectation_maximization(likelihood, point, clear_counts, change=EM_CHANGE, progress=progress)
    size = membership.size
    frequencies = arranged(evidence, result.frequencies[:size], result.frequencies[size:])
    estimate = with_errors(start, frequencies, start.safe_variance, "em", result.gap, result.iterations)
    return one_stepped(start, estimate, (result.point[:size], float(result.point[size:].sum())), result.gradient)


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """The frequencies that expectation maximisation reached, with the gap and the number of iterations.

    Attributes:
        frequencies: ``(v + N,)`` frequencies of the sensitive values, then of the others.
        gap: an upper bound on the distance of the log-likelihood from its maximum, in nats per report, one iteration
            before these frequencies; these frequencies are at least as likely.
        iterations: the number of iterations, each a pass over the reports.
        point: ``(k,)`` the frequencies of the sensitive values one iteration before, and the sum of the others if it is
            above 0.
        gradient: ``(k,)`` the mean over the reports of their likelihood ratios at this point.
    """

    frequencies: FloatArray
    gap: float
    iterations: int
    point: FloatArray
    gradient: FloatArray


def expectation_maximization(
    likelihood: RowLikelihood,
    start: FloatArray,
    clear_counts: AnyArray,
    *,
    change: float = EM_CHANGE,
    most_iterations: int = 10_000,
    progress: Progress | None = None,
) -> Reconstruction:
    """Return frequencies by expectation maximisation, which stops at an iteration that hardly changes the frequencies.

    Args:
        likelihood: the likelihood of the reports.
        start: ``(v + N,)`` a distribution, sensitive values first.
        clear_counts: ``(N,)`` F, the reports of each value that is not sensitive; their sum is ``likelihood.clear``.
        change: stop when the frequencies change by no more than this in one iteration (sum of absolute changes).
        most_iterations: stop after this many iterations in any case; at least 1.
        progress: a function that is called with the number of iterations and the gap before the last one.
    """
    size, after, counts = likelihood.membership.size, start, clear_counts.astype(np.float64)
    rows, reports = likelihood.rows_of(likelihood), likelihood.reports
    for iterations in range(1, most_iterations + 1):
        point = after
        weights = rows.evaluate(point[:size], keep=False)
        everywhere, before = weights.everywhere / (reports * likelihood.contrast), point[size:]
        gradient, clear = weights.inside / reports + everywhere, before * everywhere + counts / reports
        ratios = np.divide(clear, before, out=np.zeros_like(clear), where=before > 0)
        largest = max(float(gradient.max()), float(ratios.max(initial=0.0)))
        gap = float("inf") if ((before == 0) & (clear > 0)).any() else max(largest - 1.0, 0.0)
        after = np.concatenate([point[:size] * gradient, clear])
        # Rounding would otherwise drift over thousands of iterations.
        after /= np.add.reduce(after)
        if progress is not None:
            progress(iterations, gap)
        if float(np.add.reduce(np.abs(after - point))) <= change:
            break
    rest = float(np.add.reduce(point[size:]))
    if rest:
        of_rest = everywhere + float(np.add.reduce(counts)) / (reports * rest)
        gradient = np.append(gradient, of_rest)
    return Reconstruction(after, gap, iterations, np.append(point[:size], [rest] if rest else []), gradient)


EM = Method("em", early_stopped, (SIGNIFICANCE, PROGRESS), needs_reports=True)
