"""Simulated tallies of people with known values, drawn from the exact joint distribution without reports.

For blocks of single values or independent bits, the joint distribution consists of a few binomials and multinomials. So
a draw costs O(|X|) for any number of people. Every other law makes real reports and counts them. Either way the result
is a simulation and marked as one.
"""

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.random import SeededRandom
from discreet.core.tally import Tally
from discreet.errors import DataError
from discreet.mechanisms import BlockMechanism


def can_draw(mechanism: BlockMechanism) -> bool:
    """Return true if the law can draw a tally without reports."""
    return hasattr(mechanism.law, "draw_support")


def draw_tally(mechanism: BlockMechanism, counts: AnyArray, generator: np.random.Generator) -> Tally:
    """Return the tally of one simulated report per person, drawn without reports if the law allows it.

    Probabilities are the sampler's own integers, rounded to 53 bits.

    Args:
        mechanism: the mechanism of the reports.
        counts: ``(|X|,)`` number of people with each value.
        generator: the random generator of the simulation.

    Raises:
        DataError: if the counts are not one integer of at least 0 per value.
    """
    people = checked_counts(counts, mechanism.domain.size)
    if not can_draw(mechanism):
        random = SeededRandom(int(generator.integers(1 << 62)))
        return mechanism.tally(mechanism.obfuscate_codes(np.repeat(np.arange(len(people)), people), random=random))
    domain, n, law = mechanism.domain, int(people.sum()), mechanism.law
    truthful: IntArray = generator.binomial(people, mechanism.coefficients.truth)
    truth, clear = truthful[domain.sensitive_codes], truthful[domain.clear_codes]
    support = truth
    if domain.sensitive_count and hasattr(law, "draw_support"):
        support = law.draw_support(truth, mechanism.block_count(n, int(clear.sum())), generator)
    return Tally(mechanism.fingerprint, n, support, clear, simulated=True)


def checked_counts(counts: AnyArray, size: int) -> IntArray:
    """Return the numbers of people as ``(size,)`` integers.

    Raises:
        DataError: if they are not one integer of at least 0 per value.
    """
    people = np.asarray(counts)
    if people.shape != (size,) or people.dtype.kind not in "iu" or (people < 0).any():
        raise DataError("counts.not-whole", argument="counts", size=size, shape=people.shape, dtype=people.dtype)
    return people.astype(np.int64)
