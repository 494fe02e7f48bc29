"""Projective spaces over finite fields: numbers of points and hyperplanes, and Singer's cyclic order of both.

The space PG(t - 1, q) has V = (q^t - 1)/(q - 1) points and as many hyperplanes, with k = (q^(t-1) - 1)/(q - 1) points
in each; two points share lambda = (q^(t-2) - 1)/(q - 1) hyperplanes. A point is a vector of t digits below q, up to a
factor. Of its q - 1 vectors one has the highest non-zero digit 1. *Point i* has this digit at the place j with
(q^j - 1)/(q - 1) <= i < (q^(j+1) - 1)/(q - 1), and below it the digits of i - (q^j - 1)/(q - 1) in base q. So points
need no table. The *integer* of a point has the same digits in base q, which include the leading 1.

Hyperplane b is the vector y of point b. As an element of hyperplanes, point i is the vector X of its digits in
*reverse* order. It is in hyperplane b if the sum of X_m y_m is 0 in GF(q).

Arithmetic is modulo q for a prime q. For q = 2^m digits are polynomials over GF(2): sums are XOR, and products are
taken modulo an irreducible polynomial.

**Singer's order** [Singer 1938]. If no power of w below w^V is in GF(q), each point is a power of w. With the
recurrence w^t = c_0 + c_1 w + ..., the sequence s of the last coordinate of w^n has the windows (s_b, ..., s_(b+t-1)),
which are all hyperplanes, and w^a is in hyperplane b if s_(a+b) = 0. So sums over the points of all hyperplanes are one
cyclic correlation. Nothing but this computation depends on w.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray, read_only
from discreet.theory.arithmetic import is_prime

POLYNOMIALS = {4: 7, 8: 11, 16: 19, 32: 37, 64: 67, 128: 131}
"""The irreducible polynomial of each field of 2^m elements, m > 1, as bits."""

MOST_POINTS = 1 << 26
"""Spaces have fewer points, so that products of two numbers of points are below 2^53 on every device."""

LARGEST_FIELD = 1 << 16
"""Fields of a prime number of elements have fewer elements."""

# Points numbered at a time: their arrays fit into the cache.
_AT_ONCE = 1 << 15


def is_field(q: int) -> bool:
    """Return true if spaces over a field of q elements are supported: q is a prime below 2^16, or 4, 8, ..., 128."""
    return q in POLYNOMIALS or (2 <= q < LARGEST_FIELD and is_prime(q))


@dataclass(frozen=True)
class Field:
    """The field of q elements 0..q - 1; see `is_field`.

    Sums of products are added in place, and reduced once: modulo a prime, the remainder of the whole sum is enough.
    """

    q: int

    @cached_property
    def _table(self) -> AnyArray | None:
        """``(q^2,)`` the products of all pairs of elements; None for a prime q."""
        if self.q not in POLYNOMIALS:
            return None
        first, second = np.arange(self.q)[:, None], np.arange(self.q)[None, :]
        table = np.zeros((self.q, self.q), np.int64)
        for _ in range(self.q.bit_length() - 1):
            table ^= np.where(second & 1, first, 0)
            first, second = first << 1, second >> 1
            first = np.where(first >= self.q, first ^ POLYNOMIALS[self.q], first)
        return read_only(table.reshape(-1).astype(np.uint8))

    def lane(self, terms: int) -> Any:
        """Return the type of integers in which sums of this number of products do not overflow."""
        return np.uint32 if terms * self.q**2 < 1 << 32 else np.uint64

    def add_product(self, total: AnyArray, left: Any, right: Any) -> None:
        """Add products of elements to sums that are not reduced, in place; all have the sums' type."""
        if self._table is None:
            total += left * right
        else:
            total ^= self._table.take(left * total.dtype.type(self.q) + right)

    def reduced(self, total: Any) -> Any:
        """Return the elements that sums of products are."""
        # A quotient by one number takes a fraction of the time of a remainder.
        q = total.dtype.type(self.q)
        return total - total // q * q if self._table is None else total

    def product(self, left: AnyArray, right: AnyArray) -> Any:
        """Return the products of elements; both arrays have the type `lane` of one term, and are broadcast."""
        total = np.zeros(np.broadcast_shapes(left.shape, right.shape), self.lane(1))
        self.add_product(total, left, right)
        return self.reduced(total)

    @cached_property
    def inverses(self) -> AnyArray:
        """``(q,)`` the inverse of each element, which is its power q - 2."""
        elements = np.arange(1, self.q, dtype=self.lane(1))
        # Small tables in fields of 2^m elements; modulo a prime Python inverts.
        if self._table is not None:
            return np.append(0, np.argmax(self.product(elements[:, None], elements) == 1, axis=1) + 1).astype(np.uint32)
        return np.array([0, *(pow(element, -1, self.q) for element in elements.tolist())], self.lane(1))


