"""The certified maximum of the likelihood of blocks, for any block law.

Each step needs one pass over the reports (a product with the membership matrix and one with its transpose, the cost of
one EM iteration). It is the best step of a quadratic model on the simplex, followed by a line search that needs no
pass, because the rows' likelihoods are linear in the step. Every step increases the likelihood. The model's curvature
is a diagonal A, corrected by the latest secant pairs (a step and the change of the gradient along it) in the direct
BFGS form [Byrd, Nocedal, Schnabel 1994, Theorem 2.3],

    H = A - W' K^-1 W,  W = [S A; Y],  K = [[S A S', L], [L', -D]].

The rows of S and Y are the steps and the decreases of the gradient; L and D are the strictly lower triangle and the
diagonal of S Y'. The diagonal A is the curvature of blocks whose members are independent,

    a = s2 psi (1 - psi),  s2 = (1/n) sum(m z^2),  psi = (1/n) B'(m z^2) / s2,

(psi (k - psi) if the entries of a column of B are k instead of 1). It is computed again if the rows' likelihoods have
changed by more than a few percent. Passes are in single precision if this is faster: they compute *changes*, whose
rounding errors decrease with the steps. A new computation in double precision certifies the result.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.likelihood import RowLikelihood, Rows, RowSums
from discreet.estimators.linear import Progress
from discreet.estimators.simplex import projection

# A line search stops if the slope is this share of the slope at the start of the line.
_FLAT = 0.1
_MOST_TRIALS = 60
# Largest factor from one trial length to the next.
_GROWTH = 10.0


def line_search(rows: Rows, slope: float, longest: float, clear: int, clear_ratio: float) -> tuple[float, float]:
    """Return a step length at which the slope of the log-likelihood nearly vanishes, and the rows' curvature.

    Args:
        rows: the rows, whose direction is set.
        slope: the slope at the start of the line, summed over reports.
        longest: the largest length.
        clear: M, the number of reports in clear.
        clear_ratio: the step of the rest, over the rest.
    """
    low, high, length = 0.0, np.inf, min(1.0, longest)
    for _ in range(_MOST_TRIALS):
        here, rows_bend = rows.slope(length)
        relative = clear_ratio / (1.0 + length * clear_ratio)
        here, bend = here + clear * relative, rows_bend + clear * relative * relative
        if abs(here) <= _FLAT * slope or (here > 0 and length >= longest):
            break
        low, high = (length, high) if here > 0 else (low, length)
        newton = length + here / bend if bend > 0 else np.inf
        if not low < newton < high:
            # Newton's method leaves the bracket only if the curvature changes fast.
            newton = (low + high) / 2
        length = min(newton, _GROWTH * length, longest)
    return length, rows_bend


def longest_length(point: FloatArray, step: FloatArray, face: "Face") -> float:
    """Return the largest length at which a step stays feasible; at least 1."""
    down = step < 0
    room = (point[down] - face.floor[down]) / -step[down]
    # The model's step itself is feasible, even if rounding makes it seem infeasible.
    return max(1.0, float(room.min(initial=np.inf)))


_MOST_PAIRS = 10
_INNER_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """The feasible points: the simplex with lower bounds of the coordinates.

    Attributes:
        floor: The lower bounds of the coordinates, shape ``(length,)``.
    """

    floor: FloatArray

    def project(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the nearest feasible point in the metric ``weights``, shape ``(length,)``."""
        room = 1.0 - float(np.add.reduce(self.floor))
        return projection(values - self.floor, weights, total=max(room, 0.0))[0] + self.floor


