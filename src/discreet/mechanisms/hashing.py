"""Hash buckets: local hashing (BLH, OLH, GLH) and its utility-optimized form.

A block is the set of values that a random hash function sends to one bucket. The family is that of Carter and Wegman
over a prime P,

    h(x) = ((a x + b) mod P) mod g,  a uniform on 1..P - 1, b on 0..P - 1,

and the bucket of noise is uniform on 0..g - 1. So pi = 1/g and rho is the family's collision probability, exactly
k (P + m - g) / (P (P - 1)) with k = P // g and m = P mod g, not 1/g.

A report carries alpha = 1/a and beta = -b/a (mod P), which are uniform on the same sets: the block then is
{alpha z + beta mod P : z = bucket, bucket + g, ... < P}, and no number is ever inverted. Given the value x, a device
draws alpha and z = a x + b and sets beta = x - alpha z.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import expm1
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.coins import Coins, chosen, joint
from discreet.core.random import RandomSource, uniform_below
from discreet.core.reports import Blocks, Column
from discreet.leakage.hits import HitDistribution, binomial, single
from discreet.mechanisms.block_law import EvenLaw
from discreet.mechanisms.counting import ValueCounts
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.mechanisms.numbers import least_worst
from discreet.mechanisms.primes import next_prime

_LARGEST_PRIME = (1 << 32) - 5
# Products of two numbers below this fit into 32 bits.
_SMALL = 1 << 16
# So few hash functions and hashed values are drawn from half a word; hardly one is thrown away.
_MOST_PAIRS = 1 << 26
# Preimages that are listed together.
_ENTRIES_AT_ONCE = 1 << 24


class HashedBlocks(EvenLaw):
    """Blocks that a public hash function sends to one of g buckets, uniform as noise."""

    __slots__ = ()

    buckets: int

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw coins, and buckets of noise from the same words; see `BlockLaw`."""
        return joint(n, threshold, self.buckets, random)

    def _noise(self, coins: Coins, random: RandomSource) -> AnyArray:
        """Return the buckets of noise of a batch, drawn unless they came with the coins."""
        if coins.noise is not None:
            return coins.noise
        lane = np.uint32 if self.buckets <= _SMALL else np.uint64
        return uniform_below(self.buckets, len(coins.truth), random, lane=lane)

    @property
    def inclusion(self) -> Fraction:
        """Return pi = 1/g."""
        return Fraction(1, self.buckets)

    def hit_distribution(self, m: int) -> HitDistribution:
        """Return a hit distribution that tells no less than that of any m values under any hash family.

        Given the function, a report is randomized response over the g buckets: as much as m values of which no two
        collide, or as all g buckets evenly. Under a public function that is uniformly random, K is binomial.
        """
        bound = single(min(m, self.buckets), self.inclusion, exact=False)
        return replace(bound, ideal=binomial(m, self.inclusion), idealised="a uniformly random public hash function")


