"""Standard errors of estimators that are not linear.

They all start from a linear estimate that is nearly normal, so their results are nearly piecewise linear functions of
normal numbers, whose variances have closed forms. The noise that values share, as frequencies sum to one, is taken to
first order only.
"""

import numpy as np

from discreet.arrays import BoolArray, FloatArray

# Values at a time: what is in between stays in the cache.
_CHUNK = 1 << 12
_LEAST = 1e-150
_DENSITY_AT_0 = 1 / np.sqrt(2 * np.pi)


def censored_deviation(mean: FloatArray, deviation: FloatArray, cut: FloatArray, below: FloatArray) -> FloatArray:
    """Return the standard deviation of Z where Z > cut and ``below`` elsewhere, Z normal.

    Args:
        mean: ``(|X|,)`` of Z.
        deviation: ``(|X|,)`` of Z; 0 gives 0.
        cut: ``(|X|,)`` thresholds of Z.
        below: ``(|X|,)`` values in the place of Z at or below the threshold.

    Returns:
        ``(|X|,)`` standard deviations.
    """
    # Where there is none, a least one keeps the division sound.
    scale = np.maximum(deviation, _LEAST)
    place = (cut - mean) / scale
    density = np.exp(-place * place / 2)
    density *= _DENSITY_AT_0
    above = _upper_tail(place, density)
    density *= scale
    beneath = below * (1 - above)
    first = mean * above
    first += density
    first += beneath
    second: FloatArray = (mean * mean + scale * scale) * above
    second += (mean + cut) * density
    second += below * beneath
    second -= first * first
    np.maximum(second, 0, out=second)
    np.sqrt(second, out=second)
    second *= deviation > 0
    return second


def threshold_error(truth: FloatArray, deviation: FloatArray, cut: FloatArray, *, uniform: bool) -> FloatArray:
    """Return the root mean squared errors of thresholded estimates, where the truth is given.

    What falls below its threshold becomes 0, or its share of the mass that is expected to be left. It is what
    simulations from that truth come to, to some percent.

    Args:
        truth: ``(|X|,)`` frequencies, the means of the linear estimates.
        deviation: ``(|X|,)`` standard deviations of these, above 0.
        cut: ``(|X|,)`` thresholds.
        uniform: whether the mass that is not kept is shared evenly.
    """
    place = (cut - truth) / deviation
    density = np.exp(-place * place / 2) / np.sqrt(2 * np.pi)
    above = _upper_tail(place, density)
    kept, dropped = float((truth * above + deviation * density).sum()), float((1 - above).sum())
    below = max(1 - kept, 0.0) / max(dropped, 1.0) if uniform else 0.0
    squares = deviation**2 * (above + place * density) + (below - truth) ** 2 * (1 - above)
    errors: FloatArray = np.sqrt(np.maximum(squares, 0))
    return errors


def projected_deviation(
    mean: FloatArray, variance: FloatArray, covariance: FloatArray, positive: BoolArray, share: FloatArray
) -> FloatArray:
    """Return the standard deviations of estimates projected onto the simplex.

    On the positive values the projection takes off each one's share h of the error of their sum, of which
    Var = V - 2hC + h^2 sum(C) is left.

    Args:
        mean: ``(|X|,)`` estimates before they are cut off at zero.
        variance: ``(|X|,)`` V, of the linear estimates.
        covariance: ``(|X|,)`` C, of each linear estimate with the sum of all.
        positive: ``(|X|,)`` booleans: above zero.
        share: ``(|X|,)`` h, the share of each value in a correction: 0 where it is not positive, 1 in all.
    """
    total, found, nothing = float(np.add.reduce(covariance * positive)), np.empty(len(mean)), np.zeros(1)
    for start in range(0, len(mean), _CHUNK):
        part = slice(start, start + _CHUNK)
        h = share[part]
        # Where a value is dropped its share is 0.
        inside = np.maximum(variance[part] - 2 * h * covariance[part] + h**2 * total, 0)
        found[part] = censored_deviation(mean[part], np.sqrt(inside), nothing, nothing)
    return found


def _upper_tail(place: FloatArray, density: FloatArray) -> FloatArray:
    """Return the standard normal's upper tail, to 1e-7: enough for a standard error; its density is known."""
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
    # 1 - tail below 0; without a branch, which noise would have guessed wrong half of the time.
    negative = (place < 0).astype(np.float64)
    tail *= 1 - 2 * negative
    tail += negative
    return tail
