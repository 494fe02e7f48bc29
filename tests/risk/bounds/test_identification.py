"""Bounds on guessing the user: the spec's figures, several reports, priors, and what is refused."""

from decimal import Decimal, localcontext
from itertools import permutations, product
from math import exp, prod
from typing import Any

import brute_force
import numpy as np
import pytest

from discreet import Domain, Personalized, RandomizedResponse, UnaryEncoding
from discreet.risk.bounds import Bounds, fano, identification_bounds
from discreet.risk.bounds.capacity import BITS, excess, shortfall
from discreet.risk.bounds.hits import binomial, hits_of_subsets, hypergeometric
from discreet.risk.bounds.identification import ANY_DATA
from discreet.risk.bounds.leakage import Prior, report_leakage
from discreet.testing import outputs_of
from laws import Case, spelled
from packing import each

D, N = 10_500_393, 1_370_637
LOCATIONS = Domain(range(D))
SMALL = Domain(range(5))


def way(bounds: Bounds, source: str) -> float:
    """The bound on identification whose source begins like this."""
    return next(one.value for one in bounds.identifications if one.source.startswith(source))


# The spec's figures


@pytest.mark.parametrize(
    ("epsilon", "paper", "exact"),
    [(1, 0.0491, 8.93e-7), (10, 0.0512, 0.00209), (12, 0.0643, 0.0153), (14, 0.152, 0.103), (16, 0.507, 0.458)],
)
def test_success_at_the_papers_size(epsilon: float, paper: float, exact: float) -> None:
    found = identification_bounds(RandomizedResponse(LOCATIONS, epsilon), N)
    assert found.paper_error is not None
    assert 1 - found.paper_error.value == pytest.approx(paper, rel=4e-3)
    assert found.identification.value == pytest.approx(exact, rel=4e-3)
    assert found.identification.exact
    assert found.error == 1 - found.identification.value
    if epsilon == 10:
        assert way(found, "Fano") == pytest.approx(0.00262, rel=2e-3)


# Several reports


def several(matrix: Any, users: int, seed: int, *, reacts: bool) -> tuple[Any, Any]:
    """A prior, and the law of two reports given the user: data correlated, or reacting to the first report."""
    random = np.random.default_rng(seed)
    prior = random.dirichlet(np.ones(users)) if seed % 2 else np.full(users, 1 / users)
    first = np.eye(len(matrix))[random.integers(0, len(matrix), users)]
    shape = (users, len(matrix), matrix.shape[1]) if reacts else (users, len(matrix), 1)
    second = np.eye(len(matrix))[random.integers(0, len(matrix), shape)]
    joint = np.einsum("ux,xy,uxyz,zw->uyw", first, matrix, second, matrix)
    return prior, joint.reshape(users, -1)


@each("builder", ["rr", "unary", "subset-k2", "hashing-g2", "hadamard"])
@each("sizes", ["5of5", "3of7"])
@each("reacts", [False, True])
def test_two_reports(builder: str, sizes: str, reacts: bool) -> None:
    case = Case(builder, sizes, 3.0)
    matrix = brute_force.merged(spelled(case).matrix)
    for seed in range(12):
        prior, reports = several(matrix, 4, seed, reacts=reacts)
        joint = prior[:, None] * reports
        for listed in (1, 2):
            found = identification_bounds(case.mechanism, 4, reports=2, prior=prior, largest_list=listed)
            held = [one for one in found.identifications if not reacts or one.condition == ANY_DATA]
            assert len(held) >= 2
            assert brute_force.success(joint, listed) <= min(one.value for one in held) + 1e-12
        held = [one for one in found.pies if not reacts or one.condition in ("", ANY_DATA)]
        assert brute_force.information(joint) * BITS <= min(one.value for one in held) + 1e-12


# From information to success


@pytest.mark.parametrize("likeliest", [1e-9, 1e-3, 0.2, 0.9])
@pytest.mark.parametrize("information", [1e-18, 1e-9, 1e-3, 0.05])
def test_tight_fano(likeliest: float, information: float) -> None:
    found = fano.tight_fano(information, likeliest)
    with localcontext() as context:
        context.prec = 60
        v, p = Decimal(found), Decimal(likeliest)
        if v < 1:
            divergence = v * (v / p).ln() + (1 - v) * ((1 - v) / (1 - p)).ln()
            # V itself has sixteen digits, and next to P that is most of what is told.
            slack = Decimal("1e-15") * (v * (v / p).ln().copy_abs() + 1) * p.sqrt()
            assert abs(divergence - Decimal(information)) <= Decimal(information) * Decimal("1e-6") + slack
    assert likeliest <= found <= 1
    assert found >= likeliest


