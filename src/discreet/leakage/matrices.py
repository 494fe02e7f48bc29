"""Leakage of an explicit matrix: capacity by Blahut and Arimoto with certified bounds, and exact success of guessing.

For any weights p of the inputs, with q = p Q, the capacity lies between sum of p_x D(Q_x || q) and max of D(Q_x || q).
Everything is in nats.
"""

from itertools import combinations, permutations
from math import comb, log, perm
from typing import NamedTuple

import numpy as np

from discreet.arrays import FloatArray

_MOST_STEPS = 20_000
_MOST_SEARCHED = 3_000
_LARGEST_STEP = 1e6


class Interval(NamedTuple):
    """Certified lower and upper bounds on a number.

    Attributes:
        low: not above it.
        high: not below it.
    """

    low: float
    high: float


def channel_capacity(matrix: FloatArray, *, tolerance: float = 1e-10) -> Interval:
    """Return certified bounds on the Shannon capacity of a matrix, in nats.

    The steps of Blahut and Arimoto, p_x times e^(D(Q_x || q)), are stretched for as long as they help; that is what
    makes them fast where several inputs are nearly alike.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities Q(y|x).
        tolerance: stop when the bounds are this close, in nats.
    """
    rows = matrix[:, matrix.any(axis=0)]
    negentropies = np.where(rows > 0, rows * np.log(np.where(rows > 0, rows, 1.0)), 0.0).sum(axis=1)
    p, step = np.full(len(rows), 1 / len(rows)), 1.0
    best = p
    low, high = 0.0, log(len(rows))
    for _ in range(_MOST_STEPS):
        divergences = _divergences(rows, negentropies, p)
        information = float(p @ divergences)
        high = min(high, float(divergences.max()))
        if information > low:
            low, best, step = information, p, min(step * 1.5, _LARGEST_STEP)
        elif step > 1:
            p, step = best, max(step / 4, 1.0)
            divergences = _divergences(rows, negentropies, p)
        if high - low <= tolerance:
            break
        p = p * np.exp(np.minimum(step * (divergences - divergences.max()), 0.0))
        p /= p.sum()
    return Interval(max(low, 0.0), max(high, low, 0.0))


def _divergences(rows: FloatArray, negentropies: FloatArray, p: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` D(Q_x || p Q)."""
    mixed = p @ rows
    divergences: FloatArray = negentropies - rows @ np.log(np.maximum(mixed, 1e-300))
    return np.maximum(divergences, 0.0)


def capacity_of_users(matrix: FloatArray, users: int, eta: float) -> Interval:
    """Return certified bounds on the largest capacity of at most n of the inputs, in nats.

    That of all inputs where n reaches the rank of the matrix. Else every set of n is tried, if there are few; if there
    are many, the upper bound is min(C, eta ln n), and the lower bound is the capacity of a greedy choice of inputs.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities.
        users: n.
        eta: eta_KL of the matrix.
    """
    if users == 1:
        return Interval(0.0, 0.0)
    whole = channel_capacity(matrix)
    if users >= len(matrix) or users >= int(np.linalg.matrix_rank(matrix)):
        return whole
    if comb(len(matrix), users) <= _MOST_SEARCHED:
        capacities = [channel_capacity(matrix[list(rows)]) for rows in combinations(range(len(matrix)), users)]
        return Interval(max(one.low for one in capacities), max(one.high for one in capacities))
    chosen = _spread_out(matrix, users)
    return Interval(channel_capacity(matrix[chosen]).low, min(whole.high, eta * log(users)))


def _spread_out(matrix: FloatArray, users: int) -> list[int]:
    """Return n inputs, chosen greedily for the sum over outputs of their largest probability."""
    chosen = [int(np.argmax(matrix.max(axis=1)))]
    best = matrix[chosen[0]]
    while len(chosen) < users:
        gains = np.maximum(matrix - best, 0.0).sum(axis=1)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        best = np.maximum(best, matrix[chosen[-1]])
    return chosen


def matrix_leakage(matrix: FloatArray, users: int) -> Interval:
    """Return bounds on the largest ML of n of the inputs: the sum over outputs of their largest probability."""
    whole = float(matrix.max(axis=0).sum())
    if users >= len(matrix):
        return Interval(whole, whole)
    if comb(len(matrix), users) <= _MOST_SEARCHED:
        sets = combinations(range(len(matrix)), users)
        largest = max(float(matrix[list(rows)].max(axis=0).sum()) for rows in sets)
        return Interval(largest, largest)
    low = float(matrix[_spread_out(matrix, users)].max(axis=0).sum())
    # Each further input adds at most what it has above the least of all.
    over = np.sort((matrix - matrix.min(axis=0)).sum(axis=1))[::-1]
    return Interval(low, min(whole, float(matrix.min(axis=0).sum() + over[:users].sum())))


def matrix_success(matrix: FloatArray, prior: FloatArray) -> Interval:
    """Return certified bounds on V, the success of the best guess, for users with a prior.

    Exact where all ways to give the likeliest users inputs of their own can be tried, or all are equally likely and the
    leakage is exact.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities.
        prior: ``(n,)`` probabilities, falling.
    """
    used = prior[: len(matrix)]
    leakage = matrix_leakage(matrix, len(used))
    if used[-1] == used[0]:
        return Interval(float(used[0]) * leakage.low, min(float(used[0]) * leakage.high, 1.0))
    if perm(len(matrix), len(used)) <= _MOST_SEARCHED:
        ways = (matrix[list(rows)] for rows in permutations(range(len(matrix)), len(used)))
        largest = max(float((used[:, None] * way).max(axis=0).sum()) for way in ways)
        return Interval(largest, largest)
    rows = _spread_out(matrix, len(used))
    low = float((used[:, None] * matrix[rows]).max(axis=0).sum())
    # A report that any input gives anyway tells nothing [Doeblin].
    common = float(matrix.min(axis=0).sum())
    doeblin = float(used[0]) * common + float(np.sum(used)) * (1 - common)
    return Interval(low, max(min(float(used[0]) * leakage.high, doeblin, 1.0), low))
