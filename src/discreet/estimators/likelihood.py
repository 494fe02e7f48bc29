"""The likelihood of reports, its closed forms, and expectation maximisation.

The likelihood of blocks and values in clear: one concave function for all mechanisms.

A report is a block A of sensitive values, of likelihood 1 + c p(A) up to a constant, or a value in
clear, of likelihood p_x. All values that are not sensitive act as one, the *rest*, since inside
them the estimate is in proportion to the counts. So the unknown is a *point*: the v sensitive
frequencies and, where anything is not sensitive, the rest. Per report, in nats,

    F(point) = (1/n) (sum_i m_i ln(1 + c t_i) + M ln(rest)),  t = B p,

where row i of B is a block reported m_i times, and M reports are in clear. With z = c / (1 + c t)
and u = m z / (n c), the gradient of the homogeneous form (1 replaced by the sum of the point) is

    g = sum(u) + c B'u  on sensitive values,  g = sum(u) + M / (n rest)  on the rest;

point . g = 1 always, and max(g) - 1 bounds what F still misses.

Maximum likelihood for singleton blocks (RR and uRR), in closed form.

A report is one symbol y, sent with probability q_y = f_y + s p_y, where f_y > 0 is the probability
with which a sensitive symbol arises as noise, f_y = 0 for a value told in clear, and s is the
probability of the truth. The log-likelihood sum(n_y ln q_y) is greatest, subject to p >= 0 and
sum(p) = 1, at

    q_y = max(f_y, n_y / mu),  mu = N_A / (s + f_A),  A = {y: n_y > mu f_y},

with N_A and f_A the sums over A. Taking a symbol out of A that does not belong there raises mu, so
A shrinks to the right set.

Expectation maximisation: the estimate that the papers call "EM" (iterative Bayesian update).

Each iteration replaces every frequency by the expected share of its reports,

    p_x <- p_x (sum(u) + c (B'u)_x)  for sensitive x,  p_x <- p_x sum(u) + F_x / n  otherwise,

with u = m / (n (1 + c B p)). The likelihood never falls, but it rises ever more slowly, so *when
to stop is part of the estimator*: stopped early, it stays nearer to its start than the maximum
likelihood estimate does, which in noisy regimes is often nearer to the truth as well. A frequency
that is zero at the start stays zero, unless it is of a value reported in clear.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import AnyArray, FloatArray
from discreet.errors import DataError, ParameterError
from discreet.kernels.parallel import forget
from discreet.mechanisms.evidence import Membership

NewRows: TypeAlias = Callable[[int, Any], AnyArray]
"""A function that returns a new ``(rows,)`` array of a type, not filled, in memory or in files."""

# Rows that are worked on together: so many that threads have enough to do, so few that what is needed of them at one
# time is small beside what there is; a multiple of what any law lays out together. Which rows those are must not
# depend on anything but their number, or sums would.
_STRETCH = 1 << 20
# Three vectors of a piece of it stay in the second-level cache.
_PIECE = 8192
# In place of 0 where a = 0: its square is still a number.
_TINY = 1e-150


@dataclass(frozen=True, slots=True, eq=False)
class RowLikelihood:
    """The likelihood of reports: the membership of their blocks, the contrast, and the number in clear.

    Attributes:
        membership: The reported blocks.
        contrast: c = 1/a = e^epsilon - 1, from the epsilon that the sampler realises; infinite for the outputs of an
            explicit channel, whose probabilities are the rows of B.
        clear: M, the number of reports in clear; None if every value is sensitive.
        rows_of: A function from this likelihood to its `Rows`, which sum over the blocks where they are.
    """

    membership: Membership
    contrast: float
    clear: int | None = None
    rows_of: "MakeRows" = field(default_factory=lambda: LocalRows)

    def __post_init__(self) -> None:
        if not self.contrast > 0:
            raise ParameterError(f"contrast must be a number > 0, got contrast={self.contrast}.")
        if self.clear is not None and self.clear < 0:
            raise ParameterError(f"clear must be >= 0 or None, got clear={self.clear}.")
        if self.membership.size < 1:
            raise ParameterError("membership must have at least one sensitive value, got none.")
        if not self.reports > 0:
            raise DataError("There must be at least one report, got none.")

    @property
    def reports(self) -> float:
        """n, the number of reports."""
        multiplicity = self.membership.multiplicity
        blocks = self.membership.rows if multiplicity is None else np.add.reduce(multiplicity)
        return float(blocks) + (self.clear or 0)

    @property
    def length(self) -> int:
        """The length of a point: v, plus 1 if there is a rest."""
        return self.membership.size + (self.clear is not None)


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """Sums over all rows of weights w, one for each row.

    Attributes:
        everywhere: sum(w).
        inside: ``(v,)`` B'w: for every value, the sum over the blocks that contain it.
    """

    everywhere: float
    inside: FloatArray


class Rows(ABC):
    """The rows of a likelihood, z = c / (1 + c t) for each, in this process or elsewhere, and sums over them.

    Attributes:
        single: Whether products run in single precision.
        has_single: Whether they may.
    """

    single: bool
    has_single: bool

    @property
    @abstractmethod
    def passes(self) -> float:
        """The products so far, in passes of one product and one transposed product."""

    @abstractmethod
    def evaluate(self, members: FloatArray, *, keep: bool = True) -> RowSums:
        """Go to the point ``members``, shape ``(v,)``, and sum m z.

        Args:
            members: p.
            keep: Whether anything is to follow from there; else the rows are forgotten.
        """

    @abstractmethod
    def curvature(self) -> tuple[RowSums, float]:
        """Sum m z^2 divided by its greatest possible value per report, or about that, and return that value too."""

    @abstractmethod
    def set_direction(self, step: FloatArray) -> None:
        """Take a direction: ``step``, shape ``(v,)``."""

    @abstractmethod
    def slope(self, length: float) -> tuple[float, float]:
        """Sum the first derivative of the log-likelihood at a step of this length, and minus the second."""

    @abstractmethod
    def advance(self, length: float, *, whole: bool) -> RowSums:
        """Move z by a step of this length, and sum the changes of m z; or, if ``whole``, m z itself."""


MakeRows: TypeAlias = Callable[[RowLikelihood], Rows]


class LocalRows(Rows):
    """The rows of a likelihood in this process, w = 1/c + t for each, and sums over them; products are counted.

    The inverse of w is z, and w is linear: along a direction d it changes by B d per unit of step. Sums are added in a
    fixed order, so that they do not depend on threads. Rows are processed in stretches: no vectors as long as all rows
    exist but w and B d, and ``new_rows`` makes these two.

    Args:
        likelihood: The likelihood of the rows; its membership must be a matrix.
        new_rows: A function of a number of rows and a type that returns a new vector.

    Raises:
        ParameterError: If the membership is no matrix.
    """

    has_single = True

    def __init__(self, likelihood: RowLikelihood, new_rows: NewRows = np.empty) -> None:
        if not likelihood.membership.is_here:
            raise ParameterError("blocks that are elsewhere must be summed there.")
        self._membership = likelihood.membership
        self._multiplicity, self._new_rows = likelihood.membership.multiplicity, new_rows
        # w where t = 0. No row falls below it, whatever rounding says.
        self._least = max(1.0 / likelihood.contrast, _TINY)
        self._smallest = np.inf
        self._w: FloatArray | None = None
        self._along: AnyArray | None = None
        self.single = False
        self.count = 0

    @property
    def passes(self) -> float:
        """The products so far, in passes of one product and one transposed product."""
        return self.count / 2

    def evaluate(self, members: FloatArray, *, keep: bool = True) -> RowSums:
        """Go to the point ``members``, shape ``(v,)``, and sum m z.

        Args:
            members: p.
            keep: Whether anything is to follow from there; else the rows are forgotten.
        """
        self.count += 1
        self._smallest = np.inf
        values, stored = self._values(members), self._weights() if keep else None

        def weights(rows: slice, part: Membership) -> FloatArray:
            w: FloatArray = np.asarray(part.dot(values), dtype=np.float64)
            w += self._least
            if stored is not None:
                stored[rows] = w
                self._smallest = min(self._smallest, float(w.min(initial=np.inf)))
            return self._times(np.divide(1.0, w, out=w), rows)

        return self._sums(weights)

    def curvature(self) -> tuple[RowSums, float]:
        """Sum m z^2 divided by its greatest possible value per report, and return that value too.

        The square of a large contrast would not fit into single precision.
        """
        w = self._weights()

        def weights(rows: slice, _part: Membership) -> FloatArray:
            relative = self._smallest / w[rows]
            relative *= relative
            return self._times(relative, rows)

        return self._sums(weights), self._smallest**-2

    def set_direction(self, step: FloatArray) -> None:
        """Take a direction: the products of B with ``step``, shape ``(v,)``."""
        self.count += 1
        values = self._values(step)
        for rows, part in self._stretches():
            product = part.dot(values)
            if self._along is None or self._along.dtype != product.dtype:
                self._along = self._new_rows(self._membership.rows, product.dtype)
            self._along[rows] = product

    def slope(self, length: float) -> tuple[float, float]:
        """Sum the first derivative of the log-likelihood at a step of this length, and minus the second."""
        first = second = 0.0
        for rows, _ in self._stretches():
            for piece in _pieces(rows):
                along, _, after = self._moved(piece, length)
                ratios = np.divide(along, after, out=after)
                once = self._times(ratios, piece)
                first += float(np.add.reduce(once))
                second += float(np.einsum("i,i->", once, ratios))
        return first, second

    def advance(self, length: float, *, whole: bool) -> RowSums:
        """Move by a step of this length, and sum the changes of m z; or, if ``whole``, m z itself."""
        self._smallest = np.inf

        def weights(rows: slice, _part: Membership) -> FloatArray:
            changes = np.empty(rows.stop - rows.start)
            for piece in _pieces(rows):
                here = changes[piece.start - rows.start : piece.stop - rows.start]
                _, w, after = self._moved(piece, length)
                self._smallest = min(self._smallest, float(after.min()))
                if whole:
                    np.divide(1.0, after, out=here)
                else:
                    np.subtract(w, after, out=here)
                    here /= w
                    here /= after
                w[:] = after
            return self._times(changes, rows)

        return self._sums(weights)

    @property
    def _precision(self) -> type[np.float32] | type[np.float64]:
        return np.float32 if self.single else np.float64

    def _values(self, values: FloatArray) -> AnyArray:
        return np.ascontiguousarray(values, dtype=self._precision)

    def _weights(self) -> FloatArray:
        if self._w is None:
            self._w = self._new_rows(self._membership.rows, np.float64)
        return self._w

    def _moved(self, rows: slice, length: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return B d, w, and w after a step of this length, for some rows."""
        if self._along is None:
            raise ValueError("a direction must be taken before rows move along it.")
        # In double precision, whatever the products ran in.
        along, w = self._along[rows].astype(np.float64, copy=False), self._weights()[rows]
        after = along * length
        after += w
        return along, w, np.maximum(after, self._least, out=after)

    def _times(self, each: FloatArray, rows: slice) -> FloatArray:
        """Return each of these rows times its multiplicity m; the same array where every row counts once."""
        return each if self._multiplicity is None else each * self._multiplicity[rows]

    def _sums(self, weights: Callable[[slice, Membership], FloatArray]) -> RowSums:
        self.count += 1
        everywhere, inside = 0.0, np.zeros(self._membership.size)
        for rows, part in self._stretches():
            weighted = weights(rows, part)
            everywhere += float(np.add.reduce(weighted))
            inside += part.transpose_dot(weighted.astype(self._precision, copy=False))
        return RowSums(everywhere, inside)

    def _stretches(self) -> Iterator[tuple[slice, Membership]]:
        """Yield stretches of rows and their part of B; pages of vectors in files are released after each."""
        for rows, part in self._membership.stretches(_STRETCH):
            yield rows, part
            for vector in (self._w, self._along):
                if vector is not None:
                    forget(vector[rows])


def _pieces(rows: slice) -> Iterator[slice]:
    for start in range(rows.start, rows.stop, _PIECE):
        yield slice(start, min(start + _PIECE, rows.stop))


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
    possible = n > 0
    if not (q[possible] > 0).all():
        return float("inf")
    share = n / float(np.add.reduce(n))
    ratio = np.divide(share, q, out=np.zeros_like(q), where=possible)
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
    before, counts = _checked_change(likelihood, start, clear_counts)
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
        before = point[size:]
        ratios = np.divide(clear, before, out=np.zeros_like(clear), where=before > 0)
        largest = max(float(gradient.max()), float(ratios.max(initial=0.0)))
        if ((before == 0) & (clear > 0)).any():
            largest = float("inf")
        point = np.concatenate([point[:size] * gradient, clear])
        # Rounding would otherwise drift over thousands of iterations.
        point /= np.add.reduce(point)
        yield point, max(largest - 1.0, 0.0), np.append(gradient, of_rest)


def _checked_change(
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
