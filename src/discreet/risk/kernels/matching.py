"""Compiled kernels that match traces: scores of all pairs, which are counted at once and never stored.

The kernels take the arrays of a `matching.Problem` in the order of its ``parts``, and the arrays of one task. They
process one probe at a time, and sum its weighted features over the candidates with these features. An index of
thresholds finds the threshold for a score.

The *index* of the candidates lists, for every feature, its owners and their weights. A *probe* lists features and
counts. The score of a probe for a candidate, in integers, is

    constant[probe] + sum over its features of count[probe, feature] * weight[candidate, feature],

so a candidate without any of the probe's features scores its constant, the *floor*, and all such candidates are counted
together. Weights and counts are at least 1.

Reports are matched by likelihood: the features of one *report* are the values in its block, and the weights are a
candidate's visits to them. Their sum t gives the score ln(1 + contrast t / total), in units, with a total for each
candidate. A probe is then several reports, whose scores add up.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.integer[Any]]

SHIFT_BITS = 6
"""A coarse cell is its first fine cell and, in this number of lowest bits, the difference in width to fine cells."""

_COARSE_BITS = 12
_CELLS_PER_THRESHOLD = 4


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Thresholds with an index that finds the threshold for a score.

    Coarse cells are equally wide. Each is cut into fine cells in proportion to its thresholds, because scores may be
    dense
    anywhere: log-likelihoods at one end, likelihood ratios at the other.

    Attributes:
        thresholds: ``(k + 1,)``; the last one is an upper bound on scores.
        ends: the first and the last threshold.
        first: index of the first threshold at or after the start of each fine cell, and one entry more.
        coarse: ``(c,)`` the first fine cell of each coarse one, and the number of bits by which fine ones are narrower.
        shift: binary logarithm of the width of a coarse cell.
    """

    thresholds: _Ints
    ends: tuple[int, int]
    first: _Numbers
    coarse: _Ints
    shift: int

    @classmethod
    def of(cls, thresholds: _Ints) -> "Bins":
        """Return the index of ``(k,)`` ascending thresholds."""
        closed = np.append(thresholds, np.iinfo(np.int64).max)
        if not thresholds.size:
            return cls(closed, (0, 0), np.zeros(2, np.int32), np.zeros(1, np.int64), 0)
        above = thresholds - thresholds[0]
        shift = max(int(above[-1]).bit_length() - _COARSE_BITS, 0)
        inside = np.bincount(above >> shift)
        # The bit length of the number of fine cells, which are at least 1 wide.
        bits = np.minimum(np.ceil(np.log2(np.maximum(_CELLS_PER_THRESHOLD * inside, 1))).astype(np.int64), shift)
        starts = np.concatenate([[0], np.cumsum(1 << bits)])
        fine = np.arange(starts[-1]) - np.repeat(starts[:-1], 1 << bits)
        begins = np.repeat(np.arange(inside.size) << shift, 1 << bits) + (fine << np.repeat(shift - bits, 1 << bits))
        first = np.append(np.searchsorted(above, begins), thresholds.size).astype(np.int32)
        ends = int(thresholds[0]), int(thresholds[-1])
        return cls(closed, ends, first, starts[:-1] << SHIFT_BITS | (shift - bits), shift)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays in the order of the kernels' arguments."""
        return self.thresholds, self.ends, self.first, self.coarse, self.shift


_Floats = NDArray[np.float64]

# With more additions than one per this number of candidates, all sums are read; with fewer, a list of those in use.
_CROWDED = 2
_EVERYBODY = -1


@compiled()
def locate(scores: _Ints, count: int, bins: Any, places: _Numbers) -> None:
    """Write, for each score, twice the number of thresholds below it, plus 1 if it equals a threshold.

    One function for all scores, because a call per score with array arguments would cost more than the search. It has
    no branch where a cell has at most one threshold, and unsigned indices, which need no check for negative ones.
    """
    thresholds, (least, most), first, coarse, shift = bins
    for i in range(count):
        score = scores[i]
        above = min(max(score, least), most) - least
        wide = above >> shift
        begin = coarse[np.uint64(wide)]
        cell = np.uint64((begin >> SHIFT_BITS) + ((above - (wide << shift)) >> (begin & ((1 << SHIFT_BITS) - 1))))
        low = np.uint64(first[cell])
        low += np.uint64(thresholds[low] < score)
        if thresholds[low] < score:
            high = np.uint64(first[cell + np.uint64(1)])
            while low < high:
                middle = (low + high) >> np.uint64(1)
                if thresholds[middle] < score:
                    low = middle + np.uint64(1)
                else:
                    high = middle
        places[i] = np.uint64(2) * low + np.uint64(thresholds[low] == score)


