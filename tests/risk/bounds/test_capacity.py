"""Exact PIE privacy, contraction and success of one report: against every map, random sources, and printed figures."""

from decimal import Decimal, localcontext
from functools import lru_cache, partial
from math import comb, log, log2, tanh
from typing import Any

import brute_force
import numpy as np
import pytest

from discreet import (
    Domain,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    Windows,
)
from discreet.risk.bounds import identification_bounds
from discreet.risk.bounds.capacity import BITS, channel_capacity, contraction
from discreet.risk.bounds.leakage import Prior, ReportLeakage, report_leakage
from laws import SMALL, Case, cases, over, spelled, with_rho
from packing import each

D, N = 10_500_393, 1_370_637
LOCATIONS = Domain(range(D))

EXACT = {"rr", "unary", "unary-half", "unary-clear-bits", "subset", "subset-k2", "design", "design-mass"}
CASES = [case for case in with_rho(cases(SMALL, (1.0, 3.0))) if case.sizes != "1of2" or case.builder in {"rr", "unary"}]
SEVERAL = [case for case in CASES if case.epsilon == 1.0 and case.sizes != "1of7"]
every_case = over(CASES)
several = over(SEVERAL)


@lru_cache(maxsize=256)
def matrix_of(case: Case) -> Any:
    return brute_force.merged(spelled(case).matrix)


def told(case: Case, users: int, listed: int = 1, prior: Any = None) -> ReportLeakage:
    return report_leakage(case.mechanism, Prior.of(users, prior), listed)


