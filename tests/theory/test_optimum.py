"""The best design against the printed formulas, a general optimizer, and the information in its reports."""

from itertools import product
from math import exp, expm1, log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from discreet import BlockDesign, Domain, RandomizedResponse, SubsetSelection
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.testing import outputs_of
from discreet.theory.design import Design, Mixture
from discreet.theory.linear_decoder import LinearDecoder
from discreet.theory.optimum import lower_bound, optimal_design
from packing import each

SMALL = [(1, 2), (1, 6), (2, 2), (2, 7), (3, 5), (5, 5), (5, 8), (6, 40)]
EPSILONS = [0.05, 0.7, 1.5, 2.2, 4.0, 7.0]


def printed(v: int, w: int, epsilon: float, alpha: float, weights: dict[int, float]) -> float:
    """M(alpha, t) from J1, J2, J3, letter by letter."""
    E, N = exp(epsilon), w - v
    terms = [(t, k) for k, t in weights.items()]
    total = 0.0
    if v > 1:
        J1 = v * (E - 1) ** 2 / (v - 1)
        J1 *= sum(t * k * (v - k) / ((alpha * k * (E - 1) + v) * (k * E + v - k)) for t, k in terms)
        total += (v - 1) / J1
    if N > 0 and alpha < 1:
        J2 = N * (E - 1) / (1 - alpha) * sum(t * k / (k * E + v - k) for t, k in terms)
        J3 = v * N * (E - 1) / (w * (1 - alpha)) * sum(t * k / (alpha * k * (E - 1) + v) for t, k in terms)
        total += (N - 1) / J2 + 1 / J3
    return total


def best_of_all_mixtures(v: int, w: int, epsilon: float, alpha: float) -> float:
    """Least M over all weights of all sizes, by a general optimizer that knows nothing of the structure."""

    def bound(share: Any) -> float:
        share = np.maximum(share, 0) / np.maximum(share, 0).sum()
        return log(max(printed(v, w, epsilon, alpha, dict(zip(range(1, v + 1), share.tolist(), strict=True))), 1e-300))

    if v == 1:
        return exp(bound(np.ones(1)))
    starts = [np.full(v, 1 / v), *(0.9 * np.eye(v)[k] + 0.1 / v for k in range(min(v, 4)))]
    within = {"bounds": [(0, 1)] * v, "constraints": {"type": "eq", "fun": lambda share: share.sum() - 1}}
    return exp(min(minimize(bound, one, method="SLSQP", options={"ftol": 1e-14}, **within).fun for one in starts))


def moments(v: int, w: int, epsilon: float, k: int) -> LinearDecoder:
    hidden = v / expm1(epsilon)
    return LinearDecoder(v, w - v, k / (k + hidden), hidden / (k + hidden), k / v, (k - 1) / max(v - 1, 1))


def random_problems(count: int, seed: int) -> list[tuple[int, int, float]]:
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        w = max(int(exp(random.uniform(log(2), log(5000)))), 2)
        v = int(random.choice([1, 2, w, random.integers(1, w + 1), random.integers(1, min(w, 20) + 1)]))
        found.append((min(v, w), w, exp(random.uniform(log(0.01), log(30)))))
    return found


def regime_of(design: Design) -> str:
    """Return whether a design has blocks of one value, of one larger size, or of two sizes."""
    sizes = tuple(design.weights)
    return "mixture" if len(sizes) > 1 else "randomized response" if sizes == (1,) else "subsets"


# The value


def test_value_is_attained_and_certified_on_a_thousand_problems() -> None:
    seen = set()
    for v, w, epsilon in random_problems(1000, 1):
        design = optimal_design(v, w, epsilon)
        seen.add((regime_of(design), min(v, 3), v == w, design.alpha in {0.0, 1.0}))
        assert abs(design.gap) <= 1e-10, (v, w, epsilon)
        assert design.worst_case_mse(1) == pytest.approx(design.value, rel=1e-9), (v, w, epsilon)
        if len(design.weights) == 1:
            (k,) = design.weights
            assert moments(v, w, epsilon, k).worst_case_mse(1) == pytest.approx(design.value, rel=1e-9), (v, w, epsilon)
    for regime in ("randomized response", "subsets", "mixture"):
        assert (regime, 3, False, regime == "subsets") in seen
    assert {("mixture", 2, False, True), ("mixture", 2, False, False), ("randomized response", 1, False, True)} <= seen


