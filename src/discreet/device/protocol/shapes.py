"""Shapes: declarations of the fields and types that a received document must have."""

import re
from typing import Any, get_args


def fits(content: Any, shape: Any) -> bool:
    """Return true if a JSON value has the fields and types of a shape.

    Args:
        content: the parsed value.
        shape: a type or a union of types: exactly this type, so true is not an integer. A pattern: a text that matches
            it completely. ``[shape]``: a list; ``(shape, shape)``: a list of two. A dictionary of shapes: an object
            with exactly these fields; a field whose name ends in ``?`` may be absent. `Any`: anything.

    Example:
        >>> fits({"epoch": 3, "ids": ["a"]}, {"epoch": int, "ids": [str], "note?": str})
        True
        >>> fits({"epoch": True, "ids": []}, {"epoch": int, "ids": [str]})
        False
    """
    if type(shape) is dict:
        parts = {name.removesuffix("?"): part for name, part in shape.items()}
        needed = {name for name in shape if not name.endswith("?")}
        named = type(content) is dict and needed <= set(content) <= set(parts)
        return named and all(fits(part, parts[name]) for name, part in content.items())
    if type(shape) is list:
        return type(content) is list and all(fits(part, shape[0]) for part in content)
    if type(shape) is tuple:
        return type(content) is list and len(content) == len(shape) and all(map(fits, content, shape))
    if type(shape) is re.Pattern:
        return type(content) is str and shape.fullmatch(content) is not None
    return shape is Any or type(content) in (get_args(shape) or (shape,))