@dataclass(frozen=True, slots=True)
class HashBuckets(HashedBlocks):
    """The preimage of one bucket under a random hash function.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        buckets: g, at least 2.
        prime: P, the least prime not below max(v, g).
    """

    kind = "hashing"

    size: int
    buckets: int
    prime: int = field(init=False)

    def __post_init__(self) -> None:
        """Find the prime.

        Raises:
            ParameterError: if there is no value, or g is not in 2..2^32 - 5.
        """
        checked_whole("size", self.size, 1, _LARGEST_PRIME)
        checked_whole("g", self.buckets, 2, _LARGEST_PRIME)
        object.__setattr__(self, "prime", next_prime(max(self.size, self.buckets)))

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho, the collision probability of two values."""
        full, over = divmod(self.prime, self.buckets)
        return Fraction(full * (self.prime + over - self.buckets), self.prime * (self.prime - 1))

    triple_covariance = None

    def joint_inclusion(self, count: int) -> Fraction:
        """Return pi rho^(count - 1): exact for two values, above two of independent inclusions; see `BlockLaw`."""
        return self.inclusion * self.conditional_inclusion ** (count - 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return three columns: the hash function's two numbers and the bucket."""
        return (
            Column("alpha", np.uint32, bound=self.prime),
            Column("beta", np.uint32, bound=self.prime),
            Column("bucket", np.uint32, bound=self.buckets),
        )

    @property
    def alphabet_size(self) -> int:
        """Return (P - 1) P g."""
        return (self.prime - 1) * self.prime * self.buckets

    def describe(self) -> dict[str, Any]:
        """Return v, g and P."""
        return {"law": self.kind, "size": self.size, "buckets": self.buckets, "prime": self.prime}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> "HashBuckets":
        """Return the law of a description, whose prime is compared with the law's; see `CommonLaw.of_parts`."""
        return cls(parts["size"], parts["buckets"])

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks; see `BlockLaw`. Hash function and noise take words of their own."""
        n, lane = len(members), self._lane
        alpha = uniform_below(self.prime - 1, n, random, lane=lane)
        z = uniform_below(self.prime, n, random, lane=lane)
        self._write(alpha, z, uniform_below(self.buckets, n, random, lane=lane), (members, members >= 0), out)

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw the blocks of a batch; see `BlockLaw`. A small hash function takes half a word."""
        n, noise, pairs = len(ranks), self._noise(coins, random), (self.prime - 1) * self.prime
        if pairs > _MOST_PAIRS:
            alpha = uniform_below(self.prime - 1, n, random, lane=self._lane)
            z = uniform_below(self.prime, n, random, lane=self._lane)
        else:
            z = uniform_below(pairs, n, random, lane=np.uint32)
            alpha = z // np.uint32(self.prime)
            z -= alpha * np.uint32(self.prime)
        self._write(alpha, z, noise, (ranks, coins.truth), out)

    def _write(
        self, alpha: AnyArray, z: AnyArray, noise: AnyArray, wanted: tuple[AnyArray, BoolArray], out: Blocks
    ) -> None:
        """Write blocks from alpha - 1, z, noise, and the members that are wanted with who wants one."""
        lane, (members, told) = alpha.dtype.type, wanted
        prime, buckets = lane(self.prime), lane(self.buckets)
        alpha += lane(1)
        out["alpha"][:] = alpha
        alpha *= z
        alpha -= alpha // prime * prime
        # beta = x - alpha z; a difference below 0 wraps to a large number, and P brings it back. Where no member is
        # wanted it is uniform all the same: z is, and alpha is not 0.
        beta = np.maximum(members, 0).astype(lane) - alpha
        np.minimum(beta, beta + prime, out=out["beta"], casting="unsafe")
        # The member's bucket or the noise.
        z -= z // buckets * buckets
        chosen(told, z, noise, out["bucket"])

    @property
    def _lane(self) -> Any:
        return np.uint32 if self.prime <= _SMALL else np.uint64

    @property
    def counts(self) -> ValueCounts:
        """Return the counting of blocks by value, which lists the members of every block."""
        return ValueCounts(self, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        from discreet.kernels.blocks.hashing import count_preimages

        counts += count_preimages(*_three(blocks), prime=self.prime, buckets=self.buckets, size=self.size)

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        from discreet.kernels.blocks.hashing import add_preimages

        add_preimages(_three(blocks), groups, counts, prime=self.prime, buckets=self.buckets)

    def membership(self, blocks: Blocks) -> "Preimages":
        """Return the blocks as an operator."""
        # A plain dictionary, which pickles with the estimates that keep it.
        return Preimages(dict(blocks), self)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans."""
        prime, own = np.uint64(self.prime), np.arange(self.size, dtype=np.uint64)
        inverse = np.array([pow(int(a), -1, self.prime) for a in blocks["alpha"]], dtype=np.uint64)[:, None]
        beta, bucket = (blocks[name].astype(np.uint64)[:, None] for name in ("beta", "bucket"))
        # Below 2^64: both factors are below the prime, which is below 2^32.
        hashed = (own + (prime - beta)) % prime * inverse % prime % np.uint64(self.buckets)
        found: BoolArray = hashed == bucket
        return found

    def members(self, blocks: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
        """List blocks by inverting the hash functions: alpha z + beta mod P for z = bucket, bucket + g, ... < P."""
        width = self.prime // self.buckets + 1
        step = max(_ENTRIES_AT_ONCE // width, 1)
        for start in range(0, len(blocks["alpha"]), step):
            columns = (column[start : start + step].astype(np.uint64)[:, None] for column in _three(blocks))
            alpha, beta, bucket = columns
            z = bucket + np.arange(width, dtype=np.uint64) * np.uint64(self.buckets)
            inside = z < self.prime
            # Below 2^64: alpha and z, where it counts, are below the prime, which is below 2^32.
            values = (alpha * np.where(inside, z, np.uint64(0)) + beta) % np.uint64(self.prime)
            inside &= values < self.size
            yield inside.sum(axis=1), values[inside].astype(np.int64)

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every hash function and bucket, uniform."""
        grids = np.meshgrid(np.arange(1, self.prime), np.arange(self.prime), np.arange(self.buckets), indexing="ij")
        names = ("alpha", "beta", "bucket")
        blocks = {name: grid.reshape(-1).astype(np.uint32) for name, grid in zip(names, grids, strict=True)}
        return blocks, np.full(self.alphabet_size, Fraction(1, self.alphabet_size), dtype=object)

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block whose alpha is 0."""
        flawed: BoolArray = blocks["alpha"] == 0
        return flawed


def _three(blocks: Blocks) -> tuple[AnyArray, AnyArray, AnyArray]:
    return blocks["alpha"], blocks["beta"], blocks["bucket"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Preimages:
    """The membership matrix of hash buckets."""

    blocks: Blocks
    law: HashBuckets

    @property
    def multiplicity(self) -> FloatArray | None:
        """Return None: every row counts once."""
        return None

    @property
    def rows(self) -> int:
        """Return m."""
        return len(self.blocks["alpha"])

    @property
    def size(self) -> int:
        """Return v."""
        return self.law.size

    def dot(self, values: Any) -> Any:
        """Return ``(m,)`` B @ values."""
        from discreet.kernels.blocks.hashing import preimages_dot

        wanted = np.asarray(values, dtype=np.float64)
        return preimages_dot(*_three(self.blocks), wanted, prime=self.law.prime, buckets=self.law.buckets)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        from discreet.kernels.blocks.hashing import preimages_dot_transposed

        law, wanted = self.law, np.asarray(weights, dtype=np.float64)
        return preimages_dot_transposed(
            *_three(self.blocks), wanted, prime=law.prime, buckets=law.buckets, size=law.size
        )

    def part(self, start: int, stop: int) -> "Preimages":
        """Return rows start..stop - 1."""
        return Preimages({name: column[start:stop] for name, column in self.blocks.items()}, self.law)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LocalHashing(BlockMechanism):
    """General local hashing: BLH at g = 2, OLH by default; utility-optimized when only some values are sensitive.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        g: number of buckets, at least 2; None for the one with the least worst-case error among a few near
            e^eps + 1, the optimum of plain LDP.

    Raises:
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.LocalHashing(dc.Domain(range(100)), epsilon=1.0, g=4)
        >>> reports = mechanism.obfuscate([3] * 10_000, random=dc.SeededRandom(1))
        >>> round(float(dc.estimate(mechanism, reports).frequencies[3]), 1)
        1.0
    """

    name = "hashing"
    laws = (HashBuckets,)

    g: int | None = None

    @cached_property
    def law(self) -> HashBuckets:
        """The block law."""
        size = sensitive_size(self.domain)
        if self.g is not None:
            return HashBuckets(size, checked_buckets(self.g))
        choices = [HashBuckets(size, choice) for choice in promising_buckets(size, self.epsilon)]
        return least_worst(self.domain, self.epsilon, choices)

    @property
    def settings(self) -> dict[str, float]:
        """Return g, the number of buckets."""
        return {"g": self.law.buckets}


def checked_buckets(g: object) -> int:
    """Return g, the number of buckets, or refuse it."""
    return checked_whole("g", g, 2, _LARGEST_PRIME)


def promising_buckets(size: int, epsilon: float) -> list[int]:
    """Return numbers of buckets worth comparing.

    Plain LDP wants about e^eps + 1. But buckets of a small prime P are uneven unless g is just above P divided by a
    whole number, which decides where v is small; then g = v, P - 1 and P (no collisions at all) may win too.
    """
    best, prime = min(expm1(epsilon) + 2, 4.0 * size + 16), next_prime(size)
    parts = np.unique(np.geomspace(max(prime / (4 * best), 1), max(4 * prime / best, 1), 48).astype(np.int64))
    near = [int(best * factor) + extra for factor in (0.25, 0.5, 1, 2) for extra in (0, 1)]
    choices = {2, size, prime - 1, prime, *near, *(-(-prime // int(part)) for part in parts)}
    return sorted(choice for choice in choices if 2 <= choice <= _LARGEST_PRIME)
