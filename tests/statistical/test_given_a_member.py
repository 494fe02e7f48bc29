"""Blocks drawn for a member follow Lambda given that they contain it; blocks of noise follow Lambda.

The laws are written out here from their definitions, block by block, and each has a rival of its own: what a likely
mistake in the sampler would draw.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard

from discreet import Domain, LocalHashing, SeededRandom
from discreet.mechanisms.laws.bits import IndependentBits
from discreet.mechanisms.laws.hadamard import HadamardColumns
from discreet.mechanisms.laws.hashing import HashBuckets
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import Subsets
from evidence import binomial, multinomial

pytestmark = pytest.mark.slow

N = 400_000
Law = dict[tuple[int, ...], float]


def normal(law: Law) -> Law:
    total = sum(law.values())
    return {block: weight / total for block, weight in law.items()}


def uniform(blocks: Iterator[tuple[int, ...]] | Any) -> Law:
    return normal(dict.fromkeys(blocks, 1.0))


def symbols(member: int) -> tuple[Law, Law]:
    """Rival: the member is drawn once more like noise."""
    return uniform([(x,) for x in range(5) if member in (-1, x)]), uniform((x,) for x in range(5 if member >= 0 else 4))


def of_subsets(v: int, k: int) -> Callable[[int], tuple[Law, Law]]:
    """Rival: the last one taken gives way to the member (the least one, for the last value); for noise, no last value.

    Floyd's order is not uniform, so the victim must be a random one.
    """

    def laws(member: int) -> tuple[Law, Law]:
        right = uniform(block for block in combinations(range(v), k) if member in (-1, *block))
        if member < 0:
            return right, uniform(combinations(range(v - 1), k))
        rival: Law = {}
        ranges = [range(last + 1) for last in range(v - k, v)]
        for drawn in product(*ranges):
            taken: list[int] = []
            for value, last in zip(drawn, range(v - k, v), strict=True):
                taken.append(last if value in taken else value)
            if member not in taken:
                taken[taken.index(min(taken)) if member == v - 1 else -1] = member
            block = tuple(sorted(taken))
            rival[block] = rival.get(block, 0) + 1
        return right, normal(rival)

    return laws


def bits(member: int) -> tuple[Law, Law]:
    """Rival: the member's bit is noise like the others; for noise, the last bit is never set."""
    d1 = 1 / (exp(0.5) + 1)

    def weight(block: tuple[int, ...], fixed: dict[int, int]) -> float:
        factors = [float(bit == fixed[j]) if j in fixed else (d1 if bit else 1 - d1) for j, bit in enumerate(block)]
        return float(np.prod(factors))

    blocks = list(product([0, 1], repeat=4))
    right = {block: weight(block, {} if member < 0 else {member: 1}) for block in blocks}
    return right, {block: weight(block, {3: 0} if member < 0 else {}) for block in blocks}


def buckets(v: int, g: int, prime: int) -> Callable[[int], tuple[Law, Law]]:
    """Rival: the bucket follows from the hash function's multiplier; for a member, noise that contains it or not."""

    def contains(alpha: int, beta: int, bucket: int, x: int) -> bool:
        return any((alpha * z + beta) % prime == x for z in range(bucket, prime, g))

    def laws(member: int) -> tuple[Law, Law]:
        every = list(product(range(1, prime), range(prime), range(g)))
        right = uniform(block for block in every if member < 0 or contains(*block, member))
        rival = every if member >= 0 else [block for block in every if block[2] == block[0] % g]
        return right, uniform(rival)

    assert v <= prime
    return laws


def columns(v: int) -> Callable[[int], tuple[Law, Law]]:
    """Rival: the first column is left out."""

    def laws(member: int) -> tuple[Law, Law]:
        order = next(2**power for power in range(9) if 2**power > v)
        matrix = hadamard(order)
        right = [(j,) for j in range(order) if member < 0 or matrix[member + 1, j] == 1]
        return uniform(right), uniform(right[1:])

    return laws


