"""Expected errors of numbers: of their mean, their quantiles and their sensitive ranges, before anybody reports.

What is compared of labels, the errors of single values, says nothing of numbers in bins, whose neighbours windows tell
together. So windows are recommended for numbers, and this states what their estimates will be worth.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, cast

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.arithmetic import golden_section
from discreet.core.checks import checked_n
from discreet.core.domain import Domain
from discreet.core.labels import Numbers
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators import estimate
from discreet.mechanisms import RandomizedResponse, Windows
from discreet.mechanisms.channel import MatrixDecoder
from discreet.mechanisms.mechanism import Mechanism
from discreet.results.estimate import Estimate
from discreet.results.functionals import scores_of
from discreet.theory.binomial import sigmas

_SHARES = (0.1, 0.5, 0.9)
_LEVEL = 0.95
_SEARCHED = 90


def mean_error(mechanism: Mechanism, users: int, p: Any) -> float:
    """Return the standard error of the unbiased mean of numbers in bins, or of integers, for a true distribution p.

    Raises:
        ParameterError: if the labels are no numbers, or no covariances are known.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain.number(0, 1)
        >>> round(mean_error(dc.Windows(domain, 1.0), 10_000, np.full(256, 1 / 256)), 4)
        0.0105
    """
    scores, covariances = scores_of(mechanism.domain, None, "scores"), _covariances(mechanism, p)
    return sqrt(max(float(scores @ covariances @ scores), 0.0) / checked_n(users))


def mean_moment(mechanism: Mechanism) -> float:
    """Return n Var of the unbiased mean of numbers under a law of neighbours, for people for whom it is largest.

    A variance is the least mean square about any constant. So the largest one is the least, over constants, of the
    largest mean square of what a report of any number is worth to the mean.

    Example:
        >>> import discreet as dc
        >>> round(mean_moment(dc.Windows(dc.Domain.number(0, 1, bins=16), 1.0)), 2)
        1.3
    """
    scores, decoder = scores_of(mechanism.domain, None, "scores"), cast("MatrixDecoder", mechanism.decoder)
    squares = decoder.matrix @ (decoder.inverse @ scores) ** 2

    def least(constant: float) -> float:
        return -float(np.max(squares - 2 * constant * scores)) - constant**2

    return -least(sum(golden_section(least, float(scores.min()), float(scores.max()), _SEARCHED)) / 2)


def _covariances(mechanism: Mechanism, p: Any) -> FloatArray:
    domain = mechanism.domain
    covariances = mechanism.decoder.covariances_at(domain.check_distribution(p))
    if covariances is None:
        raise ParameterError(f"the covariances of {mechanism.name!r} are not known for {domain.size} values.")
    return covariances


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The expected value and error of a quantity.

    Attributes:
        name: of the quantity.
        value: under the distribution that is assumed.
        error: the standard error, or half of what a 95% interval is long over 1.96.
    """

    name: str
    value: float
    error: float


@dataclass(frozen=True, eq=False)
class NumberPlan:
    """Windows for numbers, with expected errors for an assumed distribution.

    Args:
        mechanism: the windows.
        users: how many people report.
        p: ``(|X|,)`` the distribution that is assumed.
        known: whether somebody said so; otherwise numbers are taken to be spread evenly over the bins.

    Example:
        >>> import discreet as dc
        >>> plan = NumberPlan.of(dc.Domain.number(0, 100, bins=50), 1.0, 10_000)
        >>> [(row.name, round(row.error, 1)) for row in plan.errors[:3]]
        [('mean', 1.0), ('0.1 quantile', 1.9), ('median', 2.1)]
    """

    mechanism: Windows
    users: int
    p: FloatArray
    known: bool

    @classmethod
    def of(cls, domain: Domain, epsilon: float, users: int, p: Any = None) -> "NumberPlan":
        """Return the plan of a domain of numbers.

        Raises:
            ParameterError: if the domain is of other values, or p is no distribution over it.
        """
        if not isinstance(domain.space, Numbers):
            raise ParameterError(f"numbers in bins are planned here, got {domain!r}.")
        even = np.full(domain.size, 1 / domain.size)
        assumed = even if p is None else domain.check_distribution(p)
        return cls(Windows(domain, epsilon), checked_n(users), assumed, p is not None)

    @cached_property
    def expected(self) -> Estimate:
        """The estimate from as many reports of each kind as are expected."""
        mechanism = self.mechanism
        counts = np.rint(self.users * (self.p @ mechanism.decoder.matrix)).astype(np.int64)
        size = mechanism.tally_sizes[0]
        tally = Tally(mechanism.fingerprint, int(counts.sum()), counts[:size], counts[size:], simulated=True)
        return estimate(mechanism, tally, method="smooth")

    @cached_property
    def errors(self) -> tuple[ExpectedError, ...]:
        """The expected errors of the mean, of three quantiles and of the sensitive ranges."""
        domain, space = self.mechanism.domain, self.mechanism.domain.space
        mean = float(self.p @ scores_of(domain, None, "scores"))
        rows = [ExpectedError("mean", mean, mean_error(self.mechanism, self.users, self.p))]
        for share in _SHARES:
            quantile = self.expected.quantile(share)
            low, high = quantile.interval(_LEVEL)
            rows.append(ExpectedError(quantile.name, quantile.estimate, (high - low) / (2 * sigmas((1 - _LEVEL) / 2))))
        if domain.clear_count and isinstance(space, Numbers):
            codes = domain.sensitive_codes
            for run in np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1):
                chosen = np.isin(np.arange(domain.size), run)
                name = f"share of {space.borders[run[0]]:.6g} to {space.borders[run[-1] + 1]:.6g}"
                rows.append(
                    ExpectedError(name, float(self.p[chosen].sum()), self.expected.total(chosen).standard_error)
                )
        return tuple(rows)

    @property
    def recommendation(self) -> str:
        """The recommendation in one sentence, beside randomized response over the same bins."""
        mechanism = self.mechanism
        plain = mean_error(RandomizedResponse(mechanism.domain, mechanism.epsilon), self.users, self.p)
        return (
            f"Use windows (k={mechanism.law.width}) at epsilon = {mechanism.epsilon:g}: the mean of {self.users:,} "
            f"people has a standard error of {self.errors[0].error:.4g}, under randomized response {plain:.4g}; "
            "estimate the distribution by method smooth, as single bins are noisy."
        )
