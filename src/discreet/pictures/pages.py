"""Self-contained HTML pages by Jinja2: every text is escaped, and a name that is missing is an error."""

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from discreet.extras import optional

_WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')
# Pixels; at most that wide, letters can still be read when the picture is as wide as a phone.
_LARGE = 520


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A picture of a page.

    Attributes:
        caption: below it.
        text: the picture in words, for who does not see it.
        svg: the picture.
    """

    caption: str
    text: str
    svg: str

    @classmethod
    def of(cls, chart: Any, caption: str, text: str) -> "PageFigure":
        """Return the figure of a chart."""
        written = StringIO()
        chart.save(written, format="svg")
        return cls(caption, text, written.getvalue())

    @property
    def is_large(self) -> bool:
        """True if the picture is too wide to be read at the width of a phone."""
        size = _WIDTH.search(self.svg)
        return size is None or float(size[1]) > _LARGE

    @property
    def address(self) -> str:
        """The picture as the address of an image."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


def drawn(jobs: Sequence[tuple[Callable[[Any], Any], Any]], kind: str) -> list[bytes]:
    """Return pictures of charts, as files.

    Args:
        jobs: functions that return charts, and the argument of each.
        kind: ``"svg"`` or ``"png"``.
    """
    pictures = []
    for draw, content in jobs:
        sink: Any = StringIO() if kind == "svg" else BytesIO()
        draw(content).save(sink, format=kind, **({"ppi": 144} if kind == "png" else {}))
        written = sink.getvalue()
        pictures.append(written.encode() if isinstance(written, str) else written)
    return pictures


def render(template: str, folder: Path | None = None, **values: Any) -> str:
    """Return a page.

    Args:
        template: file name of the template.
        folder: where it lies, if it is not one of this package.
        values: what the template names; texts are escaped.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.

    Example:
        >>> page = render("base.html")
        >>> page.splitlines()[0], "prefers-color-scheme: dark" in page
        ('<!doctype html>', True)
    """
    text: str = _environment(folder).get_template(template).render(**values)
    return text


@cache
def _environment(folder: Path | None) -> Any:
    jinja2 = optional("jinja2")
    folders = [Path(__file__).parent / "templates", *([] if folder is None else [folder])]
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
