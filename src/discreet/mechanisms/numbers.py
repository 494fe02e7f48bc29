"""The truth threshold of a block law with promises, its decoder, and the law with the least error."""

from collections.abc import Sequence
from typing import TypeVar

from discreet.accuracy.beside_clear import DecoderBesideClear
from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.accuracy.pool_bias import PoolBias
from discreet.core.domain import Domain
from discreet.core.exact import truth_threshold
from discreet.core.random import WORD_RANGE
from discreet.mechanisms.block_law import BlockLaw, by_group

Law = TypeVar("Law", bound=BlockLaw)


def threshold_of(promises: tuple[float, ...], law: BlockLaw) -> int:
    """Return S, the largest truth threshold over 2^64 that keeps every group's promise."""
    return min(truth_threshold(epsilon, pi) for epsilon, pi in zip(promises, law.inclusions, strict=True))


def numbers_of(domain: Domain, law: BlockLaw, threshold: int, clear_blocks: bool = False) -> LinearDecoder:
    """Return the linear decoder of truth or noise."""
    kind = DecoderBesideClear if clear_blocks else LinearDecoder
    return kind(
        domain.sensitive_count,
        domain.clear_count,
        threshold / WORD_RANGE,
        (WORD_RANGE - threshold) / WORD_RANGE,
        by_group(law.inclusions, law.groups),
        by_group(law.conditional_inclusions, law.groups),
        PoolBias.of(law.conditional_inclusions[0], *law.conditional_variation),
    )


def least_worst(domain: Domain, epsilon: float, laws: Sequence[Law]) -> Law:
    """Return the law with the least worst-case error; the first of several such."""
    promise = (epsilon,)
    return min(laws, key=lambda law: numbers_of(domain, law, threshold_of(promise, law)).worst_case_mse(1))
