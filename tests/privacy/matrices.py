"""Explicit mechanisms by the paper's formulas, for the tests of privacy properties."""

from math import exp
from typing import Any

import numpy as np

from discreet import Channel, Domain
from discreet.privacy.shuffling_pairs import ValuePair


def rr_matrix(size: int, epsilon: float) -> Any:
    matrix = np.ones((size, size)) + (exp(epsilon) - 1) * np.eye(size)
    return matrix / matrix.sum(axis=1, keepdims=True)


def urr_matrix(size: int, k: int, epsilon: float) -> Any:
    """[ULDP, Def. 3]: the first k values are sensitive."""
    c1, c2 = exp(epsilon) / (k + exp(epsilon) - 1), 1 / (k + exp(epsilon) - 1)
    matrix = np.zeros((size, size))
    matrix[:, :k] = c2
    np.fill_diagonal(matrix, 1 - k * c2)
    np.fill_diagonal(matrix[:k, :k], c1)
    return matrix


def first_are_sensitive(size: int, k: int) -> Domain:
    return Domain(range(size), sensitive=range(k))


def rr(size: int, k: int, epsilon: float) -> Channel:
    """RR, which protects everything, over a domain with k sensitive values."""
    return Channel(rr_matrix(size, epsilon), first_are_sensitive(size, k))


def urr(size: int, k: int, epsilon: float) -> Channel:
    return Channel(urr_matrix(size, k, epsilon), first_are_sensitive(size, k))


def truth_of(epsilon: float, pi: float) -> float:
    """Return the probability of the truth that keeps a promise, for a law of inclusion pi."""
    odds = pi * (exp(epsilon) - 1)
    return odds / (1 + odds)


def law_pair(epsilon: float, pi: float, rho: float) -> ValuePair:
    """Return the pair of two sensitive values of a law with a promise."""
    e, s = exp(epsilon), truth_of(epsilon, pi)
    shares = np.array([pi * (1 - rho), pi * (1 - rho), pi * rho, 1 - 2 * pi + pi * rho])
    return ValuePair(np.array([e, 1, e, 1]), np.array([1, e, e, 1]), (1 - s) * shares, s)


def clear_pair(epsilon: float, pi: float) -> ValuePair:
    """Return the pair of a sensitive value and one in clear."""
    s = truth_of(epsilon, pi)
    return ValuePair(np.array([exp(epsilon), 1.0]), np.ones(2), (1 - s) * np.array([pi, 1 - pi]), s)
