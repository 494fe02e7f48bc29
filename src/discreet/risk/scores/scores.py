"""Scores of an attack: genuine scores, and counts of the impostor scores between them.

A *probe* is a trace, report or template of unknown origin that is compared with every candidate. Its *genuine* score is
the score for its own user; all others are impostor scores. A larger score means more similar. Scores are the input of
rates, ranks, DET curves, divergences and information. Arrays from callers are checked, and converted to a common type
and scale.

The distinct genuine scores suffice as thresholds. Impostor scores are counted between them, so that m may be far larger
than memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, read_only
from discreet.core.checks import checked_whole
from discreet.core.columns import unmasked
from discreet.errors import DataError

_LARGEST_INTEGER = 1 << 62
_LARGEST_FLOAT = 2.0**1020


def scaled(*scores: AnyArray) -> list[AnyArray]:
    """Return scores on one scale with finite differences; all of them are divided by 16 if some are very large.

    The divisor is a power of two, so that nothing else changes.
    """
    largest = max(float(abs(end)) for array in scores for end in (array.min(), array.max()))
    return [array / 16 if array.dtype == np.float64 and largest > _LARGEST_FLOAT else array for array in scores]


def checked_scores(scores: Any, kind: str, fewest: int) -> AnyArray:
    """Return scores as ``(n,)`` float64 or int64, after a check.

    Raises:
        DataError: if there are too few, or they are not finite numbers in one dimension.
    """
    array = as_array(scores, f"{kind} scores")
    if array.ndim != 1:
        raise DataError("scores.wrong-dimension", kind=kind, ndim=array.ndim)
    if len(array) < fewest:
        raise DataError("scores.too-few", fewest=fewest, kind=kind, array_count=len(array))
    return checked_numbers(array, kind)


def as_array(values: Any, what: str) -> AnyArray:
    """Return an array of any shape and type.

    Raises:
        DataError: if there are rows of unequal lengths.
    """
    try:
        return unmasked(values, what) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except ValueError:
        raise DataError("scores.ragged", what=what) from None


def checked_numbers(array: AnyArray, kind: str, remedy: str = "leave them out") -> AnyArray:
    """Return an array of any shape as float64 or int64, after a check.

    Args:
        array: the numbers.
        kind: a noun for the numbers, for messages.
        remedy: the advice on numbers that cannot be used, for messages.

    Raises:
        DataError: if there are entries other than finite numbers, or integers of more than 62 bits.
    """
    if array.dtype.kind not in "fiu":
        raise DataError("scores.not-real", kind=kind, dtype=array.dtype)
    if array.dtype.kind == "f":
        bad = ~np.isfinite(array)
        what = "NaN or infinite"
    else:
        bad = (array >= _LARGEST_INTEGER) | ((array <= -_LARGEST_INTEGER) if array.dtype.kind == "i" else False)
        what = "integers of more than 62 bits"
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise DataError(
            "scores.not-usable", int=int(bad.sum()), size=array.size, kind=kind, what=what, where=where, remedy=remedy
        )
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def ascending(scores: AnyArray) -> AnyArray:
    """Return ``(n,)`` scores in ascending order, without a copy if they are sorted."""
    return scores if (scores[1:] >= scores[:-1]).all() else np.sort(scores)


def distinct(scores: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the distinct values of ``(n,)`` ascending scores, with their counts.

    `numpy.unique` cannot use that the scores are sorted, and takes ten times as long for integers.
    """
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1])) if len(scores) else np.empty(0, np.intp)
    return scores[starts], np.diff(starts, append=len(scores))


Rows = Callable[[int, int], AnyArray]
"""A function that returns the ``(stop - start, n)`` scores of probes start .. stop - 1."""

FEWEST_GENUINE = 2
ENTRIES_PER_BLOCK = 1 << 22
_COLUMNS = ("genuine", "thresholds", "impostor_counts", "impostor_ties", "impostors")
_ENDS: tuple[tuple[int, Literal["left", "right"]], ...] = ((0, "left"), (-1, "right"))


