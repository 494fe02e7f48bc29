"""Local hashing: buckets of a device's own hash function (BLH, OLH), or of a public pool (FLH; RAPPOR's cohorts).

A block is the set of values that a random hash function maps to one bucket. The family is Carter and Wegman's over a
prime P,

    h(x) = ((a x + b) mod P) mod g,  a uniform on 1..P - 1, b on 0..P - 1,

and the bucket of noise is uniform on 0..g - 1. So pi = 1/g. rho is the family's collision probability, exactly
k (P + m - g) / (P (P - 1)) with k = P // g and m = P mod g, not 1/g.

A report carries alpha = 1/a and beta = -b/a (mod P), which are uniform on the same sets. The block then is
{alpha z + beta mod P : z = bucket, bucket + g, ... < P}, and no number is ever inverted. For the value x, a device
draws alpha and z = a x + b and sets beta = x - alpha z.

With a pool the plan has a public seed, which determines m hash functions. A device draws one of them, its *cohort* c.
A block is the set of values that h_c maps to one bucket; the bucket of noise is uniform on 0..g - 1. So pi = 1/g for
every value, exactly and for any functions, and epsilon is exact too. There are only m g blocks. Their counts are the
tally, and their members are computed once, in m v steps, instead of v/g steps for every report [Cormode, Maddock,
Maple 2021].

The price is an error that more reports do not reduce (`discreet.theory.linear_decoder`). To compute it exactly,
functions are cubic polynomials over the integers modulo the prime P = 2^31 - 1,

    h(x) = ((c0 + c1 x + c2 x^2 + c3 x^3) mod P) mod g,  c0 to c3 uniform on 0..P - 1,

whose values mod P are independent for any four arguments [Carter and Wegman 1979]. With lines, three values of an
arithmetic progression would share a bucket far too often. With n_b numbers mod P in bucket b, two values collide with
probability rho = sum (n_b/P)^2, three with tau = sum (n_b/P)^3. The share of m functions for which two given values
collide has the variance rho (1 - rho)/m; its covariance with the share for one other value is (tau - rho^2)/m.

Function j of a seed comes from SHA-256 of the text "discreet hash pool SEED P j 0" (decimal numbers): its four 64-bit
words, little-endian, modulo P, are c0 to c3. If one of them is not below the last multiple of P, its remainder would be
biased. Then the last number of the text becomes 1, 2, and so on.
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import expm1
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, frozen
from discreet.core.checks import checked_whole
from discreet.core.random import WORD_RANGE, Coins, RandomSource, chosen, joint, uniform_below
from discreet.core.reports import Blocks, Column, block_count, smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, ListedLaw, ValueCounts, uniform
from discreet.mechanisms.evidence import CutMembership, WholeAlphabet
from discreet.mechanisms.law import BlockMechanism, minimax_law, sensitive_size
from discreet.theory.arithmetic import is_prime, next_prime

_LARGEST_PRIME = (1 << 32) - 5
# Products of two numbers below this limit fit into 32 bits.
_SMALL = 1 << 16
# So small hash functions and hashed values are drawn from half a word; almost none is rejected.
_MOST_PAIRS = 1 << 26
# Preimages listed at a time.
ENTRIES_AT_ONCE = 1 << 24


class HashedBlocks(BlockLaw):
    """Blocks that a public hash function maps to one of g buckets; noise draws the bucket uniformly."""

    __slots__ = ()

    blocks_alike: ClassVar[bool] = True
    buckets: int

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw the truth-or-noise decisions of reports, and buckets of noise from the same words."""
        return joint(n, threshold, self.buckets, random)

    def _noise(self, coins: Coins, random: RandomSource) -> AnyArray:
        """Return the noise buckets of a batch. Buckets that were drawn along with the decisions are not drawn again."""
        if coins.noise is not None:
            return coins.noise
        lane = np.uint32 if self.buckets <= _SMALL else np.uint64
        return uniform_below(self.buckets, len(coins.truth), random, lane=lane)

    @property
    def inclusion(self) -> Fraction:
        """Return pi = 1/g, the probability that a noise block contains a given value."""
        return Fraction(1, self.buckets)


