"""Self-contained HTML pages with Jinja2; all texts are escaped, and a missing name is an error."""

import base64
import re
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from discreet.extras import optional

_WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')
# In pixels: letters of a picture up to this width are legible at the width of a phone.
_LARGE = 520


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A picture on a page.

    Attributes:
        caption: the caption below the picture.
        text: a description for readers who cannot see the picture.
        svg: the picture.
    """

    caption: str
    text: str
    svg: str

    @classmethod
    def of(cls, chart: Any, caption: str, text: str) -> "PageFigure":
        """Return the figure for a chart."""
        written = StringIO()
        chart.save(written, format="svg")
        return cls(caption, text, written.getvalue())

    @property
    def is_large(self) -> bool:
        """True if the picture is too wide to be legible at the width of a phone."""
        size = _WIDTH.search(self.svg)
        return size is None or float(size[1]) > _LARGE

    @property
    def address(self) -> str:
        """The picture as a data URL."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


def render(template: str, folder: Path | None = None, **values: Any) -> str:
    """Return an HTML page from a template.

    Args:
        template: the template's file name.
        folder: the template's folder, if it is not in this package.
        values: the values for the names in the template; texts are escaped.

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
