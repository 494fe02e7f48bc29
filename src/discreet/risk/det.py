"""Charts of detection error trade-offs on normal-deviate axes [Martin et al. 1997], and of success by list length."""

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
_STEPS = 1500
# Rows with names are wide enough to be legible in a scrolling region; they are wider than a phone.
_SIZE = 380
_DIAGONAL = "equal rates"
_CHANCE = "guessing"
_RATES = (("x", "recall"), ("y", "precision"))


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


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionLine:
    """A line of precision against recall for one attacker.

    Attributes:
        name: its name in the legend.
        recall: ``(b,)`` recalls, in ascending order.
        precision: ``(b,)`` precisions.
    """

    name: str
    recall: FloatArray
    precision: FloatArray


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
    colour = _colour(alt, names)
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


def _colour(alt: Any, names: Sequence[str]) -> Any:
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
    colour = _colour(alt, names)
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


@self_contained
def precision_chart(
    lines: Sequence[PrecisionLine], *, guessed: float | None = None, title: str = "Named right, and how many"
) -> Any:
    """Return a chart of precision against recall over all thresholds.

    Args:
        lines: at least one.
        guessed: the precision of guesses; None for no line.
        title: the title above the chart.

    Returns:
        An Altair layer chart.
    """
    alt = optional("altair")
    records = [
        {"name": line.name, "place": int(place), "x": float(line.recall[place]), "y": float(line.precision[place])}
        for line in lines
        for place in np.unique(np.linspace(0, len(line.recall) - 1, _STEPS).astype(np.int64))
    ]
    # With more labels they would overlap.
    shares, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="~%", tickCount=5)
    x = alt.X("x:Q").scale(shares).axis(axis).title("recall: of the known users' traces, named right")
    y = alt.Y("y:Q").scale(shares).axis(axis).title("precision: of the names, right")
    tips = [alt.Tooltip("name:N"), *(alt.Tooltip(f"{axis}:Q", format=".2%", title=name) for axis, name in _RATES)]
    colour = _colour(alt, [line.name for line in lines])
    curve = alt.Chart(records_of(records)).mark_line(strokeWidth=2)
    layers = [curve.encode(x=x, y=y, color=colour, tooltip=tips, order="place:Q")]
    if guessed is not None:
        ends = [{"x": end, "y": guessed} for end in (0.0, 1.0)]
        layers.insert(0, alt.Chart(records_of(ends)).mark_line(strokeDash=[4, 4], color="#999").encode(x=x, y=y))
    legend = f"dashed: {_CHANCE}" if guessed is not None else ""
    heading = alt.TitleParams(title, subtitle=legend, anchor="start", fontSize=14, subtitleFontSize=11)
    return alt.layer(*layers, width=_SIZE, height=_SIZE * 3 // 4, title=heading)