@dataclass(frozen=True, eq=False)
class Curvature:
    """An approximation of minus the Hessian: a diagonal and the latest secant pairs.

    Attributes:
        diagonal: ``(length,)`` positive numbers.
        pairs: steps, with the decrease of the gradient along each.
    """

    diagonal: FloatArray
    pairs: Sequence[tuple[FloatArray, FloatArray]] = ()

    def times(self, step: FloatArray) -> FloatArray:
        """Return the product of the curvature and a step, shape ``(length,)``."""
        product = self.diagonal * step
        if not self.pairs:
            return product
        wide, block = self._composed
        # Not @: BLAS may split a long product differently for another number of threads.
        short = block @ np.einsum("ij,j->i", wide, step)
        product -= np.einsum("i,ij->j", short, wide)
        return product

    @cached_property
    def _composed(self) -> tuple[FloatArray, FloatArray]:
        steps, losses = (np.array(each) for each in zip(*self.pairs, strict=True))
        scaled = steps * self.diagonal
        mixed = np.einsum("ij,kj->ik", steps, losses)
        lower = np.tril(mixed, -1)
        block = np.block(
            [
                [np.einsum("ij,kj->ik", steps, scaled), lower],
                [lower.T, -np.diag(np.diag(mixed))],
            ]
        )
        # With each pair scaled to length one, the cut-off of the pseudo-inverse is the same for old and new pairs.
        unit = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(block)), 1e-300))
        wide = np.vstack([scaled, losses]) * unit[:, None]
        return wide, np.asarray(np.linalg.pinv(block * np.outer(unit, unit), rcond=1e-12), np.float64)


def best_step(point: FloatArray, slope: FloatArray, curvature: Curvature, face: Face) -> FloatArray:
    """Return the step d that nearly maximises slope . d - d . H d / 2, with point + d feasible.

    Spectral projected gradient [Birgin, Martinez, Raydan 2000] in the metric of the diagonal,
    whose first iterate is the optimum of the diagonal model.

    Args:
        point: The point of the model, shape ``(length,)``.
        slope: The gradient there, up to a constant, shape ``(length,)``.
        curvature: The model's curvature.
        face: The feasible points.

    Returns:
        The step, shape ``(length,)``; zero if there is nothing to gain.
    """
    metric = curvature.diagonal
    step = np.zeros_like(point)
    residual, pace, first = slope, 1.0, 0.0
    for _ in range(_INNER_STEPS):
        target = face.project(point + step + pace * residual / metric, metric)
        change = target - point - step
        gain = inner(change, residual)
        first = first or gain
        if gain <= 1e-6 * first or gain <= 0:
            break
        bent = curvature.times(change)
        cost = inner(change, bent)
        length = min(1.0, gain / cost) if cost > 0 else 1.0
        step = step + length * change
        residual = residual - length * bent
        pace = min(max(inner(change, metric * change) / cost, 0.05), 20.0) if cost > 0 else 1.0
    # The largest coordinate has the largest rounding error. A tiny step that leaves the simplex by this error would
    # not increase the likelihood.
    step[np.argmax(point)] -= np.add.reduce(step)
    return step


def inner(a: FloatArray, b: FloatArray) -> float:
    """Return the sum of a * b in a fixed order; BLAS may use another order for another number of threads."""
    return float(np.einsum("i,i->", a, b))


