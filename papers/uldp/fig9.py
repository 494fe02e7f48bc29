"""[ULDP, Fig. 9]: maps of the points of interest and of the truth behind each tag."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.pictures.charts import Map, map_chart
from papers.cells import MAPS, Cell
from papers.data.population import Population
from papers.figure import Figure, Finding, Settings
from papers.results import Results, Row
from papers.uldp.fig8 import MAP_HERE, PAPER_MAP
from papers.uldp.losses import errors
from papers.uldp.mechanisms import NO_PRIVACY
from papers.uldp.personalized import points_of_interest, true_backgrounds
from papers.uldp.sweep import CellMaker, Comparison

POINTS, OPEN = "points of interest", "in the open"
"""Two guesses of what is behind a tag."""

ON_MAPS = Comparison((), (1, 1), MAPS, (POINTS, OPEN))


@dataclass(frozen=True, kw_only=True)
class GuessError(Row):
    """The distance of a guess to the distribution behind a tag, which stands in the place of a mechanism.

    Attributes:
        guess: `POINTS` or `OPEN`.
        tv: total variation distance.
        mse: summed squared error.
    """

    guess: str
    tv: float
    mse: float


def plan_maps(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return one cell per data set: maps need no reports."""
    return [
        cell
        for name, population in populations.items()
        for cell in CellMaker(name, population, settings, ON_MAPS).cells(NO_PRIVACY, None)
    ]


def measure_maps(cell: Cell, population: Population, run: int) -> Iterator[GuessError]:
    """Measure the distance of the truth behind each tag to points of interest, and to the values in the open."""
    hidden = np.sum(list(population.behind.values()), axis=0)
    open_ = np.where(population.domain.sensitive, 0, population.counts - hidden)
    known, truth = points_of_interest(population), true_backgrounds(population)
    for tag in truth:
        for kind, guess in ((POINTS, known[tag]), (OPEN, open_ / open_.sum())):
            yield GuessError(
                mechanism=tag,
                values=population.domain.size,
                sensitive=population.domain.sensitive_count,
                n=int(population.behind[tag].sum()),
                guess=kind,
                **errors(guess, truth[tag]),
            )


def charts_of_maps(_: Results, populations: Mapping[str, Population]) -> dict[str, Any]:
    """Return maps of the points of interest beside those of the truth, by tag."""
    charts = {}
    for name, population in populations.items():
        known, truth = points_of_interest(population), true_backgrounds(population)
        places = population.domain.table()
        panels = [
            Map(f"{tag}: {what}", places, shares)
            for tag in truth
            for what, shares in (("points of interest", known[tag]), ("check-ins (truth)", truth[tag]))
        ]
        charts[name] = map_chart(panels, title=f"Where homes and workplaces are: {population.title}", across=2)
    return charts


def findings_on_maps(results: Results) -> list[Finding]:
    """Check that points of interest are closer to the distribution behind each tag than the values in the open."""
    findings = []
    for name, tag in dict.fromkeys((point.population, point.mean.mechanism) for point in results.points):
        far = {
            kind: results.one(GuessError, population=name, mechanism=tag, guess=kind).mean.tv for kind in (OPEN, POINTS)
        }
        findings.append(
            Finding(
                f"points of interest tell more of where {tag} is than what is told in the open",
                name,
                "total variation distances to the truth: in the open over points of interest",
                far[OPEN] / far[POINTS],
                ">=",
                1.0,
                "; ".join(f"{kind}: {value:.3g}" for kind, value in far.items()),
            )
        )
    return findings


FIGURE = Figure(
    "uldp/fig9",
    "[ULDP, Fig. 9] maps of the tags",
    "Where points of interest that carry a tag are, and where the people are who hold it secret.",
    PAPER_MAP,
    MAP_HERE,
    plan_maps,
    charts_of_maps,
    findings_on_maps,
    runs=ON_MAPS.runs,
    settings=("no reports are made: these are the data themselves",),
)
