"""Charts of results with Altair: shares with intervals, differences, densities, delta curves, and maps.

Every chart is self-contained: a static picture in a notebook, or an HTML file with all scripts inside. By default,
Altair's charts load three scripts from a public host. So they fail without a network, and the host learns who reads
them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from html import escape
from io import StringIO
from math import floor, isnan, log10
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray
from discreet.extras import optional

# Nothing is loaded, and the menu does not offer to send the chart to a public editor.
_WHOLE = {"inline": True, "embed_options": {"actions": {"export": True, "source": True, "editor": False}}}

# Letters in an SVG file may be wider than measured here, because the viewer's font differs.
_ROOM = {"left": 24, "right": 40, "top": 5, "bottom": 5}

# For each kind of chart, the self-contained kind.
_KINDS: dict[Any, Any] = {}

_Arguments = ParamSpec("_Arguments")


def self_contained(draw: Callable[_Arguments, Any]) -> Callable[_Arguments, Any]:
    """Return a decorator for chart functions whose charts load nothing when they are shown or saved."""

    @wraps(draw)
    def drawn(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> Any:
        return _made_whole(draw(*arguments, **named))

    return drawn


def _with_head(page: str, chart: Any) -> str:
    """Return an HTML page with the chart's title and the device's width; return page fragments unchanged."""
    text = getattr(chart.title, "text", chart.title)
    words = escape(text if isinstance(text, str) else " ".join(text) if isinstance(text, list) else "")
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    # Wider charts become smaller on a phone.
    fitted = "<style>.vega-embed :is(canvas, svg.marks) { max-width: 100%; height: auto !important }</style>"
    return page.replace("<head>", f"<head>\n  <title>{words or 'Chart'}</title>\n  {viewport}\n  {fitted}", 1)


def _write(target: Any, text: str) -> None:
    """Write a text to a path or an open file."""
    if hasattr(target, "write"):
        target.write(text)
    else:
        Path(target).write_text(text, encoding="utf-8")


def _made_whole(chart: Any) -> Any:
    # Set directly, because a chart takes ordinary attributes for entries of its specification.
    kind = type(chart)
    if kind not in _KINDS:
        _KINDS[kind] = _self_contained(kind)
    object.__setattr__(chart, "__class__", _KINDS[kind])
    return chart


def _self_contained(plain: Any) -> Any:
    if getattr(plain, "loads_nothing", False):
        return plain

    class SelfContained(plain):  # type: ignore[misc]
        """An Altair chart that is shown as a static picture. By default it is saved as HTML that loads nothing."""

        loads_nothing = True

        def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
            written = StringIO()
            self.save(written, format="svg")
            return {"image/svg+xml": written.getvalue()}

        def save(self, fp: Any, format: Any = None, **options: Any) -> None:  # noqa: A002
            """Write the chart to a file; ``inline=False`` makes small HTML that loads its scripts."""
            kind = format or Path(str(fp)).suffix.removeprefix(".")
            if kind == "html":
                page = StringIO()
                super().save(page, format=kind, **_WHOLE | options)
                _write(fp, _with_head(page.getvalue(), self))
                return
            bare = kind == "svg" and self.padding is optional("altair").Undefined
            plain.save(self.properties(padding=_ROOM) if bare else self, fp, format=format, **options)

        def to_html(self, *arguments: Any, **options: Any) -> str:
            """Return the chart as HTML; ``inline=False`` makes small HTML that loads its scripts."""
            return _with_head(str(super().to_html(*arguments, **_WHOLE | options)), self)

        def __or__(self, other: Any) -> Any:
            """Return a chart with this chart and another one side by side."""
            beside, axis = super().__or__(other), _axis(self)
            return _made_whole(beside.resolve_scale(x="shared") if axis and axis == _axis(other) else beside)

        def __and__(self, other: Any) -> Any:
            """Return a chart with this chart above another one."""
            return _made_whole(super().__and__(other))

    SelfContained.__name__ = SelfContained.__qualname__ = plain.__name__
    return SelfContained


def _axis(chart: Any) -> Any:
    """Return the title of a layered chart's horizontal axis; None for other charts."""
    layers = getattr(chart, "layer", None)
    return layers[0]["encoding"]["x"]["title"] if layers else None


def records_of(records: Iterable[Mapping[str, Any]]) -> Any:
    """Return the data of a chart as a tuple, because Altair copies lists record by record at every step."""
    return optional("altair").Data(values=tuple(records))


