"""Sweeps of [ULDP, section 5]: what a figure compares, the cells of its points, and how a loss is drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from papers.cells import ESTIMATE, Cell
from papers.data.population import Population
from papers.drawing import interval, record
from papers.figure import Settings
from papers.results import Point, Results, Row
from papers.uldp.losses import ESTIMATORS, MSE, Loss, LowerBound, Measure
from papers.uldp.mechanisms import BEYOND, BOUND, EMPIRICAL, NO_PRIVACY, PAPER

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
QUICK_EPSILONS = (0.1, 1.0, 10.0)
LOG_SIZE = "ln|X|"
LOW = 0.1
"""Where epsilon is small."""

PAPER_RUNS, SOME_RUNS = (100, 3), (10, 1)
"""Runs per point, as in the paper and with `quick`; and those of what is not in the paper."""

_BATCH = 5

PAPER_DATA, DATA_HERE = (
    ("us-census-1990", "foursquare-tist2015"),
    ("acs-and", "acs-or", "census-income", "foursquare-nyc"),
)
"""The paper's data sets, and those at hand."""

_PEOPLE = (
    "the truth is the distribution of all people; half of them, drawn at random in every run and the same for every "
    "mechanism, report"
)
ON_ESTIMATORS = (
    "estimators: emp (linear), emp+thr (threshold at level 0.05, the rest shared evenly) and EM, by which is meant "
    "where it ends: the maximum of the likelihood, certified to a tenth of a nat in all",
    _PEOPLE,
)
ON_MECHANISMS = (
    "mechanisms: RR, RAPPOR, uRR, uRAP (the paper's, whose reports in clear carry noise bits too), and no privacy",
    *ON_ESTIMATORS,
)
ON_MORE = (
    "uRR and uRAP as in the paper; uRAP drop-bits: without noise bits in reports in clear; best theta: that, with the "
    "theta of the least worst case; hashing: utility-optimized local hashing; BlockDesign: the optimum, for the worst "
    "case, and told the true p(X_S)",
    *ON_ESTIMATORS,
)
ON_BOUND = (
    "lower bound: the least mean squared error of any unbiased estimate with any mechanism that knows p(X_S) and "
    "nothing more of p; biased estimates may be below it",
)


@dataclass(frozen=True, slots=True)
class Comparison:
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

    @property
    def measured(self) -> list[str]:
        """The mechanisms, and the lower bound where it is measured."""
        return [*self.names, *([BOUND] if self.has_bound else [])]

    def lines(self, measure: Measure) -> list[str]:
        """Return the lines of a panel; the bound is one of squared errors."""
        return self.measured if measure is MSE else list(self.names)


THE_PAPERS = Comparison()
MORE = Comparison(BEYOND, SOME_RUNS)


@dataclass(frozen=True, slots=True)
class CellMaker:
    """The maker of the cells of one population, a few runs each."""

    name: str
    population: Population
    settings: Settings
    comparison: Comparison
    batch: int = _BATCH
    users: int | None = None

    def cells(self, mechanism: str, epsilon: float | None, drawn: int | None = None) -> Iterator[Cell]:
        """Yield the cells of one mechanism at one epsilon."""
        data, seed, task = self.population.fingerprint, self.settings.seed, self.comparison.task
        total = self.settings.chosen(*self.comparison.runs)
        for first in range(0, total, self.batch):
            runs = min(self.batch, total - first)
            yield Cell(self.name, data, mechanism, epsilon, drawn, first, runs, seed, task, self.users)

    def all_cells(self, epsilon: float) -> Iterator[Cell]:
        """Yield the cells of all mechanisms at one epsilon."""
        for mechanism in self.comparison.measured:
            yield from self.cells(mechanism, epsilon)


def log_size(values: int) -> float:
    """Return ln|X|, the epsilon at which the paper draws its line."""
    return log(values)


def epsilons_of(population: Population, settings: Settings) -> list[float]:
    """Return the epsilons of a sweep, ln|X| among them."""
    listed = QUICK_EPSILONS if settings.quick else EPSILONS
    return sorted({*listed, log_size(population.domain.size)})


# Drawing


def subtitle(point: Point[Row]) -> str:
    """Return the subtitle of a figure: the users, the data set, |X| and the number of runs."""
    bars = f"mean of {point.runs} runs ± 2 standard errors" if point.runs > 1 else "a single run"
    return f"{point.mean.n:,} users of {point.population}, |X| = {point.mean.values:,}; {bars}"


def records(
    point: Point[Row], measure: Measure, x: float, row: str, comparison: Comparison
) -> Iterator[dict[str, Any]]:
    """Yield the records of a point: one, or for the lower bound one in every panel."""
    mean, error = point.mean, point.error
    if isinstance(mean, Loss) and isinstance(error, Loss):
        drawn = interval(x, measure.of(mean), measure.of(error))
        yield record(drawn, line=mean.mechanism, column=mean.estimator, row=row)
    elif isinstance(mean, LowerBound) and isinstance(error, LowerBound) and measure is MSE:
        for column in comparison.estimators:
            yield record(interval(x, mean.mse, error.mse), line=mean.mechanism, column=column, row=row)


def baseline(results: Results, measure: Measure, name: str) -> float | None:
    """Return the loss without privacy, if it was measured."""
    points = results.of(Loss, population=name, mechanism=NO_PRIVACY, estimator=EMPIRICAL)
    return measure.of(points[0].mean) if points else None


def noisy(results: Results, name: str | None = None) -> list[Point[Row]]:
    """Return the points with an epsilon, of one data set or of all."""
    return [p for p in results.points if p.epsilon is not None and name in (None, p.population)]
