"""One self-contained HTML page: a section per figure, with its figures, settings, data and findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.core.result_table import ResultTable
from discreet.pictures.pages import PageFigure, render
from papers.data.dataset import Dataset
from papers.figure import Figure, Finding

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """The section of the report on one figure.

    Attributes:
        figure: which.
        sentences: on the settings of this run.
        datasets: the data used, by name.
        lacking: the data sets not at hand, with the files that are not there.
        pictures: SVG texts, by name of the data set.
        tables: numbers to be read.
        findings: the paper's, checked.
        files: names of files written.
    """

    figure: Figure
    sentences: Sequence[str]
    datasets: Mapping[str, Dataset]
    lacking: Mapping[str, Sequence[str]]
    pictures: Mapping[str, str]
    tables: Sequence[ResultTable]
    findings: Sequence[Finding]
    files: Sequence[str]

    def html(self) -> str:
        """Return the section as HTML."""
        return render(
            "section.html",
            _HERE,
            figure=self.figure,
            pictures=[self._picture(name, svg) for name, svg in self.pictures.items()],
            tables=self.tables,
            findings=self.findings,
            settings=[*self.sentences, *self.figure.settings],
            datasets=[_described(dataset) for dataset in self.datasets.values()],
            lacking=[f"{name} (needs {', '.join(files)})" for name, files in self.lacking.items()],
            files=self.files,
        )

    def _picture(self, name: str, svg: str) -> PageFigure:
        """Return a picture; in words it is what the figure shows, and its findings."""
        holding = [finding.claim for finding in self.findings if finding.data == name and finding.holds]
        remark = f" On these data: {'; '.join(holding)}." if holding else ""
        return PageFigure(f"{self.figure.title}, on {name}", f"{self.figure.shows}{remark}", svg)


def page(sections: Sequence[str]) -> str:
    """Return the whole report as HTML.

    Args:
        sections: HTML, as `Section.html` makes it.
    """
    return render("report.html", _HERE, sections=sections)


def _described(dataset: Dataset) -> dict[str, object]:
    differs = [f"differs from the paper: {sentence}" for sentence in dataset.differs] or ["the paper's own data"]
    names = ("title", "name", "facts", "credit")
    return {name: getattr(dataset, name) for name in names} | {"differences": [*dataset.cuts, *differs]}
