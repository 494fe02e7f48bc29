"""The running of cells on one or several processors; cells that were finished before are read from files."""

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from discreet.errors import ParameterError
from discreet.files.writing import replacing
from discreet.simulation.study import StepCallback
from papers.cells import Cell
from papers.results import Measurement
from papers.tasks import measure


def run_cells(
    cells: Sequence[Cell],
    store: Path,
    *,
    jobs: int = 1,
    folder: Path | None = None,
    progress: StepCallback | None = None,
) -> list[Measurement]:
    """Return the measurements of all cells, in order.

    Every finished cell is kept in a file of its own, written whole or not at all, so that a run that was interrupted
    goes on where it stopped and cells that several figures share are measured once.

    Args:
        cells: what to measure.
        store: folder of finished cells; made if need be.
        jobs: how many processes; cells that are timed run one by one in any case.
        folder: where the data sets are.
        progress: called with what is being done, how many cells are done, and how many there are.

    Raises:
        ParameterError: if ``jobs`` is below 1.
    """
    if jobs < 1:
        raise ParameterError(f"jobs must be at least 1, got jobs={jobs}.")
    store.mkdir(parents=True, exist_ok=True)
    keys = [cell.key for cell in cells]
    asked = dict(zip(keys, cells, strict=True))
    rows_of = {key: rows for key, cell in asked.items() if (rows := finished(cell, store)) is not None}
    rest = [cell for key, cell in asked.items() if key not in rows_of]
    for done, (cell, rows) in enumerate(_measured(rest, jobs, folder), start=1 + len(rows_of)):
        _keep(cell, rows, store)
        rows_of[cell.key] = rows
        if progress is not None:
            at = "" if cell.epsilon is None else f", epsilon {cell.epsilon:.3g}"
            progress(f"{cell.population}, {cell.mechanism}{at}", done, len(asked))
    return [row for key in keys for row in rows_of[key]]


def finished(cell: Cell, store: Path) -> list[Measurement] | None:
    """Return the measurements of a cell that was finished before, or None."""
    try:
        rows = json.loads((store / f"{cell.key}.json").read_text(encoding="utf-8"))["rows"]
        return [Measurement.of_json(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # What cannot be read is measured again.
        return None


def _keep(cell: Cell, rows: list[Measurement], store: Path) -> None:
    content: dict[str, object] = {"population": cell.population, "mechanism": cell.mechanism, "epsilon": cell.epsilon}
    content |= {"rows": [row.as_json() for row in rows]}
    with replacing(store / f"{cell.key}.json", force=True) as beside:
        beside.write_text(json.dumps(content), encoding="utf-8")


def _measured(cells: list[Cell], jobs: int, folder: Path | None) -> Iterator[tuple[Cell, list[Measurement]]]:
    together = [cell for cell in cells if not cell.timed]
    alone = [cell for cell in cells if cell.timed]
    if jobs > 1 and len(together) > 1:
        yield from _measured_in_pool(together, jobs, folder)
        together = []
    for cell in [*together, *alone]:
        yield cell, measure(cell, folder)


def _measured_in_pool(cells: list[Cell], jobs: int, folder: Path | None) -> Iterator[tuple[Cell, list[Measurement]]]:
    pool = _pool(jobs)
    try:
        pending: dict[Future[list[Measurement]], Cell] = {pool.submit(measure, cell, folder): cell for cell in cells}
        for future in as_completed(pending):
            yield pending[future], future.result()
    except BaseException:
        # What was asked for and not begun is not wanted any more.
        _pool.cache_clear()
        pool.shutdown(cancel_futures=True)
        raise


@lru_cache(maxsize=1)
def _pool(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of processes that the next figure uses too, with compiled kernels and the data in memory."""
    # Spawned, not forked: compiled kernels hold threads, and threads do not survive a fork.
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_one_thread)


def _one_thread() -> None:
    os.environ["DISCREET_THREADS"] = "1"
