"""Confidence limits from counts of reports and from means of their contributions, and tests of many hypotheses.

**Confidence levels** hold for one value, for all values at once, or for values that are selected by their estimates
(`miss_probability`). Many null hypotheses are tested with a bound on the false discovery rate or on the probability of
any false rejection (`rejected`).

**One probability** has exact bounds from k successes of n [Clopper and Pearson 1934]: the lower bound is the p at which
k or more successes have probability ``error``, so that the bound exceeds the true p with at most that probability.

**Binomial counts** have limits at which each tail of the count has probability alpha/2. The probability of the observed
count t counts for a tail with the weight w = 1/2 + exp(-t/4)/2. Clopper and Pearson's limits have w = 1, and mid-P
limits have w = 1/2. So the limits are exact at t = 0, where mid-P limits cover too little. From about t = 15 on they
are mid-P limits, because Clopper and Pearson's are too long. Large counts use quantiles from cumulants, without a
library of special functions.

**Means of contributions.** The contribution w of a report is the amount that it adds to an estimate. With the moments
m_k(p) = E w^k, the estimate has the variance (m_2 - p^2)/n and the skewness
gamma = (m_3 - 3 p m_2 + 2 p^3) / ((m_2 - p^2)^(3/2) sqrt(n)). A shifted gamma distribution (Pearson's type III) with
the same three moments has the shape 4/gamma^2. A limit is the p at which one of its tails is alpha/2.
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
"""Default confidence level of intervals."""

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper limits, each ``(m,)``."""


