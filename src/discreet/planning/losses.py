"""Expected losses of a mechanism, and how many users a loss needs.

De Moivre's mean absolute deviation of a binomial count, to about 15 digits for any n.

Expected losses of the linear estimate, and their worst cases.

The mean squared error is exact for every mechanism, and part of its decoder. The l1 loss is exact where the estimate of
a value is a scaled binomial count, and a sum of standard deviations in the limit of many reports [ULDP, (11) and (16)].

The number of reports that a wanted error takes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import asinh, ceil, expm1, log, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.arithmetic import golden_section, last_whole, stirling_remainder
from discreet.core.checks import checked_between, checked_n, checked_positive
from discreet.core.columns import reals
from discreet.errors import ParameterError
from discreet.mechanisms.decoders import BlockDecoder
from discreet.mechanisms.law import BlockMechanism
from discreet.theory.design import Instance
from discreet.theory.optimum import lower_bound


def mean_absolute_deviation(n: int, chance: Any) -> FloatArray:
    """Return E|T - n m| for a binomial count T of n trials with probability m, exactly.

    It is 2 k (1 - m) P(T = k) with k = floor(n m) + 1 [De Moivre 1730]. The probability is a product of factors near 1,
    not the exponential of a difference of log-gammas, which for n = 1e9 would keep 6 digits.

    Args:
        n: number of trials, below 2^53.
        chance: ``(...,)`` m, in 0..1.

    Raises:
        ParameterError: if n or a chance is out of range.
    """
    if checked_n(n) >= 1 << 53:
        raise ParameterError(f"n must be below 2^53, got n={n!r}.")
    chance = reals(chance, "chances")
    if not np.all((chance >= 0) & (chance <= 1)):
        raise ParameterError("chances must be between 0 and 1, got others.")
    above = np.floor(n * chance) + 1
    possible = (chance > 0) & (above <= n)
    m, k = np.where(possible, chance, 0.5), np.where(possible, above, n)
    return np.where(possible, 2 * k * (1 - m) * _probability(n, k, m), 0.0)


def _probability(n: int, k: FloatArray, m: FloatArray) -> FloatArray:
    """Return P(T = k) for the k in 1..n next above n m, by Stirling's series about the mode [Loader 2000]."""
    beyond, rest = k - n * m, n - k
    some = np.maximum(rest, 1)
    # As k is within 1 of n m, both differences below are small where their terms are large.
    upper = k * np.log1p(beyond / (n * m)) - beyond
    lower = some * np.log1p(-np.minimum(beyond / (n * (1 - m)), 0.75)) + beyond
    series = stirling_remainder(np.array(float(n))) - stirling_remainder(k) - stirling_remainder(some)
    inner = np.exp(series - upper - lower) * np.sqrt(n / (2 * pi * k * some))
    return np.where(rest > 0, inner, m**n)


_STEPS = 90


@dataclass(frozen=True, slots=True)
class WorstLoss:
    """The largest loss over all distributions.

    Attributes:
        value: the loss.
        sensitive_mass: p(X_S) of the distribution that has it, which is uniform inside each class (over the sensitive
            values only if all have one promise).

    Example:
        >>> import discreet as dc
        >>> loss = worst_normal_l1(dc.RandomizedResponse(dc.Domain(range(10), sensitive=[0, 1]), 1.0), n=10_000)
        >>> round(loss.value, 3), loss.sensitive_mass
        (0.048, 0.0)
    """

    value: float
    sensitive_mass: float


# Expected l1


def exact_l1(mechanism: BlockMechanism, n: int, p: Any) -> float:
    """Return E ||p_hat - p||_1 of the linear estimate, exactly, for n independent draws from p.

    That needs reports that have two different worths for a value: blocks of one symbol (RR, uRR), in-clear reports with
    noise bits (the paper's uRAP), or any blocks where nobody has a value that may go in clear (RAPPOR, OUE, subset
    selection, ...). In-clear reports without a block are a third kind; use `normal_l1` for those.

    Args:
        mechanism: any of the above.
        n: number of reports.
        p: ``(|X|,)`` the true distribution.

    Raises:
        ParameterError: if a report has three different worths, n is out of range, or p is not a distribution over the
            domain.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> round(exact_l1(mechanism, 1000, [0.3, 0.7]), 4)
        0.0537
    """
    p = BlockMechanism.checked(mechanism).domain.check_distribution(p)
    if BlockDecoder.checked(mechanism).numbers is not mechanism.numbers or mechanism.numbers.pool_bias:
        raise ParameterError("an exact l1 loss needs blocks of one kind, drawn for each report; use normal_l1 instead.")
    moments, chosen = mechanism.numbers, mechanism.domain.sensitive
    clear = _summed_deviation(n, p[~chosen] * moments.truth, 1 / moments.truth)
    if not chosen.any():
        return float(clear / n)
    if not (moments.clear_blocks or moments.conditional_inclusion == 0 or not p[~chosen].any()):
        raise ParameterError(
            f"an exact l1 loss needs reports of two worths per value, got three from {mechanism.name!r}; "
            "use normal_l1 instead."
        )
    inside, outside, _ = moments.worth
    # The estimate is unbiased, which gives the chance that a report counts.
    sensitive = _summed_deviation(n, (p[chosen] - outside) * moments.scale, inside - outside)
    return float((sensitive + clear) / n)


