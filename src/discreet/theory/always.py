"""Limits that hold at all looks at once, however often somebody looks, and whatever the rule for stopping is.

W is the contribution of a report to a weighted sum w . p, and M_x(l) = E[e^(l W) | x] follows from the law. For every
distribution with the sum t, E e^(l W) is at most C(l, t): the least concave function above the points (w_x, M_x(l)),
at t. With S the sum of n contributions,

    (1/J) sum over j of exp(l_j S - n ln C(l_j, t))

is a nonnegative supermartingale that starts at 1, so that it ever exceeds 2/alpha with probability alpha/2 at most
[Ville 1939]. A sum t at which the supermartingale exceeds 2/alpha lies below the interval; with -l_j it
lies above. The logarithm is convex in t, and at most 0 at t = S/n, so bisection finds the only limit on either side.
Any l_j are valid. The l_j used here suit numbers of reports from 1 to 4^12.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.theory.binomial import Ends

_SLOPES, _BASE = 13, 4.0
# The largest l |W| of a slope l. The largest |W| counts up to this number of standard deviations only.
_STEEPEST, _FAR = 3.0, 8.0
_LEVEL = 0.05
_ROUNDS = 60
_NEVER = 1e-12
# Complex numbers that are computed at a time.
_ENTRIES = 1 << 20


def slopes(second: FloatArray, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``(m, J)`` exponents l_j of the martingales of each sum, and the logarithms of the martingales' weights.

    Of equal l_j only the first has a weight above 0.

    Args:
        second: ``(m,)`` the largest E[W^2 | x].
        largest: ``(m,)`` the largest abs(W), or more.
    """
    second = np.maximum(second, np.finfo(float).tiny)[:, None]
    deviation = np.sqrt(second)
    most = _STEEPEST / np.clip(largest[:, None], deviation, _FAR * deviation)
    steps = np.sqrt(2 * np.log(2 * _SLOPES / _LEVEL) / (_BASE ** np.arange(_SLOPES) * second))
    capped = np.minimum(steps, most)
    again = np.zeros(capped.shape, np.bool_)
    again[:, 1:] = capped[:, 1:] == capped[:, :-1]
    different = _SLOPES - again.sum(axis=1, keepdims=True)
    return capped, np.where(again, -np.inf, -np.log(different))


def least_concave(points: FloatArray, heights: FloatArray) -> FloatArray:
    """Return the least concave majorant of points, at the positions of the points.

    Args:
        points: ``(q,)`` ascending.
        heights: ``(..., q)``.
    """
    if len(points) <= 2:
        return heights
    rows = heights.reshape(-1, len(points))
    return np.array([_hull(points, row) for row in rows]).reshape(heights.shape)


def _hull(points: FloatArray, heights: FloatArray) -> FloatArray:
    corners: list[tuple[float, float]] = []
    for x, y in zip(points.tolist(), heights.tolist(), strict=True):
        while len(corners) > 1:
            (a, first), (b, second) = corners[-2:]
            if (second - first) * (x - a) > (y - first) * (b - a):
                break
            corners.pop()
        corners.append((x, y))
    return np.asarray(np.interp(points, *np.array(corners).T))


