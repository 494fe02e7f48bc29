"""Central epsilons: the least epsilon at which a falling delta is kept, between certified ends."""

from collections.abc import Callable, Iterable
from math import exp, inf, log, sqrt

from discreet.privacy.shuffling_excess import TINY
from discreet.privacy.shuffling_pairs import ValuePair

Ends = Callable[[float], tuple[float, float]]
"""A lower and an upper end of delta at an epsilon."""

_TOLERANCE = 2e-7
_MOST_STEPS = 80
_BISECT = 6
_BACK = (1.0, 2.0, 4.0, 6.0, 9.0, 16.0, 32.0, 64.0, 256.0)


def worst_epsilon(pairs: Iterable[ValuePair], n: int, delta: float) -> tuple[float, float]:
    """Return a lower and an upper end of the largest central epsilon of some pairs of values."""
    low = high = 0.0
    for pair in sorted(pairs, key=lambda one: -one.strength):
        if high > 0 and (pair.bound(exp(high), n) <= delta or pair.delta(exp(high), n)[1] <= delta):
            continue
        ends = pair_epsilon(pair, n, delta)
        low, high = max(low, ends[0]), max(high, ends[1])
    return low, high


def pair_epsilon(pair: ValuePair, n: int, delta: float) -> tuple[float, float]:
    """Return a lower and an upper end of the central epsilon of a pair of values."""
    mu, start = pair.strength / sqrt(n), pair.floor(delta)
    guess = pair.floor() + mu * sqrt(2 * log(max(mu / (2.5 * delta), 2.0))) / 1.1
    return certified_epsilon(
        lambda epsilon: pair.delta(exp(epsilon), n), delta, bracket=(start, log(pair.largest)), guess=guess
    )


def certified_epsilon(ends: Ends, delta: float, *, bracket: tuple[float, float], guess: float) -> tuple[float, float]:
    """Return a lower and an upper end of the least epsilon of 0 or more with delta(epsilon) <= ``delta``.

    Args:
        ends: of delta(epsilon), which falls.
        delta: in (0, 1).
        bracket: an epsilon that is not above the answer, and one that always suffices.
        guess: near the answer.
    """
    least, most = bracket
    high = ends(least)[1]
    if high <= delta or most <= least:
        return least, least
    wanted = _line(delta)
    upper = _least(lambda epsilon: _line(ends(epsilon)[1]) - wanted, (least, _line(high) - wanted), most, guess)
    return max(_below(ends, delta, upper), least), upper


def _line(delta: float) -> float:
    """Return sqrt(-2 log delta), which grows with epsilon nearly evenly."""
    return sqrt(-2 * log(min(max(delta, TINY), 1.0)))


def _least(lack: Callable[[float], float], start: tuple[float, float], most: float, guess: float) -> float:
    """Return the least epsilon found at which a growing function is 0 or more, by secants inside a bracket."""
    low, high = start[0], most
    last, point = start, min(max(guess, low), (low + most) / 2)
    for step in range(_MOST_STEPS):
        value = lack(point)
        low, high = (point, high) if value < 0 else (low, point)
        slope = (value - last[1]) / (point - last[0]) if point != last[0] else inf
        if high - low <= _TOLERANCE * high or 0 <= value <= _TOLERANCE * slope * point < inf:
            break
        last = (point, value)
        # A little beyond, so that what is found is likely to be kept.
        aim = point - value / slope + _TOLERANCE / 2 * point if slope > 0 else inf
        point = aim if low < aim < high and (step + 1) % _BISECT else (low + high) / 2
    return high


def _below(ends: Ends, delta: float, upper: float) -> float:
    """Return an epsilon just below ``upper`` whose delta is certainly above ``delta``."""
    low, high = ends(upper)
    gap = log(max(high, TINY) / max(low, TINY)) + log(delta / max(high, TINY))
    # At the local epsilon delta falls to 0 at once.
    width = min(max(gap, 0.0) * upper / (-2 * log(delta)), upper / 1000)
    for factor in _BACK:
        epsilon = upper * (1 - 2 * factor * _TOLERANCE) - factor * width
        if epsilon > 0 and ends(epsilon)[0] > delta:
            return epsilon
    return 0.0
