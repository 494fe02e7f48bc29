"""Randomized response and unary encoding with an epsilon for each value.

Singleton blocks with a promise to each value: randomized response with weights.

Noise is one sensitive value, x with probability pi_x. With beta_x = 1/(e^eps_x - 1) and T the sum of beta over X_S,

    pi_x = beta_x / T,  rho = 0,  s = 1/(1 + T),

which meets every one-sided epsilon_x with equality, but for rounding [spec of the optimum, section 5]; uRR where all
are the same. Noise is drawn from one uniform integer below W, of which every value owns a stretch of its group's width.

Independent bits with a promise to each value: unary encoding with a probability per bit.

Noise sets the bit of x with probability d_x, on its own; the truth sets its own bit for sure. With r = s/(1 - s), the
odds of the truth, and beta_x = 1/(e^eps_x - 1),

    pi_x = d_x = r beta_x,  rho = d_x' for every x',  0 < r < 1/max(beta),

meets every one-sided epsilon_x with equality, but for rounding. r is free. Here it minimises the noise of the
decoder where no value goes in clear, that is the sum of these variances over X_S,

    n Var = beta_x (1 + r)^2 / (r (1 - r beta_x)),

which has one minimum, in r < 1; for one epsilon it is r = 1/(1 + 2 beta), that is theta = 1/2.

Mechanisms with an epsilon for each sensitive value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import fsum
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray, WordArray
from discreet.core.arithmetic import bisected
from discreet.core.checks import checked_whole
from discreet.core.random import RandomSource, fresh_words, noise_weight, uniform_below
from discreet.core.reports import Blocks, smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms.bits import GREATEST_DEPTH, PIECE_WORDS, PRECISION_BITS, PackedBitCodec
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.law import BlockMechanism
from discreet.mechanisms.singletons import SingletonCodec
from discreet.mechanisms.weights import EpsilonGroups, WeightedLaw, check_groups, group_counts, picked

# A multiple of W is just below 2^64, so that hardly a word is thrown away.
_MOST_WEIGHT = 1 << 62


@dataclass(frozen=True, eq=False)
class WeightedSingletons(SingletonCodec, WeightedLaw):
    """One sensitive value per block, with a probability in proportion to the weight of its group.

    Attributes:
        groups: ``(v,)`` the group of each value.
        weights: one positive integer per group; W, the sum over all values, is at most 2^62.
    """

    kind = "uneven singletons"
    wide = ("weights",)

    groups: IntArray = field()
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if a group has no value or no weight, or they are too large.
        """
        check_groups(self.groups, self.weights, "weights")
        counts = group_counts(self.size, self.groups)
        if len(counts) != len(self.weights) or not all(counts):
            raise ParameterError(f"every group must have values and a weight, got {len(self.weights)} weights.")
        if min(self.weights) < 1 or self.total > _MOST_WEIGHT:
            raise ParameterError("weights must be positive integers, which add up to 2^62 at most over all values.")

    @classmethod
    def keeping(cls, promises: EpsilonGroups) -> "WeightedSingletons":
        """Return the law whose weights are in proportion to beta, rounded down; to at least 1.

        The truth threshold compensates for the rounding.
        """
        beta = [noise_weight(epsilon) for epsilon in promises.epsilons]
        whole = sum((n * one for n, one in zip(promises.counts, beta, strict=True)), Fraction(0))
        room = _MOST_WEIGHT - len(promises.groups)
        return cls(promises.groups, tuple(max(int(one * room / whole), 1) for one in beta))

    @property
    def size(self) -> int:  # type: ignore[override]
        """Return v."""
        return len(self.groups)

    @cached_property
    def total(self) -> int:
        """Return W, the sum of the weights of all values."""
        return sum(n * weight for n, weight in zip(group_counts(self.size, self.groups), self.weights, strict=True))

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi of each group."""
        return tuple(Fraction(weight, self.total) for weight in self.weights)

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho = 0 for each group."""
        return (Fraction(0),) * len(self.weights)

    def describe(self) -> dict[str, Any]:
        """Return the weights, and a digest of the groups of values."""
        return {"law": self.kind, "size": self.size, "weights": self.weights, "levels": self._groups_digest}

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return the v symbols with their probabilities."""
        symbols = np.arange(self.size, dtype=smallest_unsigned(self.size))
        return {"symbol": symbols}, np.array(self.inclusions, dtype=object)[self.groups]

    @cached_property
    def _shares(self) -> tuple[AnyArray, WordArray, WordArray, IntArray]:
        """Return the values by group; and per group its width, the start of its stretches, its first place."""
        counts = group_counts(self.size, self.groups)
        order = np.argsort(self.groups, kind="stable").astype(smallest_unsigned(self.size))
        stretches = [n * weight for n, weight in zip(counts, self.weights, strict=True)]
        starts = np.array(list(accumulate(stretches, initial=0))[:-1], dtype=np.uint64)
        return order, np.array(self.weights, dtype=np.uint64), starts, np.cumsum([0, *counts[:-1]])

    def _noise(self, n: int, random: RandomSource) -> AnyArray:
        order, widths, starts, first = self._shares
        drawn = uniform_below(self.total, n, random)
        group = np.searchsorted(starts[1:], drawn, side="right")
        place = (drawn - starts[group]) // widths[group]
        return order[first[group] + place.astype(np.int64)]


# Steps of r: far finer than its effect on any error, far coarser than what machines disagree on.
_ODDS_BITS = 20
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class WeightedBits(WeightedLaw, PackedBitCodec):
    """Bits that noise sets with probability ``threshold / 2^depth`` of their group, each on its own.

    Attributes:
        groups: ``(v,)`` the group of each value.
        thresholds: an integer in 1..2^depth - 1 per group.
        depth: random bits that one noise bit costs.
    """

    kind = "uneven bits"
    wide = ("thresholds",)

    groups: IntArray = field()
    thresholds: tuple[int, ...]
    depth: int

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if a group has no value or no threshold, or one is not a probability between 0 and 1.
        """
        check_groups(self.groups, self.thresholds, "thresholds")
        checked_whole("depth", self.depth, 1, GREATEST_DEPTH)
        counts = group_counts(self.size, self.groups)
        if len(counts) != len(self.thresholds) or not all(counts):
            raise ParameterError(
                f"every group must have values and a threshold, got {len(self.thresholds)} thresholds."
            )
        if min(self.thresholds) < 1 or max(self.thresholds) >= 1 << self.depth or self.depth > GREATEST_DEPTH:
            raise ParameterError(f"thresholds must be integers in 1..2^depth - 1, got depth {self.depth!r}.")
        # Now, not when the first report is wanted.
        _ = self._turns, self._groups_digest

    @classmethod
    def keeping(cls, promises: EpsilonGroups) -> "WeightedBits":
        """Return the law of the best r whose d_x are within 2^-12 of r beta_x.

        The truth threshold compensates for the rounding.
        """
        odds = best_odds(promises)
        wanted = [odds * noise_weight(epsilon) for epsilon in promises.epsilons]
        depth = min(max(map(_magnitude, wanted)) + PRECISION_BITS, GREATEST_DEPTH)
        nearest = (min(max(round(share * (1 << depth)), 1), (1 << depth) - 1) for share in wanted)
        return cls(promises.groups, tuple(nearest), depth)

    @property
    def size(self) -> int:  # type: ignore[override]
        """Return v."""
        return len(self.groups)

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi = d of each group."""
        return tuple(Fraction(threshold, 1 << self.depth) for threshold in self.thresholds)

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho = d of each group: bits are independent."""
        return self.inclusions

    def describe(self) -> dict[str, Any]:
        """Return the thresholds, and a digest of the groups of values."""
        return {
            "law": self.kind,
            "size": self.size,
            "thresholds": self.thresholds,
            "depth": self.depth,
            "levels": self._groups_digest,
        }

    @property
    def _wide(self) -> bool:
        """True if eight rows, a whole number of lanes, are more than a piece."""
        return self._row_bytes > PIECE_WORDS // self.depth

    @cached_property
    def _piece_lanes(self) -> int:
        wanted = PIECE_WORDS // self.depth
        # Every piece of narrow rows begins with the first bit of one; wide rows are cut into pieces each by itself.
        return wanted if self._wide else self._row_bytes * (wanted // self._row_bytes)

    @cached_property
    def _turns(self) -> WordArray:
        """``(depth + 1, lanes)`` words: a bit is 1 where a digit of its threshold differs from the digit before it.

        Digits go from the last one to the first, with a 0 before and after them. Lanes are those of a piece; of wide
        rows, those of one row.
        """
        thresholds = np.array(self.thresholds, dtype=np.uint64)
        digits = (thresholds >> np.arange(self.depth, dtype=np.uint64)[:, None] & np.uint64(1)).astype(np.bool_)
        of_levels = np.diff(digits, axis=0, prepend=False, append=False)
        rows = np.zeros(
            (self.depth + 1, -(-self._row_bytes // 8) * 8 if self._wide else self._row_bytes), dtype=np.uint8
        )
        for row, turns in zip(rows, of_levels, strict=True):
            row[: self._row_bytes] = np.packbits(picked(turns, self.groups), bitorder="little")
        return (rows if self._wide else np.tile(rows, 8 * self._piece_lanes // self._row_bytes)).view("<u8")

    def _fill_with_noise(self, flat: AnyArray, random: RandomSource) -> None:
        if not self._wide:
            super()._fill_with_noise(flat, random)
            return
        for row in flat.reshape(-1, self._row_bytes):
            for first in range(0, self._turns.shape[1], self._piece_lanes):
                piece = row[8 * first : 8 * (first + self._piece_lanes)]
                lanes = -(-len(piece) // 8)
                words = fresh_words(random, lanes * self.depth).reshape(self.depth, lanes)
                piece[:] = self._ladder(words, first).view(np.uint8)[: len(piece)]

    def _ladder(self, words: AnyArray, first: int = 0) -> AnyArray:
        # Each step gives a bit its threshold's digit with probability 1/2, where its word is 0, and else leaves it.
        # What is carried along is the bit XOR the coming digit, so that a step is an AND with the word, and an XOR with
        # what tells this digit from the next.
        lanes = words.shape[1]
        turns = self._turns[:, first : first + lanes]
        bits: AnyArray = turns[0]
        for word, turn in zip(words, turns[1:], strict=True):
            bits = np.bitwise_and(bits, word, out=word)
            bits ^= turn
        return bits


def best_odds(promises: EpsilonGroups) -> Fraction:
    """Return the r = s/(1 - s) with the least summed variance of noise, to 20 significant binary digits.

    Its logarithm has the slope 2/(1 + r) - 1/r + sum(beta^2/(1 - r beta)^2) / sum(beta/(1 - r beta)), which ascends
    from minus infinity to what is positive at r = 1 or infinite at r = 1/max(beta).
    """
    beta, counts = [float(noise_weight(epsilon)) for epsilon in promises.epsilons], promises.counts

    def slope(r: float) -> float:
        shares = [n * b / (1 - r * b) for n, b in zip(counts, beta, strict=True)]
        steeper = fsum(share * b / (1 - r * b) for share, b in zip(shares, beta, strict=True))
        return 2 / (1 + r) - 1 / r + steeper / fsum(shares)

    most = max(beta)
    low, _ = bisected(lambda r: r * most < 1 and slope(r) < 0, 0.0, min(1.0, 1 / most), _BISECTIONS)
    step = Fraction(2) ** (_magnitude(Fraction(low)) + _ODDS_BITS)
    return Fraction(int(Fraction(low) * step), step)


def _magnitude(share: Fraction) -> int:
    """Return k for a share in (2^-k, 2^(1-k)], nearly; a share above 1/2 counts by what it lacks to 1."""
    small = min(share, 1 - share) if share < 1 else share
    return (small.denominator // small.numerator).bit_length()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PerValueMechanism(BlockMechanism):
    """A mechanism with an epsilon for each sensitive value.

    The promise is one-sided: a report makes x at most e^epsilon_x times likelier than any other value. The two-sided
    reading, min(epsilon_x, epsilon_x') for every pair, is stricter and does not hold [spec of the optimum, section 5].

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the largest promise, in nats; of two that differ by a rounding the smaller one is kept.
        epsilons: epsilon_x for every sensitive value: a mapping from label to epsilon, or a list of groups with
            ``values`` (written like the ``sensitive`` values of a domain) and ``epsilon``.

    Raises:
        ParameterError: if an epsilon is no promise, or values are not named once each; see `EpsilonGroups`.
    """

    # Given as labels or groups, and kept as groups of values, which may be given again.
    epsilons: Mapping[Any, float] | Sequence[Mapping[str, Any]] = field()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Replace ``epsilons`` by groups of values.

        Raises:
            ParameterError: if an epsilon is no promise, or values are not named once each.
        """
        groups = EpsilonGroups.of(self.domain, self.epsilon, self.epsilons)
        object.__setattr__(self, "epsilons", groups.said)
        object.__setattr__(self, "epsilon", groups.largest(self.epsilon))
        super().__post_init__()

    @cached_property
    def law(self) -> BlockLaw:
        """The block law that keeps the promises."""
        return self._law_keeping(EpsilonGroups.of(self.domain, self.epsilon, self.epsilons))

    @staticmethod
    def _law_keeping(promises: EpsilonGroups) -> BlockLaw:
        """Return the law that keeps the promises."""
        raise NotImplementedError


class PerValueResponse(PerValueMechanism):
    """Randomized response with an epsilon for each sensitive value; see `PerValueMechanism`.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "bar", "park"], sensitive=["clinic", "bar"])
        >>> mechanism = dc.PerValueResponse(domain, epsilon=2.0, epsilons={"clinic": 0.5, "bar": 2.0})
        >>> [(group.promised, round(group.realised, 6)) for group in mechanism.guarantee.groups]
        [(0.5, 0.5), (2.0, 2.0)]
    """

    name = "rr-per-value"
    laws = (WeightedSingletons,)

    @staticmethod
    def _law_keeping(promises: EpsilonGroups) -> BlockLaw:
        return WeightedSingletons.keeping(promises)


class PerValueEncoding(PerValueMechanism):
    """Unary encoding with an epsilon for each sensitive value; see `PerValueMechanism`.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "bar", "park"], sensitive=["clinic", "bar"])
        >>> mechanism = dc.PerValueEncoding(domain, epsilon=2.0, epsilons={"clinic": 0.5, "bar": 2.0})
        >>> [group.realised <= group.promised for group in mechanism.guarantee.groups]
        [True, True]
    """

    name = "unary-per-value"
    laws = (WeightedBits,)

    @staticmethod
    def _law_keeping(promises: EpsilonGroups) -> BlockLaw:
        return WeightedBits.keeping(promises)
