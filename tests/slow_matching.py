"""Matching spelled out: dictionaries, loops and fractions, for small traces."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np

from discreet.risk.attacks.traces import SMALLEST, UNIT, Matcher
from discreet.risk.kernels import matching as kernels
from discreet.risk.scores import Scores
from discreet.risk.traces import Split, Traces

Factors = list[Fraction]
ZERO = Fraction(SMALLEST)


def events_of(traces: Traces) -> list[list[int]]:
    return [traces.events[a:b].tolist() for a, b in zip(traces.offsets[:-1], traces.offsets[1:], strict=True)]


def visit_factors(known: list[int], trace: list[int]) -> Factors:
    counts = Counter(known)
    return [max(Fraction(counts[x], max(len(known), 1)), ZERO) for x in trace]


def markov_factors(known: list[int], trace: list[int]) -> Factors:
    steps = Counter(pairwise(known))
    starts = Counter(known[:-1])
    moves = pairwise(trace)
    return visit_factors(known, trace[:1]) + [max(Fraction(steps[x, y], max(starts[x], 1)), ZERO) for x, y in moves]


def fixed(factors: Factors) -> int:
    return sum(round(log(factor) / UNIT) for factor in factors)


def table(split: Split, score: Callable[[list[int], list[int]], float]) -> tuple[np.ndarray, np.ndarray]:
    """Return whose the probes are and the matrix of their scores."""
    known, targets = events_of(split.training), events_of(split.target)
    users = [user for user, trace in enumerate(targets) if trace]
    return np.array(users), np.array([[score(one, targets[user]) for one in known] for user in users])


def scored(matcher: Matcher) -> np.ndarray:
    """Return the matrix of scores, pair by pair."""
    probes, owners = (one.ravel() for one in np.mgrid[: matcher.probes, : matcher.candidates])
    return kernels.scores_of_pairs(matcher.problem, probes, owners).reshape(matcher.probes, -1)


def assert_agrees(found: Scores, users: np.ndarray, matrix: np.ndarray) -> None:
    """Compare everything that is counted with a matrix of the same scores, to the last tie."""
    own = matrix[np.arange(len(users)), users]
    others = [np.delete(row, user) for row, user in zip(matrix, users, strict=True)]
    impostors = np.concatenate(others)
    assert found.ranks.candidates == matrix.shape[1]
    assert found.ranks.users.tolist() == users.tolist()
    assert found.genuine.tolist() == own.tolist()
    assert found.ranks.greater.tolist() == [int((row > s).sum()) for row, s in zip(others, own, strict=True)]
    assert found.ranks.ties.tolist() == [1 + int((row == s).sum()) for row, s in zip(others, own, strict=True)]
    assert found.thresholds.tolist() == sorted(set(own.tolist()))
    assert found.m == len(impostors)
    edges = [-np.inf, *found.thresholds.tolist(), np.inf]
    expected = [int(((impostors >= a) & (impostors < b)).sum()) for a, b in pairwise(edges)]
    expected[-1] += int((impostors == np.inf).sum())
    assert found.impostor_counts.tolist() == expected
    assert found.impostor_ties.tolist() == [int((impostors == t).sum()) for t in found.thresholds]
