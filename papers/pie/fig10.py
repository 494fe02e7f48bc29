"""[PIE, Fig. 10]: the squared loss over places that protection costs."""

from collections.abc import Mapping
from typing import Any

from papers.drawing import curves, interval, record
from papers.figure import Figure
from papers.pie.settings import FEW_RUNS, PLACES, PLACES_HERE
from papers.pie.utility import UtilityLoss, plan_utility
from papers.results import Point, Results


def charts_of_utility(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against epsilon and against the certified identification error."""
    charts = {}
    for name in results.populations:
        points = results.of(UtilityLoss, population=name)
        records = [_record(p, p.epsilon or 0.0) for p in points]
        subtitle = f"{points[0].mean.n:,} check-ins of {name}, each taken as a user's, |X| = {points[0].mean.values:,}"
        charts[name] = curves("Squared loss over places", subtitle, ("epsilon", "summed squared error"), records)
        risky = [_record(p, 1 - p.mean.error) for p in points]
        axes = ("largest identification probability, 1 - beta", "summed squared error")
        charts[f"{name}-beta"] = curves("Squared loss against identification risk", subtitle, axes, risky)
    return charts


def _record(point: Point[UtilityLoss], x: float) -> dict[str, Any]:
    row = point.mean
    at = interval(x, row.mse, point.error.mse)
    return record(at, line=row.mechanism, column=f"{row.estimator}, {row.among}")


FIGURE = Figure(
    "pie/fig10",
    "[PIE, Fig. 10] what protection costs",
    "The squared loss over the most visited and over all places against epsilon.",
    PLACES,
    PLACES_HERE,
    plan_utility,
    charts_of_utility,
    runs=FEW_RUNS,
    settings=("each check-in is taken as a user's one report", "emp+thr: what is below the threshold becomes 0"),
)
