"""Biometric systems as a yardstick: the information in their scores (BSE) and their error rates [PIE, sec. 5].

A matcher's scores come as a matrix, a row per probe and a column per user of the gallery, genuine scores on the
diagonal. Where enrolment failed, matchers store a mark such as -1 instead of a score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.random import RandomSource, checked_source
from discreet.errors import DataError
from discreet.risk.scores.pse import PSE, checked_matrix, pse_of_matrix
from discreet.risk.scores.rates import DET, RankCurve, det, rank_curve
from discreet.risk.scores.scores import Scores, as_array

_FEWEST = 4


@dataclass(frozen=True, slots=True, eq=False)
class Biometric:
    """The figures of one biometric matcher.

    Attributes:
        name: the name of the matcher.
        bse: the information about the user in the scores.
        det: the DET curve of genuine and impostor pairs.
        ranks: the rates at which the right user is among the k best.
        users: number of users assessed.
        dropped: number of users omitted for failed comparisons, with themselves or with assessed users.

    Example:
        >>> import discreet as dc
        >>> matrix = np.where(np.eye(6, dtype=bool), 9.0, np.arange(6) % 3)
        >>> finger = biometric({"finger": matrix}, random=dc.SeededRandom(1))["finger"]
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
    level: float = 0.95,
    random: RandomSource | None = None,
) -> dict[str, Biometric]:
    """Return the figures of biometric matchers.

    Args:
        matchers: by name, an ``(N, N)`` matrix each, row u the probe of user u against the gallery.
        distances: whether a lower number means more similar.
        failed: the mark for a missing score, besides NaN; None if no score is missing.
        level: confidence level of the intervals.
        random: the random words for folds; None for fresh words.

    Returns:
        A result per matcher, in the same order.

    Raises:
        DataError: if a matrix is not square, or fewer than 4 users are left, or a score is not finite.
        ParameterError: if a parameter is out of range.

    Example:
        >>> import discreet as dc
        >>> matrix = np.where(np.eye(6, dtype=bool), 9.0, np.arange(6) % 3)
        >>> matrix[0, 3] = -1
        >>> results = biometric({"finger": matrix}, failed=-1, random=dc.SeededRandom(1))
        >>> results["finger"].users, results["finger"].det.equal_error_rate
        (5, 0.0)
    """
    source = checked_source(random)
    figures = {}
    for name, raw in matchers.items():
        matrix, dropped = _without_failed(raw, failed)
        matrix = -matrix if distances else matrix
        bse, scores = pse_of_matrix(matrix, level=level, random=source), Scores.from_matrix(matrix)
        ranks = rank_curve(scores.ranks.greater, scores.ranks.ties, users=len(matrix), level=level)
        figures[name] = Biometric(name, bse, det(scores), ranks, len(matrix), dropped)
    return figures


def _without_failed(matrix: Any, failed: float | None) -> tuple[AnyArray, int]:
    """Return the scores of users without failed comparisons, and the number of omitted users, most failures first."""
    scores = as_array(matrix, "scores")
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise DataError("scores.not-square", shape=scores.shape)
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
        raise DataError("scores.too-many-failed", int=int(keep.sum()), scores_count=len(scores))
    return checked_matrix(scores[np.ix_(keep, keep)]), int((~keep).sum())
