"""Charts of delta against epsilon: the curve of a guarantee, and the epsilon at which it meets its delta."""

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.charts.self_contained import self_contained
from discreet.extras import optional

# With axis, margins and a viewer's menu not wider than a phone, 390 pixels.
_WIDTH = 280
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
        curves: by name, the points (epsilon, delta), with delta above 0.
        title: above the chart, perhaps in several lines; the chart is as wide as a phone, on which none is folded.
        subtitle: below the title, likewise.
        delta: where the line goes.

    Returns:
        an Altair layer chart.
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
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, tooltip=tips)
    rule = (
        alt.Chart(alt.Data(values=[{"delta": delta}])).mark_rule(strokeDash=[5, 3], color="#57534e").encode(y="delta:Q")
    )
    heading = alt.TitleParams(title, subtitle=subtitle, anchor="start", frame="bounds", fontSize=13)
    return alt.layer(lines, rule).properties(width=_WIDTH, height=280, title=heading)
