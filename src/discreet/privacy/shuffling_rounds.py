"""Central guarantees of several rounds with fresh noise: curves delta(epsilon), and epsilons at a given delta.

Nothing links a person's reports of different rounds, and a dominating pair of outcomes attains the curve of one round.
So privacy losses add up [Zhu, Dong, Wang 2022, Theorem 10]. Their distribution comes from points on the curve of one
round [Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022]. Between two points a convex curve is below its chord, and the
chords are the curve of a distribution with losses at the points. At a point, the change of slope is the probability of
the loss under x', and C = e^loss times that is its probability under x. Beyond the last point the loss counts as
infinite. Lower points, with chords below the curve, give smaller losses, and so the lower bound. One FFT gives the sum
of the losses, under the tilt whose mean is the wanted epsilon. For several pairs of values, the points are on the
largest curve. A central epsilon is the smallest epsilon for which delta is small enough, with certified bounds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, expm1, inf, log, log1p, sqrt

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import ParameterError
from discreet.privacy.shuffling_pairs import TINY, ValuePair
from discreet.theory.arithmetic import bisected, golden_section

Ends = Callable[[float], tuple[float, float]]
"""A function from epsilon to a lower and an upper bound on delta."""

Top = Callable[[float], float]
"""A function from epsilon to an upper bound on delta."""

_TOLERANCE = 2e-7
_MOST_STEPS = 80
_BISECT = 6
# Steps of the search for the epsilon at a chance. The function is flat, so that stopping early costs less than 0.1%.
_NARROWED = 8
_BACK = (1.0, 2.0, 4.0, 6.0, 9.0, 16.0, 32.0, 64.0, 256.0)


def worst_epsilon(pairs: Iterable[ValuePair], n: int, delta: float) -> tuple[float, float]:
    """Return a lower and an upper bound on the central epsilon of the worst of several pairs of values."""
    low = high = 0.0
    for pair in sorted(pairs, key=lambda candidate: -candidate.strength):
        if high > 0 and (pair.bound(exp(high), n) <= delta or pair.delta(exp(high), n)[1] <= delta):
            continue
        ends = pair_epsilon(pair, n, delta)
        low, high = max(low, ends[0]), max(high, ends[1])
    return low, high


def pair_epsilon(pair: ValuePair, n: int, delta: float) -> tuple[float, float]:
    """Return a lower and an upper bound on the central epsilon of one pair of values."""
    mu, start = pair.strength / sqrt(n), pair.floor(delta)
    guess = pair.floor() + mu * sqrt(2 * log(max(mu / (2.5 * delta), 2.0))) / 1.1
    return certified_epsilon(
        lambda epsilon: pair.delta(exp(epsilon), n), delta, bracket=(start, log(pair.largest)), guess=guess
    )


def worst_epsilon_at_chance(pairs: Iterable[ValuePair], n: int, chance: float) -> float:
    """Return an epsilon that the privacy loss of any pair exceeds with probability at most `chance`."""
    most, place = 0.0, 0.0
    for pair in sorted(pairs, key=lambda candidate: -candidate.strength):
        # At the same point, a pair with a smaller delta has a smaller bound.
        room = -chance * expm1(place - most)
        if room > 0 and (pair.bound(exp(place), n) <= room or pair.delta(exp(place), n)[1] <= room):
            continue
        bracket = min(pair.floor(chance), log(pair.largest)), log(pair.largest)
        least, at = epsilon_at_chance(
            lambda epsilon, bound_pair=pair: bound_pair.delta(exp(epsilon), n)[1],  # type: ignore[misc]
            chance,
            bracket=bracket,
            mu=pair.strength / sqrt(n),
        )
        most, place = (least, at) if least > most else (most, place)
    return most


def certified_epsilon(ends: Ends, delta: float, *, bracket: tuple[float, float], guess: float) -> tuple[float, float]:
    """Return a lower and an upper bound on the smallest epsilon >= 0 with delta(epsilon) <= `delta`.

    Args:
        ends: a function that returns the bounds on delta(epsilon), which decrease.
        delta: in (0, 1).
        bracket: an epsilon that is at most the result, and an epsilon that always suffices.
        guess: an epsilon near the result.
    """
    upper = least_epsilon(lambda epsilon: ends(epsilon)[1], delta, bracket=bracket, guess=guess)
    return (upper, upper) if upper <= bracket[0] else (max(_below(ends, delta, upper), bracket[0]), upper)


def least_epsilon(top: Top, delta: float, *, bracket: tuple[float, float], guess: float) -> float:
    """Return the upper bound of `certified_epsilon` only, from an upper bound on delta(epsilon)."""
    least, most = bracket
    high = top(least)
    if high <= delta or most <= least:
        return least
    wanted = _line(delta)
    return _least(lambda epsilon: _line(top(epsilon)) - wanted, (least, _line(high) - wanted), most, guess)


def epsilon_at_chance(top: Top, chance: float, *, bracket: tuple[float, float], mu: float) -> tuple[float, float]:
    """Return an epsilon that the privacy loss exceeds with probability at most `chance`, and a t that proves it.

    delta(t) is at least (1 - e^(t - epsilon)) P(loss > epsilon), so any t with delta(t) < chance gives an epsilon,
    t - log(1 - delta(t) / chance). The function searches for the smallest such epsilon; all of them are valid.

    Args:
        top: a function that returns an upper bound on delta(t).
        chance: in (0, 1).
        bracket: an epsilon that is at most the result, and an epsilon that no loss exceeds.
        mu: the standard deviation of losses, which determines roughly how steeply log delta falls.

    Returns:
        Epsilon, and t.
    """
    least, most = bracket
    steep = sqrt(2 * -log(chance)) / max(mu, TINY)
    start = least_epsilon(top, chance, bracket=bracket, guess=least + mu * sqrt(2 * -log(chance)))
    asked: dict[float, float] = {most: most}

    def epsilon_from(t: float) -> float:
        if t not in asked:
            share = top(t) / chance
            asked[t] = min(t - log1p(-share), most) if share < 1 else most
        return asked[t]

    if start < most:
        low = least_epsilon(top, chance / (1 + steep), bracket=(start, most), guess=start + log1p(steep) / (1 + steep))
        golden_section(lambda t: -epsilon_from(t), start, min(epsilon_from(low), most), _NARROWED)
    best = min(asked, key=lambda t: (asked[t], t))
    return asked[best], best


def _line(delta: float) -> float:
    """Return sqrt(-2 log delta), which is nearly linear in epsilon."""
    return sqrt(-2 * log(min(max(delta, TINY), 1.0)))


def _least(lack: Callable[[float], float], start: tuple[float, float], most: float, guess: float) -> float:
    """Return the root of an increasing function, or a point slightly above, by secants within a bracket."""
    low, high = start[0], most
    last, point = start, min(max(guess, low), (low + most) / 2)
    for step in range(_MOST_STEPS):
        value = lack(point)
        low, high = (point, high) if value < 0 else (low, point)
        slope = (value - last[1]) / (point - last[0]) if point != last[0] else inf
        if high - low <= _TOLERANCE * high or 0 <= value <= _TOLERANCE * slope * point < inf:
            break
        last = (point, value)
        # The step is slightly longer, so that the next epsilon is likely to suffice.
        aim = point - value / slope + _TOLERANCE / 2 * point if slope > 0 else inf
        point = aim if low < aim < high and (step + 1) % _BISECT else (low + high) / 2
    return high


def _below(ends: Ends, delta: float, upper: float) -> float:
    """Return an epsilon slightly below `upper` with delta(epsilon) certainly above `delta`; 0 if none is found."""
    low, high = ends(upper)
    gap = log(max(high, TINY) / max(low, TINY)) + log(delta / max(high, TINY))
    # At the local epsilon delta drops to 0.
    width = min(max(gap, 0.0) * upper / (-2 * log(delta)), upper / 1000)
    for factor in _BACK:
        epsilon = upper * (1 - 2 * factor * _TOLERANCE) - factor * width
        if epsilon > 0 and ends(epsilon)[0] > delta:
            return epsilon
    return 0.0


MOST_PAIRS = 12
"""The most pairs of values whose losses can be composed."""
# The step of the losses: a tenth of their deviation costs less than 0.1% of epsilon.
_STEPS = 10
_FEWEST_DOTS = 400
# The common step of several curves: twice the step for the narrowest losses, which costs less than 0.3% of epsilon,
# but at least half the step for the widest losses, beside which narrower ones hardly matter.
_NARROW, _WIDE = 2, 0.5
_LEFT_OUT = 1e-3
_ROUNDING = 4e-15
_HALVINGS = 60
# The least step, in nats. If delta is small enough at the limit for many users, a single step suffices.
_LEAST_STEP = 1e-12
# Larger losses do not matter. The exponential of this loss is still a float.
_LARGEST_EPSILON = 700.0


@dataclass(frozen=True)
class CentralCurve:
    """The curve delta(epsilon) of shuffled batches, for one kind of pairs of values.

    Attributes:
        pairs: the pairs of values; the curve is for the worst pair at each epsilon.
        n: the number of reports in each batch.
        rounds: the number of batches.
    """

    pairs: tuple[ValuePair, ...]
    n: int
    rounds: int = 1

    def delta(self, epsilon: float, least: float = 1e-30) -> tuple[float, float]:
        """Return a lower and an upper bound on delta at an epsilon. Bounds below `least` may be raised to `least`."""
        ends = [pair.delta(exp(min(epsilon, _LARGEST_EPSILON)), self.n) for pair in self.pairs]
        low, high = max(end[0] for end in ends), max(end[1] for end in ends)
        if self.rounds == 1:
            return low, high
        below, above = self.loss_sums(least)
        return max(low, below.delta(epsilon)[0]), above.delta(epsilon)[1]

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Return a lower and an upper bound on the smallest epsilon with the given delta."""
        low, high = worst_epsilon(self.pairs, self.n, delta)
        if self.rounds == 1:
            return low, high
        low = max(low, self.floor(delta))
        below, above = self.loss_sums(delta)
        guess = self.rounds * self.floor() + (high - self.floor()) * sqrt(self.rounds)
        return certified_epsilon(
            lambda epsilon: (below.delta(epsilon)[0], above.delta(epsilon)[1]),
            delta,
            bracket=(low, self.most),
            guess=guess,
        )

    def epsilon_at_chance(self, chance: float) -> float:
        """Return an epsilon that the summed privacy loss of all rounds exceeds with probability at most `chance`."""
        if self.rounds == 1:
            return worst_epsilon_at_chance(self.pairs, self.n, chance)
        _, above = self.loss_sums(chance * min(self.mu, 1.0))
        bracket = min(self.floor(chance), self.most), self.most
        return epsilon_at_chance(lambda epsilon: above.delta(epsilon)[1], chance, bracket=bracket, mu=self.mu)[0]

    def floor(self, delta: float = 0.0) -> float:
        """Return the limit of epsilon for many users: more users do not reduce epsilon below it."""
        once = max(pair.floor() for pair in self.pairs)
        return max(self.rounds * once + log1p(-delta), 0.0)

    @property
    def most(self) -> float:
        """The largest possible sum of the privacy losses of all rounds."""
        return self.rounds * max(log(pair.largest) for pair in self.pairs)

    @property
    def mu(self) -> float:
        """The standard deviation of the summed privacy losses of all rounds, for large n."""
        return max(pair.strength for pair in self.pairs) * sqrt(self.rounds / self.n)

    @cached_property
    def _sums_at(self) -> dict[float, tuple["LossSum", "LossSum"]]:
        """A cache of summed losses by delta, because all points of a curve need the same sums, which take seconds."""
        return {}

    def loss_sums(self, delta: float) -> tuple["LossSum", "LossSum"]:
        """Return sums of losses that bound the true sum from below and from above, accurate at this delta."""
        if delta not in self._sums_at:
            if len(self.pairs) > MOST_PAIRS:
                raise ParameterError(
                    "rounds.too-many-pairs", argument="rounds", most_pairs=MOST_PAIRS, pairs_count=len(self.pairs)
                )
            end = self.end(delta)
            losses = _Losses.of(self.pairs, self.n, end, self.step(end))
            self._sums_at[delta] = LossSum(((losses[0], self.rounds),)), LossSum(((losses[1], self.rounds),))
        return self._sums_at[delta]

    def end(self, delta: float) -> float:
        """Return an epsilon above which the losses of one round do not matter for the delta of all rounds."""
        if self.mu == 0:
            return max(pair.floor() for pair in self.pairs)
        return worst_epsilon(self.pairs, self.n, delta * _LEFT_OUT / self.rounds)[1]

    def step(self, end: float) -> float:
        """Return the step of the lattice for the losses of one round, which ends at the epsilon `end`."""
        once, mu = end - max(pair.floor() for pair in self.pairs), self.mu / sqrt(self.rounds)
        return max(min(mu / _STEPS, once / _STEPS), once / _FEWEST_DOTS, _LEAST_STEP)

    def losses_above(self, end: float, step: float) -> "LossSum":
        """Return the distribution of the summed losses of all rounds, rounded up on a lattice that ends at `end`."""
        return LossSum(((_Losses.of(self.pairs, self.n, end, step)[1], self.rounds),))


