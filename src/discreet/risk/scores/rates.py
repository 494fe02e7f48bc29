"""Error rates of an attack, from its scores: rank curves, the information in ranks, and DET curves.

If several users share a score with the right one, the adversary breaks the tie at random. Let ``greater`` users be
strictly better, and let ``ties`` users, including the right one, have the same score. Then the right user is among the
k best with probability

    clip((k - greater) / ties, 0, 1).

The rank R of the right user among N, ties broken at random, is a function of the scores S and of the user U. For any
g > 0 with sum_r g(r) = N,

    E[ln g(R)]  <=  I(U;S)  <=  I(U;Y),

which is InfoNCE [van den Oord et al. 2018] with a function of the rank: its sum over all users is the same for every
probe. Probes of different lengths have scores on different scales, but ranks on one scale, so this bound can exceed the
bounds from scores. The best g is N times the distribution of the rank; here it is fitted to other probes.

A claim is accepted if its score is at least t. The *false acceptance rate* is the share of impostor scores >= t, the
*false rejection rate* the share of genuine scores < t. Between two neighbouring genuine scores only the first rate
changes, and is smallest at the upper one. So the distinct genuine scores suffice as thresholds, and it suffices to
count impostor scores between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray, read_only
from discreet.core.checks import checked_level, checked_whole
from discreet.core.random import RandomSource, checked_source, uniform_below
from discreet.errors import DataError, ParameterError
from discreet.risk.scores.pse import Information, pse_of_folds
from discreet.risk.scores.scores import Scores, as_array, checked, listed
from discreet.theory.binomial import lower_bound, upper_bound

_BELOW_ONE_COUNT = 1e-9
_NAME = "InfoNCE of ranks"
_FOLDS = 5
_UNSEEN = 0.5


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with its confidence interval.

    Attributes:
        value: the share, in 0..1.
        low: lower confidence limit [Clopper and Pearson 1934].
        high: upper confidence limit.
        trials: the number of trials.
        level: confidence level of the interval.

    Example:
        >>> print(rate(12, 100), rate(12, 100).complement, sep="; ")
        0.12 (95% interval 0.06357 to 0.2002, of 100); 0.88 (95% interval 0.7998 to 0.9364, of 100)
    """

    value: float
    low: float
    high: float
    trials: int
    level: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.level:.0%} interval {self.low:.4g} to {self.high:.4g}, of {self.trials})"

    @property
    def complement(self) -> "Rate":
        """The rate of the opposite event."""
        return Rate(1 - self.value, 1 - self.high, 1 - self.low, self.trials, self.level)


def rate(successes: float, trials: int, *, level: float = 0.95) -> Rate:
    """Return a rate with its Clopper-Pearson interval.

    Args:
        successes: in 0..trials; if ties count in parts, the interval is for the next integers. A sum of probabilities
            varies at most as much as independent coins, so the level holds.
        trials: the number of independent trials, at least 1.
        level: confidence level.

    Raises:
        DataError: if there are more successes than trials, or no trial.
        ParameterError: if the level is not in (0, 1).

    Example:
        >>> share = rate(12, 100, level=0.95)
        >>> share.value, round(share.low, 3), round(share.high, 3)
        (0.12, 0.064, 0.2)
    """
    level = checked_level(level)
    if trials < 1 or not -_BELOW_ONE_COUNT <= successes <= trials + _BELOW_ONE_COUNT:
        raise DataError("rate.impossible-counts", trials=trials)
    least, most = floor(successes + _BELOW_ONE_COUNT), ceil(successes - _BELOW_ONE_COUNT)
    error = (1 - level) / 2
    low = lower_bound(max(least, 0), trials, error)
    high = upper_bound(min(most, trials), trials, error)
    return Rate(min(max(successes / trials, 0.0), 1.0), low, high, trials, level)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankCurve:
    """A rank curve: rates at which the right user is among the k best.

    Attributes:
        ks: the list lengths, ascending.
        rates: one rate per list length.
        users: the number of users in the lists; None if unknown.

    Example:
        >>> curve = rank_curve([0, 0, 1, 3], [1, 1, 1, 1], ks=[1, 2], users=10)
        >>> [rate.value for rate in curve.rates], curve.error.value
        ([0.5, 0.75], 0.5)
    """

    ks: tuple[int, ...]
    rates: tuple[Rate, ...]
    users: int | None = None

    def __repr__(self) -> str:
        return f"RankCurve(k={self.ks[0]}..{self.ks[-1]}, {self.rates[0].trials} probes)"

    @property
    def error(self) -> Rate:
        """The identification error rate: the rate at which another user scores best (for the shortest list)."""
        return self.rates[0].complement

    def __str__(self) -> str:
        listed = f"among the {self.ks[0]} best" if self.ks[0] > 1 else "identified"
        chance = f"; guessing would do so with {self.ks[0] / self.users:.4g}" if self.users else ""
        return f"A user is {listed} with probability {self.rates[0]}{chance}."


