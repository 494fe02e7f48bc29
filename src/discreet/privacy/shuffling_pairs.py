"""Pairs of values, and certified bounds on how well a reader of shuffled reports can distinguish them.

Noise that does not depend on the value is the *privacy blanket* [Balle, Bell, Gascon, Nissim 2019]. Let x and x' be two
values of one person, and let the attacker know which of the others reported the truth (which only helps). Then blocks
of noise remain, with the person's report among them. With a(y) and b(y) the likelihoods of a report y from x and from
x' relative to the blanket, and C = e^eps,

    D_C(x -> x') = sum (P_x - C P_x')_+ <= (1/n) E[(G_1 + ... + G_n)_+],  G = a(y) - C b(y)

where y is noise with probability gamma, and G = 0 otherwise (somebody else's truth). For truth or noise a and b are in
{1, E}, depending on whether a block contains x and x'. The bound is attained if everybody else reports in clear.

The mean excess has certified bounds. If only few counts of the values of G are likely, these counts are listed with
their multinomial probabilities. Otherwise normal noise N is added to the sum S, with a standard deviation eta that is
small compared with the standard deviation of S:

- ( )_+ is convex, so U = E[(S + N)_+] is an *upper* bound. The test "S + N > 0" gives a *lower* bound,
  E[S 1(S + N > 0)] = U - eta^2 f(0), with f the density of S + N (Stein's identity). Its loss does not grow with n.
- x_+ is the integral of e^(zx) / (2 pi i z^2) along the line Re z = lambda > 0. So U is the same integral of
  E[e^(z(S + N))] / z^2. Noise makes it decay quickly: a trapezoidal sum has some thousand terms, for any n.
- with step 2 pi / L the sum adds E[(S + N - m L)_+] e^(lambda m L) for all m other than 0 (Poisson). These terms are
  not negative, so the sum stays an upper bound. They are small, for m > 0 by Chernoff's bound, for m < 0 by
  e^(-lambda L).
- lambda is the saddle point, where the tilted mean is 0, so that an excess of 1e-30 has all its digits. Weights are
  stored as logarithms, because values of -1e10 have tilted weights of e^-150000.

The rounding error of each term is bounded, and the sum of these bounds is added to the upper and subtracted from the
lower bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, inf, log, log1p, pi, prod, sqrt

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.random import WORD_RANGE
from discreet.mechanisms import BlockMechanism, Channel
from discreet.theory.arithmetic import last_whole

TINY = 1e-300
"""The upper bound for results too small for a float."""

# The most counts to list: at first, and in a second try if noise leaves a gap between the bounds.
_FEW, _MANY = 1 << 15, 1 << 19
_MOST_COUNTED = 1 << 14
_OUTSIDE = 1e-13
_LOG_TINY, _LOG_LARGEST = -690.0, 700.0
_ROUNDING = 4e-15
_UNIT = 2.3e-16
# The noise's standard deviation times the tilt. Its square is about the relative gap between the bounds.
_NOISE = 0.008
_MOST_GAP = 2e-4
_MOST_REFINEMENTS = 4
_MOST_STEPS = 60
_MOST_LINES = 1 << 18
_TILT_TOLERANCE = 1e-3
# Exponents of the neglected parts: e^-36 of the integral, e^-30 of its copies.
_FADED, _COPIES = 36.0, 30.0
# Tilts in deviations of the sum. Below the second one, the integral needs a long period, but a list does not.
_LEAST_TILT, _STEEPER_TILT = 0.5, 2.0


def excess(values: FloatArray, probabilities: FloatArray, n: int) -> tuple[float, float]:
    """Return a lower and an upper bound on E[(G_1 + ... + G_n)_+] for independent variables G.

    Args:
        values: ``(k,)`` the possible values of each G.
        probabilities: ``(k,)`` the probabilities of these values, which sum to 1.
        n: the number of variables, at least 1.

    Example:
        >>> low, high = excess(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 10_000)
        >>> round(low, 2), round(high, 2), round(sqrt(10_000 / (2 * pi)), 2)
        (39.89, 39.89, 39.89)
    """
    possible = probabilities > 0
    values, probabilities = values[possible], probabilities[possible]
    if values.max() <= 0:
        return 0.0, 0.0
    mean = float(probabilities @ values)
    if mean > 0 and values.min() < 0:
        # x_+ = x + (-x)_+, and tilting needs sums with negative mean.
        low, high = excess(-values, probabilities, n)
        slack = _ROUNDING * n * float(probabilities @ abs(values))
        return max(n * mean + low - slack, 0.0), n * mean + high + slack
    if mean > 0:
        return n * mean * (1 - _ROUNDING), n * mean * (1 + _ROUNDING)
    different, which = np.unique(values, return_inverse=True)
    logs = np.log(np.bincount(which, weights=probabilities))
    law = _Tilted.of(different, logs, n, _LEAST_TILT)
    if law.log_bound < _LOG_TINY:
        return 0.0, TINY
    # Because x_+ <= e^(lambda x) / (e lambda).
    most, listed = exp(min(law.log_bound, _LOG_LARGEST)), listed_ends(law, _FEW)
    low, high = _smoothed(_Tilted.of(different, logs, n, _STEEPER_TILT)) if listed is None else listed
    if listed is None and high - low > _MOST_GAP * high:
        again = listed_ends(law, _MANY)
        low, high = (low, high) if again is None else (max(low, again[0]), min(high, again[1]))
    return low, min(high, most)


def chernoff_end(values: FloatArray, probabilities: FloatArray, n: int) -> float:
    """Return a fast upper bound on E[(G_1 + ... + G_n)_+] for independent variables G.

    Example:
        >>> round(chernoff_end(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 10_000), 1)
        60.7
    """
    possible = probabilities > 0
    values, probabilities = values[possible], probabilities[possible]
    if values.max() <= 0:
        return 0.0
    scale = 1 / sqrt(n * float(probabilities @ np.minimum(values**2, float(values.max()) ** 2)))
    grid = scale * np.geomspace(1 / 8, 64, 37)
    exponents = np.log(probabilities) + grid[:, None] * values
    peaks = exponents.max(axis=1)
    logs = n * (peaks + np.log(np.exp(exponents - peaks[:, None]).sum(axis=1))) - np.log(grid) - 1
    return exp(min(float(logs.min()), 700.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Tilted:
    """The distribution of a sum of n independent variables after an exponential tilt.

    Attributes:
        values: ``(k,)`` the values of one variable.
        logs: ``(k,)`` logarithms of their probabilities before the tilt.
        n: the number of variables.
        tilt: lambda, above 0.
        log_mass: log sum p e^(lambda g).
        mean: the mean of one variable under the tilt.
        variance: the variance of one variable under the tilt.
    """

    values: FloatArray
    logs: FloatArray
    n: int
    tilt: float
    log_mass: float
    mean: float
    variance: float

    @classmethod
    def of(cls, values: FloatArray, logs: FloatArray, n: int, least: float) -> "_Tilted":
        """Return the tilt for which the mean is 0; it is at least `least` divided by the sum's standard deviation."""
        low, high, tilt = 0.0, inf, 0.0
        for _ in range(_MOST_STEPS):
            mean, variance = _moments(values, logs + tilt * values)
            low, high = (tilt, high) if mean < 0 else (low, tilt)
            if abs(mean) * sqrt(n) <= _TILT_TOLERANCE * sqrt(variance):
                break
            doubled = 2 * low + 1 / float(values.max())
            step = tilt - mean / variance if variance > 0 else inf
            tilt = step if low < step < min(high, doubled) else min((low + high) / 2, doubled)
        tilt = max(tilt, least / sqrt(max(n * variance, TINY)))
        exponents = logs + tilt * values
        return cls(values, logs, n, tilt, _log_sum(exponents), *_moments(values, exponents))

    @property
    def log_bound(self) -> float:
        """The logarithm of an upper bound on the mean excess E[S_+], from s_+ <= e^(lambda s) / (e lambda)."""
        return self.n * self.log_mass - log(self.tilt) - 1

    @property
    def weight_logs(self) -> FloatArray:
        """The ``(k,)`` logarithms of one variable's probabilities after the exponential tilt."""
        return self.logs + self.tilt * self.values - self.log_mass

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum of n variables after the exponential tilt."""
        return sqrt(self.n * self.variance)

    def half_width(self) -> float:
        """Return a bound that the tilted sum exceeds in absolute value with probability at most 1e-13 (Chernoff)."""
        logs, centred = self.weight_logs, self.values - self.mean
        grid = sqrt(2 * -log(_OUTSIDE)) / self.deviation * np.geomspace(1 / 16, 16, 41)
        exponents = logs + np.concatenate([grid, -grid])[:, None] * centred
        peaks = exponents.max(axis=1)
        cumulants = (peaks + np.log(np.exp(exponents - peaks[:, None]).sum(axis=1))).reshape(2, -1)
        widths = (self.n * cumulants - log(_OUTSIDE / 2)) / grid
        return float(widths.min(axis=1).max()) + self.n * abs(self.mean)


def _moments(values: FloatArray, logs: FloatArray) -> tuple[float, float]:
    """Return the mean and the variance of values under weights, given by their logarithms up to a factor."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ values)
    return mean, float(weights @ (values - mean) ** 2)


