"""Sums of values whose law is known from the tally: of binomial counts, and of values in blocks that are alike."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.accuracy.binomial_limits import BinomialCounts
from discreet.accuracy.decoder import PerValue
from discreet.accuracy.design import Design
from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.accuracy.skewed_limits import MeanWorths
from discreet.accuracy.sum_worths import AlikeBlocks, joint_share, sum_moments
from discreet.arrays import FloatArray
from discreet.core.covariance import CountedSums
from discreet.core.domain import Domain
from discreet.core.tally import Tally
from discreet.mechanisms.block_law import BlockLaw


def counted_in_tally(domain: Domain, tally: Tally, truth: float, noise: PerValue | None = None) -> list[CountedSums]:
    """Return the counts that are binomial with probability b + s p, as are those of sums of values.

    Args:
        domain: the values.
        tally: the counts.
        truth: s.
        noise: b of the sensitive values, where each block is one of them; None where their counts are not such.
    """
    if noise is None and not domain.clear_count:
        return []
    blocks = np.zeros(domain.sensitive_count) if noise is None else tally.support.astype(np.float64)
    of_blocks = np.broadcast_to(np.asarray(np.nan if noise is None else noise), domain.sensitive_count)
    counts = domain.arrange(blocks, tally.clear.astype(np.float64))
    bases = domain.arrange(np.array(of_blocks), np.zeros(domain.clear_count))
    return [CountedSums(counts, bases, partial(_binomial, tally.n, truth))]


def _binomial(n: int, truth: float, counts: FloatArray, bases: FloatArray) -> BinomialCounts:
    return BinomialCounts(np.rint(counts).astype(np.int64), n, bases, truth)


def block_sums(
    domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, collected: tuple[int, float], linear: FloatArray
) -> list[CountedSums]:
    """Return the estimates of the values that blocks cover, with the law of sums of some of them, not of all.

    Args:
        domain: the values.
        law: of the blocks.
        numbers: of the decoder.
        collected: n, and the estimate of p(X_S).
        linear: ``(|X|,)`` estimates.
    """
    parts = [] if domain.sensitive_count < 2 else _alike_blocks(law, numbers)
    if not parts:
        return []
    n, mass = collected[0], min(max(collected[1], 0.0), 1.0)
    bases = np.where(domain.sensitive, 1.0, np.nan)
    return [CountedSums(linear, bases, partial(_summed_worths, parts, n, mass), domain.sensitive_count - 1)]


def _summed_worths(
    parts: list[AlikeBlocks], n: int, mass: float, estimates: FloatArray, counts: FloatArray
) -> MeanWorths:
    return MeanWorths(estimates, n, *sum_moments(parts, np.rint(counts), mass), mass)


def _alike_blocks(law: BlockLaw, numbers: LinearDecoder | Design) -> list[AlikeBlocks]:
    """Return the worths of reports to values that are alike, by block size for a design; nothing for other laws."""
    if isinstance(numbers, Design):
        silent = numbers.clear_worth[0] if numbers.instance.clear_size else 0.0
        return [
            AlikeBlocks(
                1 - numbers.noise(k),
                numbers.noise(k),
                _joint(partial(joint_share, numbers.size, k)),
                (*numbers.block_worth(k)[:2], silent),
                share,
            )
            for k, share in numbers.weights.items()
        ]
    if law.joint_inclusion(1) is None or numbers.clear_blocks or numbers.pool_bias:
        return []
    inside, outside, silent = (float(each) for each in numbers.worth)
    return [AlikeBlocks(numbers.truth, numbers.noisy, _joint(law.joint_inclusion), (inside, outside, silent))]


def _joint(inclusion: Callable[[int], Fraction | None]) -> tuple[float, float, float, float]:
    one, two, three, four = (float(inclusion(count) or 0) for count in range(1, 5))
    return one, two, three, four
