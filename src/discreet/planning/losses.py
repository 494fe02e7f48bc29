"""Largest standard errors of a mechanism, and the number of reports for a wanted error."""

from math import sqrt
from statistics import NormalDist
from typing import Any

from discreet.core.checks import checked_between, checked_positive
from discreet.errors import ParameterError
from discreet.mechanisms.decoders import BlockDecoder
from discreet.mechanisms.law import BlockMechanism
from discreet.theory.arithmetic import last_whole

_MOST_REPORTS = 1 << 53


def worst_variance(mechanism: BlockMechanism) -> float:
    """Return the largest n Var(p_hat_x) over all values and distributions.

    Example:
        >>> import discreet as dc
        >>> round(worst_variance(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0)), 2)
        8.29
    """
    domain = BlockMechanism.checked(mechanism).domain
    decoder = BlockDecoder.checked(mechanism)
    if domain.size == 1:
        return 0.0
    if domain.sensitive_count == 0:
        return _peak(*decoder.coefficients.variances(0.0).clear)
    everyone = decoder.coefficients.variances(1.0)
    # The variance is affine in the mass of the other sensitive values. So the maximum is at an end: these values have
    # all remaining mass, or none.
    alone = _peak(*everyone.sensitive) if domain.sensitive_count > 1 else 0.0
    if domain.clear_count == 0:
        return alone
    nobody = decoder.coefficients.variances(0.0)
    return max(
        alone,
        _peak(nobody.sensitive[0], everyone.sensitive[0] - nobody.sensitive[0] + everyone.sensitive[1]),
        _peak(*nobody.clear) if domain.clear_count > 1 else 0.0,
        _peak(everyone.clear[0], nobody.clear[0] - everyone.clear[0] + nobody.clear[1]),
    )


def reports_for_standard_error(mechanism: BlockMechanism, wanted: float, *, p: Any = None) -> int:
    """Return the smallest n for which no value's estimate has a standard error above ``wanted``.

    Args:
        mechanism: a block mechanism.
        wanted: the wanted standard error, above 0.
        p: ``(|X|,)`` the true distribution; None for the worst one.

    Raises:
        ParameterError: if ``wanted`` is not a finite number above 0, or no number of reports up to 2^53 suffices.

    Example:
        >>> import discreet as dc
        >>> reports_for_standard_error(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0), wanted=0.01)
        82861
    """
    checked_positive("wanted", wanted)
    at_one = sqrt(worst_variance(mechanism)) if p is None else float(mechanism.decoder.standard_errors(1, p).max())

    def too_few(n: int) -> bool:
        return at_one / sqrt(n) > wanted

    if too_few(_MOST_REPORTS):
        raise ParameterError("standard-error.out-of-range", argument="standard_error", wanted=wanted)
    return 1 + last_whole(too_few, 0, _MOST_REPORTS, upper=True)


def reports_for_change(
    mechanism: BlockMechanism, change: float, *, power: float = 0.8, significance: float = 0.05, p: Any = None
) -> int:
    """Return the smallest number of reports in each of two groups that reveals a change of a value's share.

    Args:
        mechanism: a block mechanism.
        change: the difference of the shares in the two groups, in (0, 1].
        power: the probability that the test of no difference then rejects, in (0, 1).
        significance: the level of the test, two-sided, in (0, 1).
        p: ``(|X|,)`` the approximate true distribution in both groups; None for the worst one.

    Raises:
        ParameterError: if a number is out of range, or no number of reports up to 2^53 suffices.

    Example:
        >>> import discreet as dc
        >>> reports_for_change(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0), change=0.05)
        52030
    """
    if not 0 < checked_positive("change", change) <= 1:
        raise ParameterError("change.not-share", argument="change", change=change)
    away = NormalDist().inv_cdf(1 - checked_between("significance", significance) / 2)
    # At this number of standard errors, a change is detected with the wanted power.
    needed = away + NormalDist().inv_cdf(checked_between("power", power))
    if needed <= 0:
        raise ParameterError("power.too-low", argument="power", power=power)
    return reports_for_standard_error(mechanism, change / (sqrt(2) * needed), p=p)


def _peak(constant: Any, slope: Any) -> float:
    """Return the largest constant + slope p - p^2 for p in 0..1."""
    inside = min(max(slope / 2, 0.0), 1.0)
    return max(float(constant + slope * p - p * p) for p in (inside, 0.0, 1.0))
