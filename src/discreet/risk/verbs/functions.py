"""Functions that a user names as MODULE:FUNCTION."""

import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from discreet.errors import ParameterError


def function_of(name: str) -> Any:
    """Return a function by its module and name; modules of the current folder are found too.

    Raises:
        ParameterError: if there is no such function.

    Example:
        >>> function_of("math:sqrt")(4)
        2.0
    """
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        function = None
    finally:
        sys.path.pop(0)
    if not callable(function):
        raise ParameterError("attack.no-function", argument="attack", name=name)
    return function
