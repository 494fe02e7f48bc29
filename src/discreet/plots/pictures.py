"""How a chart is written to a file, and whether one can be drawn at all."""

from pathlib import Path
from typing import Any

from discreet.extras import optional


def picture_options(path: Path) -> dict[str, Any]:
    """Return what saving a chart to a file of this kind needs."""
    kind = path.suffix.lower().removeprefix(".")
    options: dict[str, dict[str, Any]] = {"html": {"inline": True}, "png": {"ppi": 144}}
    return {"format": kind, **options.get(kind, {})}


def check_drawing() -> None:
    """Refuse to draw where that cannot be done.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    optional("altair"), optional("vl_convert")
