"""Documents as text: TOML or JSON, according to the ending of the file."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any


def document_text(document: Mapping[str, Any], path: Path, toml: Callable[[Any], str] | None = None) -> str:
    """Return a document as JSON or TOML, according to the ending of the file.

    ``toml`` may write TOML in its own layout.
    """
    if path.suffix.lower() == ".json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return (toml or toml_text)(document) + "\n"


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document as TOML: first plain values, then tables.

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
    """Return a TOML table under its heading. Tables inside it are on one line each."""
    return "\n".join([heading, *_assignments(table)])


def _assignments(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{toml_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def toml_key(name: str) -> str:
    """Return a name as a TOML key, with quotes if it needs them."""
    bare = name.isascii() and bool(name) and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # A basic string of TOML is a JSON string, except that TOML escapes this character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_assignments(value))} }}" if value else "{}"
    return f"[{', '.join(_value(entry) for entry in value)}]"
