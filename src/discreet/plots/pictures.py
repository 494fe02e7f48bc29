"""How charts are kept."""

from pathlib import Path
from typing import Any


def picture_options(path: Path) -> dict[str, Any]:
    """Return what saving a chart to a file of this kind needs."""
    return {"inline": True} if path.suffix == ".html" else {"ppi": 144} if path.suffix == ".png" else {}
