"""The notebooks of docs/tutorials do what they show."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

TUTORIALS = sorted((Path(__file__).parent.parent / "docs" / "tutorials").glob("*.ipynb"))


def shown(notebook: Any) -> list[list[tuple[str, str]]]:
    """What each cell shows: texts as they are; of pictures, that there is one."""
    found = []
    for cell in notebook.cells:
        parts = []
        for output in (one for one in cell.get("outputs", []) if one.output_type != "stream"):
            data = output.get("data", {})
            parts += [(kind, "" if kind.startswith("image/") else text) for kind, text in sorted(data.items())]
        # What is printed comes in as many pieces as the machine is slow.
        printed = "".join(output["text"] for output in cell.get("outputs", []) if output.output_type == "stream")
        parts = [*([("text/plain", printed)] if printed else []), *parts]
        found.append(parts)
    return found


def test_notebooks_show_what_comes_of_their_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make tutorials` writes them anew. One process runs them all, and forgets each one's names before the next."""
    # A kernel leaves files where a user keeps theirs.
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    kept, again = ([nbformat.read(path, as_version=4) for path in TUTORIALS] for _ in range(2))
    cells = [cell for one in again for cell in [*one.cells, new_code_cell("%reset -f")]]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    NotebookClient(new_notebook(cells=cells), timeout=300, kernel_name="python3").execute()
    for path, before, now in zip(TUTORIALS, kept, again, strict=True):
        assert shown(now) == shown(before), path.name


def test_there_are_tutorials_and_they_load_nothing() -> None:
    assert TUTORIALS
    for path in TUTORIALS:
        for output in re.findall(r"<(?:script|link|img)[^>]*>", path.read_text(encoding="utf-8")):
            assert "http" not in output
