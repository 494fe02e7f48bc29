"""Values and secret places as people type them, in arguments or in a line of standard input."""

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.labels import Grid, LabelSpace, Product, Texts, names
from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from discreet.protocol.collection import Collection

_LONGEST, _MOST_TYPED_DIGITS, _MOST_SHOWN = 1 << 16, 20, 20


def typed_value(found: "Collection", typed: Sequence[str]) -> Any:
    """Return a value of the domain, or what is none of its values and refused later; nothing is quoted.

    Args:
        found: the collection.
        typed: the words of a value; ``-`` alone for those of standard input.

    Raises:
        ParameterError: if there is no standard input.
        DataError: if the words make no value.
    """
    if list(typed) == ["-"]:
        line = _line_of_input()
        typed = _words(line) if isinstance(found.domain.space, Grid | Product) else [line]
    return _value(found.domain.space, typed)


def typed_places(found: "Collection", typed: Sequence[str]) -> Any:
    """Return secret places: values by tag, or a list of values where bots stand for cells; see `typed_value`."""
    space = found.domain.space
    if found.bots is not None and found.bots.cell_of is not None:
        return [_value(space, one.split(",")) for one in typed]
    tagged: dict[str, list[Any]] = {}
    for one in typed:
        name, _, label = one.partition("=")
        words = (
            _words(label) if isinstance(space, Product) else label.split(",") if isinstance(space, Grid) else [label]
        )
        tagged.setdefault(name, []).append(_value(space, words))
    return tagged


def values_to_type(found: "Collection") -> str:
    """Return sentences that say what can be answered, and how it is typed."""
    space = found.domain.space
    if isinstance(space, Grid):
        said = "a latitude and a longitude within the map"
    elif isinstance(space, Product):
        said = " ".join(f"{name}=LABEL" for name in space.attributes) + ", of " + _shown_parts(space)
    else:
        said = f"one of {_shown(space)}"
    first = "" if found.bots is None else f"First say what is secret for you alone, {_said_of_bots(found)}. "
    return f"{first}Answer it by `discreet device answer {found.name} VALUE`, with {said}."


def _said_of_bots(found: "Collection") -> str:
    bots, verb = found.bots, f"`discreet device tag {found.name}"
    if bots is None or bots.cell_of is not None:
        return f"by {verb} VALUE...`, without values if nothing is"
    return f"by {verb} TAG=VALUE...`, without values if nothing is; a tag is one of {'; '.join(bots.tags)}"


def _shown_parts(space: Product) -> str:
    return ", ".join(f"{name}: {_shown(part)}" for name, part in space.attributes.items())


def _shown(space: LabelSpace) -> str:
    more = f"; and {space.size - _MOST_SHOWN} more" if space.size > _MOST_SHOWN else ""
    return "; ".join(names(space, np.arange(min(space.size, _MOST_SHOWN)))) + more


def _value(space: Any, typed: Sequence[str]) -> Any:
    if isinstance(space, Grid):
        return tuple(map(_number, typed))
    if not isinstance(space, Product):
        return _label(space, " ".join(typed))
    pairs = [one.partition("=")[::2] for one in typed]
    if len(dict(pairs)) < len(pairs):
        raise DataError("each attribute must be named once, and one is named twice; leave one of them out.")
    return {name: _label(space.attributes.get(name), label) for name, label in pairs}


def _line_of_input() -> str:
    """Return the one line of standard input; of a terminal the first."""
    if sys.stdin is None:
        raise ParameterError("standard input must hold the value, and it is closed; give it as an argument.")
    try:
        text = sys.stdin.readline() if sys.stdin.isatty() else sys.stdin.read(_LONGEST)
    except UnicodeDecodeError:
        raise DataError("standard input must be text in UTF-8, and it is not.") from None
    line = text.removesuffix("\n")
    if not text or "\n" in line:
        raise DataError(f"standard input must hold one line, the value, got {text.count(chr(10))} lines.")
    return line


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        raise DataError("quotation marks must be closed, and one is not; put a backslash before it.") from None


def _label(space: Any, typed: str) -> Any:
    if isinstance(space, Texts) or not typed.removeprefix("-").isdecimal() or len(typed) > _MOST_TYPED_DIGITS:
        return typed
    return int(typed)


def _number(typed: str) -> Any:
    try:
        return float(typed)
    except ValueError:
        return None