def miss_probability(level: float, size: int, *, simultaneous: bool, shown: int | None = None) -> float:
    """Return the probability with which the confidence interval of one value may miss the true value.

    If all intervals hold at once, it is Sidak's 1 - level^(1/size), which is valid for every correlation of two-sided
    intervals of jointly normal estimates. If R values are shown because of their estimates, it is R times Sidak's
    probability, and at most 1 - level. Then the expected share of shown intervals that miss is at most 1 - level (false
    coverage rate) [Benjamini and Yekutieli 2005, JASA 100].

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


def distinct_cells(cells: AnyArray, *beside: Any) -> tuple[tuple[IntArray, ...], IntArray]:
    """Return the positions of the distinct entries of an array, and the index of each entry among them.

    A result that depends only on a cell and on the numbers of its row is then computed once for each distinct cell.

    Args:
        cells: ``(m,)``, or ``(g, m)`` with a row for each group.
        beside: the numbers of each row: each a number, or ``(g, 1)``. Cells in rows with different numbers are
            distinct.

    Returns:
        The index of the first occurrence of each of the k distinct cells, and ``(m,)`` or ``(g, m)`` integers in
        0..k - 1.
    """
    whole: AnyArray = np.zeros((), np.int64)
    for array in (*(array for array in beside if np.ndim(array)), cells):
        places = np.unique(array, return_inverse=True)[1].reshape(np.shape(array))
        # Ranks of the numbers, so that products do not overflow.
        whole = (
            np.unique(whole, return_inverse=True)[1].reshape(whole.shape) * (int(places.max(initial=0)) + 1) + places
        )
    _, first, places = np.unique(whole, return_index=True, return_inverse=True)
    return np.unravel_index(first, cells.shape), places.reshape(cells.shape)


def z_quantile(tail: float) -> float:
    """Return the quantile of the standard normal distribution that is exceeded with probability ``tail``."""
    return -NormalDist().inv_cdf(tail)


def score_limits(
    frequencies: FloatArray, second_moments: tuple[FloatArray, FloatArray], n: float | AnyArray, z: float | FloatArray
) -> Ends:
    """Return the limits of score intervals: the two p with (p_hat - p)^2 = z^2 (A + B p - p^2) / n.

    Args:
        frequencies: ``(m,)`` p_hat.
        second_moments: A and B, each ``(m,)``; n times the variance is A + B p - p^2 if the true frequency is p.
        n: number of reports.
        z: length of the interval to either side, in standard deviations; a number, or ``(m,)``.

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
    """Return ``(m,)`` booleans: true for each null hypothesis to reject, given the p-values.

    Args:
        p_values: ``(m,)`` probabilities, in 0..1.
        rate: the bound, in (0, 1/2).
        control: the error rate that is bounded; see `Control`.

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
    """Return the null hypotheses to reject, given a function that compares the p-values with a threshold.

    Args:
        below: a function from alpha to ``(m,)`` booleans: true where the p-value is at most alpha.
        size: m, the number of hypotheses.
        rate: as for `rejected`.
        control: as for `rejected`.

    Raises:
        ParameterError: as for `rejected`.
    """
    rate = checked_between("rate", rate, 0, 0.5)
    if checked_choice("control", control, get_args(Control)) == "fdr":
        # From all hypotheses downwards, to the largest k such that k p-values are at most k rate/m.
        return _repeated_rejections(below, size, lambda count: count * rate / size)
    # From no rejections upwards: k rejections leave m - k hypotheses to share the rate.
    return _repeated_rejections(below, 0, lambda count: rate / max(size - count, 1))


def _repeated_rejections(below: Callable[[float], BoolArray], count: int, alpha: Callable[[int], float]) -> BoolArray:
    """Return the hypotheses rejected at a threshold that depends on the number of rejections.

    The rejections are computed again until their number is stable.
    """
    while True:
        is_below = below(alpha(count))
        now = int(np.count_nonzero(is_below))
        if now in (count, 0):
            return is_below
        count = now


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Return a lower confidence bound on a probability; with probability at most ``error`` it is above the truth.

    Args:
        successes: k, 0..n.
        trials: n, at least 1.
        error: the probability with which the bound may miss, in (0, 1/2).
    """
    if successes == 0:
        return 0.0
    from scipy.special import betainc, betaincinv

    # SciPy's tail is as precise as a float; its inverse may be next to the bound on either side.
    a, b = successes, trials - successes + 1
    return _first_holding(betaincinv(a, b, error), 0.0, lambda p: betainc(a, b, p) <= error)


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Return an upper confidence bound on a probability; with probability at most ``error`` it is below the truth."""
    if successes == trials:
        return 1.0
    from scipy.special import betaincc, betainccinv

    a, b = successes + 1, trials - successes
    return _first_holding(betainccinv(a, b, error), 1.0, lambda p: betaincc(a, b, p) <= error)


def _first_holding(p: Any, end: float, holds: Any) -> float:
    """Return the first number from p to an end for which a condition holds.

    Each step is twice as long as the step before.
    """
    step = abs(float(np.spacing(p)))
    while not holds(p):
        p = max(p - step, end) if end < p else min(p + step, end)
        step *= 2
    return float(p)


def cornish_fisher_quantile(skewness: FloatArray, excess: Floats, tail: float) -> FloatArray:
    """Return the quantile of a standardized variable that is exceeded with probability ``tail``.

    The quantile is Cornish and Fisher's expansion in the skewness and the excess kurtosis. The error is of the third
    order in the skewness: 1e-7 at a skewness of 0.02.

    Args:
        skewness: ``(m,)`` gamma, of either sign.
        excess: kurtosis minus 3; a number, or ``(m,)``.
        tail: the tail probability, in (0, 1).
    """
    z = z_quantile(tail)
    expansion: FloatArray = z + skewness * ((z * z - 1) / 6 - skewness * (2 * z**3 - 5 * z) / 36)
    return expansion + excess * (z**3 - 3 * z) / 24


_ROUNDS = 60
# In log odds: far from the limit, a step of Newton's method may be too long.
_LONGEST_STEP = 3.0
# In standard deviations of the log odds; the next step would be about the square of this one.
_LAST_STEP = 1e-6
# From this count on the expansion is as accurate, and SciPy, whose import takes long, is not needed.
_MANY = 5_000
_EXPANDED_ROUNDS = 4


class CountLaw(ABC):
    """The sampling distribution of the counts of some values, or of means of contributions, for confidence limits."""

    __slots__ = ()

    remark: ClassVar[str] = ""
    no_sums: ClassVar[str] = (
        "the covariances of these estimates are not known: some laws need the reports for them, not only their tally."
    )

    @abstractmethod
    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper confidence limits of the frequencies, not clipped.

        An interval misses with probability alpha.
        """

    @abstractmethod
    def variances(self, p: Floats) -> FloatArray:
        """Return the variances of the estimates if the true frequencies are p, one number or ``(m,)``."""


