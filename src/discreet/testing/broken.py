"""Failures of checks."""

from collections.abc import Iterable


def hold(promise: bool, broken: str) -> None:
    """Fail unless a promise holds; unlike the statement, with Python's ``-O`` too.

    Raises:
        AssertionError: if it does not, with a sentence of what must hold and what came.
    """
    if not promise:
        raise AssertionError(broken)


def no_fault(faults: Iterable[str]) -> None:
    """Fail with the first fault, if there is one.

    Raises:
        AssertionError: if there is.
    """
    for fault in faults:
        hold(False, fault)
