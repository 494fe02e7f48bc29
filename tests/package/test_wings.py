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
