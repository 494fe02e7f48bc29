"""The core of the package and its wings: code lines, the order of imports, and ceilings for both.

A wing is a folder below the package; the core is all the rest. The core imports no wing, not for types either.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "discreet"
CORE = "core"

MAY_IMPORT: dict[str, frozenset[str]] = {
    CORE: frozenset(),
    "risk": frozenset(),
    "surveys": frozenset({"risk"}),
    "device": frozenset(),
    "collector": frozenset({"surveys", "risk", "device"}),
    "spark": frozenset(),
    "sql": frozenset(),
}
"""The wings that the core and each wing may import. Every wing may import the core."""

CEILINGS: dict[str, int] = {
    CORE: 24_880,
    "risk": 6_117,
    "surveys": 2_819,
    "device": 2_153,
    "collector": 4_261,
    "spark": 675,
    "sql": 523,
}
"""The most code lines; a number may only become smaller."""

MOST_AGAINST_THE_ORDER = 0
"""The most imports against the order, within functions and for types too; the number may only become smaller."""


def wing_of(file: Path) -> str:
    """Return the wing of a file, given by its path below the package; `CORE` outside all wings."""
    return file.parts[0] if file.parts[0] in MAY_IMPORT else CORE


def lines_by_wing(sizes: Mapping[Path, int]) -> dict[str, int]:
    """Return the code lines of the core and of each wing, from the sizes of files by absolute path."""
    lines: Counter[str] = Counter(dict.fromkeys(MAY_IMPORT, 0))
    for path, size in sizes.items():
        lines[wing_of(path.relative_to(PACKAGE))] += size
    return dict(lines)


def against_the_order(graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Yield the imports against the order, as the importing and the imported module."""
    wings = {name: wing_of(Path(*name.split(".")[1:], "")) for name in sorted(graph.modules) if "discreet." in name}
    for importer in sorted(graph.modules & {"discreet", *wings}):
        wing = wings.get(importer, CORE)
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            if wings.get(imported, CORE) not in {CORE, wing, *MAY_IMPORT[wing]}:
                yield importer, imported


def too_much(sizes: Mapping[Path, int], graph: grimp.ImportGraph) -> Iterator[str]:
    """Yield a sentence for each ceiling that is exceeded."""
    for wing, lines in lines_by_wing(sizes).items():
        if lines > CEILINGS[wing]:
            yield f"tools/wings.py:1: {wing} has {lines} code lines, and may have {CEILINGS[wing]}"
    imports, most = list(against_the_order(graph)), MOST_AGAINST_THE_ORDER
    if len(imports) > most:
        listed = ", ".join(f"{importer} -> {imported}" for importer, imported in imports)
        yield f"tools/wings.py:1: {len(imports)} imports are against the order of wings, and {most} may be: {listed}"
