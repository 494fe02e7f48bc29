"""The largest expected l1 loss against the printed formulas and every other distribution."""

from math import exp, expm1, log, pi, sqrt
from typing import Any

import numpy as np
import pytest

from discreet import Domain, RandomizedResponse
from discreet.mechanisms import BlockMechanism, LawMechanism
from discreet.mechanisms.laws.bits import IndependentBits
from laws import Case, every_with_rho
from papers.uldp.worst_case import worst_l1

PER_REPORT = sqrt(2 / pi)


def rappor(v: int, w: int, epsilon: float) -> BlockMechanism:
    """The paper's uRAP with d1 = 1 / (e^(eps/2) + 1) to 60 binary digits, where the library's own keeps 12."""
    law = IndependentBits(v, round(2.0**60 / (exp(epsilon / 2) + 1)) | 1, 60)
    return LawMechanism(Domain(range(w), sensitive=range(v)), epsilon, law, clear_blocks=v < w)


def rr(v: int, w: int, epsilon: float) -> BlockMechanism:
    return RandomizedResponse(Domain(range(w), sensitive=range(v)), epsilon)


def l1(mechanism: BlockMechanism, p: Any) -> float:
    return PER_REPORT * float(mechanism.decoder.standard_errors(1, p).sum())


def even(domain: Domain, mass: float) -> Any:
    others = (1 - mass) / max(domain.clear_count, 1)
    return np.where(domain.sensitive, mass / domain.sensitive_count, others)


@pytest.mark.parametrize(("v", "w"), [(1, 2), (3, 8), (15, 40), (9, 9)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0, 8.0])
def test_printed_l1(v: int, w: int, epsilon: float) -> None:
    """[ULDP, (11) and (16)]."""
    p = np.random.default_rng(v).dirichlet(np.ones(w))
    S, N = p[:v], p[v:]
    u, V = expm1(epsilon), (v + expm1(epsilon)) / expm1(epsilon)
    eleven = np.sqrt((S + 1 / u) * (V - S - 1 / u)).sum() + np.sqrt(N * (V - N)).sum()
    assert l1(rr(v, w, epsilon), p) == pytest.approx(PER_REPORT * eleven, rel=1e-11)
    u, V = expm1(epsilon / 2), exp(epsilon / 2) / expm1(epsilon / 2)
    sixteen = np.sqrt((S + 1 / u) * (V - S)).sum() + np.sqrt(N * (V - N)).sum()
    assert l1(rappor(v, w, epsilon), p) == pytest.approx(PER_REPORT * sixteen, rel=1e-11)


@every_with_rho
def test_no_distribution_is_worse_than_the_worst(case: Case) -> None:
    mechanism, domain = case.mechanism, case.domain
    mass, worst = worst_l1(mechanism, 1)
    assert l1(mechanism, even(domain, mass)) == pytest.approx(worst, rel=1e-12)
    for concentration in (0.1, 1.0, 100.0):
        for drawn in np.random.default_rng(8).dirichlet(np.full(domain.size, concentration), 3):
            assert l1(mechanism, drawn) <= worst * (1 + 1e-12)
    for other in np.linspace(0, 1, 9) if domain.clear_count else ():
        assert l1(mechanism, even(domain, other)) <= worst * (1 + 1e-12)


def test_printed_table() -> None:
    """Leading terms near eps = 0 and at eps = ln |X|, in units of sqrt(2/(n pi)) and 1/n.

    Two entries are not as printed: RAPPOR's l1 at ln |X| is |X|^(1/4) sqrt(|X| - 1), not sqrt(|X|) sqrt(|X| - 1), which
    is beyond what its own l2 allows (Cauchy-Schwarz); and its l2 next to 0 is 4 |X| / eps^2 without (1 - 1/|X|).
    """
    small, w = 1e-8, 10**4
    large, root = log(w), sqrt(w)
    for v in (2, 7, 100):
        for total in (v, 5 * v):
            printed = v * sqrt(v - 1) / small, 2 * v / small
            for mechanism, entry in zip((rr(v, total, small), rappor(v, total, small)), printed, strict=True):
                assert worst_l1(mechanism, 1)[1] / PER_REPORT == pytest.approx(entry, rel=1e-3)
            assert rr(v, total, small).decoder.worst_case_mse(1) == pytest.approx(v * (v - 1) / small**2, rel=1e-3)
            assert rappor(v, total, small).decoder.worst_case_mse(1) == pytest.approx(4 * v / small**2, rel=1e-3)
    assert worst_l1(rr(w, w, large), 1)[1] / PER_REPORT == pytest.approx(2 * sqrt(w - 1), rel=1e-3)
    assert worst_l1(rappor(w, w, large), 1)[1] / PER_REPORT == pytest.approx(w**0.25 * sqrt(w - 1), rel=0.02)
    assert rr(w, w, large).decoder.worst_case_mse(1) == pytest.approx(4 * (1 - 1 / w), rel=1e-3)
    assert rappor(w, w, large).decoder.worst_case_mse(1) == pytest.approx(root * (1 - 1 / w), rel=0.05)
    for v in (1, 20):
        assert worst_l1(rr(v, w, large), 1)[1] / PER_REPORT == pytest.approx(sqrt(w - 1), rel=5e-3)
        assert worst_l1(rappor(v, w, large), 1)[1] / PER_REPORT == pytest.approx(
            sqrt(w - 1) * (1 + v / w**0.75), rel=0.02
        )
        assert rr(v, w, large).decoder.worst_case_mse(1) == pytest.approx(
            (1 + v / (w - 1)) ** 2 * (1 - 1 / w), rel=1e-9
        )
        assert rappor(v, w, large).decoder.worst_case_mse(1) == pytest.approx(1 + (v + 1) / root, rel=0.01)
