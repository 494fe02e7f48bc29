"""Members of blocks are those that `contains` says, also of no block and of a few at a time."""

import numpy as np
import pytest

from discreet.mechanisms.block_law import members_of
from laws import Case, by_kind, one_epsilon, sampled


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
