"""Lower bounds on the PSE I(U;S), and so on the PIE I(U;Y), from the scores of an attack.

U is the user, drawn from a prior p over N users, Y her report, S = (s_1, ..., s_N) its scores against all of them. For
any function L > 0 of a score,

    sum_u p_u E[ln L(s_u)] - ln sum_u p_u E[T]  <=  sum_u p_u E[ln L(s_u) - ln T]  <=  I(U;S)  <=  I(U;Y),
    T = sum_j p_j L(s_j).

The first is the variational form of D(f_G || f_mix) [Donsker and Varadhan 1983], with f_mix the law of s_u(Y) for u
drawn from the prior independently of Y; for a uniform prior f_mix = f_G / N + (1 - 1/N) f_I. The second is InfoNCE
[van den Oord et al. 2018]: p_u L(s_u) / T is an estimated posterior of the user, and its expected log-ratio to the
prior is at most I(U;S). L is fitted to other probes (cross-fitting), so both are at most I(U;S) in expectation however
badly L fits, and both have an interval from their variance over probes. Users are assigned to folds at random, so that
those on whom an L is evaluated represent all.

D(f_G || f_I), which [PIE, sec. 3] calls the PSE, is their limit for many users only, and exceeds I(U;S) for few: it is
stated beside them under that name.
"""

from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.checks import checked_level, checked_whole
from discreet.core.random import RandomSource, checked_source
from discreet.errors import DataError, ParameterError
from discreet.risk.scores.divergence import chosen_estimator, described, divergence, divergence_of_counts
from discreet.risk.scores.half_samples import half_users_spread
from discreet.risk.scores.information import Information, bits
from discreet.risk.scores.likelihood_ratio import fitted_steps
from discreet.risk.scores.samples import Sample, ScoreCounts, as_array, checked_numbers, sample_of, scaled
from discreet.risk.scores.variational import (
    FOLDS,
    Fold,
    Mean,
    certified_by_counts,
    contrastive,
    even_folds,
    variational,
)

CERTIFIED, INFO_NCE = "D(f_G || f_mix)", "InfoNCE"
_METHOD = "a step function fitted to other probes"
_UNEVEN = 1e-6


