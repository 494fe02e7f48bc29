"""Moments of what reports are worth: against the full matrix of every law, spelled out, and values of a prototype."""

import pickle
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.laws.hashing import PooledHashBlocks
from discreet.mechanisms.worths import GroupWeights, LowRank, plausible, pool_covariance
from discreet.results.sums import Means, Sums
from discreet.theory.limits import Moments
from discreet.theory.linear_decoder import PoolBias
from laws import POOLS, SMALL, Case, cases, spelled
from packing import each

# Own hash functions are taken to put values in a block independently, and pools to be drawn anew for each report.
EXACT = [case for case in cases(SMALL, (1.0,)) if case.builder not in POOLS and not case.builder.startswith("hashing")]


def drawn(size: int) -> tuple[Any, Any, Any]:
    """Return three distributions, three rows of weights, and three constants."""
    rng = np.random.default_rng(size)
    return rng.dirichlet(np.ones(size), 3), rng.normal(size=(3, size)), rng.normal(size=3)


@each("case", EXACT)
def test_moments_of_weighted_sums_are_those_of_every_report(case: Case) -> None:
    outputs, size = spelled(case), case.domain.size
    p, each_weight, constant = drawn(size)
    weights = GroupWeights(each_weight, constant, np.ones((1, size)), case.domain.sensitive)
    found = case.mechanism.decoder.worths.powers(weights, np.broadcast_to(p[:, None], (3, 3, size)))
    worth = outputs.worths @ each_weight.T + constant
    wanted = np.array([p @ outputs.matrix @ worth**power for power in (1, 2, 3)])
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9 * abs(wanted).max())


@each("case", EXACT)
def test_sums_over_sets_are_weighted_sums_of_ones(case: Case) -> None:
    """Groups of alike values say what each value by itself does, lambda and limits included."""
    domain, mechanism = case.domain, case.mechanism
    tally = mechanism.tally(mechanism.obfuscate_codes(np.arange(60) % domain.size, random=dc.SeededRandom(3)))
    law = mechanism.decoder.report_law(tally, mechanism.decoder.decode(tally))
    members = np.random.default_rng(4).integers(0, 2, (5, domain.size)) * 1.0
    members[:, 0], members[:, -1] = 1, 0
    sums, alone = Sums.of(law, members), Means(law, members)
    outputs, total = spelled(case), np.ones(domain.size)
    chances = law.p @ outputs.matrix
    spread = (outputs.worths.T * chances) @ outputs.worths - np.outer(law.p, law.p)
    inside = domain.sensitive * 1.0
    whole = inside @ spread @ total
    wanted = (members * inside) @ spread @ total / whole if whole > 1e-9 * abs(spread).max() else np.zeros(5)
    assert alone.control == pytest.approx(wanted, abs=1e-6)
    assert sums.plausible == pytest.approx(
        np.diag((m := members - sums.control[:, None]) @ spread @ m.T) / 60, rel=1e-6
    )
    free = ~sums.binomial
    assert sums.centre[free] == pytest.approx(alone.centre[free], abs=1e-9)
    assert sums.plausible[free] == pytest.approx(alone.plausible[free], rel=1e-6)


@each("case", EXACT)
def test_covariances_at_a_distribution_are_those_of_every_report(case: Case) -> None:
    outputs, p = spelled(case), drawn(case.domain.size)[0][0]
    chances = p @ outputs.matrix
    wanted = (outputs.worths.T * chances) @ outputs.worths - np.outer(p, p)
    found = case.mechanism.decoder.covariances_at(p)
    assert found == pytest.approx(wanted, abs=1e-9 * max(abs(wanted).max(), 1))


@each("build", [dc.UnaryEncoding, dc.LocalHashing, dc.HadamardResponse, dc.SubsetSelection])
def test_marginals_sum_to_1_and_their_covariances_to_0(build: Any) -> None:
    domain = dc.Domain.product({"a": range(3), "b": range(4)}, sensitive={"a": [0, 1]})
    mechanism = build(domain, 1.0)
    found = dc.estimate(mechanism, mechanism.obfuscate_codes(np.arange(40) % 12, random=dc.SeededRandom(2)))
    for table in (found.marginal("a"), found.marginal("b"), found.marginal("b", "a").marginal("b")):
        assert table.frequencies.sum() == pytest.approx(1, abs=1e-12)
        assert abs(table.covariance().sum(axis=1)).max() < 1e-12 * abs(table.covariance()).max() + 1e-12
    assert found.marginal("a").frequencies[2] == pytest.approx(found.total({"a": 2}).estimate)


