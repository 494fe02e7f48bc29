"""Failures of checks."""


def hold(promise: bool, broken: str) -> None:
    """Fail unless a promise holds; unlike the statement, with Python's ``-O`` too.

    Raises:
        AssertionError: if it does not, with a sentence of what must hold and what came.
    """
    if not promise:
        raise AssertionError(broken)