def joint_epsilons_at_chance(
    curves: Sequence[CentralCurve], draws: Sequence[Sequence[int]], chance: float
) -> list[float]:
    """Return epsilons that the summed losses of several curves exceed with probability at most `chance`.

    The reports of one person have independent noise. So their privacy losses add up, for any mechanisms and batches
    [Zhu, Dong, Wang 2022, Theorem 10], and the distributions of losses are convolved.

    Args:
        curves: the curves, of at most `MOST_PAIRS` pairs of values each.
        draws: for each draw, the positions of the curves that one person can be in together.
        chance: in (0, 1).

    Returns:
        The epsilon of each draw; 0 for an empty draw.

    Example:
        >>> import discreet as dc
        >>> once = dc.shuffled(dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0), n=10_000).curve_among
        >>> [round(epsilon, 4) for epsilon in joint_epsilons_at_chance([once, once], [[0], [0, 1]], 1e-6)]
        [0.012, 0.0169]
    """
    several = sorted({place for draw in draws if len(draw) > 1 for place in draw})
    sums = dict(zip(several, _on_one_lattice([curves[place] for place in several], chance), strict=True))
    return [
        _joint_epsilon([(curves[place], sums[place]) for place in draw], chance)
        if len(draw) > 1
        else max((curves[place].epsilon_at_chance(chance) for place in draw), default=0.0)
        for draw in draws
    ]


