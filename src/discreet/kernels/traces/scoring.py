"""Compiled kernels of scores: one probe at a time, its weighted features summed over the candidates that own them.

They take the arrays of a `matching.Problem` in the order of its ``parts``, and room for one task.
"""

from math import log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.traces.bins import SHIFT_BITS

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.integer[Any]]
_Floats = NDArray[np.float64]

# With more additions than one for so many candidates, all sums are gone through; with fewer, a list of those begun.
_CROWDED = 2
_EVERYBODY = -1


@compiled()
def locate(scores: _Ints, found: int, bins: Any, places: _Numbers) -> None:
    """Return, for each score, twice the number of thresholds below it, plus 1 if it is one.

    In one piece for all of them: a call per score, of a function that takes arrays, would cost more than the search.
    Without a branch where a cell has at most one threshold, and unsigned, which spares the check for negative indices.
    """
    thresholds, (least, most), first, coarse, shift = bins
    for i in range(found):
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
    """Add the weighted features of one row to their owners' sums; return the number of owners with a first entry."""
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
    sums, touched, seen, here = room[:4]
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
def _add_crowd(parts: Any, probe: int, room: Any) -> int:
    """Add one probe's weights; return the number of listed candidates, or `_EVERYBODY` if most have some."""
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
            # Unsigned: it spares the check for negative indices.
            sums[np.uint32(owners[np.uint64(i)])] += count * weights[np.uint64(i)]
    return _EVERYBODY


@compiled()
def _take(room: Any, found: int, floor: int) -> int:
    """Write the scores of candidates with a sum, then the floor; clear the sums; return the number of scores.

    Args:
        room: of the task.
        found: as many are listed, or `_EVERYBODY`.
        floor: of the probe.
    """
    sums, touched, scores = room[0], room[1], room[5]
    taken = 0
    if found == _EVERYBODY:
        for i in range(sums.size):
            scores[taken] = floor + sums[i]
            taken += sums[i] > 0
            sums[i] = 0
    else:
        for i in range(found):
            scores[taken] = floor + sums[touched[i]]
            taken += sums[touched[i]] > 0
            sums[touched[i]] = 0
    scores[taken] = floor
    return taken


@compiled()
def _room(candidates: int) -> Any:
    # One place more than there are candidates: the last one written may be thrown away.
    sums, touched, places = (
        np.zeros(candidates, np.int64),
        np.empty(candidates + 1, np.int32),
        np.empty(candidates + 1, np.int32),
    )
    seen, here, scores = (
        np.zeros(candidates, np.int64),
        np.empty(candidates + 1, np.int32),
        np.empty(candidates + 1, np.int64),
    )
    return sums, touched, seen, here, places, scores


@compiled()
def rank_probes(parts: Any, people: Any, bins: Any, rows: Any, out: Any) -> None:
    """Rank the probes' own candidates, and count the scores of all others by bin."""
    users, candidates, genuine = people
    greater, ties, counts = out
    room = _room(candidates)
    sums, places, scores = room[0], room[4], room[5]
    for probe in range(rows[0], rows[1]):
        found, own, floor = _add_crowd(parts, probe, room), genuine[probe], parts[0][probe]
        # Oneself is nobody else: gains nothing, and is not among the rest either.
        sums[users[probe]], above, equal = 0, 0, 1
        others = _take(room, found, floor)
        locate(scores, others + 1, bins, places)
        for i in range(others):
            above += scores[i] > own
            equal += scores[i] == own
            counts[np.uint32(places[i])] += 1
        rest = candidates - 1 - others
        counts[places[others]] += rest
        greater[probe] = above + rest * (floor > own)
        ties[probe] = equal + rest * (floor == own)


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
