"""What devices send, against the papers' numbers: computed here from epsilon alone, never from our properties."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import exp, expm1, tanh

import numpy as np
import pytest

from discreet import (
    Domain,
    HadamardResponse,
    LocalHashing,
    ProjectiveResponse,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.core.random import BATCH
from discreet.mechanisms import BlockMechanism
from evidence import binomial
from packing import each

pytestmark = pytest.mark.slow

EPSILON = 1.0
N = 350_000
# Small probabilities that an epsilon which is 10% off hardly moves.
MORE = dict.fromkeys(("rr", "hashing-g5", "projective-q4"), 550_000)
OFF = (0.9, 1.1)


@dataclass(frozen=True)
class Rates:
    """Shares of all reports.

    Attributes:
        own: a sensitive value's block contains it.
        other: a sensitive value's block contains a given other one.
        clear: a value that is not sensitive goes in clear.
        beside: the report of such a value has a block that contains a given sensitive value.
    """

    own: float
    other: float
    clear: float
    beside: float


def randomized_response(v: int, epsilon: float) -> Rates:
    """[ULDP, Def. 3]."""
    e = exp(epsilon)
    return Rates(e / (v + e - 1), 1 / (v + e - 1), (e - 1) / (v + e - 1), 1 / (v + e - 1))


def unary(theta: Callable[[float], float], bits_beside: bool = False) -> Callable[[int, float], Rates]:
    """[ULDP, Def. 4]; by default the noise bits of reports in clear are left out."""

    def rates(_: int, epsilon: float) -> Rates:
        own, e = theta(epsilon), exp(epsilon)
        d1, d2 = own / ((1 - own) * e + own), ((1 - own) * e + own) / e
        return Rates(own, d1, 1 - d2, d1 if bits_beside else d1 * d2)

    return rates


def subsets(k: int) -> Callable[[int, float], Rates]:
    """[Ye and Barg 2018] and the block design of the utility-optimized form."""

    def rates(v: int, epsilon: float) -> Rates:
        e = exp(epsilon)
        own, truth = k * e / (k * e + v - k), k / (k + v / expm1(epsilon))
        other = (own * (k - 1) + (1 - own) * k) / max(v - 1, 1)
        return Rates(own, other, truth, (1 - truth) * k / v)

    return rates


def hyperplanes(q: int, t: int) -> Callable[[int, float], Rates]:
    """[Feldman et al. 2022]: as uniform subsets of k of the V points, of which some are values."""
    points, degree = (q**t - 1) // (q - 1), (q ** (t - 1) - 1) // (q - 1)
    return lambda _, epsilon: subsets(degree)(points, epsilon)


def hashing(g: int) -> Callable[[int, float], Rates]:
    """[Wang 2017], with the collisions of the family over the least prime counted one by one."""

    def rates(v: int, epsilon: float) -> Rates:
        e = exp(epsilon)
        prime = next(p for p in range(max(v, g), 99) if p > 1 and all(p % d for d in range(2, p)))
        family = [(a, b) for a in range(1, prime) for b in range(prime)]
        collide = sum(b % prime % g == (a + b) % prime % g for a, b in family) / len(family)
        truth = (e - 1) / (e - 1 + g)
        return Rates(e / (e + g - 1), truth * collide + (1 - truth) / g, truth, (1 - truth) / g)

    return rates


def hadamard(_: int, epsilon: float) -> Rates:
    """[Acharya 2019]."""
    truth = tanh(epsilon / 2)
    return Rates(exp(epsilon) / (exp(epsilon) + 1), 0.5, truth, (1 - truth) / 2)


def sue(epsilon: float) -> float:
    return exp(epsilon / 2) / (exp(epsilon / 2) + 1)


def half(_: float) -> float:
    return 0.5


PAPERS: dict[str, tuple[Callable[..., BlockMechanism], dict, Callable[[int, float], Rates]]] = {
    "rr": (RandomizedResponse, {}, randomized_response),
    "unary": (UnaryEncoding, {}, unary(sue)),
    "unary-half": (UnaryEncoding, {"theta": 0.5}, unary(half)),
    "unary-clear-bits": (UnaryEncoding, {"clear_bits": True}, unary(sue, bits_beside=True)),
    "subset-k2": (SubsetSelection, {"k": 2}, subsets(2)),
    "subset-k3": (SubsetSelection, {"k": 3}, subsets(3)),
    "hashing-g2": (LocalHashing, {"g": 2}, hashing(2)),
    "hashing-g5": (LocalHashing, {"g": 5}, hashing(5)),
    "hadamard": (HadamardResponse, {}, hadamard),
    "projective-q2": (ProjectiveResponse, {"q": 2, "t": 3}, hyperplanes(2, 3)),
    "projective-q4": (ProjectiveResponse, {"q": 4, "t": 3}, hyperplanes(4, 3)),
}
SOME = Domain(range(9), sensitive=[0, 2, 5, 7, 8])
ALL = Domain(range(5))


def rival_of_own(name: str, rates: Rates, off: Rates) -> float:
    """An epsilon that is 10% off; for OUE, where that changes nothing, an own bit drawn as noise."""
    return rates.other if name == "unary-half" else off.own


def rival_of_other(name: str, rates: Rates, off: Rates) -> float:
    """A law in which pi stands for rho, or one in which every other value comes along with one's own."""
    other = {"subset-k2": 2 / 5, "subset-k3": 3 / 5, "hashing-g2": 1 / 2, "hadamard": rates.own}
    points = {"projective-q2": 3 / 7, "projective-q4": 5 / 21}
    return {**other, **points}.get(name, off.other)


