"""A figure or table of a paper, made again on whatever data are at hand; its tables and its findings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.core.result_table import ResultTable
from papers.cells import Cell
from papers.results import Results


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an experiment: runs per point, speed and seed.

    Attributes:
        runs: per point; None for the figure's own number (the paper's).
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
class Finding:
    """A finding of a paper as a number against a threshold, on one data set; thresholds were chosen before the data.

    Attributes:
        claim: the paper's words.
        data: name of the data set.
        measured: the meaning of the number.
        number: it.
        relation: how it must compare with the threshold.
        threshold: what it is compared with.
        detail: the parts of the number.
    """

    claim: str
    data: str
    measured: str
    number: float
    relation: Literal[">=", "<="]
    threshold: float
    detail: str = ""

    @property
    def holds(self) -> bool:
        """True if the statement holds; false where the number is nan."""
        return self.number >= self.threshold if self.relation == ">=" else self.number <= self.threshold

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return (
            f"{self.data}: {self.claim}: {verdict} ({self.measured} = {self.number:.4g}, "
            f"wanted {self.relation} {self.threshold:.4g})"
        )


Plan = Callable[[Mapping[str, Any], Settings], Sequence[Cell]]
Charts = Callable[[Results, Mapping[str, Any]], Mapping[str, Any]]
Findings = Callable[[Results], Sequence[Finding]]
Tables = Callable[[Results], Sequence[ResultTable]]


def no_charts(_: Results, __: Mapping[str, Any]) -> dict[str, Any]:
    """Return no charts, for a figure that is a table."""
    return {}


def nothing(_: Results) -> list[Any]:
    """Return no tables or no findings, for a figure without them."""
    return []


@dataclass(frozen=True, slots=True)
class Figure:
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
    plan: Plan
    charts: Charts
    findings: Findings = nothing
    tables: Tables = nothing
    runs: tuple[int, int] = (100, 3)
    settings: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The name as part of a file name."""
        return self.name.replace("/", "-")
