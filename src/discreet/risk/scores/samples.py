"""Samples of genuine and impostor scores: checked, sorted, or counted in bins.

A score measures the similarity of a probe and a candidate; it is *genuine* if the probe is the candidate's, and an
*impostor* score otherwise. Higher means more alike.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.arrays import AnyArray, IntArray, frozen
from discreet.core.checks import checked_whole
from discreet.core.columns import unmasked
from discreet.errors import DataError

_LARGEST_INTEGER = 1 << 62
_LARGEST_FLOAT = 2.0**1020
_FEWEST_GENUINE = 2
_ENDS: tuple[tuple[int, Literal["left", "right"]], ...] = ((0, "left"), (-1, "right"))


@dataclass(frozen=True, slots=True)
class Overlap:
    """The position of the genuine scores among the impostor scores.

    Attributes:
        separated: whether no impostor score lies between the least and the largest genuine one.
        beyond: the share of genuine scores that lie beyond all impostor scores.
    """

    separated: bool
    beyond: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """Sorted genuine and impostor scores of one type.

    Attributes:
        genuine: ``(n,)`` float64 or int64, ascending; n >= 2.
        impostors: ``(m,)``, the same type, ascending; m >= 1.
    """

    genuine: AnyArray
    impostors: AnyArray

    def __repr__(self) -> str:
        return f"Sample(n={self.n}, m={self.m})"

    @property
    def n(self) -> int:
        """Number of genuine scores."""
        return len(self.genuine)

    @property
    def m(self) -> int:
        """Number of impostor scores."""
        return len(self.impostors)

    @property
    def overlap(self) -> Overlap:
        """The position of the genuine scores among the impostor scores."""
        first, last = (np.searchsorted(self.impostors, self.genuine[end], side) for end, side in _ENDS)
        below = int(np.searchsorted(self.genuine, self.impostors[0], "left"))
        above = self.n - int(np.searchsorted(self.genuine, self.impostors[-1], "right"))
        return Overlap(bool(first == last), (below + above) / self.n)


def sample_of(genuine: Any, impostors: Any) -> Sample:
    """Return scores, checked and sorted.

    Args:
        genuine: ``(n,)`` numbers, at least 2; fixed-point int64 stay what they are.
        impostors: ``(m,)`` numbers, at least 1.

    Raises:
        DataError: if there are too few of them, or they are not finite numbers in one dimension.
    """
    first, second = checked_scores(genuine, "genuine", _FEWEST_GENUINE), checked_scores(impostors, "impostor", 1)
    if first.dtype != second.dtype:
        first, second = first.astype(np.float64), second.astype(np.float64)
    first, second = scaled(first, second)
    return Sample(np.sort(first), np.sort(second))


def scaled(*scores: AnyArray) -> list[AnyArray]:
    """Return scores of one scale whose differences are finite, all of them divided by 16 where some are very large.

    By a power of two, which changes nothing else.
    """
    largest = max(float(abs(end)) for array in scores for end in (array.min(), array.max()))
    return [array / 16 if array.dtype == np.float64 and largest > _LARGEST_FLOAT else array for array in scores]


def checked_scores(scores: Any, kind: str, fewest: int) -> AnyArray:
    """Return scores as ``(n,)`` float64 or int64.

    Raises:
        DataError: if there are too few of them, or they are not finite numbers in one dimension.
    """
    array = as_array(scores, f"{kind} scores")
    if array.ndim != 1:
        raise DataError(f"{kind} scores must have one dimension, got {array.ndim}.")
    if len(array) < fewest:
        raise DataError(f"there must be at least {fewest} {kind} scores, got {len(array)}.")
    return checked_numbers(array, kind)


def as_array(values: Any, what: str) -> AnyArray:
    """Return an array of any shape and type.

    Raises:
        DataError: if there are rows of unequal lengths.
    """
    try:
        return unmasked(values, what) if isinstance(values, np.ndarray) else np.asarray(values)
    except ValueError:
        raise DataError(f"{what} must be an array of numbers, got rows of unequal lengths.") from None


def checked_numbers(array: AnyArray, kind: str, remedy: str = "leave them out") -> AnyArray:
    """Return an array of any shape as float64 or int64.

    Args:
        array: the numbers.
        kind: what they are, for messages.
        remedy: what to do if some are of no use, for messages.

    Raises:
        DataError: if it holds anything but finite numbers, or integers of more than 62 bits.
    """
    if array.dtype.kind not in "fiu":
        raise DataError(f"{kind} scores must be real numbers, got an array of {array.dtype}.")
    if array.dtype.kind == "f":
        bad = ~np.isfinite(array)
        what = "NaN or infinite"
    else:
        bad = (array >= _LARGEST_INTEGER) | ((array <= -_LARGEST_INTEGER) if array.dtype.kind == "i" else False)
        what = "integers of more than 62 bits"
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise DataError(f"{int(bad.sum())} of {array.size} {kind} scores are {what} (first at {where}); {remedy}.")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreCounts:
    """Impostor scores counted between the genuine ones: enough for a DET curve, in O(n) memory for any m.

    The bins are consecutive intervals of scores, ascending, from the least genuine score to infinity. All genuine
    scores of a bin lie at its lower end: a bin starts at each of them, and may end right after it.

    Attributes:
        genuine: ``(b,)`` how many genuine scores are in each bin; some in the first.
        impostors: ``(b,)`` how many impostor scores are in each bin.
        m: how many impostor scores there are in all; those below the first bin are in none.
    """

    genuine: IntArray
    impostors: IntArray
    m: int

    def __post_init__(self) -> None:
        """Make the counts int64 and read-only.

        Raises:
            DataError: if they are no counts, or do not fit together.
        """
        for name in ("genuine", "impostors"):
            object.__setattr__(self, name, frozen(_counts(getattr(self, name), name)))
        if len(self.genuine) != len(self.impostors) or self.n < _FEWEST_GENUINE or self.genuine[0] < 1:
            raise DataError(
                "genuine counts must be at least 2 in all and 1 in the first bin, with as many impostor counts, got "
                f"{len(self.genuine)} and {len(self.impostors)} counts."
            )
        object.__setattr__(self, "m", checked_whole("m", self.m, error=DataError))
        if int(self.impostors.sum()) > self.m:
            raise DataError(f"the bins hold more impostor scores than there are in all, m={self.m}.")

    def __repr__(self) -> str:
        return f"ScoreCounts({len(self.genuine)} bins, n={self.n}, m={self.m})"

    @property
    def n(self) -> int:
        """Number of genuine scores."""
        return int(self.genuine.sum())

    @classmethod
    def of(cls, genuine: Any, impostors: Any) -> "ScoreCounts":
        """Return the counts of ``(n,)`` genuine and ``(m,)`` impostor scores."""
        return cls.of_sample(sample_of(genuine, impostors))

    @classmethod
    def of_sample(cls, sample: Sample) -> "ScoreCounts":
        """Return the counts of sorted scores."""
        values, counts = np.unique(sample.genuine, return_counts=True)
        below, upto = (np.searchsorted(sample.impostors, values, side) for side in ("left", "right"))
        from_each = np.diff(below, append=sample.m)
        return cls._split(counts, from_each, upto - below, sample.m)

    @classmethod
    def of_bins(cls, genuine: Any, impostor_counts: Any, impostor_ties: Any = None) -> "ScoreCounts":
        """Return the counts from impostor scores that were counted before.

        Args:
            genuine: ``(n,)`` genuine scores, n >= 2.
            impostor_counts: ``(k + 1,)`` how many impostor scores lie below the first of the k distinct genuine scores,
                from the first on and below the second, ..., from the last on.
            impostor_ties: ``(k,)`` how many of these are equal to a genuine score; None if not known.

        Raises:
            DataError: if they do not fit together.
        """
        counts = np.unique(checked_scores(genuine, "genuine", _FEWEST_GENUINE), return_counts=True)[1]
        between = _counts(impostor_counts, "impostor")
        ties = between[1:] if impostor_ties is None else _counts(impostor_ties, "tied impostor")
        if len(between) != len(counts) + 1 or len(ties) != len(counts) or (ties > between[1:]).any():
            raise DataError(
                f"{len(counts)} distinct genuine scores need one impostor count more, and as many ties, none of them "
                f"more than the count, got {len(between)} counts and {len(ties)} ties."
            )
        if impostor_ties is None:
            return cls(counts, between[1:], int(between.sum()))
        return cls._split(counts, between[1:], ties, int(between.sum()))

    @classmethod
    def _split(cls, genuine: IntArray, impostors: IntArray, ties: IntArray, m: int) -> "ScoreCounts":
        """Cut every bin right after its genuine scores, if there are atoms at all."""
        if genuine.max() == 1 and not ties.any():
            return cls(genuine, impostors, m)
        own, others = np.zeros(2 * len(genuine), dtype=np.int64), np.empty(2 * len(genuine), dtype=np.int64)
        own[0::2], others[0::2], others[1::2] = genuine, ties, impostors - ties
        return cls(own, others, m)

    @property
    def overlap(self) -> Overlap:
        """The position of the genuine scores among the impostor scores, by the bins at the upper end."""
        seen = np.flatnonzero(self.impostors)
        last = int(seen[-1]) if len(seen) else -1
        return Overlap(not len(seen), float(self.genuine[last + 1 :].sum()) / self.n)

    def grouped(self, starts: IntArray) -> "ScoreCounts":
        """Return the counts of groups of consecutive bins, each from one start to the next; the first start is 0."""
        return ScoreCounts(np.add.reduceat(self.genuine, starts), np.add.reduceat(self.impostors, starts), self.m)


def _counts(array: Any, name: str) -> IntArray:
    counts = as_array(array, f"{name} counts")
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise DataError(f"{name} counts must be integers in one dimension, got {counts.ndim} of {counts.dtype}.")
    if len(counts) and (int(counts.min()) < 0 or int(counts.max()) > _LARGEST_INTEGER):
        raise DataError(f"{name} counts must be between 0 and 2^62.")
    return counts.astype(np.int64)
