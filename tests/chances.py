"""Chances to get further than a sentence says, counted by code that shares nothing with what made the sentence.

Where others' values are told in clear, a batch tells of a person by two counts: reports of her own value and of the
other one. Their law is binomial, so that the chance to get beyond a share is a sum.
"""

import re
from math import exp

import numpy as np
from scipy.stats import binom

AMONG = r"two protected values of a person 50% each can reach at most (\d+)% for .*? a chance of 1 in ([\d,]+)"
TOWARDS = r"can reach at most (\d+)% for the protected one, except with a chance of 1 in ([\d,]+)"


def told(pattern: str, text: str) -> tuple[float, float]:
    """Return the share and the chance of a sentence."""
    found = re.search(pattern, " ".join(text.split()))
    assert found is not None, text
    return int(found[1]) / 100, 1 / int(found[2].replace(",", ""))


def law(epsilon: float, values: int) -> tuple[float, float]:
    """Return how much likelier a value's own symbol is from it than as noise, and the probability of noise."""
    ratio = exp(epsilon)
    return ratio, 1 - (ratio - 1) / (values + ratio - 1)


def beyond_among(share: float, epsilon: float, n: int) -> float:
    """Return the chance to get beyond a share among two sensitive values, exactly; everybody else is told in clear."""
    ratio, noise = law(epsilon, 2)
    total, own = 0.0, ratio / (1 + ratio)
    middle, width = noise * (n - 1), 9 * np.sqrt(n)
    for others in range(max(int(middle - width), 0), min(int(middle + width), n - 1) + 1):
        first = np.arange(others + 1)
        chances = binom.pmf(first, others, 0.5)
        mass = 0.0
        for hers, chance in ((1, own), (0, 1 - own)):
            a, b = first + hers, others - first + 1 - hers
            sure = (ratio * a + b) / ((ratio + 1) * (a + b))
            mass += chance * float(chances[sure > share].sum())
        total += float(binom.pmf(others, n - 1, noise)) * mass
    return total


def beyond_versus_clear(share: float, epsilon: float, n: int, values: int = 2) -> float:
    """Return the chance to get beyond a share compared with a value in clear, exactly."""
    ratio, noise = law(epsilon, values)
    total, own = 0.0, 1 - noise + noise / values
    middle, width = noise * (n - 1), 9 * np.sqrt(n)
    for others in range(max(int(middle - width), 0), min(int(middle + width), n - 1) + 1):
        alike = np.arange(others + 1)
        chances = binom.pmf(alike, others, 1 / values)
        odds = [(ratio * (alike + hers) + others + 1 - alike - hers) / (others + 1) for hers in (1, 0)]
        mass = sum(
            chance * float(chances[odd / (1 + odd) > share].sum())
            for odd, chance in zip(odds, (own, 1 - own), strict=True)
        )
        total += float(binom.pmf(others, n - 1, noise)) * mass
    return total
