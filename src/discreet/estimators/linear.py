"""Estimates of a tally: linear, thresholded, shifted and projected.

Projection onto the simplex, weighted or not.

The nearest distribution to an estimate, each coordinate counted with its own weight (an inverse
variance, or a curvature):

    q_j = max(0, values_j - lam / weights_j),  with lam such that sum(q) = total.

The excess sum(q) - total is convex, decreasing and piecewise linear in lam, so Newton's method
started below the root climbs to it and stops exactly there, after a number of rounds that grows
only with the logarithm of the range of the data.

Standard errors of estimators that are not linear.

They all start from a linear estimate that is nearly normal, so their results are nearly piecewise linear functions of
normal numbers, whose variances have closed forms. The noise that values share, as frequencies sum to one, is taken to
first order only.

The linear estimate, from which all other estimators start, with its errors.

The named estimators from linear decoding, each with its own standard errors.

Errors are worked out when they are first asked for: many want the frequencies only, or intervals, which need none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import BoolArray, FloatArray
from discreet.core.checks import checked_between, checked_choice
from discreet.core.domain import Domain
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.strata import Strata
from discreet.mechanisms.evidence import Data, Evidence
from discreet.mechanisms.mechanism import Decoder, Mechanism
from discreet.results.estimate import Estimate
from discreet.results.limits import CountLimits
from discreet.theory.covariance import Covariance
from discreet.theory.limits import all_agree, half_a_report, larger_of_few, plausible_variances

# Rounds grow with the logarithm of the range of the data: a few dozen in practice, about 2,000 if
# the data span all of float64.
_MOST_ROUNDS = 4096
# 1/weight stays finite and a product with it does not overflow.
_LEAST_RELATIVE_WEIGHT = 1e-290


def project_onto_simplex(values: ArrayLike, weights: ArrayLike, *, total: float = 1.0) -> FloatArray:
    """Find the point of the simplex that is nearest to an estimate in a weighted metric.

    Minimises sum_j weights_j (q_j - values_j)^2 over q >= 0 with sum(q) = total.

    Args:
        values: Any finite numbers, shape ``(v,)``, v >= 1.
        weights: Positive weights, shape ``(v,)``; an infinite weight holds its coordinate at
            ``max(0, value)``, as far as these coordinates leave room.
        total: The sum of the result, at least 0.

    Returns:
        The nonnegative minimiser, shape ``(v,)``; its sum is ``total`` to rounding.

    Raises:
        ParameterError: If shapes, signs or values are not as above.
    """
    return projection(values, weights, total=total)[0]


def projection(values: ArrayLike, weights: ArrayLike, *, total: float = 1.0) -> tuple[FloatArray, float]:
    """Return `project_onto_simplex` and lam; arguments and errors as there, but all weights are finite for lam."""
    x = np.asarray(values, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    _check(x, w, total)
    held = np.isinf(w)
    if not held.any():
        q, multiplier = _project(x, w, total)
        return _rescaled(q, total), multiplier
    q = np.where(held, np.maximum(x, 0.0), 0.0)
    room = total - float(np.add.reduce(q))
    free = ~held
    if room < 0 or not free.any():
        q[held] = _project(x[held], np.ones(int(held.sum())), total)[0]
    else:
        q[free] = _project(x[free], w[free], room)[0]
    return _rescaled(q, total), np.nan


def norm_sub(values: ArrayLike, *, total: float = 1.0) -> tuple[FloatArray, float]:
    """Take one number off all values and drop what falls below 0.

    The number is the one that leaves a sum of ``total``: the unweighted projection, Norm-Sub
    [Wang et al., "Locally Differentially Private Frequency Estimation with Consistency", 2020].
    It is the mean excess of the values above it, found by dropping those below it until none is.

    Args:
        values: Any finite numbers, shape ``(v,)``.
        total: The sum of the result.

    Returns:
        Nonnegative values, shape ``(v,)``; and the number.
    """
    x = np.asarray(values, dtype=np.float64)
    _check(x, np.broadcast_to(1.0, x.shape), total)
    above, threshold = x, -np.inf
    while True:
        excess = (float(np.add.reduce(above)) - total) / len(above)
        # Rounding may not lower it: what was dropped stays so.
        if excess <= threshold:
            break
        threshold = excess
        # Several times as fast as a mask where half of the values stay.
        remaining = np.compress(above > threshold, above)
        if len(remaining) == len(above) or not len(remaining):
            break
        above = remaining
    q = x - threshold
    np.maximum(q, 0.0, out=q)
    return _rescaled(q, total), threshold


def _check(x: FloatArray, w: FloatArray, total: float) -> None:
    if x.ndim != 1 or x.size == 0 or x.shape != w.shape:
        message = "values and weights must be one-dimensional, nonempty and of one shape"
        raise ParameterError(f"{message}, got {x.shape} and {w.shape}.")
    if not np.isfinite(x).all():
        raise ParameterError(f"values must be finite, {np.sum(~np.isfinite(x))} of {x.size} are not.")
    if not (w > 0).all():
        raise ParameterError(f"weights must be > 0, {np.sum(~(w > 0))} of {w.size} are not.")
    if not 0 <= total < np.inf:
        raise ParameterError(f"total must be finite and >= 0, got total={total}.")


def _project(x: FloatArray, w: FloatArray, total: float) -> tuple[FloatArray, float]:
    """Newton's method for the multiplier, from below (all weights finite); returns q and lam."""
    largest = float(w.max())
    relative = np.maximum(w / largest, _LEAST_RELATIVE_WEIGHT)
    inverse = 1.0 / relative
    # Here one coordinate alone reaches the total, so the excess is not negative. Newton's method
    # from the multiplier with every coordinate active would cancel between coordinates of very
    # different weight.
    multiplier = float(np.max(relative * (x - total)))
    q = np.empty_like(x)
    for _ in range(_MOST_ROUNDS):
        np.multiply(inverse, -multiplier, out=q)
        q += x
        np.maximum(q, 0.0, out=q)
        excess = float(np.add.reduce(q)) - total
        # Not @: the threads that BLAS starts for long vectors spin for a while, beside those of the next product.
        slope = float(np.add.reduce(inverse * (q > 0)))
        step = excess / slope if slope > 0 else 0.0
        if multiplier + step == multiplier or excess <= 0:
            break
        multiplier += step
    return q, multiplier * largest