def _log_sum(logs: FloatArray) -> float:
    peak = float(logs.max())
    return peak + log(float(np.exp(logs - peak).sum()))


def listed_ends(law: "_Tilted", points: int) -> tuple[float, float] | None:
    """Return both bounds on the mean excess, from a list of likely counts; None if there are too many counts."""
    kinds = len(law.values)
    lows, highs = np.zeros(kinds, dtype=np.int64), np.full(kinds, law.n)
    if law.n > _MOST_COUNTED or _number_of_counts(lows[1:], highs[1:], law.n) > points:
        lows, highs = _likely_counts(law)
    order = np.argsort(highs - lows, kind="stable")
    # One value's count is not listed; it completes the sum to n.
    rest, listed = order[-1], order[:-1]
    counts = _listed(lows[listed], highs[listed], law.n, points)
    if counts is None:
        return None
    totals = counts.sum(axis=1)
    most = int(totals.max(initial=0))
    ordered = np.concatenate([[0.0], np.cumsum(np.log(law.n - np.arange(most, dtype=np.float64)))])
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    left = law.n - totals.astype(np.float64)
    logs = ordered[totals] - factorials[counts].sum(axis=1) + _times(counts, law.logs[listed]) + left * law.logs[rest]
    sums = _times(counts, law.values[listed]) + left * law.values[rest]
    sizes = _times(counts, abs(law.values[listed])) + left * abs(law.values[rest])
    weights = np.exp(logs)
    positive = np.maximum(sums, 0)
    mass = float((weights * positive).sum())
    # Each table of logarithms is summed in a row, and every probability is rounded.
    wrong = (8 + most) * (ordered[totals] + factorials[counts].sum(axis=1)) + 4 * _times(counts, -law.logs[listed])
    wrong += law.n * (1 - 4 * law.logs[rest]) + 8
    close = sums > -_ROUNDING * sizes
    slack = float((weights * (_UNIT * wrong * positive + _ROUNDING * sizes * close)).sum())
    left_out = (
        0.0
        if bool((lows[listed] == 0).all() and (highs[listed] == law.n).all())
        else exp(min(law.log_bound, _LOG_LARGEST)) * _OUTSIDE
    )
    return max(mass - slack, 0.0), mass + slack + left_out + TINY


