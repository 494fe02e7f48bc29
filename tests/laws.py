"""Every block mechanism on every kind of domain: the one list that the contract suites run over.

A new block law joins `BUILDERS`, and gets everything.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial
from math import lcm
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.mechanisms import (
    BlockDesign,
    BlockMechanism,
    HadamardResponse,
    LocalHashing,
    PerValueEncoding,
    PerValueResponse,
    PooledHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.mechanisms.counting import BlockCounts
from discreet.mechanisms.designs import MixedSubsets

EPSILONS = (0.1, 1.0, 3.0, 8.0)


def by_value(domain: Domain, epsilon: float) -> list[dict[str, Any]]:
    """Return groups of values with up to four epsilons between half of the largest one and all of it."""
    ranks = domain.sensitive_count - 1 - np.arange(domain.sensitive_count)
    levels = np.linspace(epsilon, epsilon / 2, min(domain.sensitive_count, 4))
    groups = []
    for level, one in enumerate(levels):
        mask = np.zeros(domain.size, dtype=np.bool_)
        mask[domain.sensitive_codes[ranks % len(levels) == level]] = True
        groups.append({"values": mask, "epsilon": float(one)})
    return groups


def per_value(cls: Callable[..., BlockMechanism]) -> Callable[..., BlockMechanism]:
    """Return a builder that promises something to each value."""

    def build(domain: Domain, epsilon: float) -> BlockMechanism:
        return cls(domain, epsilon, epsilons=by_value(domain, epsilon))

    return build


BUILDERS: dict[str, Callable[..., BlockMechanism]] = {
    "rr": RandomizedResponse,
    "unary": UnaryEncoding,
    "unary-half": partial(UnaryEncoding, theta=0.5),
    "unary-clear-bits": partial(UnaryEncoding, clear_bits=True),
    "subset": SubsetSelection,
    "subset-k2": partial(SubsetSelection, k=2),
    "hashing": LocalHashing,
    "hashing-g2": partial(LocalHashing, g=2),
    "hashing-g5": partial(LocalHashing, g=5),
    "hashing-pool": partial(PooledHashing, functions=12),
    "hashing-pool-g5": partial(PooledHashing, g=5, functions=5, seed=7),
    "hadamard": HadamardResponse,
    "design": BlockDesign,
    "design-mass": partial(BlockDesign, sensitive_mass=0.2),
    "rr-per-value": per_value(PerValueResponse),
    "unary-per-value": per_value(PerValueEncoding),
}
PER_VALUE = {"rr-per-value", "unary-per-value"}
POOLS = {"hashing-pool", "hashing-pool-g5"}
"""Of these rho is a mean over what was drawn once for all reports."""

SMALL = {"1of2": (2, [1]), "1of7": (7, [3]), "3of7": (7, [0, 4, 6]), "5of5": (5, None)}
MEDIUM = {"1of40": (40, [17]), "12of40": (40, [0, 1, 5, 9, 10, 18, 22, 23, 30, 31, 38, 39]), "40of40": (40, None)}
SIZES = {**SMALL, **MEDIUM}

_NEEDS: dict[str, Callable[[Domain], bool]] = {
    "unary-clear-bits": lambda domain: domain.clear_count > 0,
    "subset-k2": lambda domain: domain.sensitive_count > 2,
    "design-mass": lambda domain: domain.clear_count > 0,
}


@dataclass(frozen=True)
class Case:
    """One mechanism of the list."""

    builder: str
    sizes: str
    epsilon: float

    @property
    def domain(self) -> Domain:
        size, sensitive = SIZES[self.sizes]
        return Domain(range(size), sensitive=sensitive)

    @property
    def mechanism(self) -> BlockMechanism:
        return _built(self)

    def __str__(self) -> str:
        return f"{self.builder}/{self.sizes}/{self.epsilon:g}"


@cache
def _built(case: Case) -> BlockMechanism:
    return BUILDERS[case.builder](case.domain, case.epsilon)


def cases(sizes: dict[str, Any], epsilons: tuple[float, ...] = EPSILONS) -> list[Case]:
    """Return every builder that fits on every domain of ``sizes``."""
    found = [Case(builder, size, epsilon) for builder in BUILDERS for size in sizes for epsilon in epsilons]
    return [case for case in found if _NEEDS.get(case.builder, bool)(case.domain)]


def rounding(case: Case) -> float:
    """Return what of an epsilon may be lost, relatively: bits of several probabilities cannot all be in proportion."""
    return 1e-3 if case.builder == "unary-per-value" else 1e-12


small = pytest.mark.parametrize("case", cases(SMALL), ids=str)
small_exact = pytest.mark.parametrize("case", [case for case in cases(SMALL) if case.builder not in POOLS], ids=str)
every = pytest.mark.parametrize("case", cases(SIZES), ids=str)
one_epsilon = pytest.mark.parametrize("case", cases(SIZES, (1.0,)), ids=str)


@dataclass(frozen=True)
class Spelled:
    """A mechanism spelled out from its block law's alphabet and its threshold, in whole numbers.

    Attributes:
        numerators: ``(|X|, |Y|)`` Python integers; Q(y|x) is one of them over ``denominator``.
        denominator: of all of them.
        contained: ``(|Y|, v)`` which output's block contains which sensitive value.
        clear: ``(|Y|,)`` rank of the value that the output gives in clear, or -1.
    """

    numerators: Any
    denominator: int
    contained: Any
    clear: Any

    @cached_property
    def matrix(self) -> Any:
        return (self.numerators / self.denominator).astype(np.float64)

    def counted(self, mechanism: BlockMechanism) -> Any:
        """Return ``(|Y|, support_size)`` what a report of each output adds to the counts of blocks in a tally."""
        if isinstance(mechanism.counts, BlockCounts):
            # The alphabet's blocks come first, each with a count of its own.
            return np.eye(len(self.clear), mechanism.law.alphabet_size, dtype=np.int64)
        contained, sizes = self.contained.astype(np.int64), sizes_told_apart(mechanism)
        own = contained.sum(axis=1)
        return contained if sizes is None else np.hstack([contained * (own == size)[:, None] for size in sizes])

    def expected(self, mechanism: BlockMechanism, p: Any, n: int) -> Tally:
        """Return the expected tally of ``n`` reports when values are drawn from ``p``, in proportion to integers."""
        outputs = np.array([int(share) for share in p], dtype=object) @ self.numerators
        came = _shares(outputs, n, self.denominator * int(sum(p)))
        support = came @ self.counted(mechanism).astype(object)
        clear = [sum(came[self.clear == rank].tolist()) for rank in range(mechanism.domain.clear_count)]
        return Tally(mechanism.fingerprint, n, support.astype(np.int64), np.array(clear, dtype=np.int64))


def sizes_told_apart(mechanism: BlockMechanism) -> tuple[int, int] | None:
    """Return the sizes of blocks that a tally counts apart; None if it does not tell sizes apart."""
    return mechanism.law.sizes if isinstance(mechanism.law, MixedSubsets) else None


def aim(case: "Case", p: Any) -> Any:
    """Return the ``(|X|,)`` mean of the linear estimate under what was drawn once for all: p, where nothing was.

    By enumeration of which values are in one block how often.
    """
    law, domain = case.mechanism.law, case.domain
    if case.builder not in POOLS:
        return p
    contained = law.contains(law.alphabet()[0]).astype(np.float64)
    together = contained.T @ contained / contained.sum(axis=0)[:, None]
    off = (together - float(law.conditional_inclusion)) / (1 - float(law.conditional_inclusion))
    np.fill_diagonal(off, 0.0)
    moved = np.array(p, dtype=np.float64)
    moved[domain.sensitive] += off @ moved[domain.sensitive]
    return moved


def of_each(shares: tuple[Fraction, ...], law: Any) -> list[Fraction]:
    """Return one of a law's probabilities for every value, from those of its levels."""
    return list(shares) * law.size if law.groups is None else [shares[level] for level in law.groups]


