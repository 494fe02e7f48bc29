"""The divergence between samples: against loops that follow the definition, and against known divergences."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws_of_scores import CASES, Case
from scipy.special import psi

from discreet.risk.scores import Scores
from discreet.risk.scores.pse import MUCH_BEYOND, Information, bits, divergence, harmonic, partition_nats
from packing import each

BITS = 1 / log(2)


def divergence_of(genuine: Any, impostors: Any, **options: Any) -> Information:
    return divergence(Scores.of_pairs(genuine, impostors), **options)


def of_counts(genuine: Any, impostors: Any) -> Scores:
    """The same scores, with the impostor scores counted only."""
    return replace(Scores.of_pairs(genuine, impostors), impostors=None)


def nats(genuine: Any, impostors: Any, method: str = "neighbours") -> float:
    scores = Scores.of_pairs(genuine, impostors) if method == "neighbours" else of_counts(genuine, impostors)
    return divergence(scores).bits / BITS


# Against the definition


def nearest(x: float, others: Sequence[float]) -> list[float]:
    return sorted(abs(x - other) for other in others)


def generalized_by_definition(genuine: list[float], impostors: list[float]) -> float:
    n, m, total = len(genuine), len(impostors), 0.0
    for i, x in enumerate(genuine):
        own, others = nearest(x, genuine[:i] + genuine[i + 1 :]), nearest(x, impostors)
        radius = max(own[0], others[0])
        near = [distance for distance in own if distance <= radius]
        far = [distance for distance in others if distance <= radius]
        total += log(far[-1] / near[-1]) + psi(len(near)) - psi(len(far))
    return total / n + log(m / (n - 1))


DISTINCT = st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=40, unique=True)


@given(DISTINCT, st.data())
def test_neighbours_follow_the_definition(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(2, len(values) - 1))
    shuffled = data.draw(st.permutations(values))
    for kind in (int, float):
        genuine, impostors = [kind(x) for x in shuffled[:cut]], [kind(x) for x in shuffled[cut:]]
        found = divergence_of(genuine, impostors)
        most = harmonic(len(impostors))
        assert found.bits == pytest.approx(min(generalized_by_definition(genuine, impostors), most) * BITS)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=15), st.lists(st.integers(0, 4), min_size=1, max_size=15))
def test_atoms_are_zhang_and_grabchaks(genuine: list[int], impostors: list[int]) -> None:
    """Each score three times, so that nothing is left for neighbours; the original is a double sum."""
    genuine, impostors = genuine * 3, impostors * 3
    n, m, total = len(genuine), len(impostors), 0.0
    for value in set(genuine):
        x, y = genuine.count(value), impostors.count(value)
        cross = sum(np.prod([1 - y / (m - j) for j in range(v)]) / v for v in range(1, m - y + 1))
        own = sum(np.prod([1 - (x - 1) / (n - j) for j in range(1, v + 1)]) / v for v in range(1, n - x + 1))
        total += x / n * (cross - own)
    assert nats(genuine, impostors) == pytest.approx(min(total, harmonic(m)), abs=1e-12)


# Against known divergences


@each("case", CASES)
def test_bias_is_small(case: Case) -> None:
    rng, repeats, m = np.random.default_rng(7), 8, 100_000
    found = [nats(case.genuine(rng, 10_000), case.impostors(rng, m)) for _ in range(repeats)]
    error = np.std(found, ddof=1) / repeats**0.5
    assert abs(np.mean(found) - case.nats) < 0.03
    # Strong enough to see a bias of 0.03.
    assert error < 0.01


@pytest.mark.parametrize("distance", [3, 4, 5])
def test_scores_beyond_all_impostors_are_said_to_make_the_estimate_too_low(distance: float) -> None:
    """Two normal laws far apart: no impostor comes where most genuine scores are."""
    rng, truth = np.random.default_rng(20), distance**2 / 2 * BITS
    found = divergence_of(rng.normal(distance, 1, 1000), rng.normal(0, 1, 3000))
    assert found.beyond > MUCH_BEYOND
    assert 0 < found.bits < truth
    assert found.interval is None
    assert "likely too low" in str(found)
    near = divergence_of(rng.normal(0.5, 1, 1000), rng.normal(0, 1, 30_000))
    assert "likely too low" not in str(near)


# From counts


def test_counts_are_the_partition() -> None:
    rng = np.random.default_rng(15)
    for draw in (lambda size: rng.normal(size=size), lambda size: rng.integers(0, 50, size)):
        genuine, impostors = draw(400), draw(5000)
        counts = of_counts(genuine, impostors)
        assert divergence(counts).bits == bits(partition_nats(counts.bins(), counts.m))
        assert divergence(counts).interval is None
        values = np.unique(genuine)
        edges = [-np.inf, *values, np.inf]
        between = [int(((impostors >= a) & (impostors < b)).sum()) for a, b in pairwise(edges)]
        ties = [int((impostors == value).sum()) for value in values]
        assert counts.impostor_counts.tolist() == between
        assert counts.impostor_ties.tolist() == ties
