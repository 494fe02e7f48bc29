"""The number of reports that a wanted error takes."""

from collections.abc import Callable
from functools import partial
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.accuracy.decoder import PerValue
from discreet.core.checks import checked_between, checked_n, checked_positive
from discreet.core.searching import last_whole
from discreet.errors import ParameterError
from discreet.mechanisms import given
from discreet.mechanisms.law import BlockMechanism

_MOST_REPORTS = 1 << 53


def worst_variance(mechanism: BlockMechanism, n: int = 1) -> float:
    """Return the largest n Var(p_hat_x) of any value under any distribution; without pool bias the same for every n.

    Example:
        >>> import discreet as dc
        >>> round(worst_variance(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0)), 2)
        8.29
    """
    domain, decoder = given.block_mechanism(mechanism).domain, mechanism.decoder
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
    decoder = given.block_mechanism(mechanism).decoder
    error = decoder.worst_case_mse if p is None else partial(decoder.mse, p=p)
    one = error(1)
    near = one / checked_positive("wanted", wanted)
    return _first(error, near, wanted) if mechanism.numbers.pool_bias else _least(lambda n: one / n, near, wanted)


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

    given.block_mechanism(mechanism)
    one = error(1)
    root = one / checked_positive("wanted", wanted)
    if mechanism.numbers.pool_bias:
        return _first(error, root * root, wanted)
    return _least(lambda n: one / sqrt(n), root * root, wanted)


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


def _peak(constant: PerValue, slope: PerValue, pool_bias: float = 0.0) -> float:
    """Return the largest constant + slope p - p^2 + pool_bias (1 - p)^2 for p in 0..1, of any value."""
    bend = 1 - pool_bias
    inside = np.clip((slope - 2 * pool_bias) / (2 * bend), 0.0, 1.0) if bend > 0 else np.zeros(1)
    tops = [inside, np.zeros(1), np.ones(1)]
    return max(float(np.max(constant + slope * p - p * p + pool_bias * (1 - p) ** 2)) for p in tops)


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
