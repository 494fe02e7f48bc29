"""Central guarantees of shuffled reports: over their whole range, beside published bounds, and what they gain.

Beside them are the bounds for any LDP mechanism by clones [Feldman, McMillan, Talwar, FOCS 2021] and stronger clones
[SODA 2023], computed from their published formulas.

Variation-ratio parameters with a diluted rest are not used: they understate. RR with 3 values, e^eps = 3, two people,
the other one with x, C = 2.2: the truth is .6 .6 - 2.2 .6 .2 = .096, and that formula gives .080.
"""

import sys
import time
from collections.abc import Iterator
from itertools import product
from math import exp
from pathlib import Path

import numpy as np

import discreet as dc
from bench.measure import Group, Row, progress
from discreet.mechanisms import BlockMechanism
from discreet.privacy.shuffling import shuffled
from discreet.privacy.shuffling_pairs import ValuePair
from discreet.privacy.shuffling_rounds import pair_epsilon

_EPSILONS = (0.01, 0.1, 0.5, 1, 3, 5, 8, 12)
_SIZES = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)
_DELTAS = (1e-6, 1e-12, 1e-30)
_COLUMNS = ((1.0, 10**4), (3.0, 10**4), (3.0, 10**6))
_CASES = 10_000
_DELTA = 1e-6
_MOST_GAP = 1.01
_MOST_SECONDS = {10**4: 0.05, 10**7: 1.0}


def clones(epsilon: float, *, stronger: bool) -> ValuePair:
    """Return the pair of the bound by clones, for any LDP mechanism.

    Every other report is a clone with probability e^-eps, or 2/(e^eps + 1) for the stronger bound, and then one of two
    symbols evenly; the person's is the first one with probability e^eps/(e^eps + 1), or the second one.
    """
    clone = 2 / (exp(epsilon) + 1) if stronger else exp(-epsilon)
    likelier = exp(epsilon) / (exp(epsilon) + 1)
    first = np.array([likelier, 1 - likelier]) / (clone / 2)
    return ValuePair(first, first[::-1].copy(), np.full(2, clone / 2), 1 - clone)


def run(*, quick: bool = False) -> Group:
    """Compute and time every table."""
    progress("central epsilons beside published bounds")
    beside = Group(
        "Central guarantees of shuffled reports",
        [f"eps={epsilon:g}, n={n:g}" for epsilon, n in _COLUMNS],
        [*_mechanism_rows(), *_clone_rows()],
        [
            f"Central epsilons at delta = {_DELTA:g} over 100 values, certified upper ends; in brackets the share "
            "that an attacker certainly reaches. Clones are bounds for any LDP mechanism.",
            "Variation-ratio parameters with a diluted rest are not compared, as they understate: of RR with 3 values, "
            "e^eps = 3, two people, the other one with x, C = 2.2, delta is .096, and that formula gives .080.",
        ],
    )
    return Group(beside.title, beside.columns, beside.rows, beside.notes, also=[_certified(quick=quick)])


def _mechanism_rows() -> Iterator[Row]:
    for name in mechanisms(1.0):
        found = [shuffled(mechanisms(epsilon)[name], n, _DELTA).among for epsilon, n in _COLUMNS]
        yield _row(name, [f"{one.upper:.4g} ({one.lower / one.upper:.3f})" for one in found])


def _clone_rows() -> Iterator[Row]:
    for name, stronger in (("clones (2021)", False), ("stronger clones (2023)", True)):
        ends = [pair_epsilon(clones(epsilon, stronger=stronger), n, _DELTA)[1] for epsilon, n in _COLUMNS]
        yield _row(name, [f"{end:.4g}" for end in ends])


def _row(name: str, cells: list[str]) -> Row:
    columns = [f"eps={epsilon:g}, n={n:g}" for epsilon, n in _COLUMNS]
    return Row(name, dict(zip(columns, cells, strict=True)))


def _certified(*, quick: bool) -> Group:
    """Return how near both ends are, how long they take, and how many data sets tell more than is said."""
    progress("both ends of central epsilons")
    cases = list(grid(_SIZES[:2] if quick else _SIZES))
    gap, _, widest, _ = max(cases)
    rows = [Row("upper over lower end, at most", {"value": gap, "case": widest}, f"<= {_MOST_GAP}", gap <= _MOST_GAP)]
    for n, most in _MOST_SECONDS.items():
        spent = sorted((one[1], one[2]) for one in cases if one[3] == n)
        if spent:
            for name, (value, case) in (("median", spent[len(spent) // 2]), ("most", spent[-1])):
                cells = {"value": value, "case": case}
                rows.append(Row(f"CPU seconds, n = {n:g}, {name}", cells, f"<= {most:g} s", value <= most))
    progress("random small cases, every data set")
    tests = Path(__file__).parent.parent / "tests"
    sys.path[:0] = [str(tests), str(tests / "privacy")]
    from test_shuffling_data_sets import beyond

    some = _CASES // 100 if quick else _CASES
    more = sum(beyond(seed) is not None for seed in range(some))
    name = f"of {some:,} random small cases, data sets that tell more"
    rows.append(Row(name, {"value": more, "case": "4 people, 5 values at most"}, "none", more == 0))
    return Group("Ends of central epsilons", ("value", "case"), rows)


def grid(sizes: tuple[int, ...]) -> Iterator[tuple[float, float, str, int]]:
    """Yield the ratio of both ends, seconds of CPU, the case, and its n."""
    for epsilon, name in product(_EPSILONS, ("single values", "bits")):
        pi, rho = (0.01, 0.0) if name == "single values" else (1 / (exp(epsilon) + 1),) * 2
        odds = pi * (exp(epsilon) - 1)
        shares = np.array([pi * (1 - rho), pi * (1 - rho), pi * rho, 1 - 2 * pi + pi * rho]) / (1 + odds)
        pair = ValuePair(
            np.array([exp(epsilon), 1, exp(epsilon), 1]),
            np.array([1, exp(epsilon), exp(epsilon), 1]),
            shares,
            odds / (1 + odds),
        )
        for n, delta in product(sizes, _DELTAS):
            start = time.process_time()
            low, high = pair_epsilon(pair, n, delta)
            case = f"{name}, eps={epsilon:g}, n={n:g}, delta={delta:g}"
            gap = 1.0 if high == low else high / max(low, 1e-300)
            yield gap, time.process_time() - start, case, n


def mechanisms(epsilon: float) -> dict[str, BlockMechanism]:
    """Return the mechanisms of the table, over 100 values."""
    domain = dc.Domain(range(100))
    return {
        "RR": dc.RandomizedResponse(domain, epsilon),
        "subset": dc.SubsetSelection(domain, epsilon),
        "OUE": dc.UnaryEncoding(domain, epsilon, theta=0.5),
        "OLH": dc.LocalHashing(domain, epsilon),
        "SUE": dc.UnaryEncoding(domain, epsilon),
        "Hadamard": dc.HadamardResponse(domain, epsilon),
    }
