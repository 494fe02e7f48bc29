"""Statistical checks that cannot be too weak: each names a rival and must be able to reject it.

All checks of the suite together raise a false alarm with a probability of at most 1e-9 (if the randomness is what it
claims to be), and each one misses its rival with a probability of at most 1e-6.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom, chi2, ncx2

ALPHA = 1e-9
BETA = 1e-6
MOST_CHECKS = 5000
LEVEL = ALPHA / MOST_CHECKS


def binomial(name: str, count: int, n: int, p: float, *, rival: float) -> None:
    """Accept ``count`` successes of ``n`` at probability ``p``, by exact tails, if ``rival`` would be rejected."""
    low, high = int(binom.ppf(LEVEL / 2, n, p)), int(binom.isf(LEVEL / 2, n, p))
    missed = binom.cdf(high, n, rival) - binom.cdf(low - 1, n, rival)
    assert missed <= BETA, f"{name}: too weak, {n} trials miss the rival {rival} with probability {missed:.2g}"
    assert low <= count <= high, f"{name}: {count} of {n}, expected {p * n:.1f}, between {low} and {high}"


def multinomial(name: str, counts: Sequence[int] | Any, p: Any, *, rival: Any) -> None:
    """Accept ``counts`` under the law ``p`` by Pearson's chi-square, if the law ``rival`` would be rejected."""
    counts, p, rival = (np.asarray(array, dtype=np.float64) for array in (counts, p, rival))
    assert abs(p.sum() - 1) < 1e-9
    assert abs(rival.sum() - 1) < 1e-9
    n, possible = counts.sum(), p > 0
    assert n * p[possible].min() > 500, f"{name}: cells too small for the chi-square law"
    freedom = possible.sum() - 1
    critical = chi2.isf(LEVEL, freedom)
    shift = n * ((rival - p)[possible] ** 2 / p[possible]).sum()
    missed = min(ncx2.cdf(critical, freedom, shift), (1 - rival[~possible].sum()) ** n)
    assert missed <= BETA, f"{name}: too weak, {n:.0f} draws miss the rival with probability {missed:.2g}"
    assert counts[~possible].sum() == 0, f"{name}: {counts[~possible].sum():.0f} draws of what is impossible"
    found = ((counts - n * p)[possible] ** 2 / (n * p[possible])).sum()
    assert found <= critical, f"{name}: chi-square {found:.1f}, allowed {critical:.1f} at {freedom} degrees of freedom"
