"""The one-step estimate, made by the best linear decoder for a first estimate, with the moments of its contributions.

Let u be the likelihood ratios of a report at an estimate f (`discreet.mechanisms.likelihood_ratios`) and J = E u u'
under f. Then J f = 1, and E u = J p for any true p, so that

    p~ = f + J^-1 (mean of u - 1)

is unbiased for every f. If f is the truth, n Cov = J^-1 - f f', and no decoder has smaller variances. The mean of u
over reports is the gradient that certifies a maximum of the likelihood. Confidence limits
(`discreet.theory.binomial`) follow from the second and third moments of the contributions w = J^-1 u of reports:
E w^k under f, and E u_x w_x^k for people with value x. With d = u - 1, J = 11' + E d d' and w = f + J^-1 d. Values in
clear share one frequency in the proportions h_y = F_y / F. So the contribution of a report of y in clear
to a weighted sum exceeds the mean contribution of reports in clear by (w_y - h . w)/s.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.tally import Tally
from discreet.mechanisms.contributions import Contributions, GroupWeights
from discreet.mechanisms.likelihood_ratios import LikelihoodRatios
from discreet.theory.binomial import ContributionMeans, ContributionMoment

# Share of the largest eigenvalue of the scaled J: with a smaller eigenvalue, values cannot be distinguished.
_SINGULAR = 1e-9
# Frequencies that are nearer to 0 or 1 are 0 or 1 except for rounding.
_NOTHING = 1e-6


@dataclass(frozen=True, eq=False)
class OneStep:
    """A one-step estimate, computed from likelihood ratios under a distribution f.

    Attributes:
        estimates: ``(k,)`` p~.
        inverse: ``(k, k)`` J^-1.
        ratios: the likelihood ratios of reports at f.
        n: number of reports, minus the number of positive frequencies of f.
    """

    estimates: FloatArray
    inverse: FloatArray
    ratios: LikelihoodRatios
    n: float

    @property
    def point(self) -> FloatArray:
        """The ``(k,)`` distribution f under which the likelihood ratios are computed."""
        return self.ratios.point

    @property
    def covariance(self) -> FloatArray:
        """``(k, k)`` covariances n Cov(p~) = J^-1 - f f' of the one-step estimates p~."""
        return self.inverse - np.outer(self.point, self.point)

    def variances(self, codes: IntArray, tally: Tally) -> FloatArray:
        """Return the ``(|X|,)`` variances of the one-step estimates for single values.

        Values in clear share one estimate r in the proportions h_y = F_y / F of their counts. So r h_y varies with r
        and with h. The variance due to h is r^2 h_y (1 - h_y) / F.

        Args:
            codes: ``(v,)`` the values that blocks cover; the others have counts in clear.
            tally: the tally of the reports.
        """
        variances, own_variances = np.zeros(len(codes) + len(tally.clear)), np.diag(self.covariance)
        others = np.ones(len(variances), np.bool_)
        others[codes] = False
        if len(self.point) > len(codes):
            rest, clear_total = max(float(self.estimates[-1]), 0.0), max(tally.clear_total, 1)
            shares, moved = tally.clear / clear_total, rest**2 * self.n / clear_total
            variances[others] = own_variances[-1] * shares**2 + moved * shares * (1 - shares)
        variances[codes] = own_variances[: len(codes)]
        return np.maximum(variances, 0) / self.n

    @cached_property
    def moments(self) -> FloatArray:
        """``(2, 2, k)`` moments E w^2 and E w^3 of contributions: under f, and given that the person has the value."""
        moments, inverse = np.zeros((2, 2, len(self.point))), self.inverse
        for weights, d in self.ratios.chunks():
            w = self.point.astype(d.dtype) + d @ inverse.astype(d.dtype)
            power = w * weights[:, None].astype(d.dtype)
            for moment in moments:
                power *= w
                whole = np.add.reduce(power, dtype=np.float64)
                moment += [whole, whole + np.add.reduce(power * d, dtype=np.float64)]
        return moments

    def contribution_means(self, size: int) -> ContributionMeans:
        """Return the first ``size`` estimates as means of contributions with moments, for confidence limits."""
        f = np.minimum(self.point[:size], 1 - _NOTHING)
        moments = []
        for whole, own_moment in self.moments[..., :size]:
            # If p changes to t, all other values keep their proportions.
            others = (whole - f * own_moment) / (1 - f)
            moments.append(ContributionMoment(others, own_moment - others))
        return ContributionMeans(self.estimates[:size], self.n, moments[0], moments[1])


