"""Utility of reports at an identification risk: estimates of how often places are visited."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from discreet.core.arithmetic import bisected
from discreet.estimators import estimate
from discreet.risk.bounds import identification_bounds
from discreet.simulation.devices import draw_tally
from papers.cells import UTILITY, Cell
from papers.data.traces import TraceData
from papers.figure import Settings
from papers.pie.settings import FEW_RUNS, GLH, REPORTED, RR, cells_of, mechanism_over, those_of
from papers.results import Row

TOP, LISTED = 100, 20
BETA = 0.92
"""The identification error that the paper asks for."""

MOST_EPSILON = 60.0
"""Stands for no limit on epsilon: where users outnumber values by far, they hide each other without any noise."""

_HALVINGS = 40


@dataclass(frozen=True, kw_only=True)
class Protected(Row):
    """The protection of users by a mechanism.

    Attributes:
        error: the least identification error, exactly.
        paper_error: by Cor. 8.
    """

    error: float
    paper_error: float


@dataclass(frozen=True, kw_only=True)
class UtilityLoss(Protected):
    """The loss over places.

    Attributes:
        estimator: its name in the figures.
        among: the places: the most visited ones, or all.
        mse: summed squared error over these.
        relative: mean relative error over the `LISTED` most visited ones.
    """

    estimator: str
    among: str
    mse: float
    relative: float


@dataclass(frozen=True, kw_only=True)
class PlaceShare(Protected):
    """The share of check-ins at one place.

    Attributes:
        place: its rank, from 1.
        truth: the share.
        estimate: of it.
    """

    place: int
    truth: float
    estimate: float


def plan_utility(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan estimates of the frequencies of places."""
    epsilons = REPORTED[4::3] if settings.quick else REPORTED[2:]
    asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in epsilons]
    runs, found = settings.chosen(*FEW_RUNS), []
    for name, data in those_of("places", datasets).items():
        users, values = len(data.traces), data.traces.event_count
        protected = [(RR, largest_protecting_epsilon(users, values, by_paper=way), None) for way in (True, False)]
        found += cells_of({name: data}, settings, UTILITY, [*asked, *protected], runs)
    return found


@cache
def largest_protecting_epsilon(users: int, values: int, *, by_paper: bool) -> float:
    """Return about the largest epsilon of randomized response that keeps the identification error at `BETA`.

    Args:
        users: n.
        values: |X|.
        by_paper: by Thm 11 and Cor. 8; else exactly.
    """

    def keeps(epsilon: float) -> bool:
        bounds = identification_bounds(mechanism_over(RR, values, epsilon), users)
        error = bounds.error if not by_paper else 0.0 if bounds.paper_error is None else bounds.paper_error.value
        return error >= BETA

    return round(bisected(keeps, 1e-3, MOST_EPSILON, _HALVINGS)[0], 6) - 1e-6


def measure_utility(cell: Cell, data: TraceData, run: int) -> Iterator[Row]:
    """Estimate how often places are visited, each check-in taken as a user's one report."""
    assert cell.epsilon is not None
    counts = np.bincount(data.traces.events, minlength=data.traces.event_count).astype(np.int64)
    n, p = int(counts.sum()), counts / counts.sum()
    mechanism = mechanism_over(cell.mechanism, len(p), cell.epsilon, cell.drawn)
    bounds = identification_bounds(mechanism, n)
    at = Protected(
        mechanism=cell.mechanism,
        values=len(p),
        sensitive=0,
        n=n,
        error=bounds.error,
        paper_error=0.0 if bounds.paper_error is None else max(bounds.paper_error.value, 0.0),
    )
    tally = draw_tally(mechanism, counts, cell.generator(run))
    top = np.argsort(-counts, kind="stable")
    methods: dict[str, dict[str, Any]] = {"emp": {}, "emp+thr": {"method": "threshold", "remainder": "zero"}}
    for name, options in methods.items():
        found = estimate(mechanism, tally, **options).frequencies
        for chosen, among in ((top[:TOP], f"top {TOP}"), (top, "all")):
            loss = float(((found - p)[chosen] ** 2).sum())
            relative = float((np.abs(found - p)[top[:LISTED]] / p[top[:LISTED]]).mean())
            yield UtilityLoss(**asdict(at), estimator=name, among=among, mse=loss, relative=relative)
    linear = mechanism.decoder.estimate(tally)
    for place, code in enumerate(top[:LISTED]):
        yield PlaceShare(**asdict(at), place=place + 1, truth=float(p[code]), estimate=float(linear[code]))
