"""Charts of the success of an attack by the length of the list of candidates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.extras import optional
from discreet.pictures.charts import records_of, self_contained
from discreet.pictures.curves import COLOURS

# Wide enough to be legible in a scrolling region, and wider than a phone.
_SIZE = 380
_CHANCE = "guessing"


@dataclass(frozen=True, slots=True, eq=False)
class RankLines:
    """A line in a rank chart, with its interval.

    Attributes:
        name: its name in the legend.
        points: list length, probability, lower and upper limit.
        level: confidence level of the limits.
    """

    name: str
    points: Sequence[tuple[int, float, float, float]]
    level: float


def colour_of(alt: Any, names: Sequence[str]) -> Any:
    """Return the colours of lines with these names, with a legend if there are several."""
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(names))]
    legend = alt.Legend(title=None, orient="right", labelFontSize=12) if len(names) > 1 else None
    return alt.Color("name:N", scale=alt.Scale(domain=list(names), range=colours), legend=legend)


@self_contained
def rank_chart(lines: Sequence[RankLines], *, users: int | None = None, title: str = "Among the k best") -> Any:
    """Return a chart of the probability that the right user is among the k best, against k.

    Args:
        lines: at least one.
        users: the number of users, for the line of guesses; None for no line.
        title: the title above the chart.

    Returns:
        An Altair layer chart.
    """
    alt = optional("altair")
    fields = ("k", "value", "low", "high")
    records: list[dict[str, Any]] = [
        {"name": line.name, **dict(zip(fields, point, strict=True))} for line in lines for point in line.points
    ]
    names, last = [line.name for line in lines], max(record["k"] for record in records)
    if users:
        ks = sorted({record["k"] for record in records})
        chance = [{"name": _CHANCE, "k": k, "value": min(k / users, 1.0)} for k in ks]
    x = alt.X("k:Q").scale(type="log", domain=[1, max(last, 2)], nice=False)
    x = x.axis(alt.Axis(format="~s", tickCount=6)).title("k, the length of the list")
    y = alt.Y("value:Q").scale(domain=[0, 1]).axis(alt.Axis(format="~%")).title("right user among the k best")
    colour = colour_of(alt, names)
    tips = [alt.Tooltip("name:N"), alt.Tooltip("k:Q"), alt.Tooltip("value:Q", format=".3%")]
    base = alt.Chart(records_of(records))
    layers = [
        base.mark_rule(opacity=0.5, strokeWidth=2).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_line(point=alt.OverlayMarkDef(size=30)).encode(x=x, y=y, color=colour, tooltip=tips),
    ]
    if users:
        guessing = alt.Chart(records_of(chance)).mark_line(strokeDash=[4, 4], color="#999", strokeWidth=1)
        layers.insert(0, guessing.encode(x=x, y=y))
    levels = " or ".join(f"{level * 100:.4g}%" for level in sorted({line.level for line in lines}))
    legend = f"bars: {levels} confidence intervals" + (f"; dashed: {_CHANCE} among {users:,}" if users else "")
    heading = alt.TitleParams(title, subtitle=legend, anchor="start", fontSize=14, subtitleFontSize=11)
    return alt.layer(*layers, width=_SIZE, height=_SIZE * 3 // 4, title=heading)
