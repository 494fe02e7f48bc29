"""What is measured beside us may be missing, may fail, and computes the same thing as we do."""

from itertools import count

import numpy as np
import pytest
import reconstruction

from bench import numpy_pipeline
from bench import numpy_reference as reference
from bench.limits import Demand, Limits
from bench.tasks import CountingRandom, client_demand
from discreet import (
    Domain,
    HadamardResponse,
    PooledHashing,
    RandomizedResponse,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)


def test_the_limit_is_the_slowest_of_what_must_be_done() -> None:
    limits = Limits(read=1e9, keystream=5e8, adds={8: 1e9, 1000: 1e8})
    assert Demand(keystream=10, moved=5).bound(limits) == ("keystream", pytest.approx(20))
    assert Demand(keystream=1, moved=5).bound(limits) == ("memory", pytest.approx(5))
    assert Demand(moved=5, adds=1, table=1000).bound(limits) == ("adds", pytest.approx(10))


def test_words_and_bytes_of_a_report_are_counted() -> None:
    mechanism, codes = RandomizedResponse(Domain(range(1000)), 1.0), np.zeros(1 << 14, dtype=np.int64)
    counting = CountingRandom()
    counting.words(3)
    assert counting.bytes == 24
    demand = client_demand(mechanism, codes)
    # A coin and a value from 32 bits; a code of 8 bytes is read, a symbol of 2 is written.
    assert demand.keystream == pytest.approx(4, abs=0.1)
    assert demand.moved == 10


SIZE, N = 100, 20_000
CODES = np.random.default_rng(1).integers(0, SIZE, N)


def test_numpy_counts_what_we_count() -> None:
    rng, everything = np.random.default_rng(2), Domain(range(SIZE))
    hadamard = HadamardResponse(everything, 1.0)
    reports = hadamard.obfuscate_codes(CODES, random=SeededRandom(1))
    counted = reference.hadamard_counts(reports.blocks["column"].astype(np.uint32), 128)
    np.testing.assert_array_equal(counted[:SIZE], hadamard.law.support_of(hadamard.tally(reports).support))
    pool = PooledHashing(everything, 1.0, g=4, functions=60)
    told = pool.obfuscate_codes(CODES, random=SeededRandom(1)).blocks
    counted = reference.pooled_counts(told["cohort"], told["bucket"], pool.law.pool, SIZE, 4)
    np.testing.assert_array_equal(counted, pool.law.counts.support_of(pool.law.counts.of(told)))
    subset = SubsetSelection(everything, 1.0)
    members = subset.obfuscate_codes(CODES, random=SeededRandom(1))
    counted = reference.subset_counts(members.blocks["members"], SIZE)
    np.testing.assert_array_equal(counted, subset.tally(members).support)
    drawn = reference.subsets(CODES, SIZE, 10, 1.0, rng)
    assert (np.diff(drawn.astype(int), axis=1) > 0).all()


def test_numpy_draws_what_we_draw() -> None:
    """Expected shares of reports that contain the own value, to five standard deviations; half the epsilon is not."""
    rng, e = np.random.default_rng(3), np.exp(1.0)
    inside = (reference.subsets(CODES, SIZE, 27, 1.0, rng) == CODES[:, None]).any(axis=1).mean()
    wanted = 27 * e / (27 * e + SIZE - 27)
    assert abs(inside - wanted) < 5 * np.sqrt(0.25 / N)
    columns = reference.hadamard(CODES, 128, 1.0, rng)
    even = (np.bitwise_count(columns & (CODES + 1).astype(np.uint32)) % 2 == 0).mean()
    assert abs(even - e / (e + 1)) < 5 * np.sqrt(0.25 / N)
    assert abs(even - np.exp(0.5) / (np.exp(0.5) + 1)) > 5 * np.sqrt(0.25 / N)
    pool = PooledHashing(Domain(range(SIZE)), 1.0, g=4, functions=60).law
    cohorts, buckets = reference.pooled_hashing(CODES, pool.pool.astype(np.uint64), pool.prime, 4, 1.0, rng)
    told = pool.contains({"cohort": cohorts, "bucket": buckets})[np.arange(N), CODES].mean()
    assert abs(told - e / (e + 3)) < 5 * np.sqrt(0.25 / N)


def test_numpy_estimates_what_we_estimate() -> None:
    mechanism = RandomizedResponse(Domain(range(SIZE)), 1.0)
    tally = mechanism.tally(mechanism.obfuscate_codes(CODES, random=SeededRandom(1)))
    ours = estimate(mechanism, tally)
    frequencies, errors = reference.linear(tally.support, N, 1.0)
    np.testing.assert_allclose(frequencies, ours.frequencies, atol=1e-9)
    np.testing.assert_allclose(errors, ours.standard_errors, rtol=0.05)
    found = estimate(mechanism, tally, method="norm-sub").frequencies
    np.testing.assert_allclose(reference.norm_sub(frequencies), found, atol=1e-9)
    shares = tally.support / N
    passes, p = reference.expectation(mechanism.channel().matrix, shares, 1e-4, 10_000)
    assert 1 < passes < 10_000
    assert reconstruction.gap_of(mechanism.channel().matrix, shares, p) <= 1e-4


def test_the_numpy_pipeline_decodes_as_we_do() -> None:
    sizes = numpy_pipeline.SIZE, numpy_pipeline.SENSITIVE
    mechanism = UnaryEncoding(Domain(range(sizes[0]), sensitive=list(range(sizes[1]))), numpy_pipeline.EPSILON)
    codes = np.random.default_rng(1).integers(0, sizes[0], 200_000)
    tally = mechanism.tally(mechanism.obfuscate_codes(codes, random=SeededRandom(1)))
    clear = np.concatenate([np.zeros(sizes[1], dtype=np.int64), tally.clear])
    found = numpy_pipeline.decoded(tally.support, clear, tally.n - int(clear.sum()))
    ours = estimate(mechanism, tally)
    # Our probabilities of bits are multiples of 2^-16.
    np.testing.assert_allclose(found["frequency"], ours.frequencies, atol=1e-4)
    np.testing.assert_allclose(found["standard_error"], ours.standard_errors, rtol=0.05)


def test_the_fewest_passes_are_found() -> None:
    matrix = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    seen = np.array([0.5, 0.3, 0.2])

    def passes(most: int) -> np.ndarray:
        p = np.full(3, 1 / 3)
        for _ in range(most):
            p = p * (matrix @ (seen / (p @ matrix)))
        return p

    wanted = next(k for k in count(1) if reconstruction.gap_of(matrix, seen, passes(k)) <= 1e-4)
    found = reconstruction.reconstructed(passes, matrix, seen, 1e-4)
    assert wanted <= found["passes"] <= 1.04 * wanted
    assert found["gap"] <= 1e-4
