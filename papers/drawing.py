"""Records of points and panels of curves, as `discreet.pictures.curves` draws them, and the pictures of a chart."""

from collections.abc import Sequence
from typing import Any

from discreet.extras import optional
from discreet.pictures.curves import Curves, curve_chart

_PIXELS_PER_INCH = 144


def interval(x: float, value: float, error: float) -> dict[str, float]:
    """Return the place of a point and its bar of two standard errors."""
    # Zero does not lie on a logarithmic axis.
    return {"x": x, "y": value, "low": max(value - 2 * error, value / 10), "high": value + 2 * error}


def record(at: dict[str, float], *, line: str, column: str = "", row: str = "") -> dict[str, Any]:
    """Return the record of a point of a line, in the panel of a column and a row."""
    return {**at, "line": line, "column": column, "row": row}


def curves(title: str, subtitle: str, axes: tuple[str, str], records: Sequence[dict[str, Any]], **more: Any) -> Any:
    """Draw curves; lines, columns and rows are those of the records, and zeros are left out but on an even axis."""
    drawn = [one for one in records if more.get("even") or one["y"] > 0]
    named: dict[str, Sequence[str]] = {
        key: list(dict.fromkeys(one[key[:-1]] for one in drawn)) for key in ("lines", "columns", "rows")
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
