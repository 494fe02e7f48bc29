"""Names that come a batch at a time: against a dictionary, through tables that grow."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.kernels import events
from discreet.kernels.events import KeyTable
from discreet.tables.events import TextVocabulary

# Some of one beginning, some longer than a table's first letters.
TEXTS = st.one_of(st.sampled_from(["", "a", "aa", "ab", "b", "\x00", "\x00\x00"]), st.text(max_size=40))
BATCHES = st.lists(st.lists(TEXTS, max_size=30), max_size=6)


def numbers_of(batches: list[list[Any]]) -> tuple[list[list[int]], list[Any]]:
    known: dict[Any, int] = {}
    return [[known.setdefault(name, len(known)) for name in batch] for batch in batches], list(known)


@given(BATCHES, st.integers(1, 5), st.booleans())
def test_texts_are_numbered_as_they_come(batches: list[list[str]], slots: int, coded: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "SMALLEST", 1 << slots)
        patch.setattr(events, "FIRST_ROOM", events.room(1 << slots))
        names, expected = TextVocabulary(), numbers_of(batches)
        for batch, numbers in zip(batches, expected[0], strict=True):
            column = pa.array(["before", *batch], pa.large_string())[1:]
            assert names.number(column.dictionary_encode() if coded else column).tolist() == numbers
    assert names.size == len(expected[1])
    assert names.column().to_pylist() == expected[1]


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), max_size=6), st.integers(1, 5))
def test_keys_are_numbered_as_they_come(batches: list[list[int]], slots: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "SMALLEST", 1 << slots)
        patch.setattr(events, "FIRST_ROOM", events.room(1 << slots))
        table, expected = KeyTable(), numbers_of(batches)
        for batch, numbers in zip(batches, expected[0], strict=True):
            assert table.number(np.array(batch, np.int64)).tolist() == numbers
    assert table.column().tolist() == expected[1]


def test_names_that_share_a_tag_are_told_apart() -> None:
    generator = np.random.default_rng(1)
    # 2^31 tags: among so many names some pairs share theirs.
    words = np.unique(generator.integers(0, 1 << 62, 300_000))
    column = pa.array(words.astype(str).tolist(), pa.large_string())
    names = TextVocabulary()
    assert names.number(column).tolist() == list(range(len(words)))
    assert names.number(column[::-1]).tolist() == list(range(len(words)))[::-1]


def test_numbers_must_fit_into_32_bits() -> None:
    assert events.room(1 << 31) < 1 << 31
    with pytest.raises(DataError, match="at most 1610612736 different"):
        events.room(1 << 32)
