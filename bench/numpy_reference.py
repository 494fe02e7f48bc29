"""What a skilled NumPy user would write: PCG64, vectorised, in chunks that suit the cache, small types where they help.

These are faster than any package known to us. They are no replacement: PCG64 can be predicted, a probability is
rounded to whatever is near, and no promise is kept exactly.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Packed = NDArray[np.uint8]

_CHUNK = 4096
# The largest number of ones that fits a byte.
_BYTE_SUM = 255
_HASH_CHUNK = 20


@dataclass(frozen=True)
class HashReports:
    """Reports of local hashing: ``(n,)`` parameters a and b of the hash functions, and values of buckets."""

    a: NDArray[np.uint32]
    b: NDArray[np.uint32]
    bucket: NDArray[np.uint32]
    prime: int
    buckets: int


def rr(codes: Codes, size: int, epsilon: float, rng: np.random.Generator) -> Codes:
    """Obfuscate by k-ary randomized response, as truth or noise."""
    truth = (exp(epsilon) - 1) / (size + exp(epsilon) - 1)
    noise = rng.integers(size, size=len(codes), dtype=np.uint16)
    return np.where(rng.random(len(codes)) < truth, codes, noise)


def rr_counts(symbols: Codes, size: int) -> Codes:
    """Count symbols."""
    return np.bincount(symbols, minlength=size)


def unary(codes: Codes, size: int, epsilon: float, rng: np.random.Generator) -> Packed:
    """Obfuscate by basic RAPPOR; rows of packed bits."""
    parts = [_unary_chunk(codes[i : i + _CHUNK], size, epsilon, rng) for i in range(0, len(codes), _CHUNK)]
    return np.concatenate(parts)


def _unary_chunk(codes: Codes, size: int, epsilon: float, rng: np.random.Generator) -> Packed:
    noise = 1 / (1 + exp(epsilon / 2))
    # 16 bits per bit: a quarter of the words that doubles would take, and sharp enough for a simulation.
    bits = rng.integers(1 << 16, size=(len(codes), size), dtype=np.uint16) < np.uint16(noise * 2**16)
    bits[np.arange(len(codes)), codes] = rng.random(len(codes)) < 1 - noise
    return np.packbits(bits, axis=1, bitorder="little")


def unary_of_few_digits(codes: Codes, size: int, noise: Fraction, told: float, rng: np.random.Generator) -> Packed:
    """Obfuscate by unary encoding whose noise has few binary digits: a random bit for each of them, and no numbers.

    Args:
        codes: of the values.
        size: the number of values.
        noise: the probability of a noise bit, a multiple of a power of 1/2.
        told: the probability of the value's own bit.
        rng: PCG64.
    """
    width, digits = -(-size // 64), noise.denominator.bit_length() - 1
    parts = []
    for start in range(0, len(codes), _CHUNK):
        some = codes[start : start + _CHUNK]
        bits = np.zeros((len(some), width), dtype=np.uint64)
        for digit in range(digits):
            words = rng.integers(1 << 64, size=bits.shape, dtype=np.uint64)
            bits = words | bits if noise.numerator >> digit & 1 else words & bits
        rows, byte, own = bits.view(np.uint8), some >> 3, np.left_shift(1, some & 7).astype(np.uint8)
        place = np.arange(len(some))
        rows[place, byte] = np.where(rng.random(len(some)) < told, rows[place, byte] | own, rows[place, byte] & ~own)
        parts.append(rows[:, : -(-size // 8)])
    return np.concatenate(parts)


def unary_counts(rows: Packed, size: int) -> Codes:
    """Count the ones of every column."""
    counts = np.zeros(size, dtype=np.int64)
    for i in range(0, len(rows), _BYTE_SUM):
        bits = np.unpackbits(rows[i : i + _BYTE_SUM], axis=1, count=size, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.uint8)
    return counts


def urap(
    codes: Codes, slots: NDArray[np.int32], size: int, epsilon: float, rng: np.random.Generator
) -> tuple[Packed, Codes]:
    """Obfuscate by uRAP without noise bits on what goes in clear; rows of packed bits, and values in clear.

    Args:
        codes: ``(n,)`` values.
        slots: rank among the sensitive values, negative for the others, by code.
        size: how many values are sensitive.
        epsilon: the privacy promise.
        rng: the generator.
    """
    slot = slots[codes]
    told = (slot < 0) & (rng.random(len(codes)) < -np.expm1(-epsilon / 2))
    kept = slot[~told]
    noise = 1 / (1 + exp(epsilon / 2))
    bits = rng.integers(1 << 16, size=(len(kept), size), dtype=np.uint16) < np.uint16(noise * 2**16)
    own = np.flatnonzero(kept >= 0)
    bits[own, kept[own]] = rng.random(len(own)) < 1 - noise
    return np.packbits(bits, axis=1, bitorder="little"), codes[told]


def hashing(codes: Codes, prime: int, buckets: int, epsilon: float, rng: np.random.Generator) -> HashReports:
    """Obfuscate by local hashing."""
    n = len(codes)
    a = rng.integers(1, prime, n, dtype=np.uint32)
    b = rng.integers(prime, size=n, dtype=np.uint32)
    hashed = (a * codes.astype(np.uint32) + b) % np.uint32(prime) % np.uint32(buckets)
    truth = (exp(epsilon) - 1) / (buckets + exp(epsilon) - 1)
    noise = rng.integers(buckets, size=n, dtype=np.uint32)
    return HashReports(a, b, np.where(rng.random(n) < truth, hashed, noise), prime, buckets)


def hashing_counts(reports: HashReports, size: int) -> Codes:
    """Count, for every value, the reports whose hash function sends it to their bucket.

    NumPy divides by a constant in vector registers but takes no remainder there.
    """
    # 32 bits hold a x + b for primes below 2^16, and halve the time.
    x, counts = np.arange(size, dtype=np.uint32), np.zeros(size, dtype=np.int64)
    for i in range(0, len(reports.a), _HASH_CHUNK):
        part = slice(i, i + _HASH_CHUNK)
        hashed = reports.a[part, None] * x
        hashed += reports.b[part, None]
        hashed -= hashed // np.uint32(reports.prime) * np.uint32(reports.prime)
        hashed -= hashed // np.uint32(reports.buckets) * np.uint32(reports.buckets)
        counts += np.count_nonzero(hashed == reports.bucket[part, None], axis=0)
    return counts


def urap_counts(reports: tuple[Packed, Codes], sensitive: int, size: int) -> tuple[Codes, Codes]:
    """Count the ones of every column, and the values in clear."""
    rows, told = reports
    return unary_counts(rows, sensitive), np.bincount(told, minlength=size)


def subsets(codes: Codes, size: int, count: int, epsilon: float, rng: np.random.Generator) -> NDArray[np.uint16]:
    """Obfuscate by subset selection; ``(n, k)`` members."""
    own = count * exp(epsilon) / (count * exp(epsilon) + size - count)
    parts = []
    for i in range(0, len(codes), _CHUNK):
        part = codes[i : i + _CHUNK]
        # The k smallest of uniform keys; the value's own key puts it inside or outside.
        keys = rng.random((len(part), size), dtype=np.float32)
        keys[np.arange(len(part)), part] = np.where(rng.random(len(part)) < own, -1, 2)
        members = np.argpartition(keys, count, axis=1)[:, :count].astype(np.uint16)
        # In order: otherwise the place of a member would give it away.
        members.sort(axis=1)
        parts.append(members)
    return np.concatenate(parts)


def subset_counts(members: NDArray[np.uint16], size: int) -> Codes:
    """Count, for every value, the subsets that it is in."""
    return np.bincount(members.reshape(-1), minlength=size)


def hadamard(codes: Codes, order: int, epsilon: float, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Obfuscate by Hadamard response: a column with +1 in the value's row, or any column."""
    rows = codes.astype(np.uint32) + np.uint32(1)
    columns = rng.integers(order, size=len(codes), dtype=np.uint32)
    truth = (exp(epsilon) - 1) / (exp(epsilon) + 1)
    wrong = (np.bitwise_count(columns & rows) & 1).astype(bool) & (rng.random(len(codes)) < truth)
    # Another parity: one bit of the row turned over.
    return np.where(wrong, columns ^ (rows & (~rows + np.uint32(1))), columns)


