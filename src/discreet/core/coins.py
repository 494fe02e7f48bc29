"""Coins that are true with a probability S / 2^64 exactly, and coins together with uniform noise from the same words.

A batch takes fewer random bits than one report after the other. A half word, 32 bits, nearly always decides the coin,
and the noise too; where it cannot, more bits are drawn for that report alone. The probabilities are exactly those of
whole words: with N = 2^64 - S, a word W tells the truth if W >= N, and

- of half words h, all with h >= N / 2^32 have W >= N whatever their other half is. With the width w = N // (v 2^32),
  those with h < v w have W < N, and h // w is one of v symbols, each of w half words;
- the others, v + 1 of 2^32 at most, draw their other half, and then the symbol anew.

So P(truth) = S / 2^64, and every symbol has the same share of the noise. The way of a report that needs more bits takes
longer, which tells of at most v + 1 in 2^32 reports of a batch that they are likelier to be noise. Devices, with one
report at a time, and small batches use whole words.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.random import WORD_BITS, WORD_RANGE, RandomSource, fresh_lanes, fresh_words, uniform_below

BATCH = 1 << 12
"""Reports from which on coins and noise are drawn together."""

_HALF_BITS = WORD_BITS // 2
# So few symbols have room enough in half a word.
_FEW = 1 << 16
_NOBODY: IntArray = np.empty(0, dtype=np.int64)


class Coins(NamedTuple):
    """The coins of reports, and the noise that was drawn along with them.

    Attributes:
        truth: ``(n,)`` booleans: whether a report tells the truth.
        noise: ``(n,)`` symbols of noise as the law of blocks draws them, of no meaning where the truth is told; None if
            the law draws it later.
    """

    truth: BoolArray
    noise: AnyArray | None = None

    def take(self, rows: IntArray) -> "Coins":
        """Return the coins of some reports, with their noise."""
        return Coins(self.truth.take(rows), None if self.noise is None else self.noise.take(rows))


def toss(n: int, threshold: int, random: RandomSource) -> BoolArray:
    """Draw ``n`` coins that are True with probability ``threshold / 2^64`` exactly, from a word each.

    Args:
        n: the number of coins.
        threshold: 0..2^64; the coin is certain, and takes no word, at either end.
        random: the words.

    Returns:
        ``(n,)`` booleans.
    """
    if not 0 < threshold < WORD_RANGE:
        return np.full(n, threshold > 0)
    return fresh_words(random, n) < np.uint64(threshold)


def half_toss(n: int, threshold: int, random: RandomSource) -> BoolArray:
    """Draw coins as `toss` does, from half a word each, and another half where the first equals that of the threshold.

    Args:
        n: the number of coins.
        threshold: 0..2^64.
        random: the words.

    Returns:
        ``(n,)`` booleans.
    """
    if not 0 < threshold < WORD_RANGE:
        return np.full(n, threshold > 0)
    return decided(fresh_lanes(n, random, np.uint32), threshold, random)


def decided(halves: AnyArray, threshold: int, random: RandomSource) -> BoolArray:
    """Return the ``(n,)`` coins of the high halves of words; see `half_toss`, but for thresholds 0 and 2^64."""
    high, low = divmod(threshold, 1 << _HALF_BITS)
    truth: BoolArray = halves < np.uint32(high)
    tied = np.flatnonzero(halves == np.uint32(high))
    if len(tied):
        truth[tied] = fresh_lanes(len(tied), random, np.uint32) < np.uint32(low)
    return truth


def joint(n: int, threshold: int, symbols: int, random: RandomSource) -> Coins:
    """Draw coins that are True with probability ``threshold / 2^64`` exactly, and uniform noise, from the same words.

    Args:
        n: the number of reports.
        threshold: S, 0..2^64.
        symbols: v, the number of equally likely symbols of noise; at least 1.
        random: the words.

    Returns:
        The coins and the noise, 0..v - 1 wherever the truth is not told.
    """
    if not 0 < threshold < WORD_RANGE:
        lane = np.uint32 if symbols <= _FEW else np.uint64
        return Coins(toss(n, threshold, random), uniform_below(symbols, n, random, lane=lane))
    shares = WordShares.of(WORD_RANGE - threshold, symbols, _HALF_BITS if symbols <= _FEW else 0)
    words = fresh_lanes(n, random, np.uint32 if symbols <= _FEW else np.uint64)
    truth, noise, undecided = shares.decide(words)
    if len(undecided):
        if shares.rest:
            truth[undecided] = shares.told(words[undecided], fresh_lanes(len(undecided), random, np.uint32))
        noise[undecided] = uniform_below(symbols, len(undecided), random, lane=words.dtype.type)
    return Coins(truth, noise)


@dataclass(frozen=True, slots=True)
class WordShares:
    """The shares of the first parts of words: of each symbol of noise, of the truth, and of those that do not decide.

    Attributes:
        noise: N, the words that tell noise, at least 1.
        rest: the bits of the second part of a word.
        width: first parts for each symbol; parts below ``end`` are noise.
        end: v times the width.
        top: parts from here on are truth.
    """

    noise: int
    rest: int
    width: int
    end: int
    top: int

    @classmethod
    @lru_cache(maxsize=1 << 8)
    def of(cls, noise: int, symbols: int, rest: int) -> Self:
        """Return the shares of N words of noise and v symbols, where a word's second part has ``rest`` bits."""
        width = noise // (symbols << rest)
        return cls(noise, rest, width, symbols * width, -(-noise >> rest))

    def decide(self, words: AnyArray) -> tuple[BoolArray, AnyArray, IntArray]:
        """Return the coins and the symbols by the first parts of words, and the rows that need the second."""
        lane = words.dtype.type
        noise = words // lane(max(self.width, 1))
        truth: BoolArray = words > lane(self.top - 1)
        beyond, gap = words - lane(self.end), lane(self.top - self.end)
        # Next to no batch has such words, and the least number is found faster than they are.
        within = np.flatnonzero(beyond < gap) if np.minimum.reduce(beyond, initial=gap) < gap else _NOBODY
        return truth, noise, within

    def told(self, words: AnyArray, rest: AnyArray) -> BoolArray:
        """Return the coins of whole words, from their first parts and as many second parts."""
        told: BoolArray = (words.astype(np.uint64) << np.uint64(self.rest) | rest) >= np.uint64(self.noise)
        return told


