"""Simulated devices, and tallies drawn from their joint law.

Tallies of people whose values are known, drawn from their joint law instead of counted from reports.

Where blocks are single values or independent bits (of one probability or of one for each value) the tally's joint law
is a few binomials and multinomials, so that drawing it costs O(|X|) for any number of people. Every other law makes
real reports and counts them. Either way the result is a simulation and marked as one.

Simulated devices: frames of marked reports, for load and for the demonstration, drawn many at once.
"""

from collections.abc import Iterator

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.random import SeededRandom, fresh_words, uniform_below
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.protocol.collection import Collection, rebuild
from discreet.protocol.frames import HEAD_BYTES, ID_BYTES, LARGEST_FRAME, MOST_REPORTS, Frame


def can_draw(mechanism: BlockMechanism) -> bool:
    """Return true if the law can draw a tally from its joint law."""
    return mechanism.law.has_joint_law


def draw_tally(mechanism: BlockMechanism, counts: AnyArray, generator: np.random.Generator) -> Tally:
    """Return the tally of one report from each person, drawn from its exact joint law where the law has one.

    Probabilities are the sampler's own integers, as 53-bit numbers.

    Args:
        mechanism: what would make the reports.
        counts: ``(|X|,)`` how many people have each value.
        generator: the randomness of the simulation.

    Raises:
        DataError: if the counts are not one whole number of at least 0 per value.
    """
    people = checked_counts(counts, mechanism.domain.size)
    if not can_draw(mechanism):
        random = SeededRandom(int(generator.integers(1 << 62)))
        return mechanism.tally(mechanism.obfuscate_codes(np.repeat(np.arange(len(people)), people), random=random))
    domain, n = mechanism.domain, int(people.sum())
    truthful: IntArray = generator.binomial(people, mechanism.numbers.truth)
    truth, clear = truthful[domain.sensitive_codes], truthful[domain.clear_codes]
    support = truth
    if domain.sensitive_count:
        support = mechanism.law.draw_support(truth, mechanism.block_count(n, int(clear.sum())), generator)
    return Tally(mechanism.fingerprint, n, support, clear, simulated=True)


def checked_counts(counts: AnyArray, size: int) -> IntArray:
    """Return counts of people as ``(size,)`` integers.

    Raises:
        DataError: if they are not one whole number of at least 0 per value.
    """
    people = np.asarray(counts)
    if people.shape != (size,) or people.dtype.kind not in "iu" or (people < 0).any():
        raise DataError(
            f"counts must be {size} whole numbers of at least 0, got shape {people.shape} of type {people.dtype}."
        )
    return people.astype(np.int64)


def chosen(codes: IntArray, devices: int, random: SeededRandom) -> IntArray:
    """Return the codes of so many devices, each that of a row of the table, with replacement."""
    rows: IntArray = codes[uniform_below(len(codes), devices, random).astype(np.int64)]
    return rows


def frames(
    collection: Collection, codes: IntArray, epoch: int, random: SeededRandom, *, most: int = MOST_REPORTS
) -> Iterator[bytes]:
    """Return an iterator over frames with a report for each code.

    Args:
        collection: a simulated one.
        codes: ``(n,)`` codes of the sampler, one for each device.
        epoch: of all reports.
        random: the source of words.
        most: reports of a frame; at most what frames may hold.

    Raises:
        ParameterError: if the collection is not simulated, or has no such epoch.
    """
    if not collection.simulated:
        raise ParameterError(
            "only a simulated collection takes reports of simulated devices; sign it with --simulated."
        )
    if not 0 <= epoch < collection.epochs.count:
        raise ParameterError(f"epoch must be in 0..{collection.epochs.count - 1}, got {epoch}.")
    mechanism, codec = rebuild(collection), collection.sampler.codec
    room = (LARGEST_FRAME - HEAD_BYTES) // (ID_BYTES + codec.width)
    batches = mechanism.obfuscate_batches(codes, size=min(most, MOST_REPORTS, room), random=random)
    return (
        Frame(
            collection.id,
            epoch,
            fresh_words(random, 2 * reports.n).view(np.uint8).reshape(reports.n, ID_BYTES),
            codec.encode(reports),
        ).pack()
        for reports in batches
    )
