"""Compiled kernels of pairs of a probe and a candidate: shortlists, and sums over what both of them have.

Rows are those of `events`: row i of an array is ``array[offsets[i]:offsets[i + 1]]``.
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
"""Fills a list that is shorter than others."""

_NEAR = 1 << 16
_TINY = 1e-300


def nearest(index: Rows, probes: Rows, candidates: int, most: int, budget: int) -> _Numbers:
    """Return the candidates with the largest sums of products of weights over the keys that they share with a probe.

    Keys are gone through from the rarest on, as long as they have no more owners together than the budget: what most
    candidates have tells little, and would cost the square of their number.

    Args:
        index: by key, ``(keys + 1,)`` offsets, the owners and their weights ``(m,)``, above 0.
        probes: rows with weights ``(m,)``, above 0.
        candidates: their number.
        most: length of a list.
        budget: owners looked at for each probe.

    Returns:
        ``(probes, most)`` candidates in any order, `NOBODY` where fewer share anything.
    """
    lists = np.full((probes[0].size - 1, most), NOBODY, np.int32)

    def search(start: int, stop: int) -> None:
        _nearest(index, probes, (candidates, budget), (start, stop), lists)

    map_blocks(search, len(lists), block=rows_per_task(len(lists)))
    return lists


def shared_sums(probes: Rows, candidates: Rows, lists: _Numbers, keys: int) -> _Floats:
    """Return the sums of products of weights over the keys that a probe shares with each candidate of its list.

    Args:
        probes: rows with weights ``(m, k)``.
        candidates: rows with weights ``(m, k)``.
        lists: ``(probes, l)`` candidates.
        keys: number of different keys.

    Returns:
        Shape ``(probes, l, k)``; 0 for `NOBODY`.
    """
    sums = np.zeros((*lists.shape, probes[2].shape[1]), np.float32)

    def add(start: int, stop: int) -> None:
        _shared_sums(probes, candidates, (lists, keys), (start, stop), sums)

    map_blocks(add, len(lists), block=rows_per_task(len(lists)))
    return sums


def balanced(
    lists: _Numbers, weights: _Floats, columns: _Doubles, unlisted: tuple[_Floats, float]
) -> tuple[_Doubles, _Doubles]:
    """Return the factors that make the rows of weighted lists 1, and what the candidates then have of them.

    Args:
        lists: ``(m, l)`` candidates, or `NOBODY`.
        weights: ``(m, l)`` of these.
        columns: ``(n,)`` factors of the candidates.
        unlisted: ``(m,)`` weights of everybody, and the sum of their factors.

    Returns:
        ``(m,)`` factors of the rows, and ``(n,)`` sums over the lists, each before the factor of the candidate.
    """
    rows = np.empty(len(lists))

    def add(start: int, stop: int) -> _Doubles:
        sums = np.zeros(columns.size)
        _balanced((lists, weights), columns, unlisted, (start, stop), (rows, sums))
        return sums

    # Sums in double precision, as many as there are candidates, for each of few tasks.
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
    # Sums of so many candidates at a time stay near the processor.
    sums, touched, most = np.zeros(_NEAR), np.empty(_NEAR + 1, np.int32), lists.shape[1]
    # What may be listed, some at a time: most candidates are below the least of those that came before.
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
    """Add to the sums of some candidates what they share with a probe, from where its keys are; return how many do."""
    _, owners, weights = index
    (places, stops, amounts), (first, sums) = asked, sums
    count = 0
    for key in range(places.size):
        place, stop, amount = places[key], stops[key], amounts[key]
        while place < stop and owners[place] < first + sums.size:
            owner = owners[place] - first
            # Always written, kept only if new: without a branch.
            touched[count] = owner
            count += sums[owner] == 0
            sums[owner] += amount * weights[place]
            place += 1
        places[key] = place
    return count


@compiled()
def _keep_largest(owners: _Numbers, values: _Doubles, most: int) -> float:
    """Move the largest values to the front, the first ones of equal values, and return the least of them."""
    least: float = np.partition(values, values.size - most)[values.size - most]
    equal, place = most - np.count_nonzero(values > least), 0
    for i in range(values.size):
        if values[i] > least or (values[i] == least and equal > 0):
            equal -= values[i] == least
            owners[place], values[place] = owners[i], values[i]
            place += 1
    return least


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
