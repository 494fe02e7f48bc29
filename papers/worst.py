"""Tables 3 and 4 of [ULDP]: the largest losses of each mechanism, as printed, exactly, and simulated."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from discreet.arrays import FloatArray
from discreet.mechanisms import BlockMechanism
from discreet.planning.losses import worst_normal_l1
from discreet.simulation.tallies import draw_tally
from papers.artefact import Settings, Table
from papers.cells import WORST, Cell, Row
from papers.data.population import Population
from papers.entrants import EMPIRICAL, NO_PRIVACY, PAPER, make_mechanism
from papers.finding import Finding
from papers.results import Results
from papers.trials import errors

RUNS = (200, 50)
SMALL_EPSILON = 1e-4
AGREES = 1.1
CHANCE = 4.0
_LINE = "ln|X|"

Entry = Callable[[int, int, float], float]


@dataclass(frozen=True, slots=True)
class Loss:
    """One of the two tables.

    Attributes:
        number: of the table.
        name: of the loss.
        measure: its name in the rows.
        small: entries at a small epsilon, by mechanism: from |X|, the number of protected values and epsilon.
        large: entries at epsilon = ln|X|.
    """

    number: int
    name: str
    measure: str
    small: Mapping[str, Entry]
    large: Mapping[str, Entry]


L1 = Loss(
    3,
    "l1 loss",
    "l1",
    {
        "RR": lambda w, _, e: w * sqrt(w - 1) / e,
        "RAPPOR": lambda w, _, e: 2 * w / e,
        "uRR": lambda _, v, e: v * sqrt(v - 1) / e,
        "uRAP": lambda _, v, e: 2 * v / e,
        NO_PRIVACY: lambda w, _, __: sqrt(w - 1),
    },
    {
        "RR": lambda w, _, __: 2 * sqrt(w - 1),
        "RAPPOR": lambda w, _, __: sqrt(w) * sqrt(w - 1),
        "uRR": lambda w, _, __: sqrt(w - 1),
        "uRAP": lambda w, v, _: sqrt(w - 1) * (1 + v / w**0.75),
        NO_PRIVACY: lambda w, _, __: sqrt(w - 1),
    },
)
L2 = Loss(
    4,
    "squared l2 loss",
    "mse",
    {
        "RR": lambda w, _, e: w * (w - 1) / e**2,
        "RAPPOR": lambda w, _, e: 4 * w / e**2 * (1 - 1 / w),
        "uRR": lambda _, v, e: v * (v - 1) / e**2,
        "uRAP": lambda _, v, e: 4 * v / e**2,
        NO_PRIVACY: lambda w, _, __: 1 - 1 / w,
    },
    {
        "RR": lambda w, _, __: 4 * (1 - 1 / w),
        "RAPPOR": lambda w, _, __: sqrt(w) * (1 - 1 / w),
        "uRR": lambda *_: 1.0,
        "uRAP": lambda w, v, _: 1 + (v + 1) / sqrt(w),
        NO_PRIVACY: lambda w, _, __: 1 - 1 / w,
    },
)


def measure_worst(cell: Cell, population: Population, run: int) -> Iterator[Row]:
    """Measure one run of people drawn from the worst distribution, for each of both losses."""
    domain, generator = population.domain, cell.generator(run)
    n, size = (population.people + 1) // 2, population.domain.size
    facts: Row = {"values": size, "n": n, "sensitive": domain.sensitive_count}
    if cell.mechanism == NO_PRIVACY or cell.epsilon is None:
        p = np.full(size, 1 / size)
        found = errors(generator.multinomial(n, p) / n, p)
        losses = {"l1": 2 * found["tv"], "mse": found["mse"]}
        exact = {"l1": sqrt(2 * (size - 1) / (np.pi * n)), "mse": (1 - 1 / size) / n}
        yield from (_row(facts, NO_PRIVACY, EMPIRICAL, name, losses[name], exact[name]) for name in losses)
        return
    mechanism = make_mechanism(cell.mechanism, domain, cell.epsilon)
    l1 = worst_normal_l1(mechanism, n)
    worst = {
        "l1": (l1.sensitive_mass, l1.value),
        "mse": (mechanism.numbers.worst_mass, mechanism.decoder.worst_case_mse(n)),
    }
    for name, (mass, exact_loss) in worst.items():
        p = _even(mechanism, mass)
        tally = draw_tally(mechanism, generator.multinomial(n, p), generator)
        difference = mechanism.decoder.estimate(tally) - p
        loss = float(np.abs(difference).sum() if name == "l1" else difference @ difference)
        yield _row(facts, cell.mechanism, "emp", name, loss, exact_loss)


def _even(mechanism: BlockMechanism, mass: float) -> FloatArray:
    """Return the distribution that is uniform inside both classes."""
    domain = mechanism.domain
    p = np.where(
        domain.sensitive,
        mass / max(domain.sensitive_count, 1),
        (1 - mass) / max(domain.clear_count, 1),
    )
    return np.asarray(p / p.sum())


def _row(facts: Row, mechanism: str, estimator: str, loss: str, value: float, exact: float) -> Row:
    return facts | {"mechanism": mechanism, "estimator": f"{estimator}, {loss}", "loss": value, "exact": exact}


def plan_worst(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Tables 3 and 4]: both losses in the same cells."""
    runs, found = settings.chosen(*RUNS), []
    for name, population in populations.items():
        data = population.fingerprint
        epsilons = (SMALL_EPSILON, log(population.domain.size))
        asked = [(NO_PRIVACY, None), *((mechanism, epsilon) for mechanism in PAPER for epsilon in epsilons)]
        found += [
            Cell(name, data, mechanism, epsilon, runs=runs, seed=settings.seed, task=WORST)
            for mechanism, epsilon in asked
        ]
    return found


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


