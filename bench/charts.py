"""The curves of the page, drawn by the charts of the package."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

from discreet.pictures.curves import Curves, curve_chart


def growth_chart(
    title: str, axis: str, marks: Sequence[Mapping[str, Any]], *, lines: Sequence[str], columns: Sequence[str]
) -> str:
    """Return curves on logarithmic axes as an SVG.

    Args:
        title: above them.
        axis: name of the horizontal axis.
        marks: with ``x``, ``y`` (nanoseconds), ``line`` and ``column``.
        lines: names of the curves.
        columns: names of the panels.
    """
    import vl_convert

    points = [{**mark, "row": "", "low": mark["y"], "high": mark["y"]} for mark in marks]
    curves = Curves(
        title, ["nanoseconds per report; both axes are logarithmic"], axis, "ns per report", points, lines, columns,
        [""], {"": None},
    )  # fmt: skip
    chart = curve_chart(curves, width=270, height=260).properties(background="white").to_dict()
    _label_decades(chart, {"x": "~s", "y": "~g"}, {name: _decades(mark[name] for mark in marks) for name in "xy"})
    return str(vl_convert.vegalite_to_svg(chart))


def _decades(numbers: Iterable[float]) -> list[float]:
    exponents = [log10(number) for number in numbers]
    return [10.0**k for k in range(ceil(min(exponents)), floor(max(exponents)) + 1)]


def _label_decades(part: Any, formats: Mapping[str, str], decades: Mapping[str, list[float]]) -> None:
    """Label powers of ten only, wherever the chart has axes: numbers this large run into each other."""
    if isinstance(part, list):
        for inner in part:
            _label_decades(inner, formats, decades)
    elif isinstance(part, dict):
        for name, inner in part.items():
            if name in decades and isinstance(inner, dict) and inner.get("axis"):
                inner["axis"] |= {"format": formats[name], "values": decades[name]}
            _label_decades(inner, formats, decades)
