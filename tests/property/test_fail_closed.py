"""What is unclear is refused, never taken for harmless: hidden, missing and ambiguous entries, foreign laws, forks."""

import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import Domain, RandomizedResponse, SecureRandom
from discreet.core import random as randomness
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import Subsets

HIDDEN = np.ma.array([1, 99, 3], mask=[False, True, False])


def test_masked_values_are_missing() -> None:
    domain = Domain(range(10))
    for column in (HIDDEN, np.ma.array([1, 2, 3], mask=[False, True, False])):
        with pytest.raises(DataError, match="1 of 3 values are missing") as caught:
            domain.encode(column)
        assert "99" not in str(caught.value)
        with pytest.raises(DataError, match="1 of 3 codes are missing"):
            RandomizedResponse(domain, 1.0).obfuscate_codes(column)


def test_masked_coordinates_and_texts_are_missing() -> None:
    grid = Domain.grid(lat=(0, 1), lon=(0, 1), rows=2, cols=2)
    with pytest.raises(DataError, match="missing"):
        grid.encode(np.ma.array([[0.1, 0.1], [0.9, 0.9]], mask=[[True, False], [False, False]]))
    with pytest.raises(DataError, match="missing"):
        Domain(["a", "b"]).encode(np.ma.array(["a", "b"], mask=[True, False]))


@pytest.mark.parametrize(
    "marks",
    [
        pa.array([False, True, True, None]),
        pa.chunked_array([[False, True], [True, None]]),
        pl.Series([False, True, True, None]),
        pd.Series([False, True, True, pd.NA], dtype="boolean"),
        np.ma.array([False, True, True, True], mask=[False, False, False, True]),
        np.array([False, True, True, None], dtype=object),
    ],
    ids=lambda marks: type(marks).__module__.split(".")[0] + "-" + type(marks).__name__,
)
def test_a_missing_mark_is_not_taken_for_harmless(marks: Any) -> None:
    with pytest.raises(ParameterError, match="missing"):
        Domain(range(4), sensitive=marks)


@pytest.mark.parametrize(
    "marks",
    [np.array([0, 1, 1, 0]), [0, 1, 1, 0], [True, 1], [1, 2, True]],
    ids=["array", "list", "mixed", "mixed-more"],
)
def test_ones_and_zeros_are_not_taken_for_labels(marks: Any) -> None:
    with pytest.raises(ParameterError):
        Domain(range(4), sensitive=marks)


def test_protection_cannot_be_turned_off_through_the_mask() -> None:
    domain = Domain(range(4), sensitive=[1])
    for array in (domain.sensitive, domain.sensitive_codes, domain.clear_codes, domain.slots):
        assert array is not None
        owner = array if array.base is None else array.base
        with pytest.raises(ValueError, match="read-only"):
            owner[:] = 0
    assert domain.sensitive.tolist() == [False, True, False, False]


def test_a_law_must_be_over_the_sensitive_values() -> None:
    with pytest.raises(ParameterError, match="10 sensitive values"):
        LawMechanism(Domain(range(10)), 1.0, Singletons(3))
    with pytest.raises(ParameterError, match="independently"):
        LawMechanism(Domain(range(9), sensitive=[1, 2, 3, 4]), 1.0, Subsets(4, 2), clear_blocks=True)


def test_a_child_with_its_parents_number_takes_a_new_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a namespace, where parent and child may both be process 1."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    source = SecureRandom()
    source.words(1)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Threads of other tests may be there; the child needs none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(writer, source.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 32), dtype="<u8")
    os.close(reader)
    os.close(writer)
    assert not (theirs == source.words(4)).any()
    assert randomness.checked_source(None).secure


def test_equal_maps_have_equal_fingerprints() -> None:
    maps = [
        Domain.grid(lat=(0.0, 1), lon=(0, 1), rows=3, cols=3),
        Domain.grid(lat=(-0.0, np.float32(1)), lon=(0, np.int64(1)), rows=np.int8(3), cols=np.int64(3)),
    ]
    assert len({one.fingerprint for one in maps}) == 1


@pytest.mark.parametrize(
    "values",
    [[("0.5", "0.5")], [(True, False)], [(10**400, 0)], [(1e308, 1e308)], np.array([["a", "b"]])],
    ids=["texts", "booleans", "huge", "large", "text-array"],
)
def test_odd_coordinates(values: Any) -> None:
    with pytest.raises(DiscreetError):
        Domain.grid(lat=(0, 1), lon=(0, 1), rows=2, cols=2).encode(values)


@pytest.mark.parametrize(
    "values", [[1, pd.NA], np.array([1, pd.NA], dtype=object), [1, pd.NaT]], ids=["list", "array", "time"]
)
def test_pandas_missing_values(values: Any) -> None:
    with pytest.raises(DataError, match="1 of 2 values are missing"):
        Domain([1, 2]).encode(values)


@pytest.mark.parametrize("values", [[True, 2], bytearray(b"ab"), memoryview(b"ab")], ids=["mixed", "bytes", "view"])
def test_look_alikes_of_integers(values: Any) -> None:
    with pytest.raises(DataError):
        Domain(range(200)).encode(values)