def _likely_counts(law: "_Tilted") -> tuple[IntArray, IntArray]:
    """Return the ``(k,)`` least and largest likely counts of the values.

    The tilted probability of all is at least 1 - 1e-13.

    By Chernoff's bound a binomial count with mean m is h or beyond with probability e^-(h log(h/m) - h + m) at most.
    """
    lows: list[int] = []
    highs: list[int] = []
    needed = log(2 * len(law.values) / _OUTSIDE)
    for mean in (law.n * np.exp(law.weight_logs)).tolist():

        def unlikely(count: float, mean: float = mean) -> bool:
            return mean - count + (count * log(count / mean) if count > 0 else 0.0) >= needed

        if mean < TINY:
            lows.append(0)
            highs.append(0)
            continue
        least = min(floor(mean), law.n)
        lows.append(last_whole(unlikely, -1, least + 1) + 1 if unlikely(0.0) else 0)
        beyond = ceil(mean + needed + sqrt(2 * mean * needed + needed**2)) + 1
        highs.append(min(last_whole(lambda count, far=unlikely: not far(count), least, beyond), law.n))  # type: ignore[misc]
    return np.array(lows), np.array(highs)


def _listed(lows: IntArray, highs: IntArray, n: int, points: int) -> IntArray | None:
    """Return ``(m, k)`` all combinations of counts in the ranges with sum at most n; None if there are too many."""
    if _number_of_counts(lows, highs, n) > points:
        return None
    counts, totals = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        column = np.tile(np.arange(low, high + 1), len(counts))
        counts, totals = np.repeat(counts, high - low + 1, axis=0), np.repeat(totals, high - low + 1) + column
        possible = totals <= n
        counts, totals = np.column_stack([counts, column])[possible], totals[possible]
    return counts


def _number_of_counts(lows: IntArray, highs: IntArray, n: int) -> float:
    """Return the number of combinations of counts in the ranges with sum at most n."""
    widths, room = (highs - lows + 1).tolist(), int(n - lows.sum())
    if max(widths, default=0) > _MOST_COUNTED:
        return inf
    if int((highs - lows).sum()) <= room:
        return prod(map(float, widths))
    ways = np.ones(1)
    for width in widths:
        sums = np.cumsum(np.concatenate([ways, np.zeros(width - 1)]))
        ways = (sums - np.concatenate([np.zeros(width), sums[:-width]])[: len(sums)])[: room + 1]
    return float(ways.sum())


