"""An artefact: a figure or table of a paper, made again on whatever data are at hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from papers.cells import Cell
from papers.finding import Finding
from papers.results import Results


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an experiment: runs per point, speed and seed.

    Attributes:
        runs: per point; None for the artefact's own number (the paper's).
        quick: fewer points and runs, to see that all works.
        seed: of the experiment; the same seed gives the same numbers, but for times.
    """

    runs: int | None = None
    quick: bool = False
    seed: int = 20190814

    def chosen(self, full: int, quick: int) -> int:
        """Return the number of runs per point."""
        return self.runs if self.runs is not None else quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Table:
    """A table of numbers, as texts.

    Attributes:
        caption: what they are.
        heads: of the columns.
        rows: as texts.
        left: how many columns from the left are words; the others are numbers.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


def no_charts(_: Results, __: Mapping[str, Any]) -> dict[str, Any]:
    """Return no charts, for an artefact that is a table."""
    return {}


def nothing(_: Results) -> list[Any]:
    """Return no tables or no findings, for an artefact without them."""
    return []


@dataclass(frozen=True, slots=True)
class Artefact:
    """A figure or table of a paper: its plan, charts, tables and findings.

    Attributes:
        name: as in ``discreet reproduce uldp/fig5``.
        title: for people.
        shows: what it shows, in a sentence or two.
        paper: names of the paper's own data sets.
        instead: names of those at hand.
        plan: from the data sets at hand and the settings to the cells.
        charts: from the results and the data sets to charts, by name of a file.
        findings: from the results to the paper's findings, checked.
        tables: from the results to tables.
        runs: how many runs per point (the paper's number; with ``quick``).
        settings: what else is to be said of how it is measured.
    """

    name: str
    title: str
    shows: str
    paper: tuple[str, ...]
    instead: tuple[str, ...]
    plan: Callable[[Mapping[str, Any], Settings], Sequence[Cell]]
    charts: Callable[[Results, Mapping[str, Any]], Mapping[str, Any]]
    findings: Callable[[Results], Sequence[Finding]] = nothing
    tables: Callable[[Results], Sequence[Table]] = nothing
    runs: tuple[int, int] = (100, 3)
    settings: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The name as part of a file name."""
        return self.name.replace("/", "-")
