"""The largest epsilon for a wanted identification risk.

This epsilon is the *attribute* risk that the wanted *identification* risk permits. It may be so large that reports have
almost no noise. So a limit on epsilon belongs beside it, and both risks are returned.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

from discreet.core.checks import checked_between, checked_epsilon, checked_positive, checked_whole
from discreet.errors import ParameterError
from discreet.mechanisms import Mechanism
from discreet.risk.bounds.identification import Bounds, identification_bounds
from discreet.risk.bounds.leakage import Prior
from discreet.theory.arithmetic import bisected

LARGEST_EPSILON = 200.0
"""The limit on epsilon if none is given, in nats; no mechanism accepts more."""

_SMALLEST = 1e-6
# Epsilon has 9 digits.
_HALVINGS = 31
_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class RiskTarget:
    """A wanted identification risk.

    Attributes:
        users: n, the number of users.
        error: beta, the smallest identification error of any adversary, in (0, 1); None if alpha is given.
        pie: alpha, the most information about the user, in bits; None if beta is given.
        reports: t, the number of reports per user.
        prior: ``(n,)`` prior probability of each user; None if all are equally likely.
        largest_list: k, the number of users that the adversary may name.

    Raises:
        ParameterError: if a number is out of range, not exactly one of the two is given, or a blind guess does better.

    Example:
        >>> import discreet as dc
        >>> wanted = RiskTarget(users=1000, error=0.95)
        >>> wanted.keeps(wanted.bounds(dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)))
        True
    """

    users: int
    error: float | None = None
    pie: float | None = None
    reports: int = 1
    prior: Any = None
    largest_list: int = 1

    def __post_init__(self) -> None:
        """Refuse a risk that no mechanism can achieve."""
        people = Prior.of(self.users, self.prior)
        checked_whole("reports", self.reports)
        if (self.error is None) == (self.pie is None):
            raise ParameterError("calibration.one-target")
        if self.pie is not None:
            checked_positive("pie", self.pie)
        if self.error is None:
            return
        checked_between("error", self.error)
        blind = people.guessed(checked_whole("largest_list", self.largest_list))
        if 1 - blind <= self.error:
            raise ParameterError("calibration.impossible-error", argument="error", error=self.error, blind=blind)

    def bounds(self, mechanism: Mechanism) -> Bounds:
        """Return the bounds on a mechanism's two risks."""
        options = {"reports": self.reports, "prior": self.prior, "largest_list": self.largest_list}
        return identification_bounds(mechanism, self.users, **options)

    def keeps(self, bounds: Bounds) -> bool:
        """Return true if the bounds are within the wanted identification risk."""
        if self.error is not None:
            return bounds.identification.value <= (1 - self.error) * (1 + _SLACK)
        return self.pie is not None and bounds.pie.value <= self.pie * (1 + _SLACK)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The mechanism with the largest epsilon for a wanted identification risk.

    Attributes:
        mechanism: the mechanism with the largest epsilon found.
        bounds: the bounds on both risks.
        limited: whether identification limits epsilon; otherwise the limit on epsilon does, or the mechanism itself.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(100))
        >>> target = RiskTarget(1000, error=0.95)
        >>> allowed = largest_epsilon(lambda epsilon: dc.RandomizedResponse(domain, epsilon), target)
        >>> allowed.limited, round(allowed.bounds.error, 3)
        (True, 0.95)
    """

    mechanism: Any
    bounds: Bounds
    limited: bool


def largest_epsilon(
    build: Callable[[float], Mechanism], wanted: RiskTarget, *, limit: float = LARGEST_EPSILON
) -> Allowed | None:
    """Return the mechanism with the largest epsilon of one report for a wanted identification risk.

    It is found by bisection, to nine digits from below. If ``build`` adapts other parameters to epsilon, the risk may
    not always grow with epsilon. Then the result achieves the risk, but a larger epsilon might too.

    Args:
        build: a function from epsilon to a mechanism.
        wanted: the wanted risk.
        limit: the limit on epsilon, in nats.

    Returns:
        The mechanism; None if no epsilon that ``build`` accepts achieves the risk.

    Raises:
        ParameterError: if the limit is not a valid epsilon.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(100))
        >>> target = RiskTarget(1000, error=0.95)
        >>> allowed = largest_epsilon(lambda epsilon: dc.RandomizedResponse(domain, epsilon), target)
        >>> round(allowed.mechanism.epsilon, 3)
        4.595
    """
    limit = checked_epsilon(limit)
    attempt = _attempt(build, wanted, limit)
    if attempt is not None and attempt[0]:
        return Allowed(attempt[1], attempt[2], limited=False)
    low, high = log(min(_SMALLEST, limit)), log(limit)
    allowed: Allowed | None = None
    risky = False

    def more(logarithm: float) -> bool:
        nonlocal allowed, risky
        attempt = _attempt(build, wanted, exp(logarithm))
        # An epsilon that is too large or too small for the mechanism shows on which side to continue.
        if attempt is not None and attempt[0]:
            allowed = Allowed(attempt[1], attempt[2], limited=True)
        elif attempt is not None or allowed is not None:
            risky = attempt is not None
            return False
        return True

    # The smallest epsilon is tried too.
    if more(low):
        bisected(more, low, high, _HALVINGS)
    return None if allowed is None else replace(allowed, limited=risky)


def _attempt(
    build: Callable[[float], Mechanism], wanted: RiskTarget, epsilon: float
) -> tuple[bool, Any, Bounds] | None:
    with suppress(ParameterError):
        mechanism = build(epsilon)
        bounds = wanted.bounds(mechanism)
        return wanted.keeps(bounds), mechanism, bounds
    return None
