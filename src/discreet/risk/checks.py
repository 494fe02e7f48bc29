"""Checks of counts and levels from users of this room."""

from math import isfinite
from typing import Any

from discreet.core.exact import checked_whole, real_number, shown
from discreet.errors import ParameterError


def checked_count(name: str, given: Any, least: int = 1) -> int:
    """Return a whole number, or refuse it.

    Args:
        name: what it is called.
        given: the number.
        least: what it must be at least.

    Raises:
        ParameterError: if it is none, too small, or does not fit into 64 bits.
    """
    return checked_whole(name, given, least)


def checked_level(level: Any) -> float:
    """Return a confidence level, or refuse it.

    Raises:
        ParameterError: if it is not in (0, 1).
    """
    number = real_number(level)
    if not (isfinite(number) and 0 < number < 1):
        raise ParameterError(f"level must be a number between 0 and 1, both excluded, got level={shown(level)}.")
    return number
