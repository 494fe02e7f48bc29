"""Projective blocks: hyperplanes of a projective space over GF(q), by the number of a hyperplane.

The values are different points of a space with V = (q^t - 1)/(q - 1) points, and a block is a uniform hyperplane
[Feldman, Nelson, Nguyen, Talwar 2022]. k = (q^(t-1) - 1)/(q - 1) hyperplanes contain a value, and
lambda = (q^(t-2) - 1)/(q - 1) contain two values (`discreet.theory.finite_geometry`). So

    pi = k/V,  rho = lambda/k,

both near 1/q. With q near e^eps + 1 and many values, the error is nearly the least of all mechanisms, and a report is
one index below V. For t = 2 the law is randomized response on q + 1 values, and for q = 2 a Hadamard response without
the column of ones.

Value x is point x c mod V, with the *step* c near .618 V and prime to V. Without the step, neighbouring values would
lie on common lines, and sums over neighbours would have larger errors.

Three values share lambda blocks if they lie on a line, and fewer if they do not. So no probability of three values
is stated.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count
from math import exp, expm1, gcd
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, read_only
from discreet.core.checks import checked_whole
from discreet.core.reports import Blocks
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import ChosenLaw
from discreet.mechanisms.cyclic import CyclicMembership
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.theory.finite_geometry import LARGEST_FIELD, MOST_POINTS, POLYNOMIALS, Space, is_field, singer_order
from discreet.theory.linear_decoder import LinearDecoder

# The most points of a space that is verified in place of a larger one.
_SMALL = 1 << 16


@dataclass(frozen=True)
class ProjectiveBlocks(ChosenLaw):
    """Blocks of the values in a uniform hyperplane of a projective space.

    Attributes:
        size: v, the number of sensitive values; at least 1, and at most the number of points.
        q: the number of elements of the field: a prime below 2^16, or 4, 8, 16, 32, 64 or 128.
        t: the number of digits of a point; at least 2. The space has fewer than 2^26 points.
        step: c, in 1..V - 1 and prime to V; value x is point x c mod V. 0 for the first from .618 V on.
    """

    kind = "projective"
    index = "hyperplane"

    size: int
    q: int
    t: int
    step: int = 0

    def __post_init__(self) -> None:
        """Raise an error for numbers that define no space with a point for each value, or no step.

        Raises:
            ParameterError: if one of these numbers is out of range.
        """
        bounds = {"size": (1, MOST_POINTS), "q": (2, LARGEST_FIELD - 1), "t": (2, MOST_POINTS.bit_length() - 1)}
        for name, (least, most) in bounds.items():
            object.__setattr__(self, name, checked_whole(name, getattr(self, name), least, most))
        if not is_field(self.q):
            raise ParameterError("q.no-field", argument="q", q=self.q, largest=LARGEST_FIELD)
        points = self.space.points
        if not self.size <= points < MOST_POINTS:
            raise ParameterError("t.wrong-space", argument="t", points=points, size=self.size, most=MOST_POINTS)
        if self.step == 0:
            spread = next(step for step in count(max(1, 618 * points // 1000)) if gcd(step, points) == 1)
            object.__setattr__(self, "step", spread)
        if gcd(checked_whole("step", self.step, 1, points - 1), points) != 1:
            raise ParameterError("step.not-coprime", argument="step", step=self.step, points=points)

    def smaller(self, size: int) -> "ProjectiveBlocks":
        """Return a law over few values in the largest space over the same field that has at most 2^16 points."""
        t = max((t for t in range(3, self.t) if self.q**t <= _SMALL), default=2)
        return type(self)(size, self.q, t)

    @cached_property
    def space(self) -> Space:
        """The projective space PG(t - 1, q), whose points are values."""
        return Space(self.q, self.t)

    @property
    def inclusion(self) -> Fraction:
        """Return pi = k/V, the probability that a noise block contains a given value."""
        return Fraction(self.space.degree, self.space.points)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = lambda/k, the probability that a block of one value contains a second value."""
        return Fraction(self.space.shared, self.space.degree)

    def hits(self, m: FloatArray) -> FloatArray:
        """Return the largest P(a noise block contains one of m values), which values on a line attain [Hunter 1976]."""
        k, shared, points = self.space.degree, self.space.shared, self.space.points
        return np.where(m > 0, np.minimum(1.0, (m * k - (m - 1) * shared) / points), 0.0)

    @property
    def alphabet_size(self) -> int:
        """Return V, the number of hyperplanes."""
        return self.space.points

    def points_of(self, ranks: AnyArray) -> AnyArray:
        """Return the numbers of the points of values, given their ranks; for -1 of any point."""
        points: Any = np.maximum(ranks, 0).astype(np.uint64) * np.uint64(self.step)
        size = np.uint64(self.alphabet_size)
        return np.asarray((points - points // size * size).astype(np.uint32))

    @property
    def choices(self) -> int:
        """Return k, the number of hyperplanes through a point."""
        return self.space.degree

    def containing(self, ranks: AnyArray, numbers: AnyArray) -> AnyArray:
        """Return hyperplanes through the points of values."""
        return self.space.through(self.points_of(ranks), numbers.astype(np.uint32))

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the hyperplane contains the value's point."""
        return self.space.contains(blocks[self.index][:, None], self.points_of(np.arange(self.size))[None, :])

    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` T: for each value the summed counts of the hyperplanes that contain it, exactly."""
        return self.membership_of(counts).exact_sums(counts, self.space.degree)

    def membership_of(self, counts: IntArray) -> CyclicMembership:
        """Return the membership matrix of all hyperplanes, with their counts."""
        order = singer_order(self.space)
        places = order.exponents[self.points_of(np.arange(self.size))]
        return CyclicMembership.of(counts, order.zeros, order.hyperplanes, places)


@lru_cache(maxsize=1)
def _field_sizes() -> IntArray:
    """Return all supported q, ascending."""
    composite = np.zeros(LARGEST_FIELD, np.bool_)
    composite[:2] = True
    for number in range(2, 1 << 8):
        composite[number * number :: number] = True
    composite[list(POLYNOMIALS)] = False
    return read_only(np.flatnonzero(~composite))


@lru_cache(maxsize=1 << 6)
def spaces_for(size: int) -> IntArray:
    """Return the spaces for v values, as rows of q, t and V: for each q the smallest space, and the next larger one.

    Example:
        >>> spaces_for(1000)[:, :4].T.tolist()
        [[2, 10, 1023], [2, 11, 2047], [3, 7, 1093], [3, 8, 3280]]
    """
    q, points, listed = _field_sizes(), np.ones(len(_field_sizes()), np.int64), []
    for t in range(2, MOST_POINTS.bit_length()):
        fewer, points = (points - 1) // q, np.minimum(points * q + 1, MOST_POINTS)
        # Whether the space, or the space before it, is the first that is large enough.
        fits = (points < MOST_POINTS) & (points >= size) & (fewer < size)
        listed.append(np.array([q, np.full(len(q), t), points])[:, fits])
    spaces = np.concatenate(listed, axis=1)
    return read_only(spaces[:, np.lexsort(spaces[1::-1])])


def best_space(
    spaces: IntArray, size: int, others: int, epsilon: float, mass: float | None = None
) -> tuple[int, int] | None:
    """Return q and t of the space with the smallest error of the linear estimate; None without any space.

    Args:
        spaces: q, t and V of the spaces, as of `spaces_for`.
        size: v, the number of sensitive values.
        others: the number of other values.
        epsilon: the privacy promise, in nats.
        mass: p(X_S), the share of people whose value is sensitive, for which the error is minimal; None for the worst
            case.
    """
    if not spaces.size:
        return None
    # One decoder for all spaces: its numbers are arrays.
    q, t, points = spaces
    degree: Any = (points - 1) // q
    pi, rho, lost = degree / points, (degree - 1) // q / degree, exp(-epsilon)
    odds = pi * -expm1(-epsilon)
    decoder: Any = LinearDecoder(size, others, odds / (odds + lost), lost / (odds + lost), pi, rho)
    errors = decoder.sensitive_loss
    if others:
        gain = decoder.sensitive_loss - decoder.clear_loss
        worst = np.clip((gain / 2 + 1 / others) / (1 / size + 1 / others), 0, 1)
        a = worst if mass is None else mass
        errors = decoder.clear_loss + gain * a - a**2 / size - (1 - a) ** 2 / others
    best = int(np.argmin(errors))
    return int(q[best]), int(t[best])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ProjectiveResponse(BlockMechanism):
    """Projective geometry response; utility-optimized when only some values are sensitive. One index per report.

    Args:
        domain: the values and which of them are sensitive; fewer than 2^26 sensitive ones.
        epsilon: the privacy promise, in nats.
        q: the number of elements of the field: a prime below 2^16, or 4, 8, 16, 32, 64 or 128; None for the best q by
            worst-case error. It is near e^epsilon + 1 for many values.
        t: the number of digits of a point, at least 2; None for the better one of the two smallest spaces for this q
            that have a point for each value.

    Raises:
        ParameterError: if a parameter is out of range, or the space has too few or too many points.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.ProjectiveResponse(dc.Domain(range(1000)), epsilon=1.0)
        >>> mechanism.settings, mechanism.law.alphabet_size
        ({'q': 4, 't': 6}, 1365)
        >>> reports = mechanism.obfuscate([3] * 10_000, random=dc.SeededRandom(1))
        >>> bool(abs(dc.estimate(mechanism, reports).frequencies[3] - 1) < 0.3)
        True
    """

    name = "projective"
    laws = (ProjectiveBlocks,)

    q: int | None = None
    t: int | None = None

    @cached_property
    def law(self) -> ProjectiveBlocks:
        """The block law: hyperplanes of a projective space."""
        size, q, t = sensitive_size(self.domain), self.q, self.t
        if q is None or t is None:
            spaces = spaces_for(size)
            spaces = spaces[:, (spaces[0] == (q or spaces[0])) & (spaces[1] == (t or spaces[1]))]
            q, t = best_space(spaces, size, self.domain.clear_count, self.epsilon) or (0, 0)
        if not q:
            raise ParameterError("q.no-space", argument="q", size=size, most=MOST_POINTS)
        return ProjectiveBlocks(size, q, t)

    @property
    def settings(self) -> dict[str, float]:
        """Return q, the number of elements of the field, and t, the number of digits of a point."""
        return {"q": self.law.q, "t": self.law.t}
