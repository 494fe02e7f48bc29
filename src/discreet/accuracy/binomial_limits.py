"""Confidence limits from binomial counts: the p under which both tails of the count have at least alpha/2.

Between Clopper-Pearson's, which count all of the observed number to the tail, and mid-p's, which count half of it: the
observed number t weighs w = 1/2 + exp(-t/4)/2, so that limits are exact at t = 0, where mid-p's cover too little, and
mid-p's from about 15 on, where Clopper-Pearson's are too long.
"""

from dataclasses import dataclass

import numpy as np

from discreet.accuracy.decoder import PerValue
from discreet.accuracy.expansion import expanded_limit
from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.confidence_intervals import Ends, once_each, score_ends, sigmas

_ROUNDS = 60
# In the logarithm of the odds: far from the limit a step of Newton's may be too long.
_LONGEST_STEP = 3.0
# In standard deviations of these; the next step would be about the square of the last one.
_LAST_STEP = 1e-6
# From this count on the expansion is as good, and SciPy need not be imported: that takes as long as many verbs.
_MANY = 5_000
_EXPANDED_ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class BinomialCounts:
    """Counts of reports, binomial with probability b + d p where the frequency of the value is p.

    Attributes:
        counts: ``(m,)`` t; or ``(g, m)``, of groups of reports.
        n: number of reports; or ``(g, 1)``.
        base: b; a number, or ``(m,)``.
        slope: d, above 0; likewise.
    """

    counts: IntArray
    n: int | IntArray
    base: PerValue
    slope: PerValue

    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper limits of p as `counts`, not clipped; each misses with about alpha/2."""
        first, places = once_each(self.counts, self.n)
        n = np.broadcast_to(self.n, self.counts.shape)[first]
        low, high = (end[places] for end in probability_limits(self.counts[first], n, alpha))
        return (low - self.base) / self.slope, (high - self.base) / self.slope

    def variances(self, p: FloatArray) -> FloatArray:
        """Return the variances of (t/n - b)/d where the true frequencies are ``(m,)`` p."""
        q = self.base + self.slope * p
        variance: FloatArray = np.maximum(q * (1 - q), 0) / (self.n * np.square(self.slope))
        return variance


def share_limits(counts: IntArray, n: IntArray, alpha: float) -> Ends:
    """Return limits of the probabilities of binomial counts of different numbers of trials, by mid-P.

    Half of the observed number is in either tail. For a share among answers in clear, whose total is random too, these
    miss at most alpha, at small counts as well; longer ones would gain nothing.

    Args:
        counts: ``(m,)`` t.
        n: ``(m,)`` numbers of trials; of none, the limits are 0 and 1.
        alpha: the probability with which both limits together may miss.
    """
    t, size, half = counts.astype(np.float64), n.astype(np.float64), np.full(len(counts), 0.5)
    low, high = np.zeros(len(t)), np.ones(len(t))
    for end, possible, upper in ((low, counts > 0, False), (high, counts < n, True)):
        end[possible] = _solved(t[possible], size[possible], half[possible], alpha / 2, upper=upper)
    return low, high


def probability_limits(counts: IntArray, n: int | IntArray, alpha: float) -> Ends:
    """Return limits of a binomial probability, 0 for the lower one where t = 0 and 1 for the upper one where t = n.

    Args:
        counts: ``(m,)`` t, in 0..n.
        n: number of trials, at least 1; one for all, or ``(m,)``.
        alpha: the probability with which both limits together may miss; in (0, 1).
    """
    t, n = counts.astype(np.float64), np.broadcast_to(n, counts.shape)
    # As a count of those who were not counted, the number is as rare near n as near 0.
    weight = 0.5 + 0.5 * np.exp(-np.minimum(t, n - t) / 4)
    low, high = np.zeros(len(t)), np.ones(len(t))
    many = np.minimum(t, n - t) >= _MANY
    for end, possible, upper in ((low, counts > 0, False), (high, counts < n, True)):
        some = possible & ~many
        if some.any():
            end[some] = _solved(t[some], n[some], weight[some], alpha / 2, upper=upper)
        end[many] = _expanded(t[many], n[many], alpha / 2, upper=upper)
    return low, high


def _expanded(t: FloatArray, n: IntArray, tail: float, *, upper: bool) -> FloatArray:
    """Return `_solved` of large counts, of which half of the observed number is in either tail, to 1e-5 of its error.

    Halves of whole numbers have the tails of a smooth number with 1/6 more variance, but for terms of third order.
    """
    side, q, more = (-1 if upper else 1), t / n, 1 / (6 * n)
    for _ in range(_EXPANDED_ROUNDS):
        own = q * (1 - q)
        spread = own + more
        skewness = side * own * (1 - 2 * q) / np.sqrt(n * spread**3)
        excess = own * (1 - 6 * own) / (n * spread**2)
        q = score_ends(t / n, (more, np.ones(1)), n, expanded_limit(skewness, excess, tail))[upper]
    return q


def _solved(t: FloatArray, n: AnyArray, weight: FloatArray, tail: float, *, upper: bool) -> FloatArray:
    """Return the probabilities at which the weighted tail beyond t is ``tail``, by Newton's method on its logarithm.

    In the logarithm of the odds the logarithm of either tail is concave, so that after one step all others go one way.
    """
    spread = 1 / np.sqrt(np.minimum(t, n - t) + 1)
    trials = np.broadcast_to(np.asarray(n, np.float64), t.shape)
    first = np.clip(score_ends(t / n, (np.zeros(1), np.ones(1)), n, sigmas(tail))[upper], 0.1 / n, 1 - 0.1 / n)
    odds, active = np.log(first / (1 - first)), np.arange(len(t))
    for _ in range(_ROUNDS):
        step = _step(odds[active], (t[active], trials[active], weight[active]), tail, upper=upper)
        odds[active] += step
        active = active[np.abs(step) > _LAST_STEP * spread[active]]
        if not len(active):
            break
    found: FloatArray = 1 / (1 + np.exp(-odds))
    return found


def _step(
    odds: FloatArray, counted: tuple[FloatArray, FloatArray, FloatArray], tail: float, *, upper: bool
) -> FloatArray:
    from scipy.special import betainc, betaincc, gammaln

    t, n, weight = counted
    q, rest = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))
    exact = gammaln(n + 1) - gammaln(t + 1) - gammaln(n - t + 1) + t * np.log(q) + (n - t) * np.log(rest)
    mass = np.exp(np.minimum(exact, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # The tails beyond t and from t on; a beta function of 0 is no number, its tail is.
        if upper:
            from_t, beyond = betaincc(t + 1, n - t, q), np.where(t > 0, betaincc(t, n - t + 1, q), 0)
            slope = -mass * (weight * (n - t) * q + (1 - weight) * t * rest)
        else:
            from_t, beyond = betainc(t, n - t + 1, q), np.where(t < n, betainc(t + 1, n - t, q), 0)
            slope = mass * (weight * t * rest + (1 - weight) * (n - t) * q)
        value = weight * from_t + (1 - weight) * beyond
        step: FloatArray = (np.log(tail) - np.log(value)) * value / slope
    return _bounded(step, value > tail, upper=upper)


def _bounded(step: FloatArray, heavy: BoolArray, *, upper: bool) -> FloatArray:
    """Return steps that are neither too long nor no numbers, as where a tail vanishes."""
    towards = np.where(heavy == upper, _LONGEST_STEP, -_LONGEST_STEP)
    bounded: FloatArray = np.clip(np.where(np.isfinite(step), step, towards), -_LONGEST_STEP, _LONGEST_STEP)
    return bounded
