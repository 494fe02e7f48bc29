"""Scores of every probe for every candidate, worked through one probe at a time and never stored.

What is known of the candidates is an *index*: for every feature, who has it and with what weight. A *probe* lists
features and counts. The score of a probe for a candidate, in integers, is

    constant[probe] + sum over its features of count[probe, feature] * weight[candidate, feature],

so a candidate who has none of the probe's features scores its constant, the *floor*, and all of these are counted at
once. Weights and counts are at least 1.

Reports about values are matched by likelihood: the features of one *report* are the values that it may stand for, the
weights are how often a candidate was seen there, and the sum t, out of the candidate's total, is worth
ln(1 + contrast t / total), or ln(t / total / floor) for a report in clear (contrast 0), in the units given. A probe
then is several reports, whose worths add up.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.integer[Any]]
_Floats = NDArray[np.float64]

# A task has sums and counts of its own, so there are few of them; their number does not depend on the threads.
_MOST_TASKS = 64
_LEAST_ROWS = 64
_COARSE_BITS = 12
_CELLS_PER_THRESHOLD = 4


def _none(dtype: type) -> Callable[[], NDArray[Any]]:
    return lambda: np.empty(0, dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Probes, candidates and what they share.

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
        """Everything that a kernel needs, as it takes it."""
        worth = self.reports, self.contrasts, self.totals, self.floor, self.scale
        return self.constants, self.index, self.queries, worth


def scores_of_pairs(problem: Problem, probes: _Ints, owners: _Ints, *, threads: int | None = None) -> _Ints:
    """Scores single pairs.

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
        _score_pairs(problem.parts, probes[start:stop], owners[start:stop], scores[start:stop])

    map_blocks(score, probes.size, block=rows_per_task(probes.size), threads=threads)
    return scores


def rank(
    problem: Problem, genuine: _Ints, thresholds: _Ints, pairs: tuple[_Ints, _Ints], *, threads: int | None = None
) -> tuple[_Ints, _Ints, _Ints, _Ints]:
    """Compares every probe's own candidate with all the others.

    Args:
        problem: probes and candidates.
        genuine: ``(m,)`` the score of each probe for its own candidate.
        thresholds: ``(k,)`` different scores, ascending.
        pairs: ``(p,)`` probes and ``(p,)`` other candidates whose scores are to be kept.
        threads: as in `map_blocks`.

    Returns:
        ``(m,)`` how many others score more, ``(m,)`` how many score the same, oneself included, ``(2 k + 1,)``
        counts of the other candidates' scores: below the first threshold, equal to it, between it and the second,
        and so on; and the ``(p,)`` scores of the pairs.
    """
    bins, people = _Bins.of(thresholds).parts, (problem.users, problem.candidates, genuine)
    greater, ties = np.empty(genuine.size, np.int64), np.empty(genuine.size, np.int64)
    total, lock = np.zeros(2 * thresholds.size + 1, np.int64), threading.Lock()
    order = np.argsort(pairs[0], kind="stable")
    asked = np.searchsorted(pairs[0][order], np.arange(genuine.size + 1)), pairs[1][order], order
    kept = np.empty(order.size, np.int64)

    def work(start: int, stop: int) -> None:
        counts = np.zeros_like(total)
        _rank(problem.parts, people, (bins, asked), (start, stop), (greater, ties, counts, kept))
        with lock:
            # Integers: the order of the tasks does not matter.
            np.add(total, counts, out=total)

    map_blocks(work, genuine.size, block=rows_per_task(genuine.size), threads=threads)
    return greater, ties, total, kept


def sum_steps(problem: Problem, thresholds: _Ints, values: _Floats, *, threads: int | None = None) -> _Floats:
    """Sums a step function of the scores over all candidates.

    Args:
        problem: probes and candidates.
        thresholds: ``(k,)`` different scores, ascending.
        values: ``(k + 1,)``; value i is that of scores from threshold i - 1 on and below threshold i.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(m,)``.
    """
    bins, sums = _Bins.of(thresholds).parts, np.empty(problem.users.size)

    def work(start: int, stop: int) -> None:
        _sum_steps(problem.parts, problem.candidates, (bins, values), (start, stop), sums)

    map_blocks(work, sums.size, block=rows_per_task(sums.size), threads=threads)
    return sums


