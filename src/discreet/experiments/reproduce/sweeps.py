"""Figures of [ULDP, section 5] in which losses are swept over epsilon, over |X_S| and over |X|."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from discreet.experiments.data.population import Population
from discreet.experiments.reproduce.artefact import Settings
from discreet.experiments.reproduce.cells import EMPIRICAL, ESTIMATORS, MECHANISMS, NO_PRIVACY, Cell, fingerprint
from discreet.experiments.reproduce.results import Mean, Results
from discreet.plots.curves import Curves, curve_chart

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
QUICK_EPSILONS = (0.1, 1.0, 10.0)
SIZE_EPSILON = 0.1
GROWTH_EPSILONS = (0.1, 1.0, 6.0)
GROWTH_USERS = 240_000

_BATCH = 5
_NAMES = {"tv": "total variation distance", "mse": "summed squared error", "seconds": "seconds"}


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the cells of one population, a few runs each."""

    name: str
    population: Population
    settings: Settings
    runs: int
    batch: int = _BATCH
    users: int | None = None

    def cells(self, mechanism: str, epsilon: float | None, drawn: int | None = None) -> Iterator[Cell]:
        data, seed = fingerprint(self.population), self.settings.seed
        for first in range(0, self.runs, self.batch):
            runs = min(self.batch, self.runs - first)
            yield Cell(self.name, data, mechanism, epsilon, drawn, first, runs, seed, users=self.users)


def log_size(values: int) -> float:
    """Return ln|X|, the epsilon at which the paper draws its line."""
    return log(values)


def plan_epsilons(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Figs. 5 and 10]."""
    found: list[Cell] = []
    for name, population in populations.items():
        maker = _Maker(name, population, settings, settings.chosen(100, 3))
        listed = QUICK_EPSILONS if settings.quick else EPSILONS
        found += maker.cells(NO_PRIVACY, None)
        for epsilon in sorted({*listed, log_size(population.domain.size)}):
            found += [cell for mechanism in MECHANISMS for cell in maker.cells(mechanism, epsilon)]
    return found


def sizes(values: int, *, quick: bool) -> list[int]:
    """Return how many values are made sensitive: from 1 to all, evenly on a logarithmic axis."""
    return sorted({round(float(size)) for size in np.geomspace(1, values, 5 if quick else 13)})


def plan_sizes(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Figs. 6 and 11]: random sensitive sets, a new one in every run."""
    found: list[Cell] = []
    for name, population in populations.items():
        values = population.domain.size
        maker = _Maker(name, population, settings, settings.chosen(100, 3))
        found += maker.cells(NO_PRIVACY, None)
        for epsilon in (SIZE_EPSILON, log_size(values)):
            # RR and RAPPOR do not care what is sensitive.
            found += [cell for mechanism in ("RR", "RAPPOR") for cell in maker.cells(mechanism, epsilon)]
            for size in sizes(values, quick=settings.quick):
                found += [cell for mechanism in ("uRR", "uRAP") for cell in maker.cells(mechanism, epsilon, size)]
    return found


def growth_users(population: Population) -> int | None:
    """Return the 240,000 users of [ULDP, Fig. 7], or None for half of the people where that is fewer."""
    return GROWTH_USERS if population.people >= 2 * GROWTH_USERS else None


def plan_growth(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Figs. 7 and 12]: one attribute more at a time."""
    found: list[Cell] = []
    for name, population in populations.items():
        maker = _Maker(name, population, settings, settings.chosen(10, 1), batch=1, users=growth_users(population))
        found += maker.cells(NO_PRIVACY, None)
        for epsilon in GROWTH_EPSILONS:
            found += [cell for mechanism in MECHANISMS for cell in maker.cells(mechanism, epsilon)]
    return found


def plan_times(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of the running time: epsilon = 6, one run each, nothing beside it."""
    runs, seed, given = settings.chosen(1, 1), settings.seed, populations.items()
    return [
        Cell(name, fingerprint(one), mechanism, 6.0, runs=runs, seed=seed, timed=True, users=growth_users(one))
        for name, one in given
        for mechanism in MECHANISMS
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
    """Return what a measure is called on an axis."""
    return _NAMES[measure]


def told_of(point: Mapping[str, Any]) -> str:
    """Return whose losses are drawn, below the title."""
    return (
        f"{point['n']:,} users of {point['population']}, |X| = {point['values']:,}; bars: mean ± 2 standard errors "
        f"of {point['tv'].runs} runs"
    )


def charts_of_epsilons(measure: str) -> Charts:
    """Return what draws a loss against epsilon, one figure per data set."""

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
                    [_point(p, measure, p["epsilon"], "") for p in points],
                    MECHANISMS,
                    list(ESTIMATORS),
                    [""],
                    {"": _baseline(results, measure, name)},
                    marks={"": log_size(points[0]["values"])},
                    mark="ln|X|",
                )
            )
        return charts

    return draw


def _names(results: Results) -> list[str]:
    return list(dict.fromkeys(point["population"] for point in results.points))


def charts_of_sizes(measure: str) -> Charts:
    """Return what draws a loss against |X_S|, one figure per data set."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in _names(results):
            points = [p for p in results.where(population=name) if p["epsilon"] is not None]
            rows = {epsilon: f"epsilon = {epsilon:.3g}" for epsilon in sorted({p["epsilon"] for p in points})}
            base = _baseline(results, measure, name)
            drawn = [_point(p, measure, x, rows[p["epsilon"]]) for p in points for x in _places(p, points)]
            charts[name] = curve_chart(
                Curves(
                    f"{_NAMES[measure].capitalize()} against |X_S|",
                    [told_of(points[0]) + "; a new random X_S in every run"],
                    "|X_S|",
                    _NAMES[measure],
                    drawn,
                    MECHANISMS,
                    list(ESTIMATORS),
                    list(rows.values()),
                    dict.fromkeys(rows.values(), base),
                )
            )
        return charts

    return draw


def _places(point: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return where a point is drawn: what does not depend on |X_S| goes from one end to the other."""
    if point["drawn"] is not None:
        return [point["drawn"]]
    drawn = [p["drawn"] for p in points if p["drawn"] is not None]
    return [min(drawn), max(drawn)]


def charts_of_growth(measure: str) -> Charts:
    """Return what draws a loss, or seconds, against |X|: one figure per family of data sets."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for family in dict.fromkeys(name.split("+")[0] for name in _names(results)):
            points = [p for p in results.points if p["population"].split("+")[0] == family]
            noisy = [p for p in points if p["epsilon"] is not None]
            rows = {epsilon: f"epsilon = {epsilon:g}" for epsilon in sorted({p["epsilon"] for p in noisy})}
            base = [p[measure].value for p in points if p["mechanism"] == NO_PRIVACY]
            level = min(base) if base and measure != "seconds" else None
            charts[family] = curve_chart(
                Curves(
                    f"{_NAMES[measure].capitalize()} against |X|",
                    [f"{noisy[0]['n']:,} users of {family}, attributes added one by one; runs: {noisy[0]['tv'].runs}"],
                    "|X|",
                    _NAMES[measure],
                    [_point(p, measure, p["values"], rows[p["epsilon"]]) for p in noisy],
                    MECHANISMS,
                    list(ESTIMATORS),
                    list(rows.values()),
                    dict.fromkeys(rows.values(), level),
                    baseline="no privacy (fewest attributes)",
                )
            )
        return charts

    return draw
