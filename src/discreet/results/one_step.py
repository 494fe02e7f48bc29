"""The one-step estimate: the best linear decoder at an estimate, and what it knows of its own error.

Let u be the likelihood ratios of a report at an estimate f (`discreet.mechanisms.covariances`) and J = E u u'
under f. Then J f = 1, and E u = J p for any true p, so that

    p~ = f + J^-1 (mean of u - 1)

is unbiased whatever f is, with n Cov = J^-1 - f f' where f is right: no decoder has less. The mean of u over reports
is the gradient that certifies a maximum of the likelihood. Worths w = J^-1 u of reports give the second and third
moments from which limits follow (`discreet.theory.binomial`): E w^k under f, and E u_x w_x^k, which is that of
reports of x. With d = u - 1, J = 11' + E d d' and w = f + J^-1 d.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.tally import Tally
from discreet.mechanisms.likelihood_ratios import LikelihoodRatios
from discreet.theory.binomial import MeanWorths, WorthMoment
from discreet.theory.covariance import LowRankCovariance

# Of the largest eigenvalue of J, in units of its diagonal: below it values cannot be told apart.
_SINGULAR = 1e-9
# Frequencies that are nearer to 0 or 1 are so but for rounding.
_NOTHING = 1e-6


@dataclass(frozen=True, eq=False)
class OneStep:
    """A one-step estimate.

    Attributes:
        estimates: ``(k,)`` p~.
        inverse: ``(k, k)`` J^-1.
        ratios: the likelihood ratios of reports at f.
        n: number of reports, less one for every positive frequency of f.
    """

    estimates: FloatArray
    inverse: FloatArray
    ratios: LikelihoodRatios
    n: float

    @property
    def point(self) -> FloatArray:
        """``(k,)`` f."""
        return self.ratios.point

    @property
    def covariance(self) -> FloatArray:
        """``(k, k)`` n Cov(p~) = J^-1 - f f'."""
        return self.inverse - np.outer(self.point, self.point)

    def covariances(self, codes: IntArray, tally: Tally) -> LowRankCovariance:
        """Return the covariance of p~ over all values, with the rest shared by counts in clear.

        With r the frequency of the rest and h_y = F_y / F its shares, r h_y varies with r and with h, of which the
        covariance is r^2 (diag(h) - h h') / F.

        Args:
            codes: ``(v,)`` the values that blocks cover; the others have counts in clear.
            tally: of the reports.
        """
        size = len(codes) + len(tally.clear)
        core, factors, apart = self.covariance, np.zeros((len(self.point), size)), np.zeros(size)
        factors[np.arange(len(codes)), codes] = 1
        if len(self.point) > len(codes):
            rest, clear_total = max(float(self.estimates[-1]), 0.0), max(tally.clear_total, 1)
            others = np.ones(size, dtype=np.bool_)
            others[codes] = False
            factors[-1, others] = tally.clear / clear_total
            moved = rest**2 * self.n / clear_total
            apart = moved * factors[-1]
            core[-1, -1] -= moved
        return LowRankCovariance(self.estimates @ factors, apart, factors, core).scaled(1 / self.n)

    @cached_property
    def moments(self) -> FloatArray:
        """``(2, 2, k)`` E w^2 and E w^3, each under f and of reports of the value itself."""
        moments, inverse = np.zeros((2, 2, len(self.point))), self.inverse
        for weights, d in self.ratios.chunks():
            w = self.point.astype(d.dtype) + d @ inverse.astype(d.dtype)
            power = w * weights[:, None].astype(d.dtype)
            for moment in moments:
                power *= w
                whole = np.add.reduce(power, dtype=np.float64)
                moment += [whole, whole + np.add.reduce(power * d, dtype=np.float64)]
        return moments

    def worths(self, size: int) -> MeanWorths:
        """Return the means of worths to the first ``size`` values, from which their limits follow."""
        f = np.minimum(self.point[:size], 1 - _NOTHING)
        moments = []
        for whole, own_moment in self.moments[..., :size]:
            # Where p moves to t, those who have another value keep their proportions.
            others = (whole - f * own_moment) / (1 - f)
            moments.append(WorthMoment(others, own_moment - others))
        return MeanWorths(self.estimates[:size], self.n, moments[0], moments[1])


def one_step(ratios: LikelihoodRatios, mean: FloatArray, n: int) -> OneStep | None:
    """Return the one-step estimate at a distribution; None where its reports do not tell all values apart.

    Args:
        ratios: of the reports, at f.
        mean: ``(k,)`` the mean of u over the n reports.
        n: number of reports.
    """
    f = ratios.point
    # f . d = 0 for every report and E d = 0, so that J f = 1 though blocks are drawn.
    information = np.ones((len(f), len(f)))
    for weights, d in ratios.chunks():
        root = d * np.sqrt(weights, dtype=d.dtype)[:, None]
        information += root.T @ root
    inverse = _inverse(information)
    if inverse is None:
        return None
    left = max(n - int(np.count_nonzero(f > _NOTHING)), 1)
    return OneStep(f + inverse @ (mean - 1), inverse, ratios, left)


def _inverse(information: FloatArray) -> FloatArray | None:
    """Return the inverse of J; None where it has none to speak of."""
    scale = np.sqrt(np.diagonal(information))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        return None
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if values[0] <= _SINGULAR * values[-1]:
        return None
    inverse: FloatArray = (vectors / values) @ vectors.T / np.outer(scale, scale)
    return inverse


@dataclass(frozen=True, eq=False)
class OneStepWorths:
    """The worths of whole reports to the values that blocks cover, one step from a likelihood estimate.

    Worked out when they are asked for; pickled, they are what limits follow from: neither reports nor what only errors
    need.

    Attributes:
        codes: ``(v,)`` the values that blocks cover.
        ratios: the likelihood ratios of reports at the estimate.
        mean: ``(k,)`` their mean over the reports.
        n: number of reports.
    """

    codes: IntArray
    ratios: LikelihoodRatios
    mean: FloatArray
    n: int

    @cached_property
    def step(self) -> OneStep | None:
        """The one-step estimate; None where reports do not tell all values apart."""
        return one_step(self.ratios, self.mean, self.n)

    @cached_property
    def worths(self) -> MeanWorths | None:
        """The mean worths of the reports to these values; None likewise."""
        return None if self.step is None else self.step.worths(len(self.codes))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a pickle."""
        return {"codes": self.codes, "n": self.n, "worths": self.worths}