@dataclass(frozen=True, slots=True)
class HashBuckets(HashedBlocks):
    """Blocks of the values that a device's own random hash function maps to one bucket.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        buckets: g, at least 2.
        prime: P, the smallest prime not below max(v, g).
    """

    kind = "hashing"
    nearly_independent: ClassVar[bool] = True

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

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw the blocks of a batch. A small hash function needs half a random word."""
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


_LARGEST_POOL_PRIME = (1 << 31) - 1
_LARGEST_SEED = (1 << 63) - 1
# These counts take 512 MB.
_MOST_COUNTS = 1 << 26
# The largest number of buckets chosen by default, which leaves room for functions.
_LARGEST_ROW = 1 << 16
# The default number of functions decodes in about a second on one core, with 32 MB of counts.
_DEFAULT_FUNCTIONS, _DEFAULT_STEPS, _DEFAULT_COUNTS = 1 << 16, 1 << 30, 1 << 22
# For batches smaller than the pool by this factor, only the functions in use are computed.
_FEW = 16


@dataclass(frozen=True, slots=True)
class PooledHashBlocks(HashedBlocks, ListedLaw):
    """Blocks of the values that a hash function of a public pool maps to one bucket.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        buckets: g, at least 2.
        functions: m, at least 1.
        seed: the integer that determines the functions; see the module.
        prime: P, not below v or g; plans use 2^31 - 1, small examples other primes.
    """

    kind = "hash pool"
    wide = ("seed",)

    size: int
    buckets: int
    functions: int
    seed: int = 0
    prime: int = _LARGEST_POOL_PRIME

    def __post_init__(self) -> None:
        """Raise an error if a parameter of the pool of hash functions is out of range.

        Raises:
            ParameterError: if a parameter is out of range, or there would be too many blocks to count.
        """
        checked_whole("size", self.size, 1, self.prime)
        checked_whole("g", self.buckets, 2, min(self.prime, _MOST_COUNTS))
        if self.prime != _LARGEST_POOL_PRIME and not (self.prime < _LARGEST_POOL_PRIME and is_prime(self.prime)):
            raise ParameterError("prime.not-prime", argument="prime", largest_prime=_LARGEST_PRIME, prime=self.prime)
        checked_whole("functions", self.functions, 1, _MOST_COUNTS // self.buckets)
        checked_whole("seed", self.seed, 0, _LARGEST_SEED)

    @property
    def _shares(self) -> tuple[tuple[int, Fraction], ...]:
        """For each of the two sizes of buckets: the number of such buckets, and the share n_b/P of such a bucket."""
        full, over = divmod(self.prime, self.buckets)
        return (over, Fraction(full + 1, self.prime)), (self.buckets - over, Fraction(full, self.prime))

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho, the probability that a block of one value contains a second value, as a mean over pools.

        The mean is over all functions of the family.
        """
        return sum((count * share**2 for count, share in self._shares), Fraction(0))

    @property
    def conditional_variation(self) -> tuple[Fraction, Fraction]:
        """Return the variance and covariance of the share of the pool's functions under which two values collide."""
        rho, tau = self.conditional_inclusion, sum((count * share**3 for count, share in self._shares), Fraction(0))
        return rho * (1 - rho) / self.functions, (tau - rho * rho) / self.functions

    @property
    def additions(self) -> tuple[float, float]:
        """Return the cost in additions: 2 to count a block, and 3 per function and value to decode all counts."""
        return 2, 3 * self.functions * self.size

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the formats of two columns: the number of the hash function, and the bucket."""
        return (
            Column("cohort", smallest_unsigned(self.functions), bound=self.functions),
            Column("bucket", smallest_unsigned(self.buckets), bound=self.buckets),
        )

    @property
    def alphabet_size(self) -> int:
        """Return m g, the number of buckets of all hash functions in the pool."""
        return self.functions * self.buckets

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> "PooledHashBlocks":
        """Return the law with the given parts of a description and the prime that plans use."""
        return cls(parts["size"], parts["buckets"], parts["functions"], parts["seed"])

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw a hash function of the pool and a bucket for each report, from separate random words."""
        cohorts = uniform_below(self.functions, len(members), random)
        noise = uniform_below(self.buckets, len(members), random)
        buckets = self._hashed(self.coefficients(cohorts), np.maximum(members, 0))
        chosen(members >= 0, buckets, noise, out["bucket"])
        out["cohort"][:] = cohorts

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw a hash function of the pool and a bucket for each report of a batch."""
        noise, cohorts = self._noise(coins, random), uniform_below(self.functions, len(ranks), random, lane=np.uint32)
        buckets = self._hashed(self.coefficients(cohorts), np.maximum(ranks, 0))
        chosen(coins.truth, buckets, noise, out["bucket"])
        out["cohort"][:] = cohorts

    def coefficients(self, cohorts: AnyArray) -> AnyArray:
        """Return the ``(4, m)`` coefficients c0 to c3 of some hash functions of the pool.

        For few functions they are computed one by one, as on a device, without the whole pool.
        """
        if len(cohorts) * _FEW < self.functions:
            functions = [hash_function(self.seed, self.prime, int(place)) for place in cohorts]
            return np.array(functions, dtype=np.uint32).reshape(-1, 4).T
        return _pool_columns(self.seed, self.prime, self.functions).take(cohorts, axis=1)

    @property
    def pool(self) -> AnyArray:
        """The ``(m, 4)`` coefficients c0 to c3 of all hash functions of the pool."""
        return _pool(self.seed, self.prime, self.functions)

    def _hashed(self, coefficients: AnyArray, values: IntArray) -> AnyArray:
        """Return h(x) for coefficients and values, which are broadcast; products stay below 2^64."""
        x, hashed = values.astype(np.uint64), coefficients[3].astype(np.uint64)
        for degree in (2, 1, 0):
            hashed = self._reduced(hashed * x + coefficients[degree])
        if self.prime == _LARGEST_POOL_PRIME:
            # Below 2^33 after the first reduction; at most P + 3 after the second.
            hashed = self._reduced(hashed)
            hashed = np.minimum(hashed, hashed - np.uint64(self.prime))
        small = hashed.astype(np.uint32)
        multiple: AnyArray = small - small // np.uint32(self.buckets) * np.uint32(self.buckets)
        return multiple

    def _reduced(self, products: AnyArray) -> AnyArray:
        """Return numbers below 2^64 modulo P; modulo 2^31 - 1 only approximately, without a division.

        A remainder below k 2^31, multiplied by a number below 2^31, is reduced to at most (k + 1) 2^31.
        """
        if self.prime != _LARGEST_POOL_PRIME:
            products %= np.uint64(self.prime)
            return products
        low = products & np.uint64(_LARGEST_POOL_PRIME)
        products >>= np.uint64(31)
        products += low
        return products

    def places(self, blocks: Blocks) -> AnyArray:
        """Return the ``(m,)`` positions of blocks in the list of all buckets: function times g, plus bucket."""
        return blocks["cohort"].astype(np.int64) * self.buckets + blocks["bucket"]

    def support_of(self, counts: AnyArray) -> AnyArray:
        """Return, for each value, the sum over all functions of the counts of the value's bucket.

        The counts are ``(m g,)``, and the sums have the same type.
        """
        from discreet.kernels.hashing import gather_buckets

        tables = counts.reshape(self.functions, self.buckets)
        return gather_buckets(self.pool, tables, prime=self.prime, size=self.size)

    def membership_of(self, counts: IntArray) -> "DistinctBuckets":
        """Return the membership matrix of all buckets of all hash functions as an operator."""
        return DistinctBuckets(counts.astype(np.float64), self.size, self)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the value is in the block's bucket."""
        coefficients = self.pool[blocks["cohort"]].T[:, :, None]
        contained: BoolArray = self._hashed(coefficients, np.arange(self.size)[None, :]) == blocks["bucket"][:, None]
        return contained

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every bucket of every hash function of the pool, with equal probabilities."""
        cohort, bucket = np.divmod(np.arange(self.alphabet_size), self.buckets)
        written = zip(self.columns, (cohort, bucket), strict=True)
        blocks = {column.name: numbers.astype(column.dtype) for column, numbers in written}
        return blocks, uniform(self.alphabet_size)


@lru_cache(maxsize=1 << 12)
def hash_function(seed: int, prime: int, place: int) -> tuple[int, ...]:
    """Return the coefficients c0 to c3 of one function of a pool; the module describes how they are computed."""
    limit, attempt = WORD_RANGE - WORD_RANGE % prime, 0
    while True:
        text = f"discreet hash pool {seed} {prime} {place} {attempt}"
        words = struct.unpack("<4Q", hashlib.sha256(text.encode("ascii")).digest())
        if max(words) < limit:
            return tuple(word % prime for word in words)
        attempt += 1


@lru_cache(maxsize=8)
def _pool(seed: int, prime: int, functions: int) -> AnyArray:
    # These functions bypass the cache of single functions, which they would fill.
    drawn = [hash_function.__wrapped__(seed, prime, j) for j in range(functions)]
    return frozen(np.array(drawn, dtype=np.uint32))


@lru_cache(maxsize=8)
def _pool_columns(seed: int, prime: int, functions: int) -> AnyArray:
    return frozen(np.ascontiguousarray(_pool(seed, prime, functions).T))


@dataclass(frozen=True, slots=True, eq=False)
class DistinctBuckets(WholeAlphabet):
    """The membership matrix of a pool, with one row for each bucket of each function.

    Attributes:
        law: the pool.
    """

    law: PooledHashBlocks

    def dot(self, values: Any) -> Any:
        """Return ``(m g,)`` sums of ``values`` over each bucket: the product B @ values."""
        from discreet.kernels.hashing import scatter_buckets

        wanted = np.asarray(values, dtype=np.float64)
        return scatter_buckets(self.law.pool, wanted, prime=self.law.prime, buckets=self.law.buckets).reshape(-1)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` sums of the weights of the buckets with each value: the product B.T @ weights."""
        return self.law.support_of(np.asarray(weights, dtype=np.float64))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PooledHashing(BlockMechanism):
    """Local hashing with a pool of public hash functions: short reports and a small tally that is decoded once.

    The linear estimate is unbiased on average over pools. Any one pool has a pool bias, which more reports do not
    reduce. Standard errors and the planner include it. The seed must be chosen without looking at values.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        g: number of buckets, at least 2; None for the best g by worst-case error of a report among a few near e^eps +
            1.
        functions: m, the number of hash functions; None for the largest power of two, at most 65,536, with m v <= 2^30
            and m g <= 2^22 (but at least 64): about a second to decode and 32 MB.
        seed: the public integer that determines the functions.

    Raises:
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.PooledHashing(dc.Domain(range(100)), epsilon=1.0, g=4, functions=64, seed=1)
        >>> reports = mechanism.obfuscate([3] * 10_000, random=dc.SeededRandom(1))
        >>> len(mechanism.tally(reports).support), round(float(dc.estimate(mechanism, reports).frequencies[3]), 1)
        (256, 1.0)
    """

    name = "hashing-pool"
    laws = (PooledHashBlocks,)

    g: int | None = None
    functions: int | None = None
    seed: int = 0

    @cached_property
    def law(self) -> PooledHashBlocks:
        """The block law: buckets of hash functions from a public pool."""
        size, functions = sensitive_size(self.domain), self.functions
        choices = promising_buckets(size, self.epsilon) if self.g is None else [checked_buckets(self.g)]
        laws = [
            PooledHashBlocks(
                size, choice, _default_functions(size, choice) if functions is None else functions, self.seed
            )
            for choice in choices
            if self.g is not None or choice <= _LARGEST_ROW
        ]
        return minimax_law(self.domain, self.epsilon, laws)

    @property
    def settings(self) -> dict[str, float]:
        """Return g, the number of buckets, and m, the number of hash functions in the pool."""
        return {"g": self.law.buckets, "m": self.law.functions}


def _default_functions(size: int, buckets: int) -> int:
    fitting = min(_DEFAULT_STEPS // size, _DEFAULT_COUNTS // buckets, _DEFAULT_FUNCTIONS)
    return max(1 << max(fitting.bit_length() - 1, 0), min(64, _MOST_COUNTS // buckets))