@pytest.mark.parametrize("case", [Case("rr", "5of5", 1.0), Case("unary", "3of7", 2.0), Case("subset", "3of7", 1.0)])
def test_information_of_an_order(case: Case) -> None:
    """No prior tells more in Sibson's sense; some tells as much; and V is within what follows."""
    matrix = brute_force.merged(spelled(case).matrix)
    random = np.random.default_rng(8)
    for order, bound in report_leakage(case.mechanism, Prior.of(7), 1).orders:
        best = 0.0
        for w in np.linspace(0.0, 1.0, 201):
            p = np.where(case.domain.sensitive, w / case.domain.sensitive_count, 0.0)
            p[~case.domain.sensitive] = (1 - w) / max(case.domain.clear_count, 1)
            if p.sum() > 0.999:
                best = max(best, _sibson(matrix, p, order))
        for _ in range(50):
            assert _sibson(matrix, random.dirichlet(np.ones(len(matrix))), order) <= bound + 1e-12
        assert best == pytest.approx(bound, rel=1e-3)
        assert best <= bound + 1e-12
        for prior, values_of in brute_force.sources(10, 4, len(matrix), seed=2):
            joint = prior[:, None] * (values_of @ matrix)
            assert brute_force.success(joint) <= fano.of_order(bound, prior.max(), order) + 1e-12


def _sibson(matrix: Any, p: Any, order: float) -> float:
    return float(order / (order - 1) * np.log(((p @ matrix**order) ** (1 / order)).sum()))


# Digits


@pytest.mark.parametrize("u", [-1.0, -0.999, -0.1, -1e-3, -1e-9, 0.0, 1e-12, 1e-4, 0.06, 0.07, 3.0, 1e9])
def test_digits_of_what_vanishes(u: float) -> None:
    with localcontext() as context:
        context.prec = 60
        x = Decimal(u)
        grown = (1 + x) * (1 + x).ln() - x if x > -1 else Decimal(1)
        assert float(excess(u)) == pytest.approx(float(grown), rel=1e-12)
        if u > -1:
            assert shortfall(u) == pytest.approx(float(x - (1 + x).ln()), rel=1e-12)


def test_laws_of_overlaps() -> None:
    from scipy.stats import binom, hypergeom

    law = UnaryEncoding(SMALL, 1.0).law
    for m in (1, 7, 1000, 10**6):
        found, q = binomial(m, law.inclusion), float(law.inclusion)
        assert found.probabilities.sum() == pytest.approx(1)
        assert found.probabilities == pytest.approx(binom.pmf(np.rint(found.shares * m), m, q), rel=1e-6, abs=1e-20)
        assert found.mean(found.shares) == pytest.approx(q, rel=1e-12)
    for size, count, m in [(10, 3, 4), (10, 9, 9), (1000, 400, 700), (10**6, 10, 10**5), (1, 1, 1)]:
        found = hypergeometric(size, count, m)
        wanted = hypergeom.pmf(np.rint(found.shares * m), size, count, m)
        assert found.probabilities == pytest.approx(wanted, rel=1e-6, abs=1e-20)
        missed = hypergeom.pmf(0, size, count, m)
        assert hits_of_subsets(size, count, np.array([0.0, m]))[0] == 0
        assert float(hits_of_subsets(size, count, np.array(float(m)))) == pytest.approx(1 - missed, rel=1e-9)


# What is said, and what is refused


def test_a_personalized_mechanism_is_bounded_by_its_common_one() -> None:
    mechanism = Personalized(Domain(range(10), sensitive=[1, 2]), 1.0, ["home"], mechanism="rr")
    ours, common = identification_bounds(mechanism, 50), identification_bounds(mechanism.common, 50)
    assert ours.pie == common.pie
    assert ours.identification == common.identification
    assert ours.guarantee == mechanism.guarantee


# A sealed batch


@pytest.mark.parametrize("mechanism", [RandomizedResponse(SMALL, 1.0), UnaryEncoding(Domain(range(3)), 1.0)], ids=repr)
def test_attribution_in_a_batch_is_bounded_by_two_swapped_reports(mechanism: Any) -> None:
    """Every batch of three known values, without order: the posterior of every sender of every report."""
    outputs = outputs_of(mechanism).matrix
    bounds = identification_bounds(mechanism, 3)
    assert bounds.attribution is not None
    ratio = exp(bounds.epsilon)
    assert bounds.attribution.value == pytest.approx(ratio**2 / (ratio**2 + 2), rel=1e-12)
    largest = 0.0
    for people in ((0, 1, 2), (0, 0, 1), (0, 1, 1)):
        for batch in product(range(outputs.shape[1]), repeat=3):
            chances = {
                order: prod(outputs[people[order[i]], batch[i]] for i in range(3)) for order in permutations(range(3))
            }
            whole = sum(chances.values())
            for person in range(3):
                first = sum(chance for order, chance in chances.items() if order[0] == person)
                largest = max(largest, first / whole)
    alone = ratio / (ratio + 2)
    assert alone < largest <= bounds.attribution.value * (1 + 1e-12)
    assert bounds.identification.value <= alone * (1 + 1e-9)
    assert f"{bounds.attribution.value:.4g}" in str(bounds)


def test_no_bound_on_attribution_where_its_condition_fails() -> None:
    some = RandomizedResponse(Domain(range(5), sensitive=[0, 1]), 1.0)
    assert identification_bounds(some, 10).attribution is None
    everything = RandomizedResponse(SMALL, 1.0)
    for more in ({"reports": 2}, {"largest_list": 2}, {"prior": [0.5] + [0.5 / 9] * 9}):
        found = identification_bounds(everything, 10, **more)
        assert found.attribution is None
        assert found.attribution_sentence == ""
    large = identification_bounds(RandomizedResponse(SMALL, 30.0), 10).attribution
    assert large is not None
    assert large.value <= 1
