"""Arguments: what is one is returned as a plain number, what is none is refused in one sentence, whatever it is."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.checks import (
    are_names,
    checked_between,
    checked_choice,
    checked_epsilon,
    checked_finite,
    checked_flag,
    checked_level,
    checked_mass,
    checked_n,
    checked_positive,
    checked_share,
    checked_whole,
    is_real,
    is_single,
    is_whole,
    quoted,
    real_number,
    suggestion,
)
from discreet.errors import DataError, ParameterError
from packing import each
from refusals import refused

WIDTHS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
HUGE = 10**400
SECRET = "a value that nobody may read in any message, which is why it is as long as this"
# Neither whole nor real numbers.
HOSTILE = [True, False, np.True_, np.False_, None, "1", "", SECRET, b"1", 1j, Decimal(1), [1], (1,), {1: 1}, object]
HOSTILE += [np.array(1), np.array([1, 2]), np.datetime64(1, "s"), np.timedelta64(1, "s")]
NUMBERS: list[Callable[[Any], float]] = [
    checked_epsilon,
    checked_level,
    lambda given: checked_positive("x", given),
    lambda given: checked_finite("x", given),
    lambda given: checked_between("x", given),
    lambda given: checked_share("x", given),
    lambda given: checked_mass(given, 1),
]


@each("given", [*HOSTILE, 1.0, 0.5, np.float64(1), nan, inf, Fraction(1)])
def test_what_is_no_whole_number(given: Any) -> None:
    assert not is_whole(given)
    assert "n must be an integer of at least 1" in refused(ParameterError, lambda: checked_n(given), SECRET)


@pytest.mark.parametrize("given", HOSTILE, ids=repr)
def test_what_is_no_real_number(given: Any) -> None:
    assert not is_real(given)
    assert not real_number(given) == real_number(given)  # noqa: SIM201
    for check in NUMBERS:
        refused(ParameterError, lambda check=check: check(given), SECRET)  # type: ignore[misc]


@pytest.mark.parametrize("given", [nan, inf, -inf, HUGE, -HUGE, -1, np.float32("nan"), np.float16(inf)], ids=quoted)
def test_real_numbers_out_of_every_range(given: Any) -> None:
    assert is_real(given)
    for check in NUMBERS:
        assert "got " in refused(ParameterError, lambda check=check: check(given), HUGE)  # type: ignore[misc]


@pytest.mark.parametrize("width", WIDTHS)
def test_integers_of_every_width(width: type[np.integer[Any]]) -> None:
    ends = np.iinfo(width)
    assert is_whole(width(7))
    for end in (ends.min, ends.max):
        found = checked_whole("n", width(end), int(ends.min), int(ends.max))
        assert (type(found), found) == (int, int(end))
    assert (real_number(width(7)), type(real_number(width(7)))) == (7.0, float)


@given(number=st.integers(), least=st.integers(), most=st.integers())
def test_whole_numbers_in_a_range(number: int, least: int, most: int) -> None:
    if least <= number <= most:
        assert checked_whole("k", number, least, most) == number
    else:
        message = refused(ParameterError, lambda: checked_whole("k", number, least, most))
        assert message.startswith(f"k must be an integer in {least}..{most}, got ")


def test_the_ends_of_64_bits() -> None:
    assert checked_n((1 << 63) - 1) == (1 << 63) - 1
    for n in (0, 1 << 63, np.uint64(1 << 63), HUGE, -HUGE):
        assert "that fits into 64 bits" in refused(ParameterError, lambda n=n: checked_n(n), HUGE)  # type: ignore[misc]
    assert refused(DataError, lambda: checked_whole("m", 0, error=DataError)).startswith("m must be an integer")


@given(number=st.floats() | st.integers() | st.fractions())
def test_ranges_of_real_numbers(number: Any) -> None:
    found = real_number(number)
    for check, holds in (
        (lambda: checked_positive("x", number), isfinite(found) and found > 0),
        (lambda: checked_finite("x", number, -1), isfinite(found) and found >= -1),
        (lambda: checked_between("x", number, -1, 2), -1 < found < 2),
        (lambda: checked_share("x", number), 0 <= found <= 1),
        (lambda: checked_level(number), 0 < found < 1),
        (lambda: checked_epsilon(number), 0 < found <= 200),
        (lambda: checked_mass(number, 0), found == 1),
    ):
        if holds:
            assert (type(check()), check()) == (float, found)
        else:
            refused(ParameterError, check)


def test_ends_belong_or_do_not() -> None:
    assert [checked_share("x", end) for end in (0, 1)] == [0.0, 1.0]
    for beyond in (-0.1, 1.1):
        refused(ParameterError, lambda beyond=beyond: checked_share("x", beyond))  # type: ignore[misc]
    assert checked_finite("within", 0) == 0
    assert checked_epsilon(200) == 200
    for end in (0, 1, 0.0, 1.0):
        assert "level.not-between" in refused(ParameterError, lambda end=end: checked_level(end))  # type: ignore[misc]
    assert "epsilon.too-large" in refused(ParameterError, lambda: checked_epsilon(np.nextafter(200, 201)))
    assert "sensitive-mass.not-1" in refused(ParameterError, lambda: checked_mass(0.5, 0))


@each("name, check", [("epsilon", checked_epsilon), ("level", checked_level), ("sensitive_mass", NUMBERS[-1])])
def test_refusals_name_their_argument(name: str, check: Callable[[Any], float]) -> None:
    assert refused(ParameterError, lambda: check(-1)).startswith(f"{name} must be ")


@each(
    "given, text",
    [
        (2**64 - 1, str(2**64 - 1)),
        (1 - 2**64, str(1 - 2**64)),
        (2**64, "an integer of 65 bits"),
        (-(2**64), "an integer of 65 bits"),
        (np.uint8(7), "np.uint8(7)"),
        (0.5, "0.5"),
        (nan, "nan"),
        (None, "None"),
        ("a" * 64, repr("a" * 64)),
        ("a" * 65, "str"),
        (b"a", "bytes"),
        ([1], "list"),
    ],
)
def test_refusals_quote_numbers_and_short_texts_and_of_others_the_type(given: Any, text: str) -> None:
    assert quoted(given) == text


KNOWN = ["linear", "norm-sub", "MLE"]
LIKELY = {"liner": "linear", "NORM-SUB": "norm-sub", "mle": "MLE", "zzz": "", 7: "", None: ""}


@each("chosen", LIKELY)
def test_a_choice_that_is_none_is_refused_with_the_list_and_the_likeliest(chosen: Any) -> None:
    assert [checked_choice("method", name, iter(KNOWN)) for name in KNOWN] == KNOWN
    end = f"; perhaps {LIKELY[chosen]!r} was meant" if LIKELY[chosen] else ""
    assert suggestion(chosen, KNOWN) == end
    message = refused(ParameterError, lambda: checked_choice("method", chosen, KNOWN))
    assert message == f"method must be one of linear, norm-sub, MLE, got {quoted(chosen)}{end}. [method.not-among]"


def test_texts_and_bytes_are_one_value_and_not_a_column() -> None:
    assert all(map(is_single, ["ab", b"ab", bytearray(b"a"), memoryview(b"a"), 3, None, 1.5]))
    assert not any(map(is_single, [[1], (), {}, {1}, np.arange(2), range(2)]))


def test_names_are_texts_that_differ() -> None:
    assert are_names(["a", "b"])
    for wrong in (["a", "a"], ["a", ""], ["a", 1]):
        assert not are_names(wrong)


def test_numbers_too_large_for_a_float() -> None:
    assert (real_number(HUGE), real_number(Fraction(HUGE))) == (inf, inf)
    assert "an integer of 1329 bits" in refused(ParameterError, lambda: checked_epsilon(HUGE), HUGE)


@pytest.mark.parametrize("given", [True, False, np.True_, np.False_], ids=repr)
def test_flags(given: Any) -> None:
    assert checked_flag("sure", given) is bool(given)


@pytest.mark.parametrize("given", [0, 1, 1.0, None, "True", SECRET, [], np.array(True), np.int8(1)], ids=repr)
def test_what_is_no_flag(given: Any) -> None:
    assert "sure must be True or False" in refused(ParameterError, lambda: checked_flag("sure", given), SECRET)
