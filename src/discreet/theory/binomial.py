"""Confidence limits from counts and from mean worths of reports, and tests of many hypotheses at once.

**Levels** are of one value, of all at once, or of a selection (`miss_probability`); many null hypotheses are rejected
with a bound on the false discoveries or on any error at all (`rejected`).

**One probability** has exact bounds from k successes of n [Clopper and Pearson 1934]: the lower bound is the p at which
k or more successes have probability ``error``, so that the bound exceeds the true p with at most that probability.

**Binomial counts** have limits at which both tails of the count have at least alpha/2. They lie between Clopper and
Pearson's, which count all of the observed number to the tail, and mid-p's, which count half of the number: the
observed number t weighs w = 1/2 + exp(-t/4)/2. Limits are exact at t = 0, where mid-p's cover too little, and mid-p's
from about 15 on, where Clopper and Pearson's are too long. Large counts use quantiles from cumulants, without a library
of special functions.

**Mean worths.** Where a report's worth has the moments m_k(p) = E w^k, the estimate has variance (m_2 - p^2)/n and
skewness gamma = (m_3 - 3 p m_2 + 2 p^3) / ((m_2 - p^2)^(3/2) sqrt(n)). A shifted gamma distribution (Pearson's type
III) with the same three moments has shape 4/gamma^2; a limit is the p at which one of its tails is alpha/2.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, log, prod
from statistics import NormalDist
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, Floats, IntArray
from discreet.core.checks import checked_between, checked_choice

DEFAULT_LEVEL = 0.95
"""Confidence of intervals where none is asked for."""

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper limits, each ``(m,)``."""


def miss_probability(level: float, size: int, *, simultaneous: bool, shown: int | None = None) -> float:
    """Return the probability with which the interval of one value may miss.

    So that all of them hold at once it is Sidak's, 1 - level^(1/size), valid for every correlation of two-sided
    intervals of jointly normal estimates. Of R values that are shown because of their own estimates it is R times as
    much, at most 1 - level: then the expected share of shown intervals that miss is at most 1 - level (false coverage
    rate) [Benjamini and Yekutieli 2005, JASA 100].

    Args:
        level: confidence, in (0, 1).
        size: number of values.
        simultaneous: whether all hold at once.
        shown: R; None if the values were not chosen by their estimates.
    """
    together = -expm1(log(level) / size)
    if simultaneous:
        return together
    return 1 - level if shown is None else min(1 - level, max(shown, 1) * together)


def once_each(cells: AnyArray, *beside: Any) -> tuple[tuple[IntArray, ...], IntArray]:
    """Return an index of the different cells, and the place of each cell among them.

    What follows from a cell and the numbers beside it is worked out once.

    Args:
        cells: ``(m,)``, or ``(g, m)`` of groups.
        beside: the numbers that hold for a row of cells, without which they are not the same: each a number, or
            ``(g, 1)``.

    Returns:
        The index of where each of k stands first, and ``(m,)`` or ``(g, m)`` places in 0..k - 1.
    """
    whole: AnyArray = np.zeros((), np.int64)
    for array in (*(array for array in beside if np.ndim(array)), cells):
        places = np.unique(array, return_inverse=True)[1].reshape(np.shape(array))
        # Numbers of numbers: products of these do not overflow.
        whole = (
            np.unique(whole, return_inverse=True)[1].reshape(whole.shape) * (int(places.max(initial=0)) + 1) + places
        )
    _, first, places = np.unique(whole, return_index=True, return_inverse=True)
    return np.unravel_index(first, cells.shape), places.reshape(cells.shape)


def sigmas(tail: float) -> float:
    """Return the standard score that a normal number exceeds with probability ``tail``."""
    return -NormalDist().inv_cdf(tail)


