"""Expected l1 against enumeration, the printed limits and worst cases, and how many reports are enough."""

from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import asinh, comb, exp, expm1, log, pi, prod, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms import BlockDesign, BlockMechanism, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.mechanisms.bits import IndependentBits
from discreet.mechanisms.law import LawMechanism
from discreet.planning.losses import (
    exact_l1,
    excess,
    mean_absolute_deviation,
    normal_l1,
    paper_worst_l1_rappor,
    paper_worst_l1_rr,
    reports_for_mse,
    reports_for_standard_error,
    worst_normal_l1,
    worst_variance,
)
from discreet.theory.optimum import optimal_design
from laws import (
    POOLS,
    SIZES,
    Case,
    cases,
    distributions,
    every_with_rho,
    over,
    sizes_told_apart,
    spelled,
    with_rho,
)
from packing import each
from refusals import refused

PER_REPORT = sqrt(2 / pi)


def paper_rappor(v: int, w: int, epsilon: float) -> BlockMechanism:
    """The paper's uRAP with d1 = 1 / (e^(eps/2) + 1) to 60 binary digits, where the library's own keeps 12."""
    law = IndependentBits(v, round(2.0**60 / (exp(epsilon / 2) + 1)) | 1, 60)
    return LawMechanism(Domain(range(w), sensitive=range(v)), epsilon, law, clear_blocks=v < w)


def even(v: int, w: int, mass: float) -> Any:
    return np.concatenate([np.full(v, mass / v), np.full(w - v, (1 - mass) / max(w - v, 1))])


# Mean absolute deviation


@pytest.mark.parametrize("n", [1, 2, 3, 7, 15, 16, 17, 40])
def test_deviation_equals_the_sum_in_fractions(n: int) -> None:
    for chance in (0.0, 1e-300, 1e-9, 0.01, 0.2, 0.25, 0.5, 0.7, 0.9, 1 - 1e-10, 1 - 2**-53, 1.0):
        m = Fraction(chance)
        expected = sum(abs(t - n * m) * comb(n, t) * m**t * (1 - m) ** (n - t) for t in range(n + 1))
        assert float(mean_absolute_deviation(n, chance)) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("n", [100, 1000, 4000])
def test_deviation_of_many_trials_equals_the_sum(n: int) -> None:
    for chance in (1e-4, 0.3, 0.5, 0.871, 1 - 1e-4):
        m = Fraction(chance)
        k = int(n * m) + 1
        numerator, denominator = m.numerator, m.denominator
        expected = Fraction(
            2 * k * comb(n, k) * numerator**k * (denominator - numerator) ** (n - k + 1), denominator ** (n + 1)
        )
        assert float(mean_absolute_deviation(n, chance)) == pytest.approx(float(expected), rel=1e-13)
        counts = np.arange(n + 1)
        summed = (abs(counts - n * chance) * binom.pmf(counts, n, chance)).sum()
        assert float(mean_absolute_deviation(n, chance)) == pytest.approx(summed, rel=1e-9)


# Exact l1


def l1_by_enumeration(worth: Any, outputs: Any, p: Any, n: int) -> float:
    """Sum over all n-tuples of the distinct worths of a report, value by value."""
    total = 0.0
    for x in range(len(p)):
        values, where = np.unique(worth[:, x].round(12), return_inverse=True)
        chances = np.bincount(where, weights=outputs)
        for drawn in product(range(len(values)), repeat=n):
            total += prod(chances[i] for i in drawn) * abs(sum(values[i] for i in drawn) / n - p[x])
    return total


def one_kind(case: Case) -> bool:
    return sizes_told_apart(case.mechanism) is None and case.builder not in POOLS


def two_worths(case: Case) -> bool:
    together = case.sizes == "5of5" and case.builder not in POOLS
    return together or case.builder in {"rr", "unary-clear-bits"}


SMALL = with_rho(cases({"1of2": (2, [1]), "3of7": (7, [0, 4, 6]), "5of5": (5, None)}, (0.1, 1.0, 3.0)))


