"""Strata of people with known shares: their moments, and the post-stratified estimate.

A stratum of share W_h with weights w_i has the estimate m_h = sum(w_i phi_i) / sum(w_i), with phi_i the contributions
of its reports. The estimate of all strata is sum(W_h m_h), with the variance sum(W_h^2 v_h), where
v_h = sum(w_i^2 (phi_i - m_h)^2) / sum(w_i)^2. Covariances have products of contributions. A weighted sample is one
stratum.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.batches import NamedBatch
from discreet.core.tally import Tally, WeightedTally
from discreet.mechanisms import Mechanism
from discreet.mechanisms.contributions import LowRank, ReportLaw, plausible
from discreet.mechanisms.mechanism import Decoder
from discreet.results.estimate import Estimate
from discreet.results.uncertainty import ValueUncertainty
from discreet.theory.binomial import ContributionMeans, ContributionMoment
from discreet.theory.limits import all_agree, larger_of_few, plausible_variances


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """The moments of one stratum of people, with weights w that may all be 1.

    Attributes:
        people: number of reports.
        weight: sum of w.
        squares: sum of w^2.
        mean: ``(|X|,)`` mean contribution, weighted by w: the linear estimate.
        square_mean: ``(|X|,)`` mean contribution, weighted by w^2.
        moments: ``(A, B)``, each ``(|X|,)``, such that the variance of one report's contribution is A + B p - p^2.
        simulated: whether any report was simulated.
        weighted: whether people have weights.
    """

    people: int
    weight: float
    squares: float
    mean: FloatArray
    square_mean: FloatArray
    moments: tuple[FloatArray, FloatArray]
    simulated: bool
    weighted: bool


def stratum_of(decoder: Decoder, counts: Tally | WeightedTally) -> Stratum:
    """Return the linear estimate of a tally and its moments; exceptions as for `Decoder.estimate`."""
    weights, parts = counts.weights, counts.square_parts
    mean = decoder.estimate(weights)
    total = sum(factor * part.n for factor, part in parts)
    square_mean = np.zeros(len(mean))
    for factor, part in parts:
        square_mean += factor * part.n / total * (mean if part is weights else decoder.estimate(part))
    moments, facts = decoder.second_moments(weights, mean), (weights.simulated, weights is not counts)
    return Stratum(counts.people, weights.n, total, mean, square_mean, moments, *facts)


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """The strata of a batch, computed one at a time, because for large domains they need much memory.

    Attributes:
        decoder: the linear decoder.
        counts: a tally of each stratum, never empty; a single tally for a sample without strata.
        parts: a function that returns tallies of some of these people, for example of each group, by which the same
            people are recognised.
    """

    decoder: Decoder
    counts: tuple[Tally | WeightedTally, ...]
    parts: Callable[[], Iterable[Tally | WeightedTally]] = tuple

    def __iter__(self) -> Iterator[Stratum]:
        return (stratum_of(self.decoder, counts) for counts in self.counts)

    def shared_with(self, others: "Strata") -> int:
        """Return the number of reports that both strata are known to have counted."""
        ours, theirs = ((*each.counts, *each.parts()) for each in (self, others))
        same = {id(counts) for counts in theirs}
        numbers = [counts.people for counts in ours if id(counts) in same]
        known = {key: batch for each in theirs for key, batch in _batches(each).items()}
        for each in ours:
            both = [(batch, known[key]) for key, batch in _batches(each).items() if key in known]
            # Two parts of a batch may belong to different people.
            numbers.append(sum(max(left.n + right.n - max(left.size, right.size), 0) for left, right in both))
        return max(numbers, default=0)


def _batches(counts: Tally | WeightedTally) -> Mapping[tuple[str, str], NamedBatch]:
    """Return the batches of a tally, as a mapping from the plan and the batch's name."""
    return {(counts.weights.fingerprint, batch.name): batch for batch in counts.batches}


def combine(mechanism: Mechanism, strata: Strata, shares: FloatArray, method: str) -> Estimate:
    """Return the estimate of all strata: the sum of each share times the stratum's estimate.

    Args:
        mechanism: the mechanism of the reports.
        strata: k strata of different people.
        shares: ``(k,)`` shares of the strata in the population, with the sum 1.
        method: name of the method.
    """
    people, squares, simulated = 0, 0.0, False
    frequencies = variance = constant = slope = np.zeros(1)
    for stratum, share in zip(strata, shares.tolist(), strict=True):
        factor, free = share / stratum.weight, stratum.people / max(stratum.people - 1, 1)
        people += stratum.people
        squares += factor**2 * stratum.squares
        simulated |= stratum.simulated
        frequencies = frequencies + share * stratum.mean
        # The sum of w^2 (contribution - mean)^2 over the reports.
        mean_square = stratum.moments[0] + stratum.moments[1] * stratum.square_mean
        away = stratum.squares * (mean_square - 2 * stratum.mean * stratum.square_mean + stratum.mean**2)
        variance = variance + factor**2 * free * away
        constant, slope = constant + share * stratum.moments[0], slope + share * stratum.moments[1]
    # The number of equally weighted reports with the same information [Kish].
    effective, moments = 1 / squares, (constant, slope)
    errors: FloatArray = np.sqrt(np.maximum(variance, 0))
    # Where all reports agree, plausible errors.
    few = all_agree(errors, effective) & (len(errors) > 1)
    plausible = plausible_variances(frequencies, moments, effective) if few.any() else errors
    errors = larger_of_few(errors, np.sqrt(plausible), few)
    model = moments[0] + slope * frequencies - frequencies**2
    least = np.finfo(float).tiny
    # The number of equally weighted reports with the same variance.
    alike = np.where((model > least) & (errors > 0), model / np.maximum(errors**2, least), effective)
    return Estimate(
        mechanism.domain,
        frequencies,
        errors,
        people,
        method,
        mechanism.fingerprint,
        simulated=simulated,
        intervals=ValueUncertainty.of(
            ContributionMeans(frequencies, np.maximum(alike, 1), ContributionMoment(*moments)),
            frequencies,
            lambda: _law(mechanism, strata, shares, frequencies),
        ),
        people=strata,
    )


def _law(mechanism: Mechanism, strata: Strata, shares: FloatArray, frequencies: FloatArray) -> ReportLaw:
    """Return the sampling distribution of a sum over strata.

    Let c_h be the squared share of a stratum times sum(w^2) / sum(w)^2. The result is approximately the distribution
    for 1 / sum(c_h) equally weighted reports. Errors exclude differences between strata: the sum of
    c_h ((m_h - p_hat) . w)^2 is subtracted from the variance.
    """
    parts, rows = [], []
    for stratum, share in zip(strata, shares.tolist(), strict=True):
        parts.append((share / stratum.weight) ** 2 * stratum.squares * stratum.people / max(stratum.people - 1, 1))
        rows.append(stratum.mean - frequencies)
    domain, contributions = mechanism.domain, mechanism.decoder.sum_contributions
    between = LowRank(np.array(rows), -np.diag(parts)) if len(parts) > 1 else None
    n = 1 / sum(parts)
    return ReportLaw(contributions, plausible(domain, frequencies), n, frequencies, domain.sensitive, lasting=between)
