"""Checks of arguments: whole numbers, real numbers, shares, booleans, and names from a list.

An error message gives the rule, the argument and the remedy. ``True`` and text are not numbers. NumPy's scalars count
as Python's.
"""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from math import inf, nan
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from discreet.errors import DiscreetError, ParameterError

_LARGEST_EPSILON = 200.0
_LARGEST = (1 << 63) - 1
# Most characters of a text, and most bits of an integer, that an error message quotes.
_QUOTED = 64
# Subclasses of integers that are no integers: NumPy's timedelta64 is a signedinteger.
_NO_NUMBERS = (bool, np.timedelta64)


def quoted(argument: object) -> str:
    """Return the text by which an error message quotes an argument.

    Numbers and short texts are quoted as they are, any other object by its type.
    """
    if is_whole(argument) and int(argument).bit_length() > _QUOTED:
        return f"an integer of {int(argument).bit_length()} bits"
    short = isinstance(argument, str) and len(argument) <= _QUOTED
    return repr(argument) if short or argument is None or isinstance(argument, Real) else type(argument).__name__


def is_whole(argument: object) -> TypeGuard[Integral]:
    """Return true for an integer of any size, Python's or NumPy's; booleans and time differences are not integers."""
    return isinstance(argument, Integral) and not isinstance(argument, _NO_NUMBERS)


def is_flag(argument: object) -> TypeGuard[bool]:
    """Return true if an object is a boolean of Python or NumPy."""
    return isinstance(argument, bool | np.bool_)


def is_single(argument: object) -> bool:
    """Return true if an object is a single value and not a column: text, bytes, or an object that is not iterable."""
    return isinstance(argument, str | bytes | bytearray | memoryview) or not isinstance(argument, Iterable)


def is_real(argument: object) -> TypeGuard[Real]:
    """Return true for a real number, including nan and inf; booleans and time differences are not numbers."""
    return isinstance(argument, Real) and not isinstance(argument, _NO_NUMBERS)


def real_number(argument: object) -> float:
    """Return a number as a float: nan for an object that is no real number, inf for a number too large for a float."""
    try:
        return float(argument) if is_real(argument) else nan
    except OverflowError:
        return inf


def checked_whole(
    name: str, argument: object, least: int = 1, most: int = _LARGEST, *, error: type[DiscreetError] = ParameterError
) -> int:
    """Return an integer from ``least`` to ``most`` as an ``int``; raise an error for anything else.

    Args:
        name: the argument's name in messages.
        argument: the number.
        least: the lower bound, included.
        most: the upper bound, included.
        error: the class of the error; another one for numbers in data.

    Raises:
        ParameterError: if it is no integer in least..most.
    """
    if is_whole(argument) and least <= int(argument) <= most:
        return int(argument)
    room = f"of at least {least} that fits into 64 bits" if most == _LARGEST else f"in {least}..{most}"
    raise error("argument.not-integer", argument=name, room=room, value=quoted(argument))


def checked_n(n: object) -> int:
    """Return a number of reports as an ``int``; raise an error if it is not a positive integer."""
    return checked_whole("n", n)


def _checked_real(name: str, argument: object, holds: Callable[[float], bool], code: str, **limits: Any) -> float:
    number = real_number(argument)
    if not holds(number):
        raise ParameterError(code, argument=name, value=quoted(argument), **limits)
    return number


def checked_positive(name: str, argument: object) -> float:
    """Return a finite number above 0 as a float; raise an error for anything else.

    Raises:
        ParameterError: if it is not a positive number.
    """
    return _checked_real(name, argument, lambda number: 0 < number < inf, "argument.not-positive")


def checked_finite(name: str, argument: object, least: float = 0) -> float:
    """Return a finite number of at least ``least`` as a float; raise an error for anything else.

    Raises:
        ParameterError: if it is not a finite number, or too small.
    """
    return _checked_real(name, argument, lambda number: least <= number < inf, "argument.not-at-least", least=least)


def checked_between(name: str, argument: object, low: float = 0, high: float = 1) -> float:
    """Return a number strictly between ``low`` and ``high`` as a float; raise an error for anything else.

    Raises:
        ParameterError: if it is not a number between ``low`` and ``high``.
    """
    return _checked_real(name, argument, lambda number: low < number < high, "argument.not-between", low=low, high=high)


def checked_share(name: str, argument: object) -> float:
    """Return a number from 0 to 1 as a float; raise an error for anything else.

    Raises:
        ParameterError: if it is not a number from 0 to 1.
    """
    return _checked_real(name, argument, lambda number: 0 <= number <= 1, "argument.not-share")


def checked_level(level: object) -> float:
    """Return a confidence level, strictly between 0 and 1, as a float; raise an error for anything else."""
    return checked_between("level", level)


def checked_mass(mass: object, clear_count: int) -> float:
    """Return the share of people whose value is sensitive as a float; raise an error if the share is invalid.

    Args:
        mass: the share.
        clear_count: number of values that are not sensitive.

    Raises:
        ParameterError: if the share is not in 0..1, or not 1 although every value is sensitive.
    """
    number = checked_share("sensitive_mass", mass)
    if clear_count == 0 and number != 1:
        raise ParameterError("sensitive-mass.not-1", argument="sensitive_mass")
    return number


def checked_flag(name: str, argument: object) -> bool:
    """Return a boolean as a ``bool``; raise an error for anything else.

    Raises:
        ParameterError: if it is neither True nor False.
    """
    if not is_flag(argument):
        raise ParameterError("argument.not-boolean", argument=name, value=quoted(argument))
    return bool(argument)


def checked_epsilon(epsilon: object) -> float:
    """Return ``epsilon`` as a float; raise an error if it is not positive, or so large that it protects nothing.

    Raises:
        ParameterError: if it is not a finite number above 0, or so large that it protects nothing.
    """
    number = checked_positive("epsilon", epsilon)
    if number > _LARGEST_EPSILON:
        raise ParameterError(
            "epsilon.too-large", argument="epsilon", largest_epsilon=_LARGEST_EPSILON, epsilon=quoted(epsilon)
        )
    return number


def check_truth_possible(epsilon: float, threshold: float) -> None:
    """Raise an error if epsilon is so small that the truth would never be sent.

    Such an epsilon makes the sampler's threshold, an integer, less than 1.

    Raises:
        ParameterError: if the threshold is below 1.
    """
    if threshold < 1:
        raise ParameterError("epsilon.too-small", argument="epsilon", epsilon=epsilon)


def are_names(names: Collection[object]) -> bool:
    """Return true if all names are texts, different, and not empty."""
    return all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)


def checked_choice(what: str, argument: object, known: Iterable[str]) -> str:
    """Return a name that is among the known names; raise an error for any other object.

    Args:
        what: the argument's name in messages.
        argument: the name.
        known: all names.

    Raises:
        ParameterError: if it is no known name; the message lists the known names and suggests the most similar one.
    """
    names = list(known)
    if isinstance(argument, str) and argument in names:
        return argument
    raise ParameterError(
        "argument.not-among",
        argument=what,
        names=", ".join(names),
        value=quoted(argument),
        meant=suggestion(argument, names),
    )


def suggestion(argument: object, known: Iterable[str]) -> str:
    """Return a text such as "; perhaps 'mle' was meant", with the most similar known name; empty without one.

    It ends an error message, before the full stop.
    """
    names = {name.casefold(): name for name in known}
    near = get_close_matches(argument.casefold(), list(names), 1) if isinstance(argument, str) else []
    return f"; perhaps {names[near[0]]!r} was meant" if near else ""
