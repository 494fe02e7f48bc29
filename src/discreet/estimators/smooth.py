"""The method ``smooth``: penalised maximum likelihood, with a certificate, for values in order.

Neighbouring numbers usually have similar frequencies. So a penalty on roughness is subtracted from the likelihood,

    F(p) = (1/n) sum_i m_i ln(a_i + B_i p) - L sum_j (sqrt(p_(j+1)) - sqrt(p_j))^2,

summed over neighbours: Good and Gaskins' roughness [Biometrika 1971], which is jointly convex, so that F is concave and
its maximum certified. EM with a smoothing step (EMS, as Square Wave is decoded by) is about the same estimate [Nychka,
JASA 1990], but needs a stopping rule. With L = smoothing (d/256)^2, d the number of values, the same smoothing suits
one density for any number of bins.

If values are heaped, a smoothing of 1 is too much. If the caller sets none, the smoothing is reduced by powers of 4 as
long as the reports become far likelier. Their probability is computed by Laplace's approximation [MacKay, Neural
Computation 1992] under the prior density L^(r/2) e^(-n L roughness) of roots of frequencies, with r the number of pairs
of neighbours. Heaps change it by tens to hundreds of nats. Without heaps, neighbouring powers differ by less than ten.

The maximum lies inside the simplex and is found by Newton's method. To first order it is linear in the reports, which
gives its covariance. The squared shift by the penalty, also to first order, is added to the variances.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_choice, checked_positive
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.estimators.linear import PROGRESS, TOLERANCE, LinearStart, Method, MethodOption, Progress, missing_of
from discreet.estimators.maximum import maximize
from discreet.estimators.mle import likelihood_of
from discreet.estimators.ratio_limits import RatioLimits, RatioUncertainty
from discreet.results.estimate import Estimate
from discreet.results.uncertainty import ValueUncertainty
from discreet.theory.binomial import LEAST_REPORTS

MOST_VALUES = 1024
"""Largest number of values; the time grows with its third power."""
_MOST_NUMBERS = 1 << 25
_REFERENCE_BINS = 256
_MOST_STEPS = 200
_LESS, _MOST_TIMES = 1 / 4, 6
# Nats by which reports must be likelier under less smoothing.
_FAR_LIKELIER = 10.0
# Share of the length at which a frequency would be 0 that a step may have.
_INSIDE = 0.9
_MOST_HALVINGS = 40
_ROUNDING, _RIDGE = 1e-14, 1e-13
# The gap may grow while F increases; after this number of steps without improvement it will not improve.
_PATIENCE = 30
# Cells below leave the system, and stay at this share at least: the next step may raise them again.
_VANISHED, _LEAST_SHARE = 1e-12, 1e-13
_SCATTER = "Standard errors of single values only measure how much the method varies. Intervals come from the reports."
_BY_RATIO = "Limits of sums, means and quantiles follow from the likelihood ratio."
# Bins up to which likelihood ratios give the limits by default, and at most.
_FEW_BINS, _MOST_BINS = 64, 128
# By noise, the likelihood ratio of two estimates of d values exceeds d by at most a few times sqrt(2 d).
_NOISE = 3.0


def smooth(
    start: LinearStart,
    *,
    smoothing: float | None = None,
    limits: str | None = None,
    tolerance: float | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Return the estimate that maximises the likelihood minus the roughness, with a certificate of the gap.

    Args:
        start: the reports of values in order: numbers, integers, or labels as they are listed.
        smoothing: weight of the roughness, above 0: 1 is about as in EMS, 1/256 suits heaped values; None for 1, or for
            less if the reports are then far likelier.
        limits: of sums, means and quantiles: ``"linear"``, of the unbiased estimates, or ``"likelihood"``, by ratios
            of likelihoods, which are shorter; None for ratios, up to 64 values whose reports are windows or outputs.
        tolerance: the largest accepted gap, in nats per report; as for ``mle``.
        progress: a function that is called with the number of steps and the present gap.

    Raises:
        ParameterError: if the values have no order, or there are more than 1,024 of them, or more than 128 with limits
            by the likelihood.

    Warns:
        UserWarning: if the reports are likelier under ``mle`` by more than noise explains.
    """
    missing = missing_of(start.n, tolerance)
    if not start.evidence.covered.any():
        return start.estimate(start.linear, lambda: start.linear_errors, "smooth", gap=0.0)
    problem = Smoother.of(start, (smoothing or 1.0) * (start.domain.size / _REFERENCE_BINS) ** 2)
    solution = problem.maximum(missing, progress)
    if smoothing is None:
        problem, solution = _less_smoothing(
            problem, solution, start.n, lambda other, at: other.maximum(missing, progress, at)
        )
    _warn_of_spikes(start, problem, solution.point)
    frequencies = problem.spread(solution.point, start)

    def errors() -> FloatArray:
        return _scatter(start, problem, solution.point) if start.n > 1 else start.linear_errors

    estimate = start.estimate(frequencies, errors, "smooth", gap=solution.gap, passes=float(solution.steps))
    return replace(estimate, intervals=_intervals(start, limits))