def _on_one_lattice(curves: Sequence[CentralCurve], chance: float) -> list["LossSum"]:
    """Return the distribution of each curve's losses, rounded up on a lattice that is common to all curves."""
    mu = sqrt(sum(curve.mu**2 for curve in curves))
    ends = [curve.end(chance * min(mu, 1.0) / len(curves)) for curve in curves]
    steps = [curve.step(end) for curve, end in zip(curves, ends, strict=True)]
    step = max(_NARROW * min(steps), _WIDE * max(steps)) if steps else 0.0
    return [curve.losses_above(end, step) for curve, end in zip(curves, ends, strict=True)]


def _joint_epsilon(drawn: Sequence[tuple[CentralCurve, "LossSum"]], chance: float) -> float:
    """Return the epsilon for one set of curves; see `joint_epsilons_at_chance`."""
    together = LossSum(tuple(part for _, losses in drawn for part in losses.parts))
    most = sum(curve.most for curve, _ in drawn)
    least = max(sum(curve.floor() for curve, _ in drawn) + log1p(-chance), 0.0)
    mu = sqrt(sum(curve.mu**2 for curve, _ in drawn))
    bracket = min(least, most), most
    return epsilon_at_chance(lambda epsilon: together.delta(epsilon)[1], chance, bracket=bracket, mu=mu)[0]