def rows_per_task(rows: int) -> int:
    """Returns how many probes one task takes; it does not depend on the threads."""
    return max(-(-rows // _MOST_TASKS), _LEAST_ROWS)


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """Thresholds, and where to begin to look for a score among them.

    Coarse cells are equally wide, and each is cut into the more fine ones, the more thresholds it has, since nobody
    knows where scores crowd: log-likelihoods do at one end, likelihood ratios at the other.

    Attributes:
        thresholds: ``(k,)``.
        first: the first threshold from the beginning of each fine cell on, and one entry more.
        coarse: ``(2, c)`` the first fine cell of each coarse one, and by how many bits these are narrower.
        shift: a coarse cell is 2^shift wide.
    """

    thresholds: _Ints
    first: _Numbers
    coarse: _Ints
    shift: int

    @classmethod
    def of(cls, thresholds: _Ints) -> "_Bins":
        if not thresholds.size:
            return cls(thresholds, np.zeros(2, np.int32), np.zeros((2, 1), np.int64), 0)
        above = thresholds - thresholds[0]
        shift = max(int(above[-1]).bit_length() - _COARSE_BITS, 0)
        inside = np.bincount(above >> shift)
        # bit_length of how many fine cells there should be, which are not narrower than 1.
        bits = np.minimum(np.ceil(np.log2(np.maximum(_CELLS_PER_THRESHOLD * inside, 1))).astype(np.int64), shift)
        starts = np.concatenate([[0], np.cumsum(1 << bits)])
        fine = np.arange(starts[-1]) - np.repeat(starts[:-1], 1 << bits)
        begins = np.repeat(np.arange(inside.size) << shift, 1 << bits) + (fine << np.repeat(shift - bits, 1 << bits))
        first = np.append(np.searchsorted(above, begins), thresholds.size).astype(np.int32)
        return cls(thresholds, first, np.stack([starts[:-1], shift - bits]), shift)

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.thresholds, self.first, self.coarse, self.shift


@compiled()
def _locate(room: Any, found: int, floor: int, bins: Any) -> None:
    """Find, for everybody touched and for the floor, twice the thresholds below the score, plus 1 if it is one.

    In one piece for all of them: a call per score, of a function that takes arrays, would cost more than the search.
    """
    thresholds, first, coarse, shift = bins
    sums, touched, _, _, places = room
    for i in range(found + 1):
        score = floor + (sums[touched[i]] if i < found else 0)
        if thresholds.size == 0 or score < thresholds[0]:
            places[i] = 0
        elif score > thresholds[-1]:
            places[i] = 2 * thresholds.size
        else:
            above = score - thresholds[0]
            wide = above >> shift
            cell = coarse[0, wide] + ((above - (wide << shift)) >> coarse[1, wide])
            low, high = first[cell], first[cell + 1]
            while low < high:
                middle = (low + high) >> 1
                if thresholds[middle] < score:
                    low = middle + 1
                else:
                    high = middle
            places[i] = 2 * low + (low < thresholds.size and thresholds[low] == score)


@compiled()
def _add_row(index: Any, queries: Any, row: int, sums: _Ints, touched: _Numbers) -> int:
    """Add the features of one row up, for everybody who has one of them; return how many these are."""
    offsets, owners, weights = index
    rows, features, counts = queries
    found = 0
    for q in range(rows[row], rows[row + 1]):
        feature = features[q]
        count = np.int64(counts[q])
        for i in range(offsets[feature], offsets[feature + 1]):
            owner = owners[i]
            before = sums[owner]
            # Always written, kept only if new: without a branch.
            touched[found] = owner
            found += before == 0
            sums[owner] = before + count * weights[i]
    return found


@compiled()
def _worth(seen: int, total: int, contrast: float, floor: float, scale: float) -> int:
    share = seen / total
    if contrast > 0.0:
        return round(log1p(contrast * share) * scale)
    # As a difference of rounded numbers, so that the floor cancels exactly.
    return round(log(max(share, floor)) * scale) - round(log(floor) * scale)


@compiled()
def _add_reports(parts: Any, probe: int, room: Any) -> int:
    _, index, queries, worth = parts
    reports, contrasts, totals, floor, scale = worth
    sums, touched, seen, here, _ = room
    found = 0
    for report in range(reports[probe], reports[probe + 1]):
        for i in range(_add_row(index, queries, report, seen, here)):
            owner = here[i]
            gain = _worth(seen[owner], totals[owner], contrasts[report], floor, scale)
            seen[owner] = 0
            if gain > 0:
                touched[found] = owner
                found += sums[owner] == 0
                sums[owner] += gain
    return found


@compiled()
def _add_probe(parts: Any, probe: int, room: Any) -> int:
    if parts[3][0].size:
        return _add_reports(parts, probe, room)
    return _add_row(parts[1], parts[2], probe, room[0], room[1])


@compiled()
def _room(candidates: int) -> Any:
    # One place more than there are candidates: the last one written may be thrown away.
    sums, touched, places = (
        np.zeros(candidates, np.int64),
        np.empty(candidates + 1, np.int32),
        np.empty(candidates + 1, np.int32),
    )
    return sums, touched, np.zeros(candidates, np.int64), np.empty(candidates + 1, np.int32), places


@compiled()
def _rank(parts: Any, people: Any, asked: Any, rows: Any, out: Any) -> None:
    users, candidates, genuine = people
    bins, (starts, owners, order) = asked
    greater, ties, counts, kept = out
    room = _room(candidates)
    sums, touched, places = room[0], room[1], room[4]
    for probe in range(rows[0], rows[1]):
        found, own, floor = _add_probe(parts, probe, room), genuine[probe], parts[0][probe]
        for i in range(starts[probe], starts[probe + 1]):
            kept[order[i]] = floor + sums[owners[i]]
        sums[users[probe]], above, equal, others = 0, 0, 1, 0
        _locate(room, found, floor, bins)
        for i in range(found):
            gain = sums[touched[i]]
            sums[touched[i]] = 0
            # Nothing is gained by oneself only, who was set to 0 above.
            if gain > 0:
                others += 1
                above += floor + gain > own
                equal += floor + gain == own
                counts[places[i]] += 1
        rest = candidates - 1 - others
        counts[places[found]] += rest
        greater[probe] = above + rest * (floor > own)
        ties[probe] = equal + rest * (floor == own)


@compiled()
def _sum_steps(parts: Any, candidates: int, steps: Any, rows: Any, totals: _Floats) -> None:
    bins, values = steps
    room = _room(candidates)
    sums, touched, places = room[0], room[1], room[4]
    for probe in range(rows[0], rows[1]):
        found = _add_probe(parts, probe, room)
        _locate(room, found, parts[0][probe], bins)
        total = (candidates - found) * values[(places[found] + 1) >> 1]
        for i in range(found):
            total += values[(places[i] + 1) >> 1]
            sums[touched[i]] = 0
        totals[probe] = total


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
def _score_pairs(parts: Any, probes: _Ints, owners: _Ints, scores: _Ints) -> None:
    constants, index, queries, worth = parts
    reports, contrasts, totals, floor, scale = worth
    for i in range(probes.size):
        probe, owner = probes[i], owners[i]
        scores[i] = constants[probe]
        if not reports.size:
            scores[i] += _sum_of_pair(index, queries, probe, owner)
            continue
        for report in range(reports[probe], reports[probe + 1]):
            seen = _sum_of_pair(index, queries, report, owner)
            if seen:
                scores[i] += max(_worth(seen, totals[owner], contrasts[report], floor, scale), 0)
