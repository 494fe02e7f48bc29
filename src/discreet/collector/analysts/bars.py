"""Pictures of batches and of parts: bars of numbers by name, and shares over time with their limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.extras import optional
from discreet.pictures.charts import records_of, self_contained

_WIDTH = 420
_ROW, _BAND = 22, 64
_BLUE = "#1d4ed8"


@dataclass(frozen=True, slots=True)
class Bars:
    """The content of one chart of bars.

    Attributes:
        title: above the chart.
        x: name of the axis of numbers.
        rows: name and number of each bar, from the top down.
        end: where the axis ends; None to fit.
        format: of the numbers, as D3 writes them.
    """

    title: str
    x: str
    rows: Sequence[tuple[str, float]]
    end: float | None = None
    format: str = ",.0f"


@self_contained
def bar_chart(bars: Bars) -> Any:
    """Return a chart with a bar per row, and its number at the end of it.

    Returns:
        an Altair layer chart.
    """
    alt = optional("altair")
    base = alt.Chart(records_of([{"name": name, "number": number} for name, number in bars.rows]))
    highest = max([number for _, number in bars.rows], default=0.0)
    # With room for the number at the end of the longest bar.
    scale = alt.Scale(domain=[0, 1.12 * (bars.end or highest or 1.0)], nice=False)
    x = alt.X("number:Q", title=bars.x, scale=scale, axis=alt.Axis(format=bars.format, tickCount=5))
    names = [name for name, _ in bars.rows]
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=300))
    number = alt.Text("number:Q", format=bars.format)
    layers = [
        base.mark_bar(color=_BLUE).encode(x=x, y=y),
        base.mark_text(align="left", dx=4, color="#1c1917").encode(x=x, y=y, text=number),
    ]
    heading = alt.TitleParams(bars.title, anchor="start", frame="group", fontSize=12)
    return alt.layer(*layers, width=_WIDTH, height=_ROW * max(len(names), 1), title=heading)


@dataclass(frozen=True, slots=True)
class TimeBands:
    """The content of one chart over time.

    Attributes:
        title: above the chart.
        names: names of the panels, from the top down.
        rows: records with ``name``, ``start`` and ``stop`` in milliseconds since 1970, ``share``, ``lower`` and
            ``upper``; the chart has a gap where a record is missing.
    """

    title: str
    names: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


@self_contained
def time_chart(bands: TimeBands) -> Any:
    """Return a chart over time: a panel for each name, with its shares and a band for the limits.

    Returns:
        an Altair facet chart.
    """
    alt = optional("altair")
    base = alt.Chart()
    x = alt.X("start:T", title="time (UTC)", scale=alt.Scale(type="utc"), axis=alt.Axis(labelOverlap=True, tickCount=6))
    y = alt.Y("share:Q", title="share", axis=alt.Axis(format="~%", tickCount=4))
    tips = [alt.Tooltip("name:N"), *(alt.Tooltip(f"{field}:Q", format=".2%") for field in ("share", "lower", "upper"))]
    layers = [
        base.mark_rect(color=_BLUE, opacity=0.25).encode(
            x=x, x2="stop:T", y=alt.Y("lower:Q", title="share"), y2="upper:Q", tooltip=tips
        ),
        base.mark_rule(color=_BLUE, strokeWidth=2.5).encode(x=x, x2="stop:T", y=y, tooltip=tips),
    ]
    drawn = alt.layer(*layers, width=_WIDTH, height=_BAND)
    above = alt.Header(labelOrient="top", labelAnchor="start", labelFontWeight="bold", labelLimit=_WIDTH)
    row = alt.Row("name:N", sort=list(bands.names), title=None, header=above)
    heading = alt.TitleParams(bands.title, anchor="start", fontSize=12)
    return drawn.facet(row=row, data=records_of(bands.rows), title=heading)
