"""Losses of estimators: people are drawn, report and are estimated, and the distance to the truth is measured."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import TypedDict

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.estimators import MethodName, estimate
from discreet.mechanisms import BlockMechanism, RandomizedResponse
from discreet.theory.optimum import optimal_design
from papers.cells import Cell
from papers.data.drawn_tallies import draw_tally
from papers.data.population import Population
from papers.results import Row
from papers.uldp.mechanisms import BOUND, EMPIRICAL, NO_PRIVACY, UNBIASED, make_mechanism

LINEAR = "emp"
ESTIMATORS: dict[str, MethodName] = {LINEAR: "linear", "emp+thr": "threshold", "EM": "mle"}
"""The paper's estimators. EM stands for the point that it climbs to, the maximum of the likelihood, certified."""

STOPPED = "EM, stopped"
ENDS: dict[str, MethodName] = {LINEAR: "linear", "emp+thr": "threshold", STOPPED: "em", "EM": "mle"}
"""Where EM starts (emp+thr), where it is when an iteration changes little, and where it ends."""

_WARM_UP = 200


@dataclass(frozen=True, kw_only=True)
class Loss(Row):
    """The loss of an estimator.

    Attributes:
        estimator: its name in the figures.
        tv: total variation distance to the truth, half the l1 loss.
        mse: summed squared error.
        seconds: that estimating took; 0 where nothing is timed.
    """

    estimator: str
    tv: float
    mse: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class LinearLoss(Loss):
    """The loss of the linear estimate.

    Attributes:
        expected_mse: its expectation, exactly.
    """

    expected_mse: float