def test_the_covariances_of_a_pool_bias_are_those_of_its_sums() -> None:
    domain = dc.Domain(range(6), sensitive=[1, 2, 4, 5])
    p = np.array([0.1, 0.3, 0.2, 0.05])
    made = pool_covariance(PoolBias(0.02, 0.013), domain, p)
    assert isinstance(made, LowRank)

    def variance(w: np.ndarray) -> float:
        """The sums over pairs, spelled out."""
        w = w[domain.sensitive_codes]
        t = np.outer(w, p) + np.outer(p, w)
        np.fill_diagonal(t, 0)
        return (0.02 - 0.013) * (t**2).sum() / 2 + 0.013 * (t.sum(axis=1) ** 2).sum()

    rows = np.eye(6)
    wanted = [[(variance(one + other) - variance(one - other)) / 4 for one in rows] for other in rows]
    assert made.between(rows, rows) == pytest.approx(np.array(wanted), abs=1e-15)
    assert made.variances(rows) == pytest.approx(np.diag(wanted), abs=1e-15)


# Values of a prototype, which shares no code with this


def law_of(mechanism: Any, p: Any, n: int, linear: Any) -> Any:
    """Return the law of n reports at a plausible distribution."""
    tally = mechanism.tally(mechanism.obfuscate_codes(np.arange(n) % len(p), random=dc.SeededRandom(1)))
    law = mechanism.decoder.report_law(tally, np.asarray(linear, float))
    return replace(law, p=np.asarray(p), counts=None)


def sums_of(mechanism: Any, p: Any, n: int, chosen: Any, estimate: float) -> Any:
    """Return the sum over a set, at a plausible distribution, if its plain estimate is this and all sum to 1."""
    linear, others = np.zeros(len(p)), np.setdiff1d(np.arange(len(p)), chosen)
    linear[chosen[0]], linear[others[0]] = estimate, 1 - estimate
    return Sums.of(law_of(mechanism, p, n, linear), np.isin(np.arange(len(p)), chosen)[None] * 1.0)


SIX, P = dc.Domain(range(6), sensitive=range(4)), np.array([0.4, 0.25, 0.15, 0.1, 0.1, 0])
EIGHT = dc.Domain.number(0, 1, bins=8)


def ends(sums: Any) -> Any:
    """Return the unclipped limits without room."""
    return np.ravel(sums.moments.ends(sums.centre, 0.05))


def variances(sums: Any) -> Any:
    """Return V at 0 and at 1."""
    moments = sums.moments
    return [moments.second[0, 0], moments.second[2, 0] - 1]


@pytest.mark.parametrize(
    ("estimate", "wanted"),
    [(0.6, (0.27474506, 0.91954679)), (-0.1, (-0.41576525, 0.21876499)), (1.2, (0.88646546, 1.51576525))],
)
def test_the_check_values_of_randomized_response(estimate: float, wanted: Any) -> None:
    sums = sums_of(dc.RandomizedResponse(SIX, 1.0), P, 100, [0, 1, 4], estimate)
    assert variances(sums) == pytest.approx([2.51874096] * 2, abs=1e-6)
    assert ends(sums) == pytest.approx(wanted, abs=1e-6)


def test_the_check_values_of_bits() -> None:
    """With the lambda of least variance, which takes the total of values in clear for uncertain too."""
    law = sums_of(dc.UnaryEncoding(SIX, 1.0), P, 100, [0, 1], 0.5).law
    one, total, ones = np.array([[1.0, 1, 0, 0, 0, 0]]), np.ones((1, 6)), np.ones((1, 6))

    def variance(each: Any, control: float = 0.0) -> float:
        weights = GroupWeights(each - control, np.array([control]), ones, law.sensitive)
        return 100 * float(law.variances(weights, law.p[None])[0])

    whole = variance(total)
    control = (variance(one + 1) - variance(one) - whole) / 2 / whole
    assert control == pytest.approx(0.49493208, abs=1e-5)
    assert [variance(one), variance(one, control)] == pytest.approx([7.75459736, 4.02919542], abs=1e-4)
    least = Sums.of(law, one)
    least.__dict__["control"] = np.array([control])
    assert variances(least) == pytest.approx([3.58551443, 3.91810058], abs=1e-4)
    for estimate, wanted in ((0.5, (0.11944766, 0.89170779)), (-0.2, (-0.57338232, 0.17986417))):
        assert np.ravel(least.moments.ends(np.array([estimate]), 0.05)) == pytest.approx(wanted, abs=1e-5)
    sums = Sums.of(law, one)
    assert sums.control + Sums.of(law, 1 - one).control == pytest.approx([1], abs=1e-12)
    assert 100 * sums.plausible == pytest.approx([4.02919542], rel=2e-3)


