"""Figures 8, 9 and 13 and Table 1 of [ULDP]: the personalized mechanism, with homes and workplaces as secrets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.plots.curves import Curves, curve_chart
from discreet.plots.maps import Map, map_chart
from papers.artefact import Settings, Table
from papers.cells import CELLS, MAPS, TAGS, Cell
from papers.data.population import Population
from papers.entrants import DESIGN, DROP_BITS, NO_PRIVACY, OPTIMIZED
from papers.finding import Finding
from papers.results import Mean, Results
from papers.sweeps import (
    EPSILONS,
    PAPER_RUNS,
    QUICK_EPSILONS,
    SOME_RUNS,
    CellMaker,
    Charts,
    LineUp,
    Plan,
    log_size,
    loss_name,
    told_of,
)
from papers.tagged import CASES, OPEN, POINTS, celled, points_of_interest, true_backgrounds
from papers.trials import ESTIMATORS

MATTERS = 1.1
_SUM = 1e-9

WITH_TAGS = LineUp(OPTIMIZED, PAPER_RUNS, TAGS)
ON_MAPS = LineUp((), (1, 1), MAPS, (POINTS, OPEN))
MORE_WITH_TAGS = LineUp((*OPTIMIZED, DROP_BITS, DESIGN), SOME_RUNS, TAGS)
MORE_WITH_CELLS = LineUp(("uRR", DROP_BITS, DESIGN), SOME_RUNS, CELLS)

# What is measured


def plan_cases(line_ups: Sequence[LineUp]) -> Plan:
    """Return the plan of [ULDP, Figs. 8 and 13]."""

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        found: list[Cell] = []
        for name, population in populations.items():
            found += CellMaker(name, population, settings, line_ups[0]).cells(NO_PRIVACY, None)
            listed = QUICK_EPSILONS if settings.quick else EPSILONS
            for epsilon in sorted({*listed, log_size(population.domain.size)}):
                for line_up in line_ups:
                    found += CellMaker(name, population, settings, line_up).all_cells(epsilon)
        return found

    return plan


def plan_table(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Table 1]: epsilon = ln|X|."""
    return [
        cell
        for name, population in populations.items()
        for cell in CellMaker(name, population, settings, WITH_TAGS).all_cells(log_size(population.domain.size))
    ]


