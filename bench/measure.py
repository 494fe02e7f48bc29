"""How things are timed, and what a measured line is."""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

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
class Picture:
    """A chart: the name of its file without the ending, what it shows in words, and the SVG itself."""

    name: str
    shows: str
    svg: str


@dataclass(frozen=True, slots=True)
class Group:
    """A table: a title, the names of its columns, its lines and what a reader must know.

    Attributes:
        title: above the table.
        columns: names, in order.
        rows: the lines.
        notes: below the table, a point each.
        text: plain sentences above the table.
        pictures: charts below the notes.
        also: further tables of the same section.
        spread: whether these stand on the page too, and are not only named there.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = field(default=())
    text: str = ""
    pictures: Sequence[Picture] = field(default=())
    also: Sequence["Group"] = field(default=())
    spread: bool = False


_STARTED = time.perf_counter()


def progress(what: str) -> None:
    """Tell whoever waits what is measured now."""
    print(f"{time.perf_counter() - _STARTED:6.0f} s  {what}", file=sys.stderr, flush=True)


def seconds(work: Callable[[], object]) -> float:
    """Return how long ``work`` takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of ``work`` after one call that does not count."""
    work()
    return statistics.median(seconds(work) for _ in range(repeats))


def interleaved(
    works: Mapping[str, Callable[[], float]], repeats: int = REPEATS, *, warm: bool = True
) -> dict[str, float]:
    """Return the median of what each of ``works`` says, taken in turns.

    Turns, so that whatever slows the machine down for a while slows all of them down and leaves the ratios alone. A
    round before them, which compiles and warms up, does not count.
    """
    for work in works.values() if warm else ():
        work()
    rounds = [{name: work() for name, work in works.items()} for _ in range(repeats)]
    return {name: statistics.median(said[name] for said in rounds) for name in works}


def without_goals(group: Group) -> Group:
    """Return a group in which nothing is aimed at, because the sizes are not those that the goals are for."""
    rows = [replace(row, goal="", met=None) for row in group.rows]
    return replace(group, rows=rows, also=[without_goals(further) for further in group.also])


def judged(*goals: tuple[str, bool | None]) -> tuple[str, bool | None]:
    """Return several goals in words and whether all are reached; None where nobody knows and none is missed.

    Args:
        goals: in words, and whether each is reached; None for what could not be measured.
    """
    met = [reached for _, reached in goals]
    undecided = not met or (None in met and False not in met)
    return ", ".join(goal for goal, _ in goals), None if undecided else False not in met


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
