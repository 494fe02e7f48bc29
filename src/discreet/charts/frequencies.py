"""Charts of estimated frequencies with their intervals, and of true ones where they are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.charts.self_contained import self_contained
from discreet.extras import optional

SENSITIVE, CLEAR = "sensitive", "not sensitive"
DRAWN = ("frequency", "lower", "upper")
"""Columns of numbers that a chart of frequencies draws."""
COLOURS = {SENSITIVE: "#c2410c", CLEAR: "#1d4ed8"}
SHAPES = {SENSITIVE: "diamond", CLEAR: "circle"}
"""Marks of sensitive values, for people who see colours and for people who do not."""
_ROW_HEIGHT = 15


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The content of one chart of frequencies.

    Attributes:
        title: above the chart, a line each.
        names: one label per value, from the top down.
        columns: ``frequency``, ``sensitive``, ``lower`` and ``upper``; each as long as ``names``.
        truth: true frequencies, as long; None where they are not known.
        level: confidence of the intervals.
        simultaneous: whether all intervals hold at once with that confidence.
        shown: how many values were chosen by their estimates, for which the intervals hold; None if they were not.
    """

    title: str
    names: Sequence[str]
    columns: dict[str, AnyArray]
    truth: FloatArray | None = None
    level: float = 0.95
    simultaneous: bool = False
    shown: int | None = None

    @property
    def legend(self) -> str:
        """Legend of the marks."""
        known = "" if self.truth is None else "; black tick: true share"
        kind = "simultaneous " if self.simultaneous else ""
        chosen = "" if self.shown is None or self.simultaneous else f" for the {self.shown:,} largest"
        return f"mark: estimate; bar: {self.level * 100:g}% {kind}interval{chosen}{known}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One record per value."""
        found = []
        for place, name in enumerate(self.names):
            row: dict[str, Any] = {"name": name, "class": SENSITIVE if self.columns["sensitive"][place] else CLEAR}
            # What is not estimated is not drawn.
            numbers = {field: float(self.columns[field][place]) for field in DRAWN}
            row |= {field: None if isnan(number) else number for field, number in numbers.items()}
            found.append(row if self.truth is None else {**row, "truth": float(self.truth[place])})
        return found

    @property
    def end(self) -> float:
        """The largest number drawn."""
        highest = [float(np.nan_to_num(self.columns[field]).max()) for field in DRAWN]
        return max([*highest, *([] if self.truth is None else [float(self.truth.max())])])


@self_contained
def frequency_chart(
    panel: Panel, *, width: int = 520, end: float | None = None, names: bool = True, limit: int | None = None
) -> Any:
    """Return a chart with a row per value: estimate, interval, and the truth where it is known.

    Args:
        panel: what to draw.
        width: of the plot, in pixels.
        end: where the axis ends; None to fit.
        names: whether to write the labels.
        limit: pixels that a line of the title may take; None for any number.

    Returns:
        an Altair layer chart.
    """
    alt = optional("altair")
    base = alt.Chart(alt.Data(values=panel.rows))
    label = alt.Axis(labelLimit=420, labelFontSize=10) if names else None
    y = alt.Y("name:N", sort=list(panel.names), title=None, axis=label)
    x = {"scale": alt.Scale(domain=[0, end or panel.end * 1.02], clamp=True), "title": "share of people"}
    ticks = alt.Axis(format="~%", tickCount=6)
    tips = [alt.Tooltip("name:N"), alt.Tooltip("class:N", title="value is")]
    tips += [alt.Tooltip(f"{field}:Q", format=".3%") for field in panel.rows[0] if field not in ("name", "class")]
    shared = {"y": y, "color": kind_of(alt.Color, COLOURS), "tooltip": tips}
    layers = []
    bar = base.mark_rule(strokeWidth=2.5, opacity=0.5)
    layers.append(bar.encode(x=alt.X("lower:Q", axis=ticks, **x), x2="upper:Q", **shared))
    dot = base.mark_point(filled=True, size=40, opacity=1)
    layers.append(dot.encode(x=alt.X("frequency:Q", axis=ticks, **x), shape=kind_of(alt.Shape, SHAPES), **shared))
    if panel.truth is not None:
        tick = base.mark_tick(color="black", thickness=2, height=11)
        layers.append(tick.encode(x=alt.X("truth:Q", axis=ticks, **x), y=y, tooltip=tips))
    title: Any = panel.title.split("\n") if "\n" in panel.title else panel.title
    room = {} if limit is None else {"limit": limit}
    heading = alt.TitleParams(title, subtitle=panel.legend, anchor="start", frame="group", fontSize=12, **room)
    return alt.layer(*layers).properties(width=width, height=_ROW_HEIGHT * len(panel.names), title=heading)


def kind_of(channel: Any, marks: Mapping[str, str]) -> Any:
    """Return a channel, ``altair.Color`` or ``altair.Shape``, whose marks say what kind a value is."""
    alt = optional("altair")
    legend = alt.Legend(orient="top", direction="horizontal")
    scale = alt.Scale(domain=list(marks), range=list(marks.values()))
    return channel("class:N", title="value is", scale=scale, legend=legend)
