"""Independent bits with a promise to each value: unary encoding with a probability per bit.

Noise sets the bit of x with probability d_x, on its own; the truth sets its own bit for sure. With r = s/(1 - s), the
odds of the truth, and beta_x = 1/(e^eps_x - 1),

    pi_x = d_x = r beta_x,  rho = d_x' for every x',  0 < r < 1/max(beta),

meets every one-sided epsilon_x with equality, but for rounding. r is free. Here it minimises the noise of the
decoder where no value goes in clear, that is the sum of these variances over X_S,

    n Var = beta_x (1 + r)^2 / (r (1 - r beta_x)),

which has one minimum, in r < 1; for one epsilon it is r = 1/(1 + 2 beta), that is theta = 1/2.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray, WordArray
from discreet.core.checks import checked_whole
from discreet.core.epsilons import EpsilonGroups, picked
from discreet.core.exact import noise_weight
from discreet.core.random import RandomSource, fresh_words
from discreet.core.searching import bisected
from discreet.errors import ParameterError
from discreet.mechanisms.packed_bits import GREATEST_DEPTH, PIECE_WORDS, PRECISION_BITS, PackedBitCodec
from discreet.mechanisms.weighted_law import WeightedLaw, check_groups, group_counts

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