SENSITIVE, CLEAR = "sensitive", "not sensitive"
DRAWN = ("frequency", "lower", "upper")
"""The number columns that a chart of frequencies draws."""
COLOURS = {SENSITIVE: "#c2410c", CLEAR: "#1d4ed8"}
SHAPES = {SENSITIVE: "diamond", CLEAR: "circle"}
"""Marks of sensitive values and others, which also readers without colour vision can distinguish."""
_ROW_HEIGHT = 15
_MOST_NUMBERS, _NUMBER_WIDTH = 12, 40
"""The most rows with the estimate written after the interval, and the width of such a number in pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The contents of one chart of frequencies: names, records, true shares and intervals.

    Attributes:
        title: the title above the chart, one entry per line.
        names: one label per value, from the top down.
        columns: ``frequency``, ``sensitive``, ``lower`` and ``upper``; each as long as ``names``.
        truth: true frequencies, equally long; None where they are not known.
        level: confidence level of the intervals.
        simultaneous: whether the level holds for all intervals together.
        shown: the number of values chosen by their estimates, for which the intervals are valid; None if none were
            chosen.
    """

    title: str
    names: Sequence[str]
    columns: dict[str, AnyArray]
    truth: FloatArray | None = None
    level: float = 0.95
    simultaneous: bool = False
    shown: int | None = None

    @property
    def legend(self) -> str:
        """The legend of the marks."""
        known = "" if self.truth is None else "; black tick: true share"
        kind = "simultaneous " if self.simultaneous else ""
        chosen = "" if self.shown is None or self.simultaneous else f" for the {self.shown:,} largest"
        return f"mark: estimate; bar: {self.level * 100:g}% {kind}interval{chosen}{known}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The records to draw, one per value."""
        rows = []
        for place, name in enumerate(self.names):
            row: dict[str, Any] = {"name": name, "class": SENSITIVE if self.columns["sensitive"][place] else CLEAR}
            # Values without an estimate are not drawn.
            numbers = {field: float(self.columns[field][place]) for field in DRAWN}
            row |= {field: None if isnan(number) else number for field, number in numbers.items()}
            rows.append(row if self.truth is None else {**row, "truth": float(self.truth[place])})
        return rows

    @property
    def end(self) -> float:
        """The largest number on the axis of the chart."""
        highest = [float(np.nan_to_num(self.columns[field]).max()) for field in DRAWN]
        return max([*highest, *([] if self.truth is None else [float(self.truth.max())])])


@self_contained
def frequency_chart(
    panel: Panel, *, width: int = 520, end: float | None = None, names: bool = True, limit: int | None = None
) -> Any:
    """Return a chart with a row per value: the estimate, its interval, and the true share if it is known.

    Args:
        panel: the contents.
        width: the width of the plot, in pixels.
        end: the end of the axis; None to fit.
        names: whether to write the labels.
        limit: the most pixels for a line of the title; None for no limit.

    Returns:
        An Altair layer chart.
    """
    alt = optional("altair")
    rows = panel.rows
    base = alt.Chart(records_of(rows))
    label = alt.Axis(labelLimit=420, labelFontSize=10) if names else None
    y = alt.Y("name:N", sort=list(panel.names), title=None, axis=label)
    is_short = len(rows) <= _MOST_NUMBERS
    domain = [0, (end or panel.end * 1.02) * (1 + is_short * _NUMBER_WIDTH / width)]
    x = {"scale": alt.Scale(domain=domain, clamp=True), "title": "share of people"}
    ticks = alt.Axis(format="~%", tickCount=6)
    tips = [alt.Tooltip("name:N"), alt.Tooltip("class:N", title="value is")]
    tips += [alt.Tooltip(f"{field}:Q", format=".3%") for field in rows[0] if field not in ("name", "class")]
    shared = {"y": y, "color": kind_of(alt.Color, COLOURS, rows), "tooltip": tips}
    layers = []
    bar = base.mark_rule(strokeWidth=2.5, opacity=0.5)
    layers.append(bar.encode(x=alt.X("lower:Q", axis=ticks, **x), x2="upper:Q", **shared))
    dot = base.mark_point(filled=True, size=40, opacity=1)
    layers.append(dot.encode(x=alt.X("frequency:Q", axis=ticks, **x), shape=kind_of(alt.Shape, SHAPES, rows), **shared))
    if is_short:
        # A value without an estimate would be written as 0.0%.
        known = base.transform_filter("isValid(datum.frequency)")
        number = known.mark_text(align="left", dx=6, fontSize=10, color="#44403c")
        layers.append(
            number.encode(x=alt.X("upper:Q", axis=ticks, **x), y=y, text=alt.Text("frequency:Q", format=".1%"))
        )
    if panel.truth is not None:
        tick = base.mark_tick(color="black", thickness=2, height=11)
        layers.append(tick.encode(x=alt.X("truth:Q", axis=ticks, **x), y=y, tooltip=tips))
    title = _lines(panel.title)
    room = {} if limit is None else {"limit": limit}
    heading = alt.TitleParams(title, subtitle=panel.legend, anchor="start", frame="group", fontSize=12, **room)
    return alt.layer(*layers, width=width, height=_ROW_HEIGHT * len(panel.names), title=heading)


