"""Errors and promises of other ways to ask for several attributes, against every output of small ones."""

from itertools import product
from math import log, prod

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms import BlockMechanism
from discreet.surveys.planning import fake_moment, joint_moment, second_moment
from discreet.testing import spell_out


def moment(mechanism: BlockMechanism, parts: int, p: np.ndarray) -> float:
    """Return E |phi|^2 of a marginal whose cells are ``parts`` values in a row each, from every output."""
    outputs = spell_out(mechanism)
    worths = mechanism.decoder.worth(outputs.reports).reshape(len(outputs.clear), -1, parts).sum(axis=2)
    return float(p @ outputs.matrix @ (worths**2).sum(axis=1))


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("kind", [dc.SubsetSelection, dc.UnaryEncoding, dc.RandomizedResponse])
def test_a_joint_question_has_the_error_of_every_output(kind: type[BlockMechanism], parts: int) -> None:
    mechanism = kind(dc.Domain(range(8)), 0.7)
    law, numbers = mechanism.law, mechanism.numbers
    triple = law.triple_covariance + law.conditional_inclusion**2
    pair = float(law.inclusion), float(law.conditional_inclusion)
    for p in (np.full(8, 1 / 8), np.random.default_rng(1).dirichlet(np.ones(8))):
        expected = moment(mechanism, parts, p)
        assert joint_moment(8, parts, numbers.truth, *pair, float(triple)) == pytest.approx(expected, rel=1e-9)


def test_the_joint_question_of_five_attributes_of_the_census() -> None:
    sizes, squares = (7, 8, 2, 5, 2), 0.2949584016800244
    for epsilon, wanted in [(1, 7.59e-2), (3, 4.54e-3), (5, 5.59e-4)]:
        mechanism = dc.SubsetSelection(dc.Domain(range(1120)), epsilon)
        law, numbers = mechanism.law, mechanism.numbers
        shares = law.inclusion, law.conditional_inclusion, law.joint_inclusion(3) / law.inclusion
        terms = (numbers.truth, *map(float, shares))
        pairs = [(a, b) for place, a in enumerate(sizes) for b in sizes[:place]]
        errors = [joint_moment(1120, 1120 // (a * b), *terms) for a, b in pairs]
        assert (np.mean(errors) - squares) / 50_000 == pytest.approx(wanted, rel=2e-3)


def test_products_have_the_product_of_the_moments() -> None:
    first, second = dc.RandomizedResponse(dc.Domain(range(3)), 0.7), dc.RandomizedResponse(dc.Domain(range(4)), 1.3)
    each = [moment(mechanism, 1, np.eye(mechanism.domain.size)[0]) for mechanism in (first, second)]
    assert prod(each) == pytest.approx(53.186478, abs=1e-6)
    assert prod(map(second_moment, (first, second))) == pytest.approx(53.186478, abs=1e-6)


def channel(record: float, sizes: tuple[int, ...]) -> np.ndarray:
    """Return RS+FD with randomized response, a row per record and a column per output."""
    chances = [np.where(np.eye(size) > 0, np.exp(record), 1.0) / (np.exp(record) + size - 1) for size in sizes]
    rows = [
        [
            sum(
                chances[at][x[at], y[at]] * prod(1 / size for place, size in enumerate(sizes) if place != at)
                for at in range(len(sizes))
            )
            / len(sizes)
            for y in product(*map(range, sizes))
        ]
        for x in product(*map(range, sizes))
    ]
    return np.array(rows)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 2, 2, 2, 2), (2, 3, 4)])
def test_fakes_protect_whole_records_by_the_epsilon_of_the_one_answer(sizes: tuple[int, ...]) -> None:
    matrix = channel(1.1, sizes)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    assert log((matrix.max(axis=0) / matrix.min(axis=0)).max()) == pytest.approx(1.1)


def test_fakes_have_the_error_of_every_output() -> None:
    sizes, record = (2, 3, 4), 1.1
    matrix, outputs = channel(record, sizes), np.array(list(product(*map(range, sizes))))
    other = 1 / (np.exp(record) + 3 - 1)
    worths = (3 * (outputs[:, 1, None] == np.arange(3)) - other - 2 / 3) / (np.expm1(record) * other)
    chances = matrix[3]
    np.testing.assert_allclose(chances @ worths, np.eye(3)[outputs[3, 1]], atol=1e-12)
    assert chances @ (worths**2).sum(axis=1) == pytest.approx(fake_moment(record, 3, 3))