def obfuscated(mechanism: BlockMechanism, value: int, n: int, seed: int, *, alone: bool) -> Reports:
    """Return the reports of one value; alone: in pieces so small that they are drawn as a device draws."""
    random, step = SeededRandom(seed), BATCH - 1 if alone else n
    pieces = [min(step, n - start) for start in range(0, n, step)]
    return sum_of([mechanism.obfuscate_codes(np.full(size, value), random=random) for size in pieces])


def sum_of(reports: list[Reports]) -> Reports:
    return reports[0] if len(reports) == 1 else Reports.concatenate(reports)


@each("name", PAPERS)
@each("domain, value, alone", [(SOME, 0, False), (SOME, 5, True), (SOME, 8, False), (ALL, 0, False), (ALL, 4, True)])
def test_sensitive_values(name: str, domain: Domain, value: int, alone: bool) -> None:
    if name == "unary-clear-bits" and domain is ALL:
        return
    build, options, law = PAPERS[name]
    n = MORE.get(name, N)
    seed = 1000 * value + domain.size
    print(f"seed {seed}")
    mechanism = build(domain, EPSILON, **options)
    reports = obfuscated(mechanism, value, n, seed, alone=alone)
    assert len(reports.clear) == 0
    support = mechanism.law.counts.support_of(mechanism.law.counts.of(reports.blocks))
    rates = law(domain.sensitive_count, EPSILON)
    for factor in OFF:
        off = law(domain.sensitive_count, EPSILON * factor)
        for rank, code in enumerate(domain.sensitive_codes):
            if code == value:
                binomial(f"{name}: own", support[rank], n, rates.own, rival=rival_of_own(name, rates, off))
            else:
                binomial(f"{name}: {code}", support[rank], n, rates.other, rival=rival_of_other(name, rates, off))


@each("name", PAPERS)
@each("value, alone", [(1, False), (6, True)])
def test_values_that_are_not_sensitive(name: str, value: int, alone: bool) -> None:
    build, options, law = PAPERS[name]
    n = MORE.get(name, N)
    seed = 77 + value
    print(f"seed {seed}")
    mechanism = build(SOME, EPSILON, **options)
    reports = obfuscated(mechanism, value, n, seed, alone=alone)
    tally = mechanism.tally(reports)
    assert set(reports.clear.tolist()) == {value}
    rates = law(5, EPSILON)
    for factor in OFF:
        off = law(5, EPSILON * factor)
        binomial(f"{name}: in clear", tally.clear_total, n, rates.clear, rival=off.clear)
        for rank, count in enumerate(mechanism.law.counts.support_of(mechanism.law.counts.of(reports.blocks))):
            binomial(f"{name}: rank {rank}", count, n, rates.beside, rival=off.beside)


