"""Bad input is refused where it comes in, in one sentence that quotes parameters and never a person's value."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from fractions import Fraction
from math import exp, expm1, inf, nan
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refusals
from discreet import Channel, Domain, HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.errors import DataError, DiscreetError, ParameterError
from packing import each

DOMAIN = Domain(range(5), sensitive=[1, 2, 4])
PLAIN = Domain(range(5))
ONE = Domain(range(5), sensitive=[3])
MECHANISMS = [RandomizedResponse, UnaryEncoding, SubsetSelection, LocalHashing, HadamardResponse]

SECRET = 8675309
SECRET_TEXT = "zanzibar"


def kind_of(value: Any) -> str:
    """Name a case by its type: names must not depend on addresses or on the order of a set."""
    return type(value).__name__


def refused(kind: type[DiscreetError], attempt: Callable[[], Any]) -> str:
    """Expect a refusal that keeps the secrets of this file; return the message."""
    return refusals.refused(kind, attempt, SECRET, SECRET_TEXT)


# Mechanisms


@each("build", MECHANISMS)
@each(
    "epsilon",
    [0, 0.0, -0.0, -1.0, nan, inf, -inf, "1", None, True, [1.0], 1e-25, 201.0, 1j, Fraction(-1, 3), 10**400, np.nan],
)
def test_epsilon(build: type, epsilon: Any) -> None:
    for domain in (DOMAIN, PLAIN, ONE):
        message = refused(ParameterError, lambda domain=domain: build(domain, epsilon))
        assert "epsilon" in message


@pytest.mark.parametrize("epsilon", [1, np.float32(1), np.int64(1), Fraction(1)])
def test_every_kind_of_one_is_an_epsilon(epsilon: Any) -> None:
    assert RandomizedResponse(DOMAIN, epsilon).fingerprint == RandomizedResponse(DOMAIN, 1.0).fingerprint


@given(theta=st.floats(0, 1, exclude_min=True, exclude_max=True), epsilon=st.floats(1e-3, 200))
def test_every_theta_inside_keeps_the_promise(theta: float, epsilon: float) -> None:
    """Or is refused, where bits are too rare or too frequent, or so little is left for truth that it is never told."""
    noise = theta * exp(-epsilon) / (1 - theta + theta * exp(-epsilon))
    usable = 2.0**-59 < noise < 1 - 2.0**-52 and theta * -expm1(-epsilon) > 2.0**-60
    with nullcontext() if usable else suppress(ParameterError):
        assert UnaryEncoding(DOMAIN, epsilon, theta=theta).guarantee.realised <= epsilon


@pytest.mark.parametrize("build", MECHANISMS)
@settings(max_examples=50)
@given(epsilon=st.floats(1e-9, 200))
def test_every_usable_epsilon_is_kept(build: type, epsilon: float) -> None:
    for domain in (DOMAIN, PLAIN, ONE):
        assert 0 < build(domain, epsilon).guarantee.realised <= epsilon


def test_channels_too_large_to_spell_out() -> None:
    assert "matrix.too-large" in refused(ParameterError, UnaryEncoding(Domain(range(60)), 1.0).channel)


@pytest.mark.parametrize(
    "p", [[0.5, 0.5], [0.2] * 4 + [0.3], [0.4, 0.4, 0.4, -0.2, 0], [nan] * 5, np.full((5, 1), 0.2)]
)
def test_distributions(p: Any) -> None:
    for mechanism in (RandomizedResponse(DOMAIN, 1.0), Channel(np.eye(5))):
        message = refused(ParameterError, lambda m=mechanism: m.decoder.mse(10, p))
        assert "5 probabilities that sum to 1" in message


def test_estimates_from_nothing() -> None:
    for mechanism in (RandomizedResponse(DOMAIN, 1.0), Channel(np.eye(5))):
        message = refused(DataError, lambda m=mechanism: m.decoder.estimate(m.empty_tally()))
        assert "at least one report" in message


# Domains


@each(
    "labels",
    [
        [],
        (),
        range(0),
        [1, 2, 1],
        ["a", "b", "a"],
        [1, "a"],
        ["a", 1],
        ["a", None],
        [1, None],
        [1.0, 2.0],
        [True, False],
        [b"a"],
        [[1, 2], [3, 4]],
        [[1], [2, 3]],
        [2**70, 1],
        [2**64 - 1, 1],
        range(2**63, 2**63 + 3),
        range(-(2**63) - 2, -(2**63)),
        range(2**62, 2**62 + 2**31),
        {"a", "b"},
        {"a": 1},
        "ab",
        5,
        None,
        np.array([[1, 2]]),
        pa.array([1.5]),
        pd.Series(["a", None]),
        pl.Series([1, None]),
    ],
)
def test_labels(labels: Any) -> None:
    assert "labels" in refused(ParameterError, lambda: Domain(labels)) or isinstance(labels, range)
    refused(ParameterError, lambda: Domain.product({"x": [1], "y": labels}))


@pytest.mark.parametrize(
    ("labels", "sensitive"),
    [
        (["a", "b"], ["c"]),
        (["a", "b"], [1]),
        ([1, 2], ["a"]),
        ([1, 2], [3]),
        ([1, 2], [1.0]),
        (["a", "b"], "a"),
        (["a", "b"], b"a"),
        ([1, 2], [True]),
        ([1, 2], np.array([True, False, True])),
        ([1, 2], np.array([[True, False]])),
        ([1, 2], [{"age": 1}]),
        (["a", "b"], {"a", 1}),
        ([1, 2], 1),
        ([1, 2], [None]),
        (["a", "b"], [None]),
    ],
    ids=kind_of,
)
def test_sensitive_values(labels: Any, sensitive: Any) -> None:
    assert "sensitive" in refused(ParameterError, lambda: Domain(labels, sensitive=sensitive))


@pytest.mark.parametrize(
    "nobody", [[], (), set(), [False, False], lambda _: False, np.zeros(2, dtype=bool)], ids=kind_of
)
def test_nobody_sensitive_needs_to_be_asked_for(nobody: Any) -> None:
    assert "allow_unprotected" in refused(ParameterError, lambda: Domain(["a", "b"], sensitive=nobody))
    assert Domain(["a", "b"], sensitive=nobody, allow_unprotected=True).sensitive_count == 0


@pytest.mark.parametrize(
    "pattern", [{}, {"c": 1}, {"a": 9}, {"a": []}, {"a": "x"}, [{"a": 1}, {}], [{"a": 1}, {"z": 1}]], ids=kind_of
)
def test_sensitive_patterns(pattern: Any) -> None:
    message = refused(ParameterError, lambda: Domain.product({"a": [1, 2], "b": ["x"]}, sensitive=pattern))
    assert "pattern" in message


@pytest.mark.parametrize(
    "change",
    [
        {"lat": (1, 1)},
        {"lat": (2, 1)},
        {"lon": (0, inf)},
        {"lon": (nan, 1)},
        {"rows": 0},
        {"cols": -1},
        {"rows": 1.5},
        {"cols": "2"},
        {"lat": None},
        {"lon": ("a", "b")},
        {"lat": (0, 1, 2)},
        {"rows": 1 << 16, "cols": 1 << 16},
    ],
    ids=kind_of,
)
def test_grids(change: dict[str, Any]) -> None:
    refused(ParameterError, lambda: Domain.grid(**{"lat": (0, 1), "lon": (0, 1), "rows": 2, "cols": 2, **change}))


# Data


TEXT_DOMAIN = Domain(["a", "b"], sensitive=["a"])
TABLE = Domain.product({"who": ["a", "b"], "age": [1, 2]})
MAP = Domain.grid(lat=(0, 1), lon=(0, 1), rows=2, cols=2)


@each(
    "values",
    [
        [0, SECRET],
        np.array([0, SECRET]),
        pd.Series([0, SECRET]),
        pl.Series([0, SECRET]),
        pa.array([0, SECRET]),
        [0, SECRET, None],
        pd.Series([0, SECRET, None]),
        pd.Series([0, SECRET, None], dtype="Int64"),
        pl.Series([0, SECRET, None]),
        pa.array([0, SECRET, None]),
        [0.0, float(SECRET)],
        np.array([0.0, nan]),
        [0, SECRET_TEXT],
        [SECRET_TEXT],
        [True, False],
        np.array([[0, SECRET]]),
        [[0], [1, SECRET]],
        np.array([SECRET << 40], dtype=np.uint64) << np.uint64(1),
        [SECRET << 70],
        SECRET,
        SECRET_TEXT,
        None,
        {"a": SECRET},
        pa.table({"a": [SECRET]}),
        np.array(["2020-01-01"], dtype="M8[D]"),
    ],
)
def test_values_of_an_integer_domain(values: Any) -> None:
    refused(DataError, lambda: DOMAIN.encode(values))
    for build in MECHANISMS:
        refused(DataError, lambda build=build: build(DOMAIN, 1.0).obfuscate(values))


@pytest.mark.parametrize(
    "values",
    [
        ["a", SECRET_TEXT],
        ["a", SECRET],
        ["a", None],
        ["a", SECRET_TEXT, None],
        pd.Series(["a", SECRET_TEXT, None]),
        pd.Series(["a", SECRET_TEXT, None]).astype("category"),
        pl.Series(["a", SECRET_TEXT, None]),
        pa.array(["a", SECRET_TEXT, None]),
        pa.array([SECRET_TEXT, None]).dictionary_encode(),
        pa.array([None, None], type=pa.string()).dictionary_encode(),
        [1, 2],
        np.array([SECRET]),
        np.array([1.5]),
        [SECRET_TEXT.encode()],
        [[SECRET_TEXT]],
        SECRET_TEXT,
        None,
        SECRET,
    ],
    ids=kind_of,
)
def test_values_of_a_text_domain(values: Any) -> None:
    refused(DataError, lambda: TEXT_DOMAIN.encode(values))


@pytest.mark.parametrize(
    "values",
    [
        [("a", 1), ("b", SECRET)],
        [("a", 1), (SECRET_TEXT, 1)],
        [("a",)],
        [("a", 1, SECRET)],
        [SECRET_TEXT],
        [{"who": SECRET_TEXT}],
        [("a", 1), (None, 1)],
        {"who": ["a", "b"]},
        {"who": ["a", "b"], "age": [1]},
        {"who": ["a", SECRET_TEXT], "age": [1, None]},
        pd.DataFrame({"who": ["a"], "sex": [SECRET]}),
        pl.DataFrame({"who": ["a"], "sex": [SECRET]}),
        pa.table({"who": ["a"], "sex": [SECRET]}),
        np.array([1, 2]),
        SECRET,
        None,
    ],
    ids=kind_of,
)
def test_values_of_a_product(values: Any) -> None:
    refused(DataError, lambda: TABLE.encode(values))


@pytest.mark.parametrize(
    "values",
    [
        [(0.5, float(SECRET))],
        [(0.5, nan)],
        [(0.5, None)],
        [(0.5, SECRET_TEXT)],
        [(0.5,)],
        [(0.5, 0.5), (0.5,)],
        [(0.5, 0.5, 0.5)],
        np.array([0.5, 0.5]),
        np.array([["a", SECRET_TEXT]]),
        pd.DataFrame({"lat": [0.5]}),
        pd.DataFrame({"lat": [0.5], "lon": [SECRET_TEXT]}),
        pl.DataFrame({"lat": [0.5], "lon": [None]}),
        pa.table({"lat": [0.5], "lon": [None]}),
        {"lat": [0.5, 0.5], "lon": [0.5]},
        SECRET,
        None,
    ],
    ids=kind_of,
)
def test_values_of_a_map(values: Any) -> None:
    refused(DataError, lambda: MAP.encode(values))


def test_refusals_count_and_place() -> None:
    assert refused(DataError, lambda: DOMAIN.encode([0, SECRET, 1, SECRET])).startswith(
        "2 of 4 values are not in the domain (first in row 1)"
    )
    assert refused(DataError, lambda: TEXT_DOMAIN.encode(["a", "b", None])).startswith(
        "1 of 3 values are missing (first in row 2)"
    )


@pytest.mark.parametrize(
    "codes",
    [
        [5],
        [-1],
        [0, 5],
        [0.0],
        [1.5],
        ["0"],
        [None],
        [True],
        np.array([[0]]),
        np.array([2**63], dtype=np.uint64),
        0,
        "0",
        None,
    ],
    ids=kind_of,
)
def test_codes(codes: Any) -> None:
    for build in MECHANISMS:
        mechanism = build(DOMAIN, 1.0)
        assert "codes" in refused(DataError, lambda m=mechanism: m.obfuscate_codes(codes))
    refused(DataError, lambda: Channel(np.eye(5)).obfuscate_codes(codes))


@given(codes=st.lists(st.integers(-3, 8), min_size=1, max_size=20))
def test_codes_out_of_range_are_counted(codes: list[int]) -> None:
    wrong = [row for row, code in enumerate(codes) if not 0 <= code < 5]
    if not wrong:
        assert DOMAIN.check_codes(codes).tolist() == codes
        return
    message = refused(DataError, lambda: DOMAIN.check_codes(codes))
    assert f"{len(wrong)} of {len(codes)} are not (first in row {wrong[0]})" in message