def kind_of(channel: Any, marks: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return an Altair channel (``Color`` or ``Shape``) that distinguishes sensitive values from others in rows."""
    alt, here = optional("altair"), {row["class"] for row in rows}
    legend = alt.Legend(orient="top", direction="horizontal", symbolOpacity=1)
    used = {kind: mark for kind, mark in marks.items() if kind in here}
    scale = alt.Scale(domain=list(used), range=list(used.values()))
    return channel("class:N", title="value is", scale=scale, legend=legend)


_FOREST_ROW = 17


@dataclass(frozen=True, slots=True)
class Differences:
    """The contents of one forest plot.

    Attributes:
        title: the title above the chart.
        legend: the legend below the title.
        rows: records with ``value``, ``sensitive``, ``difference``, ``lower``, ``upper`` and ``p_value``.
    """

    title: str
    legend: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records to draw, one per value."""
        records = []
        for row in self.rows:
            clear = row["lower"] > 0 or row["upper"] < 0
            kind = SENSITIVE if row["sensitive"] else CLEAR
            records.append({**row, "class": kind, "excludes": "yes" if clear else "no"})
        return records


@self_contained
def forest_chart(differences: Differences) -> Any:
    """Return a chart with a row per value: its difference, with the confidence interval.

    Args:
        differences: the contents.

    Returns:
        An Altair layer chart.
    """
    alt = optional("altair")
    names = [row["value"] for row in differences.rows]
    base = alt.Chart(records_of(differences.records))
    y = alt.Y("value:N", sort=names, title=None, axis=alt.Axis(labelLimit=420, labelFontSize=10))
    x = {"title": "difference of shares, in percentage points", "axis": alt.Axis(format="+~%", tickCount=7)}
    colour, shape = (kind_of(*look, differences.records) for look in ((alt.Color, COLOURS), (alt.Shape, SHAPES)))
    fill = alt.condition("datum.excludes == 'yes'", colour, alt.value("white"))
    tips = [alt.Tooltip("value:N"), alt.Tooltip("class:N", title="value is")]
    tips += [alt.Tooltip(f"{name}:Q", format="+.3%") for name in ("difference", "lower", "upper")]
    tips.append(alt.Tooltip("p_value:Q", format=".2g"))
    line = alt.Chart(records_of([{"zero": 0}])).mark_rule(color="#555", strokeDash=[4, 3])
    bar = base.mark_rule(strokeWidth=2.5, opacity=0.5)
    dot = base.mark_point(size=55, opacity=1, strokeWidth=1.5)
    heading = alt.TitleParams(
        differences.title, subtitle=differences.legend, anchor="start", frame="group", fontSize=12
    )
    return alt.layer(
        line.encode(x=alt.X("zero:Q", **x)),
        bar.encode(x=alt.X("lower:Q", **x), x2="upper:Q", y=y, color=colour, tooltip=tips),
        dot.encode(x=alt.X("difference:Q", **x), y=y, stroke=colour, fill=fill, shape=shape, tooltip=tips),
        width=520,
        height=_FOREST_ROW * len(names),
        title=heading,
    )


_COLUMNS = 3
_WIDTH = 230


@self_contained
def small_multiples(panels: Sequence[Panel], title: str) -> Any:
    """Return panels for the same values, in rows of three with one axis.

    Args:
        panels: one for each group.
        title: the title above all panels.
    """
    alt = optional("altair")
    end = max(panel.end for panel in panels) * 1.02
    drawn = [
        frequency_chart(panel, width=_WIDTH, end=end, names=place % _COLUMNS == 0, limit=_WIDTH)
        for place, panel in enumerate(panels)
    ]
    heading = alt.TitleParams(title, anchor="start", fontSize=14)
    framed = alt.Config(view=alt.ViewConfig(stroke="#ddd"))
    return alt.concat(*drawn, columns=_COLUMNS, spacing=20, title=heading, config=framed)


# With axis, margins and a viewer's menu at most as wide as a phone, 390 pixels.
_CURVE_WIDTH = 280
_COLOURS = ["#c2410c", "#1d4ed8"]


@self_contained
def delta_chart(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str | Sequence[str],
    subtitle: str | Sequence[str],
    delta: float,
) -> Any:
    """Return a chart of curves delta(epsilon), with a dashed line at a given delta.

    Args:
        curves: for each name, the points (epsilon, delta), with delta above 0.
        title: the title above the chart, in one or several lines. The chart is as wide as a phone, and lines are not
            broken.
        subtitle: the lines below the title.
        delta: the position of the dashed line.

    Returns:
        An Altair layer chart.
    """
    alt = optional("altair")
    rows = [
        {"curve": name, "epsilon": epsilon, "delta": value}
        for name, points in curves.items()
        for epsilon, value in points
    ]
    names = list(curves)
    x = alt.X("epsilon:Q", title="central epsilon (nats)", scale=alt.Scale(nice=False))
    y = alt.Y("delta:Q", title="delta", scale=alt.Scale(type="log"), axis=alt.Axis(format="~e", tickCount=8))
    legend = alt.Legend(orient="top", direction="vertical", title=None, labelLimit=0)
    colour = alt.Color("curve:N", scale=alt.Scale(domain=names, range=_COLOURS[: len(names)]), legend=legend)
    tips = [alt.Tooltip("curve:N"), alt.Tooltip("epsilon:Q", format=".4g"), alt.Tooltip("delta:Q", format=".3e")]
    lines = alt.Chart(records_of(rows)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, tooltip=tips)
    rule = alt.Chart(records_of([{"delta": delta}])).mark_rule(strokeDash=[5, 3], color="#57534e").encode(y="delta:Q")
    heading = alt.TitleParams(title, subtitle=subtitle, anchor="start", frame="bounds", fontSize=13)
    return alt.layer(lines, rule, width=_CURVE_WIDTH, height=280, title=heading)


_SIDE = 300


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """The contents of a density chart: shares of neighbouring bins of numbers, with intervals.

    Attributes:
        title: the title of the chart.
        borders: ``(m + 1,)`` borders of the bins, ascending.
        shares: ``(m,)`` estimated shares.
        low: ``(m,)`` lower bounds of the intervals.
        high: ``(m,)`` upper bounds of the intervals.
        sensitive: ``(m,)`` booleans; None if all bins are sensitive.
        level: confidence level of each interval.
        logarithmic: whether bins have one width of ln(1 + x).
        is_smooth: whether neighbouring bins were estimated together.
        name: the name of the axis of numbers.
    """

    title: str
    borders: FloatArray
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    sensitive: BoolArray | None
    level: float
    logarithmic: bool
    is_smooth: bool
    name: str = "value"


def _lines(title: str) -> str | list[str]:
    """Return a title as charts take it: a list of lines if there are several."""
    return title.split("\n") if "\n" in title else title


@self_contained
def density_chart(density: Density, *, width: int = 640) -> Any:
    """Return a chart of a density over an axis of numbers, with a band of intervals and sensitive ranges below.

    Args:
        density: the contents.
        width: the width of the plot, in pixels.

    Returns:
        An Altair chart.
    """
    alt, borders = optional("altair"), density.borders
    ends = [float(borders[0]), float(borders[-1])]
    # ln(1 + x) on both sides of 0, the scale of such bins.
    scale = alt.Scale(type="symlog", constant=1, domain=ends) if density.logarithmic else alt.Scale(domain=ends)
    wide = "bin" if density.logarithmic else f"bin of {float(borders[1] - borders[0]):.4g}"
    columns = {
        "from": borders[:-1],
        "to": borders[1:],
        "share": density.shares,
        "low": density.low,
        "high": density.high,
    }
    rows = [dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    # A step ends where the next one begins, and the last step at the last border.
    data = records_of([*rows, {**rows[-1], "from": ends[1]}])
    x = alt.X("from:Q", title=density.name, scale=scale, axis=alt.Axis(tickCount=8, grid=False))
    base = alt.Chart(data)
    y = alt.Y("low:Q", title=f"share of people per {wide}", axis=alt.Axis(format="%"), stack=None)
    band = base.mark_area(opacity=0.3, interpolate="step-after", color="#4c78a8").encode(x=x, y=y, y2="high:Q")
    line = base.mark_line(interpolate="step-after", color="#1f3b5c", strokeWidth=2).encode(x=x, y="share:Q")
    layers, words = [band, line], f"line: estimate; band: {density.level * 100:g}% interval of each bin"
    words += "" if density.is_smooth else "; bins vary by chance: method='smooth' draws a curve"
    if density.sensitive is not None:
        marked = [row for row, chosen in zip(rows, density.sensitive.tolist(), strict=True) if chosen]
        rule = alt.Chart(records_of(marked)).mark_rule(color="#ff5a1f", strokeWidth=6)
        layers.append(rule.encode(x=x, x2="to:Q", y=alt.value(300)))
        words += "; orange: sensitive"
    title = alt.TitleParams(_lines(density.title), subtitle=words, anchor="start")
    return alt.layer(*layers).properties(title=title, width=width, height=300)


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """The contents of one map.

    Attributes:
        title: the title above the map.
        places: ``row`` and ``col`` of each region.
        shares: the share of each region; a region without a share stays blank.
        sensitive: ``(regions,)`` booleans: true for a region with a frame; None for no frames.
        degrees: the least latitude and longitude, and the height and width of a region, in degrees; None for numbers of
            rows and columns.
    """

    title: str
    places: Mapping[str, AnyArray]
    shares: FloatArray
    sensitive: BoolArray | None = None
    degrees: tuple[float, float, float, float] | None = None

    @property
    def regions(self) -> list[dict[str, Any]]:
        """The records to draw, one per region with a share."""
        framed = np.zeros(len(self.shares), np.bool_) if self.sensitive is None else self.sensitive
        regions = zip(self.places["row"], self.places["col"], self.shares, framed, strict=True)
        return [
            {"row": int(row), "col": int(col), "share": float(share)} | ({"sensitive": True} if mark else {})
            for row, col, share, mark in regions
            if share > 0
        ]


@self_contained
def region_chart(regions: Map) -> Any:
    """Return a map of estimated shares.

    Returns:
        An Altair chart.
    """
    marks = "" if regions.sensitive is None else "; framed: sensitive"
    title = [regions.title, f"Estimated shares of people{marks}"]
    return map_chart([replace(regions, title="")], title=title, across=1)


@self_contained
def map_chart(maps: Sequence[Map], *, title: str | list[str], across: int) -> Any:
    """Return maps in rows, with one colour scale and north at the top.

    Returns:
        An Altair chart.
    """
    alt = optional("altair")
    highest = max(float(panel.shares.max()) for panel in maps)
    colour = alt.Color(
        "share:Q",
        title="share",
        scale=alt.Scale(scheme="viridis", reverse=True, type="sqrt", domain=[0, highest]),
        legend=alt.Legend(format="~%"),
    )
    rows, cols = (list(range(max(int(panel.places[name].max()) for panel in maps) + 1)) for name in ("row", "col"))
    west, south = _map_axes(cols, rows, maps[0].degrees)
    # Frames distinguish regions without colours.
    stroke = alt.condition("datum.sensitive", alt.value("#ff5a1f"), alt.value(None))
    frames = {} if all(panel.sensitive is None for panel in maps) else {"stroke": stroke}
    drawn = [
        alt.Chart(records_of(panel.regions))
        .mark_rect(strokeWidth=3)
        .encode(
            x=alt.X("col:O", scale=alt.Scale(domain=cols), axis=west),
            y=alt.Y("row:O", scale=alt.Scale(domain=rows[::-1]), axis=south),
            color=colour,
            tooltip=["row:O", "col:O", alt.Tooltip("share:Q", format=".2%")],
            **frames,
        )
        .properties(width=_SIDE, height=_SIDE, title=panel.title)
        for panel in maps
    ]
    lines = [alt.hconcat(*drawn[start : start + across]) for start in range(0, len(drawn), across)]
    return alt.vconcat(*lines, title=alt.TitleParams(title, anchor="start", fontSize=15))


def _map_axes(cols: list[int], rows: list[int], degrees: tuple[float, float, float, float] | None) -> list[Any]:
    """Return the axes of a map: degrees at the centres of the regions, or numbers of columns and rows."""
    alt = optional("altair")
    if degrees is None:
        kinds = [("column, west to east", cols, "datum.value"), ("row, south to north", rows, "datum.value")]
    else:
        lat, lon, height, width = degrees
        kinds = [("longitude", cols, _centre(lon, width)), ("latitude", rows, _centre(lat, height))]
    return [
        alt.Axis(title=title, values=steps[:: -(-len(steps) // 6)], labelExpr=label, ticks=False, labelAngle=0)
        for title, steps, label in kinds
    ]


def _centre(least: float, step: float) -> str:
    """Return the expression for the label of a region, in degrees, with decimals that distinguish neighbours."""
    return f"format({least} + (datum.value + .5) * {step}, '.{max(1 - floor(log10(step)), 0)}~f') + '\u00b0'"