def _summed_deviation(n: int, chances: FloatArray, worth: float) -> float:
    # Distributions that are even inside each class are common, and domains may be large.
    different, where = np.unique(np.clip(chances, 0, 1), return_inverse=True)
    return float(np.sum(mean_absolute_deviation(n, different)[where] * worth))


def normal_l1(mechanism: BlockMechanism, n: int, p: Any) -> float:
    """Return sqrt(2/pi) times the summed standard deviations: E ||p_hat - p||_1 in the limit of many reports.

    For uRR and the paper's uRAP this is [ULDP, (11) and (16)].

    Args:
        mechanism: any.
        n: number of reports.
        p: ``(|X|,)`` the true distribution.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> round(normal_l1(mechanism, 1000, [0.3, 0.7]), 4)
        0.0537
    """
    return sqrt(2 / pi) * float(BlockMechanism.checked(mechanism).decoder.standard_errors(n, p).sum())


# Worst-case l1, in the limit of many reports


def worst_normal_l1(mechanism: BlockMechanism, n: int) -> WorstLoss:
    """Return the largest `normal_l1` over all distributions.

    A standard deviation is concave in p_x once the sensitive mass a is given, so the worst p is uniform inside each
    class; the sum is concave in a, and searched. With a pool bias (see `PoolBias`) this is an upper bound: the bias of
    each value is replaced by its largest one.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0)
        >>> round(worst_normal_l1(mechanism, n=10_000).value, 3)
        0.163
    """
    domain = BlockMechanism.checked(mechanism).domain
    v, others = domain.sensitive_count, domain.clear_count
    pool_bias = (checked_n(n) - 1) * mechanism.numbers.pool_bias.most if v > 1 else 0.0
    numbers = BlockDecoder.checked(mechanism).numbers

    def loss(mass: float) -> float:
        sensitive, clear = numbers.variances(mass)
        constant, slope = sensitive
        # At most mass^2; more than that keeps the sum concave.
        within = constant + pool_bias * mass, slope
        return _most_deviation(v, mass, within) + _most_deviation(others, 1 - mass, clear)

    mass = 1.0 if v else 0.0
    if v and others:
        # An end if that is no worse than what golden section finds.
        mass = max((0.0, 1.0, sum(golden_section(loss, 0.0, 1.0, _STEPS)) / 2), key=loss)
    return WorstLoss(sqrt(2 / (pi * checked_n(n))) * loss(mass), mass)


def _most_deviation(count: int, mass: float, variance: tuple[Any, Any]) -> float:
    """Return the largest sum of standard deviations in a class of values with this mass."""
    if count == 0:
        return 0.0
    (constant, slope), share = variance, mass / count
    return count * sqrt(max(constant + slope * share - share**2, 0.0))


def paper_worst_l1_rr(size: int, total: int, epsilon: float, n: int) -> WorstLoss:
    """Return the closed form for uRR, and RR where every value is sensitive [ULDP, Prop. 5 and beyond its range].

    Up to eps = ln(N + 1) the worst p is uniform over the values that are not sensitive, whatever their number; beyond,
    it is the one that makes all reports equally frequent.

    Args:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: in nats.
        n: number of reports.

    Raises:
        ParameterError: if a number is out of range.

    Example:
        >>> round(paper_worst_l1_rr(size=2, total=10, epsilon=1.0, n=10_000).value, 3)
        0.048
    """
    instance = Instance(size, total, epsilon)
    v, others, tau = instance.size, instance.clear_size, instance.tau
    scale, reach = sqrt(2 / (pi * checked_n(n))), 1 + v * tau
    if instance.epsilon >= log(others + 1):
        return WorstLoss(scale * reach * sqrt(instance.total - 1), v * (1 - others * tau) / instance.total)
    sensitive = v * sqrt(tau * (reach - tau))
    return WorstLoss(scale * (sensitive + sqrt(others * reach - 1)), 0.0)


