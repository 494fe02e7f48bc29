"""Bar charts: several kinds of numbers for each of several names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.charts.self_contained import self_contained
from discreet.extras import optional

_COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#7c3aed")


@dataclass(frozen=True, slots=True)
class Bars:
    """The content of one bar chart.

    Attributes:
        title: above the figure.
        subtitle: below the title.
        value: name of the axis.
        bars: records with ``name``, ``kind`` and ``value``.
        names: in order, from top to bottom.
        kinds: in order; a colour each.
    """

    title: str
    subtitle: str
    value: str
    bars: Sequence[Mapping[str, Any]]
    names: Sequence[str]
    kinds: Sequence[str]


@self_contained
def bar_chart(bars: Bars, *, width: int = 480) -> Any:
    """Return a bar chart.

    Returns:
        an Altair chart.
    """
    alt = optional("altair")
    legend = alt.Legend(orient="top", direction="horizontal", title=None)
    colours = alt.Scale(domain=list(bars.kinds), range=list(_COLOURS[: len(bars.kinds)]))
    return (
        alt.Chart(alt.Data(values=[dict(bar) for bar in bars.bars]))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=bars.value),
            y=alt.Y("name:N", sort=list(bars.names), title=None, axis=alt.Axis(labelLimit=260)),
            yOffset=alt.YOffset("kind:N", sort=list(bars.kinds)),
            color=alt.Color("kind:N", scale=colours, legend=legend),
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("kind:N"), alt.Tooltip("value:Q", format=".4g")],
        )
        .properties(width=width, title=alt.TitleParams(bars.title, subtitle=bars.subtitle, anchor="start", fontSize=15))
    )