def rare_bits(words: AnyArray, threshold: int) -> AnyArray:
    """Return lanes of bits, each True with probability ``threshold / 2^depth`` exactly, from ``depth`` words.

    Args:
        words: ``(depth, ...)`` words: a bit of a lane has the digits of its integer in this bit of the words, which are
            compared from the last digit to the first, all at once. Overwritten.
        threshold: an odd integer below 2^depth.
    """
    below: AnyArray = words[0]
    for digit in range(1, len(words)):
        step = np.bitwise_or if threshold >> digit & 1 else np.bitwise_and
        step(below, words[digit], out=below)
    return below


def or_noise(ranks: AnyArray, truth: BoolArray) -> IntArray:
    """Return the ranks that are told, and -1 for the others; without a branch, whose time would reveal the coin."""
    members: IntArray = np.bitwise_or(ranks, truth.view(np.int8) - np.int8(1), dtype=np.int64)
    return members


def chosen(told: BoolArray, values: AnyArray, noise: AnyArray, out: AnyArray) -> None:
    """Write the values where they are told, and noise elsewhere, without a branch, whose time would tell which.

    Args:
        told: ``(n,)`` booleans.
        values: ``(n,)`` integers of any type; of no meaning where they are not told.
        noise: ``(n,)`` integers.
        out: ``(n,)`` unsigned integers, in whose type the choice is made.
    """
    np.copyto(out, noise, casting="unsafe")
    away = values.astype(out.dtype)
    away -= out
    # Products take the same time whatever the factors are.
    away *= told.astype(out.dtype)
    out += away
