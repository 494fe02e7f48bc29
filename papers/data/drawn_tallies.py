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
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.laws.bits import IndependentBits
from discreet.mechanisms.laws.singletons import Singletons


def can_draw(mechanism: BlockMechanism) -> bool:
    """Return true if the law can draw a tally without reports."""
    return isinstance(mechanism.law, Singletons | IndependentBits)


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
    if domain.sensitive_count:
        support = _with_noise(law, truth, mechanism.block_count(n, int(clear.sum())), generator)
    return Tally(mechanism.fingerprint, n, support, clear, simulated=True)


def _with_noise(law: BlockLaw, truth: IntArray, blocks: int, generator: np.random.Generator) -> IntArray:
    """Return the number of blocks that contain each value, given the numbers of truthful blocks."""
    if isinstance(law, Singletons):
        return truth + generator.multinomial(blocks - int(truth.sum()), np.full(law.size, 1 / law.size))
    # A truthful block always has its value's bit; noise sets the bits of all other values independently.
    return truth + generator.binomial(blocks - truth, float(law.inclusion))


def checked_counts(counts: AnyArray, size: int) -> IntArray:
    """Return the numbers of people as ``(size,)`` integers.

    Raises:
        DataError: if they are not one integer of at least 0 per value.
    """
    people = np.asarray(counts)
    if people.shape != (size,) or people.dtype.kind not in "iu" or (people < 0).any():
        raise DataError(
            f"counts must be {size} whole numbers of at least 0, got {people.dtype} of shape {people.shape}."
        )
    return people.astype(np.int64)
