"""The tasks of cells by name, and the measuring of one cell."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from papers import identities
from papers.cells import (
    ATTACKED,
    BOUNDS,
    BUCKETS,
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
    Row,
)
from papers.data import sources
from papers.tagged import measure_cells, measure_maps, measure_tags
from papers.trials import ENDS, ESTIMATORS, STOPPED, losses
from papers.worst import measure_worst

Task = Callable[[Cell, Any, int], Iterator[Row]]

TASKS: dict[str, Task] = {
    ESTIMATE: losses(ESTIMATORS),
    STOPPING: losses(ENDS),
    TIMED: losses(ESTIMATORS | {STOPPED: "em"}),
    TAGS: measure_tags,
    CELLS: measure_cells,
    MAPS: measure_maps,
    WORST: measure_worst,
    BOUNDS: identities.measure_bounds,
    ATTACKED: identities.measure_attack,
    MATCHERS: identities.measure_matchers,
    REPORTS: identities.measure_reports,
    UTILITY: identities.measure_utility,
    BUCKETS: identities.measure_buckets,
}
"""Every task by name: from a cell, its population and the number of a run to that run's rows."""


def measure(cell: Cell, folder: Path | None) -> list[Row]:
    """Measure a cell.

    Raises:
        ParameterError: if the data set has changed since the cell was made.
        DataError: if it cannot be loaded.
    """
    population = sources.load(cell.population, folder)
    if population.fingerprint != cell.data:
        raise ParameterError(f"{cell.population} has changed while it was in use; start again.")
    return [
        {"population": cell.population, "epsilon": cell.epsilon, "drawn": cell.drawn, "run": run, **row}
        for run in range(cell.first, cell.first + cell.runs)
        for row in TASKS[cell.task](cell, population, run)
    ]
