"""Lower bounds on the PSE I(U;S), and so on the PIE I(U;Y), from the scores of an attack.

U is the user, drawn from a prior p over N users, Y their report, S = (s_1, ..., s_N) its scores against all of them.
For any function L > 0 of a score,

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
from discreet.risk.scores.divergence import chosen_estimator, described, divergence
from discreet.risk.scores.half_samples import half_users_spread
from discreet.risk.scores.information import Information, bits
from discreet.risk.scores.likelihood_ratio import fitted_steps
from discreet.risk.scores.numbers import as_array, checked_numbers, scaled
from discreet.risk.scores.scores import Scores, checked
from discreet.risk.scores.variational import (
    FOLDS,
    Fold,
    Mean,
    certified,
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
    scores: Scores,
    *,
    users: int | None = None,
    halves: int = 100,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> PSE:
    """Return estimates of the PSE from genuine and impostor scores, for a uniform prior.

    Impostor scores are taken as independent draws; where they come as a matrix, `pse_of_matrix` knows better.

    Args:
        scores: genuine and impostor scores.
        users: N; None for one probe of each user.
        halves: how many half-samples the interval of the paper's figure takes; 0 for none. Impostor scores that were
            counted only have none.
        level: confidence of the intervals.
        random: chooses folds and half-samples; None for fresh words.

    Raises:
        DataError: if there are too few scores, or they are not finite.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> scores = Scores.of_pairs([5, 6, 7, 9] * 10, [1, 2, 3, 6] * 100)
        >>> pse = pse_of_scores(scores, halves=0, random=dc.SeededRandom(1))
        >>> round(pse.certified.bits, 1)
        4.0
    """
    level, source, halves = checked_level(level), checked_source(random), checked_whole("halves", halves, 0)
    scores = checked(scores)
    population = checked_whole("users", scores.n if users is None else users, 2)
    lower = _bound(CERTIFIED, certified(scores, population, source), (scores.n, scores.m), level)
    return PSE(lower, None, divergence(scores, halves=halves, level=level, random=source), population)


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
    # A fold of nobody who ever comes says nothing.
    bounds = pse_of_folds([fold for fold in cut if fold[2].sum() > 0], users, level)
    return replace(bounds, paper=_paper_of_matrix(matrix, halves=halves, level=level, random=source))


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


def _flat(rows: AnyArray, own: IntArray) -> Scores:
    """Return the genuine and the impostor scores of some probes, as scores of pairs."""
    genuine = np.zeros(rows.shape, dtype=np.bool_)
    genuine[np.arange(len(own)), own] = True
    return Scores.of_pairs(rows[genuine], rows[~genuine])


def pse_of_folds(folds: list[Fold], users: int, level: float) -> PSE:
    """Return lower bounds on the PSE from ln L, T and weights of the probes of each fold; L was fitted to the others.

    Example:
        >>> fold = np.log([4.0, 4.0, 1.0, 4.0]), np.ones(4), np.full(4, 0.25)
        >>> round(pse_of_folds([fold], users=16, level=0.95).best.bits, 2)
        1.5
    """
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
    assert everybody.samples is not None
    estimator, name = chosen_estimator(*everybody.samples, "generalized")

    def nats(places: IntArray) -> float:
        samples = _flat(matrix[np.ix_(places, places)], np.arange(len(places))).samples
        assert samples is not None
        return estimator(*samples)

    error = half_users_spread(nats, users, halves=halves, random=random) if halves > 1 else None
    return described(estimator(*everybody.samples), error, everybody, name, level=level)


def _prior(prior: Any, users: int) -> FloatArray:
    if prior is None:
        return np.full(users, 1 / users)
    p = as_array(prior, "prior")
    fits = p.shape == (users,) and p.dtype.kind in "fiu" and bool(np.isfinite(p).all())
    if not fits or p.min() < 0 or abs(p.sum() - 1) > _UNEVEN:
        raise ParameterError(f"prior must be {users} probabilities with the sum 1, got shape {p.shape}.")
    shares: FloatArray = p / p.sum()
    return shares
