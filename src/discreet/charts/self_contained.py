"""Self-contained charts: shown and saved whole, so that no viewer loads a script from elsewhere.

Altair's own way in a notebook, and in an HTML file, is a script that loads three others from a public host: a picture
then fails where there is no network, and tells that host who looks at it. Ours are static pictures in a notebook, and
HTML files with everything in them.
"""

from collections.abc import Callable
from functools import wraps
from io import StringIO
from pathlib import Path
from typing import Any, ParamSpec

# Nothing is loaded, and the menu does not offer to send the chart to a public editor.
_WHOLE = {"inline": True, "embed_options": {"actions": {"export": True, "source": True, "editor": False}}}

# By the kind of chart, the same kind that loads nothing.
_KINDS: dict[Any, Any] = {}

_Arguments = ParamSpec("_Arguments")


def self_contained(draw: Callable[_Arguments, Any]) -> Callable[_Arguments, Any]:
    """Return a decorator of chart functions, whose charts load nothing when they are shown or saved."""

    @wraps(draw)
    def drawn(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> Any:
        return _made_whole(draw(*arguments, **named))

    return drawn


def _made_whole(chart: Any) -> Any:
    # Past the chart's own way of taking attributes, which are entries of its specification.
    kind = type(chart)
    if kind not in _KINDS:
        _KINDS[kind] = _self_contained(kind)
    object.__setattr__(chart, "__class__", _KINDS[kind])
    return chart


def _self_contained(kind: Any) -> Any:
    if getattr(kind, "loads_nothing", False):
        return kind

    class SelfContained(kind):  # type: ignore[misc]
        """A chart of Altair, shown as a static picture; its HTML is whole by default."""

        loads_nothing = True

        def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
            written = StringIO()
            self.save(written, format="svg")
            return {"image/svg+xml": written.getvalue()}

        def save(self, fp: Any, format: Any = None, **options: Any) -> None:  # noqa: A002
            """Write the chart as Altair does; ``inline=False`` makes small HTML that loads its scripts."""
            html = (format or Path(str(fp)).suffix) in {"html", ".html"}
            super().save(fp, format=format, **(_WHOLE if html else {}) | options)

        def to_html(self, *arguments: Any, **options: Any) -> str:
            """Return the chart as HTML, as Altair does; ``inline=False`` makes small HTML that loads its scripts."""
            return str(super().to_html(*arguments, **_WHOLE | options))

        def __or__(self, other: Any) -> Any:
            """Put another chart beside this one."""
            return _made_whole(super().__or__(other))

        def __and__(self, other: Any) -> Any:
            """Put another chart below this one."""
            return _made_whole(super().__and__(other))

    SelfContained.__name__ = SelfContained.__qualname__ = kind.__name__
    return SelfContained
