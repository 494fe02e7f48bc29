"""How times grow with the number of reports and with the number of values: client, server and maximum likelihood."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from bench.charts import growth_chart
from bench.measure import Group, Picture, Row, one_core, progress, seconds
from discreet import (
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)
from discreet.core.random import SecureRandom
from discreet.mechanisms import BlockMechanism

EPSILON = 1.0
SIZE = 100
REPORTS = 10_000
REPEATS = 3
MOST_SECONDS, QUICK_SECONDS = 3.0, 0.05
MOST_BYTES = 1_000_000_000
STAGES = ("client", "server", "mle")
_NUMBERS = tuple(10**k for k in range(3, 9))
_SIZES = tuple(10**k for k in range(1, 8))
_MECHANISMS: dict[str, Callable[[int], BlockMechanism]] = {
    "RR": lambda size: RandomizedResponse(Domain(range(size)), EPSILON),
    "unary": lambda size: UnaryEncoding(Domain(range(size)), EPSILON),
    "uRAP, a tenth sensitive": lambda size: UnaryEncoding(
        Domain(range(size), sensitive=np.arange(size) < size // 10), EPSILON
    ),
    "subset": lambda size: SubsetSelection(Domain(range(size)), EPSILON),
    "hashing": lambda size: LocalHashing(Domain(range(size)), EPSILON),
    "Hadamard": lambda size: HadamardResponse(Domain(range(size)), EPSILON),
}


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement: who, which stage, n, |X|, nanoseconds per report."""

    name: str
    stage: str
    n: int
    size: int
    ns: float


def run(*, quick: bool = False) -> Group:
    """Measure every curve on one core."""
    most = QUICK_SECONDS if quick else MOST_SECONDS
    numbers, sizes = (_NUMBERS[:2], _SIZES[:2]) if quick else (_NUMBERS, _SIZES)
    with one_core() as pinned:
        over_n = [point for name in _MECHANISMS for point in _over_numbers(name, numbers, most)]
        over_size = [point for name in _MECHANISMS for point in _over_sizes(name, sizes, most)]
    place = "one core" if pinned else "one thread"
    notes = [
        f"Nanoseconds per report, {place}, epsilon = {EPSILON:g}; medians of {REPEATS}, the lesser of two beyond a "
        f"second. Over n: |X| = {SIZE}. Over |X|: n = {REPORTS:,}, so that the cost of a table of |X| counters weighs "
        f"on each report. A curve ends where the next point would take more than about {most:g} s, or "
        f"{MOST_BYTES / 1e9:g} GB of reports.",
        "client: secure randomness included, in batches. server: the tally. mle: from reports in memory to the "
        "certified estimate, tally included.",
    ]
    pictures = [
        Picture("growth-n", f"Nanoseconds per report against the number of reports, |X| = {SIZE}", _chart(over_n, "n")),
        Picture("growth-size", "Nanoseconds per report against the number of values", _chart(over_size, "size")),
    ]
    headings = [f"|X| = {size:,}" for size in sizes]
    further = Group("Growth over |X|", headings, _rows(over_size, "size"), pictures=pictures[1:])
    headings = [f"n = {n:,}" for n in numbers]
    return Group("Growth over n and |X|", headings, _rows(over_n, "n"), notes, pictures=pictures[:1], also=[further])


def _chart(points: list[Point], along: str) -> str:
    title = (
        f"Time per report as n grows, |X| = {SIZE}"
        if along == "n"
        else f"Time per report as |X| grows, n = {REPORTS:,}"
    )
    axis = "reports n" if along == "n" else "values |X|"
    marks = [{"x": getattr(one, along), "y": one.ns, "line": one.name, "column": one.stage} for one in points]
    return growth_chart(title, axis, marks, lines=list(_MECHANISMS), columns=list(STAGES))


def _rows(points: list[Point], along: str) -> list[Row]:
    found: dict[str, dict[str, float]] = {}
    for one in points:
        found.setdefault(f"{one.name}, {one.stage}", {})[_heading(one, along)] = one.ns
    return [Row(name, cells) for name, cells in sorted(found.items(), key=_order)]


def _heading(point: Point, along: str) -> str:
    return f"n = {point.n:,}" if along == "n" else f"|X| = {point.size:,}"


def _order(row: tuple[str, dict[str, float]]) -> tuple[int, int]:
    name, _, stage = row[0].rpartition(", ")
    return STAGES.index(stage), list(_MECHANISMS).index(name)


def _over_numbers(name: str, numbers: Sequence[int], most: float) -> Iterator[Point]:
    progress(f"{name} over n")
    mechanism, open_stages = _MECHANISMS[name](SIZE), set(STAGES)
    for n in numbers:
        points = list(_points(name, mechanism, n, open_stages))
        yield from points
        open_stages = _open(points, most)
        if _bytes(mechanism) * n * 10 > MOST_BYTES:
            open_stages.discard("mle")


def _over_sizes(name: str, sizes: Sequence[int], most: float) -> Iterator[Point]:
    progress(f"{name} over |X|")
    open_stages = set(STAGES)
    for size in sizes:
        mechanism = _MECHANISMS[name](size)
        if _bytes(mechanism) * REPORTS > MOST_BYTES:
            open_stages.discard("mle")
        points = list(_points(name, mechanism, REPORTS, open_stages))
        yield from points
        open_stages = _open(points, most)


def _open(points: Sequence[Point], most: float) -> set[str]:
    """Return the stages whose next point, ten times as large, is likely to take no longer than it may.

    It takes at most about ten times as long; and what is counted must be made first, if not timed.
    """
    spent = {one.stage: one.ns * 1e-9 * one.n * 10 for one in points}
    making = spent.get("client", inf)
    return {stage for stage, own in spent.items() if own + (making if stage != "client" else 0.0) <= most}


def _bytes(mechanism: BlockMechanism) -> int:
    """Return the bytes of a report."""
    return sum(column.bytes for column in mechanism.columns)


def _points(name: str, mechanism: BlockMechanism, n: int, stages: set[str]) -> Iterator[Point]:
    for stage in STAGES:
        if stage in stages:
            spent = _measured(mechanism, n, stage)
            yield Point(name, stage, n, mechanism.domain.size, spent / n * 1e9)


def _measured(mechanism: BlockMechanism, n: int, stage: str) -> float:
    """Return the seconds of one stage, after a small one that compiles."""
    codes = _codes(mechanism.domain.size, n)
    _once(mechanism, codes[:10], stage)
    first = _once(mechanism, codes, stage)
    if first > 1:
        # The lesser of two: many reports may need something compiled that few did not.
        return min(first, _once(mechanism, codes, stage))
    return statistics.median([first, *(_once(mechanism, codes, stage) for _ in range(REPEATS - 1))])


def _codes(size: int, n: int) -> np.ndarray:
    """Draw values that fall off as 1/rank."""
    ranks = np.exp(np.random.default_rng(1).random(n, dtype=np.float32) * np.log(size))
    return np.minimum(ranks.astype(np.int64), size - 1)


def _once(mechanism: BlockMechanism, codes: np.ndarray, stage: str) -> float:
    random = SecureRandom()
    if stage == "mle":
        reports = Reports.concatenate(mechanism.obfuscate_batches(codes, random=random))
        return seconds(lambda: estimate(mechanism, reports, method="mle"))
    batches, spent = mechanism.obfuscate_batches(codes, random=random), 0.0
    if stage == "client":
        return seconds(lambda: [None for _ in batches])
    for reports in batches:
        spent += seconds(lambda reports=reports: mechanism.tally(reports))
    return spent
