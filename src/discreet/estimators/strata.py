"""Strata of people: sums of their reports' worths and of squared worths, from which combined estimates are made."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.batches import in_both
from discreet.core.digests import equal_by_chance
from discreet.core.grouped_tally import DIGIT, WeightedTally
from discreet.core.tally import Tally
from discreet.mechanisms.decoders import Decoder

# Chance of equal reports of other people, below which they are the same people's.
_RARE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """The moments of one stratum of people, with weights w that may all be 1.

    Attributes:
        people: number of reports.
        weight: sum of w.
        squares: sum of w^2.
        mean: ``(|X|,)`` mean worth, weighted by w: the linear estimate.
        square_mean: ``(|X|,)`` mean worth, weighted by w^2.
        mean_square: ``(|X|,)`` mean squared worth, weighted by w^2.
        lasting: ``(|X|,)`` variance of the pool bias; see `discreet.accuracy.pool_bias`.
        moments: ``(A, B)``, each ``(|X|,)``, such that the variance of one report's worth is A + B p - p^2.
        simulated: whether any report was simulated.
        squared_weights: tallies in which reports count as w^2 says, each times a number; none is empty.
    """

    people: int
    weight: float
    squares: float
    mean: FloatArray
    square_mean: FloatArray
    mean_square: FloatArray
    lasting: FloatArray
    moments: tuple[FloatArray, FloatArray]
    simulated: bool
    squared_weights: tuple[tuple[float, Tally], ...]

    def squares_about(self, centre: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` sums of w^2 (worth - centre)^2 over the reports, unbiased for a known centre."""
        return self.squares * (self.mean_square - 2 * centre * self.square_mean + centre**2)


def stratum_of(decoder: Decoder, counts: Tally | WeightedTally) -> Stratum:
    """Return the moments of a tally, weighted or not; errors as for `Decoder.estimate`."""
    if isinstance(counts, Tally):
        weights, parts = counts, [(1.0, counts)]
    else:
        low, high = counts.squares
        weights, parts = counts.weights, [(factor, one) for factor, one in ((1.0, low), (2.0**DIGIT, high)) if one.n]
    mean = decoder.estimate(weights)
    constant, slope = decoder.second_moments(weights, mean)
    lasting = decoder.pool_bias_variance(weights, mean)
    total = sum(factor * part.n for factor, part in parts)
    square_mean, mean_square = np.zeros(len(mean)), np.zeros(len(mean))
    for factor, part in parts:
        share, own = factor * part.n / total, mean if part is weights else decoder.estimate(part)
        square_mean += share * own
        mean_square += share * decoder.mean_squares(part, own)
    moments, squared = (constant - weights.n * lasting, slope), tuple(parts)
    return Stratum(
        _people(counts), weights.n, total, mean, square_mean, mean_square, lasting, moments, weights.simulated, squared
    )


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """The strata of a batch, one at a time: for large domains they do not fit into memory together.

    Attributes:
        decoder: the linear decoder.
        counts: a tally of each stratum, none of which is empty; one for people who were all drawn alike.
        parts: tallies of some of these people, such as those of each group, by which they are recognised.
    """

    decoder: Decoder
    counts: tuple[Tally | WeightedTally, ...]
    parts: Iterable[Tally | WeightedTally] = ()

    def __iter__(self) -> Iterator[Stratum]:
        return (stratum_of(self.decoder, counts) for counts in self.counts)

    @property
    def weights(self) -> FloatArray:
        """``(k,)`` sums of the weights of the strata."""
        return np.array([float(one.n if isinstance(one, Tally) else one.weights.n) for one in self.counts])

    def shared_with(self, others: "Strata") -> int:
        """Return the number of reports of a tally that both have counted, as far as tallies tell; 0 if there is none.

        Reports are recognised by the tally, by the names and digests of sealed batches, and by the digest of all others
        unless so few are equal by chance now and then.
        """
        one, other = ((*each.counts, *each.parts) for each in (self, others))
        same = {id(counts) for counts in other}
        numbers = [_people(counts) for counts in one if id(counts) in same]
        # Digests of two plans have two keys.
        tallies, others_tallies = ([each for each in side if isinstance(each, Tally)] for side in (one, other))
        sealed = [batch for each in others_tallies for batch in each.batches]
        rests = {(each.fingerprint, each.rest, each.rest_n) for each in others_tallies if each.rest is not None}
        for each in tallies:
            numbers.append(sum(batch.n for batch in in_both(each.batches, sealed)))
            if each.rest_n and (each.fingerprint, each.rest, each.rest_n) in rests and _chance(each) < _RARE:
                numbers.append(each.rest_n)
        return max(numbers, default=0)


def _people(counts: Tally | WeightedTally) -> int:
    return counts.n if isinstance(counts, Tally) else counts.people


def _chance(tally: Tally) -> float:
    """Return about the chance that other people's reports have the same counts."""
    if int(tally.support.sum()) + tally.clear_total == tally.n:
        return equal_by_chance(np.concatenate([tally.support, tally.clear]))
    # Blocks of several values, as if each value were in them by itself.
    chance = equal_by_chance(np.append(tally.clear, tally.n - tally.clear_total))
    for count in tally.support[tally.support <= tally.n].tolist():
        chance *= equal_by_chance(np.array([count, tally.n - count])) if chance >= _RARE else 1.0
    return chance