# Bits


@pytest.mark.parametrize("v", [8, 9, 16, 17, 64, 65])
def test_every_bit_flips(v: int) -> None:
    """Also the last one, at every way to fill the last byte and the last word."""
    seed = v
    print(f"seed {seed}")
    mechanism = UnaryEncoding(Domain(range(v)), EPSILON)
    for value in (v - 1, 0):
        reports = mechanism.obfuscate_codes(np.full(N, value), random=SeededRandom(seed + value))
        counts = mechanism.law.contains(reports.blocks).sum(axis=0)
        own, d1 = sue(EPSILON), 1 / (exp(EPSILON / 2) + 1)
        for bit in range(v):
            for rival in (0.0, 1.0, 1 / (exp(0.55) + 1)) if bit != value else (0.0, 1.0, sue(1.1)):
                binomial(f"bit {bit} of {v}", counts[bit], N, own if bit == value else d1, rival=rival)


@pytest.mark.parametrize("v", [9, 65])
def test_bits_are_pairwise_independent(v: int) -> None:
    """Inside a report, across its bytes and words, and between neighbouring reports."""
    print(f"seed {v + 100}")
    mechanism = UnaryEncoding(Domain(range(v)), EPSILON)
    reports = mechanism.obfuscate_codes(np.full(N, 3), random=SeededRandom(v + 100))
    bits = mechanism.law.contains(reports.blocks)
    own, d1 = sue(EPSILON), 1 / (exp(EPSILON / 2) + 1)
    chosen = list(combinations(range(9), 2)) if v == 9 else [(0, 1), (7, 8), (0, 64), (31, 32), (63, 64), (3, 64)]
    for i, j in chosen:
        both = int((bits[:, i] & bits[:, j]).sum())
        p = (own if i == 3 else d1) * (own if j == 3 else d1)
        binomial(f"bits {i} and {j}", both, N, p, rival=d1)
        binomial(f"bits {i} and {j}", both, N, p, rival=0)
    for i, j in ((v - 1, 0), (0, 0), (v - 1, v - 1)):
        pairs = int((bits[0:-1:2, i] & bits[1::2, j]).sum())
        binomial(f"bit {i} and bit {j} of the next report", pairs, N // 2, d1 * d1, rival=d1)


# Subsets


@pytest.mark.parametrize(("v", "k"), [(7, 3), (40, 5), (300, 2)])
def test_subsets_are_uniform_of_their_size(v: int, k: int) -> None:
    print(f"seed {v}")
    mechanism = SubsetSelection(Domain(range(v + 1), sensitive=list(range(v))), EPSILON, k=k)
    members = mechanism.obfuscate_codes(np.full(2 * N, v), random=SeededRandom(v)).blocks["members"]
    assert members.shape[1] == k
    assert (np.diff(members.astype(np.int64), axis=1) > 0).all()
    assert members.max() == v - 1
    n = len(members)
    found = np.bincount(members.reshape(-1), minlength=v)
    for x in range(v):
        binomial(f"inclusion of {x}", int(found[x]), n, k / v, rival=(k - 1) / v)
        if v <= 40:
            binomial(f"inclusion of {x}", int(found[x]), n, k / v, rival=k / (v - 1) if v < 40 else 1.1 * k / v)
    held = np.zeros((n, v), dtype=np.bool_)
    np.put_along_axis(held, members.astype(np.int64), True, axis=1)
    for i, j in [(0, 1), (0, v - 1), (v - 2, v - 1), (2, 5)] if v <= 40 else []:
        both = int((held[:, i] & held[:, j]).sum())
        binomial(f"{i} with {j}", both, n, k * (k - 1) / (v * (v - 1)), rival=(k / v) ** 2)
