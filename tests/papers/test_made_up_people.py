"""Made-up check-ins, and the reports and losses that the figures of [PIE] make of them."""

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import chisquare

from papers.cells import REPORTS, UTILITY, Cell
from papers.data import made_up
from papers.data.made_up import EXPONENT, SHIFT, MadeUp
from papers.pie.attacks import HALF, MAXIMUM, Attack
from papers.pie.bounds import BY_PSE, ErrorBound
from papers.pie.settings import GLH, RR
from papers.pie.utility import EMP, THRESHOLD, UtilityLoss, largest_protecting_epsilon
from papers.tasks import TASKS

VILLAGE = MadeUp("village", "Made up for tests", 400, 300)


def cell(task: str, mechanism: str, epsilon: float, drawn: int | None = None) -> Cell:
    return Cell(VILLAGE.name, VILLAGE.fingerprint, mechanism, epsilon, drawn, task=task)


def test_new_places_come_by_their_popularity() -> None:
    generator = np.random.default_rng(20261126)
    world = made_up.World.of(200, generator)
    popularity = np.diff(world.reached)
    wanted = (np.arange(200) + 1 + SHIFT) ** -EXPONENT
    assert np.sort(popularity)[::-1] == pytest.approx(wanted / wanted.sum())
    visited = world.visited(world.cities(100_000, generator), generator)
    counts = np.bincount(visited, minlength=200)
    assert chisquare(counts, popularity * 100_000).pvalue > 1e-9
    assert chisquare(counts, np.full(200, 500.0)).pvalue < 1e-9


@pytest.mark.parametrize(("mechanism", "drawn"), [(RR, None), (GLH, 50), (GLH, 5000)])
def test_losses_are_those_of_the_papers_formulas(mechanism: str, drawn: int | None) -> None:
    """(22) and (23), by 40 runs: means within four standard errors, and not of an epsilon that is a tenth larger."""
    asked = cell(UTILITY, mechanism, 2.0, drawn)
    rows = [row for run in range(40) for row in TASKS[UTILITY](asked, VILLAGE, run)]
    losses = [row for row in rows if isinstance(row, UtilityLoss) and (row.estimator, row.among) == (EMP, "all")]
    found, printed = np.array([row.mse for row in losses]), losses[0].printed
    chance = found.std(ddof=1) / len(found) ** 0.5
    assert abs(found.mean() - printed) < 4 * chance
    other = next(iter(TASKS[UTILITY](replace(asked, epsilon=2.2), VILLAGE, 0)))
    assert isinstance(other, UtilityLoss)
    assert abs(found.mean() - other.printed) > 4 * chance
    cut = [row for row in rows if isinstance(row, UtilityLoss) and row.estimator == THRESHOLD and row.among == "all"]
    assert fmean(row.mse for row in cut) < printed / 2


def test_reports_are_attacked_by_both_attackers() -> None:
    rows = list(TASKS[REPORTS](cell(REPORTS, RR, 8.0), VILLAGE, 0))
    halves, places = (row for row in rows if isinstance(row, Attack))
    assert (halves.attack, places.attack) == (HALF, MAXIMUM)
    errors = {row.source: row.error for row in rows if isinstance(row, ErrorBound)}
    assert {f"{BY_PSE}, {HALF}", f"{BY_PSE}, {MAXIMUM}", "Prop. 10", "Thm 11 or 13", "exact"} < set(errors)
    assert errors["exact"] < places.error < halves.error < 1
    assert errors["Prop. 10"] < errors["exact"]


def test_no_epsilon_protects_few_users_by_the_corollary() -> None:
    assert largest_protecting_epsilon(5_000, 10_000, by_paper=True) is None
    exact, paper = (largest_protecting_epsilon(20_000, 153_217, by_paper=way) for way in (False, True))
    assert exact is not None
    assert paper is not None
    assert paper + 1 < exact < 10