@dataclass(frozen=True)
class Space:
    """The projective space PG(t - 1, q), with fewer than 2^26 points.

    Attributes:
        q: the number of elements of the field; see `is_field`.
        t: the number of digits of a point, at least 2.
    """

    q: int
    t: int

    def _count(self, digits: int) -> int:
        return int(self.q**digits - 1) // (self.q - 1)

    @property
    def points(self) -> int:
        """V, the number of points, and of hyperplanes."""
        return self._count(self.t)

    @property
    def degree(self) -> int:
        """k, the number of hyperplanes through a point, and of points in a hyperplane."""
        return self._count(self.t - 1)

    @property
    def shared(self) -> int:
        """lambda, the number of hyperplanes through two points."""
        return self._count(self.t - 2)

    @cached_property
    def field(self) -> Field:
        """The field GF(q) of the digits."""
        return Field(self.q)

    @cached_property
    def _firsts(self) -> AnyArray:
        """``(t,)`` for each place, the number of the first point with its leading 1 there."""
        return np.array([self._count(place) for place in range(self.t)], np.uint32)

    @cached_property
    def gaps(self) -> AnyArray:
        """``(t,)`` for each place, the difference between the integer and the number of a point with its 1 there."""
        return np.array([self.q**place for place in range(self.t)], np.uint32) - self._firsts

    def _leading(self, numbers: AnyArray) -> IntArray:
        """Return the places of the leading 1 of points, given their numbers."""
        places: IntArray = np.searchsorted(self._firsts, numbers, side="right") - 1
        return places

    def integers(self, numbers: AnyArray) -> AnyArray:
        """Return the integers of points, with the points' digits in base q, given their numbers."""
        return numbers.astype(np.uint32) + self.gaps[self._leading(numbers)]

    def _dot(self, first: AnyArray, second: AnyArray, digits: int) -> AnyArray:
        """Return sums of products of the digits of one integer with the reversed digits of another, not reduced."""
        lane = self.field.lane(digits)
        low, high, q = first.astype(lane), second.astype(lane), lane(self.q)
        total = np.zeros(np.broadcast_shapes(low.shape, high.shape), lane)
        for place in range(digits - 1, -1, -1):
            rest, digit = low // q, high // lane(self.q**place)
            self.field.add_product(total, low - rest * q, digit)
            low, high = rest, high - digit * lane(self.q**place)
        return total

    def contains(self, hyperplanes: AnyArray, points: AnyArray) -> BoolArray:
        """Return booleans, true where a hyperplane contains a point, given the numbers of both, which are broadcast."""
        products = self._dot(self.integers(points), self.integers(hyperplanes), self.t)
        contained: BoolArray = self.field.reduced(products) == 0
        return contained

    def through(self, points: AnyArray, chosen: AnyArray) -> AnyArray:
        """Return a hyperplane through each point: each of the k hyperplanes for one of k numbers.

        With s the lowest place of a non-zero digit of X, which is 1, hyperplane y has all digits of a point z of
        t - 1 digits, with one more at place s, for which the sum of products is 0. If z has no digit at s or above, the
        new digit is 0. So y has the highest non-zero digit 1.

        Args:
            points: ``(n,)`` numbers of points, of 32 bits.
            chosen: ``(n,)`` integers 0..k - 1, of 32 bits: z.
        """
        leading, places = self._leading(points), self._leading(chosen)
        z, power = chosen + self.gaps[places], np.uint32(self.q) ** (self.t - 1 - leading).astype(np.uint32)
        sums = self._dot(points - self._firsts[leading], z, self.t - 1)
        if self.q not in POLYNOMIALS:
            sums = self.field.reduced(sums.dtype.type((self.t - 1) * self.q**2) - sums)
        above = z // power
        y = z + power * (above * np.uint32(self.q - 1) + sums.astype(np.uint32))
        hyperplanes: AnyArray = y - self.gaps[places + (above > 0)]
        return hyperplanes


class SingerOrder(NamedTuple):
    """The points and hyperplanes of a space in Singer's order.

    Attributes:
        hyperplanes: ``(V,)`` the number of the hyperplane with each exponent b.
        exponents: ``(V,)`` the exponent a of the point with each number.
        zeros: ``(V,)`` booleans: the point a is in the hyperplane b if entry (a + b) mod V is true.
    """

    hyperplanes: AnyArray
    exponents: AnyArray
    zeros: BoolArray


@lru_cache(maxsize=2)
def singer_order(space: Space) -> SingerOrder:
    """Return the points and hyperplanes of a space in Singer's order.

    Example:
        >>> order = singer_order(Space(2, 3))
        >>> order.hyperplanes.tolist(), int(order.zeros.sum())
        ([3, 1, 4, 5, 6, 2, 0], 3)
    """
    powers, size, t = _Powers.of(space), space.points, space.t
    sequence = powers.sequence(size + t - 1)
    hyperplanes, exponents = np.empty(size, np.uint32), np.empty(size, np.uint32)
    for start in range(0, size, _AT_ONCE):
        stop = min(start + _AT_ONCE, size)
        part = sequence[start : stop + t - 1].astype(np.uint32)
        windows = [part[place : place + stop - start] for place in range(t)]
        hyperplanes[start:stop] = powers.numbers(windows)
        # Reversed coordinates of w^(n + t): the coordinate t - 1 - l is the sum of c_j s_(n + l + j) over j < t - l.
        reverse = [powers.combined(powers.recurrence[: t - place], windows[place:]) for place in range(t)]
        later = np.arange(start + t, stop + t, dtype=np.uint32)
        exponents[powers.numbers(reverse)] = np.minimum(later, later - np.uint32(size))
    return SingerOrder(read_only(hyperplanes), read_only(exponents), read_only(sequence[:size] == 0))


