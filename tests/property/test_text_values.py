"""Text without Arrow: what a device of NumPy alone takes, and what it tells from what."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Domain, RandomizedResponse
from discreet.errors import DataError
from refusals import refused

# A set has no rows, whatever it is of.

TEXT, NUMBERS = Domain(["a", "b"]), Domain(range(3))
PAIRS = Domain.product({"x": ["a", "b"], "y": ["c", "d"]})


@pytest.mark.parametrize("make", [set, frozenset, dict.fromkeys, lambda v: dict.fromkeys(v).keys()])
def test_sets_and_mappings_are_no_columns(make: Any) -> None:
    for domain, values in ((TEXT, ["a", "b"]), (NUMBERS, [0, 1])):
        mechanism = RandomizedResponse(domain, 1.0)
        for attempt in (domain.encode, mechanism.obfuscate):
            message = refused(DataError, lambda d=values, call=attempt: call(make(d)))
            assert "column.unordered" in message
    refused(DataError, lambda: PAIRS.encode({"x": make(["a", "b"]), "y": ["c", "d"]}))
    refused(DataError, lambda: PAIRS.encode(make([("a", "c")])))
    refused(DataError, lambda: NUMBERS.check_codes(make([0, 1])))


def test_what_has_an_order_is_a_column() -> None:
    for values in (
        ["a", "b"],
        ("a", "b"),
        iter(["a", "b"]),
        (one for one in "ab"),
    ):
        assert TEXT.encode(values).tolist() == [0, 1]


# NUL


def test_a_nul_makes_another_text() -> None:
    for make in (
        list,
        tuple,
        lambda v: [np.str_(one) for one in v],
        lambda v: np.array(v, object),
        lambda v: np.array(v, np.dtypes.StringDType()),
        pa.array,
    ):
        refused(DataError, lambda make=make: TEXT.encode(make(["a\0"])))
        refused(DataError, lambda make=make: TEXT.encode(make(["\0a"])))
        assert Domain(make(["a", "a\0", "a\0\0"])).encode(make(["a\0", "a", "a\0\0"])).tolist() == [1, 0, 2]


def test_texts_of_fixed_width_are_refused_where_they_cannot_tell_labels_apart() -> None:
    domain = Domain(["a", "a\0"])
    assert "texts.ending-in-nul" in refused(DataError, lambda: domain.encode(np.array(["a", "a"])))
    assert Domain(["a", "\0a"]).encode(np.array(["a", "\0a"])).tolist() == [0, 1]


# The same as Arrow's


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)


@given(st.lists(words, min_size=1, unique=True), st.data())
def test_lists_are_encoded_as_arrow_is(labels: list[str], data: st.DataObject) -> None:
    domain = Domain(labels)
    values = data.draw(st.lists(st.sampled_from(labels) | words | st.none()))
    found = domain.space.encode(values)
    assert found.dtype == np.int64
    assert found.tolist() == domain.space.encode(pa.array(values, type=pa.string())).tolist()
    assert found.tolist() == domain.space.encode(np.array(values, dtype=object)).tolist()
    assert Domain(pa.array(labels)).fingerprint == domain.fingerprint


def test_half_a_character_is_outside() -> None:
    refused(DataError, lambda: TEXT.encode(["a", "\ud800"]))
