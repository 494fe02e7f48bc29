"""Numbers that users of this room give, checked in one place."""

from math import isfinite
from numbers import Integral
from typing import Any

from discreet.core.exact import real_number
from discreet.errors import ParameterError


def checked_count(name: str, given: Any, least: int = 1) -> int:
    """Return a whole number.

    Args:
        name: what it is called.
        given: the number.
        least: what it must be at least.

    Raises:
        ParameterError: if it is none, too small, or does not fit into 64 bits.
    """
    if isinstance(given, bool) or not isinstance(given, Integral) or not least <= int(given) < 1 << 63:
        raise ParameterError(
            f"{name} must be an integer of at least {least} that fits into 64 bits, got {name}={given!r}."
        )
    return int(given)


def checked_level(level: Any) -> float:
    """Return a confidence level.

    Raises:
        ParameterError: if it is not in (0, 1).
    """
    number = real_number(level)
    if not (isfinite(number) and 0 < number < 1):
        raise ParameterError(f"level must be a number between 0 and 1, both excluded, got level={level!r}.")
    return number
