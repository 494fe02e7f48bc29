"""Estimates from a tally, maximum likelihood beside iterative Bayesian updates, capacity beside Blahut and Arimoto."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import log

import numpy as np

from bench import numpy_reference as reference
from bench.companions import Peers, peers
from bench.likelihood import passes_to_gap
from bench.measure import Cell, Group, Row, interleaved, median_seconds, one_core, progress, seconds
from discreet import Domain, HadamardResponse, RandomizedResponse, Reports, SeededRandom, UnaryEncoding, estimate
from discreet.estimators.em import expectation_maximization
from discreet.estimators.likelihood import RowLikelihood
from discreet.mechanisms import BlockMechanism
from discreet.risk.bounds.capacity import Inputs, capacity, channel_capacity
from discreet.risk.bounds.hits import hit_distribution

COLUMNS = ("seconds", "passes", "gap", "times ours")
N, QUICK_N = 1_000_000, 10_000
EPSILON = 1.0
GAP, QUICK_GAP = 1e-6, 1e-3
PRECISION = 1e-7
REPEATS = 5
MOST_PASSES = 1 << 13
_TABLES = (625, 100_000)


@dataclass(frozen=True, slots=True)
class Problem:
    """Reports, and the same as shares of the outputs of a matrix.

    Attributes:
        name: of the mechanism and its size.
        mechanism: the mechanism.
        reports: its reports.
        matrix: ``(|X|, |Y|)`` the mechanism spelled out.
        shares: ``(|Y|,)`` how often each output was reported.
        gap: what to reach, in nats per report.
    """

    name: str
    mechanism: BlockMechanism
    reports: Reports
    matrix: np.ndarray
    shares: np.ndarray
    gap: float


def run(*, quick: bool = False) -> Group:
    """Measure every case."""
    with one_core() as pinned, peers("qif", *([] if quick else ["multi-freq-ldpy"])) as others:
        rows = [row for problem in problems(quick=quick) for row in _likelihoods(problem, others)]
        capacities = [row for problem in problems(quick=quick) for row in _capacities(problem, others)]
        skipped = [f"{name} is skipped: {reason}." for name, reason in others.skipped.items()] + others.notes
    place = "one core" if pinned else "one machine, not pinned to a core"
    n = QUICK_N if quick else N
    notes = [
        f"n = {n:,}, epsilon = {EPSILON:g}, {place}; medians of {REPEATS} for discreet, one run for the others, "
        f"whose passes were searched to within 3%. Everybody goes to a gap of {QUICK_GAP if quick else GAP:g} nats per "
        "report below the largest likelihood, or as far as 8 s allow.",
        "discreet works on the reports; for the others the outputs are counted (which is in their time) and the matrix "
        "is made in advance. EM and IBU are the same procedure, here from the uniform distribution. NumPy: products "
        "with the whole matrix. Gap: from the matrix, by definition, for everybody. multi-freq-ldpy takes square "
        "matrices only.",
        *skipped,
    ]
    also = [
        Group("Capacity of a mechanism", ("seconds", "bits", "times ours"), capacities, [_CAPACITY_NOTE]),
        _tables(quick=quick),
    ]
    return Group("Estimators and capacity", COLUMNS, rows, notes, also=also)


_CAPACITY_NOTE = (
    f"How much a report tells at most of the value, in bits (alpha of PIE for all values in use). By formula: from the "
    f"mechanism's numbers. Matrix: with a proof, to {PRECISION:g} bits; qif to the same precision. Medians, one core."
)


def problems(*, quick: bool = False) -> Iterator[Problem]:
    """Yield the problems: single values, a matrix with as many outputs as values, one with many more."""
    mechanisms = {
        "RR, |X| = 625": RandomizedResponse(Domain(range(625)), EPSILON),
        "Hadamard, |X| = 255": HadamardResponse(Domain(range(255)), EPSILON),
        "unary, |X| = 10": UnaryEncoding(Domain(range(10)), EPSILON),
    }
    for name, mechanism in mechanisms.items():
        size = mechanism.domain.size
        weights = 1 / np.arange(1, size + 1)
        codes = np.random.default_rng(1).choice(size, QUICK_N if quick else N, p=weights / weights.sum())
        reports = mechanism.obfuscate_codes(codes, random=SeededRandom(1))
        matrix = mechanism.channel().matrix
        shares = _shares(reports, matrix.shape[1])
        yield Problem(name, mechanism, reports, matrix, shares, QUICK_GAP if quick else GAP)


def _shares(reports: Reports, outputs: int) -> np.ndarray:
    """Return ``(|Y|,)`` how often each column of the matrix was reported."""
    (column,) = reports.blocks.values()
    if column.ndim == 2:
        column = column.astype(np.int64) @ (1 << 8 * np.arange(column.shape[1]))
    return np.bincount(column, minlength=outputs) / reports.n


def gap_of(problem: Problem, p: np.ndarray) -> float:
    """Return by how much, in nats per report, p is at most below the largest likelihood; from the definition."""
    expected = p @ problem.matrix
    weights = np.divide(problem.shares, expected, out=np.zeros_like(expected), where=problem.shares > 0)
    return float((problem.matrix @ weights).max()) - 1


def _likelihoods(problem: Problem, others: Peers) -> Iterator[Row]:
    progress(f"{problem.name}: likelihood")
    options = {"method": "mle", "tolerance": problem.gap}
    found = estimate(problem.mechanism, problem.reports, **options)
    ours = median_seconds(lambda: estimate(problem.mechanism, problem.reports, **options), REPEATS)
    gap = gap_of(problem, found.frequencies)
    cells: dict[str, Cell] = {"seconds": ours, "passes": found.passes or 0, "gap": gap, "times ours": 1.0}
    yield Row(f"{problem.name}: discreet mle", cells, f"gap <= {problem.gap:g}", gap <= 1.01 * problem.gap)
    yield _row(f"{problem.name}: discreet em", _plain_em(problem), ours)
    counting = median_seconds(lambda: _shares(problem.reports, len(problem.shares)), REPEATS)
    yield _row(f"{problem.name}: NumPy EM", _numpy_em(problem), ours, counting)
    given = {"matrix": problem.matrix.tolist(), "shares": problem.shares.tolist(), "gap": problem.gap}
    names = others.there if problem.matrix.shape[0] == problem.matrix.shape[1] else ("qif",)
    for name, said in others.ask("ibu", among=names, **given).items():
        yield _row(f"{problem.name}: {name} IBU", said, ours, counting)


def _row(name: str, said: dict[str, Cell], ours: float, counting: float = 0.0) -> Row:
    spent = said["seconds"] + counting
    return Row(name, {**said, "seconds": spent, "times ours": spent / ours})


def _plain_em(problem: Problem) -> dict[str, Cell]:
    size, most = problem.mechanism.domain.size, MOST_PASSES
    start = np.full(size, 1 / size)

    def likelihood() -> RowLikelihood:
        evidence = problem.mechanism.evidence(problem.reports)
        assert evidence.membership is not None
        return RowLikelihood(evidence.membership, evidence.contrast, None)

    passes = passes_to_gap(likelihood(), start, gap=problem.gap, most_passes=most) or most
    found: list[np.ndarray] = []

    def work() -> None:
        reached = expectation_maximization(likelihood(), start, np.zeros(0), change=0.0, most_iterations=passes)
        found.append(reached.frequencies)

    spent = seconds(work)
    return {"seconds": spent, "passes": passes, "gap": gap_of(problem, found[-1])}


def _numpy_em(problem: Problem) -> dict[str, Cell]:
    found: list[tuple[int, np.ndarray]] = []
    spent = seconds(
        lambda: found.append(reference.expectation(problem.matrix, problem.shares, problem.gap, MOST_PASSES))
    )
    passes, p = found[-1]
    return {"seconds": spent, "passes": passes, "gap": gap_of(problem, p)}


def _capacities(problem: Problem, others: Peers) -> Iterator[Row]:
    progress(f"{problem.name}: capacity")
    bits = 1 / log(2)
    by_formula = partial(_formula, problem.mechanism)
    ours, told = median_seconds(by_formula, REPEATS), by_formula() * bits
    yield Row(f"{problem.name}: discreet, by formula", {"seconds": ours, "bits": told, "times ours": 1.0})
    precise = partial(channel_capacity, problem.matrix, tolerance=PRECISION / bits)
    spent, proven = median_seconds(precise, REPEATS), precise().low * bits
    cells: dict[str, Cell] = {"seconds": spent, "bits": proven, "times ours": spent / ours}
    agree = abs(proven - told) <= 2 * PRECISION
    yield Row(f"{problem.name}: discreet, matrix", cells, "equal to the formula", agree)
    for name, said in others.ask("capacity", matrix=problem.matrix.tolist(), precision=PRECISION).items():
        yield _row(f"{problem.name}: {name}", said, ours)


def _formula(mechanism: BlockMechanism) -> float:
    moments, size = mechanism.coefficients, mechanism.domain.size
    epsilon = mechanism.guarantee.realised
    inputs = Inputs(moments.truth, moments.noisy, float(moments.inclusion), epsilon, size, 0)
    return capacity(inputs, hit_distribution(mechanism.law, size))


def _tables(*, quick: bool) -> Group:
    rows = [row for size in _TABLES[: 1 if quick else None] for row in _from_tally(size)]
    notes = [
        f"RR, epsilon = {EPSILON:g}, {N:,} reports, counted before. Standard errors are worked out when they are asked "
        f"for: rows say where they are; NumPy has those of linear only. Medians of {REPEATS}, in turns."
    ]
    return Group("Estimates from a tally", ("ms", "NumPy ms", "ratio to NumPy"), rows, notes)


def _from_tally(size: int) -> Iterator[Row]:
    progress(f"estimates from a tally, |X| = {size:,}")
    mechanism = RandomizedResponse(Domain(range(size)), EPSILON)
    codes = np.random.default_rng(1).integers(0, size, N)
    tally = mechanism.tally(mechanism.obfuscate_codes(codes, random=SeededRandom(1)))
    numpy: dict[str, Callable[[], object]] = {
        "linear, with errors": lambda: reference.linear(tally.support, N, EPSILON),
        "norm-sub": lambda: reference.norm_sub(reference.linear(tally.support, N, EPSILON)[0]),
    }
    ours: dict[str, Callable[[], object]] = {
        "linear, with errors": lambda: estimate(mechanism, tally).standard_errors,
        "norm-sub": lambda: estimate(mechanism, tally, method="norm-sub"),
    }
    for method in ("norm-sub", "threshold", "projected", "mle"):
        ours[f"{method}, with errors"] = lambda method=method: estimate(mechanism, tally, method=method).standard_errors
    for name, work in ours.items():
        works = {"ours": lambda work=work: seconds(work) * 1e3}
        if name in numpy:
            works["numpy"] = lambda name=name: seconds(numpy[name]) * 1e3
        spent = interleaved(works, REPEATS)
        plain = spent.get("numpy")
        cells = {"ms": spent["ours"], "NumPy ms": plain, "ratio to NumPy": plain and plain / spent["ours"]}
        yield Row(f"{name}, |X| = {size:,}", cells)
