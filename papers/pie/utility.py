"""Utility of reports at an identification risk: estimates of how often places are visited."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from math import exp
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators import estimate
from discreet.mechanisms import BlockMechanism, LocalHashing
from discreet.risk.bounds import identification_bounds
from discreet.theory.arithmetic import bisected
from papers.cells import UTILITY, Cell
from papers.data.drawn_tallies import draw_tally
from papers.figure import Settings
from papers.pie.settings import GLH, REPORTED, RR, cells_of, mechanism_over, reported, reporting
from papers.results import Row

TOP, LISTED = 100, 20
AMONG_TOP, ALL = f"top {TOP}", "all"
EMP, THRESHOLD = "emp", "emp+thr"
BETA = 0.92
"""The identification error that the paper asks for."""

_METHODS: dict[str, dict[str, Any]] = {EMP: {}, THRESHOLD: {"method": "threshold", "remainder": "zero"}}
_LEAST_EPSILON, _MOST_EPSILON = 1e-3, 60.0
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
        printed: the expected one of emp, by the paper's formula.
        blank: that of an estimate of 0 everywhere.
        relative: mean relative error over the `LISTED` most visited ones.
    """

    estimator: str
    among: str
    mse: float
    printed: float
    blank: float
    relative: float


@dataclass(frozen=True, kw_only=True)
class PlaceShare(Protected):
    """The share of users who report one place.

    Attributes:
        estimator: its name in the figures.
        place: its rank, from 1.
        truth: the share.
        estimate: of it.
    """

    estimator: str
    place: int
    truth: float
    estimate: float


def plan_utility(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan estimates of the frequencies of places."""
    epsilons = REPORTED[4::3] if settings.quick else REPORTED[2:]
    cells = []
    for name, data, runs, chosen in reporting(datasets, settings, epsilons):
        asked = [(mechanism, epsilon, None) for mechanism in (RR, GLH) for epsilon in chosen]
        users, values = data.traces.users, data.traces.event_count
        protecting = [largest_protecting_epsilon(users, values, by_paper=way) for way in (True, False)]
        protected = [(RR, epsilon, None) for epsilon in protecting if epsilon is not None]
        cells += cells_of({name: data}, settings, UTILITY, [*asked, *protected], runs)
    return cells


@cache
def largest_protecting_epsilon(users: int, values: int, *, by_paper: bool) -> float | None:
    """Return about the largest epsilon of randomized response that keeps the identification error at `BETA`, if any.

    Args:
        users: n.
        values: |X|.
        by_paper: by Thm 11 and Cor. 8; else exactly.
    """

    def keeps(epsilon: float) -> bool:
        bounds = identification_bounds(mechanism_over(RR, values, epsilon), users)
        error = bounds.error if not by_paper else 0.0 if bounds.paper_error is None else bounds.paper_error.value
        return error >= BETA

    if not keeps(_LEAST_EPSILON):
        return None
    return round(bisected(keeps, _LEAST_EPSILON, _MOST_EPSILON, _HALVINGS)[0], 6) - 1e-6


def measure_utility(cell: Cell, data: Any, run: int) -> Iterator[Row]:
    """Estimate how often places are visited from one report of each user."""
    assert cell.epsilon is not None
    counts = np.bincount(reported(data.traces), minlength=data.traces.event_count).astype(np.int64)
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
    printed = printed_loss(mechanism, p, n)
    top = np.argsort(-counts, kind="stable")
    listed = top[:LISTED]
    for name, options in _METHODS.items():
        frequencies = estimate(mechanism, tally, **options).frequencies
        relative = float((np.abs(frequencies - p)[listed] / p[listed]).mean())
        for chosen, among in ((top[:TOP], AMONG_TOP), (top, ALL)):
            yield UtilityLoss(
                **asdict(at),
                estimator=name,
                among=among,
                mse=float(((frequencies - p)[chosen] ** 2).sum()),
                printed=float(printed[chosen].sum()),
                blank=float((p[chosen] ** 2).sum()),
                relative=relative,
            )
        for place, code in enumerate(listed, start=1):
            truth, estimated = float(p[code]), float(frequencies[code])
            yield PlaceShare(**asdict(at), estimator=name, place=place, truth=truth, estimate=estimated)


def printed_loss(mechanism: BlockMechanism, p: FloatArray, n: int) -> FloatArray:
    """Return the ``(d,)`` squared losses of values by the paper's formula, given the data."""
    if isinstance(mechanism, LocalHashing) and mechanism.g is not None:
        return hashing_loss(p, n, mechanism.g, mechanism.epsilon)
    return response_loss(p, n, mechanism.epsilon)


def response_loss(p: FloatArray, n: int, epsilon: float) -> FloatArray:
    """Return the ``(d,)`` squared losses of all values with randomized response, given the data [PIE, (22)]."""
    d, more = len(p), exp(epsilon) - 1
    return (d + more - 1) / (n * more**2) + p * (d - 2) / (n * more)


def hashing_loss(p: FloatArray, n: int, g: int, epsilon: float) -> FloatArray:
    """Return the ``(k,)`` squared losses of values with hashing, given the data [PIE, (23)]."""
    e = exp(epsilon)
    constant = (g + e - 1) ** 2 / (n * (e - 1) ** 2 * (g - 1))
    slope = (g * g - 2 * g - e + 1) / (n * (e - 1) * (g - 1))
    return constant + p * slope
