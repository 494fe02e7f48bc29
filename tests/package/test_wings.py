"""The core and the wings: which files are of which wing, and which imports are against their order."""

import importlib
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wings(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("wings")


def test_a_file_belongs_to_the_wing_of_its_folder(wings: Any) -> None:
    files = {"risk/det.py": 1, "risk/verbs/risk.py": 2, "core/risk.py": 4, "errors.py": 8}
    lines = wings.lines_by_wing({wings.PACKAGE / file: size for file, size in files.items()})
    assert lines == dict.fromkeys(wings.CEILINGS, 0) | {"risk": 3, "core": 12}


def test_imports_against_the_order_and_too_many_lines_are_named(wings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (
        ("core.random", "risk"),
        ("risk", "core.random"),
        ("collector", "risk"),
        ("risk", "papers"),
    ):
        graph.add_import(importer=f"discreet.{importer}", imported=f"discreet.{imported}")
    assert list(wings.against_the_order(graph)) == [("discreet.core.random", "discreet.risk")]
    monkeypatch.setattr(wings, "MOST_AGAINST_THE_ORDER", 0)
    sizes = {wings.PACKAGE / "risk" / "det.py": wings.CEILINGS["risk"] + 1}
    lines, imports = wings.too_much(sizes, graph)
    assert f"risk has {wings.CEILINGS['risk'] + 1} code lines" in lines
    assert "discreet.core.random -> discreet.risk" in imports