DRAWS: dict[str, tuple[Any, Callable[[int], tuple[Law, Law]]]] = {
    "symbols": (Singletons(5), symbols),
    "pairs of 5": (Subsets(5, 2), of_subsets(5, 2)),
    "triples of 6": (Subsets(6, 3), of_subsets(6, 3)),
    "fours of 6": (Subsets(6, 4), of_subsets(6, 4)),
    "bits": (IndependentBits.near(4, 1 / (exp(0.5) + 1)), bits),
    "buckets 5, 2": (HashBuckets(5, 2), buckets(5, 2, 5)),
    "buckets 4, 3": (HashBuckets(4, 3), buckets(4, 3, 5)),
    "buckets 3, 7": (HashBuckets(3, 7), buckets(3, 7, 7)),
    "buckets 3, 2": (HashBuckets(3, 2), buckets(3, 2, 3)),
    "columns of 4": (HadamardColumns(3), columns(3)),
    "columns of 8": (HadamardColumns(5), columns(5)),
}


def counted(law: Any, blocks: dict[str, Any]) -> dict[tuple[int, ...], int]:
    if isinstance(law, IndependentBits):
        rows = np.unpackbits(blocks["bits"], axis=1, bitorder="little")
        assert not rows[:, law.size :].any()
        rows = rows[:, : law.size]
    else:
        rows = np.column_stack([blocks[column.name] for column in law.columns])
    # One number for each row: sorting whole rows takes longer than drawing them.
    sizes = tuple(int(largest) + 1 for largest in rows.max(axis=0))
    counts = np.bincount(np.ravel_multi_index(tuple(rows.T.astype(np.intp)), sizes))
    seen = np.flatnonzero(counts)
    places = zip(*np.unravel_index(seen, sizes), strict=True)
    return {tuple(map(int, place)): int(count) for place, count in zip(places, counts[seen], strict=True)}


def drawn(law: Any, member: int, random: SeededRandom, piece: int) -> dict[str, Any]:
    out = {c.name: np.empty((N,) if c.width is None else (N, c.width), dtype=c.dtype) for c in law.columns}
    for start in range(0, N, piece):
        part = {name: column[start : start + piece] for name, column in out.items()}
        law.draw(np.full(len(next(iter(part.values()))), member), random, part)
    return out


# Subsets are drawn in one way on devices and in another in batches of 4,096 and more.
@pytest.mark.parametrize(
    ("name", "piece"), [*((name, N) for name in DRAWS), ("pairs of 5", 4095), ("triples of 6", 4095)]
)
def test_draws(name: str, piece: int) -> None:
    law, laws = DRAWS[name]
    for member in range(-1, law.size):
        seed = 31 + member
        print(f"seed {seed}")
        out = drawn(law, member, SeededRandom(seed), piece)
        right, rival = laws(member)
        found = counted(law, out)
        cells = sorted({*right, *rival, *found})
        if len(right) == 1:
            assert set(found) == set(right)
            continue
        multinomial(
            f"{name} given {member}",
            [found.get(cell, 0) for cell in cells],
            [right.get(cell, 0) for cell in cells],
            rival=[rival.get(cell, 0) for cell in cells],
        )


