"""[PIE, Fig. 10]: the squared loss over places that protection costs."""

from collections.abc import Iterator, Mapping
from typing import Any

from papers.data.traces import PAPER_USERS
from papers.drawing import curves, interval, record
from papers.figure import Figure, Finding
from papers.pie.settings import FEW_RUNS, ON_ONE_REPORT, PLACES, PRINTED_EPSILON, REPORTED_HERE, RR
from papers.pie.utility import AMONG_TOP, BETA, THRESHOLD, UtilityLoss, plan_utility
from papers.results import Point, Results

WANTED_LOSS, LEAST_EPSILON = 1e-6, 12.0
POOR = 0.5


def charts_of_utility(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against epsilon and against the certified identification error."""
    charts = {}
    for name in results.populations:
        points = results.of(UtilityLoss, population=name)
        records = [_record(p, p.epsilon or 0.0) for p in points]
        subtitle = f"{points[0].mean.n:,} users of {name}, one report each, |X| = {points[0].mean.values:,}"
        charts[name] = curves("Squared loss over places", subtitle, ("epsilon", "summed squared error"), records)
        risky = [_record(p, 1 - p.mean.error) for p in points]
        axes = ("largest identification probability, 1 - beta", "summed squared error")
        charts[f"{name}-beta"] = curves("Squared loss against identification risk", subtitle, axes, risky)
    return charts


def _record(point: Point[UtilityLoss], x: float) -> dict[str, Any]:
    row = point.mean
    at = interval(x, row.mse, point.error.mse)
    return record(at, line=row.mechanism, column=f"{row.estimator}, {row.among}")


def findings_on_utility(results: Results) -> list[Finding]:
    """Check that small epsilons tell nothing of places, and what a small loss takes."""
    return [finding for name in results.populations for finding in _on_data(results, name)]


def _on_data(results: Results, name: str) -> Iterator[Finding]:
    where = {"population": name, "mechanism": RR, "among": AMONG_TOP}
    losses = {p.epsilon or 0.0: p.mean for p in results.of(UtilityLoss, **where, estimator=THRESHOLD)}
    poor = {epsilon: row.mse / row.blank for epsilon, row in losses.items() if epsilon <= PRINTED_EPSILON}
    yield Finding(
        f"RR with emp+thr is poor up to epsilon = {PRINTED_EPSILON:g} ({AMONG_TOP})",
        name,
        "least ratio of its loss to that of an estimate of 0 everywhere",
        min(poor.values()),
        ">=",
        POOR,
        "; ".join(f"{epsilon:.3g}: {ratio:.3g}" for epsilon, ratio in sorted(poor.items())),
    )
    points = results.of(UtilityLoss, **where, estimator=THRESHOLD)
    if points[0].mean.n < PAPER_USERS:
        return
    small = [p for p in points if p.mean.mse <= WANTED_LOSS]
    least = min((p.epsilon or 0.0 for p in small), default=float("nan"))
    yield Finding(
        f"a loss of {WANTED_LOSS:g} takes an epsilon of more than {LEAST_EPSILON:g} (RR, emp+thr, {AMONG_TOP})",
        name,
        "least epsilon measured with no more",
        least,
        ">=",
        LEAST_EPSILON,
        "; ".join(f"{p.epsilon:.4g}: {p.mean.mse:.3g}" for p in points),
    )
    yield Finding(
        f"and may be had at beta >= {BETA:g}, by Cor. 8",
        name,
        "largest beta with no more loss",
        max((p.mean.paper_error for p in small), default=float("nan")),
        ">=",
        BETA,
        "; ".join(f"{p.epsilon:.4g}: {p.mean.paper_error:.4g}, exactly {p.mean.error:.4g}" for p in small),
    )


FIGURE = Figure(
    "pie/fig10",
    "[PIE, Fig. 10] what protection costs",
    "The squared loss over the most visited and over all places against epsilon.",
    PLACES,
    REPORTED_HERE,
    plan_utility,
    charts_of_utility,
    findings_on_utility,
    runs=FEW_RUNS,
    settings=(*ON_ONE_REPORT, "emp+thr: what is below the threshold becomes 0"),
)
