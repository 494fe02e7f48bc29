"""[PIE, Fig. 11]: the most visited places, the truth and estimates."""

from collections.abc import Callable, Mapping
from typing import Any

from discreet.core.result_table import ResultTable
from papers.drawing import curves, interval, record
from papers.figure import Figure, Finding
from papers.pie.settings import FEW_RUNS, ON_ONE_REPORT, PLACES, PRINTED_EPSILON, REPORTED_HERE, RR
from papers.pie.utility import ALL, BETA, EMP, LISTED, THRESHOLD, PlaceShare, Protected, UtilityLoss, plan_utility
from papers.results import Results

USABLE = 0.25


def charts_of_top(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the most visited places: the truth, and estimates at chosen epsilons."""
    charts = {}
    for name in results.populations:
        chosen, records = chosen_epsilons(results, name), []
        points = results.of(PlaceShare, population=name, mechanism=RR)
        for p in points:
            place, column = p.mean.place, p.mean.estimator
            if p.epsilon == PRINTED_EPSILON:
                records.append(record(interval(place, p.mean.truth, p.error.truth), line="truth", column=column))
            records += [
                record(interval(place, p.mean.estimate, p.error.estimate), line=line, column=column)
                for line, epsilon in chosen.items()
                if epsilon == p.epsilon
            ]
        subtitle = f"RR; {points[0].mean.n:,} users of {name}, one report each"
        charts[name] = curves(f"The {LISTED} most visited places", subtitle, ("place", "share of users"), records)
    return charts


def chosen_epsilons(results: Results, name: str) -> dict[str, float]:
    """Return the epsilons that are compared: the paper's number, and the largest ones that keep an error of `BETA`."""
    points = results.of(Protected, population=name, mechanism=RR)
    epsilons = {f"epsilon = {PRINTED_EPSILON:g}": PRINTED_EPSILON}
    ways: dict[str, Callable[[Protected], float]] = {
        "by Cor. 8": lambda row: row.paper_error,
        "exactly": lambda row: row.error,
    }
    for way, error in ways.items():
        if enough := [p.epsilon or 0.0 for p in points if error(p.mean) >= BETA]:
            epsilons[f"beta >= {BETA:g} {way}: epsilon = {max(enough):.4g}"] = max(enough)
    return epsilons


def findings_on_top(results: Results) -> list[Finding]:
    """Check that PIE privacy at beta > 0.92 keeps the most visited places usable where epsilon = 10 does not."""
    return [
        Finding(
            f"{choice} {'does not keep' if epsilon == PRINTED_EPSILON else 'keeps'} the {LISTED} most visited places "
            f"usable (RR, {p.mean.estimator})",
            name,
            "mean relative error",
            p.mean.relative,
            ">=" if epsilon == PRINTED_EPSILON else "<=",
            USABLE,
            f"exact beta {p.mean.error:.4g}; by Cor. 8 {p.mean.paper_error:.4g}",
        )
        for name in results.populations
        for choice, epsilon in chosen_epsilons(results, name).items()
        for p in results.of(UtilityLoss, population=name, mechanism=RR, among=ALL, epsilon=epsilon)
    ]


def tables_of_top(results: Results) -> list[ResultTable]:
    """Return the most visited places: the truth, and estimates at chosen epsilons."""
    return [_table(results, name, estimator) for name in results.populations for estimator in (THRESHOLD, EMP)]


def _table(results: Results, name: str, estimator: str) -> ResultTable:
    chosen, rows = chosen_epsilons(results, name), []
    for place in range(1, LISTED + 1):
        points = results.of(PlaceShare, population=name, mechanism=RR, estimator=estimator, place=place)
        at = {p.epsilon: p.mean.estimate for p in points}
        cells = [f"{at[epsilon]:.5f}" if epsilon in at else "" for epsilon in chosen.values()]
        rows.append((str(place), f"{points[0].mean.truth:.5f}", *cells))
    title = f"RR, {estimator}: the {LISTED} most visited places of {name}"
    return ResultTable.of(title, ("place", "truth", *chosen), rows)


FIGURE = Figure(
    "pie/fig11",
    "[PIE, Fig. 11] the most visited places",
    f"How often the {LISTED} most visited places are visited: the truth, and estimates.",
    PLACES,
    REPORTED_HERE,
    plan_utility,
    charts_of_top,
    findings_on_top,
    tables_of_top,
    runs=FEW_RUNS,
    settings=(*ON_ONE_REPORT, "estimates of 0 and below are not drawn; the tables have them"),
)
