"""The named estimators from linear decoding, each with its own standard errors.

Errors are worked out when they are first asked for: many want the frequencies only, or intervals, which need none.
"""

from collections.abc import Callable
from functools import partial
from statistics import NormalDist

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_choice, real_number, shown
from discreet.core.deferred import Deferred
from discreet.core.estimate import Estimate
from discreet.core.limits import ConfidenceLimits
from discreet.errors import ParameterError
from discreet.estimators.linear_start import LinearStart
from discreet.estimators.simplex import norm_sub, projection
from discreet.estimators.spread import projected_deviation, threshold_error
from discreet.estimators.strata import Strata

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
        deviation = np.sqrt(np.maximum(start.variance(likely), (0.5 / start.n) ** 2))
        return threshold_error(likely, deviation, cut, uniform=remainder == "uniform")

    return make_estimate(start, frequencies, errors, f"threshold ({remainder})")


def checked_significance(significance: object) -> float:
    """Return a significance level, or refuse it."""
    number = real_number(significance)
    if not 0 < number < 1:
        raise ParameterError(
            f"significance must be a number between 0 and 1, both excluded, got {shown(significance)}."
        )
    return number


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
    intervals: ConfidenceLimits | None = None,
) -> Estimate:
    """Return an estimate of these frequencies, and of errors that may be worked out later.

    Its intervals are those of the tally, unless others are passed. Where `LinearStart.unseen` holds, or an error is
    below half a report, the error is at least that of the linear estimate.
    """
    tally = start.tally

    def floored() -> FloatArray:
        found = errors() if callable(errors) else errors
        if found is not start.linear_errors:
            bare = np.flatnonzero(start.unseen | (found < 0.5 / tally.n))
            found[bare] = np.maximum(found[bare], start.linear_errors[bare])
        return found

    return Estimate(
        start.domain,
        frequencies,
        Deferred(floored),
        tally.n,
        method,
        start.fingerprint,
        gap,
        passes,
        tally.simulated,
        intervals or start.intervals,
        start.spread,
        people=Strata(start.decoder, (tally,)),
    )