def paper_worst_l1_rappor(size: int, total: int, epsilon: float, n: int) -> WorstLoss:
    """Return the closed form for the paper's uRAP, and RAPPOR where every value is sensitive, at its theta.

    Up to eps = 2 asinh(N/2) the worst p is uniform over the values that are not sensitive: a wider range than
    [ULDP, Prop. 8] prints. Beyond, both classes' sums are half circles over a, and the top of their sum is known.

    Args:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: in nats.
        n: number of reports.

    Raises:
        ParameterError: if a number is out of range.

    Example:
        >>> round(paper_worst_l1_rappor(size=2, total=10, epsilon=1.0, n=10_000).value, 3)
        0.067
    """
    instance = Instance(size, total, epsilon)
    v, others = instance.size, instance.clear_size
    scale, low = sqrt(2 / (pi * checked_n(n))), 1 / expm1(instance.epsilon / 2)
    if others == 0:
        return WorstLoss(scale * sqrt((1 + v * low) * (v * (1 + low) - 1)), 1.0)
    if instance.epsilon <= 2 * asinh(others / 2):
        return WorstLoss(scale * (v * sqrt(low * (1 + low)) + sqrt(others * (1 + low) - 1)), 0.0)
    middle, radius, clear_radius = v / 2, v / 2 + v * low, others * (1 + low) / 2
    clear_middle = 1 - clear_radius
    mass = (middle * clear_radius + clear_middle * radius) / (radius + clear_radius)
    apart = abs(middle - clear_middle)
    both = radius + clear_radius
    return WorstLoss(scale * sqrt((both - apart) * (both + apart)), mass)


# Beside the least possible


def excess(mechanism: BlockMechanism) -> float:
    """Return the worst-case mean squared error, divided by the least one of any mechanism with the same promise.

    Raises:
        ParameterError: if no value is sensitive, or there is only one.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(100))
        >>> [round(excess(make(domain, epsilon=1.0)), 2) for make in (dc.RandomizedResponse, dc.SubsetSelection)]
        [9.61, 1.0]
    """
    domain = BlockMechanism.checked(mechanism).domain
    best = lower_bound(domain.sensitive_count, domain.size, mechanism.epsilon, 1)
    return mechanism.decoder.worst_case_mse(1) / best


_MOST_REPORTS = 1 << 53


def worst_variance(mechanism: BlockMechanism, n: int = 1) -> float:
    """Return the largest n Var(p_hat_x) of any value under any distribution; without pool bias the same for every n.

    Example:
        >>> import discreet as dc
        >>> round(worst_variance(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0)), 2)
        8.29
    """
    domain = BlockMechanism.checked(mechanism).domain
    decoder = BlockDecoder.checked(mechanism)
    pool_bias = (checked_n(n) - 1) * mechanism.numbers.pool_bias.most
    if domain.size == 1:
        return 0.0
    if domain.sensitive_count == 0:
        return _peak(*decoder.numbers.variances(0.0).clear)
    everyone = decoder.numbers.variances(1.0)
    # It is affine in the mass of the other sensitive values (convex where an error lasts, and then largest if one of
    # them has it all): either they have all of the rest, or nothing.
    alone = _peak(*everyone.sensitive, pool_bias) if domain.sensitive_count > 1 else 0.0
    if domain.clear_count == 0:
        return alone
    nobody = decoder.numbers.variances(0.0)
    return max(
        alone,
        _peak(nobody.sensitive[0], everyone.sensitive[0] - nobody.sensitive[0] + everyone.sensitive[1]),
        _peak(*nobody.clear) if domain.clear_count > 1 else 0.0,
        _peak(everyone.clear[0], nobody.clear[0] - everyone.clear[0] + nobody.clear[1]),
    )


def reports_for_mse(mechanism: BlockMechanism, wanted: float, *, p: Any = None) -> int:
    """Return the least n whose expected squared error ||p_hat - p||^2 is at most ``wanted``.

    Args:
        mechanism: any.
        wanted: above 0.
        p: ``(|X|,)`` the true distribution; None for the worst one.

    Raises:
        ParameterError: if ``wanted`` is not a finite number above 0.

    Example:
        >>> import discreet as dc
        >>> reports_for_mse(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0), wanted=0.01)
        4186
    """
    decoder = BlockMechanism.checked(mechanism).decoder
    error = decoder.worst_case_mse if p is None else partial(decoder.mse, p=p)
    at_one = error(1)
    near = at_one / checked_positive("wanted", wanted)
    return _first(error, near, wanted) if mechanism.numbers.pool_bias else _least(lambda n: at_one / n, near, wanted)


