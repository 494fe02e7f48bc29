"""Self-contained charts: shown and saved whole, so that no viewer loads a script from elsewhere.

Altair's own way in a notebook, and in an HTML file, is a script that loads three others from a public host: a picture
then fails where there is no network, and tells that host who looks at it. Ours are static pictures in a notebook, and
HTML files with everything in them.
"""

from collections.abc import Callable
from functools import wraps
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any, ParamSpec

# Nothing is loaded, and the menu does not offer to send the chart to a public editor.
_WHOLE = {"inline": True, "embed_options": {"actions": {"export": True, "source": True, "editor": False}}}

# In a file of shapes letters may be wider than they were here: those of another font, by whoever looks at it.
_ROOM = {"left": 24, "right": 40, "top": 5, "bottom": 5}

# By the kind of chart, the same kind that loads nothing.
_KINDS: dict[Any, Any] = {}

_Arguments = ParamSpec("_Arguments")


def self_contained(draw: Callable[_Arguments, Any]) -> Callable[_Arguments, Any]:
    """Return a decorator of chart functions, whose charts load nothing when they are shown or saved."""

    @wraps(draw)
    def drawn(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> Any:
        return _made_whole(draw(*arguments, **named))

    return drawn


def _with_head(page: str, chart: Any) -> str:
    """Return a page with the chart's title, and with the width of the device; as it is if it is a part of a page."""
    title = chart.to_dict().get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    words = escape(text if isinstance(text, str) else " ".join(text))
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    return page.replace("<head>", f"<head>\n  <title>{words or 'Chart'}</title>\n  {viewport}", 1)


def _write(target: Any, text: str) -> None:
    """Write a text to a path or an open file."""
    if hasattr(target, "write"):
        target.write(text)
    else:
        Path(target).write_text(text, encoding="utf-8")


def _made_whole(chart: Any) -> Any:
    # Past the chart's own way of taking attributes, which are entries of its specification.
    kind = type(chart)
    if kind not in _KINDS:
        _KINDS[kind] = _self_contained(kind)
    object.__setattr__(chart, "__class__", _KINDS[kind])
    return chart


def _self_contained(plain: Any) -> Any:
    if getattr(plain, "loads_nothing", False):
        return plain

    class SelfContained(plain):  # type: ignore[misc]
        """A chart of Altair, shown as a static picture; its HTML is whole by default."""

        loads_nothing = True

        def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
            written = StringIO()
            self.save(written, format="svg")
            return {"image/svg+xml": written.getvalue()}

        def save(self, fp: Any, format: Any = None, **options: Any) -> None:  # noqa: A002
            """Write the chart as Altair does; ``inline=False`` makes small HTML that loads its scripts."""
            kind = format or Path(str(fp)).suffix.removeprefix(".")
            if kind == "html":
                page = StringIO()
                super().save(page, format=kind, **_WHOLE | options)
                _write(fp, _with_head(page.getvalue(), self))
                return
            roomy = self.properties(padding=_ROOM) if kind == "svg" and "padding" not in self.to_dict() else self
            plain.save(roomy, fp, format=format, **options)

        def to_html(self, *arguments: Any, **options: Any) -> str:
            """Return the chart as HTML, as Altair does; ``inline=False`` makes small HTML that loads its scripts."""
            return _with_head(str(super().to_html(*arguments, **_WHOLE | options)), self)

        def __or__(self, other: Any) -> Any:
            """Put another chart beside this one."""
            return _made_whole(super().__or__(other))

        def __and__(self, other: Any) -> Any:
            """Put another chart below this one."""
            return _made_whole(super().__and__(other))

    SelfContained.__name__ = SelfContained.__qualname__ = plain.__name__
    return SelfContained
