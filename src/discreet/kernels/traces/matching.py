"""Scores of every probe for every candidate, computed one probe at a time and never stored.

The *index* of the candidates lists, for every feature, its owners and their weights. A *probe* lists features and
counts. The score of a probe for a candidate, in integers, is

    constant[probe] + sum over its features of count[probe, feature] * weight[candidate, feature],

so a candidate who has none of the probe's features scores its constant, the *floor*, and all of these are counted at
once. Weights and counts are at least 1.

Reports are matched by likelihood: the features of one *report* are the values in its block, the weights are a
candidate's visits to them, and the sum t of these scores ln(1 + contrast t / total), total the candidate's visits, or
ln(t / total / floor) for a report in clear (contrast 0), in units. A probe is then several reports, whose scores add
up.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.parallel import map_blocks
from discreet.kernels.traces.bins import Bins
from discreet.kernels.traces.scoring import rank_probes, score_pairs

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.integer[Any]]
_Floats = NDArray[np.float64]

# A task has sums and counts of its own, so there are few of them; their number does not depend on the threads.
_MOST_TASKS = 64
_LEAST_ROWS = 64


def _none(dtype: type) -> Callable[[], NDArray[Any]]:
    return lambda: np.empty(0, dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A matching problem in integers: probes, candidates and their features.

    Attributes:
        users: ``(m,)`` the candidate whose probe it is.
        candidates: n.
        constants: ``(m,)`` the floor of each probe.
        index: offsets ``(features + 1,)``, owners int32, ascending for each feature, and weights.
        queries: offsets ``(m + 1,)`` (or one row per report), features int32, and counts.
        reports: offsets ``(m + 1,)`` of each probe's reports; empty if scores are plain sums.
        contrasts: one per report; see the module.
        totals: ``(n,)`` events known of each candidate; with reports only.
        floor: the least probability; with reports only.
        scale: units per nat; with reports only.
    """

    users: _Ints
    candidates: int
    constants: _Ints
    index: tuple[_Ints, _Numbers, _Numbers]
    queries: tuple[_Ints, _Numbers, _Numbers]
    reports: _Ints = field(default_factory=_none(np.int64))
    contrasts: _Floats = field(default_factory=_none(np.float64))
    totals: _Ints = field(default_factory=_none(np.int64))
    floor: float = 1.0
    scale: float = 1.0

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays in the order in which kernels take them."""
        worth = self.reports, self.contrasts, self.totals, self.floor, self.scale
        return self.constants, self.index, self.queries, worth


def scores_of_pairs(problem: Problem, probes: _Ints, owners: _Ints, *, threads: int | None = None) -> _Ints:
    """Return the scores of pairs of a probe and a candidate.

    Args:
        problem: probes and candidates.
        probes: shape ``(k,)``.
        owners: shape ``(k,)``, candidates.
        threads: as in `map_blocks`.

    Returns:
        Scores, shape ``(k,)``.
    """
    scores = np.empty(probes.size, np.int64)

    def score(start: int, stop: int) -> None:
        score_pairs(problem.parts, probes[start:stop], owners[start:stop], scores[start:stop])

    map_blocks(score, probes.size, block=rows_per_task(probes.size), threads=threads)
    return scores


def genuine_scores(problem: Problem, *, threads: int | None = None) -> _Ints:
    """Return the ``(m,)`` scores of the probes for their own candidates."""
    return scores_of_pairs(problem, np.arange(problem.users.size), problem.users, threads=threads)


def rank(
    problem: Problem, genuine: _Ints, thresholds: _Ints, *, threads: int | None = None
) -> tuple[_Ints, _Ints, _Ints]:
    """Return the ranks of the probes' own candidates, and counts of the other candidates' scores.

    Args:
        problem: probes and candidates.
        genuine: ``(m,)`` the score of each probe for its own candidate.
        thresholds: ``(k,)`` different scores, ascending.
        threads: as in `map_blocks`.

    Returns:
        ``(m,)`` how many others score more, ``(m,)`` how many score the same, oneself included, and ``(2 k + 1,)``
        counts of the other candidates' scores: below the first threshold, equal to it, between it and the second,
        and so on.
    """
    bins, people = Bins.of(thresholds).parts, (problem.users, problem.candidates, genuine)
    greater, ties = np.empty(genuine.size, np.int64), np.empty(genuine.size, np.int64)
    total, lock = np.zeros(2 * thresholds.size + 1, np.int64), threading.Lock()

    def work(start: int, stop: int) -> None:
        counts = np.zeros_like(total)
        rank_probes(problem.parts, people, bins, (start, stop), (greater, ties, counts))
        with lock:
            # Integers: the order of the tasks does not matter.
            np.add(total, counts, out=total)

    map_blocks(work, genuine.size, block=rows_per_task(genuine.size), threads=threads)
    return greater, ties, total


def rows_per_task(rows: int) -> int:
    """Return the number of probes per task; it does not depend on the threads."""
    return max(-(-rows // _MOST_TASKS), _LEAST_ROWS)