@dataclass(frozen=True, slots=True)
class Overlap:
    """The position of the genuine scores relative to the impostor scores.

    Attributes:
        separated: whether no impostor score lies between the smallest and the largest genuine score.
        beyond: the share of genuine scores beyond all impostor scores.
    """

    separated: bool
    beyond: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranks:
    """The ranks of the right users among all candidates.

    Attributes:
        greater: ``(n,)`` numbers of other candidates with a higher score than the probe's user.
        ties: ``(n,)`` numbers of candidates with the same score, including the probe's user.
        users: ``(n,)`` users of the probes, as indices of candidates.
        candidates: number of candidates.

    Example:
        >>> ranks = Scores.from_matrix([[9, 1, 2], [3, 7, 4], [8, 2, 6]]).ranks
        >>> ranks.greater.tolist(), ranks.hits(k=1).tolist()
        ([0, 0, 1], [1.0, 1.0, 0.0])
    """

    greater: IntArray
    ties: IntArray
    users: IntArray
    candidates: int

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        for name in ("greater", "ties", "users"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __repr__(self) -> str:
        return f"Ranks({len(self.greater)} probes among {self.candidates} candidates)"

    @property
    def misled(self) -> BoolArray:
        """``(n,)`` booleans: true if more than half of the other candidates have a higher score than the right one."""
        return 2 * self.greater > self.candidates - 1

    def hits(self, k: int = 1) -> FloatArray:
        """Return the ``(n,)`` probabilities that a probe's own user is among the k best, ties broken at random.

        Raises:
            ParameterError: if k is not an integer of at least 1.
            DataError: if there are no probes.
        """
        k = checked_whole("k", k)
        if not len(self.greater):
            raise DataError("scores.no-probe")
        return listed(self.greater, self.ties, k)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores:
    """Genuine scores, with counts of the impostor scores between them.

    Attributes:
        genuine: ``(n,)`` scores of the probes for their own users: integers, in units, or floats.
        thresholds: ``(k,)`` the distinct genuine scores, ascending.
        impostor_counts: ``(k + 1,)`` numbers of pairs of a probe and another user with a score below the first
            threshold, from the first to below the second, ..., from the last on.
        impostor_ties: ``(k,)`` numbers of these pairs with a score exactly at a threshold.
        impostors: ``(m,)`` impostor scores, ascending; None if they were only counted.
        places: the ranks of the right users among all candidates; None for scores of pairs.
        unit: the size of one unit of the scores (in nats for likelihoods).

    Example:
        >>> scores = Scores.from_matrix([[9, 1, 2], [3, 7, 4], [8, 2, 6]])
        >>> scores.genuine.tolist(), round(scores.success(), 2), scores.success(k=2)
        ([9, 7, 6], 0.67, 1.0)
        >>> Scores.of_pairs([5, 6, 7, 9], [1, 2, 3, 6]).m
        4
    """

    genuine: AnyArray
    thresholds: AnyArray
    impostor_counts: IntArray
    impostor_ties: IntArray
    impostors: AnyArray | None = None
    places: Ranks | None = None
    unit: float = 1.0

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, read_only(column))

    def __repr__(self) -> str:
        among = "" if self.places is None else f" among {self.places.candidates} candidates"
        return f"Scores({self.n} probes{among}, {self.m} impostor pairs)"

    @property
    def n(self) -> int:
        """The number of genuine scores, one per probe."""
        return len(self.genuine)

    @property
    def m(self) -> int:
        """The number of impostor scores, one per pair of a probe and another user."""
        return int(self.impostor_counts.sum())

    @property
    def samples(self) -> tuple[AnyArray, AnyArray] | None:
        """Genuine and impostor scores, ``(n,)`` and ``(m,)``, ascending; None if impostor scores were only counted."""
        return None if self.impostors is None else (ascending(self.genuine), self.impostors)

    @classmethod
    def of_pairs(cls, genuine: Any, impostors: Any) -> Self:
        """Return the scores of pairs of the same user, and of pairs of different users; these have no ranks.

        Args:
            genuine: ``(n,)`` numbers, at least 2; fixed-point int64 stay integers.
            impostors: ``(m,)`` numbers, at least 1.

        Raises:
            DataError: if there are too few, or they are not finite numbers in one dimension.
        """
        matched, others = checked_scores(genuine, "genuine", FEWEST_GENUINE), checked_scores(impostors, "impostor", 1)
        if matched.dtype != others.dtype:
            matched, others = matched.astype(np.float64), others.astype(np.float64)
        matched, others = (np.sort(scores) for scores in scaled(matched, others))
        return cls(matched, *counted(matched, others), impostors=others)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
        """Return the scores from a matrix of probes and candidates.

        Args:
            matrix: ``(n, candidates)`` numbers, n at most that many; each probe's own user is on the diagonal.

        Raises:
            DataError: if it is not such a matrix, or a score is missing.
        """
        whole = as_array(matrix, "matrix")
        if whole.ndim != 2 or whole.dtype.kind not in "iuf":
            raise DataError("scores.not-matrix", argument="matrix", dtype=whole.dtype, shape=whole.shape)
        missing = int(np.isnan(whole).sum())
        if missing:
            raise DataError("scores.missing", missing=missing, size=whole.size)
        probes, candidates = whole.shape
        if probes > candidates:
            raise DataError("scores.no-diagonal", probes=probes, candidates=candidates)
        return cls.from_rows(lambda start, stop: whole[start:stop], np.arange(probes), candidates)

    @classmethod
    def from_rows(cls, rows: Rows, users: IntArray, candidates: int) -> Self:
        """Return the scores of probes for all candidates from a function, which is called twice for every block.

        Args:
            rows: a function that returns the scores of some probes, floats (nan: omitted) or integers.
            users: ``(n,)`` the own user of each probe.
            candidates: the number of candidates.

        Raises:
            DataError: if the scores have another shape.
        """
        blocks = _blocks(len(users), candidates)
        parts = [_checked_rows(rows(a, b), b - a, candidates)[np.arange(b - a), users[a:b]] for a, b in blocks]
        genuine: AnyArray = np.concatenate(parts or [np.empty(0)])
        known = ~np.isnan(genuine)
        thresholds = np.unique(genuine[known])
        greater, ties = np.zeros(len(users), dtype=np.int64), np.zeros(len(users), dtype=np.int64)
        counts = np.zeros(2 * len(thresholds) + 1, dtype=np.int64)
        for a, b in blocks:
            block, of_own = rows(a, b), genuine[a:b, None]
            greater[a:b], ties[a:b] = (block > of_own).sum(axis=1), (block == of_own).sum(axis=1)
            counts += _binned(block[np.arange(candidates) != users[a:b, None]], thresholds)
        ranks = Ranks(greater[known], ties[known], users[known], candidates)
        return cls(genuine[known], thresholds, *folded(counts), places=ranks)

    @property
    def ranks(self) -> Ranks:
        """The ranks of the right users.

        Raises:
            DataError: if there are no ranks, as for scores of pairs.
        """
        if self.places is None:
            raise DataError("scores.without-ranks")
        return self.places

    def success(self, k: int = 1) -> float:
        """Return the share of probes whose own user is among the k best, as `Ranks.hits`; k = 1 is identification."""
        return float(self.ranks.hits(k).mean())

    def bins(self) -> IntArray:
        """Return ``(2, b)`` numbers of genuine and impostor scores in consecutive intervals.

        The intervals ascend from the smallest genuine score to infinity. An interval starts at each distinct genuine
        score, and ends right after it where scores tie. So all its genuine scores are at its lower end.

        Raises:
            DataError: if there are fewer than 2 genuine scores or no impostor scores, or they are not finite.
        """
        if self.n < FEWEST_GENUINE:
            raise DataError("scores.too-few-genuine", fewest_genuine=FEWEST_GENUINE, n=self.n)
        _, genuine = distinct(ascending(checked_numbers(self.genuine, "genuine")))
        if not self.m:
            raise DataError("scores.no-impostor")
        from_each, ties = self.impostor_counts[1:], self.impostor_ties
        if genuine.max() == 1 and not ties.any():
            return np.stack([genuine, from_each])
        bins = np.zeros((2, 2 * len(genuine)), dtype=np.int64)
        bins[0, 0::2], bins[1, 0::2], bins[1, 1::2] = genuine, ties, from_each - ties
        return bins

    @property
    def overlap(self) -> Overlap:
        """The position of the genuine scores relative to the impostor scores; counts only show the upper end."""
        if self.samples is None:
            genuine, impostors = self.bins()
            occurring = np.flatnonzero(impostors)
            last = int(occurring[-1]) if len(occurring) else -1
            return Overlap(not len(occurring), float(genuine[last + 1 :].sum()) / self.n)
        genuine, impostors = self.samples
        first, last = (np.searchsorted(impostors, genuine[end], side) for end, side in _ENDS)
        below = int(np.searchsorted(genuine, impostors[0], "left"))
        above = self.n - int(np.searchsorted(genuine, impostors[-1], "right"))
        return Overlap(bool(first == last), (below + above) / self.n)


