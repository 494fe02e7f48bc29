"""Measurements of the personalized mechanism: estimates from people of whom some have secret values."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.estimators.tags import DROP, estimate_personalized
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.personalized import Personalized
from papers.cells import Cell, Row
from papers.data.population import Population
from papers.entrants import EMPIRICAL, NO_PRIVACY, make_mechanism
from papers.trials import ESTIMATORS, answers, errors, half_of

CASES = ("I", "II", "III")
"""What is known of the values behind a tag: nothing, where points of interest are, everything."""

POINTS, OPEN = "points of interest", "in the open"
"""Two guesses of what is behind a tag."""

ROWS = COLS = 5
"""Coarse cells of the map, where those stand in for tags."""


def celled(mechanism: str) -> str:
    """Return the name of a mechanism that has a bot for every coarse cell instead of every tag."""
    return f"{mechanism} ({ROWS} x {COLS} cells)"


def measure_tags(cell: Cell, population: Population, run: int) -> Iterator[Row]:
    """Measure one run with a bot for every tag: every case of background knowledge with every estimator."""
    everybody, users = _people(cell, population, run)
    facts: Row = {"mechanism": cell.mechanism, "values": population.domain.size, "n": int(users.sum()), "seconds": 0.0}
    if cell.mechanism == NO_PRIVACY:
        p = users.sum(axis=0) / users.sum()
        yield facts | {"sensitive": 0, "estimator": EMPIRICAL} | errors(p, population.truth)
        return
    personalized = Personalized(
        population.domain, _epsilon(cell), list(population.behind), others=False, mechanism=partial(_common, cell)
    )
    facts["sensitive"] = personalized.common.domain.sensitive_count
    data = answers(personalized.common, _with_tags(users), cell.generator(run))
    truth, behind = _with_tags(everybody) / population.people, true_backgrounds(population)
    for case, known in _backgrounds(population).items():
        for name, method in ESTIMATORS.items():
            found = estimate_personalized(personalized, data, method=method, background=known)
            terms = found.decomposition(truth, behind)
            yield (
                facts
                | {"mechanism": f"{cell.mechanism} ({case})", "estimator": name}
                | errors(found.estimate.frequencies, population.truth)
                | {"l1": terms.error, "first_term": terms.intermediate, "second_term": terms.knowledge}
            )


def measure_cells(cell: Cell, population: Population, run: int) -> Iterator[Row]:
    """Measure one run with a bot for every coarse cell of the map, and no knowledge from elsewhere."""
    _, users = _people(cell, population, run)
    personalized = Personalized.cells(
        population.domain, _epsilon(cell), rows=ROWS, cols=COLS, mechanism=partial(_common, cell)
    )
    secret = users[1:].sum(axis=0)
    bots = np.array([secret[codes].sum() for codes in personalized.behind])
    data = answers(personalized.common, np.concatenate([users[0], bots]), cell.generator(run))
    for name, method in ESTIMATORS.items():
        found = estimate_personalized(personalized, data, method=method)
        yield {
            "mechanism": celled(cell.mechanism),
            "estimator": name,
            "values": population.domain.size,
            "sensitive": personalized.common.domain.sensitive_count,
            "n": int(users.sum()),
            "seconds": 0.0,
        } | errors(found.estimate.frequencies, population.truth)


def measure_maps(cell: Cell, population: Population, run: int) -> Iterator[Row]:
    """Measure the distance of the truth behind each tag to points of interest, and to the values in the open."""
    hidden = np.sum(list(population.behind.values()), axis=0)
    open_ = np.where(population.domain.sensitive, 0, population.counts - hidden)
    known, truth = points_of_interest(population), true_backgrounds(population)
    for tag in truth:
        facts = {"mechanism": tag, "values": population.domain.size, "sensitive": population.domain.sensitive_count}
        facts |= {"n": int(population.behind[tag].sum())}
        for kind, guess in ((POINTS, known[tag]), (OPEN, open_ / open_.sum())):
            yield facts | {"estimator": kind} | errors(guess, truth[tag])


def _people(cell: Cell, population: Population, run: int) -> tuple[IntArray, IntArray]:
    """Return ``(1 + tags, |X|)`` counts of all people and of the users: in the open, and behind each tag."""
    hidden = np.array([population.behind[tag] for tag in population.behind])
    everybody = np.concatenate([[population.counts - hidden.sum(axis=0)], hidden])
    return everybody, half_of(everybody.reshape(-1), cell.people(run)).reshape(everybody.shape)


def _epsilon(cell: Cell) -> float:
    return 0.0 if cell.epsilon is None else cell.epsilon


def _common(cell: Cell, domain: Domain, epsilon: float) -> BlockMechanism:
    return make_mechanism(cell.mechanism, domain, epsilon)


def _with_tags(people: IntArray) -> IntArray:
    """Return counts of values and bots; people with a secret value count for its bot."""
    return np.concatenate([people[0], people[1:].sum(axis=1)])


def true_backgrounds(population: Population) -> dict[str, FloatArray]:
    """Return pi_k, by tag: the distribution of the values behind its bot."""
    return {tag: counts / counts.sum() for tag, counts in population.behind.items()}


def points_of_interest(population: Population) -> dict[str, FloatArray]:
    """Return the distribution of points of interest by tag, over what may be behind a bot."""
    open_ = {tag: np.where(population.domain.sensitive, 0, counts) for tag, counts in population.points.items()}
    return {tag: counts / counts.sum() for tag, counts in open_.items()}


def _backgrounds(population: Population) -> dict[str, Any]:
    return dict(zip(CASES, (DROP, points_of_interest(population), true_backgrounds(population)), strict=True))
