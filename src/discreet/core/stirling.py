"""The remainder of Stirling's formula, by which factorials of any size are divided without losing digits."""

from math import lgamma, log, pi

import numpy as np

from discreet.arrays import FloatArray

# 1/12, 1/360, ...; after the last term the error is below 1e-18 from 16 on.
_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SMALL = 16
_REMAINDERS = np.array([0.0, *(lgamma(n + 1) - (n + 0.5) * log(n) + n - log(2 * pi) / 2 for n in range(1, _SMALL))])


def stirling_remainder(n: FloatArray) -> FloatArray:
    """Return ln n! - ((n + 1/2) ln n - n + ln(2 pi)/2) of whole numbers n >= 1, to about 16 digits of ln n!."""
    inverse = 1 / np.maximum(n, _SMALL)
    series = np.zeros_like(inverse)
    for term in reversed(_TERMS):
        series = term + inverse * inverse * series
    small = _REMAINDERS[np.minimum(n, _SMALL - 1).astype(np.int64)]
    return np.where(n < _SMALL, small, inverse * series)
