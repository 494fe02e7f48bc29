"""Uniform subsets in batches: noise bits, repaired until they are k.

Of v values one is wanted: a member that the block must contain, or for noise a uniform one. With a uniform subset of
k - 1 of the v - 1 others it makes a uniform k-subset among those that contain it, and for noise a uniform one of all.
The others are drawn with about a tenth of the random numbers that one member after the other would take:

1. each of them is in with a probability near (k - 1)/(v - 1) that has few binary digits;
2. while there are too few, a uniformly drawn place that is not in yet is put in; while there are too many, one that is
   in is taken out. Places are drawn among all, and those that change nothing are skipped.

Given how many there are, noise bits are a uniform subset of that size, and a uniform addition or removal keeps it
uniform; so the result is uniform for every probability, exactly. It is also independent of the number of bits at first
and of the number of places drawn and skipped, which are all that the time of the repair depends on: time says nothing
about the report, and the wanted value joins only then, by the same steps for members and noise.

The least batch has 4,096 reports. Devices, which make one, draw them one member after the other (`subsets.py`), in a
time that depends on nothing but v, k and rejected words.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from discreet.arrays import AnyArray, IntArray, WordArray
from discreet.core.coins import rare_bits
from discreet.core.random import RandomSource, fresh_words, uniform_below

_WORD = 64
# Marks of the rows drawn together, a byte each, stay in the cache.
_PIECE_BYTES = 1 << 20
_MOST_DIGITS = 10
# A drawn place takes about as long as so many random words of noise bits.
_WORDS_PER_PLACE = 3
# Places that are drawn at once: a byte numbers them.
_MOST_PLACES = 128


@dataclass(frozen=True, slots=True)
class NoiseBits:
    """Noise bits near a subset of ``count`` of ``size`` places, at most half of them.

    Attributes:
        threshold: the bits are set with probability ``threshold / 2^depth``; 0 for none.
        depth: random digits for each bit.
        places: the number of places that are drawn at once to repair them: enough for most.
    """

    threshold: int
    depth: int
    places: int


@lru_cache(maxsize=1 << 8)
def noise_bits(size: int, count: int) -> NoiseBits:
    """Return the noise bits that cost least, repair included.

    Every operation is exact or rounded as IEEE 754 says, so that seeds give the same reports on every machine.

    Args:
        size: the number of places.
        count: at most half of them.
    """
    best, least = NoiseBits(0, 0, 1), float("inf")
    if count == 0:
        return best
    for depth in range(_MOST_DIGITS + 1):
        near = (count << depth) // size
        for threshold in (near, near + 1):
            if (threshold % 2 == 0 and depth) or threshold >> depth:
                continue
            places = _expected_places(size, count, threshold / 2**depth)
            cost = depth * (size / _WORD) + _WORDS_PER_PLACE * places
            if cost < least:
                best, least = NoiseBits(threshold, depth, min(ceil(1.25 * places) + 1, _MOST_PLACES)), cost
    return best


def _expected_places(size: int, count: int, probability: float) -> float:
    """Return about how many places are drawn: the root mean square of changes, times the places for one of them."""
    mean = size * probability
    changes = sqrt((count - mean) ** 2 + mean * (1 - probability))
    return changes * (size / (size - count) if mean <= count else size / count)


def draw_batch(size: int, members: IntArray, random: RandomSource, out: AnyArray) -> None:
    """Draw uniform subsets of 0..size - 1 that contain the given members.

    Args:
        size: v, at least 2 and below 2^32.
        members: ``(n,)`` values that the subsets must contain; -1 for none.
        random: the source of random words.
        out: ``(n, k)`` array to be filled, each row ascending.
    """
    from discreet.kernels.blocks.bitmaps import list_members

    step = max(_PIECE_BYTES // (_WORD * -(-size // _WORD)), 1)
    for start in range(0, len(members), step):
        piece, rows = members[start : start + step], out[start : start + step]
        anyone = uniform_below(size, len(piece), random, lane=np.uint32).astype(np.int64)
        wanted = ((piece ^ anyone) & ~(piece >> 63)) ^ anyone
        marks = _uniform_marks(size, rows.shape[1] - 1, len(piece), random)
        _put(wanted, size - 1, marks)
        list_members(marks, rows)


def _uniform_marks(size: int, count: int, n: int, random: RandomSource) -> WordArray:
    """Draw uniform subsets of ``count`` of the first size - 1 places: ``(n, ceil(size/64))`` words of marks."""
    from discreet.kernels.blocks.bitmaps import repair

    others = size - 1
    fewer = min(count, others - count)
    noise = noise_bits(others, fewer)
    marks = _drawn_bits(noise, size, n, random)
    missing = fewer - np.bitwise_count(marks).sum(axis=1, dtype=np.int64)
    rows = np.flatnonzero(missing)
    while len(rows):
        places = uniform_below(others, len(rows) * noise.places, random, lane=np.uint32).reshape(len(rows), -1)
        repaired = marks[rows]
        left = repair(repaired, places, missing[rows])
        marks[rows], missing[rows] = repaired, left
        rows = rows[left != 0]
    # A subset of more than half is what one of less than half leaves.
    return marks if fewer == count else marks ^ _all_places(others, marks.shape[1])


def _drawn_bits(noise: NoiseBits, size: int, n: int, random: RandomSource) -> WordArray:
    """Draw noise bits in the first size - 1 places."""
    lanes = -(-size // _WORD)
    if noise.depth == 0:
        return np.zeros((n, lanes), dtype=np.uint64)
    words = fresh_words(random, noise.depth * n * lanes).reshape(noise.depth, n, lanes)
    below: WordArray = rare_bits(words, noise.threshold)
    below &= _all_places(size - 1, lanes)
    return below


def _all_places(size: int, lanes: int) -> WordArray:
    """Return ``(lanes,)`` words with the first ``size`` bits set."""
    bits = np.zeros(_WORD * lanes, dtype=np.uint8)
    bits[:size] = 1
    words: WordArray = np.packbits(bits, bitorder="little").view("<u8")
    return words


def _put(wanted: IntArray, last: int, marks: WordArray) -> None:
    """Put the wanted values in: the last place stands for the one that a wanted value took, if another has it."""
    rows, lane, bit = np.arange(len(wanted)), wanted >> 6, (wanted & 63).astype(np.uint64)
    held = marks[rows, lane]
    marks[:, last >> 6] |= (held >> bit & np.uint64(1)) << np.uint64(last & 63)
    marks[rows, lane] |= np.uint64(1) << bit
