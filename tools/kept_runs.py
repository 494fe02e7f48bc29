"""Runs of simulations, kept in a file of JSON lines: a measurement goes on where it stopped, and runs add up.

A line has a setting, its number of runs, and numbers for each cell of the setting. The numbers of two lines of one
setting are averaged, weighted by their runs. So 100 runs become 200 by 100 others, with other random numbers.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.progress import track

Setting = tuple[Any, ...]
"""The group of a setting, and its parameters: words and numbers."""
Cells = dict[str, dict[str, Any]]
"""The numbers that were found, by the name of a cell; a number is None where it is not defined."""
Measure = Callable[[Setting, int, int], Cells]
"""A function from a setting, a number of runs and the number of the first run to what was found."""


class Found(NamedTuple):
    """The cells of one setting, and the number of runs."""

    runs: int
    cells: Cells


def read_runs(kept: Path) -> dict[Setting, Found]:
    """Return the results so far, by setting."""
    known: dict[Setting, Found] = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []:
        each = json.loads(line)
        setting, found = tuple(each["setting"]), Found(each["runs"], each["cells"])
        known[setting] = _added(known[setting], found) if setting in known else found
    return known


def _added(first: Found, second: Found) -> Found:
    runs = first.runs + second.runs
    cells = {
        name: {key: _mean(number, second.cells[name][key], first.runs / runs) for key, number in cell.items()}
        for name, cell in first.cells.items()
    }
    return Found(runs, cells)


def _mean(first: float | None, second: float | None, part: float) -> float | None:
    return None if first is None or second is None else part * first + (1 - part) * second


def generator(setting: Setting, first: int) -> np.random.Generator:
    """Return the random numbers of a setting's runs from the run ``first`` on."""
    return np.random.default_rng([*map(ord, "".join(map(str, setting[1:]))), *([first] if first else [])])


def carry_on(settings: Sequence[Setting], measure: Measure, runs: int, kept: Path, jobs: int) -> None:
    """Measure the runs that are missing, and add a line for each setting as soon as it is measured.

    Settings are mixed, so that a measurement that is cut short is a fair part of the grid.
    """
    kept.parent.mkdir(parents=True, exist_ok=True)
    known = read_runs(kept)
    there = {setting: known[setting].runs if setting in known else 0 for setting in settings}
    missing = [setting for setting in settings if there[setting] < runs]
    mixed = [missing[at] for at in np.random.default_rng(1).permutation(len(missing))]
    # Each process has its own core.
    os.environ["DISCREET_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    firsts = [there[setting] for setting in mixed]
    counts = [runs - first for first in firsts]
    with kept.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        done = (map if jobs == 1 else pool.map)(measure, mixed, counts, firsts)
        for setting, count, cells in zip(mixed, counts, track(done, total=len(mixed)), strict=True):
            file.write(json.dumps({"setting": setting, "runs": count, "cells": cells}) + "\n")
            file.flush()


class Part(NamedTuple):
    """One section of the page, with the settings that are measured for it.

    Attributes:
        heading: heading of the section.
        groups: the groups of settings.
        settings: a function that yields the settings.
        measured: a function that measures a setting.
        is_doubtful: a function that says whether a setting misses a goal, perhaps by chance.
        section: a function from what was found to the section's lines, and the goals that were missed.
    """

    heading: str
    groups: tuple[str, ...]
    settings: Callable[[], Iterable[Setting]]
    measured: Measure
    is_doubtful: Callable[[Setting, Found], bool]
    section: Callable[[Mapping[Setting, Found]], tuple[list[str], list[str]]]


def runs_of(known: Mapping[Setting, Found]) -> str:
    """Return a sentence on the number of runs."""
    runs = [found.runs for found in known.values()]
    more = sum(each > min(runs) for each in runs)
    return f"Each setting has {min(runs):,} runs" + (f"; {more:,} have up to {max(runs):,}." if more else ".")