def _intervals(start: LinearStart, limits: str | None) -> ValueUncertainty:
    """Return the limits that the reports determine; sums and quantiles may have limits by the likelihood ratio.

    Raises:
        ParameterError: if the likelihood has too many values, or reports that are not listed.
    """
    size, intervals = start.domain.size, replace(start.intervals, about=_SCATTER)
    listed = start.decoder.listed_outputs(start.tally) if size <= _MOST_BINS and limits != "linear" else None
    if limits == "likelihood" and listed is None:
        raise ParameterError("limits.no-likelihood", argument="limits", size=size, most=_MOST_BINS)
    by_ratio = limits == "likelihood" or size <= _FEW_BINS
    if listed is None or not by_ratio or start.n < LEAST_REPORTS:
        return intervals
    return RatioUncertainty.by_ratio(replace(intervals, about=f"{_SCATTER} {_BY_RATIO}"), RatioLimits(*listed))


def _less_smoothing(
    problem: "Smoother", solution: "_Solution", n: int, maximum: "Callable[[Smoother, FloatArray], _Solution]"
) -> tuple["Smoother", "_Solution"]:
    """Return the problem and its solution, or both with less smoothing if the reports are much likelier then."""
    likelihood, needed = problem.evidence(solution.point, n), _FAR_LIKELIER
    for _ in range(_MOST_TIMES):
        less = replace(problem, strength=problem.strength * _LESS)
        point = maximum(less, solution.point)
        if (reached := less.evidence(point.point, n)) <= likelihood + needed:
            break
        problem, solution, likelihood, needed = less, point, reached, 0.0
    return problem, solution


@dataclass(frozen=True, slots=True, eq=False)
class _Solution:
    """A maximum: the point, the gap in nats per report, and the number of steps."""

    point: FloatArray
    gap: float
    steps: int


