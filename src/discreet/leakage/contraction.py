"""Contraction coefficients of a matrix: the share of the information about a user that it lets through at most.

eta_KL is the least eta with I(U;Y) <= eta I(U;X) for all sources. It is the largest over pairs x, x' and b in 0..1 of

    f(b) = 1 - sum over y of Q_x Q_x' / (b Q_x + (1 - b) Q_x'),

which is concave in b [Ordentlich and Polyanskiy]; no pair has more than its total variation, and eta_KL is at most
eta_TV [Dobrushin], and at most eta_TV tanh(eps/2) under epsilon-LDP.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.searching import bisected_each
from discreet.leakage.matrices import Interval

_HALVINGS = 60
_CHUNK = 1 << 21


@dataclass(frozen=True, slots=True)
class Contraction:
    """The contraction coefficients of a matrix.

    Attributes:
        total_variation: eta_TV, the largest total variation between two rows.
        information: eta_KL, between certain bounds.
        common: Doeblin's delta, the sum over outputs of their least probability under any value.
    """

    total_variation: float
    information: Interval
    common: float


def contraction(matrix: FloatArray) -> Contraction:
    """Return eta_TV, eta_KL and delta of an ``(|X|, |Y|)`` matrix."""
    common = float(matrix.min(axis=0).sum())
    first, second = np.triu_indices(len(matrix), k=1)
    if not len(first):
        return Contraction(0.0, Interval(0.0, 0.0), common)
    step = max(_CHUNK // matrix.shape[1], 1)
    pieces = [slice(start, start + step) for start in range(0, len(first), step)]
    apart = np.concatenate([_total_variation(matrix, first[piece], second[piece]) for piece in pieces])
    order = np.argsort(-apart, kind="stable")
    low = high = 0.0
    for piece in pieces:
        pairs = order[piece]
        # The rest differ less than what was found.
        pairs = pairs[apart[pairs] > low]
        if not len(pairs):
            break
        lows, highs = _largest(matrix[first[pairs]], matrix[second[pairs]])
        low, high = max(low, float(lows.max())), max(high, float(highs.max()))
    largest = float(apart.max())
    return Contraction(largest, Interval(min(low, largest), min(max(high, low), largest)), common)


def _total_variation(matrix: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    distances: FloatArray = np.abs(matrix[first] - matrix[second]).sum(axis=1) / 2
    return distances


def _largest(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds on the maximum of f for each pair of rows, by bisection on the slope."""
    both = first * second
    ends = np.zeros((len(first), 1)), np.ones((len(first), 1))
    low, high = bisected_each(lambda b: _slope(first, second, both, b) > 0, *ends, _HALVINGS)
    slope = np.maximum(_slope(first, second, both, low), 0.0)
    value = _value(first, second, low[:, 0])
    # A concave function stays below its tangent.
    return value, value + (slope * (high - low))[:, 0]


def _mixed(first: FloatArray, second: FloatArray, b: FloatArray) -> FloatArray:
    mixed = b * first + (1 - b) * second
    return np.where(mixed > 0, mixed, 1.0)


def _slope(first: FloatArray, second: FloatArray, both: FloatArray, b: FloatArray) -> FloatArray:
    slopes: FloatArray = (both * (first - second) / _mixed(first, second, b) ** 2).sum(axis=1, keepdims=True)
    return slopes


def _value(first: FloatArray, second: FloatArray, b: FloatArray) -> FloatArray:
    """Return f as b (1 - b) sum of (Q_x - Q_x')^2 / (b Q_x + (1 - b) Q_x'), a form without cancellation."""
    b = b[:, None]
    inside = b * (1 - b) * ((first - second) ** 2 / _mixed(first, second, b)).sum(axis=1, keepdims=True)
    # At an end that form is 0/0: what only the other row has counts in full.
    only_first = np.where(second == 0, first, 0.0).sum(axis=1, keepdims=True)
    only_second = np.where(first == 0, second, 0.0).sum(axis=1, keepdims=True)
    values: FloatArray = np.where(b <= 0, only_first, np.where(b >= 1, only_second, inside))[:, 0]
    return values
