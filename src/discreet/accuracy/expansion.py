"""Quantiles of nearly normal numbers from their cumulants, without a library of special functions."""

from discreet.accuracy.decoder import PerValue
from discreet.arrays import FloatArray
from discreet.core.confidence_intervals import sigmas


def expanded_limit(skewness: FloatArray, excess: PerValue, tail: float) -> FloatArray:
    """Return the number that a standard variable exceeds with probability ``tail``, by Cornish and Fisher's expansion.

    Its error is of the third order in the skewness: 1e-7 where that is .02.

    Args:
        skewness: ``(m,)`` gamma, of either sign.
        excess: kurtosis less 3; a number, or ``(m,)``.
        tail: in (0, 1).
    """
    z = sigmas(tail)
    found: FloatArray = z + skewness * ((z * z - 1) / 6 - skewness * (2 * z**3 - 5 * z) / 36)
    return found + excess * (z**3 - 3 * z) / 24
