"""The personal identification entropy (PSE) of scores: certified lower bounds with intervals, and the paper's estimate.

Step functions of a score: estimates of the likelihood ratio of genuine and random pairs.

A certified bound holds for any L that was not fitted to the scores on which it is evaluated. The best L is f_G / f_mix
with f_mix = f_G / N + (1 - 1/N) f_I for N users, which is at most N, so ln L is at most ln N.

The divergence D(f_G || f_I) between genuine and impostor scores, from samples [Wang, Kulkarni and Verdu 2009].

Let there be n genuine and m impostor scores. A genuine score has the distance rho to its neighbour among the other
genuine scores, and nu among the impostor scores. The estimate is the

    mean of ln(nu / rho) + psi(l) - psi(k), plus ln(m / (n - 1)),                                   [sec. III there]

where l and k count the neighbours within one radius for both samples, the larger distance to the nearest ones.

Scores have *atoms*: all candidates without a common feature have the same score, and distance 0 has no logarithm. By
the chain rule the divergence has two terms: the divergence over the atoms and their complement, from counts, plus
P_G(complement) times the divergence of the other scores, by neighbours. The estimate from counts is

    sum of X/n (psi(X) - psi(n) + psi(m + 1) - psi(Y + 1))        [Zhang and Grabchak 2014, in closed form]

with X and Y the counts of an atom. Unlike the plug-in estimate, its bias vanishes exponentially, and it is finite for
Y = 0.

Scores on a *lattice* (rounded, or in fixed point) collide by chance. To count every collision as an atom biases the
estimate upwards, by 0.6 nats and more. So if there are many light atoms, the line is cut into intervals with about
sqrt(n)/2 genuine scores each. They are counted like atoms [Wang, Kulkarni and Verdu 2005]. The result is at most the
divergence, up to noise, and the same for any increasing function of the scores.

Variational bounds on information, in nats, from a function L of a score fitted to other probes.

Lower bounds on the PSE I(U;S), and so on the PIE I(U;Y), from the scores of an attack.

U is the user, drawn from a prior p over N users, Y their report, S = (s_1, ..., s_N) its scores against all of them.
For any function L > 0 of a score,

    sum_u p_u E[ln L(s_u)] - ln sum_u p_u E[T]  <=  sum_u p_u E[ln L(s_u) - ln T]  <=  I(U;S)  <=  I(U;Y),
    T = sum_j p_j L(s_j).

The first is the variational form of D(f_G || f_mix) [Donsker and Varadhan 1983], with f_mix the distribution of s_u(Y)
for u drawn from the prior independently of Y; for a uniform prior f_mix = f_G / N + (1 - 1/N) f_I. The second is
InfoNCE [van den Oord et al. 2018]: p_u L(s_u) / T is an estimated posterior of the user, and its expected log-ratio to
the prior is at most I(U;S). L is fitted to other probes (cross-fitting), so both are at most I(U;S) in expectation,
however badly L fits. Both have an interval from their variance over probes. Users are assigned to folds at random, so
that the users in a fold represent all.

D(f_G || f_I), which [PIE, sec. 3] calls the PSE, is their limit for many users only, and exceeds I(U;S) for few. It is
reported beside them under that name, without an interval, because it supports no limit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt, log, log1p, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.checks import checked_level, checked_whole
from discreet.core.random import RandomSource, checked_source, fresh_words
from discreet.core.result_table import rounded_by
from discreet.errors import DataError, ParameterError
from discreet.risk.kernels import neighbours
from discreet.risk.scores.scores import Scores, as_array, checked, checked_numbers, counted, scaled

NATS_PER_BIT = log(2)
MUCH_BEYOND = 0.01
"""With at least this share of genuine scores beyond all impostor scores, an estimate is likely too low."""


@dataclass(frozen=True, slots=True)
class Information:
    """An estimate of information, in bits.

    Attributes:
        name: the quantity, such as ``D(f_G || f_mix)``.
        bits: the estimate; near 0 it may be negative.
        interval: lower and upper confidence limit, in bits; None for an estimate that is not a bound.
        level: confidence level of the interval; 0 without one.
        method: the method of estimation.
        n: number of genuine scores.
        m: number of impostor scores.
        bounds_pie: whether the quantity is at most I(U;S), hence at most the PIE, for any number of users.
        capped: whether the estimate reached the largest value possible with m impostor scores.
        separated: whether the genuine scores lie in a gap of the impostor scores, whose width decides.
        beyond: the share of genuine scores beyond all impostor scores, where the estimate is too low.
    """

    name: str
    bits: float
    interval: tuple[float, float] | None
    level: float
    method: str
    n: int
    m: int
    bounds_pie: bool
    capped: bool = False
    separated: bool = False
    beyond: float = 0.0

    @property
    def certified(self) -> float | None:
        """The lower limit as a lower bound on the PIE, in bits; None if it is not a bound or has no interval."""
        return max(self.interval[0], 0.0) if self.bounds_pie and self.interval else None

    def __str__(self) -> str:
        # Information is at least 0, whatever noise says.
        estimate, between = f"{max(self.bits, 0.0):.3g}", ""
        if self.interval:
            low, high = self.interval
            estimate, least, most = (rounded_by(max(x, 0.0), (high - low) / 4) for x in (self.bits, low, high))
            between = f" ({self.level:.0%} interval {least} to {most})"
        role = (
            "a lower bound on the PIE"
            if self.bounds_pie
            else "the limit of the PSE for many users, which for few users is no lower bound on the PIE"
        )
        ends = "; the truth may be larger, because there are few impostor scores" if self.capped else ""
        gap = "; no impostor score lies among the genuine ones" if self.separated else ""
        # Noise puts one or two of few genuine scores there.
        if self.beyond > MUCH_BEYOND and self.beyond * self.n > 2.5 and not self.bounds_pie:
            gap += f"; {self.beyond:.1%} of genuine scores exceed all impostor scores, so this is likely too low"
        return (
            f"{self.name} is about {estimate} bits{between}, by {self.method} from {self.n} genuine and {self.m} "
            f"impostor scores: {role}{ends}{gap}."
        )


def bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / NATS_PER_BIT


def z_quantile(level: float) -> float:
    """Return z such that a normal variable is within z standard deviations with probability ``level``."""
    return NormalDist().inv_cdf((1 + level) / 2)


_LEAST_PER_CELL = 5
_UNSEEN = 0.5


def fitted_levels(genuine: IntArray, impostors: IntArray, m: int, users: int) -> tuple[IntArray, FloatArray]:
    """Return the levels of the step function fitted to counts.

    Args:
        genuine: ``(b,)`` genuine scores in each bin, at least 1 in total; bins may be empty.
        impostors: ``(b,)`` impostor scores in each bin.
        m: the total number of impostor scores, including those below the first bin.
        users: N, the number of users.

    Returns:
        ``(c,)`` first bins of the cells, ascending, and the ``(c + 1,)`` levels below, in and above them.
    """
    n = int(genuine.sum())
    # With this number of cells, the cost of their number is about equal to the cost of their width.
    starts = neighbours.group_bins(genuine, max(isqrt(n), _LEAST_PER_CELL))
    hits, others = np.add.reduceat(genuine, starts), np.add.reduceat(impostors, starts)
    # Below the first cell there is no genuine score.
    hits, others = np.concatenate([[0], hits]), np.concatenate([[m - others.sum()], others])
    sure, doubt = _shares(hits), _shares(others)
    return starts, sure / (sure / users + (1 - 1 / users) * doubt)


def _shares(counts: IntArray) -> FloatArray:
    """Return probabilities above 0, with half a score added to each cell [Krichevsky and Trofimov 1981]."""
    smoothed = counts + _UNSEEN
    shares: FloatArray = smoothed / smoothed.sum()
    return shares


NAME = "D(f_G || f_I)"
_PARTITION = "a partition"
_LIGHT = 20
_LATTICE_SHARE = 0.002

Statistic = Callable[[AnyArray, AnyArray], float]
"""A function of ``(n,)`` genuine and ``(m,)`` impostor scores, both ascending."""


def divergence(scores: Scores) -> Information:
    """Return an estimate of D(f_G || f_I), the PSE of [PIE]; *not* a lower bound on the PIE for finitely many users.

    The method is generalized nearest neighbours; a partition on a lattice and for counted impostor scores.

    Args:
        scores: genuine and impostor scores.

    Returns:
        The estimate, at most H_m = 1 + 1/2 + ... + 1/m nats: always finite. If genuine scores lie beyond all impostor
        scores, the data do not show how rare an impostor is there, and the estimate is too low by an unknown amount.

    Raises:
        DataError: if there are too few scores, or they are not finite.

    Example:
        >>> scores = Scores.of_pairs([50 + i for i in range(100)], [i % 100 for i in range(1000)])
        >>> information = divergence(scores)
        >>> round(information.bits, 1), information.bounds_pie
        (3.1, False)
    """
    samples = checked(scores).samples
    if samples is None:
        nats, method = partition_nats(scores.bins(), scores.m), _PARTITION
    else:
        estimator, method = chosen_estimator(*samples)
        nats = estimator(*samples)
    cap, overlap = harmonic(scores.m), scores.overlap
    estimate = Information(NAME, bits(min(nats, cap)), None, 0.0, method, scores.n, scores.m, bounds_pie=False)
    return replace(estimate, capped=nats >= cap, separated=overlap.separated, beyond=overlap.beyond)


def partition_nats(bins: IntArray, m: int) -> float:
    """Return D(f_G || f_I) in nats from `Scores.bins`, merged until each has about sqrt(n)/2 genuine scores."""
    n = int(bins[0].sum())
    starts = neighbours.group_bins(bins[0], max(isqrt(n) // 2, _LEAST_PER_CELL))
    genuine, impostors = np.add.reduceat(bins, starts, axis=1)
    common, others = genuine[genuine > 0], impostors[genuine > 0]
    return _of_atoms(float((common * _log_ratio(common, others)).sum()), n, (n, m))


def harmonic(m: int) -> float:
    """Return the harmonic number H_m, the largest possible estimate with m impostor scores."""
    return float(_log_ratio(m + 1, 0))


def chosen_estimator(genuine: AnyArray, impostors: AnyArray) -> tuple[Statistic, str]:
    """Return the estimator of D(f_G || f_I) in nats for these samples, and its name.

    The estimates are finite, without interval or limit.
    """
    _, on_light, lights, _, _ = neighbours.take_atoms(genuine, impostors, 1, _LIGHT)
    if lights >= _LIGHT and on_light > _LATTICE_SHARE * len(genuine):
        return _by_partition, "a partition (the scores lie on a lattice)"
    return _by_neighbours, "generalized nearest neighbours"


def _by_partition(genuine: AnyArray, impostors: AnyArray) -> float:
    return partition_nats(Scores(genuine, *counted(genuine, impostors)).bins(), len(impostors))


def _by_neighbours(genuine: AnyArray, impostors: AnyArray) -> float:
    sizes, k = (len(genuine), len(impostors)), 1
    total, _, _, left, others = neighbours.take_atoms(genuine, impostors, k, _LIGHT)
    if min(len(left) - 1, len(others)) < k:
        # Without neighbours: the remaining scores count as atoms too.
        k = 0
        total, _, _, left, others = neighbours.take_atoms(genuine, impostors, k, _LIGHT)
    nats = _of_atoms(total, sizes[0] - len(left), sizes)
    if not k:
        return nats
    rest, share = (len(left), len(others)), len(left) / sizes[0]
    nats += share * float(_log_ratio(*rest) - _log_ratio(*sizes))
    return nats + share * (neighbours.generalized_sum(left, others, k) / rest[0] + log(rest[1] / (rest[0] - 1)))


def _of_atoms(total: float, genuine: int, sizes: tuple[int, int]) -> float:
    """Return the divergence of atoms from the sum of X (psi(X) - psi(Y + 1)), where all X sum to ``genuine``."""
    n, m = sizes
    return (total - genuine * float(_log_ratio(n, m))) / n


def _log_ratio(genuine: Any, impostors: Any) -> Any:
    """Return psi(X) - psi(Y + 1), the estimate of ln(X / Y) from counts, of any shape."""
    from scipy.special import digamma

    return digamma(genuine) - digamma(impostors + 1)


FOLDS = 5
_NO_DIVISION = 1e-6

Fold = tuple[FloatArray, FloatArray, FloatArray]
"""Three ``(n,)`` arrays: ln L of each probe's genuine score, T, and the probe's weight."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over probes, in nats, with the numbers that its confidence limits need.

    Attributes:
        nats: the mean.
        error: its standard error.
        lowest: the smallest value that a probe unlike the observed ones may have.
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
        # In the worst case one probe is as misleading as the best one is informative.
        lowest = min(float(values.min()), -log(users))
        return cls(float(shares @ values), _error(values, shares), lowest, 1 / float(shares @ shares))

    def limits(self, level: float) -> tuple[float, float]:
        """Return the mean -+ z standard errors, with an allowance below for events that n probes cannot exclude.

        An event that none of n probes has may still have probability -ln((1 - level)/2) / n (the rule of three). A
        spread of 0 over few probes does not prove certainty.
        """
        reach, odds = z_quantile(level) * self.error, -log((1 - level) / 2)
        room = min(odds / self.n, 1.0) * (self.nats - self.lowest), log1p(odds * self.unseen)
        return self.nats - max(reach, *room), self.nats + reach


