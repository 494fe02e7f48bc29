"""The largest losses of each mechanism, as [ULDP, Tables 3 and 4] print them, exactly, and simulated."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_n
from discreet.core.result_table import ResultTable
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.decoders import BlockDecoder
from discreet.theory.arithmetic import golden_section
from papers.cells import WORST, Cell
from papers.data.drawn_tallies import draw_tally
from papers.data.population import Population
from papers.figure import Figure, Finding, Settings, no_charts
from papers.results import Results, Row
from papers.uldp.losses import LINEAR, errors
from papers.uldp.mechanisms import EMPIRICAL, NO_PRIVACY, PAPER, make_mechanism
from papers.uldp.sweep import DATA_HERE, LOG_SIZE, PAPER_DATA

RUNS = (200, 50)
SMALL_EPSILON = 1e-4
AGREES = 1.1
_STEPS = 90
CHANCE = 4.0

L1, SQUARED = "l1", "mse"

Entry = Callable[[int, int, float], float]


@dataclass(frozen=True, kw_only=True)
class WorstCaseLoss(Row):
    """The loss of one run where people are drawn from the worst distribution.

    Attributes:
        estimator: its name in the figures.
        measure: `L1` or `SQUARED`.
        loss: of this run.
        exact: its expectation by closed form.
    """

    estimator: str
    measure: str
    loss: float
    exact: float


@dataclass(frozen=True, slots=True)
class WorstLoss:
    """One of the two tables.

    Attributes:
        number: of the table.
        name: of the loss.
        measure: its name in the rows; `L1` or `SQUARED`.
        small: entries at a small epsilon, by mechanism: from |X|, the number of protected values and epsilon.
        large: entries at epsilon = ln|X|.
    """

    number: int
    name: str
    measure: str
    small: Mapping[str, Entry]
    large: Mapping[str, Entry]


def measure_worst(cell: Cell, population: Population, run: int) -> Iterator[WorstCaseLoss]:
    """Measure one run of people drawn from the worst distribution, for each of both losses."""
    domain, generator = population.domain, cell.generator(run)
    n, size = (population.people + 1) // 2, population.domain.size
    at = Row(mechanism=cell.mechanism, values=size, sensitive=domain.sensitive_count, n=n)
    if cell.mechanism == NO_PRIVACY or cell.epsilon is None:
        p = np.full(size, 1 / size)
        empirical = errors(generator.multinomial(n, p) / n, p)
        losses = {L1: 2 * empirical["tv"], SQUARED: empirical["mse"]}
        exact = {L1: sqrt(2 * (size - 1) / (np.pi * n)), SQUARED: (1 - 1 / size) / n}
        for name, loss in losses.items():
            yield WorstCaseLoss(**asdict(at), estimator=EMPIRICAL, measure=name, loss=loss, exact=exact[name])
        return
    mechanism = make_mechanism(cell.mechanism, domain, cell.epsilon)
    worst = {
        L1: worst_l1(mechanism, n),
        SQUARED: (mechanism.coefficients.worst_mass, mechanism.decoder.worst_case_mse(n)),
    }
    for name, (mass, exact_loss) in worst.items():
        p = _even(mechanism, mass)
        tally = draw_tally(mechanism, generator.multinomial(n, p), generator)
        difference = mechanism.decoder.estimate(tally) - p
        loss = float(np.abs(difference).sum() if name == L1 else difference @ difference)
        yield WorstCaseLoss(**asdict(at), estimator=LINEAR, measure=name, loss=loss, exact=exact_loss)


def worst_l1(mechanism: BlockMechanism, n: int) -> tuple[float, float]:
    """Return the sensitive mass of the worst distribution, and E ||p_hat - p||_1 there, in the limit of many reports.

    E ||p_hat - p||_1 tends to sqrt(2/pi) times the summed standard deviations [ULDP, (11) and (16)]. A standard
    deviation is concave in p_x for a given sensitive mass, so the worst p is uniform inside each class. The sum is
    concave in the mass, and searched. Each report has its own block.

    Example:
        >>> import discreet as dc
        >>> mass, loss = worst_l1(dc.RandomizedResponse(dc.Domain(range(10), sensitive=[0, 1]), 1.0), n=10_000)
        >>> mass, round(loss, 3)
        (0.0, 0.048)
    """
    domain, numbers = mechanism.domain, BlockDecoder.checked(mechanism).coefficients
    v, others = domain.sensitive_count, domain.clear_count

    def loss(mass: float) -> float:
        sensitive, clear = numbers.variances(mass)
        return _deviations(v, mass, sensitive) + _deviations(others, 1 - mass, clear)

    mass = 1.0 if v else 0.0
    if v and others:
        # An end of the range if the search finds nothing larger.
        mass = max((0.0, 1.0, sum(golden_section(loss, 0.0, 1.0, _STEPS)) / 2), key=loss)
    return mass, sqrt(2 / (pi * checked_n(n))) * loss(mass)


def _deviations(count: int, mass: float, variance: tuple[Any, Any]) -> float:
    """Return the sum of standard deviations in a class of values that share a mass evenly."""
    if count == 0:
        return 0.0
    (constant, slope), share = variance, mass / count
    return count * sqrt(max(constant + slope * share - share**2, 0.0))


def _even(mechanism: BlockMechanism, mass: float) -> FloatArray:
    """Return the distribution that is uniform inside both classes."""
    domain = mechanism.domain
    p = np.where(
        domain.sensitive,
        mass / max(domain.sensitive_count, 1),
        (1 - mass) / max(domain.clear_count, 1),
    )
    return np.asarray(p / p.sum())


def plan_worst(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Tables 3 and 4]: both losses in the same cells."""
    runs, cells = settings.chosen(*RUNS), []
    for name, population in populations.items():
        data = population.fingerprint
        epsilons = (SMALL_EPSILON, log(population.domain.size))
        asked = [(NO_PRIVACY, None), *((mechanism, epsilon) for mechanism in PAPER for epsilon in epsilons)]
        cells += [
            Cell(name, data, mechanism, epsilon, runs=runs, seed=settings.seed, task=WORST)
            for mechanism, epsilon in asked
        ]
    return cells


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of a table beside its exact and its simulated value; in units of sqrt(2/(n pi)) and 1/n."""

    data: str
    mechanism: str
    at: str
    printed: float
    exact: float
    simulated: float
    error: float

    @property
    def ratio(self) -> float:
        return self.printed / self.exact

    @property
    def surprise(self) -> float:
        """The number of standard errors between simulation and closed form."""
        return abs(self.simulated - self.exact) / max(self.error, 1e-300)


def _entries(results: Results, loss: WorstLoss) -> Iterator[_Entry]:
    for point in results.of(WorstCaseLoss, measure=loss.measure):
        row, epsilon = point.mean, point.epsilon
        w, v, n = row.values, row.sensitive, row.n
        unit = sqrt(2 / (np.pi * n)) if loss.measure == L1 else 1 / n
        at, entries = (f"{SMALL_EPSILON:g}", loss.small) if epsilon == SMALL_EPSILON else (LOG_SIZE, loss.large)
        printed = entries[row.mechanism](w, v, epsilon or 0.0)
        numbers = row.exact, row.loss, point.error.loss
        yield _Entry(point.population, row.mechanism, at if epsilon else "any", printed, *(x / unit for x in numbers))


def _remark(loss: WorstLoss, entry: _Entry) -> str:
    """Return the condition under which a printed entry is right, or its correction."""
    if entry.at != LOG_SIZE:
        return ""
    if entry.mechanism == "RAPPOR" and loss.measure == L1:
        return "; an erratum: the leading term is |X|^(1/4) sqrt(|X| - 1)"
    return {"uRR": "; printed for |X_S| << |X|", "uRAP": "; printed for |X_S| << |X|^(3/4)"}.get(entry.mechanism, "")


def tables_of_worst(loss: WorstLoss) -> Callable[[Results], Sequence[ResultTable]]:
    """Return the tables of a loss."""

    def tables(results: Results) -> list[ResultTable]:
        unit = "sqrt(2/(n pi))" if loss.measure == L1 else "1/n"
        rows = [
            (
                entry.data,
                entry.mechanism,
                entry.at,
                f"{entry.printed:,.4g}",
                f"{entry.exact:,.4g}",
                f"{entry.ratio:.3f}",
                f"{entry.simulated:,.4g} ± {entry.error:.2g}",
            )
            for entry in _entries(results, loss)
        ]
        heads = ("data", "mechanism", "epsilon", "printed", "closed form", "printed / closed form", "simulated")
        return [ResultTable.of(f"Largest {loss.name}, in units of {unit}", heads, rows, left=3)]

    return tables


def findings_on_worst(loss: WorstLoss) -> Callable[[Results], Sequence[Finding]]:
    """Return the check of the entries of a table against their closed forms."""

    def check(results: Results) -> list[Finding]:
        entries = list(_entries(results, loss))
        findings = [
            Finding(
                f"the table's entry for {entry.mechanism} is the worst case at epsilon = {entry.at}",
                entry.data,
                "larger over smaller of entry and closed form",
                max(entry.ratio, 1 / entry.ratio),
                "<=",
                AGREES,
                f"printed {entry.printed:,.4g}, closed form {entry.exact:,.4g}{_remark(loss, entry)}",
            )
            for entry in entries
        ]
        for name in dict.fromkeys(entry.data for entry in entries):
            here = [entry for entry in entries if entry.data == name]
            most = max(here, key=lambda entry: entry.surprise)
            findings.append(
                Finding(
                    "simulated losses agree with the closed forms",
                    name,
                    f"largest difference in standard errors, of {len(here)}",
                    most.surprise,
                    "<=",
                    CHANCE,
                    f"{most.mechanism} at epsilon = {most.at}",
                )
            )
        return findings

    return check


def worst_table(loss: WorstLoss) -> Figure:
    """Return the table of a loss."""
    return Figure(
        f"uldp/table{loss.number}",
        f"[ULDP, Table {loss.number}] the largest {loss.name}",
        f"The largest {loss.name} of each mechanism over all distributions: as the paper prints it, by closed forms, "
        "and simulated with people drawn from the worst distribution.",
        PAPER_DATA,
        DATA_HERE,
        plan_worst,
        no_charts,
        findings_on_worst(loss),
        tables_of_worst(loss),
        runs=RUNS,
        settings=(
            f"epsilon = {SMALL_EPSILON:g} stands for one near 0; tallies are drawn from their exact law",
            "of the data only |X|, |X_S| and half of the number of people are used",
        ),
    )