def test_the_check_values_of_hadamard_columns() -> None:
    p = np.array([0.4, 0.3, 0.2, 0.1, 0])
    sums = sums_of(dc.HadamardResponse(dc.Domain(range(5)), 1.0), p, 100, [0, 2], 0.5)
    assert sums.control == pytest.approx([0.40665594], abs=1e-7)
    assert 100 * sums.plausible == pytest.approx([5.59528350], abs=1e-6)
    assert variances(sums) == pytest.approx([6.33658763, 4.70108075], abs=1e-6)
    assert ends(sums) == pytest.approx([0.00561892, 0.93609879], abs=1e-7)


def test_the_check_values_of_windows() -> None:
    mechanism, upper = dc.Windows(EIGHT, 1.0, width=5), list(range(4, 8))
    even = np.full(8, 1 / 8)
    sums = sums_of(mechanism, even, 50, upper, 0.3)
    assert [*sums.moments.second[[0, 2], 0], *sums.moments.third[[0, 2], 0]] == pytest.approx(
        [6.23305321, 7.23305321, -8.47661476, 28.17577439], abs=1e-6
    )
    assert ends(sums) == pytest.approx([-0.37904237, 0.98066504], abs=1e-6)
    assert ends(sums_of(mechanism, even, 50, upper, -0.4)) == pytest.approx([-1.07904237, 0.30839314], abs=1e-6)
    p = np.arange(8, 0, -1) / 36
    mean = Means(law_of(mechanism, p, 50, 0.65 * np.eye(8)[0] + 0.35 * np.eye(8)[7]), np.arange(8)[None] / 7)
    assert 50 * mean.moments.shape(np.array([[0.2], [0.35], [0.8]]))[0][:, 0] == pytest.approx(
        [1.18069198, 1.12881548, 1.27619318], abs=1e-7
    )
    assert ends(mean) == pytest.approx([0.03821921, 0.66498217], abs=1e-6)


def test_limits_are_outermost_and_nested() -> None:
    """Random moments of any shape: every limit solves its equation, and a higher level never shortens."""
    rng = np.random.default_rng(1)
    n, size = 20, 300
    # Worths of 4 outputs under two distributions, of which the means are 0 and 1.
    chances, worth = rng.dirichlet(np.ones(4), (2, size)), rng.normal(size=(size, 4))
    means = (chances * worth).sum(axis=2)
    worth = (worth - means[0][:, None]) / (means[1] - means[0])[:, None]
    second, third = (
        np.array([row[0], row.mean(axis=0), row[1]]) for row in ((chances * worth**k).sum(2) for k in (2, 3))
    )
    moments = Moments(np.array([[0.0], [0.5], [1.0]]) + np.zeros(size), second, third, n)
    estimate = rng.normal(0.4, 0.7, size)
    before = estimate + np.inf, estimate - np.inf
    for level in (0.5, 0.95, 0.999, 1 - 1e-8):
        low, high = moments.ends(estimate, 1 - level)
        assert (low <= before[0] + 1e-9).all()
        assert (high >= before[1] - 1e-9).all()
        assert moments.tail(estimate, low) == pytest.approx((1 - level) / 2, rel=0.02)
        before = low, high
    grid = np.linspace(-1, 2, 3001)[:, None]
    low, found = moments.ends(estimate, 0.05)[0], grid[(moments.tail(estimate, grid) >= 0.025).argmax(axis=0), 0]
    assert (np.clip(low, -1, 2) <= found + 1e-9).all()


