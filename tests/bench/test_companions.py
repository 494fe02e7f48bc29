"""What is measured beside us may be missing, may fail, and computes the same thing as we do."""

import numpy as np
import reconstruction

from bench import numpy_reference as reference
from discreet import (
    Domain,
    HadamardResponse,
    RandomizedResponse,
    SeededRandom,
    SubsetSelection,
    estimate,
)

SIZE, N = 100, 20_000
CODES = np.random.default_rng(1).integers(0, SIZE, N)


def test_numpy_counts_what_we_count() -> None:
    rng, everything = np.random.default_rng(2), Domain(range(SIZE))
    hadamard = HadamardResponse(everything, 1.0)
    reports = hadamard.obfuscate_codes(CODES, random=SeededRandom(1))
    counted = reference.hadamard_counts(reports.blocks["column"].astype(np.uint32), 128)
    np.testing.assert_array_equal(counted[:SIZE], hadamard.law.support_of(hadamard.tally(reports).support))
    subset = SubsetSelection(everything, 1.0)
    members = subset.obfuscate_codes(CODES, random=SeededRandom(1))
    counted = reference.subset_counts(members.blocks["members"], SIZE)
    np.testing.assert_array_equal(counted, subset.tally(members).support)
    drawn = reference.subsets(CODES, SIZE, 10, 1.0, rng)
    assert (np.diff(drawn.astype(int), axis=1) > 0).all()


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
