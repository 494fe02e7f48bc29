"""Variational bounds on information, in nats, from a function L of a score fitted to other probes."""

from dataclasses import dataclass
from math import log, log1p, sqrt

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.random import RandomSource, fresh_words
from discreet.risk.scores.information import normal_quantile
from discreet.risk.scores.likelihood_ratio import fitted_levels
from discreet.risk.scores.scores import Scores

FOLDS = 5
_NO_DIVISION = 1e-6

Fold = tuple[FloatArray, FloatArray, FloatArray]
"""``(n,)`` each: ln L of the genuine score of a probe, T, and its weight."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over probes, in nats, with the numbers that its limits need.

    Attributes:
        nats: the mean.
        error: its standard error.
        lowest: the least value that a probe unlike the observed ones may have.
        n: number of probes.
        unseen: the relative increase of the mean of L that each unobserved impostor may cause.
    """

    nats: float
    error: float
    lowest: float
    n: float
    unseen: float = 0.0

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray, users: int) -> "Mean":
        """Return the weighted mean of ``(n,)`` values, one per probe."""
        shares = weights / weights.sum()
        # At worst one probe misleads by as much as the best can tell.
        lowest = min(float(values.min()), -log(users))
        return cls(float(shares @ values), _error(values, shares), lowest, 1 / float(shares @ shares))

    def limits(self, level: float) -> tuple[float, float]:
        """Return the mean -+ z standard errors, but with room below for what n probes cannot exclude.

        Something that none of n has may still have a probability of -ln((1 - level)/2) / n (the rule of three), and a
        spread of 0 over few probes is no certainty.
        """
        reach, odds = normal_quantile(level) * self.error, -log((1 - level) / 2)
        room = min(odds / self.n, 1.0) * (self.nats - self.lowest), log1p(odds * self.unseen)
        return self.nats - max(reach, *room), self.nats + reach


def variational(fold: Fold) -> FloatArray:
    """Return values, one per probe, whose mean is the bound by D(f_G || f_mix), in nats."""
    logs, totals, weights = fold
    shares = weights / weights.sum()
    mean = float(shares @ totals)
    # The logarithm of a mean is low by half the squared relative error, which would flatter the bound.
    low = (_error(totals, shares) / mean) ** 2 / 2
    return logs - log(mean) - low - (totals / mean - 1)


def contrastive(fold: Fold) -> FloatArray:
    """Return values, one per probe, whose mean is InfoNCE, in nats."""
    logs, totals, _ = fold
    return logs - np.log(totals)


def _error(values: FloatArray, shares: FloatArray) -> float:
    """Return the standard error of a weighted mean of independent values."""
    fewer = max(1 - float(shares @ shares), _NO_DIVISION)
    return sqrt(float(shares**2 @ (values - shares @ values) ** 2) / fewer)


def certified(scores: Scores, users: int, random: RandomSource) -> Mean:
    """Return the bound by D(f_G || f_mix) from counts divided among folds."""
    folds, bins = min(FOLDS, scores.n), scores.bins()
    below = scores.m - int(bins[1].sum())
    genuine = _genuine_folds(bins[0], folds, random)
    impostors = _impostor_folds(np.concatenate([[below], bins[1]]), folds, random)
    parts = [_held_out(bins, scores.m, (genuine[fold], impostors[fold]), users) for fold in range(folds)]
    shares = np.array([part.sum() for part in genuine]) / scores.n
    nats = float(shares @ [part.nats for part in parts])
    # Over all probes: what differs between the folds is part of the spread.
    spread = sum(
        share * (part.error**2 * part.n + (part.nats - nats) ** 2) for share, part in zip(shares, parts, strict=True)
    )
    lowest, unseen = min(part.lowest for part in parts), max(part.unseen for part in parts)
    return Mean(nats, sqrt(spread / max(scores.n - 1, 1)), lowest, scores.n, unseen)


def _held_out(bins: IntArray, total: int, held: tuple[IntArray, IntArray], users: int) -> Mean:
    """Return the bound on some counts, with L fitted to all other ones.

    Args:
        bins: ``(2, b)`` genuine and impostor scores of all folds.
        total: impostor scores of all folds, those below all bins included.
        held: ``(b,)`` genuine scores held out, and ``(1 + b,)`` impostor scores, those below all bins first.
        users: N.
    """
    genuine, impostors = held
    n, m = int(genuine.sum()), int(impostors.sum())
    starts, levels = fitted_levels(bins[0] - genuine, bins[1] - impostors[1:], max(total - m, 1), users)
    steps = np.searchsorted(starts, np.arange(-1, len(genuine)), "right")
    if not m:
        # Too few to be shared out: all of them stand in.
        impostors, m = np.concatenate([[total - bins[1].sum()], bins[1]]), total
    own, others = np.bincount(steps[1:], genuine, len(levels)) / n, np.bincount(steps, impostors, len(levels)) / m
    mean, logs, rest = float(levels @ own) / users, np.log(levels), 1 - 1 / users
    mean += rest * float(levels @ others)
    second = _variance(rest * levels / mean, others) / m
    # As in `variational`; the genuine scores are a small part of the mixture.
    nats = float(logs @ own) - log(mean) - second / 2
    # In a matrix of scores a probe that misses its own user hits others, so that its part of the mixture does not vary
    # as it would alone: the larger of the two spreads is safe.
    spread = max(_variance(logs - levels / (users * mean), own), _variance(logs, own))
    error = sqrt(spread / n + second)
    return Mean(nats, error, float(logs.min()) - log(mean), n, rest * float(levels.max()) / (mean * total))


def _variance(values: FloatArray, shares: FloatArray) -> float:
    return float((values - values @ shares) ** 2 @ shares)


def _genuine_folds(counts: IntArray, folds: int, random: RandomSource) -> list[IntArray]:
    """Return folds of ``(b,)`` counts of genuine scores, of even size, in random order."""
    bins, parts = np.repeat(np.arange(len(counts)), counts), even_folds(int(counts.sum()), folds, random)
    return [np.bincount(bins[parts == fold], minlength=len(counts)) for fold in range(folds)]


def _impostor_folds(counts: IntArray, folds: int, random: RandomSource) -> AnyArray:
    """Return ``(folds, 1 + b)`` counts of random folds of ``(1 + b,)`` counts of impostor scores."""
    generator = np.random.Generator(np.random.PCG64(fresh_words(random, 4).tolist()))
    return generator.multinomial(counts, np.full(folds, 1 / folds)).T


def even_folds(count: int, folds: int, random: RandomSource) -> IntArray:
    """Return ``(count,)`` random folds, as even as possible."""
    order = np.argsort(fresh_words(random, count), kind="stable")
    parts = np.empty(count, dtype=np.int64)
    parts[order] = np.arange(count) % folds
    return parts
