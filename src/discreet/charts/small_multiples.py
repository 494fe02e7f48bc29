"""Small multiples: a chart of frequencies for each of several groups, on one axis."""

from collections.abc import Sequence
from typing import Any

from discreet.charts.frequencies import Panel, frequency_chart
from discreet.charts.self_contained import self_contained
from discreet.extras import optional

_COLUMNS = 3
_WIDTH = 230


@self_contained
def small_multiples(panels: Sequence[Panel], title: str) -> Any:
    """Return panels of the same values in rows of three, on one axis.

    Args:
        panels: one for each group.
        title: above all of them.
    """
    alt = optional("altair")
    end = max(panel.end for panel in panels) * 1.02
    drawn = [
        frequency_chart(panel, width=_WIDTH, end=end, names=place % _COLUMNS == 0, limit=_WIDTH)
        for place, panel in enumerate(panels)
    ]
    heading = alt.TitleParams(title, anchor="start", fontSize=14)
    whole = alt.concat(*drawn, columns=_COLUMNS, spacing=20)
    return whole.properties(title=heading).configure_view(stroke="#ddd")
