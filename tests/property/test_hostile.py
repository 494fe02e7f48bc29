"""Bad input is refused where it comes in, in one sentence that quotes parameters and never a person's value."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from fractions import Fraction
from itertools import product
from math import exp, expm1, inf, nan
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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


def refused(kind: type[DiscreetError], attempt: Callable[[], Any]) -> str:
    """Expect a refusal that keeps the secrets of this file; return the message."""
    return refusals.refused(kind, attempt, SECRET, SECRET_TEXT)


# Mechanisms


@each("build", MECHANISMS)
@each("epsilon", [0, -0.0, -1.0, nan, inf, "1", None, True, [1.0], 1e-25, 201.0, 1j, Fraction(-1, 3), 10**400])
def test_epsilon(build: type, epsilon: Any) -> None:
    for domain in (DOMAIN, PLAIN, ONE):
        assert "epsilon" in refused(ParameterError, lambda domain=domain: build(domain, epsilon))


@each("epsilon", [1, np.float32(1), np.int64(1), Fraction(1)])
def test_every_kind_of_one_is_an_epsilon(epsilon: Any) -> None:
    assert RandomizedResponse(DOMAIN, epsilon).fingerprint == RandomizedResponse(DOMAIN, 1.0).fingerprint


@given(theta=st.floats(0, 1, exclude_min=True, exclude_max=True), epsilon=st.floats(1e-3, 200))
def test_every_theta_inside_keeps_the_promise(theta: float, epsilon: float) -> None:
    """Or is refused, where bits are too rare or too frequent, or so little is left for truth that it is never told."""
    noise = theta * exp(-epsilon) / (1 - theta + theta * exp(-epsilon))
    usable = 2.0**-59 < noise < 1 - 2.0**-52 and theta * -expm1(-epsilon) > 2.0**-60
    with nullcontext() if usable else suppress(ParameterError):
        assert UnaryEncoding(DOMAIN, epsilon, theta=theta).guarantee.realised <= epsilon


@settings(max_examples=50)
@given(epsilon=st.floats(1e-9, 200))
def test_every_usable_epsilon_is_kept(epsilon: float) -> None:
    for build, domain in product(MECHANISMS, (DOMAIN, PLAIN, ONE)):
        assert 0 < build(domain, epsilon).guarantee.realised <= epsilon


def test_channels_too_large_to_spell_out() -> None:
    assert "matrix.too-large" in refused(ParameterError, UnaryEncoding(Domain(range(60)), 1.0).channel)


@each("p", [[0.5, 0.5], [0.2] * 4 + [0.3], [0.4, 0.4, 0.4, -0.2, 0], [nan] * 5, np.full((5, 1), 0.2)])
@each("mechanism", [RandomizedResponse(DOMAIN, 1.0), Channel(np.eye(5))])
def test_distributions(p: Any, mechanism: Any) -> None:
    assert "distribution.not-1" in refused(ParameterError, lambda: mechanism.decoder.mse(10, p))
    assert "tally.empty" in refused(DataError, lambda: mechanism.decoder.estimate(mechanism.empty_tally()))


# Domains

LABELS: list[Any] = [
    *([], range(0), [1, 2, 1], ["a", "b", "a"], [1, "a"], ["a", None], [1.0, 2.0], [True, 1], [b"a"]),
    *([[1], [2, 3]], [2**70, 1], range(2**63, 2**63 + 3), range(2**62, 2**62 + 2**31), {"a", "b"}, {"a": 1}, "ab", 5),
    *(None, np.array([[1, 2]]), pa.array([1.5]), pd.Series(["a", None]), pl.Series([1, None])),
]


@each("labels", LABELS)
def test_labels(labels: Any) -> None:
    assert "labels" in refused(ParameterError, lambda: Domain(labels)) or isinstance(labels, range)
    refused(ParameterError, lambda: Domain.product({"x": [1], "y": labels}))


@each("sensitive", [["c"], [1], "a", b"a", {"a", 1}, [None], [{"age": 1}]])
def test_sensitive_texts(sensitive: Any) -> None:
    assert "sensitive" in refused(ParameterError, lambda: Domain(["a", "b"], sensitive=sensitive))


@each("sensitive", [["a"], [3], [1.5], [True], [True, 1], [0, 1], np.array([True] * 3), np.array([[True, False]]), 1])
def test_sensitive_numbers(sensitive: Any) -> None:
    assert "sensitive" in refused(ParameterError, lambda: Domain([1, 2], sensitive=sensitive))


@each("nobody", [[], (), set(), [False, False], lambda _: False, np.zeros(2, dtype=bool)])
def test_nobody_sensitive_needs_to_be_asked_for(nobody: Any) -> None:
    assert "allow_unprotected" in refused(ParameterError, lambda: Domain(["a", "b"], sensitive=nobody))
    assert Domain(["a", "b"], sensitive=nobody, allow_unprotected=True).sensitive_count == 0


@each("pattern", [{}, {"c": 1}, {"a": 9}, {"a": []}, {"a": "x"}, [{"a": 1}, {}], [{"a": 1}, {"z": 1}]])
def test_sensitive_patterns(pattern: Any) -> None:
    message = refused(ParameterError, lambda: Domain.product({"a": [1, 2], "b": ["x"]}, sensitive=pattern))
    assert "pattern" in message


@each("ends", [(1, 1), (2, 1), (0, inf), (nan, 1), None, ("a", "b"), (0, 1, 2)])
def test_ends_of_grids(ends: Any) -> None:
    refused(ParameterError, lambda: Domain.grid(lat=(0, 1), lon=ends, rows=2, cols=2))


@each("rows", [0, -1, 1.5, "2", 1 << 31])
def test_rows_of_grids(rows: Any) -> None:
    refused(ParameterError, lambda: Domain.grid(lat=(0, 1), lon=(0, 1), rows=rows, cols=2))


# Data

TEXTS = Domain(["a", "b"], sensitive=["a"])
TABLE = Domain.product({"who": ["a", "b"], "age": [1, 2]})
MAP = Domain.grid(lat=(0, 1), lon=(0, 1), rows=2, cols=2)
FAR = np.array([SECRET << 40], dtype=np.uint64) << np.uint64(1)
NO_COLUMN: list[Any] = [SECRET, SECRET_TEXT, None, {"a": SECRET}, pa.table({"a": [SECRET]}), [[0], [1, SECRET]]]
# A set has no rows, whatever it is of.
NO_COLUMN += [{SECRET}, frozenset({SECRET}), {SECRET: 1}.keys()]
HIDDEN = np.ma.array([1, SECRET, 3], mask=[False, True, False])
"""What is no column of any domain. Columns of every library are handed to domains in test_domain_encoding.py."""
VALUES: list[tuple[Domain, list[Any]]] = [
    (
        DOMAIN,
        [[0, SECRET], [0, SECRET, None], pl.Series([0, SECRET, None]), [0.0, float(SECRET)], np.array([0.0, nan])],
    ),
    (DOMAIN, [[0, SECRET_TEXT], [True, False], [True, 2], np.array([[0, SECRET]]), FAR, [SECRET << 70], b"ab"]),
    (DOMAIN, [bytearray(b"ab"), np.array(["2020-01-01"], dtype="M8[D]"), HIDDEN, [1, pd.NA], [1, pd.NaT]]),
    (TEXTS, [["a", "\ud800"], np.ma.array(["a", "b"], mask=[True, False])]),
    (MAP, [np.ma.array([[0.1, 0.1], [0.9, 0.9]], mask=[[True, False], [False, False]])]),
    (TEXTS, [["a", SECRET_TEXT, None], ["a", SECRET], [1, 2], np.array([1.5]), [SECRET_TEXT.encode()]]),
    (
        TEXTS,
        [pd.Series(["a", SECRET_TEXT, None]).astype("category"), pa.array([SECRET_TEXT, None]).dictionary_encode()],
    ),
    (TABLE, [[("a", 1), ("b", SECRET)], [("a",)], [("a", 1, SECRET)], [SECRET_TEXT], [{"who": SECRET_TEXT}]]),
    (TABLE, [[("a", 1), (None, 1)], {"who": ["a", "b"], "age": [1]}, {"who": ["a", SECRET_TEXT], "age": [1, None]}]),
    (TABLE, [pd.DataFrame({"who": ["a"], "sex": [SECRET]}), np.array([1, 2])]),
    (
        MAP,
        [[(0.5, float(SECRET))], [(0.5, nan)], [(0.5, None)], [(0.5, SECRET_TEXT)], [("0.5", "0.5")], [(True, False)]],
    ),
    (MAP, [[(0.5,)], [(0.5, 0.5), (0.5,)], [(0.5, 0.5, 0.5)], [(10**400, 0)], np.array([0.5, 0.5])]),
    (MAP, [np.array([["a", SECRET_TEXT]]), pd.DataFrame({"lat": [0.5]}), pl.DataFrame({"lat": [0.5], "lon": [None]})]),
]


@each("domain, columns", [*VALUES, *((domain, NO_COLUMN) for domain in (DOMAIN, TEXTS, TABLE, MAP))])
def test_values(domain: Domain, columns: list[Any]) -> None:
    for values in columns:
        refused(DataError, lambda given=values: domain.encode(given))
        refused(DataError, lambda given=values: RandomizedResponse(domain, 1.0).obfuscate(given))


def test_refusals_count_and_place() -> None:
    assert refused(DataError, lambda: DOMAIN.encode([0, SECRET, 1, SECRET])).startswith(
        "2 of 4 values are not in the domain (first in row 1)"
    )
    assert refused(DataError, lambda: TEXTS.encode(["a", "b", None])).startswith(
        "1 of 3 values are missing (first in row 2)"
    )


NO_CODES: list[Any] = [[5], [-1], [0.0], [1.5], ["0"], [None], [True], np.array([[0]]), 0, "0", None]


@each("codes", [*NO_CODES, np.array([2**63], dtype=np.uint64)])
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