CodedLaw: TypeAlias = tuple[IntArray, CountLaw]
"""Codes of values, and the sampling distribution of the counts or estimates of these values."""


@dataclass(frozen=True, slots=True, eq=False)
class BinomialCounts(CountLaw):
    """Binomial counts of reports: a report counts for a value of frequency p with probability b + d p.

    Attributes:
        counts: ``(m,)`` t; or ``(g, m)``, with a row for each group of reports.
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
        """The unbiased estimates (t/n - b)/d from counts t of n reports, in the shape of the counts."""
        return (self.counts / self.n - self.base) / self.slope

    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper limits of p, in the shape of the counts and not clipped.

        Each limit misses with probability alpha/2, approximately.
        """
        first, places = distinct_cells(self.counts, self.n)
        n = np.broadcast_to(self.n, self.counts.shape)[first]
        low, high = (end[places] for end in probability_limits(self.counts[first], n, alpha))
        return (low - self.base) / self.slope, (high - self.base) / self.slope

    def variances(self, p: Floats) -> FloatArray:
        """Return the variances of the estimates (t/n - b)/d if the true frequencies are p."""
        q = self.base + self.slope * p
        return np.maximum(q * (1 - q), 0) / (np.asarray(self.n) * self.slope**2)


def share_limits(counts: IntArray, n: IntArray, alpha: float) -> Ends:
    """Return mid-P confidence limits of the probabilities of binomial counts with different numbers of trials.

    Half of the probability of the observed count is in either tail. For a share among answers in clear, whose total is
    random too, the limits miss the true share with probability at most alpha, also at small counts.

    Args:
        counts: ``(m,)`` t.
        n: ``(m,)`` numbers of trials; without trials, the limits are 0 and 1.
        alpha: the probability with which both limits together may miss.
    """
    return _tail_limits(counts, n, np.full(len(counts), 0.5), np.zeros(len(counts), np.bool_), alpha)


def probability_limits(counts: IntArray, n: int | IntArray, alpha: float) -> Ends:
    """Return confidence limits of a binomial probability; the lower limit is 0 if t = 0, the upper limit is 1 if t = n.

    Args:
        counts: ``(m,)`` t, in 0..n.
        n: number of trials, at least 1; one number for all, or ``(m,)``.
        alpha: the probability with which both limits together may miss; in (0, 1).
    """
    t, n = counts.astype(np.float64), np.broadcast_to(n, counts.shape)
    # A count near n is as rare as a count near 0: n - t people were not counted.
    weight = 0.5 + 0.5 * np.exp(-np.minimum(t, n - t) / 4)
    return _tail_limits(counts, n, weight, np.minimum(t, n - t) >= _MANY, alpha)


def _tail_limits(counts: IntArray, n: IntArray, weight: FloatArray, many: BoolArray, alpha: float) -> Ends:
    """Return the probabilities at which weighted binomial tails are alpha/2; by an expansion where `many` is true."""
    t, low, high = counts.astype(np.float64), np.zeros(len(counts)), np.ones(len(counts))
    for end, possible, upper in ((low, counts > 0, False), (high, counts < n, True)):
        some = possible & ~many
        if some.any():
            end[some] = solved_tail_limit(t[some], n[some], weight[some], alpha / 2, upper=upper)
        end[many] = approximate_tail_limit(t[many], n[many], alpha / 2, upper=upper)
    return low, high


