"""[PIE, Fig. 11]: the most visited places, the truth and estimates."""

from collections.abc import Callable, Mapping
from typing import Any

from papers.drawing import curves, interval, record
from papers.figure import Figure, Finding, Table
from papers.pie.settings import FEW_RUNS, PLACES, PLACES_HERE, PRINTED_EPSILON, RR
from papers.pie.utility import BETA, LISTED, MOST_EPSILON, PlaceShare, Protected, UtilityLoss, plan_utility
from papers.results import Results

USABLE = 0.25


def charts_of_top(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the most visited places: the truth, and estimates at chosen epsilons."""
    charts = {}
    for name in results.populations:
        chosen, records = chosen_epsilons(results, name), []
        for place in range(1, LISTED + 1):
            points = results.of(PlaceShare, population=name, mechanism=RR, place=place)
            at = {p.epsilon: (p.mean.estimate, p.error.estimate) for p in points}
            records.append(record(interval(place, points[0].mean.truth, points[0].error.truth), line="truth"))
            records += [
                record(interval(place, *at[epsilon]), line=line) for line, epsilon in chosen.items() if epsilon in at
            ]
        subtitle = f"RR, emp; {points[0].mean.n:,} check-ins of {name}, each taken as a user's"
        charts[name] = curves(f"The {LISTED} most visited places", subtitle, ("place", "share of check-ins"), records)
    return charts


def chosen_epsilons(results: Results, name: str) -> dict[str, float]:
    """Return the epsilons that are compared: the paper's number, and the largest ones that keep an error of `BETA`."""
    points = results.of(Protected, population=name, mechanism=RR)
    found = {f"epsilon = {PRINTED_EPSILON:g}": PRINTED_EPSILON}
    ways: dict[str, Callable[[Protected], float]] = {
        "by Cor. 8": lambda row: row.paper_error,
        "exactly": lambda row: row.error,
    }
    for way, error in ways.items():
        epsilon = max((p.epsilon or 0.0 for p in points if error(p.mean) >= BETA), default=0.0)
        any_ = epsilon > MOST_EPSILON - 1
        found[f"beta >= {BETA:g} {way}: {'any epsilon' if any_ else f'epsilon = {epsilon:.3g}'}"] = epsilon
    return found


def findings_on_top(results: Results) -> list[Finding]:
    """Check that PIE privacy at beta > 0.92 keeps the most visited places usable where epsilon = 10 does not."""
    found = []
    for name in results.populations:
        for choice, epsilon in chosen_epsilons(results, name).items():
            where = {"population": name, "mechanism": RR, "estimator": "emp", "among": "all"}
            points = results.of(UtilityLoss, **where, epsilon=epsilon)
            if not points:
                continue
            row = points[0].mean
            printed = epsilon == PRINTED_EPSILON
            found.append(
                Finding(
                    f"{choice} {'does not keep' if printed else 'keeps'} the {LISTED} most visited places usable (RR)",
                    name,
                    "mean relative error",
                    row.relative,
                    ">=" if printed else "<=",
                    USABLE,
                    f"exact beta {row.error:.4g}; by Cor. 8 {row.paper_error:.4g}",
                )
            )
    return found


def tables_of_top(results: Results) -> list[Table]:
    """Return the most visited places: the truth, and estimates at chosen epsilons."""
    tables = []
    for name in results.populations:
        chosen, rows = chosen_epsilons(results, name), []
        for place in range(1, LISTED + 1):
            points = results.of(PlaceShare, population=name, mechanism=RR, place=place)
            at = {p.epsilon: p.mean.estimate for p in points}
            cells = [f"{at[epsilon]:.5f}" if epsilon in at else "" for epsilon in chosen.values()]
            rows.append((str(place), f"{points[0].mean.truth:.5f}", *cells))
        heads = ("place", "truth", *chosen)
        tables.append(Table(f"RR, emp: the {LISTED} most visited places of {name}", heads, rows))
    return tables


FIGURE = Figure(
    "pie/fig11",
    "[PIE, Fig. 11] the most visited places",
    f"How often the {LISTED} most visited places are visited: the truth, and estimates.",
    PLACES,
    PLACES_HERE,
    plan_utility,
    charts_of_top,
    findings_on_top,
    tables_of_top,
    runs=FEW_RUNS,
    settings=("each check-in is taken as a user's one report",),
)
