"""Uniform subsets: subset selection, the utility-optimized block design uBD(k), and the optimal design of two sizes.

A block is a uniform subset of k of the v sensitive values, so

    pi = k/v,  rho = (k - 1)/(v - 1),  s = k (e^eps - 1) / (v + k (e^eps - 1)),

which is subset selection when every value is sensitive [Ye and Barg 2018] and uBD(k) otherwise [Park, Nam, Lee]. Of all
ULDP mechanisms, the one with the smallest error has one size k, or two neighbouring sizes k and k + 1. With two sizes,
a block of noise has the larger size with probability lambda = ``larger / 2^64``, and

    pi = ((1 - lambda) k + lambda (k + 1)) / v,
    rho = ((1 - lambda) k (k - 1) + lambda (k + 1) k) / (pi v (v - 1)).

The size of a block that must contain a member is drawn from Lambda given that member. The larger size is then likelier,
by (k + 1)/k. It is drawn by rejection, exactly, with other random words than the decision on truth or noise.

Subsets of batches need about a tenth of the random words that drawing one member after the other would need. One value
is chosen first: the required member, or for noise a uniform value. Together with a uniform subset of k - 1 of the v - 1
other values it is a uniform k-subset: among all that contain the member, or for noise among all. The other values are
drawn in two steps:

1. Each value is marked with a probability near (k - 1)/(v - 1) that has few binary digits.
2. While there are too few marks, a uniformly drawn place without a mark gets one; while there are too many, a marked
   place loses its mark. Places are drawn among all places, and a draw that changes nothing is skipped.

Given their number, the marks of step 1 are a uniform subset of that size. A uniform addition or removal preserves
uniformity, so the result is exactly uniform for every probability. The result is also independent of the number of
marks in step 1 and of the number of places that are drawn and skipped. Only these numbers determine the time of step 2,
so the time reveals nothing about the report. The first value is added only then, by the same steps for members and
noise. The smallest batch has 4,096 reports. A device makes one report and draws one member after the other, in a time
that depends only on v, k and rejected words.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import ceil, comb, expm1, sqrt
from typing import ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray, WordArray, read_only
from discreet.core.checks import checked_whole
from discreet.core.random import BATCH, WORD_RANGE, RandomSource, bernoulli, fresh_words, rare_bits, uniform_below
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.errors import ParameterError
from discreet.kernels import counting
from discreet.mechanisms.block_law import BlockLaw, SizeCounts, ValueCounts, uniform
from discreet.mechanisms.decoders import BlockDecoder
from discreet.mechanisms.evidence import MemberLists
from discreet.mechanisms.law import BlockMechanism, minimax_law, sensitive_size
from discreet.theory.binomial import joint_share
from discreet.theory.design import Design
from discreet.theory.optimum import optimal_design

_WORD = 64
# The marks of the rows drawn together, a byte each, fit into the cache.
_PIECE_BYTES = 1 << 20
_MOST_DIGITS = 10
# Drawing a place takes about as long as this number of random words for noise bits.
_WORDS_PER_PLACE = 3
# The most places drawn at once: their number fits into a byte.
_MOST_PLACES = 128
# The most entries in a table of all subsets, so that it fits into the cache.
_MOST_LISTED = 1 << 18


@dataclass(frozen=True, slots=True)
class NoiseBits:
    """Parameters of random bits that approximate a uniform subset.

    The subset has ``count`` of ``size`` places, at most half of them.

    Attributes:
        threshold: each bit is set with probability ``threshold / 2^depth``; 0 for no bits.
        depth: random digits for each bit.
        places: the number of places drawn at once for the repair, which is enough for most rows.
    """

    threshold: int
    depth: int
    places: int


@lru_cache(maxsize=1 << 8)
def noise_bits(size: int, count: int) -> NoiseBits:
    """Return the parameters of random bits with the lowest cost, including the repair to the right number of bits.

    Every operation is exact or rounded as in IEEE 754, so that seeds give the same reports on every machine.

    Args:
        size: the number of places.
        count: the size of the subset, at most half of the places.
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
    """Return the expected number of places to draw until a subset of random bits has ``count`` members.

    It is the root mean square of changes, times the places for one change.
    """
    mean = size * probability
    changes = sqrt((count - mean) ** 2 + mean * (1 - probability))
    return changes * (size / (size - count) if mean <= count else size / count)


