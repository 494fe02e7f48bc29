"""Names that come a batch at a time: against a dictionary."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.risk.events import _Names
from discreet.risk.kernels import events
from discreet.risk.kernels.events import KeyTable

TEXTS = st.one_of(
    st.sampled_from(["", "a", "aa", "ab", "b", "\x00", "\x00\x00"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
)
BATCHES = st.lists(st.lists(TEXTS, max_size=30), max_size=6)


def numbers_of(batches: list[list[Any]]) -> tuple[list[list[int]], list[Any]]:
    known: dict[Any, int] = {}
    return [[known.setdefault(name, len(known)) for name in batch] for batch in batches], list(known)


@given(BATCHES, st.integers(0, 5), st.booleans())
def test_texts_are_numbered_as_they_come(batches: list[list[str]], unified: int, coded: bool) -> None:
    names, expected = _Names(), numbers_of(batches)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.risk.events._UNIFIED", unified)
        for batch in batches:
            column = pa.array(["before", *batch], pa.large_string())[1:]
            names.add(column.dictionary_encode() if coded else column)
        numbers, said = names.numbers()
    assert numbers.tolist() == [number for batch in expected[0] for number in batch]
    assert said.to_pylist() == expected[1]


def test_a_dictionary_may_say_the_same_twice_and_what_no_row_says() -> None:
    names = _Names()
    names.add(pa.DictionaryArray.from_arrays(pa.array([3, 1, 2, 1]), pa.array(["x", "b", "b", "a"])))
    numbers, said = names.numbers()
    assert (numbers.tolist(), said.to_pylist()) == ([0, 1, 1, 1], ["a", "b"])


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
    with pytest.raises(DataError, match="at most 1610612736 different"):
        events.room(1 << 32)
