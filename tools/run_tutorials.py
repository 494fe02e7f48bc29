"""Run the notebooks of docs/tutorials anew and write their results into them."""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"
_SECONDS = 300


def run(path: Path) -> Any:
    """Return a notebook with the results of its cells.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3", record_timing=False).execute()
    # The version of this machine's Python is nobody's business.
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def main() -> None:
    """Run every notebook and replace it by what came of it."""
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        nbformat.write(run(path), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