@dataclass(frozen=True, eq=False)
class Smoother:
    """The penalised likelihood as a function of the frequencies of single values.

    Attributes:
        rows: ``(m, k)`` the likelihoods of distinct reports, each row up to a factor.
        counts: ``(m,)`` shares of these reports among all reports.
        first: ``(l,)`` indices of values that have a neighbour above them.
        strength: L.
        size: v, the number of covered values.
    """

    rows: FloatArray
    counts: FloatArray
    first: IntArray
    strength: float
    size: int

    @classmethod
    def of(cls, start: LinearStart, strength: float) -> "Smoother":
        """Return the likelihood of reports with a penalty on roughness."""
        likelihood, codes = likelihood_of(start, "smooth"), np.flatnonzero(start.evidence.covered)
        _check_order(start.domain)
        blocks, size = likelihood.membership, len(codes)
        if size > MOST_VALUES or blocks.rows * size > _MOST_NUMBERS or not blocks.is_here:
            raise ParameterError(
                "method.smooth-too-large",
                argument="method",
                size=size,
                rows=blocks.rows,
                most=MOST_VALUES,
                numbers=_MOST_NUMBERS,
            )
        rows = np.column_stack([np.asarray(blocks.dot(unit), np.float64) for unit in np.eye(size)])
        rows += 1 / likelihood.contrast
        counts = np.ones(len(rows)) if blocks.multiplicity is None else blocks.multiplicity
        if likelihood.clear:
            # Values that are not covered act as one value, under which every block is noise.
            rows = np.pad(rows, ((0, 1), (0, 1)), constant_values=1 / likelihood.contrast)
            rows[-1] = np.append(np.zeros(size), 1.0)
            counts = np.append(counts, likelihood.clear)
        came = counts > 0
        return cls(rows[came], counts[came] / start.n, np.flatnonzero(np.diff(codes) == 1), strength, size)

    def log_likelihood(self, point: FloatArray) -> float:
        """Return the log-likelihood per report of a distribution, up to a constant."""
        return float(self.counts @ np.log(self.rows @ point))

    def value(self, point: FloatArray) -> float:
        """Return F, the log-likelihood per report minus the penalty on roughness."""
        root = np.sqrt(point)
        steps = root[self.first + 1] - root[self.first]
        return self.log_likelihood(point) - self.strength * float(steps @ steps)

    def pull(self, point: FloatArray) -> FloatArray:
        """Return the gradient of the penalty on the roughness of a distribution."""
        ratio = np.sqrt(point[self.first + 1] / point[self.first])
        pull = np.zeros(len(point))
        np.add.at(pull, self.first, 1 - ratio)
        np.add.at(pull, self.first + 1, 1 - 1 / ratio)
        return self.strength * pull

    def gradient(self, point: FloatArray) -> FloatArray:
        """Return the gradient of F, the penalised log-likelihood per report."""
        gradient: FloatArray = (self.counts / (self.rows @ point)) @ self.rows - self.pull(point)
        return gradient

    def bend(self, point: FloatArray) -> FloatArray:
        """Return minus the Hessian of F, which is positive definite if reports or penalty determine all values."""
        relative = self.rows / (self.rows @ point)[:, None]
        bend = (relative.T * self.counts) @ relative
        low, high = self.first, self.first + 1
        both = np.sqrt(point[low] * point[high])
        np.add.at(bend, (low, low), self.strength * both / (2 * point[low] ** 2))
        np.add.at(bend, (high, high), self.strength * both / (2 * point[high] ** 2))
        bend[low, high] -= self.strength / (2 * both)
        bend[high, low] -= self.strength / (2 * both)
        return bend

    def _scaled(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return `bend` times the roots of the frequencies on both sides, with a small ridge, and these roots."""
        root = np.sqrt(point)
        scaled = self.bend(point) * np.outer(root, root)
        scaled[np.diag_indices_from(scaled)] += _RIDGE * (np.diagonal(scaled) + 1)
        return scaled, root

    def evidence(self, point: FloatArray, n: int) -> float:
        """Return the log-probability of n reports under the prior, up to a constant, given the maximum."""
        # Roots of frequencies lie on a sphere, in whose tangent space the curvature is 4 R H R, with R = diag(roots).
        scaled, root = self._scaled(point)
        even = abs(float(root @ np.linalg.solve(scaled, root)))
        volume = np.linalg.slogdet(scaled)[1] + np.log(max(even, np.finfo(float).tiny))
        return float(n * self.value(point) + (len(self.first) * np.log(self.strength) - volume) / 2)

    def solved(self, point: FloatArray, sides: FloatArray, active: BoolArray | None = None) -> FloatArray:
        """Return the Newton steps for gradients, each with the sum 0: ``(k, r)`` from ``(k, r)``.

        Args:
            point: the frequencies.
            sides: the gradients.
            active: ``(k,)`` the cells that move; None for those that have not vanished.
        """
        active = point > _VANISHED if active is None else active
        scaled, root = (part[active] for part in self._scaled(point))
        lines = np.column_stack([sides[active], np.ones(len(root))]) * root[:, None]
        solved = np.linalg.solve(scaled[:, active], lines) * root[:, None]
        even, steps = solved[:, -1:], np.zeros(sides.shape)
        steps[active] = solved[:, :-1] - even * (solved[:, :-1].sum(axis=0) / even.sum())
        return steps

    def maximum(
        self, tolerance: float, progress: Callable[[float, float], None] | None, point: FloatArray | None = None
    ) -> _Solution:
        """Return the maximum, to a gap of ``tolerance`` nats per report, or the best that rounding permits.

        The search starts at ``point``, inside the simplex; None for equal shares.
        """
        if point is None:
            rest = self.rows.shape[1] - self.size
            in_clear = float(self.counts[-1]) if rest else 0.0
            # The rest at its least possible share, so that every value has a share.
            point = np.append(np.full(self.size, (1 - in_clear) / self.size), np.full(rest, in_clear))
            point = (point + 1e-3 / len(point)) / (1 + 1e-3)
        best = _Solution(point, np.inf, 0)
        for steps in range(_MOST_STEPS):
            gradient = self.gradient(point)
            gap = max(float(gradient.max() - gradient @ point), 0.0)
            if progress is not None:
                progress(float(steps), gap)
            if gap < best.gap:
                best = _Solution(point, gap, steps)
            if gap <= tolerance or steps > best.steps + _PATIENCE:
                break
            point = self._next_point(point, gradient)
        return best

    def _next_point(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        """Return the point after a step that does not decrease the objective, except for rounding."""
        active = (point > _VANISHED) | (gradient > gradient @ point)
        step = self.solved(point, gradient[:, None], active)[:, 0]
        longest = float((-step / point).max())
        length, here = min(1.0, _INSIDE / longest) if longest > 0 else 1.0, self.value(point)
        for _ in range(_MOST_HALVINGS):
            if self.value(point + length * step) >= here - _ROUNDING * (1 + abs(here)):
                break
            length /= 2
        after = np.maximum(point + length * step, _LEAST_SHARE)
        return np.asarray(after / after.sum(), np.float64)

    def spread(self, point: FloatArray, start: LinearStart) -> FloatArray:
        """Return ``(|X|,)`` frequencies in the domain's order; values in clear share their total as their counts do."""
        covered, counts = start.evidence.covered, start.tally.clear
        whole = np.zeros(len(covered))
        whole[covered] = point[: self.size]
        if len(point) > self.size:
            whole[~covered] = point[-1] * counts / counts.sum()
        return whole


def _check_order(domain: Domain) -> None:
    if not domain.space.is_ordered:
        raise ParameterError("method.smooth-no-order", argument="method")


def _scatter(start: LinearStart, problem: Smoother, point: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` standard errors to first order, from the estimate's scatter and its shift by the penalty."""
    relative = problem.rows / (problem.rows @ point)[:, None]
    influence = problem.solved(point, relative.T).T
    influence -= problem.counts @ influence
    variances, covered = problem.counts @ influence**2 / (start.n - 1), start.evidence.covered
    whole = problem.spread(problem.solved(point, problem.pull(point)[:, None])[:, 0], start) ** 2
    whole[covered] += variances[: problem.size]
    if len(point) > problem.size:
        total = int(start.tally.clear.sum())
        shares, apart = start.tally.clear / total, point[-1] ** 2 / total
        whole[~covered] += variances[-1] * shares**2 + apart * shares * (1 - shares)
    return np.sqrt(whole)


def _warn_of_spikes(start: LinearStart, problem: Smoother, point: FloatArray) -> None:
    """Warn if the maximum likelihood estimate fits better than noise explains.

    Warns:
        UserWarning: if the likelihood ratio is above the limit.
    """
    allowed = _NOISE * sqrt(2 * problem.size)
    likelihood, rest = likelihood_of(start, "mle"), problem.rows.shape[1] - problem.size
    first = np.append(point[: problem.size], np.zeros(likelihood.length - problem.size))
    if rest:
        first[-1] = point[-1]
    # A smaller gap cannot change the decision to warn.
    sharp = maximize(likelihood, first, tolerance=0.1 * allowed / start.n, most_passes=300)
    best = np.append(sharp.frequencies, np.full(rest, sharp.rest))
    ratio = 2 * start.n * (problem.log_likelihood(best) - problem.log_likelihood(point))
    if ratio > allowed:
        warnings.warn(
            f"the likelihood ratio of mle and smooth is {ratio:.0f}, above {allowed:.0f}. Smoothing hides more than "
            "noise explains, such as heaped values. Choose a smaller smoothing (1/256), or method mle.",
            UserWarning,
            stacklevel=4,
        )


def _smoothing(name: str, smoothing: object) -> float | None:
    return None if smoothing is None else checked_positive(name, smoothing)


SMOOTHING = MethodOption("smoothing", "weight of the penalty for roughness. [up to 1]", _smoothing)
LIMITS = MethodOption(
    "limits",
    "intervals of sums, means and quantiles. [likelihood, for up to 64 values]",
    lambda name, limits: None if limits is None else checked_choice(name, limits, ("linear", "likelihood")),
    ("linear", "likelihood"),
)
SMOOTH = Method("smooth", smooth, (SMOOTHING, LIMITS, TOLERANCE, PROGRESS), needs_reports=True)