def checked(scores: object) -> Scores:
    """Return the argument if it is a `Scores`.

    Raises:
        DataError: if it is not.
    """
    if not isinstance(scores, Scores):
        raise DataError("scores.wrong-type", argument="scores", kind=type(scores).__name__)
    return scores


def listed(greater: IntArray, ties: IntArray, k: int) -> FloatArray:
    """Return ``(n,)`` probabilities that the right user is among the k best, ties broken at random."""
    return np.clip((k - greater) / ties, 0.0, 1.0)


def counted(genuine: AnyArray, impostors: AnyArray) -> tuple[AnyArray, IntArray, IntArray]:
    """Return thresholds and counts of impostor scores, as in `Scores`; both samples must be sorted."""
    thresholds, _ = distinct(genuine)
    below, upto = (np.searchsorted(impostors, thresholds, side) for side in ("left", "right"))
    return thresholds, np.diff(below, prepend=0, append=len(impostors)), upto - below


def folded(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return counts from each threshold on, and at each, from ``(2 k + 1,)`` counts at and between thresholds."""
    ties = counts[1::2]
    between = counts[0::2].copy()
    between[1:] += ties
    return between, ties.copy()


def _binned(scores: AnyArray, thresholds: AnyArray) -> IntArray:
    """Return counts of scores below the first threshold, at it, between it and the second, ...; nan does not count."""
    valid = scores[~np.isnan(scores)]
    below, upto = np.searchsorted(thresholds, valid, "left"), np.searchsorted(thresholds, valid, "right")
    return np.bincount(below + upto, minlength=2 * len(thresholds) + 1).astype(np.int64, copy=False)


def _checked_rows(scores: AnyArray, rows: int, candidates: int) -> AnyArray:
    if np.shape(scores) != (rows, candidates):
        raise DataError("scores.wrong-rows", rows=rows, candidates=candidates, shape=np.shape(scores))
    return scores


def _blocks(rows: int, width: int) -> list[tuple[int, int]]:
    step = max(ENTRIES_PER_BLOCK // max(width, 1), 1)
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]
