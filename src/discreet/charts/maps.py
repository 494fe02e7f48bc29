"""Maps of shares over the regions of a grid, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray
from discreet.charts.self_contained import self_contained
from discreet.extras import optional

_SIDE = 300


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """The content of one map.

    Attributes:
        title: above it.
        places: ``row`` and ``col`` of each region.
        shares: of each region; regions without any stay blank.
        sensitive: ``(regions,)`` booleans, whose regions are framed; None to frame none.
    """

    title: str
    places: Mapping[str, AnyArray]
    shares: FloatArray
    sensitive: BoolArray | None = None

    @property
    def regions(self) -> list[dict[str, Any]]:
        """One record per region with a share."""
        framed = np.zeros(len(self.shares), np.bool_) if self.sensitive is None else self.sensitive
        found = zip(self.places["row"], self.places["col"], self.shares, framed, strict=True)
        return [
            {"row": int(row), "col": int(col), "share": float(share)} | ({"sensitive": True} if mark else {})
            for row, col, share, mark in found
            if share > 0
        ]


@self_contained
def map_chart(maps: Sequence[Map], *, title: str, across: int) -> Any:
    """Return maps in rows, with one scale of colours; north is up.

    Returns:
        an Altair chart.
    """
    alt = optional("altair")
    highest = max(float(one.shares.max()) for one in maps)
    colour = alt.Color(
        "share:Q", title="share", scale=alt.Scale(scheme="viridis", reverse=True, type="sqrt", domain=[0, highest])
    )
    rows, cols = (list(range(max(int(one.places[name].max()) for one in maps) + 1)) for name in ("row", "col"))
    marked: dict[str, Any] = {"ticks": False, "labelAngle": 0}
    west, south = (
        alt.Axis(title=title, values=steps[::5], **marked)
        for title, steps in (("column, west to east", cols), ("row, south to north", rows))
    )
    frames = {} if all(one.sensitive is None for one in maps) else {"stroke": _frame(alt)}
    drawn = [
        alt.Chart(alt.Data(values=one.regions))
        .mark_rect(strokeWidth=3)
        .encode(
            x=alt.X("col:O", scale=alt.Scale(domain=cols), axis=west),
            y=alt.Y("row:O", scale=alt.Scale(domain=rows[::-1]), axis=south),
            color=colour,
            tooltip=["row:O", "col:O", alt.Tooltip("share:Q", format=".2%")],
            **frames,
        )
        .properties(width=_SIDE, height=_SIDE, title=one.title)
        for one in maps
    ]
    lines = [alt.hconcat(*drawn[start : start + across]) for start in range(0, len(drawn), across)]
    return alt.vconcat(*lines).properties(title=alt.TitleParams(title, anchor="start", fontSize=15))


def _frame(alt: Any) -> Any:
    """Return the frames of sensitive regions, which tell them apart without colours."""
    return alt.condition("datum.sensitive", alt.value("#ff5a1f"), alt.value(None))
