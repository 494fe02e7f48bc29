"""The worst distribution of a linear estimate."""

import numpy as np

from discreet.arrays import FloatArray


def worst_distribution(loss: FloatArray) -> FloatArray:
    """Return the ``(|X|,)`` p of the simplex with the largest loss.p - ||p||^2: loss/2, projected onto it.

    Args:
        loss: ``(|X|,)`` summed mean square contributions of a report on each value.
    """
    ordered = np.sort(loss / 2)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    shift = excess[np.flatnonzero(ordered > excess)[-1]]
    worst: FloatArray = np.maximum(loss / 2 - shift, 0)
    # Large losses leave few digits for a sum of 1.
    worst /= worst.sum()
    return worst
