"""Covariances of linear estimates: against every outcome of two and three reports, the table of the formulas, draws."""

import pickle
from dataclasses import replace
from itertools import combinations_with_replacement, product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest

from discreet import (
    Channel,
    Domain,
    HadamardResponse,
    LocalHashing,
    Personalized,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    estimate,
)
from discreet.core.grouping import AxisPartition, CellPartition
from discreet.errors import ParameterError
from discreet.estimators.linear import LinearStart
from discreet.mechanisms.block_law import triple_covariance
from discreet.mechanisms.covariances import alike_covariance, pool_covariance
from discreet.mechanisms.laws.hashing import PooledHashBlocks
from discreet.theory.covariance import SampleCovariance
from discreet.theory.linear_decoder import PoolBias
from laws import BUILDERS, POOLS, SMALL, Case, cases, spelled
from packing import each

P = {"1of2": [0.3, 0.7], "1of7": [0.1, 0.2, 0.05, 0.25, 0.1, 0.2, 0.1]}
P |= {"3of7": [0.2, 0.15, 0.1, 0.12, 0.18, 0.05, 0.2], "5of5": [0.3, 0.25, 0.2, 0.15, 0.1]}


def outcomes(case: Case, n: int) -> list[tuple[float, Any]]:
    """Return every outcome of n reports, in any order, with its probability for p of the case."""
    outputs, p = spelled(case), np.array(P[case.sizes])
    chances = p @ outputs.matrix
    parts = [outputs.reports.part(row, row + 1) for row in range(outputs.reports.n)]
    found = []
    for rows in combinations_with_replacement(np.flatnonzero(chances > 0).tolist(), n):
        orders = factorial(n) / prod(factorial(rows.count(row)) for row in set(rows))
        found.append((orders * float(np.prod(chances[list(rows)])), Reports.concatenate([parts[row] for row in rows])))
    return found


def truth(case: Case) -> Any:
    """Return the ``(|X|, |X|)`` covariance of what one report is worth, from every output."""
    outputs, p = spelled(case), np.array(P[case.sizes])
    chances = p @ outputs.matrix
    mean = chances @ outputs.worths
    return (outputs.worths.T * chances) @ outputs.worths - np.outer(mean, mean)


def mean_of_stated(case: Case, n: int) -> Any:
    """Return the mean of the stated covariance matrices over every outcome."""
    everything, total = np.arange(case.domain.size), 0.0
    for chance, reports in outcomes(case, n):
        spread = estimate(case.mechanism, reports).covariances
        assert spread is not None
        made = spread if not case.builder.startswith("hashing-pool") else without_pool(spread)
        total = total + chance * made.matrix(everything)
    return total


def without_pool(spread: Any) -> Any:
    """Return the covariance given the pool."""
    [(times, sample)] = spread.samples
    assert times == 1
    assert isinstance(sample, SampleCovariance)
    return sample


MOST = {"unary-clear-bits": 40, "hashing": 22} | dict.fromkeys(POOLS, 36)
two = [
    case
    for case in cases({size: SMALL[size] for size in ("1of2", "3of7", "5of5")}, (1.0,))
    if spelled(case).reports.n <= MOST.get(case.builder, 16) and (case.sizes == "5of5" or case.builder not in POOLS)
]
three = [
    case for case in cases({"1of2": SMALL["1of2"], "5of5": SMALL["5of5"]}, (2.0,)) if spelled(case).reports.n <= 10
]


def test_every_law_is_enumerated() -> None:
    assert {case.builder for case in two} == set(BUILDERS) - {"hashing-g5"}  # of more outputs


@each("case", two)
def test_the_mean_over_every_pair_of_reports_is_the_covariance(case: Case) -> None:
    wanted = truth(case) / 2
    assert mean_of_stated(case, 2) == pytest.approx(wanted, abs=1e-12 * max(abs(wanted).max(), 1))


@each("case", three)
def test_the_mean_over_every_three_reports_is_the_covariance(case: Case) -> None:
    wanted = truth(case) / 3
    assert mean_of_stated(case, 3) == pytest.approx(wanted, abs=1e-12 * max(abs(wanted).max(), 1))


