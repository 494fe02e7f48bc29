"""Plans written to files: the domain of a document with a mechanism over it."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from discreet.errors import ParameterError
from discreet.io.atomic import replacing
from discreet.io.plan import Plan, read_document
from discreet.mechanisms import BlockMechanism

_OF_DOMAIN = ("title", "domain", "tags", "others", "cells")


def write_plan(
    path: str | Path, source: str | Path, mechanism: BlockMechanism, *, force: bool = False, allow_outside: bool = False
) -> Plan:
    """Write the plan of a mechanism over the domain of a document, and read it back.

    Args:
        path: the plan, .toml or .json.
        source: a plan or a domain file, whose domain the mechanism was made for.
        mechanism: the mechanism.
        force: whether a file that exists is replaced.
        allow_outside: whether the plan may name files that are neither beside it nor below.

    Returns:
        the plan as it was read back, which has the mechanism's fingerprint.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if the plan cannot be written there, or would not be that of the mechanism.

    Example:
        >>> from importlib.resources import files
        >>> from tempfile import TemporaryDirectory
        >>> import discreet as dc
        >>> survey = files("discreet") / "examples" / "survey.toml"
        >>> mechanism = dc.best(dc.Plan.load(survey).domain, epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     plan = write_plan(Path(folder) / "plan.toml", survey, mechanism)
        >>> plan.fingerprint == mechanism.fingerprint
        True
    """
    target, document = Path(path), dict(read_document(source, dict))
    said = {name: document[name] for name in _OF_DOMAIN if name in document}
    file = said["domain"].get("file")
    if file is not None:
        moved = os.path.relpath(Path(source).parent / file["path"], target.absolute().parent)
        said["domain"] = {**said["domain"], "file": {**file, "path": Path(moved).as_posix()}}
    said |= {"epsilon": mechanism.epsilon, "mechanism": _described(mechanism)}
    with replacing(target, force=force) as beside:
        text = json.dumps(said, indent=2, ensure_ascii=False) if target.suffix == ".json" else toml_text(said)
        beside.write_text(text + "\n", encoding="utf-8")
        # Where it lies, as files are named from there.
        plan = Plan.load(beside, allow_outside=allow_outside)
        if plan.fingerprint != mechanism.fingerprint:
            raise ParameterError(f"the mechanism must be over the domain of {source}, and it is over another one.")
    return plan


def _described(mechanism: BlockMechanism) -> dict[str, Any]:
    """Return a mechanism as plans name it, with the options that are not the defaults."""
    options = {option.name: (getattr(mechanism, option.name), option.default) for option in mechanism.options()}
    given = {name: value for name, (value, default) in options.items() if value != default}
    return {"name": mechanism.name, **msgspec.to_builtins(given, enc_hook=_plain)}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


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
        lines += ["", f"[{_key(name)}]", *_assignments(table)]
    return "\n".join(lines).strip("\n")


def _assignments(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def _key(name: str) -> str:
    bare = name.isascii() and bool(name) and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # A basic string of TOML is a string of JSON, but for this letter, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_assignments(value))} }}" if value else "{}"
    return f"[{', '.join(_value(entry) for entry in value)}]"
