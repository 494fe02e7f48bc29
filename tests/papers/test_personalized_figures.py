"""The personalized mechanism's figures, on a small map written in the paper's own format."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.cells import MAPS, TAGS, Cell
from papers.data import sources
from papers.data.population import Population
from papers.figure import Settings
from papers.making import Environment, Made, make
from papers.registry import figure
from papers.tasks import measure as measured
from papers.uldp.fig9 import OPEN, POINTS
from papers.uldp.mechanisms import NO_PRIVACY
from papers.uldp.personalized import line_of, points_of_interest, true_backgrounds

NAME = "foursquare-tist2015"
CATEGORIES = ["Hospital", "Home (private)", "Office", "Park"]


def write_map(folder: Path, visits: int = 3_000) -> Path:
    """Write check-ins at 60 places around Times Square, every fourth of them of one category."""
    generator = np.random.default_rng(20261120)
    lat, lon = generator.uniform(40.745, 40.765, 60), generator.uniform(-73.990, -73.975, 60)
    names = [f"4b{place:022d}" for place in range(60)]
    points = [
        f"{n}\t{a:.6f}\t{o:.6f}\t{CATEGORIES[p % 4]}\tUS\n"
        for p, (n, a, o) in enumerate(zip(names, lat, lon, strict=True))
    ]
    (folder / "dataset_TIST2015_POIs.txt").write_text("".join(points))
    places = np.minimum(generator.geometric(0.05, visits) - 1, 59)
    users = generator.integers(0, 200, visits)
    rows = [f"{u}\t{names[p]}\tTue Apr 03 18:00:06 +0000 2012\t-240\n" for u, p in zip(users, places, strict=True)]
    (folder / "dataset_TIST2015_Checkins.txt").write_text("".join(rows))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_map(tmp_path_factory.mktemp("map"))


@pytest.fixture(scope="module")
def population(folder: Path) -> Population:
    return sources.load(NAME, folder)


def cell(population: Population, mechanism: str, epsilon: float | None, runs: int = 1, task: str = TAGS) -> Cell:
    return Cell(NAME, population.fingerprint, mechanism, epsilon, runs=runs, task=task)


def measure(cell: Cell, folder: Path) -> list[Any]:
    return [one.row for one in measured(cell, folder)]


def test_backgrounds_are_over_what_may_be_secret(population: Population) -> None:
    for known in (points_of_interest(population), true_backgrounds(population)):
        assert set(known) == {"home", "workplace"}
        for shares in known.values():
            assert shares.sum() == pytest.approx(1)
            assert shares[population.domain.sensitive].sum() == 0


def test_with_little_noise_only_knowledge_matters(folder: Path, population: Population) -> None:
    rows = {(line_of(row), row.estimator): row.tv for row in measure(cell(population, "uRR", 20.0), folder)}
    (base,) = measure(cell(population, NO_PRIVACY, None), folder)
    # Knowing where homes are saves the error of drawing people there.
    assert 0.5 * base.tv < rows["uRR (III)", "EM"] < 1.15 * base.tv
    assert rows["uRR (I)", "EM"] > 2 * base.tv


def test_maps_are_compared_with_the_truth(folder: Path, population: Population) -> None:
    rows = measure(cell(population, NO_PRIVACY, None, task=MAPS), folder)
    assert [(row.mechanism, row.guess) for row in rows] == [
        (tag, kind) for tag in ("home", "workplace") for kind in (POINTS, OPEN)
    ]
    home = rows[0]
    assert home.n == population.behind["home"].sum()
    known, truth = points_of_interest(population)["home"], true_backgrounds(population)["home"]
    assert home.tv == pytest.approx(np.abs(known - truth).sum() / 2)


def made(name: str, folder: Path, output: Path) -> Made:
    return make(figure(name), Settings(runs=1, quick=True), Environment(output, 1, folder, (NAME,)))


def test_the_figures_the_maps_and_the_table_are_made(folder: Path, tmp_path: Path) -> None:
    assert len(made("uldp/fig8", folder, tmp_path).findings) == 6
    assert len(made("uldp/fig13", folder, tmp_path).findings) == 6
    table = made("uldp/table1", folder, tmp_path)
    assert [finding.holds for finding in table.findings] == [True] * 6
    assert "the paper 0.0673, 0.027, 0.0734" in table.findings[0].detail
    assert len(table.figure.tables(table.results)[0].cells()) == 1 + 6
    assert len(made("beyond/fig8", folder, tmp_path).findings) == 3
    assert made("beyond/fig13", folder, tmp_path).findings == []
    maps = made("uldp/fig9", folder, tmp_path)
    assert [finding.data for finding in maps.findings] == [NAME, NAME]
    svg = next(file for file in maps.files if file.suffix == ".svg").read_text()
    assert svg.count("points of interest") >= 2
    assert "first_term" in (tmp_path / "uldp-table1.csv").read_text().splitlines()[0]
