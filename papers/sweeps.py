"""Sweeps of [ULDP, section 5]: figures of losses against epsilon, |X_S| and |X|."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from discreet.plots.curves import Curves, curve_chart
from papers.artefact import Settings
from papers.cells import ESTIMATE, STOPPING, TIMED, Cell
from papers.data.population import Population
from papers.entrants import BEYOND, BOUND, EMPIRICAL, NO_PRIVACY, PAPER, PLAIN
from papers.results import Mean, Results
from papers.trials import ENDS, ESTIMATORS, STOPPED

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
QUICK_EPSILONS = (0.1, 1.0, 10.0)
SIZE_EPSILON = 0.1
GROWTH_EPSILONS = (0.1, 1.0, 6.0)
GROWTH_USERS = 240_000
QUICK_SIZE = 1600

PAPER_RUNS, GROWTH_RUNS, SOME_RUNS = (100, 3), (10, 1), (10, 1)
"""Runs per point, as in the paper and with `quick`; and those of what is not in the paper."""

_BATCH = 5
_NAMES = {"tv": "total variation distance", "mse": "summed squared error", "seconds": "seconds"}
_LOG_SIZE = "ln|X|"


@dataclass(frozen=True, slots=True)
class LineUp:
    """The mechanisms that a figure compares, with runs, task and estimators.

    Attributes:
        names: the mechanisms.
        runs: per point, and with `quick`.
        task: what is measured.
        estimators: those that are drawn, one panel each.
    """

    names: Sequence[str] = PAPER
    runs: tuple[int, int] = PAPER_RUNS
    task: str = ESTIMATE
    estimators: Sequence[str] = tuple(ESTIMATORS)

    @property
    def has_bound(self) -> bool:
        """True if the lower bound is measured too: all these mechanisms protect the same values."""
        return self.names is BEYOND


THE_PAPERS = LineUp()
MORE = LineUp(BEYOND, SOME_RUNS)
STOPPED_EARLY = LineUp(PAPER, (5, 1), STOPPING, tuple(ENDS))
TIMES = LineUp(PAPER, (1, 1), TIMED, (*ESTIMATORS, STOPPED))


@dataclass(frozen=True, slots=True)
class CellMaker:
    """The maker of the cells of one population, a few runs each."""

    name: str
    population: Population
    settings: Settings
    line_up: LineUp
    batch: int = _BATCH
    users: int | None = None

    def cells(self, mechanism: str, epsilon: float | None, drawn: int | None = None) -> Iterator[Cell]:
        """Yield the cells of one mechanism at one epsilon."""
        data, seed, task = self.population.fingerprint, self.settings.seed, self.line_up.task
        total = self.settings.chosen(*self.line_up.runs)
        for first in range(0, total, self.batch):
            runs = min(self.batch, total - first)
            yield Cell(self.name, data, mechanism, epsilon, drawn, first, runs, seed, task, self.users)

    def all_cells(self, epsilon: float) -> Iterator[Cell]:
        """Yield the cells of all mechanisms at one epsilon."""
        for mechanism in (*self.line_up.names, *([BOUND] if self.line_up.has_bound else [])):
            yield from self.cells(mechanism, epsilon)


Plan = Callable[[Mapping[str, Population], Settings], list[Cell]]


def log_size(values: int) -> float:
    """Return ln|X|, the epsilon at which the paper draws its line."""
    return log(values)


def plan_epsilons(line_up: LineUp) -> Plan:
    """Return the plan of [ULDP, Figs. 5 and 10]."""

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        found: list[Cell] = []
        for name, population in populations.items():
            maker = CellMaker(name, population, settings, line_up)
            listed = QUICK_EPSILONS if settings.quick else EPSILONS
            found += maker.cells(NO_PRIVACY, None)
            for epsilon in sorted({*listed, log_size(population.domain.size)}):
                found += maker.all_cells(epsilon)
        return found

    return plan


def sizes(values: int, *, quick: bool) -> list[int]:
    """Return numbers of sensitive values: from 1 to all, evenly on a logarithmic axis."""
    return sorted({round(float(size)) for size in np.geomspace(1, values, 5 if quick else 13)})


def plan_sizes(line_up: LineUp) -> Plan:
    """Return the plan of [ULDP, Figs. 6 and 11]: a random sensitive set in every run, the same for all mechanisms."""

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        found: list[Cell] = []
        for name, population in populations.items():
            values = population.domain.size
            maker = CellMaker(name, population, settings, line_up)
            found += maker.cells(NO_PRIVACY, None)
            for epsilon in (SIZE_EPSILON, log_size(values)):
                for mechanism in (*line_up.names, *([BOUND] if line_up.has_bound else [])):
                    # RR and RAPPOR do not care what is sensitive.
                    drawn = [None] if mechanism in PLAIN else sizes(values, quick=settings.quick)
                    found += [cell for size in drawn for cell in maker.cells(mechanism, epsilon, size)]
        return found

    return plan


def growth_users(population: Population) -> int | None:
    """Return the 240,000 users of [ULDP, Fig. 7], or None for half of the people where that is fewer."""
    return GROWTH_USERS if population.people >= 2 * GROWTH_USERS else None


def _some(populations: Mapping[str, Population], *, quick: bool, largest: bool) -> Mapping[str, Population]:
    """Return all populations; with `quick` every second one that is not large, and the largest on request."""
    if not quick:
        return populations
    names = sorted(populations)
    small = [name for name in names if populations[name].domain.size <= QUICK_SIZE][::2] or names[:1]
    return {name: populations[name] for name in dict.fromkeys([*small, *(names[-1:] if largest else [])])}


def plan_growth(line_up: LineUp) -> Plan:
    """Return the plan of [ULDP, Figs. 7 and 12]: one attribute more at a time, with fewer runs."""
    line_up = replace(line_up, runs=GROWTH_RUNS)

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        found: list[Cell] = []
        for name, population in _some(populations, quick=settings.quick, largest=line_up.names is PAPER).items():
            maker = CellMaker(name, population, settings, line_up, batch=1, users=growth_users(population))
            found += maker.cells(NO_PRIVACY, None)
            for epsilon in GROWTH_EPSILONS:
                found += maker.all_cells(epsilon)
        return found

    return plan


def plan_times(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of the running time at epsilon = 6, with the paper's 240,000 users if there are so many.

    What is timed needs no truth, so that more than half of the people may report.
    """
    listed = list(populations.items())
    if settings.quick:
        # Plain EM takes its time where there are many values.
        listed = [(name, one) for name, one in listed if one.domain.size <= QUICK_SIZE] or listed[:1]
    return [
        cell
        for name, one in listed
        for mechanism in PAPER
        for cell in CellMaker(name, one, settings, TIMES, users=min(GROWTH_USERS, one.people)).cells(mechanism, 6.0)
    ]


