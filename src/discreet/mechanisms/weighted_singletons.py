"""Singleton blocks with a promise to each value: randomized response with weights.

Noise is one sensitive value, x with probability pi_x. With beta_x = 1/(e^eps_x - 1) and T the sum of beta over X_S,

    pi_x = beta_x / T,  rho = 0,  s = 1/(1 + T),

which meets every one-sided epsilon_x with equality, but for rounding [spec of the optimum, section 5]; uRR where all
are the same. Noise is drawn from one uniform integer below W, of which every value owns a stretch of its group's width.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray, WordArray
from discreet.core.epsilons import EpsilonGroups
from discreet.core.exact import noise_weight
from discreet.core.random import RandomSource, uniform_below
from discreet.core.reports import Blocks, smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms.singletons import SingletonCodec
from discreet.mechanisms.weighted_law import WeightedLaw, check_groups, group_counts

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
