"""Maps of shares over the regions of a grid, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.arrays import AnyArray, FloatArray
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
    """

    title: str
    places: Mapping[str, AnyArray]
    shares: FloatArray

    @property
    def regions(self) -> list[dict[str, Any]]:
        """One record per region with a share."""
        found = zip(self.places["row"], self.places["col"], self.shares, strict=True)
        return [{"row": int(row), "col": int(col), "share": float(share)} for row, col, share in found if share > 0]


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
    size = max(int(one.places["row"].max()) for one in maps) + 1
    steps = list(range(size))
    marked = {"values": steps[::5], "ticks": False, "labelAngle": 0}
    drawn = [
        alt.Chart(alt.Data(values=one.regions))
        .mark_rect()
        .encode(
            x=alt.X("col:O", scale=alt.Scale(domain=steps), axis=alt.Axis(title="column, west to east", **marked)),
            y=alt.Y("row:O", scale=alt.Scale(domain=steps[::-1]), axis=alt.Axis(title="row, south to north", **marked)),
            color=colour,
            tooltip=["row:O", "col:O", alt.Tooltip("share:Q", format=".2%")],
        )
        .properties(width=_SIDE, height=_SIDE, title=one.title)
        for one in maps
    ]
    rows = [alt.hconcat(*drawn[start : start + across]) for start in range(0, len(drawn), across)]
    return alt.vconcat(*rows).properties(title=alt.TitleParams(title, anchor="start", fontSize=15))