@dataclass(frozen=True, kw_only=True)
class LowerBound(Row):
    """The least loss of any unbiased estimate with any mechanism.

    Attributes:
        estimator: the best unbiased one.
        mse: summed squared error.
    """

    estimator: str = UNBIASED
    mse: float


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a loss.

    Attributes:
        name: as on an axis.
        of: from a row to the number.
    """

    name: str
    of: Callable[[Loss], float]


TV = Measure("total variation distance", lambda row: row.tv)
MSE = Measure("summed squared error", lambda row: row.mse)
SECONDS = Measure("seconds", lambda row: row.seconds)


def half_of(counts: IntArray, generator: np.random.Generator, n: int | None = None) -> IntArray:
    """Return the counts of n people, drawn without replacement; n is half of them, rounded up, by default."""
    wanted = (int(counts.sum()) + 1) // 2 if n is None else min(n, int(counts.sum()))
    return generator.multivariate_hypergeometric(counts, wanted, method="marginals").astype(np.int64)


def answers(mechanism: BlockMechanism, users: IntArray, generator: np.random.Generator) -> Reports | Tally:
    """Return data for every estimator: a tally where blocks are single values, real reports otherwise."""
    if mechanism.name == RandomizedResponse.name:
        return draw_tally(mechanism, users, generator)
    codes = np.repeat(np.arange(len(users)), users)
    return mechanism.obfuscate_codes(codes, random=SeededRandom(int(generator.integers(1 << 62))))


class Errors(TypedDict):
    """Distances to the truth: total variation distance (half the l1 loss) and the summed squared error."""

    tv: float
    mse: float


def errors(estimated: FloatArray, truth: FloatArray) -> Errors:
    """Return the total variation distance (half the l1 loss) and the summed squared error."""
    difference = estimated - truth
    return {"tv": float(np.abs(difference).sum() / 2), "mse": float(difference @ difference)}


def least_error(users: int, population: Population, sensitive: BoolArray, epsilon: float) -> float:
    """Return the least mean squared error of any unbiased estimate by any mechanism, were p even in each class.

    With a = p(X_S), n reports of independent draws lose M(a)/n at least [Park, Nam, Lee], of which
    (1 - a^2/v - (1 - a)^2/N)/n comes from drawing people and the rest from privacy. Here people are drawn without
    replacement and differ in their frequencies, so that drawing them loses what it does, and privacy the same.

    Args:
        users: n.
        population: the people.
        sensitive: ``(|X|,)`` booleans, X_S.
        epsilon: in nats.
    """
    truth, people = population.truth, population.people
    v, mass = int(sensitive.sum()), min(float(truth[sensitive].sum()), 1.0)
    others = len(sensitive) - v
    even = mass**2 / v + ((1 - mass) ** 2 / others if others else 0.0)
    privacy = optimal_design(v, len(sensitive), epsilon, sensitive_mass=mass if others else None).value - 1 + even
    drawing = (1 - float(truth @ truth)) * (people - users) / (people - 1)
    return (privacy + drawing) / users


def losses(methods: Mapping[str, MethodName]) -> Callable[[Cell, Population, int], Iterator[Row]]:
    """Return the task that measures the losses of estimators.

    Args:
        methods: names in the figures, and what `discreet.estimate` calls them.
    """

    def measured(cell: Cell, population: Population, run: int) -> Iterator[Row]:
        generator, truth = cell.generator(run), population.truth
        users = half_of(population.counts, cell.people(run), cell.users)
        at = Row(mechanism=cell.mechanism, values=len(truth), sensitive=0, n=int(users.sum()))
        if cell.mechanism == NO_PRIVACY or cell.epsilon is None:
            yield _loss(at, EMPIRICAL, users / at.n, truth)
            return
        sensitive = _sensitive(cell, population, run)
        mass = float(truth[sensitive].sum())
        if cell.mechanism == BOUND:
            least = least_error(at.n, population, sensitive, cell.epsilon)
            yield LowerBound(**asdict(replace(at, sensitive=int(sensitive.sum()))), mse=least)
            return
        mechanism = make_mechanism(cell.mechanism, Domain(range(len(truth)), sensitive=sensitive), cell.epsilon, mass)
        if cell.timed:
            _compile_kernels(mechanism, users, generator, methods)
        at = replace(at, sensitive=mechanism.domain.sensitive_count)
        for row in _estimated(mechanism, users, (generator, truth), methods, at):
            exact = _expected(mechanism, at.n, population) if row.estimator == LINEAR else None
            yield row if exact is None else LinearLoss(**asdict(row), expected_mse=exact)

    return measured


def _loss(at: Row, estimator: str, estimated: FloatArray, truth: FloatArray, seconds: float = 0.0) -> Loss:
    return Loss(**asdict(at), estimator=estimator, **errors(estimated, truth), seconds=seconds)


def _expected(mechanism: BlockMechanism, n: int, population: Population) -> float:
    """Return the expected squared error of the linear estimate, exactly, for people drawn without replacement."""
    p = population.truth
    return mechanism.decoder.mse(n, p) - (1 - float(p @ p)) / n * (n - 1) / (population.people - 1)


def _estimated(
    mechanism: BlockMechanism,
    users: IntArray,
    drawn: tuple[np.random.Generator, FloatArray],
    methods: Mapping[str, MethodName],
    at: Row,
) -> Iterator[Loss]:
    generator, truth = drawn
    data = answers(mechanism, users, generator)
    tally = mechanism.tally(data) if isinstance(data, Reports) else data
    for name, method in methods.items():
        start = perf_counter()
        result = estimate(mechanism, data if method in ("em", "mle") else tally, method=method)
        seconds = perf_counter() - start
        yield _loss(at, name, result.frequencies, truth, seconds)


def _compile_kernels(
    mechanism: BlockMechanism, users: IntArray, generator: np.random.Generator, methods: Mapping[str, MethodName]
) -> None:
    """Run every kernel once, so that compiling is not timed."""
    few = answers(mechanism, half_of(users, generator, _WARM_UP), generator)
    for method in methods.values():
        estimate(mechanism, few, method=method)


def _sensitive(cell: Cell, population: Population, run: int) -> BoolArray:
    if cell.drawn is None:
        return population.domain.sensitive
    chosen = np.zeros(population.domain.size, dtype=np.bool_)
    chosen[cell.choice(run).choice(population.domain.size, cell.drawn, replace=False)] = True
    return chosen
