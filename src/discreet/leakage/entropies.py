"""Entropies and divergences in forms that keep their digits near 0.

Information is a difference of large entropies wherever little is told; written by deviations from the mean it is not.
Everything is in nats.
"""

from math import expm1, log, log1p, tanh

import numpy as np

from discreet.arrays import FloatArray

BITS = 1 / log(2)
"""Bits per nat."""

# At 1/16 both ways of computing are right to 14 digits.
_SMALL = 0.0625
_TERMS = 16


def excess(u: float | FloatArray) -> FloatArray:
    """Return h(u) = (1 + u) ln(1 + u) - u for u >= -1: about u^2/2, and what an outcome of relative size 1 + u adds."""
    u = np.asarray(u, dtype=np.float64)
    grown = 1 + u
    direct = grown * np.log(np.where(grown > 0, grown, 1.0)) - u
    series = np.zeros_like(u)
    near = np.where(np.abs(u) < _SMALL, u, 0.0)
    for j in range(_TERMS, 1, -1):
        series = 1 / (j * (j - 1)) - near * series
    return np.where(np.abs(u) < _SMALL, near * near * series, direct)


def shortfall(x: float) -> float:
    """Return x - ln(1 + x) for x > -1: about x^2/2."""
    if abs(x) >= _SMALL:
        return x - log1p(x)
    series = 0.0
    for j in range(_TERMS, 1, -1):
        series = 1 / j - x * series
    return x * x * series


def binary_divergence(p: float, u: float) -> float:
    """Return d_KL(V || p) of two coins, for V = p (1 + u), in nats.

    Args:
        p: in (0, 1).
        u: at least 0, with V at most 1.
    """
    rest = max(-p * u / (1 - p), -1.0)
    return p * float(excess(u)) + (1 - p) * float(excess(rest))


def log_odds_gain(epsilon: float) -> float:
    """Return ln(kappa) = eps e^eps / (e^eps - 1); kappa values in clear leak as much as the rest."""
    return -epsilon / expm1(-epsilon)


def ldp_capacity(epsilon: float, inputs: int) -> float:
    """Return an upper bound on I(U;Y) under epsilon-LDP, in nats: the least of three.

    With u = eps/(1 - e^-eps): u - 1 - ln u, which is about eps^2/8 [Prop. 10 of PIE has eps^2];
    tanh(eps/2)^2 ln(m); and ln(m E / (m + E - 1)), E = e^eps [spec of exact risk, section 1].

    Args:
        epsilon: in nats, at least 0; may be infinite.
        inputs: m, how many values are in use: the smaller one of users and values.
    """
    if inputs <= 1 or epsilon <= 0:
        return 0.0
    lost = -expm1(-epsilon)
    leaked = log1p((inputs - 1) * lost / (inputs * (1 - lost) + lost))
    if epsilon > 700:
        return leaked
    beyond = epsilon - lost if epsilon > 0.5 else shortfall(-lost)
    return min(shortfall(beyond / lost), tanh(epsilon / 2) ** 2 * log(inputs), leaked)
