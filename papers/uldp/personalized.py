"""Measurements of the personalized mechanism: estimates from people of whom some have secret values."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.estimators.tags import DROP, TagEstimate, estimate_personalized
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.personalized import Personalized
from papers.cells import Cell
from papers.data.population import Population
from papers.results import Row
from papers.uldp.losses import ESTIMATORS, Loss, answers, errors, half_of
from papers.uldp.mechanisms import EMPIRICAL, NO_PRIVACY, make_mechanism

CASES = ("I", "II", "III")
"""What is known of the values behind a tag: nothing, where points of interest are, everything."""

ROWS = COLS = 5
"""Coarse cells of the map, where those stand in for tags."""


def celled(mechanism: str) -> str:
    """Return the name of a mechanism that has a placeholder for every coarse cell instead of every tag."""
    return f"{mechanism} ({ROWS} x {COLS} cells)"


@dataclass(frozen=True, kw_only=True)
class TaggedLoss(Loss):
    """The loss of an estimator with a placeholder for every tag.

    Attributes:
        case: one of `CASES`.
        l1: the l1 loss, as Theorem 1 has it.
        first_term: the part of its bound for the noise.
        second_term: the part of its bound for what is not known behind tags.
    """

    case: str
    l1: float
    first_term: float
    second_term: float


def line_of(row: Loss) -> str:
    """Return the name of the line that a loss lies on: the mechanism, and the case where there are cases."""
    return f"{row.mechanism} ({row.case})" if isinstance(row, TaggedLoss) else row.mechanism


def measure_tags(cell: Cell, population: Population, run: int) -> Iterator[Row]:
    """Measure one run with a placeholder for every tag: every case of background knowledge with every estimator."""
    everybody, users = _people(cell, population, run)
    n, size = int(users.sum()), population.domain.size
    if cell.mechanism == NO_PRIVACY:
        at = Row(mechanism=NO_PRIVACY, values=size, sensitive=0, n=n)
        losses = errors(users.sum(axis=0) / users.sum(), population.truth)
        yield Loss(**asdict(at), estimator=EMPIRICAL, **losses, seconds=0.0)
        return
    personalized = Personalized(
        population.domain, _epsilon(cell), list(population.behind), others=False, mechanism=partial(_common, cell)
    )
    at = Row(mechanism=cell.mechanism, values=size, sensitive=personalized.common.domain.sensitive_count, n=n)
    data = answers(personalized.common, _with_tags(users), cell.generator(run))
    truth, behind = _with_tags(everybody) / population.people, true_backgrounds(population)
    for case, known in _backgrounds(population).items():
        for name, method in ESTIMATORS.items():
            estimated = estimate_personalized(personalized, data, method=method, background=known)
            yield TaggedLoss(
                **asdict(at),
                case=case,
                estimator=name,
                **errors(estimated.estimate.frequencies, population.truth),
                seconds=0.0,
                **error_terms(estimated, truth, behind),
            )


def error_terms(estimated: TagEstimate, truth: FloatArray, behind: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return the terms of Theorem 1, l1 <= first_term + second_term <= first_term + the worst case.

    Args:
        estimated: the estimate.
        truth: ``(|X| + placeholders,)`` r, the true distribution of values and placeholders.
        behind: pi_k, the ``(|X|,)`` true distribution of the values behind each placeholder, by tag.
    """
    size, r_hat = estimated.estimate.domain.size, estimated.intermediate.frequencies
    p, second_term = truth[:size].copy(), 0.0
    for tag, mass, guess, share in zip(estimated.tags, truth[size:], r_hat[size:], estimated.shares, strict=True):
        pi_hat = np.zeros(size)
        pi_hat[share.codes] = share.weights
        # Where nobody is behind a placeholder, nothing about it can be wrong.
        pi = behind.get(tag, pi_hat)
        p += mass * pi
        second_term += abs(float(guess)) * float(np.abs(pi_hat - pi).sum())
    l1, first_term = (float(np.abs(off).sum()) for off in (estimated.estimate.frequencies - p, r_hat - truth))
    return {"l1": l1, "first_term": first_term, "second_term": second_term}


def measure_cells(cell: Cell, population: Population, run: int) -> Iterator[Loss]:
    """Measure one run with a placeholder for every coarse cell of the map, and no knowledge from elsewhere."""
    _, users = _people(cell, population, run)
    personalized = Personalized.cells(
        population.domain, _epsilon(cell), rows=ROWS, cols=COLS, mechanism=partial(_common, cell)
    )
    secret = users[1:].sum(axis=0)
    placeholders = np.array([secret[codes].sum() for codes in personalized.hidden_values])
    data = answers(personalized.common, np.concatenate([users[0], placeholders]), cell.generator(run))
    for name, method in ESTIMATORS.items():
        result = estimate_personalized(personalized, data, method=method)
        yield Loss(
            mechanism=celled(cell.mechanism),
            estimator=name,
            values=population.domain.size,
            sensitive=personalized.common.domain.sensitive_count,
            n=int(users.sum()),
            **errors(result.estimate.frequencies, population.truth),
            seconds=0.0,
        )


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
    """Return counts of values and placeholders; people with a secret value count for its placeholder."""
    return np.concatenate([people[0], people[1:].sum(axis=1)])


def true_backgrounds(population: Population) -> dict[str, FloatArray]:
    """Return pi_k, by tag: the distribution of the values behind its placeholder."""
    return {tag: counts / counts.sum() for tag, counts in population.behind.items()}


def points_of_interest(population: Population) -> dict[str, FloatArray]:
    """Return the distribution of points of interest by tag, over what may be behind a placeholder."""
    open_ = {tag: np.where(population.domain.sensitive, 0, counts) for tag, counts in population.points.items()}
    return {tag: counts / counts.sum() for tag, counts in open_.items()}


def _backgrounds(population: Population) -> dict[str, Any]:
    return dict(zip(CASES, (DROP, points_of_interest(population), true_backgrounds(population)), strict=True))
