"""One cell of an experiment: a data set, a mechanism, an epsilon and a few runs; the unit that is resumed."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators import estimate
from discreet.experiments.data import sources
from discreet.experiments.data.population import Population
from discreet.experiments.tallies import draw_tally
from discreet.mechanisms import BlockMechanism, RandomizedResponse, UnaryEncoding

MECHANISMS = ("RR", "RAPPOR", "uRR", "uRAP")
ESTIMATORS = {"emp": "linear", "emp+thr": "threshold", "EM": "em"}
NO_PRIVACY, EMPIRICAL = "no privacy", "empirical"
_FORMAT = 1
_WARM_UP = 200

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is to be measured.

    Attributes:
        population: name of the data set.
        data: its fingerprint; other data under the same name are other cells.
        mechanism: one of `MECHANISMS`, or `NO_PRIVACY`.
        epsilon: the privacy promise; None without privacy.
        drawn: make this many values sensitive, drawn at random in every run; None for the data set's own.
        first: number of the first run.
        runs: how many.
        seed: of the experiment.
        timed: whether the time is the point, so that nothing else may run beside it.
        task: what is measured; one of those that `measure` knows.
        users: how many people report; None for half of them, rounded up.
    """

    population: str
    data: str
    mechanism: str
    epsilon: float | None
    drawn: int | None = None
    first: int = 0
    runs: int = 1
    seed: int = 0
    timed: bool = False
    task: str = "estimate"
    users: int | None = None

    @property
    def key(self) -> str:
        """Digest of everything that the result depends on."""
        return hashlib.sha256(json.dumps([_FORMAT, self._facts()], sort_keys=True).encode()).hexdigest()[:24]

    def _facts(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "users" or value is not None}

    def generator(self, run: int) -> np.random.Generator:
        """Return the randomness of one run; it does not depend on how runs are grouped into cells."""
        return _generator([_FORMAT, self._facts() | {"first": run, "runs": 1}])

    def people(self, run: int) -> np.random.Generator:
        """Return the randomness that chooses the users of one run: the same ones for every mechanism and epsilon."""
        return _generator([_FORMAT, self.data, self.seed, run])


def _generator(told: Any) -> np.random.Generator:
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def fingerprint(population: Population) -> str:
    """Return the digest of a data set: its domain and its counts."""
    digest = hashlib.sha256(population.domain.fingerprint.encode())
    digest.update(population.counts.tobytes())
    for tag in sorted(population.behind):
        digest.update(tag.encode() + population.behind[tag].tobytes() + population.points[tag].tobytes())
    return digest.hexdigest()[:16]


def measure(cell: Cell, folder: Path | None) -> list[Row]:
    """Measure a cell.

    Raises:
        DataError: if the data set has changed since the cell was made, or cannot be loaded.
    """
    population = sources.load(cell.population, folder)
    if fingerprint(population) != cell.data:
        raise ParameterError(f"{cell.population} has changed while it was in use; start again.")
    return [
        {"population": cell.population, "epsilon": cell.epsilon, "drawn": cell.drawn, "run": run, **row}
        for run in range(cell.first, cell.first + cell.runs)
        for row in _run(cell, population, run)
    ]


def _run(cell: Cell, population: Population, run: int) -> Iterator[Row]:
    generator = cell.generator(run)
    if cell.task == "personalized":
        from discreet.experiments.reproduce.personal import measure_tags

        yield from measure_tags(cell, population, run)
        return
    users = half_of(population.counts, cell.people(run), cell.users)
    n, truth = int(users.sum()), population.truth
    facts = {"mechanism": cell.mechanism, "values": population.domain.size, "n": n}
    if cell.mechanism == NO_PRIVACY:
        yield facts | {"sensitive": 0, "estimator": EMPIRICAL, "seconds": 0.0} | errors(users / n, truth)
        return
    mechanism = make_mechanism(cell.mechanism, _sensitive(cell, population, generator), cell.epsilon)
    facts["sensitive"] = mechanism.domain.sensitive_count
    if cell.timed:
        # Kernels are compiled on first use; that is not what is timed.
        few = answers(mechanism, half_of(users, generator, _WARM_UP), generator)
        _ = [estimate(mechanism, few, method=method) for method in ESTIMATORS.values()]
    data = answers(mechanism, users, generator)
    tally = mechanism.tally(data) if isinstance(data, Reports) else data
    for name, method in ESTIMATORS.items():
        start = perf_counter()
        found = estimate(mechanism, data if method == "em" else tally, method=method)
        seconds = perf_counter() - start
        yield facts | {"estimator": name, "seconds": seconds} | errors(found.frequencies, truth)


def half_of(counts: IntArray, generator: np.random.Generator, n: int | None = None) -> IntArray:
    """Return how many of n people, drawn without replacement, have each value; n is half of them, rounded up."""
    wanted = (int(counts.sum()) + 1) // 2 if n is None else min(n, int(counts.sum()))
    return generator.multivariate_hypergeometric(counts, wanted, method="marginals").astype(np.int64)


def _sensitive(cell: Cell, population: Population, generator: np.random.Generator) -> BoolArray:
    if cell.drawn is None:
        return population.domain.sensitive
    chosen = np.zeros(population.domain.size, dtype=np.bool_)
    chosen[generator.choice(population.domain.size, cell.drawn, replace=False)] = True
    return chosen


def make_mechanism(name: str, sensitive: BoolArray, epsilon: float | None) -> BlockMechanism:
    """Return a mechanism of the paper; RR and RAPPOR protect every value, uRAP is the paper's to the letter.

    Raises:
        ParameterError: if there is no such mechanism.
    """
    if name not in MECHANISMS or epsilon is None:
        raise ParameterError(f"mechanisms are {', '.join(MECHANISMS)}, with an epsilon; got {name!r}.")
    protected = sensitive if name.startswith("u") else np.ones(len(sensitive), dtype=np.bool_)
    domain = Domain(range(len(sensitive)), sensitive=protected)
    if name in ("RR", "uRR"):
        return RandomizedResponse(domain, epsilon)
    return UnaryEncoding(domain, epsilon, clear_bits=domain.clear_count > 0)


def answers(mechanism: BlockMechanism, users: IntArray, generator: np.random.Generator) -> Reports | Tally:
    """Return what every estimator can work on: a tally where blocks are single values, real reports otherwise."""
    if isinstance(mechanism, RandomizedResponse):
        return draw_tally(mechanism, users, generator)
    codes = np.repeat(np.arange(len(users)), users)
    return mechanism.obfuscate_codes(codes, random=SeededRandom(int(generator.integers(1 << 62))))


def errors(found: FloatArray, truth: FloatArray) -> dict[str, float]:
    """Return total variation distance (half the l1 loss) and the summed squared error."""
    difference = found - truth
    return {"tv": float(np.abs(difference).sum() / 2), "mse": float(difference @ difference)}