def variational(fold: Fold) -> FloatArray:
    """Return values, one per probe, whose mean is the bound from D(f_G || f_mix), in nats."""
    logs, totals, weights = fold
    shares = weights / weights.sum()
    mean = float(shares @ totals)
    # The logarithm of a mean is too low by half the squared relative error, which would make the bound too large.
    low = (_error(totals, shares) / mean) ** 2 / 2
    return logs - log(mean) - low - (totals / mean - 1)


def contrastive(fold: Fold) -> FloatArray:
    """Return values, one per probe, whose mean is the InfoNCE bound, in nats."""
    logs, totals, _ = fold
    return logs - np.log(totals)


def _error(values: FloatArray, shares: FloatArray) -> float:
    """Return the standard error of a weighted mean of independent values."""
    fewer = max(1 - float(shares @ shares), _NO_DIVISION)
    return sqrt(float(shares**2 @ (values - shares @ values) ** 2) / fewer)


def certified(scores: Scores, users: int, random: RandomSource) -> Mean:
    """Return the bound from D(f_G || f_mix), from counts divided among folds."""
    folds, bins = min(FOLDS, scores.n), scores.bins()
    below = scores.m - int(bins[1].sum())
    genuine = _genuine_folds(bins[0], folds, random)
    impostors = _impostor_folds(np.concatenate([[below], bins[1]]), folds, random)
    parts = [_held_out(bins, scores.m, (genuine[fold], impostors[fold]), users) for fold in range(folds)]
    shares = np.array([part.sum() for part in genuine]) / scores.n
    nats = float(shares @ [part.nats for part in parts])
    # Over all probes, because differences between folds are part of the spread.
    spread = sum(
        share * (part.error**2 * part.n + (part.nats - nats) ** 2) for share, part in zip(shares, parts, strict=True)
    )
    lowest, unseen = min(part.lowest for part in parts), max(part.unseen for part in parts)
    return Mean(nats, sqrt(spread / max(scores.n - 1, 1)), lowest, scores.n, unseen)