def score_ends(
    frequencies: FloatArray, second_moments: tuple[FloatArray, FloatArray], n: float | AnyArray, z: float | FloatArray
) -> Ends:
    """Return the ends of score intervals: p with (p_hat - p)^2 = z^2 (A + B p - p^2) / n.

    Args:
        frequencies: ``(m,)`` p_hat.
        second_moments: A and B, each ``(m,)``; n times the variance is A + B p - p^2 where the truth is p.
        n: number of reports.
        z: in standard deviations; a number, or ``(m,)``.

    Returns:
        The lower and the upper solution, each ``(m,)``; they may lie outside [0, 1].
    """
    constant, slope = second_moments
    share = z * z / n
    centre = (2 * frequencies + share * slope) / (2 * (1 + share))
    product = (frequencies**2 - share * constant) / (1 + share)
    half = np.sqrt(np.maximum(centre**2 - product, 0))
    return centre - half, centre + half


Control: TypeAlias = Literal["fdr", "fwer"]
"""``"fdr"``: the expected share of false ones among the rejections (Benjamini and Hochberg 1995); ``"fwer"``: the
probability of any false rejection (Holm 1979)."""


def rejected(p_values: FloatArray, rate: float = 0.05, *, control: Control = "fdr") -> BoolArray:
    """Return the null hypotheses to reject.

    Args:
        p_values: ``(m,)`` probabilities, in 0..1.
        rate: the bound, in (0, 1/2).
        control: of what it is the bound; see `Control`.

    Returns:
        ``(m,)`` booleans.

    Raises:
        ParameterError: if the rate or the control is invalid.

    Example:
        >>> rejected(np.array([0.001, 0.02, 0.03, 0.6]), 0.05).tolist()
        [True, True, True, False]
        >>> rejected(np.array([0.001, 0.02, 0.03, 0.6]), 0.05, control="fwer").tolist()
        [True, False, False, False]
    """
    return rejections(lambda alpha: p_values <= alpha, len(p_values), rate, control)


def rejections(below: Callable[[float], BoolArray], size: int, rate: float, control: Control) -> BoolArray:
    """Return the null hypotheses to reject, of tests that tell whether a p-value is at most a number.

    Args:
        below: from alpha to ``(m,)`` booleans: true where the p-value is at most alpha.
        size: m, the number of hypotheses.
        rate: as for `rejected`.
        control: as for `rejected`.

    Raises:
        ParameterError: as for `rejected`.
    """
    rate = checked_between("rate", rate, 0, 0.5)
    if checked_choice("control", control, get_args(Control)) == "fdr":
        # From all of them downwards, to the largest number k of p-values of at most k rate/m.
        return _settled(below, size, lambda count: count * rate / size)
    # From none upwards: k rejections leave m - k hypotheses to share the rate.
    return _settled(below, 0, lambda count: rate / max(size - count, 1))


def _settled(below: Callable[[float], BoolArray], count: int, alpha: Callable[[int], float]) -> BoolArray:
    """Return the rejections at the alpha that their own number allows, starting from a number of them."""
    while True:
        is_below = below(alpha(count))
        now = int(np.count_nonzero(is_below))
        if now in (count, 0):
            return is_below
        count = now


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Return a lower confidence bound on a probability, above it with probability ``error`` at most.

    Args:
        successes: k, 0..n.
        trials: n, at least 1.
        error: in (0, 1/2).
    """
    if successes == 0:
        return 0.0
    from scipy.special import betainc, betaincinv

    # SciPy's tail is as precise as a float; its inverse may be next to the bound on either side.
    a, b = successes, trials - successes + 1
    return _outwards(betaincinv(a, b, error), 0.0, lambda p: betainc(a, b, p) <= error)


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Return an upper confidence bound on a probability, below it with probability ``error`` at most."""
    if successes == trials:
        return 1.0
    from scipy.special import betaincc, betainccinv

    a, b = successes + 1, trials - successes
    return _outwards(betainccinv(a, b, error), 1.0, lambda p: betaincc(a, b, p) <= error)


def _outwards(p: Any, end: float, holds: Any) -> float:
    """Return the first number for which a condition holds: p, or steps from p to an end, each twice the last step."""
    step = abs(float(np.spacing(p)))
    while not holds(p):
        p = max(p - step, end) if end < p else min(p + step, end)
        step *= 2
    return float(p)


