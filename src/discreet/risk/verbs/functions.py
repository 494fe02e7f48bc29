"""Functions that a user names as MODULE:FUNCTION."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError


def function_of(name: str) -> Callable[..., Any]:
    """Return a function by its module and name; modules of the current folder are found too.

    Raises:
        ParameterError: if there is no such function.

    Example:
        >>> function_of("math:sqrt")(4)
        2.0
    """
    module, _, attribute = name.partition(":")
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        raise ParameterError("attack.no-function", argument="attack", name=name) from None
    finally:
        sys.path[:] = before
    if not callable(function):
        raise ParameterError("attack.no-function", argument="attack", name=name)
    checked: Callable[..., Any] = function
    return checked
