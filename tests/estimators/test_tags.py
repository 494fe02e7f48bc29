"""Estimates from reports of personalized mechanisms: formula (22), Theorem 1, and honest errors."""

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import Domain, Personalized, SeededRandom, Tally, estimate, estimate_personalized
from discreet.errors import ParameterError
from discreet.estimators.tags import Share, TagEstimate
from discreet.simulation.tallies import draw_tally
from packing import each
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
    """The expected tally of N reports, from the spelled-out channel."""
    common = plan.common
    outputs = np.floor(N * (r @ common.channel().matrix)).astype(np.int64)
    # What rounding left over, so that it is N reports.
    outputs[0] += N - outputs.sum()
    blocks, _ = common.law.alphabet()
    contained = common.law.contains(blocks)
    counted = np.eye(len(contained)) if common.counts.size == len(contained) else contained
    support = outputs[: len(contained)] @ counted.astype(np.int64)
    return Tally(common.fingerprint, N, support, outputs[len(contained) :])


def dense(share: Share, size: int) -> Any:
    whole = np.zeros(size)
    whole[share.codes] = share.weights
    return whole


MECHANISMS = each("mechanism", ["rr", "unary", "subset", "hadamard", "hashing"])
METHODS = each("method", ["linear", "projected", "norm-sub", "threshold"])


# Exact on expected counts


@METHODS
@MECHANISMS
def test_true_background_gives_the_truth(mechanism: str, method: str) -> None:
    plan = personalized(mechanism)
    found = estimate_personalized(plan, expected(plan, R), method=method, background=PI)
    assert found.estimate.frequencies == pytest.approx(P, abs=1e-7)
    assert list(found.placeholders.values()) == pytest.approx(R[5:], abs=1e-7)
    assert found.worst_case == pytest.approx(0.4, abs=1e-6)


@MECHANISMS
def test_without_background_bots_are_shared_as_what_is_in_clear(mechanism: str) -> None:
    plan = personalized(mechanism)
    clear = np.where(DOMAIN.sensitive, 0, R[:5])
    wanted = R[:5] + R[5:].sum() * clear / clear.sum()
    for nothing in (None, {}, "in-clear", {"home": None, "work": "in-clear"}):
        found = estimate_personalized(plan, expected(plan, R), background=nothing)
        assert found.estimate.frequencies == pytest.approx(wanted, abs=1e-7)


@MECHANISMS
def test_dropping_the_bots_is_normalising(mechanism: str) -> None:
    plan = personalized(mechanism)
    found = estimate_personalized(plan, expected(plan, R), background="drop")
    assert found.estimate.frequencies == pytest.approx(R[:5] / R[:5].sum(), abs=1e-7)


@MECHANISMS
def test_any_mix_of_background(mechanism: str) -> None:
    plan = personalized(mechanism)
    clear = np.where(DOMAIN.sensitive, 0, R[:5]) / R[1:5].sum()
    wanted = R[:5] + R[5] * PI["home"] + R[6] * R[:5] / R[:5].sum() + R[7] * clear
    by_label = {label: share for label, share in zip(LABELS, PI["home"], strict=True) if share}
    for home in (PI["home"], PI["home"].tolist(), by_label):
        found = estimate_personalized(plan, expected(plan, R), background={"home": home, "work": "drop"})
        assert found.estimate.frequencies == pytest.approx(wanted, abs=1e-7)


def test_cells_share_inside_themselves() -> None:
    grid = Domain.grid(lat=(0, 4), lon=(0, 4), rows=4, cols=4, sensitive=[(0.5, 0.5), (2.5, 2.5)])
    plan = Personalized.cells(grid, 1.0, rows=2, cols=2, mechanism="rr")
    r = np.random.default_rng(4).dirichlet(np.ones(20))
    r[plan.behind[3]] = 0  # nobody in this cell speaks in clear: its placeholder is shared evenly
    r /= r.sum()
    wanted = r[:16].copy()
    for code in range(16):
        if not grid.sensitive[code]:
            cell = plan.cell_of[code]
            whole = sum(r[other] for other in plan.behind[cell])
            wanted[code] += r[16 + cell] * (r[code] / whole if whole else 1 / len(plan.behind[cell]))
    found = estimate_personalized(plan, expected(plan, r), method="projected")
    assert found.estimate.frequencies == pytest.approx(wanted, abs=1e-6)
    assert found.estimate.frequencies.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("method", ["mle", "em", "projected", "norm-sub"])
