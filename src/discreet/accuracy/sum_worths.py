"""The worth of a report to a sum of sensitive frequencies: its second and third moment, from which intervals follow.

Let K of the m values of a set C be in a block, phi_out the worth of a report to a value outside its block and d more to
one inside: to the sum over C it is worth W = m phi_out + d K. Where all values are alike, K has factorial moments

    of noise:                 (m)_j J_j,
    of a truth in C:          K - 1 has (m - 1)_j J_{j+1} / pi,
    of another sensitive one: (m)_j J_{j+1} / pi,

with J_j the probability that j given values are all in a noise block, and (m)_j = m (m - 1) ... (m - j + 1). A report
in clear is worth the same to every value. So E W^k is affine in the sum t of the frequencies, given p(X_S), and t has
the limits of `discreet.accuracy.skewed_limits`. For m = 1 these are the moments of one value.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from discreet.accuracy.skewed_limits import WorthMoment
from discreet.arrays import FloatArray


@dataclass(frozen=True)
class AlikeBlocks:
    """Reports of truth or noise over values that are alike, and what they are worth.

    Attributes:
        truth: s.
        noisy: 1 - s.
        joint: J_1 to J_4.
        worth: of a report to a value in its block, to one outside, and of a report in clear.
        share: of the reports that are such; those of one block size, where sizes are told apart.
    """

    truth: float
    noisy: float
    joint: tuple[float, float, float, float]
    worth: tuple[float, float, float]
    share: float = 1.0

    def moment(self, power: int, count: FloatArray, mass: float) -> tuple[FloatArray, FloatArray]:
        """Return constant and slope of E W^power, affine in the sum of the frequencies.

        Args:
            power: 2 or 3.
            count: ``(c,)`` m, the number of values of each set.
            mass: p(X_S).
        """
        given = tuple(later / self.joint[0] for later in self.joint[1:])
        noise = self._power(power, count, _factorial_moments(count, self.joint[:3]), 0)
        own = self._power(power, count, _factorial_moments(count - 1, given), 1)
        other = self._power(power, count, _factorial_moments(count, given), 0)
        silent = (count * self.worth[2]) ** power
        constant = self.noisy * noise + self.truth * (mass * other + (1 - mass) * silent)
        return self.share * constant, self.share * self.truth * (own - other)

    def _power(self, power: int, count: FloatArray, moments: tuple[FloatArray, ...], more: int) -> FloatArray:
        """Return E W^power where K - more has these factorial moments."""
        inside, outside, _ = self.worth
        base, step = count * outside + more * (inside - outside), inside - outside
        first, second, third = moments
        raw = (1.0, first, second + first, third + 3 * second + first)
        coefficients = ((1.0,), (1.0, 1.0), (1.0, 2.0, 1.0), (1.0, 3.0, 3.0, 1.0))[power]
        terms = [c * base ** (power - j) * step**j * raw[j] for j, c in enumerate(coefficients)]
        whole: FloatArray = np.sum(np.broadcast_arrays(*terms), axis=0)
        return whole


def _factorial_moments(count: FloatArray, joint: tuple[float, ...]) -> tuple[FloatArray, ...]:
    falling, found = np.ones_like(count), []
    for j, together in enumerate(joint):
        falling = falling * np.maximum(count - j, 0)
        found.append(falling * together)
    return tuple(found)


def sum_moments(parts: list[AlikeBlocks], count: FloatArray, mass: float) -> tuple[WorthMoment, WorthMoment]:
    """Return the second and third moment of a report's worth to sums of ``(c,)`` numbers of sensitive values.

    Args:
        parts: the reports, by block size where sizes are told apart.
        count: ``(c,)`` numbers of values.
        mass: p(X_S), about.
    """
    found = []
    for power in (2, 3):
        constant, slope = np.sum([part.moment(power, count, mass) for part in parts], axis=0)
        nothing, everything = (sum(part.moment(power, count, end)[0] for part in parts) for end in (0.0, 1.0))
        found.append(WorthMoment(constant, slope, everything - nothing))
    return found[0], found[1]


def joint_share(size: int, count: int, given: int) -> Fraction:
    """Return the probability that a uniform subset of ``count`` of ``size`` values holds ``given`` given ones."""
    return prod((Fraction(max(count - j, 0), max(size - j, 1)) for j in range(given)), start=Fraction(1))
