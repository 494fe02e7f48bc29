"""Pictures of curves, bars and losses.

Pictures: files of charts, and whether charts can be drawn here.

Bar charts: several kinds of numbers for each of several names.

Curves of losses against epsilon, or against a size, on logarithmic axes: a panel per loss, a line per mechanism.

Curves of errors against a choice, with the lower bound, both axes logarithmic.

Comparison charts: estimates of the same values side by side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from discreet.extras import optional
from discreet.pictures.charts import Panel, frequency_chart, records_of, self_contained


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
    # All at once: with every property that is set later Altair copies each panel.
    style = alt.Config(view=alt.ViewConfig(stroke="#d6d3d1"), axis=alt.AxisConfig(gridColor="#f0efed"))
    return alt.vconcat(*drawn, spacing=18, title=heading, config=style)


def _panel(alt: Any, curves: Curves, row: str, column: str, width: int, height: int) -> Any:
    here = [dict(point) for point in curves.points if (point["row"], point["column"]) == (row, column)]
    base = alt.Chart(records_of([point for point in here if point["line"] != curves.bound]))
    least = alt.Chart(records_of([point for point in here if point["line"] == curves.bound]))
    first = column == curves.columns[0]
    x = alt.X("x:Q", title=curves.x, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~g", tickCount=6))
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
    ]
    named = column if not row else f"{column}; {row}" if column else row
    return alt.layer(*layers, width=width, height=height, title=alt.TitleParams(named, fontSize=12))


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
    colours = [_BOUND if name == curves.bound else colour for name, colour in zip(curves.lines, _PALETTE, strict=False)]
    colours = [*colours, _BASELINE][: len(names)]
    legend = alt.Legend(orient="top", direction="horizontal", title=None, symbolOpacity=1, labelLimit=0)
    return alt.Color("line:N", scale=alt.Scale(domain=names, range=colours), legend=legend)


# Told apart by most colour-blind people [Wong 2011]; dashed in the second round.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c510a", "#5e4fa2", "#999933")
_SOLID, _DASHED, _DOTTED = [1, 0], [7, 3], [2, 3]
_BOUND_COLOUR, _BOUND_WIDTH = "#111111", 1.8
_WIDEST, _THINNEST = 5.0, 1.4
_WIDTH, _HEIGHT = 400, 360

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class LossPanel:
    """The content of one chart of errors.

    Attributes:
        title: above the chart.
        lines: name and points of each line; positive numbers.
        here: the choice that was asked about.
    """

    title: str
    lines: Sequence[tuple[str, Points]]
    here: float

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One record per point."""
        return [{"name": name, "x": x, "y": y} for name, points in self.lines for x, y in points]


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading above all charts.

    Attributes:
        title: in large letters.
        lines: below it.
    """

    title: str
    lines: Sequence[str]


@self_contained
def loss_chart(panels: Sequence[tuple[LossPanel, str]], *, y_title: str, bound: str, heading: Heading) -> Any:
    """Return panels side by side with one legend.

    Args:
        panels: what to draw, each with the title of its x axis: what is chosen, with its unit.
        y_title: the error, with its unit.
        bound: the name of the line that is a bound.
        heading: above all of them.

    Returns:
        an Altair chart.
    """
    alt = optional("altair")
    shown = _styles(alt, [name for panel, _ in panels for name, _ in panel.lines], bound)
    drawn = [_loss_panel(alt, panel, (x_title, y_title), shown) for panel, x_title in panels]
    title = alt.TitleParams(
        heading.title, subtitle=list(heading.lines), anchor="start", fontSize=15, subtitleFontSize=12
    )
    axis = alt.AxisConfig(labelFontSize=11, titleFontSize=12, gridColor="#e6e6e6")
    style = alt.Config(view=alt.ViewConfig(stroke="#ddd"), axis=axis)
    return alt.hconcat(*drawn, spacing=30, title=title, config=style)


@dataclass(frozen=True, slots=True)
class _Styles:
    """The styles of lines: where some coincide, the wider one shows on both sides.

    Attributes:
        channels: colour and dash, with one legend.
        widths: of each line, in the order of drawing.
    """

    channels: dict[str, Any]
    widths: dict[str, float]


def _styles(alt: Any, lines: Sequence[str], bound: str) -> _Styles:
    names = list(dict.fromkeys(name for name in lines if name != bound))
    step = (_WIDEST - _THINNEST) / max(len(names) - 1, 1)
    widths = {name: _WIDEST - step * place for place, name in enumerate(names)}
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(names))]
    dashes = [_SOLID if place < len(COLOURS) else _DASHED for place in range(len(names))]
    if bound in lines:
        names, colours, dashes = [*names, bound], [*colours, _BOUND_COLOUR], [*dashes, _DOTTED]
        widths[bound] = _BOUND_WIDTH
    legend = alt.Legend(title=None, orient="right", labelFontSize=12, symbolSize=600, symbolStrokeWidth=3)
    channels = {
        "color": alt.Color("name:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
        # The same legend, or there would be two.
        "strokeDash": alt.StrokeDash("name:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
    }
    return _Styles(channels, widths)


def _loss_panel(alt: Any, panel: LossPanel, titles: tuple[str, str], shown: _Styles) -> Any:
    xs, ys = (sorted(row[field] for row in panel.rows) for field in ("x", "y"))
    x = _logarithmic(alt, alt.X("x:Q"), (xs[0], xs[-1]), titles[0])
    y = _logarithmic(alt, alt.Y("y:Q"), (ys[0] * 0.85, ys[-1] * 1.15), titles[1])
    tips = [alt.Tooltip("name:N"), *(alt.Tooltip(f"{field}:Q", format=".4g") for field in ("x", "y"))]
    layers = [alt.Chart(records_of([{"x": panel.here}])).mark_rule(color="#888", strokeWidth=1).encode(x=x)]
    for name, width in shown.widths.items():
        rows = [row for row in panel.rows if row["name"] == name]
        line = alt.Chart(records_of(rows)).mark_line(strokeWidth=width, clip=True)
        layers.append(line.encode(x=x, y=y, tooltip=tips, **shown.channels))
    return alt.layer(*layers, width=_WIDTH, height=_HEIGHT, title=panel.title)


def _logarithmic(alt: Any, channel: Any, reach: tuple[float, float], title: str) -> Any:
    low, high = reach
    digits = (1, 2, 5) if high < low * 2000 else (1,)
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    # Read from text, as 3 * 0.1 is not 0.3.
    marks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    # "~s" writes 1M for a million, but 100m for 0.1.
    form = "~s" if high >= 1000 else "~g"
    axis = alt.Axis(format=form, values=[mark for mark in marks if low <= mark <= high], labelOverlap=True)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return channel.scale(scale).axis(axis).title(title)


@self_contained
def comparison_chart(rows: Sequence[Sequence[Panel]], *, title: str, subtitle: Sequence[str] = ()) -> Any:
    """Return panels side by side, each row over the same values and axis."""
    alt = optional("altair")
    drawn = []
    for panels in rows:
        end = max(panel.end for panel in panels) * 1.02
        beside = [frequency_chart(panel, width=330, end=end, names=place == 0) for place, panel in enumerate(panels)]
        drawn.append(alt.hconcat(*beside, spacing=24))
    heading = alt.TitleParams(title, subtitle=list(subtitle), anchor="start", fontSize=16, subtitleFontSize=12)
    framed = alt.Config(view=alt.ViewConfig(stroke="#ddd"))
    return alt.vconcat(*drawn, spacing=30, title=heading, config=framed)
