"""A block mechanism as a matrix: every block of its alphabet, then every value that may go in clear."""

import numpy as np

from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.arrays import BoolArray, FloatArray
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw

MOST_ENTRIES = 20_000_000
"""Of a matrix that is spelled out."""


def spelled(domain: Domain, law: BlockLaw, numbers: LinearDecoder) -> FloatArray:
    """Return the matrix Q(y|x), rows in the domain's order.

    Raises:
        ParameterError: if it would be too large, or its reports have two parts.
    """
    if numbers.clear_blocks:
        raise ParameterError("a mechanism with clear_bits has reports of two parts; spell out the one without.")
    weights, contained = _alphabet(domain, law)
    blocks = np.broadcast_to(numbers.noisy * weights, (domain.size, len(weights))).copy()
    told = np.where(contained.T, numbers.truth * weights / np.reshape(numbers.inclusion, (-1, 1)), 0.0)
    blocks[domain.sensitive_codes] += told[: domain.sensitive_count]
    in_clear = np.zeros((domain.size, domain.clear_count))
    in_clear[domain.clear_codes, np.arange(domain.clear_count)] = numbers.truth
    return np.hstack([blocks, in_clear])


def is_small(domain: Domain, law: BlockLaw) -> bool:
    """Return true if the matrix is small enough to be spelled out."""
    return (law.alphabet_size + domain.clear_count) * domain.size <= MOST_ENTRIES


def _alphabet(domain: Domain, law: BlockLaw) -> tuple[FloatArray, BoolArray]:
    if not is_small(domain, law):
        # The number itself may be too large even for a float.
        raise ParameterError(
            f"only matrices of up to {MOST_ENTRIES:g} entries are spelled out; this mechanism's has more, "
            f"for {domain.size} values."
        )
    blocks, weights = law.alphabet()
    return weights.astype(np.float64), law.contains(blocks)
