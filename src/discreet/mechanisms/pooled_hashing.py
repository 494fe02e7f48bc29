"""A pool of public hash functions: local hashing whose tally is decoded once (FLH; RAPPOR's cohorts).

The plan has a public seed, which determines m hash functions. A device draws one of them, its *cohort* c, and a block
is the set of values that h_c sends to one bucket; the bucket of noise is uniform on 0..g - 1. So pi = 1/g for every
value, exactly and under any functions, and so epsilon is exact too. There are m g blocks only: their counts are the
tally, and their members are computed once, in m v steps, not in v/g steps for every report [Cormode, Maddock, Maple
2021].

The price is an error that more reports do not lessen (`discreet.accuracy.pool_bias`). To state it exactly, functions
are cubic polynomials over the integers modulo the prime P = 2^31 - 1,

    h(x) = ((c0 + c1 x + c2 x^2 + c3 x^3) mod P) mod g,  c0 to c3 uniform on 0..P - 1,

whose numbers mod P are independent for any four values [Carter and Wegman 1979]; with lines, three values of an
arithmetic progression would be in one bucket far too often. With n_b numbers mod P in bucket b, two values collide with
probability rho = sum (n_b/P)^2, three with tau = sum (n_b/P)^3, and the share of m functions under which two given
values collide has the variance rho (1 - rho)/m; with another value's, the covariance (tau - rho^2)/m.

Function j of a seed is read off SHA-256 of the text "discreet hash pool SEED P j 0" (decimal numbers): its four 64-bit
words, little-endian, modulo P, are c0 to c3. If one of them is not below the last multiple of P, where a remainder
would be biased, the last number of the text becomes 1, 2, and so on.
"""

import hashlib
import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, frozen
from discreet.core.checks import checked_whole
from discreet.core.coins import Coins, chosen
from discreet.core.random import WORD_RANGE, RandomSource, uniform_below
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms.counting import BlockCounts
from discreet.mechanisms.hashing import HashedBlocks, checked_buckets, promising_buckets
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.mechanisms.numbers import least_worst
from discreet.mechanisms.primes import is_prime

_LARGEST_PRIME = (1 << 31) - 1
_LARGEST_SEED = (1 << 63) - 1
# 512 MB of counts.
_MOST_COUNTS = 1 << 26
# Without a number of buckets: at most so many, which leaves room for functions.
_LARGEST_ROW = 1 << 16
# Without a number of functions: as many as decode in about a second on one core, in 32 MB of counts.
_DEFAULT_FUNCTIONS, _DEFAULT_STEPS, _DEFAULT_COUNTS = 1 << 16, 1 << 30, 1 << 22
# A batch this much smaller than the pool does not make all of it.
_FEW = 16