def reports_for_standard_error(mechanism: BlockMechanism, wanted: float, *, p: Any = None) -> int:
    """Return the least n for which no value's estimate has a standard error above ``wanted``.

    Args:
        mechanism: any.
        wanted: above 0.
        p: ``(|X|,)`` the true distribution; None for the worst one.

    Raises:
        ParameterError: if ``wanted`` is not a finite number above 0.

    Example:
        >>> import discreet as dc
        >>> reports_for_standard_error(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0), wanted=0.01)
        82861
    """

    def error(n: int) -> float:
        if p is None:
            return sqrt(worst_variance(mechanism, n) / n)
        return float(mechanism.decoder.standard_errors(n, p).max())

    BlockMechanism.checked(mechanism)
    at_one = error(1)
    root = at_one / checked_positive("wanted", wanted)
    if mechanism.numbers.pool_bias:
        return _first(error, root * root, wanted)
    return _least(lambda n: at_one / sqrt(n), root * root, wanted)


def reports_for_change(
    mechanism: BlockMechanism, change: float, *, power: float = 0.8, significance: float = 0.05, p: Any = None
) -> int:
    """Return the least number of reports in each of two groups that shows a change of a value's share.

    Args:
        mechanism: any.
        change: the difference of the shares in the two groups, in (0, 1].
        power: the probability that the test of no difference rejects then, in (0, 1).
        significance: the level of that test, two-sided, in (0, 1).
        p: ``(|X|,)`` the true distribution in both groups, about; None for the worst one.

    Raises:
        ParameterError: if one of them is out of range, or no number of reports is enough.

    Example:
        >>> import discreet as dc
        >>> reports_for_change(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0), change=0.05)
        52030
    """
    if not 0 < checked_positive("change", change) <= 1:
        raise ParameterError(f"change must be a difference of shares, at most 1, got change={change!r}.")
    return reports_for_standard_error(mechanism, change / (sqrt(2) * _scores(power, significance)), p=p)


def power_for_change(
    mechanism: BlockMechanism, change: float, n: int, *, significance: float = 0.05, p: Any = None
) -> float:
    """Return the probability with which n reports in each of two groups show a change of a value's share.

    Arguments and errors as for `reports_for_change`.

    Example:
        >>> import discreet as dc
        >>> round(power_for_change(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0), 0.05, 52030), 3)
        0.8
    """
    domain_variance = worst_variance(mechanism, n) / checked_n(n)
    error = sqrt(domain_variance) if p is None else float(mechanism.decoder.standard_errors(n, p).max())
    away = NormalDist().inv_cdf(1 - checked_between("significance", significance) / 2)
    return NormalDist().cdf(checked_positive("change", change) / (sqrt(2) * error) - away)


def _scores(power: float, significance: float) -> float:
    """Return the number of standard errors that a change must have to be seen with this power."""
    away = NormalDist().inv_cdf(1 - checked_between("significance", significance) / 2)
    needed = away + NormalDist().inv_cdf(checked_between("power", power))
    if needed <= 0:
        raise ParameterError(f"power must be above half of significance, which no reports have, got power={power!r}.")
    return needed


def _peak(constant: Any, slope: Any, pool_bias: float = 0.0) -> float:
    """Return the largest constant + slope p - p^2 + pool_bias (1 - p)^2 for p in 0..1."""
    bend = 1 - pool_bias
    inside = min(max((slope - 2 * pool_bias) / (2 * bend), 0.0), 1.0) if bend > 0 else 0.0
    return max(float(constant + slope * p - p * p + pool_bias * (1 - p) ** 2) for p in (inside, 0.0, 1.0))


def _least(error: Callable[[int], float], near: float, wanted: float) -> int:
    """Return the least n whose error is at most ``wanted``, starting from a rounded solution."""
    if near >= _MOST_REPORTS:
        raise ParameterError(f"the wanted error {wanted!r} would take more than 2^53 reports; allow a larger one.")
    n = max(ceil(near), 1)
    while n > 1 and error(n - 1) <= wanted:
        n -= 1
    while error(n) > wanted:
        n += 1
    return n


def _first(error: Callable[[int], float], near: float, wanted: float) -> int:
    """Return the least n whose error is at most ``wanted`` under a pool bias, by bisection.

    That is never before ``near``, where it would be if nothing lasted.
    """
    if near >= _MOST_REPORTS or error(_MOST_REPORTS) > wanted:
        raise ParameterError(f"the error never falls to {wanted!r}: a part of it lasts, however many report.")
    return 1 + last_whole(lambda n: error(n) > wanted, ceil(near) // 2, _MOST_REPORTS, upper=True)
