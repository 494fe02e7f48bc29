"""Compiled kernels for pairs of a probe and a candidate: shortlists, and sums over common keys.

Rows are as in `events`: row i of an array is ``array[offsets[i]:offsets[i + 1]]``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks
from discreet.risk.kernels.events import rows_per_task

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.int32]
_Floats = NDArray[np.float32]
_Doubles = NDArray[np.float64]
Rows = tuple[_Ints, _Numbers, _Floats]
"""Offsets ``(rows + 1,)``, keys ``(m,)`` and weights, ``(m,)`` or ``(m, k)``."""

NOBODY = -1
"""Fills the end of a list that is shorter than others."""

_NEAR = 1 << 16
_TINY = 1e-300


def nearest(index: Rows, probes: Rows, candidates: int, most: int, budget: int) -> _Numbers:
    """Return the candidates with the largest sums of products of weights over keys in common with a probe.

    Keys are processed from the rarest on, while their total number of owners is within the budget. A key that most
    candidates have is hardly informative, and would cost the square of their number.

    Args:
        index: by key, ``(keys + 1,)`` offsets, the owners and their weights ``(m,)``, above 0.
        probes: rows with weights ``(m,)``, above 0.
        candidates: the number of candidates.
        most: the length of a list.
        budget: the number of owners to process for each probe.

    Returns:
        ``(probes, most)`` candidates in any order; `NOBODY` where fewer have a common key.
    """
    lists = np.full((probes[0].size - 1, most), NOBODY, np.int32)

    def search(start: int, stop: int) -> None:
        _nearest(index, probes, (candidates, budget), (start, stop), lists)

    map_blocks(search, len(lists), block=rows_per_task(len(lists)))
    return lists


def shared_sums(probes: Rows, candidates: Rows, lists: _Numbers, keys: int) -> _Floats:
    """Return the sums of products of weights over common keys of a probe and each candidate on its list.

    Args:
        probes: rows with weights ``(m, k)``.
        candidates: rows with weights ``(m, k)``.
        lists: ``(probes, l)`` candidates.
        keys: the number of different keys.

    Returns:
        Shape ``(probes, l, k)``; 0 for `NOBODY`.
    """
    sums = np.zeros((*lists.shape, probes[2].shape[1]), np.float32)

    def add(start: int, stop: int) -> None:
        _shared_sums(probes, candidates, (lists, keys), (start, stop), sums)

    map_blocks(add, len(lists), block=rows_per_task(len(lists)))
    return sums


def found_in_order(probes: tuple[_Ints, Any], candidates: tuple[_Ints, Any]) -> _Ints:
    """Return the ``(m, n)`` numbers of a probe's first events that a candidate's events contain in this order.

    Args:
        probes: ``(m + 1,)`` offsets and the events.
        candidates: ``(n + 1,)`` offsets and the events.
    """
    counts = np.empty((probes[0].size - 1, candidates[0].size - 1), np.int64)

    def search(start: int, stop: int) -> None:
        _found_in_order(probes, candidates, (start, stop), counts)

    map_blocks(search, len(counts), block=rows_per_task(len(counts)))
    return counts


def balanced(
    lists: _Numbers, weights: _Floats, columns: _Doubles, unlisted: tuple[_Floats, float]
) -> tuple[_Doubles, _Doubles]:
    """Return the factors that make each row of weighted lists sum to 1, and the resulting sum for each candidate.

    Args:
        lists: ``(m, l)`` candidates, or `NOBODY`.
        weights: ``(m, l)`` weights of these candidates.
        columns: ``(n,)`` factors of the candidates.
        unlisted: ``(m,)`` weights of users outside the list, and the sum of their factors.

    Returns:
        ``(m,)`` factors of the rows, and ``(n,)`` sums over the lists, each before the candidate's factor.
    """
    rows = np.empty(len(lists))

    def add(start: int, stop: int) -> _Doubles:
        sums = np.zeros(columns.size)
        _balanced((lists, weights), columns, unlisted, (start, stop), (rows, sums))
        return sums

    # Sums in double precision, one per candidate, for each of few tasks.
    return rows, sum(map_blocks(add, len(lists), block=max(-(-len(lists) // 4), 1)), np.zeros(columns.size))


def _balanced_plain(pairs: Any, columns: _Doubles, unlisted: Any, part: Any, out: Any) -> None:
    block, (everybody, total), (rows, sums) = slice(*part), unlisted, out
    lists, weights = (side[block] for side in pairs)
    weights = np.where(lists >= 0, weights, 0)
    mass = (weights * columns[lists]).sum(axis=1) + everybody[block] * total
    rows[block] = 1 / np.maximum(mass, _TINY)
    weighted = (weights * rows[block, None]).ravel()
    sums += np.bincount(np.maximum(lists, 0).ravel(), weighted, sums.size)


@compiled(plain=_balanced_plain)
def _balanced(pairs: Any, columns: _Doubles, unlisted: Any, part: Any, out: Any) -> None:
    lists, weights = pairs
    (everybody, total), (rows, sums) = unlisted, out
    for row in range(part[0], part[1]):
        mass = everybody[row] * total
        for place in range(lists.shape[1]):
            if lists[row, place] >= 0:
                mass += weights[row, place] * columns[lists[row, place]]
        rows[row] = 1 / max(mass, _TINY)
        for place in range(lists.shape[1]):
            if lists[row, place] >= 0:
                sums[lists[row, place]] += weights[row, place] * rows[row]


@compiled(steps=lambda _, probes, limits, *__: probes[0].size * min(limits))
def _nearest(index: Any, probes: Any, limits: Any, rows: Any, lists: _Numbers) -> None:
    offsets, _, _ = index
    starts, keys, asked = probes
    candidates, budget = limits
    # The sums of this number of candidates at a time fit into the cache.
    sums, touched, most = np.zeros(_NEAR), np.empty(_NEAR + 1, np.int32), lists.shape[1]
    # Possible entries of the list, some at a time: most candidates are below the smallest earlier entry.
    owners, values = np.empty(3 * most, np.int32), np.empty(3 * most)
    for probe in range(rows[0], rows[1]):
        row = keys[starts[probe] : starts[probe + 1]]
        sizes = offsets[row + 1] - offsets[row]
        order = np.argsort(sizes, kind="mergesort")
        order = order[: np.searchsorted(np.cumsum(sizes[order]), budget, side="right")]
        places, weights = offsets[row[order]], asked[starts[probe] + order]
        stops = places + sizes[order]
        count, least = 0, -np.inf
        for first in range(0, candidates, _NEAR):
            size = _add(index, (places, stops, weights), (first, sums), touched)
            for i in range(size):
                value = sums[touched[i]]
                sums[touched[i]] = 0
                if value > least:
                    if count == owners.size:
                        count, least = most, _keep_largest(owners, values, most)
                    owners[count], values[count] = first + touched[i], value
                    count += 1
        if count > most:
            _keep_largest(owners[:count], values[:count], most)
        lists[probe, : min(count, most)] = owners[: min(count, most)]


@compiled()
def _add(index: Any, asked: Any, sums: Any, touched: _Numbers) -> int:
    """Add the products of common keys with a probe to the candidates' sums; return the number of candidates."""
    _, owners, weights = index
    (places, stops, amounts), (first, sums) = asked, sums
    count = 0
    for key in range(places.size):
        place, stop, amount = places[key], stops[key], amounts[key]
        while place < stop and owners[place] < first + sums.size:
            owner = owners[place] - first
            # Always written, but kept only if new, without a branch.
            touched[count] = owner
            count += sums[owner] == 0
            sums[owner] += amount * weights[place]
            place += 1
        places[key] = place
    return count