def _smoothed(law: _Tilted) -> tuple[float, float]:
    """Return a lower and an upper bound on the mean excess, computed after adding narrow normal noise."""
    noise, low, high = _NOISE / law.tilt, 0.0, inf
    if law.deviation == 0:
        # Almost certainly all variables are 0.
        return low, high
    for _ in range(_MOST_REFINEMENTS):
        ends = _ends(law, noise)
        low, high = max(low, ends[0]), min(high, ends[1])
        if high - low <= _MOST_GAP * high or ends[1] == inf:
            break
        noise /= 4
    return low, high


def _ends(law: _Tilted, noise: float) -> tuple[float, float]:
    """Return both bounds on the mean excess, by adding normal noise with standard deviation `noise`."""
    tilt, n = law.tilt, law.n
    log_scale = n * law.log_mass + (noise * tilt) ** 2 / 2
    strength = tilt * law.deviation
    copies = (_COPIES + 2 * log1p(strength) + max(-log_scale, 0.0)) / tilt
    period = max(law.half_width() + 8 * noise + noise**2 * tilt, copies)
    end = sqrt(2 * _FADED) / noise
    if end * period > 2 * pi * _MOST_LINES or noise * tilt > 1 or log_scale > _LOG_LARGEST:
        return 0.0, inf
    lines = np.arange(ceil(end * period / (2 * pi)) + 1, dtype=np.float64) * (2 * pi / period)
    terms, rounded = _terms(law, noise, lines)
    kernel = (tilt + 1j * lines) ** -2
    counts = np.full(len(lines), 2 / period)
    counts[0] /= 2
    total, density = float((counts * (terms * kernel).real).sum()), float((counts * terms.real).sum())
    rounding = float((counts * rounded * (abs(kernel) + noise**2)).sum())
    cut = exp(-_FADED) / (pi * end) * (1 / (noise * end) ** 2 + noise**2 * end**2)
    # P(tilted sum > L) / (e lambda), and the same for 2 L, 3 L, ...; (m L + U) e^(-lambda m L) on the other side.
    beside = 2 * _OUTSIDE / tilt + 2 * (period + total) * exp(-tilt * period - min(log_scale, 0.0))
    slack, scale = rounding + cut, exp(log_scale)
    return scale * max(total - noise**2 * max(density, 0.0) - beside - slack, 0.0), scale * (total + slack)


def _terms(law: _Tilted, noise: float, lines: FloatArray) -> tuple[AnyArray, FloatArray]:
    """Return E[e^(it(S + N))] under the tilt for each t in `lines`, and bounds on the rounding errors."""
    weights = np.exp(law.weight_logs)
    angles = np.outer(lines, law.values)
    real, imaginary = _times(np.cos(angles), weights), _times(np.sin(angles), weights)
    sizes = np.sqrt(real**2 + imaginary**2)
    stay = sizes > exp(-2 * _FADED / law.n)
    sizes, stayed = sizes[stay], lines[stay]
    powers = law.n * np.log(sizes) - (noise * stayed) ** 2 / 2
    turns = law.n * np.arctan2(imaginary[stay], real[stay]) + noise**2 * law.tilt * stayed
    terms, rounded = np.zeros(len(lines), dtype=np.complex128), np.full(len(lines), exp(-2 * _FADED))
    terms[stay] = np.exp(powers) * (np.cos(turns) + 1j * np.sin(turns))
    known = float(weights @ (1 + abs(law.logs) + law.tilt * abs(law.values)))
    wrong = law.n * (known + (8 + stayed * float(weights @ abs(law.values))) / sizes) - powers + abs(turns)
    rounded[stay] += np.exp(powers) * _UNIT * (8 + wrong)
    return terms, rounded


def _times(matrix: AnyArray, vector: FloatArray) -> FloatArray:
    """Return the product of a long matrix and a short vector, without starting threads of BLAS."""
    product: FloatArray = np.einsum("ij,j->i", matrix, vector)
    return product


