"""Plans written to files: the domain of a document with a mechanism over it."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import NODEFAULT

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.io.atomic import replacing
from discreet.io.described_domain import described_domain, described_values
from discreet.io.plan import Plan, read_document
from discreet.io.remote import output_of
from discreet.io.suffixes import PLANS, checked_output
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, Mechanism
from discreet.mechanisms.given import as_blocks, as_personalized
from discreet.mechanisms.personalized import OTHERS

_BY_VALUE = "epsilons"
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
    document = dict(read_document(source, dict))
    said = {name: document[name] for name in _OF_DOMAIN if name in document}
    said |= {"epsilon": mechanism.epsilon, "mechanism": _described(mechanism)}
    with _written(path, said, Path(source).parent, force=force, allow_outside=allow_outside) as written:
        if written.fingerprint != mechanism.fingerprint:
            raise ParameterError(f"the mechanism must be over the domain of {source}, and it is over another one.")
    return written


def save_plan(path: str | Path, plan: Plan, *, force: bool = False) -> Plan:
    """Write a plan, and return it as it was read back; arguments and errors as for `Plan.save`."""
    with _written(path, _said(plan), plan.folder, force=force, allow_outside=plan.allow_outside) as written:
        if written.fingerprint != plan.fingerprint:
            raise ParameterError("the plan would be another one when it is read back; change its labels to plain text.")
    return written


def plan_text(plan: Plan) -> str:
    """Return a plan as TOML."""
    return toml_text(_said(plan))


def _said(plan: Plan) -> dict[str, Any]:
    """Return the document of a plan, its title first, without what need not be said."""
    said = without_defaults(plan.document)
    return {name: said[name] for name in dict.fromkeys(("title", *said)) if name in said}


def without_defaults(value: Any) -> Any:
    """Return the built-ins of a document without the fields that have their default; signed plans say those too."""
    if isinstance(value, list | tuple):
        return [without_defaults(one) for one in value]
    if not isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=_plain)
    kind = value.__struct_config__
    said = {} if kind.tag is None else {str(kind.tag_field): kind.tag}
    for field in msgspec.structs.fields(value):
        one = getattr(value, field.name)
        if field.required or one != (field.default if field.default_factory is NODEFAULT else field.default_factory()):
            said[field.encode_name] = without_defaults(one)
    return said


@contextmanager
def _written(
    path: str | Path, said: dict[str, Any], folder: Path, *, force: bool, allow_outside: bool
) -> Iterator[Plan]:
    """Write a document whose files are named from a folder, and read it back; an error leaves nothing."""
    target = output_of(path, "plans")
    checked_output(target, PLANS, "plans")
    file = said["domain"].get("file")
    if file is not None:
        moved = os.path.relpath(folder / file["path"], target.absolute().parent)
        said["domain"] = {**said["domain"], "file": {**file, "path": Path(moved).as_posix()}}
    with replacing(target, force=force) as beside:
        text = json.dumps(said, indent=2, ensure_ascii=False) if target.suffix == ".json" else toml_text(said)
        beside.write_text(text + "\n", encoding="utf-8")
        # Where it lies, as files are named from there.
        yield Plan.load(beside, allow_outside=allow_outside)


def described_plan(mechanism: Mechanism, title: str) -> dict[str, Any]:
    """Return the document of a mechanism's plan; arguments and errors as for `Plan.of`."""
    personal = as_personalized(mechanism)
    blocks = as_blocks(mechanism) if personal is None else personal.common
    if blocks is None or type(blocks) not in BLOCK_MECHANISMS.values():
        raise ParameterError(
            f"plans say by name what a mechanism is ({', '.join(BLOCK_MECHANISMS)}), and a "
            f"{type(mechanism).__name__} has no such name; make one of these, or join yours by an entry point."
        )
    tags: dict[str, Any] = {}
    if personal is not None:
        if personal.cell_of is not None:
            raise ParameterError(
                "a plan with bots over coarse cells says how many these are; write its file, with a table cells."
            )
        others = OTHERS in personal.tags
        tags = {"tags": [tag for tag in personal.tags if tag != OTHERS]} | ({} if others else {"others": False})
    head = {"title": title} if title else {}
    epsilon: float = blocks.epsilon
    return head | {
        "epsilon": epsilon,
        **tags,
        "domain": described_domain(mechanism.domain),
        "mechanism": _described(blocks),
    }


def _described(mechanism: BlockMechanism) -> dict[str, Any]:
    """Return a mechanism as plans name it, with the options that are not the defaults."""
    options = {option.name: (getattr(mechanism, option.name), option.default) for option in mechanism.options()}
    given = {name: value for name, (value, default) in options.items() if value is not default and value != default}
    if _BY_VALUE in given:
        epsilons = given[_BY_VALUE]
        given[_BY_VALUE] = _groups(mechanism.domain, np.asarray(epsilons)[epsilons.groups])
    return {"name": mechanism.name, **msgspec.to_builtins(given, enc_hook=_plain)}


def _groups(domain: Domain, epsilons: FloatArray) -> list[dict[str, Any]]:
    """Return the groups of sensitive values that have one epsilon each, as plans name them."""
    groups = []
    for epsilon in np.unique(epsilons):
        chosen = np.zeros(domain.size, dtype=np.bool_)
        chosen[domain.sensitive_codes[epsilons == epsilon]] = True
        groups.append({"values": described_values(domain, chosen), "epsilon": float(epsilon)})
    return groups


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
