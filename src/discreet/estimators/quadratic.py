"""A quadratic model of the log-likelihood on the simplex, and its best step.

The model's curvature is a diagonal A, corrected by the latest secant pairs (a step and the change
of the gradient along it) in the direct BFGS form [Byrd, Nocedal, Schnabel 1994, Theorem 2.3],

    H = A - W' K^-1 W,  W = [S A; Y],  K = [[S A S', L], [L', -D]],

S and Y the steps and the gradient's losses, rows; L and D the strictly lower triangle and the
diagonal of S Y'. A step costs no product with the membership matrix, which is what dominates, so
it is worth finding the model's optimum on the simplex well.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.simplex import project_onto_simplex

_MOST_PAIRS = 10
_INNER_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """The points of the simplex that can be optimal.

    Attributes:
        floor: The lower bounds of the coordinates, shape ``(length,)``.
    """

    floor: FloatArray

    def project(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Find the nearest point in the metric ``weights``, shape ``(length,)``."""
        room = 1.0 - float(np.add.reduce(self.floor))
        return project_onto_simplex(values - self.floor, weights, total=max(room, 0.0)) + self.floor


@dataclass(slots=True, eq=False)
class Curvature:
    """Minus the Hessian, approximately: a diagonal and the latest secant pairs.

    Attributes:
        diagonal: Shape ``(length,)``, positive.
    """

    diagonal: FloatArray
    _steps: deque[FloatArray] = field(default_factory=lambda: deque(maxlen=_MOST_PAIRS))
    _losses: deque[FloatArray] = field(default_factory=lambda: deque(maxlen=_MOST_PAIRS))
    _factors: tuple[FloatArray, FloatArray] | None = None

    def learn(self, step: FloatArray, loss: FloatArray) -> None:
        """Remember that the gradient lost ``loss`` along ``step``."""
        # By concavity the product is positive; if rounding says otherwise there is nothing to
        # learn.
        if inner(step, loss) > 1e-14 * inner(step, self.diagonal * step):
            self._steps.append(step)
            self._losses.append(loss)
            self._factors = None

    def forget(self) -> None:
        """Drop the secant pairs."""
        self._steps.clear()
        self._losses.clear()
        self._factors = None

    def replace(self, diagonal: FloatArray) -> None:
        """Take a new diagonal and keep the pairs."""
        self.diagonal = diagonal
        self._factors = None

    def replace_last(self, value: float) -> None:
        """Take a new last entry of the diagonal."""
        self.diagonal[-1] = value
        self._factors = None

    def times(self, step: FloatArray) -> FloatArray:
        """Multiply the curvature by a step, shape ``(length,)``."""
        product = self.diagonal * step
        if not self._steps:
            return product
        wide, block = self._composed()
        # Not @: BLAS may split a long product differently for another number of threads.
        short = block @ np.einsum("ij,j->i", wide, step)
        product -= np.einsum("i,ij->j", short, wide)
        return product

    def _composed(self) -> tuple[FloatArray, FloatArray]:
        if self._factors is not None:
            return self._factors
        steps, losses = np.array(self._steps), np.array(self._losses)
        scaled = steps * self.diagonal
        mixed = np.einsum("ij,kj->ik", steps, losses)
        lower = np.tril(mixed, -1)
        block = np.block(
            [
                [np.einsum("ij,kj->ik", steps, scaled), lower],
                [lower.T, -np.diag(np.diag(mixed))],
            ]
        )
        # Scaling each pair to length one makes the cut-off of the pseudo-inverse mean the same for
        # old and new pairs.
        unit = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(block)), 1e-300))
        wide = np.vstack([scaled, losses]) * unit[:, None]
        short = np.asarray(np.linalg.pinv(block * np.outer(unit, unit), rcond=1e-12), np.float64)
        self._factors = wide, short
        return self._factors


def best_step(point: FloatArray, slope: FloatArray, curvature: Curvature, face: Face) -> FloatArray:
    """Return the best step of the model, approximately: slope . d - d . H d / 2 with point + d on the face.

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
        pace = _bounded(inner(change, metric * change) / cost) if cost > 0 else 1.0
    # The largest coordinate holds the coarsest rounding; off the simplex by it, a tiny step would
    # not climb.
    step[np.argmax(point)] -= np.add.reduce(step)
    return step


def _bounded(pace: float) -> float:
    return min(max(pace, 0.05), 20.0)


def inner(a: FloatArray, b: FloatArray) -> float:
    """Sum a * b in a fixed order: BLAS may use another one for another number of threads."""
    return float(np.einsum("i,i->", a, b))
