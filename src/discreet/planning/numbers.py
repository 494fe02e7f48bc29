"""Expected errors for numbers in bins with windows: the mean, quantiles and sensitive ranges.

Mechanisms for labels are compared by the errors of single values. Windows report neighbouring bins together, so single
bins are noisy, and their errors are not a good comparison.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any, cast

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_n
from discreet.core.domain import Domain
from discreet.core.labels.bins import Numbers
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, text_column
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators import estimate
from discreet.mechanisms import RandomizedResponse, Windows
from discreet.mechanisms.channel import MatrixDecoder
from discreet.mechanisms.mechanism import Mechanism
from discreet.results.estimate import Estimate
from discreet.results.functionals import scores_of
from discreet.theory.arithmetic import golden_section
from discreet.theory.binomial import z_quantile

_SHARES = (0.1, 0.5, 0.9)
_LEVEL = 0.95
_SEARCHED = 90
# Collections that are simulated for the lengths of intervals, and their seed.
_SIMULATED, _SEED = 12, 1


def mean_error(mechanism: Mechanism, users: int, p: Any) -> float:
    """Return the standard error of the unbiased mean of numbers in bins, or of integers, for a true distribution p.

    Raises:
        ParameterError: if the labels are not numbers.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain.number(0, 1)
        >>> round(mean_error(dc.Windows(domain, 1.0), 10_000, np.full(256, 1 / 256)), 4)
        0.0105
    """
    scores = scores_of(mechanism.domain, None, "scores")
    covariances = mechanism.decoder.covariances_at(mechanism.domain.check_distribution(p))
    return sqrt(max(float(scores @ covariances @ scores), 0.0) / checked_n(users))


def mean_moment(mechanism: Mechanism) -> float:
    """Return the largest n Var of the estimated mean over all distributions, for windows or a similar mechanism.

    A variance is the smallest mean square about any constant. So the largest variance is the minimum over constants of
    the largest mean square of a report's contribution to the mean.

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


@dataclass(frozen=True, eq=False, repr=False)
class NumberPlan(TabularResult):
    """A plan of windows for numbers, with the expected errors of the mean, quantiles and sensitive ranges.

    Attributes:
        mechanism: the windows.
        users: the number of people who report.
        p: ``(|X|,)`` the assumed distribution.
        known: whether the caller gave p; otherwise it is uniform over the bins.

    Example:
        >>> import discreet as dc
        >>> plan = NumberPlan.of(dc.Domain.number(0, 100, bins=16), 1.0, 10_000)
        >>> plan.columns()["quantity"][:3].tolist(), plan.columns()["standard_error"][:3].round(1).tolist()
        (['mean', '0.1 quantile', 'median'], [1.0, 2.2, 2.8])
    """

    mechanism: Windows
    users: int
    p: FloatArray
    known: bool

    @classmethod
    def of(cls, domain: Domain, epsilon: float, users: int, p: Any = None) -> "NumberPlan":
        """Return the plan of windows for a domain of numbers, with the expected errors.

        Raises:
            ParameterError: if the domain has other values, or p is not a distribution on it.
        """
        if domain.numbers is None:
            raise ParameterError("domain.not-bins", argument="domain", domain=domain)
        even = np.full(domain.size, 1 / domain.size)
        assumed = even if p is None else domain.check_distribution(p)
        return cls(Windows(domain, epsilon), checked_n(users), assumed, p is not None)

    def _estimated(self, counts: IntArray) -> Estimate:
        """Return the estimate from the number of reports with each window."""
        size = self.mechanism.tally_sizes[0]
        facts = self.mechanism.fingerprint, int(counts.sum()), counts[:size], counts[size:]
        return estimate(self.mechanism, Tally(*facts, simulated=True), method="smooth")

    @cached_property
    def expected(self) -> Estimate:
        """The estimate from the expected number of reports with each window."""
        return self._estimated(np.rint(self.users * (self.p @ self.mechanism.decoder.matrix)).astype(np.int64))

    @cached_property
    def quantile_errors(self) -> FloatArray:
        """``(3,)`` standard errors of three quantiles, from the mean lengths of simulated 95% intervals."""
        outputs = self.p @ self.mechanism.decoder.matrix
        drawn = np.random.default_rng(_SEED).multinomial(self.users, outputs / outputs.sum(), _SIMULATED)
        medians = map(Estimate.median, map(self._estimated, drawn))
        ends = [[replace(each, share=share).interval(_LEVEL) for share in _SHARES] for each in medians]
        return np.asarray(np.diff(ends, axis=2).mean(axis=0)[:, 0] / (2 * z_quantile((1 - _LEVEL) / 2)))

    def table(self) -> ResultTable:
        """Return a table of the mean, quantiles and the shares of sensitive ranges, with standard errors.

        The standard error of a quantile is half the length of its 95% interval, divided by 1.96, on average.
        """
        domain, bins = self.mechanism.domain, cast("Numbers", self.mechanism.domain.numbers)
        mean = float(self.p @ scores_of(domain, None, "scores"))
        rows = [("mean", mean, mean_error(self.mechanism, self.users, self.p))]
        for share, error in zip(_SHARES, self.quantile_errors.tolist(), strict=True):
            quantile = self.expected.quantile(share)
            rows.append((quantile.name, quantile.estimate, error))
        codes = domain.sensitive_codes
        for run in np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1) if domain.clear_count else ():
            chosen = np.isin(np.arange(domain.size), run)
            name = f"share of {bins.borders[run[0]]:.6g} to {bins.borders[run[-1] + 1]:.6g}"
            rows.append((name, float(self.p[chosen].sum()), self.expected.total(chosen).standard_error))
        names, values, errors = zip(*rows, strict=True)
        columns = [
            text_column("quantity", names),
            ResultColumn("value", np.array(values), heading="expected", format=".4g"),
            ResultColumn("standard_error", np.array(errors), heading="std. error", format=".3g"),
        ]
        assumed = "this distribution" if self.known else "numbers that are evenly spread over the bins"
        title = f"Expected errors for {self.users:,} people and {assumed}"
        return ResultTable(title, columns, [self.recommendation])

    @property
    def recommendation(self) -> str:
        """Sentences that recommend the windows, with the error of the mean compared with randomized response."""
        mechanism = self.mechanism
        errors = (
            mean_error(other, self.users, self.p)
            for other in (mechanism, RandomizedResponse(mechanism.domain, mechanism.epsilon))
        )
        windows, plain = (f"{error:.4g}" for error in errors)
        return (
            f"Use windows (k={mechanism.law.width}). The mean has a standard error of {windows}, compared with {plain} "
            "for randomized response. Estimate with method smooth, because single bins are noisy."
        )