@over([case for case in SMALL if two_worths(case)])
def test_exact_l1_equals_enumeration(case: Case) -> None:
    worth, matrix = spelled(case).worths, spelled(case).matrix
    for name, weights in distributions(case.domain.size, case.domain.sensitive).items():
        p = weights / weights.sum()
        for n in (1, 4):
            expected = l1_by_enumeration(worth, p @ matrix, p, n)
            assert exact_l1(case.mechanism, n, p) == pytest.approx(expected, rel=1e-9), name


@over([case for case in SMALL if not two_worths(case) and one_kind(case) and case.mechanism.law.conditional_inclusion])
def test_three_worths_are_refused_unless_nothing_goes_in_clear(case: Case) -> None:
    size, sensitive = case.domain.size, case.domain.sensitive
    refused(ParameterError, lambda: exact_l1(case.mechanism, 10, np.full(size, 1 / size)))
    p = sensitive / sensitive.sum()
    expected = l1_by_enumeration(spelled(case).worths, p @ spelled(case).matrix, p, 4)
    assert exact_l1(case.mechanism, 4, p) == pytest.approx(expected, rel=1e-9)


def test_exact_l1_needs_blocks_of_one_kind() -> None:
    mixed = [case for case in SMALL if not one_kind(case)]
    assert mixed
    for case in mixed:
        p = case.domain.sensitive / case.domain.sensitive_count
        refused(ParameterError, lambda case=case, p=p: exact_l1(case.mechanism, 4, p))


def test_exact_l1_where_nothing_is_sensitive() -> None:
    open_domain = Domain(range(4), sensitive=[], allow_unprotected=True)
    p = np.array([0.1, 0.2, 0.3, 0.4])
    expected = mean_absolute_deviation(50, p).sum() / 50
    assert exact_l1(RandomizedResponse(open_domain, 1.0), 50, p) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_exact_l1_by_simulation(epsilon: float) -> None:
    """Estimates from multinomial counts of reports, n = 60, within 5 standard errors; the limit is further off."""
    v, w, n, runs = 5, 60, 60, 20_000
    mechanism = RandomizedResponse(Domain(range(w), sensitive=range(v)), epsilon)
    p = np.random.default_rng(3).dirichlet(np.full(w, 0.4))
    counts = np.random.default_rng(4).multinomial(n, p @ mechanism.channel().matrix, size=runs)
    scale, low = 1 + v / expm1(epsilon), 1 / expm1(epsilon)
    estimate = scale * counts / n
    estimate[:, :v] -= low
    losses = abs(estimate - p).sum(axis=1)
    error = losses.std() / sqrt(runs)
    assert abs(losses.mean() - exact_l1(mechanism, n, p)) < 5 * error
    assert abs(losses.mean() - normal_l1(mechanism, n, p)) > 10 * error


@over([case for case in SMALL if not two_worths(case) and case.builder not in POOLS][::5])
def test_normal_l1_of_three_worths_by_simulation(case: Case) -> None:
    p = np.random.default_rng(2).dirichlet(np.ones(case.domain.size))
    n, runs = 10**6, 4000
    counts = np.random.default_rng(5).multinomial(n, p @ spelled(case).matrix, size=runs)
    losses = abs(counts @ spelled(case).worths / n - p).sum(axis=1)
    assert abs(losses.mean() - normal_l1(case.mechanism, n, p)) < 5 * losses.std() / sqrt(runs)


# The printed limits


@pytest.mark.parametrize(("v", "w"), [(1, 2), (3, 8), (15, 40), (9, 9)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0, 8.0])
def test_printed_l1(v: int, w: int, epsilon: float) -> None:
    n, p = 1000, np.random.default_rng(v).dirichlet(np.ones(w))
    S, N = p[:v], p[v:]
    u, V = expm1(epsilon), (v + expm1(epsilon)) / expm1(epsilon)
    eleven = np.sqrt((S + 1 / u) * (V - S - 1 / u)).sum() + np.sqrt(N * (V - N)).sum()
    rr = RandomizedResponse(Domain(range(w), sensitive=range(v)), epsilon)
    assert normal_l1(rr, n, p) == pytest.approx(sqrt(2 / (n * pi)) * eleven, rel=1e-11)
    u, V = expm1(epsilon / 2), exp(epsilon / 2) / expm1(epsilon / 2)
    sixteen = np.sqrt((S + 1 / u) * (V - S)).sum() + np.sqrt(N * (V - N)).sum()
    assert normal_l1(paper_rappor(v, w, epsilon), n, p) == pytest.approx(sqrt(2 / (n * pi)) * sixteen, rel=1e-11)