def _rescaled(q: FloatArray, total: float) -> FloatArray:
    mass = float(np.add.reduce(q))
    if mass > 0:
        return q * (total / mass)
    # Everything was lost to rounding (the values dwarf the total): any point of the face is as
    # near.
    return np.full_like(q, total / q.size)


# Values at a time: what is in between stays in the cache.
_CHUNK = 1 << 12
_LEAST = 1e-150
_DENSITY_AT_0 = 1 / np.sqrt(2 * np.pi)


def censored_deviation(mean: FloatArray, deviation: FloatArray, cut: FloatArray, below: FloatArray) -> FloatArray:
    """Return the standard deviation of Z where Z > cut and ``below`` elsewhere, Z normal.

    Args:
        mean: ``(|X|,)`` of Z.
        deviation: ``(|X|,)`` of Z; 0 gives 0.
        cut: ``(|X|,)`` thresholds of Z.
        below: ``(|X|,)`` values in the place of Z at or below the threshold.

    Returns:
        ``(|X|,)`` standard deviations.
    """
    # Where there is none, a least one keeps the division sound.
    scale = np.maximum(deviation, _LEAST)
    place = (cut - mean) / scale
    density = np.exp(-place * place / 2)
    density *= _DENSITY_AT_0
    above = _upper_tail(place, density)
    density *= scale
    beneath = below * (1 - above)
    first = mean * above
    first += density
    first += beneath
    second: FloatArray = (mean * mean + scale * scale) * above
    second += (mean + cut) * density
    second += below * beneath
    second -= first * first
    np.maximum(second, 0, out=second)
    np.sqrt(second, out=second)
    second *= deviation > 0
    return second


