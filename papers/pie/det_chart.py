"""Charts of detection error trade-offs on normal-deviate axes [Martin et al. 1997]."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.extras import optional
from discreet.pictures.charts import records_of, self_contained
from discreet.pictures.curves import COLOURS

_TICKS = (1e-6, 1e-5, 1e-4, 1e-3, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)
_LEAST, _MOST = 1e-7, 0.9999
_STEPS, _SIZE = 1500, 380
_DIAGONAL = "equal rates"


@dataclass(frozen=True, slots=True, eq=False)
class DetLine:
    """A line in a DET chart.

    Attributes:
        name: its name in the legend.
        far: ``(b,)`` false acceptance rates, in descending order.
        frr: ``(b,)`` false rejection rates, in ascending order.
        equal: the equal error rate.
    """

    name: str
    far: FloatArray
    frr: FloatArray
    equal: float


def colour_of(alt: Any, names: Sequence[str]) -> Any:
    """Return the colours of lines with these names, with a legend if there are several."""
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(names))]
    legend = alt.Legend(title=None, orient="right", labelFontSize=12) if len(names) > 1 else None
    return alt.Color("name:N", scale=alt.Scale(domain=list(names), range=colours), legend=legend)


def deviate(rate: float) -> float:
    """Return the normal deviate of a rate, which is the scale of the axis; 0 and 1 are at the ends of the axis."""
    return NormalDist().inv_cdf(min(max(rate, _LEAST), _MOST))


@self_contained
def det_chart(lines: Sequence[DetLine], *, title: str = "Detection error trade-off") -> Any:
    """Return a chart of false rejection against false acceptance.

    Args:
        lines: at least one; only points strictly between the rates 0 and 1 are drawn, because 0 and 1 have no deviate.
        title: the title above the chart.

    Returns:
        An Altair layer chart.
    """
    alt = optional("altair")
    records = [record for line in lines for record in _records(line)]
    ends = [_domain([record[axis] for record in records]) for axis in ("x", "y")]
    x, y = (
        alt.X("x:Q").scale(domain=ends[0], nice=False).axis(_axis(alt, ends[0])).title("false acceptance rate"),
        alt.Y("y:Q").scale(domain=ends[1], nice=False).axis(_axis(alt, ends[1])).title("false rejection rate"),
    )
    names = [line.name for line in lines]
    colour = colour_of(alt, names)
    tips = [alt.Tooltip("name:N"), *(alt.Tooltip(f"{rate}:Q", format=".3%") for rate in ("far", "frr"))]
    curve = alt.Chart(records_of(records)).mark_line(strokeWidth=2, clip=True)
    marks = [{"name": line.name, "x": deviate(line.equal), "y": deviate(line.equal)} for line in lines]
    point = alt.Chart(records_of(marks)).mark_point(filled=True, size=55, opacity=1, clip=True)
    layers = [
        _diagonal(alt, ends).encode(x=x, y=y),
        curve.encode(x=x, y=y, color=colour, tooltip=tips, order="place:Q"),
        point.encode(x=x, y=y, color=colour),
    ]
    rates = "; ".join(f"{line.name} {line.equal:.2%}" for line in lines) if len(lines) <= 3 else ""
    subtitle = f"dots: equal error rate{f' ({rates})' if rates else ''}; dashed: {_DIAGONAL}"
    heading = alt.TitleParams(title, subtitle=subtitle, anchor="start", fontSize=14, subtitleFontSize=11)
    return alt.layer(*layers, width=_SIZE, height=_SIZE, title=heading)


def _records(line: DetLine) -> list[dict[str, Any]]:
    """Return the corners of a curve, thinned to visible distances."""
    inside = np.flatnonzero((line.far > 0) & (line.far < 1) & (line.frr > 0) & (line.frr < 1))
    if not len(inside):
        # Only corners, which are at the ends of the axes.
        inside = np.arange(len(line.far))
    xs = np.array([deviate(rate) for rate in line.far[inside].tolist()])
    ys = np.array([deviate(rate) for rate in line.frr[inside].tolist()])
    # Evenly along both axes, because steps are fine in the middle and wide at the ends.
    travelled = np.cumsum(np.abs(np.diff(xs, prepend=xs[:1])) + np.abs(np.diff(ys, prepend=ys[:1])))
    places_kept = inside
    if len(inside) > _STEPS:
        places = np.unique(np.searchsorted(travelled, np.linspace(0, travelled[-1], _STEPS)))
        xs, ys, places_kept = xs[places], ys[places], inside[places]
    points = zip(xs.tolist(), ys.tolist(), line.far[places_kept].tolist(), line.frr[places_kept].tolist(), strict=True)
    return [
        {"name": line.name, "place": place, "x": x, "y": y, "far": far, "frr": frr}
        for place, (x, y, far, frr) in enumerate(points)
    ]


def _domain(drawn: Sequence[float]) -> list[float]:
    """Return the ends of an axis: ticks around the lines, at least from 1% to 60%."""
    low, high = min([*drawn, deviate(0.01)]), max([*drawn, deviate(0.6)])
    below = [deviate(tick) for tick in _TICKS if deviate(tick) <= low]
    above = [deviate(tick) for tick in _TICKS if deviate(tick) >= high]
    return [max(below, default=deviate(_LEAST)), min(above, default=deviate(_MOST))]


def _axis(alt: Any, ends: Sequence[float]) -> Any:
    shown = [tick for tick in _TICKS if ends[0] <= deviate(tick) <= ends[1]]
    # A chain of comparisons, because a table would need the exact deviates as keys.
    label = "".join(f"abs(datum.value - {deviate(tick):.9f}) < 1e-6 ? '{tick * 100:g}%' : " for tick in shown) + "''"
    return alt.Axis(values=[deviate(tick) for tick in shown], labelExpr=label, labelOverlap=True, gridColor="#e6e6e6")


def _diagonal(alt: Any, ends: Sequence[Sequence[float]]) -> Any:
    low, high = max(end[0] for end in ends), min(end[1] for end in ends)
    values = [{"x": place, "y": place} for place in (low, high)]
    return alt.Chart(records_of(values)).mark_line(strokeDash=[4, 4], color="#999", strokeWidth=1)
