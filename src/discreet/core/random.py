"""Random words, and the random booleans and integers that are drawn from these words.

A source gives 64-bit words of AES-256 in counter mode. A mechanism compares the words with integers, so that every
probability is an exact fraction. The secure source takes its key from the operating system. The seeded source, for
simulation only, runs the same code, and its reports are marked as simulated. Callers may pass their own sources. Every
draw goes through `fresh_words` and every source through `checked_source`, because words of a wrong type would make
devices report the truth.

The decision of a report, its coin, is true with the probability S / 2^64 exactly. A large batch needs fewer random bits
than single reports: a half word, 32 bits, nearly always gives both the decision and the noise. Otherwise more bits are
drawn for the report. The probabilities are exactly as for whole words. With N = 2^64 - S, a word W means truth if W >=
N. With v symbols of noise and the width w = N // (v 2^32), the first half h of a word is one of three kinds:

- h >= N / 2^32: W >= N for every second half, so the report is the truth.
- h < v w: W < N for every second half, so the report is noise. The symbol is h // w, and each symbol has w halves.
- The other halves, at most v + 1 of 2^32: the second half is drawn, and then a new symbol.

So P(truth) = S / 2^64, and all symbols of noise are equally likely. A report that needs more bits takes longer. The
time thus reveals that at most v + 1 in 2^32 reports of a batch are likelier to be noise. Small batches, and devices,
which make one report at a time, use whole words.
"""

import hashlib
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from operator import eq
from typing import Any, NamedTuple, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from discreet.arrays import AnyArray, BoolArray, IntArray, WordArray
from discreet.core.checks import is_flag, is_whole
from discreet.errors import ParameterError

KEY_SIZE = 32
"""Bytes of a key."""

_BLOCK = 16
_ZEROS = memoryview(bytes(1 << 17))


def counter_stream(key: bytes) -> CipherContext:
    """Return an AES-256 encryptor in counter mode, starting at block 0."""
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(_BLOCK))).encryptor()


class Keystream:
    """The stream of bytes that AES-256 in counter mode generates from a key.

    Args:
        key: 32 bytes.
    """

    __slots__ = ("_stream",)

    def __init__(self, key: bytes) -> None:
        self._stream = counter_stream(key)

    def fill(self, target: memoryview) -> None:
        """Fill a writable view of bytes with the next bytes of a keystream."""
        for start in range(0, len(target), len(_ZEROS)):
            part = target[start : start + len(_ZEROS)]
            self._stream.update_into(_ZEROS[: len(part)], part)

    def words(self, n: int) -> WordArray:
        """Return the next ``(n,)`` random words of a keystream."""
        words, target = _empty_words(n)
        self.fill(target)
        return words


WORD_BITS = 64
WORD_RANGE = 1 << WORD_BITS
KEY_CALLS, KEY_BYTES = 1 << 16, 1 << 30
"""Calls, and bytes, after which a secure key is replaced."""

_WORD = np.dtype("<u8")
_PARTS = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
# First words that are compared with earlier ones; one word is equal by chance once in 2^64 times.
_PREFIX = 4


