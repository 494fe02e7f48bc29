"""Plans of the cells of Figures 4 to 12 of [PIE]."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from discreet.core.searching import bisected
from discreet.risk.bounds import identification_bounds
from papers.artefact import Settings
from papers.cells import ATTACKED, BOUNDS, BUCKETS, MATCHERS, REPORTS, UTILITY, Cell
from papers.identities import GLH, HALF, MAXIMUM, PARTIAL, RATED, RR, made

SMALL = (0.05, 0.1, 0.2, 0.5, 1.0)
LARGE = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0)
REPORTED = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0)
EVENTS = (1, 2, 3, 4, 5)
LEARNED = (20, 40, 60, 80, 100)
BUCKET_COUNTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 2_000_000_000)
FEW_RUNS = (5, 1)
BETA = 0.92
PRINTED_EPSILON = 10.0
"""The paper's two ways of choosing epsilon in Fig. 11: an identification error, and a number."""

SIZES = ("sizes",)
PLACES, PLACES_HERE = ("lbsn-world",), ("lbsn-kl", "lbsn-nyc", "trails-nyc")
MOVIES, MOVIES_HERE = ("movielens", "movielens-dat"), ("movielens-1m",)
MOST_EPSILON = 60.0
"""Stands for no limit on epsilon: where users outnumber values by far, they hide each other without any noise."""

_HALVINGS = 40


def _cells(
    datasets: Mapping[str, Any],
    settings: Settings,
    task: str,
    asked: Sequence[tuple[str, float | None, int | None]],
    runs: int = 1,
) -> list[Cell]:
    return [
        Cell(name, data.fingerprint, mechanism, epsilon, drawn, 0, runs, settings.seed, task)
        for name, data in datasets.items()
        for mechanism, epsilon, drawn in asked
    ]


def _of(kind: str, datasets: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {"places": (*PLACES, *PLACES_HERE), "movies": (*MOVIES, *MOVIES_HERE), "matchers": ("bssr1",)}[kind]
    return {name: data for name, data in datasets.items() if name in chosen}


def plan_bounds(epsilons: Sequence[float]) -> Callable[[Mapping[str, Any], Settings], list[Cell]]:
    """Return the plan of bounds, which need no data."""

    def plan(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
        asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in sorted(set(epsilons))]
        return _cells(datasets, settings, BOUNDS, asked)

    return plan


def plan_maximum(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks with maximum knowledge, whole traces and first events, and the matchers beside them."""
    traces = _of("places", datasets) | _of("movies", datasets)
    asked = [(MAXIMUM, None, events) for events in (None, *EVENTS)]
    return _cells(_of("matchers", datasets), settings, MATCHERS, [("all", None, None)]) + _cells(
        traces, settings, ATTACKED, asked
    )


def plan_partial(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks that learn from other events of the same users."""
    places = _cells(_of("places", datasets), settings, ATTACKED, [(PARTIAL, None, events) for events in LEARNED])
    movies = _cells(_of("movies", datasets), settings, ATTACKED, [(RATED, None, events) for events in EVENTS])
    return places + movies


def plan_curves(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan DET curves of traces, by half and with maximum knowledge, and of the matchers."""
    found = _cells(_of("matchers", datasets), settings, MATCHERS, [("all", None, None)])
    found += _cells(
        _of("places", datasets), settings, ATTACKED, [(MAXIMUM, None, None), (PARTIAL, None, None), (HALF, None, None)]
    )
    return found + _cells(_of("movies", datasets), settings, ATTACKED, [(MAXIMUM, None, None)])


def plan_reports(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan bounds at the paper's sizes, and attacks on one report of each user with their bounds."""
    sizes = {name: data for name, data in datasets.items() if name in SIZES}
    epsilons = REPORTED[::3] if settings.quick else REPORTED
    runs = settings.chosen(*FEW_RUNS)
    asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in epsilons]
    return _cells(sizes, settings, BOUNDS, asked) + _cells(_of("places", datasets), settings, REPORTS, asked, runs)


def plan_utility(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan estimates of the frequencies of places."""
    epsilons = REPORTED[4::3] if settings.quick else REPORTED[2:]
    asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in epsilons]
    runs, found = settings.chosen(*FEW_RUNS), []
    for name, data in _of("places", datasets).items():
        users, values = len(data.traces), data.traces.event_count
        protected = [(RR, largest_epsilon(users, values, by_paper=way), None) for way in (True, False)]
        found += _cells({name: data}, settings, UTILITY, [*asked, *protected], runs)
    return found


@cache
def largest_epsilon(users: int, values: int, *, by_paper: bool) -> float:
    """Return about the largest epsilon of randomized response that keeps the identification error at `BETA`.

    Args:
        users: n.
        values: |X|.
        by_paper: by Thm 11 and Cor. 8; else exactly.
    """

    def keeps(epsilon: float) -> bool:
        bounds = identification_bounds(made(RR, values, epsilon), users)
        error = bounds.error if not by_paper else 0.0 if bounds.paper_error is None else bounds.paper_error.value
        return error >= BETA

    return round(bisected(keeps, 1e-3, MOST_EPSILON, _HALVINGS)[0], 6) - 1e-6


def plan_buckets(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan hashing to increasing numbers of buckets."""
    counts = BUCKET_COUNTS[::3] if settings.quick else BUCKET_COUNTS
    asked = [(GLH, None, buckets) for buckets in counts]
    return _cells(_of("places", datasets), settings, BUCKETS, asked, settings.chosen(*FEW_RUNS))
