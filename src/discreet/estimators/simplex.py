"""Projections of the linear estimate onto the simplex, and the methods ``norm-sub`` and ``projected``.

The nearest distribution to an estimate, in a metric with a weight for each coordinate, is

    q_j = max(0, values_j - lam / weights_j),  with lam such that sum(q) = total.

The excess sum(q) - total is convex, decreasing and piecewise linear in lam. So Newton's method, started below the root,
increases to the root and stops exactly there. The number of rounds grows with the logarithm of the range of the data.
Standard errors assume a piecewise linear function of nearly normal estimates.
"""

from functools import partial

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.linear import LinearStart, Method
from discreet.results.estimate import Estimate

# Rounds grow with the logarithm of the range of the data: a few dozen in practice, about 2,000 if
# the data span all of float64.
_MOST_ROUNDS = 4096
# 1/weight stays finite and a product with it does not overflow.
_LEAST_RELATIVE_WEIGHT = 1e-290


def projection(values: FloatArray, weights: FloatArray, *, total: float = 1.0) -> tuple[FloatArray, float]:
    """Return the nearest point of the simplex to an estimate in a weighted metric, and the multiplier lam.

    The point minimises sum_j weights_j (q_j - values_j)^2 over q >= 0 with sum(q) = total, to rounding.

    Args:
        values: ``(v,)`` finite numbers, v >= 1.
        weights: ``(v,)`` finite numbers above 0.
        total: the sum of the result, at least 0.
    """
    largest = float(weights.max())
    relative = np.maximum(weights / largest, _LEAST_RELATIVE_WEIGHT)
    inverse = 1.0 / relative
    # With this multiplier one coordinate has the whole total, so the excess is not negative. A start with every
    # coordinate active would lose digits if weights are very different.
    multiplier = float(np.max(relative * (values - total)))
    q = np.empty_like(values)
    for _ in range(_MOST_ROUNDS):
        np.multiply(inverse, -multiplier, out=q)
        q += values
        np.maximum(q, 0.0, out=q)
        excess = float(np.add.reduce(q)) - total
        # Not @: the threads that BLAS starts for long vectors stay busy for a while, and slow down the next product.
        slope = float(np.add.reduce(inverse * (q > 0)))
        step = excess / slope if slope > 0 else 0.0
        if multiplier + step == multiplier or excess <= 0:
            break
        multiplier += step
    return _rescaled(q, total), multiplier * largest


def norm_sub(values: FloatArray, *, total: float = 1.0) -> tuple[FloatArray, float]:
    """Subtract one number from all values, and replace negative results by 0.

    The number is chosen so that the sum is ``total``: the unweighted projection, Norm-Sub
    [Wang et al., "Locally Differentially Private Frequency Estimation with Consistency", 2020]. It is the mean excess
    of the values above it; values below it are dropped until no value is below it.

    Args:
        values: Any finite numbers, shape ``(v,)``.
        total: The sum of the result.

    Returns:
        Nonnegative values, shape ``(v,)``; and the number.
    """
    above, threshold = values, -np.inf
    while True:
        excess = (float(np.add.reduce(above)) - total) / len(above)
        # Rounding may not lower the threshold: dropped values stay dropped.
        if excess <= threshold:
            break
        threshold = excess
        # Several times as fast as a mask where half of the values stay.
        remaining = np.compress(above > threshold, above)
        if len(remaining) == len(above) or not len(remaining):
            break
        above = remaining
    q = values - threshold
    np.maximum(q, 0.0, out=q)
    return _rescaled(q, total), threshold


def _rescaled(q: FloatArray, total: float) -> FloatArray:
    mass = float(np.add.reduce(q))
    if mass > 0:
        return q * (total / mass)
    # The values are so much larger than the total that all digits are lost: any point of the simplex is as near.
    return np.full_like(q, total / q.size)


_LEAST = 1e-150
_DENSITY_AT_0 = 1 / np.sqrt(2 * np.pi)


def positive_deviation(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the standard deviation of max(Z, 0) for a normally distributed Z.

    Args:
        mean: ``(|X|,)`` means of Z.
        deviation: ``(|X|,)`` standard deviations of Z; 0 gives 0.
    """
    # A smallest deviation in place of 0 avoids a division by 0.
    scale = np.maximum(deviation, _LEAST)
    place = -mean / scale
    density = np.exp(-place * place / 2)
    density *= _DENSITY_AT_0
    above = upper_tail(place, density)
    density *= scale
    first = mean * above
    first += density
    second: FloatArray = (mean * mean + scale * scale) * above
    second += mean * density
    second -= first * first
    np.maximum(second, 0, out=second)
    np.sqrt(second, out=second)
    second *= deviation > 0
    return second


def projected_deviation(start: LinearStart, mean: FloatArray, variance: FloatArray, share: FloatArray) -> FloatArray:
    """Return the standard deviations of estimates projected onto the simplex.

    On the positive values the projection subtracts each value's share h of the error of their sum. With C the
    covariance of each linear estimate with the sum of all, this leaves the variance V - 2hC + h^2 sum(C).

    Args:
        start: the linear estimates.
        mean: ``(|X|,)`` estimates before negative ones become zero.
        variance: ``(|X|,)`` V, the variances of the linear estimates.
        share: ``(|X|,)`` h, the share of each value in a correction: 0 if it is not positive; their sum is 1.
    """
    covariance = start.intervals.known_law.with_all
    # Where a value is dropped its share is 0.
    total = float(np.add.reduce(covariance * (share > 0)))
    return positive_deviation(mean, np.sqrt(np.maximum(variance - 2 * share * covariance + share**2 * total, 0)))


def upper_tail(place: FloatArray, density: FloatArray) -> FloatArray:
    """Return the standard normal's upper tail at ``place``, to 1e-7, given the density at ``place``."""
    # Abramowitz and Stegun 26.2.17.
    t = np.abs(place)
    t *= 0.2316419
    t += 1
    np.divide(1, t, out=t)
    tail = 1.330274429 * t
    for coefficient in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        tail += coefficient
        tail *= t
    tail *= density
    # 1 - tail below 0, without a branch: a processor would predict it wrong half of the time.
    negative = (place < 0).astype(np.float64)
    tail *= 1 - 2 * negative
    tail += negative
    return tail


def norm_subtracted(start: LinearStart) -> Estimate:
    """Return the Norm-Sub estimate: one number is subtracted from all, and negative results become 0 [Wang 2020].

    It is the nearest distribution in the unweighted metric: good if all values are equally noisy (plain LDP), and
    several times worse than ``projected`` if some values are reported in clear.
    """
    frequencies, correction = norm_sub(start.linear)
    pull = np.broadcast_to(1.0, frequencies.shape)
    errors = partial(_projected_errors, start, pull, frequencies, correction)
    return start.estimate(frequencies, errors, "norm-sub")


def projected(start: LinearStart) -> Estimate:
    """Return the projection of the linear estimate onto the simplex, in the metric of its inverse variances.

    It is close to maximum likelihood, costs nearly nothing, and needs only the tally.
    """
    variance = start.safe_variance
    frequencies, correction = projection(start.linear, 1 / variance)
    errors = partial(_projected_errors, start, variance, frequencies, correction)
    return start.estimate(frequencies, errors, "projected")


def _projected_errors(start: LinearStart, pull: FloatArray, frequencies: FloatArray, correction: float) -> FloatArray:
    share = pull * (frequencies > 0)
    share /= float(np.add.reduce(share))
    return projected_deviation(start, start.linear - correction * pull, start.safe_variance, share)


NORM_SUB = Method("norm-sub", norm_subtracted)
PROJECTED = Method("projected", projected)