class _Powers:
    """The powers of an element w of the field of q^t elements, as coordinates: digits from w^0 to w^(t - 1).

    Args:
        space: the space.
        recurrence: the coefficients c of w^t = c_0 + c_1 w + ....
    """

    def __init__(self, space: Space, recurrence: Sequence[int]) -> None:
        self._space, self.recurrence = space, tuple(recurrence)
        self._lane = space.field.lane(space.t)
        # The matrix of the product with w.
        self._step = np.eye(space.t, k=-1, dtype=self._lane)
        self._step[:, -1] = recurrence

    @classmethod
    def of(cls, space: Space) -> "_Powers":
        """Return the powers of the first element whose powers are all points, in the order of recurrences."""
        whole = space.points
        parts = [whole // prime for prime in _prime_factors(whole)]
        every = (cls(space, recurrence) for recurrence in _recurrences(space.q, space.t))
        return next(w for w in every if w._is_scalar(whole) and not any(map(w._is_scalar, parts)))

    def _is_scalar(self, exponent: int) -> bool:
        return not any(self._coordinates(exponent)[1:])

    def _coordinates(self, exponent: int) -> list[int]:
        """Return the coordinates of w^exponent, for an exponent of at least 1."""
        matrix = self._step
        for bit in f"{exponent:b}"[1:]:
            matrix = np.array([self.combined(row, matrix) for row in matrix])
            matrix = np.array([self.combined(row, self._step) for row in matrix]) if bit == "1" else matrix
        return [int(digit) for digit in matrix[:, 0]]

    def combined(self, factors: Any, rows: Any) -> AnyArray:
        """Return the sum of factors times rows of elements."""
        total: AnyArray = np.zeros(rows[0].shape, self._lane)
        for factor, row in zip(factors, rows, strict=True):
            if factor:
                self._space.field.add_product(total, self._lane(factor), row)
        return np.asarray(self._space.field.reduced(total))

    def sequence(self, length: int) -> AnyArray:
        """Return ``(length,)`` last coordinates of w^0, w^1, ..., each part from the part before it."""
        t, filled = self._space.t, self._space.t
        terms = np.zeros(max(length, t), np.uint8 if self._space.q <= 1 << 8 else np.uint16)
        terms[t - 1] = 1
        while filled < length:
            # Term n + N is the sum of the coordinates of w^N times terms n, ..., n + t - 1.
            ahead = max(filled - t + 1, t)
            factors, stop = self._coordinates(ahead), min(filled + ahead - t + 1, length)
            for start in range(filled, stop, _AT_ONCE):
                end = min(start + _AT_ONCE, stop)
                rows = [terms[start - ahead + place : end - ahead + place] for place in range(t)]
                terms[start:end] = self.combined(factors, rows)
            filled = stop
        return terms[:length]

    def numbers(self, rows: Sequence[AnyArray]) -> AnyArray:
        """Return the numbers of points, given their digits up to a factor, from the lowest place on."""
        space, field = self._space, self._space.field
        whole = self._integers(rows, np.uint32 if space.q**space.t <= 1 << 32 else np.uint64)
        powers = np.array([space.q**place for place in range(space.t)], whole.dtype)
        places = np.searchsorted(powers, whole, side="right") - 1
        if space.q > 2:
            factor = field.inverses[whole // powers[places]]
            whole = self._integers([field.product(row, factor) for row in rows], np.uint32)
        return whole.astype(np.uint32) - space.gaps[places]

    def _integers(self, rows: Sequence[AnyArray], lane: Any) -> AnyArray:
        total = rows[-1].astype(lane)
        for row in reversed(rows[:-1]):
            total *= lane(self._space.q)
            total += row.astype(lane)
        return total


def _recurrences(q: int, t: int) -> Iterator[list[int]]:
    """Yield coefficients c_0, ..., c_(t-1): c_0 not 0, c_1 from 1 on, and the others from 0 on."""
    for number in range((q - 1) * q ** (t - 1)):
        rest, first = divmod(number, q - 1)
        others = [rest // q**place % q for place in range(t - 1)]
        yield [1 + first, (others[0] + 1) % q, *others[1:]]


def _prime_factors(number: int) -> list[int]:
    """Return the different prime factors of an integer of at least 2."""
    factors, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            factors.append(divisor)
        while number % divisor == 0:
            number //= divisor
        divisor += 1
    return [*factors, number] if number > 1 else factors
