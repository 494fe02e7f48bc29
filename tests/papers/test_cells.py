"""Cells: what is measured, that it can be measured again, and that nothing finished is measured twice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from census_file import write_census
from discreet import Domain
from discreet.errors import DiscreetError, ParameterError
from papers import runner
from papers.cells import TIMED, Cell
from papers.data import sources
from papers.results import Measurement
from papers.tasks import measure as measured
from papers.uldp.mechanisms import NAMES, NO_PRIVACY, PAPER, make_mechanism

NAME = "us-census-1990"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_census(tmp_path)


def cell(folder: Path, mechanism: str = "uRAP", epsilon: float | None = 1.0, **more: Any) -> Cell:
    return Cell(NAME, sources.load(NAME, folder).fingerprint, mechanism, epsilon, **more)


def measure(cell: Cell, folder: Path) -> list[Any]:
    return [one.row for one in measured(cell, folder)]


def without_times(rows: list[Any]) -> list[Any]:
    return [
        replace(one, row=without_times([one.row])[0]) if isinstance(one, Measurement) else replace(one, seconds=0.0)
        for one in rows
    ]


def test_every_mechanism_protects_whom_it_should(folder: Path) -> None:
    found = {name: measure(cell(folder, name), folder)[0].sensitive for name in PAPER}
    assert found == {"RR": 400, "RAPPOR": 400, "uRR": 76, "uRAP": 76}
    assert measure(cell(folder, NO_PRIVACY, None), folder)[0].sensitive == 0
    for size in (1, 399, 400):
        assert {row.sensitive for row in measure(cell(folder, drawn=size), folder)} == {size}
    with pytest.raises(ParameterError, match=r"^mechanisms are RR, RAPPOR, uRR, uRAP"):
        make_mechanism("PRAM", Domain(range(3)), 1.0)


def test_urap_is_the_papers_to_the_letter() -> None:
    some = Domain(range(3), sensitive=[0])
    assert make_mechanism("uRAP", some, 1.0).clear_blocks
    assert not make_mechanism("uRAP", Domain(range(3)), 1.0).clear_blocks
    assert not make_mechanism("RAPPOR", some, 1.0).clear_blocks
    assert not any(make_mechanism(name, some, 1.0, 0.3).clear_blocks for name in NAMES if name != "uRAP")


def test_runs_do_not_depend_on_how_they_are_grouped(folder: Path) -> None:
    together = measured(cell(folder, runs=3), folder)
    apart = [row for first in range(3) for row in measured(cell(folder, first=first), folder)]
    assert without_times(together) == without_times(apart)
    assert len({one.row.tv for one in together if one.row.estimator == "emp"}) == 3
    assert without_times(measured(cell(folder, seed=1), folder)) != without_times(apart[:3])


# Resuming


def test_what_is_finished_is_not_measured_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [cell(folder, name) for name in PAPER]
    asked: list[str] = []

    def failing(one: Cell, where: Path | None) -> list[Measurement]:
        asked.append(one.mechanism)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return measured(one, where)

    monkeypatch.setattr(runner, "measure", failing)
    store = tmp_path / "cells"
    with pytest.raises(KeyboardInterrupt):
        runner.run_cells(cells, store, folder=folder)
    assert len(list(store.iterdir())) == 2
    told: list[tuple[int, int]] = []
    rows = runner.run_cells(cells, store, folder=folder, progress=lambda _, done, total: told.append((done, total)))
    assert asked == ["RR", "RAPPOR", "uRR", "uRR", "uRAP"]
    assert told == [(3, 4), (4, 4)]
    assert without_times(rows) == without_times([row for one in cells for row in measured(one, folder)])


def test_two_processes_find_what_one_finds(folder: Path, tmp_path: Path) -> None:
    cells = [cell(folder, "uRR"), cell(folder, "RR"), cell(folder, "uRR", 6.0, task=TIMED)]
    alone = runner.run_cells(cells, tmp_path / "one", folder=folder)
    pooled = runner.run_cells(cells, tmp_path / "two", jobs=2, folder=folder)
    assert without_times(pooled) == without_times(alone)
    with pytest.raises(DiscreetError, match="jobs must be at least 1, got jobs=0"):
        runner.run_cells(cells, tmp_path, jobs=0)
