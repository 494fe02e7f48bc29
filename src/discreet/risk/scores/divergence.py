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

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.checks import checked_choice, checked_level, checked_whole
from discreet.core.random import RandomSource, checked_source
from discreet.kernels.traces import neighbours
from discreet.risk.scores.half_samples import around, half_sample_spread
from discreet.risk.scores.information import MUCH_BEYOND, Information, bits
from discreet.risk.scores.scores import Scores, checked, counted

NAME = "D(f_G || f_I)"
METHODS = ("generalized", "fixed", "partition")
_PARTITION = "a partition"
_LIGHT = 20
_LATTICE_SHARE = 0.002
_LEAST_PER_CELL = 5
_SUMS: dict[str, Callable[..., float]] = {
    "generalized": neighbours.generalized_sum,
    "fixed": neighbours.fixed_sum,
}


Statistic = Callable[[AnyArray, AnyArray], float]
"""A function of ``(n,)`` genuine and ``(m,)`` impostor scores, both ascending."""


def divergence(
    scores: Scores,
    *,
    method: str = "generalized",
    halves: int = 100,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> Information:
    """Return an estimate of D(f_G || f_I), the PSE of [PIE]; *not* a lower bound on the PIE for finitely many users.

    Args:
        scores: genuine and impostor scores.
        method: ``generalized`` or ``fixed`` nearest neighbours, which give way to ``partition`` on a lattice, and where
            impostor scores were counted only.
        halves: how many half-samples the interval takes; 0 for no interval. Counts alone have none.
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
        >>> scores = Scores.of_pairs([50 + i for i in range(100)], [i % 100 for i in range(1000)])
        >>> information = divergence(scores, halves=0, random=dc.SeededRandom(1))
        >>> round(information.bits, 1), information.bounds_pie
        (3.1, False)
    """
    checked_choice("method", method, METHODS)
    level, halves = checked_level(level), checked_whole("halves", halves, 0)
    samples = checked(scores).samples
    if samples is None:
        return described(partition_nats(scores.bins(), scores.m), None, scores, _PARTITION, level=level)
    estimator, name = chosen_estimator(*samples, method)
    error = None
    if halves > 1:
        error = half_sample_spread(estimator, *samples, halves=halves, random=checked_source(random))
    return described(estimator(*samples), error, scores, name, level=level)


def described(nats: float, error: float | None, scores: Scores, method: str, *, level: float) -> Information:
    """Return D(f_G || f_I) with its interval, limited at the cap, and its description.

    Where genuine scores lie beyond all impostor scores, nothing shows how rare an impostor is there: the estimate is
    too low by an amount that no half-sample tells of, and only the lower limit holds.
    """
    cap, overlap = harmonic(scores.m), scores.overlap
    # At the cap the spread is none, and says nothing.
    limits = around(nats, error, level) if nats < cap else None
    interval = None
    if limits is not None:
        high = inf if overlap.beyond > MUCH_BEYOND else min(max(limits[1], 0.0), cap)
        interval = bits(max(limits[0], 0.0)), bits(high)
    estimate = Information(NAME, bits(min(nats, cap)), interval, level, method, scores.n, scores.m, bounds_pie=False)
    return replace(estimate, capped=nats >= cap, separated=overlap.separated, beyond=overlap.beyond)


def partition_nats(bins: IntArray, m: int) -> float:
    """Return D(f_G || f_I) in nats from `Scores.bins`, joined until each has about sqrt(n)/2 genuine scores."""
    n = int(bins[0].sum())
    starts = neighbours.group_bins(bins[0], max(isqrt(n) // 2, _LEAST_PER_CELL))
    genuine, impostors = np.add.reduceat(bins, starts, axis=1)
    own, others = genuine[genuine > 0], impostors[genuine > 0]
    return _of_atoms(float((own * _log_ratio(own, others)).sum()), n, (n, m))


def harmonic(m: int) -> float:
    """Return the harmonic number H_m, the cap of the estimate with m impostor scores."""
    return float(_log_ratio(m + 1, 0))


def chosen_estimator(genuine: AnyArray, impostors: AnyArray, method: str) -> tuple[Statistic, str]:
    """Return the estimator of D(f_G || f_I) in nats for these samples and their halves, and its name.

    The estimates are finite, with neither interval nor cap.
    """
    if method == "partition":
        return _by_partition, _PARTITION
    _, on_light, lights, _, _ = neighbours.take_atoms(genuine, impostors, 1, _LIGHT)
    if lights >= _LIGHT and on_light > _LATTICE_SHARE * len(genuine):
        return _by_partition, "a partition (the scores lie on a lattice)"
    return partial(_by_neighbours, kind=method), f"{method} nearest neighbours"


def _by_partition(genuine: AnyArray, impostors: AnyArray) -> float:
    return partition_nats(Scores(genuine, *counted(genuine, impostors)).bins(), len(impostors))


def _by_neighbours(genuine: AnyArray, impostors: AnyArray, kind: str) -> float:
    sizes, k = (len(genuine), len(impostors)), 1
    total, _, _, own, others = neighbours.take_atoms(genuine, impostors, k, _LIGHT)
    if min(len(own) - 1, len(others)) < k:
        # No neighbour to look at: whatever is left counts as atoms too.
        k = 0
        total, _, _, own, others = neighbours.take_atoms(genuine, impostors, k, _LIGHT)
    nats = _of_atoms(total, sizes[0] - len(own), sizes)
    if not k:
        return nats
    rest, share = (len(own), len(others)), len(own) / sizes[0]
    nats += share * _of_one_atom(rest, sizes)
    return nats + share * (_SUMS[kind](own, others, k) / rest[0] + log(rest[1] / (rest[0] - 1)))


def _of_atoms(total: float, genuine: int, sizes: tuple[int, int]) -> float:
    """Return the divergence of atoms from the sum of X (psi(X) - psi(Y + 1)), with X adding up to ``genuine``."""
    n, m = sizes
    return (total - genuine * float(_log_ratio(n, m))) / n


def _of_one_atom(counts: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return ln of the ratio of an atom's probabilities."""
    return float(_log_ratio(*counts) - _log_ratio(*sizes))


def _log_ratio(genuine: Any, impostors: Any) -> Any:
    """Return psi(X) - psi(Y + 1), the estimate of ln(X / Y) from counts, of any shape."""
    from scipy.special import digamma

    return digamma(genuine) - digamma(impostors + 1)
