"""The mean excess E[(G_1 + ... + G_n)_+] of independent variables with few values, between certified ends.

Every central guarantee of shuffled reports is such a mean (see `discreet.privacy.shuffling`). Few variables are summed
up exactly, over all multinomial counts. The sum S of many gets one more term, normal noise N of deviation eta that is
small beside its own:

- ( )_+ is convex, so U = E[(S + N)_+] is an *upper* end. The test "S + N > 0", asked of S, gives a *lower* end,
  E[S 1(S + N > 0)] = U - eta^2 f(0), with f the density of S + N (Stein's identity). It does not lose with n.
- x_+ is the integral of e^(zx) / (2 pi i z^2) along the line Re z = lambda > 0, and so U is that of
  E[e^(z(S + N))] / z^2. Noise lets it fade quickly: a trapezoidal sum of some thousand terms, whatever n is.
- with step 2 pi / L the sum adds E[(S + N - m L)_+] e^(lambda m L) for all m other than 0 (Poisson): nothing negative,
  so that it stays an upper end, and little, for m > 0 by Chernoff's bound, for m < 0 by e^(-lambda L).
- lambda is the saddle point, where the tilted mean is 0, so that every digit of an excess of 1e-30 counts. Weights are
  kept as logarithms, as values of -1e10 have tilted weights of e^-150000.

What floats round is bounded term by term and taken off and added.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import ceil, comb, exp, inf, log, log1p, pi, sqrt

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray

TINY = 1e-300
"""The upper end of what is too small for a float."""

_MOST_COUNTS, _MOST_LISTED = 30_000, 60
# More variables other than 0 than this, and the sums of a few would not do.
_FEW = 4.0
_OUTSIDE = 1e-13
_LOG_TINY, _LOG_LARGEST = -690.0, 700.0
_ROUNDING = 4e-15
_UNIT = 2.3e-16
_NOISE = 1 / 384
_MOST_GAP = 2e-4
_MOST_REFINEMENTS = 4
_MOST_STEPS = 60
_MOST_LINES = 1 << 18
_TILT_TOLERANCE = 1e-3
# The largest exponents of what is left out: e^-36 of the integral, e^-30 of its copies.
_FADED, _COPIES = 36.0, 30.0
# Tilts whose sum has less than so many deviations to go to 0 would need a long period.
_LEAST_TILT = 2.0


def excess(values: FloatArray, probabilities: FloatArray, n: int) -> tuple[float, float]:
    """Return a lower and an upper end of E[(G_1 + ... + G_n)_+].

    Args:
        values: ``(k,)`` the values of each G.
        probabilities: ``(k,)`` their probabilities, which sum to 1.
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
        # x_+ = x + (-x)_+, and sums of negative mean are what tilting is for.
        low, high = excess(-values, probabilities, n)
        slack = _ROUNDING * n * float(probabilities @ abs(values))
        return max(n * mean + low - slack, 0.0), n * mean + high + slack
    if mean > 0:
        return n * mean * (1 - _ROUNDING), n * mean * (1 + _ROUNDING)
    most, low, high = _countable(values, probabilities, n), 0.0, inf
    if most:
        low, high = _spelled_out(values, probabilities, n, most)
        if high - low <= _MOST_GAP * high:
            return low, high
    ends = _smoothed(_Tilted.of(values, np.log(probabilities), n))
    return max(low, ends[0]), min(high, ends[1])


