"""Curves of losses against epsilon, or against a size, on logarithmic axes: a panel per loss, a line per mechanism."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.charts.self_contained import self_contained
from discreet.extras import optional

_PALETTE = ["#c2410c", "#f59e0b", "#1d4ed8", "#0891b2", "#7c3aed", "#15803d", "#db2777", "#84cc16"]
_BASELINE, _BOUND = "#111827", "#6b7280"


@dataclass(frozen=True, slots=True)
class Curves:
    """The content of one figure of curves.

    Attributes:
        title: above the figure.
        subtitle: below the title, a line each.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        points: records with ``x``, ``y``, ``low``, ``high``, ``line``, ``column`` and ``row``.
        lines: the lines in order.
        columns: the panels of a row in order.
        rows: the rows of panels in order.
        baselines: by row, where a dashed horizontal line goes (None for none).
        baseline: what that line is.
        marks: by row, where a dotted vertical line goes (None for none).
        mark: what that line is.
        even: whether the vertical axis goes evenly from 0 to 1 (shares), instead of logarithmically.
        bound: the one of the lines that is drawn dashed and without points, since nothing was measured there.
    """

    title: str
    subtitle: Sequence[str]
    x: str
    y: str
    points: Sequence[Mapping[str, Any]]
    lines: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[str]
    baselines: Mapping[str, float | None]
    baseline: str = "no privacy"
    marks: Mapping[str, float] | None = None
    mark: str = ""
    bound: str = ""
    even: bool = False

    @property
    def scale(self) -> dict[str, Any]:
        """Scale of the vertical axis."""
        if self.even:
            return {"domain": [0.0, 1.0], "nice": False}
        return {"type": "log", "domain": list(self.span), "clamp": True, "nice": False}

    @property
    def span(self) -> tuple[float, float]:
        """Least and largest number on the vertical axis."""
        drawn = [value for point in self.points for value in (point["y"], point["high"]) if value > 0]
        drawn += [value for value in self.baselines.values() if value]
        return min(drawn) / 1.3, max(drawn) * 1.3


# Small numbers with their power of ten, all of them.
_SHORT = "datum.value != 0 && datum.value < 0.001 ? format(datum.value, '~e') : format(datum.value, '~g')"


@self_contained
def curve_chart(curves: Curves, *, width: int = 250, height: int = 230) -> Any:
    """Return a figure of curves.

    Returns:
        an Altair chart.
    """
    alt = optional("altair")
    drawn = []
    for row in curves.rows:
        panels = [_panel(alt, curves, row, column, width, height) for column in curves.columns]
        drawn.append(alt.hconcat(*panels, spacing=14))
    heading = alt.TitleParams(
        curves.title, subtitle=list(curves.subtitle), anchor="start", fontSize=15, subtitleFontSize=11.5
    )
    return (
        alt.vconcat(*drawn, spacing=18)
        .properties(title=heading)
        .configure_view(stroke="#d6d3d1")
        .configure_axis(gridColor="#f0efed")
    )


def _panel(alt: Any, curves: Curves, row: str, column: str, width: int, height: int) -> Any:
    here = [dict(point) for point in curves.points if (point["row"], point["column"]) == (row, column)]
    base = alt.Chart(alt.Data(values=[point for point in here if point["line"] != curves.bound]))
    least = alt.Chart(alt.Data(values=[point for point in here if point["line"] == curves.bound]))
    first = column == curves.columns[0]
    x = alt.X("x:Q", title=curves.x, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~g", tickCount=6))
    axis = {"title": curves.y} if first else {"title": None, "labels": False, "ticks": False}
    y_axis = alt.Axis(labelExpr=_SHORT, tickCount=8, **axis)
    y = alt.Y("y:Q", scale=alt.Scale(**curves.scale), axis=y_axis)
    bounded = curves.bound in curves.lines
    tips = [alt.Tooltip("line:N"), alt.Tooltip("x:Q", format=".4g"), alt.Tooltip("y:Q", format=".4g")]
    layers = [
        base.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q", axis=y_axis), y2="high:Q", color=_colour(alt, curves)),
        base.mark_line(point=alt.OverlayMarkDef(size=26), strokeWidth=1.8).encode(
            x=x, y=y, color=_colour(alt, curves), shape=_shape(alt, curves), tooltip=tips
        ),
        *([least.mark_line(strokeDash=[6, 4], strokeWidth=1.8).encode(x=x, y=y, color=_colour(alt, curves))] * bounded),
        *_lines_across(alt, curves, row, here),
    ]
    named = column if not row else f"{column}; {row}" if column else row
    return alt.layer(*layers).properties(width=width, height=height, title=alt.TitleParams(named, fontSize=12))


def _lines_across(alt: Any, curves: Curves, row: str, here: Sequence[Mapping[str, Any]]) -> list[Any]:
    layers, level = [], curves.baselines.get(row)
    if level and here:
        rule = alt.Chart(alt.Data(values=[{"y": level, "line": curves.baseline}])).mark_rule(
            strokeDash=[5, 3], size=1.5
        )
        layers.append(rule.encode(y="y:Q", color=_colour(alt, curves)))
    place = (curves.marks or {}).get(row)
    if place is not None and here:
        data = alt.Data(values=[{"x": place, "told": curves.mark}])
        layers.append(alt.Chart(data).mark_rule(strokeDash=[1, 3], color="#78716c").encode(x="x:Q"))
        text = alt.Chart(data).mark_text(align="right", dx=-4, y=9, fontSize=10, color="#57534e")
        layers.append(text.encode(x="x:Q", text="told:N"))
    return layers


def _colour(alt: Any, curves: Curves) -> Any:
    names = [*curves.lines, *([curves.baseline] if any(curves.baselines.values()) else [])]
    colours = [_BOUND if name == curves.bound else colour for name, colour in zip(curves.lines, _PALETTE, strict=False)]
    colours = [*colours, _BASELINE][: len(names)]
    legend = alt.Legend(orient="top", direction="horizontal", title=None, symbolOpacity=1, labelLimit=0)
    return alt.Color("line:N", scale=alt.Scale(domain=names, range=colours), legend=legend)


def _shape(alt: Any, curves: Curves) -> Any:
    return alt.Shape("line:N", scale=alt.Scale(domain=list(curves.lines)), legend=None)
