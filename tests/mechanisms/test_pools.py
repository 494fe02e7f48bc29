"""A pool of hash functions: its law over all functions by enumeration, and the error that it leaves, over pools."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial, norm

from discreet import Domain, PooledHashing, SeededRandom, Tally, estimate
from discreet.estimators.linear import LinearStart
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.laws.hashing import PooledHashBlocks, hash_function
from discreet.theory.binomial import score_limits
from evidence import LEVEL

TINY = [(5, 2), (5, 3), (7, 3)]


def all_functions(prime: int) -> Any:
    return np.array(list(product(range(prime), repeat=4)), dtype=np.int64)


def collisions(coefficients: Any, size: int, prime: int, buckets: int) -> Any:
    """Return ``(functions, size, size)`` booleans."""
    x = np.arange(size)
    hashed = sum(coefficients[:, [k]] * x**k for k in range(coefficients.shape[1])) % prime % buckets
    return hashed[:, :, None] == hashed[:, None, :]


# The law over all functions


@pytest.mark.parametrize(("prime", "buckets"), TINY)
def test_pairs_over_all_functions_by_enumeration(prime: int, buckets: int) -> None:
    """Rho, the variance and covariance of one function's collisions; disjoint pairs do not know of each other."""
    together = collisions(all_functions(prime), prime, prime, buckets)
    law, many = PooledHashBlocks(prime, buckets, 1, prime=prime), len(together)
    variance, covariance = law.conditional_variation
    rho = law.conditional_inclusion
    assert variance == rho * (1 - rho)

    def share(both: Any) -> Fraction:
        return Fraction(int(np.count_nonzero(both)), many)

    for one, other in combinations(range(prime), 2):
        assert share(together[:, one, other]) == rho
        rest = sorted(set(range(prime)) - {one, other})
        for third in rest:
            assert share(together[:, one, other] & together[:, one, third]) == rho**2 + covariance
        for third, fourth in combinations(rest, 2):
            assert share(together[:, one, other] & together[:, third, fourth]) == rho**2


@dataclass(frozen=True)
class Given(PooledHashBlocks):
    """A pool of functions that are given."""

    rows: tuple[tuple[int, ...], ...] = ()

    @property
    def pool(self) -> Any:
        return np.array(self.rows, dtype=np.uint32)


@cache
def every_pool(buckets: int) -> list[tuple[Any, Any, Any]]:
    """Return, for every pool of one function mod 3: the mechanism, its matrix, and the contributions of each output."""
    domain, found = Domain(range(4), sensitive=[0, 1, 3]), []
    for row in product(range(3), repeat=4):
        law = Given(3, buckets, 1, prime=3, rows=(row,))
        mechanism = LawMechanism(domain, 1.0, law)
        counts = np.eye(buckets + 1, dtype=np.int64)
        tallies = [Tally(mechanism.fingerprint, 1, one[:buckets], one[buckets:]) for one in counts]
        added = np.array([mechanism.decoder.estimate(tally) for tally in tallies])
        found.append((mechanism, mechanism.channel().matrix, added))
    return found


@pytest.mark.parametrize("buckets", [2, 3])
def test_over_all_pools_the_estimate_is_unbiased_and_its_errors_are_exact(buckets: int) -> None:
    mechanism = every_pool(buckets)[0][0]
    for p in ([0.1, 0.4, 0.3, 0.2], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]):
        means, errors = [], {n: [] for n in (1, 2, 50, 10**9)}
        for _, matrix, added in every_pool(buckets):
            mean, second = p @ matrix @ added, p @ matrix @ added**2
            means.append(mean)
            for n, found in errors.items():
                found.append((second - mean**2) / n + (mean - p) ** 2)
        np.testing.assert_allclose(np.mean(means, axis=0), p, atol=1e-12)
        for n, found in errors.items():
            over_pools = np.mean(found, axis=0)
            np.testing.assert_allclose(mechanism.decoder.standard_errors(n, p) ** 2, over_pools, rtol=1e-9, atol=1e-15)
            assert mechanism.decoder.mse(n, p) == pytest.approx(over_pools.sum(), rel=1e-9)
        assert np.ptp(np.array(means)[:, mechanism.domain.sensitive], axis=0).max() > 0 or p[1] == 0


