"""Maximum likelihood for singleton blocks (RR and uRR), in closed form.

A report is one symbol y, sent with probability q_y = f_y + s p_y, where f_y > 0 is the probability
with which a sensitive symbol arises as noise, f_y = 0 for a value told in clear, and s is the
probability of the truth. The log-likelihood sum(n_y ln q_y) is greatest, subject to p >= 0 and
sum(p) = 1, at

    q_y = max(f_y, n_y / mu),  mu = N_A / (s + f_A),  A = {y: n_y > mu f_y},

with N_A and f_A the sums over A. Taking a symbol out of A that does not belong there raises mu, so
A shrinks to the right set.
"""

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import FloatArray
from discreet.errors import DataError, ParameterError


def singleton_maximum(counts: ArrayLike, floors: ArrayLike, *, slope: float) -> FloatArray:
    """Estimate frequencies from counts of symbols by maximum likelihood, exactly.

    Args:
        counts: The number of reports of each symbol, shape ``(w,)``; at least one report.
        floors: f, the probability of each symbol as noise, shape ``(w,)``; 0 where the value is
            told in clear only. ``sum(floors) + slope`` is 1.
        slope: s, the probability of telling the truth; in (0, 1].

    Returns:
        The maximum likelihood estimate, shape ``(w,)``: nonnegative, with sum 1.

    Raises:
        DataError, ParameterError: If shapes, signs or values are not as above.
    """
    n, f = _checked(counts, floors, slope)
    members = np.flatnonzero(n > 0)
    while True:
        inside, noise = n[members], f[members]
        scale = float(np.add.reduce(inside)) / (slope + float(np.add.reduce(noise)))
        excess = inside - scale * noise
        keep = excess > 0
        if keep.all():
            break
        members = members[keep]
    p = np.zeros_like(n)
    p[members] = excess / float(np.add.reduce(excess))
    return p


def singleton_gap(counts: ArrayLike, floors: ArrayLike, slope: float, frequencies: ArrayLike) -> float:
    """Return the gap of frequencies: an upper bound on the log-likelihood that they lack to the maximum.

    The bound is max_x (1/n) sum_y n_y Q(y|x)/q_y - 1. With Q(y|x) = f_y + s [y = x] it needs one
    sum, and the reports' mean of 1 taken out term by term, so that nothing close to 1 is
    subtracted from anything close to 1.

    Args:
        counts: As for :func:`singleton_maximum`.
        floors: As for :func:`singleton_maximum`.
        slope: As for :func:`singleton_maximum`.
        frequencies: The distribution to judge, shape ``(w,)``.

    Returns:
        An upper bound of the missing log-likelihood, in nats per report; 0 at the optimum,
        infinite where a reported symbol is held to be impossible.
    """
    n, f = _checked(counts, floors, slope)
    p = np.asarray(frequencies, dtype=np.float64)
    if p.shape != n.shape:
        raise DataError(f"frequencies must have shape {n.shape}, got {p.shape}.")
    q = f + slope * p
    seen = n > 0
    if not (q[seen] > 0).all():
        return float("inf")
    share = n / float(np.add.reduce(n))
    ratio = np.divide(share, q, out=np.zeros_like(q), where=seen)
    # sum(share) = 1 gives sum(f ratio) - 1 = -slope sum(p ratio); the gap is slope (max ratio -
    # mean ratio under p).
    best = float(ratio.max())
    return slope * float(np.add.reduce(p * (best - ratio)))


def _checked(counts: ArrayLike, floors: ArrayLike, slope: float) -> tuple[FloatArray, FloatArray]:
    n = np.asarray(counts, dtype=np.float64)
    f = np.asarray(floors, dtype=np.float64)
    if n.ndim != 1 or n.shape != f.shape:
        message = "counts and floors must be one-dimensional and of one shape"
        raise DataError(f"{message}, got {n.shape} and {f.shape}.")
    if not ((n >= 0) & (n < np.inf)).all() or not (n > 0).any():
        raise DataError("counts must be finite and >= 0, and at least one must be > 0.")
    if not ((f >= 0) & (f <= 1)).all():
        raise ParameterError("floors must be probabilities, between 0 and 1.")
    if not 0 < slope <= 1:
        raise ParameterError(f"slope must be in (0, 1], got slope={slope}.")
    return n, f