def expanded_limit(skewness: FloatArray, excess: Floats, tail: float) -> FloatArray:
    """Return the number that a standard variable exceeds with probability ``tail``, by Cornish and Fisher's expansion.

    Its error is of the third order in the skewness: 1e-7 where that is .02.

    Args:
        skewness: ``(m,)`` gamma, of either sign.
        excess: kurtosis less 3; a number, or ``(m,)``.
        tail: in (0, 1).
    """
    z = sigmas(tail)
    expansion: FloatArray = z + skewness * ((z * z - 1) / 6 - skewness * (2 * z**3 - 5 * z) / 36)
    return expansion + excess * (z**3 - 3 * z) / 24


_ROUNDS = 60
# In the logarithm of the odds: far from the limit a step of Newton's may be too long.
_LONGEST_STEP = 3.0
# In standard deviations of these; the next step would be about the square of the last one.
_LAST_STEP = 1e-6
# From this count on the expansion is as good, and SciPy need not be imported: that takes as long as many verbs.
_MANY = 5_000
_EXPANDED_ROUNDS = 4


class CountLaw(ABC):
    """The law of the counts of some values, or of the worths of reports to them; limits follow from it."""

    __slots__ = ()

    remark: ClassVar[str] = ""
    no_sums: ClassVar[str] = (
        "the covariances of these estimates are not known: some laws need the reports for them, not only their tally."
    )

    @abstractmethod
    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper limits of the frequencies, not clipped; both miss with probability alpha."""

    @abstractmethod
    def variances(self, p: Floats) -> FloatArray:
        """Return the variances of the estimates where the true frequencies are p, one number or ``(m,)``."""


CodedLaw: TypeAlias = tuple[IntArray, CountLaw]
"""Codes, and the law of the counts of these values."""


@dataclass(frozen=True, slots=True, eq=False)
class BinomialCounts(CountLaw):
    """Counts of reports, binomial with probability b + d p where the frequency of the value is p.

    Attributes:
        counts: ``(m,)`` t; or ``(g, m)``, of groups of reports.
        n: number of reports; or ``(g, 1)``.
        base: b; a number, or ``(m,)``.
        slope: d, above 0; a number, or ``(m,)``.
    """

    counts: IntArray
    n: int | IntArray
    base: Floats
    slope: Floats

    @property
    def estimates(self) -> FloatArray:
        """The unbiased estimates (t/n - b)/d, as `counts`."""
        return (self.counts / self.n - self.base) / self.slope

    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper limits of p as `counts`, not clipped; each misses with about alpha/2."""
        first, places = once_each(self.counts, self.n)
        n = np.broadcast_to(self.n, self.counts.shape)[first]
        low, high = (end[places] for end in probability_limits(self.counts[first], n, alpha))
        return (low - self.base) / self.slope, (high - self.base) / self.slope

    def variances(self, p: Floats) -> FloatArray:
        """Return the variances of (t/n - b)/d where the true frequencies are p."""
        q = self.base + self.slope * p
        return np.maximum(q * (1 - q), 0) / (np.asarray(self.n) * self.slope**2)


def share_limits(counts: IntArray, n: IntArray, alpha: float) -> Ends:
    """Return limits of the probabilities of binomial counts of different numbers of trials, by mid-P.

    Half of the observed number is in either tail. For a share among answers in clear, whose total is random too, these
    miss at most alpha, at small counts as well; longer ones would gain nothing.

    Args:
        counts: ``(m,)`` t.
        n: ``(m,)`` numbers of trials; of none, the limits are 0 and 1.
        alpha: the probability with which both limits together may miss.
    """
    return _both_ends(counts, n, np.full(len(counts), 0.5), np.zeros(len(counts), np.bool_), alpha)


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
    return _both_ends(counts, n, weight, np.minimum(t, n - t) >= _MANY, alpha)


def _both_ends(counts: IntArray, n: IntArray, weight: FloatArray, many: BoolArray, alpha: float) -> Ends:
    """Return the ends at which each weighted tail is half of alpha; of many by an expansion."""
    t, low, high = counts.astype(np.float64), np.zeros(len(counts)), np.ones(len(counts))
    for end, possible, upper in ((low, counts > 0, False), (high, counts < n, True)):
        some = possible & ~many
        if some.any():
            end[some] = solved_tail_limit(t[some], n[some], weight[some], alpha / 2, upper=upper)
        end[many] = expanded_tail_limit(t[many], n[many], alpha / 2, upper=upper)
    return low, high


