"""Maximum likelihood for any block law, with a certificate.

One step per pass over the reports (a product with the membership matrix and one with its
transpose, the cost of one EM iteration): the best step of a quadratic model on the simplex
(:mod:`discreet.estimators.quadratic`), then a line search that needs no pass, because the rows'
likelihoods are linear in the step. Every step climbs. The diagonal of the model is the curvature
of blocks whose members are independent,

    a = s2 psi (1 - psi),  s2 = (1/n) sum(m z^2),  psi = (1/n) B'(m z^2) / s2,

(psi (k - psi) where the entries of a column of B are k instead of 1), taken anew when the rows'
likelihoods have moved by more than a few percent. Passes run in single precision where that pays:
they carry *changes*, whose rounding fades with the steps. The result is certified by a new
computation in double precision.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import DataError, ParameterError
from discreet.estimators.likelihood import RowLikelihood, RowSums
from discreet.estimators.line_search import Line, longest_length
from discreet.estimators.quadratic import Curvature, Face, best_step, inner

Progress = Callable[[float, float], None]

# Below this many entries of B, single precision saves nothing that could be noticed.
_SINGLE_ENTRIES = 1 << 22
# Nor does it for this few values: their blocks may be counted instead, and the estimate must not depend on that.
_SINGLE_SIZE = 16
# Squares of z must fit into single precision sums.
_SINGLE_CONTRAST = 1e15
# The diagonal is stale once the rows' likelihoods have moved by this much, relatively (root mean
# square, added up).
_STALE = 0.05
# Zero frequencies hide how much their blocks bend the likelihood: start with a little of
# everything, less where the contrast is small and there is little to bend.
_SPREAD = 0.05
_SPREAD_CONTRAST = 10.0
# A gap that has not improved in this many steps will not by more of the same.
_PATIENCE = 4
# In double precision the gap may rise and fall for a while although every step climbs.
_DESPAIR = 100
# A value that is in all blocks has no curvature of its own, but its step must stay finite.
_LEAST_SPREAD = 1e-2
# point . gradient is 1 but for rounding; more says that rows and point have drifted apart.
_DRIFT = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A maximum likelihood estimate with its certificate.

    Attributes:
        frequencies: Of the sensitive values, shape ``(v,)``.
        rest: The frequency of all values that are not sensitive together; 0 if there are none.
        gap: An upper bound on the log-likelihood that is missing to the maximum, in nats per report;
            computed in double precision.
        passes: Passes over the reports, of one product and one transposed product each; halves
            occur.
        information: Minus the diagonal of the Hessian per report on the simplex, approximately:
            shape ``(v,)``, or ``(v + 1,)`` with the rest last.
        gradient: The mean over the reports of their likelihood ratios, in double precision: shape
            ``(v,)``, or ``(v + 1,)`` with the rest last if any report is in clear.
        converged: Whether the gap is within the tolerance.
    """

    frequencies: FloatArray
    rest: float
    gap: float
    passes: float
    information: FloatArray
    gradient: FloatArray
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The start of the ascent: a linear estimate, not necessarily a distribution.

    Attributes:
        values: Shape ``(v,)``, or ``(v + 1,)`` with the rest last if there is one.
        precision: Inverse variances, > 0, same shape; None if all are the same.
    """

    values: FloatArray
    precision: FloatArray | None = None


def maximize(
    likelihood: RowLikelihood,
    start: Start,
    *,
    tolerance: float = 1e-4,
    most_passes: float = 1000,
    progress: Progress | None = None,
) -> Solution:
    """Maximise the likelihood of blocks and values in clear.

    Args:
        likelihood: The likelihood of the reports.
        start: The linear estimate; it is projected onto the simplex.
        tolerance: Stop at this gap, in nats per report; > 0. A gap of 1e-4 leaves the estimate
            within a thousandth (total variation) of the optimum in the cases that were measured.
        most_passes: The largest number of passes; the last point is certified and returned, with
            ``converged`` false.
        progress: Called with passes and gap after each step.

    Returns:
        The estimate, with the gap that was reached.

    Raises:
        ParameterError: If the tolerance is not positive.
        DataError: If the start is not as described.
    """
    if not tolerance > 0:
        raise ParameterError(f"tolerance must be > 0, got tolerance={tolerance}.")
    ascent = _Ascent(likelihood, start)
    while True:
        if progress is not None:
            progress(ascent.rows.passes, ascent.gap)
        finished = ascent.rows.passes >= most_passes or ascent.hopeless
        if ascent.gap <= tolerance or finished or ascent.stalled:
            if not ascent.certified:
                ascent.certify()
                continue
            if ascent.gap <= tolerance or finished:
                return ascent.solution(tolerance)
        ascent.step()


class _Ascent:
    """The state of the ascent: a point, its rows, its gradient, the model's curvature."""

    def __init__(self, likelihood: RowLikelihood, start: Start) -> None:
        self._likelihood = likelihood
        self._clear = likelihood.clear or 0
        self._size = likelihood.membership.size
        self._reports = likelihood.reports
        self.rows = likelihood.rows_of(likelihood)
        self._face = self._find_face()
        self._point = self._first_point(start)
        self._curvature: Curvature | None = None
        self._moved = 0.0
        self.certify()
        self.rows.single = self._single_pays()

    def _find_face(self) -> Face:
        # Without reports in clear a rest only loses likelihood: it is left out. With them it has
        # at least their share at the optimum (its gradient is 1), which keeps ln(rest) away from
        # its pole.
        floor = np.zeros(self._size + (self._clear > 0))
        if self._clear > 0:
            floor[-1] = self._clear / self._reports
        return Face(floor)

    def _first_point(self, start: Start) -> FloatArray:
        values, precision = _checked(start, self._likelihood.length)
        length = self._face.floor.size
        nearest = self._face.project(values[:length], precision[:length])
        even = self._face.project(np.zeros(length), np.ones(length))
        spread = _SPREAD * min(1.0, self._likelihood.contrast / _SPREAD_CONTRAST)
        return nearest + spread * (even - nearest)

    def _single_pays(self) -> bool:
        membership = self._likelihood.membership
        large = self.rows.has_single and membership.rows * membership.size >= _SINGLE_ENTRIES
        return large and membership.size > _SINGLE_SIZE and self._likelihood.contrast < _SINGLE_CONTRAST

    @property
    def gap(self) -> float:
        """The gap: an upper bound on the missing log-likelihood, in nats per report."""
        return max(float(self._gradient.max()) - 1.0, 0.0)

    @property
    def stalled(self) -> bool:
        """True if the gap no longer improves in single precision."""
        return self.rows.single and self._idle >= _PATIENCE

    @property
    def hopeless(self) -> bool:
        """True if the gap can no longer improve in double precision."""
        return self.exhausted or self._idle >= _DESPAIR

    def certify(self) -> None:
        """Compute rows and gradient from the point, in double precision, and stay there."""
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
        """Return the part of the gradient from blocks, given their weights (or the change from changes of weights)."""
        everywhere = weights.everywhere / (self._reports * self._likelihood.contrast)
        gradient = np.full(self._point.size, everywhere)
        gradient[: self._size] += weights.inside / self._reports
        return gradient

    def step(self) -> None:
        """Climb once: one pass, and half a pass more if the diagonal of the model is stale."""
        if self._curvature is None:
            self._curvature = Curvature(self._diagonal())
        elif self._moved > _STALE:
            self._curvature.replace(self._diagonal())
        if self._clear > 0:
            # The rest bends by itself, and what it gains the sensitive values lose together.
            bend = self._clear / (self._reports * self._point[-1] ** 2)
            self._curvature.replace_last(bend + self._rest_bend)
        step = best_step(self._point, self._gradient - 1.0, self._curvature, self._face)
        if not inner(self._gradient, step) > 0:
            self._curvature.forget()
            step = best_step(self._point, self._gradient - 1.0, self._curvature, self._face)
        self._follow(step, self._curvature)
        self._watch()

    def _diagonal(self) -> FloatArray:
        self._moved = 0.0
        weights, unit = self.rows.curvature()
        mean = weights.everywhere
        share = weights.inside / mean if mean > 0 else np.zeros(self._size)
        entry = 1.0 if self._likelihood.shares is None else self._likelihood.shares
        np.clip(share, 0.0, entry, out=share)
        mean *= unit / self._reports
        self._rest_bend = mean * float(np.median(share)) ** 2
        diagonal = mean * share * np.maximum(entry - share, _LEAST_SPREAD * entry)
        bent = diagonal[diagonal > 0]
        diagonal[diagonal <= 0] = bent.min() if bent.size else 1.0
        return np.append(diagonal, 1.0) if self._clear > 0 else diagonal

    def _follow(self, step: FloatArray, curvature: Curvature) -> None:
        slope = inner(self._gradient - 1.0, step)
        if not slope > 0:
            self.exhausted, self.certified = True, not self.rows.single
            return
        self.rows.set_direction(step[: self._size])
        line = Line(self.rows)
        if self._clear > 0:
            line.clear, line.clear_ratio = self._clear, float(step[-1] / self._point[-1])
        length = line.search(slope * self._reports, longest_length(self._point, step, self._face))
        self._moved += length * float(np.sqrt(line.rows_bend / max(self._reports - self._clear, 1.0)))
        before = self._gradient
        self._advance(length, step)
        curvature.learn(length * step, before - self._gradient)

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

    def _watch(self) -> None:
        if self.gap < self._least:
            self._least, self._idle = self.gap, 0
        else:
            self._idle += 1

    def solution(self, tolerance: float) -> Solution:
        """The estimate at the present point."""
        point, gap = self._point, self.gap
        diagonal = self._curvature.diagonal if self._curvature is not None else self._diagonal()
        return Solution(
            frequencies=point[: self._size].copy(),
            rest=float(point[-1]) if self._clear > 0 else 0.0,
            gap=gap,
            passes=self.rows.passes,
            information=diagonal,
            gradient=self._gradient,
            converged=gap <= tolerance,
        )


def _checked(start: Start, length: int) -> tuple[FloatArray, FloatArray]:
    values = np.asarray(start.values, dtype=np.float64)
    precision = np.ones(length) if start.precision is None else np.asarray(start.precision, float)
    if values.shape != (length,) or precision.shape != (length,):
        message = f"start must have shape ({length},), values and precision alike"
        raise DataError(f"{message}, got {values.shape} and {precision.shape}.")
    if not np.isfinite(values).all() or not (precision > 0).all():
        raise DataError("start must have finite values and precisions > 0.")
    return values, precision
