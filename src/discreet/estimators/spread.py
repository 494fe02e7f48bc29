"""Standard errors of estimators that are not linear.

They all start from a linear estimate that is nearly normal, so their results are nearly piecewise linear functions of
normal numbers, whose variances have closed forms. The noise that values share, as frequencies sum to one, is taken to
first order only.
"""

import numpy as np

from discreet.arrays import BoolArray, FloatArray

# Values at a time: what is in between stays in the cache.
_CHUNK = 1 << 12


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
    scale = np.where(deviation > 0, deviation, 1.0)
    place = (cut - mean) / scale
    density = np.exp(-place * place / 2) / np.sqrt(2 * np.pi)
    above = _upper_tail(place, density)
    first = mean * above + scale * density + below * (1 - above)
    second = (mean**2 + scale**2) * above + scale * (mean + cut) * density + below**2 * (1 - above)
    return np.where(deviation > 0, np.sqrt(np.maximum(second - first**2, 0)), 0.0)


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
        share: ``(|X|,)`` h, the share of each value in a correction; they sum to 1 over the positive values.
    """
    total, found = float(covariance[positive].sum()), np.empty(len(mean))
    for start in range(0, len(mean), _CHUNK):
        part = slice(start, start + _CHUNK)
        h = share[part]
        inside = np.maximum(variance[part] - 2 * h * covariance[part] + h**2 * total, 0)
        deviation = np.sqrt(np.where(positive[part], inside, variance[part]))
        nothing = np.zeros(1)
        found[part] = censored_deviation(mean[part], deviation, nothing, nothing)
    return found


def _upper_tail(place: FloatArray, density: FloatArray) -> FloatArray:
    """Return the standard normal's upper tail, to 1e-7: enough for a standard error; its density is known."""
    # Abramowitz and Stegun 26.2.17.
    t = 1 / (1 + 0.2316419 * np.abs(place))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = series * density
    upper: FloatArray = np.where(place >= 0, tail, 1 - tail)
    return upper
