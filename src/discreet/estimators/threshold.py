"""The method ``threshold``: the frequencies that are significantly above zero."""

from statistics import NormalDist

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.linear import SIGNIFICANCE, LinearStart, Method, MethodOption
from discreet.estimators.simplex import projection, upper_tail
from discreet.results.estimate import Estimate

# Largest rounding error of a frequency.
_ROUNDING = 1e-12


def threshold_error(truth: FloatArray, deviation: FloatArray, cut: FloatArray, *, uniform: bool) -> FloatArray:
    """Return the root mean squared errors of thresholded estimates, for a given truth.

    An estimate below its threshold becomes 0, or an equal share of the mass that is expected to remain. The results
    agree with simulations from this truth to a few percent.

    Args:
        truth: ``(|X|,)`` frequencies, the means of the linear estimates.
        deviation: ``(|X|,)`` standard deviations of the linear estimates, above 0.
        cut: ``(|X|,)`` thresholds.
        uniform: whether the remaining mass is divided evenly.
    """
    place = (cut - truth) / deviation
    density = np.exp(-place * place / 2) / np.sqrt(2 * np.pi)
    above = upper_tail(place, density)
    above_mass, dropped = float((truth * above + deviation * density).sum()), float((1 - above).sum())
    below = max(1 - above_mass, 0.0) / max(dropped, 1.0) if uniform else 0.0
    squares = deviation**2 * (above + place * density) + (below - truth) ** 2 * (1 - above)
    errors: FloatArray = np.sqrt(np.maximum(squares, 0))
    return errors


def threshold(start: LinearStart, *, significance: float = 0.05, remainder: str = "uniform") -> Estimate:
    """Return the frequencies that are significantly above zero [ULDP, section 4: emp+thr].

    It is the best method if a few values have most of the mass, and n is too small for the others.

    Args:
        start: the reports and their linear estimate.
        significance: level of all |X| one-sided tests together (Bonferroni), in (0, 1).
        remainder: use of the remaining mass: ``"uniform"`` divides it among the values below the threshold [ULDP],
            ``"zero"`` drops it [PIE].
    """
    frequencies, cut = thresholded(start, significance, uniform=remainder == "uniform")

    def errors() -> FloatArray:
        # At plausible frequencies, not at the thresholded ones, which were selected by chance.
        likely, _ = projection(start.linear, 1 / start.safe_variance)
        # A deviation below half a report means that all reports agree.
        deviation = np.maximum(np.sqrt(start.variance(likely)), 0.5 / start.n)
        return threshold_error(likely, deviation, cut, uniform=remainder == "uniform")

    return start.estimate(frequencies, errors, f"threshold ({remainder})")


def thresholded(start: LinearStart, significance: float, *, uniform: bool) -> tuple[FloatArray, FloatArray]:
    """Return the ``(|X|,)`` thresholded frequencies and the ``(|X|,)`` thresholds."""
    size = start.domain.size
    z = -NormalDist().inv_cdf(significance / size)
    cut = z * np.sqrt(start.variance(np.zeros(size)))
    # A channel's value in clear whose outputs did not occur has the threshold 0, and 0 or a rounding error as estimate.
    significant = start.linear > cut + _ROUNDING
    frequencies = np.where(significant, start.linear, 0.0)
    mass = float(frequencies.sum())
    if mass > 1:
        return frequencies / mass, cut
    if uniform and not significant.all():
        frequencies[~significant] = (1 - mass) / np.count_nonzero(~significant)
    return frequencies, cut


REMAINDER = MethodOption.of(
    "remainder", ("uniform", "zero"), "how to distribute the probability below the threshold. [uniform]"
)
THRESHOLD = Method("threshold", threshold, (SIGNIFICANCE, REMAINDER))