@compiled()
def _keep_largest(owners: _Numbers, values: _Doubles, most: int) -> float:
    """Move the largest values to the front, the first ones of equal values, and return the smallest of them."""
    least: float = np.partition(values, values.size - most)[values.size - most]
    equal, place = most - np.count_nonzero(values > least), 0
    for i in range(values.size):
        if values[i] > least or (values[i] == least and equal > 0):
            equal -= values[i] == least
            owners[place], values[place] = owners[i], values[i]
            place += 1
    return least


@compiled(steps=lambda probes, candidates, *_: (probes[0].size - 1) * candidates[1].size)
def _found_in_order(probes: Any, candidates: Any, rows: Any, counts: _Ints) -> None:
    (starts, asked), (offsets, known) = probes, candidates
    for probe in range(rows[0], rows[1]):
        for candidate in range(offsets.size - 1):
            place = starts[probe]
            for i in range(offsets[candidate], offsets[candidate + 1]):
                if place < starts[probe + 1] and known[i] == asked[place]:
                    place += 1
            counts[probe, candidate] = place - starts[probe]


@compiled()
def _shared_sums(probes: Any, candidates: Any, pairs: Any, rows: Any, sums: Any) -> None:
    starts, asked_keys, asked = probes
    offsets, known_keys, known = candidates
    lists, keys = pairs
    places = np.full(keys, -1, np.int64)
    for probe in range(rows[0], rows[1]):
        for q in range(starts[probe], starts[probe + 1]):
            places[asked_keys[q]] = q
        for place in range(lists.shape[1]):
            candidate = lists[probe, place]
            if candidate < 0:
                continue
            for i in range(offsets[candidate], offsets[candidate + 1]):
                q = places[known_keys[i]]
                if q >= 0:
                    for k in range(asked.shape[1]):
                        sums[probe, place, k] += asked[q, k] * known[i, k]
        for q in range(starts[probe], starts[probe + 1]):
            places[asked_keys[q]] = -1
