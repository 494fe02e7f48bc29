"""Matching algorithms: the likelihood, or the similarity, of a probe's trace and a candidate's.

Every one is a constant for the trace plus a sum over features that the trace and the user share,

    score = constant + sum_f B[trace, f] A[user, f],  B, A > 0,

in integers: numbers are rounded once, to multiples of a unit, and sums are exact after that. So scores that are equal
stay equal, in whatever order they are added up, and users who share no feature with a trace tie exactly.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.checks import checked_between
from discreet.core.traces import Split, Traces
from discreet.risk.attacks.features import UNIT, KeyCounts, Known, Probes, Visited, events_of, first_and_steps, steps
from discreet.risk.attacks.smoothing import foretelling_share

if TYPE_CHECKING:
    from discreet.kernels.traces.matching import Problem

SMALLEST = 1e-8
"""The replacement of probabilities of 0 [PIE, section 5]."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matcher:
    """A matching problem: probes, candidates and the rule that scores a pair.

    Attributes:
        problem: both sides in integers.
        unit: what 1 stands for in a score.

    Example:
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> visits(split)
        Matcher(2 probes, 2 candidates)
    """

    problem: "Problem"
    unit: float

    def __repr__(self) -> str:
        return f"Matcher({self.probes} probes, {self.candidates} candidates)"

    @property
    def probes(self) -> int:
        """Number of probes."""
        return len(self.problem.users)

    @property
    def candidates(self) -> int:
        """N, the number of candidates."""
        return self.problem.candidates

    @property
    def users(self) -> IntArray:
        """``(probes,)`` users of the probes."""
        return self.problem.users


def markov(split: Split, *, zero: float = SMALLEST, visited: Visited | None = None) -> Matcher:
    """Return the matcher that scores by the likelihood under each user's Markov chain, in nats [PIE, section 5].

    ln pi(Y_1) + sum_t ln Lambda(Y_t, Y_t+1), where pi and Lambda are the shares of a user's visits, and of their steps
    from a place, in training.

    Args:
        split: training and target.
        zero: what probabilities of 0 become; in (0, 1).
        visited: the training's events, if they were counted before.

    Example:
        >>> from discreet.risk.attacks.matching import match
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> match(markov(split)).success()
        1.0
    """
    floor, size = _floor(zero), split.training.event_count
    probes, table = Probes.of(split.target, first_and_steps, lambda rows: [rows.counts])
    been, moved = Known(table), Known(table)
    # They let go of it when they have all that it is for.
    del table
    for part, known in visited or Visited(split.training):
        been.add(known, [_visit_weights(part, known, floor)])
        rows = KeyCounts.of(part, steps)
        moved.add(rows, [_rounded_logs(rows.counts / _step_totals(rows, size)) - floor])
    constants = split.target.lengths[probes.users] * floor
    return Matcher(probes.problem(split.training.users, constants, [been.joined(), moved.joined()]), UNIT)


def _step_totals(rows: KeyCounts, size: int) -> IntArray:
    """Return, for every step of a user, the summed counts of that user's steps from the same event."""
    if not len(rows.keys):
        return np.empty(0, dtype=np.int64)
    # Keys ascend within a user, and steps from one event have neighbouring keys.
    events, first = rows.keys // size, np.ones(len(rows.keys), dtype=np.bool_)
    np.not_equal(events[1:], events[:-1], out=first[1:])
    first[rows.offsets[:-1][np.diff(rows.offsets) > 0]] = True
    edges = np.append(np.flatnonzero(first), len(first))
    running = np.append(0, np.cumsum(rows.counts, dtype=np.int64))
    return np.repeat(np.diff(running[edges]), np.diff(edges))


@dataclass(frozen=True, slots=True)
class Rule:
    """A matching algorithm whose features are the events themselves.

    Attributes:
        asked: the weights of what a probe has.
        known: the weights of what each user of a part has, given that part and its counts.
        floor: what every event of a probe scores if the user was never there, in units.
        unit: of the scores.
    """

    asked: Callable[[KeyCounts], AnyArray]
    known: Callable[[Traces, KeyCounts], AnyArray]
    floor: int
    unit: float


def visits(split: Split, *, zero: float = SMALLEST) -> Matcher:
    """Return the matcher that scores by the log-likelihood of visits, sum_t ln pi(Y_t), in nats.

    Args:
        split: training and target.
        zero: what probabilities of 0 become; in (0, 1).

    Example:
        >>> from discreet.risk.attacks.matching import match
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> match(visits(split)).success()
        1.0
    """
    return next(matchers(split, [rule_of_visits(zero)]))


