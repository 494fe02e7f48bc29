"""Matching algorithms: how likely, or how similar, a trace of unknown origin is to what is known of each user.

Every one is a constant for the trace plus a sum over features that the trace and the user share,

    score = constant + sum_f B[trace, f] A[user, f],  B, A > 0,

in integers: numbers are rounded once, to multiples of a unit, and sums are exact after that. So scores that are equal
stay equal, in whatever order they are added up, and users who share no feature with a trace tie exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import ParameterError
from discreet.risk.features import UNIT, KeyCounts, Known, Probes, events_of, first_and_steps, parts, steps
from discreet.risk.traces import Split, Traces

if TYPE_CHECKING:
    from discreet.kernels.matching import Problem

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
    from discreet.kernels.traces import step_totals

    floor, size = _floor(zero), split.training.event_count
    probes, table = Probes.of(split.target, first_and_steps, lambda rows: rows.counts)
    visited, moved = Known(table), Known(table)
    # They let go of it when they have all that it is for.
    del table
    for part in parts(split.training):
        visited.add(*_visit_weights(part, floor))
        rows = KeyCounts.of(part, steps)
        totals = step_totals(rows.offsets, rows.keys, rows.counts, size)
        moved.add(rows, _rounded_logs(rows.counts / totals) - floor)
    return _likelihood(split, probes, floor, [visited, moved])


def visits(split: Split, *, zero: float = SMALLEST) -> Matcher:
    """Score a trace by how often each user went to its places, in nats: sum_t ln pi(Y_t).

    Args:
        split: training and target.
        zero: what probabilities of 0 become; in (0, 1).
    """
    floor = _floor(zero)
    probes, table = Probes.of(split.target, events_of, lambda rows: rows.counts)
    known = Known(table)
    del table
    for part in parts(split.training):
        known.add(*_visit_weights(part, floor))
    return _likelihood(split, probes, floor, [known])


def cosine(split: Split) -> Matcher:
    """Score a trace by the cosine of the sets of events: |both| / sqrt(|one| |other|), such as of rated items."""
    return _similarity(split, lambda rows: np.ones(len(rows.keys)))


def tf_idf(split: Split) -> Matcher:
    """Score a trace by the cosine of counts times ln(n / users who have the event), over training."""
    having = np.zeros(split.training.event_count, dtype=np.int64)
    for part in parts(split.training):
        np.add.at(having, counted_visits(part).keys, 1)
    rarity = np.log(split.training.users / np.maximum(having, 1))
    return _similarity(split, lambda rows: rows.counts * rarity[rows.keys])


def counted_visits(training: Traces) -> KeyCounts:
    """Count how often each user was where."""
    return KeyCounts.of(training, events_of)


def visit_weights(training: Traces, zero: float) -> tuple[KeyCounts, IntArray, int]:
    """Return how often each user was where, ln(share / zero) of each in units, and ln(zero) in units."""
    floor = _floor(zero)
    return *_visit_weights(training, floor), floor


def _visit_weights(training: Traces, floor: int) -> tuple[KeyCounts, IntArray]:
    known = counted_visits(training)
    totals = np.repeat(training.lengths, np.diff(known.offsets))
    return known, np.maximum(_rounded_logs(known.counts / totals) - floor, 0)


def _floor(zero: float) -> int:
    return int(_rounded_logs(np.array([checked_zero(zero)]))[0])


def _likelihood(split: Split, probes: Probes, floor: int, known: list[Known]) -> Matcher:
    constants = split.target.lengths[probes.users] * floor
    return Matcher(probes.problem(split.training.users, constants, known), UNIT)


def _similarity(split: Split, weigh: Callable[[KeyCounts], FloatArray]) -> Matcher:
    """Score by the cosine of two weighed vectors; both sides are rounded, so the unit is squared."""

    def weights(rows: KeyCounts) -> IntArray:
        return rows.normalised(weigh(rows))

    probes, table = Probes.of(split.target, events_of, weights)
    known = Known(table)
    del table
    for part in parts(split.training):
        rows = counted_visits(part)
        known.add(rows, weights(rows))
    constants = np.zeros(len(probes.users), dtype=np.int64)
    return Matcher(probes.problem(split.training.users, constants, [known]), UNIT**2)


def _rounded_logs(probabilities: FloatArray) -> IntArray:
    rounded: IntArray = np.rint(np.log(probabilities) / UNIT).astype(np.int64)
    return rounded


def checked_zero(zero: float) -> float:
    """Return what probabilities of 0 become, if it is one between 0 and 1."""
    if not 0 < zero < 1:
        raise ParameterError(f"zero must be a probability in (0, 1), got zero={zero!r}.")
    return float(zero)
