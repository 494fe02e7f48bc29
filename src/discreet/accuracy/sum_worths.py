"""The worth of a report to a sum of frequencies: its second and third moment, from which limits follow.

Let C be a set of values of which m can be in a block, K of them in a given one and K' of the other v - m; phi_out the
worth of a report to a value outside its block and d more to one inside, kappa that of a report in clear to every value
that blocks cover, and 1/s to its own value in clear. All estimates together are known to sum to 1, so that

    W' = W_C - lambda (W_1 - 1),   lambda = Cov(W_C, W_1) / Var(W_1),

with W_1 the worth to the sum over all values, has the mean of W_C and the least variance [control by a known total].
Where all values are alike, K and K' have joint factorial moments

    of noise:                 (m)_i (v - m)_j J_{i+j},
    of a truth in C:          those of K - 1 and K', of m - 1 and v - m values, with J_{i+j+1} / pi,
    of another sensitive one: those of K and K' - 1, likewise,

with J_j the probability that j given values are all in a noise block, and (m)_j = m (m - 1) ... (m - j + 1). So
E W'^k is the mean over four kinds of people: sensitive in C and elsewhere, in clear in C and elsewhere. Where the sum
moves to t, the part in clear is the smaller of t and what was counted, and the sensitive part the rest of t.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod

import numpy as np

from discreet.accuracy.skewed_limits import WorthMoment
from discreet.arrays import FloatArray

# Of powers by falling factorials [Stirling numbers of the second kind].
_STIRLING = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 3, 1]])
_PLACES = np.add.outer(np.arange(4), np.arange(4))


@dataclass(frozen=True, eq=False)
class ValueSets:
    """Sets of values, and the people who may have them.

    Attributes:
        size: ``(c,)`` m, the number of values of each set that blocks cover.
        told: ``(c,)`` the share of people who have one of its values in clear, as counted.
        control: ``(c,)`` lambda; 0 where the sum over the set stands by itself.
        covered: v, the number of values that blocks cover.
        mass: a, the share of the people whose value blocks cover, as far as reports in clear tell.
    """

    size: FloatArray
    told: FloatArray
    control: FloatArray
    covered: int
    mass: float


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

    def moments(self, power: int, sets: ValueSets) -> FloatArray:
        """Return ``(4, c)`` E W'^power of a report of somebody sensitive in C, elsewhere; in clear in C, elsewhere."""
        inside, outside, silent = self.worth
        m, others, kept = sets.size, sets.covered - sets.size, 1 - sets.control
        own, other = kept * (inside - outside), -sets.control * (inside - outside)
        base = outside * (m - sets.control * sets.covered) + sets.control
        given = tuple(later / self.joint[0] for later in self.joint[1:])
        # Of noise, of a truth in C, and of another sensitive one, in one go.
        bases = np.array([base, base + own, base + other])
        counts = np.array([m, m - 1, m]), np.array([others, others, others - 1])
        joint = np.array([(1.0, *self.joint[:3]), (1.0, *given), (1.0, *given)])
        noise, in_set, elsewhere = _power(power, (bases, own, other), counts, joint)
        beside = silent * (m - sets.control * sets.covered) + sets.control
        told = (beside + kept / self.truth) ** power, (beside - sets.control / self.truth) ** power
        whole = np.array(np.broadcast_arrays(in_set, elsewhere, *told))
        found: FloatArray = self.share * (self.noisy * noise + self.truth * whole)
        return found


def _power(
    power: int,
    factors: tuple[FloatArray, FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray],
    joint: FloatArray,
) -> FloatArray:
    """Return ``(3, c)`` E (b + f K + g K')^power, with b, f, g, the numbers of values of K and K', and J_0 to J_3."""
    steps = np.arange(3.0)[:, None, None]
    own, other = (
        np.concatenate([np.ones((1, *count.shape)), np.maximum(count - steps, 0).cumprod(axis=0)]) for count in counts
    )
    padded = np.pad(joint, ((0, 0), (0, 3))).T[_PLACES][..., None]
    together = own[:, None] * other[None] * padded
    # Means of powers from those of falling factorials.
    means = np.tensordot(_STIRLING, np.tensordot(_STIRLING, together, (1, 0)), (1, 1)).swapaxes(0, 1)
    base, first, second = factors
    found: FloatArray = sum(
        comb(power, i) * comb(power - i, j) * (base ** (power - i - j) * first**i * second**j) * means[i, j]
        for i in range(power + 1)
        for j in range(power + 1 - i)
    )
    return found


def sum_moment(parts: Sequence[AlikeBlocks], sets: ValueSets, power: int) -> WorthMoment:
    """Return the second or third moment of a report's worth to controlled sums over sets, as their frequency moves.

    Args:
        parts: the reports, by block size where sizes are told apart.
        sets: what is summed.
        power: 2 or 3.
    """
    a, told = sets.mass, sets.told
    own, other, in_clear, clear = np.sum([part.moments(power, sets) for part in parts], axis=0)
    turn = in_clear - clear - own + other
    middle = a * other + (1 - a) * clear + told * turn
    return WorthMoment(middle, own - other, other - clear, np.where(told > 0, turn, 0.0))


def joint_share(size: int, count: int, given: int) -> Fraction:
    """Return the probability that a uniform subset of ``count`` of ``size`` values holds ``given`` given ones."""
    return prod((Fraction(max(count - j, 0), max(size - j, 1)) for j in range(given)), start=Fraction(1))
