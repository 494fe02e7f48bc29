"""The solver: certified for any problem, and honest about passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.estimators.likelihood import RowLikelihood
from discreet.estimators.maximum import maximize
from discreet.mechanisms.evidence import Membership


class DenseMembership(Membership):
    """Blocks as the rows of a matrix; float32 in, float32 out."""

    rows = size = multiplicity = None

    def __init__(self, matrix, multiplicity=None):
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.multiplicity = multiplicity
        self.rows, self.size = self.matrix.shape
        self.calls = []

    def dot(self, values):
        self.calls.append(values.dtype)
        return self.matrix.astype(values.dtype) @ values

    def transpose_dot(self, weights):
        self.calls.append(weights.dtype)
        return (self.matrix.T.astype(weights.dtype) @ weights).astype(np.float64)

    def weights(self):
        return np.ones(self.rows) if self.multiplicity is None else self.multiplicity


def channel_gap(membership, contrast, clear, point):
    """max_x (1/n) sum_y n_y Q(y|x)/q_y - 1, with Q spelled out: a column per row and one for the rest."""
    channel = 1 + contrast * membership.matrix.T
    counts = membership.weights()
    if clear is not None:
        channel = np.vstack([channel, np.ones(membership.rows)])
        channel = np.hstack([channel, np.eye(len(channel))[:, -1:]])
        counts = np.append(counts, clear)
    q, seen = point @ channel, counts > 0
    return float((channel[:, seen] @ (counts[seen] / q[seen])).max() / counts.sum() - 1)


def random_problem(seed):
    """Any blocks at all: full, empty, identical, singletons, bits; any contrast; with and without a rest."""
    random = np.random.default_rng(seed)
    size, rows = int(random.choice([1, 2, 3, 8, 30])), int(random.choice([0, 1, 2, 20, 300]))
    epsilon = float(random.choice([0.01, 0.1, 1, 3, 6, 10, 20]))
    clear = [None, 0, 1, 500, 10**6][random.integers(5)]
    clear = 3 if rows == 0 and not clear else clear
    matrix = [
        random.random((rows, size)) < random.choice([0.02, 0.1, 0.5, 0.9]),
        np.tile(random.random(size) < 0.5, (rows, 1)),
        np.ones((rows, size)),
        np.zeros((rows, size)),
        np.eye(size)[random.integers(0, size, rows)],
    ][random.integers(5)]
    multiplicity = random.integers(1, 100, rows).astype(float) if random.random() < 0.3 else None
    length = size + (clear is not None)
    start = [random.normal(0, 1, length), np.full(length, -5.0), np.zeros(length)][random.integers(3)]
    return DenseMembership(matrix, multiplicity), float(np.expm1(epsilon)), clear, start


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
