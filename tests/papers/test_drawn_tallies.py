"""Tallies drawn from their joint law are tallies of real reports in distribution."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import Domain, RandomizedResponse, SeededRandom, SubsetSelection, UnaryEncoding
from discreet.errors import DataError
from discreet.mechanisms import BlockMechanism
from papers.data.drawn_tallies import can_draw, draw_tally

COUNTS = np.array([40, 0, 25, 10, 5])
RUNS = 2_000
SENSITIVE = [1, 3, 4]


def mechanisms(epsilon: float = 1.0) -> dict[str, BlockMechanism]:
    some, all_ = Domain(range(5), sensitive=SENSITIVE), Domain(range(5))
    nobody = Domain(range(5), sensitive=[], allow_unprotected=True)
    return {
        "RR": RandomizedResponse(all_, epsilon),
        "uRR": RandomizedResponse(some, epsilon),
        "RAPPOR": UnaryEncoding(all_, epsilon),
        "uRAP": UnaryEncoding(some, epsilon),
        "uRAP, bits in clear": UnaryEncoding(some, epsilon, clear_bits=True),
        "in clear": RandomizedResponse(nobody, epsilon),
    }


def rows(tally: Any) -> list[int]:
    return [*tally.support.tolist(), *tally.clear.tolist()]


@cache
def drawn(name: str) -> np.ndarray:
    mechanism = mechanisms()[name]
    generator = np.random.default_rng(20261101)
    return np.array([rows(draw_tally(mechanism, COUNTS, generator)) for _ in range(RUNS)])


@cache
def reported(name: str, epsilon: float = 1.0) -> np.ndarray:
    """Tallies of real reports, all runs' people obfuscated in one batch and counted in parts."""
    mechanism = mechanisms(epsilon)[name]
    people = np.repeat(np.arange(5), COUNTS)
    reports = mechanism.obfuscate_codes(np.tile(people, RUNS), random=SeededRandom(20261102))
    n = len(people)
    return np.array([rows(mechanism.tally(reports.part(run * n, (run + 1) * n))) for run in range(RUNS)])


@pytest.mark.parametrize("name", mechanisms())
def test_moments_are_those_of_real_reports(name: str) -> None:
    ours, theirs = drawn(name), reported(name)
    spread = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / RUNS)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 6 * spread).all()
    # Standard error of a covariance is at most sqrt(2) s s' / sqrt(RUNS), near enough, for either sample.
    scale = np.sqrt(np.outer(ours.var(axis=0), theirs.var(axis=0)))
    difference = np.abs(np.cov(ours.T, bias=True) - np.cov(theirs.T, bias=True))
    assert (difference <= 6 * 2 * scale / np.sqrt(RUNS) + 1e-12).all()


def total_p(ours: np.ndarray, theirs: np.ndarray) -> float:
    """P-value of a chi-square test that two samples of integers have one law; rare values at both ends together."""
    edges = np.unique(np.quantile(np.concatenate([ours, theirs]), np.linspace(0, 1, 12)))
    table = np.array([np.histogram(sample, [*edges[:-1], np.inf])[0] for sample in (ours, theirs)])
    table = table[:, table.sum(axis=0) > 0]
    return 1.0 if table.shape[1] < 2 else float(stats.chi2_contingency(table).pvalue)


@pytest.mark.parametrize("name", mechanisms())
def test_marginals_and_a_sum_follow_the_law_of_real_reports(name: str) -> None:
    ours, theirs = drawn(name), reported(name)
    weights = np.arange(1, ours.shape[1] + 1)
    for one, other in [*zip(ours.T, theirs.T, strict=True), (ours @ weights, theirs @ weights)]:
        assert total_p(one, other) > 1e-7


def test_the_chi_square_would_notice_another_law() -> None:
    ours, rival = drawn("uRAP"), reported("uRAP", 1.2)
    assert total_p(ours[:, 0], rival[:, 0]) < 1e-7
    letter = reported("uRAP, bits in clear")
    assert total_p(ours[:, 0], letter[:, 0]) < 1e-7


@pytest.mark.parametrize("name", mechanisms())
def test_drawn_tallies_are_possible_tallies(name: str) -> None:
    mechanism = mechanisms()[name]
    tally = draw_tally(mechanism, COUNTS, np.random.default_rng(3))
    assert mechanism.is_consistent(tally.n, tally.support, tally.clear)
    assert (tally.n, tally.simulated, tally.fingerprint) == (80, True, mechanism.fingerprint)


def test_a_seed_says_it_all_and_other_laws_make_reports() -> None:
    subset = SubsetSelection(Domain(range(5), sensitive=SENSITIVE), 1.0)
    assert not can_draw(subset)
    one, other = (draw_tally(subset, COUNTS, np.random.default_rng(7)) for _ in range(2))
    assert one == other
    assert (one.n, one.simulated) == (80, True)
    assert draw_tally(subset, COUNTS, np.random.default_rng(8)) != one


@pytest.mark.parametrize("counts", [np.ones(4, int), np.array([1, 2, 3, 4, -1]), np.ones(5)])
def test_counts_must_be_counts(counts: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"counts must be 5 whole numbers"):
        draw_tally(mechanisms()["RR"], counts, np.random.default_rng(1))
