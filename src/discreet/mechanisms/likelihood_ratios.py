"""Likelihood ratios of reports: how much likelier each report is for a value than on average.

Under a distribution f a block A has the ratios u_x = (1 + c 1{x in A}) / q, q = 1 + c f(A), and u_rest = 1/q for all
values that may be reported in clear. A value in clear has the ratios 0 and 1/rest. An output y of an explicit channel
has the ratios u_x = Q(y|x) / q_y. Sums over all reports are exact if there are few possible reports. Otherwise blocks
are drawn under f, from a fixed seed. The functions return d = u - 1, because in single precision u loses digits if the
contrast is small.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.core.random import SeededRandom
from discreet.core.reports import Blocks, block_count
from discreet.mechanisms.block_law import BlockLaw

_LEAST_DRAWN = 10_000
_DRAWN_PER_VALUE = 100
_SEED = 1
# The most ratios in memory at a time.
_AT_ONCE = 1 << 19
# Squares of larger contrasts do not fit into single precision.
_SINGLE_CONTRAST = 1e15


class LikelihoodRatios(ABC):
    """The likelihood ratios of all possible reports under a distribution f, with the reports' probabilities.

    Attributes:
        point: the ``(k,)`` distribution f: the frequencies of the values that blocks cover, and the total frequency of
            the other values, if any of them was reported.
    """

    point: FloatArray

    @abstractmethod
    def chunks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield chunks of possible reports: ``(m,)`` probabilities, and ``(m, k)`` d, the ratios minus 1."""


@dataclass(frozen=True, eq=False)
class BlockRatios(LikelihoodRatios):
    """The likelihood ratios of blocks, and of all values in clear taken as one value.

    Attributes:
        law: the block law.
        truth: s, the probability that a report is the truth.
        contrast: c.
        members: ``(v,)`` frequencies of the sensitive values.
        rest: the frequency of all other values; 0 if none was reported.
    """

    law: BlockLaw
    truth: float
    contrast: float
    members: FloatArray
    rest: float

    @property
    def noisy(self) -> float:
        """1 - s, computed from the odds of the truth, pi c, because a difference loses digits if s is nearly 1."""
        return 1 / (1 + float(self.law.inclusion) * self.contrast)

    @cached_property
    def point(self) -> FloatArray:  # type: ignore[override]
        """The ``(k,)`` distribution f under which the likelihood ratios are computed."""
        return np.append(self.members, self.rest) if self.rest else self.members

    def chunks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield chunks of possible reports with likelihood ratios of blocks; see `LikelihoodRatios`."""
        blocks, weights = self.blocks
        # Drawn blocks are accurate to fewer digits than single precision.
        single = isinstance(weights, float) and self.contrast < _SINGLE_CONTRAST
        precision: Any = np.float32 if single else np.float64
        contrast, members = precision(self.contrast), self.members.astype(precision)
        step = max(_AT_ONCE // self.law.size, 1)
        for start in range(0, block_count(blocks), step):
            part = {name: column[start : start + step] for name, column in blocks.items()}
            gains: AnyArray = self.law.contains(part) * contrast
            mean: FloatArray = gains @ members
            if self.rest:
                gains = np.append(gains, np.zeros((len(gains), 1), precision), axis=1)
            gains -= mean[:, None]
            gains /= 1 + mean[:, None]
            if isinstance(weights, float):
                yield np.full(len(gains), weights), gains
            else:
                yield weights[start : start + step] * (1 + mean), gains
        if self.rest:
            ratios = np.append(np.zeros(len(self.members)), 1 / self.rest)
            yield np.array([self.truth * self.rest]), ratios[None] - 1

    @cached_property
    def blocks(self) -> tuple[Blocks, FloatArray | float]:
        """All possible blocks A, with their probabilities (1 - s) Lambda(A) as noise.

        If there are too many, blocks drawn under f, with their common probability.
        """
        drawn = max(_DRAWN_PER_VALUE * self.law.size, _LEAST_DRAWN)
        if self.law.alphabet_size <= drawn:
            blocks, probabilities = self.law.alphabet()
            return blocks, self.noisy * np.array([float(each) for each in probabilities])
        # For each value the expected number of reports, rounded.
        ends = np.cumsum(np.append(self.noisy, self.truth * self.members))
        members = np.searchsorted(ends, (np.arange(drawn) + 0.5) * (ends[-1] / drawn)).astype(np.int64) - 1
        blocks = {each.name: np.empty(each.shape(drawn), dtype=each.dtype) for each in self.law.columns}
        self.law.draw(members, SeededRandom(_SEED), blocks)
        return blocks, float(ends[-1]) / drawn


@dataclass(frozen=True, eq=False)
class OutputRatios(LikelihoodRatios):
    """The likelihood ratios of an explicit channel's outputs.

    Attributes:
        matrix: ``(|X|, |Y|)`` Q(y|x).
        point: the ``(|X|,)`` distribution f.
    """

    matrix: FloatArray
    point: FloatArray

    def chunks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield one chunk with the likelihood ratios of all outputs; see `LikelihoodRatios`."""
        q = self.point @ self.matrix
        possible = q > 0
        yield q[possible], (self.matrix[:, possible] / q[possible]).T - 1