@pytest.mark.parametrize(
    ("size", "g", "prime"),
    [(65_521, 2, 65_521), (65_530, 3, 65_537), (2**32 - 10, 3, 2**32 - 5), (10, 2**32 - 5, 2**32 - 5)],
)
def test_large_primes(size: int, g: int, prime: int) -> None:
    """Where the products of the hash function come near the ends of 32 and 64 bits."""
    law = HashBuckets(size, g)
    assert law.prime == prime
    n = 50_000
    print("seed 4")
    members = np.random.default_rng(4).integers(0, size, n)
    members[:3] = 0, size - 1, size // 2
    for told in (True, False):
        out = {column.name: np.empty(n, dtype=column.dtype) for column in law.columns}
        law.draw(members if told else np.full(n, -1), SeededRandom(4), out)
        alpha, beta, bucket = (out[name].astype(object) for name in ("alpha", "beta", "bucket"))
        assert alpha.min() >= 1
        assert max(alpha.max(), beta.max()) < prime
        hashed = [
            (x - b) * pow(a, -1, prime) % prime % g for x, a, b in zip(members.tolist(), alpha, beta, strict=True)
        ]
        hits = int((np.array(hashed, dtype=object) == bucket).sum())
        if told:
            assert hits == n
        elif g <= 3:
            binomial("noise contains a member", hits, n, 1 / g, rival=1 / (g + 1))
        for name, values in (("alpha", alpha), ("beta", beta), ("bucket", bucket)):
            cells = min(8, g) if name == "bucket" else 8
            counts = np.bincount((values * cells // (g if name == "bucket" else prime)).astype(int), minlength=cells)
            tilt = np.full(cells, 1 / cells) * (1 + 0.1 * np.cos(np.pi * np.arange(cells)))
            multinomial(f"{name}, told={told}", counts, np.full(cells, 1 / cells), rival=tilt / tilt.sum())


def test_members_and_noise_mixed_in_one_batch_keep_their_rows() -> None:
    """A batch that alternates: every row with a member contains it, and noise rows are not influenced."""
    for law, laws in DRAWS.values():
        members = np.where(np.arange(N) % 2 == 0, np.arange(N) // 2 % law.size, -1)
        out = {c.name: np.empty((N,) if c.width is None else (N, c.width), dtype=c.dtype) for c in law.columns}
        law.draw(members, SeededRandom(3), out)
        told = {name: column[::2][:2000] for name, column in out.items()}
        assert law.contains(told)[np.arange(2000), members[::2][:2000]].all()
        noise = {name: column[1::2] for name, column in out.items()}
        right, rival = laws(-1)
        found = counted(law, noise)
        cells = sorted({*right, *rival, *found})
        multinomial(
            "noise between members",
            [found.get(cell, 0) for cell in cells],
            [right.get(cell, 0) for cell in cells],
            rival=[rival.get(cell, 0) for cell in cells],
        )


def test_the_hash_function_says_nothing_about_the_coin() -> None:
    """Joint law of hash function and bucket; rivals: noise buckets that follow from alpha, or from alpha and beta."""
    epsilon, prime, g = 1.0, 5, 2
    truth = (exp(epsilon) - 1) / (exp(epsilon) - 1 + g)
    mechanism = LocalHashing(Domain(range(6), sensitive=range(5)), epsilon, g=g)
    cells = list(product(range(1, prime), range(prime), range(g)))
    for value in range(5):
        print(f"seed {value}")
        blocks = mechanism.obfuscate_codes(np.full(N, value), random=SeededRandom(value)).blocks
        found = counted(mechanism.law, dict(blocks))
        right, by_alpha, by_beta = [], [], []
        for alpha, beta, bucket in cells:
            z = next(z for z in range(prime) if (alpha * z + beta) % prime == value)
            told = truth * (z % g == bucket)
            right.append((told + (1 - truth) / g) / 20)
            by_alpha.append((told + (1 - truth) * (bucket == alpha % g)) / 20)
            by_beta.append((told + (1 - truth) * (bucket == z % g)) / 20)
        counts = [found.get(cell, 0) for cell in cells]
        for rival in (by_alpha, by_beta):
            multinomial(f"hash and bucket of {value}", counts, right, rival=rival)


def test_the_hash_function_says_nothing_about_who_went_in_clear() -> None:
    """Reports of a value that is not sensitive, between others in clear: hash functions and buckets are uniform."""
    mechanism = LocalHashing(Domain(range(6), sensitive=range(5)), 1.0, g=2)
    print("seed 9")
    reports = mechanism.obfuscate_codes(np.full(N, 5), random=SeededRandom(9))
    cells = list(product(range(1, 5), range(5), range(2)))
    found = counted(mechanism.law, dict(reports.blocks))
    tilted = [1 / 40 + (0.001 if alpha % 2 == bucket else -0.001) for alpha, _, bucket in cells]
    multinomial("noise", [found.get(cell, 0) for cell in cells], np.full(40, 1 / 40), rival=tilted)
    after_clear = reports.in_clear[:-1][~reports.in_clear[1:]]
    alpha = reports.blocks["alpha"][-len(after_clear) :]
    joint = [int(((alpha == a) & (after_clear == told)).sum()) for a in range(1, 5) for told in (False, True)]
    truth = (exp(1) - 1) / (exp(1) - 1 + 2)
    right = [(truth if told else 1 - truth) / 4 for _ in range(4) for told in (False, True)]
    rival = [
        (truth if told else 1 - truth) / 4 + (0.01 if (a % 2 == told) else -0.01) for a in range(4) for told in (0, 1)
    ]
    multinomial("alpha and the coin before", joint, right, rival=rival)
