"""Central epsilons: the least epsilon at which a falling delta is kept, between certified ends."""

from collections.abc import Callable, Iterable
from math import exp, expm1, inf, log, log1p, sqrt

from discreet.core.searching import golden_section
from discreet.privacy.shuffling_excess import TINY
from discreet.privacy.shuffling_pairs import ValuePair

Ends = Callable[[float], tuple[float, float]]
"""A lower and an upper end of delta at an epsilon."""

Top = Callable[[float], float]
"""An upper end of delta at an epsilon."""

_TOLERANCE = 2e-7
_MOST_STEPS = 80
_BISECT = 6
# Steps to the least epsilon of a chance, which is flat: what they leave costs less than 0.1% of it.
_NARROWED = 8
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


def worst_surest(pairs: Iterable[ValuePair], n: int, chance: float) -> float:
    """Return the largest epsilon of some pairs of values that losses exceed with a chance of at most ``chance``."""
    most, place = 0.0, 0.0
    for pair in sorted(pairs, key=lambda one: -one.strength):
        # At the same place the bound of a pair of a smaller delta is smaller.
        room = -chance * expm1(place - most)
        if room > 0 and (pair.bound(exp(place), n) <= room or pair.delta(exp(place), n)[1] <= room):
            continue
        bracket = min(pair.floor(chance), log(pair.largest)), log(pair.largest)
        found, at = surest_epsilon(
            lambda epsilon, one=pair: one.delta(exp(epsilon), n)[1],  # type: ignore[misc]
            chance,
            bracket=bracket,
            mu=pair.strength / sqrt(n),
        )
        most, place = (found, at) if found > most else (most, place)
    return most


def certified_epsilon(ends: Ends, delta: float, *, bracket: tuple[float, float], guess: float) -> tuple[float, float]:
    """Return a lower and an upper end of the least epsilon of 0 or more with delta(epsilon) <= ``delta``.

    Args:
        ends: of delta(epsilon), which falls.
        delta: in (0, 1).
        bracket: an epsilon that is not above the answer, and one that always suffices.
        guess: near the answer.
    """
    upper = least_epsilon(lambda epsilon: ends(epsilon)[1], delta, bracket=bracket, guess=guess)
    return (upper, upper) if upper <= bracket[0] else (max(_below(ends, delta, upper), bracket[0]), upper)


def least_epsilon(top: Top, delta: float, *, bracket: tuple[float, float], guess: float) -> float:
    """Return the upper end of `certified_epsilon` alone, from the upper end of delta."""
    least, most = bracket
    high = top(least)
    if high <= delta or most <= least:
        return least
    wanted = _line(delta)
    return _least(lambda epsilon: _line(top(epsilon)) - wanted, (least, _line(high) - wanted), most, guess)


def surest_epsilon(top: Top, chance: float, *, bracket: tuple[float, float], mu: float) -> tuple[float, float]:
    """Return an epsilon that privacy losses exceed with a chance of at most ``chance``, and where its bound comes from.

    delta(t) is at least (1 - e^(t - epsilon)) P(loss > epsilon), so any t with delta(t) < chance gives an epsilon,
    t - log(1 - delta(t) / chance). The least of them is looked for; that it is the least is not needed.

    Args:
        top: an upper end of delta(t).
        chance: in (0, 1).
        bracket: an epsilon that is not above the answer, and one that no loss exceeds.
        mu: the deviation of losses, which says about how steeply log delta falls.

    Returns:
        epsilon, and t.
    """
    least, most = bracket
    steep = sqrt(2 * -log(chance)) / max(mu, TINY)
    start = least_epsilon(top, chance, bracket=bracket, guess=least + mu * sqrt(2 * -log(chance)))
    asked: dict[float, float] = {most: most}

    def told(t: float) -> float:
        if t not in asked:
            share = top(t) / chance
            asked[t] = min(t - log1p(-share), most) if share < 1 else most
        return asked[t]

    if start < most:
        low = least_epsilon(top, chance / (1 + steep), bracket=(start, most), guess=start + log1p(steep) / (1 + steep))
        golden_section(lambda t: -told(t), start, min(told(low), most), _NARROWED)
    best = min(asked, key=lambda t: (asked[t], t))
    return asked[best], best


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