def threshold_error(truth: FloatArray, deviation: FloatArray, cut: FloatArray, *, uniform: bool) -> FloatArray:
    """Return the root mean squared errors of thresholded estimates, where the truth is given.

    What falls below its threshold becomes 0, or its share of the mass that is expected to be left. It is what
    simulations from that truth come to, to some percent.

    Args:
        truth: ``(|X|,)`` frequencies, the means of the linear estimates.
        deviation: ``(|X|,)`` standard deviations of these, above 0.
        cut: ``(|X|,)`` thresholds.
        uniform: whether the mass that is not kept is shared evenly.
    """
    place = (cut - truth) / deviation
    density = np.exp(-place * place / 2) / np.sqrt(2 * np.pi)
    above = _upper_tail(place, density)
    above_mass, dropped = float((truth * above + deviation * density).sum()), float((1 - above).sum())
    below = max(1 - above_mass, 0.0) / max(dropped, 1.0) if uniform else 0.0
    squares = deviation**2 * (above + place * density) + (below - truth) ** 2 * (1 - above)
    errors: FloatArray = np.sqrt(np.maximum(squares, 0))
    return errors


def projected_deviation(
    mean: FloatArray, variance: FloatArray, covariance: FloatArray, positive: BoolArray, share: FloatArray
) -> FloatArray:
    """Return the standard deviations of estimates projected onto the simplex.

    On the positive values the projection takes off each one's share h of the error of their sum, of which
    Var = V - 2hC + h^2 sum(C) is left.

    Args:
        mean: ``(|X|,)`` estimates before they are cut off at zero.
        variance: ``(|X|,)`` V, of the linear estimates.
        covariance: ``(|X|,)`` C, of each linear estimate with the sum of all.
        positive: ``(|X|,)`` booleans: above zero.
        share: ``(|X|,)`` h, the share of each value in a correction: 0 where it is not positive, 1 in all.
    """
    total, deviations, nothing = float(np.add.reduce(covariance * positive)), np.empty(len(mean)), np.zeros(1)
    for start in range(0, len(mean), _CHUNK):
        part = slice(start, start + _CHUNK)
        h = share[part]
        # Where a value is dropped its share is 0.
        inside = np.maximum(variance[part] - 2 * h * covariance[part] + h**2 * total, 0)
        deviations[part] = censored_deviation(mean[part], np.sqrt(inside), nothing, nothing)
    return deviations


def _upper_tail(place: FloatArray, density: FloatArray) -> FloatArray:
    """Return the standard normal's upper tail, to 1e-7: enough for a standard error; its density is known."""
    # Abramowitz and Stegun 26.2.17.
    t = np.abs(place)
    t *= 0.2316419
    t += 1
    np.divide(1, t, out=t)
    tail = 1.330274429 * t
    for coefficient in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        tail += coefficient
        tail *= t
    tail *= density
    # 1 - tail below 0; without a branch, which noise would have guessed wrong half of the time.
    negative = (place < 0).astype(np.float64)
    tail *= 1 - 2 * negative
    tail += negative
    return tail