def test_distributions_stay_distributions(method: str) -> None:
    plan = personalized("unary", 0.7)
    codes = np.random.default_rng(1).choice(8, 3000, p=R)
    reports = plan.common.obfuscate_codes(codes, random=SeededRandom(1))
    for background in (None, "drop", PI):
        found = estimate_personalized(plan, reports, method=method, background=background).estimate
        assert found.frequencies.min() >= 0
        assert found.frequencies.sum() == pytest.approx(1, abs=1e-9)


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
    assert isinstance(found, TagEstimate)
    assert found.estimate.domain is DOMAIN
    assert found.estimate.to_arrow().num_rows == 5
    assert found.estimate.simulated
    assert found.estimate.gap == found.intermediate.gap <= 1e-6
    assert found.estimate.method == "mle, placeholders shared"
    assert found.intermediate.domain.names()[5:] == ["⊥home", "⊥work", "⊥others"]
    assert found.intermediate.to_arrow().num_rows == 8
    np.testing.assert_array_equal(
        found.intermediate.frequencies, estimate(plan.common, reports, method="mle", tolerance=1e-6).frequencies
    )
    assert pickle.loads(pickle.dumps(found)).placeholders == found.placeholders
    assert "3 placeholders" in repr(found)
    assert discreet.estimate_personalized is estimate_personalized


def test_tallies_do() -> None:
    plan = personalized("unary")
    reports = plan.common.obfuscate_codes(np.random.default_rng(1).choice(8, 2000, p=R), random=SeededRandom(1))
    tally = plan.common.tally(reports.part(0, 700)) + plan.common.tally(reports.part(700, 2000))
    one, other = (estimate_personalized(plan, data, background=PI).estimate for data in (reports, tally))
    np.testing.assert_array_equal(one.frequencies, other.frequencies)
    np.testing.assert_array_equal(one.standard_errors, other.standard_errors)


@cache
def tallied(mechanism: str, epsilon: float) -> list[Tally]:
    """Return the tallies of 400 collections of 4,000 reports."""
    common, random = personalized(mechanism, epsilon).common, np.random.default_rng(3)
    return [draw_tally(common, people, random) for people in random.multinomial(4000, R, 400)]


@pytest.mark.slow
@pytest.mark.parametrize("background", [None, "drop", PI], ids=["none", "drop", "true"])
@pytest.mark.parametrize(("mechanism", "epsilon"), [("rr", 0.5), ("unary", 1.0), ("subset", 3.0)])
def test_stated_errors_are_not_too_small(mechanism: str, epsilon: float, background: Any) -> None:
    """Over 400 runs; the rival, errors without the placeholders' part, would be far off."""
    plan = personalized(mechanism, epsilon)
    found = [estimate_personalized(plan, tally, background=background) for tally in tallied(mechanism, epsilon)]
    spread = np.std([one.estimate.frequencies for one in found], axis=0)
    stated = np.sqrt(np.mean([one.estimate.standard_errors**2 for one in found], axis=0))
    assert (spread <= stated * 1.15).all()
    assert (stated <= spread * 1.8).all()


@pytest.mark.parametrize("method", ["linear", "threshold", "norm-sub", "projected", "mle"])
def test_intervals_are_those_of_the_sums_of_values_and_bots(method: str) -> None:
    """Squared distances of limits add up, whatever the method is; none is empty."""
    plan = personalized("rr")
    reports = plan.common.obfuscate_codes([0, 1, 1, 6], random=SeededRandom(1))
    found = estimate_personalized(plan, reports, method=method)
    for one in (found.estimate, found.intermediate):
        low, high = one.interval()
        assert (high > low).all()
        assert one.standard_errors.min() > 0
    size, r = plan.domain.size, found.intermediate
    (low, high), (below, above) = r.limits(0.8), found.estimate.limits(0.8)
    weights = np.array([dense(share, size) for share in found.shares])
    factors = 1 + sum(
        r.frequencies[size + at] / share.base * (dense(share, size) > 0) for at, share in enumerate(found.shares)
    )
    centre = r.centre[:size] + r.centre[size:] @ weights
    lower = (factors * (r.centre - low)[:size]) ** 2 + (r.centre - low)[size:] ** 2 @ weights**2
    upper = (factors * (high - r.centre)[:size]) ** 2 + (high - r.centre)[size:] ** 2 @ weights**2
    np.testing.assert_allclose(below, centre - np.sqrt(lower))
    np.testing.assert_allclose(above, centre + np.sqrt(upper))


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
        ([0.2] * 5, "by tag"),
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
        assert "take `intermediate` of the result" in said
        assert "hash" not in said
    assert found.intermediate.total(np.arange(found.intermediate.domain.size) < 2).standard_error > 0
