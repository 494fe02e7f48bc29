"""Curves of errors against a choice, with the lower bound, both axes logarithmic."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from discreet.charts.self_contained import self_contained
from discreet.extras import optional

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
    drawn = [_panel(alt, panel, (x_title, y_title), shown) for panel, x_title in panels]
    title = alt.TitleParams(
        heading.title, subtitle=list(heading.lines), anchor="start", fontSize=15, subtitleFontSize=12
    )
    chart = alt.hconcat(*drawn, spacing=30).properties(title=title)
    return chart.configure_view(stroke="#ddd").configure_axis(labelFontSize=11, titleFontSize=12, gridColor="#e6e6e6")


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


def _panel(alt: Any, panel: LossPanel, titles: tuple[str, str], shown: _Styles) -> Any:
    xs, ys = (sorted(row[field] for row in panel.rows) for field in ("x", "y"))
    x = _logarithmic(alt, alt.X("x:Q"), (xs[0], xs[-1]), titles[0])
    y = _logarithmic(alt, alt.Y("y:Q"), (ys[0] * 0.85, ys[-1] * 1.15), titles[1])
    tips = [alt.Tooltip("name:N"), *(alt.Tooltip(f"{field}:Q", format=".4g") for field in ("x", "y"))]
    layers = [alt.Chart(alt.Data(values=[{"x": panel.here}])).mark_rule(color="#888", strokeWidth=1).encode(x=x)]
    for name, width in shown.widths.items():
        rows = [row for row in panel.rows if row["name"] == name]
        line = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=width, clip=True)
        layers.append(line.encode(x=x, y=y, tooltip=tips, **shown.channels))
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, title=panel.title)


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