@pytest.mark.parametrize("epsilon", EPSILONS)
@each("v, w", SMALL)
def test_value_is_the_saddle_point_of_the_printed_formula(v: int, w: int, epsilon: float) -> None:
    design = optimal_design(v, w, epsilon)
    assert design.value == pytest.approx(printed(v, w, epsilon, design.alpha, design.weights), rel=1e-12)
    if v == w:
        assert design.value == pytest.approx(best_of_all_mixtures(v, w, epsilon, 1.0), rel=1e-6)
        return
    found = minimize_scalar(
        lambda alpha: -best_of_all_mixtures(v, w, epsilon, alpha), bounds=(0, 1), options={"xatol": 1e-4}
    )
    ends = max(best_of_all_mixtures(v, w, epsilon, alpha) for alpha in (0.0, 1.0))
    assert design.value == pytest.approx(max(-found.fun, ends), rel=1e-6)


@pytest.mark.parametrize(("v", "w"), [(7, 12), (7, 7), (1, 4), (2, 9)])
@each("mass, epsilon", product([0.0, 0.05, 0.4, 1.0], [0.1, 1.0, 3.0, 9.0]))
def test_value_at_a_given_mass_is_the_least(v: int, w: int, mass: float, epsilon: float) -> None:
    if v == w and mass < 1:
        # Every value is sensitive.
        return
    design = optimal_design(v, w, epsilon, sensitive_mass=mass)
    assert design.alpha == mass
    assert design.given
    assert abs(design.gap) <= 1e-10
    assert design.value == pytest.approx(best_of_all_mixtures(v, w, epsilon, mass), rel=1e-6, abs=1e-12)
    squares = mass**2 / v + ((1 - mass) ** 2 / (w - v) if w > v else 0)
    assert design.mse(1, mass, squares) == pytest.approx(design.value, rel=1e-9)
    singles = [moments(v, w, epsilon, k).mse(1, mass, squares) for k in range(1, max(v, 2))]
    assert design.value <= min(singles) * (1 + 1e-12) + 1e-12
    assert design.worst_case_mse(1) >= optimal_design(v, w, epsilon).value * (1 - 1e-12)


def test_a_thousand_given_masses_are_certified() -> None:
    random, shares = np.random.default_rng(6), []
    for v, w, epsilon in random_problems(1000, 2):
        mass = 1.0 if v == w else random.random() ** 2
        design = optimal_design(v, w, epsilon, sensitive_mass=mass)
        assert abs(design.gap) <= 1e-10, (v, w, epsilon, mass)
        squares = mass**2 / v + ((1 - mass) ** 2 / (w - v) if w > v else 0)
        assert design.mse(1, mass, squares) == pytest.approx(design.value, rel=1e-9)
        shares += list(design.mixture.shares[1:])
    assert min(shares) < 0.1
    assert max(shares) > 0.9


# The closed forms