@compiled()
def _add_row(index: Any, queries: Any, row: int, sums: _Ints, touched: _Numbers) -> int:
    """Add the weighted features of one row to their owners' sums; return the number of owners with a new sum."""
    offsets, owners, weights = index
    rows, features, counts = queries
    new = 0
    for q in range(rows[row], rows[row + 1]):
        feature = features[q]
        count = np.int64(counts[q])
        for i in range(offsets[feature], offsets[feature + 1]):
            owner = owners[i]
            before = sums[owner]
            # Always written, but kept only if new, without a branch.
            touched[new] = owner
            new += before == 0
            sums[owner] = before + count * weights[i]
    return new


@compiled()
def _worth(hits: int, total: float, contrast: float, scale: float) -> int:
    return round(log1p(contrast * (hits / total)) * scale)


@compiled()
def _add_reports(parts: Any, probe: int, room: Any) -> int:
    _, index, queries, worth = parts
    reports, contrasts, totals, scale = worth
    sums, touched, hits, here = room[:4]
    count = 0
    for report in range(reports[probe], reports[probe + 1]):
        for i in range(_add_row(index, queries, report, hits, here)):
            owner = here[i]
            gain = _worth(hits[owner], totals[owner], contrasts[report], scale)
            hits[owner] = 0
            if gain > 0:
                touched[count] = owner
                count += sums[owner] == 0
                sums[owner] += gain
    return count


@compiled()
def _add_probe(parts: Any, probe: int, room: Any) -> int:
    if parts[3][0].size:
        return _add_reports(parts, probe, room)
    return _add_row(parts[1], parts[2], probe, room[0], room[1])


@compiled()
def _add_crowd(parts: Any, probe: int, room: Any) -> int:
    """Add one probe's weights; return the number of listed candidates, or `_EVERYBODY` if most have a sum."""
    offsets, owners, weights = parts[1]
    rows, features, counts = parts[2]
    sums, additions = room[0], 0
    if not parts[3][0].size:
        for q in range(rows[probe], rows[probe + 1]):
            additions += offsets[features[q] + 1] - offsets[features[q]]
    if additions * _CROWDED < sums.size:
        return _add_probe(parts, probe, room)
    for q in range(rows[probe], rows[probe + 1]):
        feature, count = features[q], np.int64(counts[q])
        for i in range(offsets[feature], offsets[feature + 1]):
            # Unsigned, which needs no check for negative indices.
            sums[np.uint32(owners[np.uint64(i)])] += count * weights[np.uint64(i)]
    return _EVERYBODY


@compiled()
def _take(room: Any, crowd: int, floor: int) -> int:
    """Write the scores of candidates with a sum, then the floor; clear the sums; return the number of scores.

    Args:
        room: the arrays of the task.
        crowd: the number of listed candidates, or `_EVERYBODY`.
        floor: the probe's score for candidates without a sum.
    """
    sums, touched, scores = room[0], room[1], room[5]
    count = 0
    if crowd == _EVERYBODY:
        for i in range(sums.size):
            scores[count] = floor + sums[i]
            count += sums[i] > 0
            sums[i] = 0
    else:
        for i in range(crowd):
            scores[count] = floor + sums[touched[i]]
            count += sums[touched[i]] > 0
            sums[touched[i]] = 0
    scores[count] = floor
    return count


@compiled()
def _room(candidates: int) -> Any:
    # One more place than candidates, because the last entry written may be dropped.
    sums, touched, places = (
        np.zeros(candidates, np.int64),
        np.empty(candidates + 1, np.int32),
        np.empty(candidates + 1, np.int32),
    )
    hits, here, scores = (
        np.zeros(candidates, np.int64),
        np.empty(candidates + 1, np.int32),
        np.empty(candidates + 1, np.int64),
    )
    return sums, touched, hits, here, places, scores


