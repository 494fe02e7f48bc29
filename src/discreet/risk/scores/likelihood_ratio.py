"""Step functions of a score: estimates of the likelihood ratio of genuine and random pairs.

A certified bound holds for any L that was not fitted to the scores on which it is evaluated. The best L is f_G / f_mix
with f_mix = f_G / N + (1 - 1/N) f_I for N users, which is at most N, so ln L is at most ln N.
"""

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray, frozen
from discreet.errors import ParameterError
from discreet.kernels.traces import neighbours
from discreet.risk.scores.scores import Scores

_LEAST_PER_CELL = 5
_UNSEEN = 0.5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepFunction:
    """A step function L of a score, constant between neighbouring edges.

    Attributes:
        edges: ``(c,)`` ascending scores; a score on an edge belongs to the step above it.
        levels: ``(c + 1,)`` values of L, finite and positive.
    """

    edges: AnyArray
    levels: FloatArray

    def __post_init__(self) -> None:
        """Make the numbers read-only.

        Raises:
            ParameterError: if there is not one level more than edges, or a level is not finite and positive.
        """
        if len(self.levels) != len(self.edges) + 1 or not (np.isfinite(self.levels) & (self.levels > 0)).all():
            raise ParameterError("a step function must have one finite level > 0 more than it has edges.")
        object.__setattr__(self, "edges", frozen(self.edges))
        object.__setattr__(self, "levels", frozen(self.levels))

    def __repr__(self) -> str:
        return f"StepFunction({len(self.levels)} steps)"

    def __call__(self, scores: Any) -> FloatArray:
        """Return L of scores of any shape."""
        likelihoods: FloatArray = self.levels[np.searchsorted(self.edges, scores, "right")]
        return likelihoods


def fitted_steps(scores: Scores, users: int) -> StepFunction:
    """Return the step function fitted to scores.

    Args:
        scores: of probes that L will not be evaluated on.
        users: N.
    """
    own = np.unique(scores.genuine, return_counts=True)[1]
    starts, levels = fitted_levels(own, scores.impostor_counts[1:], scores.m, users)
    return StepFunction(scores.thresholds[starts], levels)


def fitted_levels(genuine: IntArray, impostors: IntArray, m: int, users: int) -> tuple[IntArray, FloatArray]:
    """Return the levels of a step function fitted to counts.

    Args:
        genuine: ``(b,)`` genuine scores in each bin, at least 1 in all; bins of none are allowed.
        impostors: ``(b,)`` impostor scores in each bin.
        m: impostor scores in all, those below the first bin included.
        users: N.

    Returns:
        ``(c,)`` first bins of the cells, ascending, and the ``(c + 1,)`` levels below, in and above them.
    """
    n = int(genuine.sum())
    # So few cells that their number costs about as little as their width.
    starts = neighbours.group_bins(genuine, max(isqrt(n), _LEAST_PER_CELL))
    own, others = np.add.reduceat(genuine, starts), np.add.reduceat(impostors, starts)
    # Below the first cell no genuine score was seen.
    own, others = np.concatenate([[0], own]), np.concatenate([[m - others.sum()], others])
    seen, doubt = _shares(own), _shares(others)
    return starts, seen / (seen / users + (1 - 1 / users) * doubt)


def _shares(counts: IntArray) -> FloatArray:
    """Return probabilities above 0, with half a score added to each cell [Krichevsky and Trofimov 1981]."""
    smoothed = counts + _UNSEEN
    shares: FloatArray = smoothed / smoothed.sum()
    return shares
