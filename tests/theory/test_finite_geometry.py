"""Projective spaces: points and hyperplanes by enumeration, and Singer's order against it."""

from itertools import product

import numpy as np
import pytest

from discreet.theory.finite_geometry import POLYNOMIALS, Space, is_field, singer_order

SPACES = [Space(q, t) for q in (2, 3, 4, 5, 7, 8, 16, 23) for t in range(2, 9) if (q**t - 1) // (q - 1) <= 700]
every = pytest.mark.parametrize("space", SPACES, ids=str)


def product_in(field: int, left: int, right: int) -> int:
    """Return a product in GF(q), for q = 2^m by long division of polynomials."""
    if field not in POLYNOMIALS:
        return left * right % field
    whole = 0
    for bit in range(8):
        whole ^= (left << bit) * (right >> bit & 1)
    for bit in range(15, -1, -1):
        if whole >> bit & 1 and 1 << bit >= field:
            whole ^= POLYNOMIALS[field] << bit - (field.bit_length() - 1)
    return whole


def sum_in(field: int, terms: list[int]) -> int:
    """Return a sum in GF(q)."""
    total = 0
    for term in terms:
        total = total ^ term if field % 2 == 0 else (total + term) % field
    return total


def vectors(space: Space) -> list[tuple[int, ...]]:
    """Return the digits of all points, the highest first, in the order of their numbers."""
    every_vector = product(range(space.q), repeat=space.t)
    return [digits for digits in every_vector if next((digit for digit in digits if digit), 0) == 1]


@every
def test_points_and_hyperplanes_are_those_of_the_definition(space: Space) -> None:
    points = vectors(space)
    assert len(points) == space.points
    places = range(0, space.points, max(space.points // 40, 1))
    contained = space.contains(np.arange(space.points)[:, None], np.arange(space.points)[None, :])
    for hyperplane in places:
        for point in places:
            # Of a value the digits are reversed.
            pairs = zip(points[hyperplane], reversed(points[point]), strict=True)
            products = [product_in(space.q, y, x) for y, x in pairs]
            assert contained[hyperplane, point] == (sum_in(space.q, products) == 0)
    shared = contained.T.astype(np.int64) @ contained
    expected = np.full_like(shared, space.shared)
    np.fill_diagonal(expected, space.degree)
    np.testing.assert_array_equal(shared, expected)


@every
def test_every_hyperplane_through_a_point_is_drawn_by_one_number(space: Space) -> None:
    points, chosen = np.meshgrid(np.arange(space.points), np.arange(space.degree), indexing="ij")
    drawn = space.through(points.reshape(-1).astype(np.uint32), chosen.reshape(-1).astype(np.uint32))
    inside = np.zeros((space.points, space.points), np.int64)
    np.add.at(inside, (drawn, points.reshape(-1)), 1)
    contained = space.contains(np.arange(space.points)[:, None], np.arange(space.points)[None, :])
    np.testing.assert_array_equal(inside, contained)


@pytest.mark.parametrize("space", [*SPACES, Space(9_973, 2), Space(127, 3), Space(128, 3), Space(2, 17)], ids=str)
def test_incidence_in_singers_order_is_cyclic(space: Space) -> None:
    order = singer_order(space)
    assert np.array_equal(np.sort(order.hyperplanes), np.arange(space.points))
    assert np.array_equal(np.sort(order.exponents), np.arange(space.points))
    some = np.random.default_rng(1).integers(0, space.points, (2, 3000))
    by_number = space.contains(order.hyperplanes[some[0]], some[1])
    np.testing.assert_array_equal(order.zeros[(some[0] + order.exponents[some[1]]) % space.points], by_number)
    assert int(order.zeros.sum()) == space.degree


def test_numbers_of_the_plane_of_13_points() -> None:
    listed = ["001", "010", "011", "012", "100", "101", "102", "110", "111", "112", "120", "121", "122"]
    assert vectors(Space(3, 3)) == [tuple(map(int, digits)) for digits in listed]
    assert Space(3, 3).integers(np.arange(13)).tolist() == [int(digits, 3) for digits in listed]


def test_fields() -> None:
    assert [q for q in range(140) if q > 1 and is_field(q)] == sorted(
        [*(n for n in range(2, 140) if all(n % d for d in range(2, n))), *POLYNOMIALS]
    )
    assert is_field(65_521)
    assert not is_field(65_537)
    for q in POLYNOMIALS:
        # Every element but 0 has one inverse: the polynomial is irreducible.
        assert all(sum(product_in(q, one, other) == 1 for other in range(q)) == 1 for one in range(1, q))
