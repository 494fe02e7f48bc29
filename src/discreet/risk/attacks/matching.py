"""Matching: scores of every probe for every candidate, streamed and counted, never stored."""

import numpy as np

from discreet.arrays import IntArray
from discreet.risk.attacks.traces import Matcher
from discreet.risk.scores.scores import Rows, Scores, checked_owners, folded


def match(matcher: Matcher, *, threads: int | None = None) -> Scores:
    """Return the scores of every probe for every candidate.

    The result is the same to the last digit whatever the threads are.

    Args:
        matcher: from one of the matching algorithms.
        threads: how many to use; None for as many as there are processors.

    Returns:
        Scores in the matcher's unit.

    Example:
        >>> from discreet.risk.attacks.traces import visits
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4 + ["u3"] * 4, list("abab") + list("cccc") + list("aaaa")))
        >>> scores = match(visits(split))
        >>> scores.n, scores.candidates, round(scores.success(), 2)
        (3, 3, 1.0)
    """
    from discreet.kernels.traces import matching as kernels

    problem = matcher.problem
    genuine = kernels.genuine_scores(problem, threads=threads)
    thresholds = np.unique(genuine)
    greater, ties, counts = kernels.rank(problem, genuine, thresholds, threads=threads)
    ranks = greater, ties, matcher.users
    return Scores(genuine, thresholds, *folded(counts), None, *ranks, matcher.candidates, matcher.unit)


def match_rows(rows: Rows, users: IntArray, candidates: int) -> Scores:
    """Return the scores by a function of the caller's.

    Args:
        rows: returns the ``(stop - start, n)`` scores of probes start .. stop - 1; the larger, the more similar. It
            is called twice for every block of probes and must say the same both times. nan leaves a pair out.
        users: ``(m,)`` the own user of each probe, in 0..n - 1.
        candidates: n.

    Raises:
        DataError: if users are no candidates, or scores have another shape.

    Example:
        >>> similarity = np.array([[9, 1, 2], [3, 7, 4], [8, 2, 6]])
        >>> scores = match_rows(lambda start, stop: similarity[start:stop], np.arange(3), candidates=3)
        >>> round(scores.success(), 2), scores.success(k=2)
        (0.67, 1.0)
    """
    return Scores.from_rows(rows, checked_owners(users, len(users), candidates), candidates)