def approximate_tail_limit(t: FloatArray, n: IntArray, tail: float, *, upper: bool) -> FloatArray:
    """Return the limits of `solved_tail_limit` with weight 1/2, by an expansion with errors below 1e-5 standard errors.

    Except for terms of third order, mid-P tails of a count are the tails of a continuous variable with a variance that
    is larger by 1/6.
    """
    side, q, more = (-1 if upper else 1), t / n, 1 / (6 * n)
    for _ in range(_EXPANDED_ROUNDS):
        variance = q * (1 - q)
        wider = variance + more
        skewness = side * variance * (1 - 2 * q) / np.sqrt(n * wider**3)
        excess = variance * (1 - 6 * variance) / (n * wider**2)
        q = score_limits(t / n, (more, np.ones(1)), n, cornish_fisher_quantile(skewness, excess, tail))[upper]
    return q


def solved_tail_limit(t: FloatArray, n: AnyArray, weight: FloatArray, tail: float, *, upper: bool) -> FloatArray:
    """Return the probabilities at which the weighted tail beyond t is ``tail``, by Newton's method in the log odds.

    The logarithm of a tail is concave in the log odds, so that all steps after the first have one sign.
    """
    deviation = 1 / np.sqrt(np.minimum(t, n - t) + 1)
    trials = np.broadcast_to(np.asarray(n, np.float64), t.shape)
    first = np.clip(score_limits(t / n, (np.zeros(1), np.ones(1)), n, z_quantile(tail))[upper], 0.1 / n, 1 - 0.1 / n)
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
        # The tails beyond t and from t on; the beta function is not defined at 0, but the tail is.
        if upper:
            from_t, beyond = betaincc(t + 1, n - t, q), np.where(t > 0, betaincc(t, n - t + 1, q), 0)
            slope = -mass * (weight * (n - t) * q + (1 - weight) * t * rest)
        else:
            from_t, beyond = betainc(t, n - t + 1, q), np.where(t < n, betainc(t + 1, n - t, q), 0)
            slope = mass * (weight * t * rest + (1 - weight) * (n - t) * q)
        value = weight * from_t + (1 - weight) * beyond
        step: FloatArray = (np.log(tail) - np.log(value)) * value / slope
    return _limited_steps(step, value > tail, upper=upper)


def _limited_steps(step: FloatArray, heavy: BoolArray, *, upper: bool) -> FloatArray:
    """Return Newton steps, each clipped to the longest allowed step.

    An undefined step, where the tail is 0, becomes the longest allowed step.
    """
    towards = np.where(heavy == upper, _LONGEST_STEP, -_LONGEST_STEP)
    return np.clip(np.where(np.isfinite(step), step, towards), -_LONGEST_STEP, _LONGEST_STEP)


LEAST_REPORTS = 10
"""Least number of reports for limits from moments: three moments do not describe the mean of fewer contributions."""
_NEWTON_ROUNDS = 4
# Below this skewness the expansion is as accurate, and SciPy, whose import takes long, is not needed.
_NEARLY_SYMMETRIC = 0.02
_MOST_SKEWED = 40.0
# The power 3/2 of this number is still above 0.
_TINY = 1e-60


class ContributionMoment(NamedTuple):
    """A moment of a report's contribution, as a function of p: constant + slope p + beyond max(p - a, 0).

    Each field is a number, or ``(m,)``. The mass a of all values of one kind is estimated. If p exceeds a, the mass is
    taken to be p.
    """

    constant: Floats
    slope: Floats
    beyond: Floats = 0.0

    def at(self, p: Floats, mass: Floats) -> FloatArray:
        """Return the ``(m,)`` moments at the frequencies p; `mass` is a, the estimated mass of a kind of values."""
        return self.constant + self.slope * p + self.beyond * np.maximum(p - mass, 0)

    def line(self, p: FloatArray, mass: Floats) -> tuple[FloatArray, FloatArray]:
        """Return constant and slope of the moment's linear piece that contains p; `mass` is a."""
        past = (p > mass) * self.beyond
        return np.broadcast_to(self.constant - past * mass, p.shape), np.broadcast_to(self.slope + past, p.shape)