@dataclass(frozen=True, eq=False)
class _Losses:
    """The distribution of the privacy loss of one round, on a lattice.

    Attributes:
        step: the distance of neighbouring losses, in nats.
        first: the first loss, as a multiple of the step.
        masses: ``(k,)`` probabilities of the losses under x.
        infinite: the probability of an infinite loss.
    """

    step: float
    first: int
    masses: FloatArray
    infinite: float

    @classmethod
    def of(cls, pairs: Sequence[ValuePair], n: int, end: float, step: float) -> tuple["_Losses", "_Losses"]:
        """Return two distributions of losses: a lower one, from the strongest pair, and an upper one, for all pairs."""
        centre = max(pair.floor() for pair in pairs)
        if end - centre <= _LEAST_STEP:
            # No number of reports hides anything: the loss is at most the local epsilon, and at least 0.
            most = ceil(max(log(pair.largest) for pair in pairs) / step)
            return cls(step, 0, np.ones(1), 0.0), cls(step, most, np.ones(1), 0.0)
        first, last = round((2 * centre - end) / step) - 1, ceil(end / step)
        ratios = np.exp(np.arange(first, last + 1) * step)
        ends = np.array([[pair.delta(float(ratio), n) for ratio in ratios] for pair in pairs])
        strongest = max(range(len(pairs)), key=lambda place: pairs[place].strength)
        lows = _under(ratios, ends[strongest], float(pairs[strongest].weights @ pairs[strongest].second))
        return cls._joined(step, first, ratios, lows), cls._joined(step, first, ratios, ends[:, :, 1].max(axis=0))

    @classmethod
    def _joined(cls, step: float, first: int, ratios: FloatArray, deltas: FloatArray) -> "_Losses":
        """Return the distribution of losses whose curve delta(C) passes through the points, with delta 1 at C = 0."""
        places, heights = _lower_hull(np.append(0.0, ratios), np.append(1.0, deltas))
        slopes = np.append(np.diff(heights) / np.diff(places), 0.0)
        masses = np.zeros(len(ratios))
        # The first point is C = 0, where x has no probability.
        indices = np.searchsorted(ratios, places[1:])
        masses[indices] = places[1:] * np.diff(slopes)
        return cls(step, first, masses, float(heights[-1]))

    @cached_property
    def places(self) -> FloatArray:
        """The ``(k,)`` differences between each loss and the first loss."""
        return np.arange(len(self.masses), dtype=np.float64) * self.step

    def tilted(self, tilt: float, centre: float) -> FloatArray:
        """Return the probabilities of the losses, each times exp(tilt (loss - centre))."""
        return self.masses * np.exp(tilt * (self.places - (centre - self.first * self.step)))


