"""The membership operator is the matrix that `contains` spells out."""

from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.block_law import members_of
from laws import Case, by_kind, every, one_epsilon, sampled


def distinct(case: Case) -> tuple[Any, Any]:
    """Return the operator of sampled reports and the rows it must stand for."""
    law, blocks = case.mechanism.law, sampled(case, 1501).blocks
    operator = law.membership(blocks)
    rows = blocks if operator.multiplicity is None else law.alphabet()[0]
    return operator, law.contains(rows).astype(np.float64)


@one_epsilon
def test_dot_is_the_matrix_product(case: Case) -> None:
    operator, matrix = distinct(case)
    assert (operator.rows, operator.size) == matrix.shape
    random = np.random.default_rng(1)
    for _ in range(3):
        values = random.normal(size=operator.size)
        np.testing.assert_allclose(operator.dot(values), matrix @ values, rtol=1e-12, atol=1e-11)


@one_epsilon
def test_transpose_dot_is_the_transposed_product(case: Case) -> None:
    operator, matrix = distinct(case)
    weights = np.random.default_rng(2).normal(size=operator.rows)
    np.testing.assert_allclose(operator.transpose_dot(weights), matrix.T @ weights, rtol=1e-11, atol=1e-10)


@every
def test_support_is_the_weighted_column_sum(case: Case) -> None:
    law, blocks = case.mechanism.law, sampled(case, 400).blocks
    contained = law.contains(blocks)
    counts = by_kind(case.mechanism, contained)
    assert law.counts.support_of(law.counts.of(blocks)).tolist() == counts
    operator = law.membership(blocks)
    times = np.ones(operator.rows) if operator.multiplicity is None else operator.multiplicity
    assert times.sum() == len(contained)
    assert np.rint(operator.transpose_dot(times)).astype(int).tolist() == contained.sum(axis=0).tolist()


@one_epsilon
def test_empty_batches(case: Case) -> None:
    law = case.mechanism.law
    blocks = {name: column[:0] for name, column in sampled(case, 5).blocks.items()}
    assert law.counts.support_of(law.counts.of(blocks)).tolist() == by_kind(case.mechanism, law.contains(blocks))
    assert set(case.mechanism.empty_tally().support.tolist()) <= {0}
    assert law.contains(blocks).shape == (0, law.size)
    assert law.flaws(blocks).shape == (0,)


@pytest.mark.parametrize("at_once", [1 << 24, 25])
@one_epsilon
def test_members_are_listed_block_by_block(case: Case, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lists the members of blocks lists those that they contain, however many at a time."""
    for module in ("block_law", "laws.hashing"):
        monkeypatch.setattr(f"discreet.mechanisms.{module}.ENTRIES_AT_ONCE", at_once)
    law, blocks = case.mechanism.law, sampled(case, 400).blocks
    sizes, ranks = (np.concatenate(parts) for parts in zip(*members_of(law, blocks), strict=True))
    contained = law.contains(blocks)
    assert sizes.tolist() == contained.sum(axis=1).tolist()
    rows = np.repeat(np.arange(len(sizes)), sizes)
    assert (
        sorted([row, rank] for row, rank in zip(rows.tolist(), ranks.tolist(), strict=True))
        == np.argwhere(contained).tolist()
    )