Charts = Callable[[Results, Mapping[str, Population]], Mapping[str, Any]]


def _point(point: Mapping[str, Any], measure: str, x: float, row: str) -> dict[str, Any]:
    mean: Mean = point[measure]
    # Zero does not lie on a logarithmic axis.
    low = max(mean.value - 2 * mean.error, mean.value / 10)
    numbers = {"x": x, "y": mean.value, "low": low, "high": mean.value + 2 * mean.error}
    return {**numbers, "line": point["mechanism"], "column": point["estimator"], "row": row}


def _baseline(results: Results, measure: str, name: str) -> float | None:
    found = results.where(population=name, mechanism=NO_PRIVACY, estimator=EMPIRICAL)
    return float(found[0][measure].value) if found else None


def loss_name(measure: str) -> str:
    """Return the name of a measure on an axis."""
    return _NAMES[measure]


def told_of(point: Mapping[str, Any]) -> str:
    """Return the subtitle of a figure: the users, the data set, |X| and the number of runs."""
    runs = point["tv"].runs
    bars = f"mean of {runs} runs ± 2 standard errors" if runs > 1 else "a single run"
    return f"{point['n']:,} users of {point['population']}, |X| = {point['values']:,}; {bars}"


def _drawn(point: Mapping[str, Any], measure: str, x: float, row: str, line_up: LineUp) -> Iterator[dict[str, Any]]:
    """Yield the records of a point: one, or for the lower bound one in every panel."""
    if measure in point:
        for column in line_up.estimators if point["mechanism"] == BOUND else [point["estimator"]]:
            yield _point(point, measure, x, row) | {"column": column}


