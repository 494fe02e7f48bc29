"""[PIE, Fig. 12]: the loss of hashing at theta = 1/2 against the number of buckets, beside randomized response."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import log
from typing import Any

from papers.cells import UTILITY, Cell
from papers.data.traces import PAPER_USERS
from papers.drawing import curves, interval, record
from papers.figure import Figure, Finding, Settings
from papers.pie.settings import FEW_RUNS, GLH, ON_ONE_REPORT, PLACES, REPORTED_HERE, RR, cells_of, reporting
from papers.pie.utility import ALL, AMONG_TOP, EMP, THRESHOLD, UtilityLoss
from papers.results import Results

THETA = 0.5
LEAST_OF_MANY = 10_000
"""Fewer buckets are not counted where there are as many users as in the paper: each report has |X|/g values."""

BUCKET_COUNTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 2_000_000_000)
EQUAL = 2.25


def plan_buckets(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan hashing to increasing numbers of buckets, and randomized response at the same theta."""
    counts = BUCKET_COUNTS[::3] if settings.quick else BUCKET_COUNTS
    cells = []
    for name, data, runs, _ in reporting(datasets, settings, ()):
        least = LEAST_OF_MANY if data.traces.users >= PAPER_USERS else 0
        hashing = [(GLH, epsilon_of(THETA, g), g) for g in counts if g >= least]
        asked = [*hashing, (RR, epsilon_of(THETA, data.traces.event_count), None)]
        cells += cells_of({name: data}, settings, UTILITY, asked, runs)
    return cells


def epsilon_of(theta: float, symbols: int) -> float:
    """Return the epsilon at which the truth is told with probability theta, for a number of symbols."""
    return log(1 + symbols * theta / (1 - theta))


def charts_of_buckets(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against the number of buckets; randomized response has none, and the same everywhere."""
    charts = {}
    for name in results.populations:
        points = results.of(UtilityLoss, population=name)
        counts = [p.drawn for p in points if p.drawn is not None]
        records = []
        for p in points:
            for g in (p.drawn,) if p.drawn is not None else (min(counts), max(counts)):
                at = interval(g, p.mean.mse, p.error.mse)
                records.append(record(at, line=p.mean.mechanism, column=p.mean.estimator, row=p.mean.among))
        subtitle = f"theta = {THETA:g}; {points[0].mean.n:,} users of {name}, one report each"
        charts[name] = curves("Hashing to more buckets", subtitle, ("g", "summed squared error"), records)
    return charts


def findings_on_buckets(results: Results) -> list[Finding]:
    """Check Theorem 17, and the comparison with randomized response."""
    return [finding for name in results.populations for finding in _on_data(results, name)]


def _on_data(results: Results, name: str) -> Iterator[Finding]:
    where = {"population": name, "among": AMONG_TOP, "estimator": EMP, "mechanism": GLH}
    course = {p.drawn or 0: p.mean.printed for p in results.of(UtilityLoss, **where)}
    steps = sorted(course)
    yield Finding(
        "larger g is better for a fixed PIE guarantee (theta = 1/2)",
        name,
        "largest ratio of the loss from one g to the next, by (23)",
        max(course[b] / course[a] for a, b in pairwise(steps)),
        "<=",
        1.0,
        "; ".join(f"{g:g}: {course[g]:.3g}" for g in steps),
    )
    for estimator, among, equal in ((EMP, AMONG_TOP, True), (EMP, ALL, False), (THRESHOLD, ALL, True)):
        at = {"population": name, "among": among, "estimator": estimator}
        response = results.one(UtilityLoss, **at, mechanism=RR).mean.mse
        hashing = results.one(UtilityLoss, **at, mechanism=GLH, drawn=steps[-1]).mean.mse
        ratio = hashing / response
        yield Finding(
            f"GLH with the largest g is {'as good as' if equal else 'better than'} RR ({among}, {estimator})",
            name,
            "loss of GLH over that of RR at the same theta" + (", or the other way round" if equal else ""),
            max(ratio, 1 / ratio) if equal else ratio,
            "<=",
            EQUAL if equal else 1.0,
        )


FIGURE = Figure(
    "pie/fig12",
    "[PIE, Fig. 12] hashing to more buckets",
    "The squared loss at theta = 1/2 against the number of buckets, beside randomized response.",
    PLACES,
    REPORTED_HERE,
    plan_buckets,
    charts_of_buckets,
    findings_on_buckets,
    runs=FEW_RUNS,
    settings=(
        *ON_ONE_REPORT,
        "larger g is better at a fixed theta only: hashing to about V n buckets without noise has far less loss at "
        "the same identification probability V, and no attribute privacy at all",
    ),
)