def independent_means(tilts: FloatArray, sizes: FloatArray, joint: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Return means of e^t, with t the summed tilts of a block's members, if values are independent given one member.

    Args:
        tilts: ``(..., g)`` the tilt of the values of each group.
        sizes: ``(..., g)`` numbers of values.
        joint: the probabilities that one given value is a member, and that two are.

    Returns:
        ``(...)`` means over all noise blocks, and ``(..., g)`` means over blocks that contain a given value of each
        group.
    """
    rest = joint[1] / joint[0]
    beside = np.log1p(rest * np.expm1(tilts))
    together = (sizes * beside).sum(axis=-1)
    # A block is empty with probability 1 - pi/rho. Otherwise each value is in it with probability rho, which may be 0.
    some = np.expm1(together) / rest if rest > _NEVER else (sizes * np.expm1(tilts)).sum(axis=-1)
    return 1 + joint[0] * some, np.exp(tilts + together[..., None] - beside)


def subset_means(tilts: FloatArray, sizes: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return means of e^t, with t the summed tilts of the members of a uniform subset of ``count`` values.

    With z = e^tilt, the sum over subsets is the coefficient of u^k in the product of 1 + z u over the values. It is a
    mean over points on a circle through the saddle point; the number of points suffices for 16 digits.

    Args:
        tilts: ``(..., g)`` the tilt of the values of each group.
        sizes: ``(..., g)`` numbers of values.
        count: k, at least 2 and below the number of values.

    Returns:
        ``(...)`` means over all subsets, and ``(..., g)`` means over subsets that contain a given value of each group.
    """
    from scipy.special import gammaln

    shape, groups = tilts.shape, tilts.shape[-1]
    tilts, sizes = tilts.reshape(-1, groups), sizes.reshape(-1, groups)
    size = float(sizes[0].sum())
    radius = _saddles(tilts, sizes, count)
    points = int(min(size + 1, np.ceil(16 * np.sqrt(min(count, size - count))) + 32))
    angles = 2 * np.pi * np.arange(points) / points
    inside = tilts + radius[:, None]
    heights = (sizes * np.log1p(np.exp(inside))).sum(axis=1)
    noise, truthful = np.empty(len(tilts)), np.empty(tilts.shape)
    step = max(_ENTRIES // (points * groups), 1)
    for start in range(0, len(tilts), step):
        part = slice(start, start + step)
        factors = np.exp(inside[part, None] + 1j * angles[:, None])
        turned = np.exp((sizes[part, None] * np.log1p(factors)).sum(axis=2) - heights[part, None] - 1j * count * angles)
        noise[part] = turned.mean(axis=1).real
        truthful[part] = (turned[:, :, None] * factors / (1 + factors)).mean(axis=1).real

    def chosen(n: float, k: float) -> float:
        return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    scale = heights - count * radius
    noise = np.exp(scale - chosen(size, count)) * noise
    truthful = np.exp(scale - chosen(size - 1, count - 1))[:, None] * truthful
    return noise.reshape(shape[:-1]), truthful.reshape(shape)


def _saddles(tilts: FloatArray, sizes: FloatArray, count: int) -> FloatArray:
    """Return the ``(r,)`` logarithms of the saddle points u, at which the expected number of members is ``count``."""
    odds = np.log(count / (sizes[0].sum() - count))
    low, high = odds - tilts.max(axis=1), odds - tilts.min(axis=1)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        more = (sizes / (1 + np.exp(-(tilts + middle[:, None])))).sum(axis=1) > count
        low, high = np.where(more, low, middle), np.where(more, middle, high)
    return np.asarray((low + high) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class AlwaysLimits:
    """Confidence limits that hold at all looks at once, for m sums whose weights differ only in their order.

    Attributes:
        points: ``(q,)`` the different weights, ascending.
        bounds: ``(2, m, J, q)`` C(l_j, t) and C(-l_j, t) at the weights.
        slopes: ``(m, J)`` l_j.
        shares: ``(m, J)`` logarithms of the weights that the l_j have.
        n: number of reports.
    """

    points: FloatArray
    bounds: FloatArray
    slopes: FloatArray
    shares: FloatArray
    n: float

    @classmethod
    def of(
        cls, weights: FloatArray, exponentials: FloatArray, slopes: FloatArray, shares: FloatArray, n: float
    ) -> "AlwaysLimits":
        """Return the limits of weighted sums, from the moment generating functions of a report's contributions.

        Args:
            weights: ``(m, g)`` the weight of the values of each group; every sum has the same weights, in another
                order.
            exponentials: ``(2, m, J, g)`` M_x(l_j) and M_x(-l_j); 0 for groups without values.
            slopes: ``(m, J)``.
            shares: ``(m, J)``.
            n: number of reports.
        """
        points = np.unique(weights)
        largest = [np.where((weights == point)[:, None], exponentials, 0).max(axis=-1) for point in points]
        return cls(points, least_concave(points, np.stack(largest, axis=-1)), slopes, shares, n)

    def at(self, places: IntArray) -> "AlwaysLimits":
        """Return the limits of other sums, each with the same distribution as the sum at the given place."""
        return AlwaysLimits(self.points, self.bounds[:, places], self.slopes[places], self.shares[places], self.n)

    def _excess(self, side: int, estimates: FloatArray, t: FloatArray, alpha: float) -> FloatArray:
        """Return ``(m,)`` logarithms of the martingales at t, minus ln(2/alpha); where it is above 0, t is excluded."""
        if len(self.points) > 1:
            after = np.clip(np.searchsorted(self.points, t, side="right"), 1, len(self.points) - 1)
            low, high = self.points[after - 1], self.points[after]
            part = ((t - low) / (high - low))[:, None]
            bounds, rows = self.bounds[side], np.arange(len(t))
            most = (1 - part) * bounds[rows, :, after - 1] + part * bounds[rows, :, after]
        else:
            most = self.bounds[side][..., 0]
        sign = 1 - 2 * side
        exponents = self.n * (sign * self.slopes * estimates[:, None] - np.log(most)) + self.shares
        return np.asarray(np.logaddexp.reduce(exponents, axis=1) - np.log(2 / alpha))

    def limits(self, estimates: FloatArray, alpha: float) -> Ends:
        """Return the ``(m,)`` confidence limits of sums with these estimates, within the possible sums."""
        ends = []
        inside = np.clip(estimates, self.points[0], self.points[-1])
        for side, border in enumerate((self.points[0], self.points[-1])):
            out, held = np.full(len(estimates), border), inside
            possible = self._excess(side, estimates, out, alpha) <= 0
            for _ in range(_ROUNDS):
                middle = (out + held) / 2
                excluded = self._excess(side, estimates, middle, alpha) > 0
                out, held = np.where(excluded, middle, out), np.where(excluded, held, middle)
            ends.append(np.where(possible, border, held))
        return ends[0], ends[1]