def rank_curve(
    greater: Any, ties: Any, *, ks: Sequence[int] | None = None, users: int | None = None, level: float = 0.95
) -> RankCurve:
    """Return the rank curve of probes.

    Args:
        greater: ``(n,)`` for each probe, the number of users with a strictly higher score than the right user.
        ties: ``(n,)`` for each probe, the number of users with the right user's score, including that user; at least 1.
        ks: the list lengths; None for 1, 2, 5, 10, ... up to the worst rank.
        users: N, the number of users, for comparison with guesses.
        level: confidence level of each interval.

    Raises:
        DataError: if the arrays are not such counts.
        ParameterError: if a list length is not at least 1.

    Example:
        >>> curve = rank_curve([0, 0, 1, 3], [1, 1, 1, 1], users=10)
        >>> curve.ks, [rate.value for rate in curve.rates]
        ((1, 2, 4), [0.5, 0.75, 1.0])
    """
    level = checked_level(level)
    above, same = _counts(greater, "greater", 0), _counts(ties, "ties", 1)
    if len(above) != len(same) or not len(above):
        raise DataError("ranks.unequal-counts", same_count=len(same), above_count=len(above))
    if ks is None:
        # Beyond the worst rank every right user is in the list.
        ks = _spread(int((above + same).max()))
    if not len(ks):
        raise ParameterError("ranks.no-lengths", argument="ks")
    chosen = tuple(sorted({checked_whole("k", k, 1) for k in ks}))
    rates = tuple(rate(float(listed(above, same, k).sum()), len(above), level=level) for k in chosen)
    return RankCurve(chosen, rates, None if users is None else checked_whole("users", users, 1))


def _spread(worst: int) -> list[int]:
    steps = [digit * 10**decade for decade in range(len(str(worst))) for digit in (1, 2, 5)]
    return [k for k in steps if k < worst] + [worst]


def _counts(array: Any, name: str, least: int) -> IntArray:
    counts = as_array(array, name)
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise DataError("ranks.not-integers", name=name, ndim=counts.ndim, dtype=counts.dtype)
    if (counts < least).any():
        raise DataError(
            "ranks.counts-too-small", int=int((counts < least).sum()), counts_count=len(counts), name=name, least=least
        )
    return counts.astype(np.int64)


