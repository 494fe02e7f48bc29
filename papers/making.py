"""The making of figures: cells are measured, then CSV, pictures, findings and the report are written."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.core.result_table import json_text
from discreet.errors import DataError, ParameterError
from discreet.extras import check_drawing
from discreet.files.writing import replacing
from discreet.simulation.study import StepCallback
from papers.cells import Cell
from papers.data import sources
from papers.data.dataset import Dataset
from papers.drawing import pictures
from papers.figure import Figure, Finding, Settings
from papers.registry import FIGURES
from papers.report import Section, page
from papers.results import Results
from papers.runner import finished, run_cells


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment in which figures are made: the folder for output, the processes and the data sets.

    Attributes:
        output: folder for everything that is written.
        jobs: how many processes measure.
        data: folder of the data sets; None for the usual one.
        names: only these data sets; none for all that are at hand.
    """

    output: Path
    jobs: int = 1
    data: Path | None = None
    names: tuple[str, ...] = ()

    @property
    def cells(self) -> Path:
        """The folder of finished cells."""
        return self.output / "cells"

    @property
    def report(self) -> Path:
        """The file of the report."""
        return self.output / "report.html"


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A figure that was made: its results, findings and files."""

    figure: Figure
    results: Results
    findings: Sequence[Finding]
    files: Sequence[Path]


def at_hand(figure: Figure, environment: Environment) -> tuple[dict[str, Dataset], dict[str, list[str]]]:
    """Return the data sets that a figure can use, and the files that others lack.

    Raises:
        DataError: if there are none.
        ParameterError: if a data set is asked for that the figure has no use for.
    """
    listed = (*figure.paper, *figure.instead)
    if unknown := [name for name in environment.names if name not in sources.NAMES]:
        raise ParameterError(f"data sets are {', '.join(sources.NAMES)}, got {unknown[0]!r}.")
    wanted = [name for name in listed if not environment.names or name in environment.names]
    lacking = {name: files for name in wanted if (files := sources.missing_files(name, environment.data))}
    datasets = {name: sources.load(name, environment.data) for name in wanted if name not in lacking}
    if not datasets:
        raise DataError(
            f"{figure.name} has no data: it can use {', '.join(listed)}, and "
            f"{'; '.join(f'{name} lacks {file}' for name, (file, *_) in lacking.items()) or 'none of them was chosen'}."
        )
    return datasets, lacking


def usable(figure: Figure, environment: Environment) -> bool:
    """Return true if a data set of the figure is at hand."""
    listed = [name for name in (*figure.paper, *figure.instead) if not environment.names or name in environment.names]
    return any(not sources.missing_files(name, environment.data) for name in listed)


def make(figure: Figure, settings: Settings, environment: Environment, progress: StepCallback | None = None) -> Made:
    """Make one figure and put its section into the report.

    Args:
        figure: which.
        settings: how much is measured.
        environment: where.
        progress: called with what is being done, how many cells are done, and how many there are.

    Raises:
        DataError: if no data set that it can use is at hand.
        MissingExtraError: if the ``plot`` extra is not installed.
        ParameterError: if the output folder cannot be made.
    """
    check_drawing()
    _make_folder(environment)
    populations, lacking = at_hand(figure, environment)
    cells = list(figure.plan(populations, settings))
    before = sum(finished(cell, environment.cells) is not None for cell in cells)
    rows = run_cells(cells, environment.cells, jobs=environment.jobs, folder=environment.data, progress=progress)
    results = Results(rows)
    findings = figure.findings(results)
    files, pictures = _written(figure, (results, findings), populations, environment.output)
    sentences = _settings_in_words(figure, settings, cells, before)
    tables = figure.tables(results)
    section = Section(
        figure, sentences, populations, lacking, pictures, tables, findings, [file.name for file in files]
    )
    _keep_section(section, environment)
    return Made(figure, results, findings, [*files, environment.report])


def _make_folder(environment: Environment) -> None:
    try:
        environment.cells.mkdir(parents=True, exist_ok=True)
        (environment.output / "sections").mkdir(exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"{environment.output} cannot be made ({type(error).__name__}); choose another output folder."
        ) from None


def _settings_in_words(figure: Figure, settings: Settings, cells: Sequence[Cell], before: int) -> list[str]:
    runs = settings.chosen(*figure.runs)
    fewer = "" if runs >= figure.runs[0] else f", where the paper has {figure.runs[0]}"
    epsilons = sorted({cell.epsilon for cell in cells if cell.epsilon is not None})
    many = f"mean over {runs} runs" if runs > 1 else "a single run"
    sentences = [f"{many}{fewer}; seed {settings.seed}" + ("; quick: fewer points" if settings.quick else "")]
    if epsilons:
        sentences.append(f"epsilon: {', '.join(f'{epsilon:.4g}' for epsilon in epsilons)}")
    return [*sentences, f"{len(cells)} cells, {before} of them finished before"]


def _written(
    figure: Figure, outcome: tuple[Results, Sequence[Finding]], populations: Mapping[str, Dataset], output: Path
) -> tuple[list[Path], Mapping[str, str]]:
    results, findings = outcome
    files = [output / f"{figure.slug}.csv", output / f"{figure.slug}-findings.json"]
    results.write_csv(files[0])
    rows = [asdict(finding) | {"holds": finding.holds} for finding in findings]
    with replacing(files[1], force=True) as beside:
        beside.write_text(json_text(rows, indent=2) + "\n", encoding="utf-8")
    pictures = {}
    for name, chart in figure.charts(results, populations).items():
        place = output / f"{figure.slug}-{name}"
        files += _draw(chart, place)
        pictures[name] = place.with_name(f"{place.name}.svg").read_text(encoding="utf-8")
    return files, pictures


def _draw(chart: Any, place: Path) -> list[Path]:
    svg, png = pictures(chart)
    files = [place.with_name(f"{place.name}{ending}") for ending in (".svg", ".png")]
    for file, data in zip(files, (svg.encode(), png), strict=True):
        with replacing(file, force=True) as beside:
            beside.write_bytes(data)
    return files


def _keep_section(section: Section, environment: Environment) -> None:
    """Write a section into the report, in its place; the sections of other figures stay."""
    folder = environment.output / "sections"
    with replacing(folder / f"{section.figure.slug}.html", force=True) as beside:
        beside.write_text(section.html(), encoding="utf-8")
    sections = [folder / f"{figure.slug}.html" for figure in FIGURES.values()]
    with replacing(environment.report, force=True) as beside:
        beside.write_text(
            page([file.read_text(encoding="utf-8") for file in sections if file.is_file()]), encoding="utf-8"
        )
