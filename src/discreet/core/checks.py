"""Arguments, checked at one door: whole numbers, real numbers, shares, yes or no, names from a list.

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
# Characters of a text, and bits of an integer, that a refusal quotes.
_QUOTED = 64
# Integers by their classes: NumPy's timedelta64 is a signedinteger.
_NO_NUMBERS = (bool, np.timedelta64)


def shown(argument: object) -> str:
    """Return the form in which a refusal quotes a parameter: numbers and short texts as such, others by type."""
    if is_whole(argument) and int(argument).bit_length() > _QUOTED:
        return f"an integer of {int(argument).bit_length()} bits"
    short = isinstance(argument, str) and len(argument) <= _QUOTED
    return repr(argument) if short or argument is None or isinstance(argument, Real) else type(argument).__name__


def is_whole(argument: object) -> TypeGuard[Integral]:
    """Return true for an integer of any size, Python's or NumPy's; booleans and lengths of time are not integers."""
    return isinstance(argument, Integral) and not isinstance(argument, _NO_NUMBERS)


def is_flag(argument: object) -> TypeGuard[bool]:
    """Return true if this is a truth value, Python's or NumPy's."""
    return isinstance(argument, bool | np.bool_)


def is_single(argument: object) -> bool:
    """Return true if this is one value and no column: a text, or an object without entries."""
    return isinstance(argument, str | bytes | bytearray | memoryview) or not isinstance(argument, Iterable)


def is_real(argument: object) -> TypeGuard[Real]:
    """Return true for a real number, also nan and inf; booleans and lengths of time are not numbers."""
    return isinstance(argument, Real) and not isinstance(argument, _NO_NUMBERS)


def real_number(argument: object) -> float:
    """Return a number as a float; nan if it is no real number, inf if it is too large for one."""
    try:
        return float(argument) if is_real(argument) else nan
    except OverflowError:
        return inf


def checked_whole(
    name: str, argument: object, least: int = 1, most: int = _LARGEST, *, error: type[DiscreetError] = ParameterError
) -> int:
    """Return an integer in least..most as an ``int``, or refuse it under its name.

    Args:
        name: what it is called.
        argument: the number.
        least: what it must be at least.
        most: what it must be at most.
        error: what to raise, where the number is data.

    Raises:
        ParameterError: if it is no integer in least..most.
    """
    if is_whole(argument) and least <= int(argument) <= most:
        return int(argument)
    room = f"of at least {least} that fits into 64 bits" if most == _LARGEST else f"in {least}..{most}"
    raise error("argument.not-integer", argument=name, room=room, value=shown(argument))


def checked_n(n: object) -> int:
    """Return a number of reports, or refuse it."""
    return checked_whole("n", n)


def _checked_real(name: str, argument: object, holds: Callable[[float], bool], code: str, **limits: Any) -> float:
    number = real_number(argument)
    if not holds(number):
        raise ParameterError(code, argument=name, value=shown(argument), **limits)
    return number


def checked_positive(name: str, argument: object) -> float:
    """Return a finite number above 0 as a float, or refuse it.

    Raises:
        ParameterError: if it is not a positive number.
    """
    return _checked_real(name, argument, lambda number: 0 < number < inf, "argument.not-positive")


def checked_finite(name: str, argument: object, least: float = 0) -> float:
    """Return a finite number of at least another one as a float, or refuse it.

    Raises:
        ParameterError: if it is not a finite number, or too small.
    """
    return _checked_real(name, argument, lambda number: least <= number < inf, "argument.not-at-least", least=least)


def checked_between(name: str, argument: object, low: float = 0, high: float = 1) -> float:
    """Return a number strictly between two others as a float, or refuse it.

    Raises:
        ParameterError: if it is not a number between the two.
    """
    return _checked_real(name, argument, lambda number: low < number < high, "argument.not-between", low=low, high=high)


def checked_share(name: str, argument: object) -> float:
    """Return a number in 0..1 as a float, or refuse it.

    Raises:
        ParameterError: if it is not a number from 0 to 1.
    """
    return _checked_real(name, argument, lambda number: 0 <= number <= 1, "argument.not-share")


def checked_level(level: object) -> float:
    """Return a confidence level, in (0, 1), as a float, or refuse it."""
    return checked_between("level", level)


def checked_mass(mass: object, clear_count: int) -> float:
    """Return a sensitive mass, the share of people whose value is sensitive, as a float, or refuse it.

    Args:
        mass: the share.
        clear_count: how many values are not sensitive.

    Raises:
        ParameterError: if it is not in 0..1, or not 1 where every value is sensitive.
    """
    number = checked_share("sensitive_mass", mass)
    if clear_count == 0 and number != 1:
        raise ParameterError("sensitive-mass.not-1", argument="sensitive_mass")
    return number


def checked_flag(name: str, argument: object) -> bool:
    """Return a truth value as a ``bool``, or refuse it.

    Raises:
        ParameterError: if it is neither True nor False.
    """
    if not is_flag(argument):
        raise ParameterError("argument.not-boolean", argument=name, value=shown(argument))
    return bool(argument)


def checked_epsilon(epsilon: object) -> float:
    """Return ``epsilon`` as a float, or refuse it.

    Raises:
        ParameterError: if it is not a finite number above 0, or so large that it protects nothing.
    """
    number = checked_positive("epsilon", epsilon)
    if number > _LARGEST_EPSILON:
        raise ParameterError(
            "epsilon.too-large", argument="epsilon", largest_epsilon=_LARGEST_EPSILON, epsilon=shown(epsilon)
        )
    return number


def check_truth_possible(epsilon: float, threshold: float) -> None:
    """Raise if epsilon is so small that the truth would never be sent: S, or another threshold, is below 1.

    Raises:
        ParameterError: if the threshold is below 1.
    """
    if threshold < 1:
        raise ParameterError("epsilon.too-small", argument="epsilon", epsilon=epsilon)


def are_names(names: Collection[object]) -> bool:
    """Return true if these are texts, all different and none of them empty."""
    return all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)


def checked_choice(what: str, argument: object, known: Iterable[str]) -> str:
    """Return a name from a list, or refuse it.

    Args:
        what: the argument's name in messages.
        argument: the name.
        known: all names.

    Raises:
        ParameterError: if it is another one, or no text; with the list, and the likeliest one meant.
    """
    names = list(known)
    if isinstance(argument, str) and argument in names:
        return argument
    raise ParameterError(
        "argument.not-among", argument=what, names=", ".join(names), value=shown(argument), meant=meant(argument, names)
    )


def meant(argument: object, known: Iterable[str]) -> str:
    """Return "; perhaps ... was meant", the end of a refusal without its full stop; empty if no name is similar."""
    names = {name.casefold(): name for name in known}
    near = get_close_matches(argument.casefold(), list(names), 1) if isinstance(argument, str) else []
    return f"; perhaps {names[near[0]]!r} was meant" if near else ""
