"""Projection onto the simplex, weighted or not.

The nearest distribution to an estimate, each coordinate counted with its own weight (an inverse
variance, or a curvature):

    q_j = max(0, values_j - lam / weights_j),  with lam such that sum(q) = total.

The excess sum(q) - total is convex, decreasing and piecewise linear in lam, so Newton's method
started below the root climbs to it and stops exactly there, after a number of rounds that grows
only with the logarithm of the range of the data.
"""

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import FloatArray
from discreet.errors import ParameterError

# Rounds grow with the logarithm of the range of the data: a few dozen in practice, about 2,000 if
# the data span all of float64.
_MOST_ROUNDS = 4096
# 1/weight stays finite and a product with it does not overflow.
_LEAST_RELATIVE_WEIGHT = 1e-290


def project_onto_simplex(values: ArrayLike, weights: ArrayLike, *, total: float = 1.0) -> FloatArray:
    """Find the point of the simplex that is nearest to an estimate in a weighted metric.

    Minimises sum_j weights_j (q_j - values_j)^2 over q >= 0 with sum(q) = total.

    Args:
        values: Any finite numbers, shape ``(v,)``, v >= 1.
        weights: Positive weights, shape ``(v,)``; an infinite weight holds its coordinate at
            ``max(0, value)``, as far as these coordinates leave room.
        total: The sum of the result, at least 0.

    Returns:
        The nonnegative minimiser, shape ``(v,)``; its sum is ``total`` to rounding.

    Raises:
        ParameterError: If shapes, signs or values are not as above.
    """
    return projection(values, weights, total=total)[0]


def projection(values: ArrayLike, weights: ArrayLike, *, total: float = 1.0) -> tuple[FloatArray, float]:
    """Return `project_onto_simplex` and lam; arguments and errors as there, but all weights are finite for lam."""
    x = np.asarray(values, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    _check(x, w, total)
    held = np.isinf(w)
    if not held.any():
        q, multiplier = _project(x, w, total)
        return _rescaled(q, total), multiplier
    q = np.where(held, np.maximum(x, 0.0), 0.0)
    room = total - float(np.add.reduce(q))
    free = ~held
    if room < 0 or not free.any():
        q[held] = _project(x[held], np.ones(int(held.sum())), total)[0]
    else:
        q[free] = _project(x[free], w[free], room)[0]
    return _rescaled(q, total), np.nan


def norm_sub(values: ArrayLike, *, total: float = 1.0) -> tuple[FloatArray, float]:
    """Take one number off all values and drop what falls below 0.

    The number is the one that leaves a sum of ``total``: the unweighted projection, Norm-Sub
    [Wang et al., "Locally Differentially Private Frequency Estimation with Consistency", 2020].
    It is the mean excess of the values above it, found by dropping those below it until none is.

    Args:
        values: Any finite numbers, shape ``(v,)``.
        total: The sum of the result.

    Returns:
        Nonnegative values, shape ``(v,)``; and the number.
    """
    x = np.asarray(values, dtype=np.float64)
    _check(x, np.broadcast_to(1.0, x.shape), total)
    above, taken = x, -np.inf
    while True:
        excess = (float(np.add.reduce(above)) - total) / len(above)
        # Rounding may not lower it: what was dropped stays so.
        if excess <= taken:
            break
        taken = excess
        # Several times as fast as a mask where half of the values stay.
        kept = np.compress(above > taken, above)
        if len(kept) == len(above) or not len(kept):
            break
        above = kept
    q = x - taken
    np.maximum(q, 0.0, out=q)
    return _rescaled(q, total), taken


def _check(x: FloatArray, w: FloatArray, total: float) -> None:
    if x.ndim != 1 or x.size == 0 or x.shape != w.shape:
        message = "values and weights must be one-dimensional, nonempty and of one shape"
        raise ParameterError(f"{message}, got {x.shape} and {w.shape}.")
    if not np.isfinite(x).all():
        raise ParameterError(f"values must be finite, {np.sum(~np.isfinite(x))} of {x.size} are not.")
    if not (w > 0).all():
        raise ParameterError(f"weights must be > 0, {np.sum(~(w > 0))} of {w.size} are not.")
    if not 0 <= total < np.inf:
        raise ParameterError(f"total must be finite and >= 0, got total={total}.")


def _project(x: FloatArray, w: FloatArray, total: float) -> tuple[FloatArray, float]:
    """Newton's method for the multiplier, from below (all weights finite); returns q and lam."""
    largest = float(w.max())
    relative = np.maximum(w / largest, _LEAST_RELATIVE_WEIGHT)
    inverse = 1.0 / relative
    # Here one coordinate alone reaches the total, so the excess is not negative. Newton's method
    # from the multiplier with every coordinate active would cancel between coordinates of very
    # different weight.
    multiplier = float(np.max(relative * (x - total)))
    q = np.empty_like(x)
    for _ in range(_MOST_ROUNDS):
        np.multiply(inverse, -multiplier, out=q)
        q += x
        np.maximum(q, 0.0, out=q)
        excess = float(np.add.reduce(q)) - total
        # Not @: the threads that BLAS starts for long vectors spin for a while, beside those of the next product.
        slope = float(np.add.reduce(inverse * (q > 0)))
        step = excess / slope if slope > 0 else 0.0
        if multiplier + step == multiplier or excess <= 0:
            break
        multiplier += step
    return q, multiplier * largest


def _rescaled(q: FloatArray, total: float) -> FloatArray:
    mass = float(np.add.reduce(q))
    if mass > 0:
        return q * (total / mass)
    # Everything was lost to rounding (the values dwarf the total): any point of the face is as
    # near.
    return np.full_like(q, total / q.size)
