"""Forest plots: differences with their intervals, one below the other, about a line at 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.charts.frequencies import CLEAR, COLOURS, SENSITIVE, SHAPES, kind_of
from discreet.charts.self_contained import self_contained
from discreet.extras import optional

_ROW_HEIGHT = 17


@dataclass(frozen=True, slots=True)
class Differences:
    """The content of one forest plot.

    Attributes:
        title: above the chart.
        legend: below the title.
        rows: records with ``value``, ``sensitive``, ``difference``, ``lower``, ``upper`` and ``p_value``.
    """

    title: str
    legend: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def records(self) -> list[dict[str, Any]]:
        """One record per value, as it is drawn."""
        found = []
        for row in self.rows:
            clear = row["lower"] > 0 or row["upper"] < 0
            kind = SENSITIVE if row["sensitive"] else CLEAR
            found.append({**row, "class": kind, "excludes": "yes" if clear else "no"})
        return found


@self_contained
def forest_chart(differences: Differences, *, width: int = 520) -> Any:
    """Return a chart with a row per value: its difference, and the interval of that.

    Args:
        differences: what to draw.
        width: of the plot, in pixels.

    Returns:
        an Altair layer chart.
    """
    alt = optional("altair")
    names = [row["value"] for row in differences.rows]
    base = alt.Chart(alt.Data(values=differences.records))
    y = alt.Y("value:N", sort=names, title=None, axis=alt.Axis(labelLimit=420, labelFontSize=10))
    x = {"title": "difference of shares", "axis": alt.Axis(format="+~%", tickCount=7)}
    colour, shape = kind_of(alt.Color, COLOURS), kind_of(alt.Shape, SHAPES)
    fill = alt.condition("datum.excludes == 'yes'", colour, alt.value("white"))
    tips = [alt.Tooltip("value:N"), alt.Tooltip("class:N", title="value is")]
    tips += [alt.Tooltip(f"{name}:Q", format="+.3%") for name in ("difference", "lower", "upper")]
    tips.append(alt.Tooltip("p_value:Q", format=".2g"))
    line = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color="#555", strokeDash=[4, 3])
    bar = base.mark_rule(strokeWidth=2.5, opacity=0.5)
    dot = base.mark_point(size=55, opacity=1, strokeWidth=1.5)
    heading = alt.TitleParams(
        differences.title, subtitle=differences.legend, anchor="start", frame="group", fontSize=12
    )
    return alt.layer(
        line.encode(x=alt.X("zero:Q", **x)),
        bar.encode(x=alt.X("lower:Q", **x), x2="upper:Q", y=y, color=colour, tooltip=tips),
        dot.encode(x=alt.X("difference:Q", **x), y=y, stroke=colour, fill=fill, shape=shape, tooltip=tips),
    ).properties(width=width, height=_ROW_HEIGHT * len(names), title=heading)