def _held_out(bins: IntArray, total: int, held: tuple[IntArray, IntArray], users: int) -> Mean:
    """Return the bound on some counts, with L fitted to all other ones.

    Args:
        bins: ``(2, b)`` genuine and impostor scores of all folds.
        total: impostor scores of all folds, including those below all bins.
        held: ``(b,)`` genuine scores held out, and ``(1 + b,)`` impostor scores, starting with those below all bins.
        users: N, the number of users.
    """
    genuine, impostors = held
    n, m = int(genuine.sum()), int(impostors.sum())
    starts, levels = fitted_levels(bins[0] - genuine, bins[1] - impostors[1:], max(total - m, 1), users)
    steps = np.searchsorted(starts, np.arange(-1, len(genuine)), "right")
    if not m:
        # Too few to divide: all of them are used.
        impostors, m = np.concatenate([[total - bins[1].sum()], bins[1]]), total
    shares, others = np.bincount(steps[1:], genuine, len(levels)) / n, np.bincount(steps, impostors, len(levels)) / m
    mean, logs, rest = float(levels @ shares) / users, np.log(levels), 1 - 1 / users
    mean += rest * float(levels @ others)
    second = _variance(rest * levels / mean, others) / m
    # As in `variational`; the genuine scores are a small part of the mixture.
    nats = float(logs @ shares) - log(mean) - second / 2
    # In a matrix of scores a probe that misses its own user hits others, so its part of the mixture varies less than it
    # would alone. The larger of the two spreads is safe.
    spread = max(_variance(logs - levels / (users * mean), shares), _variance(logs, shares))
    error = sqrt(spread / n + second)
    return Mean(nats, error, float(logs.min()) - log(mean), n, rest * float(levels.max()) / (mean * total))


