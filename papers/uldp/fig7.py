"""[ULDP, Fig. 7]: the number of attributes against total variation distance."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from discreet.pictures.curves import Curves, curve_chart
from papers.cells import Cell
from papers.data.population import Population
from papers.figure import Charts, Figure, Finding, Plan, Settings
from papers.results import Results
from papers.uldp.comparisons import ONE_ORDER, Losses, on_largest
from papers.uldp.losses import SECONDS, TV, Loss, Measure
from papers.uldp.mechanisms import BOUND, NO_PRIVACY, PAPER
from papers.uldp.sweep import ON_MECHANISMS, THE_PAPERS, CellMaker, Comparison, noisy, records

CENSUSES = tuple(f"us-census-1990{added}" for added in ("", "+1", "+2", "+3", "+4", "+5"))
SURVEYS = tuple(f"census-income{added}" for added in ("", "+1", "+2", "+3", "+4", "+5"))
EPSILONS = (0.1, 1.0, 6.0)
USERS = 240_000
QUICK_SIZE = 1600
RUNS = (10, 1)
USELESS = 0.9
USABLE = 0.5
TITLE = "number of attributes against {}"
SHOWS = (
    "How much every mechanism and estimator loses ({}) as attributes are added one by one, from |X| = 400 to 12,800."
)
ON_USERS = ("240,000 users as in the paper, or half of the people where that is fewer",)


def growth_users(population: Population) -> int | None:
    """Return the 240,000 users of the paper, or None for half of the people where that is fewer."""
    return USERS if population.people >= 2 * USERS else None


def _some(populations: Mapping[str, Population], *, quick: bool, largest: bool) -> Mapping[str, Population]:
    """Return all populations; with `quick` every second one that is not large, and the largest on request."""
    if not quick:
        return populations
    names = sorted(populations)
    small = [name for name in names if populations[name].domain.size <= QUICK_SIZE][::2] or names[:1]
    return {name: populations[name] for name in dict.fromkeys([*small, *(names[-1:] if largest else [])])}


def plan_growth(comparison: Comparison = THE_PAPERS) -> Plan:
    """Return the plan: one attribute more at a time, with fewer runs."""
    comparison = replace(comparison, runs=RUNS)

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        cells: list[Cell] = []
        for name, population in _some(populations, quick=settings.quick, largest=comparison.names is PAPER).items():
            maker = CellMaker(name, population, settings, comparison, batch=1, users=growth_users(population))
            cells += maker.cells(NO_PRIVACY, None)
            for epsilon in EPSILONS:
                cells += maker.all_cells(epsilon)
        return cells

    return plan


def charts_of_growth(measure: Measure, comparison: Comparison = THE_PAPERS) -> Charts:
    """Return the charts of a loss, or of seconds, against |X|: one figure per family of data sets."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for family in dict.fromkeys(name.split("+")[0] for name in results.populations):
            points = [p for p in noisy(results) if p.population.split("+")[0] == family]
            rows = {epsilon: f"epsilon = {epsilon:g}" for epsilon in sorted({p.epsilon or 0.0 for p in points})}
            drawn = [
                record
                for p in points
                for record in records(p, measure, p.mean.values, rows[p.epsilon or 0.0], comparison)
            ]
            n, runs = points[0].mean.n, points[0].runs
            charts[family] = curve_chart(
                Curves(
                    f"{measure.name.capitalize()} against |X|",
                    [f"{n:,} users of {family}, attributes added one by one; runs: {runs}"],
                    "|X|",
                    measure.name,
                    drawn,
                    comparison.lines(measure),
                    list(comparison.estimators),
                    list(rows.values()),
                    dict.fromkeys(rows.values(), _level(results, measure, family)),
                    baseline="no privacy (fewest attributes)",
                    bound=BOUND,
                )
            )
        return charts

    return draw


def _level(results: Results, measure: Measure, family: str) -> float | None:
    """Return the least loss without privacy; a time has none."""
    base = [measure.of(p.mean) for p in results.of(Loss, mechanism=NO_PRIVACY) if p.population.split("+")[0] == family]
    return min(base) if base and measure is not SECONDS else None


def findings_on_growth(losses: Losses) -> Iterator[Finding]:
    """Yield the paper's findings on one data set."""
    low = EPSILONS[0]
    for mechanism in ("RR", "RAPPOR", "uRR"):
        yield Finding(
            f"{mechanism} with EM is useless at epsilon = {low:g} and |X| = {losses.values:,}",
            losses.name,
            "total variation distance",
            losses.at(mechanism, "EM", low),
            ">=",
            USELESS,
        )
    by = {estimator: losses.at("uRAP", estimator, low) for estimator in losses.smart}
    yield Finding(
        f"uRAP holds up at epsilon = {low:g} and |X| = {losses.values:,}",
        losses.name,
        "total variation distance with EM",
        by["EM"],
        "<=",
        USABLE,
        "; ".join(f"{estimator}: {loss:.3g}" for estimator, loss in by.items()),
    )
    gains = [gain for gain, _, _ in losses.gains()]
    yield Finding(
        "uRR and uRAP beat RR and RAPPOR by one to two orders of magnitude",
        losses.name,
        "largest ratio of losses over all epsilon and estimators",
        max(gains),
        ">=",
        ONE_ORDER,
    )


FIGURE = Figure(
    "uldp/fig7",
    f"[ULDP, Fig. 7] {TITLE.format(TV.name)}",
    SHOWS.format(TV.name),
    CENSUSES,
    SURVEYS,
    plan_growth(),
    charts_of_growth(TV),
    on_largest(findings_on_growth),
    runs=RUNS,
    settings=(*ON_MECHANISMS, *ON_USERS),
)
