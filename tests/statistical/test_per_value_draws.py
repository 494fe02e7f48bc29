"""What devices send where values have promises of their own, against numbers that follow from the epsilons alone."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.mechanisms import BlockMechanism, PerValueEncoding, PerValueResponse
from discreet.mechanisms.per_value import WeightedBits
from evidence import binomial, multinomial

pytestmark = pytest.mark.slow

N = 600_000
SOME = Domain(range(9), sensitive=[0, 2, 5, 7, 8])
ALL = Domain(range(5))
EPSILONS = np.array([1.4, 0.6, 1.0, 0.6, 2.0])


def made(cls: Any, domain: Domain, epsilons: Any) -> BlockMechanism:
    said = dict(zip(domain.sensitive_codes.tolist(), epsilons.tolist(), strict=True))
    return cls(domain, float(epsilons.max()), epsilons=said)


def response(epsilons: Any) -> tuple[float, Any]:
    """Return s and pi by the spec of the optimum, section 5."""
    beta = 1 / np.expm1(epsilons)
    return 1 / (1 + beta.sum()), beta / beta.sum()


def encoding(epsilons: Any) -> tuple[float, Any]:
    """Return s and d, with the odds of the truth by a general optimiser."""
    beta = 1 / np.expm1(epsilons)
    summed = lambda r: (beta * (1 + r) ** 2 / (r * (1 - r * beta))).sum()  # noqa: E731
    found = minimize_scalar(summed, bounds=(1e-6, 1 / beta.max() - 1e-6), method="bounded", options={"xatol": 1e-10})
    return found.x / (1 + found.x), found.x * beta


LAWS = {"rr": (PerValueResponse, response), "unary": (PerValueEncoding, encoding)}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("domain", "rank"), [(SOME, 0), (SOME, 2), (SOME, 4), (ALL, 1), (ALL, 3)])
def test_sensitive_values(name: str, domain: Domain, rank: int) -> None:
    """Rivals: the smallest epsilon for all; the epsilons in another order."""
    cls, law = LAWS[name]
    print(f"seed {rank}")
    mechanism = made(cls, domain, EPSILONS)
    codes = np.full(N, domain.sensitive_codes[rank])
    support = mechanism.tally(mechanism.obfuscate_codes(codes, random=SeededRandom(rank))).support
    expected = shares(name, *law(EPSILONS), rank)
    for rival in (np.full(5, 0.6), EPSILONS[[1, 0, 4, 2, 3]]):
        others = shares(name, *law(rival), rank)
        for x in range(5):
            if abs(others[x] - expected[x]) > 0.01:
                binomial(f"{name}: {x}", support[x], N, expected[x], rival=others[x])


def shares(name: str, s: float, pi: Any, rank: int | None) -> Any:
    """Return how often a block contains each value, from a sensitive value or (None) from another one."""
    told = np.zeros(5)
    if rank is not None:
        told = pi.copy() if name == "unary" else told
        told[rank] = 1
    return s * told + (1 - s) * pi


@pytest.mark.parametrize("name", LAWS)
def test_values_that_are_not_sensitive(name: str) -> None:
    cls, law = LAWS[name]
    print("seed 77")
    mechanism = made(cls, SOME, EPSILONS)
    tally = mechanism.tally(mechanism.obfuscate_codes(np.full(N, 6), random=SeededRandom(77)))
    (s, pi), (off, _) = law(EPSILONS), law(EPSILONS * 1.1)
    binomial(f"{name}: in clear", tally.clear_total, N, s, rival=off)
    expected = shares(name, s, pi, None)
    for x in range(5):
        binomial(f"{name}: {x}", tally.support[x], N, expected[x], rival=expected[(x + 1) % 5])


@pytest.mark.parametrize("v", [1, 7, 8, 9, 65, 1001])
def test_every_bit_has_its_own_probability(v: int) -> None:
    """Across bytes, words and pieces of noise; rival: the probability of the next bit, or of what is left of it."""
    print(f"seed {v}")
    thresholds = (3, 9, 13, 6, 11)
    law = WeightedBits(np.arange(v) % min(v, 5), thresholds[: min(v, 5)], 4)
    n = 40_000
    out = {"bits": np.empty((n, -(-v // 8)), dtype=np.uint8)}
    law.draw(np.full(n, -1), SeededRandom(v), out)
    counts = law.counts.support(out)
    for x in range(v):
        own, after = (thresholds[place % min(v, 5)] / 16 for place in (x, x + 1))
        for rival in {after, 1 - own} - {own}:
            binomial(f"bit {x} of {v}", int(counts[x]), n, own, rival=rival)
    bits = law.contains(out)
    for i, j in ((0, v - 1), (v // 2, v - 1), (0, v // 3)) if v > 1 else ():
        p, q = (thresholds[place % 5] / 16 for place in (i, j))
        cells = [p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)]
        found = np.bincount(3 - 2 * bits[:, i] - bits[:, j], minlength=4)
        if i != j:
            tilt = 0.05 * np.array([1, -1, -1, 1]) * min(cells)
            multinomial(f"bits {i} and {j}", found, cells, rival=np.array(cells) + 6 * tilt)
    follows = int((bits[:-1:2, 0] & bits[1::2, v - 1]).sum())
    p, q = thresholds[0] / 16, thresholds[(v - 1) % min(v, 5)] / 16
    binomial("a bit of the next report", follows, n // 2, p * q, rival=min(p, q))