@compiled(steps=lambda _, people, *__: people[0].size * people[1])
def rank_probes(parts: Any, people: Any, bins: Any, rows: Any, out: Any) -> None:
    """Rank the probes' own candidates, and count the scores of all others by bin."""
    users, candidates, genuine = people
    greater, ties, counts = out
    room = _room(candidates)
    sums, places, scores = room[0], room[4], room[5]
    for probe in range(rows[0], rows[1]):
        crowd, true_score, floor = _add_crowd(parts, probe, room), genuine[probe], parts[0][probe]
        # The right user is not among the others: it gains nothing, and does not count in the rest.
        sums[users[probe]], above, equal = 0, 0, 1
        others = _take(room, crowd, floor)
        locate(scores, others + 1, bins, places)
        for i in range(others):
            above += scores[i] > true_score
            equal += scores[i] == true_score
            counts[np.uint32(places[i])] += 1
        rest = candidates - 1 - others
        counts[places[others]] += rest
        greater[probe] = above + rest * (floor > true_score)
        ties[probe] = equal + rest * (floor == true_score)


@compiled()
def _sum_of_pair(index: Any, queries: Any, row: int, owner: int) -> int:
    offsets, owners, weights = index
    rows, features, counts = queries
    total = 0
    for q in range(rows[row], rows[row + 1]):
        feature = features[q]
        low, high = offsets[feature], offsets[feature + 1]
        while low < high:
            middle = (low + high) >> 1
            if owners[middle] < owner:
                low = middle + 1
            else:
                high = middle
        if low < offsets[feature + 1] and owners[low] == owner:
            total += counts[q] * np.int64(weights[low])
    return total


@compiled()
def score_pairs(parts: Any, probes: _Ints, owners: _Ints, scores: _Ints) -> None:
    """Write the scores of pairs of a probe and a candidate."""
    constants, index, queries, worth = parts
    reports, contrasts, totals, scale = worth
    for i in range(probes.size):
        probe, owner = probes[i], owners[i]
        scores[i] = constants[probe]
        if not reports.size:
            scores[i] += _sum_of_pair(index, queries, probe, owner)
            continue
        for report in range(reports[probe], reports[probe + 1]):
            hits = _sum_of_pair(index, queries, report, owner)
            if hits:
                scores[i] += _worth(hits, totals[owner], contrasts[report], scale)


# Every task has its own sums and counts, so there are few tasks; their number does not depend on the threads.
_MOST_TASKS = 64
_LEAST_ROWS = 64


def _none(dtype: type) -> Callable[[], NDArray[Any]]:
    return lambda: np.empty(0, dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A matching problem in integers: probes, candidates and their features.

    Attributes:
        users: ``(m,)`` the candidate to whom each probe belongs.
        candidates: n.
        constants: ``(m,)`` the floor of each probe.
        index: offsets ``(features + 1,)``, owners int32, ascending for each feature, and weights.
        queries: offsets ``(m + 1,)`` (or one row per report), features int32, and counts.
        reports: offsets ``(m + 1,)`` of each probe's reports; empty if scores are plain sums.
        contrasts: one per report.
        totals: ``(n,)`` divisors for each candidate's sums; with reports only.
        scale: units per nat; with reports only.
    """

    users: _Ints
    candidates: int
    constants: _Ints
    index: tuple[_Ints, _Numbers, _Numbers]
    queries: tuple[_Ints, _Numbers, _Numbers]
    reports: _Ints = field(default_factory=_none(np.int64))
    contrasts: _Floats = field(default_factory=_none(np.float64))
    totals: _Floats = field(default_factory=_none(np.float64))
    scale: float = 1.0

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays in the order of the kernels' arguments."""
        worth = self.reports, self.contrasts, self.totals, self.scale
        return self.constants, self.index, self.queries, worth

    @property
    def additions(self) -> _Ints:
        """``(m,)`` total numbers of owners of each probe's features, where scores are plain sums."""
        (starts, *_), (rows, features, _) = self.index, self.queries
        return np.diff(np.append(0, np.cumsum(np.diff(starts)[features]))[rows])

    def of_probes(self, chosen: _Ints) -> "Problem":
        """Return the problem for some of the probes, by ascending index, where scores are plain sums."""
        rows, features, counts = self.queries
        lengths = np.diff(rows)
        entries = np.repeat(np.isin(np.arange(lengths.size), chosen), lengths)
        queries = np.append(0, np.cumsum(lengths[chosen])), features[entries], counts[entries]
        return replace(self, users=self.users[chosen], constants=self.constants[chosen], queries=queries)


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
        ``(m,)`` numbers of others with a higher score, ``(m,)`` numbers with the same score, including the own
        candidate, and ``(2 k + 1,)`` counts of the other candidates' scores: below the first threshold, equal to it,
        between it and the second, and so on.
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
    """Return the number of probes per task; it does not depend on the number of threads."""
    return max(-(-rows // _MOST_TASKS), _LEAST_ROWS)
