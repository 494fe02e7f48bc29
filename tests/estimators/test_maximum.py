"""The solver: certified, monotone in effort, honest about passes; and EM beside it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.estimators.em import expectation_maximization
from discreet.estimators.likelihood import RowLikelihood
from discreet.estimators.maximum import maximize

sys.path.insert(0, str(Path(__file__).parent))
from dense_membership import DenseMembership, channel_gap, log_likelihood, random_problem


def _point(solution, clear):
    return solution.frequencies if clear is None else np.append(solution.frequencies, solution.rest)


def _bits(seed=0, rows=3000, size=40, epsilon=3.0):
    random = np.random.default_rng(seed)
    own, other = 1 / (1 + np.exp(-epsilon / 2)), 1 / (1 + np.exp(epsilon / 2))
    values = random.choice(size, rows, p=random.dirichlet(np.full(size, 0.5)))
    matrix = random.random((rows, size)) < other
    matrix[np.arange(rows), values] = random.random(rows) < own
    start = (matrix.mean(axis=0) - other) / (own - other)
    return DenseMembership(matrix), float(np.expm1(epsilon)), start


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_any_problem_is_certified(seed):
    membership, contrast, clear, start = random_problem(seed)
    solution = maximize(RowLikelihood(membership, contrast, clear), start, tolerance=1e-6)
    point = _point(solution, clear)
    assert solution.gap <= 1e-6
    assert point.min() >= 0
    assert point.sum() == pytest.approx(1, abs=1e-12)
    assert solution.rest == 0 or clear
    assert channel_gap(membership, contrast, clear, point) <= 1.01e-6
    assert solution.passes == len(membership.calls) / 2


@pytest.mark.parametrize("clear", [None, 700])
def test_it_agrees_with_long_em(clear):
    membership, contrast, start = _bits(rows=1000, size=20)
    likelihood = RowLikelihood(membership, contrast, clear)
    start = start if clear is None else np.append(start, 0.2)
    solution = maximize(likelihood, start, tolerance=1e-10)
    counts = np.zeros(0) if clear is None else np.array([clear])
    even = np.full(start.size, 1 / start.size)
    em = expectation_maximization(likelihood, even, counts, change=1e-9)
    assert em.gap < 1e-6
    long = em.frequencies
    np.testing.assert_allclose(_point(solution, clear), long, atol=2e-3)
    best = log_likelihood(membership, contrast, clear, _point(solution, clear))
    assert 0 <= best - log_likelihood(membership, contrast, clear, long) <= em.gap


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_the_gap_bounds_what_is_missing(tolerance):
    membership, contrast, start = _bits(seed=1)
    likelihood = RowLikelihood(membership, contrast)
    best = maximize(likelihood, start, tolerance=1e-11).frequencies
    rough = maximize(likelihood, start, tolerance=tolerance)
    missing = log_likelihood(membership, contrast, None, best) - log_likelihood(
        membership, contrast, None, rough.frequencies
    )
    assert -1e-13 <= missing <= rough.gap <= tolerance


def test_single_precision_runs_but_does_not_certify():
    membership, contrast, start = _bits(seed=3, rows=60_000, size=80)
    steps = []
    solution = maximize(
        RowLikelihood(membership, contrast),
        start,
        tolerance=1e-7,
        progress=lambda passes, gap: steps.append(passes),
    )
    assert np.dtype(np.float32) in membership.calls
    assert membership.calls[-1] == np.float64
    assert steps == sorted(steps)
    assert channel_gap(membership, contrast, None, solution.frequencies) <= 1.01e-7


def test_information_is_the_curvature_of_independent_bits():
    membership, contrast, start = _bits(seed=4, rows=20_000)
    solution = maximize(RowLikelihood(membership, contrast), start, tolerance=1e-8)
    z = contrast / (1 + contrast * membership.matrix @ solution.frequencies)
    columns = membership.matrix - (z**2 @ membership.matrix / (z**2).sum())
    curvature = np.mean(z[:, None] ** 2 * columns**2, axis=0)
    np.testing.assert_allclose(solution.information, curvature, rtol=0.25)


def test_it_gives_up_honestly():
    membership, contrast, start = _bits(seed=5)
    solution = maximize(RowLikelihood(membership, contrast), start, most_passes=2, tolerance=1e-9)
    gap = channel_gap(membership, contrast, None, solution.frequencies)
    assert solution.gap == pytest.approx(gap, rel=1e-6)


def test_em_is_multiplicative_and_keeps_the_clear_counts():
    membership, contrast, _ = _bits(seed=6)
    start = np.r_[0.0, np.full(41, 1 / 41)]
    likelihood = RowLikelihood(membership, contrast, 300)
    found = expectation_maximization(likelihood, start, np.array([100, 200]), change=1e-7)
    assert found.frequencies[0] == 0
    assert found.frequencies[-1] == pytest.approx(2 * found.frequencies[-2], rel=1e-3)
    one = expectation_maximization(likelihood, start, np.array([100, 200]), most_iterations=1)
    assert one.iterations == 1
