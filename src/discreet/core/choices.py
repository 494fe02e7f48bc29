"""Choices from lists of names: an unknown name is refused with the list and the most similar name."""

from collections.abc import Iterable
from difflib import get_close_matches

from discreet.core.exact import shown
from discreet.errors import ParameterError


def checked_choice(what: str, given: object, known: Iterable[str]) -> str:
    """Return a name from a list, or refuse it.

    Args:
        what: what is chosen, as the argument is called.
        given: the name.
        known: all names.

    Raises:
        ParameterError: if it is another one, or no text.
    """
    names = list(known)
    if isinstance(given, str) and given in names:
        return given
    raise ParameterError(f"{what} must be one of {', '.join(names)}, got {what}={shown(given)}{meant(given, names)}.")


def meant(given: object, known: Iterable[str]) -> str:
    """Return "; did you mean ...?", the end of a refusal without its full stop; empty if no name is similar."""
    near = get_close_matches(given, list(known), 1) if isinstance(given, str) else []
    return f"; perhaps {near[0]!r} was meant" if near else ""