@lru_cache(maxsize=64)
def every_subset(size: int, count: int) -> AnyArray | None:
    """Return all subsets of ``count`` members, first all subsets that contain 0, then all that contain 1, and so on.

    The result is None if there are too many.

    Returns:
        ``(size * C(size - 1, count - 1), count)`` members, each row ascending.
    """
    if count * size * comb(size - 1, count - 1) > _MOST_LISTED:
        return None
    others = np.array([*combinations(range(size - 1), count - 1)], np.int64)
    rows = [np.insert(others + (others >= value), 0, value, axis=1) for value in range(size)]
    return read_only(np.sort(np.concatenate(rows), axis=1).astype(smallest_unsigned(size)))


def draw_batch(size: int, members: IntArray, random: RandomSource, out: AnyArray) -> None:
    """Draw uniform subsets of 0..size - 1 that contain the given members.

    Args:
        size: v, at least 2 and below 2^32.
        members: ``(n,)`` values that the subsets must contain; -1 for none.
        random: the source of random words.
        out: ``(n, k)`` array to be filled, each row ascending.
    """
    step, listed = max(_PIECE_BYTES // (_WORD * -(-size // _WORD)), 1), every_subset(size, out.shape[1])
    for start in range(0, len(members), step):
        piece, rows = members[start : start + step], out[start : start + step]
        anyone = uniform_below(size, len(piece), random, lane=np.uint32).astype(np.int64)
        wanted = ((piece ^ anyone) & ~(piece >> 63)) ^ anyone
        if listed is not None:
            rank = uniform_below(len(listed) // size, len(piece), random, lane=np.uint32)
            rows[...] = listed.take(wanted * (len(listed) // size) + rank, axis=0)
            continue
        marks = _uniform_marks(size, rows.shape[1] - 1, len(piece), random)
        put_member(wanted, size - 1, marks)
        counting.list_members(marks, rows)


def _uniform_marks(size: int, count: int, n: int, random: RandomSource) -> WordArray:
    """Draw uniform subsets of ``count`` of the first size - 1 places, as ``(n, ceil(size/64))`` words of bits."""
    others = size - 1
    fewer = min(count, others - count)
    noise = noise_bits(others, fewer)
    marks = _drawn_bits(noise, size, n, random)
    missing = fewer - np.bitwise_count(marks).sum(axis=1, dtype=np.int64)
    rows = np.flatnonzero(missing)
    while len(rows):
        places = uniform_below(others, len(rows) * noise.places, random, lane=np.uint32).reshape(len(rows), -1)
        repaired = marks[rows]
        left = counting.repair(repaired, places, missing[rows])
        marks[rows], missing[rows] = repaired, left
        rows = rows[left != 0]
    # A subset of more than half of the places is the complement of a smaller subset.
    return marks if fewer == count else marks ^ _all_places(others, marks.shape[1])


def _drawn_bits(noise: NoiseBits, size: int, n: int, random: RandomSource) -> WordArray:
    """Draw random bits for the first size - 1 places of each row."""
    lanes = -(-size // _WORD)
    if noise.depth == 0:
        return np.zeros((n, lanes), dtype=np.uint64)
    words = fresh_words(random, noise.depth * n * lanes).reshape(noise.depth, n, lanes)
    below: WordArray = rare_bits(words, noise.threshold)
    below &= _all_places(size - 1, lanes)
    return below


def _all_places(size: int, lanes: int) -> WordArray:
    """Return ``(lanes,)`` words whose first ``size`` bits are 1, and whose other bits are 0."""
    bits = np.zeros(_WORD * lanes, dtype=np.uint8)
    bits[:size] = 1
    return np.packbits(bits, bitorder="little").view("<u8")


def put_member(wanted: IntArray, last: int, marks: WordArray) -> None:
    """Add the ``wanted`` value to each subset; if it is a member already, the last place is added instead."""
    rows, lane, bit = np.arange(len(wanted)), wanted >> 6, (wanted & 63).astype(np.uint64)
    held = marks[rows, lane]
    marks[:, last >> 6] |= (held >> bit & np.uint64(1)) << np.uint64(last & 63)
    marks[rows, lane] |= np.uint64(1) << bit


# Rows drawn together: their marks fit into the cache, but there are enough rows to justify a call.
_COUNTED_BYTES = 1 << 19
_LEAST = 256
_MOST_BYTES = 1 << 26


class MembersLaw(BlockLaw):
    """A block law whose blocks are ascending lists of members; the number v at the end fills up a shorter list."""

    __slots__ = ()

    def membership(self, blocks: Blocks) -> MemberLists:
        """Return the membership matrix of the member lists; an entry v is no member."""
        return MemberLists(blocks["members"], self.size)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the block lists the value as a member."""
        contained = np.zeros((len(blocks["members"]), self.size + 1), dtype=np.bool_)
        np.put_along_axis(contained, blocks["members"].astype(np.int64), True, axis=1)
        return contained[:, : self.size]

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a list that is not in ascending order."""
        listed = blocks["members"]
        flawed: BoolArray = np.any(listed[:, 1:] <= listed[:, :-1], axis=1)
        return flawed


@dataclass(frozen=True, slots=True)
class Subsets(MembersLaw):
    """Blocks that are uniform k-subsets of the sensitive values.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        count: k, in 1..v - 1 (1 if v = 1).
    """

    kind = "subsets"
    blocks_alike: ClassVar[bool] = True

    size: int
    count: int

    def __post_init__(self) -> None:
        """Raise an error if the number of values, or the size k of a block, is out of range.

        Raises:
            ParameterError: if k is not in 1..v - 1.
        """
        checked_whole("size", self.size)
        checked_whole("k", self.count)
        if not 1 <= self.count <= max(self.size - 1, 1):
            raise ParameterError("k.out-of-range", argument="k", max=max(self.size - 1, 1), count=self.count)

    @property
    def inclusion(self) -> Fraction:
        """Return pi = k/v, the probability that a noise block contains a given value."""
        return Fraction(self.count, self.size)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = (k - 1)/(v - 1), the probability that a block of one value contains a second value."""
        return Fraction(self.count - 1, max(self.size - 1, 1))

    def joint_inclusion(self, count: int) -> Fraction:
        """Return the probability that ``count`` given values are all in a noise block.

        It is k (k - 1) ... / v (v - 1) ..., with ``count`` factors each.
        """
        return joint_share(self.size, self.count, count)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the format of the only column of a block: the k members in ascending order."""
        return (Column("members", smallest_unsigned(self.size), width=self.count, bound=self.size),)

    @property
    def alphabet_size(self) -> int:
        """Return v choose k, the number of subsets of k of v values."""
        return comb(self.size, self.count)

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw uniform k-subsets that contain the required members into ``out``.

        In a uniform k-subset, a required member that is missing replaces a uniform member. The result is uniform among
        the k-subsets with that member. Members are in ascending order, so that no place reveals the required one.
        """
        draw_subsets(self.size, members, random, out["members"])

    @property
    def counts(self) -> ValueCounts:
        """The counts that a tally stores: for each value the number of subsets that contain the value."""
        return ValueCounts(self, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        counts += counting.count_symbols(blocks["members"], self.size)

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        counting.add_grouped_symbols(blocks["members"], groups, counts)

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all k-subsets of the sensitive values, with equal probabilities."""
        listed = np.array(list(combinations(range(self.size), self.count)), dtype=smallest_unsigned(self.size))
        return {"members": listed}, uniform(len(listed))


def draw_subsets(size: int, members: IntArray, random: RandomSource, out: AnyArray) -> None:
    """Draw uniform subsets of 0..size - 1 that contain the given members.

    Batches of 4,096 and more are drawn from noise bits; smaller ones, as on devices, by Floyd's method.

    Args:
        size: v.
        members: ``(n,)`` values that the subsets must contain; -1 for none.
        random: the source of random words.
        out: ``(n, k)`` array to be filled, each row ascending.
    """
    if len(members) >= BATCH and size > 1:
        draw_batch(size, members, random, out)
        return
    step = max(_COUNTED_BYTES // size, min(_LEAST, _MOST_BYTES // size), 1)
    for start in range(0, len(members), step):
        piece = slice(start, start + step)
        out[piece] = _draw_piece(size, out.shape[1], members[piece], random)


def _draw_piece(size: int, count: int, members: IntArray, random: RandomSource) -> AnyArray:
    rows = np.arange(len(members))
    inside, listed = _uniform_subsets(size, count, len(members), random)
    victim = listed[uniform_below(count, len(members), random).astype(np.int64), rows]
    wanted = ((members ^ victim) & ~(members >> 63)) ^ victim
    absent = inside[rows, wanted] == 0
    inside[rows, victim] &= ~absent
    inside[rows, wanted] = 1
    return np.flatnonzero(inside).reshape(len(members), count) - rows[:, None] * size


def _uniform_subsets(size: int, count: int, n: int, random: RandomSource) -> tuple[AnyArray, IntArray]:
    """Draw subsets by Floyd's method: ``(n, v)`` marks, and ``(k, n)`` members in the order of drawing."""
    inside = np.zeros((n, size), dtype=np.bool_)
    listed = np.empty((count, n), dtype=np.int64)
    rows = np.arange(n)
    for place, last in enumerate(range(size - count, size)):
        drawn = uniform_below(last + 1, n, random).astype(np.int64)
        listed[place] = np.where(inside[rows, drawn], last, drawn)
        inside[rows, listed[place]] = True
    return inside, listed


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SubsetSelection(BlockMechanism):
    """Subset selection; the utility-optimized block design uBD(k) when only some values are sensitive.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        k: size of a block, in 1..v - 1; None for the size with the smallest worst-case error.

    Raises:
        ParameterError: if a parameter is out of range, or k is given where only one size is possible.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.SubsetSelection(dc.Domain(range(20)), epsilon=1.0)
        >>> reports = mechanism.obfuscate([3] * 10_000, random=dc.SeededRandom(1))
        >>> round(float(dc.estimate(mechanism, reports).frequencies[3]), 1)
        1.0
    """

    name = "subset"
    laws = (Subsets,)

    k: int | None = None

    @cached_property
    def law(self) -> Subsets:
        """The block law: uniform subsets of k sensitive values."""
        size = sensitive_size(self.domain)
        if self.k is not None:
            if size == 1:
                raise ParameterError("k.nothing-to-choose", argument="k")
            return Subsets(size, checked_whole("k", self.k, 1, size - 1))
        # The best k in the worst case is next to v/(e^eps + 1), or 1 or 2.
        near = int(size / (expm1(self.epsilon) + 2))
        choices = {min(max(choice, 1), max(size - 1, 1)) for choice in (1, 2, near, near + 1)}
        return minimax_law(self.domain, self.epsilon, [Subsets(size, choice) for choice in sorted(choices)])

    @property
    def settings(self) -> dict[str, float]:
        """Return k, the number of values in a block."""
        return {"k": self.law.count}


@dataclass(frozen=True, slots=True)
class MixedSubsets(MembersLaw):
    """Blocks that are uniform subsets of k or k + 1 sensitive values.

    Attributes:
        size: v, the number of sensitive values; at least 2.
        count: k, the smaller size, in 1..v - 1.
        larger: lambda 2^64, in 1..2^64 - 1; lambda is the probability that a noise block has k + 1 members.
    """

    kind = "mixed subsets"
    wide = ("larger",)

    size: int
    count: int
    larger: int

    def __post_init__(self) -> None:
        """Raise an error if a parameter of the two sizes of subsets is out of range.

        Raises:
            ParameterError: if a parameter is out of range.
        """
        for name in ("size", "count", "larger"):
            checked_whole(name, getattr(self, name), 1, WORD_RANGE)
        if not 1 <= self.count < self.size or not 0 < self.larger < WORD_RANGE:
            raise ParameterError("k.sizes-out-of-range", argument="k", size=self.size, count=self.count)

    @property
    def sizes(self) -> tuple[int, int]:
        """Return k and k + 1, the two possible numbers of values in a block."""
        return self.count, self.count + 1

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities of the two sizes of a noise block, exactly."""
        share = Fraction(self.larger, WORD_RANGE)
        return 1 - share, share

    @property
    def inclusion(self) -> Fraction:
        """Return pi, the probability that a noise block contains a given value: the mean of k/v over both sizes."""
        return sum((t * k for k, t in zip(self.sizes, self.shares, strict=True)), Fraction(0)) / self.size

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho, the probability that a block of one value contains a second value."""
        pairs = sum((t * k * (k - 1) for k, t in zip(self.sizes, self.shares, strict=True)), Fraction(0))
        return pairs / (self.inclusion * self.size * (self.size - 1))

    def rare_chances(self, has_others: bool) -> list[Fraction]:
        """Return the noise probabilities of a block of each size, without the block of all values; see `Memo`."""
        shares = zip(self.sizes, self.shares, strict=True)
        return [share / comb(self.size, k) for k, share in shares if has_others or k < self.size]

    def joint_inclusion(self, count: int) -> Fraction:
        """Return the probability that ``count`` given values are all in a noise block: the mean over both sizes."""
        shares = (t * joint_share(self.size, k, count) for k, t in zip(self.sizes, self.shares, strict=True))
        return sum(shares, Fraction(0))

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the format of the only column: the members in ascending order; v stands for no member."""
        return (Column("members", smallest_unsigned(self.size + 1), width=self.count + 1, bound=self.size + 1),)

    @property
    def alphabet_size(self) -> int:
        """Return the number of blocks, which are the subsets of v values with k or k + 1 members."""
        return sum(comb(self.size, k) for k in self.sizes)

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw uniform subsets of k or k + 1 values that contain the required members into ``out``.

        A block of k is a uniform block of k + 1 without one member, drawn uniformly from the members that are not
        required.
        """
        listed, n = out["members"], len(members)
        draw_subsets(self.size, members, random, listed)
        among_noise = bernoulli(n, self.larger, random)
        among_truth = self._larger_given_a_member(n, random)
        truth = members >= 0
        shrinks = ~((truth & among_truth) | (~truth & among_noise))
        # Counted and masked: a search that stops at the member, or a branch, would reveal the decision by its time.
        place = np.count_nonzero(listed < members[:, None], axis=1)
        beside = uniform_below(self.count, n, random).astype(np.int64)
        beside += beside >= place
        anywhere = uniform_below(self.count + 1, n, random).astype(np.int64)
        loser = ((beside ^ anywhere) & ~(members >> 63)) ^ anywhere
        rows = np.flatnonzero(shrinks)
        listed[rows, loser[rows]] = self.size
        listed.sort(axis=1)

    def _larger_given_a_member(self, n: int, random: RandomSource) -> BoolArray:
        """Draw ``(n,)`` booleans: true if a block with a required member has the larger size.

        Sizes of noise blocks are accepted in proportion to the size.
        """
        larger = bernoulli(n, self.larger, random)
        open_rows = np.flatnonzero(~larger & (uniform_below(self.count + 1, n, random) == self.count))
        while len(open_rows):
            again = bernoulli(len(open_rows), self.larger, random)
            larger[open_rows] = again
            refused = uniform_below(self.count + 1, len(open_rows), random) == self.count
            open_rows = open_rows[~again & refused]
        return larger

    @property
    def counts(self) -> SizeCounts:
        """The numbers of blocks that contain each value: for blocks of k members, and then for blocks of k + 1."""
        return SizeCounts(self, self.sizes, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        listed = blocks["members"]
        short = listed[:, -1] == self.size
        counts += np.concatenate([counting.count_symbols(listed[rows], self.size) for rows in (short, ~short)])

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        listed = blocks["members"]
        # A row of counts for each group and size; v in a list's last place is beyond the counts.
        counting.add_grouped_symbols(listed, 2 * groups + (listed[:, -1] != self.size), counts.reshape(-1, self.size))

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all subsets of k and of k + 1 values, with equal probabilities within each size."""
        short = [(*members, self.size) for members in combinations(range(self.size), self.count)]
        long = list(combinations(range(self.size), self.count + 1))
        weights = [Fraction(share, len(subsets)) for share, subsets in zip(self.shares, (short, long), strict=True)]
        listed = np.array([*short, *long], dtype=smallest_unsigned(self.size + 1))
        return {"members": listed}, np.repeat(np.array(weights, dtype=object), [len(short), len(long)])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BlockDesign(BlockMechanism):
    """The optimal mechanism: it has the smallest error of all ULDP mechanisms, in the worst case or at a given mass.

    Its linear estimate attains `worst_case_mse` = M*/n, the lower bound for every unbiased estimate with any mechanism
    that all people use alike [Park, Nam, Lee]; `design.gap` certifies it.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        sensitive_mass: p(X_S), the share of people whose value is sensitive, if roughly known; None for the worst case.

    Raises:
        ParameterError: if a parameter is out of range, or only one design is possible.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(400), sensitive=range(76))
        >>> mechanism = dc.BlockDesign(domain, epsilon=1.0, sensitive_mass=0.05)
        >>> mechanism.guarantee.notion, round(mechanism.guarantee.realised, 9)
        ('ULDP', 1.0)
    """

    name = "design"
    laws = (Subsets, MixedSubsets)

    sensitive_mass: float | None = None

    @cached_property
    def design(self) -> Design | None:
        """The optimal design: block sizes, weights and a certificate; None if only one design is possible."""
        if self.domain.size < 2 or self.domain.sensitive_count == 0:
            if self.sensitive_mass is not None:
                raise ParameterError("sensitive-mass.no-effect", argument="sensitive_mass")
            return None
        size = self.domain.sensitive_count
        return optimal_design(size, self.domain.size, self.epsilon, sensitive_mass=self.sensitive_mass)

    @cached_property
    def law(self) -> Subsets | MixedSubsets:
        """The block law: uniform subsets of one size, or of two neighbouring sizes."""
        if self.design is None:
            return Subsets(sensitive_size(self.domain), 1)
        size, sizes = self.design.size, self.design.mixture.sizes
        if len(sizes) == 1:
            return Subsets(size, sizes[0])
        noise = [share * self.design.noise(k) for k, share in self.design.weights.items()]
        larger = min(max(round(Fraction(noise[1] / sum(noise)) * WORD_RANGE), 1), WORD_RANGE - 1)
        return MixedSubsets(size, sizes[0], larger)

    @property
    def settings(self) -> dict[str, float]:
        """Return the sensitive mass of the optimum, if given, and otherwise k, the smaller size of a block."""
        if self.design is not None and self.design.given:
            return {"sensitive_mass": self.design.alpha}
        return {"k": 1 if self.design is None else self.design.mixture.sizes[0]}

    def __eq__(self, other: object) -> bool:
        # The decoder belongs to the design, which the law does not determine.
        return isinstance(other, BlockDesign) and super().__eq__(other) and self.design == other.design

    __hash__ = BlockMechanism.__hash__

    @cached_property
    def decoder(self) -> BlockDecoder:
        """The linear decoder; with two block sizes, it has coefficients for each size."""
        one_size = self.design is None or len(self.design.mixture.sizes) == 1
        return BlockDecoder(self, self.law, self.coefficients if one_size or self.design is None else self.design)