WORST = [(1, 2), (1, 30), (2, 4), (5, 7), (20, 24), (15, 100), (12, 12)]


@pytest.mark.parametrize(("v", "w"), WORST)
@pytest.mark.parametrize("kind", ["rr", "rappor"])
@each("epsilon", np.linspace(0.1, 12, 13))
def test_printed_worst_l1_is_the_largest(v: int, w: int, epsilon: float, kind: str) -> None:
    mechanism: BlockMechanism = paper_rappor(v, w, epsilon)
    if kind == "rr":
        mechanism = RandomizedResponse(mechanism.domain, epsilon)
    printed = (paper_worst_l1_rr if kind == "rr" else paper_worst_l1_rappor)(v, w, epsilon, 50)
    found = worst_normal_l1(mechanism, 50)
    assert found.value == pytest.approx(printed.value, rel=1e-11)
    assert found.sensitive_mass == pytest.approx(printed.sensitive_mass, abs=1e-5)
    assert normal_l1(mechanism, 50, even(v, w, printed.sensitive_mass)) == pytest.approx(printed.value, rel=1e-11)


@every_with_rho
def test_no_distribution_is_worse_than_the_worst(case: Case) -> None:
    mechanism, domain = case.mechanism, case.domain
    worst = worst_normal_l1(mechanism, 50)
    a = worst.sensitive_mass
    p = np.where(domain.sensitive, a / domain.sensitive_count, (1 - a) / max(domain.clear_count, 1))
    if case.builder in POOLS:
        # A bound only; at its own mass not by half.
        one = a * np.eye(domain.size)[domain.sensitive_codes[0]] + p * ~domain.sensitive
        assert max(normal_l1(mechanism, 50, each) for each in (p, one)) > worst.value / 1.5
    else:
        assert normal_l1(mechanism, 50, p) == pytest.approx(worst.value, rel=1e-12)
    for concentration in (0.1, 1.0, 100.0):
        for drawn in np.random.default_rng(8).dirichlet(np.full(domain.size, concentration), 3):
            assert normal_l1(mechanism, 50, drawn) <= worst.value * (1 + 1e-12)
    for mass in np.linspace(0, 1, 9) if domain.clear_count else ():
        p = np.where(domain.sensitive, mass / domain.sensitive_count, (1 - mass) / domain.clear_count)
        assert normal_l1(mechanism, 50, p) <= worst.value * (1 + 1e-12)


@pytest.mark.parametrize(("v", "N"), [(3, 6), (8, 4), (20, 100)])
def test_range_of_the_uniform_worst_case_is_wider_than_printed(v: int, N: int) -> None:
    narrow, wide = 2 * log(N / 2 + 1), 2 * asinh(N / 2)
    for epsilon in (narrow * 0.9, (narrow + wide) / 2, wide * 0.999):
        assert worst_normal_l1(paper_rappor(v, v + N, epsilon), 1).sensitive_mass < 1e-6
    assert worst_normal_l1(paper_rappor(v, v + N, wide * 1.02), 1).sensitive_mass > 1e-4