def _variance(values: FloatArray, shares: FloatArray) -> float:
    return float((values - values @ shares) ** 2 @ shares)


def _genuine_folds(counts: IntArray, folds: int, random: RandomSource) -> list[IntArray]:
    """Return folds of equal size of ``(b,)`` counts of genuine scores, in random order."""
    bins, parts = np.repeat(np.arange(len(counts)), counts), even_folds(int(counts.sum()), folds, random)
    return [np.bincount(bins[parts == fold], minlength=len(counts)) for fold in range(folds)]


def _impostor_folds(counts: IntArray, folds: int, random: RandomSource) -> AnyArray:
    """Return ``(folds, 1 + b)`` counts of random folds of ``(1 + b,)`` counts of impostor scores."""
    return generator_of(random).multinomial(counts, np.full(folds, 1 / folds)).T


def generator_of(random: RandomSource) -> np.random.Generator:
    """Return a NumPy generator that is seeded from a source of random words."""
    return np.random.Generator(np.random.PCG64(fresh_words(random, 4).tolist()))


def even_folds(count: int, folds: int, random: RandomSource) -> IntArray:
    """Return ``(count,)`` random folds of sizes as equal as possible."""
    order = np.argsort(fresh_words(random, count), kind="stable")
    parts = np.empty(count, dtype=np.int64)
    parts[order] = np.arange(count) % folds
    return parts


