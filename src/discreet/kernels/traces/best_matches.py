"""The probability that each probe's own candidate scores best, from comparisons with that score alone.

One guess depends only on whether any candidate scores more than the probe's own one, and on the number with the same
score. As weights are positive, a probe is decided as soon as a candidate's partial sum exceeds the own candidate's
score, and the rest of it is skipped.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks
from discreet.kernels.traces.matching import Problem, rows_per_task

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

# With more additions than one for so many candidates, all sums are gone through; with fewer, a list of those begun.
_CROWDED = 8


def chances_of_own(problem: Problem, genuine: _Ints, *, threads: int | None = None) -> _Floats:
    """Return the probability that each probe's own candidate is named in one guess, ties broken at random.

    Args:
        problem: probes and candidates; scores are plain sums, not worths of reports.
        genuine: ``(m,)`` the score of each probe for its own candidate.
        threads: as in `map_blocks`.

    Returns:
        Probabilities, shape ``(m,)``: 0 where somebody scores more, else 1 over how many score as much.
    """
    chances, gains = np.empty(genuine.size), genuine - problem.constants

    def work(start: int, stop: int) -> None:
        _name(problem.index, problem.queries, (problem.candidates, gains), (start, stop), chances)

    map_blocks(work, genuine.size, block=rows_per_task(genuine.size), threads=threads)
    return chances


@compiled()
def _name(index: Any, queries: Any, people: Any, rows: Any, chances: _Floats) -> None:
    candidates, gains = people
    sums, touched = np.zeros(candidates, np.int64), np.empty(candidates + 1, np.int32)
    for probe in range(rows[0], rows[1]):
        additions = 0
        for q in range(queries[0][probe], queries[0][probe + 1]):
            additions += index[0][queries[1][q] + 1] - index[0][queries[1][q]]
        if additions * _CROWDED >= candidates:
            chances[probe] = _among_all(index, queries, probe, gains[probe], sums)
        else:
            chances[probe] = _among_touched(index, queries, probe, gains[probe], (sums, touched))


@compiled()
def _among_all(index: Any, queries: Any, probe: int, gain: int, sums: _Ints) -> float:
    offsets, owners, weights = index
    rows, features, counts = queries
    ties, beaten = 0, False
    for q in range(rows[probe], rows[probe + 1]):
        feature, count = features[q], np.int64(counts[q])
        for i in range(offsets[feature], offsets[feature + 1]):
            # Unsigned: it spares the check for negative indices.
            owner = np.uint32(owners[np.uint64(i)])
            after = sums[owner] + count * weights[np.uint64(i)]
            sums[owner] = after
            beaten |= after > gain
        if beaten:
            break
    for i in range(sums.size):
        ties += sums[i] == gain
        sums[i] = 0
    return 0.0 if beaten else 1.0 / ties


@compiled()
def _among_touched(index: Any, queries: Any, probe: int, gain: int, room: Any) -> float:
    offsets, owners, weights = index
    rows, features, counts = queries
    sums, touched = room
    found, ties, beaten = 0, 0, False
    for q in range(rows[probe], rows[probe + 1]):
        feature, count = features[q], np.int64(counts[q])
        for i in range(offsets[feature], offsets[feature + 1]):
            owner = owners[i]
            before = sums[owner]
            after = before + count * weights[i]
            # Always written, kept only if new: without a branch.
            touched[found] = owner
            found += before == 0
            sums[owner] = after
            beaten |= after > gain
        if beaten:
            break
    for i in range(found):
        ties += sums[touched[i]] == gain
        sums[touched[i]] = 0
    if beaten:
        return 0.0
    # Whoever shares nothing gained nothing.
    return 1.0 / (ties if gain > 0 else sums.size - found)
