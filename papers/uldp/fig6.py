"""[ULDP, Fig. 6]: the number of sensitive values against total variation distance."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.pictures.curves import Curves, curve_chart
from papers.cells import Cell
from papers.data.population import Population
from papers.figure import Charts, Figure, Finding, Plan, Settings
from papers.results import Point, Results, Row
from papers.uldp.comparisons import FAR, NEAR, Losses, on_each
from papers.uldp.losses import TV, Loss, Measure
from papers.uldp.mechanisms import BOUND, NO_PRIVACY, OPTIMIZED, PLAIN
from papers.uldp.sweep import (
    LOG_SIZE,
    LOW,
    ON_MECHANISMS,
    PAPER_DATA,
    THE_PAPERS,
    CellMaker,
    Comparison,
    baseline,
    log_size,
    noisy,
    records,
    subtitle,
)

DATA_HERE = ("acs-and", "census-income", "foursquare-nyc")
TITLE = "|X_S| against {}"
SHOWS = (
    "How much every mechanism and estimator loses ({}) as more values are made sensitive, at epsilon = 0.1 and ln|X|."
)
FEW = {"uRR": 100, "uRAP": 20}
"""Fewer sensitive values than these, and it is about as good as no privacy."""

ON_SIZES = ("X_S is drawn at random, anew in every run, the same for all mechanisms",)


def sizes(values: int, *, quick: bool) -> list[int]:
    """Return numbers of sensitive values: from 1 to all, evenly on a logarithmic axis."""
    return sorted({round(float(size)) for size in np.geomspace(1, values, 5 if quick else 13)})


def plan_sizes(comparison: Comparison = THE_PAPERS) -> Plan:
    """Return the plan: a random sensitive set in every run, the same for all mechanisms."""

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        cells: list[Cell] = []
        for name, population in populations.items():
            values = population.domain.size
            maker = CellMaker(name, population, settings, comparison)
            cells += maker.cells(NO_PRIVACY, None)
            for epsilon in (LOW, log_size(values)):
                for mechanism in comparison.measured:
                    # RR and RAPPOR do not care what is sensitive.
                    drawn = [None] if mechanism in PLAIN else sizes(values, quick=settings.quick)
                    cells += [cell for size in drawn for cell in maker.cells(mechanism, epsilon, size)]
        return cells

    return plan


def charts_of_sizes(measure: Measure, comparison: Comparison = THE_PAPERS) -> Charts:
    """Return the charts of a loss against |X_S|, one figure per data set."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in results.populations:
            points = noisy(results, name)
            rows = {epsilon: f"epsilon = {epsilon:.3g}" for epsilon in sorted({p.epsilon or 0.0 for p in points})}
            drawn = [
                record
                for p in points
                for x in _abscissas(p, points)
                for record in records(p, measure, x, rows[p.epsilon or 0.0], comparison)
            ]
            charts[name] = curve_chart(
                Curves(
                    f"{measure.name.capitalize()} against |X_S|",
                    [subtitle(points[0]) + "; a new random X_S in every run"],
                    "|X_S|",
                    measure.name,
                    drawn,
                    comparison.lines(measure),
                    list(comparison.estimators),
                    list(rows.values()),
                    dict.fromkeys(rows.values(), baseline(results, measure, name)),
                    bound=BOUND,
                )
            )
        return charts

    return draw


def _abscissas(point: Point[Row], points: Sequence[Point[Row]]) -> list[int]:
    """Return the abscissas of a point: both ends of the axis for a loss that does not depend on |X_S|."""
    if point.drawn is not None:
        return [point.drawn]
    drawn = [p.drawn for p in points if p.drawn is not None]
    return [min(drawn), max(drawn)]


def findings_on_sizes(losses: Losses) -> Iterator[Finding]:
    """Yield the paper's findings on one data set."""
    points = losses.results.of(Loss, population=losses.name)
    sizes = sorted({p.drawn for p in points if p.drawn is not None})
    line, power = log_size(losses.values), 1.0 if losses.measure is TV else 2.0
    for mechanism in OPTIMIZED:
        for epsilon, at in ((LOW, f"{LOW:g}"), (line, LOG_SIZE)):
            course = [losses.at(mechanism, "emp", epsilon, size) for size in sizes]
            yield Finding(
                f"the smaller the share of sensitive values, the better {mechanism} at epsilon = {at}",
                losses.name,
                "loss with emp at |X_S| = |X| over that at |X_S| = 1",
                course[-1] / course[0],
                ">=",
                FAR**power,
                " ".join(f"{size}: {loss:.3g}" for size, loss in zip(sizes, course, strict=True)),
            )
    for mechanism, most in FEW.items():
        few = max(size for size in sizes if size < most)
        yield Finding(
            f"{mechanism} at epsilon = ln|X| is about as good as no privacy for |X_S| < {most}",
            losses.name,
            f"loss, best estimator, over that of no privacy at |X_S| = {few}",
            losses.best(mechanism, line, few) / losses.base,
            "<=",
            NEAR**power,
        )


FIGURE = Figure(
    "uldp/fig6",
    f"[ULDP, Fig. 6] {TITLE.format(TV.name)}",
    SHOWS.format(TV.name),
    PAPER_DATA,
    DATA_HERE,
    plan_sizes(),
    charts_of_sizes(TV),
    on_each(findings_on_sizes, TV),
    settings=(*ON_MECHANISMS, *ON_SIZES),
)
