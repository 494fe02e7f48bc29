"""[PIE, Fig. 12]: the loss of hashing at theta = 1/2 against the number of buckets."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import exp, log
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.mechanisms import LocalHashing
from discreet.simulation.devices import draw_tally
from papers.cells import BUCKETS, Cell
from papers.data.traces import TraceData
from papers.drawing import curves, interval, record
from papers.figure import Figure, Finding, Settings
from papers.pie.settings import FEW_RUNS, GLH, PLACES, PLACES_HERE, cells_of, those_of
from papers.pie.utility import TOP
from papers.results import Results, Row

THETA = 0.5
BUCKET_COUNTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 2_000_000_000)
PRINTED = "Eq. 23"


@dataclass(frozen=True, kw_only=True)
class BucketLoss(Row):
    """The loss over the most visited places; the number of buckets is the cell's.

    Attributes:
        source: a formula of the paper, or the simulation.
        mse: summed squared error.
    """

    source: str
    mse: float


def plan_buckets(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan hashing to increasing numbers of buckets."""
    counts = BUCKET_COUNTS[::3] if settings.quick else BUCKET_COUNTS
    asked = [(GLH, None, buckets) for buckets in counts]
    return cells_of(those_of("places", datasets), settings, BUCKETS, asked, settings.chosen(*FEW_RUNS))


def epsilon_of(theta: float, symbols: int) -> float:
    """Return the epsilon at which the truth is told with probability theta, for a number of symbols."""
    return log(1 + symbols * theta / (1 - theta))


def measure_buckets(cell: Cell, data: TraceData, run: int) -> Iterator[BucketLoss]:
    """Yield the loss of hashing to a number of buckets at theta = 1/2, by the paper's formula and simulated."""
    assert cell.drawn is not None
    g = cell.drawn
    epsilon = epsilon_of(THETA, g)
    counts = np.bincount(data.traces.events, minlength=data.traces.event_count).astype(np.int64)
    n, p = int(counts.sum()), counts / counts.sum()
    top = np.argsort(-counts, kind="stable")[:TOP]
    at = asdict(Row(mechanism=GLH, values=len(p), sensitive=0, n=n))
    printed = float(hashing_loss(p[top], n, g, epsilon).sum())
    yield BucketLoss(**at, source=PRINTED, mse=printed)
    limit = float((p[top] * (1 - THETA) / (n * THETA)).sum())
    yield BucketLoss(**at, source="limit of Thm 17", mse=limit)
    mechanism = LocalHashing(Domain(range(len(p))), epsilon, g=g)
    tally = draw_tally(mechanism, counts, cell.generator(run))
    loss = float(((mechanism.decoder.estimate(tally) - p)[top] ** 2).sum())
    yield BucketLoss(**at, source="simulated", mse=loss)


def hashing_loss(p: FloatArray, n: int, g: int, epsilon: float) -> FloatArray:
    """Return the ``(k,)`` squared losses of values, given the data [PIE, (23)]."""
    e = exp(epsilon)
    constant = (g + e - 1) ** 2 / (n * (e - 1) ** 2 * (g - 1))
    slope = (g * g - 2 * g - e + 1) / (n * (e - 1) * (g - 1))
    return constant + p * slope


def charts_of_buckets(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against the number of buckets."""
    charts = {}
    for name in results.populations:
        points = results.of(BucketLoss, population=name)
        records = [record(interval(p.drawn or 0, p.mean.mse, p.error.mse), line=p.mean.source) for p in points]
        subtitle = f"theta = {THETA:g}; the {TOP} most visited places of {name}, {points[0].mean.n:,} check-ins"
        charts[name] = curves("Hashing to more buckets", subtitle, ("g", "summed squared error"), records)
    return charts


def findings_on_buckets(results: Results) -> list[Finding]:
    """Check Theorem 17: at fixed theta, the more buckets the less loss."""
    found = []
    for name in results.populations:
        course = {p.drawn or 0: p.mean.mse for p in results.of(BucketLoss, population=name, source=PRINTED)}
        steps = sorted(course)
        rises = max(course[b] / course[a] for a, b in pairwise(steps))
        found.append(
            Finding(
                "larger g is better for a fixed PIE guarantee (theta = 1/2)",
                name,
                "largest ratio of the loss from one g to the next (Eq. 23)",
                rises,
                "<=",
                1.0,
                "; ".join(f"{g:g}: {course[g]:.3g}" for g in steps),
            )
        )
    return found


FIGURE = Figure(
    "pie/fig12",
    "[PIE, Fig. 12] hashing to more buckets",
    "The squared loss at theta = 1/2 against the number of buckets.",
    PLACES,
    PLACES_HERE,
    plan_buckets,
    charts_of_buckets,
    findings_on_buckets,
    runs=FEW_RUNS,
    settings=(
        "larger g is better at a fixed theta only: hashing to about V n buckets without noise has far less loss at "
        "the same identification probability V, and no attribute privacy at all",
    ),
)
