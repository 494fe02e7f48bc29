"""Scores of biometric systems, and ranks of the right one.

A lower bound on the PSE from the ranks of the right users.

The rank R of the right user among N, ties broken at random, is a function of the scores S and of the user. For any
g > 0 with sum_r g(r) = N,

    E[ln g(R)]  <=  I(U;S)  <=  I(U;Y),

which is InfoNCE [van den Oord et al. 2018] with L a function of the rank: its sum over the gallery is the same for
every probe. Scores of probes of different lengths are on different scales, but their ranks are not, so this bound can
exceed those from scores. The best g is N times the distribution of the rank; here it is fitted to other probes.

Biometric systems as a yardstick: the information in their scores (BSE) and their error rates [PIE, sec. 5].

A matcher's scores come as a matrix, a row per probe and a column per user of the gallery, genuine scores on the
diagonal. Where enrolment failed, matchers write a mark such as -1 instead of a score.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.checks import checked_level, checked_whole
from discreet.core.random import RandomSource, checked_source, uniform_below
from discreet.errors import DataError
from discreet.risk.scores.pse import PSE, Information, checked_matrix, pse_of_folds, pse_of_matrix
from discreet.risk.scores.rates import DET, RankCurve, det, rank_curve
from discreet.risk.scores.scores import Scores, as_array

NAME = "InfoNCE of ranks"
_FOLDS = 5
_UNSEEN = 0.5


def pse_of_ranks(
    greater: Any, ties: Any, *, users: int, level: float = 0.95, random: RandomSource | None = None
) -> Information:
    """Return a lower bound on the PSE from the ranks of the right users, for a uniform prior.

    Args:
        greater: ``(n,)`` how many users scored strictly higher than the right one, per probe; n >= 2.
        ties: ``(n,)`` how many have exactly the right one's score, that one included.
        users: N.
        level: confidence of the interval.
        random: chooses the folds; None for fresh words.

    Returns:
        A lower bound on the PIE, in bits, with its interval.

    Raises:
        DataError: if they are no ranks among N users, or fewer than 2.
        ParameterError: if the level is out of range.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> greater = [0] * 80 + list(range(20))
        >>> information = pse_of_ranks(greater, [1] * 100, users=100, random=SeededRandom(1))
        >>> round(information.bits, 1), round(information.certified, 1)
        (5.0, 4.5)
    """
    above, same = (np.asarray(column, dtype=np.int64) for column in (greater, ties))
    users = checked_whole("users", users, 2)
    wrong = above.shape != same.shape or above.ndim != 1 or len(above) < 2
    if wrong or above.min() < 0 or same.min() < 1 or int((above + same).max()) > users:
        raise DataError(f"ranks must be at least 2, of users among {users}, each tied with at least one, itself.")
    edges = _edges(users)
    # The rank is even among those tied.
    spread = _covered(above, same, edges)
    folds = uniform_below(_FOLDS, len(above), checked_source(random)).astype(np.int64)
    logs = np.empty(len(above))
    for place in range(_FOLDS):
        held = folds == place
        if held.any():
            logs[held] = spread[held] @ _log_ratio(spread[~held].sum(axis=0), edges, users)
    fold = logs, np.ones(len(logs)), np.full(len(logs), 1 / len(logs))
    bounds = pse_of_folds([fold], users, checked_level(level))
    return replace(bounds.best, name=NAME, method="a law of ranks fitted to other probes", m=len(above) * (users - 1))


def _edges(users: int) -> IntArray:
    """Return ``(b + 1,)`` ranks, from 0: cells 1, 2, 3 to 4, 5 to 8, and so on up to N."""
    edges = [0, *(1 << power for power in range(users.bit_length()) if 1 << power < users), users]
    return np.array(edges, dtype=np.int64)


def _covered(above: IntArray, same: IntArray, edges: IntArray) -> FloatArray:
    """Return ``(n, b)`` probabilities of the cells for a rank that is uniform from above + 1 to above + same."""
    reached = np.clip((edges[None, :] - above[:, None]) / same[:, None], 0.0, 1.0)
    return np.diff(reached, axis=1)


def _log_ratio(counts: FloatArray, edges: IntArray, users: int) -> FloatArray:
    """Return ``(b,)`` ln g, the log-ratio of the fitted and the uniform distribution of ranks; finite."""
    shares = (counts + _UNSEEN) / (counts + _UNSEEN).sum()
    ratio: FloatArray = np.log(shares * users / np.diff(edges))
    return ratio


_FEWEST = 4


@dataclass(frozen=True, slots=True, eq=False)
class Biometric:
    """The figures of one biometric matcher.

    Attributes:
        name: of the matcher.
        bse: the information about the user in the scores.
        det: the DET curve of genuine and impostor pairs.
        ranks: the rates at which the right user is among the k best.
        users: number of users assessed.
        dropped: number of users left out for failed comparisons, with themselves or with users assessed.

    Example:
        >>> import discreet as dc
        >>> matrix = np.where(np.eye(6, dtype=bool), 9.0, np.arange(6) % 3)
        >>> finger = biometric({"finger": matrix}, halves=0, random=dc.SeededRandom(1))["finger"]
        >>> finger.users, finger.dropped, finger.ranks.error.value
        (6, 0, 0.0)
    """

    name: str
    bse: PSE
    det: DET
    ranks: RankCurve
    users: int
    dropped: int

    def __str__(self) -> str:
        left_out = f" ({self.dropped} left out for failed enrolment)" if self.dropped else ""
        return f"{self.name}, {self.users} users{left_out}: {self.bse} {self.det} {self.ranks}"


def biometric(
    matchers: Mapping[str, Any],
    *,
    distances: bool = False,
    failed: float | None = None,
    halves: int = 100,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> dict[str, Biometric]:
    """Return the figures of biometric matchers.

    Args:
        matchers: by name, an ``(N, N)`` matrix each, row u the probe of user u against the gallery.
        distances: whether a lower number means more alike.
        failed: what is written where there is no score, besides NaN; None if there always is one.
        halves: how many halves of the users the interval of D(f_G || f_I) takes; 0 for none.
        level: confidence of the intervals.
        random: chooses folds and halves; None for fresh words.

    Returns:
        A result per matcher, in the same order.

    Raises:
        DataError: if a matrix is not square, or fewer than 4 users are left, or a score is not finite.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> matrix = np.where(np.eye(6, dtype=bool), 9.0, np.arange(6) % 3)
        >>> matrix[0, 3] = -1
        >>> results = biometric({"finger": matrix}, failed=-1, halves=0, random=dc.SeededRandom(1))
        >>> results["finger"].users, results["finger"].det.equal_error_rate
        (5, 0.0)
    """
    source = checked_source(random)
    figures = {}
    for name, raw in matchers.items():
        matrix, dropped = _without_failed(raw, failed)
        matrix = -matrix if distances else matrix
        bse, scores = pse_of_matrix(matrix, halves=halves, level=level, random=source), Scores.from_matrix(matrix)
        ranks = rank_curve(scores.ranks.greater, scores.ranks.ties, users=len(matrix), level=level)
        figures[name] = Biometric(name, bse, det(scores), ranks, len(matrix), dropped)
    return figures


def _without_failed(matrix: Any, failed: float | None) -> tuple[AnyArray, int]:
    """Return the scores of users without failed comparisons, and the number of users left out, most failures first."""
    scores = as_array(matrix, "scores")
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise DataError(f"scores must be a square matrix, got shape {scores.shape}.")
    if failed is None or scores.dtype.kind not in "fiu":
        return checked_matrix(scores), 0
    bad = np.isnan(scores) | (scores == failed)
    marks = bad.sum(axis=0) + bad.sum(axis=1)
    keep = np.ones(len(scores), dtype=np.bool_)
    while marks[keep].any():
        worst = int(np.argmax(np.where(keep, marks, -1)))
        keep[worst] = False
        marks -= bad[worst] + bad[:, worst].astype(marks.dtype)
    if keep.sum() < _FEWEST:
        raise DataError(f"only {int(keep.sum())} of {len(scores)} users have no failed score; at least 4 are needed.")
    return checked_matrix(scores[np.ix_(keep, keep)]), int((~keep).sum())