CERTIFIED, INFO_NCE = "D(f_G || f_mix)", "InfoNCE"
_METHOD = "a step function fitted to other probes"
_UNEVEN = 1e-6


@dataclass(frozen=True, slots=True)
class PSE:
    """Estimates of the PSE: certified lower bounds, and the paper's divergence.

    Attributes:
        certified: D(f_G || f_mix) with a cross-fitted L: a lower bound on the PIE.
        info_nce: a larger lower bound; None if the probes of the scores are unknown.
        paper: D(f_G || f_I), the figure of [PIE], which is not a bound; None if it cannot be computed.
        users: N, the number of users.

    Example:
        >>> import discreet as dc
        >>> scores = np.where(np.eye(20, dtype=bool), 5.0, np.arange(20) % 3)
        >>> pse = pse_of_matrix(scores, random=dc.SeededRandom(1))
        >>> pse.users, round(pse.best.bits, 1)
        (20, 4.3)
    """

    certified: Information
    info_nce: Information | None
    paper: Information | None
    users: int

    @property
    def best(self) -> Information:
        """The largest certified lower bound."""
        return self.info_nce or self.certified

    def __str__(self) -> str:
        least = self.best.certified or 0.0
        first = (
            f"Among {self.users} users, the scores give at least {least:.4g} of {log(self.users, 2):.4g} bits about "
            f"the user, with confidence {(1 + self.best.level) / 2:.4g}."
        )
        return " ".join([first, *(str(figure) for figure in (self.certified, self.info_nce, self.paper) if figure)])