def pse_of_ranks(
    greater: Any, ties: Any, *, users: int, level: float = 0.95, random: RandomSource | None = None
) -> Information:
    """Return a lower bound on the PSE from the ranks of the right users, for a uniform prior.

    Args:
        greater: ``(n,)`` for each probe, the number of users with a strictly higher score than the right user; n >= 2.
        ties: ``(n,)`` for each probe, the number of users with the right user's score, including that user.
        users: N, the number of users.
        level: confidence level of the interval.
        random: the random words for the folds; None for fresh words.

    Returns:
        A lower bound on the PIE, in bits, with its interval.

    Raises:
        DataError: if the arrays are not ranks among N users, or there are fewer than 2.
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
        raise DataError("ranks.impossible", users=users)
    edges = _edges(users)
    # The rank is uniform among tied users.
    spread = _covered(above, same, edges)
    folds = uniform_below(_FOLDS, len(above), checked_source(random)).astype(np.int64)
    logs = np.empty(len(above))
    for place in range(_FOLDS):
        held = folds == place
        if held.any():
            logs[held] = spread[held] @ _log_ratio(spread[~held].sum(axis=0), edges, users)
    fold = logs, np.ones(len(logs)), np.full(len(logs), 1 / len(logs))
    bounds = pse_of_folds([fold], users, checked_level(level))
    return replace(bounds.best, name=_NAME, method="a law of ranks fitted to other probes", m=len(above) * (users - 1))


def _edges(users: int) -> IntArray:
    """Return ``(b + 1,)`` ends of cells of ranks, from 0: cells 1, 2, 3 to 4, 5 to 8, and so on up to N."""
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DET:
    """A DET curve: one point per threshold, from the smallest genuine score to a value above all scores.

    Attributes:
        false_accepts: ``(b + 1,)`` numbers of accepted impostor scores, descending to 0.
        false_rejects: ``(b + 1,)`` numbers of rejected genuine scores, ascending from 0 to n.
        n: number of genuine scores.
        m: number of impostor scores.

    Example:
        >>> curve = det(Scores.of_pairs([5, 6, 7, 9], [1, 2, 3, 6]))
        >>> curve.far.tolist(), curve.frr.tolist()
        ([0.25, 0.25, 0.0, 0.0, 0.0], [0.0, 0.25, 0.5, 0.75, 1.0])
    """

    false_accepts: IntArray
    false_rejects: IntArray
    n: int
    m: int

    def __post_init__(self) -> None:
        """Make the numbers read-only."""
        object.__setattr__(self, "false_accepts", read_only(self.false_accepts))
        object.__setattr__(self, "false_rejects", read_only(self.false_rejects))

    def __repr__(self) -> str:
        return f"DET({len(self.false_accepts)} thresholds, n={self.n}, m={self.m})"

    def __str__(self) -> str:
        return (
            f"At one threshold {self.equal_error_rate:.2%} of genuine pairs are rejected and as many of the impostor "
            f"pairs are accepted ({self.n} genuine and {self.m} impostor scores)."
        )

    @property
    def far(self) -> FloatArray:
        """``(b + 1,)`` false acceptance rates, in descending order."""
        return self.false_accepts / self.m

    @property
    def frr(self) -> FloatArray:
        """``(b + 1,)`` false rejection rates, in ascending order."""
        return self.false_rejects / self.n

    @property
    def equal_error_rate(self) -> float:
        """The rate at which both errors are equal, by linear interpolation between neighbouring thresholds.

        The first threshold rejects no user and the last accepts none, so the curves always cross.
        """
        far, frr = self.far, self.frr
        after = int(np.argmax(frr >= far))
        if after == 0:
            return float(far[0])
        fall, rise = far[after - 1] - far[after], frr[after] - frr[after - 1]
        share = (far[after - 1] - frr[after - 1]) / (fall + rise)
        return float(frr[after - 1] + share * rise)


def det(scores: Scores) -> DET:
    """Return the DET curve of genuine and impostor scores.

    Raises:
        DataError: if there are fewer than 2 genuine scores or no impostor scores, or they are not finite.

    Example:
        >>> det(Scores.of_pairs([5, 6, 7, 9], [1, 2, 3, 6])).equal_error_rate
        0.25
    """
    bins = checked(scores).bins()
    genuine, impostors = np.add.reduceat(bins, np.flatnonzero(bins[0]), axis=1)
    accepts = np.append(np.cumsum(impostors[::-1])[::-1], 0)
    rejects = np.concatenate([[0], np.cumsum(genuine)])
    return DET(accepts, rejects, scores.n, scores.m)
