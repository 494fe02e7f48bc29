"""Vectors of samplers: records from words that are chosen to hurt, for every block law.

A file has a line with a sampler and the epsilon that it realises, then lines with a code, exactly the words that one
report consumes, and the record. Where words would be too many, they are those of `SeededRandom(seed)`, and in the place
of the record is its SHA-256.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet.arrays import WordArray
from discreet.core.random import WORD_RANGE, SeededRandom
from discreet.device.protocol.sampler import Sampler
from discreet.mechanisms import description_of
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.law import truth_threshold
from discreet.mechanisms.laws.bits import IndependentBits
from discreet.mechanisms.laws.hadamard import HadamardColumns
from discreet.mechanisms.laws.hashing import HashBuckets
from discreet.mechanisms.laws.projective import ProjectiveBlocks
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import MixedSubsets, Subsets
from discreet.mechanisms.laws.translates import SetTranslates
from discreet.mechanisms.laws.windows import WindowBlocks

# Where bytes, words and types end.
SMALL = (1, 2, 7, 8, 9, 64, 65, 255, 256, 257)
LARGE = (65_536, 65_537)
TOTALS = {1: 256, 2: 5, 3: 6, 7: 257, 8: 11, 9: 65_536, 64: 67, 65: 65_537}
"""The number of codes for some v; for others all codes are sensitive."""
VECTORS = 200
"""At least so many per law."""


def _bits(v: int) -> BlockLaw:
    depth = {1: 1, 2: 60, 7: 60, 8: 12}.get(v, 3 if v in SMALL else 2 + v % 30)
    return IndependentBits(v, (0xD9E3779B97F4A7B5 * v) % (1 << depth) | 1, depth)


def _translates(v: int) -> BlockLaw:
    # Any set will do for a device: a single element, all but one of few, and others.
    modulus = max(v + v % 3, 2)
    several = {0} | {7 * place * place % modulus for place in range(v % 50)}
    base = range(1, modulus) if v in (8, 64) else sorted(several)[: modulus - 1]
    return SetTranslates(v, modulus, tuple(base))


def _windows(v: int) -> BlockLaw:
    starts = {0, *range(3, v, max(v // 3, 2))} if v % 2 else {0}
    return WindowBlocks(v, min(1 + v % 60, max(v - 1, 1)), tuple(sorted(starts)))


def _projective(v: int) -> BlockLaw:
    # Primes and powers of two, small and large; planes, lines and spaces of up to 2^26 points.
    chosen = {9: (65_521, 2), 64: (401, 4), 65: (128, 4), 255: (2, 26), 65_536: (5, 10), 65_537: (64, 5)}
    q = (2, 3, 4, 7, 8, 16, 32, 64, 127, 128)[v % 10]
    q, t = chosen.get(v) or (q, next(t for t in range(2, 27) if (q**t - 1) // (q - 1) >= v))
    return ProjectiveBlocks(v, q, t)


LAWS: dict[str, tuple[Callable[[int], BlockLaw], tuple[int, ...]]] = {
    "singletons": (Singletons, (*SMALL, *LARGE)),
    "bits": (_bits, SMALL),
    "subsets": (lambda v: Subsets(v, min(max(v - 1, 1), 5)), (*SMALL, *LARGE)),
    "mixed subsets": (
        lambda v: MixedSubsets(v, min(v - 1, 3), 1 if v == 2 else WORD_RANGE // 3),
        (2, 3, 7, 8, 9, 64, 65, 254, 255, 256, 65_535, 65_536),
    ),
    "hashing": (lambda v: HashBuckets(v, 2 + v % 5), (*SMALL, 65_521, 65_522, *LARGE)),
    "hadamard": (HadamardColumns, (*SMALL, 127, 128, 65_535, *LARGE)),
    "translates": (_translates, (*SMALL, *LARGE)),
    "projective": (_projective, (*SMALL, 3, 4, 5, 6, *LARGE)),
    "windows": (_windows, (*SMALL, *LARGE)),
}
"""Of every kind of block law: a law by v, and the v that have vectors. A new law joins here."""

# Whose noise is drawn in several pieces.
SEEDED = (IndependentBits(140_001, 0xABCDEF123456789, 60), IndependentBits(1_200_001, 77, 7))


class _Recorded:
    """A source of chosen words, and of seeded ones where none are left; it keeps those that were taken."""

    secure = False

    def __init__(self, chosen: list[int], seed: int) -> None:
        self._chosen, self._more = chosen, SeededRandom(seed)
        self.taken: list[int] = []

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` words."""
        now, self._chosen = self._chosen[:n], self._chosen[n:]
        words = np.array([*now, *self._more.words(n - len(now)).tolist()], dtype=np.uint64)
        self.taken += words.tolist()
        return words


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the lines of every file, by the file's name."""
    return {f"sampler-{kind.replace(' ', '-')}.jsonl": list(_of_law(kind)) for kind in LAWS}