def smoothed(split: Split, *, share: float | None = None) -> Matcher:
    """Return the matcher by smoothed visits: sum_t ln((1 - lambda) pi(Y_t) / p(Y_t) + lambda), in nats.

    p is the share of all training events at a place. So this is the likelihood ratio of a trace: its user repeats one
    of their events with probability 1 - lambda, otherwise any user's, against a trace of random events of all users.
    For each trace the order of the users is that of the likelihood, and traces of rare and of popular places can be
    compared.

    Args:
        split: training and target.
        share: lambda, in (0, 1); None for that which best foretells each event of training from the others (see
            `discreet.risk.attacks.smoothing`).

    Example:
        >>> from discreet.risk.attacks.matching import match
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> match(smoothed(split, share=0.1)).success()
        1.0
    """
    visited = Visited(split.training)
    return next(matchers(split, [rule_of_smoothed(visited, share)], visited))


def cosine(split: Split) -> Matcher:
    """Return the matcher by the cosine of sets of events: |both| / sqrt(|one| |other|), such as of rated items.

    Example:
        >>> from discreet.risk.attacks.matching import match
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> match(cosine(split)).success()
        1.0
    """
    return next(matchers(split, [rule_of_cosine()]))


def tf_idf(split: Split) -> Matcher:
    """Return the matcher by the cosine of counts times ln(n / users who have the event), over training.

    Example:
        >>> from discreet.risk.attacks.matching import match
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> match(tf_idf(split)).success()
        1.0
    """
    visited = Visited(split.training)
    return next(matchers(split, [rule_of_tf_idf(visited)], visited))


def rule_of_visits(zero: float = SMALLEST) -> Rule:
    """Return the rule of `visits`."""
    floor = _floor(zero)
    return Rule(_counts, lambda part, rows: _visit_weights(part, rows, floor), floor, UNIT)


def rule_of_smoothed(visited: Visited, share: float | None = None) -> Rule:
    """Return the rule of `smoothed`."""
    chosen = foretelling_share(visited) if share is None else checked_between("share", share)
    popularity = visited.of_anybody() / max(visited.traces.events.size, 1)

    def known(part: Traces, rows: KeyCounts) -> IntArray:
        ratio = _shares(part, rows) / popularity[rows.keys]
        return np.rint(np.log1p((1 - chosen) / chosen * ratio) / UNIT).astype(np.int64)

    return Rule(_counts, known, int(_rounded_logs(np.array([chosen]))[0]), UNIT)


def rule_of_cosine() -> Rule:
    """Return the rule of `cosine`."""
    return _similarity(lambda rows: np.ones(len(rows.keys)))


def rule_of_tf_idf(visited: Visited) -> Rule:
    """Return the rule of `tf_idf`."""
    having = np.zeros(visited.traces.event_count, dtype=np.int64)
    for _, rows in visited:
        np.add.at(having, rows.keys, 1)
    rarity = np.log(visited.traces.users / np.maximum(having, 1))
    return _similarity(lambda rows: rows.counts * rarity[rows.keys])


def matchers(split: Split, rules: Sequence[Rule], visited: Visited | None = None) -> Iterator[Matcher]:
    """Yield the matchers of several rules; events are counted once.

    Args:
        split: training and target.
        rules: of the algorithms.
        visited: the training's events, if they were counted before.

    Yields:
        a matcher for each, in order.

    Raises:
        DataError: if no user has an event in the target.
    """
    probes, table = Probes.of(split.target, events_of, lambda rows: [rule.asked(rows) for rule in rules])
    gathered = Known(table)
    # It lets go of it when it has all that it is for.
    del table
    for part, rows in visited or Visited(split.training):
        gathered.add(rows, [rule.known(part, rows) for rule in rules])
    known, lengths = [gathered.joined()], split.target.lengths[probes.users]
    for which, rule in enumerate(rules):
        yield Matcher(probes.problem(split.training.users, lengths * rule.floor, known, which), rule.unit)


def counted_visits(training: Traces) -> KeyCounts:
    """Return the visits of each user, counted by event."""
    return KeyCounts.of(training, events_of)


def _visit_weights(training: Traces, known: KeyCounts, floor: int) -> IntArray:
    return np.maximum(_rounded_logs(_shares(training, known)) - floor, 0)


def _shares(training: Traces, known: KeyCounts) -> FloatArray:
    return known.counts / np.repeat(training.lengths, np.diff(known.offsets))


def _counts(rows: KeyCounts) -> AnyArray:
    return rows.counts


def _floor(zero: float) -> int:
    return int(_rounded_logs(np.array([checked_between("zero", zero)]))[0])


def _similarity(weigh: Callable[[KeyCounts], FloatArray]) -> Rule:
    """Return the rule that scores by the cosine of weighted vectors; the unit is squared, as both are rounded."""

    def weights(rows: KeyCounts) -> IntArray:
        return rows.normalised(weigh(rows))

    return Rule(weights, lambda _, rows: weights(rows), 0, UNIT**2)


def _rounded_logs(probabilities: FloatArray) -> IntArray:
    return np.rint(np.log(probabilities) / UNIT).astype(np.int64)
