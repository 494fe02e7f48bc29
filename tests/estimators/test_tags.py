"""Estimates from reports of personalized mechanisms: formula (22), Theorem 1, and honest errors."""

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import laws
from discreet import Domain, Personalized, SeededRandom, Tally, estimate, estimate_personalized
from discreet.errors import ParameterError
from packing import each
from papers.data.drawn_tallies import draw_tally
from papers.uldp.personalized import error_terms
from refusals import refused

LABELS = ["clinic", "park", "street", "tower", "harbour"]
DOMAIN = Domain(LABELS, sensitive=["clinic"])
TAGS = ["home", "work"]
R = np.array([0.08, 0.3, 0.2, 0.1, 0.12, 0.1, 0.06, 0.04])  # five values, three placeholders
PI = {
    "home": np.array([0, 0.1, 0.2, 0.7, 0]),
    "work": np.array([0, 0, 0.5, 0, 0.5]),
    "others": np.array([0, 1.0, 0, 0, 0]),
}
P = R[:5] + R[5:] @ np.array(list(PI.values()))
N = 10**15


@cache
def personalized(mechanism: str = "rr", epsilon: float = 1.0) -> Personalized:
    return Personalized(DOMAIN, epsilon, TAGS, mechanism=mechanism)


def expected(plan: Personalized, r: Any) -> Tally:
    """Return the expected tally of N reports, at a distribution over values and placeholders."""
    return laws.expected(plan.common, np.rint(r * 1e9), N)


# Exact on expected counts


CLEAR = np.where(DOMAIN.sensitive, 0, R[:5]) / R[1:5].sum()
BY_LABEL = {label: share for label, share in zip(LABELS, PI["home"], strict=True) if share}
BACKGROUNDS: list[tuple[Any, Any]] = [
    # Where secrets are is known, guessed from values in clear, left out, or one of these for each tag.
    (PI, P),
    *((nothing, R[:5] + R[5:].sum() * CLEAR) for nothing in (None, "in-clear", {"home": None, "work": "in-clear"})),
    ("drop", R[:5] / R[:5].sum()),
    *(
        ({"home": home, "work": "drop"}, R[:5] + R[5] * PI["home"] + R[6] * R[:5] / R[:5].sum() + R[7] * CLEAR)
        for home in (PI["home"].tolist(), BY_LABEL)
    ),
]


@each("method", ["linear", "projected", "norm-sub", "threshold"])
@each("mechanism", ["rr", "unary", "subset", "hadamard", "hashing"])
@each("background, wanted", BACKGROUNDS)
def test_backgrounds_share_what_is_secret(mechanism: str, method: str, background: Any, wanted: Any) -> None:
    plan = personalized(mechanism)
    found = estimate_personalized(plan, expected(plan, R), method=method, background=background)
    assert found.estimate.frequencies == pytest.approx(wanted, abs=1e-7)
    assert list(found.placeholders.values()) == pytest.approx(R[5:], abs=1e-7)
    assert found.worst_case == pytest.approx(0.4, abs=1e-6)


def test_cells_share_inside_themselves() -> None:
    grid = Domain.grid(lat=(0, 4), lon=(0, 4), rows=4, cols=4, sensitive=[(0.5, 0.5), (2.5, 2.5)])
    plan = Personalized.cells(grid, 1.0, rows=2, cols=2, mechanism="rr")
    r = np.random.default_rng(4).dirichlet(np.ones(20))
    r[plan.hidden_values[3]] = 0  # nobody in this cell speaks in clear: its placeholder is shared evenly
    r /= r.sum()
    wanted = r[:16].copy()
    for code in range(16):
        if not grid.sensitive[code]:
            cell = plan.cell_of[code]
            whole = sum(r[other] for other in plan.hidden_values[cell])
            wanted[code] += r[16 + cell] * (r[code] / whole if whole else 1 / len(plan.hidden_values[cell]))
    found = estimate_personalized(plan, expected(plan, r), method="projected")
    assert found.estimate.frequencies == pytest.approx(wanted, abs=1e-6)
    assert found.estimate.frequencies.sum() == pytest.approx(1, abs=1e-6)


# Theorem 1


@each("method", ["linear", "projected", "mle"])
@each("seed", range(25))
def test_theorem_1_on_random_cases(seed: int, method: str) -> None:
    random = np.random.default_rng(seed)
    plan = personalized("rr", float(random.uniform(0.2, 3)))
    r = random.dirichlet(np.full(8, random.choice([0.1, 1.0])))
    true, guess = (_behind(random) for _ in range(2))
    codes = random.choice(8, int(random.integers(50, 5000)), p=r)
    reports = plan.common.obfuscate_codes(codes, random=SeededRandom(seed))
    for background in (None, "drop", guess, true):
        found = estimate_personalized(plan, reports, method=method, background=background)
        terms = error_terms(found, r, true)
        p = r[:5] + r[5:] @ np.array([true[tag] for tag in plan.tags])
        assert terms["l1"] == pytest.approx(np.abs(found.estimate.frequencies - p).sum(), abs=1e-12)
        assert terms["first_term"] == pytest.approx(np.abs(found.intermediate.frequencies - r).sum(), abs=1e-12)
        assert terms["l1"] <= terms["first_term"] + terms["second_term"] + 1e-12
        assert terms["second_term"] <= found.worst_case + 1e-12
        assert found.worst_case == pytest.approx(2 * np.abs(found.intermediate.frequencies[5:]).sum(), rel=1e-12)
        if background is true:
            assert terms["second_term"] == 0


