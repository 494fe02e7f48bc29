"""Projection and closed form against their optimality conditions and against independent solvers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.estimators.mle import singleton_maximum
from discreet.estimators.simplex import norm_sub, projection


def _bisected(values, weights, total):
    low, high = np.min(weights * (values - total)) - 1, np.max(weights * values)
    for _ in range(300):
        middle = (low + high) / 2
        if np.maximum(values - middle / weights, 0).sum() > total:
            low = middle
        else:
            high = middle
    return np.maximum(values - high / weights, 0)


@given(seed=st.integers(0, 10**6), size=st.integers(1, 40), spread=st.floats(0, 6))
def test_projection_agrees_with_bisection(seed, size, spread):
    random = np.random.default_rng(seed)
    values, weights = random.normal(0, 1, size), 10.0 ** random.uniform(-spread, spread, size)
    found, _ = projection(values, weights)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(found, _bisected(values, weights, 1.0), atol=1e-8)


@given(seed=st.integers(0, 10**6), size=st.integers(1, 3000))
def test_norm_sub_meets_its_optimality_conditions(seed, size):
    values = np.random.default_rng(seed).normal(0, 1, size)
    found, taken = norm_sub(values, total=2.0)
    taken = values - found
    multiplier = taken[found > 0]
    assert np.ptp(multiplier) <= 1e-14 * max(1, np.abs(values).max()) * 8
    assert (values[found == 0] <= multiplier.mean() + 1e-13).all()
    assert found.sum() == pytest.approx(2, rel=1e-14)


def _dense_gap(counts, floors, slope, p):
    channel = np.tile(floors, (len(p), 1)) + slope * np.eye(len(p))
    q, seen = p @ channel, counts > 0
    return (channel[:, seen] @ (counts[seen] / q[seen])).max() / counts.sum() - 1


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 60),
    epsilon=st.sampled_from([0.01, 0.5, 1, 6, 20]),
    n=st.integers(1, 5000),
)
def test_singletons_are_certified_by_the_dense_channel(seed, size, epsilon, n):
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(1, size + 1))
    c = np.expm1(epsilon)
    slope = c / (sensitive + c)
    floors = np.where(np.arange(size) < sensitive, 1 / (sensitive + c), 0.0)
    counts = random.multinomial(n, floors + slope * random.dirichlet(np.full(size, 0.3))).astype(float)
    found, gap = singleton_maximum(counts, floors, slope)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-13)
    assert _dense_gap(counts, floors, slope, found) <= 1e-11
    assert gap <= 1e-12


@pytest.mark.parametrize("counts", [[0.0, 7.0], [7.0, 0.0]])
def test_singletons_at_the_edges(counts):
    found, gap = singleton_maximum(np.array(counts), np.array([0.5, 0.0]), 0.5)
    np.testing.assert_array_equal(found, np.array(counts) / 7)
    assert gap == 0