# Below this many entries of B, single precision saves nothing that could be noticed.
_SINGLE_ENTRIES = 1 << 22
# Nor for at most this number of values: their blocks may be counted instead, and the estimate must not depend on that.
_SINGLE_SIZE = 16
# Squares of z must fit into single precision sums.
_SINGLE_CONTRAST = 1e15
# The diagonal is outdated if the rows' likelihoods have changed by this relative amount (summed root mean squares).
_STALE = 0.05
# At zero frequencies the curvature of their blocks is not visible. So the first point is mixed with a little of the
# uniform distribution, less if the contrast is small and the curvature is low.
_MIXED = 0.05
_MIXED_CONTRAST = 10.0
# In single precision, a gap without improvement in this number of steps will not improve.
_PATIENCE = 4
# In double precision the gap may rise and fall for a while, although every step increases the likelihood.
_DESPAIR = 100
# A value that is in all blocks has no curvature, but its step must stay finite.
_LEAST_MIXED = 1e-2
# point . gradient is 1 except for rounding; a larger difference shows that rows and point no longer agree.
_DRIFT = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A maximum likelihood estimate with a certified bound on its distance from the maximum.

    Attributes:
        frequencies: Frequencies of the sensitive values, shape ``(v,)``.
        rest: The total frequency of all values that are not sensitive; 0 without such values.
        gap: An upper bound on the distance of the log-likelihood from its maximum, in nats per report, computed in
            double precision.
        passes: The number of passes over the reports, of one product and one transposed product each; halves occur.
        information: Minus the diagonal of the Hessian per report on the simplex, approximately:
            shape ``(v,)``, or ``(v + 1,)`` with the rest last.
        gradient: The mean over the reports of their likelihood ratios, in double precision: shape
            ``(v,)``, or ``(v + 1,)`` with the rest last if any report is in clear.
    """

    frequencies: FloatArray
    rest: float
    gap: float
    passes: float
    information: FloatArray
    gradient: FloatArray


def maximize(
    likelihood: RowLikelihood,
    start: FloatArray,
    precision: FloatArray | None = None,
    *,
    tolerance: float = 1e-4,
    most_passes: float = 1000,
    progress: Progress | None = None,
) -> Solution:
    """Return the point that maximises the likelihood of blocks and values in clear.

    Args:
        likelihood: The likelihood of the reports.
        start: ``(v,)``, or ``(v + 1,)`` with the rest last if there is one: the linear estimate, which is projected
            onto the simplex.
        precision: inverse variances of the start, above 0; None if all are the same.
        tolerance: Stop at this gap, in nats per report; > 0. A gap of 1e-4 leaves the estimate
            within a thousandth (total variation) of the optimum in the cases that were measured.
        most_passes: The largest number of passes; the last point is certified and returned.
        progress: Called with passes and gap after each step.

    Returns:
        The estimate, with the gap that was reached.
    """
    ascent = _Ascent(likelihood, start, np.ones(len(start)) if precision is None else precision)
    while True:
        if progress is not None:
            progress(ascent.rows.passes, ascent.gap)
        finished = ascent.rows.passes >= most_passes or ascent.hopeless
        if ascent.gap <= tolerance or finished or ascent.stalled:
            if not ascent.certified:
                ascent.certify()
                continue
            if ascent.gap <= tolerance or finished:
                return ascent.solution()
        ascent.step()


class _Ascent:
    """The state of the search for the maximum: a point, the likelihood's rows and gradient there, and a curvature."""

    def __init__(self, likelihood: RowLikelihood, start: FloatArray, precision: FloatArray) -> None:
        self._likelihood = likelihood
        self._clear = likelihood.clear or 0
        self._size = likelihood.membership.size
        self._reports = likelihood.reports
        self.rows = likelihood.rows_of(likelihood)
        # Without reports in clear, a rest above 0 only decreases the likelihood, so it is left out. With reports in
        # clear, the rest is at least their share at the optimum (its gradient is 1), and ln(rest) is finite.
        floor = np.zeros(self._size + (self._clear > 0))
        if self._clear > 0:
            floor[-1] = self._clear / self._reports
        self._face = Face(floor)
        self._point = self._first_point(start, precision)
        self._pairs = deque[tuple[FloatArray, FloatArray]](maxlen=_MOST_PAIRS)
        self._bends: FloatArray | None = None
        self._moved = 0.0
        self.certify()
        membership = likelihood.membership
        large = self.rows.has_single and membership.rows * membership.size >= _SINGLE_ENTRIES
        self.rows.single = large and membership.size > _SINGLE_SIZE and likelihood.contrast < _SINGLE_CONTRAST

    def _first_point(self, values: FloatArray, precision: FloatArray) -> FloatArray:
        length = self._face.floor.size
        nearest = self._face.project(values[:length], precision[:length])
        even = self._face.project(np.zeros(length), np.ones(length))
        mixed = _MIXED * min(1.0, self._likelihood.contrast / _MIXED_CONTRAST)
        return nearest + mixed * (even - nearest)

    @property
    def gap(self) -> float:
        """The gap: an upper bound on the missing log-likelihood, in nats per report."""
        return max(float(self._gradient.max()) - 1.0, 0.0)

    @property
    def stalled(self) -> bool:
        """True if steps in single precision no longer reduce the gap to the maximum."""
        return self.rows.single and self._idle >= _PATIENCE

    @property
    def hopeless(self) -> bool:
        """True if steps in double precision can no longer reduce the gap to the maximum."""
        return self.exhausted or self._idle >= _DESPAIR

    def certify(self) -> None:
        """Compute rows and gradient at the point in double precision, and continue in double precision."""
        self.rows.single = False
        self._point /= np.add.reduce(self._point)
        self._gradient = self._fresh_gradient(self.rows.evaluate(self._point[: self._size]))
        self.certified, self.exhausted = True, False
        self._least, self._idle = self.gap, 0

    def _fresh_gradient(self, weights: RowSums) -> FloatArray:
        gradient = self._from_blocks(weights)
        if self._clear > 0:
            gradient[-1] += self._clear / (self._reports * self._point[-1])
        return gradient

    def _from_blocks(self, weights: RowSums) -> FloatArray:
        """Return the part of the gradient that comes from blocks, given sums over rows or changes of these sums."""
        everywhere = weights.everywhere / (self._reports * self._likelihood.contrast)
        gradient = np.full(self._point.size, everywhere)
        gradient[: self._size] += weights.inside / self._reports
        return gradient

    def step(self) -> None:
        """Take one step: one pass over the rows, or one and a half if the diagonal of the curvature is outdated."""
        if self._bends is None or self._moved > _STALE:
            self._bends = self._diagonal()
        if self._clear > 0:
            # The curvature of the rest alone, plus the curvature of the sensitive values, which decrease as it grows.
            self._bends[-1] = self._clear / (self._reports * self._point[-1] ** 2) + self._rest_bend
        slope = self._gradient - 1.0
        step = best_step(self._point, slope, Curvature(self._bends, tuple(self._pairs)), self._face)
        if not inner(self._gradient, step) > 0:
            self._pairs.clear()
            step = best_step(self._point, slope, Curvature(self._bends), self._face)
        self._follow(step, self._bends)
        if self.gap < self._least:
            self._least, self._idle = self.gap, 0
        else:
            self._idle += 1

    def _diagonal(self) -> FloatArray:
        self._moved = 0.0
        weights, unit = self.rows.curvature()
        mean = weights.everywhere
        share = weights.inside / mean if mean > 0 else np.zeros(self._size)
        np.clip(share, 0.0, 1.0, out=share)
        mean *= unit / self._reports
        self._rest_bend = mean * float(np.median(share)) ** 2
        diagonal = mean * share * np.maximum(1.0 - share, _LEAST_MIXED)
        bent = diagonal[diagonal > 0]
        diagonal[diagonal <= 0] = bent.min() if bent.size else 1.0
        return np.append(diagonal, 1.0) if self._clear > 0 else diagonal

    def _follow(self, step: FloatArray, bends: FloatArray) -> None:
        slope = inner(self._gradient - 1.0, step)
        if not slope > 0:
            self.exhausted, self.certified = True, not self.rows.single
            return
        self.rows.set_direction(step[: self._size])
        ratio = float(step[-1] / self._point[-1]) if self._clear > 0 else 0.0
        longest = longest_length(self._point, step, self._face)
        length, bend = line_search(self.rows, slope * self._reports, longest, self._clear, ratio)
        self._moved += length * float(np.sqrt(bend / max(self._reports - self._clear, 1.0)))
        before = self._gradient
        self._advance(length, step)
        step, loss = length * step, before - self._gradient
        # By concavity the product is positive; if it is not, because of rounding, the pair has no information.
        if inner(step, loss) > 1e-14 * inner(step, bends * step):
            self._pairs.append((step, loss))

    def _advance(self, length: float, step: FloatArray) -> None:
        old, single = self._point, self.rows.single
        self._point = np.maximum(old + length * step, self._face.floor)
        weights = self.rows.advance(length, whole=not single)
        if single:
            self._gradient = self._gradient + self._from_blocks(weights)
            if self._clear > 0:
                self._gradient[-1] += (self._clear / self._reports) * (1 / self._point[-1] - 1 / old[-1])
        else:
            self._gradient = self._fresh_gradient(weights)
        drift = abs(inner(self._point, self._gradient) - 1.0)
        drift += abs(float(np.add.reduce(self._point)) - 1.0)
        self.certified = not single and drift < _DRIFT

    def solution(self) -> Solution:
        """Return the estimate at the present point, with its gap."""
        point, information = self._point, self._diagonal() if self._bends is None else self._bends
        return Solution(
            frequencies=point[: self._size].copy(),
            rest=float(point[-1]) if self._clear > 0 else 0.0,
            gap=self.gap,
            passes=self.rows.passes,
            information=information,
            gradient=self._gradient,
        )
