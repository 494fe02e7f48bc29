"""The making of artefacts: cells are measured, then CSV, pictures, findings and the report are written."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DataError, ParameterError
from discreet.io.atomic import replacing
from discreet.io.json_text import json_text
from discreet.plots.pictures import check_drawing
from papers.artefact import Artefact, Settings
from papers.cells import Cell
from papers.data import sources
from papers.data.dataset import Dataset
from papers.finding import Finding
from papers.registry import ARTEFACTS
from papers.report import Section, page
from papers.results import Results
from papers.runner import Progress, finished, run_cells

_PIXELS_PER_INCH = 144


@dataclass(frozen=True, slots=True)
class Workshop:
    """The workshop of artefacts: the folder for output, the processes and the data sets.

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
    """An artefact that was made: its results, findings and files."""

    artefact: Artefact
    results: Results
    findings: Sequence[Finding]
    files: Sequence[Path]


def at_hand(artefact: Artefact, workshop: Workshop) -> tuple[dict[str, Dataset], dict[str, list[str]]]:
    """Return the data sets that an artefact can use, and the files that others lack.

    Raises:
        DataError: if there are none.
        ParameterError: if a data set is asked for that the artefact has no use for.
    """
    listed = (*artefact.paper, *artefact.instead)
    if unknown := [name for name in workshop.names if name not in sources.NAMES]:
        raise ParameterError(f"data sets are {', '.join(sources.NAMES)}, got {unknown[0]!r}.")
    wanted = [name for name in listed if not workshop.names or name in workshop.names]
    lacking = {name: files for name in wanted if (files := sources.missing_files(name, workshop.data))}
    found = {name: sources.load(name, workshop.data) for name in wanted if name not in lacking}
    if not found:
        raise DataError(
            f"{artefact.name} has no data: it can use {', '.join(listed)}, and "
            f"{'; '.join(f'{name} lacks {file}' for name, (file, *_) in lacking.items()) or 'none of them was chosen'}."
        )
    return found, lacking


def usable(artefact: Artefact, workshop: Workshop) -> bool:
    """Return true if a data set of the artefact is at hand."""
    listed = [name for name in (*artefact.paper, *artefact.instead) if not workshop.names or name in workshop.names]
    return any(not sources.missing_files(name, workshop.data) for name in listed)


def make(artefact: Artefact, settings: Settings, workshop: Workshop, progress: Progress | None = None) -> Made:
    """Make one artefact and put its section into the report.

    Args:
        artefact: which.
        settings: how much is measured.
        workshop: where.
        progress: called with what is being done, how many cells are done, and how many there are.

    Raises:
        DataError: if no data set that it can use is at hand.
        MissingExtraError: if the ``plot`` extra is not installed.
        ParameterError: if the output folder cannot be made.
    """
    check_drawing()
    _make_folder(workshop)
    populations, lacking = at_hand(artefact, workshop)
    cells = list(artefact.plan(populations, settings))
    before = sum(finished(cell, workshop.cells) is not None for cell in cells)
    rows = run_cells(cells, workshop.cells, jobs=workshop.jobs, folder=workshop.data, progress=progress)
    results = Results(rows)
    findings = artefact.findings(results)
    files, pictures = _written(artefact, (results, findings), populations, workshop.output)
    said = _settings_in_words(artefact, settings, cells, before)
    tables = artefact.tables(results)
    section = Section(artefact, said, populations, lacking, pictures, tables, findings, [file.name for file in files])
    _keep_section(section, workshop)
    return Made(artefact, results, findings, [*files, workshop.report])


def _make_folder(workshop: Workshop) -> None:
    try:
        workshop.cells.mkdir(parents=True, exist_ok=True)
        (workshop.output / "sections").mkdir(exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"{workshop.output} cannot be made ({type(error).__name__}); choose another output folder."
        ) from None


def _settings_in_words(artefact: Artefact, settings: Settings, cells: Sequence[Cell], before: int) -> list[str]:
    runs = settings.chosen(*artefact.runs)
    fewer = "" if runs >= artefact.runs[0] else f", where the paper has {artefact.runs[0]}"
    epsilons = sorted({cell.epsilon for cell in cells if cell.epsilon is not None})
    many = f"mean over {runs} runs" if runs > 1 else "a single run"
    said = [f"{many}{fewer}; seed {settings.seed}" + ("; quick: fewer points" if settings.quick else "")]
    if epsilons:
        said.append(f"epsilon: {', '.join(f'{epsilon:.4g}' for epsilon in epsilons)}")
    return [*said, f"{len(cells)} cells, {before} of them finished before"]


def _written(
    artefact: Artefact, made: tuple[Results, Sequence[Finding]], populations: Mapping[str, Dataset], output: Path
) -> tuple[list[Path], Mapping[str, str]]:
    results, findings = made
    files = [output / f"{artefact.slug}.csv", output / f"{artefact.slug}-findings.json"]
    results.write_csv(files[0])
    told = [asdict(finding) | {"holds": finding.holds} for finding in findings]
    with replacing(files[1], force=True) as beside:
        beside.write_text(json_text(told, indent=2) + "\n", encoding="utf-8")
    pictures = {}
    for name, chart in artefact.charts(results, populations).items():
        place = output / f"{artefact.slug}-{name}"
        files += _draw(chart, place)
        pictures[name] = place.with_name(f"{place.name}.svg").read_text(encoding="utf-8")
    return files, pictures


def _draw(chart: Any, place: Path) -> list[Path]:
    files = [place.with_name(f"{place.name}{ending}") for ending in (".svg", ".png")]
    for file in files:
        with replacing(file, force=True) as beside:
            chart.save(str(beside), **({"ppi": _PIXELS_PER_INCH} if file.suffix == ".png" else {}))
    return files


def _keep_section(section: Section, workshop: Workshop) -> None:
    """Write a section into the report, in its place; the sections of other artefacts stay."""
    folder = workshop.output / "sections"
    with replacing(folder / f"{section.artefact.slug}.html", force=True) as beside:
        beside.write_text(section.html(), encoding="utf-8")
    made = [folder / f"{artefact.slug}.html" for artefact in ARTEFACTS.values()]
    with replacing(workshop.report, force=True) as beside:
        beside.write_text(page([file.read_text(encoding="utf-8") for file in made if file.is_file()]), encoding="utf-8")