def expanded_tail_limit(t: FloatArray, n: IntArray, tail: float, *, upper: bool) -> FloatArray:
    """Return `solved_tail_limit` of large counts, half of the observed number in either tail, to 1e-5 of its error.

    Halves of whole numbers have the tails of a smooth number with 1/6 more variance, but for terms of third order.
    """
    side, q, more = (-1 if upper else 1), t / n, 1 / (6 * n)
    for _ in range(_EXPANDED_ROUNDS):
        variance = q * (1 - q)
        wider = variance + more
        skewness = side * variance * (1 - 2 * q) / np.sqrt(n * wider**3)
        excess = variance * (1 - 6 * variance) / (n * wider**2)
        q = score_ends(t / n, (more, np.ones(1)), n, expanded_limit(skewness, excess, tail))[upper]
    return q


def solved_tail_limit(t: FloatArray, n: AnyArray, weight: FloatArray, tail: float, *, upper: bool) -> FloatArray:
    """Return the probabilities at which the weighted tail beyond t is ``tail``, by Newton's method on its logarithm.

    In the logarithm of the odds the logarithm of either tail is concave, so that after one step all others go one way.
    """
    deviation = 1 / np.sqrt(np.minimum(t, n - t) + 1)
    trials = np.broadcast_to(np.asarray(n, np.float64), t.shape)
    first = np.clip(score_ends(t / n, (np.zeros(1), np.ones(1)), n, sigmas(tail))[upper], 0.1 / n, 1 - 0.1 / n)
    odds, active = np.log(first / (1 - first)), np.arange(len(t))
    for _ in range(_ROUNDS):
        step = _step(odds[active], (t[active], trials[active], weight[active]), tail, upper=upper)
        odds[active] += step
        active = active[np.abs(step) > _LAST_STEP * deviation[active]]
        if not len(active):
            break
    return 1 / (1 + np.exp(-odds))


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
    return np.clip(np.where(np.isfinite(step), step, towards), -_LONGEST_STEP, _LONGEST_STEP)


_NEWTON_ROUNDS = 4
# Below it the expansion is as good, and SciPy need not be imported: that takes as long as many verbs.
_NEARLY_SYMMETRIC = 0.02
_MOST_SKEWED = 40.0
# Its power 3/2 is still a number.
_TINY = 1e-60


class WorthMoment(NamedTuple):
    """A moment of a report's worth: constant + slope p + beyond max(p - a, 0).

    Each is a number, or ``(m,)``. Where p exceeds the estimate a of the mass of all values like it, that mass is p.
    """

    constant: Floats
    slope: Floats
    beyond: Floats = 0.0

    def at(self, p: Floats, mass: Floats) -> FloatArray:
        """Return the ``(m,)`` moments at frequencies p, given a."""
        return self.constant + self.slope * p + self.beyond * np.maximum(p - mass, 0)

    def line(self, p: FloatArray, mass: Floats) -> tuple[FloatArray, FloatArray]:
        """Return constant and slope of the line, of the two, on which p lies."""
        past = (p > mass) * self.beyond
        return np.broadcast_to(self.constant - past * mass, p.shape), np.broadcast_to(self.slope + past, p.shape)


