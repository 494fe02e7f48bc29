"""The method ``threshold``: the frequencies that are significantly above zero."""

from statistics import NormalDist

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.linear import SIGNIFICANCE, LinearStart, Method, MethodOption
from discreet.estimators.simplex import projection, upper_tail
from discreet.results.estimate import Estimate
from discreet.theory.limits import half_a_report

# Of a share, of all people.
_ROUNDING = 1e-12


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
    above = upper_tail(place, density)
    above_mass, dropped = float((truth * above + deviation * density).sum()), float((1 - above).sum())
    below = max(1 - above_mass, 0.0) / max(dropped, 1.0) if uniform else 0.0
    squares = deviation**2 * (above + place * density) + (below - truth) ** 2 * (1 - above)
    errors: FloatArray = np.sqrt(np.maximum(squares, 0))
    return errors


def threshold(start: LinearStart, *, significance: float = 0.05, remainder: str = "uniform") -> Estimate:
    """Keep the frequencies that are significantly above zero [ULDP, section 4: emp+thr].

    Wins where a few values have most of the mass and n is too small for the rest.

    Args:
        start: the reports and their linear estimate.
        significance: level of all |X| one-sided tests together (Bonferroni), in (0, 1).
        remainder: the use of the mass that is not kept: ``"uniform"`` shares it among the values
            below the threshold [ULDP], ``"zero"`` drops it [PIE].
    """
    frequencies, cut = thresholded(start, significance, uniform=remainder == "uniform")

    def errors() -> FloatArray:
        # Not at the thresholded frequencies: there an error is stated for values that happened to pass.
        likely, _ = projection(start.linear, 1 / start.safe_variance)
        deviation = np.sqrt(half_a_report(start.variance(likely), start.n))
        return threshold_error(likely, deviation, cut, uniform=remainder == "uniform")

    return start.estimate(frequencies, errors, f"threshold ({remainder})")


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


REMAINDER = MethodOption.of(
    "remainder", ("uniform", "zero"), "how to distribute the probability below the threshold. [uniform]"
)
THRESHOLD = Method("threshold", threshold, (SIGNIFICANCE, REMAINDER))