@dataclass(frozen=True, slots=True)
class PooledHashBlocks(HashedBlocks):
    """The preimage of one bucket under one of a few public hash functions.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        buckets: g, at least 2.
        functions: m, at least 1.
        seed: the number that determines the functions; see the module.
        prime: P, not below v or g; plans have 2^31 - 1, another prime is for small examples.
    """

    kind = "hash pool"
    wide = ("seed",)

    size: int
    buckets: int
    functions: int
    seed: int = 0
    prime: int = _LARGEST_PRIME

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if a number is out of its range, or there would be too many blocks to count.
        """
        checked_whole("size", self.size, 1, self.prime)
        checked_whole("g", self.buckets, 2, min(self.prime, _MOST_COUNTS))
        if self.prime != _LARGEST_PRIME and not (self.prime < _LARGEST_PRIME and is_prime(self.prime)):
            raise ParameterError(f"prime must be a prime of at most {_LARGEST_PRIME}, got prime={self.prime!r}.")
        checked_whole("functions", self.functions, 1, _MOST_COUNTS // self.buckets)
        checked_whole("seed", self.seed, 0, _LARGEST_SEED)

    @property
    def _shares(self) -> tuple[tuple[int, Fraction], ...]:
        """Return, for each of the two sizes of a bucket, the number of such buckets and the share n_b/P of one."""
        full, over = divmod(self.prime, self.buckets)
        return (over, Fraction(full + 1, self.prime)), (self.buckets - over, Fraction(full, self.prime))

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho, the collision probability of two values over all functions."""
        return sum((count * share**2 for count, share in self._shares), Fraction(0))

    @property
    def conditional_variation(self) -> tuple[Fraction, Fraction]:
        """Return variance and covariance of the share of the pool under which two values collide."""
        rho, tau = self.conditional_inclusion, sum((count * share**3 for count, share in self._shares), Fraction(0))
        return rho * (1 - rho) / self.functions, (tau - rho * rho) / self.functions

    @property
    def additions(self) -> tuple[float, float]:
        """Return two for a block, and three steps of each function for each value; see `BlockLaw`."""
        return 2, 3 * self.functions * self.size

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return two columns: the function and the bucket."""
        return (
            Column("cohort", smallest_unsigned(self.functions), bound=self.functions),
            Column("bucket", smallest_unsigned(self.buckets), bound=self.buckets),
        )

    @property
    def alphabet_size(self) -> int:
        """Return m g."""
        return self.functions * self.buckets

    def describe(self) -> dict[str, Any]:
        """Return v, g, m, the seed and P."""
        facts = {"size": self.size, "buckets": self.buckets, "functions": self.functions, "seed": self.seed}
        return {"law": self.kind, **facts, "prime": self.prime}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> "PooledHashBlocks":
        """Return the law of a description, whose prime must be that of plans; see `CommonLaw.of_parts`."""
        return cls(parts["size"], parts["buckets"], parts["functions"], parts["seed"])

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks; see `BlockLaw`. Cohort and noise take words of their own."""
        cohorts = uniform_below(self.functions, len(members), random)
        noise = uniform_below(self.buckets, len(members), random)
        buckets = self._hashed(self._coefficients(cohorts), np.maximum(members, 0))
        chosen(members >= 0, buckets, noise, out["bucket"])
        out["cohort"][:] = cohorts

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw the blocks of a batch; see `BlockLaw`. A cohort takes half a word."""
        noise, cohorts = self._noise(coins, random), uniform_below(self.functions, len(ranks), random, lane=np.uint32)
        buckets = self._hashed(self._coefficients(cohorts), np.maximum(ranks, 0))
        chosen(coins.truth, buckets, noise, out["bucket"])
        out["cohort"][:] = cohorts

    def _coefficients(self, cohorts: AnyArray) -> AnyArray:
        """Return the ``(4, m)`` c0 to c3 of some functions; few of them one by one, as a device needs them."""
        if len(cohorts) * _FEW < self.functions:
            functions = [hash_function(self.seed, self.prime, int(place)) for place in cohorts]
            return np.array(functions, dtype=np.uint32).reshape(-1, 4).T
        return _pool_columns(self.seed, self.prime, self.functions).take(cohorts, axis=1)

    @property
    def pool(self) -> AnyArray:
        """Return the ``(m, 4)`` c0 to c3 of all functions."""
        return _pool(self.seed, self.prime, self.functions)

    def _hashed(self, coefficients: AnyArray, values: IntArray) -> AnyArray:
        """Return h(x) for the four coefficients and values that fit together; products stay below 2^64."""
        x, hashed = values.astype(np.uint64), coefficients[3].astype(np.uint64)
        for degree in (2, 1, 0):
            hashed = self._reduced(hashed * x + coefficients[degree])
        if self.prime == _LARGEST_PRIME:
            # Below 2^33 now; once more, and it is at most P + 3.
            hashed = self._reduced(hashed)
            hashed = np.minimum(hashed, hashed - np.uint64(self.prime))
        small = hashed.astype(np.uint32)
        found: AnyArray = small - small // np.uint32(self.buckets) * np.uint32(self.buckets)
        return found

    def _reduced(self, products: AnyArray) -> AnyArray:
        """Return numbers below 2^64 modulo P; modulo 2^31 - 1 only nearly, without a division.

        The remainder that was below k 2^31 becomes, multiplied by one below 2^31, at most (k + 1) 2^31.
        """
        if self.prime != _LARGEST_PRIME:
            products %= np.uint64(self.prime)
            return products
        low = products & np.uint64(_LARGEST_PRIME)
        products >>= np.uint64(31)
        products += low
        return products

    @property
    def counts(self) -> BlockCounts:
        """Return the counting of each bucket of each function."""
        return BlockCounts(self)

    def places(self, blocks: Blocks) -> AnyArray:
        """Return ``(m,)`` c g + bucket."""
        return blocks["cohort"].astype(np.int64) * self.buckets + blocks["bucket"]

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the ``(v,)`` support T: for each value the sum of the counts of its bucket under every function."""
        from discreet.kernels.blocks.pooling import gather_buckets

        tables = counts.reshape(self.functions, self.buckets)
        return gather_buckets(self.pool, tables, prime=self.prime, size=self.size)

    def membership_of(self, counts: IntArray) -> "DistinctBuckets":
        """Return all m g blocks as an operator."""
        return DistinctBuckets(counts.astype(np.float64), self)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans."""
        coefficients = self.pool[blocks["cohort"]].T[:, :, None]
        contained: BoolArray = self._hashed(coefficients, np.arange(self.size)[None, :]) == blocks["bucket"][:, None]
        return contained

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every bucket of every function, uniform."""
        cohort, bucket = np.divmod(np.arange(self.alphabet_size), self.buckets)
        written = zip(self.columns, (cohort, bucket), strict=True)
        blocks = {column.name: numbers.astype(column.dtype) for column, numbers in written}
        return blocks, np.full(self.alphabet_size, Fraction(1, self.alphabet_size), dtype=object)

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return no flaws: every function can be drawn, and every bucket."""
        return np.zeros(len(blocks["cohort"]), dtype=np.bool_)


@lru_cache(maxsize=1 << 12)
def hash_function(seed: int, prime: int, place: int) -> tuple[int, ...]:
    """Return c0 to c3 of one function of a pool; see the module."""
    limit, attempt = WORD_RANGE - WORD_RANGE % prime, 0
    while True:
        text = f"discreet hash pool {seed} {prime} {place} {attempt}"
        words = struct.unpack("<4Q", hashlib.sha256(text.encode("ascii")).digest())
        if max(words) < limit:
            return tuple(word % prime for word in words)
        attempt += 1


@lru_cache(maxsize=8)
def _pool(seed: int, prime: int, functions: int) -> AnyArray:
    # Past the cache of single functions, which these would only push out.
    drawn = [hash_function.__wrapped__(seed, prime, j) for j in range(functions)]
    return frozen(np.array(drawn, dtype=np.uint32))


@lru_cache(maxsize=8)
def _pool_columns(seed: int, prime: int, functions: int) -> AnyArray:
    return frozen(np.ascontiguousarray(_pool(seed, prime, functions).T))


@dataclass(frozen=True, slots=True, eq=False)
class DistinctBuckets:
    """The membership matrix of a pool: one row for each bucket of each function.

    Attributes:
        multiplicity: ``(m g,)`` counts of the blocks.
        law: the pool.
    """

    multiplicity: FloatArray
    law: PooledHashBlocks

    @property
    def rows(self) -> int:
        """Return m g."""
        return len(self.multiplicity)

    @property
    def size(self) -> int:
        """Return v."""
        return self.law.size

    def dot(self, values: Any) -> Any:
        """Return ``(m g,)`` B @ values."""
        from discreet.kernels.blocks.pooling import scatter_buckets

        wanted = np.asarray(values, dtype=np.float64)
        return scatter_buckets(self.law.pool, wanted, prime=self.law.prime, buckets=self.law.buckets).reshape(-1)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        from discreet.kernels.blocks.pooling import gather_buckets

        tables = np.asarray(weights, dtype=np.float64).reshape(self.law.functions, self.law.buckets)
        return gather_buckets(self.law.pool, tables, prime=self.law.prime, size=self.law.size)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PooledHashing(BlockMechanism):
    """Local hashing with a pool of public hash functions: a short report, a small tally, decoded once.

    The linear estimate is unbiased over pools; under any one pool it has a pool bias, which more reports do not lessen
    and which its standard errors and the planner include. The seed must be chosen without looking at values.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        g: number of buckets, at least 2; None for the one with the least worst-case error of a report among a few near
            e^eps + 1.
        functions: m, the number of hash functions; None for the largest power of two, at most 65,536, with m v <= 2^30
            and m g <= 2^22 (but at least 64): about a second to decode and 32 MB.
        seed: the number that determines the functions; public.

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
        """The block law."""
        size, functions = sensitive_size(self.domain), self.functions
        choices = promising_buckets(size, self.epsilon) if self.g is None else [checked_buckets(self.g)]
        laws = [
            PooledHashBlocks(
                size, choice, _default_functions(size, choice) if functions is None else functions, self.seed
            )
            for choice in choices
            if self.g is not None or choice <= _LARGEST_ROW
        ]
        return least_worst(self.domain, self.epsilon, laws)

    @property
    def settings(self) -> dict[str, float]:
        """Return g, the number of buckets, and m, of functions."""
        return {"g": self.law.buckets, "m": self.law.functions}


def _default_functions(size: int, buckets: int) -> int:
    fitting = min(_DEFAULT_STEPS // size, _DEFAULT_COUNTS // buckets, _DEFAULT_FUNCTIONS)
    return max(1 << max(fitting.bit_length() - 1, 0), min(64, _MOST_COUNTS // buckets))