@each("case", two)
def test_the_covariance_at_a_distribution_is_that_of_every_output(case: Case) -> None:
    wanted, found = truth(case), case.mechanism.decoder.covariances_at(np.array(P[case.sizes]))
    law = case.mechanism.law
    exact = triple_covariance(law) is not None or law.counts.one_per_value or case.builder.startswith("design")
    # Where no formula is known, 10,000 reports are simulated.
    assert found == pytest.approx(wanted, abs=(1e-11 if exact else 0.06) * max(abs(wanted).max(), 1))


def test_the_covariances_of_a_pool_bias_are_those_of_its_sums() -> None:
    domain = Domain(range(6), sensitive=[1, 2, 4, 5])
    p = np.array([0.1, 0.3, 0.2, 0.05])
    made = pool_covariance(PoolBias(0.02, 0.013), domain, p)

    def variance(w: np.ndarray) -> float:
        """The sums over pairs, spelled out."""
        w = w[domain.sensitive_codes]
        t = np.outer(w, p) + np.outer(p, w)
        np.fill_diagonal(t, 0)
        return (0.02 - 0.013) * (t**2).sum() / 2 + 0.013 * (t.sum(axis=1) ** 2).sum()

    rows = np.eye(6)
    wanted = [[(variance(one + other) - variance(one - other)) / 4 for one in rows] for other in rows]
    assert made.matrix(np.arange(6)) == pytest.approx(np.array(wanted), abs=1e-15)


def test_channels_and_domains_without_sensitive_values() -> None:
    matrix = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.1, 0.2], [0.2, 0.2, 0.5, 0.1]])
    p = np.array([0.5, 0.3, 0.2])
    channel = Channel(matrix)
    inverse = channel.decoder.inverse
    chances = p @ matrix
    wanted = (inverse.T * chances) @ inverse - np.outer(p, p)
    assert channel.decoder.covariances_at(p) == pytest.approx(wanted, abs=1e-12)
    total = np.zeros((3, 3))
    for one, other in product(range(4), repeat=2):
        counts = np.bincount([one, other], minlength=4)
        spread = estimate(channel, Tally(channel.fingerprint, 2, counts, np.zeros(0, np.int64))).covariances
        assert spread is not None
        total += chances[one] * chances[other] * spread.matrix(np.arange(3))
    assert total == pytest.approx(wanted / 2, abs=1e-12)
    open_domain = Domain(range(3), sensitive=[], allow_unprotected=True)
    mechanism = RandomizedResponse(open_domain, epsilon=1.0)
    spread = estimate(mechanism, mechanism.obfuscate([0] * 5 + [1] * 3 + [2] * 2)).covariances
    shares = np.array([0.5, 0.3, 0.2])
    assert spread is not None
    assert spread.matrix(np.arange(3)) == pytest.approx((np.diag(shares) - np.outer(shares, shares)) / 9, abs=1e-15)


