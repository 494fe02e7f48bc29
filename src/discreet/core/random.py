"""Random sources: 64-bit words of AES-256 in counter mode.

A mechanism compares the words of a `RandomSource` with integers, so that every probability is an exact fraction. The
secure source takes its key from the operating system; the seeded one, for simulation only, runs the same path, and its
reports are marked as simulated.

Callers may pass sources of their own, such as one round a hardware generator. Words of a wrong type would make devices
report the truth, so every draw goes through `fresh_words`, and every source from outside through `checked_source`.
"""

import hashlib
import os
import threading
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from discreet.arrays import AnyArray, WordArray
from discreet.core.checks import is_whole
from discreet.core.keystream import KEY_SIZE, Keystream
from discreet.errors import ParameterError

WORD_BITS = 64
WORD_RANGE = 1 << WORD_BITS
KEY_CALLS, KEY_BYTES = 1 << 16, 1 << 30
"""Calls, and bytes, after which a secure key is replaced."""

_WORD = np.dtype("<u8")
_PARTS = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
# Of one word chance makes two alike once in 2^64 times.
_PREFIX = 4


class RandomSource(Protocol):
    """A source of independent 64-bit words, uniform over 0..2^64 - 1."""

    @property
    def secure(self) -> bool:
        """True if nobody can predict the words; False for seeded simulation."""
        ...

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words."""
        ...


def _empty_words(n: int) -> tuple[WordArray, memoryview]:
    words: WordArray = np.empty(n, dtype=_WORD)
    return words, words.data.cast("B") if n else memoryview(bytearray())


# Counts forks. A child may bear the process number of its parent (in a namespace, or when numbers are used again).
_FORKS = [0]


def _count_fork() -> None:
    _FORKS[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class SecureRandom:
    """A source of unpredictable words, with keys from the operating system.

    Every thread has a separate stream, and a forked process takes a new key before its first word, so that two
    processes never share noise. A key serves 2^16 calls or 2^30 bytes and is then replaced, so that a later copy of the
    memory reveals no noise but the latest.

    Example:
        >>> import discreet as dc
        >>> random = dc.SecureRandom()
        >>> random.secure, random.words(3).dtype
        (True, dtype('uint64'))
    """

    secure = True

    def __init__(self) -> None:
        self._local = threading.local()

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words."""
        words, target = _empty_words(n)
        key: _Key | None = getattr(self._local, "key", None)
        process = os.getpid(), _FORKS[0]
        while True:
            if key is None or key.process != process or key.calls == 0 or key.bytes == 0:
                key = self._local.key = _Key(process)
            key.calls -= 1
            part, target = target[: key.bytes], target[key.bytes :]
            key.bytes -= len(part)
            key.stream.fill(part)
            if not target:
                return words


class _Key:
    """A secure key in use: its process, and the calls and bytes that it may still serve."""

    __slots__ = ("bytes", "calls", "process", "stream")

    def __init__(self, process: tuple[int, int]) -> None:
        self.process, self.calls, self.bytes = process, KEY_CALLS, KEY_BYTES
        self.stream = Keystream(os.urandom(KEY_SIZE))


class SeededRandom:
    """A source of reproducible words for simulations and tests; never for people's reports.

    One thread at a time draws from it: words that threads share would come in another order each time.

    Args:
        seed: any integer; the same seed gives the same words on every machine.

    Example:
        >>> import discreet as dc
        >>> (dc.SeededRandom(7).words(3) == dc.SeededRandom(7).words(3)).all(), dc.SeededRandom(7).secure
        (np.True_, False)
    """

    secure = False

    def __init__(self, seed: int) -> None:
        if not is_whole(seed):
            raise ParameterError(f"seed must be an integer, got {type(seed).__name__}.")
        self._stream = Keystream(hashlib.sha256(f"discreet simulation {int(seed)}".encode()).digest())
        self._in_use = threading.Lock()

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words.

        Raises:
            ParameterError: if another thread draws at this moment.
        """
        words, target = _empty_words(n)
        if not self._in_use.acquire(blocking=False):
            raise ParameterError(
                "a SeededRandom must be drawn from by one thread at a time, and another one draws from it now; make "
                "one for each thread, with a seed of its own."
            )
        try:
            self._stream.fill(target)
        finally:
            self._in_use.release()
        return words


class KeyedRandom:
    """A source of the words that follow from a key, which nobody can predict without it.

    Each key serves one report: two reports under one key have the same noise.

    Args:
        key: 32 bytes, secret and uniform; AES-256 in counter mode from zero, as in every source here.

    Raises:
        ParameterError: if these are no 32 bytes.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.random import KeyedRandom
        >>> bool((KeyedRandom(bytes(32)).words(2) == KeyedRandom(bytes(32)).words(2)).all())
        True
    """

    secure = True

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_SIZE:
            raise ParameterError(f"a key must be {KEY_SIZE} bytes.")
        self._stream = Keystream(key)

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` words, those that follow the ones before."""
        words, target = _empty_words(n)
        self._stream.fill(target)
        return words