def test_stated_variances_are_those_over_all_pools() -> None:
    """Three reports, every pool and all that they can be: stated never too little, and near what it is."""
    buckets, n, p = 2, 3, np.array([0.4, 0.35, 0.0, 0.25])
    stated, true, mechanism = np.zeros(4), 0.0, every_pool(buckets)[0][0]
    for mechanism, matrix, _ in every_pool(buckets):
        chances = p @ matrix
        for drawn in combinations_with_replacement(range(len(chances)), n):
            counts = np.bincount(drawn, minlength=len(chances))
            tally = Tally(mechanism.fingerprint, n, counts[:buckets], counts[buckets:])
            evidence = LinearStart.of(mechanism, tally)
            # Without what is stated more where all reports agree.
            stated += multinomial.pmf(counts, n, chances) * evidence.variance(evidence.linear) * n / (n - 1)
    stated /= len(every_pool(buckets))
    true = mechanism.decoder.standard_errors(n, p) ** 2
    chosen = mechanism.domain.sensitive
    assert (stated[chosen] / true[chosen]).min() > 0.9
    assert (stated[chosen] / true[chosen]).max() < 1.25


# Functions from a seed


def read_off(seed: int, prime: int, place: int) -> list[int]:
    """The same from the documentation alone."""
    attempt = 0
    while True:
        digest = sha256(b"discreet hash pool %d %d %d %d" % (seed, prime, place, attempt)).digest()
        words = [int.from_bytes(digest[8 * k : 8 * k + 8], "little") for k in range(4)]
        if all(word < 2**64 // prime * prime for word in words):
            return [word % prime for word in words]
        attempt += 1


def test_functions_follow_from_the_seed() -> None:
    law = PooledHashBlocks(1000, 10, 300, seed=42)
    assert law.pool.tolist() == [read_off(42, 2**31 - 1, place) for place in range(300)]
    assert list(hash_function(42, 2**31 - 1, 7)) == law.pool[7].tolist()
    # A number that another implementation can be checked with.
    assert list(hash_function(0, 2**31 - 1, 0)) == [2090002333, 1414903498, 715818652, 270780791]
    again = PooledHashBlocks(5, 10, 20, seed=42)
    assert (again.pool == law.pool[:20]).all()
    assert (PooledHashBlocks(5, 10, 20, seed=43).pool != law.pool[:20]).any()


def test_few_devices_and_many_draw_alike() -> None:
    """One by one, functions are made as needed; many at a time they come from the pool."""
    mechanism = PooledHashing(Domain(range(50)), 1.0, functions=5000)
    law, cohorts = mechanism.law, np.array([0, 4999, 17, 17])
    assert (law.coefficients(cohorts) == law.pool[cohorts].T).all()
    assert (law.coefficients(np.arange(5000)) == law.pool.T).all()
    codes = np.arange(50).repeat(40)
    reports = mechanism.obfuscate_codes(codes, random=SeededRandom(1))
    alone = mechanism.obfuscate_codes(codes[:7], random=SeededRandom(2))
    assert alone.blocks["cohort"].dtype == reports.blocks["cohort"].dtype == np.uint16
    assert law.contains(reports.blocks)[np.arange(2000), codes].mean() > 0.3


# Errors over pools


@dataclass(frozen=True)
class Many:
    """Collections, each with a pool of its own."""

    p: Any
    mechanism: PooledHashing
    estimates: list[Any]


@cache
def simulated(runs: int = 600, n: int = 2000) -> Many:
    domain = Domain(range(24), sensitive=[*range(18)])
    p = np.r_[0.35, 1 / np.arange(2, 19), np.full(6, 0.05)]
    p[1:18] *= (1 - 0.35 - 0.3) / p[1:18].sum()
    values, source, found = np.random.default_rng(20260103), SeededRandom(3), []
    for seed in range(runs):
        mechanism = PooledHashing(domain, 2.0, g=6, functions=24, seed=seed)
        reports = mechanism.obfuscate_codes(values.choice(24, n, p=p), random=source)
        found.append(estimate(mechanism, mechanism.tally(reports)))
    return Many(p, mechanism, found)


def test_intervals_hold_over_pools() -> None:
    many = simulated()
    runs, p, ends = len(many.estimates), many.p, [one.interval(0.9) for one in many.estimates]
    covered = np.sum([(low <= p) & (p <= high) for low, high in ends], axis=0)
    # Two percent: shares of 24 functions are not quite normal.
    assert binom.ppf(LEVEL, runs, 0.88) <= covered.min() <= covered.max() <= binom.isf(LEVEL, runs, 0.92)
    # Rival: intervals of the reports' own noise.
    blind = [
        score_limits(one.frequencies, many.mechanism.decoder.variance_of(0.7), one.n, float(norm.isf(0.05)))
        for one in many.estimates
    ]
    assert np.sum([(low <= p) & (p <= high) for low, high in blind], axis=0)[1:18].max() < binom.ppf(LEVEL, runs, 0.88)


def test_errors_of_maximum_likelihood_know_of_the_collisions() -> None:
    """20 unknowns, 48 numbers: with the others known, errors would be stated at less than half of these."""
    p, lost, stated, n = np.arange(1, 21) / 210, [], [], 300_000
    for seed in range(30):
        mechanism = PooledHashing(Domain(range(20)), 1.0, g=4, functions=16, seed=seed)
        chances, random = p @ mechanism.channel().matrix, np.random.default_rng(seed)
        tally = Tally(mechanism.fingerprint, n, random.multinomial(n, chances), np.zeros(0, int))
        found = estimate(mechanism, tally, method="mle")
        lost.append(((found.frequencies - p) ** 2).sum())
        stated.append((found.standard_errors**2).sum())
    assert 0.6 < np.mean(stated) / np.mean(lost) < 1.6
    assert mechanism.coefficients.pool_bias.remaining_information(20) == pytest.approx(1 - 19 / 48, rel=1e-6)
    assert mechanism.coefficients.pool_bias.remaining_information(200) == 0


def test_no_error_lasts_in_one_report_or_where_one_value_is_sensitive() -> None:
    mechanism = PooledHashing(Domain(range(30)), 1.0, functions=10)
    p = np.full(30, 1 / 30)
    assert mechanism.coefficients.pool_bias_error(1, p) == 0
    tally = mechanism.tally(mechanism.obfuscate_codes([3], random=SeededRandom(1)))
    assert not mechanism.decoder.pool_bias_variance(tally, mechanism.decoder.estimate(tally)).any()
    alone = PooledHashing(Domain(range(30), sensitive=[4]), 1.0, functions=10)
    assert alone.decoder.worst_case_mse(10**6) == pytest.approx(alone.decoder.worst_case_mse(1) / 10**6, rel=1e-9)
    assert alone.decoder.mse(10**6, p) == pytest.approx(alone.decoder.mse(1, p) / 10**6, rel=1e-9)


# Parameters


@pytest.mark.parametrize("size", [1, 2, 100, 10**4, 10**6, 10**8])
@pytest.mark.parametrize("g", [2, 100, 60_000])
def test_default_numbers_of_functions_keep_to_their_limits(size: int, g: int) -> None:
    law = PooledHashing(Domain(range(size)), 1.0, g=g).law
    assert law.functions & (law.functions - 1) == 0
    assert 64 <= law.functions <= 65_536
    assert law.functions == 64 or (law.functions * size <= 1 << 30 and law.functions * g <= 1 << 22)
    assert law.functions == 65_536 or 2 * law.functions * max(size / (1 << 30), g / (1 << 22)) > 1