def test_printed_table() -> None:
    """Section 5 of the spec: its leading terms, near eps = 0 and at eps = ln |X|, in units of sqrt(2/(n pi)) and 1/n.

    Two entries are not as printed: RAPPOR's l1 at ln |X| is |X|^(1/4) sqrt(|X| - 1), not sqrt(|X|) sqrt(|X| - 1), which
    is beyond what its own l2 allows (Cauchy-Schwarz); and its l2 next to 0 is 4 |X| / eps^2 without (1 - 1/|X|).
    """
    small, w = 1e-8, 10**6
    large, root = log(w), sqrt(w)
    for v in (2, 7, 100):
        rr, rap = paper_worst_l1_rr(v, v, small, 1).value, paper_worst_l1_rappor(v, v, small, 1).value
        assert rr / PER_REPORT == pytest.approx(v * sqrt(v - 1) / small, rel=1e-3)
        assert rap / PER_REPORT == pytest.approx(2 * v / small, rel=1e-3)
        rr, rap = paper_worst_l1_rr(v, 5 * v, small, 1).value, paper_worst_l1_rappor(v, 5 * v, small, 1).value
        assert rr / PER_REPORT == pytest.approx(v * sqrt(v - 1) / small, rel=1e-3)
        assert rap / PER_REPORT == pytest.approx(2 * v / small, rel=1e-3)
        for total in (v, 5 * v):
            domain = Domain(range(total), sensitive=range(v))
            found = RandomizedResponse(domain, small).decoder.worst_case_mse(1)
            assert found == pytest.approx(v * (v - 1) / small**2, rel=1e-3)
            assert paper_rappor(v, total, small).decoder.worst_case_mse(1) == pytest.approx(4 * v / small**2, rel=1e-3)
    assert paper_worst_l1_rr(w, w, large, 1).value / PER_REPORT == pytest.approx(2 * sqrt(w - 1), rel=1e-3)
    assert paper_worst_l1_rappor(w, w, large, 1).value / PER_REPORT == pytest.approx(w**0.25 * sqrt(w - 1), rel=2e-3)
    for v in (1, 30, 1000):
        rr, rap = paper_worst_l1_rr(v, w, large, 1).value, paper_worst_l1_rappor(v, w, large, 1).value
        assert rr / PER_REPORT == pytest.approx(sqrt(w - 1), rel=1.1e-3)
        assert rap / PER_REPORT == pytest.approx(sqrt(w - 1) * (1 + v / w**0.75), rel=2e-3)
    w, large, root = 10_000, log(10_000), 100.0
    assert RandomizedResponse(Domain(range(w)), large).decoder.worst_case_mse(1) == pytest.approx(
        4 * (1 - 1 / w), rel=1e-3
    )
    assert paper_rappor(w, w, large).decoder.worst_case_mse(1) == pytest.approx(root * (1 - 1 / w), rel=0.05)
    for v in (1, 20):
        found = RandomizedResponse(Domain(range(w), sensitive=range(v)), large).decoder.worst_case_mse(1)
        assert found == pytest.approx((1 + v / (w - 1)) ** 2 * (1 - 1 / w), rel=1e-9)
        assert found == pytest.approx(1, rel=5e-3)
        assert paper_rappor(v, w, large).decoder.worst_case_mse(1) == pytest.approx(1 + (v + 1) / root, rel=0.01)


# How many reports


@every_with_rho
def test_worst_variance_is_reached_and_never_passed(case: Case) -> None:
    for n in (1, 2, 100, 10**6) if case.builder in POOLS else (1,):
        check_worst_variance(case, n)


def check_worst_variance(case: Case, n: int) -> None:
    mechanism, domain = case.mechanism, case.domain
    worst, most = worst_variance(mechanism, n), 0.0
    kinds = [*domain.sensitive_codes[:2], *domain.clear_codes[:2]]
    corners = [np.eye(domain.size)[code] for code in kinds]
    # Between two corners a variance is quadratic, so that few places are as good as many.
    mixed = [s * a + (1 - s) * b for a, b in combinations(corners, 2) for s in np.linspace(0, 1, 11)]
    for p in [*mixed, *np.random.default_rng(3).dirichlet(np.full(domain.size, 0.1), 5)]:
        found = n * float((mechanism.decoder.standard_errors(n, p / p.sum()) ** 2).max())
        assert found <= worst * (1 + 1e-9)
        most = max(most, found)
    assert most == pytest.approx(worst, rel=0.01)


def test_worst_variance_of_the_only_value_in_clear_beside_a_sensitive_one() -> None:
    """A design for rare sensitive values: elsewhere this variance is never above those of sensitive values."""
    mechanism = BlockDesign(Domain(range(81), sensitive=range(80)), 11.0, sensitive_mass=5e-4)
    two = [np.eye(81)[[0, 80]].T @ [share, 1 - share] for share in np.linspace(0, 1, 1001)]
    sensitive, clear = np.max([mechanism.decoder.standard_errors(1, p)[[0, 80]] ** 2 for p in two], axis=0)
    assert clear > 1.03 * sensitive
    assert worst_variance(mechanism) == pytest.approx(clear, rel=1e-5)