def _entries(results: Results, loss: Loss) -> Iterator[_Entry]:
    for point in results.points:
        name = point["estimator"].rpartition(", ")[2]
        if name != loss.measure:
            continue
        w, v, n, epsilon = (point[part] for part in ("values", "sensitive", "n", "epsilon"))
        unit = sqrt(2 / (np.pi * n)) if loss is L1 else 1 / n
        at, entries = (f"{SMALL_EPSILON:g}", loss.small) if epsilon == SMALL_EPSILON else (_LINE, loss.large)
        printed = entries[point["mechanism"]](w, v, epsilon or 0.0)
        numbers = point["exact"].value, point["loss"].value, point["loss"].error
        told = at if epsilon else "any"
        yield _Entry(point["population"], point["mechanism"], told, printed, *(x / unit for x in numbers))


def _remark(loss: Loss, entry: _Entry) -> str:
    """Return the condition under which a printed entry is right, or its correction."""
    if entry.at != _LINE:
        return ""
    if entry.mechanism == "RAPPOR" and loss is L1:
        return "; an erratum: the leading term is |X|^(1/4) sqrt(|X| - 1)"
    return {"uRR": "; printed for |X_S| << |X|", "uRAP": "; printed for |X_S| << |X|^(3/4)"}.get(entry.mechanism, "")


def tables_of_worst(loss: Loss) -> Callable[[Results], Sequence[Table]]:
    """Return the tables of a loss."""

    def tables(results: Results) -> list[Table]:
        unit = "sqrt(2/(n pi))" if loss is L1 else "1/n"
        rows = [
            (
                one.data,
                one.mechanism,
                one.at,
                f"{one.printed:,.4g}",
                f"{one.exact:,.4g}",
                f"{one.ratio:.3f}",
                f"{one.simulated:,.4g} ± {one.error:.2g}",
            )
            for one in _entries(results, loss)
        ]
        heads = ("data", "mechanism", "epsilon", "printed", "closed form", "printed / closed form", "simulated")
        return [Table(f"Largest {loss.name}, in units of {unit}", heads, rows, left=3)]

    return tables


def claims_on_worst(loss: Loss) -> Callable[[Results], Sequence[Finding]]:
    """Return the check of the entries of a table against their closed forms."""

    def check(results: Results) -> list[Finding]:
        entries = list(_entries(results, loss))
        found = [
            Finding(
                f"the table's entry for {one.mechanism} is the worst case at epsilon = {one.at}",
                one.data,
                "larger over smaller of entry and closed form",
                max(one.ratio, 1 / one.ratio),
                "<=",
                AGREES,
                f"printed {one.printed:,.4g}, closed form {one.exact:,.4g}{_remark(loss, one)}",
            )
            for one in entries
        ]
        for name in dict.fromkeys(one.data for one in entries):
            here = [one for one in entries if one.data == name]
            most = max(here, key=lambda one: one.surprise)
            found.append(
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
        return found

    return check
