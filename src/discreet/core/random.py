"""Where randomness comes from: 64-bit words of AES-256 in counter mode.

A mechanism is handed a `RandomSource` and turns its words into coins by comparing integers, so that every probability
is an exact fraction. The secure source takes its key from the operating system; the seeded one, for simulation only,
runs the very same path and marks what it makes.
"""

import hashlib
import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from discreet.arrays import AnyArray, BoolArray, WordArray
from discreet.errors import ParameterError

WORD_BITS = 64
WORD_RANGE = 1 << WORD_BITS

_ZEROS = bytes(1 << 19)


class RandomSource(Protocol):
    """Hands out words, independent and uniform over 0..2^64 - 1."""

    @property
    def secure(self) -> bool:
        """Whether nobody can predict the words; False for seeded simulation."""
        ...

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words."""
        ...


def _stream(key: bytes) -> CipherContext:
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()


def _next_words(stream: CipherContext, n: int) -> WordArray:
    words: WordArray = np.empty(n, dtype="<u8")
    if n:
        target = memoryview(words.data).cast("B")
        for start in range(0, len(target), len(_ZEROS)):
            part = target[start : start + len(_ZEROS)]
            stream.update_into(memoryview(_ZEROS)[: len(part)], part)
    return words


# Counts forks. A child may bear the process number of its parent (in a namespace, or when numbers are used again).
_FORKS = [0]


def _count_fork() -> None:
    _FORKS[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class SecureRandom:
    """Unpredictable words, keyed from the operating system.

    Every thread has a stream of its own, and a process that was forked takes a new key before its first word: two
    processes never share noise.
    """

    secure = True

    def __init__(self) -> None:
        self._local = threading.local()

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words."""
        local = self._local
        process = os.getpid(), _FORKS[0]
        if getattr(local, "process", None) != process:
            local.stream = _stream(os.urandom(32))
            local.process = process
        return _next_words(local.stream, n)


def checked_source(random: RandomSource | None) -> RandomSource:
    """Return a fresh secure source for None, and refuse what cannot hand out words.

    Raises:
        ParameterError: if it is no random source.
    """
    if random is None:
        return SecureRandom()
    if not hasattr(random, "words"):
        raise ParameterError(f"random must be a SecureRandom or a SeededRandom, got {type(random).__name__}.")
    return random


class SeededRandom:
    """Reproducible words for simulations and tests; never for people's reports.

    Args:
        seed: any integer; the same seed gives the same words on every machine.
    """

    secure = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ParameterError(f"seed must be an integer, got {type(seed).__name__}.")
        self._stream = _stream(hashlib.sha256(f"discreet simulation {int(seed)}".encode()).digest())

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words."""
        return _next_words(self._stream, n)


def toss(n: int, threshold: int, random: RandomSource) -> BoolArray:
    """Toss ``n`` coins that land True with probability ``threshold / 2^64`` exactly.

    Args:
        n: how many.
        threshold: 0..2^64; the coin is certain, and takes no word, at either end.
        random: the words.

    Returns:
        ``(n,)`` booleans.
    """
    if threshold >= WORD_RANGE:
        return np.ones(n, dtype=np.bool_)
    if threshold <= 0:
        return np.zeros(n, dtype=np.bool_)
    return random.words(n) < np.uint64(threshold)


def uniform_below(
    bound: int, n: int, random: RandomSource, *, lane: type[np.uint64] | type[np.uint32] = np.uint64
) -> AnyArray:
    """Draw ``n`` integers uniform on 0..bound - 1, exactly.

    Numbers beyond the last multiple of ``bound`` are thrown away and drawn again, so there is no bias at all. What is
    thrown away depends on nothing but the words.

    Args:
        bound: at least 1; at most 2^32 - 1 for 32-bit lanes.
        n: how many.
        random: the words.
        lane: bits that one number is drawn from, and the type of the result; 32 take half the words, but only suit a
            small bound.

    Returns:
        ``(n,)`` integers of the lane's type.
    """
    if bound == 1:
        return np.zeros(n, dtype=lane)
    width = lane((1 << 8 * lane().itemsize) // bound)
    drawn = _lanes(n, random, lane) // width
    while n and drawn.max() >= bound:
        again = np.flatnonzero(drawn >= bound)
        drawn[again] = _lanes(len(again), random, lane) // width
    return drawn


def _lanes(n: int, random: RandomSource, lane: type[np.uint64] | type[np.uint32]) -> AnyArray:
    if lane is np.uint64:
        return random.words(n)
    return random.words(-(-n // 2)).view("<u4")[:n]