@dataclass(frozen=True, slots=True)
class PSE:
    """Estimates of the PSE: certified lower bounds, and the paper's divergence.

    Attributes:
        certified: D(f_G || f_mix) by a cross-fitted L: a lower bound on the PIE.
        info_nce: a larger lower bound; None where scores do not say which probe they belong to.
        paper: D(f_G || f_I), the figure of [PIE]; no bound. None if there was nothing to compute it from.
        users: N.

    Example:
        >>> import discreet as dc
        >>> scores = np.where(np.eye(20, dtype=bool), 5.0, np.arange(20) % 3)
        >>> pse = pse_of_matrix(scores, halves=0, random=dc.SeededRandom(1))
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
            f"Among {self.users} users the scores tell at least {least:.4g} bits about who it is (of "
            f"{log(self.users, 2):.4g}), with confidence {(1 + self.best.level) / 2:.4g}."
        )
        return " ".join([first, *(str(one) for one in (self.certified, self.info_nce, self.paper) if one)])


def pse_of_scores(
    genuine: Any,
    impostors: Any,
    *,
    users: int | None = None,
    halves: int = 100,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> PSE:
    """Return estimates of the PSE from genuine and impostor scores, for a uniform prior.

    Impostor scores are taken as independent draws; where they come as a matrix, `pse_of_matrix` knows better.

    Args:
        genuine: ``(n,)`` scores, n >= 2, higher meaning more alike.
        impostors: ``(m,)`` scores.
        users: N; None for n, one probe of each user.
        halves: how many half-samples the interval of the paper's figure takes; 0 for none.
        level: confidence of the intervals.
        random: chooses folds and half-samples; None for fresh words.

    Raises:
        DataError: if there are too few scores, or they are not finite.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> genuine, impostors = [5, 6, 7, 9] * 10, [1, 2, 3, 6] * 100
        >>> pse = pse_of_scores(genuine, impostors, halves=0, random=dc.SeededRandom(1))
        >>> round(pse.certified.bits, 1)
        4.0
    """
    level, source, halves = checked_level(level), checked_source(random), checked_whole("halves", halves, 0)
    sample = sample_of(genuine, impostors)
    found = pse_of_counts(ScoreCounts.of_sample(sample), users=users, level=level, random=source)
    paper = divergence(sample.genuine, sample.impostors, halves=halves, level=level, random=source)
    return replace(found, paper=paper)


def pse_of_counts(
    counts: ScoreCounts, *, users: int | None = None, level: float = 0.95, random: RandomSource | None = None
) -> PSE:
    """Return estimates of the PSE from impostor scores counted between the genuine ones, for a uniform prior.

    Arguments as for `pse_of_scores`; the paper's figure comes without an interval.

    Example:
        >>> import discreet as dc
        >>> counts = ScoreCounts.of_sample(sample_of([5, 6, 7, 9] * 10, [1, 2, 3, 6] * 100))
        >>> round(pse_of_counts(counts, random=dc.SeededRandom(1)).certified.bits, 1)
        4.0
    """
    level, source = checked_level(level), checked_source(random)
    population = checked_whole("users", counts.n if users is None else users, 2)
    certified = _bound(CERTIFIED, certified_by_counts(counts, population, source), (counts.n, counts.m), level)
    return PSE(certified, None, divergence_of_counts(counts, level=level), population)


def pse_of_means(
    log_likelihoods: Any,
    means: Any,
    *,
    folds: Any = None,
    prior: Any = None,
    users: int | None = None,
    level: float = 0.95,
) -> PSE:
    """Return estimates of the PSE from likelihood ratios L of each probe, where a matrix of scores is too large.

    Args:
        log_likelihoods: ``(n,)`` ln L of the score of each probe for its own user.
        means: ``(n,)`` T: the mean of L over all N users, her own entry included, weighted by the prior.
        folds: ``(n,)`` integers: probes of one fold have one L, which was fitted without them; None if all have one L.
        prior: ``(n,)`` probabilities of the probes' users, which add up to 1; None for 1/n each.
        users: N; None for n, one probe of each user.
        level: confidence of the intervals.

    Raises:
        DataError: if there are not as many finite numbers in each, or a mean is not positive.
        ParameterError: if the prior is none, or another parameter out of range.

    Example:
        >>> logs, means = np.log([4.0, 4.0, 1.0, 4.0]), np.ones(4)
        >>> round(pse_of_means(logs, means, users=16).best.bits, 2)
        1.5
    """
    level = checked_level(level)
    logs, totals = (_finite(array, name) for array, name in ((log_likelihoods, "log-likelihoods"), (means, "means")))
    if len(logs) != len(totals) or len(logs) < 2 or totals.min() <= 0:
        raise DataError(
            f"there must be at least 2 log-likelihoods and as many means > 0, got {len(logs)} and {len(totals)}."
        )
    parts = np.zeros(len(logs), dtype=np.int64) if folds is None else as_array(folds, "folds")
    if parts.shape != logs.shape or parts.dtype.kind not in "iu":
        raise DataError(f"folds must be {len(logs)} integers, got {parts.dtype} of shape {parts.shape}.")
    p, population = _prior(prior, len(logs)), checked_whole("users", len(logs) if users is None else users, 2)
    cut = [(logs[parts == part], totals[parts == part], p[parts == part]) for part in np.unique(parts)]
    # A fold of nobody who ever comes says nothing.
    return _of_folds([fold for fold in cut if fold[2].sum() > 0], population, level)


def pse_of_matrix(
    scores: Any,
    *,
    prior: Any = None,
    folds: int = FOLDS,
    halves: int = 100,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> PSE:
    """Return estimates of the PSE from the scores of every user's probe for every candidate.

    Args:
        scores: ``(N, N)``, row u the probe of user u against the gallery, genuine scores on the diagonal, higher
            meaning more alike.
        prior: ``(N,)`` probabilities; None for 1/N each.
        folds: in how many parts the probes are cut; L is fitted to all but one of them.
        halves: how many halves of the users the interval of the paper's figure takes; 0 for none.
        level: confidence of the intervals.
        random: chooses folds and halves; None for fresh words.

    Raises:
        DataError: if it is no square matrix of finite numbers, or of fewer than 4 users.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> scores = np.where(np.eye(20, dtype=bool), 5.0, np.arange(20) % 3)
        >>> round(pse_of_matrix(scores, halves=0, random=dc.SeededRandom(1)).certified.bits, 1)
        4.3
    """
    level, source, halves = checked_level(level), checked_source(random), checked_whole("halves", halves, 0)
    matrix = checked_matrix(scores)
    users = len(matrix)
    p = _prior(prior, users)
    parts = even_folds(users, min(checked_whole("folds", folds, 2), users // 2), source)
    cut = [_fold(matrix, p, parts == part) for part in range(parts.max() + 1)]
    found = _of_folds([fold for fold in cut if fold[2].sum() > 0], users, level)
    return replace(found, paper=_paper_of_matrix(matrix, halves=halves, level=level, random=source))


def checked_matrix(scores: Any) -> AnyArray:
    """Return a square matrix of scores, or refuse it.

    Raises:
        DataError: if it is none, or of fewer than 4 users, or not of finite numbers.

    Example:
        >>> checked_matrix(np.eye(4)).shape
        (4, 4)
    """
    matrix = as_array(scores, "scores")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 4:
        raise DataError(f"scores must be a square matrix of at least 4 rows, got shape {matrix.shape}.")
    numbers = checked_numbers(matrix, "matrix", "leave out their users, or let biometric() do so with failed=")
    return scaled(numbers)[0]


def _fold(matrix: AnyArray, p: FloatArray, tested: Any) -> Fold:
    """Return ln L, T and p of some probes, with L fitted to the other ones."""
    fitted, held = np.flatnonzero(~tested), np.flatnonzero(tested)
    steps = fitted_steps(_flat(matrix[fitted], fitted), len(matrix))
    likelihoods = steps(matrix[held])
    return np.log(likelihoods[np.arange(len(held)), held]), likelihoods @ p, p[held]


def _flat(rows: AnyArray, own: IntArray) -> Sample:
    """Return the genuine and the impostor scores of some probes."""
    genuine = np.zeros(rows.shape, dtype=np.bool_)
    genuine[np.arange(len(own)), own] = True
    return sample_of(rows[genuine], rows[~genuine])


def _of_folds(folds: list[Fold], users: int, level: float) -> PSE:
    weights = np.concatenate([held for _, _, held in folds])
    values = [np.concatenate([function(fold) for fold in folds]) for function in (variational, contrastive)]
    sizes = len(weights), len(weights) * (users - 1)
    certified, info_nce = (
        _bound(name, Mean.of(one, weights, users), sizes, level)
        for name, one in zip((CERTIFIED, INFO_NCE), values, strict=True)
    )
    return PSE(certified, info_nce, None, users)


def _bound(name: str, mean: Mean, sizes: tuple[int, int], level: float) -> Information:
    low, high = mean.limits(level)
    return Information(name, bits(mean.nats), (bits(low), bits(high)), level, _METHOD, *sizes, bounds_pie=True)


def _paper_of_matrix(matrix: AnyArray, *, halves: int, level: float, random: RandomSource) -> Information:
    users = len(matrix)
    everybody = _flat(matrix, np.arange(users))
    estimator, told = chosen_estimator(everybody, "generalized")

    def nats(places: IntArray) -> float:
        return estimator(_flat(matrix[np.ix_(places, places)], np.arange(len(places))))

    error = half_users_spread(nats, users, halves=halves, random=random) if halves > 1 else None
    sizes = everybody.n, everybody.m
    return described(estimator(everybody), error, sizes, told, level=level, overlap=everybody.overlap)


def _finite(array: Any, name: str) -> FloatArray:
    numbers = as_array(array, name)
    if numbers.ndim != 1 or numbers.dtype.kind not in "fiu" or not np.isfinite(numbers).all():
        raise DataError(f"{name} must be finite numbers in one dimension.")
    return numbers.astype(np.float64)


def _prior(prior: Any, users: int) -> FloatArray:
    if prior is None:
        return np.full(users, 1 / users)
    p = as_array(prior, "prior")
    fits = p.shape == (users,) and p.dtype.kind in "fiu" and bool(np.isfinite(p).all())
    if not fits or p.min() < 0 or abs(p.sum() - 1) > _UNEVEN:
        raise ParameterError(f"prior must be {users} probabilities with the sum 1, got shape {p.shape}.")
    shares: FloatArray = p / p.sum()
    return shares
