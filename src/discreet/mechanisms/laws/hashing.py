"""Local hashing: buckets of a device's own hash function (BLH, OLH).

A block is the set of values that a random hash function maps to one bucket. The family is Carter and Wegman's over a
prime P,

    h(x) = ((a x + b) mod P) mod g,  a uniform on 1..P - 1, b on 0..P - 1,

and the bucket of noise is uniform on 0..g - 1. So pi = 1/g. rho is the family's collision probability, exactly
k (P + m - g) / (P (P - 1)) with k = P // g and m = P mod g, not 1/g.

A report carries alpha = 1/a and beta = -b/a (mod P), which are uniform on the same sets. The block then is
{alpha z + beta mod P : z = bucket, bucket + g, ... < P}, and no number is ever inverted. For the value x, a device
draws alpha and z = a x + b and sets beta = x - alpha z.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import expm1
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.random import Coins, RandomSource, chosen, joint, uniform_below
from discreet.core.reports import Blocks, Column, block_count
from discreet.mechanisms.block_law import BlockLaw, ValueCounts, uniform
from discreet.mechanisms.evidence import CutMembership
from discreet.mechanisms.law import BlockMechanism, minimax_law, sensitive_size
from discreet.theory.arithmetic import next_prime

_LARGEST_PRIME = (1 << 32) - 5
# Products of two numbers below this limit fit into 32 bits.
_SMALL = 1 << 16
# So small hash functions and hashed values are drawn from half a word; almost none is rejected.
_MOST_PAIRS = 1 << 26
# Preimages listed at a time.
ENTRIES_AT_ONCE = 1 << 24


@dataclass(frozen=True, slots=True)
class HashBuckets(BlockLaw):
    """Blocks of the values that a device's own random hash function maps to one bucket.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        buckets: g, at least 2.
        prime: P, the smallest prime not below max(v, g).
    """

    kind = "hashing"
    nearly_independent: ClassVar[bool] = True
    blocks_alike: ClassVar[bool] = True

    size: int
    buckets: int
    prime: int = field(init=False)

    def __post_init__(self) -> None:
        """Raise an error if the number of values or of buckets is out of range, and find the prime P.

        Raises:
            ParameterError: if the size is below 1, or g is not in 2..2^32 - 5.
        """
        checked_whole("size", self.size, 1, _LARGEST_PRIME)
        checked_whole("g", self.buckets, 2, _LARGEST_PRIME)
        object.__setattr__(self, "prime", next_prime(max(self.size, self.buckets)))

    @property
    def inclusion(self) -> Fraction:
        """Return pi = 1/g, the probability that a noise block contains a given value."""
        return Fraction(1, self.buckets)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho, the probability that a block of one value contains a second value: the collision probability."""
        full, over = divmod(self.prime, self.buckets)
        return Fraction(full * (self.prime + over - self.buckets), self.prime * (self.prime - 1))

    def joint_inclusion(self, count: int) -> Fraction:
        """Return pi rho^(count - 1): exact for two values; for more values, inclusions are assumed independent."""
        return self.inclusion * self.conditional_inclusion ** (count - 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the formats of three columns: the two numbers of the hash function, and the bucket."""
        return (
            Column("alpha", np.uint32, bound=self.prime),
            Column("beta", np.uint32, bound=self.prime),
            Column("bucket", np.uint32, bound=self.buckets),
        )

    @property
    def alphabet_size(self) -> int:
        """Return (P - 1) P g, the number of hash functions times the number of buckets."""
        return (self.prime - 1) * self.prime * self.buckets

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw a hash function and a bucket for each report into ``out``, from separate random words."""
        n, lane = len(members), self._lane
        alpha = uniform_below(self.prime - 1, n, random, lane=lane)
        z = uniform_below(self.prime, n, random, lane=lane)
        self._write(alpha, z, uniform_below(self.buckets, n, random, lane=lane), (members, members >= 0), out)

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw the truth-or-noise decisions of reports, and buckets of noise from the same words."""
        return joint(n, threshold, self.buckets, random)

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw the blocks of a batch. A small hash function needs half a random word."""
        n, noise, pairs = len(ranks), coins.noise, (self.prime - 1) * self.prime
        if noise is None:
            noise = uniform_below(self.buckets, n, random, lane=np.uint32 if self.buckets <= _SMALL else np.uint64)
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
        """Write the blocks of a batch from alpha - 1, z and buckets of noise.

        ``wanted`` has the required members, and booleans: true where a member is required.
        """
        lane, (members, truthful) = alpha.dtype.type, wanted
        prime, buckets = lane(self.prime), lane(self.buckets)
        alpha += lane(1)
        out["alpha"][:] = alpha
        alpha *= z
        alpha -= alpha // prime * prime
        # beta = x - alpha z; a negative difference wraps to a large number, and adding P corrects it. Without a
        # required member beta is uniform too, because z is uniform and alpha is not 0.
        beta = np.maximum(members, 0).astype(lane) - alpha
        np.minimum(beta, beta + prime, out=out["beta"], casting="unsafe")
        # The bucket of the member, or of noise.
        z -= z // buckets * buckets
        chosen(truthful, z, noise, out["bucket"])

    @property
    def _lane(self) -> Any:
        return np.uint32 if self.prime <= _SMALL else np.uint64

    @property
    def counts(self) -> ValueCounts:
        """The counts of blocks that contain each value, from lists of the blocks' members."""
        return ValueCounts(self, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        # All blocks in one group, which takes no longer.
        self._add_by_group(blocks, np.zeros(block_count(blocks), np.int32), counts.reshape(1, -1))

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        from discreet.kernels.hashing import add_preimages

        add_preimages(_hash_columns(blocks), groups, counts, prime=self.prime, buckets=self.buckets)

    def membership(self, blocks: Blocks) -> "Preimages":
        """Return the membership matrix of buckets of hash functions as an operator."""
        # A plain dictionary, so that estimates with this matrix can be pickled.
        return Preimages(dict(blocks), self)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the value is in the block's bucket."""
        contained, start = np.zeros((len(blocks["alpha"]), self.size), np.bool_), 0
        # The members are P/g of v values, found without inverting a hash function.
        for counts, values in self.members(blocks):
            contained[np.repeat(np.arange(start, start + len(counts)), counts), values] = True
            start += len(counts)
        return contained

    def members(self, blocks: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the members of blocks: alpha z + beta mod P for z = bucket, bucket + g, ... < P."""
        width = self.prime // self.buckets + 1
        step = max(ENTRIES_AT_ONCE // width, 1)
        for start in range(0, len(blocks["alpha"]), step):
            columns = (column[start : start + step].astype(self._lane)[:, None] for column in _hash_columns(blocks))
            alpha, beta, bucket = columns
            z = bucket + np.arange(width, dtype=self._lane) * self._lane(self.buckets)
            inside = z < self.prime
            # No overflow: alpha and the z in use are below the prime, which is below the square root of the lane's
            # limit.
            values = (alpha * np.where(inside, z, self._lane(0)) + beta) % self._lane(self.prime)
            inside &= values < self.size
            yield inside.sum(axis=1), values[inside].astype(np.int64)

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every bucket of every hash function, with equal probabilities."""
        grids = np.meshgrid(np.arange(1, self.prime), np.arange(self.prime), np.arange(self.buckets), indexing="ij")
        names = ("alpha", "beta", "bucket")
        blocks = {name: grid.reshape(-1).astype(np.uint32) for name, grid in zip(names, grids, strict=True)}
        return blocks, uniform(self.alphabet_size)

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block whose hash function has alpha = 0."""
        flawed: BoolArray = blocks["alpha"] == 0
        return flawed


def _hash_columns(blocks: Blocks) -> tuple[AnyArray, AnyArray, AnyArray]:
    return blocks["alpha"], blocks["beta"], blocks["bucket"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Preimages(CutMembership):
    """The membership matrix of blocks that are buckets of devices' own hash functions."""

    blocks: Blocks
    law: HashBuckets

    @property
    def rows(self) -> int:
        """Return m, the number of blocks, which are the rows of the membership matrix."""
        return len(self.blocks["alpha"])

    @property
    def size(self) -> int:
        """Return v, the number of sensitive values, which are the columns of the membership matrix."""
        return self.law.size

    def dot(self, values: Any) -> Any:
        """Return ``(m,)`` sums of ``values`` over each block: the product B @ values."""
        from discreet.kernels.hashing import preimages_dot

        wanted = np.asarray(values, dtype=np.float64)
        return preimages_dot(*_hash_columns(self.blocks), wanted, prime=self.law.prime, buckets=self.law.buckets)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` sums of the weights of the blocks with each value: the product B.T @ weights."""
        from discreet.kernels.hashing import preimages_dot_transposed

        law, wanted = self.law, np.asarray(weights, dtype=np.float64)
        return preimages_dot_transposed(
            *_hash_columns(self.blocks), wanted, prime=law.prime, buckets=law.buckets, size=law.size
        )

    def part(self, start: int, stop: int) -> "Preimages":
        """Return the membership matrix of the blocks in rows start..stop - 1."""
        return Preimages({name: column[start:stop] for name, column in self.blocks.items()}, self.law)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LocalHashing(BlockMechanism):
    """General local hashing: BLH at g = 2, OLH by default; utility-optimized when only some values are sensitive.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        g: number of buckets, at least 2; None for the best g by worst-case error among a few near e^eps + 1, the
            optimum of plain LDP.

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
        """The block law: buckets of a random hash function, which each device draws."""
        size = sensitive_size(self.domain)
        if self.g is not None:
            return HashBuckets(size, checked_buckets(self.g))
        choices = [HashBuckets(size, choice) for choice in promising_buckets(size, self.epsilon)]
        return minimax_law(self.domain, self.epsilon, choices)

    @property
    def settings(self) -> dict[str, float]:
        """Return g, the number of buckets of a hash function."""
        return {"g": self.law.buckets}


def checked_buckets(g: object) -> int:
    """Return g, the number of buckets; raise an error if it is out of range."""
    return checked_whole("g", g, 2, _LARGEST_PRIME)


def promising_buckets(size: int, epsilon: float) -> list[int]:
    """Return a few numbers of buckets, among them the number with the smallest error.

    For plain LDP about e^eps + 1 is best. But buckets of a small prime P are uneven unless g is just above P divided by
    an integer. That matters where v is small; then g = v, P - 1 and P (no collisions) may be best.
    """
    best, prime = min(expm1(epsilon) + 2, 4.0 * size + 16), next_prime(size)
    parts = np.unique(np.geomspace(max(prime / (4 * best), 1), max(4 * prime / best, 1), 48).astype(np.int64))
    near = [int(best * factor) + extra for factor in (0.25, 0.5, 1, 2) for extra in (0, 1)]
    choices = {2, size, prime - 1, prime, *near, *(-(-prime // int(part)) for part in parts)}
    return sorted(choice for choice in choices if 2 <= choice <= _LARGEST_PRIME)
