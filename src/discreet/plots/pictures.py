"""Pictures: files of charts, and whether charts can be drawn here."""

from pathlib import Path
from typing import Any

from discreet.extras import optional


def picture_options(path: Path) -> dict[str, Any]:
    """Return the options for saving a chart to a file of this kind."""
    kind = path.suffix.lower().removeprefix(".")
    options: dict[str, dict[str, Any]] = {"html": {"inline": True}, "png": {"ppi": 144}}
    return {"format": kind, **options.get(kind, {})}


def check_drawing() -> None:
    """Refuse to draw without the extra ``plot``.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    optional("altair"), optional("vl_convert")
