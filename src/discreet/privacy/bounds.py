"""Minimax rates: the least error of any mechanism, up to unknown constants.

[Duchi, Jordan, Wainwright 2013, "Local Privacy and Minimax Bounds: Sharp Rates for Probability Estimation"]: for
epsilon in [0, 1], whatever the mechanism and the estimator, the expected loss for the worst distribution over d values
is at least a constant times

    min(1, d / sqrt(n eps^2)) in l1,   min(1, 1 / sqrt(n eps^2), d / (n eps^2)) in squared l2.

[ULDP, on lower bounds]: under ULDP the same with d = |X_S|, as the distribution may be all on sensitive values. The
simple forms d / sqrt(n eps^2) and d / (n eps^2) need n eps^2 >= d^2.
"""

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Literal

from discreet.core.checks import checked_n, checked_whole, real_number
from discreet.errors import ParameterError


@dataclass(frozen=True, slots=True)
class LowerBoundRate:
    """The rate of a lower bound; not a bound in numbers.

    Attributes:
        loss: ``"l1"`` or ``"squared l2"``.
        rate: what the least possible loss grows with; compare rates with each other, not with a measured error.

    Example:
        >>> rate = l1_rate(100_000, 1.0, protected=76)
        >>> rate.loss, round(rate.rate, 3)
        ('l1', 0.24)
    """

    loss: Literal["l1", "squared l2"]
    rate: float

    def __str__(self) -> str:
        return f"the expected {self.loss} loss is at least of the order of {self.rate:.2g}, up to an unknown constant"


def l1_rate(n: int, epsilon: float, protected: int, *, reports: int = 1) -> LowerBoundRate:
    """Return the rate of the least expected l1 loss under LDP or ULDP.

    Args:
        n: number of users.
        epsilon: of each user in total, in [0, 1].
        protected: |X_S|, or |X| for LDP; at least 2.
        reports: t, how many reports each user makes, at epsilon/t each: sqrt(t) times larger.

    Raises:
        ParameterError: if epsilon is outside [0, 1], where the theorem says nothing, or a count is too small.

    Example:
        >>> [round(l1_rate(n, 1.0, protected=76).rate, 3) for n in (100_000, 400_000)]
        [0.24, 0.12]
    """
    informative = _information(n, epsilon, protected, reports)
    return LowerBoundRate("l1", min(1.0, protected / sqrt(informative)) if informative else 1.0)


def squared_l2_rate(n: int, epsilon: float, protected: int, *, reports: int = 1) -> LowerBoundRate:
    """Return the rate of the least expected squared l2 loss under LDP or ULDP; see `l1_rate`.

    With t reports it is t times larger.

    Example:
        >>> [round(squared_l2_rate(100_000, 1.0, protected=76, reports=t).rate, 5) for t in (1, 2)]
        [0.00076, 0.00152]
    """
    informative = _information(n, epsilon, protected, reports)
    if not informative:
        return LowerBoundRate("squared l2", 1.0)
    return LowerBoundRate("squared l2", min(1.0, 1 / sqrt(informative), protected / informative))


def _information(n: int, epsilon: float, protected: int, reports: int) -> float:
    """Return n t (eps/t)^2, the reports times the square of the epsilon of each."""
    checked_n(n)
    checked_whole("reports", reports)
    # One sensitive value is nothing to be told apart under LDP; under ULDP its error is smaller, of the order of
    # 1/(n eps): the theorem does not apply.
    checked_whole("protected", protected, 2)
    number = real_number(epsilon)
    if not isfinite(number) or not 0 <= number <= 1:
        raise ParameterError(f"epsilon must be between 0 and 1 for these rates, got epsilon={epsilon!r}.")
    return n * number**2 / reports
