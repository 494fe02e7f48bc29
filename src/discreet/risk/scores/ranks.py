"""A lower bound on the PSE from the ranks of the right users.

The rank R of the right user among N, ties broken at random, is a function of the scores S and of the user. For any
g > 0 with sum_r g(r) = N,

    E[ln g(R)]  <=  I(U;S)  <=  I(U;Y),

which is InfoNCE [van den Oord et al. 2018] with L a function of the rank: its sum over the gallery is the same for
every probe. Scores of probes of different lengths are on different scales, but their ranks are not, so this bound can
exceed those from scores. The best g is N times the distribution of the rank; here it is fitted to other probes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_level, checked_whole
from discreet.core.random import RandomSource, checked_source, uniform_below
from discreet.errors import DataError
from discreet.risk.scores.information import Information
from discreet.risk.scores.pse import pse_of_folds

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
    for one in range(_FOLDS):
        held = folds == one
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