TABLE = [
    # law, A, B, c_0, c_1, kappa, n Cov(0, 1), n Cov(0, 4), n Var(4), n Var(w)
    ("rr", 1.0, 1.59806737, 2.16395341, -0.33869689, -0.58197671, -0.58197671, -0.81698175, -0.09819767, 0.32279068,
     2.70624096),
    ("subset", 0.3, 24.97751115, 0.5, -8.35319879, 0.25, -1.42914796, -8.29069879, -0.18291480, 0.66165918,
     33.43612474),
    ("unary", 1.0, 3.76363250, 0.99981375, 0.0, 0.0, 0.0, -0.1, -0.04, 0.24414010, 7.86878404),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_the_table_of_the_formulas(row: tuple[Any, ...]) -> None:
    """|X| = 6, the first 4 sensitive; computed once by hand from the published formulas, to the printed digits."""
    name, epsilon, a, b, c_0, c_1, kappa, near, across, clear, whole = row
    domain, p = Domain(range(6), sensitive=range(4)), np.array([0.4, 0.25, 0.15, 0.1, 0.1, 0.0])
    build = {"rr": RandomizedResponse, "subset": SubsetSelection, "unary": UnaryEncoding}[name]
    mechanism = build(domain, epsilon, **({"k": 2} if name == "subset" else {}))
    tally = Tally(mechanism.fingerprint, 2, np.zeros(4, np.int64), np.zeros(2, np.int64))
    found = alike_covariance(domain, mechanism.law, mechanism.numbers, p).scaled(1 / (tally.n - 1))
    matrix, weights = found.matrix(np.arange(6)), np.array([1.0, 1, 0, 0, 1, 0])
    constant, slope = mechanism.decoder.variance_of(0.9)
    assert (constant[0], slope[0]) == (pytest.approx(a, abs=6e-9), pytest.approx(b, abs=6e-9))
    assert [matrix[0, 1], matrix[0, 4], matrix[4, 4]] == pytest.approx([near, across, clear], abs=6e-9)
    assert found.variance(weights) == pytest.approx(whole, abs=6e-9) == weights @ matrix @ weights
    assert c_0 + c_1 * 0.65 - 0.1 == pytest.approx(near, abs=2e-8)
    assert kappa * 0.1 - 0.04 == pytest.approx(across, abs=6e-9)


@pytest.mark.parametrize("functions", [1, 3])
def test_what_a_pool_leaves_over_every_function(functions: int) -> None:
    """The bias of weighted sums over all cubic polynomials modulo 5: independent functions add up as 1/m."""
    law = PooledHashBlocks(5, 2, functions, prime=5)
    bias = PoolBias.of(law.conditional_inclusion, *law.conditional_variation)
    domain, p = Domain(range(5)), np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    pool = pool_covariance(bias, domain, p).between
    w, u = np.array([1.0, 1, 0, 0, 0]), np.array([0.0, 2, -1, 0.5, 3])
    rho, products = float(law.conditional_inclusion), []
    for coefficients in product(range(5), repeat=4):
        buckets = np.array([sum(c * x**k for k, c in enumerate(coefficients)) % 5 % 2 for x in range(5)])
        off = ((buckets[:, None] == buckets[None, :]) - rho) / (1 - rho)
        np.fill_diagonal(off, 0)
        products.append([(w @ off @ p) ** 2, (w @ off @ p) * (u @ off @ p)])
    variance, covariance = np.mean(products, axis=0) / functions
    assert pool(w, w) == pytest.approx(variance, rel=1e-12)
    assert pool(w, u) == pytest.approx(covariance, rel=1e-12)
    each = [pool(row, row) for row in np.eye(5)]
    assert each == pytest.approx(bias.each(p), rel=1e-12)


def test_pools_add_what_they_leave() -> None:
    mechanism = BUILDERS["hashing-pool-g5"](Domain(range(5)), 1.0)
    spread = estimate(mechanism, mechanism.obfuscate([0] * 50 + [1] * 30, random=SeededRandom(1))).covariances
    assert spread is not None
    w = np.array([1.0, 0, 1, 0, 0])
    pool = replace(spread, samples=())  # type: ignore[type-var]
    assert spread.variance(w) == pytest.approx(without_pool(spread).variance(w) + pool.variance(w))
    assert pool.variance(w) > 0


SIMULATED = [Case(builder, "3of7", 1.0) for builder in ("rr", "subset-k2", "hadamard", "unary")]


@pytest.mark.parametrize("case", SIMULATED, ids=str)
def test_stated_variances_in_2000_collections(case: Case) -> None:
    """The mean of the stated variances is within 3 standard errors of the squares of the deviations."""
    outputs, p, n = spelled(case), np.array(P[case.sizes]), 300
    counts = np.random.default_rng(14).multinomial(n, p @ outputs.matrix, 2000)
    support, clear = (counts @ each for each in outputs.counts)
    w = np.array([1.0, 0, 2, -1, 1, 0.5, 0])
    off = np.empty(2000)
    for run, (held, told) in enumerate(zip(support, clear, strict=True)):
        spread = LinearStart.of(case.mechanism, Tally(case.mechanism.fingerprint, n, held, told)).covariances
        assert spread is not None
        off[run] = (w @ spread.centre - w @ p) ** 2 - spread.variance(w)
    assert abs(off.mean()) <= 3 * off.std() / np.sqrt(2000)


@pytest.mark.parametrize("builder", ["rr", "subset", "unary", "hadamard", "paley", "design", "hashing-pool", "hashing"])
def test_every_way_to_ask_says_the_same(builder: str) -> None:
    """Matrices, variances, partial sums, sums over cells: all are those of weighted sums."""
    domain = Domain(range(9), sensitive=[0, 1, 2, 4, 5, 7, 8])
    mechanism = BUILDERS[builder](domain, 1.5)
    reports = mechanism.obfuscate(list(range(9)) * 40, random=SeededRandom(5))
    spread = estimate(mechanism, reports).covariances
    assert spread is not None
    everything = np.arange(9)
    matrix = spread.matrix(everything)
    w, u = np.linspace(-1, 2, 9), np.cos(everything)
    assert matrix == pytest.approx(matrix.T)
    assert spread.between(w, u) == pytest.approx(w @ matrix @ u, abs=1e-14)
    assert spread.variances() == pytest.approx(np.diag(matrix), abs=1e-15)
    below = np.tri(9)
    assert spread.prefixes() == pytest.approx(np.maximum(np.diag(below @ matrix @ below.T), 0), abs=1e-14)
    assert spread.matrix(np.array([7, 2, 7])) == pytest.approx(matrix[np.ix_([7, 2, 7], [7, 2, 7])], abs=1e-15)
    cells = CellPartition(4, 9, everything[:8], np.array([0, 1, 2, 0, 1, 2, 2, 3]))
    gather = np.array([cells.total(row) for row in np.eye(9)]).T
    assert gather.sum() == 8
    assert cells.lifted(np.arange(1.0, 5)) == pytest.approx(gather.T @ np.arange(1.0, 5))
    summed = spread.sums(cells)
    assert summed.centre == pytest.approx(gather @ spread.centre)
    assert summed.matrix(np.arange(4)) == pytest.approx(gather @ matrix @ gather.T, abs=1e-14)
    axes = spread.sums(AxisPartition(3, (3, 3), (1,))).sums(CellPartition(2, 3, np.array([0, 2]), np.array([0, 1])))
    assert axes.between(np.array([1.0, 0]), np.array([0.0, 1])) == pytest.approx(matrix[::3, 2::3].sum(), abs=1e-14)
    total, ones = summed.centre.sum(), np.ones(4)
    linearised = (np.eye(4) - np.outer(summed.centre / total, ones)) / total
    shares = summed.conditional()
    assert shares.centre == pytest.approx(summed.centre / total)
    assert shares.matrix(np.arange(4)) == pytest.approx(
        linearised @ gather @ matrix @ gather.T @ linearised.T, abs=1e-13
    )
    kept = pickle.loads(pickle.dumps(spread))
    assert kept.between(w, u) == pytest.approx(spread.between(w, u), rel=1e-12)


def test_a_tally_of_hash_functions_takes_inclusions_as_independent() -> None:
    mechanism = LocalHashing(Domain(range(9)), 1.0, g=3)
    reports = mechanism.obfuscate([0] * 2000, random=SeededRandom(1))
    exact, taken = estimate(mechanism, reports).covariances, estimate(mechanism, mechanism.tally(reports)).covariances
    assert exact is not None
    assert taken is not None
    assert np.sqrt(taken.variances()) == pytest.approx(np.sqrt(exact.variances()), rel=0.05)
    # Three values in progression collide more often than that, so that it errs on the safe side.
    assert 1 < taken.variance(np.ones(9)) / exact.variance(np.ones(9)) < 2


def test_one_report_has_no_covariance() -> None:
    mechanism = UnaryEncoding(Domain(range(3)), 1.0)
    found = estimate(mechanism, mechanism.obfuscate([0], random=SeededRandom(1)))
    for one in (found, pickle.loads(pickle.dumps(found))):
        for asked in (one.covariance, lambda one=one: one.total([1])):
            with pytest.raises(ParameterError, match="needs at least two reports, got 1"):
                asked()


def test_methods_bear_the_covariance_of_the_linear_estimate() -> None:
    """Also that of a personalized mechanism, over values and placeholders."""
    mechanism = HadamardResponse(Domain(range(6)), 2.0)
    reports = mechanism.obfuscate([0, 1, 2] * 100, random=SeededRandom(1))
    linear, projected = (estimate(mechanism, reports, method=method) for method in ("linear", "projected"))
    assert linear.covariances is not None
    assert projected.covariances is not None
    assert (linear.covariances.centre == linear.frequencies).all()
    assert (projected.covariances.centre == linear.frequencies).all()
    personalized = Personalized(Domain(range(4), sensitive=[0]), 1.0, tags=["home"])
    common = personalized.common
    extended = estimate(common, common.obfuscate_codes(np.array([4] * 50 + [1] * 20), random=SeededRandom(1)))
    assert extended.covariances is not None
    assert extended.covariances.matrix(np.arange(5)).shape == (5, 5)