def fresh(kind: str, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of about ``count`` vectors of a law over any number of values, which are not kept."""
    some, each = np.random.default_rng(seed), 100
    for place in range(-(-count // each)):
        wide = some.random() < 0.1
        v = int(some.integers(2, 5000 if wide else 400))
        sampler = _sampler(LAWS[kind][0](v), place, size=v + int(some.integers(0, 3)) * int(some.integers(1, 300)))
        yield {"sampler": sampler.document(), "realised": sampler.realised}
        yield from _hostile(sampler, each, some)


def _of_law(kind: str) -> Iterator[dict[str, Any]]:
    make, sizes = LAWS[kind]
    some = np.random.default_rng(20_261_122)
    for place, v in enumerate(sizes):
        sampler = _sampler(make(v), place)
        yield {"sampler": sampler.document(), "realised": sampler.realised}
        yield from _hostile(sampler, -(-VECTORS // len(sizes)), some)
    if kind == "bits":
        for law in SEEDED:
            sampler = _sampler(law, 1)
            yield {"sampler": sampler.document(), "realised": sampler.realised}
            yield from _seeded(sampler)


def _seeded(sampler: Sampler) -> Iterator[dict[str, Any]]:
    for code in (0, 70_000):
        record = sampler.record(code, SeededRandom(7))
        yield {"code": code, "seed": 7, "sha256": hashlib.sha256(record).hexdigest()}


def _sampler(law: BlockLaw, place: int, *, size: int | None = None) -> Sampler:
    """Return a sampler with values in clear, in one range or two (as with bots, at the end), or without any."""
    v = law.size
    first, size = v // 2, TOTALS.get(v, v) if size is None else size
    # Where all is sensitive, no place for a value in clear hides how wide a block is.
    ranges = ((1, 1 + first), (size - v + first, size)) if first and size > v + 1 else ((0, v),)
    truth = [truth_threshold(1.0, law.inclusion), 1 << 63, WORD_RANGE - 1, 1][place % 4]
    independent = not isinstance(law, SetTranslates) and law.inclusion == law.conditional_inclusion
    return Sampler(size, ranges, truth, independent and v % 56 in (8, 9), description_of(law))


def _hostile(sampler: Sampler, count: int, some: np.random.Generator) -> Iterator[dict[str, Any]]:
    coins = (sampler.truth - 1, sampler.truth, 0, WORD_RANGE - 1)
    edges = sorted(_edges(sampler))
    codes = [start for start, _ in sampler.sensitive] + [stop - 1 for _, stop in sampler.sensitive]
    codes += [stop for _, stop in sampler.sensitive if stop < sampler.size]
    codes += [0, sampler.size - 1, *(int(code) for code in some.integers(0, sampler.size, 4))]
    for number in range(count):
        # The coin falls either way; behind it edges, runs of one edge, and words like any other.
        chosen = [coins[number % 4], *(edges[place] for place in some.integers(0, len(edges), 12))]
        if number % 6 == 4:
            chosen = chosen[:1]
        if number % 6 == 5:
            chosen[1:] = [WORD_RANGE - 1] * 5
        code = codes[number % len(codes)]
        source = _Recorded(chosen, seed=number)
        record = sampler.record(code, source)
        yield {"code": code, "words": np.array(source.taken, dtype="<u8").tobytes().hex(), "record": record.hex()}


def _edges(sampler: Sampler) -> set[int]:
    """Return the words at which a comparison or a division by one of the sampler's integers changes its result."""
    words = {0, WORD_RANGE - 1, sampler.truth - 1, sampler.truth}
    for part in sampler.law.values():
        for number in _integers(part)[:8]:
            words |= {number - 1, number}
            for bound in {number - 1, number, number + 1}:
                for bits in (32, 64):
                    words |= _edges_of(bound, bits)
    return {word for word in words if 0 <= word < WORD_RANGE}


def _edges_of(bound: int, bits: int) -> set[int]:
    if not 1 < bound < 1 << bits:
        return set()
    width = (1 << bits) // bound
    low = {width - 1, width, bound // 2 * width, bound * width - 1, bound * width}
    # Half a word is the low one; above it lies anything.
    return low if bits == 64 else {word % (1 << 32) + (0x9E3779B9 << 32) for word in low}


def _integers(part: Any) -> list[int]:
    if isinstance(part, list):
        return [number for one in part for number in _integers(one)]
    if isinstance(part, str):
        return [int(part)] if part.isdecimal() else []
    return [part]
