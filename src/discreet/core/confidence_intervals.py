"""Levels of confidence intervals: of one value, of all at once, of a selection; and score intervals."""

from math import expm1, log
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray

DEFAULT_LEVEL = 0.95
"""Confidence of intervals where none is asked for."""

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper limits, each ``(m,)``."""


def miss_probability(level: float, size: int, *, simultaneous: bool, shown: int | None = None) -> float:
    """Return the probability with which the interval of one value may miss.

    So that all of them hold at once it is Sidak's, 1 - level^(1/size), valid for every correlation of two-sided
    intervals of jointly normal estimates. Of R values that are shown because of their own estimates it is R times as
    much, at most 1 - level: then the expected share of shown intervals that miss is at most 1 - level (false coverage
    rate) [Benjamini and Yekutieli 2005, JASA 100].

    Args:
        level: confidence, in (0, 1).
        size: number of values.
        simultaneous: whether all hold at once.
        shown: R; None if the values were not chosen by their estimates.
    """
    together = -expm1(log(level) / size)
    if simultaneous:
        return together
    return 1 - level if shown is None else min(1 - level, max(shown, 1) * together)


def once_each(cells: AnyArray, *beside: Any) -> tuple[tuple[IntArray, ...], IntArray]:
    """Return an index of the different cells, and the place of each cell among them.

    What follows from a cell and the numbers beside it is worked out once.

    Args:
        cells: ``(m,)``, or ``(g, m)`` of groups.
        beside: the numbers that hold for a row of cells, without which they are not the same: each a number, or
            ``(g, 1)``.

    Returns:
        The index of where each of k stands first, and ``(m,)`` or ``(g, m)`` places in 0..k - 1.
    """
    whole: AnyArray = np.zeros((), np.int64)
    for one in (*(one for one in beside if np.ndim(one)), cells):
        places = np.unique(one, return_inverse=True)[1].reshape(np.shape(one))
        # Numbers of numbers: products of these do not overflow.
        whole = (
            np.unique(whole, return_inverse=True)[1].reshape(whole.shape) * (int(places.max(initial=0)) + 1) + places
        )
    _, first, places = np.unique(whole, return_index=True, return_inverse=True)
    return np.unravel_index(first, cells.shape), places.reshape(cells.shape)


def sigmas(tail: float) -> float:
    """Return the standard score that a normal number exceeds with probability ``tail``."""
    return -NormalDist().inv_cdf(tail)


def score_ends(
    frequencies: FloatArray, second_moments: tuple[FloatArray, FloatArray], n: float | AnyArray, z: float | FloatArray
) -> Ends:
    """Return the ends of score intervals: p with (p_hat - p)^2 = z^2 (A + B p - p^2) / n.

    Args:
        frequencies: ``(m,)`` p_hat.
        second_moments: A and B, each ``(m,)``; n times the variance is A + B p - p^2 where the truth is p.
        n: number of reports.
        z: in standard deviations; a number, or ``(m,)``.

    Returns:
        The lower and the upper solution, each ``(m,)``; they may lie outside [0, 1].
    """
    constant, slope = second_moments
    share = z * z / n
    centre = (2 * frequencies + share * slope) / (2 * (1 + share))
    product = (frequencies**2 - share * constant) / (1 + share)
    half = np.sqrt(np.maximum(centre**2 - product, 0))
    return centre - half, centre + half
