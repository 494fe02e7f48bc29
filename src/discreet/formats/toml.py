"""Documents as text: TOML, or JSON by the ending of the file."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any


def document_text(document: Mapping[str, Any], path: Path, toml: Callable[[Any], str] | None = None) -> str:
    """Return the text of a document: JSON or TOML by the file's name; ``toml`` writes TOML in a special layout."""
    if path.suffix.lower() == ".json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return (toml or toml_text)(document) + "\n"


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document as TOML: plain values first, then its tables.

    Example:
        >>> print(toml_text({"domain": {"labels": ["a", "b"], "range": None}, "epsilon": 1.0}))
        epsilon = 1.0
        <BLANKLINE>
        [domain]
        labels = ["a", "b"]
    """
    tables = {name: part for name, part in document.items() if isinstance(part, Mapping)}
    lines = list(_assignments({name: part for name, part in document.items() if name not in tables}))
    for name, table in tables.items():
        lines += ["", toml_table(f"[{toml_key(name)}]", table)]
    return "\n".join(lines).strip("\n")


def toml_table(heading: str, table: Mapping[str, Any]) -> str:
    """Return a table of TOML under its heading, with the tables in it on one line each."""
    return "\n".join([heading, *_assignments(table)])


def _assignments(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{toml_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def toml_key(name: str) -> str:
    """Return a name as a key of TOML."""
    bare = name.isascii() and bool(name) and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # A basic string of TOML is a string of JSON, except for this character, which TOML escapes.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_assignments(value))} }}" if value else "{}"
    return f"[{', '.join(_value(entry) for entry in value)}]"
