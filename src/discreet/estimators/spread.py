"""Standard errors of estimators that are not linear.

They all start from a linear estimate that is nearly normal, so their results are nearly piecewise linear functions of
normal numbers, whose variances have closed forms. The noise that values share, as frequencies sum to one, is taken to
first order only.
"""

import numpy as np

from discreet.arrays import BoolArray, FloatArray


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
    above, density = _upper_tail(place), np.exp(-place * place / 2) / np.sqrt(2 * np.pi)
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
    total = float(covariance[positive].sum())
    inside = np.maximum(variance - 2 * share * covariance + share**2 * total, 0)
    deviation = np.sqrt(np.where(positive, inside, variance))
    return censored_deviation(mean, deviation, np.zeros_like(mean), np.zeros_like(mean))


def _upper_tail(place: FloatArray) -> FloatArray:
    """Return the standard normal's upper tail, to 1e-7: enough for a standard error."""
    # Abramowitz and Stegun 26.2.17.
    t = 1 / (1 + 0.2316419 * np.abs(place))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = series * np.exp(-place * place / 2) / np.sqrt(2 * np.pi)
    upper: FloatArray = np.where(place >= 0, tail, 1 - tail)
    return upper