def _lines(line_up: LineUp, measure: str) -> list[str]:
    return [*line_up.names, *([BOUND] if line_up.has_bound and measure == "mse" else [])]


def charts_of_epsilons(measure: str, line_up: LineUp = THE_PAPERS) -> Charts:
    """Return the charts of a loss against epsilon, one figure per data set."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in _names(results):
            points = [p for p in results.where(population=name) if p["epsilon"] is not None]
            sensitive = next(p["sensitive"] for p in points if p["mechanism"] == "uRR")
            charts[name] = curve_chart(
                Curves(
                    f"{_NAMES[measure].capitalize()} against epsilon",
                    [told_of(points[0]) + f"; |X_S| = {sensitive}"],
                    "epsilon",
                    _NAMES[measure],
                    [record for p in points for record in _drawn(p, measure, p["epsilon"], "", line_up)],
                    _lines(line_up, measure),
                    list(line_up.estimators),
                    [""],
                    {"": _baseline(results, measure, name)},
                    marks={"": log_size(points[0]["values"])},
                    mark=_LOG_SIZE,
                    bound=BOUND,
                )
            )
        return charts

    return draw


def _names(results: Results) -> list[str]:
    return list(dict.fromkeys(point["population"] for point in results.points))


def charts_of_sizes(measure: str, line_up: LineUp = THE_PAPERS) -> Charts:
    """Return the charts of a loss against |X_S|, one figure per data set."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in _names(results):
            points = [p for p in results.where(population=name) if p["epsilon"] is not None]
            rows = {epsilon: f"epsilon = {epsilon:.3g}" for epsilon in sorted({p["epsilon"] for p in points})}
            drawn = [
                record
                for p in points
                for x in _places(p, points)
                for record in _drawn(p, measure, x, rows[p["epsilon"]], line_up)
            ]
            charts[name] = curve_chart(
                Curves(
                    f"{_NAMES[measure].capitalize()} against |X_S|",
                    [told_of(points[0]) + "; a new random X_S in every run"],
                    "|X_S|",
                    _NAMES[measure],
                    drawn,
                    _lines(line_up, measure),
                    list(line_up.estimators),
                    list(rows.values()),
                    dict.fromkeys(rows.values(), _baseline(results, measure, name)),
                    bound=BOUND,
                )
            )
        return charts

    return draw


def _places(point: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the abscissas of a point: both ends of the axis for a loss that does not depend on |X_S|."""
    if point["drawn"] is not None:
        return [point["drawn"]]
    drawn = [p["drawn"] for p in points if p["drawn"] is not None]
    return [min(drawn), max(drawn)]


def charts_of_growth(measure: str, line_up: LineUp = THE_PAPERS) -> Charts:
    """Return the charts of a loss, or of seconds, against |X|: one figure per family of data sets."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for family in dict.fromkeys(name.split("+")[0] for name in _names(results)):
            points = [p for p in results.points if p["population"].split("+")[0] == family]
            noisy = [p for p in points if p["epsilon"] is not None]
            rows = {epsilon: f"epsilon = {epsilon:g}" for epsilon in sorted({p["epsilon"] for p in noisy})}
            base = [p[measure].value for p in points if p["mechanism"] == NO_PRIVACY]
            level = min(base) if base and measure != "seconds" else None
            records = [record for p in noisy for record in _drawn(p, measure, p["values"], rows[p["epsilon"]], line_up)]
            charts[family] = curve_chart(
                Curves(
                    f"{_NAMES[measure].capitalize()} against |X|",
                    [f"{noisy[0]['n']:,} users of {family}, attributes added one by one; runs: {noisy[0]['tv'].runs}"],
                    "|X|",
                    _NAMES[measure],
                    records,
                    _lines(line_up, measure),
                    list(line_up.estimators),
                    list(rows.values()),
                    dict.fromkeys(rows.values(), level),
                    baseline="no privacy (fewest attributes)",
                    bound=BOUND,
                )
            )
        return charts

    return draw