@every_with_rho
def test_least_number_of_reports_is_enough_and_one_less_is_not(case: Case) -> None:
    mechanism = case.mechanism
    given = np.random.default_rng(9).dirichlet(np.ones(case.domain.size))
    for wanted in (0.5, 1e-2, 1.23e-5) if case.builder not in POOLS else ():
        n = reports_for_mse(mechanism, wanted)
        assert mechanism.decoder.worst_case_mse(n) <= wanted * (1 + 1e-12)
        assert n == 1 or mechanism.decoder.worst_case_mse(n - 1) > wanted * (1 - 1e-12)
        n = reports_for_mse(mechanism, wanted, p=given)
        assert mechanism.decoder.mse(n, given) <= wanted * (1 + 1e-12)
        assert n == 1 or mechanism.decoder.mse(n - 1, given) > wanted * (1 - 1e-12)
        n = reports_for_standard_error(mechanism, wanted, p=given)
        assert mechanism.decoder.standard_errors(n, given).max() <= wanted * (1 + 1e-12)
        assert n == 1 or mechanism.decoder.standard_errors(n - 1, given).max() > wanted * (1 - 1e-12)
        n = reports_for_standard_error(mechanism, wanted)
        assert sqrt(worst_variance(mechanism, n) / n) <= wanted
        assert n == 1 or sqrt(worst_variance(mechanism, n - 1) / (n - 1)) > wanted


@over([case for case in cases(SIZES) if case.builder in POOLS])
def test_least_number_of_reports_where_a_part_of_the_error_lasts(case: Case) -> None:
    mechanism, given = case.mechanism, np.random.default_rng(9).dirichlet(np.ones(case.domain.size))
    ways = [
        (partial(reports_for_mse, mechanism), mechanism.decoder.worst_case_mse),
        (partial(reports_for_mse, mechanism, p=given), lambda n: mechanism.decoder.mse(n, given)),
        (partial(reports_for_standard_error, mechanism), lambda n: sqrt(worst_variance(mechanism, n) / n)),
        (
            partial(reports_for_standard_error, mechanism, p=given),
            lambda n: mechanism.decoder.standard_errors(n, given).max(),
        ),
    ]
    for reports, error in ways:
        floor, one = error(1 << 53), error(1)
        for part in (0.9, 0.3, 1e-3):
            wanted = floor + part * (one - floor)
            n = reports(wanted)
            assert error(n) <= wanted
            assert n == 1 or error(n - 1) > wanted
        refused(ParameterError, lambda reports=reports, wanted=floor * (1 - 1e-6): reports(wanted))


def test_least_number_of_reports_is_exact_where_it_is_whole() -> None:
    """Without privacy n Var = p (1 - p), so a quarter at worst: 2500 reports for 0.01, not 2501."""
    coin = RandomizedResponse(Domain(["a", "b"], sensitive=[], allow_unprotected=True), 1.0)
    assert worst_variance(coin) == 0.25
    assert reports_for_standard_error(coin, 0.01) == 2500
    for n in range(2, 2000):
        assert reports_for_standard_error(coin, 0.5 / sqrt(n)) == n
        assert reports_for_mse(coin, 0.5 / n) == n
    assert reports_for_mse(coin, 0.5) == 1
    assert reports_for_mse(coin, 0.49) == 2


@every_with_rho
def test_excess_is_never_below_one(case: Case) -> None:
    mechanism, domain = case.mechanism, case.domain
    best = optimal_design(domain.sensitive_count, domain.size, mechanism.epsilon)
    assert excess(mechanism) == pytest.approx(mechanism.decoder.worst_case_mse(1) / best.value, rel=1e-12)
    assert excess(mechanism) >= 1 - 1e-9


def test_excess_of_the_best_is_one() -> None:
    domain = Domain(range(400), sensitive=range(76))
    assert excess(SubsetSelection(domain, 1.0)) == pytest.approx(1, rel=1e-9)
    assert excess(RandomizedResponse(domain, 7.0)) == pytest.approx(1, rel=1e-9)
    assert excess(RandomizedResponse(domain, 1.0)) > 2
    assert excess(UnaryEncoding(domain, 6.0)) > 1.5