def test_a_plausible_distribution_keeps_shares_in_clear() -> None:
    domain = dc.Domain(range(5), sensitive=[0, 2, 4])
    assert plausible(domain, np.array([0.5, 0.3, -0.2, 0.1, 0.5])) == pytest.approx([0.3, 0.3, 0, 0.1, 0.3])
    assert plausible(domain, np.array([0.5, 0.9, -0.2, 0.6, 0.5])) == pytest.approx([0, 0.6, 0, 0.4, 0])
    assert plausible(domain, np.array([-0.5, 0.3, -0.2, 0.1, -1])) == pytest.approx([0.2, 0.3, 0.2, 0.1, 0.2])


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
    domain, p = SIX, P
    build = {"rr": dc.RandomizedResponse, "subset": dc.SubsetSelection, "unary": dc.UnaryEncoding}[name]
    mechanism = build(domain, epsilon, **({"k": 2} if name == "subset" else {}))
    matrix, weights = mechanism.decoder.covariances_at(p), np.array([1.0, 1, 0, 0, 1, 0])
    constant, slope = mechanism.decoder.variance_of(0.9)
    assert (constant[0], slope[0]) == (pytest.approx(a, abs=6e-9), pytest.approx(b, abs=6e-9))
    assert [matrix[0, 1], matrix[0, 4], matrix[4, 4]] == pytest.approx([near, across, clear], abs=6e-9)
    assert weights @ matrix @ weights == pytest.approx(whole, abs=6e-9)
    assert c_0 + c_1 * 0.65 - 0.1 == pytest.approx(near, abs=2e-8)
    assert kappa * 0.1 - 0.04 == pytest.approx(across, abs=6e-9)


@pytest.mark.parametrize("functions", [1, 3])
def test_what_a_pool_leaves_over_every_function(functions: int) -> None:
    """The bias of weighted sums over all cubic polynomials modulo 5: independent functions add up as 1/m."""
    law = PooledHashBlocks(5, 2, functions, prime=5)
    bias = PoolBias.of(law.conditional_inclusion, *law.conditional_variation)
    domain, p = dc.Domain(range(5)), np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    made = pool_covariance(bias, domain, p)
    w, u = np.array([1.0, 1, 0, 0, 0]), np.array([0.0, 2, -1, 0.5, 3])
    rho, products = float(law.conditional_inclusion), []
    for coefficients in product(range(5), repeat=4):
        buckets = np.array([sum(c * x**k for k, c in enumerate(coefficients)) % 5 % 2 for x in range(5)])
        off = ((buckets[:, None] == buckets[None, :]) - rho) / (1 - rho)
        np.fill_diagonal(off, 0)
        products.append([(w @ off @ p) ** 2, (w @ off @ p) * (u @ off @ p)])
    variance, covariance = np.mean(products, axis=0) / functions
    assert made.between(w[None], np.array([w, u])) == pytest.approx(np.array([[variance, covariance]]), rel=1e-12)
    assert made.variances(np.eye(5)) == pytest.approx(bias.each(p), rel=1e-12)


def test_pools_add_what_they_leave() -> None:
    mechanism = dc.PooledHashing(dc.Domain(range(5)), 1.0, g=5, functions=5, seed=7)
    found = dc.estimate(mechanism, mechanism.obfuscate([0] * 50 + [1] * 30, random=dc.SeededRandom(1)))
    law = found.uncertainty.known_law
    assert law.lasting is not None
    without = replace(law, lasting=None)
    w = np.array([[1.0, 0, 1, 0, 0]])
    apart = Sums.of(law, w).errors ** 2 - Sums.of(without, w).errors ** 2
    assert apart == pytest.approx(law.lasting.variances(w - Sums.of(law, w).control), rel=0.2)
    assert apart > 0


def test_estimates_are_pickled_without_reports() -> None:
    mechanism = dc.UnaryEncoding(SIX, 1.0)
    reports = mechanism.obfuscate([0, 1, 4] * 100, random=dc.SeededRandom(1))
    for method in ("linear", "mle", "projected"):
        found = dc.estimate(mechanism, reports, method=method)
        kept = pickle.loads(pickle.dumps(found))
        assert kept.total([0, 1]).interval() == found.total([0, 1]).interval()
        assert kept.covariance() == pytest.approx(found.covariance())
        assert len(pickle.dumps(found)) < 20_000 if method == "linear" else True