def fresh_words(random: RandomSource, n: int) -> WordArray:
    """Return ``(n,)`` words of a source, checked; every draw goes through this function.

    Raises:
        ParameterError: if the source hands out anything else. Narrower, signed or floating numbers would pass for
            words, and devices would tell the truth.
    """
    words = random.words(n)
    if type(words) is not np.ndarray or words.dtype != _WORD or words.shape != (n,):
        raise ParameterError(
            f"words(n) of a random source must return n words of 64 bits, a NumPy array of type uint64 and shape "
            f"({n},), got {_form(words)}."
        )
    if not (words.flags.c_contiguous and words.flags.writeable):
        raise ParameterError(
            "words(n) of a random source must return an array of its own, contiguous and writeable; return a copy."
        )
    return words


def _form(words: object) -> str:
    if not isinstance(words, np.ndarray):
        return type(words).__name__
    kind = "" if type(words) is np.ndarray else f" ({type(words).__name__})"
    return f"type {words.dtype} and shape {words.shape}{kind}"


class _Seen:
    """The first and the last words of another author's source."""

    def __init__(self) -> None:
        self._starts: tuple[list[int], list[int]] = [], []
        self._last: WordArray | None = None

    def check(self, words: WordArray) -> None:
        """Refuse memory or words that the source returned before."""
        # Only while the last array is held can no other one lie where it lay.
        if self._last is not None and np.may_share_memory(self._last, words):
            raise ParameterError(
                "words(n) of a random source must return a new array every time, got memory that it returned before; "
                "return a copy."
            )
        start = words[:_PREFIX].tolist()
        if any(_begin_alike(start, seen) for seen in self._starts):
            raise ParameterError(
                "a random source must never return the same words again, and this one did; keep one generator and go "
                "on with it."
            )
        self._starts, self._last = (self._starts[0] or start, start), words


def _begin_alike(words: list[int], other: list[int]) -> bool:
    shared = min(len(words), len(other))
    return shared > 0 and words[:shared] == other[:shared]


class GuardedRandom:
    """A guard round another author's random source: its words are compared with earlier ones, and copied.

    Args:
        source: what hands out words.
    """

    def __init__(self, source: RandomSource) -> None:
        self.secure = bool(source.secure)
        self._source, self._seen = source, _seen_of(source)

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words.

        Raises:
            ParameterError: if they are no words, or came before.
        """
        words = fresh_words(self._source, n)
        if n:
            self._seen.check(words)
        return words.copy()


_SEEN: WeakKeyDictionary[RandomSource, _Seen] = WeakKeyDictionary()


def _seen_of(source: RandomSource) -> _Seen:
    try:
        return _SEEN.setdefault(source, _Seen())
    except TypeError:
        # It cannot be remembered between calls, only within one.
        return _Seen()


def checked_source(random: RandomSource | None) -> RandomSource:
    """Return a new secure source for None, and another author's source behind a guard.

    Raises:
        ParameterError: if it is no random source, or a class instead of an instance.
    """
    if random is None:
        return SecureRandom()
    if type(random) in {SecureRandom, SeededRandom, KeyedRandom, GuardedRandom}:
        return random
    if isinstance(random, type):
        raise ParameterError(f"random must be an instance, got the class {random.__name__}; call it.")
    secure = getattr(random, "secure", None)
    if not callable(getattr(random, "words", None)) or not isinstance(secure, bool | np.bool_):
        raise ParameterError(
            "random must be a SecureRandom or a SeededRandom, or have a method words(n) and an attribute secure (True "
            f"or False), got {type(random).__name__}."
        )
    return GuardedRandom(random)


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
    drawn = fresh_lanes(n, random, lane) // width
    while n and drawn.max() >= bound:
        again = np.flatnonzero(drawn >= bound)
        drawn[again] = fresh_lanes(len(again), random, lane) // width
    return drawn


def fresh_lanes(n: int, random: RandomSource, lane: Any) -> AnyArray:
    """Return ``(n,)`` fresh words, or parts of words, of an unsigned type; what is left of the last one is not used."""
    parts = _PARTS[np.dtype(lane).itemsize]
    return fresh_words(random, -(-n // (_WORD.itemsize // parts.itemsize))).view(parts)[:n]
