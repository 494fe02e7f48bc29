"""Every block mechanism on every kind of domain: the one list that the contract suites run over.

A new block law joins `BUILDERS`, and gets everything.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from discreet import (
    BlockDesign,
    Domain,
    HadamardResponse,
    LocalHashing,
    ProjectiveResponse,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    Tally,
    TranslateResponse,
    UnaryEncoding,
    Windows,
)
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.block_law import BlockCounts
from discreet.mechanisms.laws.subsets import MixedSubsets
from discreet.testing import Outputs, outputs_of
from packing import each

EPSILONS = (0.1, 1.0, 3.0, 8.0)
PLANES: dict[int, tuple[int, ...]] = {13: (0, 1, 3, 9), 57: (0, 1, 3, 13, 32, 36, 43, 52)}
"""Lines of projective planes by number of points: each difference occurs once."""


def plane(domain: Domain, epsilon: float) -> BlockMechanism:
    """Return the smallest projective plane with a point for every value."""
    points = next(one for one in PLANES if one >= domain.sensitive_count)
    return TranslateResponse(domain, epsilon, modulus=points, base=PLANES[points])


def wide(domain: Domain, epsilon: float) -> BlockMechanism:
    """Return windows of three values, or as wide as they can be: wider than most ranges."""
    return Windows(domain, epsilon, width=min(3, max(domain.sensitive_count - 1, 1)))


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
    "hadamard": HadamardResponse,
    "translates": plane,
    "projective": ProjectiveResponse,
    "projective-q4": partial(ProjectiveResponse, q=4),
    "windows": Windows,
    "windows-w3": wide,
    "design": BlockDesign,
    "design-mass": partial(BlockDesign, sensitive_mass=0.2),
}
WINDOWS = {"windows", "windows-w3"}
"""Under these two values share blocks by how far they are apart, so that nothing follows from one rho."""

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


def over(found: list[Case]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: the test runs for every case; a failure names its case."""
    return each("case", found)


def with_rho(found: list[Case]) -> list[Case]:
    """Return the cases in which one rho says how often two values share a block."""
    return [case for case in found if case.builder not in WINDOWS]


small = over(cases(SMALL))
every = over(cases(SIZES))
every_with_rho = over(with_rho(cases(SIZES)))
one_epsilon = over(cases(SIZES, (1.0,)))


def spelled(case: Case) -> Outputs:
    """Return every output of a mechanism, spelled out."""
    return outputs_of(case.mechanism)


def expected(mechanism: BlockMechanism, p: Any, n: int) -> Tally:
    """Return the expected tally of ``n`` reports when values are drawn from ``p``, in proportion to integers."""
    channel = outputs_of(mechanism)
    outputs = np.array([int(share) for share in p], dtype=object) @ channel.numerators
    came = _shares(outputs, n, channel.denominator * int(sum(p)))
    support, clear = (came @ counts.astype(object) for counts in channel.counts)
    return Tally(mechanism.fingerprint, n, support.astype(np.int64), clear.astype(np.int64))


def sizes_told_apart(mechanism: BlockMechanism) -> tuple[int, int] | None:
    """Return the sizes of blocks that a tally counts apart; None if it does not tell sizes apart."""
    return mechanism.law.sizes if isinstance(mechanism.law, MixedSubsets) else None


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


def sampled(case: Case, n: int = 3001, seed: int = 11) -> Reports:
    """Return seeded reports of values of every kind."""
    codes = np.random.default_rng(seed).integers(0, case.domain.size, n)
    return case.mechanism.obfuscate_codes(codes, random=SeededRandom(seed))
