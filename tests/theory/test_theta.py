"""The best theta against numerical minimization of the exact moments, and the gains as they are printed."""

from itertools import product
from math import exp, expm1, log, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from discreet.theory.linear_decoder import DecoderBesideClear, LinearDecoder
from discreet.theory.optimum import optimal_theta
from packing import each


def paper_theta(epsilon: float) -> float:
    return 1 / (1 + exp(-epsilon / 2))


def unary_moments(size: int, total: int, epsilon: float, theta: float, *, clear_bits: bool = False) -> LinearDecoder:
    """The decoder at exactly this theta; a mechanism has that of a fraction of few binary digits instead."""
    hidden = 1 - theta + theta * exp(-epsilon)
    noise = theta * exp(-epsilon) / hidden
    kind = DecoderBesideClear if clear_bits else LinearDecoder
    return kind(size, total - size, -theta * expm1(-epsilon), hidden, noise, noise)


GAINS = {
    (400, 76): {1: "5.7", 2: "19.9", 4: "48.5", 6: "55.6"},
    (625, 15): {1: "4.8", 2: "15.1", 4: "27.5", 6: "21.7"},
}


@pytest.mark.parametrize(
    ("w", "v", "epsilon", "gain"), [(*s, e, g) for s, row in GAINS.items() for e, g in row.items()]
)
def test_printed_gains(w: int, v: int, epsilon: float, gain: str) -> None:
    best = optimal_theta(v, w, epsilon, clear_bits=True)
    paper = unary_moments(v, w, epsilon, paper_theta(epsilon), clear_bits=True).worst_case_mse(1)
    found = unary_moments(v, w, epsilon, best.theta, clear_bits=True).worst_case_mse(1)
    assert f"{100 * (1 - found / paper):.1f}" == gain


@pytest.mark.parametrize("epsilon", [0.2, 1.3, 5.0])
def test_paper_theta_is_the_best_only_if_v_is_one_more_than_the_sensitive_mass(epsilon: float) -> None:
    for v in (1, 2, 3, 15):
        for mass in (0.0, 0.05, 0.5, 1.0):
            best = optimal_theta(v, v + 9, epsilon, sensitive_mass=mass, clear_bits=True).theta
            assert (best == pytest.approx(paper_theta(epsilon), rel=1e-12)) == (v == 1 + mass)


PROBLEMS = [(1, 2), (1, 50), (2, 3), (7, 9), (15, 625), (76, 400), (40, 41), (30, 30)]


@pytest.mark.parametrize(("v", "w"), PROBLEMS)
@each("epsilon, clear_bits, mass", product([0.05, 1.0, 3.0, 6.0, 9.0], [True, False], [None, 0.0, 0.1, 0.7, 1.0]))
def test_least_of_the_exact_errors(v: int, w: int, epsilon: float, clear_bits: bool, mass: float | None) -> None:
    if v == w and (clear_bits or mass not in {None, 1.0}):
        # Every value is sensitive.
        return
    best = optimal_theta(v, w, epsilon, sensitive_mass=mass, clear_bits=clear_bits)

    def error(theta: float) -> float:
        found = unary_moments(v, w, epsilon, theta, clear_bits=clear_bits)
        if mass is None:
            return found.worst_case_mse(1)
        return found.mse(1, mass, mass**2 / v + ((1 - mass) ** 2 / (w - v) if w > v else 0.0))

    odds = minimize_scalar(lambda x: error(1 / (1 + exp(-x))), bounds=(-4, 12), options={"xatol": 1e-10})
    assert error(best.theta) == pytest.approx(best.value, rel=1e-10)
    assert best.value == pytest.approx(odds.fun, rel=1e-8)
    assert log(best.theta / (1 - best.theta)) == pytest.approx(odds.x, abs=1e-3)
    assert best.minimax == (mass is None)


@pytest.mark.parametrize("N", [2, 10, 1000])
def test_minimax_closed_form_holds_just_as_long_as_it_says(N: int) -> None:
    v, seen = 6, set()
    for epsilon in np.linspace(0.1, 14, 80):
        best = optimal_theta(v, v + N, epsilon, clear_bits=True)
        simple = 1 / (1 + sqrt(v / (v + expm1(epsilon))))
        valid = (1 - simple) * expm1(epsilon) <= N / 2
        seen.add(valid)
        assert best.closed_form == (best.sensitive_mass in {0.0, 1.0})
        assert (best.sensitive_mass == 0) == valid
        assert (best.theta == pytest.approx(simple, rel=1e-12)) == valid
    assert seen == {True, False}


@pytest.mark.parametrize("v", [2, 9, 300])
def test_all_sensitive_is_the_known_optimum_of_the_printed_formula(v: int) -> None:
    """With a = 1: theta = 1 / (1 + sqrt(((v - 1) + e^-eps) / (v + e^eps - 1)))."""
    for epsilon in (0.1, 2.0, 20.0):
        expected = 1 / (1 + sqrt(((v - 1) + exp(-epsilon)) / (v + expm1(epsilon))))
        assert optimal_theta(v, v, epsilon).theta == pytest.approx(expected, rel=1e-12)
        assert optimal_theta(v, v + 5, epsilon, sensitive_mass=1, clear_bits=True).theta == pytest.approx(expected)