def chernoff_end(values: FloatArray, probabilities: FloatArray, n: int) -> float:
    """Return an upper end of E[(G_1 + ... + G_n)_+] from s_+ <= e^(lambda s) / (e lambda); see `excess`.

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


def _countable(values: FloatArray, probabilities: FloatArray, n: int) -> int:
    """Return the largest number of variables other than 0 whose counts can be listed; 0 if more are likely."""
    kinds = int(np.count_nonzero(values))
    most = max(m for m in range(_MOST_LISTED + 1) if comb(m + kinds, kinds) <= _MOST_COUNTS)
    return min(most, n) if n <= most or n * float(probabilities[values != 0].sum()) <= _FEW else 0


def _spelled_out(values: FloatArray, probabilities: FloatArray, n: int, most: int) -> tuple[float, float]:
    """Return the ends from all counts of values other than 0, up to ``most`` together."""
    other = values != 0
    values, logs, active = values[other], np.log(probabilities[other]), float(probabilities[other].sum())
    counts, coefficients = _counts(most, len(values))
    silent = log(max(float(probabilities[~other].sum()), TINY))
    ordered = np.concatenate([[0.0], np.cumsum(np.log(n - np.arange(most)))])
    totals = counts.sum(axis=1)
    weights = np.exp(ordered[totals] + coefficients + counts @ logs + (n - totals) * silent)
    sums = counts @ values
    found = float(weights @ np.maximum(sums, 0))
    slack = _ROUNDING * (8 + n) * float(weights @ (counts @ abs(values) * (sums > -_ROUNDING * abs(values).max())))
    # max v E[M; M > most], with the tail of a binomial number M by Chernoff's bound.
    tail = 0.0 if n <= most else n * active * float(values.max()) * _tail(most / (n - 1), active, n - 1)
    return max(found - slack, 0.0), found + slack + tail


def _tail(share: float, chance: float, n: int) -> float:
    """Return a bound on the probability that a binomial share of n is at least ``share``, above its mean."""
    if share <= chance or share >= 1:
        return 1.0
    return exp(-n * (share * log(share / chance) + (1 - share) * log((1 - share) / (1 - chance))))


@lru_cache(maxsize=8)
def _counts(most: int, kinds: int) -> tuple[IntArray, FloatArray]:
    """Return ``(m, kinds)`` counts that sum to ``most`` or less, and -log of the product of their factorials."""
    bars = np.array(list(combinations(range(most + kinds), kinds)), dtype=np.int64).reshape(-1, kinds)
    counts = np.diff(bars, axis=1, prepend=-1) - 1
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    return counts, -factorials[counts].sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Tilted:
    """The sum of n independent variables under a tilt.

    Attributes:
        values: ``(k,)`` the values of one variable.
        logs: ``(k,)`` logarithms of their probabilities before the tilt.
        n: the number of variables.
        tilt: lambda, above 0.
        log_mass: log sum p e^(lambda g).
        mean: of one variable under the tilt.
        variance: the same.
    """

    values: FloatArray
    logs: FloatArray
    n: int
    tilt: float
    log_mass: float
    mean: float
    variance: float

    @classmethod
    def of(cls, values: FloatArray, logs: FloatArray, n: int) -> "_Tilted":
        """Return the tilt under which variables of mean 0 or less have mean 0, or a little more."""
        low, high, tilt = 0.0, inf, 0.0
        for _ in range(_MOST_STEPS):
            mean, variance = _moments(values, logs + tilt * values)
            low, high = (tilt, high) if mean < 0 else (low, tilt)
            if abs(mean) * sqrt(n) <= _TILT_TOLERANCE * sqrt(variance):
                break
            doubled = 2 * low + 1 / float(values.max())
            step = tilt - mean / variance if variance > 0 else inf
            tilt = step if low < step < min(high, doubled) else min((low + high) / 2, doubled)
        tilt = max(tilt, _LEAST_TILT / sqrt(max(n * variance, TINY)))
        exponents = logs + tilt * values
        return cls(values, logs, n, tilt, _log_sum(exponents), *_moments(values, exponents))

    @property
    def weight_logs(self) -> FloatArray:
        """``(k,)`` logarithms of the tilted probabilities."""
        return self.logs + self.tilt * self.values - self.log_mass

    @property
    def deviation(self) -> float:
        """The deviation of the tilted sum."""
        return sqrt(self.n * self.variance)

    def half_width(self) -> float:
        """Return a W that the tilted sum exceeds, in absolute value, with probability 1e-13 at most (Chernoff)."""
        logs, centred = self.weight_logs, self.values - self.mean
        grid = sqrt(2 * -log(_OUTSIDE)) / self.deviation * np.geomspace(1 / 16, 16, 41)
        exponents = logs + np.concatenate([grid, -grid])[:, None] * centred
        peaks = exponents.max(axis=1)
        cumulants = (peaks + np.log(np.exp(exponents - peaks[:, None]).sum(axis=1))).reshape(2, -1)
        widths = (self.n * cumulants - log(_OUTSIDE / 2)) / grid
        return float(widths.min(axis=1).max()) + self.n * abs(self.mean)


def _moments(values: FloatArray, logs: FloatArray) -> tuple[float, float]:
    """Return mean and variance under weights given by their logarithms, up to a factor."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ values)
    return mean, float(weights @ (values - mean) ** 2)


def _log_sum(logs: FloatArray) -> float:
    peak = float(logs.max())
    return peak + log(float(np.exp(logs - peak).sum()))


def _smoothed(law: _Tilted) -> tuple[float, float]:
    """Return the ends from noise that is small enough to hold them together."""
    # s_+ <= e^(lambda s) / (e lambda).
    log_bound = law.n * law.log_mass - log(law.tilt) - 1
    if log_bound < _LOG_TINY:
        return 0.0, TINY
    noise, low, high = _NOISE * law.deviation, 0.0, exp(min(log_bound, 700.0))
    if noise == 0:
        # All but certainly no variable is other than 0.
        return low, high
    for _ in range(_MOST_REFINEMENTS):
        ends = _ends(law, noise)
        low, high = max(low, ends[0]), min(high, ends[1])
        if high - low <= _MOST_GAP * high or ends[1] == inf:
            break
        noise /= 4
    return low, high


def _ends(law: _Tilted, noise: float) -> tuple[float, float]:
    """Return both ends, with noise of a given deviation."""
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
    found, density = float(counts @ (terms * kernel).real), float(counts @ terms.real)
    rounding = float(counts @ (rounded * (abs(kernel) + noise**2)))
    cut = exp(-_FADED) / (pi * end) * (1 / (noise * end) ** 2 + noise**2 * end**2)
    # P(tilted sum > L) / (e lambda) and its like for 2 L, 3 L, ...; (m L + U) e^(-lambda m L) on the other side.
    beside = 2 * _OUTSIDE / tilt + 2 * (period + found) * exp(-tilt * period - min(log_scale, 0.0))
    slack, scale = rounding + cut, exp(log_scale)
    return scale * max(found - noise**2 * max(density, 0.0) - beside - slack, 0.0), scale * (found + slack)


def _terms(law: _Tilted, noise: float, lines: FloatArray) -> tuple[AnyArray, FloatArray]:
    """Return E[e^(it(S + N))] under the tilt at each t, and how far off rounding may make it."""
    weights = np.exp(law.weight_logs)
    angles = np.outer(lines, law.values)
    real, imaginary = np.cos(angles) @ weights, np.sin(angles) @ weights
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
