"""Matching algorithms: how likely, or how similar, a trace of unknown origin is to what is known of each user.

Every one is a constant for the trace plus a sum over features that the trace and the user share,

    score = constant + sum_f B[trace, f] A[user, f],  B, A > 0,

in integers: numbers are rounded once, to multiples of a unit, and sums are exact after that. So scores that are equal
stay equal, in whatever order they are added up, and users who share no feature with a trace tie exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.errors import DataError, ParameterError
from discreet.risk.traces import Split, Traces

if TYPE_CHECKING:
    from discreet.kernels.matching import Problem

UNIT = 2.0**-20
"""Of a weight: scores of the Markov model and of visits are multiples of it, in nats."""

SMALLEST = 1e-8
"""What a probability of 0 becomes [PIE, section 5]."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matcher:
    """Traces of unknown origin, the users they are compared with, and the rule that scores a pair.

    Attributes:
        problem: both sides in integers.
        unit: what 1 stands for in a score.
    """

    problem: "Problem"
    unit: float

    def __repr__(self) -> str:
        return f"Matcher({self.probes} probes, {self.candidates} candidates)"

    @property
    def probes(self) -> int:
        """How many traces of unknown origin there are."""
        return len(self.problem.users)

    @property
    def candidates(self) -> int:
        """N, the users each of them may belong to."""
        return self.problem.candidates

    @property
    def users(self) -> IntArray:
        """``(probes,)`` whose traces they are."""
        return self.problem.users


def markov(split: Split, *, zero: float = SMALLEST) -> Matcher:
    """Score a trace by its likelihood under each user's Markov chain, in nats [PIE, section 5].

    ln pi(Y_1) + sum_t ln Lambda(Y_t, Y_t+1), where pi and Lambda are the shares of a user's visits, and of her steps
    from a place, in training.

    Args:
        split: training and target.
        zero: what probabilities of 0 become; in (0, 1).
    """
    from discreet.kernels import traces as kernels

    training, target, size = split.training, split.target, split.training.event_count
    keys = kernels.transitions(target.offsets, target.events, size, start=True)
    queries = _queries(target, keys)
    del keys
    known, weights, floor = visit_weights(training, zero)
    entries = [known.weighed(queries.table, weights)]
    del known, weights
    steps = _counted(training, kernels.transitions(training.offsets, training.events, size, start=False))
    totals = kernels.step_totals(steps.offsets, steps.keys, steps.counts, size)
    entries.append(steps.weighed(queries.table, _rounded_logs(steps.counts / totals) - floor))
    del steps, totals
    return _matcher(split, queries, target.lengths[queries.probes] * floor, queries.rows.counts, entries)


def visits(split: Split, *, zero: float = SMALLEST) -> Matcher:
    """Score a trace by how often each user went to its places, in nats: sum_t ln pi(Y_t).

    Args:
        split: training and target.
        zero: what probabilities of 0 become; in (0, 1).
    """
    target = split.target
    queries = _queries(target, target.events.astype(np.int64))
    known, weights, floor = visit_weights(split.training, zero)
    entry = known.weighed(queries.table, weights)
    return _matcher(split, queries, target.lengths[queries.probes] * floor, queries.rows.counts, [entry])


def cosine(split: Split) -> Matcher:
    """Score a trace by the cosine of the sets of events: |both| / sqrt(|one| |other|), such as of rated items."""
    return _similarity(split, lambda rows: np.ones(len(rows.keys)))


def tf_idf(split: Split) -> Matcher:
    """Score a trace by the cosine of counts times ln(n / users who have the event), over training."""
    known = counted_visits(split.training)
    having = np.bincount(known.keys, minlength=split.training.event_count)
    rarity = np.log(split.training.users / np.maximum(having, 1))
    return _similarity(split, lambda rows: rows.counts * rarity[rows.keys])


