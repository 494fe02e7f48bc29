"""The smallest epsilon of each notion, against the definitions read aloud."""

from fractions import Fraction
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Channel
from discreet.errors import ParameterError
from discreet.privacy.notions import at_most, exact_ratio, logarithm, smallest_epsilon
from laws import Case, cases, over
from refusals import refused

NOTIONS = ("LDP", "ULDP", "OSLDP")
SMALL = {"1of2": (2, [1]), "3of7": (7, [0, 4, 6])}


def fractions(rows: list[list[int]]) -> Any:
    return np.array([[Fraction(entry, sum(row)) for entry in row] for row in rows], dtype=object)


def by_definition(matrix: Any, sensitive: list[bool], notion: str) -> tuple[Fraction | None, list[bool], list[bool]]:
    """The definitions, output by output and pair by pair; None where no epsilon suffices."""
    values, outputs = range(len(matrix)), range(len(matrix[0]))
    ratio, protected, invertible = Fraction(1), [], []
    blocked = False
    for y in outputs:
        senders = [x for x in values if matrix[x][y] > 0]
        tells = len(senders) == 1 and not sensitive[senders[0]]
        from_sensitive = any(sensitive[x] for x in senders)
        counts = {"LDP": bool(senders), "ULDP": bool(senders) and not tells, "OSLDP": from_sensitive}[notion]
        protected.append(counts)
        invertible.append(tells and notion != "LDP")
        for x in values:
            for other in values:
                if counts and (notion != "OSLDP" or sensitive[x]) and matrix[x][y] > 0:
                    if matrix[other][y] == 0:
                        blocked = True
                    else:
                        ratio = max(ratio, matrix[x][y] / matrix[other][y])
    return None if blocked else ratio, protected, invertible


@st.composite
def matrices(draw: Any) -> tuple[Any, list[bool]]:
    size, outputs = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 4), min_size=outputs, max_size=outputs).filter(any)
    rows = draw(st.lists(row, min_size=size, max_size=size))
    return fractions(rows), draw(st.lists(st.booleans(), min_size=size, max_size=size))


@given(matrices(), st.sampled_from(NOTIONS))
def test_as_defined(drawn: tuple[Any, list[bool]], notion: Any) -> None:
    matrix, sensitive = drawn
    ratio, protected, invertible = by_definition(matrix, sensitive, notion)
    exact = smallest_epsilon(matrix, notion, sensitive=sensitive)
    floats = smallest_epsilon(matrix.astype(float), notion, sensitive=sensitive)
    assert exact.ratio == ratio
    assert floats.ratio is None
    for found in (exact, floats):
        assert found.protected.tolist() == protected
        assert found.invertible.tolist() == invertible
        assert (found.blocking is None) == (ratio is not None) == (found.epsilon < inf)
        if ratio is not None:
            assert found.epsilon == pytest.approx(log(ratio), rel=1e-12, abs=1e-15)


@over(cases(SMALL))
def test_spelled_out_mechanisms(case: Case) -> None:
    if case.mechanism.clear_blocks:
        return
    channel = case.mechanism.channel()
    found = smallest_epsilon(channel, "ULDP")
    assert found.epsilon == pytest.approx(case.epsilon, rel=1e-12, abs=1e-9)
    assert found.epsilon == pytest.approx(logarithm(exact_ratio(found)), rel=1e-15)
    clear = case.domain.clear_count
    assert found.invertible.tolist() == [False] * (channel.outputs - clear) + [True] * clear
    assert not (found.protected & found.invertible).any()
    assert smallest_epsilon(channel, "OSLDP").epsilon <= found.epsilon
    assert smallest_epsilon(channel, "LDP").blocking is not None


def test_integers_of_any_total_are_exact() -> None:
    found = smallest_epsilon(np.array([[3, 1], [1, 3]]), "LDP")
    assert (found.ratio, found.epsilon) == (3, pytest.approx(log(3)))
    channel = Channel([[0.75, 0.25], [0.25, 0.75]])
    assert smallest_epsilon(channel, "LDP").ratio == 3
    assert smallest_epsilon(channel.weights, "LDP").ratio == 3


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.6], [0.5, 0.5]],
        [[1.5, -0.5], [0.5, 0.5]],
        [[np.nan, 1], [0.5, 0.5]],
        [0.5, 0.5],
        [[]],
        "secret",
        [[1, 2], [1, 1]],
        [[0, 0], [0, 0]],
        [[2, -1], [1, 0]],
        np.array([[Fraction(1, 2), 0.5], [0.5, 0.5]], dtype=object),
        np.array([[1, None], [1, 0]], dtype=object),
        [[True, "x"], [1, 2]],
    ],
)
def test_what_is_no_matrix_is_refused(matrix: Any) -> None:
    refused(ParameterError, lambda: smallest_epsilon(matrix, "LDP"), "secret")


def test_logarithms_are_compared_exactly() -> None:
    assert at_most(Fraction(1), 0.0)
    assert not at_most(1 + Fraction(1, 10**40), 0.0)
    assert logarithm(Fraction(1 << 200)) == 200 * log(2)
