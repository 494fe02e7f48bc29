"""The tasks of cells by name, and the measuring of one cell."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from papers.cells import (
    ATTACKED,
    BOUNDS,
    CELLS,
    ESTIMATE,
    MAPS,
    MATCHERS,
    REPORTS,
    STOPPING,
    TAGS,
    TIMED,
    UTILITY,
    WORST,
    Cell,
)
from papers.data import sources
from papers.pie import attacks, bounds, utility
from papers.results import Measurement, Row
from papers.uldp.fig9 import measure_maps
from papers.uldp.losses import ENDS, ESTIMATORS, STOPPED, losses
from papers.uldp.personalized import measure_cells, measure_tags
from papers.uldp.worst_case import measure_worst

Task = Callable[[Cell, Any, int], Iterator[Row]]

TASKS: dict[str, Task] = {
    ESTIMATE: losses(ESTIMATORS),
    STOPPING: losses(ENDS),
    TIMED: losses(ESTIMATORS | {STOPPED: "em"}),
    TAGS: measure_tags,
    CELLS: measure_cells,
    MAPS: measure_maps,
    WORST: measure_worst,
    BOUNDS: bounds.measure_bounds,
    ATTACKED: attacks.measure_attack,
    MATCHERS: attacks.measure_matchers,
    REPORTS: attacks.measure_reports,
    UTILITY: utility.measure_utility,
}
"""Every task by name: from a cell, its population and the number of a run to that run's rows."""


def measure(cell: Cell, folder: Path | None) -> list[Measurement]:
    """Measure a cell.

    Raises:
        ParameterError: if the data set has changed since the cell was made.
        DataError: if it cannot be loaded.
    """
    population = sources.load(cell.population, folder)
    if population.fingerprint != cell.data:
        raise ParameterError(f"{cell.population} has changed while it was in use; start again.")
    return [
        Measurement(cell.population, cell.epsilon, cell.drawn, run, row)
        for run in range(cell.first, cell.first + cell.runs)
        for row in TASKS[cell.task](cell, population, run)
    ]
