"""k-subsets: subset selection and the utility-optimized block design uBD(k).

A block is a uniform subset of k of the v sensitive values, so

    pi = k/v,  rho = (k - 1)/(v - 1),  s = k (e^eps - 1) / (v + k (e^eps - 1)),

which is subset selection when every value is sensitive [Ye and Barg 2018] and uBD(k) otherwise [Park, Nam, Lee].
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, expm1
from typing import Any

import numpy as np

from discreet.accuracy.sum_worths import joint_share
from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.coins import BATCH
from discreet.core.random import RandomSource, uniform_below
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.errors import ParameterError
from discreet.leakage.hits import HitDistribution, hits_of_subsets, hypergeometric
from discreet.mechanisms.block_law import EvenLaw
from discreet.mechanisms.counting import ValueCounts
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.mechanisms.numbers import least_worst
from discreet.mechanisms.subset_batches import draw_batch

# Rows that are drawn together: marks that fit into the cache, but enough rows for a step to be worth its call.
_PIECE_BYTES = 1 << 19
_LEAST = 256
_MOST_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Subsets(EvenLaw):
    """Uniform k-subsets of the sensitive values.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        count: k, in 1..v - 1 (1 if v = 1).
    """

    kind = "subsets"

    size: int
    count: int

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if k is not in 1..v - 1.
        """
        checked_whole("size", self.size)
        checked_whole("k", self.count)
        if not 1 <= self.count <= max(self.size - 1, 1):
            raise ParameterError(f"k must be in 1..{max(self.size - 1, 1)}, got k={self.count!r}.")

    @property
    def inclusion(self) -> Fraction:
        """Return pi = k/v."""
        return Fraction(self.count, self.size)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = (k - 1)/(v - 1)."""
        return Fraction(self.count - 1, max(self.size - 1, 1))

    def joint_inclusion(self, count: int) -> Fraction:
        """Return k (k - 1) ... / v (v - 1) ..., of ``count`` factors."""
        return joint_share(self.size, self.count, count)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return one column: the k members, ascending."""
        return (Column("members", smallest_unsigned(self.size), width=self.count, bound=self.size),)

    @property
    def alphabet_size(self) -> int:
        """Return v choose k."""
        return comb(self.size, self.count)

    def describe(self) -> dict[str, Any]:
        """Return v and k."""
        return {"law": self.kind, "size": self.size, "count": self.count}

    def hit_distribution(self, m: int) -> HitDistribution:
        """Return the law of K: hypergeometric."""
        return hypergeometric(self.size, self.count, m)

    def hits(self, m: FloatArray) -> FloatArray:
        """Return 1 - C(v - m, k)/C(v, k)."""
        return hits_of_subsets(self.size, self.count, m)

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks; see `BlockLaw`.

        A uniform k-subset in which a wanted member takes the place of a uniform one, if it is not there already, is
        uniform among the k-subsets that contain it. Members ascend, so that no place reveals the wanted one.
        """
        draw_subsets(self.size, members, random, out["members"])

    @property
    def counts(self) -> ValueCounts:
        """Return the counting of blocks by value."""
        return ValueCounts(self, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        from discreet.kernels.blocks.counting import count_symbols

        counts += count_symbols(blocks["members"], self.size)

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        from discreet.kernels.blocks.grouping import add_symbols

        add_symbols(blocks["members"], groups, counts)

    def membership(self, blocks: Blocks) -> "MemberLists":
        """Return the lists as an operator."""
        return MemberLists(blocks["members"], self.size)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans."""
        contained = np.zeros((len(blocks["members"]), self.size), dtype=np.bool_)
        np.put_along_axis(contained, blocks["members"].astype(np.int64), True, axis=1)
        return contained

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all k-subsets, uniform."""
        listed = np.array(list(combinations(range(self.size), self.count)), dtype=smallest_unsigned(self.size))
        return {"members": listed}, np.full(len(listed), Fraction(1, self.alphabet_size), dtype=object)

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a list that does not ascend."""
        listed = blocks["members"]
        flawed: BoolArray = np.any(listed[:, 1:] <= listed[:, :-1], axis=1)
        return flawed


