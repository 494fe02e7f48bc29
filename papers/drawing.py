"""Bar charts; records of points and panels of curves, as `discreet.pictures.curves` draws them; pictures of charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.extras import optional
from discreet.pictures.charts import self_contained
from discreet.pictures.curves import Curves, curve_chart

_PIXELS_PER_INCH = 144
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
def bar_chart(bars: Bars) -> Any:
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
        .properties(width=480, title=alt.TitleParams(bars.title, subtitle=bars.subtitle, anchor="start", fontSize=15))
    )


def interval(x: float, value: float, error: float) -> dict[str, float]:
    """Return the place of a point and its bar of two standard errors."""
    # Zero does not lie on a logarithmic axis.
    return {"x": x, "y": value, "low": max(value - 2 * error, value / 10), "high": value + 2 * error}


def record(at: dict[str, float], *, line: str, column: str = "", row: str = "") -> dict[str, Any]:
    """Return the record of a point of a line, in the panel of a column and a row."""
    return {**at, "line": line, "column": column, "row": row}


def curves(title: str, subtitle: str, axes: tuple[str, str], records: Sequence[dict[str, Any]], **more: Any) -> Any:
    """Draw curves; lines, columns and rows are those of the records, and zeros are left out but on an even axis."""
    drawn = [record for record in records if more.get("even") or record["y"] > 0]
    named: dict[str, Sequence[str]] = {
        key: list(dict.fromkeys(record[key[:-1]] for record in drawn)) for key in ("lines", "columns", "rows")
    }
    chart = Curves(title, [subtitle], *axes, drawn, named["lines"], named["columns"], named["rows"], {}, **more)
    return curve_chart(chart)


def pictures(chart: Any) -> tuple[str, bytes]:
    """Return a chart as SVG and as PNG; a chart is copied for either one, so it is spelled out once for both.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    converter = optional("vl_convert")
    version = ".".join(optional("altair").SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    svg: str = converter.vegalite_to_svg(chart.to_dict(context={"pre_transform": False}), vl_version=version)
    return svg, converter.svg_to_png(svg, ppi=_PIXELS_PER_INCH)
