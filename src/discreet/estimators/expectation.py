"""Expectation maximisation: the estimate that the papers call "EM" (iterative Bayesian update).

Each iteration replaces every frequency by the expected share of its reports,

    p_x <- p_x (sum(u) + c (B'u)_x)  for sensitive x,  p_x <- p_x sum(u) + F_x / n  otherwise,

with u = m / (n (1 + c B p)). The likelihood never falls, but it rises ever more slowly, so *when
to stop is part of the estimator*: stopped early, it stays nearer to its start than the maximum
likelihood estimate does, which in noisy regimes is often nearer to the truth as well. A frequency
that is zero at the start stays zero, unless it is of a value reported in clear.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.errors import DataError, ParameterError
from discreet.estimators.likelihood import RowLikelihood


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """The result of expectation maximisation.

    Attributes:
        frequencies: Of the sensitive values, shape ``(v,)``.
        clear_frequencies: Of the values that are not sensitive, shape ``(N,)``; empty if there are
            none.
        gap: An upper bound on the log-likelihood that is missing to the maximum, in nats per report,
            at the point one iteration before these frequencies, which are at least as likely.
        iterations: The number of iterations, one pass over the reports each.
        converged: Whether the stopping rule was met.
        point: The sensitive values' frequencies one iteration before, and the sum of the others if
            it is above 0: shape ``(k,)``.
        gradient: The mean over the reports of their likelihood ratios there, shape ``(k,)``.
    """

    frequencies: FloatArray
    clear_frequencies: FloatArray
    gap: float
    iterations: int
    converged: bool
    point: FloatArray
    gradient: FloatArray


def expectation_maximization(
    likelihood: RowLikelihood,
    start: FloatArray,
    *,
    clear_counts: AnyArray | None = None,
    change: float = 3e-4,
    most_iterations: int = 10_000,
    progress: Callable[[float, float], None] | None = None,
) -> Reconstruction:
    """Reconstruct frequencies by expectation maximisation, stopped by the change per iteration.

    Args:
        likelihood: The likelihood of the reports.
        start: A distribution, shape ``(v + N,)``, sensitive values first; the papers take the
            thresholded linear estimate.
        clear_counts: F, the counts of reports of each value that is not sensitive, shape ``(N,)``;
            None if every value is sensitive. The sum is ``likelihood.clear``.
        change: Stop when the frequencies change by no more than this in one iteration
            (sum of absolute changes).
        most_iterations: Stop after this many iterations in any case; at least 1.
        progress: Called with the iterations done and the gap before the last of them.

    Returns:
        The reconstruction.

    Raises:
        ParameterError: If the stopping rule is not usable.
        DataError: If start and counts do not fit together, or the start is not a distribution.
    """
    if not change >= 0 or most_iterations < 1:
        message = "change must be >= 0 and most_iterations >= 1"
        raise ParameterError(f"{message}, got {change} and {most_iterations}.")
    before, counts = _checked(likelihood, start, clear_counts)
    steps = enumerate(_iterate(likelihood, before, counts), start=1)
    for iterations, (after, gap, ratios) in steps:
        if progress is not None:
            progress(iterations, gap)
        moved = float(np.add.reduce(np.abs(after - before)))
        point, before, gradient = before, after, ratios
        if moved <= change or iterations >= most_iterations:
            break
    size = likelihood.membership.size
    rest = float(np.add.reduce(point[size:]))
    point = np.append(point[:size], rest) if rest else point[:size]
    return Reconstruction(before[:size], before[size:], gap, iterations, moved <= change, point, gradient[: len(point)])


def passes_to_gap(
    likelihood: RowLikelihood,
    start: FloatArray,
    *,
    clear_counts: AnyArray | None = None,
    gap: float = 1e-6,
    most_passes: int = 2000,
) -> int | None:
    """Count the passes that expectation maximisation needs to certify a gap.

    Args:
        likelihood: The likelihood of the reports.
        start: As for :func:`expectation_maximization`; a zero may make the gap unreachable.
        clear_counts: As for :func:`expectation_maximization`.
        gap: The gap to reach, in nats per report.
        most_passes: The largest number of passes.

    Returns:
        The passes, of one product and one transposed product each, or None if they were not enough.
    """
    point, counts = _checked(likelihood, start, clear_counts)
    for passes, (_, certified, _) in enumerate(_iterate(likelihood, point, counts), start=1):
        if certified <= gap:
            return passes
        if passes >= most_passes:
            break
    return None


def _iterate(
    likelihood: RowLikelihood, point: FloatArray, counts: FloatArray
) -> Iterator[tuple[FloatArray, float, FloatArray]]:
    """Yield, for ever, the next point, and the gap of the one before it with its gradient, the rest last."""
    rows, size = likelihood.rows_of(likelihood), likelihood.membership.size
    reports = likelihood.reports
    while True:
        weights = rows.evaluate(point[:size], keep=False)
        everywhere = weights.everywhere / (reports * likelihood.contrast)
        gradient = weights.inside / reports + everywhere
        clear = point[size:] * everywhere + counts / reports
        rest = float(np.add.reduce(point[size:]))
        of_rest = everywhere + float(np.add.reduce(counts)) / (reports * rest) if rest else everywhere
        largest = max(float(gradient.max()), _largest(clear, point[size:]))
        point = np.concatenate([point[:size] * gradient, clear])
        # Rounding would otherwise drift over thousands of iterations.
        point /= np.add.reduce(point)
        yield point, max(largest - 1.0, 0.0), np.append(gradient, of_rest)


def _largest(after: FloatArray, before: FloatArray) -> float:
    """The largest gradient, after / before, of the values in clear."""
    if ((before == 0) & (after > 0)).any():
        return float("inf")
    ratios = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
    return float(ratios.max(initial=0.0))


def _checked(
    likelihood: RowLikelihood, start: FloatArray, clear_counts: AnyArray | None
) -> tuple[FloatArray, FloatArray]:
    counts = np.asarray([] if clear_counts is None else clear_counts, dtype=np.float64)
    point = np.array(start, dtype=np.float64)
    length = likelihood.membership.size + counts.size
    if counts.ndim != 1 or point.shape != (length,):
        message = f"start must have shape ({length},), one entry per value"
        raise DataError(f"{message}, got {point.shape}.")
    if float(np.add.reduce(counts)) != (likelihood.clear or 0) or not (counts >= 0).all():
        raise DataError("clear_counts must be >= 0 and sum to the number of reports in clear.")
    if not (point >= 0).all() or not abs(float(np.add.reduce(point)) - 1.0) < 1e-6:
        raise DataError("start must be a distribution: entries >= 0 with sum 1.")
    return point, counts