def kinds_of(mechanism: BlockMechanism) -> list[tuple[Fraction, list[Fraction], list[Fraction]]]:
    """Return, for each kind of block, its share of the noise, and pi and rho of every value."""
    law = mechanism.law
    if sizes_told_apart(mechanism) is None:
        return [(Fraction(1), of_each(law.inclusions, law), of_each(law.conditional_inclusions, law))]
    v = law.size
    return [(t, [Fraction(k, v)] * v, [Fraction(k - 1, v - 1)] * v) for t, k in zip(law.shares, law.sizes, strict=True)]


def by_kind(mechanism: BlockMechanism, contained: Any) -> list[int]:
    """Return how many blocks contain each value, for each kind of block (its size) that the tally tells apart."""
    sizes, own = sizes_told_apart(mechanism), contained.sum(axis=1)
    kinds = [contained] if sizes is None else [contained[own == size] for size in sizes]
    return [count for kind in kinds for count in kind.sum(axis=0).tolist()]


def counted(mechanism: BlockMechanism, blocks: Any) -> list[int]:
    """Return what a tally says of blocks, by a loop over the alphabet where they are counted one by one."""
    law = mechanism.law
    if not isinstance(law.counts, BlockCounts):
        return by_kind(mechanism, law.contains(blocks))
    seen = Counter(zip(*(blocks[column.name].tolist() for column in law.columns), strict=True))
    written = law.alphabet()[0]
    return [seen[one] for one in zip(*(written[column.name].tolist() for column in law.columns), strict=True)]


