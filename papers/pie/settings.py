"""Settings that several figures of [PIE] share: mechanisms, data sets, epsilons, and cells."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.arrays import AnyArray
from discreet.core.domain import Domain
from discreet.mechanisms import BlockMechanism, LocalHashing, RandomizedResponse
from discreet.risk.traces import Traces
from papers.cells import Cell
from papers.data.made_up import TOWN, WORLD
from papers.figure import Settings

RR, GLH = "RR", "GLH"
BUCKETS, BUCKETS_PER_VALUE = 100_000_000, 10
"""g of hashing: the paper's for its number of places, about ten times as many as places for fewer."""

REPORTED = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0)
LEAST_OF_MANY = 8.0
"""Below this epsilon nothing can be seen among so many places as in the paper."""

EVENTS = (1, 2, 3, 4, 5)
FEW_RUNS = (5, 1)
PRINTED_EPSILON = 10.0
"""The paper's epsilon where it names one."""

SIZES = ("sizes",)
PLACES, PLACES_HERE = ("lbsn-world",), ("lbsn-kl", "lbsn-nyc", "trails-nyc")
MOVIES, MOVIES_HERE = ("movielens", "movielens-dat"), ("movielens-1m",)
MATCHERS = "bssr1"
REPORTED_HERE = (*PLACES_HERE, TOWN.name, WORLD.name)
"""Data of which each user sends one report."""

ON_ATTACK = (
    "the Markov model of the paper: visit and transition probabilities by maximum likelihood, zeros become 1e-8",
    "best score, ties broken at random (expected success); every trace against every user",
    "D(f_G || f_I) is the paper's PSE; the certified PSE is a lower bound on the PIE, by the larger of "
    "D(f_G || f_mix) and the bound by ranks, lower limits of 95% intervals",
)
ON_ONE_REPORT = (
    "each user reports the first place of the second half of her events",
    f"{WORLD.name}: a single run, and none with --quick unless no other data are asked for",
)
ON_ATTACKED_REPORTS = (
    *ON_ONE_REPORT,
    "the paper's attacker knows the first halves; beside it the one who knows the places themselves",
    "GLH: g = 1e8 for the paper's sizes, ten times the number of places for the data at hand",
    "exact: the largest information, the least error, over all data and attacks; printed bounds beside it",
)
ERRATA = "errata: (11) has the wrong sign; alpha < 2.07 (6.21) are nats; Thms 12 and 14 should be capped by log n"


def mechanism_over(name: str, values: int, epsilon: float, buckets: int | None = None) -> BlockMechanism:
    """Return one of the paper's two mechanisms over a number of values."""
    domain = Domain(range(values))
    return (
        RandomizedResponse(domain, epsilon)
        if name == RR
        else LocalHashing(domain, epsilon, g=buckets or min(BUCKETS, BUCKETS_PER_VALUE * values))
    )


def cells_of(
    datasets: Mapping[str, Any],
    settings: Settings,
    task: str,
    asked: Sequence[tuple[str, float | None, int | None]],
    runs: int = 1,
) -> list[Cell]:
    """Return a cell for every data set and what is asked of it: a mechanism, epsilon, and a number."""
    return [
        Cell(name, data.fingerprint, mechanism, epsilon, drawn, 0, runs, settings.seed, task)
        for name, data in datasets.items()
        for mechanism, epsilon, drawn in asked
    ]


def those_of(kind: str, datasets: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data sets of a kind: ``places``, ``movies`` or ``matchers``."""
    chosen = {"places": (*PLACES, *PLACES_HERE), "movies": (*MOVIES, *MOVIES_HERE), "matchers": (MATCHERS,)}[kind]
    return {name: data for name, data in datasets.items() if name in chosen}


def reporting(
    datasets: Mapping[str, Any], settings: Settings, epsilons: Sequence[float]
) -> Iterator[tuple[str, Any, int, Sequence[float]]]:
    """Yield the data sets of which each user sends one report: name, data, how many runs, and at which epsilons."""
    for name, data in datasets.items():
        if name == WORLD.name:
            if not settings.quick or len(datasets) == 1:
                yield name, data, 1, [epsilon for epsilon in epsilons if epsilon >= LEAST_OF_MANY]
        elif name not in SIZES:
            yield name, data, settings.chosen(*FEW_RUNS), epsilons


def reported(traces: Traces) -> AnyArray:
    """Return the ``(n,)`` places that users report: the first one of the second half of each trace."""
    places: AnyArray = traces.events[traces.offsets[:-1] + traces.lengths // 2]
    return places
