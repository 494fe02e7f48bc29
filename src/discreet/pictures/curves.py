"""Charts of curves by epsilon or by a size, on logarithmic axes, and charts side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from discreet.extras import optional
from discreet.pictures.charts import Panel, frequency_chart, records_of, self_contained

COLOURS = ["#c2410c", "#f59e0b", "#1d4ed8", "#0891b2", "#7c3aed", "#15803d", "#db2777", "#84cc16", "#78350f"]
_BASELINE, _BOUND = "#111827", "#6b7280"


@dataclass(frozen=True, slots=True)
class Curves:
    """The contents of one figure of curves.

    Attributes:
        title: the title above the figure.
        subtitle: the lines below the title.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        points: records with ``x``, ``y``, ``low``, ``high``, ``line``, ``column`` and ``row``.
        lines: the names of the lines in order.
        columns: the panels of a row in order.
        rows: the rows of panels in order.
        baselines: for each row, the height of a dashed horizontal line (None for no line).
        baseline: the meaning of this line.
        marks: for each row, the position of a dotted vertical line (None for no line).
        mark: the meaning of this line.
        even: whether the vertical axis is linear from 0 to 1 (shares); otherwise it is logarithmic.
        bound: the name of a line that is drawn dashed and without points, because it was not measured.
        named_beside: whether each line has its name beside its end; otherwise there is a legend.
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
    named_beside: bool = False

    @classmethod
    def of(
        cls, x: str, y: str, lines: Mapping[str, Iterable[tuple[float, float]]], column: str = "", **more: Any
    ) -> "Curves":
        """Return a figure with one panel.

        Args:
            x: name of the horizontal axis.
            y: name of the vertical axis.
            lines: the points of each line; points outside the axes are omitted.
            column: the title of the panel.
            more: other attributes.
        """
        panel = {"column": column, "row": ""}
        points = [
            {"x": float(at), "y": float(to), "low": float(to), "high": float(to), "line": name, **panel}
            for name, pairs in lines.items()
            for at, to in pairs
            if at > 0 and (to > 0 or more.get("even"))
        ]
        about: dict[str, Any] = {"title": "", "subtitle": (), "baselines": {}, **more}
        return cls(x=x, y=y, points=points, lines=list(lines), columns=[column], rows=[""], **about)

    @property
    def scale(self) -> dict[str, Any]:
        """The scale of the vertical axis, as options for Altair."""
        if self.even:
            return {"domain": [0.0, 1.0], "nice": False}
        return {"type": "log", "domain": list(self.span), "clamp": True, "nice": False}

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and largest number on the vertical axis."""
        drawn = [value for point in self.points for value in (point["y"], point["high"]) if value > 0]
        drawn += [value for value in self.baselines.values() if value]
        return min(drawn) / 1.3, max(drawn) * 1.3


# All labels of small and of large numbers have a power of ten.
_EXTREME = "datum.value != 0 && (datum.value < 0.001 || datum.value >= 1e5)"
_SHORT = f"{_EXTREME} ? replace(format(datum.value, '~e'), '+', '') : format(datum.value, '~g')"


@self_contained
def curve_chart(curves: Curves, *, width: int = 250, height: int = 230) -> Any:
    """Return a chart of curves.

    Returns:
        An Altair chart.
    """
    alt = optional("altair")
    drawn = []
    for row in curves.rows:
        panels = [_panel(alt, curves, row, column, width, height) for column in curves.columns]
        drawn.append(alt.hconcat(*panels, spacing=14))
    return alt.vconcat(*drawn, spacing=18, **_looks(alt, curves.title, curves.subtitle))


def _looks(alt: Any, title: str, subtitle: Sequence[str]) -> dict[str, Any]:
    """Return the heading and the style of a chart as one dictionary, because Altair copies panels at every change."""
    heading = alt.TitleParams(title, subtitle=list(subtitle), anchor="start", fontSize=15, subtitleFontSize=11.5)
    # Letters may be wider on the viewer's machine, so labels and the legend get more space.
    view, axis = alt.ViewConfig(stroke="#d6d3d1"), alt.AxisConfig(gridColor="#f0efed")
    return {"title": heading, "config": alt.Config(view=view, axis=axis, axisX=alt.AxisConfig(labelSeparation=10))}


def _panel(alt: Any, curves: Curves, row: str, column: str, width: int, height: int) -> Any:
    here = [dict(point) for point in curves.points if (point["row"], point["column"]) == (row, column)]
    base = alt.Chart(records_of([point for point in here if point["line"] != curves.bound]))
    least = alt.Chart(records_of([point for point in here if point["line"] == curves.bound]))
    first = column == curves.columns[0]
    x = alt.X(
        "x:Q", title=curves.x, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(labelExpr=_SHORT, tickCount=6)
    )
    axis = {"title": curves.y} if first else {"title": None, "labels": False, "ticks": False}
    y_axis = alt.Axis(labelExpr=_SHORT, tickCount=8, **axis)
    y = alt.Y("y:Q", scale=alt.Scale(**curves.scale), axis=y_axis)
    bounded = curves.bound in curves.lines
    shape = alt.Shape("line:N", scale=alt.Scale(domain=list(curves.lines)), legend=None)
    tips = [alt.Tooltip("line:N"), alt.Tooltip("x:Q", format=".4g"), alt.Tooltip("y:Q", format=".4g")]
    layers = [
        base.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q", axis=y_axis), y2="high:Q", color=_colour(alt, curves)),
        base.mark_line(point=alt.OverlayMarkDef(size=26), strokeWidth=1.8).encode(
            x=x, y=y, color=_colour(alt, curves), shape=shape, tooltip=tips
        ),
        *([least.mark_line(strokeDash=[6, 4], strokeWidth=1.8).encode(x=x, y=y, color=_colour(alt, curves))] * bounded),
        *_lines_across(alt, curves, row, here),
        *([_names(alt, curves, here, height)] if curves.named_beside else []),
    ]
    named = column if not row else f"{column}; {row}" if column else row
    return alt.layer(*layers, width=width, height=height, title=alt.TitleParams(named, fontSize=12))


def _names(alt: Any, curves: Curves, here: Sequence[Mapping[str, Any]], height: int) -> Any:
    """Return the names of the lines beside their ends, as far apart as letters are high."""
    (low, high), below = curves.span, 0.0
    ends = {point["line"]: point for point in here}
    rows = []
    for point in sorted(ends.values(), key=lambda point: point["y"]):
        below = max(point["y"], below * (high / low) ** (13 / height))
        rows.append({**point, "y": below})
    text = alt.Chart(records_of(rows)).mark_text(align="left", dx=8, fontSize=11, clip=False)
    return text.encode(x="x:Q", y="y:Q", text="line:N", color=_colour(alt, curves))


def _lines_across(alt: Any, curves: Curves, row: str, here: Sequence[Mapping[str, Any]]) -> list[Any]:
    layers, level = [], curves.baselines.get(row)
    if level and here:
        rule = alt.Chart(records_of([{"y": level, "line": curves.baseline}])).mark_rule(strokeDash=[5, 3], size=1.5)
        layers.append(rule.encode(y="y:Q", color=_colour(alt, curves)))
    place = (curves.marks or {}).get(row)
    if place is not None and here:
        data = records_of([{"x": place, "told": curves.mark}])
        layers.append(alt.Chart(data).mark_rule(strokeDash=[1, 3], color="#78716c").encode(x="x:Q"))
        text = alt.Chart(data).mark_text(align="right", dx=-4, y=9, fontSize=10, color="#57534e")
        layers.append(text.encode(x="x:Q", text="told:N"))
    return layers


def _colour(alt: Any, curves: Curves) -> Any:
    names = [*curves.lines, *([curves.baseline] if any(curves.baselines.values()) else [])]
    palette = cycle(COLOURS)
    colours = [_BOUND if name == curves.bound else next(palette) for name in curves.lines]
    colours = [*colours, _BASELINE][: len(names)]
    look = {"orient": "top", "title": None, "symbolOpacity": 1, "labelLimit": 0, "columnPadding": 36}
    legend = None if curves.named_beside else alt.Legend(**look)
    return alt.Color("line:N", scale=alt.Scale(domain=names, range=colours), legend=legend)


@self_contained
def comparison_chart(rows: Sequence[Sequence[Panel]], *, title: str, subtitle: Sequence[str] = ()) -> Any:
    """Return rows of panels, where the panels of a row have the same values and axis."""
    alt = optional("altair")
    drawn = []
    for panels in rows:
        end = max(panel.end for panel in panels) * 1.02
        beside = [frequency_chart(panel, width=330, end=end, names=place == 0) for place, panel in enumerate(panels)]
        drawn.append(alt.hconcat(*beside, spacing=24))
    heading = alt.TitleParams(title, subtitle=list(subtitle), anchor="start", fontSize=16, subtitleFontSize=12)
    framed = alt.Config(view=alt.ViewConfig(stroke="#ddd"))
    # Fonts of browsers are up to a fifth wider than the font by which the labels of values are measured.
    longest = max((len(str(name)) for panels in rows for panel in panels for name in panel.names), default=0)
    room = {"left": 5 + round(1.2 * longest), "right": 16, "top": 5, "bottom": 5}
    return alt.vconcat(*drawn, spacing=30, title=heading, config=framed, padding=room)
