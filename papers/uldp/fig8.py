"""[ULDP, Fig. 8]: the personalized mechanism, with homes and workplaces as secrets: epsilon against total variation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.pictures.curves import Curves, curve_chart
from papers.cells import TAGS, Cell
from papers.data.population import Population
from papers.drawing import interval, record
from papers.figure import Charts, Figure, Finding, Plan, Settings
from papers.results import Point, Results
from papers.uldp.comparisons import Losses, on_each
from papers.uldp.losses import ESTIMATORS, TV, Loss, Measure
from papers.uldp.mechanisms import NO_PRIVACY, OPTIMIZED
from papers.uldp.personalized import CASES, TaggedLoss, line_of
from papers.uldp.sweep import (
    LOG_SIZE,
    ON_ESTIMATORS,
    PAPER_RUNS,
    CellMaker,
    Comparison,
    epsilons_of,
    log_size,
    subtitle,
)

MATTERS = 1.1
PAPER_MAP, MAP_HERE = ("foursquare-tist2015",), ("foursquare-nyc",)
WITH_TAGS = Comparison(OPTIMIZED, PAPER_RUNS, TAGS)
CASE_LINES = [f"{mechanism} ({case})" for mechanism in OPTIMIZED for case in CASES]
TITLE = "personalized mechanism: epsilon against {}"
SHOWS = (
    "How much the personalized mechanism loses ({}) with homes and workplaces as secrets, for three kinds of "
    "background knowledge."
)
ON_CASES = (
    "every region where somebody is at home or at work becomes the tag's placeholder, unless everybody protects it",
    "(I) nothing is known: placeholders are dropped and the rest is normalised; (II) the distribution of points of "
    "interest that carry the tag; (III) the true distribution behind the tag",
    *ON_ESTIMATORS,
)


def plan_cases(comparisons: Sequence[Comparison]) -> Plan:
    """Return the plan: no privacy, and at every epsilon all that is compared."""

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        cells: list[Cell] = []
        for name, population in populations.items():
            cells += CellMaker(name, population, settings, comparisons[0]).cells(NO_PRIVACY, None)
            for epsilon in epsilons_of(population, settings):
                for comparison in comparisons:
                    cells += CellMaker(name, population, settings, comparison).all_cells(epsilon)
        return cells

    return plan


def charts_of_cases(measure: Measure, lines: Sequence[str] = CASE_LINES) -> Charts:
    """Return the charts of a loss against epsilon, a line per mechanism and case of background knowledge."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in results.populations:
            points = results.of(Loss, population=name)
            base = measure.of(results.one(Loss, population=name, mechanism=NO_PRIVACY).mean)
            first = next(p for p in points if p.epsilon is not None)
            charts[name] = curve_chart(
                Curves(
                    f"Personalized mechanism: {measure.name} against epsilon",
                    [subtitle(first), "(I) nothing known, (II) points of interest, (III) the truth behind each tag"],
                    "epsilon",
                    measure.name,
                    _records(points, measure, lines),
                    lines,
                    list(ESTIMATORS),
                    [""],
                    {"": base},
                    marks={"": log_size(first.mean.values)},
                    mark=LOG_SIZE,
                )
            )
        return charts

    return draw


def _records(points: Sequence[Point[Loss]], measure: Measure, lines: Sequence[str]) -> list[dict[str, Any]]:
    return [
        record(
            interval(p.epsilon, measure.of(p.mean), measure.of(p.error)),
            line=line_of(p.mean),
            column=p.mean.estimator,
        )
        for p in points
        if p.epsilon is not None and line_of(p.mean) in lines
    ]


def findings_on_cases(losses: Losses) -> Iterator[Finding]:
    """Yield the paper's findings on one data set."""

    def loss(mechanism: str, case: str, epsilon: float) -> float:
        where = {"population": losses.name, "mechanism": mechanism, "case": case, "estimator": "EM"}
        return losses.measure.of(losses.results.one(TaggedLoss, **where, epsilon=epsilon).mean)

    epsilons, line = losses.epsilons, log_size(losses.values)
    for mechanism in OPTIMIZED:
        low = epsilons[0]
        few = [loss(mechanism, case, low) for case in CASES]
        yield Finding(
            f"where epsilon is small, background knowledge hardly matters to {mechanism}",
            losses.name,
            f"largest over least loss with EM of the three cases at epsilon = {low:g}",
            max(few) / min(few),
            "<=",
            MATTERS,
            "; ".join(f"({case}): {value:.4g}" for case, value in zip(CASES, few, strict=True)),
        )
        at = [loss(mechanism, case, line) for case in CASES]
        for worse, better in ((0, 1), (1, 2)):
            yield Finding(
                f"at epsilon = ln|X| case ({CASES[better]}) is better than ({CASES[worse]}) for {mechanism}",
                losses.name,
                "ratio of losses with EM",
                at[worse] / at[better],
                ">=",
                1.0,
                "; ".join(f"({case}): {value:.4g}" for case, value in zip(CASES, at, strict=True)),
            )


FIGURE = Figure(
    "uldp/fig8",
    f"[ULDP, Fig. 8] {TITLE.format(TV.name)}",
    SHOWS.format(TV.name),
    PAPER_MAP,
    MAP_HERE,
    plan_cases([WITH_TAGS]),
    charts_of_cases(TV),
    on_each(findings_on_cases, TV),
    settings=ON_CASES,
)
