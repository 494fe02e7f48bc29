"""How things are timed, and what a measured line is."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

REPEATS = 7
"""Rounds per task; an odd number, so that the median is one of them."""

Cell = float | int | str | None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes:
        task: what was measured.
        cells: the numbers, by column.
        goal: what was aimed at, in words; empty if nothing was.
        met: whether it was reached; None where there is no goal or nothing could be measured.
    """

    task: str
    cells: Mapping[str, Cell]
    goal: str = ""
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A table: a title, the names of its columns, its lines and what a reader must know."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = field(default=())


def seconds(work: Callable[[], object]) -> float:
    """Return how long ``work`` takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of ``work`` after one call that does not count."""
    work()
    return statistics.median(seconds(work) for _ in range(repeats))


def interleaved(works: Mapping[str, Callable[[], float]], repeats: int = REPEATS) -> dict[str, float]:
    """Return the median of what each of ``works`` says, taken in turns.

    Turns, so that whatever slows the machine down for a while slows all of them down and leaves the ratios alone. The
    first round, which compiles and warms up, does not count.
    """
    for work in works.values():
        work()
    rounds = [{name: work() for name, work in works.items()} for _ in range(repeats)]
    return {name: statistics.median(said[name] for said in rounds) for name in works}


@contextmanager
def one_core() -> Iterator[bool]:
    """Keep this process, and those it starts, on one core; says whether the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield False
        return
    before = os.sched_getaffinity(0)
    # Not the first core: that one serves most interrupts.
    os.sched_setaffinity(0, {max(before)})
    try:
        yield True
    finally:
        os.sched_setaffinity(0, before)