def _behind(random: Any) -> dict[str, Any]:
    return {tag: np.append(0, random.dirichlet(np.full(4, 0.5))) for tag in ("home", "work", "others")}


# What comes out


def test_what_comes_out() -> None:
    plan = personalized("unary")
    reports = plan.common.obfuscate_codes(np.random.default_rng(1).choice(8, 2000, p=R), random=SeededRandom(1))
    found = estimate_personalized(plan, reports, method="mle", background=PI, tolerance=1e-6)
    assert found.estimate.domain is DOMAIN
    assert found.estimate.simulated
    assert found.estimate.frequencies.min() >= 0
    assert found.estimate.frequencies.sum() == pytest.approx(1, abs=1e-9)
    assert found.estimate.gap == found.intermediate.gap <= 1e-6
    assert found.estimate.method == "mle, placeholders shared"
    alone = estimate(plan.common, reports, method="mle", tolerance=1e-6)
    np.testing.assert_array_equal(found.intermediate.frequencies, alone.frequencies)
    assert pickle.loads(pickle.dumps(found)).placeholders == found.placeholders


@cache
def tallied(mechanism: str, epsilon: float) -> list[Tally]:
    """Return the tallies of 400 collections of 4,000 reports."""
    common, random = personalized(mechanism, epsilon).common, np.random.default_rng(3)
    return [draw_tally(common, people, random) for people in random.multinomial(4000, R, 400)]


@pytest.mark.slow
@each("mechanism, epsilon, background", [("rr", 0.5, "drop"), ("unary", 1.0, None), ("subset", 3.0, PI)])
def test_stated_errors_are_not_too_small(mechanism: str, epsilon: float, background: Any) -> None:
    """Over 400 runs; the rival, errors without the placeholders' part, would be far off."""
    plan = personalized(mechanism, epsilon)
    found = [estimate_personalized(plan, tally, background=background) for tally in tallied(mechanism, epsilon)]
    ends = [one.estimate.interval() for one in found[:100]]
    assert all((high > low).all() for low, high in ends)
    if background is PI:
        held = np.mean([(low <= P) & (high >= P) for low, high in ends], axis=0)
        assert held.min() >= binom.ppf(1e-3, 100, 0.95) / 100
    spread = np.std([one.estimate.frequencies for one in found], axis=0)
    stated = np.sqrt(np.mean([one.estimate.standard_errors**2 for one in found], axis=0))
    assert (spread <= stated * 1.15).all()
    assert (stated <= spread * 1.8).all()


# Refusals


@pytest.mark.parametrize(
    ("background", "said"),
    [
        ({"hobby": PI["home"]}, "'hobby'"),
        ({"home": [0.5, 0.5]}, "'home': p must be 5 probabilities"),
        ({"home": [0.5, 0.5, 0.5, 0, 0]}, "sum 1.5"),
        ({"home": [0, 1.5, -0.5, 0, 0]}, "'home'"),
        ({"home": [0, float("nan"), 1, 0, 0]}, "'home'"),
        ({"home": ["a", "b", "c", "d", "e"]}, "'home'"),
        ({"home": R}, "5 probabilities"),
        ({"home": {"park": 0.5, "moon": 0.5}}, "not in the domain"),
        ({"home": {"park": 0.5}}, "sum 0.5"),
        ({"home": "magic"}, "'magic'"),
        ({"home": 3}, "'home'"),
        ("magic", "'magic'"),
        ([0.2] * 5, "background.not-by-tag"),
    ],
    ids=str,
)
def test_background_that_is_none(background: Any, said: str) -> None:
    plan = personalized()
    assert said in refused(
        ParameterError, lambda: estimate_personalized(plan, expected(plan, R), background=background)
    )


# Placeholders of cells [docs/explanation/personalized.md]: on a map people live where people are, but not evenly


def test_sums_of_values_with_shared_bots_are_those_of_the_intermediate_estimate() -> None:
    plan = personalized()
    codes = np.arange(plan.domain.size).repeat(40)
    found = estimate_personalized(plan, plan.common.obfuscate_codes(codes, random=SeededRandom(1)))
    for ask in (lambda: found.estimate.total(np.arange(found.estimate.domain.size) < 2), found.estimate.covariance):
        said = refused(ParameterError, ask)
        assert "Use `intermediate` of the result" in said
        assert "hash" not in said
    assert found.intermediate.total(np.arange(found.intermediate.domain.size) < 2).standard_error > 0