@dataclass(frozen=True, eq=False)
class LossSum:
    """The distribution of a sum of independent privacy losses, all on one lattice.

    Attributes:
        parts: pairs of the losses of one round and the number of such rounds; all losses have the same step.
    """

    parts: tuple[tuple[_Losses, int], ...]

    @property
    def rounds(self) -> int:
        """The number of privacy losses in the sum."""
        return sum(rounds for _, rounds in self.parts)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a lower and an upper bound on delta of the sum at an epsilon, with allowance for rounding errors."""
        step = self.parts[0][0].step
        infinite = -expm1(sum(rounds * log1p(-losses.infinite) for losses, rounds in self.parts))
        first = sum(rounds * losses.first for losses, rounds in self.parts)
        size = sum(rounds * (len(losses.masses) - 1) for losses, rounds in self.parts) + 1
        if epsilon >= (first + size - 1) * step:
            return infinite, infinite
        tilt, centre = self._tilt(epsilon), epsilon / self.rounds
        length, scale = 1 << (size - 1).bit_length(), 1.0
        transform = np.ones(length // 2 + 1, dtype=np.complex128)
        for losses, rounds in self.parts:
            tilted = losses.tilted(tilt, centre)
            mass = float(tilted.sum())
            scale *= mass**rounds
            transform *= np.fft.rfft(tilted / mass, length) ** rounds
        chances = np.fft.irfft(transform, length)[:size]
        over = (first + np.arange(size)) * step - epsilon
        above = over > 0
        beyond = -np.expm1(-over[above]) * np.exp(-tilt * over[above])
        slack = _ROUNDING * float(np.linalg.norm(chances) * np.linalg.norm(beyond))
        finite, wrong = float(chances[above] @ beyond), _ROUNDING * self.rounds
        low, high = scale * max(finite - slack, 0.0) * (1 - wrong), scale * (finite + slack) * (1 + wrong)
        return min(low + infinite, 1.0), min(high + infinite, 1.0)

    def _tilt(self, epsilon: float) -> float:
        """Return the tilt, at least 0, under which the sum of the losses has mean epsilon."""
        centre = epsilon / self.rounds

        def above(tilt: float) -> bool:
            excess = 0.0
            for losses, rounds in self.parts:
                weights = losses.tilted(tilt, centre)
                excess += rounds * float(
                    weights @ (losses.places + losses.first * losses.step - centre) / weights.sum()
                )
            return excess > 0

        if above(0.0):
            return 0.0
        # At this limit no exponential overflows.
        widest = max(losses.places[-1] for losses, _ in self.parts)
        most = min(1 / self.parts[0][0].step, _LARGEST_EPSILON / widest)
        return bisected(lambda tilt: not above(tilt), 0.0, most, _HALVINGS)[0]


def _under(ratios: FloatArray, ends: FloatArray, clear: float) -> FloatArray:
    """Return ``(k,)`` heights, lowered so that the chords between the points lie below the convex curve.

    Between two points the curve is above the extended chords of the neighbouring intervals. This bounds the distance of
    the curve below its chord, and both points are lowered by this distance. At the first points the curve is at least
    1 - C b, b = E[b(y)].

    Args:
        ratios: ``(k,)`` the positions C of the points.
        ends: ``(k, 2)`` lower and upper bounds on the curve at these points.
        clear: b, the probability of noise under the other value.
    """
    lows, highs, widths = ends[:, 0], ends[:, 1], np.diff(ratios)
    chord = np.diff(lows)[1:-1] / widths[1:-1]
    left = np.minimum((lows[1:-2] - highs[:-3]) / widths[:-2], chord)
    right = np.maximum((highs[3:] - lows[2:-1]) / widths[2:], chord)
    bent = right - left
    sags = np.zeros(len(chord) + 2)
    sags[1:-1] = widths[1:-1] * (chord - left) * (right - chord) / np.where(bent > 0, bent, 1.0)
    heights = lows.copy()
    heights[1:-1] -= np.maximum(sags[:-1], sags[1:])
    line = 1 - ratios[:2] * clear
    heights[:2] = np.minimum(line, heights[:2])
    heights[0] = line[0]
    # The height is 0 from the point before the first height of 0 or less, and at the last two points.
    none = np.flatnonzero(heights <= 0)
    last = min(int(none[0]) - 1 if len(none) else len(heights), len(heights) - 2)
    heights[max(last, 1) :] = 0.0
    return heights


def _lower_hull(places: FloatArray, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points on the lower convex hull of a curve."""
    hull: list[int] = []
    for at in range(len(places)):
        while len(hull) > 1:
            before, last = hull[-2], hull[-1]
            rise = (heights[last] - heights[before]) * (places[at] - places[last])
            if rise < (heights[at] - heights[last]) * (places[last] - places[before]):
                break
            hull.pop()
        hull.append(at)
    return places[hull], heights[hull]
