"""Shrinkage of small groups towards what all have in common, with Morris' correction of the errors.

For every value, the groups' linear estimates d_g with known variances V_g are normal about frequencies that are normal
about m with variance t. Then [Morris 1983, (1.14), (1.17), for one regressor and k groups]

    p_g = d_g - B_g (d_g - m),  B_g = (k-3)/(k-1) V_g/(V_g + t),
    s_g^2 = V_g (1 - (k-1)/k B_g) + 2/(k-3) B_g^2 (V + t)/(V_g + t) (d_g - m)^2,

with m and V the means weighted by 1/(V_g + t), and t where their weighted squares are as large as expected. The second
addend is for m and t, which are estimated too; without it, intervals cover less than they say.
"""

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import DataError

LEAST_GROUPS = 4
_ROUNDS = 50


def shrunk(direct: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shrunk frequencies and their standard errors.

    Args:
        direct: ``(k, |X|)`` unbiased estimates of the groups.
        variances: ``(k, |X|)`` their variances.

    Returns:
        Frequencies and standard errors, each ``(k, |X|)``.

    Raises:
        DataError: if there are fewer than 4 groups.

    Example:
        >>> import numpy as np
        >>> from discreet.estimators.shrinkage import shrunk
        >>> found, errors = shrunk(np.array([[0.1], [0.2], [0.3], [0.6]]), np.full((4, 1), 0.02))
        >>> found.ravel().round(3).tolist(), errors.ravel().round(3).tolist()
        ([0.129, 0.214, 0.3, 0.557], [0.14, 0.135, 0.134, 0.147])
    """
    k = len(direct)
    if k < LEAST_GROUPS:
        raise DataError(f"method 'shrunk' needs at least {LEAST_GROUPS} groups, got {k}; take method 'linear'.")
    known = np.maximum(variances, np.finfo(float).tiny)
    between = _between(direct, known)
    weights = 1 / (known + between)
    total = weights.sum(axis=0)
    middle = (weights * direct).sum(axis=0) / total
    typical = (weights * known).sum(axis=0) / total
    away = direct - middle
    pull = (k - 3) / (k - 1) * known * weights
    square = known * (1 - (k - 1) / k * pull) + 2 / (k - 3) * pull**2 * (typical + between) * weights * away**2
    errors: FloatArray = np.sqrt(square)
    return direct - pull * away, errors


def _between(direct: FloatArray, variances: FloatArray) -> FloatArray:
    """Return ``(|X|,)`` t: the variance of the groups' frequencies, at least 0, by weighted moments."""
    k = len(direct)
    between: FloatArray = np.maximum(direct.var(axis=0, ddof=1) - variances.mean(axis=0), 0)
    for _ in range(_ROUNDS):
        weights = 1 / (variances + between)
        total = weights.sum(axis=0)
        away = direct - (weights * direct).sum(axis=0) / total
        new = np.maximum((weights * (k / (k - 1) * away**2 - variances)).sum(axis=0) / total, 0)
        if np.allclose(new, between, rtol=1e-9, atol=0):
            break
        between = new
    return between