@dataclass(frozen=True, slots=True, eq=False)
class ValuePair:
    """Two values x and x' of a person: the likelihoods of each kind of report, relative to noise (the blanket).

    Attributes:
        first: ``(k,)`` likelihood a of each kind of report from x, relative to the blanket.
        second: ``(k,)`` likelihood b of each kind of report from x', relative to the blanket.
        weights: ``(k,)`` probabilities of the kinds of reports as noise; they sum to gamma.
        silent: 1 - gamma, the probability of a report that does not depend on x and x'.
    """

    first: FloatArray
    second: FloatArray
    weights: FloatArray
    silent: float

    def delta(self, ratio: float, n: int) -> tuple[float, float]:
        """Return a lower and an upper bound on delta = (1/n) E[(G_1 + ... + G_n)_+] for C = `ratio`."""
        values = np.append(self.first - ratio * self.second, 0.0)
        low, high = excess(values, np.append(self.weights, self.silent), n)
        return low / n, min(high / n, 1.0)

    def bound(self, ratio: float, n: int) -> float:
        """Return an upper bound on delta that is fast to compute and may be several times too large."""
        values = np.append(self.first - ratio * self.second, 0.0)
        return chernoff_end(values, np.append(self.weights, self.silent), n) / n

    def floor(self, delta: float = 0.0) -> float:
        """Return an epsilon, at least 0, below which no n gives this delta, because E[G] > delta (Jensen)."""
        return max(log((self.weights @ self.first - delta) / (self.weights @ self.second)), 0.0)

    @property
    def strength(self) -> float:
        """The parameter mu sqrt(n) of the Gaussian mechanism to which the pair tends for large n."""
        ratio = exp(self.floor())
        return float(np.sqrt(self.weights @ (self.first - ratio * self.second) ** 2))

    @property
    def largest(self) -> float:
        """The largest likelihood ratio a/b of a report, which bounds e^epsilon for any n."""
        return float((self.first / self.second).max())


def block_pairs(mechanism: BlockMechanism) -> Iterator[ValuePair]:
    """Yield the pair of two sensitive values, which represents all such pairs; none if only one is sensitive."""
    law, ratio = mechanism.law, ratio_of(mechanism)
    if law.size < 2:
        return
    both = law.inclusion * (law.conditional_inclusion or 0)
    only = law.inclusion - both
    yield _pair(mechanism, (ratio, 1.0, ratio, 1.0), (1.0, ratio, ratio, 1.0), (only, only, both, 1 - 2 * only - both))


def clear_pairs(mechanism: BlockMechanism) -> Iterator[ValuePair]:
    """Yield the pair of a sensitive value and a value in clear, which represents all such pairs."""
    inclusion = mechanism.law.inclusion
    yield _pair(mechanism, (ratio_of(mechanism), 1.0), (1.0, 1.0), (inclusion, 1 - inclusion))


def _pair(
    mechanism: BlockMechanism, first: tuple[float, ...], second: tuple[float, ...], shares: tuple[Fraction, ...]
) -> ValuePair:
    noise = Fraction(WORD_RANGE - mechanism.threshold, WORD_RANGE)
    weights = np.array([float(noise * share) for share in shares])
    return ValuePair(np.array(first), np.array(second), weights, float(1 - noise))


def ratio_of(mechanism: BlockMechanism) -> float:
    """Return E = 1 + s / (gamma pi): the likelihood ratio of a block with x, between the value x and noise."""
    odds = Fraction(mechanism.threshold, WORD_RANGE - mechanism.threshold)
    return float(1 + odds / mechanism.law.inclusion)


def channel_pairs(channel: Channel, *, versus_clear: bool) -> list[ValuePair]:
    """Return the different pairs of a channel: two sensitive values, or a sensitive value and a value in clear.

    The blanket is omega(y), the smallest probability of y from any value.
    """
    weights = channel.weights
    least = weights.min(axis=0)
    kinds = np.flatnonzero(least > 0)
    blanket = least[kinds]
    noise = Fraction(int(blanket.sum()), WORD_RANGE)
    shares, silent = np.array([float(Fraction(int(weight), WORD_RANGE)) for weight in blanket]), float(1 - noise)
    rows = (weights[:, kinds] / blanket).astype(np.float64)
    others = channel.domain.clear_codes if versus_clear else channel.domain.sensitive_codes
    pairs: dict[tuple[tuple[float, ...], ...], ValuePair] = {}
    for x in channel.domain.sensitive_codes:
        for other in others:
            if x != other:
                order = np.lexsort((shares, rows[other], rows[x]))
                columns = rows[x][order], rows[other][order], shares[order]
                pairs.setdefault(tuple(map(tuple, columns)), ValuePair(*columns, silent))
    return list(pairs.values())


def silent_rows(channel: Channel) -> int:
    """Return the number of values whose reports are noise, or are outputs that no sensitive value can cause."""
    least = channel.weights.min(axis=0)
    kinds = least > 0
    silent = (channel.weights[channel.domain.clear_codes][:, kinds] == least[kinds]).all(axis=1)
    return int(silent.sum())
