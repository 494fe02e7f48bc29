"""What was measured, kept as JSON under bench/out, from which the page is rendered."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import Group, Picture, Row


@dataclass(frozen=True, slots=True)
class Measured:
    """A group, and when and on what it was measured.

    Attributes:
        group: what came out.
        machine: processor, cores and memory, in a line.
        date: the day.
        loads: processes that wanted a core, before and after; empty where the system does not say.
        seconds: how long it all took.
        versions: of this package and what it runs on.
        taken: share of the processors' time that other guests of the machine took; None where the system does not say.
    """

    group: Group
    machine: str
    date: str
    loads: tuple[float, ...] = ()
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    taken: float | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """Groups by name, and what is known of every package beside us: its versions, or why it was skipped."""

    groups: Mapping[str, Measured] = field(default_factory=dict)
    peers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def with_group(self, name: str, measured: Measured) -> "Results":
        """Return the same with one group anew."""
        return Results({**self.groups, name: measured}, self.peers)

    def write(self, path: Path) -> None:
        """Write everything as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2, default=_plain) + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """Read what was written; nothing if there is no file."""
    if not path.exists():
        return Results()
    document = json.loads(path.read_text(encoding="utf-8"))
    groups = {
        name: Measured(**{**facts, "group": _group(facts["group"]), "loads": tuple(facts["loads"])})
        for name, facts in document["groups"].items()
    }
    return Results(groups, document["peers"])


def _group(facts: dict[str, Any]) -> Group:
    parts = {
        "rows": [Row(**row) for row in facts["rows"]],
        "pictures": [Picture(**picture) for picture in facts["pictures"]],
        "also": [_group(further) for further in facts["also"]],
    }
    return Group(**{**facts, **parts})


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers into Python's."""
    return value.item()