@dataclass(frozen=True, slots=True, eq=False)
class ContributionMeans(CountLaw):
    """Estimates that are means of contributions of reports, with the moments of a contribution as far as known.

    Without a third moment the limits are Wilson's, and without a second moment they are normal.

    Attributes:
        estimates: ``(m,)`` p_hat; or ``(g, m)`` for groups of reports, and then any number below may be ``(g, 1)``.
        n: number of reports, or degrees of freedom if parameters were fitted.
        second: m_2; None if only a variance is known, which is then `lasting`.
        third: m_3; None if it is not known.
        mass: a, above which the moments have another slope; a number, or ``(m,)``.
        lasting: variance that more reports do not reduce; a number, or ``(m,)``.
    """

    estimates: FloatArray
    n: Floats
    second: ContributionMoment | None = None
    third: ContributionMoment | None = None
    mass: Floats = 1.0
    lasting: Floats = 0.0

    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper limits of p, in the shape of the estimates and not clipped.

        Each limit misses with probability alpha/2, approximately.
        """
        shape, second, third = self.estimates.shape, self.second, self.third
        if second is None:
            away = z_quantile(alpha / 2) * np.sqrt(self.lasting)
            return self.estimates - away, self.estimates + away
        numbers = (self.n, *second, *(third or ()), self.mass, self.lasting)
        if any(np.ndim(number) and np.shape(number) != (*shape[:-1], 1) for number in numbers):
            return self._ends(alpha / 2)
        first, places = distinct_cells(self.estimates, *numbers)
        n, *moments, mass, lasting = (
            np.broadcast_to(number, shape)[first] if np.ndim(number) else number for number in numbers
        )
        second, third = ContributionMoment(*moments[:3]), ContributionMoment(*moments[3:]) if third else None
        low, high = ContributionMeans(self.estimates[first], n, second, third, mass, lasting)._ends(alpha / 2)
        return low[places], high[places]

    def variances(self, p: Floats) -> FloatArray:
        """Return the ``(m,)`` variances of the estimates if the true frequencies are p."""
        if self.second is None:
            return np.broadcast_to(self.lasting, self.estimates.shape)
        return np.maximum(self.second.at(p, self.mass) - p * p, 0) / self.n + self.lasting

    def _ends(self, tail: float) -> Ends:
        estimates, middle = self.estimates, np.full(self.estimates.shape, z_quantile(tail))
        low, high = self._end(estimates, estimates, middle, 0), self._end(estimates, estimates, middle, 1)
        for _ in range(_NEWTON_ROUNDS if self.third else 0):
            above, below = standard_limit(self._skewness(low), tail), standard_limit(-self._skewness(high), tail)
            low, high = self._end(estimates, low, above, 0), self._end(estimates, high, below, 1)
        few = np.asarray(self.n) < LEAST_REPORTS
        return np.where(few, np.minimum(low, 0), low), np.where(few, np.maximum(high, 1), high)

    def _end(self, estimates: FloatArray, near: FloatArray, deviations: FloatArray, side: int) -> FloatArray:
        """Return one of the two p with (p_hat - p)^2 = deviations^2 Var(p), for the linear piece of Var at ``near``."""
        assert self.second is not None
        constant, slope = self.second.line(near, self.mass)
        ends = score_limits(estimates, (constant + self.n * self.lasting, slope), self.n, deviations)
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
    """Return the quantile of a standardized variable of Pearson's type III that is exceeded with probability ``tail``.

    Args:
        skewness: ``(m,)`` gamma, of either sign.
        tail: the tail probability, in (0, 1).
    """
    limit, skewed = cornish_fisher_quantile(skewness, 1.5 * skewness**2, tail), np.abs(skewness) >= _NEARLY_SYMMETRIC
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
    """Return the probability that a uniform subset of ``count`` of ``size`` values contains ``values`` given values."""
    return prod((Fraction(max(count - j, 0), max(size - j, 1)) for j in range(values)), start=Fraction(1))