def hadamard_counts(columns: NDArray[np.uint32], order: int) -> NDArray[np.float64]:
    """Count, for every value, the columns with +1 in its row, by a fast Walsh-Hadamard transform."""
    sums = np.bincount(columns, minlength=order).astype(np.float64)
    half = 1
    while half < order:
        pairs = sums.reshape(-1, 2, half)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return (len(columns) + sums[1:]) / 2


def linear(counts: Codes, n: int, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the unbiased estimate of randomized response and its standard errors."""
    wrong = 1 / (exp(epsilon) + len(counts) - 1)
    apart = (exp(epsilon) - 1) * wrong
    frequencies = (counts / n - wrong) / apart
    likely = np.clip(wrong + apart * frequencies, 0, 1)
    return frequencies, np.sqrt(likely * (1 - likely) / n) / apart


def norm_sub(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest distribution."""
    falling = np.sort(frequencies)[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    return np.maximum(frequencies - over[np.flatnonzero(falling > over)[-1]], 0)


def expectation(
    matrix: NDArray[np.float64], shares: NDArray[np.float64], gap: float, most: int
) -> tuple[int, NDArray[np.float64]]:
    """Run EM from the uniform distribution until the largest gradient shows that less than ``gap`` is missing.

    Returns:
        the passes and the distribution.
    """
    p, passes = np.full(len(matrix), 1 / len(matrix)), 1
    while (gradient := matrix @ (shares / (p @ matrix))).max() - 1 > gap and passes < most:
        p, passes = p * gradient, passes + 1
    return passes, p
