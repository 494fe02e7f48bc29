"""Genuine and impostor scores: the input of identification rates, DET curves and divergences.

A *probe* is a trace, report or template of unknown origin, compared with every candidate. Its *genuine* score is the
one for its own user; the others are impostors'. Larger means more similar.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, frozen
from discreet.core import columns
from discreet.core.checks import checked_choice, checked_whole
from discreet.core.random import RandomSource, checked_source, uniform_below
from discreet.errors import DataError

Rows = Callable[[int, int], AnyArray]
"""Returns the ``(stop - start, n)`` scores of probes start .. stop - 1."""

_ENTRIES_PER_BLOCK = 1 << 22
_COLUMNS = ("genuine", "users", "greater", "ties", "thresholds", "impostor_counts", "impostor_ties", "impostor_sample")


def _empty() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores:
    """The scores of m probes among n candidates.

    Attributes:
        genuine: ``(m,)`` scores of the probes for their own users: integers, in units, or floats.
        thresholds: ``(k,)`` the different genuine scores, ascending.
        impostor_counts: ``(k + 1,)`` how many pairs of a probe and another user score below the first threshold, from
            the first on and below the second, ..., from the last on.
        impostor_ties: ``(k,)`` how many of these score exactly a threshold.
        impostor_sample: scores of some of these pairs, all different pairs and equally likely, in random order.
        greater: ``(m,)`` numbers of other candidates that score more than the probe's user; None for scores of pairs.
        ties: ``(m,)`` numbers of candidates with the same score, the probe's user included; None for scores of pairs.
        users: ``(m,)`` users of the probes, as indices of candidates; None if not known.
        candidates: n; None if not known.
        unit: size of one unit of the scores (in nats, where they are likelihoods).

    Example:
        >>> scores = Scores.from_matrix([[9, 1, 2], [3, 7, 4], [8, 2, 6]])
        >>> scores.genuine.tolist(), round(scores.success(), 2), scores.success(k=2)
        ([9.0, 7.0, 6.0], 0.67, 1.0)
    """

    genuine: AnyArray
    thresholds: AnyArray
    impostor_counts: IntArray
    impostor_ties: IntArray
    impostor_sample: AnyArray = field(default_factory=_empty)
    greater: IntArray | None = None
    ties: IntArray | None = None
    users: IntArray | None = None
    candidates: int | None = None
    unit: float = 1.0

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, frozen(column))

    def __repr__(self) -> str:
        among = "" if self.candidates is None else f" among {self.candidates} candidates"
        return f"Scores({self.probes} probes{among}, {self.impostors} impostor pairs, {len(self.impostor_sample)} kept)"

    @property
    def probes(self) -> int:
        """Number of probes."""
        return len(self.genuine)

    @property
    def impostors(self) -> int:
        """Number of pairs of a probe and another user."""
        return int(self.impostor_counts.sum())

    def hits(self, k: int = 1) -> FloatArray:
        """Return the ``(m,)`` probabilities that a probe's own user is among the k best, ties broken at random.

        Raises:
            ParameterError: if k is no integer of at least 1.
            DataError: if there are no ranks, or no probes.
        """
        k = checked_whole("k", k)
        if self.greater is None or self.ties is None:
            raise DataError("these scores were not compared candidate by candidate, so there are no ranks.")
        if not self.probes:
            raise DataError("there is no probe, so nobody can be found.")
        return np.clip((k - self.greater) / self.ties, 0.0, 1.0)

    def success(self, k: int = 1) -> float:
        """Return the share of probes whose own user is among the k best, as `hits`; k = 1 is identification."""
        return float(self.hits(k).mean())

    @classmethod
    def from_samples(cls, genuine: Any, impostor: Any, *, distance: bool = False) -> Self:
        """Return the scores of ``(m,)`` genuine and ``(p,)`` impostor pairs; these have no ranks.

        Args:
            genuine: scores of pairs of the same user.
            impostor: scores of pairs of different users.
            distance: whether small means similar; scores then are turned into their negatives.

        Raises:
            DataError: if they are no numbers, or some are missing.
        """
        own, others = (_whole(columns.numbers(given, "scores")) for given in (genuine, impostor))
        own, others = (-own, -others) if distance else (own, others)
        thresholds = np.unique(own)
        counts = binned(others, thresholds)
        return cls(own, thresholds, *folded(counts), impostor_sample=others)

    @staticmethod
    def from_matrix(
        matrix: Any,
        users: Any = None,
        *,
        distance: bool = False,
        failed: float | None = None,
        failures: str = "drop",
        sample: int = 0,
        random: RandomSource | None = None,
    ) -> "Scores":
        """Return the scores of an ``(m, n)`` matrix of probes and candidates.

        Args:
            matrix: ``(m, n)`` numbers.
            users: ``(m,)`` the column of each probe's own user; None for the diagonal.
            distance: whether small means similar; scores then are turned into their negatives.
            failed: the number that marks a comparison that failed, such as -1 or nan; None if none did.
            failures: "drop" to leave failed comparisons out, "count" to take them for the least similar of all.
            sample: how many impostor scores to keep; fewer if there are not so many.
            random: the words for the choice; None for fresh ones.

        Raises:
            DataError: if it is no matrix of numbers, or users are no columns of it.
        """
        whole = np.asarray(matrix)
        if whole.ndim != 2 or whole.dtype.kind not in "iuf":
            raise DataError(f"matrix must be (m, n) numbers, got {whole.dtype} with shape {whole.shape}.")
        mark = _Failures(failed, failures)

        def rows(start: int, stop: int) -> AnyArray:
            return mark.apply(whole[start:stop], distance)

        m, n = whole.shape
        return from_rows(rows, checked_owners(users, m, n), n, sample=sample, random=random)


@dataclass(frozen=True, slots=True)
class _Failures:
    """The mark of failed comparisons and their treatment: nan is left out, -inf is the worst score."""

    mark: float | None
    kept: str

    def __post_init__(self) -> None:
        checked_choice("failures", self.kept, ("drop", "count"))

    def apply(self, scores: AnyArray, distance: bool) -> FloatArray:
        values = scores.astype(np.float64)
        lacking = np.isnan(values)
        failed = lacking if self.mark is None or np.isnan(self.mark) else values == self.mark
        if (lacking & ~failed).any() or (self.mark is None and lacking.any()):
            raise DataError(f"{int(lacking.sum())} scores are missing; say with failed=nan that they failed.")
        values = -values if distance else values
        values[failed] = np.nan if self.kept == "drop" else -np.inf
        return values


def from_rows(rows: Rows, users: IntArray, candidates: int, *, sample: int, random: RandomSource | None) -> Scores:
    """Return the scores of probes for all candidates from a function, read block by block, twice.

    Args:
        rows: the scores of some probes, floats (nan: left out) or integers; asked for twice.
        users: ``(m,)`` the own user of each probe.
        candidates: n.
        sample: how many impostor scores to keep.
        random: the words for the choice.
    """
    blocks = _blocks(len(users), candidates)
    own = [_checked_rows(rows(a, b), b - a, candidates)[np.arange(b - a), users[a:b]] for a, b in blocks]
    genuine: AnyArray = np.concatenate(own or [np.empty(0)])
    known = ~np.isnan(genuine)
    thresholds = np.unique(genuine[known])
    greater, ties = np.zeros(len(users), dtype=np.int64), np.zeros(len(users), dtype=np.int64)
    counts = np.zeros(2 * len(thresholds) + 1, dtype=np.int64)
    pairs = _Pairs.draw(users, candidates, sample, random)
    kept = np.empty(len(pairs.probes), dtype=genuine.dtype)
    for a, b in blocks:
        block, of_own = rows(a, b), genuine[a:b, None]
        greater[a:b], ties[a:b] = (block > of_own).sum(axis=1), (block == of_own).sum(axis=1)
        counts += binned(block[np.arange(candidates) != users[a:b, None]], thresholds)
        here = (pairs.probes >= a) & (pairs.probes < b)
        kept[here] = block[pairs.probes[here] - a, pairs.owners[here]]
    kept = kept[~np.isnan(kept)]
    binned_pairs = thresholds, *folded(counts), kept
    return Scores(genuine[known], *binned_pairs, greater[known], ties[known], users[known], candidates)


def _checked_rows(scores: AnyArray, rows: int, candidates: int) -> AnyArray:
    if np.shape(scores) != (rows, candidates):
        raise DataError(f"scores of {rows} probes must have shape ({rows}, {candidates}), got {np.shape(scores)}.")
    return scores


def binned(scores: AnyArray, thresholds: AnyArray) -> IntArray:
    """Return counts of scores below the first threshold, at it, between it and the second, ...; nan is not counted."""
    valid = scores[~np.isnan(scores)]
    below, upto = np.searchsorted(thresholds, valid, "left"), np.searchsorted(thresholds, valid, "right")
    return np.bincount(below + upto, minlength=2 * len(thresholds) + 1).astype(np.int64, copy=False)


def binned_weights(scores: AnyArray, weights: FloatArray, thresholds: AnyArray) -> FloatArray:
    """Return ``(k + 1,)`` sums of weights of scores below the first threshold, from it on and below the second, ..."""
    places = np.searchsorted(thresholds, scores, "right")
    return np.bincount(places, weights=weights, minlength=len(thresholds) + 1).astype(np.float64)


def folded(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return counts from each threshold on, and at it, from ``(2 k + 1,)`` counts at and between thresholds."""
    ties = counts[1::2]
    between = counts[0::2].copy()
    between[1:] += ties
    return between, ties.copy()


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of a probe and another user."""

    probes: IntArray
    owners: IntArray

    @classmethod
    def draw(cls, users: IntArray, candidates: int, size: int, random: RandomSource | None) -> Self:
        """Return different pairs, each equally likely; all of them if there are no more."""
        size = checked_whole("sample", size, 0)
        total = len(users) * (candidates - 1)
        numbers = np.arange(total) if size >= total else _different(total, size, checked_source(random))
        probes, owners = np.divmod(numbers, max(candidates - 1, 1))
        return cls(probes, owners + (owners >= users[probes]))


draw_pairs = _Pairs.draw


def _different(bound: int, size: int, random: RandomSource) -> IntArray:
    """Return ``(size,)`` different random integers below ``bound``."""
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:
        more = uniform_below(bound, size - len(drawn), random).astype(np.int64)
        together = np.concatenate([drawn, more])
        # The first of equals stays where it is.
        drawn = together[np.sort(np.unique(together, return_index=True)[1])]
    return drawn


def _blocks(rows: int, width: int) -> list[tuple[int, int]]:
    step = max(_ENTRIES_PER_BLOCK // max(width, 1), 1)
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]


def checked_owners(users: Any, probes: int, candidates: int) -> IntArray:
    """Return the ``(probes,)`` own users; those of the diagonal for None.

    Raises:
        DataError: if they are no candidates, or not one per probe.
    """
    if users is None:
        if probes > candidates:
            raise DataError(f"{probes} probes have no diagonal among {candidates} candidates; say whose they are.")
        return np.arange(probes)
    owners = columns.integers(users, "users")
    if len(owners) != probes or (probes and not (owners.min() >= 0 and owners.max() < candidates)):
        raise DataError(f"users must be {probes} integers in 0..{candidates - 1}, one per probe.")
    return owners


def _whole(scores: FloatArray) -> FloatArray:
    missing: BoolArray = np.isnan(scores)
    if missing.any():
        rows = np.flatnonzero(missing)
        raise DataError(columns.missing_message(len(rows), len(scores), int(rows[0]), "scores"))
    return scores