@dataclass(frozen=True, slots=True, eq=False)
class KeyCounts:
    """Different keys of each row, and how often each came."""

    offsets: IntArray
    keys: IntArray
    counts: AnyArray

    def weighed(self, table: Any, weights: AnyArray) -> tuple[IntArray, AnyArray, AnyArray]:
        """Return what `invert` takes: the keys by number, with weights below 0 left out."""
        from discreet.kernels.features import find_keys

        return self.offsets, find_keys(table, self.keys), np.maximum(weights, 0).astype(np.int32)

    def normalised(self, weights: FloatArray) -> IntArray:
        """Return weights divided by the length of each row as a vector, in units."""
        # The row of no entries is never asked for its length.
        lengths = np.sqrt(np.add.reduceat(np.append(weights**2, 0.0), self.offsets[:-1]))
        spread = np.repeat(lengths, np.diff(self.offsets))
        shares = np.divide(weights, spread, out=np.zeros_like(weights), where=spread > 0)
        rounded: IntArray = np.rint(shares / UNIT).astype(np.int64)
        return rounded


def counted_visits(training: Traces) -> KeyCounts:
    """Count how often each user was where."""
    return _counted(training, training.events.astype(np.int64))


def visit_weights(training: Traces, zero: float) -> tuple[KeyCounts, IntArray, int]:
    """Return how often each user was where, ln(share / zero) of each in units, and ln(zero) in units."""
    floor = _rounded_logs(np.array([checked_zero(zero)]))
    known = counted_visits(training)
    totals = np.repeat(training.lengths, np.diff(known.offsets))
    return known, np.maximum(_rounded_logs(known.counts / totals) - floor, 0), int(floor[0])


def _counted(traces: Traces, keys: IntArray) -> KeyCounts:
    from discreet.kernels.traces import count_keys

    return KeyCounts(*count_keys(traces.offsets, keys))


@dataclass(frozen=True, slots=True, eq=False)
class _Queries:
    """The probes: whose they are, what they consist of, and its numbers."""

    probes: IntArray
    rows: KeyCounts
    table: Any
    features: AnyArray

    def counting(self, counts: AnyArray, index: tuple[AnyArray, ...]) -> tuple[IntArray, AnyArray, AnyArray]:
        """Return what a `Problem` asks for, without what does not count or nobody has."""
        kept = (counts > 0) & (np.diff(index[0]) > 0)[self.features]
        before = np.append(0, np.cumsum(kept))
        offsets = np.append(self.rows.offsets[self.probes], self.rows.offsets[-1])
        return before[offsets], self.features[kept], counts[kept]


def _queries(target: Traces, keys: IntArray) -> _Queries:
    from discreet.kernels.features import number_keys

    probes = np.flatnonzero(target.lengths)
    if not len(probes):
        raise DataError("no user has an event in the target; split the traces elsewhere.")
    rows = _counted(target, keys)
    return _Queries(probes, rows, *number_keys(rows.keys))


def _similarity(split: Split, weigh: Callable[[KeyCounts], FloatArray]) -> Matcher:
    """Score by the cosine of two weighed vectors; both sides are rounded, so the unit is squared."""
    queries = _queries(split.target, split.target.events.astype(np.int64))
    known = counted_visits(split.training)
    entry = known.weighed(queries.table, known.normalised(weigh(known)))
    counts = queries.rows.normalised(weigh(queries.rows))
    return _matcher(split, queries, np.zeros(len(queries.probes), dtype=np.int64), counts, [entry], UNIT**2)


def _matcher(
    split: Split, queries: _Queries, constants: IntArray, counts: AnyArray, entries: list[Any], unit: float = UNIT
) -> Matcher:
    from discreet.kernels.features import invert
    from discreet.kernels.matching import Problem

    index = invert(queries.table.size, entries)
    return Matcher(
        Problem(queries.probes, split.training.users, constants, index, queries.counting(counts, index)), unit
    )


def _rounded_logs(probabilities: FloatArray) -> IntArray:
    rounded: IntArray = np.rint(np.log(probabilities) / UNIT).astype(np.int64)
    return rounded


def checked_zero(zero: float) -> float:
    """Return what probabilities of 0 become, if it is one between 0 and 1."""
    if not 0 < zero < 1:
        raise ParameterError(f"zero must be a probability in (0, 1), got zero={zero!r}.")
    return float(zero)
