"""Names that come a batch at a time: against a dictionary."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.risk.kernels import events
from discreet.risk.kernels.events import KeyTable


def numbers_of(batches: list[list[Any]]) -> tuple[list[list[int]], list[Any]]:
    known: dict[Any, int] = {}
    return [[known.setdefault(name, len(known)) for name in batch] for batch in batches], list(known)


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), max_size=6), st.integers(1, 5))
def test_keys_are_numbered_as_they_come(batches: list[list[int]], slots: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "SMALLEST", 1 << slots)
        patch.setattr(events, "FIRST_ROOM", events.room(1 << slots))
        table, expected = KeyTable(), numbers_of(batches)
        for batch, numbers in zip(batches, expected[0], strict=True):
            assert table.number(np.array(batch, np.int64)).tolist() == numbers
    assert table.column().tolist() == expected[1]


def test_numbers_must_fit_into_32_bits() -> None:
    assert events.room(1 << 31) < 1 << 31
    with pytest.raises(DataError, match="At most 1610612736 different"):
        events.room(1 << 32)
