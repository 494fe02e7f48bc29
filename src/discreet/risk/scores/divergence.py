"""The divergence D(f_G || f_I) between genuine and impostor scores, from samples [Wang, Kulkarni and Verdu 2009].

With n genuine and m impostor scores, and rho and nu the distances from a genuine score to its neighbours among the
other genuine and among the impostor scores,

    fixed:        mean of ln(nu_k / rho_k), plus ln(m / (n - 1))                                    [eq. (5) there],
    generalized:  the neighbours within one radius, the larger of rho_k and nu_k, for both samples:
                  mean of ln(nu / rho) + psi(l) - psi(k), plus ln(m / (n - 1))                      [sec. III there].

Scores have *atoms*: all candidates without a common feature have the same score, and distance 0 has no logarithm. By
the chain rule the divergence is that of the distribution over the atoms and their complement, from counts, plus
P_G(complement) times that of the other scores, by neighbours. The estimate from counts is

    sum of X/n (psi(X) - psi(n) + psi(m + 1) - psi(Y + 1))        [Zhang and Grabchak 2014, in closed form]

with X and Y the counts of an atom: unlike that of the plug-in estimate its bias vanishes exponentially, and it stays
finite where Y = 0.

Scores on a *lattice* (rounded, or in fixed point) collide by chance, and taking every collision for an atom biases the
answer upwards, by 0.6 nats and more. So where many light atoms are found, the line is cut into intervals with about
sqrt(n)/2 genuine scores each, which are counted like atoms [Wang, Kulkarni and Verdu 2005]: at most the divergence, up
to noise, and the same for any increasing function of the scores.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, isqrt, log
from typing import Any

from discreet.core.checks import checked_choice, checked_level, checked_whole
from discreet.core.random import RandomSource, checked_source
from discreet.kernels.traces import neighbours
from discreet.risk.scores.half_samples import around, half_sample_spread
from discreet.risk.scores.information import MUCH_BEYOND, Information, bits
from discreet.risk.scores.samples import Overlap, Sample, ScoreCounts, sample_of

NAME = "D(f_G || f_I)"
METHODS = ("generalized", "fixed", "partition")
_LIGHT = 20
_LATTICE_SHARE = 0.002
_LEAST_PER_CELL = 5
_SUMS: dict[str, Callable[..., float]] = {
    "generalized": neighbours.generalized_sum,
    "fixed": neighbours.fixed_sum,
}


def divergence(
    genuine: Any,
    impostors: Any,
    *,
    method: str = "generalized",
    halves: int = 100,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> Information:
    """Return an estimate of D(f_G || f_I), the PSE of [PIE]; *not* a lower bound on the PIE for finitely many users.

    Args:
        genuine: ``(n,)`` scores, n >= 2; floats or fixed-point integers.
        impostors: ``(m,)`` scores, m >= 1.
        method: ``generalized`` or ``fixed`` nearest neighbours, which give way to ``partition`` on a lattice.
        halves: how many half-samples the interval takes; 0 for no interval.
        level: confidence of the interval.
        random: chooses the half-samples; None for fresh words.

    Returns:
        The estimate, at most H_m = 1 + 1/2 + ... + 1/m nats: finite whatever the scores are. Where more than 1% of the
        genuine scores lie beyond all impostor scores, the upper limit of its interval is infinite.

    Raises:
        DataError: if there are too few scores, or they are not finite.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> genuine, impostors = [50 + i for i in range(100)], [i % 100 for i in range(1000)]
        >>> information = divergence(genuine, impostors, halves=0, random=dc.SeededRandom(1))
        >>> round(information.bits, 1), information.bounds_pie
        (3.1, False)
    """
    checked_choice("method", method, METHODS)
    level, halves = checked_level(level), checked_whole("halves", halves, 0)
    sample = sample_of(genuine, impostors)
    statistic, told = chosen_estimator(sample, method)
    error = None
    if halves > 1:
        error = half_sample_spread(statistic, sample, halves=halves, random=checked_source(random))
    return described(statistic(sample), error, (sample.n, sample.m), told, level=level, overlap=sample.overlap)


def divergence_of_counts(counts: ScoreCounts, *, level: float = 0.95) -> Information:
    """Return an estimate of D(f_G || f_I) from impostor scores counted between genuine ones; no interval."""
    sizes = counts.n, counts.m
    return described(
        partition_nats(counts), None, sizes, "a partition", level=checked_level(level), overlap=counts.overlap
    )


def described(
    nats: float, error: float | None, sizes: tuple[int, int], method: str, *, level: float, overlap: Overlap
) -> Information:
    """Return D(f_G || f_I) with its interval, limited at the cap, and its description.

    Where genuine scores lie beyond all impostor scores, nothing shows how rare an impostor is there: the estimate is
    too low by an amount that no half-sample tells of, and only the lower limit holds.
    """
    n, m = sizes
    cap = harmonic(m)
    # At the cap the spread is none, and says nothing.
    limits = around(nats, error, level) if nats < cap else None
    interval = None
    if limits is not None:
        high = inf if overlap.beyond > MUCH_BEYOND else min(max(limits[1], 0.0), cap)
        interval = bits(max(limits[0], 0.0)), bits(high)
    found = Information(NAME, bits(min(nats, cap)), interval, level, method, n, m, bounds_pie=False)
    return replace(found, capped=nats >= cap, separated=overlap.separated, beyond=overlap.beyond)


def partition_nats(counts: ScoreCounts) -> float:
    """Return D(f_G || f_I) in nats from bins, joined until each has about sqrt(n)/2 genuine scores."""
    starts = neighbours.group_bins(counts.genuine, max(isqrt(counts.n) // 2, _LEAST_PER_CELL))
    cells = counts.grouped(starts)
    return _counted(neighbours.counted_sum(cells.genuine, cells.impostors), counts.n, (counts.n, counts.m))


def harmonic(m: int) -> float:
    """Return the harmonic number H_m, the cap of the estimate with m impostor scores."""
    return neighbours.digamma(m + 1.0) - neighbours.digamma(1.0)


def chosen_estimator(sample: Sample, method: str) -> tuple[Callable[[Sample], float], str]:
    """Return the estimator of D(f_G || f_I) in nats for this sample and its halves, and its name.

    The estimates are finite, with neither interval nor cap.
    """
    if method == "partition":
        return _by_partition, "a partition"
    _, on_light, lights, _, _ = neighbours.take_atoms(sample.genuine, sample.impostors, 1, _LIGHT)
    if lights >= _LIGHT and on_light > _LATTICE_SHARE * sample.n:
        return _by_partition, "a partition (the scores lie on a lattice)"
    return partial(_by_neighbours, kind=method), f"{method} nearest neighbours"


def _by_partition(sample: Sample) -> float:
    return partition_nats(ScoreCounts.of_sample(sample))


def _by_neighbours(sample: Sample, kind: str) -> float:
    (n, m), k = (sample.n, sample.m), 1
    total, _, _, genuine, impostors = neighbours.take_atoms(sample.genuine, sample.impostors, k, _LIGHT)
    if min(len(genuine) - 1, len(impostors)) < k:
        # No neighbour to look at: whatever is left counts as atoms too.
        k = 0
        total, _, _, genuine, impostors = neighbours.take_atoms(sample.genuine, sample.impostors, k, _LIGHT)
    found = _counted(total, n - len(genuine), (n, m))
    if not k:
        return found
    rest = len(genuine), len(impostors)
    found += rest[0] / n * _counted_once(rest, (n, m))
    by_neighbours = _SUMS[kind](genuine, impostors, k) / rest[0] + log(rest[1] / (rest[0] - 1))
    return found + rest[0] / n * by_neighbours


def _counted(total: float, counted: int, sizes: tuple[int, int]) -> float:
    """Return the divergence of atoms from the sum of X (psi(X) - psi(Y + 1)), with X adding up to ``counted``."""
    n, m = sizes
    return (total + counted * (neighbours.digamma(m + 1.0) - neighbours.digamma(float(n)))) / n


def _counted_once(counts: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return ln of the ratio of an atom's probabilities."""
    (x, y), (n, m) = counts, sizes
    own = neighbours.digamma(float(x)) - neighbours.digamma(float(n))
    return own + neighbours.digamma(m + 1.0) - neighbours.digamma(y + 1.0)