def plan_maps(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return one cell per data set: maps need no reports."""
    return [
        cell
        for name, population in populations.items()
        for cell in CellMaker(name, population, settings, ON_MAPS).cells(NO_PRIVACY, None)
    ]


# What is drawn


CASE_LINES = [f"{mechanism} ({case})" for mechanism in OPTIMIZED for case in CASES]
MORE_LINES = [*(f"{m} (I)" for m in MORE_WITH_TAGS.names), *(celled(m) for m in MORE_WITH_CELLS.names)]


def charts_of_cases(measure: str, lines: Sequence[str] = CASE_LINES) -> Charts:
    """Return the charts of a loss against epsilon, a line per mechanism and case of background knowledge."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in dict.fromkeys(point["population"] for point in results.points):
            points = [p for p in results.where(population=name) if p["epsilon"] is not None]
            base = results.mean(measure, population=name, mechanism=NO_PRIVACY)
            drawn = [
                {
                    "x": p["epsilon"],
                    "y": p[measure].value,
                    "low": max(p[measure].value - 2 * p[measure].error, p[measure].value / 10),
                    "high": p[measure].value + 2 * p[measure].error,
                    "line": p["mechanism"],
                    "column": p["estimator"],
                    "row": "",
                }
                for p in points
                if p["mechanism"] in lines
            ]
            charts[name] = curve_chart(
                Curves(
                    f"Personalized mechanism: {loss_name(measure)} against epsilon",
                    [told_of(points[0]), "(I) nothing known, (II) points of interest, (III) the truth behind each tag"],
                    "epsilon",
                    loss_name(measure),
                    drawn,
                    lines,
                    list(ESTIMATORS),
                    [""],
                    {"": base},
                    marks={"": log_size(points[0]["values"])},
                    mark="ln|X|",
                )
            )
        return charts

    return draw


def charts_of_maps(_: Results, populations: Mapping[str, Population]) -> dict[str, Any]:
    """Return maps of the points of interest beside those of the truth, by tag."""
    charts = {}
    for name, population in populations.items():
        known, truth = points_of_interest(population), true_backgrounds(population)
        places = population.domain.table()
        panels = [
            Map(f"{tag}: {what}", places, shares)
            for tag in truth
            for what, shares in (("points of interest", known[tag]), ("check-ins (truth)", truth[tag]))
        ]
        charts[name] = map_chart(panels, title=f"Where homes and workplaces are: {population.title}", across=2)
    return charts


# What is found


def claims_on_cases(measure: str) -> Any:
    """Return the check of [ULDP, Figs. 8 and 13]."""

    def check(results: Results) -> list[Finding]:
        names = dict.fromkeys(point["population"] for point in results.points)
        return [finding for name in names for finding in _on_cases(results, name, measure)]

    return check


def _on_cases(results: Results, name: str, measure: str) -> Iterator[Finding]:
    def loss(mechanism: str, case: str, epsilon: float) -> float:
        where = {"population": name, "mechanism": f"{mechanism} ({case})", "estimator": "EM", "epsilon": epsilon}
        return results.mean(measure, **where)

    epsilons = sorted({p["epsilon"] for p in results.where(population=name) if p["epsilon"] is not None})
    line = log_size(results.where(population=name)[0]["values"])
    for mechanism in OPTIMIZED:
        low = epsilons[0]
        losses = [loss(mechanism, case, low) for case in CASES]
        yield Finding(
            f"where epsilon is small, background knowledge hardly matters to {mechanism}",
            name,
            f"largest over least loss with EM of the three cases at epsilon = {low:g}",
            max(losses) / min(losses),
            "<=",
            MATTERS,
            "; ".join(f"({case}): {value:.4g}" for case, value in zip(CASES, losses, strict=True)),
        )
        at = [loss(mechanism, case, line) for case in CASES]
        for worse, better in ((0, 1), (1, 2)):
            yield Finding(
                f"at epsilon = ln|X| case ({CASES[better]}) is better than ({CASES[worse]}) for {mechanism}",
                name,
                "ratio of losses with EM",
                at[worse] / at[better],
                ">=",
                1.0,
                "; ".join(f"({case}): {value:.4g}" for case, value in zip(CASES, at, strict=True)),
            )


# As printed: uRR and uRAP in cases I, II and III; l1(p_hat, p), first term, second term.
PRINTED = {
    "uRR (I)": (6.73e-2, 2.70e-2, 7.34e-2), "uRR (II)": (4.24e-2, 2.70e-2, 2.96e-2), "uRR (III)": (2.62e-2, 2.70e-2, 0),
    "uRAP (I)": (6.77e-2, 2.76e-2, 7.35e-2), "uRAP (II)": (4.28e-2, 2.76e-2, 2.96e-2),
    "uRAP (III)": (2.67e-2, 2.76e-2, 0),
}  # fmt: skip


def claims_on_maps(results: Results) -> list[Finding]:
    """Check that points of interest are closer to the distribution behind each tag than the values in the open."""
    found = []
    for name, tag in dict.fromkeys((point["population"], point["mechanism"]) for point in results.points):
        far = {kind: results.mean("tv", population=name, mechanism=tag, estimator=kind) for kind in (OPEN, POINTS)}
        found.append(
            Finding(
                f"points of interest tell more of where {tag} is than what is told in the open",
                name,
                "total variation distances to the truth: in the open over points of interest",
                far[OPEN] / far[POINTS],
                ">=",
                1.0,
                "; ".join(f"{kind}: {value:.3g}" for kind, value in far.items()),
            )
        )
    return found


def claims_beyond_cases(results: Results) -> list[Finding]:
    """Compare bots of coarse cells, which need no background knowledge, with those of tags."""
    found = []
    for name in dict.fromkeys(point["population"] for point in results.points):
        line = log_size(results.where(population=name)[0]["values"])
        for mechanism in MORE_WITH_CELLS.names:
            at = {
                who: results.mean("tv", population=name, mechanism=who, estimator="EM", epsilon=line)
                for who in (f"{mechanism} (I)", f"{mechanism} (II)", celled(mechanism))
            }
            nothing_known, _, cells = at.values()
            found.append(
                Finding(
                    f"without knowledge from elsewhere, cells are better than tags for {mechanism} at epsilon = ln|X|",
                    name,
                    "ratio of total variation distances with EM, tags (I) over cells",
                    nothing_known / cells,
                    ">=",
                    1.0,
                    "; ".join(f"{who}: {value:.4g}" for who, value in at.items()),
                )
            )
    return found


def tables_of_theorem(results: Results) -> list[Table]:
    """Return [ULDP, Table 1], here and as printed."""
    rows = []
    for point in results.where(estimator="EM"):
        here = [point[name] for name in ("l1", "first_term", "second_term")]
        printed = PRINTED[point["mechanism"]]
        numbers = [text for mean, given in zip(here, printed, strict=True) for text in (_told(mean), f"{given:.4f}")]
        rows.append((point["population"], point["mechanism"], *numbers))
    heads = ("data", "mechanism (case)", "l1(p_hat, p)", "printed", "first term", "printed", "second term", "printed")
    return [Table("Theorem 1 with EM at epsilon = ln|X|", heads, rows, 2)]


def _told(mean: Mean) -> str:
    return f"{mean.value:.4f} ± {mean.error:.4f}"


def claims_on_table(results: Results) -> list[Finding]:
    """Check Theorem 1 against the numbers of [ULDP, Table 1]."""
    found = []
    for point in results.where(estimator="EM"):
        l1, first, second = (point[name].value for name in ("l1", "first_term", "second_term"))
        printed = PRINTED[point["mechanism"]]
        found.append(
            Finding(
                f"Theorem 1 holds for {point['mechanism']}",
                point["population"],
                "l1(p_hat, p) less both terms",
                l1 - first - second,
                "<=",
                _SUM,
                f"here {l1:.3g}, {first:.3g}, {second:.3g}; the paper {printed[0]:.3g}, {printed[1]:.3g}, "
                f"{printed[2]:.3g}",
            )
        )
    return found
