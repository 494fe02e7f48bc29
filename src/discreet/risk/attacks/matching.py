"""Matching: scores of every probe for every candidate, streamed and counted, never stored."""

from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.random import RandomSource
from discreet.errors import ParameterError
from discreet.risk.attacks.traces import Matcher
from discreet.risk.scores.scores import Rows, Scores, checked_owners, draw_pairs, folded, from_rows


def match(
    matcher: Matcher, *, sample: int = 0, random: RandomSource | None = None, threads: int | None = None
) -> Scores:
    """Return the scores of every probe for every candidate.

    The result is the same to the last digit whatever the threads are.

    Args:
        matcher: from one of the matching algorithms.
        sample: how many impostor scores to keep; all, if there are no more.
        random: the words for the choice; None for fresh ones.
        threads: how many to use; None for as many as there are processors.

    Returns:
        Scores in the matcher's unit.

    Example:
        >>> from discreet.risk.attacks.traces import visits
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4 + ["u3"] * 4, list("abab") + list("cccc") + list("aaaa")))
        >>> scores = match(visits(split))
        >>> scores.probes, scores.candidates, round(scores.success(), 2)
        (3, 3, 1.0)
    """
    from discreet.kernels.traces import matching as kernels

    problem = matcher.problem
    genuine = kernels.scores_of_pairs(problem, np.arange(matcher.probes), problem.users, threads=threads)
    thresholds = np.unique(genuine)
    pairs = draw_pairs(problem.users, matcher.candidates, sample, random)
    asked = pairs.probes, pairs.owners
    greater, ties, counts, kept = kernels.rank(problem, genuine, thresholds, asked, threads=threads)
    ranked: dict[str, Any] = {"greater": greater, "ties": ties, "users": matcher.users}
    return Scores(
        genuine,
        thresholds,
        *folded(counts),
        impostor_sample=kept,
        candidates=matcher.candidates,
        unit=matcher.unit,
        **ranked,
    )


def match_rows(
    rows: Rows, users: IntArray, candidates: int, *, sample: int = 0, random: RandomSource | None = None
) -> Scores:
    """Return the scores by a function of the caller's.

    Args:
        rows: returns the ``(stop - start, n)`` scores of probes start .. stop - 1; the larger, the more similar. It
            is called twice for every block of probes and must say the same both times. nan leaves a pair out.
        users: ``(m,)`` the own user of each probe, in 0..n - 1.
        candidates: n.
        sample: how many impostor scores to keep.
        random: the words for the choice; None for fresh ones.

    Raises:
        DataError: if users are no candidates, or scores have another shape.

    Example:
        >>> similarity = np.array([[9, 1, 2], [3, 7, 4], [8, 2, 6]])
        >>> scores = match_rows(lambda start, stop: similarity[start:stop], np.arange(3), candidates=3)
        >>> round(scores.success(), 2), scores.success(k=2)
        (0.67, 1.0)
    """
    owners = checked_owners(users, len(users), candidates)
    return from_rows(rows, owners, candidates, sample=sample, random=random)


def sum_steps(matcher: Matcher, thresholds: Any, values: Any, *, threads: int | None = None) -> FloatArray:
    """Return the sum of a step function L of the scores over all candidates, the own user included, for every probe.

    This is the denominator of InfoNCE, E ln(L(s_own) / mean L(s_i)) [spec of exact risk, section 4].

    Args:
        matcher: as for `match`.
        thresholds: ``(k,)`` different integers, ascending: scores in units.
        values: ``(k + 1,)`` finite numbers; the i-th belongs to scores from threshold i - 1 on and below threshold i.
        threads: as for `match`.

    Returns:
        Sums, ``(m,)``.

    Raises:
        ParameterError: if thresholds and values make no step function.

    Example:
        >>> from discreet.risk.attacks.traces import visits
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> sum_steps(visits(split), thresholds=[], values=[1.0]).tolist()
        [2.0, 2.0]
    """
    from discreet.kernels.traces import matching as kernels

    steps, heights = np.asarray(thresholds), np.asarray(values, dtype=np.float64)
    if steps.ndim != 1 or (len(steps) and (steps.dtype.kind not in "iu" or (np.diff(steps) <= 0).any())):
        raise ParameterError("thresholds must be different integers in ascending order.")
    if heights.shape != (len(steps) + 1,) or not np.isfinite(heights).all():
        raise ParameterError(f"values must be {len(steps) + 1} finite numbers, one more than thresholds.")
    return kernels.sum_steps(matcher.problem, steps.astype(np.int64), heights, threads=threads)