def pse_of_scores(
    scores: Scores,
    *,
    users: int | None = None,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> PSE:
    """Return estimates of the PSE from genuine and impostor scores, for a uniform prior.

    Impostor scores count as independent draws; for a matrix, `pse_of_matrix` is more accurate.

    Args:
        scores: genuine and impostor scores.
        users: N, the number of users; None for one probe of each user.
        level: confidence level of the interval.
        random: the random words for folds; None for fresh words.

    Raises:
        DataError: if there are too few scores, or they are not finite.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> scores = Scores.of_pairs([5, 6, 7, 9] * 10, [1, 2, 3, 6] * 100)
        >>> pse = pse_of_scores(scores, random=dc.SeededRandom(1))
        >>> round(pse.certified.bits, 1)
        4.0
    """
    level, source = checked_level(level), checked_source(random)
    scores = checked(scores)
    population = checked_whole("users", scores.n if users is None else users, 2)
    lower = _bound(CERTIFIED, certified(scores, population, source), (scores.n, scores.m), level)
    return PSE(lower, None, divergence(scores), population)


def pse_of_matrix(
    scores: Any,
    *,
    prior: Any = None,
    folds: int = FOLDS,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> PSE:
    """Return estimates of the PSE from the scores of every user's probe for every candidate.

    Args:
        scores: ``(N, N)``, row u is the probe of user u against all users, with genuine scores on the diagonal; a
            higher score means more similar.
        prior: ``(N,)`` probabilities; None for 1/N each.
        folds: the number of folds of probes; L is fitted to all folds but one.
        level: confidence level of the intervals.
        random: the random words for folds; None for fresh words.

    Raises:
        DataError: if it is not a square matrix of finite numbers, or has fewer than 4 users.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> scores = np.where(np.eye(20, dtype=bool), 5.0, np.arange(20) % 3)
        >>> round(pse_of_matrix(scores, random=dc.SeededRandom(1)).certified.bits, 1)
        4.3
    """
    level, source = checked_level(level), checked_source(random)
    matrix = checked_matrix(scores)
    users = len(matrix)
    p = _prior(prior, users)
    parts = even_folds(users, min(checked_whole("folds", folds, 2), users // 2), source)
    cut = [_fold(matrix, p, parts == part) for part in range(parts.max() + 1)]
    # A fold of users with probability 0 contributes nothing.
    bounds = pse_of_folds([fold for fold in cut if fold[2].sum() > 0], users, level)
    return replace(bounds, paper=divergence(_flat(matrix, np.arange(users))))


def checked_matrix(scores: Any) -> AnyArray:
    """Return a square matrix of scores, after a check.

    Raises:
        DataError: if it is not square, has fewer than 4 users, or has numbers that are not finite.

    Example:
        >>> checked_matrix(np.eye(4)).shape
        (4, 4)
    """
    matrix = as_array(scores, "scores")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 4:
        raise DataError("scores.matrix-too-small", shape=matrix.shape)
    numbers = checked_numbers(matrix, "matrix", "leave out their users, or let biometric() do so with failed=")
    return scaled(numbers)[0]


def _fold(matrix: AnyArray, p: FloatArray, tested: Any) -> Fold:
    """Return ln L, T and p for some probes, with L fitted to the others."""
    fitted, held = np.flatnonzero(~tested), np.flatnonzero(tested)
    scores = _flat(matrix[fitted], fitted)
    counts = np.unique(scores.genuine, return_counts=True)[1]
    starts, levels = fitted_levels(counts, scores.impostor_counts[1:], scores.m, len(matrix))
    likelihoods = levels[np.searchsorted(scores.thresholds[starts], matrix[held], "right")]
    return np.log(likelihoods[np.arange(len(held)), held]), likelihoods @ p, p[held]


def _flat(rows: AnyArray, right: IntArray) -> Scores:
    """Return the genuine and the impostor scores of some probes, as scores of pairs."""
    genuine = np.zeros(rows.shape, dtype=np.bool_)
    genuine[np.arange(len(right)), right] = True
    return Scores.of_pairs(rows[genuine], rows[~genuine])


def pse_of_folds(folds: list[Fold], users: int, level: float) -> PSE:
    """Return lower bounds on the PSE from ln L, T and weights of each fold's probes; L was fitted to the other folds.

    Example:
        >>> fold = np.log([4.0, 4.0, 1.0, 4.0]), np.ones(4), np.full(4, 0.25)
        >>> round(pse_of_folds([fold], users=16, level=0.95).best.bits, 2)
        1.5
    """
    weights = np.concatenate([held for _, _, held in folds])
    values = [np.concatenate([function(fold) for fold in folds]) for function in (variational, contrastive)]
    sizes = len(weights), len(weights) * (users - 1)
    certified, info_nce = (
        _bound(name, Mean.of(value, weights, users), sizes, level)
        for name, value in zip((CERTIFIED, INFO_NCE), values, strict=True)
    )
    return PSE(certified, info_nce, None, users)


def information_of_posterior(own: FloatArray, *, users: int, level: float) -> Information:
    """Return InfoNCE for a posterior over users that was fitted to other data, for a uniform prior.

    Args:
        own: ``(n,)`` logarithms of the probabilities of the right users.
        users: N, the number of users.
        level: confidence level of the interval.

    Example:
        >>> information = information_of_posterior(np.log(np.full(200, 0.5)), users=16, level=0.95)
        >>> round(information.bits, 9), information.bounds_pie
        (3.0, True)
    """
    mean = Mean.of(own + log(users), np.ones(len(own)), users)
    return _bound(INFO_NCE, mean, (len(own), len(own) * (users - 1)), level, "a posterior fitted to what was known")


def _bound(name: str, mean: Mean, sizes: tuple[int, int], level: float, method: str = _METHOD) -> Information:
    low, high = mean.limits(level)
    return Information(name, bits(mean.nats), (bits(low), bits(high)), level, method, *sizes, bounds_pie=True)


def _prior(prior: Any, users: int) -> FloatArray:
    if prior is None:
        return np.full(users, 1 / users)
    p = as_array(prior, "prior")
    fits = p.shape == (users,) and p.dtype.kind in "fiu" and bool(np.isfinite(p).all())
    if not fits or p.min() < 0 or abs(p.sum() - 1) > _UNEVEN:
        raise ParameterError("prior.wrong-shape", argument="prior", users=users, shape=p.shape)
    shares: FloatArray = p / p.sum()
    return shares