@pytest.mark.parametrize(("v", "w"), [(3, 4), (4, 9), (10, 11), (76, 400), (300, 5000)])
def test_regimes_of_three_or_more(v: int, w: int) -> None:
    N = w - v
    low, high = sqrt((v - 1) * (v - 2) / 2), N + sqrt((w - 1) * (w - 2) / 2)
    for E in (1 + (low - 1) * share for share in (0.3, 0.9, 0.999) if low > 1.01):
        design = optimal_design(v, w, log(E))
        (k,) = design.weights
        assert design.alpha == 1
        assert k in {int(v / (E + 1)), int(v / (E + 1)) + 1}
        assert k >= 2
        assert design.value == pytest.approx((v - 1) ** 2 * (k * E + v - k) ** 2 / (v * k * (v - k) * (E - 1) ** 2))
    for E in (high * 1.001, high * 10):
        design = optimal_design(v, w, log(E))
        assert regime_of(design) == "randomized response"
        assert design.alpha == pytest.approx(v * (1 - N / (E - 1)) / w, abs=1e-9)
        assert design.value == pytest.approx((1 + v / (E - 1)) ** 2 * (1 - 1 / w))
    for E in (max(low, 1) * 1.001, (max(low, 1) + high) / 2, high * 0.999):
        design = optimal_design(v, w, log(E))
        assert set(design.weights) == {1, 2}
        assert 0 < design.alpha < 1
        singles = min(moments(v, w, log(E), k).worst_case_mse(1) for k in (1, 2))
        assert design.value < singles < 1.08 * design.value


# The mechanism, spelled out


def least_error(matrix: Any, p: Any) -> float:
    """n times the Cramer-Rao bound on the summed squared error at p, from Q alone."""
    w, used = len(p), p @ matrix > 0
    Q = matrix[:, used]
    information = Q / (p @ Q) @ Q.T
    tangent = np.linalg.svd(np.ones((1, w)))[2][1:].T
    return float(np.trace(np.linalg.inv(tangent.T @ information @ tangent)))


@each("mass", [None, 0.0, 0.3])
@each("epsilon", [0.3, 1.2, 1.8, 3.0])
@each("v, w", [(1, 4), (2, 5), (3, 4), (4, 4), (4, 7), (5, 6)])
def test_value_is_the_information_bound_of_the_channel(v: int, w: int, epsilon: float, mass: float | None) -> None:
    """Of what the mechanism draws; tests/contract has its promise, its estimates and their errors."""
    if v == w and mass is not None:
        return
    mechanism = BlockDesign(Domain(range(w), sensitive=range(v)), epsilon, sensitive_mass=mass)
    design = optimal_design(v, w, epsilon, sensitive_mass=mass)
    # The bound is a limit where a class has no mass.
    alpha = min(max(design.alpha, 1e-9), 1 - 1e-9) if v < w else 1.0
    p = np.concatenate([np.full(v, alpha / v), np.full(w - v, (1 - alpha) / max(w - v, 1))])
    assert least_error(outputs_of(mechanism).matrix, p) == pytest.approx(design.value, rel=1e-5)


@each("v, w", [(1, 2), (1, 9), (2, 9), (5, 9), (9, 9), (12, 400)])
@each("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_no_mechanism_here_is_below_the_bound_and_the_design_attains_it(v: int, w: int, epsilon: float) -> None:
    domain = Domain(range(w), sensitive=range(v))
    design = optimal_design(v, w, epsilon)
    for made in BLOCK_MECHANISMS.values():
        if not made.needs_options():
            found = made(domain, epsilon).decoder.worst_case_mse(10)  # type: ignore[call-arg]
            assert found >= lower_bound(v, w, epsilon, 10) * (1 - 1e-9)
    assert BlockDesign(domain, epsilon).decoder.worst_case_mse(10) == pytest.approx(
        lower_bound(v, w, epsilon, 10), rel=1e-9
    )
    if regime_of(design) == "randomized response":
        assert RandomizedResponse(domain, epsilon).decoder.worst_case_mse(1) == pytest.approx(design.value, rel=1e-9)
    if regime_of(design) == "subsets":
        assert SubsetSelection(domain, epsilon).decoder.worst_case_mse(1) == pytest.approx(design.value, rel=1e-9)


# What is unclear


def test_a_worse_mixture_has_a_gap() -> None:
    """The certificate can fail: half the best weights are somewhere else."""
    best = optimal_design(76, 400, 2.0)
    worse = Design(best.instance, best.alpha, Mixture((1, 30), (0.5, 0.5)))
    assert worse.gap > 0.1
    assert worse.value * (1 - worse.gap) <= best.value < worse.value