@every_case
@each("users", [2, 4])
def test_capacity_is_that_of_the_best_values(case: Case, users: int) -> None:
    low, high = brute_force.largest_capacity(matrix_of(case), users)
    found = told(case, users).information
    assert found.value >= low * (1 - 1e-9) - 1e-12
    if case.builder in EXACT:
        assert found.exact
        assert found.value == pytest.approx((low + high) / 2, rel=2e-5, abs=2e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_capacity_of_hadamard_where_it_is_attained(epsilon: float) -> None:
    """Rows of 2^2 - 1 values form a group with the constant row: no law with the same pi and rho tells more."""
    case = Case("hadamard", "5of5", epsilon)
    low, _ = brute_force.largest_capacity(matrix_of(case), 3)
    assert told(case, 3).information.value == pytest.approx(low, rel=1e-6)


@every_case
def test_contraction_is_that_of_the_worst_pair(case: Case) -> None:
    measured, found = contraction(matrix_of(case)), told(case, 4)
    assert found.eta_tv.exact
    assert found.eta_tv.value == pytest.approx(measured.total_variation, rel=1e-9)
    assert found.eta_tv.value >= measured.total_variation * (1 - 1e-9)
    assert found.eta_kl.value >= measured.information.low * (1 - 1e-9)
    if found.eta_kl.exact:
        assert found.eta_kl.value == pytest.approx(measured.information.high, rel=1e-8)
    assert found.informative >= (1 - measured.common) * (1 - 1e-12)


@several
@each("users", [1, 2, 3, 4])
def test_success_is_that_of_the_best_map(case: Case, users: int) -> None:
    matrix = matrix_of(case)
    if len(matrix) == 7 and users == 4:
        matrix = matrix[_some(case)]
    best = brute_force.best_success(matrix, np.full(users, 1 / users))
    found = identification_bounds(case.mechanism, users).identification
    assert found.value >= best - 1e-12
    if case.builder in {*EXACT, "hadamard"}:
        assert found.value == pytest.approx(best, rel=1e-9)


def _some(case: Case) -> list[int]:
    """As many values of each kind as four users can make use of."""
    sensitive = case.domain.sensitive_codes.tolist()
    return [*sensitive[:4], *case.domain.clear_codes.tolist()[:4]]


@several
def test_success_with_a_prior(case: Case) -> None:
    random = np.random.default_rng(20260101)
    for users, sharp in [(2, 0.5), (3, 0.3), (3, 5.0), (4, 1.0)]:
        prior = random.dirichlet(np.full(users, sharp))
        matrix = matrix_of(case)[_some(case)] if case.domain.size == 7 else matrix_of(case)
        best = brute_force.best_success(matrix, prior)
        found = identification_bounds(case.mechanism, users, prior=prior).identification
        assert found.value >= best - 1e-12
        if case.builder in {*EXACT, "hadamard"}:
            assert found.value == pytest.approx(best, rel=1e-9)


@over([case for case in SEVERAL if case.sizes in ("5of5", "1of2")])
@each("users, listed", [(3, 2), (4, 2), (5, 3), (4, 4), (3, 7)])
def test_success_of_lists(case: Case, users: int, listed: int) -> None:
    best = brute_force.best_success(matrix_of(case), np.full(users, 1 / users), min(listed, users))
    found = identification_bounds(case.mechanism, users, largest_list=listed).identification
    assert found.value >= best - 1e-12
    if case.builder in EXACT and (users <= 5 and case.sizes == "5of5"):
        assert found.value == pytest.approx(best, rel=1e-9)


@several
def test_no_source_tells_more(case: Case) -> None:
    matrix, users = matrix_of(case), 4
    found = told(case, users)
    one, two = (identification_bounds(case.mechanism, users, largest_list=k) for k in (1, 2))
    for prior, values_of in brute_force.sources(5, users, len(matrix), seed=3):
        joint = prior[:, None] * (values_of @ matrix)
        tells = brute_force.information(joint)
        assert tells <= found.information.value + 1e-12
        assert tells <= found.eta_kl.value * brute_force.information(prior[:, None] * values_of) + 1e-12
        even = values_of @ matrix / users
        assert brute_force.success(even) <= one.identification.value + 1e-12
        assert brute_force.success(even, 2) <= two.identification.value + 1e-12
        ours = identification_bounds(case.mechanism, users, prior=prior)
        assert brute_force.success(joint) <= min(way.value for way in ours.identifications) + 1e-12
        assert tells * BITS <= min(way.value for way in ours.pies) + 1e-12
        listed = identification_bounds(case.mechanism, users, prior=prior, largest_list=2).identification.value
        assert brute_force.success(joint, 2) <= listed + 1e-12


def test_capacities_of_matrices() -> None:
    """Symmetric, erasing and Z channels have closed forms; bounds are certain whatever the matrix."""
    flip, lost = 0.11, 0.3
    symmetric = channel_capacity(np.array([[1 - flip, flip], [flip, 1 - flip]]))
    assert symmetric.high == pytest.approx(log(2) + flip * log(flip) + (1 - flip) * log(1 - flip), rel=1e-9)
    erasing = channel_capacity(np.hstack([np.eye(4) * (1 - lost), np.full((4, 1), lost)]))
    assert erasing.high == pytest.approx((1 - lost) * log(4), rel=1e-9)
    z = channel_capacity(np.array([[1.0, 0.0], [0.5, 0.5]]))
    assert z.low == pytest.approx(log(1.25), rel=1e-8)
    random = np.random.default_rng(5)
    for _ in range(20):
        matrix = random.dirichlet(np.full(6, 0.4), size=5)
        found = channel_capacity(matrix)
        assert found.low <= found.high <= found.low + 1e-6
        low, high = brute_force.capacities(matrix[None])
        assert found.high >= low - 1e-12
        assert found.low <= high + 1e-12


# The spec's figures


@pytest.mark.parametrize(("epsilon", "alpha"), [(0.1, 0.014), (1.0, 1.4), (10.0, 14.0)])
def test_proposition_10(epsilon: float, alpha: float) -> None:
    found = identification_bounds(LocalHashing(LOCATIONS, epsilon, g=2), N)
    assert found.paper_pie is not None
    general = min(epsilon, epsilon**2, log(N)) * BITS
    assert general == pytest.approx(alpha, rel=0.04)
    assert found.paper_pie.value == pytest.approx(min(general, tanh(epsilon / 2) * log2(N)))


@pytest.mark.parametrize("epsilon", [1e-5, 0.01, 1.0, 10.0])
@pytest.mark.parametrize("users", [2, 7, 40])
def test_digits_of_bits_and_subsets(epsilon: float, users: int) -> None:
    """Sums over K of (1 - s)(m pi E eps/m - E[t ln t]), with eighty digits and no window."""
    domain = Domain(range(60))
    for mechanism in (UnaryEncoding(domain, epsilon), SubsetSelection(domain, epsilon, k=9)):
        with localcontext() as context:
            context.prec = 80
            pi = mechanism.law.inclusion
            q = Decimal(pi.numerator) / Decimal(pi.denominator)
            s = Decimal(mechanism.threshold) / Decimal(2**64)
            e = 1 + s / ((1 - s) * q)
            total = (1 - s) * q * e * e.ln()
            for k in range(users + 1):
                if isinstance(mechanism, UnaryEncoding):
                    weight = comb(users, k) * q**k * (1 - q) ** (users - k)
                else:
                    ways = comb(9, k) * comb(51, users - k) if k <= 9 and users - k <= 51 else 0
                    weight = Decimal(ways) / comb(60, users)
                t = 1 + (e - 1) * k / users
                total -= (1 - s) * weight * t * t.ln()
        found = report_leakage(mechanism, Prior.of(users), 1).information.value
        assert found == pytest.approx(float(total), rel=1e-9)


HALF = partial(UnaryEncoding, theta=0.5)
BUILDERS = (
    RandomizedResponse,
    UnaryEncoding,
    HALF,
    SubsetSelection,
    LocalHashing,
)


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("size", [3, 10**7, 10**9 - 1])
def test_extremes(build: Any, size: int) -> None:
    """Finite and in range everywhere, and never less for a larger epsilon or more users' worth of values."""
    domain = Domain(range(size))
    before = -1.0
    for epsilon in (1e-6, 1.0, 20.0, 50.0):
        if epsilon == 50 and build is HALF:
            # Its bits are too rare to be drawn.
            continue
        mechanism = build(domain, epsilon)
        row = [identification_bounds(mechanism, n) for n in (1, 10**6, 10**9)]
        for one in row:
            numbers = [one.pie.value, one.identification.value, one.eta_kl.value, one.eta_tv.value]
            assert np.isfinite(numbers).all()
            assert 0 <= one.pie.value <= one.entropy + 1e-12
            assert one.guessed * (1 - 1e-12) <= one.identification.value <= 1
        alphas = [one.pie.value for one in row]
        assert alphas == pytest.approx(sorted(alphas), rel=1e-9)
        if build is RandomizedResponse:
            assert alphas[-1] > before
            before = alphas[-1]


def test_windows_tell_what_their_matrix_tells() -> None:
    """No rho says how many windows two values share, so that their bounds are those of any matrix."""
    mechanism = Windows(Domain(range(4)), 1.0)
    matrix = mechanism.channel().matrix
    bounds, measured = report_leakage(mechanism, Prior(3), 1), contraction(matrix)
    assert bounds.eta_tv.value == pytest.approx(measured.total_variation, rel=1e-9)
    best = brute_force.best_success(brute_force.merged(matrix), np.full(3, 1 / 3))
    assert identification_bounds(mechanism, 3).identification.value == pytest.approx(best, rel=1e-9)