# Values at a time: what is in between stays in the cache.
_START_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class LinearStart:
    """The evidence of a batch, and its linear estimate.

    Attributes:
        domain: the values.
        fingerprint: of the plan.
        decoder: the linear decoder of the mechanism.
        evidence: the tally, and the terms of the likelihood of its reports.
    """

    domain: Domain
    fingerprint: str
    decoder: Decoder
    evidence: Evidence

    @classmethod
    def of(cls, mechanism: Mechanism, data: Data) -> "LinearStart":
        """Return the start of reports, or of a tally of them, after checks.

        Raises:
            ParameterError: if ``mechanism`` is no mechanism.
            DataError: if there is no report, or none that this mechanism makes.
            MismatchError: if they belong to another plan.
        """
        if not callable(getattr(type(mechanism), "evidence", None)):
            raise ParameterError(
                f"mechanism must be what made the reports, got {type(mechanism).__name__}; "
                "surveys are estimated by estimate_survey, personalized mechanisms by estimate_personalized."
            )
        evidence = mechanism.evidence(data)
        return cls(mechanism.domain, mechanism.fingerprint, mechanism.decoder, evidence)

    @property
    def tally(self) -> Tally:
        """The counts."""
        return self.evidence.tally

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.tally.n

    @cached_property
    def linear(self) -> FloatArray:
        """``(|X|,)`` unbiased estimates."""
        return self.decoder.decode(self.tally)

    @cached_property
    def second_moments(self) -> tuple[FloatArray, FloatArray]:
        """``(A, B)`` such that n Var(p_hat_x) = A + B p - p^2."""
        return self.decoder.second_moments(self.tally, self.linear)

    @property
    def intervals(self) -> CountLimits:
        """The limits that the tally gives, whatever the point estimate is."""
        return CountLimits(self.linear, decoder=self.decoder, tally=self.tally)

    @cached_property
    def covariances(self) -> Covariance | None:
        """The covariance of the linear estimates, unbiased; None where it needs reports that are not at hand."""
        return self.decoder.covariance(self.evidence, self.linear)

    def variance(self, at: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` variances of the linear estimates where the true frequencies are ``at``."""
        constant, slope = self.second_moments
        variances, square = np.empty(len(at)), np.empty(min(_START_CHUNK, len(at)))
        for start in range(0, len(at), _START_CHUNK):
            part = slice(start, start + _START_CHUNK)
            p, each = at[part], variances[part]
            np.multiply(slope[part], p, out=each)
            each += constant[part]
            each -= np.multiply(p, p, out=square[: len(p)])
            # Rounding may take it below 0.
            np.maximum(each, 0, out=each)
            each /= self.n
        return variances

    @property
    def linear_errors(self) -> FloatArray:
        """``(|X|,)`` standard errors of the linear estimates; 0 only where there is one value, so that it is known.

        Where nothing of a value was seen, or nothing else, it is that of `plausible_variances`.
        """
        return self._own_errors[0]

    @property
    def unseen(self) -> BoolArray:
        """``(|X|,)`` booleans: true for an estimate with a standard error below half a report, by its own variance."""
        return self._own_errors[1]

    @cached_property
    def _own_errors(self) -> tuple[FloatArray, BoolArray]:
        # Where the truth is the linear estimate itself.
        size, shape = self.domain.size, self.linear.shape
        constant, slope, n = (np.broadcast_to(number, shape) for number in (*self.second_moments, self.n))
        errors, unseen = np.empty(shape), np.zeros(shape, dtype=np.bool_)
        for start in range(0, size, _START_CHUNK):
            part = ..., slice(start, start + _START_CHUNK)
            each, p = errors[part], self.linear[part]
            np.subtract(slope[part], p, out=each)
            each *= p
            each += constant[part]
            # What rounding leaves below 0 is among these few.
            few = each < 0.25 / self.n
            each[few] = np.maximum(each[few], 0)
            unseen[part] = few & (size > 1)
            # n - 1: with the data's own mean in it, this is unbiased.
            each *= 1 / np.maximum(self.n - 1, 1)
            np.sqrt(each, out=each)
        if unseen.any():
            plausible = plausible_variances(self.linear[unseen], (constant[unseen], slope[unseen]), n[unseen])
            errors[unseen] = np.maximum(np.sqrt(plausible), errors[unseen])
        return errors, unseen

    @cached_property
    def safe_variance(self) -> FloatArray:
        """``(|X|,)`` variances, above 0: as if each value had been seen once at least."""
        return np.maximum(self.variance(np.clip(self.linear, 1 / self.n, 1)), 1 / float(self.n) ** 2)

    def covariance_with_sum(self, frequencies: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of estimates of these variances with their sum."""
        return self.decoder.covariance_with_sum(self.tally, frequencies, variance)


# Of a share, of all people.
_ROUNDING = 1e-12


def linear(start: LinearStart) -> Estimate:
    """Solve for the frequencies: unbiased, may be negative, need not sum to one [ULDP, (3)].

    Wins where estimates are averaged or compared later, and where honest intervals are wanted.
    """
    return make_estimate(start, start.linear, lambda: start.linear_errors, "linear")


def threshold(start: LinearStart, *, significance: float = 0.05, remainder: str = "uniform") -> Estimate:
    """Keep the frequencies that are significantly above zero [ULDP, section 4: emp+thr].

    Wins where a few values have most of the mass and n is too small for the rest.

    Args:
        start: the reports and their linear estimate.
        significance: level of all |X| one-sided tests together (Bonferroni), in (0, 1).
        remainder: the use of the mass that is not kept: ``"uniform"`` shares it among the values
            below the threshold [ULDP], ``"zero"`` drops it [PIE].
    """
    checked_choice("remainder", remainder, ("uniform", "zero"))
    frequencies, cut = thresholded(start, checked_significance(significance), uniform=remainder == "uniform")

    def errors() -> FloatArray:
        # Not at the thresholded frequencies: there an error is stated for values that happened to pass.
        likely, _ = projection(start.linear, 1 / start.safe_variance)
        deviation = np.sqrt(half_a_report(start.variance(likely), start.n))
        return threshold_error(likely, deviation, cut, uniform=remainder == "uniform")

    return make_estimate(start, frequencies, errors, f"threshold ({remainder})")


def checked_significance(significance: object) -> float:
    """Return a significance level, or refuse it."""
    return checked_between("significance", significance)


def thresholded(start: LinearStart, significance: float, *, uniform: bool) -> tuple[FloatArray, FloatArray]:
    """Return the ``(|X|,)`` thresholded frequencies and the ``(|X|,)`` thresholds."""
    size = start.domain.size
    z = -NormalDist().inv_cdf(significance / size)
    cut = z * np.sqrt(start.variance(np.zeros(size)))
    # Of a channel's values in clear whose outputs did not occur, both are 0, the estimate but for rounding.
    significant = start.linear > cut + _ROUNDING
    frequencies = np.where(significant, start.linear, 0.0)
    mass = float(frequencies.sum())
    if mass > 1:
        return frequencies / mass, cut
    if uniform and not significant.all():
        frequencies[~significant] = (1 - mass) / np.count_nonzero(~significant)
    return frequencies, cut


def norm_subtracted(start: LinearStart) -> Estimate:
    """Take one number off every linear estimate and drop what falls below zero: Norm-Sub [Wang 2020].

    The nearest distribution in the plain metric; good where all values are equally noisy (plain
    LDP), up to several times worse than ``projected`` where some are told in clear.
    """
    frequencies, correction = norm_sub(start.linear)
    pull = np.broadcast_to(1.0, frequencies.shape)
    errors = partial(_projected_errors, start, pull, frequencies, correction)
    return make_estimate(start, frequencies, errors, "norm-sub")


def projected(start: LinearStart) -> Estimate:
    """Project the linear estimate onto the simplex in the metric of its inverse variances.

    Close to maximum likelihood at none of its cost, and needs the tally only.
    """
    variance = start.safe_variance
    frequencies, correction = projection(start.linear, 1 / variance)
    errors = partial(_projected_errors, start, variance, frequencies, correction)
    return make_estimate(start, frequencies, errors, "projected")


def _projected_errors(start: LinearStart, pull: FloatArray, frequencies: FloatArray, correction: float) -> FloatArray:
    positive = frequencies > 0
    share = pull * positive
    share /= float(np.add.reduce(share))
    variance = start.safe_variance
    covariance = start.covariance_with_sum(frequencies, variance)
    return projected_deviation(start.linear - correction * pull, variance, covariance, positive, share)


def make_estimate(
    start: LinearStart,
    frequencies: FloatArray,
    errors: FloatArray | Callable[[], FloatArray],
    method: str,
    *,
    gap: float | None = None,
    passes: float | None = None,
) -> Estimate:
    """Return an estimate of these frequencies, and of errors that may be worked out later.

    Its intervals are those of the tally. Where `LinearStart.unseen` holds, or an error is
    below half a report, the error is at least that of the linear estimate.
    """
    tally = start.tally

    def floored() -> FloatArray:
        stated = errors() if callable(errors) else errors
        if stated is start.linear_errors:
            return stated
        return larger_of_few(stated, start.linear_errors, start.unseen | all_agree(stated, tally.n))

    return Estimate(
        start.domain,
        frequencies,
        floored,
        tally.n,
        method,
        start.fingerprint,
        gap,
        passes,
        tally.simulated,
        start.intervals,
        lambda: start.covariances,
        people=Strata(start.decoder, (tally,)),
    )