class RandomSource(Protocol):
    """A source of independent 64-bit words, uniform over 0..2^64 - 1."""

    @property
    def secure(self) -> bool:
        """True if nobody can predict the words; False for seeded simulation."""
        ...

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` random words that the source has not returned before."""
        ...


def _empty_words(n: int) -> tuple[WordArray, memoryview]:
    words: WordArray = np.empty(n, dtype=_WORD)
    return words, words.data.cast("B") if n else memoryview(bytearray())


# An entry for each fork. A child may have the process number of its parent (in a namespace, or when numbers are used
# again).
_FORKS: list[None] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _FORKS.append(None))


class SecureRandom:
    """A source of unpredictable words, with keys from the operating system.

    Every thread has a separate stream, and a forked process takes a new key before its first word, so that two
    processes never share noise. A key serves 2^16 calls or 2^30 bytes and is then replaced, so that a later copy of the
    memory reveals no noise but the latest.

    Attributes:
        secure: True; nobody can predict the words.

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
        """Return ``(n,)`` unpredictable random words that were not returned before."""
        words, target = _empty_words(n)
        key: _Key | None = getattr(self._local, "key", None)
        process = os.getpid(), len(_FORKS)
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
    """A secure key in use: its process, and the numbers of calls and bytes left before it is replaced."""

    __slots__ = ("bytes", "calls", "process", "stream")

    def __init__(self, process: tuple[int, int]) -> None:
        self.process, self.calls, self.bytes = process, KEY_CALLS, KEY_BYTES
        self.stream = Keystream(os.urandom(KEY_SIZE))


class SeededRandom:
    """A source of reproducible words for simulations and tests; never for people's reports.

    One thread at a time draws from it: words that threads share would come in another order each time.

    Args:
        seed: any integer; the same seed gives the same words on every machine.

    Attributes:
        secure: False; everybody who knows the seed can predict the words.

    Example:
        >>> import discreet as dc
        >>> (dc.SeededRandom(7).words(3) == dc.SeededRandom(7).words(3)).all(), dc.SeededRandom(7).secure
        (np.True_, False)
    """

    secure = False

    def __init__(self, seed: int) -> None:
        if not is_whole(seed):
            raise ParameterError("seed.not-integer", argument="seed", kind=type(seed).__name__)
        self._stream = Keystream(hashlib.sha256(f"discreet simulation {int(seed)}".encode()).digest())
        self._in_use = threading.Lock()

    def words(self, n: int) -> WordArray:
        """Return the next ``(n,)`` random words that follow from the seed.

        Raises:
            ParameterError: if another thread draws at this moment.
        """
        if not self._in_use.acquire(blocking=False):
            raise ParameterError("random.several-threads")
        try:
            return self._stream.words(n)
        finally:
            self._in_use.release()


class KeyedRandom(Keystream):
    """A source of words that are derived from a key; without the key nobody can predict them.

    Each key serves one report: two reports under one key have the same noise.

    Args:
        key: 32 bytes, secret and uniform; AES-256 in counter mode from zero, as in every source here.

    Raises:
        ParameterError: if the key is not 32 bytes.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.random import KeyedRandom
        >>> bool((KeyedRandom(bytes(32)).words(2) == KeyedRandom(bytes(32)).words(2)).all())
        True
    """

    secure = True

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_SIZE:
            raise ParameterError("key.wrong-size", argument="key", size=KEY_SIZE)
        super().__init__(key)


def fresh_words(random: RandomSource, n: int) -> WordArray:
    """Return ``(n,)`` words of a source after a check of their type and shape; every draw uses this function.

    Raises:
        ParameterError: if the source returns anything else. Narrower, signed or floating numbers would pass for
            words, and devices would report the truth.
    """
    words = random.words(n)
    if type(words) is not np.ndarray or words.dtype != _WORD or words.shape != (n,):
        raise ParameterError("random.not-words", n=n, form=_form(words))
    if not (words.flags.c_contiguous and words.flags.writeable):
        raise ParameterError("random.not-own-memory")
    return words


def _form(words: object) -> str:
    if not isinstance(words, np.ndarray):
        return type(words).__name__
    kind = "" if type(words) is np.ndarray else f" ({type(words).__name__})"
    return f"type {words.dtype} and shape {words.shape}{kind}"


class _EarlierWords:
    """A check that a third-party random source does not repeat its words or reuse its memory."""

    def __init__(self) -> None:
        self._starts: tuple[list[int], list[int]] = [], []
        self._last: WordArray | None = None

    def check(self, words: WordArray) -> None:
        """Raise an error if the source returned the same memory or the same words before."""
        # The last array stays referenced, or a new array could have its address.
        if self._last is not None and np.may_share_memory(self._last, words):
            raise ParameterError("random.same-memory")
        start = words[:_PREFIX].tolist()
        if any(earlier and all(map(eq, start, earlier)) for earlier in self._starts):
            raise ParameterError("random.same-words")
        self._starts, self._last = (self._starts[0] or start, start), words


class GuardedRandom:
    """A wrapper of a third-party random source that compares its words with earlier ones, and copies them.

    Args:
        source: the source of the words.
    """

    def __init__(self, source: RandomSource) -> None:
        self.secure = bool(source.secure)
        self._source, self._earlier = source, _EarlierWords()
        # The words of a source that cannot be a dictionary key are remembered by this guard only.
        with suppress(TypeError):
            self._earlier = _EARLIER.setdefault(source, self._earlier)

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` random words after a check that the source did not return them before.

        Raises:
            ParameterError: if the source returns no words, or the same words as before.
        """
        words = fresh_words(self._source, n)
        if n:
            self._earlier.check(words)
        return words.copy()


_EARLIER: WeakKeyDictionary[RandomSource, _EarlierWords] = WeakKeyDictionary()


def checked_source(random: RandomSource | None) -> RandomSource:
    """Return a random source: a new secure source for None, and a third-party source behind a guard.

    Raises:
        ParameterError: if it is no random source, or a class instead of an instance.
    """
    if random is None:
        return SecureRandom()
    if type(random) in {SecureRandom, SeededRandom, KeyedRandom, GuardedRandom}:
        return random
    if isinstance(random, type):
        raise ParameterError("random.class", argument="random", kind=random.__name__)
    secure = getattr(random, "secure", None)
    if not callable(getattr(random, "words", None)) or not is_flag(secure):
        raise ParameterError("random.wrong-type", argument="random", kind=type(random).__name__)
    return GuardedRandom(random)


def uniform_below(
    bound: int, n: int, random: RandomSource, *, lane: type[np.uint64] | type[np.uint32] = np.uint64
) -> AnyArray:
    """Draw ``n`` integers uniform on 0..bound - 1, exactly.

    Numbers beyond the last multiple of ``bound`` are rejected and drawn again, so there is no bias at all. The
    rejections depend on the random words only, and not on any value of a person.

    Args:
        bound: the number of possible integers, at least 1; at most 2^32 - 1 for 32-bit lanes.
        n: number of integers.
        random: the source of words.
        lane: type of the result, whose bits one number is drawn from; 32 bits use half the words, but suit only a
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
    """Return ``(n,)`` fresh integers of an unsigned type, cut from words; unused bits of the last word are dropped."""
    parts = _PARTS[np.dtype(lane).itemsize]
    return fresh_words(random, -(-n // (_WORD.itemsize // parts.itemsize))).view(parts)[:n]


BATCH = 1 << 12
"""Size of a batch from which on decisions and noise are drawn together."""

_HALF_BITS = WORD_BITS // 2
# Fewer symbols than this fit into half a word.
_FEW = 1 << 16
_NOBODY: IntArray = np.empty(0, dtype=np.int64)


class Coins(NamedTuple):
    """The truth-or-noise decisions of reports, and the noise if it was drawn along with them.

    Attributes:
        truth: ``(n,)`` booleans: true if a report is the truth.
        noise: ``(n,)`` symbols of noise of the block law, without meaning where the report is the truth; None if the
            law draws noise later.
    """

    truth: BoolArray
    noise: AnyArray | None = None

    def take(self, rows: IntArray) -> "Coins":
        """Return the decisions on some reports, with the noise of these reports."""
        return Coins(self.truth.take(rows), None if self.noise is None else self.noise.take(rows))


def bernoulli(n: int, threshold: int, random: RandomSource) -> BoolArray:
    """Draw ``n`` booleans that are true with probability ``threshold / 2^64`` exactly, each from one word.

    Args:
        n: the number of booleans.
        threshold: 0..2^64; at 0 and at 2^64 the result is certain and needs no word.
        random: the words.

    Returns:
        ``(n,)`` booleans.
    """
    if not 0 < threshold < WORD_RANGE:
        return np.full(n, threshold > 0)
    return fresh_words(random, n) < np.uint64(threshold)


def bernoulli32(n: int, threshold: int, random: RandomSource) -> BoolArray:
    """Draw ``n`` booleans that are true with probability ``threshold / 2^64`` exactly, mostly from half a word each.

    A second half is drawn only if the first half equals the high half of the threshold.

    Args:
        n: the number of booleans.
        threshold: 0..2^64.
        random: the words.

    Returns:
        ``(n,)`` booleans.
    """
    if not 0 < threshold < WORD_RANGE:
        return np.full(n, threshold > 0)
    return decided(fresh_lanes(n, random, np.uint32), threshold, random)


def decided(halves: AnyArray, threshold: int, random: RandomSource) -> BoolArray:
    """Return the ``(n,)`` random booleans of `bernoulli32`, from given first halves of words."""
    high, low = divmod(threshold, 1 << _HALF_BITS)
    truth: BoolArray = halves < np.uint32(high)
    tied = np.flatnonzero(halves == np.uint32(high))
    if len(tied):
        truth[tied] = fresh_lanes(len(tied), random, np.uint32) < np.uint32(low)
    return truth


def joint(n: int, threshold: int, symbols: int, random: RandomSource) -> Coins:
    """Draw decisions, true with probability ``threshold / 2^64`` exactly, and uniform noise, from one word each.

    Args:
        n: the number of reports.
        threshold: S, 0..2^64.
        symbols: v, the number of equally likely symbols of noise; at least 1.
        random: the words.

    Returns:
        The decisions and the noise, which is in 0..v - 1 where the report is noise.
    """
    if not 0 < threshold < WORD_RANGE:
        lane = np.uint32 if symbols <= _FEW else np.uint64
        return Coins(bernoulli(n, threshold, random), uniform_below(symbols, n, random, lane=lane))
    shares = WordShares.of(WORD_RANGE - threshold, symbols, _HALF_BITS if symbols <= _FEW else 0)
    words = fresh_lanes(n, random, np.uint32 if symbols <= _FEW else np.uint64)
    truth, noise, undecided = shares.decide(words)
    if len(undecided):
        if shares.rest:
            truth[undecided] = shares.truth_of(words[undecided], fresh_lanes(len(undecided), random, np.uint32))
        noise[undecided] = uniform_below(symbols, len(undecided), random, lane=words.dtype.type)
    return Coins(truth, noise)


@dataclass(frozen=True, slots=True)
class WordShares:
    """Boundaries by which the first part of a random word means a symbol of noise, means the truth, or is undecided.

    Attributes:
        noise: N, the number of words that mean noise, at least 1.
        rest: the number of bits of the second part of a word.
        width: the number of first parts of each symbol.
        end: v times the width; first parts below ``end`` mean noise.
        top: first parts from ``top`` on mean truth.
    """

    noise: int
    rest: int
    width: int
    end: int
    top: int

    @classmethod
    @lru_cache(maxsize=1 << 8)
    def of(cls, noise: int, symbols: int, rest: int) -> Self:
        """Return the boundaries for N words of noise among v symbols; the words' second parts have ``rest`` bits."""
        width = noise // (symbols << rest)
        return cls(noise, rest, width, symbols * width, -(-noise >> rest))

    def decide(self, words: AnyArray) -> tuple[BoolArray, AnyArray, IntArray]:
        """Return decisions and noise from the first parts of words, and the rows that also need a second part."""
        lane = words.dtype.type
        noise = words // lane(max(self.width, 1))
        truth: BoolArray = words > lane(self.top - 1)
        beyond, gap = words - lane(self.end), lane(self.top - self.end)
        # Almost no batch has such words, and a minimum is faster than a search.
        within = np.flatnonzero(beyond < gap) if np.minimum.reduce(beyond, initial=gap) < gap else _NOBODY
        return truth, noise, within

    def truth_of(self, words: AnyArray, rest: AnyArray) -> BoolArray:
        """Return the truth-or-noise decisions of whole words, each composed of a first part and a second part."""
        return (words.astype(np.uint64) << np.uint64(self.rest) | rest) >= np.uint64(self.noise)


def rare_bits(words: AnyArray, threshold: int) -> AnyArray:
    """Return words with bits that are true with probability ``threshold / 2^depth`` exactly, from ``depth`` words each.

    Args:
        words: ``(depth, ...)`` words, which are overwritten. The bits at one position of the ``depth`` words are the
            digits of one integer; all integers are compared with the threshold at once, from the last digit on.
        threshold: an odd integer below 2^depth.
    """
    below: AnyArray = words[0]
    for digit in range(1, len(words)):
        step = np.bitwise_or if threshold >> digit & 1 else np.bitwise_and
        step(below, words[digit], out=below)
    return below


def or_noise(ranks: AnyArray, truth: BoolArray) -> IntArray:
    """Return the rank of the true value for truthful reports, and -1 for reports that are noise.

    There is no branch, because its running time would reveal the decision.
    """
    members: IntArray = np.bitwise_or(ranks, truth.view(np.int8) - np.int8(1), dtype=np.int64)
    return members


def chosen(truthful: BoolArray, values: AnyArray, noise: AnyArray, out: AnyArray) -> None:
    """Write the true values into truthful reports, and noise into all other reports.

    There is no branch, because its running time would reveal the decision.

    Args:
        truthful: ``(n,)`` booleans.
        values: ``(n,)`` integers of any type, without meaning where the report is noise.
        noise: ``(n,)`` integers.
        out: ``(n,)`` unsigned integers, in whose type the choice is made.
    """
    np.copyto(out, noise, casting="unsafe")
    away = values.astype(out.dtype)
    away -= out
    # Products take the same time whatever the factors are.
    away *= truthful.astype(out.dtype)
    out += away
