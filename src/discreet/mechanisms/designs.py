"""Block designs: the mechanism with the least error that any ULDP mechanism can have.

The optimum draws uniform subsets of one size k, or of two neighbouring sizes k and k + 1 [spec of the optimum, section
3]. For one size this is subset selection. For two, a block of noise has the larger size with probability
lambda = ``larger / 2^64``, and

    pi = ((1 - lambda) k + lambda (k + 1)) / v,
    rho = ((1 - lambda) k (k - 1) + lambda (k + 1) k) / (pi v (v - 1)).

A block that must contain a member has the sizes that Lambda gives to blocks with that member: the larger one is
likelier, by (k + 1)/k. It is drawn by rejection, exactly, and never from the number that decides on truth or noise.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from discreet.accuracy.design import Design
from discreet.accuracy.optimum import optimal_design
from discreet.accuracy.sum_worths import joint_share
from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.coins import toss
from discreet.core.random import WORD_RANGE, RandomSource, uniform_below
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.errors import ParameterError
from discreet.leakage.hits import HitDistribution, hits_of_subsets, hypergeometric, mixed
from discreet.mechanisms.block_law import EvenLaw
from discreet.mechanisms.counting import SizeCounts
from discreet.mechanisms.decoders import BlockDecoder
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.mechanisms.subsets import MemberLists, Subsets, draw_subsets


@dataclass(frozen=True, slots=True)
class MixedSubsets(EvenLaw):
    """Uniform subsets of k or k + 1 sensitive values.

    Attributes:
        size: v, the number of sensitive values; at least 2.
        smaller: k, in 1..v - 1.
        larger: lambda 2^64, in 1..2^64 - 1; lambda is the probability that a noise block has k + 1 members.
    """

    kind = "mixed subsets"
    wide = ("larger",)

    size: int
    smaller: int
    larger: int

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if a number is out of its range.
        """
        for name in ("size", "smaller", "larger"):
            checked_whole(name, getattr(self, name), 1, WORD_RANGE)
        if not 1 <= self.smaller < self.size or not 0 < self.larger < WORD_RANGE:
            raise ParameterError(f"two sizes must lie in 1..{self.size}, got {self.smaller!r} and the next.")

    @property
    def sizes(self) -> tuple[int, int]:
        """Return k and k + 1."""
        return self.smaller, self.smaller + 1

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities of the two sizes of a noise block, exactly."""
        share = Fraction(self.larger, WORD_RANGE)
        return 1 - share, share

    @property
    def inclusion(self) -> Fraction:
        """Return pi."""
        return sum((t * k for k, t in zip(self.sizes, self.shares, strict=True)), Fraction(0)) / self.size

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho."""
        pairs = sum((t * k * (k - 1) for k, t in zip(self.sizes, self.shares, strict=True)), Fraction(0))
        return pairs / (self.inclusion * self.size * (self.size - 1))

    def joint_inclusion(self, count: int) -> Fraction:
        """Return the mean over both sizes."""
        shares = (t * joint_share(self.size, k, count) for k, t in zip(self.sizes, self.shares, strict=True))
        return sum(shares, Fraction(0))

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return one column: the members, ascending; a block of k members has v in the last place."""
        return (Column("members", smallest_unsigned(self.size + 1), width=self.smaller + 1, bound=self.size + 1),)

    @property
    def alphabet_size(self) -> int:
        """Return the number of subsets of both sizes."""
        return sum(comb(self.size, k) for k in self.sizes)

    def describe(self) -> dict[str, Any]:
        """Return v, k and the share of k + 1."""
        return {"law": self.kind, "size": self.size, "count": self.smaller, "larger": self.larger}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> "MixedSubsets":
        """Return the law of a description; see `CommonLaw.of_parts`."""
        return cls(parts["size"], parts["count"], parts["larger"])

    def hit_distribution(self, m: int) -> HitDistribution:
        """Return the law of K: a mixture of two hypergeometric ones."""
        return mixed([hypergeometric(self.size, k, m) for k in self.sizes], self.shares)

    def hits(self, m: FloatArray) -> FloatArray:
        """Return the mean of 1 - C(v - m, k)/C(v, k) over both sizes."""
        smaller, larger = (hits_of_subsets(self.size, k, m) for k in self.sizes)
        share = float(self.shares[1])
        return (1 - share) * smaller + share * larger

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks; see `BlockLaw`.

        A block of k is a uniform block of k + 1 without a uniform one of the members that it need not contain.
        """
        listed, n = out["members"], len(members)
        draw_subsets(self.size, members, random, listed)
        among_noise = toss(n, self.larger, random)
        among_truth = self._larger_given_a_member(n, random)
        truth = members >= 0
        shrinks = ~((truth & among_truth) | (~truth & among_noise))
        # Counted and masked: a search that stops at the member, or a branch, would let time tell the coin.
        place = np.count_nonzero(listed < members[:, None], axis=1)
        beside = uniform_below(self.smaller, n, random).astype(np.int64)
        beside += beside >= place
        anywhere = uniform_below(self.smaller + 1, n, random).astype(np.int64)
        loser = ((beside ^ anywhere) & ~(members >> 63)) ^ anywhere
        rows = np.flatnonzero(shrinks)
        listed[rows, loser[rows]] = self.size
        listed.sort(axis=1)

    def _larger_given_a_member(self, n: int, random: RandomSource) -> BoolArray:
        """Draw sizes of blocks with a given member: a size of noise is kept with probability in proportion to it."""
        larger = toss(n, self.larger, random)
        open_rows = np.flatnonzero(~larger & (uniform_below(self.smaller + 1, n, random) == self.smaller))
        while len(open_rows):
            again = toss(len(open_rows), self.larger, random)
            larger[open_rows] = again
            refused = uniform_below(self.smaller + 1, len(open_rows), random) == self.smaller
            open_rows = open_rows[~again & refused]
        return larger

    @property
    def counts(self) -> SizeCounts:
        """Return the counting of blocks by size: for each value the blocks of k, then those of k + 1."""
        return SizeCounts(self, self.sizes, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        from discreet.kernels.blocks.counting import count_symbols

        listed = blocks["members"]
        short = listed[:, -1] == self.size
        counts += np.concatenate([count_symbols(listed[rows], self.size) for rows in (short, ~short)])

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        from discreet.kernels.blocks.grouping import add_symbols

        listed = blocks["members"]
        # A row of counts for each group and size; v in the last place of a list is outside of it.
        add_symbols(listed, 2 * groups + (listed[:, -1] != self.size), counts.reshape(-1, self.size))

    def membership(self, blocks: Blocks) -> MemberLists:
        """Return the lists as an operator; v in the last place of a list adds nothing."""
        return MemberLists(blocks["members"], self.size)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans."""
        contained = np.zeros((len(blocks["members"]), self.size + 1), dtype=np.bool_)
        np.put_along_axis(contained, blocks["members"].astype(np.int64), True, axis=1)
        return contained[:, : self.size]

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return the subsets of both sizes, uniform within each."""
        short = [(*members, self.size) for members in combinations(range(self.size), self.smaller)]
        long = list(combinations(range(self.size), self.smaller + 1))
        weights = [Fraction(share, len(subsets)) for share, subsets in zip(self.shares, (short, long), strict=True)]
        listed = np.array([*short, *long], dtype=smallest_unsigned(self.size + 1))
        return {"members": listed}, np.repeat(np.array(weights, dtype=object), [len(short), len(long)])

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a list that does not ascend."""
        listed = blocks["members"]
        flawed: BoolArray = np.any(listed[:, 1:] <= listed[:, :-1], axis=1)
        return flawed


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BlockDesign(BlockMechanism):
    """The optimal mechanism: the least worst-case error of all ULDP mechanisms, or the least at a given mass.

    Its linear estimate attains `worst_case_mse` = M*/n, the lower bound for every unbiased estimate under any common
    mechanism [Park, Nam, Lee; spec of the optimum, section 3]; `design.gap` certifies it.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        sensitive_mass: p(X_S), the share of people whose value is sensitive, if it is roughly known; None for the
            worst case.

    Raises:
        ParameterError: if a parameter is out of range, or there is nothing to choose.

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
        """Block sizes, weights, certificate; None where there is nothing to choose."""
        if self.domain.size < 2 or self.domain.sensitive_count == 0:
            if self.sensitive_mass is not None:
                raise ParameterError("sensitive_mass does nothing where there is nothing to choose; leave it out.")
            return None
        size = self.domain.sensitive_count
        return optimal_design(size, self.domain.size, self.epsilon, sensitive_mass=self.sensitive_mass)

    @cached_property
    def law(self) -> Subsets | MixedSubsets:
        """The block law."""
        return Subsets(sensitive_size(self.domain), 1) if self.design is None else _law_of(self.design)

    @property
    def settings(self) -> dict[str, float]:
        """Return the sensitive mass of the optimum, if it was given; else k, the smaller size of a block."""
        if self.design is not None and self.design.given:
            return {"sensitive_mass": self.design.alpha}
        return {"k": self.law.smaller if isinstance(self.law, MixedSubsets) else self.law.count}

    def __eq__(self, other: object) -> bool:
        # The decoder is the design's, which the law does not tell.
        return isinstance(other, BlockDesign) and super().__eq__(other) and self.design == other.design

    __hash__ = BlockMechanism.__hash__

    @cached_property
    def decoder(self) -> BlockDecoder:
        """The decoder that tells block sizes apart, where there are two."""
        if self.design is None or isinstance(self.law, Subsets):
            return super().decoder
        return replace(super().decoder, numbers=self.design)


def _law_of(design: Design) -> Subsets | MixedSubsets:
    sizes = design.mixture.sizes
    if len(sizes) == 1:
        return Subsets(design.size, sizes[0])
    noise = [share * design.noise(k) for k, share in design.weights.items()]
    larger = min(max(round(Fraction(noise[1] / sum(noise)) * WORD_RANGE), 1), WORD_RANGE - 1)
    return MixedSubsets(design.size, sizes[0], larger)
