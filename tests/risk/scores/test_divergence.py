"""The divergence between samples: against loops that follow the definition, and against known divergences."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, isfinite, log
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws_of_scores import CASES, Case
from scipy.special import psi

from discreet import SeededRandom
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
    return divergence(scores, halves=0).bits / BITS


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
        found = divergence_of(genuine, impostors, halves=0)
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
@each("m", [10_000, 100_000])
def test_bias_is_small(case: Case, m: int) -> None:
    rng, repeats = np.random.default_rng(7), 20 if m == 10_000 else 8
    found = [nats(case.genuine(rng, 10_000), case.impostors(rng, m)) for _ in range(repeats)]
    error = np.std(found, ddof=1) / repeats**0.5
    assert abs(np.mean(found) - case.nats) < 0.03
    # Strong enough to see a bias of 0.03.
    assert error < 0.01


@pytest.mark.parametrize("case", CASES[:6], ids=lambda case: case.name)
def test_a_partition_agrees(case: Case) -> None:
    rng = np.random.default_rng(8)
    found = [nats(case.genuine(rng, 10_000), case.impostors(rng, 100_000), "partition") for _ in range(10)]
    assert abs(np.mean(found) - case.nats) < 0.06


@pytest.mark.parametrize("case", [CASES[1], CASES[5], CASES[10]], ids=lambda case: case.name)
def test_intervals_cover(case: Case) -> None:
    """The benchmark counts to a thousand; this would notice an interval half as long."""
    rng, words, hits = np.random.default_rng(10), SeededRandom(1), 0
    for _ in range(60):
        genuine, impostors = case.genuine(rng, 1000), case.impostors(rng, 3000)
        low, high = divergence_of(genuine, impostors, halves=20, random=words).interval or (np.nan, np.nan)
        hits += low <= case.nats * BITS <= high
    assert hits >= 49


@pytest.mark.parametrize("distance", [3, 4, 5])
def test_beyond_all_impostors_only_the_lower_limit_holds(distance: float) -> None:
    """Two normal laws far apart: two-sided intervals covered 0 of 12, since no impostor comes where most scores are."""
    rng, words, truth = np.random.default_rng(20), SeededRandom(2), distance**2 / 2 * BITS
    for _ in range(12):
        genuine, impostors = rng.normal(distance, 1, 1000), rng.normal(0, 1, 3000)
        found = divergence_of(genuine, impostors, halves=20, random=words)
        assert found.beyond > MUCH_BEYOND
        assert found.interval is not None
        low, high = found.interval
        assert 0 < low <= truth
        assert high == inf
        assert low > truth / 3
        assert "at least" in str(found)
        assert "inf" not in str(found)
    near = divergence_of(rng.normal(0.5, 1, 1000), rng.normal(0, 1, 30_000), halves=20, random=words)
    assert near.interval is not None
    assert isfinite(near.interval[1])


# What must not change it


def test_increasing_maps() -> None:
    rng = np.random.default_rng(11)
    genuine, impostors = rng.normal(1, 1, 500), rng.normal(0, 1, 3000)
    for method in ("neighbours", "partition"):
        assert nats(8 * genuine - 2, 8 * impostors - 2, method) == pytest.approx(nats(genuine, impostors, method))
    assert nats(np.exp(genuine), np.exp(impostors), "partition") == nats(genuine, impostors, "partition")
    # Neighbours only approximately, except for atoms.
    assert nats(np.exp(genuine), np.exp(impostors)) == pytest.approx(nats(genuine, impostors), abs=0.1)
    atoms = rng.integers(0, 5, 500), rng.integers(0, 6, 3000)
    assert nats(atoms[0] ** 3, atoms[1] ** 3) == nats(*atoms)


# Always finite

HOSTILE = st.one_of(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30),
    st.lists(st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e308, -1e308]), min_size=2, max_size=30),
    st.lists(st.integers(-(2**62) + 1, 2**62 - 1), min_size=2, max_size=30),
    st.lists(st.integers(0, 3), min_size=2, max_size=30),
)


@settings(max_examples=50)
@given(HOSTILE, HOSTILE, st.booleans())
@example([1.0, 1.0], [1.0], False)
@example([1.0, 2.0], [3.0], False)
@example([0.0] * 9, [1.0] * 5, False)
@example([0.0, 5e-324], [1e308, -1e308], False)
@example([2**62 - 1, -(2**62) + 1], [0, 1], False)
def test_never_nan_or_infinite(genuine: list[float], impostors: list[float], is_counted: bool) -> None:
    scores = of_counts(genuine, impostors) if is_counted else Scores.of_pairs(genuine, impostors)
    found = divergence(scores, halves=6, random=SeededRandom(1))
    assert isfinite(found.bits)
    assert found.bits <= harmonic(len(impostors)) * BITS * (1 + 1e-15)
    if found.interval:
        most = harmonic(len(impostors)) * BITS * (1 + 1e-15)
        assert 0 <= found.interval[0] <= min(found.interval[1], most)
        # No upper limit where there are scores beyond all impostors.
        assert found.interval[1] <= most or (found.interval[1] == inf and found.beyond > MUCH_BEYOND)


def test_scores_beyond_all_impostors_are_told() -> None:
    rng = np.random.default_rng(16)
    genuine, impostors = rng.exponential(3, 10_000), rng.exponential(1, 10_000)
    beyond = float(np.mean((genuine > impostors.max()) | (genuine < impostors.min())))
    found = divergence_of(genuine, impostors, halves=0)
    assert found.beyond == beyond > 0.02
    assert not found.separated
    assert f"{beyond:.1%} of the genuine scores lie beyond" in str(found)
    above = float(np.mean(genuine > impostors.max()))
    assert divergence(of_counts(genuine, impostors)).beyond == pytest.approx(above, abs=2e-4)
    assert "beyond" not in str(divergence_of(impostors[:100], genuine, halves=0))


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


@given(st.lists(st.integers(0, 9), min_size=2, max_size=30), st.lists(st.integers(-1, 10), min_size=1, max_size=30))
def test_bins_have_their_genuine_scores_at_the_lower_end(genuine: list[int], impostors: list[int]) -> None:
    own, others = Scores.of_pairs(genuine, impostors).bins()
    tied = len(set(genuine)) < len(genuine) or bool(set(genuine) & set(impostors))
    edges = [edge for value in sorted(set(genuine)) for edge in ([value, value + 0.5] if tied else [value])]
    for bin_, (low, high) in enumerate(pairwise([*edges, inf])):
        assert own[bin_] == sum(score == low for score in genuine)
        assert others[bin_] == sum(low <= score < high for score in impostors)
    assert len(own) == len(others) == len(edges)