def one_step(ratios: LikelihoodRatios, mean: FloatArray, n: int) -> OneStep | None:
    """Return the one-step estimate from likelihood ratios; None if the reports do not determine all values.

    Args:
        ratios: the likelihood ratios of reports at f.
        mean: ``(k,)`` the mean of u over the n reports.
        n: number of reports.
    """
    f = ratios.point
    # f . d = 0 for every report and E d = 0, so that J f = 1 even if blocks are drawn.
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
    """Return the inverse of the information matrix J; None if J is nearly singular."""
    scale = np.sqrt(np.diagonal(information))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        return None
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if values[0] <= _SINGULAR * values[-1]:
        return None
    inverse: FloatArray = (vectors / values) @ vectors.T / np.outer(scale, scale)
    return inverse


@dataclass(frozen=True, eq=False)
class OneStepContributions(Contributions):
    """The contributions of reports to weighted sums of the one-step estimate, with their moments.

    Attributes:
        step: the one-step estimate.
        codes: ``(v,)`` codes of the values that blocks cover.
        others: ``(N,)`` codes of the values in clear.
        shares: ``(N,)`` h, the proportions of the values in the reports in clear.
        truth: s.
    """

    step: OneStep
    codes: IntArray
    others: IntArray
    shares: FloatArray
    truth: float

    need_control = False

    def _condensed(self, each: FloatArray) -> FloatArray:
        """Return ``(..., k)`` weights: of each value that blocks cover, and the mean weight of the values in clear."""
        covered = each[..., self.codes]
        if len(self.step.point) == len(self.codes):
            return covered
        return np.concatenate([covered, (each[..., self.others] @ self.shares)[..., None]], axis=-1)

    def powers(self, weights: GroupWeights, at: FloatArray) -> FloatArray:
        """Return the ``(3, d, m)`` moments of contributions to m one-step sums; see `Contributions`."""
        w = self._condensed(weights.each)
        gain, mean = w @ self.step.inverse, w @ self.step.point + weights.constant
        q = at[..., self.codes]
        whole, in_clear = np.zeros((3, *at.shape[:2])), len(self.step.point) > len(self.codes)
        if in_clear:
            q = np.concatenate([q, at[..., self.others].sum(axis=-1, keepdims=True)], axis=-1)
        stretches = list(self.step.ratios.chunks())
        for chances, d in stretches[: len(stretches) - in_clear]:
            added = (mean[:, None] + gain @ d.T).astype(np.float64)
            power = chances * (q.sum(axis=-1)[..., None] + q @ d.T)
            for row in range(3):
                power = power * added
                whole[row] += power.sum(axis=-1)
        if in_clear:
            # The last chunk combines all values in clear.
            alone = (mean + gain @ stretches[-1][1][0])[:, None] + (
                weights.each[:, self.others] - w[:, -1:]
            ) / self.truth
            in_turn = self.truth * at[..., self.others]
            whole += [(in_turn * alone**power).sum(axis=-1) for power in (1, 2, 3)]
        return whole

    def between(self, p: FloatArray, rows: FloatArray) -> FloatArray:
        """Return n times the covariances of weighted sums of one-step estimates; see `Contributions`."""
        del p
        w = self._condensed(rows)
        matrix = w @ self.step.covariance @ w.T
        if len(self.step.point) > len(self.codes):
            apart = rows[:, self.others] - w[:, -1:]
            matrix = matrix + (apart * (self.shares * self.step.point[-1] / self.truth)) @ apart.T
        return matrix
