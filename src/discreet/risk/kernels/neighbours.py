"""Nearest neighbours of scores on a line, in one pass over two sorted samples.

Every function takes float64 or int64 scores in ascending order. Differences of int64 scores must fit into 63 bits, and
differences of float64 scores must be finite. The difference of two unequal scores is then never zero.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled

Scores: TypeAlias = NDArray[Any]


@compiled()
def digamma(x: float) -> float:
    """Return psi(x) for x > 0, to about 1e-15."""
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    tail = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return float(shift + np.log(x) - 0.5 / x - tail)


@compiled()
def take_atoms(genuine: Scores, impostors: Scores, k: int, light: int) -> tuple[Any, ...]:
    """Return scores without atoms, which are values so frequent that a k-th neighbour would be at distance 0.

    Args:
        genuine: shape ``(n,)``.
        impostors: shape ``(m,)``.
        k: the number of the neighbour; with 0 every value is removed.
        light: an atom with fewer genuine scores than this counts as light.

    Returns:
        The sum of X (psi(X) - psi(Y + 1)) over the atoms, with X and Y their counts; the numbers of genuine scores on
        light atoms and of light atoms; the other genuine and impostor scores, still sorted.
    """
    n, m = genuine.size, impostors.size
    genuine_rest, impostor_rest = np.empty_like(genuine), np.empty_like(impostors)
    total, on_light, lights, a, b, i, j = 0.0, 0, 0, 0, 0, 0, 0
    while i < n or j < m:
        value = genuine[i] if j >= m or (i < n and genuine[i] <= impostors[j]) else impostors[j]
        first, second = i, j
        while i < n and genuine[i] == value:
            i += 1
        while j < m and impostors[j] == value:
            j += 1
        x, y = i - first, j - second
        if x > k or y > k or (x > 0 and y >= k):
            if x > 0:
                total += x * (digamma(float(x)) - digamma(y + 1.0))
            if 0 < x < light:
                on_light, lights = on_light + x, lights + 1
        else:
            genuine_rest[a : a + x] = value
            impostor_rest[b : b + y] = value
            a, b = a + x, b + y
    return total, on_light, lights, genuine_rest[:a], impostor_rest[:b]


@compiled()
def _distance(x: Any, scores: Scores, left: int, right: int, k: int) -> float:
    """Return the distance of the k-th nearest score, among scores up to index ``left`` and from index ``right``."""
    distance = 0.0
    for _ in range(k):
        if left < 0 or (right < scores.size and scores[right] - x < x - scores[left]):
            distance = float(scores[right] - x)
            right += 1
        else:
            distance = float(x - scores[left])
            left -= 1
    return distance


@compiled()
def _reach_down(x: Any, scores: Scores, left: int, radius: float) -> int:
    """Return the first index, up to ``left``, of a score within the radius of x; ``left + 1`` without any."""
    inside, step = left + 1, 1
    while inside - step >= 0 and float(x - scores[inside - step]) <= radius:
        inside -= step
        step *= 2
    outside = max(inside - step, -1)
    while inside - outside > 1:
        middle = (inside + outside) // 2
        if float(x - scores[middle]) <= radius:
            inside = middle
        else:
            outside = middle
    return inside


@compiled()
def _reach_up(x: Any, scores: Scores, right: int, radius: float) -> int:
    """Return the last index, from ``right`` on, of a score within the radius of x; ``right - 1`` without any."""
    inside, step = right - 1, 1
    while inside + step < scores.size and float(scores[inside + step] - x) <= radius:
        inside += step
        step *= 2
    outside = min(inside + step, scores.size)
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if float(scores[middle] - x) <= radius:
            inside = middle
        else:
            outside = middle
    return inside


@compiled()
def _within(x: Any, scores: Scores, left: int, right: int, radius: float) -> tuple[int, float]:
    """Return the number of scores within the radius, and the distance of the farthest."""
    first, last = _reach_down(x, scores, left, radius), _reach_up(x, scores, right, radius)
    farthest = 0.0
    if first <= left:
        farthest = float(x - scores[first])
    if last >= right:
        farthest = max(farthest, float(scores[last] - x))
    return (left - first + 1) + (last - right + 1), farthest


@compiled()
def generalized_sum(genuine: Scores, impostors: Scores, k: int) -> float:
    """Return the sum of ln nu - ln rho + psi(l) - psi(k) over the genuine scores, with one radius for both samples.

    The radius is the larger of the two distances to the k-th neighbours. l and k count the scores within it, and rho
    and nu are the distances of the farthest of these scores.

    Args:
        genuine: shape ``(n,)``, n > k, with no value more than k times.
        impostors: shape ``(m,)``, m >= k, with no genuine score k times or more.
        k: at least 1.
    """
    total, place = 0.0, 0
    for i in range(genuine.size):
        x = genuine[i]
        while place < impostors.size and impostors[place] < x:
            place += 1
        radius = max(_distance(x, impostors, place - 1, place, k), _distance(x, genuine, i - 1, i + 1, k))
        near, rho = _within(x, genuine, i - 1, i + 1, radius)
        others, nu = _within(x, impostors, place - 1, place, radius)
        total += np.log(nu) - np.log(rho) + digamma(float(near)) - digamma(float(others))
    return total


@compiled()
def group_bins(genuine: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Return groups of consecutive bins with at least ``least`` genuine scores; a bin with enough of them stays alone.

    Args:
        genuine: shape ``(b,)`` counts.
        least: at least 1.

    Returns:
        The first bin of every group, ascending. Bins without genuine scores join the group before them; after a bin
        that stays alone they form their own group. A remainder with too few genuine scores joins the group before it,
        unless that is one of these two.
    """
    starts = np.empty(genuine.size, np.int64)
    groups, held, closed, apart, alone = 0, least, True, True, False
    for place in range(genuine.size):
        count = genuine[place]
        if alone or (count > 0 and (held >= least or count >= least)):
            starts[groups] = place
            groups, held, apart = groups + 1, 0, closed
            closed = count == 0 or count >= least
        held += count
        alone = count >= least
        if closed:
            held = least
    if held < least and not apart:
        groups -= 1
    return starts[:groups]
