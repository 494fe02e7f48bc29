"""Expected losses of the linear estimate, and their worst cases.

The mean squared error is exact for every mechanism, and part of its decoder. The l1 loss is exact where the estimate of
a value is a scaled binomial count, and a sum of standard deviations in the limit of many reports [ULDP, (11) and (16)].
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import asinh, expm1, log, pi, sqrt
from typing import Any

import numpy as np

from discreet.accuracy.decoder import PerValue
from discreet.accuracy.fisher import Instance
from discreet.accuracy.optimum import lower_bound
from discreet.arrays import FloatArray
from discreet.core.checks import checked_n
from discreet.core.searching import bisected, golden_section
from discreet.errors import ParameterError
from discreet.mechanisms import given
from discreet.mechanisms.law import BlockMechanism
from discreet.planning.absolute_deviation import mean_absolute_deviation

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
    p = given.block_mechanism(mechanism).domain.check_distribution(p)
    if mechanism.decoder.numbers is not mechanism.numbers or mechanism.numbers.pool_bias:
        raise ParameterError("an exact l1 loss needs blocks of one kind, drawn for each report; use normal_l1 instead.")
    moments, chosen = mechanism.numbers, mechanism.domain.sensitive
    clear = _summed_deviation(n, p[~chosen] * moments.truth, 1 / moments.truth)
    if not chosen.any():
        return float(clear / n)
    if not (moments.clear_blocks or not np.any(moments.conditional_inclusion) or not p[~chosen].any()):
        raise ParameterError(
            f"an exact l1 loss needs reports of two worths per value, got three from {mechanism.name!r}; "
            "use normal_l1 instead."
        )
    inside, outside, _ = moments.worth
    # The estimate is unbiased, which gives the chance that a report counts.
    sensitive = _summed_deviation(n, (p[chosen] - outside) * moments.scale, inside - outside)
    return float((sensitive + clear) / n)


def _summed_deviation(n: int, chances: FloatArray, worth: PerValue) -> float:
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
    return sqrt(2 / pi) * float(given.block_mechanism(mechanism).decoder.standard_errors(n, p).sum())


# Worst-case l1, in the limit of many reports


def worst_normal_l1(mechanism: BlockMechanism, n: int) -> WorstLoss:
    """Return the largest `normal_l1` over all distributions.

    A standard deviation is concave in p_x once the sensitive mass a is given, so the worst p is uniform inside each
    class; the sum is concave in a, and searched. Where values have promises of their own, the worst p has equal slopes.
    With a pool bias (see `PoolBias`) this is an upper bound: the bias of each value is replaced by its largest one.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0)
        >>> round(worst_normal_l1(mechanism, n=10_000).value, 3)
        0.163
    """
    domain = given.block_mechanism(mechanism).domain
    v, others = domain.sensitive_count, domain.clear_count
    pool_bias = (checked_n(n) - 1) * mechanism.numbers.pool_bias.most if v > 1 else 0.0

    def loss(mass: float) -> float:
        sensitive, clear = mechanism.decoder.numbers.variances(mass)
        constant, slope = sensitive
        # At most mass^2; more than that keeps the sum concave.
        within = constant + pool_bias * mass, slope
        return _most_deviation(v, mass, within) + _most_deviation(others, 1 - mass, clear)

    mass = 0.0 if not v else 1.0 if not others else _top(loss)
    return WorstLoss(sqrt(2 / (pi * checked_n(n))) * loss(mass), mass)


def _most_deviation(count: int, mass: float, variance: tuple[PerValue, PerValue]) -> float:
    """Return the largest sum of standard deviations in a class of values with this mass."""
    if count == 0:
        return 0.0
    constant, slope = variance
    # The search asks hundreds of times: single numbers are not worth arrays.
    if not isinstance(constant, np.ndarray) and not isinstance(slope, np.ndarray):
        share = mass / count
        return count * sqrt(max(constant + slope * share - share**2, 0.0))
    shares = _equal_slopes(mass, *map(np.asarray, variance))
    return count * float(np.mean(np.sqrt(np.maximum(constant + slope * shares - shares**2, 0.0))))


def _equal_slopes(mass: float, constant: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the ``(v,)`` shares of a mass at which sum(sqrt(A + B p - p^2)) is largest.

    Its terms are arcs of circles of radius R around B/2: all have one slope where p = B/2 - sigma R, or p = 0.
    """
    radius = np.sqrt(constant + slope**2 / 4)

    def more(sigma: float) -> bool:
        return float(np.maximum(slope / 2 - sigma * radius, 0).sum()) > mass

    low, _ = bisected(more, -1.0, 1.0, _STEPS)
    return np.maximum(slope / 2 - low * radius, 0)


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
    domain = given.block_mechanism(mechanism).domain
    best = lower_bound(domain.sensitive_count, domain.size, mechanism.epsilon, 1)
    return mechanism.decoder.worst_case_mse(1) / best


def _top(function: Callable[[float], float]) -> float:
    """Return the maximizer of a concave function in 0..1 by golden section; an end if that is no worse."""
    return max((0.0, 1.0, sum(golden_section(function, 0.0, 1.0, _STEPS)) / 2), key=function)