def draw_subsets(size: int, members: IntArray, random: RandomSource, out: AnyArray) -> None:
    """Draw uniform subsets of 0..size - 1 that contain the given members.

    Batches of 4,096 and more are drawn from noise bits (`subset_batches.py`); fewer, as on devices, by Floyd's method.

    Args:
        size: v.
        members: ``(n,)`` values that the subsets must contain; -1 for none.
        random: the source of random words.
        out: ``(n, k)`` array to be filled, each row ascending.
    """
    if len(members) >= BATCH and size > 1:
        draw_batch(size, members, random, out)
        return
    step = max(_PIECE_BYTES // size, min(_LEAST, _MOST_BYTES // size), 1)
    for start in range(0, len(members), step):
        piece = slice(start, start + step)
        out[piece] = _draw_piece(size, out.shape[1], members[piece], random)


def _draw_piece(size: int, count: int, members: IntArray, random: RandomSource) -> AnyArray:
    rows = np.arange(len(members))
    taken, listed = _uniform_subsets(size, count, len(members), random)
    victim = listed[uniform_below(count, len(members), random).astype(np.int64), rows]
    wanted = ((members ^ victim) & ~(members >> 63)) ^ victim
    absent = taken[rows, wanted] == 0
    taken[rows, victim] &= ~absent
    taken[rows, wanted] = 1
    return np.flatnonzero(taken).reshape(len(members), count) - rows[:, None] * size


def _uniform_subsets(size: int, count: int, n: int, random: RandomSource) -> tuple[AnyArray, IntArray]:
    """Draw by Floyd's method: ``(n, v)`` marks, and ``(k, n)`` members in the order of drawing."""
    taken = np.zeros((n, size), dtype=np.bool_)
    listed = np.empty((count, n), dtype=np.int64)
    rows = np.arange(n)
    for place, last in enumerate(range(size - count, size)):
        drawn = uniform_below(last + 1, n, random).astype(np.int64)
        listed[place] = np.where(taken[rows, drawn], last, drawn)
        taken[rows, listed[place]] = True
    return taken, listed


@dataclass(frozen=True, slots=True, eq=False)
class MemberLists:
    """The membership matrix of index lists.

    Attributes:
        members: ``(m, k)`` indices.
        size: v.
    """

    members: AnyArray
    size: int

    @property
    def multiplicity(self) -> FloatArray | None:
        """Return None: every row counts once."""
        return None

    @property
    def rows(self) -> int:
        """Return m."""
        return len(self.members)

    def dot(self, values: Any) -> Any:
        """Return ``(m,)`` B @ values."""
        from discreet.kernels.blocks.subsets import members_dot

        return members_dot(self.members, np.asarray(values, dtype=np.float64))

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        from discreet.kernels.blocks.subsets import members_dot_transposed

        return members_dot_transposed(self.members, np.asarray(weights, dtype=np.float64), self.size)

    def part(self, start: int, stop: int) -> "MemberLists":
        """Return rows start..stop - 1."""
        return MemberLists(self.members[start:stop], self.size)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SubsetSelection(BlockMechanism):
    """Subset selection; the utility-optimized block design uBD(k) when only some values are sensitive.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        k: size of a block, in 1..v - 1; None for the one with the least worst-case error.

    Raises:
        ParameterError: if a parameter is out of range, or k is given where there is no choice.

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
        """The block law."""
        size = sensitive_size(self.domain)
        if self.k is not None:
            return Subsets(size, _checked_count(self.k, size))
        # In the worst case the best k is next to v/(e^eps + 1), or 1 or 2 [spec of the optimum, section 3].
        near = int(size / (expm1(self.epsilon) + 2))
        choices = {min(max(choice, 1), max(size - 1, 1)) for choice in (1, 2, near, near + 1)}
        return least_worst(self.domain, self.epsilon, [Subsets(size, choice) for choice in sorted(choices)])

    @property
    def settings(self) -> dict[str, float]:
        """Return k, the size of a block."""
        return {"k": self.law.count}


def _checked_count(k: object, size: int) -> int:
    if size == 1:
        raise ParameterError("k does nothing where fewer than two values are sensitive; leave it out.")
    return checked_whole("k", k, 1, size - 1)
