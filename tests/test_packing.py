"""Cases that are packed into one test: every one runs, and a failure names its own."""

import inspect

import pytest

from packing import each

seen: list[tuple[int, int]] = []


@each("a, b", [(1, 1), (2, 2), (3, 4), (5, 5)])
def equal(a: int, b: int, *, also: int) -> None:
    seen.append((a, b))
    assert a == b == also + a


def test_a_failure_names_its_case() -> None:
    seen.clear()
    with pytest.raises(AssertionError) as caught:
        equal(also=0)
    assert caught.value.__notes__ == ["The case is {'a': 3, 'b': 4}."]
    assert seen == [(1, 1), (2, 2), (3, 4)]
    assert list(inspect.signature(equal).parameters) == ["also"]


def test_a_test_of_no_case_is_refused() -> None:
    with pytest.raises(AssertionError, match="no case"):
        each("a", [])
