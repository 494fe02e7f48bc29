"""Comparison charts: estimates of the same values side by side."""

from collections.abc import Sequence
from typing import Any

from discreet.charts.frequencies import Panel, frequency_chart
from discreet.charts.self_contained import self_contained
from discreet.extras import optional


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
    return alt.vconcat(*drawn, spacing=30).properties(title=heading).configure_view(stroke="#ddd")