def _shares(weights: Any, n: int, whole: int) -> Any:
    """Return n in whole shares, in proportion to weights that add up to ``whole``: what n reports can be."""
    shares, rests = n * weights // whole, n * weights % whole
    shares[np.argsort(-rests, kind="stable")[: n - int(shares.sum())]] += 1
    return shares


def in_whole_numbers(weights: Any) -> tuple[Any, int]:
    """Return fractions as integers over a common denominator."""
    denominator = lcm(*{weight.denominator for weight in set(weights.tolist())})
    return np.array([int(weight * denominator) for weight in weights], dtype=object), denominator


@lru_cache(maxsize=256)
def spelled(case: Case) -> Spelled:
    """Spell a mechanism out without asking it: truth with probability S / 2^64, else noise."""
    mechanism, domain = case.mechanism, case.domain
    blocks, weights = mechanism.law.alphabet()
    contained = mechanism.law.contains(blocks)
    noise, denominator = in_whole_numbers(weights)
    told, untold = mechanism.threshold, (1 << 64) - mechanism.threshold
    given = [Fraction(denominator, int(noise[contained[:, rank]].sum())) for rank in range(contained.shape[1])]
    a = lcm(*{one.denominator for one in given})
    rows = np.empty((domain.size, len(noise)), dtype=object)
    rows[:] = noise * untold * a
    for rank, code in enumerate(domain.sensitive_codes):
        rows[code] = rows[code] + np.where(contained[:, rank], noise * told * int(a * given[rank]), 0)
    in_clear, marks, beside = _in_clear(mechanism, noise, contained, told * a)
    return Spelled(
        np.hstack([rows, in_clear]),
        denominator * (1 << 64) * a,
        np.vstack([contained, beside]),
        np.concatenate([np.full(len(noise), -1), marks]),
    )


def _in_clear(mechanism: BlockMechanism, noise: Any, contained: Any, told: int) -> tuple[Any, Any, Any]:
    domain = mechanism.domain
    if not mechanism.clear_blocks:
        noise, contained = np.array([noise.sum()], dtype=object), np.zeros((1, contained.shape[1]), dtype=np.bool_)
    count = domain.clear_count
    columns = np.zeros((domain.size, count * len(noise)), dtype=object)
    for rank, code in enumerate(domain.clear_codes):
        columns[code, rank * len(noise) : (rank + 1) * len(noise)] = noise * told
    return columns, np.repeat(np.arange(count), len(noise)), np.tile(contained, (count, 1))


def distributions(size: int, sensitive: Any, seed: int = 20260101) -> dict[str, Any]:
    """Return named integer weights over the domain: uniform, skewed, all on one value, all in each class."""
    random = np.random.default_rng(seed)
    found = {
        "uniform": np.ones(size, dtype=np.int64),
        "skewed": random.integers(0, 1000, size) ** 2 + 1,
        "first": np.eye(size, dtype=np.int64)[0],
        "last": np.eye(size, dtype=np.int64)[-1],
        "sensitive": sensitive.astype(np.int64),
    }
    if not sensitive.all():
        found["clear"] = (~sensitive).astype(np.int64)
    return found


def sampled(case: Case, n: int = 3001, seed: int = 11) -> Reports:
    """Return seeded reports of values of every kind."""
    codes = np.random.default_rng(seed).integers(0, case.domain.size, n)
    return case.mechanism.obfuscate_codes(codes, random=SeededRandom(seed))