@dataclass(frozen=True, slots=True, eq=False)
class MeanWorths(CountLaw):
    """Estimates that are means of the worths of reports, with the moments of these, as far as they are known.

    Without a third moment limits are Wilson's, and without a second one normal.

    Attributes:
        estimates: ``(m,)`` p_hat; or ``(g, m)`` for groups of reports, and then any number below may be ``(g, 1)``.
        n: number of reports, or degrees of freedom where parameters were fitted.
        second: m_2; None if only a variance is known, which is `lasting` then.
        third: m_3; None where it is not known.
        mass: a, from which on the moments have another slope; a number, or ``(m,)``.
        lasting: variance that more reports do not lessen; a number, or ``(m,)``.
    """

    estimates: FloatArray
    n: Floats
    second: WorthMoment | None = None
    third: WorthMoment | None = None
    mass: Floats = 1.0
    lasting: Floats = 0.0

    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper limits of p as `estimates`, not clipped; each misses with about alpha/2."""
        shape, second, third = self.estimates.shape, self.second, self.third
        if second is None:
            away = sigmas(alpha / 2) * np.sqrt(self.lasting)
            return self.estimates - away, self.estimates + away
        numbers = (self.n, *second, *(third or ()), self.mass, self.lasting)
        if any(np.ndim(number) and np.shape(number) != (*shape[:-1], 1) for number in numbers):
            return self._ends(alpha / 2)
        first, places = once_each(self.estimates, *numbers)
        n, *moments, mass, lasting = (
            np.broadcast_to(number, shape)[first] if np.ndim(number) else number for number in numbers
        )
        second, third = WorthMoment(*moments[:3]), WorthMoment(*moments[3:]) if third else None
        low, high = MeanWorths(self.estimates[first], n, second, third, mass, lasting)._ends(alpha / 2)
        return low[places], high[places]

    def variances(self, p: Floats) -> FloatArray:
        """Return the ``(m,)`` variances of the estimates where the true frequencies are p."""
        if self.second is None:
            return np.broadcast_to(self.lasting, self.estimates.shape)
        return np.maximum(self.second.at(p, self.mass) - p * p, 0) / self.n + self.lasting

    def _ends(self, tail: float) -> Ends:
        estimates, middle = self.estimates, np.full(self.estimates.shape, sigmas(tail))
        low, high = self._end(estimates, estimates, middle, 0), self._end(estimates, estimates, middle, 1)
        for _ in range(_NEWTON_ROUNDS if self.third else 0):
            above, below = standard_limit(self._skewness(low), tail), standard_limit(-self._skewness(high), tail)
            low, high = self._end(estimates, low, above, 0), self._end(estimates, high, below, 1)
        return low, high

    def _end(self, estimates: FloatArray, near: FloatArray, deviations: FloatArray, side: int) -> FloatArray:
        """Return the solution of (p_hat - p)^2 = deviations^2 Var(p) on one side, with the variance near ``near``."""
        assert self.second is not None
        constant, slope = self.second.line(near, self.mass)
        ends = score_ends(estimates, (constant + self.n * self.lasting, slope), self.n, deviations)
        # Below the middle of a skewed distribution the quantile changes sides.
        return np.where(deviations >= 0, ends[side], ends[1 - side])

    def _skewness(self, p: FloatArray) -> FloatArray:
        assert self.second is not None
        assert self.third is not None
        p = np.clip(p, 0, 1)
        second, third = self.second.at(p, self.mass), self.third.at(p, self.mass)
        variance = np.maximum(second - p * p, _TINY)
        whole = variance / self.n + self.lasting
        return (third - 3 * p * second + 2 * p**3) / (self.n**2 * whole**1.5)


def standard_limit(skewness: FloatArray, tail: float) -> FloatArray:
    """Return the number that a standard variable of Pearson's type III exceeds with probability ``tail``.

    Args:
        skewness: ``(m,)`` gamma, of either sign.
        tail: in (0, 1).
    """
    limit, skewed = expanded_limit(skewness, 1.5 * skewness**2, tail), np.abs(skewness) >= _NEARLY_SYMMETRIC
    if not skewed.any():
        return limit
    from scipy.special import gammainccinv, gammaincinv

    skewness = skewness[skewed]
    size = np.minimum(np.abs(skewness), _MOST_SKEWED)
    shape = 4 / size**2
    ends = np.where(skewness > 0, gammainccinv(shape, tail), gammaincinv(shape, tail))
    limit[skewed] = (ends - shape) * size / 2 * np.sign(skewness)
    return limit


def joint_share(size: int, count: int, values: int) -> Fraction:
    """Return the probability that a uniform subset of ``count`` of ``size`` values holds ``values`` given ones."""
    return prod((Fraction(max(count - j, 0), max(size - j, 1)) for j in range(values)), start=Fraction(1))
